//! The memory: what agents keep for later ones. [`memory`] says how an entry stands in an issue.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;
use xxhash_rust::xxh3::xxh3_128;

use chrono::TimeZone;

use super::{Changed, IssueAtVersion, Lesson, NewIssue, StoreError, Tracker};
use ait_domain::lessons::{self, word_subjects};
use ait_domain::{
    AgentName, Classification, Condition, DomainError, Due, FieldValue, Issue, IssueChange,
    IssueRef, Label, LinkKind, Order, Page, Query, Status, StatusSet, Timestamp, ValueField,
    file_names, memory,
};
use ait_query::ParsedQuery;
use ait_query::time_arg;

/// How many similar entries are named at most.
const MAX_SIMILAR: usize = 3;
/// How many entries with words of a text are compared, the latest ones.
const MAX_COMPARED: usize = 30;
/// The longest text of an entry in a list, in characters.
const MAX_ROW_CHARS: usize = 200;

/// An entry to keep.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewEntry {
    /// A [kind of entry](Classification::is_entry).
    pub kind: Classification,
    pub text: String,
    /// What it is about: files and folders with a `/` or a `.`, ids of issues and entries, else labels.
    pub about: Vec<String>,
    /// More files that it is about.
    pub files: Vec<String>,
    /// The entry that is no longer true.
    pub replaces: Option<IssueRef>,
    /// When it ends.
    pub until: Option<Until>,
}

/// When an entry ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Until {
    Due(Due),
    /// When this issue is closed or rejected.
    Ended(IssueRef),
}

impl Until {
    /// Parses a time, as of [`Due`], or the id of an issue.
    ///
    /// # Errors
    ///
    /// What is expected.
    pub fn parse(text: &str, zone: &impl TimeZone) -> Result<Self, DomainError> {
        time_arg::due(text, zone)
            .map(Self::Due)
            .or_else(|error| IssueRef::in_search(text.trim()).map(Self::Ended).ok_or(error))
    }
}

impl NewEntry {
    /// Returns an entry that is about nothing yet.
    pub fn new(kind: Classification, text: String) -> Self {
        Self { kind, text, about: Vec::new(), files: Vec::new(), replaces: None, until: None }
    }
}

/// An entry that was just kept.
#[derive(Clone, PartialEq, Debug)]
pub struct KeptEntry {
    pub entry: Changed,
    /// Others in force that say something similar, the most similar first.
    pub similar: Vec<Arc<Issue>>,
}

/// What to recall: a query, in which the term `stale:yes` or `stale:no` stands for whether files of entries changed
/// since. Only git knows that.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recall {
    /// The query without that term.
    pub query: String,
    take: usize,
    is_stale: Option<bool>,
}

impl Recall {
    /// Looks for the term in a query that finds at most so much.
    pub fn of(query: &str, take: usize) -> Self {
        let stale = |word: &str| match word {
            "stale:yes" => Some(true),
            "stale:no" => Some(false),
            _ => None,
        };
        let is_stale = query.split_whitespace().find_map(stale);
        let words = query.split(' ').filter(|word| stale(word).is_none());
        Self { query: words.collect::<Vec<_>>().join(" "), take, is_stale }
    }

    /// Returns how many lessons to look at.
    pub fn examined(&self) -> usize {
        const MAX_EXAMINED: usize = 500;
        self.is_stale.map_or(self.take, |_| MAX_EXAMINED)
    }

    /// Keeps those that were looked for, at most so many.
    pub fn keep(&self, found: &mut Vec<Lesson>) {
        if let Some(is_stale) = self.is_stale {
            found.retain(|one| one.kind.is_some() && one.changed.is_some() == is_stale);
        }
        found.truncate(self.take);
    }
}

/// What a query finds in the memory.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Recalled {
    pub entries: Vec<Arc<Issue>>,
    /// How many entries match.
    pub total: usize,
    /// What closed issues tell.
    pub closed: Vec<Lesson>,
}

/// What the memory has.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct MemoryOverview {
    /// How many entries are in force.
    pub entries: usize,
    /// The newest decisions, a line each.
    pub decisions: Vec<String>,
}

impl Tracker {
    /// Keeps an entry. An agent that repeats an entry within a day keeps nothing new, and gets the first one.
    ///
    /// # Errors
    ///
    /// An empty text, something that it cannot be about, and an unknown entry to replace.
    pub async fn remember(
        &self,
        entry: NewEntry,
        agent: AgentName,
    ) -> Result<KeptEntry, StoreError> {
        let request = format!("entry {:032x}", xxh3_128(format!("{entry:?}").as_bytes()));
        let NewEntry { kind, text, about, mut files, replaces, until } = entry;
        let replaced = match replaces {
            Some(replaced) => Some(self.entry(replaced).await?),
            None => None,
        };
        let mut details = self.about(&about, &mut files).await?;
        match until {
            Some(Until::Due(due)) => details.values.push(FieldValue::Due(Some(due))),
            Some(Until::Ended(issue)) => {
                let issue = self.get_issue(issue).await?;
                let Issue { id, status, .. } = *issue;
                if status.has_ended() {
                    return Err(DomainError::Terminal { id, status }.into());
                }
                details.links_add.push((LinkKind::BlockedBy, issue.id.into()));
            }
            None => {}
        }
        let (title, description) = memory::texts(&text, &files)?;
        let similar = self.similar(&text).await?;
        let issues = |ids: &[_]| {
            let new = NewIssue::new(title.clone(), description.clone(), kind);
            let new =
                ids.iter().map(|id| NewIssue { id: *id, details: details.clone(), ..new.clone() });
            Ok::<_, StoreError>(new.collect())
        };
        // No project has kinds of entries among those of its work.
        let keeper = self.clone().with_classifications([kind].into_iter().collect());
        let (mut kept, mut events) = keeper.file(Some(&request), agent.clone(), 1, issues).await?;
        if events.is_empty() && !memory::is_in_force(&kept[0], self.now()) {
            // It was replaced or taken back meanwhile.
            (kept, events) = keeper.file(None, agent.clone(), 1, issues).await?;
        }
        let issue = kept.remove(0);
        let known = [Some(issue.id), replaced.as_ref().map(|replaced| replaced.id)];
        if let Some(replaced) = replaced.filter(|replaced| !memory::is_replaced(replaced)) {
            let links_add = vec![(LinkKind::DuplicateOf, issue.id.into())];
            let change = IssueChange { links_add, ..IssueChange::default() };
            self.change_issue(IssueAtVersion::from(replaced.id), change, agent).await?;
        }
        let similar = similar.into_iter().filter(|one| !known.contains(&Some(one.id)));
        let similar = similar.take(MAX_SIMILAR).collect();
        Ok(KeptEntry { entry: Changed { issue, events }, similar })
    }

    /// Returns an entry.
    ///
    /// # Errors
    ///
    /// There is none, or it is an issue.
    pub async fn entry(&self, reference: IssueRef) -> Result<Arc<Issue>, StoreError> {
        let entry = self.get_issue(reference).await?;
        match entry.status {
            Status::Kept => Ok(entry),
            _ => Err(DomainError::NoEntry { id: entry.id }.into()),
        }
    }

    /// Returns what a query finds in the memory, at most so much: entries, then what was learned in closed issues.
    pub async fn recall(
        &self,
        query: &ParsedQuery,
        take: usize,
        with_past: bool,
    ) -> Result<Vec<Lesson>, StoreError> {
        let Recalled { entries, closed, .. } = self.recalled(query, [take; 2], with_past).await?;
        let entries = entries.iter().map(|entry| Lesson::of_entry(entry, MAX_ROW_CHARS));
        Ok(entries.chain(closed).take(take).collect())
    }

    /// Returns what a query finds in the memory, at most so many entries and so many closed issues. If nothing has all
    /// of its words, the entries that have the most of them. Entries that no longer hold are left out unless
    /// `with_past`.
    pub async fn recalled(
        &self,
        query: &ParsedQuery,
        [take, take_closed]: [usize; 2],
        with_past: bool,
    ) -> Result<Recalled, StoreError> {
        let holds = if with_past { Condition::default() } else { in_force(self.now()) };
        let found = self.list_issues(query.narrow(Self::entries(take)).with(holds)).await?;
        let closed = Query { statuses: Some(Status::Closed).into(), ..Self::entries(take_closed) };
        let closed = self.list_issues(query.narrow(closed)).await?.issues;
        let words: Vec<_> = query.terms().iter().map(|term| &*term.text).collect();
        let words = words.join(" ");
        let files = file_names::files_in(&words);
        let closed = closed.iter().filter_map(|issue| Lesson::of_closed(issue, &files));
        let mut recalled =
            Recalled { entries: found.issues, total: found.total, closed: closed.collect() };
        if recalled.total == 0 && recalled.closed.is_empty() && !query.names_more_than_words() {
            recalled.entries = self.similar(&words).await?;
            recalled.total = recalled.entries.len();
        }
        Ok(recalled)
    }

    /// Returns what the memory has; `None` if it is empty.
    pub async fn memory_overview(&self) -> Result<Option<MemoryOverview>, StoreError> {
        const MAX_DECISIONS: usize = 3;
        const MAX_CHARS: usize = 120;
        if self.counts().await?.in_status(Status::Kept) == 0 {
            return Ok(None);
        }
        let entries = self.entries_in_force(Condition::default(), 0).await?.total;
        let decisions = Condition::Classification(Classification::Decision);
        let decisions = self.entries_in_force(decisions, MAX_DECISIONS).await?;
        let decisions = decisions.issues.iter().map(|one| Lesson::of_entry(one, MAX_CHARS));
        let decisions = decisions.map(|lesson| lesson.to_string()).collect();
        Ok(Some(MemoryOverview { entries, decisions }))
    }

    /// Returns a query for entries, the latest first.
    pub fn entries(take: usize) -> Query {
        let order = Order::LatestActivity;
        Query { statuses: StatusSet::KEPT, order, take, ..Query::default() }
    }

    /// Returns the latest entries that still hold and match a condition.
    pub async fn entries_in_force(
        &self,
        condition: Condition,
        take: usize,
    ) -> Result<Page, StoreError> {
        let condition = condition.and(in_force(self.now()));
        self.list_issues(Self::entries(take).with(condition)).await
    }

    /// Returns the entries in force that have words of a text, the most similar first.
    pub(super) async fn similar(&self, text: &str) -> Result<Vec<Arc<Issue>>, StoreError> {
        let subjects: BTreeSet<_> = word_subjects(text).collect();
        if subjects.len() < 2 {
            return Ok(Vec::new());
        }
        let at_least = subjects.len().div_ceil(2).clamp(2, 4);
        let shared = |entry: &Issue| lessons::told_subjects(entry).intersection(&subjects).count();
        let condition = Condition::Tells { subjects: subjects.clone(), at_least };
        let mut similar = self.entries_in_force(condition, MAX_COMPARED).await?.issues;
        similar.sort_by_cached_key(|entry| Reverse(shared(entry)));
        similar.truncate(2 * MAX_SIMILAR);
        Ok(similar)
    }

    /// Returns labels and links of what an entry is about, and adds the files and folders.
    async fn about(
        &self,
        about: &[String],
        files: &mut Vec<String>,
    ) -> Result<IssueChange, StoreError> {
        let mut change = IssueChange::default();
        for one in about.iter().map(|one| one.trim()).filter(|one| !one.is_empty()) {
            if one.contains(['/', '.', '*']) {
                files.push(one.trim_start_matches("./").trim_end_matches('/').to_owned());
            } else if let Some(issue) = IssueRef::in_search(one) {
                let issue = self.get_issue(issue).await?;
                change.links_add.push((LinkKind::Related, issue.id.into()));
            } else {
                change.labels_add.push(one.parse::<Label>()?);
            }
        }
        Ok(change)
    }
}

/// Returns the condition for entries that still hold at a time.
pub fn in_force(now: Timestamp) -> Condition {
    let past = i64::MIN..=now.unix_millis().saturating_sub(1);
    let has_ended = Condition::Value(ValueField::Due, past);
    Condition::all([
        Condition::Unlinked(LinkKind::DuplicateOf),
        Condition::Not(Box::new(has_ended)),
        Condition::Not(Box::new(Condition::BlockerEnded)),
    ])
}
