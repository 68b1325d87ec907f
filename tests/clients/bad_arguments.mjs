// Sends invalid arguments. A tool must refuse them, name the mistake and change nothing.

import { TOOLS } from './expected.mjs';
import { check } from './scenario.mjs';
import { allIssues, refused } from './session.mjs';

const LONG_TEXT = 'x'.repeat(100_001);

const AGENTS = [
  [{ agent: 'a'.repeat(201) }, /\bagent\b.*\b200\b/],
  [{ agent: ' \t' }, /\bagent\b.*\b200\b/],
];

const COMMENTS = [
  [{ comment: LONG_TEXT }, /\bcomment\b.*100,?000/],
  [{ comment: ' \n' }, /\bcomment\b.*100,?000/],
];

/** Invalid references to an issue. The answer names the tool that lists ids, not the tool to call again. */
const REFERENCES = [
  [{ issue_id: '3f2a9c1' }, /3f2a9c1.*\b8\b.*list_issues/],
  [{ issue_id: 'the first one' }, /the first one.*\b8\b.*list_issues/],
  [{ issue_id: '00000000-0000-4000-8000-000000000000' }, /00000000.*list_issues/],
];

const CLASSIFICATION = [{ classification: 'task' }, /task.*bug.*improvement.*feature/];

const WAIT = [{ wait_seconds: 601 }, /\bwait_seconds\b.*\b0\b.*\b600\b/];

/** The arguments that break a limit of each tool, with the pattern that the answer must match. */
const LIMITS = {
  add_issue: [
    [{ title: 't'.repeat(501) }, /\btitle\b.*\b500\b/],
    [{ title: ' ' }, /\btitle\b.*\b500\b/],
    [{ title: 'two\nlines' }, /\btitle\b.*\bline\b/],
    [{ description: LONG_TEXT }, /\bdescription\b.*100,?000/],
    CLASSIFICATION,
    ...AGENTS,
  ],
  list_issues: [
    [{ status: 'done' }, /done.*any.*open.*created.*in_progress.*completed.*in_review.*closed.*rejected/],
    [{ since: 'someday' }, /\bsince\b.*\bcursor\b.*someday/],
    [{ skip: -1 }, /\bskip\b.*\b0\b.*-1/],
    [{ skip: 0.5 }, /\bskip\b.*integer.*0\.5/],
    [{ take: -1 }, /\btake\b.*\b0\b.*\b500\b/],
    [{ take: 501 }, /\btake\b.*\b0\b.*\b500\b/],
    CLASSIFICATION,
    ...AGENTS,
    ...REFERENCES,
  ],
  get_next_issue: [WAIT, CLASSIFICATION, ...AGENTS, ...REFERENCES],
  return_issue: [...REFERENCES, ...COMMENTS, ...AGENTS],
  complete_issue: [...REFERENCES, ...COMMENTS, ...AGENTS],
  get_next_review_item: [WAIT, ...AGENTS],
  close_issue: [
    [{ resolution: 'done' }, /done.*closed.*rejected/],
    ...REFERENCES,
    ...COMMENTS,
    ...AGENTS,
  ],
};

/** Calls every tool with missing and unknown arguments, with wrong types and with values beyond a limit. */
export async function badArguments(session, issue_id) {
  const good = {
    title: 'A title',
    description: '',
    classification: 'bug',
    agent: 'developer',
    issue_id,
    comment: 'A comment',
    resolution: 'closed',
    status: 'created',
    since: '1h',
    mine: false,
    skip: 0,
    take: 1,
    wait_seconds: 0,
  };
  const before = await allIssues(session);
  for (const [tool, { required, optional }] of Object.entries(TOOLS)) {
    const given = Object.fromEntries(required.map((name) => [name, good[name]]));
    const again = new RegExp(tool);
    const refuses = (change, ...patterns) =>
      refused(session, tool, { ...given, ...change }, again, ...patterns);
    for (const name of required) {
      // `JSON.stringify` omits an undefined attribute.
      await refuses({ [name]: undefined }, new RegExp(`\\b${name}\\b.*missing`));
    }
    for (const name of [...required, ...optional]) {
      const otherType = typeof good[name] === 'string' ? 17 : `no ${good[name]}`;
      const another = typeof good[name] === 'boolean' ? 1 : true;
      for (const wrong of [otherType, [good[name]], { value: good[name] }, another]) {
        await refuses({ [name]: wrong }, new RegExp(`\\b${name}\\b.* must be `));
      }
      // One answer lists all mistakes.
      const named = new RegExp(`\\b${name}\\b.* must be `);
      await refuses({ [name]: otherType, urgency: 1 }, named, /\burgency\b/);
    }
    for (const [broken, pattern] of LIMITS[tool]) {
      const named = 'issue_id' in broken ? /list_issues/ : again;
      await refused(session, tool, { ...given, ...broken }, named, pattern);
    }
  }
  check.deepEqual(await allIssues(session), before, 'a refused call changes nothing');
}
