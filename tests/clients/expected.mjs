// The public interface of the tracker: its tools and the format of an issue.

/** The id that the tracker gives an issue: a UUID, version 4, in lower case. */
export const ID = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/;

/** ISO 8601 in UTC with milliseconds, the only time format in the public format. */
export const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/;

/** Each tool, in the order of `tools/list`, with its required and optional parameters. */
export const TOOLS = {
  add_issue: {
    required: ['title', 'description', 'classification', 'agent'],
    optional: ['priority'],
  },
  list_issues: {
    required: [],
    optional: ['status', 'classification', 'agent', 'since', 'skip', 'take', 'issue_id'],
  },
  get_next_issue: {
    required: ['agent'],
    optional: ['classification', 'issue_id', 'mine', 'wait_seconds'],
  },
  return_issue: { required: ['issue_id', 'comment', 'agent'], optional: ['claim'] },
  complete_issue: { required: ['issue_id', 'comment', 'agent'], optional: ['claim'] },
  get_next_review_item: { required: ['agent'], optional: ['wait_seconds'] },
  close_issue: {
    required: ['issue_id', 'resolution', 'comment', 'agent'],
    optional: ['claim'],
  },
};

/** The names of the tools, in the order of `tools/list`. */
export const TOOL_NAMES = Object.keys(TOOLS);

/** The attributes of a whole issue, in their order. */
export const ISSUE_KEYS = [
  'id',
  'title',
  'description',
  'classification',
  'createdAt',
  'modifiedAt',
  'status',
  'history',
  'comments',
];

/** The attributes of a claimed issue, in their order. */
export const CLAIMED_KEYS = ['claim', ...ISSUE_KEYS];

/** The attributes of an issue in a list, in their order. */
export const ROW_KEYS = ['id', 'title', 'classification', 'status', 'createdAt'];

/** The history's action for a return. It is part of the file format, and retry guards count it. */
export const RETURN = 'Issue returned to created status';
