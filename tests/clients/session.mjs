// What all answers of the tracker have in common, whichever client asked and over which transport.

import { ID, TIME } from './expected.mjs';
import { check } from './scenario.mjs';

/** Calls a tool and gives its one text, after a look at the shape of the result. */
export async function call(session, tool, given, isError = false) {
  const result = await session.callTool(tool, given);
  const text = result.content[0]?.text;
  const types = result.content.map((block) => block.type);
  const asked = `${tool} ${JSON.stringify(given).slice(0, 200)} answered: ${text}`;
  check.deepEqual([result.isError ?? false, types], [isError, ['text']], asked);
  // A second copy of the same would be paid for by every agent.
  check.equal(result.structuredContent, undefined, asked);
  return text;
}

/** Calls a tool that answers with JSON. */
export async function read(session, tool, given) {
  const text = await call(session, tool, given);
  const value = JSON.parse(text);
  check.equal(text, JSON.stringify(value), 'compact JSON');
  return value;
}

/** Looks at one issue, whole. */
export function look(session, issue_id) {
  return read(session, 'list_issues', { issue_id });
}

/** Looks at every issue of the queue, whole. */
export async function everything(session) {
  const { count, issues } = await read(session, 'list_issues', {});
  check.equal(issues.length, count);
  return Promise.all(issues.map(({ id }) => look(session, id)));
}

/** Calls a tool that confirms a change in a few words, and gives the id of the issue. */
export async function change(session, tool, given, status) {
  const text = await call(session, tool, given);
  for (const part of [ID, TIME, new RegExp(`\\b${status}\\b`)]) check.match(text, part);
  check.ok(text.length < 200, text);
  return text.match(ID)[0];
}

/** Calls a tool that claims, when there is nothing to claim: a plain sentence, not an error. */
export async function nothingWaits(session, tool, given) {
  check.match(await call(session, tool, given), /^No issue [^{}]+\.$/);
}

/** Calls a tool that must refuse, with a text that says all of this. */
export async function refused(session, tool, given, ...patterns) {
  const text = await call(session, tool, given, true);
  for (const pattern of patterns) check.match(text, pattern);
}
