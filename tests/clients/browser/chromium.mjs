// The system's Chromium without a window, on its own for each run of a script.

import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import puppeteer from 'puppeteer-core';
import { atEnd, kill, temporaryDirectory } from '../scenario.mjs';
import { Visit } from './visit.mjs';

const LAUNCH_MS = 60_000;
/** How long the browser may take for one command, such as a look at a page of 100,000 characters. */
const COMMAND_MS = 60_000;

/** What a browser does by itself is of no use here, and would ask for hosts that nobody runs. */
const QUIET = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-default-apps',
  '--disable-gpu',
  '--disable-quic',
  '--disable-sync',
  '--no-default-browser-check',
  '--no-first-run',
  // Nothing but this machine: a page that loads from elsewhere fails at once.
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
];

function executable() {
  for (const folder of process.env.PATH.split(delimiter)) {
    const path = join(folder, 'chromium');
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // The next folder may have it.
    }
  }
  throw new Error('there is no chromium: install the package of this name');
}

/** A browser that is gone at the end of the run, whatever happens. */
export class Chromium {
  /** Starts it, with a fresh profile in a directory of its own. */
  static async start() {
    const home = temporaryDirectory();
    const chromium = new Chromium();
    chromium.browser = await puppeteer.launch({
      executablePath: executable(),
      headless: true,
      // The sandbox cannot be had by root.
      args: process.getuid?.() === 0 ? [...QUIET, '--no-sandbox'] : QUIET,
      userDataDir: join(home, 'profile'),
      env: { PATH: process.env.PATH, HOME: home, LANG: 'C.UTF-8', TZ: 'UTC' },
      // With pipes it ends by itself even where this process was killed before it could end it.
      pipe: true,
      timeout: LAUNCH_MS,
      protocolTimeout: COMMAND_MS,
      handleSIGHUP: false,
      handleSIGINT: false,
      handleSIGTERM: false,
    });
    const { pid } = chromium.browser.process();
    // The group: its helpers too, which would go on to write into the profile.
    atEnd(() => kill(-pid));
    return chromium;
  }

  /**
   * Opens a tab, with no cookies and no cache of another, that looks at the pages of `origin`.
   *
   * `options` are those of `Visit`.
   */
  async visit(origin, options) {
    const context = await this.browser.createBrowserContext();
    return Visit.begin(await context.newPage(), origin, options);
  }
}
