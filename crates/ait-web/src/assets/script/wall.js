// Shows the parts of the wallboard one after another, and handles the choice of the appearance and the language.

/** How long a part of the wallboard shows. */
const PART_MS = 15_000;

/** Says below each column of the wallboard how many issues have no room. */
const countHidden = () => {
  for (const more of main.querySelectorAll(".wall-more")) {
    const list = more.previousElementSibling;
    const edge = list.getBoundingClientRect().right;
    const shown = [...list.children].filter((row) => row.checkVisibility() && row.getBoundingClientRect().left < edge);
    const hidden = more.dataset.total - shown.length;
    more.textContent = hidden > 0 && list.checkVisibility() ? more.dataset.more.replace("{count}", hidden) : "";
  }
};

if (main.querySelector(".wall")) {
  const parts = () => [...main.querySelectorAll(".wall > section")].map(({ id }) => id);
  const turn = (by) => {
    const all = parts();
    const at = all.indexOf(document.body.dataset.part);
    document.body.dataset.part = all[(at + by + all.length) % all.length];
    countHidden();
  };
  let turning;
  const move = (by) => {
    turn(by);
    clearInterval(turning);
    turning = setInterval(() => { if (!isPaused) turn(1); }, PART_MS);
  };
  move(1);
  addEventListener("resize", countHidden);
  document.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by && !isTyped(event) && !isModified(event)) move(by);
  });
}

const appearance = document.getElementById("appearance");
const language = appearance.querySelector("[name=lang]");
const looks = [...appearance.querySelectorAll("select")].filter((select) => select !== language);
const showAppearance = () => {
  for (const { name, value } of looks) {
    if (value) document.documentElement.dataset[name] = value;
    else delete document.documentElement.dataset[name];
  }
};
for (const select of looks) {
  select.value = document.documentElement.dataset[select.name] ?? "";
  select.addEventListener("change", () => {
    keep(`ait-${select.name}`, select.value);
    showAppearance();
  });
}
// Follows a choice in another tab.
addEventListener("storage", ({ key, newValue }) => {
  const select = looks.find(({ name }) => key === `ait-${name}`);
  if (!select) return;
  select.value = newValue ?? "";
  showAppearance();
});
// The server translates pages. It remembers the language in an address, so that later ones need not name it.
const named = new URL(location);
if (named.searchParams.has("lang")) {
  named.searchParams.delete("lang");
  history.replaceState(history.state, "", named);
}
language.value = document.documentElement.lang;
language.addEventListener("change", () => {
  const chosen = new URL(location);
  chosen.searchParams.set("lang", language.value);
  location = chosen;
});
appearance.hidden = false;
