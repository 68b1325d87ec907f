//! A random history of some clones, and the model of what must be there in the end.

use std::collections::{BTreeMap, BTreeSet};

use agent_issue_tracker::domain::event::LATE_ACTION;
use agent_issue_tracker::domain::{
    ActionKind, AgentName, Classification, Command, CommentText, Facts, FieldValue, Issue,
    IssueChange, IssueId, Label, LinkKind, RequiredClaim, Resolution,
};
use agent_issue_tracker::store::files::format;
use agent_issue_tracker::store::{EventPosition, State};

use crate::support::commands::{add, at};

/// Clones of a repository, each on its own branch.
pub trait Clones {
    /// Returns the file in a clone.
    fn read(&self, clone: usize) -> Vec<u8>;
    /// Replaces the file in a clone.
    fn write(&mut self, clone: usize, file: &[u8]);
    /// Commits the file, if it has changed.
    fn commit(&mut self, clone: usize);
    /// Merges the branches of other clones.
    fn merge(&mut self, clone: usize, others: &[usize]);
    /// Rebases onto the branch of another clone.
    fn rebase(&mut self, clone: usize, onto: usize);
    /// Picks the last commit of another clone, unless it is a merge.
    fn cherry_pick(&mut self, clone: usize, from: usize);
    /// Stashes what is not committed.
    fn stash(&mut self, clone: usize);
    /// Applies what was stashed.
    fn pop(&mut self, clone: usize);
}

/// An entry of a history: issue, time, agent and action.
type Entry = (IssueId, String, String, String);

/// Who comments on what a merge did not take over.
const MERGE: &str = "git-merge";

/// Everything that was ever written.
#[derive(Default)]
struct Model {
    entries: BTreeSet<Entry>,
    comments: BTreeSet<(IssueId, String)>,
    /// The titles, which only one clone sets for each issue.
    titles: BTreeMap<IssueId, String>,
    /// Whether an issue has the label of a clone, which only that clone sets.
    labels: BTreeMap<(IssueId, usize), bool>,
}

pub struct History<C> {
    seed: u64,
    random: fastrand::Rng,
    clones: C,
    count: usize,
    clock: i64,
    issues: u32,
    model: Model,
    /// Whether commits were made again. Their common ancestors are older than what both sides know.
    is_rewritten: bool,
}

impl<C: Clones> History<C> {
    /// Runs a history, and returns what is wrong at its end.
    pub fn run(seed: u64, clones: &impl Fn(u64, usize) -> C) -> Result<(), String> {
        let mut random = fastrand::Rng::with_seed(seed);
        let count = random.usize(2..=4);
        let clones = clones(seed, count);
        let model = Model::default();
        let is_rewritten = false;
        let mut history =
            Self { seed, random, clones, count, clock: 0, issues: 0, model, is_rewritten };
        for _ in 0..history.random.usize(6..14) {
            history.step();
        }
        history.meet();
        history.check()
    }

    fn step(&mut self) {
        let clone = self.random.usize(..self.count);
        let other = (clone + self.random.usize(1..self.count)) % self.count;
        for _ in 0..self.random.usize(1..4) {
            self.change(clone);
        }
        let is_stashed = self.random.u8(..6) == 0;
        if is_stashed {
            self.clones.stash(clone);
        } else {
            self.clones.commit(clone);
        }
        self.clones.commit(other);
        match self.random.u8(..7) {
            0 | 1 => self.clones.merge(clone, &[other]),
            2 => {
                self.is_rewritten = true;
                self.clones.rebase(clone, other);
            }
            3 => {
                self.is_rewritten = true;
                self.clones.cherry_pick(clone, other);
            }
            4 if self.count > 2 => {
                let others: Vec<_> = (0..self.count).filter(|other| *other != clone).collect();
                self.clones.merge(clone, &others);
            }
            _ => {}
        }
        if is_stashed {
            self.clones.pop(clone);
            self.clones.commit(clone);
        }
    }

    /// Merges all clones, until all have the same.
    fn meet(&mut self) {
        for clone in 0..self.count {
            self.clones.commit(clone);
        }
        for clone in 1..self.count {
            self.clones.merge(0, &[clone]);
        }
        for clone in 1..self.count {
            self.clones.merge(clone, &[0]);
        }
    }

    /// Makes a change in a clone, as its agent would.
    fn change(&mut self, clone: usize) {
        let mut state = State::of(parsed(&self.clones.read(clone)));
        // The clocks of machines differ.
        self.clock += 1 + self.random.i64(0..50);
        let now = at(self.clock * 10 + self.random.i64(-200..200) * 10 + clone as i64);
        let command = self.command(&state, clone);
        let Ok(Some(event)) = state.decide(&command, now) else { return };
        let number = state.position.number + 1;
        state.apply(&event, EventPosition { number, hash: 0 }).unwrap();
        if let Command::ChangeIssue { change, .. } = &command {
            if let Some(title) = &change.title {
                self.model.titles.insert(event.issue, title.as_str().to_owned());
            }
            for (labels, is_set) in [(&change.labels_add, true), (&change.labels_remove, false)] {
                if !labels.is_empty() {
                    self.model.labels.insert((event.issue, clone), is_set);
                }
            }
        }
        let issue = state.issues.get(event.issue).unwrap();
        self.model.entries.extend(entries(&issue));
        self.model.comments.extend(comments(&issue));
        let mut file = Vec::new();
        format::write(&state.document(), &mut file).unwrap();
        self.clones.write(clone, &file);
    }

    fn command(&mut self, state: &State, clone: usize) -> Command {
        let agent = AgentName::try_from(format!("agent-{clone}")).unwrap();
        let count = state.issues.len();
        if count == 0 || self.random.u8(..4) == 0 {
            self.issues += 1;
            return add(self.issues, Classification::Bug);
        }
        let issue = state.issues.at(self.random.usize(..count));
        let other = state.issues.at(self.random.usize(..count)).id.into();
        let is_owner = issue.id.to_string().as_bytes()[7] as usize % self.count == clone;
        let id = issue.id.into();
        let comment = CommentText::try_from(format!("comment {}", self.clock)).unwrap();
        let required_claim = RequiredClaim::Holder.into();
        let change = match self.random.u8(..14) {
            0..=2 => {
                let (issue, terms) = (None, Default::default());
                return Command::GetNextIssue { issue, classification: None, agent, terms };
            }
            3 => return Command::GetNextReviewItem { agent, terms: Default::default() },
            4 | 5 => {
                return Command::CompleteIssue {
                    issue: id,
                    comment,
                    agent,
                    required_claim,
                    facts: Facts::default(),
                };
            }
            6 => return Command::ReturnIssue { issue: id, comment, agent, required_claim },
            7 => {
                let resolution = Resolution::Closed;
                return Command::CloseIssue {
                    issue: id,
                    resolution,
                    comment,
                    agent,
                    required_claim,
                };
            }
            8 => return Command::CommentIssue { issue: id, comment, agent },
            9 if is_owner => {
                let title = Some(format!("title {}", self.clock).try_into().unwrap());
                IssueChange { title, ..IssueChange::default() }
            }
            10 => {
                let label: Label = format!("of-{clone}").parse().unwrap();
                let has_label = issue.attributes.labels.contains(&label);
                let (labels_add, labels_remove) =
                    if has_label { (vec![], vec![label]) } else { (vec![label], vec![]) };
                IssueChange { labels_add, labels_remove, ..IssueChange::default() }
            }
            11 => {
                let links_add = vec![(LinkKind::BlockedBy, other)];
                IssueChange { links_add, ..IssueChange::default() }
            }
            12 => {
                let parked = Some(issue.attributes.parked.is_none().then_some((comment, None)));
                IssueChange { parked, ..IssueChange::default() }
            }
            _ => FieldValue::Priority(Some(self.random.u64(..5).try_into().unwrap())).into(),
        };
        Command::ChangeIssue { issue: id, change: change.into(), agent }
    }

    fn check(&self) -> Result<(), String> {
        let fail = |what: String| Err(format!("{what}, in the history of seed {}", self.seed));
        let file = self.clones.read(0);
        if let Some(clone) = (1..self.count).find(|clone| self.clones.read(*clone) != file) {
            return fail(format!("clone {clone} has another file than clone 0"));
        }
        let issues: Vec<_> = parsed(&file).issues.issues().collect();
        let found: BTreeSet<_> = issues.iter().flat_map(|issue| entries(issue)).collect();
        if let Some(lost) = self.model.entries.difference(&found).next() {
            return fail(format!("an entry is lost: {lost:?}"));
        }
        let found: BTreeSet<_> = issues.iter().flat_map(|issue| comments(issue)).collect();
        if let Some(lost) = self.model.comments.difference(&found).next() {
            return fail(format!("a comment is lost: {lost:?}"));
        }
        for issue in &issues {
            let wanted = self.model.titles.get(&issue.id);
            if wanted.is_some_and(|wanted| *wanted != issue.title) {
                return fail(format!("a title is lost: {wanted:?} is {:?}", issue.title));
            }
            for clone in 0..self.count {
                let label: Label = format!("of-{clone}").parse().unwrap();
                let wanted = self.model.labels.get(&(issue.id, clone)).copied().unwrap_or_default();
                let is_set = issue.attributes.labels.contains(&label);
                let is_told = issue.comments.iter().any(|comment| comment.text.contains("labels:"));
                // A label that was removed may come back.
                let is_back = is_set && self.is_rewritten;
                if is_set != wanted && !is_told && !is_back {
                    return fail(format!("a label of clone {clone} is lost in {}", issue.id));
                }
            }
            if let Err(what) = follows(issue) {
                return fail(format!("{}: {what}", issue.id));
            }
        }
        Ok(())
    }
}

fn parsed(file: &[u8]) -> agent_issue_tracker::store::Document {
    if file.is_empty() {
        return agent_issue_tracker::store::Document::default();
    }
    format::parse(file).unwrap()
}

/// Returns the entries of an issue, but for those that merges made: a rebase leaves merges out.
fn entries(issue: &Issue) -> impl Iterator<Item = Entry> {
    issue.history.iter().filter(|entry| entry.agent != MERGE).map(|entry| {
        let action = entry.action.strip_prefix(LATE_ACTION).unwrap_or(&entry.action);
        (issue.id, entry.timestamp.to_string(), entry.agent.clone(), action.to_owned())
    })
}

fn comments(issue: &Issue) -> impl Iterator<Item = (IssueId, String)> {
    let comments = issue.comments.iter().filter(|comment| comment.agent != MERGE);
    comments.map(|comment| (issue.id, comment.text.clone()))
}

/// Checks that the status follows from the history by the rules, and that one claim at a time is held.
fn follows(issue: &Issue) -> Result<(), String> {
    let mut status = None;
    for entry in &issue.history {
        let kind = ActionKind::of(&entry.action);
        let Some(after) = kind.status_after(status) else { continue };
        if let Some(before) = status
            && !kind.can_lead(before, after)
        {
            return Err(format!("{:?} leads from {before} to {after}", entry.action));
        }
        status = Some(after);
    }
    if status == Some(issue.status) {
        return Ok(());
    }
    Err(format!("it is {}, and its history leads to {status:?}", issue.status))
}
