//! Which issues the decision of commands looks at.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::sql::advisory_key;
use crate::sql::condition::bounds;
use crate::sql::rows::{filer_mark, storable};
use ait_domain::{
    Command, CommandTarget, IssueChange, IssueId, IssueRef, Link, ReviewPolicy, Timestamp,
};

/// What some commands look at.
#[derive(Default, Debug)]
pub(super) struct Needs {
    /// The ranges of ids of the issues that the commands name, and of those to which they add links. They are locked.
    named: BTreeSet<(Uuid, Uuid)>,
    /// Whether links are added, so that everything counts that the issues wait for.
    pub adds_links: bool,
    /// Whether the unknown top-level keys are changed.
    pub sets_keys: bool,
    /// The claims for work, by kind: how many each agent makes.
    pub work: BTreeMap<Option<i16>, BTreeMap<String, usize>>,
    /// The claims for review, and for each agent what no author of the issue may be: two names, or empty ones.
    pub reviews: usize,
    pub reviewers: BTreeSet<(String, String)>,
    /// The agents whose claims are counted.
    pub counted: BTreeSet<String>,
    /// The latest time of the commands, for issues that are parked until then.
    pub now_ms: i64,
}

impl Needs {
    /// Returns true if there are only claims of what is ready, and one statement finds that. It draws the sequence
    /// numbers of their events, too. Several would draw numbers before they have all locks.
    pub fn draw_by_claiming(&self) -> bool {
        let searches = self.work.len() + usize::from(self.reviews > 0);
        searches == 1 && !self.names_issues() && !self.sets_keys
    }

    /// Adds what a command looks at.
    pub fn add(&mut self, command: &Command, now: Timestamp) {
        self.now_ms = self.now_ms.max(now.unix_millis());
        match command.target() {
            CommandTarget::New(id) | CommandTarget::Existing(id) => self.name_id(id),
            CommandTarget::Named(reference) => self.name(reference),
            CommandTarget::Document => self.sets_keys = true,
            CommandTarget::Next(agent, kind) => {
                let agents = self.work.entry(kind.map(|kind| kind as i16)).or_default();
                *agents.entry(storable(agent.as_str())).or_default() += 1;
            }
            CommandTarget::NextReview(agent, policy) => {
                self.reviews += 1;
                let agent = storable(agent.as_str());
                self.reviewers.insert(match policy {
                    // All agents that may review everything get the same issue.
                    ReviewPolicy::Anyone => Default::default(),
                    ReviewPolicy::NotAuthor => (agent, String::new()),
                    ReviewPolicy::Uninvolved => (agent.clone(), filer_mark(&agent)),
                });
            }
        }
        match command {
            Command::AddIssue { details: change, .. } | Command::ChangeIssue { change, .. } => {
                self.add_change(change);
            }
            Command::ImportIssue { issue, .. } => {
                self.add_links(&issue.issue().attributes.links);
            }
            Command::MergeEdit { theirs: issue, .. }
            | Command::ReplaceIssue { issue, .. }
            | Command::UndoChanges { result: issue, .. } => {
                self.add_links(&issue.attributes.links);
            }
            Command::InsertIssue { issue, next, .. } => {
                self.add_links(&issue.attributes.links);
                next.iter().for_each(|id| self.name_id(*id));
            }
            Command::RemoveIssue { next, .. } => {
                next.iter().for_each(|id| self.name_id(*id));
            }
            Command::GetNextIssue { agent, terms, .. }
            | Command::GetNextReviewItem { agent, terms } => {
                if terms.max_claims.is_some() {
                    self.counted.insert(storable(agent.as_str()));
                }
            }
            // Everything counts that it waits for again.
            Command::ReopenIssue { .. } => self.adds_links = true,
            // Their issue, with those around it, is enough.
            Command::ReturnIssue { .. }
            | Command::CompleteIssue { .. }
            | Command::CloseIssue { .. }
            | Command::CommentIssue { .. }
            | Command::RecordCheck { .. }
            | Command::RecordUsage { .. }
            | Command::AskHuman { .. }
            | Command::AnswerQuestion { .. }
            | Command::RequireVersion { .. }
            | Command::LapseClaim { .. }
            | Command::TakeUpClaim { .. }
            | Command::ParkAfterAttempts { .. }
            | Command::SetUnknownKeys { .. }
            | Command::PatchUnknownKey { .. } => {}
        }
    }

    fn add_change(&mut self, change: &IssueChange) {
        let parent = change.parent.iter().flatten();
        let blockers = change.blocked_by.iter().flatten();
        let added = change.links_add.iter().map(|(_, reference)| reference);
        let removed = change.links_remove.iter().map(|(_, reference)| reference);
        for reference in parent.chain(blockers).chain(added) {
            self.name(reference);
            self.adds_links = true;
        }
        removed.for_each(|reference| self.name(reference));
    }

    fn add_links(&mut self, links: &[Link]) {
        for link in links {
            self.name_id(link.to);
            self.adds_links = true;
        }
    }

    fn name(&mut self, reference: &IssueRef) {
        self.named.insert(bounds(&reference.range()));
    }

    fn name_id(&mut self, id: IssueId) {
        self.named.insert((id.into(), id.into()));
    }

    /// Adds issues that turned out to be needed.
    pub fn name_ids(&mut self, ids: impl IntoIterator<Item = IssueId>) {
        ids.into_iter().for_each(|id| self.name_id(id));
    }

    /// Returns true if issues are named.
    pub fn names_issues(&self) -> bool {
        !self.named.is_empty()
    }

    /// Returns the lower and the upper ends of the ranges.
    pub fn ranges(&self) -> (Vec<Uuid>, Vec<Uuid>) {
        self.named.iter().copied().unzip()
    }

    /// Returns the ids that are named in full, whether or not there are such issues.
    pub fn exact(&self) -> Vec<Uuid> {
        self.named.iter().filter(|(low, high)| low == high).map(|(low, _)| *low).collect()
    }

    /// Returns the keys of the advisory locks. They serialise what row locks do not: adding links, because two links
    /// may form a cycle together, and counting the claims of one agent.
    pub fn advisory_keys(&self, schema: &str) -> Vec<i64> {
        let links = self.adds_links.then(|| advisory_key("links", schema));
        let agent = |agent: &String| advisory_key(&format!("claims of {agent}"), schema);
        links.into_iter().chain(self.counted.iter().map(agent)).collect()
    }
}
