// Compares the JSON Schema of ait.toml with the program, by a validator: what `ait config` takes is valid, and what it
// refuses as no setting is not.
//
// By hand, as in sdk.mjs: node settings.mjs /path/to/ait

import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import Ajv from 'ajv';
import { parse } from 'smol-toml';
import { execute } from './programs.mjs';
import { check, run, temporaryDirectory } from './scenario.mjs';

const [binary] = process.argv.slice(2);
const root = fileURLToPath(new URL('../..', import.meta.url));

const VALID = [
  '',
  'name = "shop"\nport = 3005\nallow-host = ["tracker.example"]\n',
  'claim-grace = "2m"\nclaims = "owned"\nweb-actions = true\ntoolsets = "all"\n',
  '[queries]\nmine = "assignee:me"\nold_bugs = "kind:bug idle:>2w"\n',
];
const INVALID = [
  'prot = 3000\n',
  'file = "other.json"\n',
  'port = { number = 1 }\n',
  '[queries]\nMine = "label:ui"\n',
  '[queries]\nmine = 3\n',
];

run('settings', 60_000, async () => {
  const schema = JSON.parse(readFileSync(join(root, 'docs/ait.schema.json')));
  const validate = new Ajv({ strict: true, allowUnionTypes: true }).compile(schema);
  const directory = temporaryDirectory();
  const agree = async (text, isValid) => {
    check.equal(validate(parse(text)), isValid, `${text}: ${JSON.stringify(validate.errors)}`);
    writeFileSync(join(directory, 'ait.toml'), text);
    const { ended, stderr } = await execute(resolve(binary), ['config'], 15_000, { cwd: directory });
    check.equal(ended === 0, isValid, `${text}: ${stderr}`);
  };
  for (const text of VALID) await agree(text, true);
  for (const text of INVALID) await agree(text, false);
});
