// Checks the pages in Japanese: every text of ours is translated, nothing is cut off, and readers choose the language.
//
// By hand: node browser/language.mjs /path/to/ait (see widths.mjs)

import { check, run } from '../scenario.mjs';
import { Chromium } from './chromium.mjs';
import { clippedTexts } from './in_page.mjs';
import { EMPTY, PAGES } from './pages.mjs';
import { linkedIssues, site } from './stores.mjs';

const RUN_MS = 120_000;
const WIDTHS = [360, 1024, 1440];
const HEIGHT = 900;
/** Words of users and machines that are the same in every language: names, terms of searches, formats. */
const SAME = /^(.*developer( · 店)?|ui|There is no Mac\.|bug-fixer|code-reviewer|team-lead|[a-z]+:\S*|ui -old|Markdown|\S+\.\w+|[0-9a-f]{7,8}|.*\d\d:\d\d UTC|.*\bIssue number \d+.*)$/;

const [binary] = process.argv.slice(2);

/** Returns the texts of a page that are not those of users, one after another. */
function texts() {
  const kept = 'bdi, code, kbd, pre, textarea, [dir=auto]:not([translate=yes]), [translate=no]';
  const found = [];
  const walker = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.nodeType === Node.TEXT_NODE) {
      if (!node.parentElement.closest(`${kept}, script, style`)) found.push(node.data.trim());
    } else if (!node.closest(kept)) {
      for (const name of ['title', 'aria-label', 'placeholder', 'alt']) found.push(node.getAttribute(name) ?? '');
    }
  }
  return found;
}

await run('language', RUN_MS, async () => {
  check.ok(binary, 'usage: node browser/language.mjs /path/to/ait');
  const chromium = await Chromium.start();
  const left = {};
  for (const [stored, pages] of [[linkedIssues(120), PAGES], [[], EMPTY]]) {
    const server = await site(binary, stored, 'web-actions = true\nname = "店"\n');
    const visit = await chromium.visit(server.origin, { scripts: false });
    for (const [path, status] of Object.entries({ ...pages, '/new': 200 })) {
      const open = async (language) => {
        await visit.page.setExtraHTTPHeaders({ 'accept-language': language });
        await visit.open(path, status);
        check.equal(await visit.inPage(() => document.documentElement.lang), language);
        return visit.inPage(texts);
      };
      const english = await open('en');
      const japanese = await open('ja');
      check.equal(japanese.length, english.length, path);
      const isLeft = (text, at) => text === english[at] && /[A-Za-z]{2}/.test(text) && !SAME.test(text);
      for (const text of japanese.filter(isLeft)) left[text] = path;
      for (const width of WIDTHS) {
        await visit.page.setViewport({ width, height: HEIGHT });
        await visit.fits(path);
        check.deepEqual(await visit.inPage(clippedTexts), [], `cut off at ${width} px: ${path}`);
      }
      visit.checkProblems();
    }
    await visit.end();

    const choosing = await chromium.visit(server.origin);
    await choosing.open('/?status=open');
    const choose = (language) => choosing.follow(() => choosing.page.select('#appearance select[name=lang]', language));
    const isIn = async (language, path) => {
      check.equal(await choosing.inPage(() => document.documentElement.lang), language);
      check.equal(new URL(choosing.page.url()).pathname + new URL(choosing.page.url()).search, path);
      check.equal(await choosing.page.$eval('#appearance select[name=lang]', (choice) => choice.value), language);
    };
    await isIn('en', '/?status=open');
    await choose('ja');
    await isIn('ja', '/?status=open');
    await choosing.open('/board');
    await isIn('ja', '/board');
    await choose('en');
    await isIn('en', '/board');
    choosing.checkProblems();
    await choosing.end();
  }
  check.deepEqual(left, {}, "not translated");
});
