-- What conditions on issues look at. ait fills the columns for the issues that are there, and then demands values.

ALTER TABLE {s}.issue_texts
    -- The time of filing, and of the last substantive change, in milliseconds since 1970.
    ADD COLUMN created bigint,
    ADD COLUMN active bigint,
    -- How often it was returned after a claim, and claimed.
    ADD COLUMN returns bigint,
    ADD COLUMN claims bigint,
    ADD COLUMN labels text[];

-- Finds ids in other trackers, which few issues have.
CREATE INDEX issue_search_external ON {s}.issue_search USING gin (external) WHERE external <> '{}';
