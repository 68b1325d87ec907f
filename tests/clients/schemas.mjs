// Compares the files that `ait init` writes for each client with the published configuration format of the client.
// opencode publishes types. For the other clients, the test uses a third-party description,
// @gleanwork/mcp-config-schema, because their vendors publish no schema in a registry, or only one in a package of
// some dozen megabytes.
//
// By hand, after `npm ci --ignore-scripts` in this folder:
//
//     node schemas.mjs /path/to/ait [expected version]

import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse as parseToml } from 'smol-toml';
import ts from 'typescript';
import { modules } from './programs.mjs';
import { check, run, temporaryDirectory } from './scenario.mjs';

const RUN_MS = 120_000;
const PORT = 3017;
const URL_ = `http://localhost:${PORT}/mcp`;

const [binary] = process.argv.slice(2);

/** Each client's file in the project. `ait` and the schema package use the same client names. */
const FILES = {
  'claude-code': '.mcp.json',
  cursor: '.cursor/mcp.json',
  vscode: '.vscode/mcp.json',
  codex: '.codex/config.toml',
  gemini: '.gemini/settings.json',
  opencode: 'opencode.json',
};

/** Sets up a project for all clients. Returns functions that read and parse its files. */
function setUp(...given) {
  const root = temporaryDirectory();
  const project = join(root, 'project');
  mkdirSync(project);
  writeFileSync(join(project, 'ait.toml'), `port = ${PORT}\n`);
  const clients = Object.keys(FILES).flatMap((name) => ['--client', name]);
  const env = { ...process.env, HOME: root, XDG_CONFIG_HOME: join(root, 'config'), XDG_STATE_HOME: root };
  // What agents may do is no part of the published descriptions.
  execFileSync(binary, ['init', '--yes', '--no-permissions', ...clients, ...given], { cwd: project, env });
  const read = (name) => readFileSync(join(project, name), 'utf8');
  const parsed = (name) => (name.endsWith('.toml') ? parseToml(read(name)) : JSON.parse(read(name)));
  return { read, parsed };
}

/** Caches the source files that TypeScript has read, which never change. */
const sources = new Map();

/** Returns TypeScript's errors for a value that must have the type `Config` of a module. */
function complaints(module, value) {
  const path = join(modules, '..', 'config_of_opencode.ts');
  const text = `import type { Config } from ${JSON.stringify(module)};
    export const config: Config = ${JSON.stringify(value)};`;
  const options = {
    noEmit: true,
    strict: true,
    skipLibCheck: true,
    types: [],
    lib: ['lib.es2022.d.ts'],
    target: ts.ScriptTarget.ESNext,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (name) => name === path || fileExists(name);
  host.getSourceFile = (name, ...rest) => {
    if (name === path) return ts.createSourceFile(name, text, ts.ScriptTarget.ESNext);
    if (!sources.has(name)) sources.set(name, getSourceFile(name, ...rest));
    return sources.get(name);
  };
  const program = ts.createProgram([path], options, host);
  const source = program.getSourceFile(path);
  const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
  return found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}

/** Converts an opencode agent file to the form that opencode's configuration uses. */
function agent(text) {
  const [, matter, prompt] = text.match(/^---\n([\s\S]*?)\n---\n([\s\S]*)$/);
  const lines = matter.split('\n').filter((line) => !line.startsWith('#'));
  return { ...Object.fromEntries(lines.map((line) => line.split(/: (.*)/s, 2))), prompt };
}

function opencode(files) {
  const config = files.parsed('opencode.json');
  const developer = agent(files.read('.opencode/agents/developer.md'));
  for (const module of ['@opencode-ai/sdk', '@opencode-ai/sdk/v2/types']) {
    check.deepEqual(complaints(module, config), [], module);
    check.deepEqual(complaints(module, { ...config, agent: { developer } }), [], module);
    // TypeScript rejects wrong entries.
    for (const wrong of [{ type: 'local', command: 'ait' }, { type: 'http', url: URL_ }, { command: ['ait'] }]) {
      check.ok(complaints(module, { mcp: { issues: wrong } }).length > 0, JSON.stringify(wrong));
    }
    check.ok(complaints(module, { agent: { developer: { ...developer, mode: 'some' } } }).length > 0);
  }
}

/** Compares a client's entry with its published description. */
function described(client, files, url) {
  const path = join(modules, '@gleanwork/mcp-config-schema/configs', `${client}.json`);
  const { configStructure, configFormat } = JSON.parse(readFileSync(path, 'utf8'));
  const { serversPropertyName, httpPropertyMapping, stdioPropertyMapping } = configStructure;
  const file = FILES[client];
  check.equal(file.split('.').at(-1), configFormat, client);
  const entry = files.parsed(file)[serversPropertyName].issues;
  const mapping = url ? httpPropertyMapping : stdioPropertyMapping;
  const known = Object.entries(mapping).filter(([name]) => name.endsWith('Property'));
  const names = known.map(([, name]) => name);
  check.ok(Object.keys(entry).every((name) => names.includes(name)), `${client}: ${JSON.stringify(entry)}`);
  if (url) {
    check.equal(entry[mapping.urlProperty], url, client);
    const type = entry[mapping.typeProperty];
    check.ok(type === undefined || type === mapping.typeValue, `${client}: ${type}`);
  } else {
    check.deepEqual([entry[mapping.commandProperty]].flat().length, 1, client);
  }
}

run('schemas', RUN_MS, () => {
  for (const [given, url] of [
    [[], undefined],
    [['--http'], URL_],
  ]) {
    const files = setUp(...given);
    opencode(files);
    for (const client of Object.keys(FILES)) described(client, files, url);
  }
});
