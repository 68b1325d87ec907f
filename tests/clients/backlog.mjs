// Judges the Backlog of the tests by Nulab's own client and MCP server: `node backlog.mjs`.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Backlog } from 'backlog-js';

async function start(...given) {
  const script = fileURLToPath(new URL('../remotes/backlog.mjs', import.meta.url));
  const started = spawn(process.execPath, [script, 'new', ...given]);
  return [started, Number(String((await once(started.stdout, 'data'))[0]))];
}

const [fake, port] = await start();
// The client knows HTTPS alone.
const { fetch } = globalThis;
globalThis.fetch = (url, options) => fetch(String(url).replace(/^https:/, 'http:'), options);
const host = `127.0.0.1:${port}`;
const backlog = new Backlog({ host, apiKey: 'good-key' });
let checks = 0;
const check = (actual, expected) => { assert.deepEqual(actual, expected); checks += 1; };

try {
  check((await backlog.getMyself()).userId, 'bot');
  check((await backlog.getProject('ABC')).projectKey, 'ABC');
  const [type] = await backlog.getIssueTypes('ABC');
  const one = await backlog.postIssue({ projectId: 1, summary: 'One', issueTypeId: type.id, priorityId: 3, description: 'ä & b' });
  check([one.issueKey, one.status.id, one.description], ['ABC-1', 1, 'ä & b']);
  const two = await backlog.postIssue({ projectId: 1, summary: 'Two', issueTypeId: type.id, priorityId: 2 });
  check(two.priority.name, 'High');
  const three = await backlog.postIssue({ projectId: 1, summary: 'Three', issueTypeId: type.id, priorityId: 3, parentIssueId: one.id });
  check([one.parentIssueId, three.parentIssueId], [null, one.id]);
  check((await backlog.getIssue(one.id)).issueKey, 'ABC-1');
  check((await backlog.patchIssue('ABC-3', { parentIssueId: two.id })).parentIssueId, two.id);
  check((await backlog.patchIssue('ABC-3', { statusId: 4, parentIssueId: '' })).parentIssueId, null);
  const patched = await backlog.patchIssue('ABC-1', { statusId: 4, resolutionId: 1 });
  check([patched.status.name, patched.resolution.id], ['Closed', 1]);
  const open = await backlog.getIssues({ projectId: [1], statusId: [1, 2, 3] });
  check(open.map(({ issueKey }) => issueKey), ['ABC-2']);
  check((await backlog.getIssues({ projectId: [1], sort: 'updated', order: 'asc', count: 1, offset: 1 })).length, 1);
  await backlog.postIssueComments('ABC-1', { content: 'Said' });
  const comments = await backlog.getIssueComments('ABC-1', { order: 'asc' });
  check(comments.map(({ content }) => content), [null, 'Said']);
  await assert.rejects(backlog.getIssue('ABC-99'), ({ _body }) => _body.errors[0].code === 6);
  await assert.rejects(backlog.patchIssue('ABC-2', { summary: 'Two' }), ({ _body }) => _body.errors[0].code === 7);
  await assert.rejects(new Backlog({ host, apiKey: 'x' }).getMyself());
  checks += 3;
} finally {
  fake.kill();
}

// The server trusts the certificate by NODE_EXTRA_CA_CERTS, as with a Backlog Enterprise.
const folder = mkdtempSync(join(tmpdir(), 'backlog-'));
const [keyFile, certificateFile] = ['key.pem', 'certificate.pem'].map((name) => join(folder, name));
const request = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=fake -addext subjectAltName=IP:127.0.0.1';
execFileSync('openssl', [...request.split(' '), '-keyout', keyFile, '-out', certificateFile], { stdio: 'ignore' });
const [secure, securePort] = await start(keyFile, certificateFile);
const client = new Client({ name: 'tests', version: '1' });
const tool = async (name, given = {}) => {
  const { content, isError } = await client.callTool({ name, arguments: given });
  assert.ok(!isError, `${name}: ${content[0].text}`);
  return JSON.parse(content[0].text);
};

try {
  const script = fileURLToPath(import.meta.resolve('backlog-mcp-server').replace(/lib\.js$/, 'index.js'));
  const env = { BACKLOG_DOMAIN: `127.0.0.1:${securePort}`, BACKLOG_API_KEY: 'good-key', NODE_EXTRA_CA_CERTS: certificateFile };
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [script], env, stderr: 'ignore' }));
  check((await tool('get_myself')).userId, 'bot');
  check((await tool('get_project', { projectKey: 'ABC' })).projectKey, 'ABC');
  const [{ id: issueTypeId }] = await tool('get_issue_types', { projectKey: 'ABC' });
  const one = await tool('add_issue', { projectId: 1, summary: 'One', issueTypeId, priorityId: 3, description: 'ä & b' });
  check([one.issueKey, one.description, one.status.name], ['ABC-1', 'ä & b', 'Open']);
  check((await tool('get_issues', { projectId: [1], statusId: [1] })).map(({ issueKey }) => issueKey), ['ABC-1']);
  const updated = await tool('update_issue', { issueKey: 'ABC-1', statusId: 4, resolutionId: 0, summary: 'Done' });
  check([updated.summary, updated.status.id, updated.resolution.name], ['Done', 4, 'Fixed']);
  await tool('add_issue_comment', { issueKey: 'ABC-1', content: 'Said' });
  check((await tool('get_issue_comments', { issueKey: 'ABC-1', order: 'desc' }))[0].content, 'Said');
  check((await tool('get_issue', { issueKey: 'ABC-1' })).summary, 'Done');
  console.log(`ok, ${checks} checks`);
} finally {
  await client.close();
  secure.kill();
  rmSync(folder, { recursive: true });
}
