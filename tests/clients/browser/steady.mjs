// Checks that the header's links stay where they are while a page loads and connects: a click must not miss.
//
// By hand, as described in acting.mjs:
//
//     node browser/steady.mjs /path/to/ait

import { setTimeout as pause } from 'node:timers/promises';
import { check, run } from '../scenario.mjs';
import { Chromium } from './chromium.mjs';
import { issue, site } from './stores.mjs';
import { DESKTOP, PHONE } from './visit.mjs';

const RUN_MS = 120_000;
const LOOKS = 40;
const BETWEEN_MS = 20;

const [binary] = process.argv.slice(2);

/** Returns the places of the header's links. */
const places = () => [...document.querySelectorAll('header a')].map((link) => {
  const { x, y } = link.getBoundingClientRect();
  return `${link.textContent.trim()} at ${Math.round(x)}, ${Math.round(y)}`;
}).join('; ');

await run('steady', RUN_MS, async () => {
  check.ok(binary, 'usage: node browser/steady.mjs /path/to/ait');
  const server = await site(binary, [issue(0), issue(1, { status: 'in_progress' })], 'web-actions = true\n');
  const chromium = await Chromium.start();
  for (const size of [DESKTOP, { width: 900, height: 800 }, PHONE, { width: 320, height: 700 }]) {
    const visit = await chromium.visit(server.origin, { size });
    for (const path of ['/', '/board', `/agents`]) {
      await visit.page.goto(new URL(path, server.origin).href, { waitUntil: 'domcontentloaded' });
      const seen = new Set();
      for (let look = 0; look < LOOKS; look += 1) {
        seen.add(await visit.inPage(places));
        await pause(BETWEEN_MS);
      }
      check.equal(seen.size, 1, `the header of ${path} moved at ${size.width} px: ${[...seen].join(' | ')}`);
    }
    await visit.end();
  }
});
