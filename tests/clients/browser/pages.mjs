// The pages that several scripts check, with 120 issues and with an empty store.

import { idOf } from './stores.mjs';

/** The pages of a store with issues, and the status of each. */
export const PAGES = {
  '/': 200,
  '/?status=in_progress&sort=title&dir=asc': 200,
  '/?page=2': 200,
  '/?q=nothing-is-called-so': 200,
  [`/?priority=0,1&label=ui&parent=${idOf(6)}&ready=true`]: 200,
  // One issue in each status, and linked issues.
  ...Object.fromEntries([0, 1, 2, 3, 4, 5, 6, 7].map((number) => [`/issues/${idOf(number)}`, 200])),
  '/board': 200,
  '/board?label=ui&classification=bug': 200,
  '/board?status=open&q=place&rows=whole': 200,
  '/board?status=closed': 200,
  '/board?q=priority:9': 400,
  '/agents': 200,
  '/agents/developer?range=7d': 200,
  '/wall': 200,
  '/?q=place': 200,
  '/activity': 200,
  '/stats': 200,
  '/stats?range=24h': 200,
  '/stats?range=all': 200,
  '/inbox': 200,
  '/memory': 200,
  '/graph/developer': 200,
  [`/graph/${idOf(0)}`]: 200,
  // Only with a sync in ait.toml, and with the setting `projects`.
  '/sync': 404,
  '/projects/board': 404,
  '/nowhere': 404,
  '/agents/nobody': 404,
  // Almost the id of an issue: the page suggests similar ids.
  [`/issues/${idOf(0).slice(0, 7)}`]: 404,
  '/issues/00000000-0000-4000-8000-00000000ffff': 404,
  '/?status=nonsense': 400,
  '/stats?range=nonsense': 400,
};

/** The pages that differ if the store is empty. */
export const EMPTY = {
  '/': 200,
  '/board': 200,
  '/wall': 200,
  '/agents': 200,
  '/activity': 200,
  '/stats': 200,
  '/inbox': 200,
  '/memory': 200,
  '/issues/00000000': 404,
};
