//! The statements. `{s}` stands for the quoted name of the schema and `{schema}` for the name as a text. Besides these,
//! only the numbers of statuses, classifications and links are put into their text.

use crate::sql::condition::{held_back, waits_itself};
use crate::sql::numbers::with_numbers;

/// Defines the statements with the name of the schema filled in.
macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident = $text:expr;)*) => {
        /// The statements for one schema.
        pub(super) struct Statements {
            $($(#[$doc])* pub $name: String,)*
        }

        impl Statements {
            /// Fills the name of a schema into the statements.
            pub fn new(schema: &str) -> Self {
                let seed = advisory_key("issue", schema).to_string();
                let channel = channel(schema);
                let fill = |text: &str| {
                    with_numbers(text)
                        .replace("{s}", &quoted(schema))
                        .replace("{schema}", schema)
                        .replace("{seed}", &seed)
                        .replace("{channel}", &channel)
                };
                Self { $($name: fill($text),)* }
            }
        }
    };
}

/// Begins a transaction that changes something. The settings end with it, so poolers may give its connection to others.
/// The plans of prepared statements are kept, because making one takes longer than a claim. They have to use indexes,
/// however small the tables were when the plans were made.
pub(super) const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; \
    SET LOCAL lock_timeout = '8s'; SET LOCAL statement_timeout = '20s'; \
    SET LOCAL idle_in_transaction_session_timeout = '30s'; \
    SET LOCAL plan_cache_mode = 'force_generic_plan'; SET LOCAL jit = 'off'; SET LOCAL enable_seqscan = 'off'";

/// Begins a transaction whose reads are of one moment.
pub(super) const BEGIN_READ: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; \
    SET LOCAL idle_in_transaction_session_timeout = '60s'";

/// The columns of an issue that is read whole.
macro_rules! columns {
    () => {
        "i.id, i.position, i.lease_claim, i.lease_client, t.body"
    };
}

/// The issues, each with its text.
macro_rules! from_issues {
    () => {
        "FROM {s}.issues i JOIN {s}.issue_texts t ON t.id = i.id"
    };
}

/// How many issues the events in `next` moved into and out of each slot.
macro_rules! moves {
    () => {
        "moves AS (SELECT slot, sum(moved) AS moved FROM (SELECT slot_after AS slot, 1 AS moved FROM next \
         UNION ALL SELECT slot_before, -1 FROM next) m GROUP BY slot)"
    };
}

/// The ids in the ranges `$1` to `$2`, at most 100 in each. The limit makes every range a look-up in the index.
macro_rules! named {
    () => {
        "(SELECT r.id FROM unnest($1::uuid[], $2::uuid[]) AS n(low, high) CROSS JOIN LATERAL ( \
         SELECT x.id FROM {s}.issues x WHERE x.id BETWEEN n.low AND n.high ORDER BY x.id LIMIT 100) r)"
    };
}

/// The ids that are found, and those whose first 8 digits are the same, up to a hundred for each.
macro_rules! alike {
    ($found:literal) => {
        concat!(
            "SELECT x.id FROM (",
            $found,
            ") AS n(id) CROSS JOIN LATERAL (SELECT i.id FROM {s}.issues i WHERE i.id BETWEEN \
             (left(n.id::text, 8) || '-0000-0000-0000-000000000000')::uuid AND \
             (left(n.id::text, 8) || '-ffff-ffff-ffff-ffffffffffff')::uuid ORDER BY i.id LIMIT 100) x"
        )
    };
}

/// Locks the issues that meet a condition for claims, one after the other, and reads them. Issues that another claim is
/// taking are passed over; whatever else holds one is waited for. `is_changed` says that an issue changed after the
/// statement began, so that its place may be another one.
///
/// A claim takes the advisory lock of an issue before that of its row, and keeps both. So no claim waits for another.
/// Transactions that edit and claim may wait for each other: the server ends one of them, which is tried again.
///
/// The limit of the search is too high to matter. It is there for the planner, which then expects to need few rows and
/// reads an index in its order. `status + 0` keeps the planner from an index on the status. A statement that had to
/// wait does not lock all issues that were claimed meanwhile: it returns the first of them as changed, and ends.
macro_rules! take {
    ($condition:expr, $order:literal, $limit:literal, $status:literal) => {
        concat!(
            "SELECT i.* FROM (SELECT i.id, i.written_in FROM {s}.issues i WHERE ",
            $condition,
            " ORDER BY ",
            $order,
            " LIMIT ",
            $limit,
            " + 1000000000::bigint) c CROSS JOIN LATERAL (SELECT ",
            columns!(),
            ", i.priority, i.written_in <> c.written_in AS is_changed ",
            from_issues!(),
            " WHERE i.id = c.id AND (i.status + 0 = ",
            $status,
            " OR clock_timestamp() > statement_timestamp() + interval '100 ms') FOR UPDATE OF i, t) i \
             WHERE pg_try_advisory_xact_lock(uuid_hash_extended(c.id, {seed})) LIMIT ",
            $limit
        )
    };
}

/// Draws a sequence number. Makes the commit wait for the disk, if the settings of the server do not.
macro_rules! draw {
    () => {
        "nextval('{s}.event_seq'), CASE WHEN current_setting('synchronous_commit') = 'off' \
         THEN set_config('synchronous_commit', 'on', true) END"
    };
}

/// Returns what was taken, in the order of the queue, each with a sequence number that is drawn after all locks were
/// taken. Takes nothing if the parking of an issue has ended, and says that in one row.
macro_rules! taken {
    ($now:literal, $limit:literal, $($taken:expr),+) => {
        concat!(
            "SELECT c.id, c.position, c.lease_claim, c.lease_client, c.body, c.is_changed, d.is_due, ",
            draw!(), " FROM (SELECT EXISTS (SELECT FROM {s}.issues WHERE ", due!($now), ") AS is_due OFFSET 0) d \
             LEFT JOIN LATERAL (SELECT * FROM (", $($taken,)+ ") a \
             LIMIT CASE WHEN d.is_due THEN 0 WHEN ", $limit, " END) c ON true ORDER BY c.priority, c.position"
        )
    };
}

/// The condition for an issue that was parked until a time or an earlier one.
macro_rules! due {
    ($now:literal) => {
        concat!(
            "parked_until IS NOT NULL AND status < {ended} AND parked AND parked_until <= ",
            $now
        )
    };
}

/// The condition for ready issues without an assignee.
macro_rules! ready {
    () => {
        "i.status = {created} AND NOT i.waits AND NOT i.parked AND i.assignee IS NULL"
    };
    // Those that were not ready before a moment but come before the first one of that moment ($1, $2). The sums keep
    // the server from reading the index of the order, which has the old entries. That `written_in` is above 0, which it
    // always is, allows the other index here alone.
    (again) => {
        concat!(
            ready!(), " AND i.written_in > 0 AND i.written_in >= $3 AND (i.priority + 0, i.position + 0) < ($1::smallint, $2::bigint)"
        )
    };
    // All others.
    (first) => {
        concat!(ready!(), " AND (i.priority, i.position) >= ($1::smallint, $2::bigint)")
    };
}

/// The condition for an issue whose parking ended before a time, by the clock of the process that claims.
macro_rules! unparked {
    ($now:literal) => {
        concat!(" AND (i.parked_until IS NULL OR i.parked_until <= ", $now, ")")
    };
}

/// Claims of agents for work. The search for unassigned issues starts at the priority `$1` and the position `$2`, and
/// looks before these only at rows that the transaction `$3` or a later one wrote. `$4` are the agents, `$5` how many
/// claims each makes, `$6` how many all make, `$7` whether an issue assigned to one of them uses up a claim, `$8` the
/// time. `$condition` selects a kind.
macro_rules! claim_work {
    ($condition:literal) => {
        taken!(
            "$8",
            "$7 THEN $6",
            "SELECT m.* FROM unnest($4::text[], $5::bigint[]) AS a(agent, n) CROSS JOIN LATERAL (",
            take!(
                concat!(
                    "i.status = {created} AND NOT i.waits AND NOT i.parked AND i.assignee IS NOT NULL \
                     AND i.assignee = a.agent",
                    unparked!("$8"),
                    $condition
                ),
                "i.priority, i.position",
                "a.n",
                "{created}"
            ),
            ") m UNION ALL SELECT * FROM (SELECT * FROM (",
            take!(
                concat!(ready!(again), unparked!("$8"), $condition),
                "i.priority + 0, i.position",
                "$6",
                "{created}"
            ),
            ") again UNION ALL SELECT * FROM (",
            take!(
                concat!(ready!(first), unparked!("$8"), $condition),
                "i.priority, i.position",
                "$6",
                "{created}"
            ),
            ") first LIMIT $6) shared"
        )
    };
}

/// The issues `$1`, those that the issues `$2` block, and the parts of all of these.
macro_rules! waiting {
    () => {
        "WITH RECURSIVE down(id) AS ((SELECT unnest($1::uuid[]) UNION SELECT source FROM {s}.links \
         WHERE target = ANY($2) AND kind = {blocked_by}) UNION SELECT l.source FROM down JOIN {s}.links l \
         ON l.target = down.id AND l.kind = {parent}) "
    };
}

statements! {
    /// Locks the issues in the ranges `$1` to `$2` for a change and reads them.
    lock_named = concat!(
        "SELECT ", columns!(), " ", from_issues!(), " WHERE i.id IN ", named!(),
        " ORDER BY i.id FOR NO KEY UPDATE OF i, t"
    );
    /// Reads the issues in ranges, and those that they are linked with or wait with: their wholes, the blockers of all
    /// these, and the wholes of the blockers. Also reads the issues whose first digits are those of one of these.
    around = concat!(
        "WITH RECURSIVE named AS MATERIALIZED ", named!(), ", up(id) AS (SELECT id FROM named UNION \
         SELECT l.target FROM up JOIN {s}.links l ON l.source = up.id AND l.kind = {parent}), near(id) AS ( \
         SELECT l.target FROM {s}.links l JOIN up ON l.source = up.id WHERE l.kind IN ({blocked_by}, {duplicate_of}) UNION \
         SELECT l.target FROM near JOIN {s}.links l ON l.source = near.id AND l.kind = {parent}) \
         SELECT ", columns!(), " ", from_issues!(), " \
         WHERE i.id IN (", alike!("SELECT id FROM up UNION SELECT id FROM near UNION \
         SELECT l.target FROM {s}.links l JOIN named ON l.source = named.id UNION \
         SELECT l.source FROM {s}.links l JOIN named ON l.target = named.id"), ")"
    );
    /// Reads the issues in ranges and `$3`, and everything that they wait for or are parts of, directly or not. Also
    /// reads the issues whose first digits are those of one of these.
    closure = concat!(
        "WITH RECURSIVE seeds AS MATERIALIZED (SELECT unnest($3::uuid[]) AS id UNION SELECT id FROM ", named!(), " s), \
         walk(id) AS (SELECT id FROM seeds UNION SELECT n.id FROM walk w CROSS JOIN LATERAL ( \
         SELECT l.target FROM {s}.links l WHERE l.source = w.id AND l.kind IN ({parent}, {blocked_by}) UNION ALL \
         SELECT l.source FROM {s}.links l WHERE l.target = w.id AND l.kind = {parent}) AS n(id)) \
         SELECT ", columns!(), " ", from_issues!(), " WHERE i.id IN (", alike!("SELECT id FROM walk UNION \
         SELECT l.source FROM {s}.links l JOIN seeds ON l.target = seeds.id WHERE l.kind = {blocked_by}"), ")"
    );
    /// Reads what the agents `$1` hold.
    held = concat!("SELECT ", columns!(), " ", from_issues!(), " WHERE i.holder IS NOT NULL AND i.holder = ANY($1)");
    /// Claims issues of any kind for work.
    claim_any = claim_work!("");
    /// Claims issues of the kind `$9` for work.
    claim_kind = claim_work!(" AND i.kind = $9");
    /// Claims issues for review. `$1` and `$2` are for each agent two names that no author may have; `$3` is how many
    /// claims there are, `$4` the time.
    claim_reviews = taken!(
        "$4", "true THEN NULL",
        "SELECT r.* FROM unnest($1::text[], $2::text[]) AS a(agent, filer) CROSS JOIN LATERAL (",
        take!(
            concat!(
                "i.status = {completed} AND NOT i.parked AND NOT i.authors && ARRAY[a.agent, a.filer]", unparked!("$4")
            ),
            "i.priority, i.position", "$3", "{completed}"
        ),
        ") r"
    );
    /// Shows issues that were parked until `$1` or earlier as not parked, so that claims find them with all others, and
    /// returns them. Their texts stay.
    unpark = concat!(
        "UPDATE {s}.issues SET parked = false, written_in = pg_current_xact_id()::text::bigint WHERE id IN ( \
         SELECT id FROM {s}.issues WHERE ", due!("$1"), " ORDER BY id FOR UPDATE) RETURNING id"
    );
    /// Draws `$1` sequence numbers.
    reserve = concat!("SELECT ", draw!(), " FROM generate_series(1, $1::bigint)");
    /// Takes the lock `$1` until the transaction ends, unless another transaction has it.
    try_advisory = "SELECT pg_try_advisory_xact_lock($1::bigint)";
    /// Takes the locks `$1` until the transaction ends, ascending.
    advisory = "SELECT pg_advisory_xact_lock(k) FROM (SELECT unnest($1::bigint[]) AS k ORDER BY 1) keys";
    /// Reads the unknown top-level keys.
    keys = "SELECT keys FROM {s}.meta";
    /// Reads the unknown top-level keys to change them.
    lock_keys = "SELECT keys FROM {s}.meta FOR UPDATE";
    /// Sets the unknown top-level keys.
    set_keys = "UPDATE {s}.meta SET keys = $1";

    /// Adds issues.
    add_issues = "INSERT INTO {s}.issues (id, position, status, kind, priority, modified, active, assignee, holder, \
        lease_claim, lease_client, parked, parked_until, question, authors) \
        SELECT id, position, status, kind, priority, modified, active, assignee, holder, lease_claim, lease_client, parked, \
        parked_until, question, string_to_array(authors, E'\\x01') \
        FROM unnest($1::uuid[], $2::bigint[], $3::smallint[], $4::smallint[], $5::smallint[], $6::bigint[], $7::bigint[], \
        $8::text[], $9::text[], $10::bigint[], $11::text[], $12::boolean[], $13::bigint[], $14::boolean[], $15::text[]) \
        AS n(id, position, status, kind, priority, modified, active, assignee, holder, lease_claim, lease_client, parked, \
        parked_until, question, authors)";
    /// Adds events, changes issues except for their positions, and sets the texts of these and of new ones.
    change = "WITH events AS (INSERT INTO {s}.events (seq, nonce, issue, slot_before, slot_after, filed, body) \
        SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::smallint[], $5::smallint[], \
        $6::boolean[], $7::text[])), \
        issues AS (UPDATE {s}.issues i SET written_in = pg_current_xact_id()::text::bigint, status = n.status, kind = n.kind, priority = n.priority, \
        modified = n.modified, active = n.active, assignee = n.assignee, holder = n.holder, lease_claim = n.lease_claim, \
        lease_client = n.lease_client, parked = n.parked, parked_until = n.parked_until, question = n.question, \
        authors = string_to_array(n.authors, E'\\x01') \
        FROM unnest($8::uuid[], $9::bigint[], $10::smallint[], $11::smallint[], $12::smallint[], $13::bigint[], $14::bigint[], \
        $15::text[], $16::text[], $17::bigint[], $18::text[], $19::boolean[], $20::bigint[], $21::boolean[], $22::text[]) \
        AS n(id, position, status, kind, priority, modified, active, assignee, holder, lease_claim, lease_client, parked, \
        parked_until, question, authors) WHERE i.id = n.id) \
        INSERT INTO {s}.issue_texts (id, body, agents, filer, created, returns, claims, labels) \
        SELECT id, body, string_to_array(agents, E'\\x01'), filer, created, returns, claims, \
        string_to_array(labels, E'\\x01') FROM unnest($23::uuid[], $24::text[], $25::text[], $26::text[], $27::bigint[], \
        $28::bigint[], $29::bigint[], $30::text[]) \
        AS n(id, body, agents, filer, created, returns, claims, labels) \
        ON CONFLICT (id) DO UPDATE SET body = excluded.body, agents = excluded.agents, filer = excluded.filer, \
        created = excluded.created, returns = excluded.returns, claims = excluded.claims, labels = excluded.labels";
    /// Sets what searches look at.
    set_search = "INSERT INTO {s}.issue_search (id, title, texts, external) \
        SELECT id, title, texts, string_to_array(external, E'\\x01') \
        FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[]) AS n(id, title, texts, external) \
        ON CONFLICT (id) DO UPDATE SET title = excluded.title, texts = excluded.texts, external = excluded.external";
    /// Removes the links of the issues `$1`.
    remove_links = "DELETE FROM {s}.links WHERE source = ANY($1)";
    /// Adds links.
    add_links = "INSERT INTO {s}.links (source, kind, target) \
        SELECT * FROM unnest($1::uuid[], $2::smallint[], $3::uuid[]) ON CONFLICT DO NOTHING";
    /// Removes issues.
    remove_issues = "WITH texts AS (DELETE FROM {s}.issue_texts WHERE id = ANY($1)), \
        search AS (DELETE FROM {s}.issue_search WHERE id = ANY($1)) DELETE FROM {s}.issues WHERE id = ANY($1)";
    /// Locks the issues `$1`, those that the issues `$2` block, and their parts, before it is decided whether they
    /// wait.
    lock_waiting = concat!(
        waiting!(), "SELECT 1 FROM {s}.issues WHERE id IN (SELECT id FROM down) ORDER BY id FOR NO KEY UPDATE"
    );
    /// Decides again whether the same issues wait.
    set_waiting = concat!(
        waiting!(), "UPDATE {s}.issues i SET written_in = pg_current_xact_id()::text::bigint, waits = w.waits \
         FROM (SELECT d.id, ", waits_itself!("d.id"), " OR ", held_back!("d.id", "a.parked"), " AS waits \
         FROM {s}.issues d WHERE d.id IN (SELECT id FROM down)) w WHERE i.id = w.id AND i.waits <> w.waits"
    );
    /// Returns the last position before `$1`.
    position_before = "SELECT max(position) FROM {s}.issues WHERE position < $1";
    /// Spreads the positions of all issues evenly.
    spread_positions = "UPDATE {s}.issues i SET written_in = pg_current_xact_id()::text::bigint, \
        position = n.rank << 20 FROM (SELECT id, \
        row_number() OVER (ORDER BY position, id) AS rank FROM {s}.issues) n WHERE i.id = n.id AND i.position <> n.rank << 20";
    /// Takes the sequence number of a transaction whose outcome is unknown, unless it has taken it itself. Waits for
    /// the end of that transaction.
    burn = "INSERT INTO {s}.events (seq, nonce) VALUES ($1, 0) ON CONFLICT (seq) DO NOTHING";
    /// Returns the nonce of an event.
    nonce = "SELECT nonce FROM {s}.events WHERE seq = $1";

    /// Numbers the first `$2` events that are visible, have no number, and were not written before the transaction
    /// `$1`, and tells of the newest one. Returns how many. The caller repeats it until there are fewer.
    /// An issue that was filed late is moved behind those with higher numbers. `slot` and `totals` are those of the
    /// tables.
    number = concat!("WITH newest AS MATERIALIZED (SELECT number, totals FROM {s}.events WHERE number IS NOT NULL \
        ORDER BY number DESC LIMIT 1), \
        next AS MATERIALIZED (SELECT seq, nonce, issue, slot_before, slot_after, filed, \
        coalesce((SELECT number FROM newest), 0) + row_number() OVER (ORDER BY seq) AS number FROM ( \
        SELECT * FROM {s}.events WHERE number IS NULL AND body IS NOT NULL AND written_in >= $1 \
        ORDER BY seq LIMIT $2::bigint) e), ", moves!(), ", \
        sums AS (SELECT array_agg((coalesce((SELECT totals[slot + 1] FROM newest), 0) + coalesce(moved, 0))::integer \
        ORDER BY slot) AS totals FROM generate_series(0, {last_slot}) AS slot LEFT JOIN moves USING (slot)), \
        late AS (SELECT n.issue, f.seq, n.number - f.number AS place FROM next n CROSS JOIN LATERAL (SELECT seq, number \
        FROM {s}.events f WHERE f.seq > n.seq AND f.number IS NOT NULL AND f.filed ORDER BY f.number DESC LIMIT 1) f \
        WHERE n.filed), \
        moved AS (UPDATE {s}.issues i SET written_in = pg_current_xact_id()::text::bigint, \
        position = (late.seq << 20) + least(late.place, 1048575) FROM late \
        WHERE i.id = late.issue), \
        numbered AS (UPDATE {s}.events e SET number = n.number, totals = CASE WHEN n.number = \
        (SELECT max(number) FROM next) THEN (SELECT totals FROM sums) END FROM next n WHERE e.seq = n.seq) \
        SELECT count(*), CASE WHEN count(*) > 0 THEN pg_notify('{channel}', max(number) || ' ' \
        || (array_agg(nonce ORDER BY number DESC))[1]) END FROM next");
    /// Returns the priority and the position of the first ready issue without an assignee, and the oldest running
    /// transaction. `$1` to `$3` are what the last call returned; the search starts there.
    first_ready = concat!(
        "SELECT f.priority, f.position, pg_snapshot_xmin(pg_current_snapshot())::text::bigint FROM (SELECT) one \
         LEFT JOIN (SELECT * FROM ((SELECT i.priority, i.position FROM {s}.issues i WHERE ", ready!(again), " \
         ORDER BY i.priority + 0, i.position LIMIT 1) UNION ALL (SELECT i.priority, i.position FROM {s}.issues i \
         WHERE ", ready!(first), " ORDER BY i.priority, i.position LIMIT 1)) b ORDER BY priority, position LIMIT 1) f ON true"
    );
    /// Returns the oldest transaction that has not ended.
    oldest_transaction = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint";
    /// Returns the newest numbered event, and true if the event `$1` has no number.
    newest_and_ours = "SELECT number, nonce, EXISTS (SELECT FROM {s}.events WHERE seq = $1 AND number IS NULL \
        AND body IS NOT NULL) FROM {s}.events WHERE number IS NOT NULL ORDER BY number DESC LIMIT 1";
    /// Returns the newest numbered event, true if there is an event without a number that was not written before the
    /// transaction `$1`, and the oldest transaction that has not ended.
    newest_and_unnumbered = "SELECT n.number, n.nonce, EXISTS (SELECT FROM {s}.events WHERE number IS NULL \
        AND body IS NOT NULL AND written_in >= $1), pg_snapshot_xmin(pg_current_snapshot())::text::bigint \
        FROM (SELECT) one LEFT JOIN (SELECT number, nonce FROM {s}.events WHERE number IS NOT NULL \
        ORDER BY number DESC LIMIT 1) n ON true";
    /// Returns the newest numbered event.
    newest = "SELECT number, nonce FROM {s}.events WHERE number IS NOT NULL ORDER BY number DESC LIMIT 1";
    /// Returns the newest numbered event itself.
    newest_body = "SELECT body FROM {s}.events WHERE number IS NOT NULL AND body IS NOT NULL \
        ORDER BY number DESC LIMIT 1";
    /// Returns the events after `$1`, at most `$2`.
    events = "SELECT number, nonce, body FROM {s}.events WHERE number > $1 AND body IS NOT NULL \
        ORDER BY number LIMIT $2";
    /// Returns the number of the oldest event.
    oldest = "SELECT number FROM {s}.events WHERE number IS NOT NULL AND body IS NOT NULL ORDER BY number LIMIT 1";
    /// Returns the events without a number, the latest first.
    unnumbered = "SELECT body FROM {s}.events WHERE number IS NULL AND body IS NOT NULL AND written_in >= $1 \
        ORDER BY seq DESC";
    /// Counts the issues in each slot.
    counts = concat!("WITH newest AS MATERIALIZED (SELECT totals FROM {s}.events WHERE number IS NOT NULL \
        ORDER BY number DESC LIMIT 1), \
        next AS MATERIALIZED (SELECT slot_before, slot_after FROM {s}.events \
        WHERE number IS NULL AND body IS NOT NULL AND written_in >= $1), ", moves!(), " \
        SELECT coalesce((SELECT totals[slot + 1] FROM newest), 0)::bigint + coalesce(moved, 0)::bigint \
        FROM generate_series(0, {last_slot}) AS slot LEFT JOIN moves USING (slot) ORDER BY slot");

    /// Returns true if there is an event or an issue.
    has_content = "SELECT EXISTS (SELECT FROM {s}.events WHERE number IS NOT NULL OR body IS NOT NULL) \
        OR EXISTS (SELECT FROM {s}.issues)";
    /// Adds events that have their numbers already.
    add_numbered = "INSERT INTO {s}.events (seq, number, nonce, issue, body) \
        SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::uuid[], $5::text[])";
    /// Says to which store the queue was moved.
    say_moved = "UPDATE {s}.meta SET moved_to = $1";
    /// Sets how many issues there are in each slot after the event `$1`.
    set_totals = "UPDATE {s}.events SET totals = $2 WHERE number = $1";

    /// Reads the issues in ranges.
    get = concat!("SELECT ", columns!(), " ", from_issues!(), " WHERE i.id IN ", named!(), " ORDER BY i.id");
    /// Reads all issues.
    all = concat!("SELECT ", columns!(), " ", from_issues!(), " ORDER BY i.position, i.id");
    /// Reads what the agents `$4` could claim, and what was parked until a time: its parts may be ready.
    claimable = concat!(
        "WITH agents AS MATERIALIZED (SELECT unnest($4::text[]) AS agent), \
         first AS (SELECT c.id FROM agents CROSS JOIN generate_series(0, {last_kind}) AS k CROSS JOIN LATERAL ( \
         SELECT i.id FROM {s}.issues i WHERE i.status = {created} AND NOT i.waits AND NOT i.parked AND i.assignee IS NOT NULL \
         AND i.assignee = agent AND i.kind = k ORDER BY i.priority, i.position LIMIT 1) c \
         UNION SELECT c.id FROM generate_series(0, {last_kind}) AS k CROSS JOIN LATERAL ((SELECT i.id FROM {s}.issues i WHERE ",
        ready!(again), " AND i.kind = k ORDER BY i.priority + 0, i.position LIMIT 1) UNION ALL ( \
         SELECT i.id FROM {s}.issues i WHERE ", ready!(first), " AND i.kind = k ORDER BY i.priority, i.position LIMIT 1)) c \
         UNION (SELECT i.id FROM {s}.issues i WHERE i.status = {completed} AND NOT i.parked ORDER BY i.priority, i.position LIMIT 1) \
         UNION SELECT c.id FROM agents CROSS JOIN (VALUES (''), (E'\\x02')) AS m(mark) CROSS JOIN LATERAL ( \
         SELECT i.id FROM {s}.issues i WHERE i.status = {completed} AND NOT i.parked \
         AND NOT i.authors && ARRAY[agent, mark || agent] ORDER BY i.priority, i.position LIMIT 1) c \
         UNION (SELECT i.id FROM {s}.issues i WHERE i.parked_until IS NOT NULL AND i.status < {ended} \
         ORDER BY i.parked_until LIMIT 1000)) \
         SELECT ", columns!(), " ", from_issues!(), " WHERE i.id IN (SELECT id FROM first)"
    );
    /// Reads the issues whose claims have leases.
    leases = "SELECT id, lease_claim, lease_client FROM {s}.issues WHERE lease_client IS NOT NULL";
    /// Reads the issues with an open question.
    questions = concat!("SELECT ", columns!(), " ", from_issues!(), " WHERE i.question");

    /// Registers the client `$1` for `$2` milliseconds, or renews it, unless it has ended. Its time is forever for
    /// null.
    renew = "INSERT INTO {s}.clients (client, ttl_ms) VALUES ($1, $2) ON CONFLICT (client) DO UPDATE \
        SET seen = clock_timestamp(), ttl_ms = excluded.ttl_ms, gone_since = NULL WHERE NOT clients.ended";
    /// Records that the client `$1` has ended.
    end = "INSERT INTO {s}.clients (client, ttl_ms, gone_since, ended) VALUES ($1, 0, clock_timestamp(), true) \
        ON CONFLICT (client) DO UPDATE SET gone_since = clock_timestamp(), ended = true WHERE NOT clients.ended";
    /// Records which of the clients `$1` are gone, if that is not recorded yet. An unknown one gets `$2` milliseconds
    /// to say that it lives: a crash of the server empties the table.
    notice_gone = "INSERT INTO {s}.clients (client, ttl_ms) \
        SELECT name, $2 FROM unnest($1::text[]) AS name ORDER BY name \
        ON CONFLICT (client) DO UPDATE SET gone_since = clock_timestamp() WHERE clients.gone_since IS NULL \
        AND clients.seen + clients.ttl_ms * interval '1 millisecond' <= clock_timestamp()";
    /// Returns for how many microseconds each of the clients `$1` has been gone, and whether it is and that is not
    /// recorded yet.
    gone_for = "SELECT n.name, (extract(epoch FROM clock_timestamp() - c.gone_since) * 1000000)::bigint, \
        c.gone_since IS NULL AND coalesce(c.seen + c.ttl_ms * interval '1 millisecond' <= clock_timestamp(), true) \
        FROM unnest($1::text[]) AS n(name) LEFT JOIN {s}.clients c ON c.client = n.name";
    /// Returns the clients that are known to be gone.
    gone = "SELECT client FROM {s}.clients WHERE gone_since IS NOT NULL";
    /// Forgets the clients `$1`, unless they came back.
    forget = "DELETE FROM {s}.clients WHERE client = ANY($1) AND gone_since IS NOT NULL";
    /// Looks whether the server can be changed, at settings that matter, and at what slows it down. `$1` are the names
    /// of the indexes that there should be.
    health = "SELECT pg_is_in_recovery(), current_setting('synchronous_commit'), current_setting('fsync'), \
        coalesce((SELECT max(extract(epoch FROM clock_timestamp() - xact_start))::bigint FROM pg_stat_activity \
        WHERE datname = current_database() AND backend_xmin IS NOT NULL), 0), \
        (extract(epoch FROM clock_timestamp()) * 1000)::bigint, \
        ARRAY(SELECT name FROM unnest($1::text[]) AS name WHERE NOT EXISTS (SELECT FROM pg_index x \
        JOIN pg_class c ON c.oid = x.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace \
        WHERE n.nspname = '{schema}' AND c.relname = name AND x.indisvalid)), \
        ARRAY(SELECT relname::text FROM pg_stat_user_tables WHERE schemaname = '{schema}' \
        AND n_dead_tup > 20000 AND n_dead_tup > 2 * n_live_tup)";
    /// Whether the index for texts is there and valid, and the statements with which a superuser makes it so and moves
    /// its extension out of the schema of a project.
    search_index = "SELECT coalesce(i.is_valid, false), array_remove(ARRAY[CASE WHEN e.place IS NULL \
        THEN 'CREATE EXTENSION pg_trgm SCHEMA ' || home WHEN e.is_of_project \
        THEN 'ALTER EXTENSION pg_trgm SET SCHEMA ' || home END, \
        CASE WHEN NOT i.is_valid THEN 'DROP INDEX {s}.issue_search_texts' END, CASE WHEN i.is_valid IS NOT TRUE THEN \
        'CREATE INDEX issue_search_texts ON {s}.issue_search USING gin (texts ' \
        || CASE WHEN NOT e.is_of_project THEN e.place ELSE home END \
        || '.gin_trgm_ops) WITH (gin_pending_list_limit = 256)' END], NULL) \
        FROM (SELECT CASE WHEN to_regnamespace('public') IS NULL THEN 'pg_catalog' ELSE 'public' END AS home) AS h \
        LEFT JOIN (SELECT extnamespace::regnamespace::text AS place, EXISTS (SELECT FROM pg_class \
        WHERE relnamespace = extnamespace AND relname = 'issue_search') AS is_of_project \
        FROM pg_extension WHERE extname = 'pg_trgm') AS e ON true \
        LEFT JOIN (SELECT x.indisvalid AS is_valid FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid \
        JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = '{schema}' \
        AND c.relname = 'issue_search_texts') AS i ON true";
    /// Writes something, to be taken back.
    trial = "INSERT INTO {s}.clients (client, ttl_ms) VALUES ('trial', 0) ON CONFLICT DO NOTHING";
}

impl Statements {
    /// Returns the statements that changes use most. A connection to the server itself prepares them.
    pub fn hot(&self) -> [&str; 21] {
        [
            &self.advisory,
            &self.reserve,
            &self.lock_named,
            &self.around,
            &self.closure,
            &self.held,
            &self.unpark,
            &self.claim_any,
            &self.claim_kind,
            &self.claim_reviews,
            &self.add_issues,
            &self.change,
            &self.set_search,
            &self.lock_waiting,
            &self.set_waiting,
            &self.try_advisory,
            &self.number,
            &self.oldest_transaction,
            &self.newest,
            &self.newest_and_ours,
            &self.first_ready,
        ]
    }

    /// Returns true if a statement of these is prepared. Others are not prepared while a transaction runs, because the
    /// statements after it would overtake it.
    pub fn is_hot(&self, statement: &str) -> bool {
        self.hot().iter().any(|hot| std::ptr::eq(*hot, statement))
    }
}

/// Returns the name of a schema as it is in SQL, where it may be a reserved word.
pub(super) fn quoted(schema: &str) -> String {
    format!("\"{schema}\"")
}

/// Returns the channel of `NOTIFY` for a schema.
pub(super) fn channel(schema: &str) -> String {
    format!("ait_{:016x}", advisory_key("changes", schema))
}

/// Returns the key of an advisory lock for a purpose in a schema.
pub(super) fn advisory_key(purpose: &str, schema: &str) -> i64 {
    let text = format!("ait {purpose} {schema}");
    xxhash_rust::xxh3::xxh3_64(text.as_bytes()).cast_signed()
}
