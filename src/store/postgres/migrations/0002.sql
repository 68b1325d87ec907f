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

-- Finds texts without reading all of them. Searches work without it, so a role that may not create it goes on.
DO $$
BEGIN
    CREATE EXTENSION IF NOT EXISTS pg_trgm;
    CREATE INDEX issue_search_texts ON {s}.issue_search USING gin (texts gin_trgm_ops);
EXCEPTION WHEN insufficient_privilege OR undefined_file OR undefined_object OR feature_not_supported THEN
    RAISE NOTICE 'searches read all texts, because pg_trgm cannot be used: %', SQLERRM;
END
$$;
