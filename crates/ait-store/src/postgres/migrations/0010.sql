-- A schema whose queue was moved to another store says so, and refuses everything else.

ALTER TABLE {s}.meta ADD COLUMN IF NOT EXISTS moved_to text;
COMMENT ON COLUMN {s}.meta.moved_to IS 'The store to which ait migrate moved everything.';
