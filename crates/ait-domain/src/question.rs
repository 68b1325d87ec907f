//! Questions to people. An agent asks and is free; the issue is parked until a person answers.
//!
//! The question is kept with the reason why the issue is parked, and as a comment. The answer is a comment, too.

use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Serialize};

use super::attributes::AttributeValues;
use super::event::{ANSWER_ACTION, ASK_ACTION};
use super::text::{shortened, trimmed};
use super::{
    ActionKind, AgentName, Attributes, ClaimRequirement, Comment, CommentText, DomainError, Event,
    EventKind, HistoryEntry, Issue, Parked, Patch, Timestamp,
};

/// A question to people about an issue.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The question.
    pub text: String,
    /// The answers to choose from. A person may answer otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// The answer that the tracker gives if no person does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<DefaultAnswer>,
}

/// The answer to a question that no person answers in time.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DefaultAnswer {
    /// The answer.
    pub text: String,
    /// The time from which on it is given.
    pub at: Timestamp,
}

impl Question {
    /// The maximum number of characters of a question.
    pub const MAX_CHARS: usize = 10_000;
    /// The maximum number of characters of an option.
    pub const MAX_OPTION_CHARS: usize = 1_000;
    /// The maximum number of options.
    pub const MAX_OPTIONS: usize = 20;

    /// Returns a question with valid texts.
    ///
    /// # Errors
    ///
    /// A text is blank or too long, or there are too many options.
    pub fn new(text: &str, options: &[String]) -> Result<Self, DomainError> {
        let count = options.len();
        let limit = Self::MAX_OPTIONS;
        if count > limit {
            return Err(DomainError::TooManyOptions { count, limit });
        }
        let option = |option: &String| trimmed("option", option, Self::MAX_OPTION_CHARS);
        Ok(Self {
            text: trimmed("question", text, Self::MAX_CHARS)?,
            options: options.iter().map(option).collect::<Result<_, _>>()?,
            default: None,
        })
    }

    /// Adds the answer that the tracker gives from a time on.
    ///
    /// # Errors
    ///
    /// The answer is blank or too long.
    pub fn with_default(self, text: &str, at: Timestamp) -> Result<Self, DomainError> {
        let text = trimmed("default", text, Self::MAX_OPTION_CHARS)?;
        Ok(Self { default: Some(DefaultAnswer { text, at }), ..self })
    }

    /// Returns the question as a comment, with its options as a list, and its default.
    pub fn comment(&self) -> String {
        let options = self.options.iter().zip(1..);
        let options: String =
            options.map(|(option, number)| format!("\n{number}. {option}")).collect();
        let options = if options.is_empty() { options } else { format!("\n{options}") };
        let default = self.default.as_ref().map(|default| format!("\n\n({default})"));
        format!("{}{options}{}", self.text, default.unwrap_or_default())
    }

    /// Returns true if both ask the same. The time of the default is later in a repeated call.
    pub fn is_same_as(&self, other: &Self) -> bool {
        let parts = |question: &Self| {
            let default = question.default.as_ref().map(|default| default.text.clone());
            (question.text.clone(), question.options.clone(), default)
        };
        parts(self) == parts(other)
    }
}

impl Display for DefaultAnswer {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "default, from {} on: {}", self.at, self.text)
    }
}

/// An answer to a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum QuestionAnswer {
    /// In words.
    Text(CommentText),
    /// The option with this number, counted from 1.
    Option(usize),
    /// The default, once it is due.
    Default,
}

/// How much of a question the reason why the issue is parked contains, in characters.
pub(super) const REASON_CHARS: usize = 200;

/// Decides a question. Returns `None` if the agent has asked it already.
///
/// # Errors
///
/// The issue has ended or has another open question, or the caller does not hold the claim that it needs.
pub(super) fn ask(
    issue: &Issue,
    question: &Question,
    agent: &AgentName,
    required_claim: &ClaimRequirement,
    at: Timestamp,
) -> Result<Option<Event>, DomainError> {
    if issue.status.has_ended() {
        return Err(DomainError::Terminal { id: issue.id, status: issue.status });
    }
    if let (Some(parked), Some(open)) = (&issue.attributes.parked, issue.open_question()) {
        if open.is_same_as(question) && parked.by == agent.as_str() {
            return Ok(None);
        }
        let question = shortened(&open.text, REASON_CHARS);
        return Err(DomainError::AlreadyAsked { id: issue.id, question });
    }
    required_claim.check(issue, agent)?;
    let mut comment = required_claim.comment(&question.comment(), issue, agent);
    if let Some(parked) = &issue.attributes.parked {
        comment += &format!("\n\n(it was parked: {})", shortened(&parked.reason, REASON_CHARS));
    }
    let parked = Parked {
        reason: format!("waits for an answer: {}", shortened(&question.text, REASON_CHARS)),
        since: at,
        by: agent.as_str().to_owned(),
        until: None,
        question: Some(question.clone()),
    };
    let mut after = issue.clone();
    after.status = issue.status.after_lapse();
    Ok(Some(changed(issue, after, Some(parked), (ASK_ACTION, comment), agent, at)))
}

/// Decides an answer. Returns `None` if the agent has just given it.
///
/// # Errors
///
/// The issue has ended or has no open question, or the question has no option with this number.
pub(super) fn answer(
    issue: &Issue,
    given: &QuestionAnswer,
    agent: &AgentName,
    at: Timestamp,
) -> Result<Option<Event>, DomainError> {
    if issue.status.has_ended() {
        return Err(DomainError::Terminal { id: issue.id, status: issue.status });
    }
    let Some(question) = issue.open_question() else {
        return if issue.last_is_answer(given, agent) {
            Ok(None)
        } else {
            Err(DomainError::NoQuestion { id: issue.id })
        };
    };
    let text = match given {
        QuestionAnswer::Text(text) => text.as_str().to_owned(),
        QuestionAnswer::Option(number) => {
            let option = number.checked_sub(1).and_then(|at| question.options.get(at));
            let id = issue.id;
            let given = *number;
            let count = question.options.len();
            option.ok_or(DomainError::NoSuchOption { id, given, count })?.clone()
        }
        QuestionAnswer::Default => match &question.default {
            Some(default) if default.at <= at => {
                format!("{}\n\n(the default: no person answered in time)", default.text)
            }
            _ => return Err(DomainError::NoQuestion { id: issue.id }),
        },
    };
    let said = (ANSWER_ACTION, text);
    Ok(Some(changed(issue, issue.clone(), None, said, agent, at)))
}

/// Returns the event that parks or unparks an issue with an entry of the history and a comment.
fn changed(
    before: &Issue,
    mut after: Issue,
    parked: Option<Parked>,
    (action, comment): (&str, String),
    agent: &AgentName,
    at: Timestamp,
) -> Event {
    let parked = parked.map(Box::new);
    let values = AttributeValues { parked, ..AttributeValues::clone(&after.attributes) };
    after.attributes = Attributes::from(values);
    after.set_unknown_namesakes_aside();
    after.modified_at = at;
    let agent = agent.as_str();
    after.history.push(HistoryEntry::new(at, agent, action));
    after.comments.push(Comment::new(at, agent, comment));
    let kind = EventKind::Changed { patch: Box::new(Patch::between(before, &after)) };
    Event::new(before.id, at, agent, kind)
}

impl Issue {
    /// Returns the question that waits for an answer.
    pub fn open_question(&self) -> Option<&Question> {
        let parked = self.attributes.parked.as_ref().filter(|_| self.status.is_open())?;
        parked.question.as_ref()
    }

    /// Returns true if the issue waits for the answer to a question, and is not held.
    pub fn waits_for_answer(&self) -> bool {
        !self.status.is_claimed() && self.open_question().is_some()
    }

    /// Returns true if the agent that asked the open question held the issue for work.
    pub fn was_held_for_work_when_asked(&self) -> bool {
        let asked_by = self.attributes.parked.as_ref().map(|parked| parked.by.as_str());
        let kind = |entry: &HistoryEntry| ActionKind::of(&entry.action);
        let before = self.history.iter().rev().skip_while(|entry| kind(entry) != ActionKind::Asked);
        let before = before.skip(1).find(|entry| !kind(entry).leaves_status());
        before.is_some_and(|entry| {
            kind(entry) == ActionKind::Claimed && Some(entry.agent.as_str()) == asked_by
        })
    }

    /// Says what was asked and answered last, such as `asked: which port?; answered by ann: 8080`; `None` if no
    /// question was answered.
    pub fn last_answer(&self) -> Option<String> {
        const SHOWN_CHARS: usize = 200;
        let timeline = self.timeline();
        let last = timeline.iter().rposition(|entry| entry.kind() == ActionKind::Answered)?;
        let earlier = &timeline[..last];
        let answered = timeline[last];
        let asked = earlier.iter().rfind(|entry| entry.kind() == ActionKind::Asked)?;
        let on_one_line = |text: &str| {
            let words: Vec<_> = text.split_whitespace().collect();
            shortened(&words.join(" "), SHOWN_CHARS)
        };
        let question = on_one_line(asked.comment?);
        let answer = on_one_line(answered.comment?);
        Some(format!("asked: {question}; answered by {}: {answer}", answered.agent))
    }

    /// Returns true if the last change of the issue is this answer by this agent. The options of the question stand in
    /// the comment with which it was asked.
    fn last_is_answer(&self, given: &QuestionAnswer, agent: &AgentName) -> bool {
        let (Some(entry), Some(said)) = (self.history.last(), self.comments.last()) else {
            return false;
        };
        let is_same_text = match given {
            QuestionAnswer::Text(text) => said.text == text.as_str(),
            QuestionAnswer::Option(number) => {
                let timeline = self.timeline();
                let asked = timeline.iter().rfind(|entry| entry.kind() == ActionKind::Asked);
                let comment = asked.and_then(|entry| entry.comment).unwrap_or_default();
                format!("{comment}\n").contains(&format!("\n{number}. {}\n", said.text))
            }
            QuestionAnswer::Default => false,
        };
        ActionKind::of(&entry.action) == ActionKind::Answered
            && is_same_text
            && (&entry.agent, entry.timestamp) == (&said.agent, said.timestamp)
            && entry.agent == agent.as_str()
            && entry.timestamp == self.modified_at
    }
}
