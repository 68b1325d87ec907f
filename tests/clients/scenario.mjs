// What the scripts of this folder share: checks that are counted, places to work in, and a run that
// ends in time and leaves neither files nor processes behind, however it ends.

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** How many checks have passed or are being made. */
let checks = 0;

function counted(assertion) {
  return (...given) => {
    checks += 1;
    return assertion(...given);
  };
}

/** The assertions of `node:assert/strict` that are used here, counted. */
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
 * Has something done at the end of the run, which is told why the run failed, if it did.
 *
 * The last one comes first.
 */
export function atEnd(cleanup) {
  cleanups.unshift(cleanup);
}

/** A fresh directory outside any repository: the store is then the one in this directory. */
export function temporaryDirectory() {
  const directory = mkdtempSync(join(tmpdir(), 'ait-clients-'));
  atEnd(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));
  for (let above = directory; above !== dirname(above); above = dirname(above)) {
    // The tracker would find the queue of that repository, and the checks would file into it.
    assert.ok(!existsSync(join(above, '.git')), `${directory} is inside the repository ${above}`);
  }
  return directory;
}

/** Where servers note which projects of the user they serve. */
export const userState = temporaryDirectory();

/** Kills a process, or with a negative number a process group, that may be gone by now. */
export function kill(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

/**
 * Runs a scenario and ends this process: status 0 and one line with the number of checks, or 1 and
 * why, at the latest after `limit_ms`.
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
      // The others must still be done, and the first failure is the one to look at.
      console.error(`${name}: while cleaning up:`, error);
      failure ??= error;
    }
  }
  if (!failure) console.log(`${name}: ok, ${checks} checks`);
  process.exit(failure ? 1 : 0);
}
