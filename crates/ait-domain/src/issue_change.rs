//! Changes of an issue that leave its status alone: texts, attributes and links.

use xxhash_rust::xxh3::xxh3_64;

use super::attributes::AttributeValues;
use super::event::{BY_PERSON, CHANGE_ACTION};
use super::links::{self, IssueGraph};
use super::question::REASON_CHARS;
use super::text::shortened;
use super::{
    Attributes, Checks, Classification, Comment, CommentText, Description, DomainError, Event,
    EventKind, FieldValue, HistoryEntry, Issue, IssueId, IssueRef, Label, Link, LinkKind, Parked,
    Patch, Status, Timestamp, Title,
};

/// What to change in an issue. A field that is `None` or empty stays.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IssueChange {
    /// The new title.
    pub title: Option<Title>,
    /// The new description.
    pub description: Option<Description>,
    /// The new kind of work.
    pub classification: Option<Classification>,
    /// The fields that get another value, or none.
    pub values: Vec<FieldValue>,
    pub labels_add: Vec<Label>,
    pub labels_remove: Vec<Label>,
    /// The new parent; `Some(None)` removes it.
    pub parent: Option<Option<IssueRef>>,
    /// All blockers after the change.
    pub blocked_by: Option<Vec<IssueRef>>,
    /// Links to add. A new parent replaces the old one.
    pub links_add: Vec<(LinkKind, IssueRef)>,
    pub links_remove: Vec<(LinkKind, IssueRef)>,
    /// Parks the issue for a reason, perhaps until a time; `Some(None)` unparks it.
    pub parked: Option<Option<(CommentText, Option<Timestamp>)>>,
    /// A comment to add. It alone is allowed, too.
    pub comment: Option<CommentText>,
    /// Whether the history says that a person made the change: failed attempts are then counted anew.
    pub says_by_person: bool,
    /// The checks that work must pass: an agent cannot choose another one for what it holds.
    pub checks: Option<Checks>,
}

impl From<FieldValue> for IssueChange {
    fn from(value: FieldValue) -> Self {
        Self { values: vec![value], ..Self::default() }
    }
}

impl IssueChange {
    /// Returns the issues that the change links to, or unlinks.
    pub fn references_mut(&mut self) -> impl Iterator<Item = &mut IssueRef> {
        let links = self.links_add.iter_mut().chain(&mut self.links_remove);
        let parent_and_blockers =
            self.parent.iter_mut().flatten().chain(self.blocked_by.iter_mut().flatten());
        parent_and_blockers.chain(links.map(|(_, to)| to))
    }

    /// Decides the change.
    ///
    /// # Errors
    ///
    /// Refuses a change that changes nothing, one that an issue which has ended does not allow, links that make a cycle
    /// or go too deep, and too many labels or links.
    pub fn decide(
        &self,
        issue: &Issue,
        agent: &str,
        now: Timestamp,
        graph: &dyn IssueGraph,
    ) -> Result<Event, DomainError> {
        if let (Some(Some(_)), Some(question)) = (&self.parked, issue.open_question()) {
            // The question would be lost.
            let question = shortened(&question.text, REASON_CHARS);
            return Err(DomainError::AlreadyAsked { id: issue.id, question });
        }
        let at = now.max(issue.modified_at);
        let mut after = issue.clone();
        self.change_texts(&mut after);
        if let Some(checks) = &self.checks
            && issue.holder().is_some_and(|holder| holder.agent == agent)
            && checks.of(after.classification) != checks.of(issue.classification)
        {
            return Err(DomainError::KindOfClaim { id: issue.id });
        }
        after.attributes = self.attributes(issue.id, &issue.attributes, agent, at, graph)?;
        after.set_unknown_namesakes_aside();
        let fields = Patch::between(issue, &after).fields();
        if fields.is_empty() && self.comment.is_none() {
            return Err(DomainError::NothingToChange { id: issue.id });
        }
        // The work on an issue that has ended is over, but it can still be found, linked and discussed. An entry is no
        // work, and stays none.
        let is_always_allowed = |field: &&str| ["labels", "links", "other keys"].contains(field);
        let is_allowed = match issue.status {
            Status::Kept => after.classification.is_entry() && after.attributes.parked.is_none(),
            status => status.is_open() || fields.iter().all(is_always_allowed),
        };
        if !is_allowed {
            return Err(DomainError::Terminal { id: issue.id, status: issue.status });
        }
        if let (true, Some(comment)) = (fields.is_empty(), &self.comment) {
            let comment = comment.as_str().to_owned();
            let kind = EventKind::Commented { comment, leaves_entry: true };
            let before = Some(super::Before::of(issue));
            return Ok(Event { before, ..Event::new(issue.id, at, agent, kind) });
        }
        after.modified_at = at;
        let by = if self.says_by_person { BY_PERSON } else { "" };
        let action = format!("{CHANGE_ACTION}{}{by}", fields.join(", "));
        after.history.push(HistoryEntry::new(at, agent, action));
        let comment = self.comment.as_ref();
        after.comments.extend(comment.map(|text| Comment::new(at, agent, text.as_str())));
        let patch = Box::new(Patch::between(issue, &after));
        Ok(Event::new(issue.id, at, agent, EventKind::Changed { patch }))
    }

    /// Returns the attributes of a new issue.
    pub fn attributes_of_new(
        &self,
        id: IssueId,
        agent: &str,
        now: Timestamp,
        graph: &dyn IssueGraph,
    ) -> Result<Attributes, DomainError> {
        if *self == Self::default() {
            return Ok(Attributes::default());
        }
        self.attributes(id, &Attributes::default(), agent, now, graph)
    }

    fn change_texts(&self, issue: &mut Issue) {
        if let Some(title) = &self.title {
            title.as_str().clone_into(&mut issue.title);
        }
        if let Some(description) = &self.description {
            description.as_str().clone_into(&mut issue.description);
        }
        issue.classification = self.classification.unwrap_or(issue.classification);
    }

    /// Returns the attributes of an issue after the change.
    fn attributes(
        &self,
        id: IssueId,
        attributes: &Attributes,
        agent: &str,
        at: Timestamp,
        graph: &dyn IssueGraph,
    ) -> Result<Attributes, DomainError> {
        let mut values = AttributeValues::clone(attributes);
        self.values.iter().for_each(|value| value.set(&mut values));
        values.labels.retain(|label| !self.labels_remove.contains(label));
        for label in &self.labels_add {
            if !values.labels.contains(label) {
                values.labels.push(label.clone());
            }
        }
        if let Some(parked) = &self.parked {
            values.parked = parked.as_ref().map(|(reason, until)| {
                let reason = reason.as_str().to_owned();
                let by = agent.to_owned();
                Box::new(Parked { reason, since: at, by, until: *until, question: None })
            });
        }
        let before = values.links.clone();
        self.change_links(&mut values.links, graph)?;
        let added: Vec<Link> =
            values.links.iter().filter(|link| !before.contains(link)).copied().collect();
        links::check(id, &values.links, &added, graph)?;
        let what = "labels";
        let count = values.labels.len();
        let limit = Label::MAX_COUNT;
        if count > limit {
            return Err(DomainError::TooMany { id, what, count, limit });
        }
        values.labels.sort_unstable();
        Ok(Attributes::from(values))
    }

    fn change_links(
        &self,
        links: &mut Vec<Link>,
        graph: &dyn IssueGraph,
    ) -> Result<(), DomainError> {
        let link = |kind, reference: &IssueRef| {
            Ok::<_, DomainError>(Link { kind, to: graph.resolve(reference)? })
        };
        if let Some(parent) = &self.parent {
            links.retain(|link| link.kind != LinkKind::Parent);
            if let Some(parent) = parent {
                links.push(link(LinkKind::Parent, parent)?);
            }
        }
        if let Some(blockers) = &self.blocked_by {
            let blockers: Vec<Link> = blockers
                .iter()
                .map(|blocker| link(LinkKind::BlockedBy, blocker))
                .collect::<Result<_, _>>()?;
            links.retain(|link| link.kind != LinkKind::BlockedBy || blockers.contains(link));
            add(links, blockers);
        }
        for (kind, reference) in &self.links_remove {
            // The other issue may be gone.
            links.retain(|link| link.kind != *kind || !reference.range().contains(&link.to));
        }
        for (kind, reference) in &self.links_add {
            let added = link(*kind, reference)?;
            if *kind == LinkKind::Parent {
                links.retain(|link| link.kind != LinkKind::Parent);
            }
            add(links, [added]);
        }
        Ok(())
    }
}

fn add(links: &mut Vec<Link>, added: impl IntoIterator<Item = Link>) {
    for link in added {
        if !links.contains(&link) {
            links.push(link);
        }
    }
}

impl Issue {
    /// Returns the version of the issue: a short text that differs after every change.
    ///
    /// It has the numbers of history entries and comments, so that the changes since then can be told, and a hash of
    /// the whole issue.
    pub fn version(&self) -> String {
        let json = serde_json::to_vec(self).unwrap_or_default();
        // 32 bits of the hash: two versions with the same numbers are few.
        let hash = xxh3_64(&json) & 0xffff_ffff;
        format!("{}.{}.{hash:08x}", self.history.len(), self.comments.len())
    }

    /// Checks that the issue still has a version.
    ///
    /// # Errors
    ///
    /// [`DomainError::VersionChanged`], with what changed since.
    pub fn require_version(&self, given: &str) -> Result<(), DomainError> {
        const SHOWN_CHARS: usize = 40;
        const MAX_ENTRIES: usize = 5;
        let version = self.version();
        if version == given {
            return Ok(());
        }
        let mut numbers = given.split('.').map(str::parse::<usize>);
        let known = numbers.next().and_then(Result::ok).unwrap_or(0).min(self.history.len());
        let newer = &self.history[known..];
        let shown: Vec<String> = newer
            .iter()
            .rev()
            .take(MAX_ENTRIES)
            .map(|entry| {
                format!(
                    "{} by {}",
                    shortened(&entry.action, SHOWN_CHARS),
                    shortened(&entry.agent, SHOWN_CHARS)
                )
            })
            .collect();
        let changes = match shown.len() {
            0 => "an edit of the file".to_owned(),
            count if count < newer.len() => {
                format!("{} and {} more", shown.join(", "), newer.len() - count)
            }
            _ => shown.join(", "),
        };
        let given = shortened(given, SHOWN_CHARS);
        Err(DomainError::VersionChanged { id: self.id, given, changes, version })
    }
}
