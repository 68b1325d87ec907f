// Desktop notifications of what needs attention, if the reader turns them on.

/** Where the browser keeps that its reader wants notifications. */
const NOTIFIES = "ait-notify";
/** Tabs of one address share it, so that a new notification takes the place of the last one. */
const NOTE_TAG = `ait-attention-${location.host}`;

const notifyButton = document.getElementById("notify");
const isNotifying = () => kept(NOTIFIES) !== null && Notification.permission === "granted";
/** Returns how much needs attention, as the title of a page says it. */
const attentionIn = (title) => Number.parseInt(/^\d+(?=!)/.exec(title) ?? "0", 10);

const showNotify = () => {
  notifyButton.textContent = notifyButton.dataset[isNotifying() ? "on" : "off"];
};

/** Tells the reader when more needs attention than before. */
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
