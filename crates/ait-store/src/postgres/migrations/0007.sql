-- The last substantive change, where searches look first: those for idle issues pass over many, and read no other table for
-- each. ait fills the column where it is not known yet, and then demands values.

ALTER TABLE {s}.issues ADD COLUMN active bigint;
UPDATE {s}.issues i SET active = t.active FROM {s}.issue_texts t WHERE t.id = i.id;
ALTER TABLE {s}.issue_texts DROP COLUMN active;
