// Starts the system's Chromium without a window, one browser for each run of a script.

import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import puppeteer from 'puppeteer-core';
import { atEnd, kill, temporaryDirectory } from '../scenario.mjs';
import { Visit } from './visit.mjs';

const LAUNCH_MS = 60_000;
/** How long the browser may take for one command, such as a check of a page of 100,000 characters. */
const COMMAND_MS = 60_000;

/** Switches off the browser's background activity, which the tests do not need and which would contact other hosts. */
const QUIET = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-default-apps',
  '--disable-gpu',
  '--disable-quic',
  '--disable-sync',
  '--no-default-browser-check',
  '--no-first-run',
  // Only this machine resolves: a request to another host fails at once.
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
  throw new Error('chromium is not on the PATH: install the package chromium');
}

/** Launches the browser with a new profile, and once more if a machine under load let the first launch fail. */
async function launch(attempts = 2) {
  const home = temporaryDirectory();
  try {
    return await puppeteer.launch({
      executablePath: executable(),
      headless: true,
      // The sandbox does not work for root.
      args: process.getuid?.() === 0 ? [...QUIET, '--no-sandbox'] : QUIET,
      userDataDir: join(home, 'profile'),
      env: { PATH: process.env.PATH, HOME: home, LANG: 'C.UTF-8', TZ: 'UTC' },
      // With pipes, the browser exits by itself even if this process is killed first.
      pipe: true,
      timeout: LAUNCH_MS,
      protocolTimeout: COMMAND_MS,
      handleSIGHUP: false,
      handleSIGINT: false,
      handleSIGTERM: false,
    });
  } catch (error) {
    if (attempts === 1) throw error;
    console.error(`chromium did not start: ${error.message}`);
    return launch(attempts - 1);
  }
}

/** A browser that is killed at the end of the run. */
export class Chromium {
  /** Starts the browser with a new profile in its own directory. */
  static async start() {
    const chromium = new Chromium();
    chromium.browser = await launch();
    const { pid } = chromium.browser.process();
    // Kills the group, because the browser's helpers would continue to write to the profile.
    atEnd(() => kill(-pid));
    return chromium;
  }

  /**
   * Opens a tab for the pages of `origin`. It shares no cookies and no cache with other tabs.
   *
   * `options` are those of `Visit.begin`.
   */
  async visit(origin, options) {
    const context = await this.browser.createBrowserContext();
    return Visit.begin(await context.newPage(), origin, options);
  }
}
