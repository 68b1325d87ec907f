// Compares the OpenAPI description of /api with the server: by a linter, by the answers of the server, by what it
// says of the members of bodies, and by a session of a generated client.
//
// By hand, as in sdk.mjs: node openapi.mjs /path/to/ait

import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import Ajv from 'ajv/dist/2020.js';
import openapiTS, { astToString } from 'openapi-typescript';
import ts from 'typescript';
import { execute, Server } from './programs.mjs';
import { check, run, temporaryDirectory } from './scenario.mjs';

const [binary] = process.argv.slice(2);
const folder = fileURLToPath(new URL('.', import.meta.url));
const description = join(folder, '../../crates/ait-web/src/openapi.json');
const openapi = JSON.parse(readFileSync(description));
const [TOKEN, READER] = ['WWWWWWWWwwwwwwww', 'RRRRRRRRrrrrrrrr'];
// The linter comes with the generator.
const linter = createRequire(createRequire(import.meta.url).resolve('openapi-typescript'))('@redocly/openapi-core');

/** What the linter finds in a description. */
async function problems(document) {
  const { styleguide: config } = await linter.createConfig({
    extends: ['recommended-strict'],
    // It has no server of its own.
    rules: { 'no-server-example.com': 'off' },
  });
  const source = new linter.Source(description, JSON.stringify(document));
  const found = await linter.lintDocument({
    document: { source, parsed: document },
    externalRefResolver: new linter.BaseResolver(),
    config,
  });
  return found.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`);
}

/** A schema that allows only what it describes. */
function strict(schema) {
  if (Array.isArray(schema)) return schema.map(strict);
  if (typeof schema !== 'object' || schema === null) return schema;
  const members = Object.entries(schema).map(([name, value]) => [name, strict(value)]);
  const isObject = schema.type === 'object' && schema.properties;
  return { ...(isObject && { additionalProperties: false }), ...Object.fromEntries(members) };
}

const ajv = new Ajv({ strict: false, allErrors: true });
ajv.addSchema({ $id: 'openapi', components: strict(openapi.components) });

/** Checks a value by a schema of the description. */
function agrees(schema, value, about) {
  const validate = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"openapi#/')));
  check.ok(validate(value), `${about}: ${JSON.stringify(validate.errors)} ${JSON.stringify(value)?.slice(0, 500)}`);
}

/** The operations whose answers were checked. */
const seen = new Set();

/** Sends a request, and checks the answer by the description. */
async function checked(request) {
  const response = await fetch(request);
  const about = `${request.method} ${new URL(request.url).pathname} ${response.status}`;
  const { pathname } = new URL(request.url);
  const item =
    openapi.paths[pathname] ??
    Object.entries(openapi.paths).find(([path]) => new RegExp(`^${path.replace('{id}', '[^/]+')}$`).test(pathname))[1];
  // Other methods are refused in the same way.
  const operation = item[request.method.toLowerCase()] ?? item.get ?? item.post;
  const { status } = response;
  const described = operation.responses[status] ?? operation.responses[`${String(status)[0]}XX`];
  check.ok(described, about);
  const { content } = described.$ref ? openapi.components.responses[described.$ref.split('/').at(-1)] : described;
  const kind = response.headers.get('content-type').split(';')[0];
  check.equal(kind, content ? 'application/json' : 'text/plain', about);
  if (content) agrees(content[kind].schema, await response.clone().json(), about);
  if (response.ok) seen.add(operation.operationId);
  return response;
}

/** Compiles the session against the generated types. */
async function compile() {
  const types = astToString(await openapiTS(openapi));
  const options = {
    strict: true,
    noEmit: true,
    allowImportingTsExtensions: true,
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ESNext,
    skipLibCheck: true,
    types: [],
  };
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  const generated = join(folder, 'openapi.gen.d.ts');
  host.fileExists = (name) => name === generated || fileExists(name);
  host.readFile = (name) => (name === generated ? types : readFile(name));
  host.getSourceFile = (name, ...given) =>
    name === generated ? ts.createSourceFile(name, types, given[0]) : getSourceFile.call(host, name, ...given);
  const program = ts.createProgram([join(folder, 'openapi_session.ts')], options, host);
  const found = ts.getPreEmitDiagnostics(program);
  check.equal(ts.formatDiagnostics(found, { ...host, getNewLine: () => '\n' }), '');
}

/** Checks that the server takes the members that the schema of a body has, and no others. */
async function checkBody(origin, path, method, schema) {
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  const send = (body) => checked(new Request(`${origin}${path}`, { method, headers, body: JSON.stringify(body) }));
  const unknown = await send({ zzz: 1 });
  const { error } = await unknown.json();
  const names = error.match(/`\w+`/g).map((name) => name.slice(1, -1)).filter((name) => name !== 'zzz');
  check.equal(unknown.status, 400, error);
  check.deepEqual(new Set(names), new Set(Object.keys(schema.properties)), error);
  const [first] = schema.required;
  const misspelt = `${first.slice(0, -1)}`;
  check.match((await (await send({ [misspelt]: 'x' })).json()).error, new RegExp(`did you mean \`${first}\``));
  for (const name of schema.required) {
    const values = { classification: 'bug', resolution: 'closed' };
    const others = schema.required.filter((other) => other !== name);
    const body = Object.fromEntries(others.map((other) => [other, values[other] ?? 'text']));
    const response = await send(body);
    check.equal(response.status, 400);
    check.match((await response.json()).error, new RegExp(`missing field \`${name}\``));
  }
}

run('openapi', 120_000, async () => {
  check.deepEqual(await problems(openapi), []);
  const broken = structuredClone(openapi);
  delete broken.paths['/api/stats'].get.responses;
  check.equal((await problems(broken)).length > 0, true, 'the linter notices nothing');

  const directory = temporaryDirectory();
  const tokens = join(directory, 'tokens');
  writeFileSync(tokens, `bot read-write ${TOKEN}\nreader read-only ${READER}\n`);
  const server = await Server.start(binary, directory, { AIT_TOKEN_FILE: tokens, AIT_WEB_ACTIONS: 'true' });
  const { origin } = server;
  const ait = async (...given) => {
    const env = { PATH: process.env.PATH, XDG_STATE_HOME: directory };
    const done = await execute(resolve(binary), given, 30_000, { cwd: directory, env });
    check.equal(done.ended, 0, done.stderr);
    return done.stdout;
  };

  await compile();
  const { session } = await import('./openapi_session.ts');
  const operations = Object.values(openapi.paths).flatMap((item) => Object.values(item));
  let asked;
  const result = await session(origin, TOKEN, checked, async (id) => {
    await ait('claim', id, '--agent', 'dev');
    await ait('ask', id, 'Which?', '--option', 'a', '--option', 'b', '--agent', 'dev');
    asked = id;
  });
  check.deepEqual(result, {
    endpoints: operations.length,
    near: ['Login fails'],
    isRepeat: true,
    found: 2,
    refused: 'VALIDATION',
    stale: 'CONFLICT',
    comments: ['Seen'],
    priority: undefined,
    labels: ['login', 'ui'],
    answer: 'b',
    status: 'closed',
  });

  for (const [path, item] of Object.entries(openapi.paths)) {
    for (const [method, { requestBody }] of Object.entries(item)) {
      if (!requestBody) continue;
      const name = requestBody.content['application/json'].schema.$ref.split('/').at(-1);
      await checkBody(origin, path.replace('{id}', asked), method.toUpperCase(), openapi.components.schemas[name]);
    }
  }

  // Answers that have the members which are absent from most.
  const whole = { agent: 'bot', title: 'x', description: '', classification: 'feature' };
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  const send = (method, path, body) =>
    checked(new Request(`${origin}${path}`, { method, headers, body: body && JSON.stringify(body) }));
  const dated = { due: '2026-11-21', estimate: 0.5 };
  const parts = { ...whole, ...dated, priority: 0, labels: ['a'], assignee: 'dev', parent: asked, blockedBy: [asked] };
  const { id } = await (await send('POST', '/api/issues', { ...parts, requestId: 'r2' })).json();
  await ait('claim', id, '--agent', 'dev');
  await send('GET', `/api/issues/${id}`);
  await ait('ask', id, 'Which?', '--agent', 'dev', '--option', 'a', '--default', 'a', '--default-after', '1d');
  const edit = { title: 'y', description: 'z', classification: 'bug', priority: null, assignee: null, due: null, estimate: null, parent: null };
  const labels = { labelsAdd: ['b'], labelsRemove: ['a'], blockedBy: [], comment: 'c' };
  check.equal((await send('PATCH', `/api/issues/${id}`, { agent: 'bot', ...edit, ...labels })).status, 200);
  const texts = { parent: asked, issue: asked, fields: 'id,comments.text', since: '1d', kind: 'closed', priority: '0,1', ...dated };
  for (const [path, { get }] of Object.entries(openapi.paths).filter(([, item]) => item.get)) {
    const address = path.replace('{id}', id);
    check.equal((await send('GET', address)).status, 200, address);
    for (const { name, schema: given } of (get.parameters ?? []).filter((parameter) => parameter.in === 'query')) {
      const schema = given.$ref ? openapi.components.schemas[given.$ref.split('/').at(-1)] : given;
      const all = schema.enum ?? schema.items?.enum ?? [schema.maximum ?? schema.default ?? texts[name] ?? 'ui'];
      for (const value of all) {
        const response = await send('GET', `${address}?${name}=${value}`);
        check.equal(response.status, 200, `${address}?${name}=${value}`);
      }
    }
  }
  check.equal((await send('GET', '/api/issues?zzz=1')).status, 400);
  check.equal((await send('GET', '/api/issues/00000000')).status, 404);
  check.equal((await send('DELETE', '/api/issues')).status, 405);
  check.deepEqual(seen, new Set(operations.map((operation) => operation.operationId)));
});
