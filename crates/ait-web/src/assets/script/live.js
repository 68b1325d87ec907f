// Keeps an open page up to date, and says whether it is.

/** The least time between an update of the page and the next load. */
const MIN_REST_MS = 50;
/** A page waits so many times as long as its last update took, so that its reader can scroll and type. */
const RESTS = 4;
/** How long an update may wait for its frame. A page that has just been hidden shows none. */
const FRAME_MS = 100;
/** How long a page may take to load. */
const PATIENCE_MS = 15_000;
/** How long a page may lag behind the newest version before it counts as stale. */
const LATE_MS = 4_000;
/** The delay before a failed load is repeated. */
const SECOND_TRY_MS = 2_000;
/** How often a page updates its ages. */
const AGE_MS = 30_000;
/** How often a page checks that it is up to date. */
const CHECK_MS = 1_000;
/** How long changes stay highlighted: longer without motion, because only motion catches the eye at once. */
const [MARK_MS, STILL_MARK_MS] = [2_500, 10_000];
/** The minimum time between two announcements of changes to screen readers. */
const SAY_MS = 20_000;
/** The version on the page of an unreadable store. */
const UNREADABLE = "-";
/** How far the reader may scroll down a list of events before new events have to wait. */
const HOLD_PX = 200;
/** The storage key that records, for each tab, that the reader has paused the updates. */
const PAUSED = "ait-paused";

const live = document.getElementById("live");
const said = document.getElementById("said");
const main = document.getElementById("main");
const [pauseButton, stepButton] = ["pause", "step"].map((id) => document.getElementById(id));
const isCalm = matchMedia("(prefers-reduced-motion: reduce)");
const workerPath = document.currentScript.dataset.worker;
/** Names the assets of the page, which differ in each version of the program. */
const assets = document.currentScript.outerHTML;

/** Returns the ids on a page with the time of their last change. */
const changes = (page) => new Map([...page.querySelectorAll("[id][data-changed]")]
  .map((element) => [element.id, Number(element.dataset.changed)]));

/** Returns the ids of the entries that have changed since a page showed `before` at the time `since`. */
const changed = (page, before, since) => {
  // An entry that moved here from another page of the list is new here, but has not changed. A page may lack the
  // changes of other processes just before its time.
  const isNew = ([id, at]) => before.has(id) ? before.get(id) !== at : at >= since - LATE_MS;
  return [...changes(page)].filter(isNew).map(([id]) => id);
};

const marks = new Map();
const mark = (ids) => {
  for (const id of ids) {
    const element = document.getElementById(id);
    element.classList.add("changed");
    clearTimeout(marks.get(id));
    const unmark = () => { marks.delete(id); element.classList.remove("changed"); };
    marks.set(id, setTimeout(unmark, isCalm.matches ? STILL_MARK_MS : MARK_MS));
  }
};

/** Remembers the focus. Returns a function that moves it to the same entry, or to the nearest one left. */
const keepFocus = () => {
  const focus = document.activeElement;
  const entries = [...main.querySelectorAll("[id][data-changed]")];
  const at = entries.findIndex((entry) => entry.contains(focus));
  if (at < 0) return () => {};
  const order = [...entries.slice(at), ...entries.slice(0, at).reverse()].map(({ id }) => id);
  return () => {
    if (focus.isConnected) return;
    const links = order.map((id) => document.getElementById(id)?.querySelector("a[href]"));
    links.find((link) => link)?.focus({ preventScroll: true });
  };
};

let lastSaid = -Infinity;
const say = (text, isSeldom) => {
  const now = performance.now();
  if (isSeldom && now - lastSaid < SAY_MS) return;
  lastSaid = now;
  said.textContent = "";
  // Screen readers read a refilled region even if its text is the same as before.
  setTimeout(() => { said.textContent = text; }, 100);
};

// --- The state of the page -----------------------------------------------------------------------

/** The version that the page shows, and the newest one that was announced. */
let shown = main.dataset.version;
let newest = shown;
/** When the page was last known to be up to date, and since when it has not been. */
let freshAt = Date.now();
let outdatedAt;
let isConnected = false;
let isBroken = false;
let hasFailed = false;
let isPaused = false;
/** The newer page that waits for the reader of a paused page, and when it was loaded. */
let waiting;

try {
  isPaused = sessionStorage.getItem(PAUSED) !== null;
} catch {
  // Without storage, the pause ends with the page.
}

const state = () => {
  if (isBroken) return "disconnected";
  // The page of an unreadable store has nothing that could be stale.
  if (main.dataset.version === UNREADABLE) return "failing";
  if (hasFailed || Date.now() - outdatedAt > LATE_MS) return "stale";
  if (isPaused) return "paused";
  if (isConnected && main.querySelector("#trouble")) return "troubled";
  return isConnected ? "connected" : "connecting";
};

/** The states in which the page does not follow the store. */
const AWAY = ["disconnected", "failing", "stale", "paused"];

const showState = () => {
  const [before, now] = [live.dataset.state, state()];
  stepButton.hidden = !waiting;
  const isAway = AWAY.includes(now);
  // A page with a waiting update shows the number of changes.
  document.body.classList.toggle("away", isAway || Boolean(waiting));
  document.body.classList.toggle("behind", !isAway);
  if (before === now) return;
  const time = new Date(freshAt)
    .toLocaleTimeString(document.documentElement.lang, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  live.dataset.state = now;
  live.textContent = live.dataset[now].replace("{time}", time);
  // Tells screen readers when the page stops and when it begins again to be up to date.
  if (now !== "paused" && before !== "paused" && AWAY.includes(before) !== isAway) say(live.textContent);
};

const becomeFresh = () => {
  shown = newest;
  freshAt = Date.now();
  outdatedAt = undefined;
  hasFailed = false;
};

// --- Loading the page again ----------------------------------------------------------------------

/** Takes over the title and the icon, which count what needs attention. */
const showTitle = (young) => {
  notify(document.title, young.title);
  document.title = young.title;
  const icon = (page) => page.querySelector("link[rel=icon]");
  if (icon(young) && icon(document).href !== icon(young).href) icon(document).replaceWith(document.importNode(icon(young)));
};

/** Shows the error above the page, in its title and in its icon, and leaves the page as it was. */
const showTrouble = (young) => {
  showTitle(young);
  const reason = young.querySelector(".error-text");
  let trouble = main.querySelector("#trouble, .error-text");
  if (!trouble) {
    trouble = document.createElement("p");
    Object.assign(trouble, { id: "trouble", className: "notice bad" });
    trouble.setAttribute("role", "alert");
    main.prepend(trouble);
  }
  if (trouble.textContent !== reason?.textContent) trouble.replaceChildren(...(reason?.childNodes ?? []));
};

const takeOver = (young) => {
  const content = young.getElementById("main");
  showLocal(content);
  const ids = changed(content, changes(main), Number(main.dataset.now));
  const putFocusBack = keepFocus();
  showTitle(young);
  morph(main, content);
  // The tabs show the number of problems.
  const tabs = (page) => page.querySelector(".tabs ul");
  morph(tabs(document), tabs(young));
  putFocusBack();
  dress();
  showPicked();
  followList();
  countHidden();
  mark(ids);
  shownAt = performance.now();
  waiting = undefined;
  return ids.length > 0;
};

/** Keeps a newer page until its reader asks for it. */
const hold = (young) => {
  const [before, content] = [changes(main), young.getElementById("main")];
  const after = changes(content);
  const gone = [...before.keys()].filter((id) => !after.has(id));
  // Each new entry on a full page of the list pushes another one to the next page.
  const count = Math.max(changed(content, before, Number(main.dataset.now)).length, gone.length);
  if (count === 0 && !waiting) return;
  waiting = { young, at: Date.now() };
  const { step, stepOne } = stepButton.dataset;
  stepButton.textContent = count === 1 ? stepOne : step.replace("{count}", count);
};

const load = async () => {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const answer = await fetch(location.href, { headers: { Accept: "text/html" }, signal });
  return [await answer.text(), answer.status];
};

const parse = (text, status) => {
  const young = new DOMParser().parseFromString(text, "text/html");
  if (!young.getElementById("main")) throw new Error(`no page but ${status}`);
  return young;
};

/** Returns true if a page is of another store, or of another version of the program. */
const isForeign = (young) => {
  const { store } = young.getElementById("main").dataset;
  const isOther = store && main.dataset.store && store !== main.dataset.store;
  return isOther || young.querySelector("script[data-worker]")?.outerHTML !== assets;
};

/** Returns true if the reader has paused the page or scrolled down a list of events, so that changes have to wait. */
const isHeld = () => isPaused || (scrollY > HOLD_PX && Boolean(main.querySelector("[data-hold]")));

let isLoading = false;
/** Whether a change was announced while the page was loading. */
let isAgain = false;
/** When the page may load again. */
let restEnd = -Infinity;
/** When the page took over a newer one. A page in the background loads for its title only. */
let shownAt = performance.now();
let secondTry;

/** Waits until the browser has painted an update, which is a large part of the work, and begins the rest. */
const takeRest = async (since) => {
  await new Promise((done) => {
    requestAnimationFrame(() => setTimeout(done));
    setTimeout(done, FRAME_MS);
  });
  const now = performance.now();
  restEnd = now + Math.max(MIN_REST_MS, RESTS * (now - since));
};

/** Reloads the page and takes over what has changed. */
const refresh = async (isNews) => {
  if (isLoading) { isAgain ||= isNews; return; }
  isLoading = true;
  clearTimeout(secondTry);
  try {
    const wait = restEnd - performance.now();
    if (wait > 0) await new Promise((done) => setTimeout(done, wait));
    isAgain = false;
    const [text, status] = await load();
    const since = performance.now();
    const young = parse(text, status);
    if (status < 500 && isForeign(young)) {
      // A page with a form that its reader has begun stays as it is.
      hasFailed = stays(main);
      if (!hasFailed) location.reload();
    } else if (document.hidden) {
      // The content is updated when the page becomes visible, so that its changes are highlighted then.
      if (status < 400 || status >= 500) showTitle(young);
    } else if (status >= 500) {
      showTrouble(young);
      hasFailed = true;
    } else {
      const hasChanged = isHeld() ? hold(young) : takeOver(young);
      if (!isAgain) {
        newest = young.getElementById("main").dataset.version ?? newest;
        const fresh = freshAt;
        becomeFresh();
        // A held page still shows its old content.
        if (isHeld()) freshAt = fresh;
      }
      if (hasChanged && isNews) say(document.body.dataset.changed, true);
    }
    await takeRest(since);
  } catch {
    // If the server is down, the stream notices, and reconnects when the server is back.
    hasFailed = !document.hidden;
    secondTry = setTimeout(() => refresh(isNews), SECOND_TRY_MS);
  } finally {
    isLoading = false;
    showState();
    if (isAgain) refresh(true);
  }
};

// --- Following the store -------------------------------------------------------------------------

let watchdog;
/** How long the worker may be silent. The worker first needs time to notice and report a silent stream. */
const WORKER_SILENCE_MS = SILENCE_MS + 5_000;
let giveUp = () => {};
const watch = () => {
  clearTimeout(watchdog);
  watchdog = setTimeout(() => { heard("broken"); giveUp(); }, WORKER_SILENCE_MS);
};

const heard = (what, version) => {
  clearTimeout(watchdog);
  isBroken = what === "broken";
  // The page may have missed changes, so it has to load again.
  hasFailed ||= isBroken;
  if (!isBroken) {
    watch();
    isConnected = true;
    newest = version ?? newest;
    if (shown !== newest) {
      outdatedAt ??= Date.now();
      refresh(true);
    } else if (hasFailed) {
      refresh(false);
    } else {
      outdatedAt = undefined;
      if (!isPaused) becomeFresh();
    }
  }
  showState();
};

/** Connects to the worker that all pages share. Returns undefined where there is none. */
const connectWorker = (fail) => {
  try {
    const worker = new SharedWorker(workerPath);
    worker.addEventListener("error", fail);
    worker.port.addEventListener("message", ({ data }) => heard(...data));
    worker.port.start();
    return worker.port;
  } catch {
    return undefined;
  }
};

const follow = () => {
  let worker;
  let close;
  const start = () => {
    if (document.hidden) return;
    isConnected = false;
    outdatedAt ??= Date.now();
    watch();
    // The ages are those of the last load.
    if (performance.now() - shownAt > AGE_MS) refresh(false);
    if (worker) worker.postMessage("follow");
    else close = followEvents(heard);
  };
  const stop = () => {
    clearTimeout(watchdog);
    worker?.postMessage("leave");
    close?.();
    close = undefined;
  };
  // Without the worker, each visible page has a stream of its own.
  giveUp = () => {
    stop();
    worker = undefined;
    start();
  };
  worker = connectWorker(giveUp);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) stop();
    else start();
  });
  addEventListener("pagehide", stop);
  addEventListener("pageshow", (event) => { if (event.persisted) start(); });
  setInterval(() => refresh(false), AGE_MS);
  setInterval(showState, CHECK_MS);
  pauseButton.hidden = false;
  start();
  showState();
};

// --- Pause and step ------------------------------------------------------------------------------

const showPause = () => {
  pauseButton.textContent = pauseButton.dataset[isPaused ? "resume" : "pause"];
};

pauseButton.addEventListener("click", () => {
  isPaused = !isPaused;
  try {
    if (isPaused) sessionStorage.setItem(PAUSED, "");
    else sessionStorage.removeItem(PAUSED);
  } catch {
    // The pause ends with the page.
  }
  showPause();
  if (!isPaused) refresh(true);
  showState();
});

// Stays paused: the reader decides when each batch of changes appears.
stepButton.addEventListener("click", () => {
  if (!waiting) return;
  freshAt = waiting.at;
  takeOver(waiting.young);
  pauseButton.focus({ preventScroll: true });
  if (!isPaused) scrollTo(0, 0);
  delete live.dataset.state;
  showState();
});

showPause();
