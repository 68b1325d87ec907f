-- Finds texts without reading all of them. Searches work without it, so a role that may not create it goes on, and
-- `ait doctor` says what is missing.
--
-- The extension is one for the whole database. If it were in the schema of a project, as search_path could make it, it
-- would be dropped with that project, roles of other projects could not use it, and a dump of the schema could not be
-- restored. An extension that is already in any other schema stays there.

-- Changes nothing, but only the owner may do it. The rest goes on without rights, and would not be tried again.
ALTER TABLE {s}.issue_search ALTER texts SET NOT NULL;

DO $$
DECLARE
    home text := CASE WHEN has_schema_privilege(to_regnamespace('public')::oid, 'USAGE') THEN 'public'
        ELSE 'pg_catalog' END;
BEGIN
    BEGIN
        IF EXISTS (SELECT FROM pg_extension e JOIN pg_class c ON c.relnamespace = e.extnamespace
            WHERE e.extname = 'pg_trgm' AND c.relname = 'issue_search') THEN
            -- The functions of the extension belong to a superuser, and only that may move them. Its owner may create
            -- it again, if the index of no other project needs it.
            IF current_setting('is_superuser') = 'on' THEN
                EXECUTE 'ALTER EXTENSION pg_trgm SET SCHEMA ' || home;
            ELSE
                DROP INDEX IF EXISTS {s}.issue_search_texts;
                DROP EXTENSION pg_trgm;
            END IF;
        END IF;
        IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_trgm') THEN
            EXECUTE 'CREATE EXTENSION pg_trgm SCHEMA ' || home;
        END IF;
    EXCEPTION WHEN insufficient_privilege OR dependent_objects_still_exist OR undefined_file OR feature_not_supported THEN
        RAISE NOTICE 'pg_trgm is missing, or in the schema of a project: %', SQLERRM;
    END;
    EXECUTE (SELECT format('CREATE INDEX IF NOT EXISTS issue_search_texts ON {s}.issue_search USING gin '
        '(texts %s.gin_trgm_ops) WITH (gin_pending_list_limit = 256)', extnamespace::regnamespace)
        FROM pg_extension WHERE extname = 'pg_trgm');
EXCEPTION WHEN insufficient_privilege OR null_value_not_allowed THEN
    RAISE NOTICE 'searches read all texts, because pg_trgm cannot be used: %', SQLERRM;
END
$$;
