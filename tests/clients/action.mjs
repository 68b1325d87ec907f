// Runs the steps of contrib/action as GitHub does: with its expressions replaced, and against a server.
//
// By hand, as in sdk.mjs: node action.mjs /path/to/ait

import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execute, Server } from './programs.mjs';
import { check, run, temporaryDirectory } from './scenario.mjs';

const [binary] = process.argv.slice(2);
const TOKEN = 'WWWWWWWWwwwwwwww';
const require = createRequire(import.meta.url);
const { parseYaml } = createRequire(require.resolve('openapi-typescript'))('@redocly/openapi-core');
const file = fileURLToPath(new URL('../../contrib/action/action.yml', import.meta.url));
const action = parseYaml(readFileSync(file, 'utf8'));

const github = {
  workflow: 'Nightly "build"; $(touch made)',
  ref_name: 'main',
  server_url: 'https://github.example',
  repository: 'ann/shop',
  run_id: '7',
  sha: '9d1c0be',
};

/** Replaces the expressions of GitHub in a text. */
function evaluate(text, inputs) {
  const value = (path) => {
    const [root, name] = path.split('.');
    const found = { github, inputs }[root]?.[name];
    check.ok(found !== undefined, `no value of ${path}`);
    return found;
  };
  return text.replace(/\$\{\{ (?:toJSON\(([\w.-]+)\)|([\w.-]+)) \}\}/g, (_, json, plain) =>
    json ? JSON.stringify(value(json)) : value(plain),
  );
}

/** Runs the action with these inputs, and returns how it ended, with its outputs. */
async function act(directory, given) {
  const inputs = {};
  for (const [name, { required, default: text }] of Object.entries(action.inputs)) {
    check.ok(given[name] !== undefined || !required, name);
    inputs[name] = given[name] ?? evaluate(text, {});
  }
  check.equal(action.runs.using, 'composite');
  const [step, ...others] = action.runs.steps;
  check.deepEqual([step.shell, others.length], ['bash', 0]);
  const [output, summary] = ['output', 'summary'].map((name) => join(directory, name));
  for (const path of [output, summary]) writeFileSync(path, '');
  const env = { PATH: process.env.PATH, GITHUB_OUTPUT: output, GITHUB_STEP_SUMMARY: summary };
  for (const [name, text] of Object.entries(step.env)) env[name] = evaluate(text, inputs);
  check.ok(!step.run.includes('${{'), 'an expression in a script can inject commands');
  const ended = await execute('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', step.run], 60_000, {
    cwd: directory,
    env,
  });
  const written = Object.fromEntries(
    readFileSync(output, 'utf8').split('\n').filter(Boolean).map((line) => line.split('=')),
  );
  return { ...ended, outputs: written, summary: readFileSync(summary, 'utf8') };
}

run('action', 60_000, async () => {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, 'tokens'), `bot read-write ${TOKEN}\n`, { mode: 0o600 });
  const env = { AIT_TOKEN_FILE: join(directory, 'tokens'), AIT_WEB_ACTIONS: 'true' };
  const { origin } = await Server.start(binary, directory, env);
  const work = temporaryDirectory();
  const headers = { authorization: `Bearer ${TOKEN}` };
  const issues = async () => (await (await fetch(`${origin}/api/issues`, { headers })).json()).issues;

  const filed = await act(work, { url: `${origin}/`, token: TOKEN });
  check.equal(filed.ended, 0, filed.stdout + filed.stderr);
  const [issue] = await issues();
  check.equal(filed.outputs.id, issue.id);
  check.equal(issue.title, 'Nightly "build"; $(touch made) failed on main');
  check.equal(
    issue.description,
    'https://github.example/ann/shop/actions/runs/7 failed at 9d1c0be.\n\n' +
      'It is done when the workflow passes on main.\n',
  );
  check.deepEqual([issue.classification, issue.labels], ['bug', ['ci']]);
  check.equal(issue.history[0].agent, 'github-actions');
  check.ok(filed.summary.includes(`${origin}/issues/${issue.id}`), filed.summary);

  // The job is run again.
  const again = await act(work, { url: origin, token: TOKEN });
  check.deepEqual([again.ended, again.outputs.id], [0, issue.id]);
  check.equal((await issues()).length, 1);
  const other = await act(work, { url: origin, token: TOKEN, 'request-id': 'x', title: 'a', labels: '[]' });
  check.equal(other.ended, 0, other.stdout);
  check.equal((await issues()).length, 2);

  for (const [given, said] of [
    [{ token: 'x'.repeat(16) }, 'the token is invalid'],
    [{ labels: '["No"]' }, 'is not a label'],
    [{ url: 'http://127.0.0.1:9' }, '::error title=ait::the issue was not filed'],
  ]) {
    const refused = await act(work, { url: origin, token: TOKEN, 'request-id': 'y', ...given });
    check.equal(refused.ended, 1, said);
    check.ok(refused.stdout.includes(said), refused.stdout);
    check.deepEqual(refused.outputs, {});
  }
  check.equal((await issues()).length, 2);
});
