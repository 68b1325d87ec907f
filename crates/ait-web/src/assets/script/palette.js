// The palette finds issues, pages, agents, saved queries and actions by a few letters.

/** How long the reader must stop typing before the search starts. */
const TYPING_MS = 120;
const MAX_ISSUES = 8;
const MAX_PLACES = 8;

const palette = document.getElementById("palette");
const wanted = palette.querySelector("input");
const found = palette.querySelector("[role=listbox]");
const foundCount = palette.querySelector("[role=status]");

/** The agents, as last loaded. */
let agents = [];
/** The pages, the saved queries and the agents. */
let places = [];
let looking;
/** The timer of the next search. */
let typing;
/** Whether the reader has moved to the chosen option, which then stays chosen. */
let isMoved = false;
/** The issues that the last search found. */
let latest = { text: "", issues: [] };

const ownPlaces = () => {
  const links = [...document.querySelectorAll(".tabs a, header a.new"), ...palette.querySelectorAll("#palette-places a")];
  return links.map((link) => ({
    kind: link.matches(".new") ? palette.dataset.action : link.dataset.kind ?? palette.dataset.page,
    name: link.dataset.name ?? link.firstChild.textContent.trim(),
    href: link.getAttribute("href"),
  }));
};

/** Returns what the bar does to the selected issues: its fields get the focus, its other buttons are clicked. */
const ownActions = () => {
  const bar = document.getElementById("act-many");
  if (!bar || !hasPicked()) return [];
  const action = (name, act) => ({ kind: palette.dataset.action, name, act });
  const fields = [...bar.querySelectorAll(".many-fields label:not(.who)")];
  const buttons = [...bar.querySelectorAll("[name=action]:not([value=attributes])")];
  return [
    ...fields.map((label) => action(label.querySelector("span").textContent, () => label.control.focus())),
    ...buttons.map((button) => action(button.textContent, () => button.click())),
  ];
};

const loadAgents = async () => {
  try {
    const answer = await fetch("/api/agents", { signal: AbortSignal.timeout(PATIENCE_MS) });
    const list = await answer.json();
    agents = list.agents.map(({ name }) => (
      { kind: palette.dataset.agent, name, href: `/agents/${encodeURIComponent(name)}` }));
    places = [...ownPlaces(), ...agents];
  } catch {
    // The server is down: the list shows the agents that are known.
  }
};

const isNamed = ({ uuid, name }, text) => `${uuid} ${name}`.toLowerCase().includes(text.toLowerCase());

/** Returns the matching issues, or none if the text is not a valid query. */
const findIssues = async (text, signal) => {
  const query = new URLSearchParams({ q: text, fields: "id,title,status" });
  const answer = await fetch(`/api/issues?${query}`, { signal });
  if (!answer.ok) return [];
  const { issues } = await answer.json();
  const all = issues.map(({ id, title, status }) => (
    { kind: palette.dataset[status] ?? status, name: title, href: `/issues/${id}`, uuid: id, id: id.slice(0, 8) }));
  // The list ranks by the words in titles. An issue whose id was typed comes before those that mention it.
  const isMeant = ({ uuid }) => uuid.startsWith(text.toLowerCase());
  return [...all.filter(isMeant), ...all.filter((one) => !isMeant(one))].slice(0, MAX_ISSUES);
};

const choose = (option) => {
  for (const other of found.children) other.setAttribute("aria-selected", String(other === option));
  if (option) {
    wanted.setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
  } else {
    wanted.removeAttribute("aria-activedescendant");
  }
};
const chosen = () => found.querySelector("[aria-selected=true]");

const show = (items) => {
  const before = isMoved ? chosen()?.dataset.href : undefined;
  found.replaceChildren(...items.map(({ kind, name, href, id, act }, number) => {
    const option = document.createElement("li");
    Object.assign(option, { id: `option-${number}`, role: "option" });
    option.dataset.href = href ?? name;
    option.act = act;
    const part = (tag, text) => Object.assign(document.createElement(tag), { textContent: text });
    const named = part("bdi", "");
    const parts = name.split("`");
    // Backticks enclose code, as on the pages.
    named.append(...parts.length % 2 ? parts.map((text, at) => at % 2 ? part("code", text) : text) : [name]);
    option.append(part("span", kind), named, ...id ? [part("code", id)] : []);
    return option;
  }));
  const options = [...found.children];
  choose(options.find((option) => option.dataset.href === before) ?? options[0]);
  foundCount.textContent = palette.dataset.found.replace("{count}", items.length);
};

const look = async () => {
  looking?.abort();
  looking = new AbortController();
  const { signal } = looking;
  const text = wanted.value.trim();
  const words = text.toLowerCase().split(/\s+/);
  const fits = ({ kind, name }) => words.every((word) => `${kind} ${name}`.toLowerCase().includes(word));
  const near = [...ownActions().filter(fits), ...places.filter(fits).slice(0, MAX_PLACES)];
  const list = { kind: palette.dataset.search, name: text, href: `/?${new URLSearchParams({ q: text })}` };
  const all = (issues) => text ? [...near, ...issues, list] : near;
  // Keeps issues of the last search until the next result: all for the same text, else those that match the new text.
  show(all(latest.issues.filter((one) => latest.text === text || isNamed(one, text))));
  if (!text) return;
  try {
    const issues = await findIssues(text, signal);
    if (signal.aborted) return;
    latest = { text, issues };
    show(all(issues));
  } catch {
    // The text has changed, or the server is down: the list shows the known results.
  }
};

/** Runs a pending search at once. */
const hurry = () => {
  if (typing === undefined) return;
  clearTimeout(typing);
  typing = undefined;
  look();
};

const openPalette = async () => {
  if (palette.open) return;
  wanted.value = "";
  isMoved = false;
  places = [...ownPlaces(), ...agents];
  palette.showModal();
  look();
  await loadAgents();
  look();
};

const go = (option, isNewTab) => {
  if (!option) return;
  if (option.act) {
    // It may move the focus, which the palette gives back when it closes.
    palette.close();
    return option.act();
  }
  if (isNewTab) window.open(option.dataset.href, "_blank", "noopener");
  else location.assign(option.dataset.href);
  palette.close();
};

wanted.addEventListener("input", () => {
  isMoved = false;
  clearTimeout(typing);
  typing = setTimeout(hurry, TYPING_MS);
});
wanted.addEventListener("keydown", (event) => {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.isComposing || !(by || event.key === "Enter")) return;
  event.preventDefault();
  hurry();
  if (event.key === "Enter") return go(chosen(), event.ctrlKey || event.metaKey);
  const options = [...found.children];
  if (options.length === 0) return;
  isMoved = true;
  choose(options.at((options.indexOf(chosen()) + by) % options.length));
});
found.addEventListener("click", (event) => go(event.target.closest("[role=option]"), event.ctrlKey || event.metaKey));
palette.addEventListener("close", () => looking?.abort());
