-- The tables of a queue. The version is in user_version.

-- The top-level keys of issues.json that ait does not know, as JSON; the id of this database, and that of the damaged
-- one whose place it took.
CREATE TABLE meta (
    only_one INTEGER PRIMARY KEY CHECK (only_one = 1), keys TEXT NOT NULL, id BLOB NOT NULL, replaces BLOB
) STRICT;
INSERT INTO meta VALUES (1, '{}', randomblob(16), NULL);

-- Every change. The one row without a body stands for the last event of another store of which only the issues were
-- taken over, or, with the number 0, for the issues.json of which there is no database yet.
CREATE TABLE events (
    number INTEGER PRIMARY KEY,
    -- Random. Distinguishes this event from another one with the same number.
    nonce INTEGER NOT NULL,
    issue BLOB,
    body TEXT,
    -- When it was decided.
    at INTEGER NOT NULL,
    -- The XXH3 of the body.
    checksum INTEGER NOT NULL
) STRICT;
CREATE INDEX events_of ON events (issue, number) WHERE issue IS NOT NULL;

-- What claims and lists look at. Times are in milliseconds since 1970.
CREATE TABLE issues (
    key INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    -- The order of filing. Two issues that were filed one after the other are 2^20 apart, which leaves room.
    position INTEGER NOT NULL,
    status INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    created INTEGER NOT NULL,
    modified INTEGER NOT NULL,
    active INTEGER NOT NULL,
    returns INTEGER NOT NULL,
    claims INTEGER NOT NULL,
    assignee TEXT,
    holder TEXT,
    filer TEXT,
    lease_claim INTEGER,
    lease_client TEXT,
    parked INTEGER NOT NULL,
    parked_until INTEGER,
    question INTEGER NOT NULL,
    -- Whether a blocker or a part is open, or a whole of it is parked or blocked.
    waits INTEGER NOT NULL
) STRICT;
CREATE INDEX issues_filed ON issues (position);
CREATE INDEX issues_recent ON issues (modified, position);
CREATE INDEX issues_order ON issues (status, priority, position, kind);
CREATE INDEX issues_latest ON issues (status, modified, position, kind);
CREATE INDEX issues_ready ON issues (priority, position)
    WHERE status = 0 AND waits = 0 AND parked = 0 AND assignee IS NULL;
CREATE INDEX issues_ready_of_kind ON issues (kind, priority, position)
    WHERE status = 0 AND waits = 0 AND parked = 0 AND assignee IS NULL;
CREATE INDEX issues_assigned ON issues (assignee, priority, position)
    WHERE status = 0 AND waits = 0 AND parked = 0 AND assignee IS NOT NULL;
CREATE INDEX issues_reviews ON issues (priority, position) WHERE status = 2 AND parked = 0;
CREATE INDEX issues_due ON issues (parked_until) WHERE parked = 1 AND parked_until IS NOT NULL AND status < 4;
CREATE INDEX issues_held ON issues (holder) WHERE holder IS NOT NULL;
CREATE INDEX issues_leased ON issues (key) WHERE lease_client IS NOT NULL;
CREATE INDEX issues_questions ON issues (position) WHERE question = 1;

-- Each issue whole, as it stands in issues.json, with its XXH3.
CREATE TABLE texts (key INTEGER PRIMARY KEY, body TEXT NOT NULL, checksum INTEGER NOT NULL) STRICT;

-- How many issues there are in each slot: 3 * status + kind, and 6 * kind + status for a kind above 2;
-- 150 + kind for entries. The slot 1000 has the length of all events in bytes.
CREATE TABLE counts (slot INTEGER PRIMARY KEY, issues INTEGER NOT NULL) STRICT;

CREATE TABLE links (
    source BLOB NOT NULL, kind INTEGER NOT NULL, target BLOB NOT NULL,
    PRIMARY KEY (source, kind, target)
) STRICT, WITHOUT ROWID;
CREATE INDEX links_target ON links (target, kind, source);

-- Labels, authors, agents and ids in other trackers.
CREATE TABLE names (
    issue INTEGER NOT NULL, kind INTEGER NOT NULL, name TEXT NOT NULL,
    PRIMARY KEY (issue, kind, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX names_of ON names (kind, name, issue);

-- What searches look at, folded to lower case by ait. The index finds sequences of three characters; it lags behind, and
-- what it lacks is in unindexed. A search examines what both find.
CREATE TABLE search (key INTEGER PRIMARY KEY, title TEXT NOT NULL, texts TEXT NOT NULL) STRICT;
CREATE VIRTUAL TABLE search_index USING fts5(
    texts, content = '', contentless_delete = 1, detail = 'none', tokenize = 'trigram case_sensitive 1'
);
CREATE TABLE unindexed (key INTEGER PRIMARY KEY) STRICT;
