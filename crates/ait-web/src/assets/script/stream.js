// The stream of events from the server: part of the page's script and of the worker's.

/** How long a stream may be silent before it counts as broken. The server sends a heartbeat every 10 s. */
const SILENCE_MS = 25_000;
/** The first and the longest delay before a broken stream is reopened. */
const RETRY_MS = [1_000, 15_000];

/**
 * Keeps a stream open until the returned function is called.
 *
 * Calls `tell` with "version" and the version of the store, with "beat", and with "broken".
 */
const followEvents = (tell) => {
  let stream;
  let watchdog;
  let retry;
  let failures = 0;

  const close = () => {
    clearTimeout(watchdog);
    clearTimeout(retry);
    stream?.close();
  };

  const broken = () => {
    close();
    tell("broken");
    const [first, most] = RETRY_MS;
    // Random, so that many browsers do not reconnect to a restarted server at once.
    const wait_ms = Math.min(first * 1.6 ** failures, most) * (0.75 + Math.random() / 2);
    failures += 1;
    retry = setTimeout(open, wait_ms);
  };

  const heard = () => {
    clearTimeout(watchdog);
    watchdog = setTimeout(broken, SILENCE_MS);
  };

  const open = () => {
    stream = new EventSource("/events");
    heard();
    const onVersion = ({ data }) => {
      failures = 0;
      heard();
      tell("version", data);
    };
    stream.addEventListener("hello", onVersion);
    stream.addEventListener("change", onVersion);
    stream.addEventListener("beat", () => { heard(); tell("beat"); });
    stream.addEventListener("error", broken);
  };

  open();
  return close;
};
