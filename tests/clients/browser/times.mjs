// Checks that charts, lanes and lists show the time of the reader, and UTC where no script runs.
//
// By hand, as described in acting.mjs:
//
//     node browser/times.mjs /path/to/ait

import { execute } from '../programs.mjs';
import { check, run } from '../scenario.mjs';
import { accessible } from './axe.mjs';
import { Chromium } from './chromium.mjs';
import { idOf, issue, issues, site } from './stores.mjs';
import { DESKTOP, PHONE } from './visit.mjs';

const RUN_MS = 180_000;
const COMMAND_MS = 30_000;
const HOUR_MS = 3_600_000;
/** Zones east and west of Greenwich, one of them with a part of an hour, and their distances from UTC. */
const ZONES = [['Asia/Tokyo', 9], ['Asia/Kathmandu', 5.75], ['America/Phoenix', -7], ['UTC', 0]];
const RANGES = ['24h', '7d', '30d', 'all'];

const [binary] = process.argv.slice(2);
const whole = issue(200, { title: 'The whole' });
const parts = [201, 202, 203, 204].map((number) => issue(number, {
  status: number % 2 ? 'closed' : 'created',
  minutes: (number - 200) * 60,
  links: [{ kind: 'parent', to: whole.id }],
}));

/** Returns the visible ticks of a time axis: their labels, and where they are in time. */
const ticksOf = (axis) => [...axis.children].filter((tick) => !tick.hasAttribute('display')).map((tick) => {
  const [line, label] = tick.children;
  const begin = Number(axis.dataset.begin);
  return [label.textContent, begin + Number(axis.dataset.length) * Number.parseFloat(line.getAttribute('x1')) / 100];
});

/** Returns true if a label says a time of this zone, to the minute. */
function says(label, at, hours) {
  const local = new Date(at + hours * HOUR_MS + 30_000);
  const [day, month, year] = ['day', 'month', 'year'].map((name) =>
    local.toLocaleString('en-GB', { [name]: name === 'month' ? 'short' : 'numeric', timeZone: 'UTC' }));
  const clock = local.toISOString().slice(11, 16);
  if (label.includes(':')) return label === clock;
  return clock === '00:00' && [`${day} ${month}`, `${month} ${year}`, year].includes(label);
}

async function charts(visit, hours) {
  for (const range of RANGES) {
    await visit.open(`/stats?range=${range}`);
    const axes = await visit.page.$$('.chart .axis[data-step]');
    check.ok(axes.length >= 3, `${axes.length} axes`);
    for (const axis of axes) {
      const ticks = await axis.evaluate(ticksOf);
      check.ok(ticks.length >= 2, `${range}: ${ticks.length} ticks`);
      for (const [label, at] of ticks) {
        check.ok(says(label, at, hours), `${range}: ${label} at ${new Date(at).toISOString()} in UTC+${hours}`);
      }
    }
    const hints = await visit.page.$$eval('title[data-at]', (all) => all.map((hint) => [hint.textContent, Number(hint.dataset.at)]));
    for (const [text, at] of hints) check.ok(says(/\d\d:\d\d/.exec(text)[0], at - 30_000, hours), text);
    check.ok(!await visit.page.$eval('#stats-covers .utc', (note) => note.checkVisibility()));
    await visit.fits();
  }
}

async function otherPages(visit, hours) {
  for (const path of ['/activity', '/agents', '/agents/developer?range=24h', `/issues/${whole.id}`]) {
    await visit.open(path);
    const axes = await visit.page.$$('.lane-axis .axis');
    for (const axis of axes) {
      for (const [label, at] of await axis.evaluate(ticksOf)) check.ok(says(label, at, hours), `${path}: ${label}`);
    }
    check.equal(axes.length, path.startsWith('/agents') ? 1 : 0, path);
    const times = await visit.page.$$eval('time[data-as]', (all) => all.map((time) => [time.textContent, time.dateTime, time.dataset.as]));
    check.ok(times.length > 0 || path !== '/activity');
    for (const [text, at, form] of times.filter(([, , form]) => form !== 'day')) {
      check.ok(says(/\d\d:\d\d/.exec(text)[0], Date.parse(at) - 30_000, hours), `${path}: ${text} for ${at} as ${form}`);
    }
    for (const note of await visit.page.$$('.utc')) check.ok(!await note.evaluate((each) => each.checkVisibility()), path);
  }
}

/** The page of a whole shows how its parts came to their ends, and follows them. */
async function burnUp(visit, server) {
  await visit.open(`/issues/${whole.id}`);
  const legend = () => visit.page.$eval('#burn-up .legend', (list) => list.innerText.replaceAll(/\s+/g, ' ').trim());
  check.equal(await legend(), 'Open 2 Rejected 0 Closed 2');
  const [axis] = await visit.page.$$('#burn-up .axis');
  check.ok((await axis.evaluate(ticksOf)).length >= 2);
  await accessible(visit, 'the burn-up');
  await visit.fits();
  await execute(binary, ['add', 'One more part', '--parent', whole.id, '-a', 'lead'], COMMAND_MS, { cwd: server.directory });
  await visit.until('the new part counts', () => document.querySelector('#burn-up .legend').textContent.includes('Open 3'));
  check.ok(!await visit.page.$eval('#burn-up .utc', (note) => note.checkVisibility()), 'an update brings UTC back');
}

await run('times', RUN_MS, async () => {
  check.ok(binary, 'usage: node browser/times.mjs /path/to/ait');
  const old = issues(120).map((one) => ({ ...one, createdAt: new Date(Date.parse(one.createdAt) - 9 * 24 * HOUR_MS).toISOString() }));
  const server = await site(binary, [...old, whole, ...parts]);
  // The activity shows what happened since the store began.
  await execute(binary, ['add', 'An event', '-a', 'lead'], COMMAND_MS, { cwd: server.directory });
  const chromium = await Chromium.start();
  for (const [zone, hours] of ZONES) {
    const visit = await chromium.visit(server.origin, { size: hours ? DESKTOP : PHONE });
    await visit.page.emulateTimezone(zone);
    await charts(visit, hours);
    await otherPages(visit, hours);
    await visit.end();
  }
  const visit = await chromium.visit(server.origin);
  await visit.page.emulateTimezone('Asia/Tokyo');
  await burnUp(visit, server);
  await visit.end();
  const plain = await chromium.visit(server.origin, { scripts: false });
  for (const path of ['/stats', '/activity', '/agents', '/agents/developer', `/issues/${idOf(200)}`]) {
    await plain.open(path);
    check.match(await plain.inPage(() => document.body.innerText), /All times are UTC/, path);
  }
  await plain.end();
});
