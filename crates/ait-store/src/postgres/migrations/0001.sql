-- The first version of the schema. {s} stands for its name.

CREATE TABLE {s}.meta (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    version integer NOT NULL,
    -- The top-level keys of issues.json that ait does not know, as JSON.
    keys text NOT NULL DEFAULT '{}'
);

CREATE SEQUENCE {s}.event_seq;

-- Every change. seq is drawn while the rows are locked, so it orders the events of one issue. number is given after the
-- commit, in the order of seq among the events that are visible then; readers follow by number.
CREATE TABLE {s}.events (
    seq bigint PRIMARY KEY,
    number bigint,
    -- Random. Distinguishes this event from another one with the same number.
    nonce bigint NOT NULL,
    issue uuid,
    -- Status and classification before and after: 3 * status + classification; null if the issue does not exist.
    slot_before smallint,
    slot_after smallint,
    -- Whether the event appended an issue.
    filed boolean NOT NULL DEFAULT false,
    -- The event as JSON; null if the transaction that drew this seq is known to have failed. The one row with a number
    -- and no body stands for the last event of another store of which only the issues were taken over.
    body text,
    -- How many issues there are in each slot after this event. Only the last event that is numbered at once has it.
    totals integer[]
);
CREATE UNIQUE INDEX events_number ON {s}.events (number) WHERE number IS NOT NULL;
CREATE INDEX events_unnumbered ON {s}.events (seq) WHERE number IS NULL AND body IS NOT NULL;

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
    -- Whether a blocker or a part of the issue is open.
    waits boolean NOT NULL DEFAULT false,
    question boolean NOT NULL,
    -- Who filed or completed it.
    authors text[] NOT NULL
) WITH (
    fillfactor = 75,
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_analyze_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX issues_order ON {s}.issues (status, kind, priority, position);
CREATE INDEX issues_latest ON {s}.issues (status, kind, modified, position);
CREATE INDEX issues_ready ON {s}.issues (priority, position)
    WHERE status = 0 AND NOT waits AND NOT parked AND assignee IS NULL;
CREATE INDEX issues_ready_of_kind ON {s}.issues (kind, priority, position)
    WHERE status = 0 AND NOT waits AND NOT parked AND assignee IS NULL;
CREATE INDEX issues_assigned ON {s}.issues (assignee, priority, position)
    WHERE status = 0 AND NOT waits AND NOT parked AND assignee IS NOT NULL;
CREATE INDEX issues_reviews ON {s}.issues (priority, position) WHERE status = 2 AND NOT parked;
CREATE INDEX issues_due ON {s}.issues (parked_until)
    WHERE parked_until IS NOT NULL AND (status = 0 OR status = 2);
CREATE INDEX issues_held ON {s}.issues (holder) WHERE holder IS NOT NULL;
CREATE INDEX issues_leased ON {s}.issues (id) WHERE lease_client IS NOT NULL;
CREATE INDEX issues_questions ON {s}.issues (position) WHERE question;

-- Each issue whole, as JSON.
CREATE TABLE {s}.issue_texts (
    id uuid PRIMARY KEY,
    body text NOT NULL,
    -- Who occurs in the history, and who filed it.
    agents text[] NOT NULL,
    filer text
) WITH (
    fillfactor = 75,
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0
);

-- What searches look at, folded to lower case by ait.
CREATE TABLE {s}.issue_search (
    id uuid PRIMARY KEY,
    title text COLLATE "C" NOT NULL,
    -- Title, description and comments, separated by U+0001.
    texts text COLLATE "C" NOT NULL,
    external text[] NOT NULL
);

CREATE TABLE {s}.links (
    source uuid NOT NULL,
    kind smallint NOT NULL,
    target uuid NOT NULL,
    PRIMARY KEY (source, kind, target)
);
CREATE INDEX links_target ON {s}.links (target, kind);

-- Who holds claims. Only the clock of the database counts.
CREATE TABLE {s}.clients (
    client text PRIMARY KEY,
    seen timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- How long it lives after seen.
    ttl_ms bigint NOT NULL,
    -- When it was first noticed that it is gone.
    gone_since timestamptz,
    -- Whether it ended. Then it stays gone.
    ended boolean NOT NULL DEFAULT false
) WITH (fillfactor = 50);
