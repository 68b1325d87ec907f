// Shortcuts on the keyboard, and the dialog that lists them.
//
// The reader can switch off keys without a modifier, because speech input and some hands press them by accident
// (WCAG 2.1.4). The shortcuts ignore keys in a field or a dialog, and keys with a modifier.

/** The storage key that records that shortcuts of one key are switched off. */
const NO_KEYS = "ait-no-keys";
/** How long the second key of a sequence may take. */
const SEQUENCE_MS = 1_500;
/** The pages that `g` and another key open. */
const PLACES = { l: "/", b: "/board", a: "/agents", v: "/activity", s: "/stats", t: "/inbox", m: "/memory" };

const help = document.getElementById("help");
const newIssue = document.querySelector("header a.new");
const openHelp = document.getElementById("open-help");
const singleKeys = document.getElementById("single-keys");

/** Stores a choice of the reader, or removes it if `value` is empty. */
const keep = (key, value) => {
  try {
    if (value) localStorage.setItem(key, value);
    else localStorage.removeItem(key);
  } catch {
    // Without storage, the choice ends with the page.
  }
};
const kept = (key) => {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
};

/** Moves the focus to the next or the previous entry of the page. */
const step = (by) => {
  const links = [...main.querySelectorAll("[id][data-changed]")]
    .filter((entry) => entry.checkVisibility())
    .map((entry) => entry.querySelector("th a[href], a.title[href]") ?? entry.querySelector("a[href]"))
    .filter((link) => link);
  const entry = document.activeElement?.closest("[id][data-changed]");
  const at = links.findIndex((link) => entry?.contains(link));
  const next = at < 0 ? links[by > 0 ? 0 : links.length - 1] : links[at + by];
  next?.focus();
  next?.closest("[id][data-changed]").scrollIntoView({ block: "nearest" });
};

const search = () => {
  const field = main.querySelector("#filters input[name=q]");
  if (!field) return openPalette();
  field.focus();
  field.select();
};

/** The link to an issue that has the focus in its row or on its card. */
const focused = () => document.activeElement?.closest("[id][data-changed]") && document.activeElement.closest("a[href^='/issues/']");

/** What the panel shows of the page of an issue. */
const PEEKED_FORMS = "#inbox, #issue-answers, #act-comment";
const PEEKED = ".issue-head, #issue-question, [aria-labelledby=description-heading], #issue-links, "
  + `[aria-labelledby=timeline-heading], ${PEEKED_FORMS}`;

const panel = document.getElementById("peek");

/** Shows the issue that has the focus in a panel beside the page, where the focus stays. */
const peek = async () => {
  const link = focused();
  // A comment that the reader has begun stays in sight.
  if (!link || panel.querySelector("textarea")?.value) return;
  const { href } = link;
  try {
    const answer = await fetch(href);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    // The focus has moved on meanwhile.
    if (focused() !== link) return;
    const parts = [...page.querySelectorAll(PEEKED)].filter(({ id }) => id !== "inbox" || !main.querySelector("#inbox"));
    for (const part of parts) {
      // The other forms belong to the page of the issue.
      if (!part.matches(PEEKED_FORMS)) for (const form of part.querySelectorAll("form, .fold, button")) form.remove();
      // Its links lead from its page, not from this one.
      for (const to of part.querySelectorAll("a[href]")) to.href = new URL(to.getAttribute("href"), href);
    }
    for (const form of parts.filter((part) => part.matches("form"))) {
      form.elements.back?.remove();
      form.append(Object.assign(document.createElement("input"), { type: "hidden", name: "back", value: location.pathname + location.search }));
    }
    panel.querySelector("a").href = href;
    panel.querySelector(".peeked").replaceChildren(...parts);
    panel.scrollTop = 0;
    say(panel.querySelector("h1")?.textContent ?? "");
    if (panel.open) return;
    panel.show();
    link.focus({ preventScroll: true });
  } catch {
    location.assign(href);
  }
};

/** Moves to the next or the previous entry; an open panel follows. */
const stepWithPanel = (by) => {
  step(by);
  if (panel.open) peek();
};

/** Moves to a field of the bar that changes the selected issues: those in the focus or under the pointer if none is. */
const change = (name) => {
  const bar = document.getElementById("act-many");
  if (!bar) return;
  if (!hasPicked()) pick();
  if (!hasPicked()) return;
  bar.querySelector("details").open = true;
  bar.elements[name].focus();
};

/** Actions of one key. */
const KEYS = {
  "/": search,
  j: () => stepWithPanel(1),
  k: () => stepWithPanel(-1),
  x: pick,
  p: () => change("priority"),
  l: () => change("labels"),
  a: () => change("assignee"),
  " ": () => panel.open ? panel.close() : peek(),
  c: () => newIssue?.click(),
  "?": () => help.showModal(),
};

const isTyped = ({ target }) => Boolean(target.closest?.("input:not(.pick), textarea, select, [contenteditable], dialog"));
const isModified = ({ ctrlKey, metaKey, altKey }) => ctrlKey || metaKey || altKey;

/** Returns true if a key opens the palette. On a Mac, Ctrl K deletes to the end of the line of a field. */
const isForPalette = (event) => {
  const isEdit = /Mac|iP/.test(navigator.platform) && isTyped(event);
  const hasCommand = event.metaKey || (event.ctrlKey && !isEdit);
  return hasCommand && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k";
};

let sequenceAt = -Infinity;
document.addEventListener("keydown", (event) => {
  const { key } = event;
  if (event.defaultPrevented || event.isComposing) return;
  if (isForPalette(event)) {
    if (document.querySelector("dialog:modal:not(#palette)")) return;
    event.preventDefault();
    return palette.open ? palette.close() : openPalette();
  }
  if (key === "Escape" && panel.open && !document.querySelector("dialog:modal")) {
    return event.target.matches("textarea") ? event.target.blur() : panel.close();
  }
  if (isTyped(event) || isModified(event) || !singleKeys.checked) return;
  const isSecond = performance.now() - sequenceAt < SEQUENCE_MS;
  sequenceAt = key === "g" && !isSecond ? performance.now() : -Infinity;
  const place = isSecond ? PLACES[key] : undefined;
  const act = isSecond ? place && (() => location.assign(place)) : KEYS[key];
  // Elsewhere Space scrolls the page.
  if (!act || (key === " " && !focused())) return;
  // The key must not be typed into the field that gets the focus.
  event.preventDefault();
  act();
});

openHelp.hidden = false;
openHelp.addEventListener("click", () => help.showModal());
singleKeys.checked = !kept(NO_KEYS);
singleKeys.addEventListener("change", () => keep(NO_KEYS, singleKeys.checked ? "" : "1"));
for (const dialog of document.querySelectorAll("dialog")) {
  // A click beside the dialog closes it.
  dialog.addEventListener("click", ({ target }) => {
    if ((target === dialog && dialog !== panel) || target.closest(".close")) dialog.close();
  });
}
