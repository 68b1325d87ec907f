// Checks prompts, resources, completion and change notifications with the official SDKs.

import { check } from './scenario.mjs';

const PROMPTS = [
  'team-lead', 'developer', 'bug-fixer', 'code-reviewer', 'setup_wizard', 'health_check',
];
const QUEUE = 'tracker://queue';
const NOTIFICATION_MS = 20_000;

/** Reads all prompts and resources. Then waits for notifications that `change` affects the queue and the issue. */
export async function beside(session, id, change) {
  const { client } = session;
  const { prompts } = await client.listPrompts();
  check.deepEqual(prompts.map(({ name }) => name), PROMPTS);
  for (const { name } of prompts) {
    const { messages } = await client.getPrompt({ name });
    check.equal(messages[0].content.type, 'text', name);
  }
  const issue = `tracker://issues/${id}`;
  const { messages } = await client.getPrompt({ name: 'developer', arguments: { issue_id: id } });
  check.equal(messages[1].content.resource.uri, issue);
  const { resources } = await client.listResources();
  check.equal(resources.length, 7);
  for (const { uri, mimeType } of [...resources, { uri: issue, mimeType: 'application/json' }]) {
    const { contents } = await client.readResource({ uri });
    check.deepEqual(contents.map((content) => [content.uri, content.mimeType]), [[uri, mimeType]]);
    if (mimeType === 'application/json') JSON.parse(contents[0].text);
  }
  const { resourceTemplates } = await client.listResourceTemplates();
  const [{ uriTemplate: uri }] = resourceTemplates;
  const typed = { ref: { type: 'ref/resource', uri }, argument: { name: 'id', value: id.slice(0, 4) } };
  const { completion } = await client.complete(typed);
  check.ok(completion.values.includes(id), JSON.stringify(completion));
  await notifications(session, [QUEUE, issue], change);
}

/** Makes a change and waits until the client has a notification for each URI. */
async function notifications(session, uris, change) {
  let heard;
  const stop = await session.watch(uris, (uri) => heard?.(uri));
  const missing = new Set(uris);
  let timer;
  const all = new Promise((resolve, reject) => {
    heard = (uri) => {
      missing.delete(uri);
      if (missing.size === 0) resolve();
    };
    const late = () => reject(new Error(`no notification for ${[...missing]}`));
    timer = setTimeout(late, NOTIFICATION_MS);
  });
  await change();
  await all;
  clearTimeout(timer);
  await stop();
}
