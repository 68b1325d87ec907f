// A GitHub in one process: the part of its REST API that ait uses, with faults on demand.
//
// `node github.mjs` prints its port. It ends with its stdin. PUT /_control sets what follows:
//   {"fault": "429" | "500" | "cut" | "limit", "method": "PATCH", "times": 1}   500 and cut come after the effect
//   {"clockMinutes": -10}          the clock of this remote
//   {"before": "PATCH", "edit": {"number": 1, "title": "x"}}   an edit just before the next such call, or, with
//     {"skip": 1}, before the one after it: between two pages, where issues move from one to the other
//   {"issue": {...}}, {"comment": {"number": 1, "body": "x", "login": "maria"}}, {"edit": {...}}
//   {"edit": {"number": 2, "parent": 1, "blockedBy": [3]}}   links; a number, or null, and all blockers
// GET /_state has everything, and the calls that were made.
//
// The answers have all that GitHub's OpenAPI document demands. By hand, with @stoplight/prism-cli and @octokit/openapi from
// npm, which are 460 MB: `prism proxy api.github.com.json http://127.0.0.1:PORT --errors` checks each call of ait and each
// answer, if `url` is its address. It fails at a 304, so remove .ait/issues.json/sync/NAME.json before each run.
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';

const TOKEN = 'good-token';
const REPOSITORY = '/repos/acme/shop';
const state = { issues: [], comments: [], calls: [], connections: 0, blockers: {} };
let [clockMs, fault, before, lastId] = [0, null, null, 100];

const now = () => new Date(Date.now() + clockMs).toISOString().replace(/\.\d+Z$/, 'Z');
// What GitHub's OpenAPI document demands of each answer is in it.
const API = 'https://api.github.com';
const links = (url, names) => Object.fromEntries(names.map((name) => [`${name}_url`, `${url}/${name}`]));
const user = (login) => {
  const url = `${API}/users/${login}`;
  const html = `https://github.com/${login}`;
  const own = ['events', 'followers', 'following', 'gists', 'organizations', 'received_events', 'repos', 'starred', 'subscriptions'];
  return { login, id: 1, node_id: 'U_1', type: 'User', site_admin: false, gravatar_id: '', avatar_url: `${html}.png`, html_url: html, url, ...links(url, own) };
};
const label = (name) => ({ id: 1, node_id: 'L_1', url: `${API}${REPOSITORY}/labels/${encodeURIComponent(name)}`, name, color: 'ededed', default: false, description: null });
const labels = (names) => names.map((name) => label(name.name ?? name));
const find = (number) => state.issues.find((issue) => issue.number === Number(number));
const touch = (issue) => Object.assign(issue, { updated_at: now() });

function add({ login = 'maria', ...given }) {
  const number = state.issues.length + 1;
  const url = `https://github.com/acme/shop/issues/${number}`;
  const own = `${API}${REPOSITORY}/issues/${number}`;
  const issue = {
    id: ++lastId, node_id: `I_${lastId}`, number, html_url: url, url: own, repository_url: `${API}${REPOSITORY}`,
    ...links(own, ['comments', 'events']), labels_url: `${own}/labels{/name}`, milestone: null, assignee: null,
    title: given.title, body: given.body ?? null, state: 'open', state_reason: null, locked: false,
    labels: labels(given.labels ?? []), assignees: (given.assignees ?? []).map(user), user: user(login),
    created_at: now(), updated_at: now(), closed_at: null, comments: 0, parent_issue_url: null,
    issue_dependencies_summary: { blocked_by: 0, blocking: 0, total_blocked_by: 0, total_blocking: 0 },
  };
  if (given.pull) issue.pull_request = { url };
  state.issues.push(issue);
  return issue;
}

function edit(issue, fields) {
  for (const key of ['title', 'body', 'state', 'state_reason']) if (key in fields) issue[key] = fields[key];
  if (fields.labels) issue.labels = labels(fields.labels);
  if ('parent' in fields) issue.parent_issue_url = fields.parent ? find(fields.parent).url : null;
  if (fields.blockedBy) {
    state.blockers[issue.number] = fields.blockedBy;
    const open = fields.blockedBy.filter((number) => find(number).state === 'open').length;
    Object.assign(issue.issue_dependencies_summary, { blocked_by: open, total_blocked_by: fields.blockedBy.length });
  }
  if (fields.state === 'closed') {
    issue.closed_at = now();
    issue.state_reason ??= 'completed';
  }
  return touch(issue);
}

function comment(issue, body, login) {
  const made = { id: ++lastId, node_id: `C_${lastId}`, url: `${API}${REPOSITORY}/issues/comments/${lastId}`,
    html_url: `${issue.html_url}#issuecomment-${lastId}`, issue_url: issue.url, author_association: 'MEMBER', user: user(login), body, created_at: now(), updated_at: now(), number: issue.number };
  state.comments.push(made);
  issue.comments += 1;
  touch(issue);
  return made;
}

function listed(query) {
  const wanted = (query.get('labels') ?? '').split(',').filter(Boolean);
  const is = (key, value) => !query.get(key) || query.get(key) === value;
  const all = state.issues.filter((issue) =>
    (query.get('state') === 'all' || (query.get('state') ?? 'open') === issue.state) &&
    (!query.get('since') || Date.parse(issue.updated_at) >= Date.parse(query.get('since'))) &&
    wanted.every((name) => issue.labels.some((label) => label.name === name)) &&
    (!query.get('assignee') || issue.assignees.some(({ login }) => login === query.get('assignee'))) &&
    is('creator', issue.user.login));
  const order = (issue) => [issue.updated_at, String(issue.number).padStart(9, '0')].join();
  all.sort((a, b) => (order(a) < order(b) ? -1 : 1));
  return query.get('direction') === 'asc' ? all : all.reverse();
}

function page(items, url, host) {
  const size = Math.min(Number(url.searchParams.get('per_page') ?? 30), 100);
  const at = Number(url.searchParams.get('page') ?? 1);
  const headers = {};
  if (items.length > at * size) {
    const next = new URL(url);
    next.searchParams.set('page', at + 1);
    headers.link = `<http://${host}${next.pathname}${next.search}>; rel="next"`;
  }
  return [200, items.slice((at - 1) * size, at * size), headers];
}

const invalid = (field, code) => [422, { message: 'Validation Failed', errors: [{ resource: 'Issue', field, code }] }];
const missing = () => [404, { message: 'Not Found', documentation_url: 'https://docs.github.com/rest' }];

function answer(method, url, body, host) {
  if (url.pathname === '/user') {
    const texts = Object.fromEntries(['bio', 'blog', 'company', 'email', 'hireable', 'location', 'name'].map((name) => [name, null]));
    const counts = { followers: 0, following: 0, public_gists: 0, public_repos: 0 };
    return [200, { ...user('ait-bot'), ...texts, blog: '', ...counts, created_at: now(), updated_at: now() }];
  }
  if (!url.pathname.startsWith(REPOSITORY)) return missing();
  const [, what, number, part, name] = url.pathname.slice(REPOSITORY.length).split('/');
  if (what !== 'issues') return missing();
  if (!number) {
    if (method === 'GET') return page(listed(url.searchParams), url, host);
    return body.title ? [201, add({ ...body, login: 'ait-bot' })] : invalid('title', 'missing_field');
  }
  const issue = find(number);
  if (!issue) return missing();
  const withId = (id) => state.issues.find((one) => one.id === Number(id));
  const blockers = state.blockers[issue.number] ?? [];
  switch (`${method} ${part ?? ''}`) {
    case 'GET ': return [200, issue];
    case 'PATCH ':
      if ('title' in body && !body.title) return invalid('title', 'missing_field');
      if ((body.body ?? '').length > 65536) return invalid('body', 'is too long (maximum is 65536 characters)');
      return [200, edit(issue, body)];
    case 'GET comments': return page(state.comments.filter((one) => one.number === issue.number), url, host);
    case 'POST comments': return [201, comment(issue, body.body, 'ait-bot')];
    case 'POST labels': {
      const names = issue.labels.map((label) => label.name);
      edit(issue, { labels: [...names, ...body.labels.filter((label) => !names.includes(label))] });
      return [200, issue.labels];
    }
    case 'DELETE labels': {
      const rest = issue.labels.filter((label) => label.name !== decodeURIComponent(name));
      if (rest.length === issue.labels.length) return [404, { message: 'Label does not exist' }];
      edit(issue, { labels: rest });
      return [200, rest];
    }
    case 'POST assignees':
    case 'DELETE assignees':
      issue.assignees = issue.assignees.filter(({ login }) => !body.assignees.includes(login));
      if (method === 'POST') issue.assignees.push(...body.assignees.map(user));
      touch(issue);
      return [method === 'POST' ? 201 : 200, issue];
    case 'GET parent': return issue.parent_issue_url ? [200, find(issue.parent_issue_url.split('/').pop())] : missing();
    case 'POST sub_issues': return [201, (edit(withId(body.sub_issue_id), { parent: number }), touch(issue))];
    case 'DELETE sub_issue': return [200, (edit(withId(body.sub_issue_id), { parent: null }), touch(issue))];
    case 'GET dependencies': return page(blockers.map(find), url, host);
    case 'POST dependencies': return [201, edit(issue, { blockedBy: [...blockers, withId(body.issue_id).number] })];
    case 'DELETE dependencies':
      return [200, edit(issue, { blockedBy: blockers.filter((one) => one !== withId(url.pathname.split('/').pop()).number) })];
    default: return missing();
  }
}

function control(given) {
  if ('clockMinutes' in given) clockMs = given.clockMinutes * 60_000;
  if ('fault' in given) fault = { method: undefined, times: 1, ...given, kind: given.fault };
  if ('before' in given) before = { skip: 0, ...given };
  else if ('edit' in given) edit(find(given.edit.number), given.edit);
  if ('issue' in given) add(given.issue);
  if ('comment' in given) comment(find(given.comment.number), given.comment.body, given.comment.login ?? 'maria');
}

const server = createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const text = Buffer.concat(parts).toString();
  const body = text ? JSON.parse(text) : {};
  const url = new URL(request.url, 'http://fake');
  const { method } = request;
  const send = (status, json, headers = {}) => {
    const bytes = status === 304 ? '' : JSON.stringify(json);
    response.writeHead(status, { date: new Date(Date.now() + clockMs).toUTCString(), 'content-type': 'application/json', ...headers });
    response.end(bytes);
  };
  if (url.pathname === '/_control') { control(body); return send(200, {}); }
  if (url.pathname === '/_state') return send(200, state);
  state.calls.push(`${method} ${request.url}`);
  const token = (request.headers.authorization ?? '').split(' ')[1];
  if (token !== TOKEN) return send(401, { message: 'Bad credentials' });
  const hits = fault && fault.times > 0 && (!fault.method || fault.method === method) ? fault.kind : null;
  if (hits) fault.times -= 1;
  if (hits === '429') return send(429, { message: 'slow down' }, { 'retry-after': '1' });
  if (hits === 'limit') {
    const reset = Math.floor((Date.now() + clockMs) / 1000) + 3600;
    return send(403, { message: 'API rate limit exceeded' }, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset });
  }
  if (before?.before === method && !before.skip--) { edit(find(before.edit.number), before.edit); before = null; }
  const [status, json, headers] = answer(method, url, body, request.headers.host);
  if (hits === '500') return send(500, { message: 'Server Error' });
  if (hits === 'cut') return request.socket.destroy();
  const etag = `W/"${createHash('sha256').update(JSON.stringify(json)).digest('hex')}"`;
  if (method === 'GET' && request.headers['if-none-match'] === etag) return send(304, null, { etag });
  send(status, json, { etag, 'x-ratelimit-remaining': '4999', ...headers });
});
server.on('connection', () => { state.connections += 1; });
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.resume().on('end', () => process.exit());
