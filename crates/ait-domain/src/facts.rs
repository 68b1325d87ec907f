//! What was measured of an action: the branch that was handed in, how a check ended, and what a claim used. The history
//! keeps it with the action.
//!
//! An agent says what it did in a comment, and cannot say this. Only [`Command::RecordCheck`](super::Command) makes
//! receipts: those in files are [removed](Issue::without_foreign_receipts) before anything looks at them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::attributes::take;
use super::event::{CHECK_FAILED, CHECK_PASSED, USAGE_ACTION};
use super::{
    ActionKind, AgentName, DomainError, Event, EventKind, HistoryEntry, Issue, Patch, Timestamp,
    UnknownKeys,
};

/// What was measured of an action. Most actions have none of it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Facts {
    /// What was handed in with a completion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<Box<Work>>,
    /// How a check ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<Box<Receipt>>,
    /// What a claim used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Box<Usage>>,
}

/// The commits on the branch of an issue.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Work {
    /// How many commits the branch adds to the main branch.
    pub commits: usize,
    /// How many files they change.
    pub files: usize,
    /// How many lines they add.
    pub added: usize,
    /// How many lines they remove.
    pub removed: usize,
    /// The last commit of the branch.
    pub head: String,
    /// The hash of the files of that commit.
    pub tree: String,
    /// The commit that brought it to the main branch, if that was done before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<String>,
    /// The number of the pull request that the commit names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<u64>,
}

/// How a check ended.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// The shell command.
    pub command: String,
    /// The hash of the files that it ran on.
    pub tree: String,
    /// The exit code; 128 and the signal if one ended it. 0 if the check passed.
    pub exit: i32,
    /// How long it took, in milliseconds.
    pub ms: u64,
    /// The commit with these files on the main branch, if the branch was merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<String>,
    /// The last lines of the output of a check that failed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
}

/// What an agent used for a claim, as its client tells.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// The number of the claim of the issue; 0 if it is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub claim: usize,
    /// The model that answered last.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// How many tokens the model read, with those from its cache.
    pub input: u64,
    /// How many of them came from its cache.
    #[serde(default)]
    pub cached: u64,
    /// How many tokens the model wrote.
    pub output: u64,
    /// How often the model answered.
    pub turns: u64,
    /// How long the agent worked, in seconds.
    pub seconds: u64,
    /// What that costs by the prices of the project, in millionths of their currency. `None` without a price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micros: Option<u64>,
}

impl Facts {
    /// Returns true if nothing was measured.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Takes the facts out of the unknown keys of a history entry. A value of another form stays an unknown key.
    pub fn take_from(keys: &mut UnknownKeys) -> Self {
        if keys.is_empty() {
            return Self::default();
        }
        Self {
            work: take(keys, "work", |_: &Work| true).map(Box::new),
            check: take(keys, "check", |_: &Receipt| true).map(Box::new),
            usage: take(keys, "usage", |_: &Usage| true).map(Box::new),
        }
    }
}

/// Returns the short form of a hash.
pub fn short_hash(hash: &str) -> &str {
    const DIGITS: usize = 7;
    hash.get(..DIGITS).unwrap_or(hash)
}

impl Receipt {
    /// How much of the output is kept, in bytes.
    pub const MAX_OUTPUT: usize = 1_000;

    /// Returns true if the check passed.
    pub fn has_passed(&self) -> bool {
        self.exit == 0
    }
}

/// Says it on one line, such as `3 commits, 4 files, +120 -8, head 1a2b3c4`.
impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { commits, files, added, removed, .. } = self;
        if *commits == 0 {
            return f.write_str("no changes");
        }
        let of = |count: usize| if count == 1 { "" } else { "s" };
        let head = short_hash(&self.head);
        write!(
            f,
            "{commits} commit{}, {files} file{}, +{added} -{removed}, head {head}",
            of(*commits),
            of(*files)
        )?;
        if let Some(merge) = &self.merge {
            write!(f, ", merged as {}", short_hash(merge))?;
        }
        self.pull_request.map_or(Ok(()), |number| write!(f, " (#{number})"))
    }
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Usage {
    /// Returns how many tokens were read and written.
    pub fn tokens(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Returns the part of each of several users.
    pub fn divided_by(&self, users: usize) -> Self {
        let part = |used: u64| used / (users.max(1) as u64);
        Self {
            claim: 0,
            model: String::new(),
            input: part(self.input),
            cached: part(self.cached),
            output: part(self.output),
            turns: part(self.turns),
            seconds: part(self.seconds),
            micros: self.micros.map(part),
        }
    }

    /// Returns true if nothing was used.
    pub fn is_empty(&self) -> bool {
        [self.input, self.output, self.turns, self.seconds].iter().all(|used| *used == 0)
    }

    /// Says what it costs, or how many tokens it was if no price is known.
    pub fn cost(&self) -> String {
        match self.micros {
            Some(micros) => format!("{}.{:02}", micros / 1_000_000, micros % 1_000_000 / 10_000),
            None => format!("{} tokens", Tokens(self.input.saturating_add(self.output))),
        }
    }

    /// Adds what was used later.
    pub fn add(&mut self, later: &Self) {
        if !later.model.is_empty() {
            self.model.clone_from(&later.model);
        }
        self.input = self.input.saturating_add(later.input);
        self.cached = self.cached.saturating_add(later.cached);
        self.output = self.output.saturating_add(later.output);
        self.turns = self.turns.saturating_add(later.turns);
        self.seconds = self.seconds.saturating_add(later.seconds);
        if let Some(micros) = later.micros {
            self.micros = Some(self.micros.unwrap_or_default().saturating_add(micros));
        }
    }

    /// Returns it without what is counted elsewhere.
    pub fn without(&self, other: &Self) -> Self {
        Self {
            claim: self.claim,
            model: self.model.clone(),
            input: self.input.saturating_sub(other.input),
            cached: self.cached.saturating_sub(other.cached),
            output: self.output.saturating_sub(other.output),
            turns: self.turns.saturating_sub(other.turns),
            seconds: self.seconds.saturating_sub(other.seconds),
            micros: self.micros.map(|all| all.saturating_sub(other.micros.unwrap_or(0))),
        }
    }
}

/// Says it on one line, such as `1.2M tokens in (1.1M cached), 8.4k out, 31 turns, cost 0.42`.
impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { input, cached, output, turns, .. } = self;
        write!(f, "{} tokens in", Tokens(*input))?;
        if *cached > 0 {
            write!(f, " ({} cached)", Tokens(*cached))?;
        }
        write!(f, ", {} out, {turns} turn{}", Tokens(*output), if *turns == 1 { "" } else { "s" })?;
        match self.micros {
            Some(_) => write!(f, ", cost {}", self.cost()),
            None => Ok(()),
        }
    }
}

/// What some claims used together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TotalUsage {
    pub usage: Usage,
    /// How many claims.
    pub claims: usize,
}

impl TotalUsage {
    /// Sums up what some claims of agents used; `None` without any.
    pub fn of<'a, A: Ord>(usages: impl Iterator<Item = (A, &'a Usage)>) -> Option<Self> {
        let mut usage = Usage::default();
        let mut claims = BTreeSet::new();
        for (agent, used) in usages {
            usage.add(used);
            claims.insert((agent, used.claim));
        }
        (!claims.is_empty()).then_some(Self { usage, claims: claims.len() })
    }

    /// Sums up what several issues used; `None` without any.
    pub fn sum(all: impl Iterator<Item = Self>) -> Option<Self> {
        all.reduce(|mut sum, one| {
            sum.usage.add(&one.usage);
            sum.claims += one.claims;
            sum
        })
    }
}

impl fmt::Display for TotalUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { usage, claims } = self;
        write!(f, "{usage}")?;
        if *claims > 1 {
            write!(f, ", {claims} claims")?;
        }
        match usage.model.as_str() {
            "" => Ok(()),
            model => write!(f, " ({model})"),
        }
    }
}

/// Shows a number of tokens with three digits at most, such as `8.4k`.
struct Tokens(u64);

impl fmt::Display for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, sign) = match self.0 {
            ..1_000 => return write!(f, "{}", self.0),
            1_000..1_000_000 => (1_000, 'k'),
            _ => (1_000_000, 'M'),
        };
        match self.0 / unit {
            whole @ 0..10 => write!(f, "{whole}.{}{sign}", self.0 % unit * 10 / unit),
            whole => write!(f, "{whole}{sign}"),
        }
    }
}

impl Issue {
    /// Returns what all claims of the issue used; `None` if nothing is known.
    pub fn usage(&self) -> Option<TotalUsage> {
        TotalUsage::of(self.usages())
    }

    fn usages(&self) -> impl Iterator<Item = (&str, &Usage)> {
        let entries = self.history.iter();
        entries.filter_map(|entry| Some((&*entry.agent, entry.facts.usage.as_deref()?)))
    }

    /// Returns what was handed in with the latest completion, as long as the issue was not returned since.
    pub fn handed_in(&self) -> Option<&Work> {
        let mut newest_first = self.history.iter().rev();
        let last = newest_first.find(|entry| {
            let kind = ActionKind::of(&entry.action);
            matches!(kind, ActionKind::Completed | ActionKind::Returned | ActionKind::Reopened)
        });
        last?.facts.work.as_deref()
    }

    /// Returns the last receipt for some files.
    pub fn receipt_of(&self, tree: &str) -> Option<&Receipt> {
        self.receipts().find(|receipt| receipt.tree == tree)
    }

    /// Returns true if a check passed on the merge of what was handed in last.
    pub fn is_merge_checked(&self, command: &str) -> bool {
        let since = |entry: &&HistoryEntry| ActionKind::of(&entry.action) != ActionKind::Completed;
        let later = self.history.iter().rev().take_while(since);
        let mut receipts = later.filter_map(|entry| entry.facts.check.as_deref());
        receipts.any(|receipt| {
            receipt.merge.is_some() && receipt.has_passed() && receipt.command == command
        })
    }

    /// Returns true if a check passed on some files.
    pub fn is_checked(&self, tree: &str, command: &str) -> bool {
        self.receipts().any(|receipt| {
            receipt.tree == tree && receipt.has_passed() && receipt.command == command
        })
    }

    fn receipts(&self) -> impl Iterator<Item = &Receipt> {
        self.history.iter().rev().filter_map(|entry| entry.facts.check.as_deref())
    }

    /// Returns an issue that comes from a file without the receipts that the known version lacks: any program can write
    /// them there.
    pub fn without_foreign_receipts<'a>(&'a self, known: Option<&Self>) -> Cow<'a, Self> {
        let is_foreign = |(at, entry): (usize, &HistoryEntry)| {
            entry.facts.check.is_some()
                && known.and_then(|known| known.history.get(at)) != Some(entry)
        };
        if !self.history.iter().enumerate().any(is_foreign) {
            return Cow::Borrowed(self);
        }
        let mut issue = self.clone();
        for (at, entry) in issue.history.iter_mut().enumerate() {
            if is_foreign((at, entry)) {
                entry.facts.check = None;
            }
        }
        Cow::Owned(issue)
    }
}

/// Records how a check ended.
///
/// # Errors
///
/// The issue has ended.
pub(super) fn record_check(
    issue: &Issue,
    receipt: &Receipt,
    agent: &AgentName,
    at: Timestamp,
) -> Result<Event, DomainError> {
    if issue.status.has_ended() {
        return Err(DomainError::Terminal { id: issue.id, status: issue.status });
    }
    let action = if receipt.has_passed() { CHECK_PASSED } else { CHECK_FAILED };
    let facts = Facts { check: Some(Box::new(receipt.clone())), ..Facts::default() };
    Ok(noted(issue, facts, action, agent, at))
}

/// Records what a claim used in all. Issues that have ended have it, too: their agents end after them. Returns `None`
/// if all of it is recorded.
pub(super) fn record_usage(
    issue: &Issue,
    usage: &Usage,
    agent: &AgentName,
    at: Timestamp,
) -> Option<Event> {
    let mut known = Usage::default();
    // A review has the number of the claim for work.
    let is_same =
        |(by, known): &(&str, &Usage)| *by == agent.as_str() && known.claim == usage.claim;
    issue.usages().filter(is_same).for_each(|(_, part)| known.add(part));
    let new = usage.without(&known);
    if new.is_empty() {
        return None;
    }
    let facts = Facts { usage: Some(Box::new(new)), ..Facts::default() };
    Some(noted(issue, facts, USAGE_ACTION, agent, at))
}

/// Returns the event that adds an entry to the history.
fn noted(issue: &Issue, facts: Facts, action: &str, agent: &AgentName, at: Timestamp) -> Event {
    let mut after = issue.clone();
    after.modified_at = at;
    after.history.push(HistoryEntry { facts, ..HistoryEntry::new(at, agent.as_str(), action) });
    let kind = EventKind::Changed { patch: Box::new(Patch::between(issue, &after)) };
    Event::new(issue.id, at, agent.as_str(), kind)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn entry(work: Value) -> Value {
        json!({
            "timestamp": "2026-01-31T09:30:00.000Z", "agent": "a", "action": "Issue completed", "work": work,
        })
    }

    #[test]
    fn work_is_kept_with_its_entry_and_other_forms_stay_unknown_keys() {
        let work = json!({ "commits": 3, "files": 1, "added": 120, "removed": 8, "head": "1a2b3c4d5e6f", "tree": "0" });
        let read: HistoryEntry = serde_json::from_value(entry(work.clone())).unwrap();
        let found = read.facts.work.as_deref().unwrap();
        assert_eq!(found.to_string(), "3 commits, 1 file, +120 -8, head 1a2b3c4");
        assert_eq!(serde_json::to_value(&read).unwrap(), entry(work));
        for other in [json!("done"), json!({ "commits": 3 }), json!({ "commits": -1 })] {
            let read: HistoryEntry = serde_json::from_value(entry(other.clone())).unwrap();
            assert!(read.facts.is_empty());
            assert_eq!(serde_json::to_value(&read).unwrap(), entry(other));
        }
    }

    #[test]
    fn usage_is_summed_over_claims_and_never_overflows() {
        let used = |agent: &str, input: u64, micros: Value| {
            json!({
                "timestamp": "2026-01-31T09:30:00.000Z", "agent": agent, "action": USAGE_ACTION,
                "usage": { "claim": 1, "model": "m", "input": input, "output": 7, "turns": 1, "seconds": 2, "micros": micros },
            })
        };
        let total = |history: Value| {
            let issue: Issue = serde_json::from_value(json!({
                "id": "3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73", "title": "T", "description": "",
                "classification": "bug", "createdAt": "2026-01-31T09:30:00.000Z",
                "modifiedAt": "2026-01-31T09:31:00.000Z", "status": "created", "history": history,
                "comments": [],
            }))
            .unwrap();
            issue.usage().map(|total| total.to_string())
        };
        assert_eq!(total(json!([])), None);
        let one = total(json!([used("a", 1_234_567, json!(null))]));
        assert_eq!(one.as_deref(), Some("1.2M tokens in, 7 out, 1 turn (m)"));
        let two = total(json!([used("a", 5, json!(4_560_000)), used("b", 9_994, json!(null))]));
        assert_eq!(
            two.as_deref(),
            Some("9.9k tokens in, 14 out, 2 turns, cost 4.56, 2 claims (m)")
        );
        let large = total(json!([
            used("a", u64::MAX, json!(u64::MAX)),
            used("a", u64::MAX, json!(u64::MAX))
        ]));
        assert!(large.is_some());
    }

    #[test]
    fn only_a_completion_that_was_not_returned_hands_something_in() {
        let work = json!({ "commits": 1, "files": 1, "added": 1, "removed": 0, "head": "1a2b3c4d", "tree": "0" });
        let completed = || entry(work.clone());
        let other = |action: &str| json!({ "timestamp": "2026-01-31T09:31:00.000Z", "agent": "b", "action": action });
        for (history, expected) in [
            (json!([other("Issue filed")]), false),
            (json!([completed()]), true),
            (json!([completed(), other("Issue claimed for review"), other("Comment added")]), true),
            (json!([completed(), other("Issue closed")]), true),
            (json!([completed(), other("Issue returned to created status")]), false),
            (json!([completed(), other("Issue completed")]), false),
        ] {
            let issue = json!({
                "id": "3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73", "title": "T", "description": "",
                "classification": "bug", "createdAt": "2026-01-31T09:30:00.000Z",
                "modifiedAt": "2026-01-31T09:31:00.000Z", "status": "completed",
                "history": history, "comments": [],
            });
            let issue: Issue = serde_json::from_value(issue).unwrap();
            assert_eq!(issue.handed_in().is_some(), expected, "{:?}", issue.history);
        }
    }
}
