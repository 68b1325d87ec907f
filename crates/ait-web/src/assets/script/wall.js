// Shows the parts of the wallboard one after another, and handles the choice of the appearance.

/** How long a part of the wallboard shows. */
const PART_MS = 15_000;

if (main.querySelector(".wall")) {
  const parts = () => [...main.querySelectorAll(".wall > section")].map(({ id }) => id);
  const turn = (by) => {
    const all = parts();
    const at = all.indexOf(document.body.dataset.part);
    document.body.dataset.part = all[(at + by + all.length) % all.length];
  };
  let turning;
  const move = (by) => {
    turn(by);
    clearInterval(turning);
    turning = setInterval(() => { if (!isPaused) turn(1); }, PART_MS);
  };
  move(1);
  document.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by && !isTyped(event) && !isModified(event)) move(by);
  });
}

const appearance = document.getElementById("appearance");
const showAppearance = () => {
  for (const { name, value } of appearance.querySelectorAll("select")) {
    if (value) document.documentElement.dataset[name] = value;
    else delete document.documentElement.dataset[name];
  }
};
for (const select of appearance.querySelectorAll("select")) {
  select.value = document.documentElement.dataset[select.name] ?? "";
  select.addEventListener("change", () => {
    keep(`ait-${select.name}`, select.value);
    showAppearance();
  });
}
// Follows a choice in another tab.
addEventListener("storage", ({ key, newValue }) => {
  const select = [...appearance.querySelectorAll("select")].find(({ name }) => key === `ait-${name}`);
  if (!select) return;
  select.value = newValue ?? "";
  showAppearance();
});
appearance.hidden = false;
