//! Writes what commands change.

use std::collections::{BTreeSet, HashMap};

use deadpool_postgres::ClientWrapper;
use futures::future::{BoxFuture, FutureExt, try_join_all};
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::connection::{Param, run};
use super::decide::{DecidedEvent, Draft};
use super::error::Failure;
use super::rows::{FactColumns, StoredRow, columns};
use super::sql::Statements;
use crate::event_format;
use crate::sql::rows::{IssueAfter, IssueRow, POSITION_BITS, SEPARATOR, SearchRow, lease_columns};
use ait_domain::{Issue, IssueId, LinkKind, UnknownKeys};

/// What a transaction writes, as the columns of its statements.
#[derive(Default)]
pub(super) struct Changes {
    events: Events,
    added: Issues,
    changed: Issues,
    texts: Texts,
    facts: FactColumns,
    search: Search,
    removed: Vec<Uuid>,
    unlinked: Vec<Uuid>,
    links: (Vec<Uuid>, Vec<i16>, Vec<Uuid>),
    /// The issues whose `waiting` must be computed again, and those whose dependents' `waiting` must be.
    waiting: (BTreeSet<Uuid>, BTreeSet<Uuid>),
    keys: Option<String>,
    /// The first sequence number and its nonce, if a part of the changes is written already.
    written: Option<(i64, i64)>,
}

columns!(Events(sequence: i64, decided: &DecidedEvent, is_placed: bool) {
    seq: i64, INT8_ARRAY = sequence;
    nonce: i64, INT8_ARRAY = decided.nonce;
    issue: Option<Uuid>, UUID_ARRAY =
        Some(decided.event.issue).filter(|id| *id != IssueId::NIL).map(Uuid::from);
    slot_before: Option<i16>, INT2_ARRAY = decided.slot_before;
    slot_after: Option<i16>, INT2_ARRAY = decided.slot_after;
    filed: bool, BOOL_ARRAY = !is_placed && decided.event.filed().is_some();
    body: String, TEXT_ARRAY =
        String::from_utf8_lossy(&event_format::write(&decided.event)).into_owned();
});

columns!(Issues(after: &IssueAfter, row: IssueRow, place: i64) {
    id: Uuid, UUID_ARRAY = after.issue.id.into();
    position: i64, INT8_ARRAY = place;
    status: i16, INT2_ARRAY = row.status;
    kind: i16, INT2_ARRAY = row.kind;
    priority: i16, INT2_ARRAY = row.priority;
    modified: i64, INT8_ARRAY = row.modified;
    active: i64, INT8_ARRAY = row.active;
    assignee: Option<String>, TEXT_ARRAY = row.assignee;
    holder: Option<String>, TEXT_ARRAY = row.holder;
    lease_claim: Option<i64>, INT8_ARRAY = lease_columns(after.lease.as_ref()).0;
    lease_client: Option<String>, TEXT_ARRAY = lease_columns(after.lease.as_ref()).1;
    parked: bool, BOOL_ARRAY = row.is_parked;
    parked_until: Option<i64>, INT8_ARRAY = row.parked_until;
    question: bool, BOOL_ARRAY = row.has_question;
    authors: String, TEXT_ARRAY = row.authors.join(SEPARATOR);
});

columns!(Search(issue: Uuid, row: SearchRow) {
    id: Uuid, UUID_ARRAY = issue;
    title: String, TEXT_ARRAY = row.title;
    texts: String, TEXT_ARRAY = row.texts;
    external: String, TEXT_ARRAY = row.external.join(SEPARATOR);
});

columns!(Texts(issue: &Issue, row: &IssueRow) {
    id: Uuid, UUID_ARRAY = issue.id.into();
    body: String, TEXT_ARRAY =
        serde_json::to_string(issue).expect("structures of strings and numbers are valid JSON");
    agents: String, TEXT_ARRAY = row.agents.join(SEPARATOR);
    filer: Option<String>, TEXT_ARRAY = row.filer.clone();
});

impl Changes {
    /// Collects what a draft changes. Finds the positions of new issues, which may need the database.
    pub async fn of(
        draft: &Draft,
        client: &ClientWrapper,
        sql: &Statements,
    ) -> Result<Self, Failure> {
        let mut changes = Self::default();
        let sequence = draft.sequence();
        changes.add_events(draft, sequence);
        let filed = filed(draft);
        let placed = place(draft, client, sql, &filed).await?;
        for (id, after) in &draft.after {
            let position = placed.get(id).or_else(|| filed.get(id)).copied().unwrap_or_default();
            let was_removed = draft.removed.contains(id);
            changes.add_issue(*id, draft.before(*id), was_removed, after.as_ref(), position);
        }
        if let Some(keys) = draft.changed_keys() {
            changes.set_unknown_keys(keys);
        }
        Ok(changes)
    }

    fn add_events(&mut self, draft: &Draft, sequence: &[i64]) {
        for (decided, seq) in draft.events.iter().zip(sequence) {
            let is_placed = draft.placed.contains(&decided.event.issue);
            self.events.push(*seq, decided, is_placed);
        }
    }

    fn add_issue(
        &mut self,
        id: IssueId,
        before: Option<&StoredRow>,
        was_removed: bool,
        after: Option<&IssueAfter>,
        position: i64,
    ) {
        let uuid = Uuid::from(id);
        if was_removed {
            self.removed.push(uuid);
        }
        let former = before.map(|row| &*row.issue);
        let latter = after.map(|after| &*after.issue);
        self.collect_link_changes(uuid, former, latter);
        let Some(after) = after else { return };
        let row = IssueRow::of(&after.issue);
        self.texts.push(&after.issue, &row);
        self.facts.push(&row);
        match before.filter(|_| !was_removed) {
            Some(before) => self.changed.push(after, row, before.position),
            None => self.added.push(after, row, position),
        }
        let search = SearchRow::of(&after.issue);
        if was_removed || former.map(SearchRow::of).as_ref() != Some(&search) {
            self.search.push(uuid, search);
        }
    }

    /// Collects issues as another store had them, each with the sequence number after which it was filed.
    pub fn of_copies(copies: impl Iterator<Item = (IssueAfter, i64)>) -> Self {
        let mut changes = Self::default();
        for (after, seq) in copies {
            changes.add_issue(after.issue.id, None, false, Some(&after), seq << POSITION_BITS);
        }
        changes
    }

    /// Takes over from other changes the issues whose `waiting` must be computed again.
    pub fn wait_with(&mut self, others: &mut Self) {
        self.waiting.0.append(&mut others.waiting.0);
        self.waiting.1.append(&mut others.waiting.1);
    }

    /// Changes the unknown top-level keys.
    pub fn set_unknown_keys(&mut self, keys: &UnknownKeys) {
        let text = serde_json::to_string(keys);
        self.keys = Some(text.expect("structures of strings and numbers are valid JSON"));
    }

    /// Notes new links, and which issues may begin or cease to wait.
    fn collect_link_changes(&mut self, id: Uuid, before: Option<&Issue>, after: Option<&Issue>) {
        let links = |issue: Option<&Issue>| {
            issue.map(|issue| issue.attributes.links.clone()).unwrap_or_default()
        };
        let is_open = |issue: Option<&Issue>| issue.is_some_and(|issue| issue.status.is_open());
        let is_parked =
            |issue: Option<&Issue>| issue.is_some_and(|issue| issue.attributes.parked.is_some());
        let are_changed = links(before) != links(after);
        let opens_or_ends = is_open(before) != is_open(after);
        if are_changed {
            if before.is_some() {
                self.unlinked.push(id);
            }
            for link in links(after) {
                self.links.0.push(id);
                self.links.1.push(link.kind as i16);
                self.links.2.push(link.to.into());
            }
        }
        // Its parts wait with it.
        let holds_otherwise = opens_or_ends || is_parked(before) != is_parked(after);
        if are_changed || holds_otherwise || before.is_none() {
            self.waiting.0.insert(id);
        }
        if are_changed || opens_or_ends {
            let all = links(before).into_iter().chain(links(after));
            let parents = all.filter(|link| link.kind == LinkKind::Parent);
            self.waiting.0.extend(parents.map(|link| Uuid::from(link.to)));
        }
        if opens_or_ends {
            self.waiting.1.insert(id);
        }
    }

    /// Returns the first sequence number and its nonce, by which the transaction can be found later.
    pub fn mark(&self) -> Option<(i64, i64)> {
        self.written.or_else(|| Some((*self.events.seq.first()?, *self.events.nonce.first()?)))
    }

    /// Returns a change set whose rows are written already, so that only the COMMIT is left.
    pub fn written(mark: Option<(i64, i64)>) -> Self {
        Self { written: mark, ..Self::default() }
    }

    /// Writes the changes, and commits with them if the transaction `ends`.
    pub async fn write(
        &self,
        client: &ClientWrapper,
        sql: &Statements,
        ends: bool,
    ) -> Result<(), Failure> {
        let direct: Vec<Uuid> = self.waiting.0.iter().copied().collect();
        let blockers: Vec<Uuid> = self.waiting.1.iter().copied().collect();
        let waiting = [(&direct as _, Type::UUID_ARRAY), (&blockers as _, Type::UUID_ARRAY)];
        let added = self.added.params();
        let search = self.search.params();
        let events = self.events.params();
        let changed = self.changed.params();
        let change = [events, changed, self.texts.params(), self.facts.params()].concat();
        let removed = [(&self.removed as _, Type::UUID_ARRAY)];
        let unlinked = [(&self.unlinked as _, Type::UUID_ARRAY)];
        let links = [
            (&self.links.0 as _, Type::UUID_ARRAY),
            (&self.links.1 as _, Type::INT2_ARRAY),
            (&self.links.2 as _, Type::UUID_ARRAY),
        ];
        let keys = [(&self.keys as _, Type::TEXT)];
        let waits = !direct.is_empty() || !blockers.is_empty();
        let statements: [(bool, &String, &[Param<'_>]); 9] = [
            (!self.unlinked.is_empty(), &sql.remove_links, &unlinked),
            (!self.removed.is_empty(), &sql.remove_issues, &removed),
            (!self.added.id.is_empty(), &sql.add_issues, &added),
            (!(self.events.seq.is_empty() && self.texts.id.is_empty()), &sql.change, &change),
            (!self.search.id.is_empty(), &sql.set_search, &search),
            (!self.links.0.is_empty(), &sql.add_links, &links),
            (self.keys.is_some(), &sql.set_keys, &keys),
            (waits, &sql.lock_waiting, &waiting),
            (waits, &sql.set_waiting, &waiting),
        ];
        let mut sent: Vec<BoxFuture<'_, Result<(), tokio_postgres::Error>>> = Vec::new();
        for (_, statement, params) in statements.into_iter().filter(|(is_needed, ..)| *is_needed) {
            let written = run(client, sql, statement, params);
            sent.push(written.map(|rows| rows.map(drop)).boxed());
        }
        if ends {
            sent.push(client.batch_execute("COMMIT").boxed());
        }
        try_join_all(sent).await?;
        Ok(())
    }
}

/// Returns the positions of the new issues at the end of the queue.
fn filed(draft: &Draft) -> HashMap<IssueId, i64> {
    let events = draft.events.iter().zip(draft.sequence());
    let filed = events.filter(|(decided, _)| decided.event.filed().is_some());
    filed.map(|(decided, seq)| (decided.event.issue, seq << POSITION_BITS)).collect()
}

/// Returns the positions of the issues that are inserted before others.
async fn place(
    draft: &Draft,
    client: &ClientWrapper,
    sql: &Statements,
    filed: &HashMap<IssueId, i64>,
) -> Result<HashMap<IssueId, i64>, Failure> {
    let mut found = HashMap::new();
    if draft.placed.is_empty() {
        return Ok(found);
    }
    let mut run = Vec::new();
    for id in draft.order() {
        if draft.placed.contains(&id) {
            run.push(id);
            continue;
        }
        if run.is_empty() {
            continue;
        }
        let stored = draft.before(id).filter(|_| !draft.removed.contains(&id));
        let next =
            stored.map(|row| row.position).or_else(|| filed.get(&id).copied()).unwrap_or(i64::MAX);
        let previous = client.query_typed_one(&sql.position_before, &[(&next, Type::INT8)]).await?;
        let previous = previous.try_get::<_, Option<i64>>(0)?.unwrap_or_default();
        let step = (next - previous) / (run.len() as i64 + 1);
        if step == 0 {
            // The transaction begins again, with room between the issues.
            client.execute_typed(&sql.spread_positions, &[]).await?;
            client.batch_execute("COMMIT").await?;
            return Err(Failure::Conflict("the positions of the issues were spread".into()));
        }
        for (id, nth) in run.drain(..).zip(1..) {
            found.insert(id, previous + step * nth);
        }
    }
    Ok(found)
}
