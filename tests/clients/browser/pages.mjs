// The pages that are looked at in every way, over `issues(120)` and over nothing.

/** The pages of a store with issues, and the status of each. */
export const PAGES = {
  '/': 200,
  '/?status=in_progress&sort=title&dir=asc': 200,
  '/?page=2': 200,
  '/?q=nothing-is-called-so': 200,
  '/board': 200,
  '/agents': 200,
  '/nowhere': 404,
  '/?status=nonsense': 400,
};

/** The pages that are others where there are no issues. */
export const EMPTY = {
  '/': 200,
  '/board': 200,
  '/agents': 200,
};
