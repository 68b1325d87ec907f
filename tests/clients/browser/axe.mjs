// axe-core: the rules of WCAG 2.2 AA, and good practice beyond them, that a program can check.

import axe from 'axe-core';
import { check } from '../scenario.mjs';

const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
/** The distance of small targets: a little more than the 24 px of the rule, because other fonts have other sizes. */
const OFFSET_PX = 26;
/** How many of the places that break a rule are told. */
const PLACES = 5;

/** What a page breaks, rule by rule, to be read by people. */
function told({ id, impact, help, nodes }) {
  const places = nodes.slice(0, PLACES).map(({ target, html, any, all, none }) => {
    const why = [...any, ...all, ...none].map((each) => each.message).join(' ');
    return `    ${target.join(' ')}\n      ${html.slice(0, 200)}\n      ${why}`;
  });
  const more = nodes.length > PLACES ? [`    and ${nodes.length - PLACES} more`] : [];
  return [`  ${id} (${impact}): ${help}`, ...places, ...more].join('\n');
}

/** Runs every rule over the page that is shown, and gives what breaks one. */
export async function violations(visit) {
  // From outside: the page's own policy lets no script in.
  await visit.page.evaluate(axe.source);
  const found = await visit.page.evaluate(async (tags, minOffset) => {
    window.axe.configure({ checks: [{ id: 'target-offset', options: { minOffset } }] });
    const runOnly = { type: 'tag', values: tags };
    // axe leaves this one out unless it is asked for by name.
    const rules = { 'target-size': { enabled: true } };
    const results = await window.axe.run(document, { runOnly, rules, resultTypes: ['violations'] });
    return { broken: results.violations, kept: results.passes.length };
  }, TAGS, OFFSET_PX);
  check.ok(found.kept > 10, `only ${found.kept} rules had something to look at`);
  return found.broken;
}

/** Sees that the page that is shown breaks no rule. */
export async function accessible(visit, where) {
  const broken = await violations(visit);
  check.ok(broken.length === 0, `${where} breaks:\n${broken.map(told).join('\n')}`);
}
