// Draws docs/session.svg: two agents at work on one queue, as an animation. Runs every command for real and draws what it
// printed, without pictures, fonts or scripts from elsewhere.
//
//     node contrib/demo.mjs /path/to/ait > docs/session.svg

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** Lines of output that a pane shows of one command. */
const SHOWN = 2;
const COLUMNS = 62;
const [WIDTH, LINE, TOP] = [940, 17, 44];
/** Seconds between two commands, and at the end. */
const [STEP, REST] = [1.6, 4];

const LOGIN = 'Login fails on Safari';
const DARK = 'Add a dark mode';

/** Who runs what. `{login}` and `{dark}` are the short ids of the two issues. */
const SESSION = [
  ['you', `ait add '${LOGIN}' -c bug`],
  ['you', `ait add '${DARK}' -c feature`],
  ['dev-1', 'ait next'],
  ['dev-2', 'ait next'],
  ['dev-1', "ait complete {login} -m 'Fixed on issue-{login}.'"],
  ['dev-2', "ait complete {dark} -m 'Done on issue-{dark}.'"],
  ['dev-2', 'ait review'],
  ['dev-1', 'ait review'],
  ['dev-2', "ait close {login} -m 'Reviewed and merged.'"],
  ['dev-1', "ait return {dark} -m 'The icons stay black.'"],
  ['you', 'ait list'],
];

const [binary] = process.argv.slice(2);
const directory = mkdtempSync(join(tmpdir(), 'ait-demo-'));
const ids = { login: '', dark: '' };

/** Runs a command as an agent, and returns the lines that it printed. */
function run(agent, command) {
  const line = command.replace(/^ait /, '"$AIT" ');
  const env = { PATH: process.env.PATH, HOME: directory, COLUMNS: String(COLUMNS), AIT: resolve(binary), TZ: 'UTC' };
  if (agent !== 'you') env.AIT_AGENT = agent;
  const said = execFileSync('sh', ['-c', line], { cwd: directory, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  // The whole id takes the room of what matters.
  return said.trimEnd().replace(/ · [0-9a-f-]{36}$/m, '').split('\n');
}

function record() {
  const steps = [];
  for (const [agent, template] of SESSION) {
    const command = template.replace(/\{(\w+)\}/g, (_, name) => ids[name]);
    const said = run(agent, command);
    const [, id] = said[0].match(/^([0-9a-f]{8}) created/) ?? [];
    if (id) ids[ids.login ? 'dark' : 'login'] = id;
    // A list is whole; of an issue, its title and its state are enough.
    steps.push({ agent, command, said: command === 'ait list' ? said : said.slice(0, SHOWN) });
  }
  return steps;
}

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const cut = (text) => ([...text].length > COLUMNS ? `${[...text].slice(0, COLUMNS - 1).join('')}…` : text);

function draw(steps) {
  const panes = { you: [16, 0, 'you'], 'dev-1': [16, 9, 'agent dev-1'], 'dev-2': [482, 9, 'agent dev-2'] };
  const rows = { you: 0, 'dev-1': 0, 'dev-2': 0 };
  const total = steps.length * STEP + REST;
  const [styles, texts] = [[], []];
  const text = (x, row, kind, words) =>
    `<text x="${x}" y="${TOP + row * LINE}" class="${kind}" xml:space="preserve">${escaped(cut(words))}</text>`;
  steps.forEach(({ agent, command, said }, at) => {
    const [x, first] = panes[agent];
    const lines = [text(x, first + rows[agent], 'c', `$ ${command}`)];
    said.forEach((line, n) => lines.push(text(x, first + rows[agent] + 1 + n, 'o', line)));
    rows[agent] += 1 + said.length;
    const begun = ((at * STEP + 0.4) / total) * 100;
    styles.push(
      `@keyframes s${at}{0%,${begun.toFixed(2)}%{opacity:0}${(begun + 0.4).toFixed(2)}%,100%{opacity:1}}` +
        `#s${at}{animation:s${at} ${total}s infinite}`,
    );
    texts.push(`<g id="s${at}">${lines.join('')}</g>`);
  });
  const end = 9 + Math.max(rows['dev-1'], rows['dev-2']);
  const height = TOP + end * LINE + 8;
  const frames = Object.values(panes).map(([x, first, title]) => {
    const [y, width] = [TOP + first * LINE - 38, first ? 458 : WIDTH - 16];
    const tall = (first ? end - first : 7) * LINE + 28;
    return (
      `<rect x="${x - 8}" y="${y}" width="${width}" height="${tall}" rx="6" class="p"/>` +
      `<text x="${x}" y="${y + 16}" class="t">${title}</text>`
    );
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="monospace" font-size="12" role="img">
<title>Two agents share one queue: each claims another issue, and each reviews the work of the other.</title>
<style>
.p{fill:#15181e;stroke:#3a4150}.t{fill:#8b93a5;font-size:11px}.c{fill:#e6e9f0}.o{fill:#8fc7a3}
${styles.join('\n')}
@media (prefers-reduced-motion:reduce){g{animation:none!important}}
</style>
${frames.join('\n')}
${texts.join('\n')}
</svg>
`;
}

try {
  process.stdout.write(draw(record()));
} finally {
  rmSync(directory, { recursive: true, force: true });
}
