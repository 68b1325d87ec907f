// A session of a program over /api, with the client that openapi-typescript and openapi-fetch make of the
// description. openapi.mjs compiles it against the generated types and runs it.

import createClient from 'openapi-fetch';
import type { paths } from './openapi.gen.d.ts';

/** Files an issue, comments on it, edits it, answers its question, which `ask` asks, and closes it. */
export async function session(
  baseUrl: string,
  token: string,
  fetch: (request: Request) => Promise<Response>,
  ask: (id: string) => Promise<void>,
) {
  const headers = { Authorization: `Bearer ${token}` };
  const client = createClient<paths>({ baseUrl, headers, fetch });
  const index = await client.GET('/api');
  const body = {
    agent: 'bot',
    title: 'Login fails',
    description: 'With an empty password.',
    classification: 'bug' as const,
    priority: 1,
    labels: ['ui'],
    requestId: 'r1',
  };
  const filed = await client.POST('/api/issues', { body });
  const again = await client.POST('/api/issues', { body });
  const id = filed.data!.id;
  const near = await client.POST('/api/issues', { body: { ...body, title: 'The login failed', requestId: 'r2' } });
  // @ts-expect-error An issue needs a title.
  const refused = await client.POST('/api/issues', { body: { agent: 'bot' } });
  const path = { id };
  const listed = await client.GET('/api/issues', { params: { query: { status: ['open'], q: 'login' } } });
  await client.POST('/api/issues/{id}/comments', { params: { path }, body: { agent: 'bot', text: 'Seen' } });
  const { data: seen } = await client.GET('/api/issues/{id}', { params: { path } });
  const version = filed.response.headers.get('etag')!.slice(1, -1);
  const edit = { agent: 'bot', priority: null, labelsAdd: ['login'], assignee: 'dev' };
  const stale = await client.PATCH('/api/issues/{id}', { params: { path }, body: { ...edit, ifVersion: version } });
  const edited = await client.PATCH('/api/issues/{id}', { params: { path }, body: edit });
  await ask(id);
  const answer = { agent: 'ann', answer: 2 };
  const answered = await client.POST('/api/issues/{id}/answer', { params: { path }, body: answer });
  const end = { agent: 'ann', resolution: 'closed', comment: 'Fixed' } as const;
  const closed = await client.POST('/api/issues/{id}/close', { params: { path }, body: end });
  return {
    endpoints: index.data!.endpoints.length,
    near: near.data!.near!.map((issue) => issue.title),
    isRepeat: again.data!.id === id,
    found: listed.data!.total,
    refused: refused.error?.code,
    stale: stale.error?.code,
    comments: seen!.comments.map((comment) => comment.text),
    priority: edited.data!.priority,
    labels: edited.data!.labels,
    answer: answered.data!.comments.at(-1)!.text,
    status: closed.data!.status,
  };
}
