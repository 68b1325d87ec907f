// Keeps open pages up to date, without losing the focus, the selection, the scroll position or typed text.
// Every page works without this script.
"use strict";

(() => {
  /** The minimum time between two loads of a page. */
  const REST_MS = 500;
  /** How long a stream may be silent before it counts as broken. The server sends a heartbeat every 10 s. */
  const SILENCE_MS = 25_000;
  /** The first and the longest delay before a broken stream is reopened. */
  const RETRY_MS = [1_000, 15_000];
  /** How long a page may take to load. */
  const PATIENCE_MS = 15_000;
  /** The delay before a failed load is repeated. */
  const SECOND_TRY_MS = 2_000;
  /** How often a page updates its ages. */
  const AGE_MS = 30_000;
  /** How long changes stay highlighted. */
  const MARK_MS = 2_500;
  /** The minimum time between two announcements of changes to screen readers. */
  const SAY_MS = 20_000;

  const live = document.getElementById("live");
  const said = document.getElementById("said");
  const main = document.getElementById("main");
  const isCalm = matchMedia("(prefers-reduced-motion: reduce)");

  // --- Morphing a page into its new version ----------------------------------------------------

  /** Returns true if a node contains the focus or the selection, and so must not be moved. */
  const isPinned = (node) => {
    const selection = getSelection();
    const holds = (other) => other && node.contains(other);
    return holds(document.activeElement) ||
      (!selection.isCollapsed && (holds(selection.anchorNode) || holds(selection.focusNode)));
  };

  const follows = (one, other) =>
    Boolean(other.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING);

  const isSame = (one, other) =>
    one.nodeType === other.nodeType && one.nodeName === other.nodeName &&
    (one.id ?? "") === (other.id ?? "");

  /** Attributes that belong to the reader. */
  const OWN = new Map([["DETAILS", ["open"]], ["BUTTON", ["hidden"]], ["INPUT", ["value"]]]);

  const takeAttributes = (old, young) => {
    const own = OWN.get(old.nodeName) ?? [];
    const isMarked = old.classList.contains("changed");
    for (const { name, value } of young.attributes) {
      if (!own.includes(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    for (const { name } of [...old.attributes]) {
      if (!own.includes(name) && !young.hasAttribute(name)) old.removeAttribute(name);
    }
    if (isMarked) old.classList.add("changed");
  };

  /** Makes a node equal to a new one and keeps the parts that have not changed. */
  const morph = (old, young) => {
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.nodeValue !== young.nodeValue) old.nodeValue = young.nodeValue;
      return;
    }
    if (old.isEqualNode(young)) return;
    takeAttributes(old, young);
    if (old.nodeName === "SELECT" && old === document.activeElement) return;
    morphChildren(old, young);
  };

  const morphChildren = (old, young) => {
    const named = (parent) => [...parent.children].filter((it) => it.id).map((it) => [it.id, it]);
    const known = new Map(named(old));
    const stays = new Map(named(young));
    let place = old.firstChild;
    for (const wanted of [...young.childNodes]) {
      let match = wanted.id ? known.get(wanted.id) : undefined;
      if (match && !isSame(match, wanted)) match = undefined;
      if (!match && !wanted.id) {
        // Nodes without an id match the next node of the same kind.
        for (let next = place; next && !match; next = next.nextSibling) {
          if (isSame(next, wanted)) match = next;
          else if (next.id && stays.has(next.id)) break;
        }
      }
      if (!match) {
        old.insertBefore(document.importNode(wanted, true), place);
        continue;
      }
      if (match !== place && !isPinned(match)) {
        old.insertBefore(match, place);
      } else if (match !== place && place && follows(match, place)) {
        // The pinned match stays, so the nodes in between move behind it, unless they are pinned, too.
        let after = match;
        for (let next = place; next !== match;) {
          const one = next;
          next = next.nextSibling;
          if (isPinned(one)) continue;
          after.after(one);
          after = one;
        }
      } else if (match !== place) {
        // The pinned match is before the current position and stays there.
        morph(match, wanted);
        continue;
      }
      morph(match, wanted);
      place = match.nextSibling;
    }
    while (place) {
      const next = place.nextSibling;
      place.remove();
      place = next;
    }
  };

  // --- Following changes -----------------------------------------------------------------------

  /** Returns the ids on the page with the time of their last change. */
  const changes = () => new Map([...main.querySelectorAll("[id][data-changed]")]
    .map((element) => [element.id, Number(element.dataset.changed)]));

  /** Highlights changes and returns true if there are any. */
  const mark = (before, since) => {
    // An entry that moved here from another page of the list is new here, but has not changed.
    const isNew = (id, at) => before.has(id) ? before.get(id) !== at : at >= since;
    const changed = [...changes()].filter(([id, at]) => isNew(id, at));
    for (const [id] of isCalm.matches ? [] : changed) {
      const element = document.getElementById(id);
      element.classList.add("changed");
      setTimeout(() => element.classList.remove("changed"), MARK_MS);
    }
    return changed.length > 0;
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

  /** Shows the error above the page and leaves the page as it was. */
  const showTrouble = (young) => {
    const text = young.querySelector(".error-text")?.textContent ?? "";
    let trouble = document.getElementById("trouble");
    if (!trouble) {
      trouble = document.createElement("p");
      Object.assign(trouble, { id: "trouble", className: "notice bad" });
      trouble.setAttribute("role", "alert");
      main.prepend(trouble);
    }
    if (trouble.textContent !== text) trouble.textContent = text;
    delete main.dataset.version;
  };

  const takeOver = (young) => {
    const content = young.getElementById("main");
    const [before, since] = [changes(), Number(main.dataset.now)];
    const putFocusBack = keepFocus();
    document.title = young.title;
    morph(main, content);
    putFocusBack();
    dress();
    return mark(before, since);
  };

  const load = async () => {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const answer = await fetch(location.href, { headers: { Accept: "text/html" }, signal });
    const young = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!young.getElementById("main")) throw new Error(`no page but ${answer.status}`);
    return [young, answer.status];
  };

  let isLoading = false;
  let isStale = false;
  let lastLoad = -Infinity;
  let secondTry;

  /** Reloads the page and takes over what has changed. */
  const refresh = async (isNews) => {
    if (isLoading) { isStale ||= isNews; return; }
    isLoading = true;
    clearTimeout(secondTry);
    try {
      const wait = REST_MS - (performance.now() - lastLoad);
      if (wait > 0) await new Promise((done) => setTimeout(done, wait));
      isStale = false;
      lastLoad = performance.now();
      const [young, status] = await load();
      if (document.hidden) {
        // The content is updated when the page becomes visible, so that its changes are highlighted then.
        document.title = young.title;
      } else if (status >= 500) {
        showTrouble(young);
      } else if (takeOver(young) && isNews) {
        say(document.body.dataset.changed, true);
      }
    } catch {
      // If the server is down, the stream notices, and reconnects when the server is back.
      if (isNews) secondTry = setTimeout(() => refresh(true), SECOND_TRY_MS);
    } finally {
      isLoading = false;
      if (isStale) refresh(true);
    }
  };

  let stream;
  let watchdog;
  let retry;
  let failures = 0;

  const show = (state) => {
    const before = live.dataset.state;
    if (before === state) return;
    live.dataset.state = state;
    live.textContent = live.dataset[state];
    // Tells screen readers when the connection is lost and when it is back.
    if (state === "disconnected" || before === "disconnected") say(live.textContent);
  };

  const heard = () => {
    clearTimeout(watchdog);
    watchdog = setTimeout(broken, SILENCE_MS);
  };

  const close = () => {
    clearTimeout(watchdog);
    clearTimeout(retry);
    stream?.close();
    stream = undefined;
  };

  const broken = () => {
    close();
    show("disconnected");
    const [first, most] = RETRY_MS;
    // Random, so that many pages do not reconnect to a restarted server at once.
    const wait_ms = Math.min(first * 1.6 ** failures, most) * (0.75 + Math.random() / 2);
    failures += 1;
    retry = setTimeout(open, wait_ms);
  };

  const open = () => {
    close();
    if (document.hidden) return;
    if (live.dataset.state === "off") show("connecting");
    stream = new EventSource("/events");
    heard();
    const told = (event) => {
      heard();
      // The store has changed since this page was made.
      if (event.data !== main.dataset.version) refresh(true);
    };
    stream.addEventListener("hello", (event) => {
      failures = 0;
      show("connected");
      told(event);
    });
    stream.addEventListener("change", told);
    stream.addEventListener("beat", heard);
    stream.addEventListener("error", broken);
  };

  const follow = () => {
    // Browsers allow six connections to a server for all pages together, so hidden pages close theirs.
    document.addEventListener("visibilitychange", () => { if (document.hidden) close(); else open(); });
    addEventListener("pagehide", close);
    addEventListener("pageshow", (event) => { if (event.persisted) open(); });
    setInterval(() => refresh(false), AGE_MS);
    open();
  };

  // --- Controls --------------------------------------------------------------------------------

  /** Shows the controls that only work with scripts. */
  const dress = () => {
    // Only local and secure pages may write to the clipboard.
    if (!navigator.clipboard) return;
    for (const button of main.querySelectorAll("button.copy[hidden]")) button.hidden = false;
  };

  main.addEventListener("click", async (event) => {
    const button = event.target.closest?.("button.copy");
    if (!button) return;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
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
    if (target === pointed && target.form) target.form.requestSubmit();
  });

  // Keeps empty fields out of the address.
  main.addEventListener("formdata", ({ formData }) => {
    for (const [name, value] of [...formData]) if (!value) formData.delete(name);
  });

  // A page that comes back from the cache shows the filters that it was loaded with.
  addEventListener("pageshow", (event) => {
    if (event.persisted) main.querySelector("#filters")?.reset();
  });

  dress();
  // Error pages without a version do not follow changes.
  if (main.dataset.version) follow();
})();
