// The controls that only work with scripts.

/** Shows the copy buttons. */
const dress = () => {
  // Only local and secure pages may write to the clipboard.
  if (!navigator.clipboard) return;
  for (const button of main.querySelectorAll("button.copy[hidden]")) button.hidden = false;
};

/** Returns what a button copies: its own text, a link in Markdown, or the code beside it. */
const copied = (button) => {
  const { copy, copyPath } = button.dataset;
  if (copyPath) return `[${copy}](${location.origin}${copyPath})`;
  return copy ?? button.closest(".code").querySelector("code").textContent;
};

main.addEventListener("click", async (event) => {
  const button = event.target.closest?.("button.copy");
  if (!button) return;
  try {
    await navigator.clipboard.writeText(copied(button));
  } catch {
    return;
  }
  button.classList.add("done");
  if (button.dataset.copied) say(button.dataset.copied);
  setTimeout(() => button.classList.remove("done"), MARK_MS);
});

// A choice with the mouse submits the form; with the keyboard, each key would submit it.
let pointed;
main.addEventListener("pointerdown", ({ target }) => { pointed = target.closest?.("select"); });
main.addEventListener("keydown", () => { pointed = undefined; });
main.addEventListener("change", ({ target }) => {
  if (target === pointed && target.form?.method === "get") target.form.requestSubmit();
});

// The search offers terms for the last word, behind the words before it.
main.addEventListener("input", ({ target }) => {
  const before = target.value?.slice(0, target.value.lastIndexOf(" ") + 1) ?? "";
  for (const option of target.list?.options ?? []) {
    option.dataset.term ??= option.value;
    option.value = before + option.dataset.term;
  }
});

// Keeps empty fields out of the address.
main.addEventListener("formdata", ({ target, formData }) => {
  if (target.method !== "get") return;
  for (const name of new Set(formData.keys())) {
    const values = formData.getAll(name).filter((value) => value);
    formData.delete(name);
    for (const value of values) formData.append(name, value);
  }
});

// A page that comes back from the cache shows the filters that it was loaded with.
addEventListener("pageshow", (event) => {
  if (event.persisted) main.querySelector("#filters")?.reset();
});

// Removes what was done from the address, so that a reload does not repeat the message of a form.
const address = new URL(location.href);
if (address.searchParams.has("done")) {
  for (const name of ["done", "issues", "undo", "seal", "row"]) address.searchParams.delete(name);
  history.replaceState(history.state, "", address);
}

// A long timeline hides some entries. If the address names a hidden one, loads the page with all entries.
if (/^#moment-\d+$/.test(location.hash) && !document.querySelector(location.hash) && main.querySelector("#issue-gap")) {
  location.replace(`?all=1${location.hash}`);
}

dress();
// Error pages without a version do not follow changes.
if (main.dataset.version) follow();
