// The worker that all pages of a browser share. It holds their one stream of events, because browsers allow six
// connections to a server, and six pages with a stream each would leave none for loading them.

/** The pages that are visible. */
const pages = new Set();
/** The last message to the pages, without heartbeats. */
let last;
let close;

const tellAll = (...words) => {
  if (words[0] !== "beat") last = words;
  for (const page of pages) page.postMessage(words);
};

const start = () => {
  close?.();
  last = undefined;
  close = followEvents(tellAll);
};

addEventListener("connect", ({ ports: [page] }) => {
  page.addEventListener("message", ({ data }) => {
    if (data === "follow") {
      pages.add(page);
      // The reader of a page that has just become visible should not have to wait for the next retry.
      if (!close || last?.[0] === "broken") start();
      else if (last) page.postMessage(last);
    } else if (pages.delete(page) && pages.size === 0) {
      close();
      close = undefined;
    }
  });
  page.start();
});
