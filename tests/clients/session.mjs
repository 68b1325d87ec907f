// Calls tools and checks what all answers have in common, for every client and transport.

import { ID, TIME } from './expected.mjs';
import { check } from './scenario.mjs';

/** Calls a tool, checks the shape of the result and returns its single text. */
export async function call(session, tool, given, isError = false) {
  const result = await session.callTool(tool, given);
  const text = result.content[0]?.text;
  const types = result.content.map((block) => block.type);
  const asked = `${tool} ${JSON.stringify(given).slice(0, 200)} answered: ${text}`;
  check.deepEqual([result.isError ?? false, types], [isError, ['text']], asked);
  // Structured content would repeat the text, and every agent would pay for it in tokens.
  check.equal(result.structuredContent, undefined, asked);
  return text;
}

/** Calls a tool that answers with JSON and returns the parsed value. */
export async function read(session, tool, given) {
  const text = await call(session, tool, given);
  const value = JSON.parse(text);
  check.equal(text, JSON.stringify(value), 'compact JSON');
  return value;
}

/** Reads one whole issue. */
export function wholeIssue(session, issue_id) {
  return read(session, 'list_issues', { issue_id });
}

/** Reads every issue of the queue, each as a whole. */
export async function allIssues(session) {
  const { count, issues } = await read(session, 'list_issues', {});
  check.equal(issues.length, count);
  const whole = await Promise.all(issues.map(({ id }) => wholeIssue(session, id)));
  // Whether the client of a claim is gone changes without a change of the issue.
  for (const { claim } of whole) delete claim?.gone;
  return whole;
}

/** Calls a tool that confirms a change in a few words and returns the id of the issue. */
export async function change(session, tool, given, status) {
  const text = await call(session, tool, given);
  for (const part of [ID, TIME, new RegExp(`\\b${status}\\b`)]) check.match(text, part);
  check.ok(text.length < 200, text);
  return text.match(ID)[0];
}

/** Calls a claiming tool on an empty queue. It must answer with a plain sentence, not with an error. */
export async function noIssueWaits(session, tool, given) {
  check.match(await call(session, tool, given), /^No issue [^{}]+\.$/);
}

/** Calls a tool that must return an error, whose text matches every pattern. */
export async function refused(session, tool, given, ...patterns) {
  const text = await call(session, tool, given, true);
  for (const pattern of patterns) check.match(text, pattern);
}
