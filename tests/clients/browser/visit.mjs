// Controls one tab and collects the problems that the browser reports in it.

import { setTimeout as pause } from 'node:timers/promises';
import { atEnd, check } from '../scenario.mjs';
import { belowTheFooter, beyondTheEdge, outsideTheirBoxes } from './in_page.mjs';

const LOAD_MS = 30_000;
/** How long a fast operation may take. */
const PATIENCE_MS = 10_000;
const POLL_MS = 10;

/** The tested screen sizes. */
export const PHONE = { width: 360, height: 740 };
export const DESKTOP = { width: 1280, height: 900 };

/** A tab that fails the test on every problem that the scenario does not excuse. */
export class Visit {
  /** Begins to watch a tab. `scheme` is light or dark, `motion` no-preference or reduce. */
  static async begin(page, origin, options = {}) {
    const { size = DESKTOP, scheme = 'light', motion = 'no-preference', scripts = true } = options;
    const visit = new Visit();
    Object.assign(visit, { page, origin, problems: [], excuses: [], refusals: [] });
    visit.watch();
    atEnd((failure) => {
      if (!failure || page.isClosed()) return;
      console.error(`a tab was at ${page.url()}, with problems:`, visit.problems);
    });
    await page.setViewport(size);
    await page.emulateMediaFeatures([
      { name: 'prefers-color-scheme', value: scheme },
      { name: 'prefers-reduced-motion', value: motion },
    ]);
    // Each of several tabs must behave like the tab in the foreground.
    await page.emulateFocusedPage(true);
    await page.setJavaScriptEnabled(scripts);
    // The console also reports a violation, but without its exact cause.
    await page.evaluateOnNewDocument(() => {
      document.addEventListener('securitypolicyviolation', (event) => {
        const { effectiveDirective, blockedURI, sourceFile, lineNumber, sample } = event;
        const place = `${sourceFile}:${lineNumber}`;
        console.error('policy broken:', effectiveDirective, blockedURI, place, sample);
      });
    });
    return visit;
  }

  /** Records every message and error of the browser. */
  watch() {
    const { page } = this;
    const note = (...words) => this.problems.push(words.join(' '));
    page.on('console', (message) => {
      note(`console ${message.type()}:`, message.text(), message.location().url ?? '');
    });
    page.on('pageerror', (error) => note('page error:', error.stack ?? error));
    page.on('error', (error) => note('crash:', error));
    page.on('dialog', (dialog) => {
      note('dialog:', dialog.message());
      // An open dialog would block the page.
      dialog.dismiss().catch(() => {});
    });
    page.on('popup', () => note('a window was opened'));
    page.on('requestfailed', (request) => {
      const { errorText } = request.failure();
      // The browser aborts pending requests when a page is left.
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

  /** Ignores problems that match a pattern until the next `checkProblems`. */
  excuse(...patterns) {
    this.excuses.push(...patterns);
  }

  /** Checks that there are no problems since the last call, and clears the excuses. */
  checkProblems(where = this.page.url()) {
    const excused = (problem) =>
      this.excuses.some((pattern) => pattern.test(problem)) ||
      this.refusals.some((words) => words.every((word) => problem.includes(word)));
    const unexpected = this.problems.filter((problem) => !excused(problem));
    check.deepEqual(unexpected, [], where);
    this.problems.length = 0;
    this.excuses.length = 0;
  }

  /** Opens a page, which must answer with this status. */
  async open(path, status = 200) {
    const url = new URL(path, this.origin).href;
    // The browser reports an error page each time it loads one.
    if (status >= 400) this.refusals.push([` ${status} `, url]);
    const response = await this.page.goto(url, { timeout: LOAD_MS, waitUntil: 'load' });
    // The browser revalidates a cached page, and 304 means that it has not changed.
    const found = response.status() === 304 ? 200 : response.status();
    check.equal(found, status, url);
    return response;
  }

  /** Runs an action that leads to another page, and waits for that page to load. */
  async follow(act) {
    const arrived = this.page.waitForNavigation({ timeout: LOAD_MS, waitUntil: 'load' });
    // A failure of the action is the error to report.
    arrived.catch(() => {});
    await act();
    return arrived;
  }

  /** Runs a function in the page. */
  inPage(look, ...given) {
    return this.page.evaluate(look, ...given);
  }

  /**
   * Waits until a function in the page returns a truthy value. Returns the time that this took.
   *
   * It polls from outside, because the page's policy blocks injected scripts.
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

  /** Checks that the page and its elements do not reach beyond the right edge of the window, and nothing below the footer. */
  async fits(where = this.page.url()) {
    const { width } = this.page.viewport();
    const beyond = await this.inPage(beyondTheEdge);
    check.deepEqual(beyond, [], `wider than ${width} px: ${where}`);
    const below = await this.inPage(belowTheFooter);
    check.ok(below <= 1, `${below} px below the footer at ${width} px: ${where}`);
    check.deepEqual(await this.inPage(outsideTheirBoxes), [], `at ${width} px: ${where}`);
  }

  /** Checks for problems and closes the tab. */
  async end() {
    this.checkProblems();
    await this.close();
  }

  /** Closes the tab without a check for problems. */
  close() {
    return this.page.browserContext().close();
  }
}
