//! The large example of `ait demo`: a team of seven agents over twelve days, the same one each time but for its dates.

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use crate::domain::Classification::{self, Bug, Feature, Improvement};
use crate::domain::event::{
    CLAIM_ACTION, CLOSE_ACTION, COMPLETE_ACTION, FILE_ACTION, REJECT_ACTION, RETURN_ACTION,
    REVIEW_ACTION, USAGE_ACTION,
};
use crate::domain::{
    Attributes, Comment, Facts, HistoryEntry, Issue, IssueId, Status, Timestamp, UnknownKeys,
    Usage, Work,
};

const DAYS: usize = 12;
/// How many issues are filed on each day, one behind the other.
const PER_DAY: usize = 32;
/// The first issues of a day: a whole and its parts.
const PARTS: usize = 4;
const MINUTE_MS: i64 = 60_000;
/// How long before now the last day begins.
const LAST_DAY_MS: i64 = 120 * MINUTE_MS;
const LEAD: &str = "team-lead";
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

/// One with which issues are in each status.
const SEED: u64 = 9;

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

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

/// An issue while its history is written.
struct Draft {
    issue: Issue,
    attributes: Map<String, Value>,
    claims: usize,
}

impl Draft {
    fn filed(numbers: &mut Numbers, at: i64, kind: Classification, title: String) -> Result<Self> {
        let id = format!(
            "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
            numbers.below(1 << 32),
            numbers.below(1 << 16),
            numbers.below(1 << 12),
            numbers.below(1 << 12),
            numbers.below(1 << 48)
        );
        let id = IssueId::parse(&id).context("an id of the example")?;
        let description = format!(
            "{title}, as users reported {} times this month.\n\nExpected: the last of the examples below works, and a \
             test shows it.\n\n- the first page, without any data\n- an account with {} entries",
            2 + numbers.below(7),
            10 * (1 + numbers.below(90)),
        );
        let at = Timestamp::from_unix_millis(at);
        let issue = Issue {
            id,
            title,
            description,
            classification: kind,
            created_at: at,
            modified_at: at,
            status: Status::Created,
            history: vec![HistoryEntry::new(at, LEAD, FILE_ACTION)],
            comments: Vec::new(),
            attributes: Attributes::default(),
            unknown_keys: UnknownKeys::default(),
        };
        Ok(Self { issue, attributes: Map::new(), claims: 0 })
    }

    fn set(&mut self, attribute: &str, value: Value) {
        self.attributes.insert(attribute.to_owned(), value);
    }

    /// Returns when it changed last, in milliseconds since 1970.
    fn changed(&self) -> i64 {
        self.issue.modified_at.unix_millis()
    }

    fn happens(&mut self, at: i64, agent: &str, action: &str) -> &mut Facts {
        let at = Timestamp::from_unix_millis(at);
        self.issue.modified_at = at;
        self.issue.history.push(HistoryEntry::new(at, agent, action));
        let last = self.issue.history.len() - 1;
        &mut self.issue.history[last].facts
    }

    fn is_claimed(&mut self, at: i64, agent: &str, action: &str, status: Status) {
        self.issue.status = status;
        self.claims += 1;
        self.happens(at, agent, action);
    }

    /// Ends a claim.
    fn ends(
        &mut self,
        at: i64,
        agent: &str,
        action: &str,
        status: Status,
        said: &str,
    ) -> &mut Facts {
        self.issue.status = status;
        self.issue.comments.push(Comment::new(Timestamp::from_unix_millis(at), agent, said));
        self.happens(at, agent, action)
    }

    /// Records what a claim for work used, which took so many milliseconds.
    fn used(&mut self, numbers: &mut Numbers, at: i64, agent: &str, took: i64) {
        let output = 4_000 + numbers.below(20_000);
        let input = output * (30 + numbers.below(30));
        let usage = Usage {
            claim: self.claims,
            model: if agent.ends_with('2') { "gpt-5" } else { "claude-opus-4" }.to_owned(),
            input,
            cached: input / 10 * 9,
            output,
            turns: 20 + numbers.below(60),
            seconds: took.unsigned_abs() / 1_000,
            micros: Some(input / 2 + output * 25),
        };
        self.happens(at + 1_000, agent, USAGE_ACTION).usage = Some(Box::new(usage));
    }

    fn finished(mut self) -> Result<Issue> {
        self.issue.attributes = serde_json::from_value(Value::Object(self.attributes))?;
        Ok(self.issue)
    }
}

/// When the agents are free.
struct Team {
    numbers: Numbers,
    now: i64,
    workers: [i64; WORKERS.len()],
    reviewer: i64,
}

impl Team {
    /// Works on an issue until it ends, or until now.
    fn work(&mut self, issue: &mut Draft) {
        let mut ready = issue.changed() + self.numbers.minutes(1, 6);
        loop {
            let next = (0..WORKERS.len()).min_by_key(|worker| self.workers[*worker]);
            let worker = next.unwrap_or_default();
            let agent = WORKERS[worker];
            let begin = ready.max(self.workers[worker]);
            if begin > self.now {
                return;
            }
            issue.is_claimed(begin, agent, CLAIM_ACTION, Status::InProgress);
            let took = self.numbers.minutes(12, 75);
            let end = begin + took;
            self.workers[worker] = end;
            if end > self.now {
                return;
            }
            if self.numbers.one_in(9) {
                let why = RETURNS[self.numbers.count(0, RETURNS.len())];
                issue.ends(end, agent, RETURN_ACTION, Status::Created, why);
                issue.used(&mut self.numbers, end, agent, took);
                ready = end + self.numbers.minutes(5, 40);
                continue;
            }
            let branch = issue.issue.id.short();
            let said = format!("Branch issue-{branch}. A new test failed before and passes now.");
            let work = self.numbers.work();
            let facts = issue.ends(end, agent, COMPLETE_ACTION, Status::Completed, &said);
            facts.work = Some(Box::new(work));
            issue.used(&mut self.numbers, end, agent, took);
            let begin = self.reviewer.max(end + self.numbers.minutes(1, 5));
            if begin > self.now {
                return;
            }
            issue.is_claimed(begin, REVIEWER, REVIEW_ACTION, Status::InReview);
            self.reviewer = begin + self.numbers.minutes(3, 9);
            let end = self.reviewer;
            if end > self.now {
                return;
            }
            if self.numbers.one_in(12) {
                let why = REVIEW_RETURNS[self.numbers.count(0, REVIEW_RETURNS.len())];
                issue.ends(end, REVIEWER, RETURN_ACTION, Status::Created, why);
                ready = end + self.numbers.minutes(5, 40);
                continue;
            }
            let (action, status, said) = if self.numbers.one_in(20) {
                (REJECT_ACTION, Status::Rejected, "Solved by another issue meanwhile.")
            } else {
                (CLOSE_ACTION, Status::Closed, "Merged. All tests pass before and after the merge.")
            };
            issue.ends(end, REVIEWER, action, status, said);
            return;
        }
    }
}

/// Returns the large example as of a time, as the text of an `issues.json`.
///
/// # Errors
///
/// The example is not valid.
pub(super) fn large(now: Timestamp) -> Result<String> {
    let now = now.unix_millis();
    let numbers = Numbers(fastrand::Rng::with_seed(SEED));
    let mut team = Team { numbers, now, workers: [0; WORKERS.len()], reviewer: 0 };
    let mut issues: Vec<Draft> = Vec::new();
    for number in 0..DAYS * PER_DAY {
        let days_ago = i64::try_from(DAYS - 1 - number / PER_DAY)?;
        let place = number % PER_DAY;
        let begin = now - LAST_DAY_MS - days_ago * 24 * 60 * MINUTE_MS;
        let filed = begin + i64::try_from(place)? * 2 * MINUTE_MS;
        let area = AREAS[(number / WISHES.len() + number * 5) % AREAS.len()];
        let (kind, wish) = WISHES[number % WISHES.len()];
        let mut issue = Draft::filed(&mut team.numbers, filed, kind, wish.replace("{}", area))?;
        let label = area.trim_start_matches("the ").replace(' ', "-").to_lowercase();
        issue.set("labels", json!([label]));
        if number.is_multiple_of(3) {
            issue.set("priority", json!(1 + number % 10 / 3));
        }
        if place == 0 {
            issue.issue.title = format!("What users asked for in {area}");
            issue.issue.classification = Feature;
        } else {
            team.work(&mut issue);
        }
        let is_created = issue.issue.status == Status::Created;
        if (1..=PARTS).contains(&place) {
            issue
                .set("links", json!([{ "kind": "parent", "to": issues[number - place].issue.id }]));
        } else if is_created && place.is_multiple_of(5) && place > 0 {
            let mut open = issues.iter().rev().filter(|other| !other.issue.status.has_ended());
            let blocker =
                open.next().map(|other| json!({ "kind": "blocked_by", "to": other.issue.id }));
            issue.set("links", json!(Vec::from_iter(blocker)));
        } else if is_created && place.is_multiple_of(7) && place > 0 {
            let since = issue.issue.modified_at;
            issue.set(
                "parked",
                json!({ "reason": "waits for the new design", "since": since, "by": LEAD }),
            );
        }
        issues.push(issue);
        if place == PARTS {
            close_whole(&mut issues[number - PARTS..]);
        }
    }
    let issues: Vec<Issue> = issues.into_iter().map(Draft::finished).collect::<Result<_>>()?;
    Ok(format!("{:#}\n", json!({ "issues": issues })))
}

/// Closes a whole if all its parts, which follow it, have ended.
fn close_whole(issues: &mut [Draft]) {
    let Some((whole, parts)) = issues.split_first_mut() else { return };
    let last = parts.iter().map(Draft::changed).max().unwrap_or_default();
    if parts.iter().all(|part| part.issue.status.has_ended()) {
        let said = "All parts have ended.";
        whole.ends(last + MINUTE_MS, LEAD, CLOSE_ACTION, Status::Closed, said);
    }
}
