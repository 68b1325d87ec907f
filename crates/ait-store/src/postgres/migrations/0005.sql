-- The planner took this index for claims, too, and so read all issues that are ready. Its condition says one thing more now,
-- which only the statements say that look for what became visible.

DROP INDEX {s}.issues_ready_since;
CREATE INDEX issues_ready_since ON {s}.issues (written_in)
    WHERE status = 0 AND NOT waits AND NOT parked AND assignee IS NULL AND written_in > 0;
