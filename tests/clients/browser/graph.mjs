// Checks the drawing of what lies around something: every node has its name beside it, and is a link.
//
// By hand: node browser/graph.mjs /path/to/ait (see widths.mjs)

import { check, run } from '../scenario.mjs';
import { accessible } from './axe.mjs';
import { Chromium } from './chromium.mjs';
import { idOf, linkedIssues, site } from './stores.mjs';
import { PHONE } from './visit.mjs';

const RUN_MS = 120_000;
/** How many pixels two boxes may share, as their edges are rounded. */
const ROUNDING = 0.5;
/** The smallest height of a text that is still read. */
const READABLE = 11;

const [binary] = process.argv.slice(2);
const TITLE = 'Replace the long way around the ledger by a short one, and say why';
const stored = linkedIssues(120).map((issue, number) => ({
  ...issue,
  title: number % 3 === 0 ? `${TITLE} ${number}` : issue.title,
  description: `In src/ledger/part-${number % 7}.rs, as #${idOf((number * 5) % 120).slice(0, 8)} says.`,
}));

/** Returns the boxes of the drawing: of its labels, as far as they are shown, and of its nodes. */
function boxes() {
  const box = (element) => {
    const { left, top, right, bottom } = element.getBoundingClientRect();
    return { what: element.closest('a')?.textContent ?? element.textContent, left, top, right, bottom };
  };
  const shown = (text) => {
    const of = box(text);
    const cut = text.parentElement.viewportElement === null || text.parentElement.nodeName !== 'svg' ? undefined : text.parentElement;
    if (!cut || cut.parentElement.nodeName !== 'a') return of;
    const scale = cut.ownerSVGElement.getScreenCTM();
    const left = scale.e + scale.a * cut.x.baseVal.value;
    return { ...of, left: Math.max(of.left, left), right: Math.min(of.right, left + scale.a * cut.width.baseVal.value) };
  };
  const drawing = document.querySelector('.around > svg');
  return {
    labels: [...drawing.querySelectorAll('text')].map(shown),
    nodes: [...drawing.querySelectorAll('circle, use')].map(box),
    width: drawing.getBoundingClientRect().width,
  };
}

const meet = (one, other) =>
  one.left < other.right - ROUNDING && other.left < one.right - ROUNDING &&
  one.top < other.bottom - ROUNDING && other.top < one.bottom - ROUNDING;

async function theDrawing(visit, about) {
  await visit.open(`/graph/${about}`);
  const { labels, nodes, width } = await visit.inPage(boxes);
  check.ok(nodes.length > 5, `${nodes.length} nodes around ${about}`);
  check.equal(labels.length, nodes.length + 1, 'each node has a name, and the beginning');
  const bad = [];
  labels.forEach((label, at) => {
    check.ok(label.bottom - label.top >= READABLE, `${label.bottom - label.top} px: ${label.what}`);
    for (const other of [...labels.slice(at + 1), ...nodes]) if (meet(label, other)) bad.push(`${label.what} on ${other.what}`);
  });
  check.deepEqual(bad, [], about);
  const used = Math.max(...labels.map(({ right }) => right)) - Math.min(...labels.map(({ left }) => left));
  check.ok(used > width / 2, `${used} of ${width} px`);
  await accessible(visit, `the drawing around ${about}`);
  await visit.fits();
}

await run('graph', RUN_MS, async () => {
  check.ok(binary, 'usage: node browser/graph.mjs /path/to/ait');
  const server = await site(binary, stored);
  const chromium = await Chromium.start();
  const visit = await chromium.visit(server.origin);
  for (const width of [1440, 1024, 700]) {
    await visit.page.setViewport({ width, height: 900 });
    for (const about of ['developer', idOf(0), idOf(6), 'src/ledger/part-3.rs']) await theDrawing(visit, about);
  }
  const current = () => visit.page.$eval('.tabs [aria-current]', (tab) => tab.getAttribute('href'));
  for (const [about, tab] of [['developer', '/agents'], [idOf(0), '/'], ['src/ledger', '/memory']]) {
    await visit.open(`/graph/${about}`);
    check.equal(await current(), tab);
  }
  // A node leads to the graph around it.
  await visit.open('/graph/developer');
  await visit.follow(() => visit.page.click('.around use'));
  check.match(new URL(visit.page.url()).pathname, /^\/graph\/[0-9a-f]{8}$/);
  await visit.page.setViewport(PHONE);
  check.equal(await visit.page.$eval('.around', (drawing) => drawing.checkVisibility()), false, 'the lists suffice on a phone');
  visit.checkProblems();
  await visit.end();
});
