// Judges the Azure DevOps of the tests by Microsoft's own client: `node azure.mjs`.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import azure from 'azure-devops-node-api';
import { WorkItemExpand } from 'azure-devops-node-api/interfaces/WorkItemTrackingInterfaces.js';

const fake = spawn(process.execPath, [fileURLToPath(new URL('../remotes/azure.mjs', import.meta.url))]);
const port = Number(String((await once(fake.stdout, 'data'))[0]));
const connection = (token) => new azure.WebApi(`http://127.0.0.1:${port}`, azure.getPersonalAccessTokenHandler(token));
let checks = 0;
const check = (actual, expected) => { assert.deepEqual(actual, expected); checks += 1; };
const add = (field, value) => ({ op: 'add', path: `/fields/${field}`, value });

try {
  const api = await connection('good-key').getWorkItemTrackingApi();
  const one = await api.createWorkItem(null, [add('System.Title', 'One'), add('System.Tags', 'agents')], 'Shop', 'Task');
  check([one.id, one.rev, one.fields['System.State']], [1, 1, 'To Do']);
  await api.createWorkItem(null, [add('System.Title', 'Two')], 'Shop', 'Bug');
  const wiql = { query: "SELECT [System.Id] FROM WorkItems WHERE [System.Tags] CONTAINS 'agents'" };
  check((await api.queryByWiql(wiql, { project: 'Shop' })).workItems.map(({ id }) => id), [1]);
  const items = await api.getWorkItems([1, 2], undefined, undefined, undefined, undefined, 'Shop');
  check(items.map((item) => item.fields['System.Title']), ['One', 'Two']);
  const states = await api.getWorkItemTypeStates('Shop', 'Bug');
  check(states.map(({ category }) => category), ['Proposed', 'InProgress', 'Resolved', 'Completed']);
  const test = { op: 'test', path: '/rev', value: 1 };
  const changed = await api.updateWorkItem(null, [test, add('System.State', 'Done')], 1, 'Shop');
  check([changed.rev, changed.fields['System.State']], [2, 'Done']);
  await assert.rejects(api.updateWorkItem(null, [test, add('System.Title', 'X')], 1, 'Shop'), /VS403351/);
  const parent = { rel: 'System.LinkTypes.Hierarchy-Reverse', url: `http://127.0.0.1:${port}/_apis/wit/workItems/2` };
  await api.updateWorkItem(null, [{ op: 'add', path: '/relations/-', value: parent }], 1, 'Shop');
  const relations = async (id) => {
    const item = await api.getWorkItem(id, undefined, undefined, WorkItemExpand.Relations, 'Shop');
    return (item.relations ?? []).map(({ rel, url }) => [rel, url.split('/').pop()]);
  };
  check([await relations(1), await relations(2)], [[[parent.rel, '2']], [['System.LinkTypes.Hierarchy-Forward', '1']]]);
  check((await api.getWorkItem(1, undefined, undefined, undefined, 'Shop')).relations, undefined);
  await api.updateWorkItem(null, [{ op: 'remove', path: '/relations/0' }], 1, 'Shop');
  check([await relations(1), await relations(2)], [[], []]);
  for (const text of ['<b>a</b>', 'b<!-- c -->', 'd']) await api.addComment({ text }, 'Shop', 1);
  const first = await api.getComments('Shop', 1, 2);
  check(first.comments.map(({ text }) => text), ['<b>a</b>', 'b']);
  const rest = await api.getComments('Shop', 1, 2, first.continuationToken);
  check(rest.comments.map(({ text }) => text), ['d']);
  check((await api.getWorkItem(1, undefined, undefined, undefined, 'Shop')).fields['System.CommentCount'], 3);
  const bearer = new azure.WebApi(`http://127.0.0.1:${port}`, azure.getBearerHandler('eyJ.good.key'));
  check((await (await bearer.getWorkItemTrackingApi()).getWorkItem(2, undefined, undefined, undefined, 'Shop')).id, 2);
  checks += 1;
  console.log(`ok, ${checks} checks`);
} finally {
  fake.kill();
}
