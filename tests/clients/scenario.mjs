// The scripts of this folder share these helpers: counted checks, temporary directories, and a run with a
// time limit. However a run ends, it removes its files and kills its processes.

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** The number of checks that have started. */
let checks = 0;

function counted(assertion) {
  return (...given) => {
    checks += 1;
    return assertion(...given);
  };
}

/** Assertions of `node:assert/strict` that count their calls. */
export const check = {
  deepEqual: counted(assert.deepEqual),
  doesNotMatch: counted(assert.doesNotMatch),
  equal: counted(assert.equal),
  match: counted(assert.match),
  ok: counted(assert.ok),
  rejects: counted(assert.rejects),
  throws: counted(assert.throws),
};

const cleanups = [];

/**
 * Registers a cleanup for the end of the run. It receives the error if the run failed.
 *
 * Cleanups run in reverse order of registration.
 */
export function atEnd(cleanup) {
  cleanups.unshift(cleanup);
}

/** Creates a directory outside any repository, so that the tracker uses the store in this directory. */
export function temporaryDirectory() {
  const directory = mkdtempSync(join(tmpdir(), 'ait-clients-'));
  atEnd(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));
  for (let above = directory; above !== dirname(above); above = dirname(above)) {
    // Otherwise the tracker would find that repository's queue, and the checks would write to it.
    assert.ok(!existsSync(join(above, '.git')), `${directory} is inside the repository ${above}`);
  }
  return directory;
}

/** The state folder in which servers record the projects that they serve. */
export const userState = temporaryDirectory();

/** Kills a process, or a process group if `pid` is negative. Ignores one that no longer exists. */
export function kill(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

/**
 * Runs a scenario and exits, at the latest after `limit_ms`. On success it prints the number of checks and
 * exits with 0; otherwise it prints the error and exits with 1.
 */
export async function run(name, limit_ms, scenario) {
  setTimeout(() => end(name, new Error(`not done after ${limit_ms} ms`)), limit_ms);
  process.once('uncaughtException', (error) => end(name, error));
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM']) {
    process.once(signal, () => end(name, new Error(`ended by ${signal}`)));
  }
  try {
    await scenario();
    end(name);
  } catch (error) {
    end(name, error);
  }
}

function end(name, failure) {
  if (failure) console.error(`${name}: failed after ${checks} checks`, failure);
  for (const cleanup of cleanups) {
    try {
      cleanup(failure);
    } catch (error) {
      // The other cleanups must still run. The first failure is the one to report.
      console.error(`${name}: while cleaning up:`, error);
      failure ??= error;
    }
  }
  if (!failure) console.log(`${name}: ok, ${checks} checks`);
  process.exit(failure ? 1 : 0);
}
