// Creates stores with issues, and servers for them.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RETURN } from '../expected.mjs';
import { Server } from '../programs.mjs';
import { temporaryDirectory } from '../scenario.mjs';
import { TRANSPORTS } from '../sdks.mjs';

export const STATUSES = ['created', 'in_progress', 'completed', 'in_review', 'closed', 'rejected'];
export const KINDS = ['bug', 'improvement', 'feature'];
export const OPEN = STATUSES.slice(0, 4);

const MINUTE_MS = 60_000;

/** The steps that lead to each status: agent, action and comment. */
const CLAIM = ['developer', 'Issue claimed for work'];
const COMPLETE = ['developer', 'Issue completed', 'On a branch of its own; the tests pass.'];
const REVIEW = ['code-reviewer', 'Issue claimed for review'];
const STEPS = {
  created: [CLAIM, ['developer', RETURN, 'Needs somebody with a Mac.']],
  in_progress: [CLAIM],
  completed: [CLAIM, COMPLETE],
  in_review: [CLAIM, COMPLETE, REVIEW],
  closed: [CLAIM, COMPLETE, REVIEW, ['code-reviewer', 'Issue closed', 'Merged.']],
  rejected: [['team-lead', 'Issue rejected', 'The library does that by itself.']],
};

/** Returns the id of an issue. The first 8 digits, which users type, are unique. */
export function idOf(number) {
  const first = (Math.imul(number + 1, 0x9e3779b1) >>> 0).toString(16).padStart(8, '0');
  return `${first}-0000-4000-8000-${number.toString(16).padStart(12, '0')}`;
}

/** Returns the id of the element that shows an issue. */
export function elementOf(id) {
  return `i-${id}`;
}

/** Returns an issue with the history of its status: one step a minute, the last one `minutes` ago. */
export function issue(number, { status = 'created', minutes = 1, ...given } = {}) {
  const steps = [['team-lead', 'Issue filed'], ...STEPS[status]];
  const now = Date.now();
  const at = (step) => {
    const ago_ms = (minutes + steps.length - 1 - step) * MINUTE_MS;
    return new Date(now - ago_ms).toISOString();
  };
  const history = steps.map(([agent, action], step) => ({ timestamp: at(step), agent, action }));
  const comments = steps.flatMap(([agent, , text], step) =>
    text ? [{ timestamp: at(step), agent, text }] : [],
  );
  return {
    id: idOf(number),
    title: `Issue number ${number}`,
    description: `What is wrong in place ${number}.\n\n* \`code\`\n* **strong**\n`,
    // Every kind occurs in every status.
    classification: KINDS[Math.floor(number / STATUSES.length) % KINDS.length],
    createdAt: at(0),
    modifiedAt: at(steps.length - 1),
    status,
    history,
    comments,
    ...given,
  };
}

/** Returns `count` issues in all statuses and of all kinds. Higher numbers have older changes. */
export function issues(count) {
  return Array.from({ length: count }, (_, number) =>
    issue(number, { status: STATUSES[number % STATUSES.length], minutes: number * 7 + 2 }),
  );
}

/** Returns the same issues. The first ones have attributes and every kind of link. */
export function linkedIssues(count) {
  const stored = issues(count);
  const link = (kind, to) => ({ kind, to: idOf(to) });
  const since = new Date().toISOString();
  const labels = Array.from({ length: 20 }, (_, number) => `area/${number + 10}:${'long'.repeat(10)}`);
  const given = [
    { priority: 0, labels, links: [link('parent', 6), link('blocked_by', 1), link('blocked_by', 4)] },
    { priority: 1, assignee: 'an-agent-with-quite-a-long-name', links: [link('blocked_by', 2), link('related', 5)] },
    { priority: 4, links: [link('parent', 6), link('blocked_by', 3)] },
    { labels: ['ui'], links: [link('duplicate_of', 0)] },
    {},
    { links: [link('related', 0)] },
    { parked: { reason: 'There is no Mac.', since, by: 'team-lead' } },
    { description: `See issue-${idOf(0).slice(0, 8)} and #${idOf(1).slice(0, 8)}.`, links: [link('blocked_by', 0)] },
  ];
  given.forEach((attributes, number) => Object.assign(stored[number], attributes));
  return stored;
}

/** Starts a server on a new store with these issues and the given `ait.toml` settings. */
export async function site(binary, stored, settings = '') {
  const directory = temporaryDirectory();
  if (settings) writeFileSync(join(directory, 'ait.toml'), settings);
  writeFileSync(join(directory, 'issues.json'), `${JSON.stringify({ issues: stored }, null, 2)}\n`);
  return Server.start(binary, directory);
}

/** Starts a second process on a server's store, as an agent's client does. */
export function agent(binary, server) {
  return new TRANSPORTS.stdio('v2-auto', binary, server.directory).connect('agent');
}
