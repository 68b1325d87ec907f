// What the pages do beyond showing themselves: they follow the store, without losing where somebody is,
// what is selected and what was typed. Every page works without this.
"use strict";

(() => {
  /** How soon a page may load itself anew after it has done so. */
  const REST_MS = 500;
  /** After how long without a word the stream counts as broken; the server speaks every 10 s. */
  const SILENCE_MS = 25_000;
  /** How soon a broken stream is opened again, at first and at the most. */
  const RETRY_MS = [1_000, 15_000];
  /** How often the ages on a page are brought up to date. */
  const AGE_MS = 30_000;
  /** How long what has changed stays marked. */
  const MARK_MS = 2_500;
  /** How seldom a screen reader is told that something has changed. */
  const SAY_MS = 20_000;

  const live = document.getElementById("live");
  const said = document.getElementById("said");
  const main = document.getElementById("main");
  const isCalm = matchMedia("(prefers-reduced-motion: reduce)");

  // --- One page into another -------------------------------------------------------------------

  /** Whether a node is, or holds, what has the focus or is selected: it must not be moved. */
  const isPinned = (node) => {
    const selection = getSelection();
    const holds = (other) => other && node.contains(other);
    return holds(document.activeElement) ||
      (!selection.isCollapsed && (holds(selection.anchorNode) || holds(selection.focusNode)));
  };

  const isSame = (one, other) =>
    one.nodeType === other.nodeType && one.nodeName === other.nodeName &&
    (one.id ?? "") === (other.id ?? "");

  /** What the reader has done to an element is the reader's. */
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

  /** Makes a node look like a young one, and keeps every part of it that is still there. */
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
    const known = new Map([...old.children].filter((it) => it.id).map((it) => [it.id, it]));
    let place = old.firstChild;
    for (const wanted of [...young.childNodes]) {
      let match = wanted.id ? known.get(wanted.id) : undefined;
      if (match && !isSame(match, wanted)) match = undefined;
      if (!match && !wanted.id) {
        // Of those without a name, the next of the same kind.
        for (let next = place; next && !match; next = next.nextSibling) {
          if (isSame(next, wanted)) match = next;
          else if (next.id) break;
        }
      }
      if (!match) {
        old.insertBefore(document.importNode(wanted, true), place);
        continue;
      }
      if (match !== place) {
        if (isPinned(match)) {
          // The others go round it.
          while (place !== match) {
            const next = place.nextSibling;
            old.append(place);
            place = next;
          }
        } else {
          old.insertBefore(match, place);
        }
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

  // --- Following -------------------------------------------------------------------------------

  const mark = (since) => {
    const changed = [...main.querySelectorAll("[data-changed]")]
      .filter((element) => Number(element.dataset.changed) >= since);
    if (!changed.length || isCalm.matches) return;
    for (const element of changed) {
      element.classList.add("changed");
      setTimeout(() => element.classList.remove("changed"), MARK_MS);
    }
  };

  let lastSaid = -Infinity;
  const say = () => {
    const now = performance.now();
    if (now - lastSaid < SAY_MS) return;
    lastSaid = now;
    said.textContent = "";
    // An empty region that fills is read out even when the words are the same as before.
    setTimeout(() => { said.textContent = document.body.dataset.changed; }, 100);
  };

  let isLoading = false;
  let isStale = false;
  let lastLoad = -Infinity;

  /** Loads the page anew and takes over what is different. */
  const refresh = async (isNews) => {
    if (isLoading) { isStale ||= isNews; return; }
    isLoading = true;
    try {
      const wait = REST_MS - (performance.now() - lastLoad);
      if (wait > 0) await new Promise((done) => setTimeout(done, wait));
      isStale = false;
      lastLoad = performance.now();
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (!answer.headers.get("Content-Type")?.startsWith("text/html")) return;
      const young = new DOMParser().parseFromString(await answer.text(), "text/html");
      const content = young.getElementById("main");
      if (!content) return;
      const since = Number(main.dataset.now);
      const before = main.textContent;
      document.title = young.title;
      morph(main, content);
      dress();
      mark(since);
      if (isNews && main.textContent !== before) say();
    } catch {
      // The server is away; the stream finds out, too, and tells when it is back.
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
    if (live.dataset.state === state) return;
    live.dataset.state = state;
    live.textContent = live.dataset[state];
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
    // Many pages that lose one server do not come back all at once.
    const wait = Math.min(first * 1.6 ** failures, most) * (0.75 + Math.random() / 2);
    failures += 1;
    retry = setTimeout(open, wait);
  };

  const open = () => {
    close();
    if (document.hidden) return;
    if (live.dataset.state === "off") show("connecting");
    stream = new EventSource("/events");
    heard();
    const told = (event) => {
      heard();
      // What the store looked like when this page was made, or something has happened since.
      if (event.data !== main.dataset.place) refresh(true);
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
    // A browser has six connections to a server for all its pages together: hidden ones need none.
    document.addEventListener("visibilitychange", () => { if (document.hidden) close(); else open(); });
    addEventListener("pagehide", close);
    addEventListener("pageshow", (event) => { if (event.persisted) open(); });
    setInterval(() => refresh(false), AGE_MS);
    open();
  };

  // --- Comforts --------------------------------------------------------------------------------

  /** Shows what only works with a script. */
  const dress = () => {
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
    if (button.dataset.copied) said.textContent = button.dataset.copied;
    setTimeout(() => button.classList.remove("done"), MARK_MS);
  });

  main.addEventListener("change", (event) => {
    if (event.target.matches("#filters select")) event.target.form.requestSubmit();
  });

  // Empty fields need not be in the address.
  main.addEventListener("submit", (event) => {
    for (const field of event.target.querySelectorAll("input, select")) {
      if (!field.value) field.disabled = true;
    }
  });
  addEventListener("pageshow", () => {
    for (const field of main.querySelectorAll(":disabled[name]")) field.disabled = false;
  });

  dress();
  // A page that says what went wrong stays as it is.
  if (main.dataset.place) follow();
})();
