#!/usr/bin/env node
// Runs the binary from the package of this platform, which npm installs as an optional dependency.

const { spawn } = require('node:child_process');
const { constants } = require('node:os');

const platform = `${process.platform}-${process.arch}`;
let binary;
try {
  binary = require.resolve(`agent-issue-tracker-${platform}/bin/ait`);
} catch {
  console.error(`agent-issue-tracker: no binary for ${platform} is installed. Either there is none, or npm left out`);
  console.error('optional dependencies: install again without --omit=optional, or build ait from its source.');
  process.exit(1);
}

const child = spawn(binary, process.argv.slice(2), { stdio: 'inherit' });
// A terminal sends its signals to both; others send them to this process alone.
for (const signal of ['SIGTERM', 'SIGHUP', 'SIGUSR1']) process.on(signal, () => child.kill(signal));
process.on('SIGINT', () => {});
child.on('error', (error) => {
  console.error(`agent-issue-tracker: cannot run ${binary}: ${error.message}`);
  process.exit(1);
});
child.on('exit', (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
