// Writes what is inside a binary as CycloneDX 1.5, from `cargo metadata` on stdin: the package, and the crates that it is
// built from on this platform, without those of tests and build scripts.

import { readFileSync } from 'node:fs';

const { packages, resolve } = JSON.parse(readFileSync(0, 'utf8'));
const package_of = new Map(packages.map((each) => [each.id, each]));
const dependencies_of = new Map(
  resolve.nodes.map(({ id, deps }) => {
    const normal = deps.filter((each) => each.dep_kinds.some(({ kind }) => kind === null));
    return [id, normal.map((each) => each.pkg)];
  }),
);

const root = packages.find(({ name }) => name === 'agent-issue-tracker').id;
const reached = new Set([root]);
for (const id of reached) for (const next of dependencies_of.get(id)) reached.add(next);

const url = ({ name, version }) => `pkg:cargo/${name}@${version}`;

function component(each, type) {
  const { name, version, license, description, repository } = each;
  const references = repository ? [{ type: 'vcs', url: repository }] : undefined;
  const licenses = license ? [{ expression: license.replaceAll('/', ' OR ') }] : undefined;
  return {
    type,
    'bom-ref': url(each),
    name,
    version,
    description: description?.trim(),
    licenses,
    purl: url(each),
    externalReferences: references,
  };
}

const parts = [...reached].map((id) => package_of.get(id));
const crates = parts.filter(({ id }) => id !== root).sort((a, b) => (url(a) < url(b) ? -1 : 1));
const bom = {
  $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
  bomFormat: 'CycloneDX',
  specVersion: '1.5',
  version: 1,
  metadata: { component: component(package_of.get(root), 'application') },
  components: crates.map((each) => component(each, 'library')),
  dependencies: parts.map((each) => ({
    ref: url(each),
    dependsOn: [...new Set(dependencies_of.get(each.id).map((id) => url(package_of.get(id))))].sort(),
  })),
};
process.stdout.write(`${JSON.stringify(bom, null, 2)}\n`);
