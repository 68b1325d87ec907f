// Generates a realistic backlog of a team and a stream of changes, for the pictures of all pages.

import { check } from '../scenario.mjs';
import { execute } from '../programs.mjs';
import { idOf, issue } from './stores.mjs';

/** How long one command may take. */
const COMMAND_MS = 15_000;
/** The number of issues in each status, 300 in total. */
const SPREAD = { created: 190, in_progress: 14, completed: 18, in_review: 5, closed: 58, rejected: 15 };
const AREAS = ['store', 'web', 'cli', 'docs'];
const DIFF = '```diff\n-    sleep(Duration::from_secs(30));\n+    lock.wait()?;\n```\n\n| call | p50 |\n|---|--:|\n| claim | 0.4 ms |\n';

/** The issue that blocks others, the one with parts, and the one that gets a question. */
export const [BLOCKER, WHOLE, ASKED] = [190, 100, 24];
/** The parts of the whole issue, half of them ended, and the blockers of some issues by number. */
const PARTS = [101, 102, 195, 210, 230, 231, 232, 286];
const BLOCKED_BY = { [WHOLE]: [120, 196], 120: [121, 233], 150: [WHOLE], 151: [WHOLE] };

const QUESTION = 'Should **`ait export`** print JSON for the file of the client, or the *command* that adds it?\n\nSee [the docs](https://example.com/clients).';
const OPTIONS = ['JSON, as in `issues.json`', 'the command'];

/** Returns issues with these texts: a backlog, claims by four agents, questions, parked and blocked issues. */
export function backlog(texts) {
  const statuses = Object.entries(SPREAD).flatMap(([status, count]) => Array(count).fill(status));
  return statuses.map((status, number) => {
    const { title, description, classification } = texts[(number * 5) % texts.length];
    const minutes = status === 'in_progress' ? 3 * 2 ** (number % 11) : 10 + ((number * 7919) % 20_000);
    const one = issue(number, { status, minutes, description, classification, title: `${title} (${number})` });
    for (const entry of [...one.history, ...one.comments]) entry.agent = entry.agent.replace('developer', `developer-${number % 4}`);
    if (number % 3 === 0) one.priority = number % 5;
    if (number % 2 === 0) one.labels = [AREAS[number % AREAS.length]];
    const blockers = BLOCKED_BY[number] ?? (number % 11 === 0 && status === 'created' ? [BLOCKER] : []);
    const parents = PARTS.includes(number) ? [{ kind: 'parent', to: idOf(WHOLE) }] : [];
    one.links = [...parents, ...blockers.map((to) => ({ kind: 'blocked_by', to: idOf(to) }))];
    if (number === BLOCKER) one.description = `${description}\n\nSee #${idOf(7).slice(0, 8)}.\n\n${DIFF}`;
    const [since, by] = [new Date(Date.now() - (number + 1) * 4_000_000).toISOString(), 'developer-1'];
    const question = number < 3 ? { text: QUESTION, options: OPTIONS } : undefined;
    if (number < 6) one.parked = { reason: question ? QUESTION : 'No Mac.', since, by, question };
    return one;
  });
}

/** The changes, oldest first: the agent and its `ait` command. */
const STREAM = [
  ['team-lead', 'edit', 30, '-p', '1', '-l', '+urgent,-docs'],
  ['team-lead', 'edit', 31, '--title', 'Say in the README how to move the queue to another machine', '--assign', 'developer-2'],
  ['developer-0', 'claim', 20],
  ['developer-0', 'comment', 20, '-m', 'It happens only with **two** processes: `flock` is not inherited.\n\nI have a test.'],
  ['developer-3', 'claim', 27],
  ['developer-0', 'complete', 20, '-m', 'Branch `fix/lock`: the lock is taken *before* the fork. The tests pass.'],
  ['code-reviewer', 'return', 204, '--force', '-m', 'The test passes without the change, too. See [the run](https://ci.example.com/71).'],
  ['team-lead', 'link', 29, 'blocked-by', 27],
  ['team-lead', 'edit', 103, '--parent', WHOLE],
  ['team-lead', 'edit', 103, '--parent', 'none'],
  ['developer-2', 'claim', ASKED],
  ['developer-2', 'comment', ASKED, '-m', '## What I tried\n\n1. `ait export --json`\n2. the command'],
  ['developer-2', 'ask', ASKED, QUESTION, ...OPTIONS.flatMap((option) => ['--option', option])],
  ['ann', 'answer', 2, 'The command: it also works on **Windows**.'],
  ['ann', 'park', 33, '-m', 'Waits for the new designs.'],
  ['code-reviewer', 'close', 205, '--force', '-m', 'Reviewed and merged.'],
  ['team-lead', 'close', 34, '--reject', '-m', 'The library does that by itself.'],
  ['ann', 'unpark', 33],
  ['developer-3', 'complete', 27, '-m', 'Done, with a test for each status.'],
  ['team-lead', 'edit', 35, '-d', 'The list and the board must say the same.\n\n* the list\n* the board\n'],
  ['developer-1', 'next'],
  ['developer-1', 'add', 'A claim that waits for its turn is not shown on the board', '-c', 'bug', '-l', 'web'],
];

/** Makes these changes in the store of a server. */
export async function stream(server) {
  const env = { PATH: process.env.PATH };
  for (const [agent, ...words] of STREAM) {
    const given = words.map((word) => (typeof word === 'number' ? idOf(word) : word));
    const { ended, stderr } = await execute(server.command, [...given, '-a', agent], COMMAND_MS, { cwd: server.directory, env });
    check.equal(ended, 0, `${words.join(' ')}: ${stderr}`);
  }
}
