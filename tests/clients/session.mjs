// A client of the official TypeScript SDK with its own server process, and what all answers of the
// tracker have in common.

import { resolve } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ID, TIME } from './expected.mjs';
import { atEnd, check, kill } from './scenario.mjs';

/** How long one answer may take. */
const ANSWER = { timeout: 15_000 };

// The SDK ends a server with a signal 2,000 ms after it has closed its stdin. One that is gone
// earlier has ended by itself.
const END_MS = 1_900;

/** Starts a server in a directory, as an agent's client does, and introduces this client. */
export async function connect(binary, directory, name) {
  const transport = new StdioClientTransport({
    command: resolve(binary),
    cwd: directory,
    env: { PORT: '0' },
    stderr: 'pipe',
  });
  const log = [];
  transport.stderr.on('data', (chunk) => log.push(chunk));
  const client = new Client({ name, version: '1.0.0' });
  // Whatever the client cannot make sense of, such as a line on stdout that is no message.
  const oddities = [];
  client.onerror = (error) => oddities.push(error.message);
  const connected = client.connect(transport, ANSWER);
  // To be asked for now: a transport that fails to connect forgets its process.
  const { pid } = transport;
  let running = pid !== null;
  client.onclose = () => {
    running = false;
  };
  atEnd((failure) => {
    if (running) kill(pid);
    if (failure) console.error(`log of ${name}:\n${Buffer.concat(log)}`, oddities);
  });
  await connected;
  check.equal(transport.pid, pid);
  return { client, pid, oddities };
}

/** Closes stdin as a client does that goes away, and sees the server end by itself. */
export async function disconnect({ client, pid, oddities }) {
  const closed = performance.now();
  await client.close();
  const took_ms = performance.now() - closed;
  check.ok(took_ms < END_MS, `the server was still there ${took_ms} ms after its stdin had ended`);
  check.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
  check.deepEqual(oddities, []);
}

/** Lists the tools. */
export function listTools({ client }) {
  return client.listTools({}, ANSWER);
}

/** Calls a tool; what comes back is as the SDK gives it. */
export function callTool({ client }, tool, given) {
  return client.callTool({ name: tool, arguments: given }, undefined, ANSWER);
}

/** Calls a tool and gives its one text, after a look at the shape of the result. */
export async function call(session, tool, given, isError = false) {
  const result = await callTool(session, tool, given);
  const text = result.content[0]?.text;
  const types = result.content.map((block) => block.type);
  const asked = `${tool} ${JSON.stringify(given).slice(0, 200)} answered: ${text}`;
  check.deepEqual([result.isError ?? false, types], [isError, ['text']], asked);
  // A second copy of the same would be paid for by every agent.
  check.equal(result.structuredContent, undefined, asked);
  return text;
}

/** Calls a tool that answers with JSON. */
export async function read(session, tool, given) {
  const text = await call(session, tool, given);
  const value = JSON.parse(text);
  check.equal(text, JSON.stringify(value), 'compact JSON');
  return value;
}

/** Looks at one issue, whole. */
export function look(session, issue_id) {
  return read(session, 'list_issues', { issue_id });
}

/** Looks at every issue of the queue, whole. */
export async function everything(session) {
  const { count, issues } = await read(session, 'list_issues', {});
  check.equal(issues.length, count);
  return Promise.all(issues.map(({ id }) => look(session, id)));
}

/** Calls a tool that confirms a change in a few words, and gives the id of the issue. */
export async function change(session, tool, given, status) {
  const text = await call(session, tool, given);
  for (const part of [ID, TIME, new RegExp(`\\b${status}\\b`)]) check.match(text, part);
  check.ok(text.length < 200, text);
  return text.match(ID)[0];
}

/** Calls a tool that claims, when there is nothing to claim: a plain sentence, not an error. */
export async function nothingWaits(session, tool, given) {
  check.match(await call(session, tool, given), /^No issue [^{}]+\.$/);
}

/** Calls a tool that must refuse, with a text that says all of this. */
export async function refused(session, tool, given, ...patterns) {
  const text = await call(session, tool, given, true);
  for (const pattern of patterns) check.match(text, pattern);
}
