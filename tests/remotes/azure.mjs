// An Azure DevOps in one process: the part of version 7.1 of its API that ait uses, with faults on demand.
//
// `node azure.mjs` prints its port. It ends with its stdin. PUT /_control and GET /_state are those of github.mjs; the
// fault "page" answers with a page for signing in. An edit may have links: {"linked": [["System.LinkTypes.…", 2]], "unlinked": []}.
import { createServer } from 'node:http';

const TOKEN = 'good-key';
// What `az account get-access-token` prints.
const JWT = 'eyJ.good.key';
const state = { issues: [], comments: [], calls: [] };
let [clockMs, fault, before, lastId] = [0, null, null, 100];

const now = () => new Date(Date.now() + clockMs).toISOString();
const person = (name) => ({ displayName: name, uniqueName: `${name}@example.com`, id: name });
// An own process: "Agreed" waits, and there is nothing that means resolved for tasks.
const states = {
  Task: { 'To Do': 'Proposed', Doing: 'InProgress', Done: 'Completed', Dropped: 'Removed' },
  Bug: { New: 'Proposed', Agreed: 'InProgress', Fixed: 'Resolved', Closed: 'Completed' },
};
const locations = [
  ['Location', 'resourceAreas', 'e81700f7-3be2-46de-8624-2eb35882fcaa', '_apis/{resource}/{areaId}'],
  ['Location', 'connectionData', '00d9565f-ed9c-4a06-9a50-00e7896ccab4', '_apis/{resource}'],
  ['wit', 'wiql', '1a9c53f7-f243-4447-b110-35ef023636e4', '{project}/_apis/{area}/{resource}'],
  ['wit', 'workItems', '72c7ddf8-2cdc-4f60-90cd-ab71c14a399b', '{project}/_apis/{area}/{resource}/{id}'],
  ['wit', 'workItems', '62d3d110-0047-428c-ad3c-4fe872c91c74', '{project}/_apis/{area}/{resource}/${type}'],
  ['wit', 'comments', '608aac0a-32e1-4493-a863-b9cf4566d257', '{project}/_apis/{area}/workItems/{workItemId}/{resource}/{commentId}'],
  ['wit', 'states', '7c9d7a76-4a09-43e8-b5df-bd792f4ac6aa', '{project}/_apis/{area}/workitemtypes/{type}/{resource}'],
].map(([area, resourceName, id, routeTemplate]) => ({
  id, area, resourceName, routeTemplate, resourceVersion: 4, minVersion: '1.0', maxVersion: '7.2', releasedVersion: '7.1',
}));

// Azure removes HTML comments.
const cleaned = (html) => html.replace(/<!--[\s\S]*?-->/g, '');
const find = (id) => state.issues.find((item) => item.id === Number(id));

function set(item, fields, user) {
  for (const [name, value] of Object.entries(fields)) {
    if (name === 'System.AssignedTo' && value) item.fields[name] = person(value.split('@')[0]);
    else if (value === '') delete item.fields[name];
    else item.fields[name] = name === 'System.Description' ? cleaned(value) : value;
  }
  item.rev += 1;
  Object.assign(item.fields, { 'System.ChangedDate': now(), 'System.ChangedBy': person(user), 'System.Rev': item.rev });
  return item;
}

// What the other side of a link calls it.
const inverse = (rel) => (rel.endsWith('Reverse') ? rel.replace('Reverse', 'Forward') : rel.replace('Forward', 'Reverse'));
const isLink = (rel, id) => (relation) => relation.rel === rel && relation.url.endsWith(`/${id}`);

function link(item, rel, id, isMade) {
  for (const [one, kind, to] of [[item, rel, id], [find(id), inverse(rel), item.id]]) {
    one.relations = one.relations.filter((relation) => !isLink(kind, to)(relation));
    const url = `http://fake/1b2c/_apis/wit/workItems/${to}`;
    if (isMade) one.relations.push({ rel: kind, url, attributes: { isLocked: false } });
  }
}

function add({ type = 'Task', ...fields }, user) {
  const item = { id: state.issues.length + 1, rev: 0, url: 'http://fake', relations: [], fields: {
    'System.TeamProject': 'Shop', 'System.WorkItemType': type, 'System.State': Object.keys(states[type])[0],
    'System.CreatedDate': now(), 'System.CreatedBy': person(user), 'System.CommentCount': 0,
    'Microsoft.VSTS.Common.Priority': 2,
  } };
  state.issues.push(item);
  return set(item, fields, user);
}

function comment(item, text, user) {
  const made = { workItemId: item.id, id: ++lastId, version: 1, text: cleaned(text), createdBy: person(user), createdDate: now() };
  state.comments.push(made);
  set(item, { 'System.CommentCount': item.fields['System.CommentCount'] + 1 }, user);
  return made;
}

const error = (status, message) => [status, { $id: '1', innerException: null, message, typeKey: 'X', errorCode: 0 }];
const missing = (id) => error(404, `TF401232: Work item ${id} does not exist, or you do not have permissions to read it.`);

function query(text) {
  const has = (pattern, test) => [...text.matchAll(pattern)].every(([, value]) => test(value));
  const items = state.issues.filter(({ fields }) =>
    has(/ChangedDate\] >= '([^']*)'/g, (since) => Date.parse(fields['System.ChangedDate']) >= Date.parse(since)) &&
    has(/WorkItemType\] = '([^']*)'/g, (type) => fields['System.WorkItemType'] === type) &&
    has(/Tags\] CONTAINS '([^']*)'/g, (tag) => (fields['System.Tags'] ?? '').split('; ').includes(tag)));
  items.sort((a, b) => (a.fields['System.ChangedDate'] < b.fields['System.ChangedDate'] ? -1 : 1));
  return items.map(({ id }) => ({ id, url: 'http://fake' }));
}

// Work items have their relations only if these are asked for, and if there are some.
function shown(item, url) {
  if (!item) return null;
  const { relations, ...rest } = item;
  const isAsked = ['relations', 'all', '1', '4'].includes((url.searchParams.get('$expand') ?? '').toLowerCase());
  return isAsked && relations.length > 0 ? { ...rest, relations } : rest;
}

// Makes the operations of a JSON Patch, or returns what is wrong.
function patched(item, operations) {
  const fields = {};
  for (const { op, path, value } of operations) {
    if (op === 'test' && path === '/rev' && item.rev !== value) {
      return error(412, 'VS403351: Test Operation for path /rev failed.');
    }
    if (op === 'add' && path === '/relations/-') link(item, value.rel, value.url.split('/').pop(), true);
    else if (op === 'add') fields[path.replace('/fields/', '')] = value;
    if (op === 'remove') {
      const { rel, url } = item.relations[path.replace('/relations/', '')];
      link(item, rel, url.split('/').pop(), false);
    }
  }
  const title = fields['System.Title'];
  if (title !== undefined && (!title || title.length > 255)) {
    return error(400, "TF401320: Rule Error for field Title. Error code: Required, InvalidEmpty.");
  }
  const own = states[item.fields['System.WorkItemType']];
  if (fields['System.State'] && !own[fields['System.State']]) return error(400, 'The field State contains the value that is not allowed.');
  return [200, set(item, fields, 'bot')];
}

function answer(method, url, body) {
  const parts = decodeURIComponent(url.pathname).split('/').filter(Boolean);
  if (method === 'OPTIONS') return [200, { count: locations.length, value: locations.filter(({ area }) => area === parts.at(-1)) }];
  if (parts.at(-1) === 'resourceAreas') return [200, { count: 0, value: null }];
  if (parts.at(-1) === 'connectionData') {
    return [200, { authenticatedUser: { id: 'bot', providerDisplayName: 'bot', properties: { Account: { $value: 'bot@example.com' } } } }];
  }
  if (parts[0] !== 'Shop') return error(404, 'TF200016: The following project does not exist.');
  const [what, id, part] = parts.slice(3).map((name, index) => (index === 0 ? name.toLowerCase() : name));
  if (what === 'wiql') return [200, { queryType: 'flat', workItems: query(body.query) }];
  if (what === 'workitemtypes') {
    return [200, { value: Object.entries(states[id] ?? {}).map(([name, category]) => ({ name, color: 'b2b2b2', category })) }];
  }
  if (!id) {
    const ids = url.searchParams.get('ids').split(',');
    return ids.length > 200 ? error(400, 'VS402337: too many ids') : [200, { count: ids.length, value: ids.map((one) => shown(find(one), url)) }];
  }
  if (id.startsWith('$')) {
    const fields = Object.fromEntries(body.map(({ path, value }) => [path.replace('/fields/', ''), value]));
    return fields['System.Title'] ? [200, add({ type: id.slice(1), ...fields }, 'bot')] : error(400, 'TF401320: Title is empty.');
  }
  const item = find(id);
  if (!item) return missing(id);
  if (part === 'comments' && method === 'POST') return [200, comment(item, body.text, 'bot')];
  if (part === 'comments') {
    const all = state.comments.filter((one) => one.workItemId === item.id);
    const from = Number(url.searchParams.get('continuationToken') ?? 0);
    // Short pages.
    const page = { totalCount: all.length, count: 2, comments: all.slice(from, from + 2) };
    return [200, from + 2 < all.length ? { ...page, continuationToken: String(from + 2) } : page];
  }
  if (method === 'GET') return [200, shown(item, url)];
  const [status, changed] = patched(item, body);
  return [status, status === 200 ? shown(changed, url) : changed];
}

function control(given) {
  if ('clockMinutes' in given) clockMs = given.clockMinutes * 60_000;
  if ('fault' in given) fault = { times: 1, ...given, kind: given.fault };
  if ('before' in given) before = { skip: 0, ...given };
  else if ('edit' in given) {
    const { id, fields = {}, linked = [], unlinked = [] } = given.edit;
    for (const [rel, to] of linked) link(find(id), rel, to, true);
    for (const [rel, to] of unlinked) link(find(id), rel, to, false);
    set(find(id), fields, 'maria');
  }
  if ('issue' in given) add(given.issue, 'maria');
  if ('comment' in given) comment(find(given.comment.id), given.comment.body, 'maria');
}

const server = createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const text = Buffer.concat(parts).toString();
  const url = new URL(request.url, 'http://fake');
  const send = (status, json) => {
    response.writeHead(status, { date: new Date(Date.now() + clockMs).toUTCString(), 'content-type': 'application/json; charset=utf-8' });
    response.end(JSON.stringify(json));
  };
  if (url.pathname === '/_control') { control(JSON.parse(text)); return send(200, {}); }
  if (url.pathname === '/_state') return send(200, state);
  const { method } = request;
  state.calls.push(`${method} ${url.pathname}`);
  const [scheme, credentials = ''] = (request.headers.authorization ?? '').split(' ');
  const given = scheme === 'Basic' ? Buffer.from(credentials, 'base64').toString() : credentials;
  const signIn = () => {
    response.writeHead(203, { 'content-type': 'text/html' });
    response.end('<html>Sign In</html>');
  };
  if (scheme === 'Basic' ? given.split(':').at(-1) !== TOKEN : given !== JWT) return signIn();
  const hits = fault && fault.times > 0 && (!fault.method || fault.method === method) ? fault.kind : null;
  if (hits) fault.times -= 1;
  if (hits === 'page') return signIn();
  if (before?.before === method && !before.skip--) { control({ edit: before.edit }); before = null; }
  const [status, json] = answer(method, url, text ? JSON.parse(text) : {});
  if (hits === '500') return send(500, { message: 'Server Error' });
  if (hits === 'cut') return request.socket.destroy();
  send(status, json);
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.resume().on('end', () => process.exit());
