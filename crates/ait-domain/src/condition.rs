//! What an issue must be like to match a query, and the one evaluator of it.
//!
//! Lists, searches, pages and bulk changes all select issues by a [`Condition`]. It knows nothing of its written form.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::{
    ActionKind, Attributes, Classification, FieldValue, Issue, IssueId, IssueRef, Label, LinkKind,
    Priority, Status, StatusSet, TimelineEntry, Timestamp, ValueField,
};

/// A condition on an issue. The default matches every issue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Condition {
    /// All of these hold.
    All(Vec<Self>),
    /// At least one of these holds.
    Any(Vec<Self>),
    /// This does not hold.
    Not(Box<Self>),
    /// The status is one of these.
    Status(StatusSet),
    /// The kind of work.
    Classification(Classification),
    /// The priority is one of these. An issue without one counts as the default.
    Priority(RangeInclusive<Priority>),
    /// It has this label; no label at all for `None`.
    Label(Option<Label>),
    /// It is assigned to this agent; to no agent for `None`.
    Assignee(Option<String>),
    /// This agent holds it; no agent for `None`.
    Holder(Option<String>),
    /// This agent filed it.
    Filer(String),
    /// This agent occurs in the history, or it is assigned to this agent.
    Involves(String),
    /// It is a part of an issue with an id in this range.
    Parent(RangeInclusive<IssueId>),
    /// It has no link of this kind.
    Unlinked(LinkKind),
    /// It blocks an issue with an id in this range.
    Blocks(RangeInclusive<IssueId>),
    /// It is blocked by an issue with an id in this range, whether that is open or not.
    BlockedBy(RangeInclusive<IssueId>),
    /// The id is in this range.
    Id(RangeInclusive<IssueId>),
    /// The id is one of these.
    Ids(BTreeSet<IssueId>),
    /// The [rank](FieldValue::rank) of its value in this field is one of these.
    Value(ValueField, RangeInclusive<i64>),
    /// It was [returned](Issue::returns) so often.
    Returns(RangeInclusive<usize>),
    /// It was claimed so often, for work and for review.
    Claims(RangeInclusive<usize>),
    /// It was filed in this time.
    Created(RangeInclusive<Timestamp>),
    /// It was last changed in this time.
    Changed(RangeInclusive<Timestamp>),
    /// Its last [substantive change](Issue::active_at) was in this time.
    Active(RangeInclusive<Timestamp>),
    /// Some agent could claim it for work at this time.
    Ready(Timestamp),
    /// It is open, and an open issue blocks it.
    Blocked,
    /// An issue that it is blocked by has ended.
    BlockerEnded,
    /// It is open, and an open issue blocks it, or a part of it is open.
    Waits,
    /// It is open, and parked at this time.
    Parked(Timestamp),
    /// It has parts, whether they are open or not.
    Whole,
    /// It has this id in another tracker, in lower case.
    External(String),
    /// It [tells](super::lessons::told_subjects) others about at least so many of these subjects.
    Tells {
        subjects: BTreeSet<String>,
        /// How many of them.
        at_least: usize,
    },
    /// This lower-case text occurs in it; see [`Subject::contains`].
    Text(String),
    /// At least so many of these lower-case texts occur in it.
    SomeTexts {
        texts: Vec<String>,
        /// How many of them have to occur.
        at_least: usize,
    },
}

impl Default for Condition {
    fn default() -> Self {
        Self::All(Vec::new())
    }
}

/// An issue as a condition sees it. Each form in which issues are kept implements it.
pub trait Subject {
    fn id(&self) -> IssueId;
    fn status(&self) -> Status;
    /// Returns the kind of work.
    fn classification(&self) -> Classification;
    /// Returns the time of filing.
    fn created_at(&self) -> Timestamp;
    /// Returns the time of the last change.
    fn modified_at(&self) -> Timestamp;
    /// Returns the time of the last substantive change; see [`Issue::active_at`].
    fn active_at(&self) -> Timestamp;
    fn attributes(&self) -> &Attributes;
    /// Returns who holds it.
    fn holder(&self) -> Option<&str>;
    /// Returns who filed it.
    fn filer(&self) -> Option<&str>;
    /// Returns true if an agent occurs in the history.
    fn has_actor(&self, agent: &str) -> bool;
    /// Returns how often it was returned after a claim.
    fn returns(&self) -> usize;
    /// Returns how often it was claimed.
    fn claims(&self) -> usize;
    /// Returns true if an open issue blocks it.
    fn has_open_blocker(&self) -> bool;
    /// Returns true if an issue that it is blocked by has ended.
    fn has_ended_blocker(&self) -> bool;
    /// Returns true if it has a part.
    fn has_part(&self) -> bool;
    /// Returns true if a part of it is open.
    fn has_open_part(&self) -> bool;
    /// Returns true if it is a part of an issue that is parked at a time, or blocked.
    fn waits_with_whole(&self, now: Timestamp) -> bool;
    /// Returns true if it has an id in another tracker, in lower case.
    fn has_external_id(&self, id: &str) -> bool;
    /// Returns what it [tells](super::lessons::told_subjects) others about.
    fn told_subjects(&self) -> BTreeSet<String>;
    /// Returns true if it blocks an issue with an id in a range.
    fn blocks(&self, ids: &RangeInclusive<IssueId>) -> bool;
    /// Returns true if a lower-case text occurs in the title, the description or a comment, regardless of case, or
    /// names the issue: begins its id, also behind `#` and `issue-`, or is an id in another tracker.
    fn contains(&self, text: &str) -> bool;
}

impl Condition {
    /// Returns the condition that an issue tells others about one of some subjects.
    pub fn tells(subjects: BTreeSet<String>) -> Self {
        Self::Tells { subjects, at_least: 1 }
    }

    /// Returns true if every issue matches.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::All(all) if all.is_empty())
    }

    /// Returns the conditions that must all hold.
    pub fn conjuncts(&self) -> &[Self] {
        match self {
            Self::All(all) => all,
            one => std::slice::from_ref(one),
        }
    }

    /// Returns the condition that this one and another one hold.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let mut all = self.into_conjuncts();
        all.extend(other.into_conjuncts());
        Self::all(all)
    }

    /// Returns the condition that all of these hold, with the cheap ones first.
    pub fn all(conditions: impl IntoIterator<Item = Self>) -> Self {
        let mut all: Vec<_> = conditions.into_iter().flat_map(Self::into_conjuncts).collect();
        all.sort_by_key(Self::reads_texts);
        match <[Self; 1]>::try_from(all) {
            Ok([one]) => one,
            Err(all) => Self::All(all),
        }
    }

    pub(super) fn into_conjuncts(self) -> Vec<Self> {
        match self {
            Self::All(all) => all,
            one => vec![one],
        }
    }

    /// Returns true if the texts of an issue are needed.
    fn reads_texts(&self) -> bool {
        !self.texts().is_empty()
    }

    /// Returns the text that it looks for, if it looks for one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns all texts that it mentions.
    pub fn texts(&self) -> Vec<&str> {
        match self {
            Self::All(several) | Self::Any(several) => {
                several.iter().flat_map(Self::texts).collect()
            }
            Self::Not(one) => one.texts(),
            Self::Text(text) => vec![text],
            Self::SomeTexts { texts, .. } => texts.iter().map(String::as_str).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns true if an issue matches.
    pub fn matches(&self, issue: &impl Subject) -> bool {
        let attributes = issue.attributes();
        match self {
            Self::All(all) => all.iter().all(|one| one.matches(issue)),
            Self::Any(any) => any.iter().any(|one| one.matches(issue)),
            Self::Not(one) => !one.matches(issue),
            Self::Status(statuses) => statuses.contains(issue.status()),
            Self::Classification(kind) => issue.classification() == *kind,
            Self::Priority(range) => range.contains(&attributes.effective_priority()),
            Self::Label(Some(label)) => attributes.labels.contains(label),
            Self::Label(None) => attributes.labels.is_empty(),
            Self::Assignee(name) => attributes.assignee.as_deref() == name.as_deref(),
            Self::Holder(name) => issue.holder() == name.as_deref(),
            Self::Filer(name) => issue.filer() == Some(name),
            Self::Involves(name) => {
                issue.has_actor(name) || attributes.assignee.as_deref() == Some(name)
            }
            Self::Parent(ids) => attributes.parent().is_some_and(|id| ids.contains(&id)),
            Self::Unlinked(kind) => attributes.linked(*kind).next().is_none(),
            Self::Blocks(ids) => issue.blocks(ids),
            Self::BlockedBy(ids) => {
                attributes.linked(LinkKind::BlockedBy).any(|id| ids.contains(&id))
            }
            Self::Id(ids) => ids.contains(&issue.id()),
            Self::Ids(ids) => ids.contains(&issue.id()),
            Self::Value(field, range) => {
                FieldValue::of(*field, attributes).rank().is_some_and(|rank| range.contains(&rank))
            }
            Self::Returns(range) => range.contains(&issue.returns()),
            Self::Claims(range) => range.contains(&issue.claims()),
            Self::Created(range) => range.contains(&issue.created_at()),
            Self::Changed(range) => range.contains(&issue.modified_at()),
            Self::Active(range) => range.contains(&issue.active_at()),
            Self::Ready(now) => {
                issue.status() == Status::Created
                    && !attributes.is_parked_at(*now)
                    && !issue.has_open_blocker()
                    && !issue.has_open_part()
                    && !issue.waits_with_whole(*now)
            }
            Self::Blocked => issue.status().is_open() && issue.has_open_blocker(),
            Self::BlockerEnded => issue.has_ended_blocker(),
            Self::Waits => {
                issue.status().is_open() && (issue.has_open_blocker() || issue.has_open_part())
            }
            Self::Whole => issue.has_part(),
            Self::External(id) => issue.has_external_id(id),
            Self::Tells { subjects, at_least } => {
                issue.told_subjects().intersection(subjects).take(*at_least).count() == *at_least
            }
            Self::Parked(now) => issue.status().is_open() && attributes.is_parked_at(*now),
            Self::Text(text) => issue.contains(text),
            Self::SomeTexts { texts, at_least } => {
                texts.iter().filter(|text| issue.contains(text)).take(*at_least).count()
                    == *at_least
            }
        }
    }

    /// Returns the texts that every match has.
    pub fn required_texts(&self) -> Vec<&str> {
        self.conjuncts().iter().filter_map(Self::text).collect()
    }

    /// Returns how well the lower-case title of a match fits the [required texts](Self::required_texts): one for each
    /// that it has, and one more for each that stands there between spaces.
    pub fn title_score(&self, title: &str) -> usize {
        let padded = format!(" {title} ");
        let score = |text: &str| {
            usize::from(title.contains(text)) + usize::from(padded.contains(&format!(" {text} ")))
        };
        self.required_texts().into_iter().map(score).sum()
    }

    /// Returns how many texts of [`SomeTexts`](Self::SomeTexts) an issue contains.
    pub fn relevance(&self, issue: &impl Subject) -> usize {
        let count = |condition: &Self| match condition {
            Self::SomeTexts { texts, .. } => {
                texts.iter().filter(|text| issue.contains(text)).count()
            }
            _ => 0,
        };
        self.conjuncts().iter().map(count).sum()
    }
}

impl Issue {
    /// Returns the time of the last substantive change: what was filed, done, decided, said, asked, or written anew.
    /// Claims, returns, lapses, and changes of attributes and links alone are none.
    pub fn active_at(&self) -> Timestamp {
        let is_substantive = |entry: &&TimelineEntry<'_>| match entry.kind() {
            ActionKind::Claimed
            | ActionKind::ReviewStarted
            | ActionKind::Returned
            | ActionKind::Lapsed => false,
            ActionKind::Changed => {
                let fields = entry.action.unwrap_or_default();
                entry.comment.is_some()
                    || ["title", "description"].iter().any(|text| fields.contains(text))
            }
            _ => true,
        };
        let timeline = self.timeline();
        timeline.iter().rfind(is_substantive).map_or(self.created_at, |entry| entry.at)
    }

    /// Returns the searchable texts in lower case.
    pub fn searchable_texts(&self) -> impl Iterator<Item = String> {
        let comments = self.comments.iter().map(|comment| comment.text.as_str());
        let texts = [self.title.as_str(), self.description.as_str()].into_iter().chain(comments);
        texts.map(str::to_lowercase)
    }

    /// Returns true if it has an id in another tracker, in lower case.
    pub fn has_external_id(&self, id: &str) -> bool {
        self.external_ids().iter().any(|own| own.to_lowercase() == id)
    }

    /// Returns the ids in other trackers in lower case, each behind a `#`.
    pub fn searchable_ids(&self) -> impl Iterator<Item = String> {
        self.external_ids().into_iter().map(|id| format!("#{}", id.to_lowercase()))
    }
}

/// The searchable texts of an issue in lower case, and its ids in other trackers.
#[derive(Clone, Debug)]
pub struct LoweredTexts {
    texts: Vec<String>,
    ids: Vec<String>,
}

impl LoweredTexts {
    /// Returns the texts of an issue.
    pub fn of(issue: &Issue) -> Self {
        let texts = issue.searchable_texts().collect();
        let ids = issue.searchable_ids().collect();
        Self { texts, ids }
    }

    /// Returns true if a lower-case text occurs in one of the texts, or is one of the ids.
    pub fn contain(&self, text: &str) -> bool {
        self.ids.iter().any(|id| id == text || id.strip_prefix('#') == Some(text))
            || self.texts.iter().any(|whole| whole.contains(text))
    }
}

/// Which ids a lower-case text names: those that it begins, and the one that it is a reference to, as people write it
/// in texts.
#[derive(Clone, Debug)]
pub struct IdName(Vec<RangeInclusive<IssueId>>);

impl IdName {
    /// Returns what a text names.
    pub fn of(text: &str) -> Self {
        let is_id = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
        let begun = text.bytes().all(is_id).then(|| IssueRef::begun(text)).flatten();
        let named = IssueRef::in_search(text).map(|reference| reference.range());
        Self(begun.into_iter().chain(named).collect())
    }

    /// Returns the ranges of the ids.
    pub fn ranges(&self) -> &[RangeInclusive<IssueId>] {
        &self.0
    }

    /// Returns true if the text names an id.
    pub fn names(&self, id: IssueId) -> bool {
        self.0.iter().any(|range| range.contains(&id))
    }
}
