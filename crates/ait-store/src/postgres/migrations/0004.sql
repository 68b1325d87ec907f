-- The orders of searches, so that a search that matches much stops early.
CREATE INDEX issues_recent ON {s}.issues (modified, position);
CREATE INDEX issues_filed ON {s}.issues (position);

-- What few issues have. Claims change none of these columns.
CREATE INDEX issue_texts_labels ON {s}.issue_texts USING gin (labels);
CREATE INDEX issue_texts_returned ON {s}.issue_texts (returns) WHERE returns > 0;
