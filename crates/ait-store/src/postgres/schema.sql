-- The tables of a project. {s} stands for its schema. The version is in schema.rs.

CREATE TABLE {s}.meta (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    version integer NOT NULL,
    -- The top-level keys of issues.json that ait does not know, as JSON.
    keys text NOT NULL DEFAULT '{}',
    moved_to text
);
COMMENT ON COLUMN {s}.meta.moved_to IS 'The store to which ait migrate moved everything.';

CREATE SEQUENCE {s}.event_seq;

-- Every change. seq is drawn while the rows are locked, so it orders the events of one issue. number is given after the
-- commit, in the order of seq among the events that are visible then; readers follow by number.
CREATE TABLE {s}.events (
    seq bigint PRIMARY KEY,
    number bigint,
    -- Random. Distinguishes this event from another one with the same number.
    nonce bigint NOT NULL,
    issue uuid,
    -- Status and classification before and after, as the number of a slot; null if the issue does not exist.
    slot_before smallint,
    slot_after smallint,
    -- Whether the event appended an issue.
    filed boolean NOT NULL DEFAULT false,
    -- The event as JSON; null if the transaction that drew this seq is known to have failed. The one row with a number
    -- and no body stands for the last event of another store of which only the issues were taken over.
    body text,
    -- How many issues there are in each slot after this event. Only the last event that is numbered at once has it.
    totals integer[],
    -- The transaction that added the event. What became visible after a moment is found by it, so that no scan has to
    -- pass over the old versions of rows that a long transaction keeps.
    written_in bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint
);
CREATE UNIQUE INDEX events_number ON {s}.events (number) WHERE number IS NOT NULL;
CREATE INDEX events_unnumbered ON {s}.events (written_in) WHERE number IS NULL AND body IS NOT NULL;

-- What claims and lists look at. Small, because every change writes a new version of its row.
CREATE TABLE {s}.issues (
    id uuid PRIMARY KEY,
    -- The order of filing: the seq of the event that filed the issue, times 2^20, which leaves room between two issues.
    position bigint NOT NULL,
    status smallint NOT NULL,
    kind smallint NOT NULL,
    priority smallint NOT NULL,
    -- The time of the last change, in milliseconds since 1970.
    modified bigint NOT NULL,
    assignee text,
    holder text,
    lease_claim bigint,
    lease_client text,
    parked boolean NOT NULL,
    parked_until bigint,
    waits boolean NOT NULL DEFAULT false,
    question boolean NOT NULL,
    authors text[] NOT NULL,
    -- The transaction that wrote this version of the row.
    written_in bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
    -- The last substantive change. Searches for idle issues pass over many, and read no other table for each.
    active bigint NOT NULL
) WITH (
    fillfactor = 75,
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_analyze_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 0
);
COMMENT ON COLUMN {s}.issues.waits IS 'Whether a blocker or a part is open, or a whole of it is parked or blocked.';
-- Who filed it stands among them with a mark, because only a stricter policy for reviews counts it.
COMMENT ON COLUMN {s}.issues.authors IS 'Who worked on or completed it; behind U+0002, who filed it.';

-- A list is one range of an index for each status and priority, whatever the kinds of work are.
CREATE INDEX issues_order ON {s}.issues (status, priority, position, kind);
CREATE INDEX issues_latest ON {s}.issues (status, modified, position, kind);
CREATE INDEX issues_ready ON {s}.issues (priority, position)
    WHERE status = 0 AND NOT waits AND NOT parked AND assignee IS NULL;
CREATE INDEX issues_ready_of_kind ON {s}.issues (kind, priority, position)
    WHERE status = 0 AND NOT waits AND NOT parked AND assignee IS NULL;
-- Only the statements that look for what became visible say the last part of the condition. Without it, the planner takes
-- this index for claims, too, and so reads all issues that are ready.
CREATE INDEX issues_ready_since ON {s}.issues (written_in)
    WHERE status = 0 AND NOT waits AND NOT parked AND assignee IS NULL AND written_in > 0;
CREATE INDEX issues_assigned ON {s}.issues (assignee, priority, position)
    WHERE status = 0 AND NOT waits AND NOT parked AND assignee IS NOT NULL;
CREATE INDEX issues_reviews ON {s}.issues (priority, position) WHERE status = 2 AND NOT parked;
CREATE INDEX issues_due ON {s}.issues (parked_until) WHERE parked_until IS NOT NULL AND status < 4;
CREATE INDEX issues_held ON {s}.issues (holder) WHERE holder IS NOT NULL;
CREATE INDEX issues_leased ON {s}.issues (id) WHERE lease_client IS NOT NULL;
CREATE INDEX issues_questions ON {s}.issues (position) WHERE question;
-- The orders of searches, so that a search that matches much stops early.
CREATE INDEX issues_recent ON {s}.issues (modified, position);
CREATE INDEX issues_filed ON {s}.issues (position);

-- Each issue whole, as JSON, and what conditions look at.
CREATE TABLE {s}.issue_texts (
    id uuid PRIMARY KEY,
    body text NOT NULL,
    -- Who occurs in the history, and who filed it.
    agents text[] NOT NULL,
    filer text,
    -- The time of filing, in milliseconds since 1970.
    created bigint NOT NULL,
    -- How often it was returned after a claim, and claimed.
    returns bigint NOT NULL,
    claims bigint NOT NULL,
    labels text[] NOT NULL
) WITH (
    fillfactor = 75,
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0
);
-- What few issues have. Claims change none of these columns.
--
-- A search reads what waits to be merged into an index of this kind. The default of its limit, 4 MB, takes longer than the
-- search itself, and who merges it waits for that, too.
CREATE INDEX issue_texts_labels ON {s}.issue_texts USING gin (labels) WITH (gin_pending_list_limit = 256);
CREATE INDEX issue_texts_returned ON {s}.issue_texts (returns) WHERE returns > 0;

-- What searches look at, folded to lower case by ait.
CREATE TABLE {s}.issue_search (
    id uuid PRIMARY KEY,
    title text COLLATE "C" NOT NULL,
    -- Title, description and comments, separated by U+0001.
    texts text COLLATE "C" NOT NULL,
    external text[] NOT NULL
);
-- Finds ids in other trackers, which few issues have.
CREATE INDEX issue_search_external ON {s}.issue_search USING gin (external) WITH (gin_pending_list_limit = 256)
    WHERE external <> '{}';

-- Where two words meet: the last two characters of one, a space, and the first two of the next. Two words that many texts
-- have meet in few, so this finds texts of several words. Nothing is gathered of it for the planner: that takes long, and
-- ait decides when to use it.
CREATE FUNCTION {s}.seams(texts text) RETURNS text[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT array(SELECT right(before, 2) || ' ' || left(after, 2) FROM unnest(words, words[2:]) AS w(before, after)
    WHERE after IS NOT NULL) FROM (SELECT string_to_array(texts, ' ') AS words) AS s
$$;
CREATE INDEX issue_search_seams ON {s}.issue_search USING gin ({s}.seams(texts)) WITH (gin_pending_list_limit = 256);
ALTER INDEX {s}.issue_search_seams ALTER COLUMN 1 SET STATISTICS 0;

-- Finds texts without reading all of them. Searches work without it, so a role that may not create it goes on, and
-- `ait doctor` says what is missing.
--
-- The extension is one for the whole database. If it were in the schema of a project, as search_path could make it, it
-- would be dropped with that project, roles of other projects could not use it, and a dump of the schema could not be
-- restored. An extension that is there already stays where it is.
DO $$
DECLARE
    home text := CASE WHEN has_schema_privilege(to_regnamespace('public')::oid, 'USAGE') THEN 'public'
        ELSE 'pg_catalog' END;
BEGIN
    BEGIN
        IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_trgm') THEN
            EXECUTE 'CREATE EXTENSION pg_trgm SCHEMA ' || home;
        END IF;
    EXCEPTION WHEN insufficient_privilege OR undefined_file OR feature_not_supported THEN
        RAISE NOTICE 'pg_trgm is missing: %', SQLERRM;
    END;
    EXECUTE (SELECT format('CREATE INDEX issue_search_texts ON {s}.issue_search USING gin '
        '(texts %s.gin_trgm_ops) WITH (gin_pending_list_limit = 256)', extnamespace::regnamespace)
        FROM pg_extension WHERE extname = 'pg_trgm');
EXCEPTION WHEN insufficient_privilege OR null_value_not_allowed THEN
    RAISE NOTICE 'searches read all texts, because pg_trgm cannot be used: %', SQLERRM;
END
$$;

CREATE TABLE {s}.links (
    source uuid NOT NULL,
    kind smallint NOT NULL,
    target uuid NOT NULL,
    PRIMARY KEY (source, kind, target)
);
CREATE INDEX links_target ON {s}.links (target, kind);

-- Who holds claims. Only the clock of the database counts. Processes say every few seconds that they live, which is worth
-- no log: after a crash of the server they say it again.
CREATE UNLOGGED TABLE {s}.clients (
    client text PRIMARY KEY,
    seen timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- How long it lives after seen.
    ttl_ms bigint NOT NULL,
    -- When it was first noticed that it is gone.
    gone_since timestamptz,
    -- Whether it ended. Then it stays gone.
    ended boolean NOT NULL DEFAULT false
) WITH (fillfactor = 50);
