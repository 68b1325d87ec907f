// One tab that looks at the pages, and everything that goes wrong in it.

import { setTimeout as pause } from 'node:timers/promises';
import { atEnd, check } from '../scenario.mjs';
import { beyondTheEdge } from './in_page.mjs';

const LOAD_MS = 30_000;
/** How long something may take that takes no time to speak of. */
const PATIENCE_MS = 10_000;
const POLL_MS = 10;

/** The sizes of screen that are looked at. */
export const PHONE = { width: 360, height: 740 };
export const DESKTOP = { width: 1280, height: 900 };

/** A tab in which nothing may go wrong but what a scenario excuses. */
export class Visit {
  /** Begins to watch a tab. `scheme` is light or dark, `motion` no-preference or reduce. */
  static async begin(page, origin, options = {}) {
    const { size = DESKTOP, scheme = 'light', motion = 'no-preference', scripts = true } = options;
    const visit = new Visit();
    Object.assign(visit, { page, origin, oddities: [], excuses: [], refusals: [] });
    visit.watch();
    atEnd((failure) => {
      if (!failure || page.isClosed()) return;
      console.error(`a tab was at ${page.url()}, with oddities:`, visit.oddities);
    });
    await page.setViewport(size);
    await page.emulateMediaFeatures([
      { name: 'prefers-color-scheme', value: scheme },
      { name: 'prefers-reduced-motion', value: motion },
    ]);
    // Of several tabs each must behave as the one that is looked at.
    await page.emulateFocusedPage(true);
    await page.setJavaScriptEnabled(scripts);
    // A violation is told on the console too, but not what exactly broke the policy.
    await page.evaluateOnNewDocument(() => {
      document.addEventListener('securitypolicyviolation', (event) => {
        const { effectiveDirective, blockedURI, sourceFile, lineNumber, sample } = event;
        const place = `${sourceFile}:${lineNumber}`;
        console.error('policy broken:', effectiveDirective, blockedURI, place, sample);
      });
    });
    return visit;
  }

  /** Notes all that the browser has to say about the pages. */
  watch() {
    const { page } = this;
    const note = (...words) => this.oddities.push(words.join(' '));
    page.on('console', (message) => {
      note(`console ${message.type()}:`, message.text(), message.location().url ?? '');
    });
    page.on('pageerror', (error) => note('page error:', error.stack ?? error));
    page.on('error', (error) => note('crash:', error));
    page.on('dialog', (dialog) => {
      note('dialog:', dialog.message());
      // It would block the page.
      dialog.dismiss().catch(() => {});
    });
    page.on('popup', () => note('a window was opened'));
    page.on('requestfailed', (request) => {
      const { errorText } = request.failure();
      // What a page still had under way when it was left.
      if (errorText !== 'net::ERR_ABORTED') note('failed:', errorText, request.url());
    });
    page.on('response', (response) => {
      if (response.status() >= 400) note('refused:', response.status(), response.url());
    });
    page.on('request', (request) => {
      const address = new URL(request.url());
      if (address.origin !== this.origin) note('foreign:', request.url());
    });
  }

  /** Lets what matches happen from now on. */
  excuse(...patterns) {
    this.excuses.push(...patterns);
  }

  /** Sees that nothing went wrong since the last look, and forgets the excuses. */
  calm(where = this.page.url()) {
    const excused = (oddity) =>
      this.excuses.some((pattern) => pattern.test(oddity)) ||
      this.refusals.some((words) => words.every((word) => oddity.includes(word)));
    const odd = this.oddities.filter((oddity) => !excused(oddity));
    check.deepEqual(odd, [], where);
    this.oddities.length = 0;
    this.excuses.length = 0;
  }

  /** Goes to a page, which must answer with this status. */
  async open(path, status = 200) {
    const url = new URL(path, this.origin).href;
    // The browser tells of a page that is an error page, and does so whenever it is asked for.
    if (status >= 400) this.refusals.push([` ${status} `, url]);
    const response = await this.page.goto(url, { timeout: LOAD_MS, waitUntil: 'load' });
    // The browser asks whether a page that it has is still the same.
    const found = response.status() === 304 ? 200 : response.status();
    check.equal(found, status, url);
    return response;
  }

  /** Does something that leads to another page, and waits until that is there. */
  async follow(act) {
    const arrived = this.page.waitForNavigation({ timeout: LOAD_MS, waitUntil: 'load' });
    // A failure of the act is the one to be told of.
    arrived.catch(() => {});
    await act();
    return arrived;
  }

  /** Runs a function in the page. */
  inPage(look, ...given) {
    return this.page.evaluate(look, ...given);
  }

  /**
   * Waits until a function in the page answers with something true, and gives how long that took.
   *
   * The page is asked again and again from outside, since its policy lets nothing be run in it.
   */
  async until(what, look, given = [], limit_ms = PATIENCE_MS) {
    const start = performance.now();
    for (;;) {
      if (await this.page.evaluate(look, ...given)) return performance.now() - start;
      const waited_ms = performance.now() - start;
      if (waited_ms > limit_ms) throw new Error(`not within ${limit_ms} ms: ${what}`);
      await pause(POLL_MS);
    }
  }

  /** Sees that the page is no wider than the window, and nothing on it is cut off. */
  async fits(where = this.page.url()) {
    const { width } = this.page.viewport();
    const beyond = await this.inPage(beyondTheEdge);
    check.deepEqual(beyond, [], `wider than ${width} px: ${where}`);
  }

  /** Closes the tab, in which nothing may have gone wrong. */
  async end() {
    this.calm();
    await this.close();
  }

  /** Closes the tab, whatever went wrong in it. */
  close() {
    return this.page.browserContext().close();
  }
}
