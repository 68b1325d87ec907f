// A Backlog in one process: the part of version 2 of its API that ait uses, with faults on demand.
//
// `node backlog.mjs [new | old] [KEY CERTIFICATE]` prints its port; `old` leaves out what earlier servers do not know, and
// with the files of a key and a certificate it speaks HTTPS. It ends with its stdin.
// PUT /_control and GET /_state are those of github.mjs.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';

const KEY = 'good-key';
const [generation, keyFile, certificateFile] = process.argv.slice(2);
const isOld = generation === 'old';
const state = { issues: [], comments: [], calls: [] };
let [clockMs, fault, before, lastId] = [0, null, null, 100];

const now = () => new Date(Date.now() + clockMs).toISOString().replace(/\.\d+Z$/, 'Z');
const maria = { id: 7, userId: 'maria', name: 'maria', roleType: 2 };
const bot = { id: 8, userId: 'bot', name: 'bot', roleType: 2 };
const statuses = { 1: 'Open', 2: 'In Progress', 3: 'Resolved', 4: 'Closed', 50: 'Waiting' };
const resolutions = { 0: 'Fixed', 1: "Won't Fix", 2: 'Invalid', 3: 'Duplication', 4: 'Cannot Reproduce' };
const types = { 3: 'Task', 4: 'Bug' };
const priorities = { 2: 'High', 3: 'Normal', 4: 'Low' };
const named = (names, id) => (id === '' || id === undefined ? null : { id: Number(id), name: names[id] });
const error = (status, message, code) => [status, { errors: [{ message, code, moreInfo: '' }] }];
const noIssue = () => error(404, 'No such issue.', 6);
const find = (name) => state.issues.find(({ id, issueKey }) => issueKey === name || id === Number(name));

function add({ summary, description = '', priorityId = 3, parentIssueId = null, issueTypeId = 3 }, user) {
  const keyId = state.issues.length + 1;
  const issue = {
    id: ++lastId, projectId: 1, issueKey: `ABC-${keyId}`, keyId, issueType: { projectId: 1, ...named(types, issueTypeId) },
    summary, description, parentIssueId: parentIssueId && Number(parentIssueId), resolution: null, priority: named(priorities, priorityId), status: named(statuses, 1),
    assignee: null, category: [], versions: [], milestone: [], startDate: null, dueDate: null, createdUser: user,
    created: now(), updatedUser: user, updated: now(), customFields: [], attachments: [], sharedFiles: [], stars: [],
  };
  if (isOld) for (const key of ['keyId', 'resolution', 'customFields', 'stars']) delete issue[key];
  state.issues.push(issue);
  return issue;
}

function comment(issue, content, user) {
  const made = { id: ++lastId, content, changeLog: null, createdUser: user, created: now(), updated: now(), key: issue.issueKey };
  state.comments.push(made);
  issue.updated = now();
  return made;
}

// Returns the errors of a change, or makes it. A change is a comment without a text, too.
function edit(issue, form, user) {
  const was = JSON.stringify(issue);
  if ('summary' in form) issue.summary = form.summary;
  if ('parentIssueId' in form) issue.parentIssueId = form.parentIssueId ? Number(form.parentIssueId) : null;
  if ('description' in form) issue.description = form.description;
  if ('statusId' in form) issue.status = named(statuses, form.statusId);
  if ('resolutionId' in form && !isOld) issue.resolution = named(resolutions, form.resolutionId);
  if ('priorityId' in form) issue.priority = named(priorities, form.priorityId);
  if ('assigneeId' in form) issue.assignee = [maria, bot].find(({ id }) => id === Number(form.assigneeId)) ?? null;
  if (JSON.stringify(issue) === was) return error(400, 'No comment content.', 7);
  comment(issue, null, user);
  return null;
}

function listed(query) {
  const among = (name, value) => !query.has(name) || query.getAll(name).includes(String(value));
  const since = query.get('updatedSince');
  const all = state.issues.filter((issue) =>
    among('projectId[]', issue.projectId) && among('statusId[]', issue.status.id) &&
    among('assigneeId[]', issue.assignee?.id) && (!since || issue.updated.slice(0, 10) >= since));
  all.sort((a, b) => (a.updated < b.updated ? -1 : a.updated > b.updated ? 1 : a.id - b.id));
  if ((query.get('order') ?? 'desc') === 'desc') all.reverse();
  const offset = Number(query.get('offset') ?? 0);
  return all.slice(offset, offset + Math.min(Number(query.get('count') ?? 20), 100));
}

function answer(method, path, query, form) {
  if (path === '/users/myself') return [200, bot];
  if (path === '/projects/ABC') return [200, { id: 1, projectKey: 'ABC', name: 'Shop' }];
  if (path === '/projects/ABC/issueTypes') return [200, Object.entries(types).map(([id, name]) => ({ id: Number(id), projectId: 1, name }))];
  if (path === '/projects/ABC/statuses' && !isOld) {
    return [200, Object.entries(statuses).map(([id, name]) => ({ id: Number(id), projectId: 1, name }))];
  }
  const [, what, key, part] = path.split('/');
  if (what !== 'issues') return error(404, 'No such project.', 6);
  if (!key && method === 'GET') return [200, listed(query)];
  if (!key) {
    if (!form.summary || form.summary.length > 255) return error(400, 'summary is too long or missing.', 7);
    return [201, add(form, bot)];
  }
  const issue = find(key);
  if (!issue) return noIssue();
  if (part === 'comments' && method === 'POST') {
    return form.content ? [201, comment(issue, form.content, bot)] : error(400, 'No comment content.', 7);
  }
  if (part === 'comments') {
    const all = state.comments.filter((one) => one.key === key && one.id >= Number(query.get('minId') ?? 0));
    if (query.get('order') !== 'asc') all.reverse();
    return [200, all.slice(0, Number(query.get('count') ?? 20))];
  }
  if (method === 'PATCH') {
    if ((form.summary ?? '').length > 255) return error(400, 'summary is too long.', 11);
    return edit(issue, form, bot) ?? [200, issue];
  }
  return [200, issue];
}

function control(given) {
  if ('clockMinutes' in given) clockMs = given.clockMinutes * 60_000;
  if ('fault' in given) fault = { times: 1, ...given, kind: given.fault };
  if ('before' in given) before = { skip: 0, ...given };
  else if ('edit' in given) edit(find(given.edit.key), given.edit, maria);
  if ('issue' in given) add(given.issue, maria);
  if ('comment' in given) comment(find(given.comment.key), given.comment.body, maria);
}

async function handle(request, response) {
  const parts = [];
  for await (const part of request) parts.push(part);
  const text = Buffer.concat(parts).toString();
  const url = new URL(request.url, 'http://fake');
  const send = (status, json, headers = {}) => {
    response.writeHead(status, { date: new Date(Date.now() + clockMs).toUTCString(), 'content-type': 'application/json;charset=utf-8', ...headers });
    response.end(JSON.stringify(json));
  };
  if (url.pathname === '/_control') { control(JSON.parse(text)); return send(200, {}); }
  if (url.pathname === '/_state') return send(200, state);
  const { method } = request;
  state.calls.push(`${method} ${url.pathname}`);
  const key = url.searchParams.get('apiKey') ?? (isOld ? null : request.headers['backlog-api-key']);
  if (key !== KEY) return send(...error(401, 'Authentication failure.', 11));
  const hits = fault && fault.times > 0 && (!fault.method || fault.method === method) ? fault.kind : null;
  if (hits) fault.times -= 1;
  if (hits === '429') return send(429, { errors: [{ message: 'Too many requests.', code: 13 }] }, { 'retry-after': '1' });
  if (before?.before === method && !before.skip--) { edit(find(before.edit.key), before.edit, maria); before = null; }
  const form = Object.fromEntries(new URLSearchParams(text));
  const [status, json] = answer(method, url.pathname.replace('/api/v2', ''), url.searchParams, form);
  if (hits === '500') return send(500, { errors: [{ message: 'Server Error', code: 1 }] });
  if (hits === 'cut') return request.socket.destroy();
  send(status, json);
}

const server = keyFile
  ? createSecureServer({ key: readFileSync(keyFile), cert: readFileSync(certificateFile) }, handle)
  : createServer(handle);
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.resume().on('end', () => process.exit());
