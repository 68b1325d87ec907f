-- What became visible after a moment is found by the transaction that wrote it, so that nobody has to pass over the old
-- versions of rows that a long transaction keeps.

-- The transaction that wrote this version of the row.
ALTER TABLE {s}.issues ADD COLUMN written_in bigint NOT NULL DEFAULT 0;
ALTER TABLE {s}.issues ALTER COLUMN written_in SET DEFAULT pg_current_xact_id()::text::bigint;
CREATE INDEX issues_ready_since ON {s}.issues (written_in)
    WHERE status = 0 AND NOT waits AND NOT parked AND assignee IS NULL;

-- The transaction that added the event.
ALTER TABLE {s}.events ADD COLUMN written_in bigint NOT NULL DEFAULT 0;
ALTER TABLE {s}.events ALTER COLUMN written_in SET DEFAULT pg_current_xact_id()::text::bigint;
DROP INDEX {s}.events_unnumbered;
CREATE INDEX events_unnumbered ON {s}.events (written_in) WHERE number IS NULL AND body IS NOT NULL;
