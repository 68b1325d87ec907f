//! Issues as rows, and the part of a state that rows make.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::connection::Param;
use super::error::Failure;
use crate::domain::{
    ActionKind, Classification, ClientId, HistoryEntry, Issue, IssueId, Label, Lease, Status,
};
use crate::store::State;
use crate::store::memory::IndexedIssuesBuilder;

/// What separates several texts in one value. No name contains it.
pub(super) const SEPARATOR: &str = "\u{1}";

/// An issue with what the store knows of it beside its text.
#[derive(Clone, Debug)]
pub(super) struct StoredRow {
    pub position: i64,
    pub issue: Arc<Issue>,
    pub lease: Option<Lease>,
}

impl StoredRow {
    /// Reads a row with the columns id, position, lease_claim, lease_client and body.
    pub fn read(row: &Row) -> Result<Self, Failure> {
        let body: &str = row.try_get(4)?;
        let issue = serde_json::from_str(body).map_err(|error| {
            let id: Uuid = row.get(0);
            Failure::Other(format!("the text of the issue {id} cannot be read: {error}"))
        })?;
        let client: Option<&str> = row.try_get(3)?;
        let claim: Option<i64> = row.try_get(2)?;
        let lease = client.zip(claim).map(|(client, claim)| Lease {
            claim: usize::try_from(claim).unwrap_or_default(),
            client: ClientId::new(client),
        });
        Ok(Self { position: row.try_get(1)?, issue: Arc::new(issue), lease })
    }
}

/// Issues by id. A row that was read under its lock must come first: later ones do not replace it.
#[derive(Clone, Default, Debug)]
pub(super) struct Rows(pub BTreeMap<IssueId, StoredRow>);

impl Rows {
    /// Adds rows, except those that are there.
    pub fn add(&mut self, rows: &[Row]) -> Result<(), Failure> {
        for row in rows {
            let id = IssueId::from(row.try_get::<_, Uuid>(0)?);
            if let Entry::Vacant(free) = self.0.entry(id) {
                free.insert(StoredRow::read(row)?);
            }
        }
        Ok(())
    }

    /// Returns the state that has these issues alone, in the order of filing.
    pub fn state(&self) -> State {
        let mut rows: Vec<_> = self.0.values().collect();
        rows.sort_by_key(|row| (row.position, row.issue.id));
        let mut builder = IndexedIssuesBuilder::default();
        for row in rows {
            builder.push(Issue::clone(&row.issue));
        }
        let mut issues = builder.build().unwrap_or_default();
        let leases = self.0.iter().filter_map(|(id, row)| Some((*id, row.lease.clone()?)));
        issues.set_leases(leases);
        State { issues, ..State::default() }
    }
}

/// How many slots there are for the issues of a status.
pub(super) const SLOTS_OF_STATUS: usize = Classification::ALL.len();
/// How many slots there are. The statements in `sql` count them, too.
pub(super) const SLOTS: usize = Status::ALL.len() * SLOTS_OF_STATUS;

/// Returns the number of the slot of an issue: its status and its classification.
pub(super) fn slot(issue: &Issue) -> i16 {
    issue.status as i16 * SLOTS_OF_STATUS as i16 + issue.classification as i16
}

/// Returns a text that PostgreSQL can store: without the character NUL.
pub(super) fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// Returns who worked on or completed an issue, and with a [mark](filer_mark) who filed it.
pub(super) fn authors(issue: &Issue) -> String {
    let author = |entry: &HistoryEntry| match ActionKind::of(&entry.action) {
        ActionKind::Claimed | ActionKind::Completed => Some(entry.agent.clone()),
        ActionKind::Filed => Some(filer_mark(&entry.agent)),
        _ => None,
    };
    let authors: Vec<_> = issue.history.iter().filter_map(author).collect();
    names(authors.iter().map(String::as_str))
}

/// Returns how the agent that filed an issue stands among its authors. No name begins so.
pub(super) fn filer_mark(agent: &str) -> String {
    format!("\u{2}{agent}")
}

/// Returns who occurs in the history of an issue.
pub(super) fn agents(issue: &Issue) -> String {
    names(issue.history.iter().map(|entry| entry.agent.as_str()))
}

/// Returns who filed an issue.
pub(super) fn filer(issue: &Issue) -> Option<String> {
    issue.history.first().map(|entry| storable(&entry.agent))
}

/// What conditions look at beside the columns of an issue, except for names and texts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Facts {
    pub created: i64,
    pub returns: i64,
    pub claims: i64,
    pub labels: String,
}

impl Facts {
    /// Collects the facts of an issue.
    pub fn of(issue: &Issue) -> Self {
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let labels: Vec<_> = issue.attributes.labels.iter().map(Label::as_str).collect();
        Self {
            created: issue.created_at.unix_millis(),
            returns: number(issue.returns()),
            claims: number(issue.attempts().claims),
            labels: labels.join(SEPARATOR),
        }
    }
}

/// The facts of several issues, as columns.
#[derive(Clone, Default, Debug)]
pub(super) struct FactColumns {
    created: Vec<i64>,
    returns: Vec<i64>,
    claims: Vec<i64>,
    labels: Vec<String>,
}

impl FactColumns {
    /// Adds the facts of an issue.
    pub fn push(&mut self, facts: &Facts) {
        self.created.push(facts.created);
        self.returns.push(facts.returns);
        self.claims.push(facts.claims);
        self.labels.push(facts.labels.clone());
    }

    /// Returns the columns as parameters.
    pub fn params(&self) -> [Param<'_>; 4] {
        [
            (&self.created, Type::INT8_ARRAY),
            (&self.returns, Type::INT8_ARRAY),
            (&self.claims, Type::INT8_ARRAY),
            (&self.labels, Type::TEXT_ARRAY),
        ]
    }
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<_> = names.map(storable).collect();
    names.sort_unstable();
    names.dedup();
    names.join(SEPARATOR)
}

/// What searches look at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SearchRow {
    pub title: String,
    pub texts: String,
    pub external: String,
}

impl SearchRow {
    /// Folds the texts of an issue.
    pub fn of(issue: &Issue) -> Self {
        let texts: Vec<_> = issue.searchable_texts().collect();
        let external: Vec<_> = issue.searchable_ids().collect();
        Self {
            title: storable(&issue.title.to_lowercase()),
            texts: storable(&texts.join(SEPARATOR)),
            external: storable(&external.join(SEPARATOR)),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::domain::{Classification, LinkKind, Status};

    /// The numbers are in every database, so they must stay.
    #[test]
    fn words_have_their_numbers() {
        let statuses = ["created", "in_progress", "completed", "in_review", "closed", "rejected"];
        for (number, word) in (0..).zip(statuses) {
            assert_eq!(Status::from_word(word).unwrap() as i16, number);
        }
        for (number, word) in (0..).zip(["bug", "improvement", "feature"]) {
            assert_eq!(Classification::from_word(word).unwrap() as i16, number);
        }
        for (number, word) in (0..).zip(["parent", "blocked_by", "related", "duplicate_of"]) {
            assert_eq!(LinkKind::from_word(word).unwrap() as i16, number);
        }
    }
}
