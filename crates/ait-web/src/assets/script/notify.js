// Desktop notifications about issues that need attention, if the reader turns them on.

/** The storage key that records that the reader wants notifications. */
const NOTIFIES = "ait-notify";
/** All tabs of one host share this tag, so that a new notification replaces the last one. */
const NOTE_TAG = `ait-attention-${location.host}`;

const notifyButton = document.getElementById("notify");
const isNotifying = () => kept(NOTIFIES) !== null && Notification.permission === "granted";
/** Returns the number of issues that need attention, from the title of a page. */
const attentionIn = (title) => Number.parseInt(/^\d+(?=!)|\d+(?=!$)/.exec(title) ?? "0", 10);

const showNotify = () => {
  notifyButton.textContent = notifyButton.dataset[isNotifying() ? "on" : "off"];
};

/** Notifies the reader if more issues need attention than before. */
const notify = (before, after) => {
  const count = attentionIn(after);
  if (notifyButton.hidden || !isNotifying() || count <= attentionIn(before)) return;
  try {
    const note = new Notification(notifyButton.dataset.note.replace("{count}", count), { body: after, tag: NOTE_TAG });
    note.addEventListener("click", () => { focus(); location.assign("/"); });
  } catch {
    // Phones show notifications of installed pages only.
  }
};

// Only local and secure pages may show notifications.
if (window.isSecureContext && "Notification" in window) {
  notifyButton.addEventListener("click", async () => {
    const isWanted = !isNotifying() && await Notification.requestPermission() === "granted";
    keep(NOTIFIES, isWanted ? "1" : "");
    showNotify();
  });
  notifyButton.hidden = false;
  showNotify();
}
