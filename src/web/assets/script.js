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
  /** How long a page may take to load. */
  const PATIENCE_MS = 15_000;
  /** How soon a page that could not be loaded is loaded again. */
  const SECOND_TRY_MS = 2_000;
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

  const follows = (one, other) =>
    Boolean(other.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING);

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
    const named = (parent) => [...parent.children].filter((it) => it.id).map((it) => [it.id, it]);
    const known = new Map(named(old));
    const stays = new Map(named(young));
    let place = old.firstChild;
    for (const wanted of [...young.childNodes]) {
      let match = wanted.id ? known.get(wanted.id) : undefined;
      if (match && !isSame(match, wanted)) match = undefined;
      if (!match && !wanted.id) {
        // Of those without a name, the next of the same kind.
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
        // What stands between goes round it, but for what must not be moved either.
        let after = match;
        for (let next = place; next !== match;) {
          const one = next;
          next = next.nextSibling;
          if (isPinned(one)) continue;
          after.after(one);
          after = one;
        }
      } else if (match !== place) {
        // It has been passed, and stays there.
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

  // --- Following -------------------------------------------------------------------------------

  /** What stands on the page, and when each of it changed. */
  const changes = () => new Map([...main.querySelectorAll("[id][data-changed]")]
    .map((element) => [element.id, Number(element.dataset.changed)]));

  /** Marks what changed while somebody was looking; whether anything did. */
  const mark = (before, since) => {
    // What moved here from another page of a list was not here before, and has not changed.
    const isNew = (id, at) => before.has(id) ? before.get(id) !== at : at >= since;
    const changed = [...changes()].filter(([id, at]) => isNew(id, at));
    for (const [id] of isCalm.matches ? [] : changed) {
      const element = document.getElementById(id);
      element.classList.add("changed");
      setTimeout(() => element.classList.remove("changed"), MARK_MS);
    }
    return changed.length > 0;
  };

  /** Remembers what has the focus; what is given back puts it where that, or the next like it, is now. */
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
    // An empty region that fills is read out even when the words are the same as before.
    setTimeout(() => { said.textContent = text; }, 100);
  };

  /** Says above the page what is wrong, and leaves the rest of it as it was. */
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
    delete main.dataset.place;
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

  /** Loads the page anew and takes over what is different. */
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
        // What changed is to be seen when somebody looks.
        document.title = young.title;
      } else if (status >= 500) {
        showTrouble(young);
      } else if (takeOver(young) && isNews) {
        say(document.body.dataset.changed, true);
      }
    } catch {
      // If the server is away the stream finds out, too, and tells when it is back.
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
    // Whoever cannot see it is told when it is lost, and when it is back.
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
    // Many pages that lose one server do not come back all at once.
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
    // Only pages of this machine, and secure ones, may write into the clipboard.
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

  // Whoever chooses with the mouse is done; with the keyboard, each key would choose.
  let pointed;
  main.addEventListener("pointerdown", ({ target }) => { pointed = target.closest?.("select"); });
  main.addEventListener("keydown", () => { pointed = undefined; });
  main.addEventListener("change", ({ target }) => {
    if (target === pointed && target.form) target.form.requestSubmit();
  });

  // Empty fields need not be in the address.
  main.addEventListener("formdata", ({ formData }) => {
    for (const [name, value] of [...formData]) if (!value) formData.delete(name);
  });

  // What was chosen for the next page is not what this one shows.
  addEventListener("pageshow", (event) => {
    if (event.persisted) main.querySelector("#filters")?.reset();
  });

  dress();
  // A page that says what went wrong stays as it is.
  if (main.dataset.place) follow();
})();
