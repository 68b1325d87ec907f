//! The large example of `ait demo`: a team of seven agents over twelve days, the same one each time but for its dates.
//!
//! The agents do in some seconds what took them twelve days: each change is a command to the store at its time, so that
//! the rules of the tracker hold, and the log has what happened.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Context, Result};

use crate::domain::Classification::{self, Bug, Decision, Fact, Feature, Improvement, Trap};
use crate::domain::{
    AgentName, ClaimRequirement, ClaimTerms, Command, Facts, FieldValue, IssueChange, IssueId,
    Priority, Question, Resolution, Timestamp, Usage, Work,
};
use crate::store::{Outcome, Store};

const DAYS: usize = 12;
/// How many issues are filed on each day, one behind the other.
const PER_DAY: usize = 32;
/// The first issues of a day: a whole and its parts.
const PARTS: usize = 4;
const MINUTE_MS: i64 = 60_000;
/// How long before now the last day begins.
const LAST_DAY_MS: i64 = 120 * MINUTE_MS;
pub(super) const LEAD: &str = "team-lead";
const REVIEWER: &str = "code-reviewer";
const WORKERS: [&str; 5] = ["developer", "developer-2", "developer-3", "bug-fixer", "bug-fixer-2"];

const AREAS: [&str; 16] = [
    "the login page",
    "the search",
    "the invoice export",
    "the mobile menu",
    "the audit log",
    "the billing API",
    "the import of contacts",
    "the weekly report",
    "the password reset",
    "the settings page",
    "the image upload",
    "the calendar",
    "the notification mail",
    "the admin dashboard",
    "the webhook queue",
    "the price list",
];
/// What is wrong or wanted with an area, each with its kind.
const WISHES: [(Classification, &str); 24] = [
    (Bug, "An empty name breaks {}"),
    (Improvement, "Load {} without a second request"),
    (Feature, "Add a dark theme to {}"),
    (Bug, "Umlauts are lost in {}"),
    (Bug, "A double click sends {} twice"),
    (Improvement, "Cover {} with end-to-end tests"),
    (Feature, "Let users undo a step in {}"),
    (Bug, "Times in {} ignore the time zone"),
    (Improvement, "Name the cause when {} fails"),
    (Bug, "Firefox shows {} without its buttons"),
    (Feature, "Export what {} shows as CSV"),
    (Improvement, "Remove the old jQuery code from {}"),
    (Bug, "A slow network leaves {} half drawn"),
    (Feature, "Open {} with a keyboard shortcut"),
    (Bug, "Deleted accounts still appear in {}"),
    (Improvement, "Halve the memory that {} needs"),
    (Feature, "Offer {} in Japanese"),
    (Bug, "The back button skips {}"),
    (Improvement, "Document the limits of {}"),
    (Bug, "Long titles overflow {}"),
    (Feature, "Send a message when {} changes"),
    (Improvement, "Replace the polling in {} with events"),
    (Bug, "A second tab logs users out of {}"),
    (Feature, "Remember the last filter of {}"),
];
const RETURNS: [&str; 3] = [
    "The fixture for this is missing: the tests need an account with two addresses. What I have is on the branch.",
    "This needs a decision first: keep the old format readable, or convert it at the start?",
    "The test fails only in CI. I found no difference; the log of the last run is in the branch.",
];
const REVIEW_RETURNS: [&str; 2] = [
    "The new test passes without the change, too: it asserts nothing about the result.",
    "Works, but the empty case answers with status 500. See the second example of the description.",
];

/// What the team has learned, and the label that it is about.
pub(super) const KNOWN: [(Classification, &str, &str); 3] = [
    (Decision, "Amounts are decimals, never floats: the audit asked for it.", "invoice-export"),
    (Trap, "The tests of the import need an account with two addresses.", "import-of-contacts"),
    (Fact, "Webhooks are sent again for 24 hours, then dropped.", "webhook-queue"),
];

/// What a worker asks people on the last day.
const QUESTION: &str = "Keep the old format readable, or convert it at the start?";
const OPTIONS: [&str; 2] = ["keep it readable", "convert it"];

/// One with which issues are in each status.
const SEED: u64 = 16;

/// Numbers that look random, the same each time.
struct Numbers(fastrand::Rng);

impl Numbers {
    /// Returns a number from 0 and below a limit.
    fn below(&mut self, limit: u64) -> u64 {
        self.0.u64(..limit)
    }

    /// Returns a span of so many minutes, in milliseconds.
    fn minutes(&mut self, least: u64, most: u64) -> i64 {
        let span = least * 60_000 + self.below((most - least) * 60_000);
        i64::try_from(span).unwrap_or_default()
    }

    fn count(&mut self, least: usize, limit: usize) -> usize {
        least + self.0.usize(..limit)
    }

    /// Returns what a branch has.
    fn work(&mut self) -> Work {
        Work {
            commits: self.count(1, 4),
            files: self.count(1, 8),
            added: self.count(5, 300),
            removed: self.count(0, 120),
            head: format!("{:016x}", self.0.u64(..)),
            tree: format!("{:016x}", self.0.u64(..)),
            merge: None,
            pull_request: None,
        }
    }

    /// Returns what a claim for work used, which took so many milliseconds.
    fn usage(&mut self, agent: &str, claim: usize, took: i64) -> Usage {
        let output = 4_000 + self.below(20_000);
        let input = output * (30 + self.below(30));
        Usage {
            claim,
            model: if agent.ends_with('2') { "gpt-5" } else { "claude-opus-4" }.to_owned(),
            input,
            cached: input / 10 * 9,
            output,
            turns: 20 + self.below(60),
            seconds: took.unsigned_abs() / 1_000,
            micros: Some(input / 2 + output * 25),
        }
    }

    fn id(&mut self) -> Result<IssueId> {
        let id = format!(
            "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
            self.below(1 << 32),
            self.below(1 << 16),
            self.below(1 << 12),
            self.below(1 << 12),
            self.below(1 << 48)
        );
        IssueId::parse(&id).context("an id of the example")
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

/// What happens next.
enum Deed {
    /// The lead files an issue, or a whole with its parts.
    File(usize),
    /// A worker looks for an issue.
    Seek(usize),
    /// A worker ends a claim, which took so many milliseconds.
    HandIn(usize, Claim, i64),
    /// The reviewer looks for an issue.
    Review,
    /// The reviewer ends a review.
    Judge(IssueId),
}

/// A claim for work.
struct Claim {
    issue: IssueId,
    number: usize,
}

/// The agents, and what they do when.
struct Team<'a> {
    store: &'a dyn Store,
    numbers: Numbers,
    now: i64,
    /// By time, in milliseconds since 1970, and in the order in which they were planned.
    plan: BTreeMap<(i64, usize), Deed>,
    planned: usize,
    /// The workers that found nothing.
    idle: Vec<usize>,
    reviewer_is_idle: bool,
    /// The issue that was filed last.
    last: Option<IssueId>,
    /// The whole of each part that is open.
    wholes: HashMap<IssueId, IssueId>,
    has_asked: bool,
}

/// Lets the team work in an empty store, until a time.
///
/// # Errors
///
/// The store refuses a change, or cannot be written.
pub(super) async fn play(store: &dyn Store, now: Timestamp) -> Result<()> {
    let now = now.unix_millis();
    let mut team = Team {
        store,
        numbers: Numbers(fastrand::Rng::with_seed(SEED)),
        now,
        plan: BTreeMap::new(),
        planned: 0,
        idle: (0..WORKERS.len()).collect(),
        reviewer_is_idle: true,
        last: None,
        wholes: HashMap::new(),
        has_asked: false,
    };
    for number in (0..DAYS * PER_DAY).filter(|number| !(1..=PARTS).contains(&(number % PER_DAY))) {
        let day = now - LAST_DAY_MS - minutes(DAYS - 1 - number / PER_DAY) * 24 * 60;
        team.plan(day + minutes(number % PER_DAY) * 2, Deed::File(number));
    }
    while let Some(((at, _), deed)) = team.plan.pop_first() {
        if at > now {
            break;
        }
        team.act(at, deed).await?;
    }
    Ok(())
}

/// Returns so many minutes in milliseconds.
fn minutes(count: usize) -> i64 {
    i64::try_from(count).unwrap_or_default() * MINUTE_MS
}

/// Returns the name of an agent.
pub(super) fn name(agent: &str) -> Result<AgentName> {
    AgentName::try_from(agent).context("an agent of the example")
}

impl Team<'_> {
    fn plan(&mut self, at: i64, deed: Deed) {
        self.planned += 1;
        self.plan.insert((at, self.planned), deed);
    }

    async fn commit(&self, at: i64, commands: Vec<Command>) -> Result<Vec<Outcome>> {
        Ok(self.store.commit(commands, Timestamp::from_unix_millis(at)).await?.outcomes)
    }

    async fn act(&mut self, at: i64, deed: Deed) -> Result<()> {
        match deed {
            Deed::File(number) => self.file(at, number).await,
            Deed::Seek(worker) => self.seek(at, worker).await,
            Deed::HandIn(worker, claim, took) => self.hand_in(at, worker, claim, took).await,
            Deed::Review => self.review(at).await,
            Deed::Judge(issue) => self.judge(at, issue).await,
        }
    }

    /// The workers that found nothing look again soon.
    fn wake_workers(&mut self, at: i64) {
        for worker in std::mem::take(&mut self.idle) {
            let soon = at + self.numbers.minutes(1, 6);
            self.plan(soon, Deed::Seek(worker));
        }
    }

    async fn file(&mut self, at: i64, number: usize) -> Result<()> {
        let (whole, command) = self.new_issue(number, None)?;
        let mut commands = vec![command];
        if number.is_multiple_of(PER_DAY) {
            for part in 1..=PARTS {
                let (part, command) = self.new_issue(number + part, Some(whole))?;
                commands.push(command);
                self.wholes.insert(part, whole);
            }
        }
        self.commit(at, commands).await?;
        self.wake_workers(at);
        Ok(())
    }

    fn new_issue(&mut self, number: usize, whole: Option<IssueId>) -> Result<(IssueId, Command)> {
        let place = number % PER_DAY;
        let is_last_day = number / PER_DAY == DAYS - 1;
        let area = AREAS[(number / WISHES.len() + number * 5) % AREAS.len()];
        let (kind, wish) = WISHES[number % WISHES.len()];
        let (kind, title) = match place {
            0 => (Feature, format!("What users asked for in {area}")),
            _ => (kind, wish.replace("{}", area)),
        };
        let description = format!(
            "{title}, as users reported {} times this month.\n\nExpected: the last of the examples below works, and a \
             test shows it.\n\n- the first page, without any data\n- an account with {} entries",
            2 + self.numbers.below(7),
            10 * (1 + self.numbers.below(90)),
        );
        let label = area.trim_start_matches("the ").replace(' ', "-").to_lowercase();
        let mut details =
            IssueChange { labels_add: vec![label.parse()?], ..IssueChange::default() };
        if number.is_multiple_of(3) {
            let priority = Priority::try_from(1 + u64::try_from(number % 10 / 3)?)?;
            details.values.push(FieldValue::Priority(Some(priority)));
        }
        details.parent = whole.map(|whole| Some(whole.into()));
        if place % 10 == 5 {
            details.blocked_by = self.last.map(|last| vec![last.into()]);
        }
        if is_last_day && place % 14 == 7 {
            details.parked = Some(Some(("waits for the new design".try_into()?, None)));
        }
        let id = self.numbers.id()?;
        self.last = Some(id);
        let command = Command::AddIssue {
            id,
            title: title.try_into()?,
            description: description.try_into()?,
            classification: kind,
            details: Box::new(details),
            agent: name(LEAD)?,
        };
        Ok((id, command))
    }

    async fn seek(&mut self, at: i64, worker: usize) -> Result<()> {
        let claim = Command::GetNextIssue {
            issue: None,
            classification: None,
            agent: name(WORKERS[worker])?,
            terms: ClaimTerms::default(),
        };
        match self.commit(at, vec![claim]).await?.pop().flatten() {
            Some(issue) => {
                let took = self.numbers.minutes(12, 75);
                let claim = Claim { issue: issue.id, number: issue.claim_number() };
                self.plan(at + took, Deed::HandIn(worker, claim, took));
            }
            None => self.idle.push(worker),
        }
        Ok(())
    }

    async fn hand_in(&mut self, at: i64, worker: usize, claim: Claim, took: i64) -> Result<()> {
        let issue = claim.issue;
        let agent = name(WORKERS[worker])?;
        let required_claim = ClaimRequirement::default();
        let usage = Command::RecordUsage {
            issue: issue.into(),
            usage: self.numbers.usage(WORKERS[worker], claim.number, took),
            agent: agent.clone(),
        };
        let ends = if !self.has_asked && at > self.now - LAST_DAY_MS / 4 {
            self.has_asked = true;
            let question = Question::new(QUESTION, &OPTIONS.map(str::to_owned))?;
            Command::AskHuman { issue: issue.into(), question, agent, required_claim }
        } else if self.numbers.one_in(9) {
            let comment = RETURNS[self.numbers.count(0, RETURNS.len())].try_into()?;
            Command::ReturnIssue { issue: issue.into(), comment, agent, required_claim }
        } else {
            let branch = issue.short();
            let said = format!("Branch issue-{branch}. A new test failed before and passes now.");
            let comment = said.try_into()?;
            let work = Some(Box::new(self.numbers.work()));
            let facts = Facts { work, ..Facts::default() };
            Command::CompleteIssue { issue: issue.into(), comment, agent, required_claim, facts }
        };
        self.commit(at, vec![ends, usage]).await?;
        self.plan(at + 2 * MINUTE_MS, Deed::Seek(worker));
        if std::mem::take(&mut self.reviewer_is_idle) {
            let soon = at + self.numbers.minutes(1, 5);
            self.plan(soon, Deed::Review);
        }
        Ok(())
    }

    async fn review(&mut self, at: i64) -> Result<()> {
        let terms = ClaimTerms::default();
        let claim = Command::GetNextReviewItem { agent: name(REVIEWER)?, terms };
        match self.commit(at, vec![claim]).await?.pop().flatten() {
            Some(issue) => {
                let end = at + self.numbers.minutes(3, 9);
                self.plan(end, Deed::Judge(issue.id));
            }
            None => self.reviewer_is_idle = true,
        }
        Ok(())
    }

    async fn judge(&mut self, at: i64, issue: IssueId) -> Result<()> {
        let agent = name(REVIEWER)?;
        let required_claim = ClaimRequirement::default();
        if self.numbers.one_in(12) {
            let comment = REVIEW_RETURNS[self.numbers.count(0, REVIEW_RETURNS.len())].try_into()?;
            let issue = issue.into();
            let returns = Command::ReturnIssue { issue, comment, agent, required_claim };
            self.commit(at, vec![returns]).await?;
            self.wake_workers(at);
        } else {
            let (resolution, said) = if self.numbers.one_in(20) {
                (Resolution::Rejected, "Solved by another issue meanwhile.")
            } else {
                (Resolution::Closed, "Merged. All tests pass before and after the merge.")
            };
            let closes = |issue: IssueId, resolution, said: &str, agent| {
                let issue = issue.into();
                let comment = said.to_owned().try_into()?;
                let required_claim = ClaimRequirement::default();
                anyhow::Ok(Command::CloseIssue {
                    issue,
                    resolution,
                    comment,
                    agent,
                    required_claim,
                })
            };
            let mut commands = vec![closes(issue, resolution, said, agent)?];
            // A whole ends with its last part, before a worker takes it.
            if let Some(whole) = self.wholes.remove(&issue)
                && !self.wholes.values().any(|other| *other == whole)
            {
                commands.push(closes(
                    whole,
                    Resolution::Closed,
                    "All parts have ended.",
                    name(LEAD)?,
                )?);
            }
            self.commit(at, commands).await?;
        }
        self.plan(at, Deed::Review);
        Ok(())
    }
}
