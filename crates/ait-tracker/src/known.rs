//! What the memory and closed issues tell the agent that claims an issue.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use super::{IndexedIssues, StoreError, Tracker, read_after_change};
use ait_domain::lessons::{self, lesson, subjects, wanted_subjects};
use ait_domain::text::shortened;
use ait_domain::{
    Classification, Condition, Issue, IssueGraph, IssueId, LinkKind, Order, Query, Status,
    Timestamp, memory,
};

/// How many entries and closed issues are told of at most, and with how many characters: 300 tokens.
const MAX_ENTRIES: usize = 5;
const MAX_TOLD: usize = 8;
const MAX_CHARS: usize = 900;
/// The longest line of an entry, in characters.
const MAX_ENTRY_CHARS: usize = 240;
/// How many closed issues about the same are looked at, the latest ones; and how many entries.
const MAX_COMPARED: usize = 30;

/// What an entry or a closed issue tells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lesson {
    /// The entry, or the issue.
    pub issue: IssueId,
    /// The kind of the entry.
    pub kind: Option<Classification>,
    /// The text of the entry, or a sentence of the comments.
    pub text: String,
    /// The files and folders that the entry is about.
    pub files: BTreeSet<String>,
    /// Who said it, and when.
    pub agent: String,
    pub since: Timestamp,
    /// Which of the files changed since, and how often.
    pub changed: Option<String>,
}

impl Lesson {
    /// Returns what an entry tells, on one line of so many characters.
    pub fn of_entry(entry: &Issue, max_chars: usize) -> Self {
        let is_word = |word: &&str| word.chars().any(|one| one != '#');
        let words: Vec<_> = memory::text(entry).split_whitespace().filter(is_word).collect();
        Self {
            issue: entry.id,
            kind: Some(entry.classification),
            text: shortened(&words.join(" "), max_chars),
            files: memory::files(entry),
            agent: entry.history.first().map(|first| first.agent.clone()).unwrap_or_default(),
            since: entry.created_at,
            changed: None,
        }
    }

    /// Returns what a closed issue tells, if it does, preferably about some files.
    pub fn of_closed(issue: &Issue, files: &BTreeSet<String>) -> Option<Self> {
        let text = lesson(issue, files)?;
        let agent = issue.comments.last().map(|last| last.agent.clone()).unwrap_or_default();
        Some(Self {
            issue: issue.id,
            kind: None,
            text,
            files: BTreeSet::new(),
            agent,
            since: issue.modified_at,
            changed: None,
        })
    }
}

/// A line with the short id.
impl fmt::Display for Lesson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { issue, kind, text, changed, .. } = self;
        write!(f, "{}", issue.short())?;
        if let Some(kind) = kind {
            write!(f, " {kind}:")?;
        }
        write!(f, " {text}")?;
        changed.as_ref().map_or(Ok(()), |changed| write!(f, " [{changed} since]"))
    }
}

impl Tracker {
    /// Returns what is known near an issue: first entries, then what was learned in closed issues. Of both, first
    /// those that it is linked with, then those about the files that it names, then those about its labels or with
    /// the words of its title. Nothing if none is near.
    pub async fn known(&self, issue: &Issue) -> Vec<Lesson> {
        read_after_change(self.find_known(issue)).await.unwrap_or_default()
    }

    async fn find_known(&self, issue: &Issue) -> Result<Vec<Lesson>, StoreError> {
        let files = lessons::files(issue);
        let has_entries = self.counts().await?.in_status(Status::Kept) > 0;
        let around = if has_entries || !issue.attributes.links.is_empty() {
            self.issues_around([issue.id]).await?
        } else {
            IndexedIssues::default()
        };
        let entries =
            if has_entries { self.near_entries(issue, &files, &around).await? } else { Vec::new() };
        let entries = entries.iter().map(|entry| Lesson::of_entry(entry, MAX_ENTRY_CHARS));
        let mut near: Vec<_> =
            issue.attributes.links.iter().filter_map(|link| around.get(link.to)).collect();
        near.extend(self.telling(subjects(issue, &files)).await?);
        let mut told = BTreeSet::from([issue.id]);
        near.retain(|other| other.status == Status::Closed && told.insert(other.id));
        let closed = near.iter().filter_map(|other| Lesson::of_closed(other, &files));
        let mut chars = 0;
        let fits = |lesson: &Lesson| {
            chars += lesson.to_string().chars().count();
            chars <= MAX_CHARS
        };
        Ok(entries.take(MAX_ENTRIES).chain(closed).take(MAX_TOLD).take_while(fits).collect())
    }

    /// Returns the entries in force near an issue, the nearest first.
    async fn near_entries(
        &self,
        issue: &Issue,
        files: &BTreeSet<String>,
        around: &IndexedIssues,
    ) -> Result<Vec<Arc<Issue>>, StoreError> {
        let to = around.linked_from(LinkKind::Related, issue.id);
        let linked = issue.attributes.links.iter().map(|link| link.to).chain(to);
        let is_entry = |id: &IssueId| around.get(*id).is_some_and(|one| one.status == Status::Kept);
        let linked: BTreeSet<_> = linked.filter(is_entry).collect();
        let mut near = Vec::new();
        if !linked.is_empty() {
            near = self.entries_in_force(Condition::Ids(linked), MAX_COMPARED).await?.issues;
        }
        let wanted = wanted_subjects(issue, files);
        if !wanted.is_empty() {
            let about = self.entries_in_force(Condition::tells(wanted), MAX_COMPARED).await?;
            let mut about = about.issues;
            // Those about a label alone come last.
            about.sort_by_key(|entry| memory::files(entry).is_empty());
            near.extend(about);
        }
        if near.len() < MAX_ENTRIES {
            near.extend(self.similar(&issue.title).await?);
        }
        let mut told = BTreeSet::new();
        near.retain(|entry| told.insert(entry.id));
        Ok(near)
    }

    /// Returns the latest closed issues that tell something about some subjects.
    async fn telling(&self, subjects: BTreeSet<String>) -> Result<Vec<Arc<Issue>>, StoreError> {
        if subjects.is_empty() {
            return Ok(Vec::new());
        }
        let condition = Condition::tells(subjects);
        let statuses = Some(Status::Closed).into();
        let order = Order::LatestActivity;
        let query = Query { statuses, condition, order, take: MAX_COMPARED, ..Query::default() };
        Ok(self.list_issues(query).await?.issues)
    }
}
