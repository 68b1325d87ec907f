// Acting: which rows are selected, what was done with its undo, drafts of texts, and sending with Ctrl Enter.

// --- The selection -------------------------------------------------------------------------------

const boxes = () => [...main.querySelectorAll("[data-changed] .pick")];

const hasPicked = () => boxes().some((box) => box.checked);

/** Says how many rows are selected. */
const showPicked = () => {
  const picked = document.getElementById("picked");
  if (!picked) return;
  const all = boxes();
  const count = all.filter((box) => box.checked).length;
  const { one, many } = picked.dataset;
  if (count > 0) picked.textContent = count === 1 ? one : many.replace("{count}", count);
  const whole = document.getElementById("pick-all");
  if (whole) {
    whole.checked = count > 0 && count === all.length;
    whole.indeterminate = count > 0 && count < all.length;
  }
  document.getElementById("unpick").hidden = false;
};

/** The box that the reader used last, from which Shift selects to the next one. */
let lastBox;

const pickRange = (from, to) => {
  const all = boxes();
  const [first, last] = [all.indexOf(from), all.indexOf(to)].sort((one, other) => one - other);
  if (first >= 0) for (const box of all.slice(first, last + 1)) box.checked = to.checked;
};

main.addEventListener("click", ({ target, shiftKey }) => {
  if (target.id === "unpick") for (const box of boxes()) box.checked = false;
  else if (target.id === "pick-all") for (const box of boxes()) box.checked = target.checked;
  else if (!target.matches?.(".pick")) return;
  else if (shiftKey) pickRange(lastBox, target);
  lastBox = target;
  showPicked();
});

/** Selects the row that has the focus, or else the one under the pointer. */
const pick = () => {
  const row = document.activeElement.closest("[id][data-changed]") ?? main.querySelector("[id][data-changed]:hover");
  row?.querySelector(".pick")?.click();
};

addEventListener("pageshow", showPicked);

// --- Dragging ------------------------------------------------------------------------------------

/** What a card of each column asks for where it is dropped. The page for the reason follows. */
const ENDS = { closed: "close", rejected: "close" };
const GIVES_BACK = { created: "return", ...ENDS };
const DROPS = {
  created: { in_progress: "claim", ...ENDS },
  in_progress: GIVES_BACK, completed: GIVES_BACK, in_review: GIVES_BACK,
};
const columnOf = ({ target }) => target.closest?.(".column")?.className.match(/status-(\w+)/)?.[1];
/** The box of the card that is dragged, and its column. */
let dragged;
let origin;
main.addEventListener("dragstart", (event) => {
  origin = columnOf(event);
  // Issues that have ended stay where they are.
  dragged = DROPS[origin] && event.target.closest?.(".card")?.querySelector(".pick");
  // The browser takes its picture of the card first.
  if (dragged) setTimeout(() => { document.body.dataset.drops = Object.keys(DROPS[origin]).join(" "); });
});
main.addEventListener("dragend", () => {
  dragged = undefined;
  setTimeout(() => { delete document.body.dataset.drops; });
});
main.addEventListener("dragover", (event) => { if (dragged && columnOf(event)) event.preventDefault(); });
main.addEventListener("drop", (event) => {
  const column = dragged && columnOf(event);
  if (!column) return;
  event.preventDefault();
  if (column === origin) return;
  const action = DROPS[origin]?.[column];
  if (!action) return tell(document.getElementById("picked").dataset.noDrop);
  for (const box of boxes()) box.checked = box === dragged;
  dragged.form.requestSubmit(dragged.form.querySelector(`[name=action][value=${action}]`));
});

// --- Drafts --------------------------------------------------------------------------------------

/** What the storage keys of drafts begin with. They last as long as the tab. */
const DRAFT = "ait-draft:";
/** A text for many issues belongs to those that were selected. */
const isDrafted = (field) => field.matches?.("form.action textarea, form.action [name=title]") && !field.form.elements.issue;
const draftKey = ({ form, name }) => `${DRAFT}${form.getAttribute("action")}#${name}`;

/** Runs what uses the storage of the tab. Without storage, drafts end with the page. */
const withDrafts = (use) => {
  try {
    use(sessionStorage);
  } catch {
    // As without storage.
  }
};

main.addEventListener("input", ({ target }) => {
  if (!isDrafted(target)) return;
  withDrafts((drafts) => {
    if (target.value) drafts.setItem(draftKey(target), target.value);
    else drafts.removeItem(draftKey(target));
  });
});

/** Puts drafts into fields that are empty or begin with a template, and opens their forms. */
const restoreDrafts = () => withDrafts((drafts) => {
  for (const field of main.querySelectorAll("form.action :is(textarea, [name=title])")) {
    const draft = isDrafted(field) && (!field.value || field.form.id === "act-file") ? drafts.getItem(draftKey(field)) : null;
    if (draft === null) continue;
    field.value = draft;
    field.closest("details")?.setAttribute("open", "");
  }
});

/** Forgets the drafts of a form that was sent. */
const forgetDrafts = (action) => withDrafts((drafts) => {
  for (const key of Object.keys(drafts)) if (key.startsWith(`${DRAFT}${action}#`)) drafts.removeItem(key);
});

// --- What was done -------------------------------------------------------------------------------

/** How long it shows, unless the reader is at it. */
const TOAST_MS = 8_000;

/** Shows what was done above the page, where an update of the page does not remove it. */
const toast = (done) => {
  let timer;
  const wait = () => {
    clearTimeout(timer);
    timer = setTimeout(() => done.remove(), TOAST_MS);
  };
  done.setAttribute("role", "region");
  done.setAttribute("aria-label", done.dataset.label);
  done.classList.add("toast");
  main.before(done);
  for (const stay of ["pointerenter", "focusin"]) done.addEventListener(stay, () => clearTimeout(timer));
  for (const go of ["pointerleave", "focusout"]) done.addEventListener(go, wait);
  say(done.querySelector("p").textContent);
  wait();
};

/** Shows a sentence as what was done is shown. */
const tell = (text) => {
  document.querySelector(".told")?.remove();
  const told = document.createElement("div");
  told.className = "notice told";
  told.dataset.label = text;
  told.append(Object.assign(document.createElement("p"), { textContent: text }));
  toast(told);
};

const done = main.querySelector("#done");
if (done) {
  forgetDrafts(done.dataset.sent);
  toast(done);
}
restoreDrafts();
showPicked();

// --- The list that one came from -----------------------------------------------------------------

const LIST = "ait-list";

/** Remembers the issues of a list, and lets the links to the neighbours of an issue follow it. */
const followList = () => withDrafts((kept) => {
  const titles = [...main.querySelectorAll(".issues .issue a.title")];
  if (titles.length > 0) {
    const links = titles.map((link) => [link.pathname, link.textContent]);
    kept.setItem(LIST, JSON.stringify({ href: location.pathname + location.search, links }));
  }
  const nav = document.getElementById("issue-neighbours");
  const { href, links } = JSON.parse(kept.getItem(LIST) ?? '{"links":[]}');
  const at = links.findIndex(([path]) => path === location.pathname);
  if (!nav?.firstElementChild || at < 0 || links.length < 2) return;
  main.querySelector(".breadcrumb a").href = href;
  const pattern = nav.querySelector("a");
  const link = (rel, [path, title]) => {
    const made = pattern.cloneNode(true);
    Object.assign(made, { className: rel, rel, href: path });
    made.querySelector("span").textContent = nav.dataset[rel];
    made.querySelector("bdi").textContent = title;
    return made;
  };
  const around = [["prev", links[at - 1]], ["next", links[at + 1]]].filter(([, to]) => to);
  nav.replaceChildren(...around.map(([rel, to]) => link(rel, to)));
});

followList();

// --- Sending -------------------------------------------------------------------------------------

document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.isComposing || event.defaultPrevented) return;
  if (!target.form || !target.matches("textarea, select, input:not(.pick)")) return;
  event.preventDefault();
  target.form.requestSubmit(target.form.querySelector("button[type=submit]"));
});
