-- A list is one range of an index for each status and priority, whatever the kinds of work are.

DROP INDEX {s}.issues_order;
CREATE INDEX issues_order ON {s}.issues (status, priority, position, kind);
DROP INDEX {s}.issues_latest;
CREATE INDEX issues_latest ON {s}.issues (status, modified, position, kind);
