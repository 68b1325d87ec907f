-- Who worked on an issue is one of its authors. Who filed it stands among them with a mark, because only a stricter
-- policy for reviews counts it. Parts wait with a whole that is parked or blocked. ait fills both columns.

COMMENT ON COLUMN {s}.issues.authors IS 'Who worked on or completed it; behind U+0002, who filed it.';
COMMENT ON COLUMN {s}.issues.waits IS 'Whether a blocker or a part is open, or a whole of it is parked or blocked.';

-- The parts of every open issue wait with it.
DROP INDEX {s}.issues_due;
CREATE INDEX issues_due ON {s}.issues (parked_until) WHERE parked_until IS NOT NULL AND status < 4;
