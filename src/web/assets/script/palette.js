// The palette: issues, pages, agents and saved queries by a few letters.

/** How long the typing rests before issues are looked for. */
const TYPING_MS = 120;
const MAX_ISSUES = 8;
const MAX_PLACES = 8;

const palette = document.getElementById("palette");
const wanted = palette.querySelector("input");
const found = palette.querySelector("[role=listbox]");
const foundCount = palette.querySelector("[role=status]");

/** The pages and saved queries, and the agents once they are loaded. */
let places = [];
let agents;
let looking;
let typing;
/** Whether the reader has moved to the chosen option, which then stays chosen. */
let isMoved = false;
/** The issues that the last search found. */
let latest = { text: "", issues: [] };

const ownPlaces = () => {
  const links = [...document.querySelectorAll(".tabs a"), ...palette.querySelectorAll("#palette-places a")];
  return links.map((link) => ({
    kind: link.dataset.kind ?? palette.dataset.page,
    name: link.dataset.name ?? link.firstChild.textContent.trim(),
    href: link.getAttribute("href"),
  }));
};

const loadAgents = async () => {
  agents ??= fetch("/api/agents", { signal: AbortSignal.timeout(PATIENCE_MS) })
    .then((answer) => answer.json())
    .then((list) => list.agents.map(({ name }) => (
      { kind: palette.dataset.agent, name, href: `/agents/${encodeURIComponent(name)}` })))
    .catch(() => { agents = undefined; return []; });
  places = [...ownPlaces(), ...await agents];
};

/** Returns the issues that match, or none if the text is no query. */
const findIssues = async (text, signal) => {
  const query = new URLSearchParams({ q: text, fields: "id,title,status" });
  const answer = await fetch(`/api/issues?${query}`, { signal });
  if (!answer.ok) return [];
  const { issues } = await answer.json();
  // Those with the word in the title are meant most often.
  const isNamed = ({ id, title }) => `${id} ${title}`.toLowerCase().includes(text.toLowerCase());
  return [...issues.filter(isNamed), ...issues.filter((one) => !isNamed(one))].slice(0, MAX_ISSUES)
    .map(({ id, title, status }) => ({ kind: status.replace("_", " "), name: title, href: `/issues/${id}`, id: id.slice(0, 8) }));
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
  found.replaceChildren(...items.map(({ kind, name, href, id }, number) => {
    const option = document.createElement("li");
    Object.assign(option, { id: `option-${number}`, role: "option" });
    option.dataset.href = href;
    const part = (tag, text) => Object.assign(document.createElement(tag), { textContent: text });
    option.append(part("span", kind), part("bdi", name), ...id ? [part("code", id)] : []);
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
  const near = places.filter(fits).slice(0, MAX_PLACES);
  const list = { kind: palette.dataset.search, name: text, href: `/?${new URLSearchParams({ q: text })}` };
  const all = (issues) => text ? [...near, ...issues, list] : near;
  // The agents may come later than the issues, which then stay.
  show(all(latest.text === text ? latest.issues : []));
  if (!text) return;
  try {
    const issues = await findIssues(text, signal);
    if (signal.aborted) return;
    latest = { text, issues };
    show(all(issues));
  } catch {
    // Typed on, or the server is away: the list has what is known.
  }
};

const openPalette = async () => {
  if (palette.open) return;
  wanted.value = "";
  isMoved = false;
  places = ownPlaces();
  palette.showModal();
  look();
  await loadAgents();
  look();
};

const go = (option, isNewTab) => {
  if (!option) return;
  if (isNewTab) window.open(option.dataset.href, "_blank", "noopener");
  else location.assign(option.dataset.href);
  palette.close();
};

wanted.addEventListener("input", () => {
  isMoved = false;
  clearTimeout(typing);
  typing = setTimeout(look, TYPING_MS);
});
wanted.addEventListener("keydown", (event) => {
  const options = [...found.children];
  const at = options.indexOf(chosen());
  const moves = { ArrowDown: at + 1, ArrowUp: at - 1 };
  if (event.isComposing) return;
  if (event.key in moves && options.length > 0) {
    isMoved = true;
    choose(options[(moves[event.key] + options.length) % options.length]);
  } else if (event.key === "Enter") {
    go(chosen(), event.ctrlKey || event.metaKey);
  } else {
    return;
  }
  event.preventDefault();
});
found.addEventListener("click", (event) => go(event.target.closest("[role=option]"), event.ctrlKey || event.metaKey));
palette.addEventListener("close", () => looking?.abort());
