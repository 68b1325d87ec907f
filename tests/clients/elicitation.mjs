// Tests questions to the person at a client with an official TypeScript SDK: a person who answers, declines or leaves the
// form open, a client that fails, and a client that shows no forms.
//
// By hand, as in sdk.mjs:
//
//     node elicitation.mjs v1|v2-legacy|v2-auto|v2-modern stdio|http /path/to/ait

import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execute } from './programs.mjs';
import { check, run, temporaryDirectory } from './scenario.mjs';
import { TRANSPORTS } from './sdks.mjs';
import { call, read, wholeIssue } from './session.mjs';

const RUN_MS = 120_000;
const [client, transport, binary] = process.argv.slice(2);
const isModern = client !== 'v1' && client !== 'v2-legacy';
const agent = 'dev';

/** What the person does with the next form, and the form that the client got last. */
const person = { acts: undefined, form: undefined };

const accept = (content) => () => ({ action: 'accept', content });

/** Claims an issue that is filed for it, asks about it, and returns the text of the reply. */
async function ask(session, acts, given = {}, limit) {
  const filed = await call(session, 'add_issue', { title: 'A port', description: 'd', classification: 'bug', agent });
  const id = filed.match(/[0-9a-f-]{36}/)[0];
  await read(session, 'get_next_issue', { agent, issue_id: id });
  Object.assign(person, { acts, form: undefined });
  const result = await session.callTool('ask_human', { issue_id: id, agent, question: 'Which port?', ...given }, limit);
  check.ok(!result.isError, JSON.stringify(result));
  return { id, text: result.content[0].text };
}

/** Checks that an agent goes on with its issue, and that the issue has the answer. */
async function goesOn(session, { id, text }, answer) {
  check.ok(text.startsWith(`Issue ${id} answered: ${answer}`), text);
  check.match(text, /You hold it again: claim 2\.$/);
  const issue = await wholeIssue(session, id);
  const { agent: by, text: said } = issue.comments.at(-1);
  check.deepEqual([issue.status, issue.claim.number, issue.parked], ['in_progress', 2, undefined]);
  check.deepEqual([by, said], ['person', answer]);
  const done = { issue_id: id, comment: 'done', agent };
  check.match(await call(session, 'complete_issue', done), /completed/);
}

/** Checks that a question waits for people, and that the agent is free. */
async function waits(session, { id, text }) {
  check.match(text, /asked.*: status created/);
  const issue = await wholeIssue(session, id);
  check.equal(issue.status, 'created');
  check.equal(issue.parked.question.text, 'Which port?');
}

async function answered(session) {
  const options = ['8080', '9090'];
  await goesOn(session, await ask(session, accept({ answer: ' 8080\n' })), '8080');
  check.match(person.form.message, /^dev asks about issue [0-9a-f]{8} \(A port\): Which port\?$/);
  check.deepEqual(person.form.requestedSchema.required, ['answer']);
  await goesOn(session, await ask(session, accept({ option: '9090' }), { options }), '9090');
  check.deepEqual(person.form.requestedSchema.properties.option.enum, options);
  await goesOn(session, await ask(session, accept({ option: '9090', answer: 'none' }), { options }), 'none');
  const given = { default: '80', default_after_minutes: 5 };
  await goesOn(session, await ask(session, accept({ answer: '1' }), given), '1');
  check.match(person.form.message, /\(default, from .*Z on: 80\)$/);
}

async function notAnswered(session, { directory }) {
  const fails = () => {
    throw new Error('no terminal');
  };
  const declines = () => ({ action: 'decline' });
  const cancels = () => ({ action: 'cancel' });
  for (const acts of [declines, cancels, accept({ answer: ' ' }), fails]) {
    const asked = await ask(session, acts).catch((error) => error);
    // A client without sessions fails itself if its person does: the call has no result, and the question waits.
    if (asked instanceof Error) {
      check.ok(isModern && acts === fails, String(asked));
      continue;
    }
    check.ok(person.form);
    await waits(session, asked);
  }
  // Meanwhile a person answers elsewhere.
  const elsewhere = async () => {
    const { issues } = await read(session, 'list_issues', { status: 'created' });
    const command = ['answer', issues.at(-1).id, '4711', '--agent', 'ann'];
    const { ended, stderr } = await execute(resolve(binary), command, 15_000, { cwd: directory });
    check.equal(ended, 0, stderr);
    return { action: 'accept', content: { answer: 'too late' } };
  };
  const { id, text } = await ask(session, elsewhere);
  check.match(text, /asked: Which port\?; answered by ann: 4711/);
  check.equal((await wholeIssue(session, id)).status, 'created');
}

async function leftOpen(session) {
  // A client without sessions decides itself how long it waits.
  if (isModern) return;
  let answerNow;
  const begun = performance.now();
  const open = () => new Promise((settle) => {
    answerNow = () => settle({ action: 'accept', content: { answer: 'late' } });
  });
  const asked = await ask(session, open, {}, { timeout: 60_000 });
  check.ok(performance.now() - begun < 30_000, 'some clients give a call up after 30 s');
  await waits(session, asked);
  answerNow();
  // The answer counts, although the call has ended.
  for (let tries = 0; tries < 200; tries += 1) {
    const { comments, status, parked } = await wholeIssue(session, asked.id);
    if (comments.at(-1).text === 'late') {
      check.deepEqual([status, parked], ['created', undefined]);
      return;
    }
    await sleep(50);
  }
  check.ok(false, 'the late answer is lost');
}

run(`elicitation ${client} ${transport}`, RUN_MS, async () => {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, 'ait.toml'), 'toolsets = ["planning"]\n');
  const setting = new TRANSPORTS[transport](client, binary, directory);
  const shows = await setting.connect('with-a-person', (form) => {
    person.form = form;
    return person.acts();
  });
  // Over HTTP, a client opens the stream for requests after it is connected.
  for (let tries = 0; tries < 100 && transport === 'http' && !isModern; tries += 1) {
    const { text } = await ask(shows, accept({ answer: 'here' }));
    if (text.includes('answered: here')) break;
    await sleep(50);
  }
  await answered(shows);
  await notAnswered(shows, setting);
  await leftOpen(shows);
  // The control: a client that declares nothing is asked nothing.
  const plain = await setting.connect('plain');
  const asked = await ask(plain, accept({ answer: 'never' }));
  check.equal(person.form, undefined);
  await waits(plain, asked);
});
