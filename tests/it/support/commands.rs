//! Commands for store tests. They concern few issues, so that each gets a long history.

use std::sync::Arc;

use agent_issue_tracker::domain::{
    AgentName, Classification, Command, CommentText, Description, Facts, FieldValue, ImportedIssue,
    Issue, IssueChange, IssueId, IssueRef, LinkKind, Query, Question, QuestionAnswer, Receipt,
    Resolution, Status, StatusSet, Timestamp, Title, Usage, ValueField, Work,
};
use proptest::prelude::*;

pub fn at(millis: i64) -> Timestamp {
    Timestamp::from(chrono::DateTime::from_timestamp_millis(1_770_000_000_000 + millis).unwrap())
}

pub fn number(n: u32) -> IssueId {
    IssueId::from(uuid::Uuid::from_u128(u128::from(n) << 96 | 0x4000_8000_0000_0000_0000))
}

pub fn agent() -> AgentName {
    AgentName::try_from("a").unwrap()
}

pub fn comment() -> CommentText {
    CommentText::try_from("c").unwrap()
}

pub fn add(n: u32, classification: Classification) -> Command {
    let title = Title::try_from(format!("issue {n}")).unwrap();
    let description = Description::try_from("").unwrap();
    Command::AddIssue {
        id: number(n),
        title,
        description,
        classification,
        details: Box::default(),
        agent: agent(),
    }
}

/// Imports an issue with a history, a comment and unknown keys.
pub fn import(n: u32, classification: Classification, status: Status) -> Command {
    let time = at(-1000).to_string();
    let issue = serde_json::json!({
        "id": number(n), "title": format!("imported {n}"), "description": "from elsewhere",
        "classification": classification, "createdAt": time, "modifiedAt": time, "status": status,
        "history": [{ "timestamp": time, "agent": "b", "action": "x", "unknown": [1] }],
        "comments": [{ "timestamp": time, "agent": "b", "text": "y" }],
        "labels": { "of": "others" },
    });
    let issue: ImportedIssue = serde_json::from_str(&issue.to_string()).unwrap();
    Command::ImportIssue { issue, agent: agent() }
}

pub fn claim(classification: Option<Classification>) -> Command {
    Command::GetNextIssue { issue: None, classification, agent: agent(), terms: Default::default() }
}

/// Returns a second agent.
pub fn other() -> AgentName {
    AgentName::try_from("b").unwrap()
}

fn claim_as_other(classification: Option<Classification>) -> Command {
    Command::GetNextIssue { issue: None, classification, agent: other(), terms: Default::default() }
}

/// Generates a value of each field that has one value or none.
pub fn any_value() -> impl Strategy<Value = FieldValue> {
    let texts = |field: ValueField| match field {
        ValueField::Priority => prop::sample::select(vec!["0", "1", "2", "3", "4"]),
        ValueField::Assignee => prop::sample::select(vec!["agent", "other"]),
        ValueField::Due => {
            prop::sample::select(vec!["1970-01-01", "2026-02-28", "1970-01-01T00:00:00.080Z"])
        }
        ValueField::Estimate => prop::sample::select(vec!["0", "0.5", "3", "1000000"]),
        ValueField::Budget => prop::sample::select(vec!["2", "500000 tokens"]),
        ValueField::Touches => prop::sample::select(vec!["src", "docs/*.md, src"]),
    };
    let value = move |field: ValueField| {
        let value = texts(field).prop_map(move |text| FieldValue::parse(field, text).unwrap());
        prop_oneof![1 => Just(FieldValue::none(field)), 3 => value]
    };
    prop::sample::select(ValueField::ALL).prop_flat_map(value)
}

/// Generates changes of attributes and links. Parking ends after a short time.
pub fn any_change() -> impl Strategy<Value = IssueChange> {
    let issue = || (0..12_u32).prop_map(|n| IssueRef::from(number(n)));
    let label =
        || prop::sample::select(vec!["a", "b", "c"]).prop_map(|label| label.parse().unwrap());
    let link = move || (prop::sample::select(LinkKind::ALL), issue());
    let until = prop::option::of((0..150_i64).prop_map(at));
    let parked = prop::option::weighted(0.3, until.prop_map(|until| (comment(), until)));
    prop_oneof![
        4 => any_value().prop_map(IssueChange::from),
        1 => (label(), label()).prop_map(|(added, removed)| IssueChange {
            labels_add: vec![added],
            labels_remove: vec![removed],
            ..IssueChange::default()
        }),
        4 => link().prop_map(|link| IssueChange { links_add: vec![link], ..IssueChange::default() }),
        1 => link().prop_map(|link| IssueChange { links_remove: vec![link], ..IssueChange::default() }),
        1 => prop::collection::vec(issue(), 0..3)
            .prop_map(|blockers| IssueChange { blocked_by: Some(blockers), ..IssueChange::default() }),
        1 => parked.prop_map(|parked| IssueChange { parked: Some(parked), ..IssueChange::default() }),
    ]
}

pub fn review() -> Command {
    Command::GetNextReviewItem { agent: agent(), terms: Default::default() }
}

pub fn complete(issue: IssueRef) -> Command {
    Command::CompleteIssue {
        issue,
        comment: comment(),
        agent: agent(),
        required_claim: Default::default(),
        facts: Facts { work: Some(Box::new(work())), ..Facts::default() },
    }
}

fn work() -> Work {
    let head = "1a2b3c4d5e6f".to_owned();
    Work {
        commits: 3,
        files: 4,
        added: 120,
        removed: 8,
        head,
        tree: "0f".to_owned(),
        ..Work::default()
    }
}

pub fn check(issue: IssueRef) -> Command {
    let receipt =
        Receipt { command: "true".to_owned(), tree: "0f".to_owned(), ms: 1, ..Receipt::default() };
    Command::RecordCheck { issue, receipt, agent: agent() }
}

pub fn usage(issue: IssueRef) -> Command {
    let usage = Usage { claim: 1, input: 20, output: 3, turns: 1, seconds: 9, ..Usage::default() };
    Command::RecordUsage { issue, usage, agent: agent() }
}

pub fn return_issue(issue: IssueRef) -> Command {
    Command::ReturnIssue {
        issue,
        comment: comment(),
        agent: agent(),
        required_claim: Default::default(),
    }
}

pub fn close(issue: IssueRef, resolution: Resolution) -> Command {
    Command::CloseIssue {
        issue,
        resolution,
        comment: comment(),
        agent: agent(),
        required_claim: Default::default(),
    }
}

pub fn reopen(issue: IssueRef) -> Command {
    Command::ReopenIssue { issue, comment: comment(), agent: other() }
}

pub fn say(issue: IssueRef) -> Command {
    Command::CommentIssue { issue, comment: comment(), agent: agent() }
}

pub fn ask(issue: IssueRef) -> Command {
    let question = Question::new("q", &["o".to_owned()]).unwrap();
    Command::AskHuman { issue, question, agent: other(), required_claim: Default::default() }
}

pub fn answer(issue: IssueRef) -> Command {
    Command::AnswerQuestion { issue, answer: QuestionAnswer::Option(1), agent: agent() }
}

pub fn all() -> Query {
    Query { statuses: StatusSet::EVERYTHING, take: usize::MAX, ..Query::default() }
}

pub fn ids(issues: &[Arc<Issue>]) -> Vec<IssueId> {
    issues.iter().map(|issue| issue.id).collect()
}

/// Generates commands about few issues, so that each gets a long history.
pub fn any_command() -> impl Strategy<Value = Command> {
    let classification = || prop::sample::select(Classification::ALL);
    let issue = || (0..12_u32).prop_map(|n| IssueRef::from(number(n)));
    prop_oneof![
        4 => (0..12_u32, classification()).prop_map(|(n, kind)| add(n, kind)),
        2 => (0..12_u32, classification(), prop::sample::select(Status::ALL))
            .prop_map(|(n, kind, status)| import(n, kind, status)),
        4 => prop::option::of(classification()).prop_map(claim),
        2 => Just(review()),
        2 => issue().prop_map(return_issue),
        3 => issue().prop_map(complete),
        1 => issue().prop_map(check),
        1 => issue().prop_map(say),
        1 => issue().prop_map(reopen),
        1 => issue().prop_map(ask),
        2 => issue().prop_map(answer),
        2 => prop::option::of(classification()).prop_map(claim_as_other),
        1 => issue().prop_map(|issue| Command::GetNextIssue { issue: Some(issue), classification: None, agent: other(), terms: Default::default() }),
        8 => (issue(), any_change()).prop_map(|(issue, change)| Command::ChangeIssue {
            issue,
            change: change.into(),
            agent: agent(),
        }),
        1 => (issue(), prop::sample::select(Resolution::ALL)).prop_map(|(issue, how)| close(issue, how)),
    ]
}
