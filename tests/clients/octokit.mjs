// Judges the GitHub of the tests by GitHub's own client: `node octokit.mjs`.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Octokit } from '@octokit/rest';

const fake = spawn(process.execPath, [fileURLToPath(new URL('../remotes/github.mjs', import.meta.url))]);
const port = Number(String((await once(fake.stdout, 'data'))[0]));
const baseUrl = `http://127.0.0.1:${port}`;
const log = { debug() {}, info() {}, warn() {}, error() {} };
const github = new Octokit({ auth: 'good-token', baseUrl, log });
const repo = { owner: 'acme', repo: 'shop' };
let checks = 0;
const check = (actual, expected) => { assert.deepEqual(actual, expected); checks += 1; };
const control = (given) => fetch(`${baseUrl}/_control`, { method: 'PUT', body: JSON.stringify(given) });

try {
  check((await github.users.getAuthenticated()).data.login, 'ait-bot');
  const { data: one } = await github.issues.create({ ...repo, title: 'One', body: 'Text', labels: ['bug'] });
  check([one.number, one.state, one.labels[0].name], [1, 'open', 'bug']);
  await control({ issue: { title: 'Pull', pull: true } });
  for (let number = 3; number <= 5; number += 1) await github.issues.create({ ...repo, title: `T${number}` });
  const listed = await github.paginate(github.issues.listForRepo, { ...repo, state: 'all', per_page: 2 });
  check(listed.map(({ number }) => number).sort(), [1, 2, 3, 4, 5]);
  check(listed.filter((issue) => issue.pull_request).length, 1);
  const issue = { ...repo, issue_number: 1 };
  const { data: closed } = await github.issues.update({ ...issue, state: 'closed', state_reason: 'not_planned' });
  check([closed.state, closed.state_reason], ['closed', 'not_planned']);
  check((await github.issues.listForRepo({ ...repo, state: 'closed' })).data.length, 1);
  check((await github.issues.listForRepo({ ...repo, labels: 'bug', state: 'all' })).data.length, 1);
  await github.issues.createComment({ ...issue, body: 'Said' });
  check((await github.issues.listComments(issue)).data.map(({ body }) => body), ['Said']);
  check((await github.issues.get(issue)).data.comments, 1);
  await github.issues.addLabels({ ...issue, labels: ['to do'] });
  check((await github.issues.removeLabel({ ...issue, name: 'to do' })).data.map(({ name }) => name), ['bug']);
  check((await github.issues.addAssignees({ ...issue, assignees: ['ait-bot'] })).data.assignees.length, 1);
  check((await github.issues.removeAssignees({ ...issue, assignees: ['ait-bot'] })).data.assignees.length, 0);
  const three = { ...repo, issue_number: 3 };
  const { data: { id: third } } = await github.issues.get(three);
  await github.issues.addSubIssue({ ...issue, sub_issue_id: third });
  const { data: sub } = await github.issues.get(three);
  check(sub.parent_issue_url, (await github.issues.get(issue)).data.url);
  check((await github.issues.getParent(three)).data.number, 1);
  await github.issues.removeSubIssue({ ...issue, sub_issue_id: third });
  await assert.rejects(github.issues.getParent(three), { status: 404 });
  await github.issues.addBlockedByDependency({ ...issue, issue_id: third });
  check((await github.issues.get(issue)).data.issue_dependencies_summary.total_blocked_by, 1);
  check((await github.issues.listDependenciesBlockedBy(issue)).data.map(({ number }) => number), [3]);
  await github.issues.removeDependencyBlockedBy({ ...issue, issue_id: third });
  check((await github.issues.listDependenciesBlockedBy(issue)).data, []);
  const { headers } = await github.issues.get(issue);
  const again = github.issues.get({ ...issue, headers: { 'if-none-match': headers.etag } });
  await assert.rejects(again, { status: 304 });
  await assert.rejects(github.issues.get({ ...repo, issue_number: 99 }), { status: 404 });
  await assert.rejects(github.issues.create({ ...repo, title: '' }), { status: 422 });
  await assert.rejects(new Octokit({ auth: 'x', baseUrl, log }).users.getAuthenticated(), { status: 401 });
  await control({ fault: '429' });
  await assert.rejects(github.issues.get(issue), { status: 429 });
  checks += 6;
  console.log(`ok, ${checks} checks`);
} finally {
  fake.kill();
}
