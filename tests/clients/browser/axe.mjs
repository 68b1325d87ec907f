// Runs axe-core, which checks the testable rules of WCAG 2.2 AA and further good practice.

import axe from 'axe-core';
import { check } from '../scenario.mjs';

const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
/** The minimum distance of small targets. It exceeds the rule's 24 px a little, because font sizes vary. */
const OFFSET_PX = 26;
/** How many violations of one rule a report lists. */
const PLACES = 5;

/** Formats the violations of one rule for people. */
function report({ id, impact, help, nodes }) {
  const places = nodes.slice(0, PLACES).map(({ target, html, any, all, none }) => {
    const why = [...any, ...all, ...none].map((each) => each.message).join(' ');
    return `    ${target.join(' ')}\n      ${html.slice(0, 200)}\n      ${why}`;
  });
  const more = nodes.length > PLACES ? [`    and ${nodes.length - PLACES} more`] : [];
  return [`  ${id} (${impact}): ${help}`, ...places, ...more].join('\n');
}

/** Checks the current page against every rule and returns the violations. */
export async function violations(visit) {
  // The page's policy blocks foreign scripts, so the browser evaluates axe from outside.
  await visit.page.evaluate(axe.source);
  const found = await visit.page.evaluate(async (tags, minOffset) => {
    window.axe.configure({ checks: [{ id: 'target-offset', options: { minOffset } }] });
    const runOnly = { type: 'tag', values: tags };
    // axe runs this rule only on request.
    const rules = { 'target-size': { enabled: true } };
    const results = await window.axe.run(document, { runOnly, rules, resultTypes: ['violations'] });
    return { broken: results.violations, kept: results.passes.length };
  }, TAGS, OFFSET_PX);
  check.ok(found.kept > 10, `only ${found.kept} rules found elements to check`);
  return found.broken;
}

/** Checks that the current page breaks no rule. */
export async function accessible(visit, where) {
  const broken = await violations(visit);
  check.ok(broken.length === 0, `${where} breaks:\n${broken.map(report).join('\n')}`);
}
