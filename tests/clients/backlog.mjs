// Judges the Backlog of the tests by Nulab's own client: `node backlog.mjs`.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Backlog } from 'backlog-js';

const fake = spawn(process.execPath, [fileURLToPath(new URL('../remotes/backlog.mjs', import.meta.url))]);
const port = Number(String((await once(fake.stdout, 'data'))[0]));
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
  console.log(`ok, ${checks} checks`);
} finally {
  fake.kill();
}
