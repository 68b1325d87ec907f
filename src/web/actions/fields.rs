//! The fields of a form: as they were sent, and what they mean.

use chrono::Utc;

use crate::domain::{
    AgentName, AttributeValues, ClaimProof, Classifications, CommentText, FieldValue, Issue,
    IssueChange, IssueId, IssueRef, Label, QuestionAnswer, Resolution, ValueField,
};
use crate::sync::{self, Side};
use crate::time_arg;
use crate::tracker::{IssueAtVersion, NewIssue, StoreError, Tracker};
use crate::web::strings::{actions as text, attributes};

use super::action::Action;

pub(super) const TOKEN: &str = "token";
pub(super) const VERSION: &str = "version";
pub(super) const CONFIRMED: &str = "confirmed";
pub(super) const AGENT: &str = "agent";
pub(super) const TEXT: &str = "text";
pub(super) const OPTION: &str = "option";
pub(super) const LABELS: &str = "labels";
pub(super) const OUTCOME: &str = "outcome";
pub(super) const SIDE: &str = "side";
pub(super) const ID: &str = "id";
pub(super) const TITLE: &str = "title";
pub(super) const KIND: &str = "classification";
/// What the name of a field begins with that has its value when the form was rendered.
pub(super) const WAS: &str = "was-";

/// The fields of a form as they were sent or are shown.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(in crate::web) struct Fields(Vec<(String, String)>);

impl Fields {
    /// Parses `application/x-www-form-urlencoded`.
    pub fn parse(body: &[u8]) -> Self {
        // Browsers send line breaks as CR LF.
        let field = |(name, value): (_, std::borrow::Cow<'_, str>)| {
            (String::from(name), value.replace("\r\n", "\n"))
        };
        Self(form_urlencoded::parse(body).map(field).collect())
    }

    /// Returns these fields with another one.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.0.push((name.to_owned(), value.into()));
        self
    }

    /// Returns the first value of a field; empty if there is none.
    pub fn get(&self, name: &str) -> &str {
        self.given(name).unwrap_or_default()
    }

    fn given(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns the fields of an action before a person has typed anything.
    pub fn of(action: Action, issue: &Issue) -> Self {
        let fields = Self::default();
        if action != Action::Attributes {
            return fields;
        }
        let labels: Vec<&str> = issue.attributes.labels.iter().map(Label::as_str).collect();
        let fields = fields.with(LABELS, labels.join(" "));
        ValueField::ALL.iter().fold(fields, |fields, field| {
            let value = FieldValue::of(*field, &issue.attributes);
            fields.with(field.as_str(), value.to_string())
        })
    }

    /// Returns the fields for the current version of the issue: what the person typed, and the current values of the
    /// fields that the person left alone.
    pub fn rebased(&self, action: Action, issue: &Issue) -> Self {
        match action {
            Action::Attributes => self.rebased_attributes(&Self::of(action, issue)),
            Action::Answer => {
                // The same number may be another option now.
                let mut fields = self.clone();
                fields.0.retain(|(name, _)| name != OPTION);
                fields
            }
            _ => self.clone(),
        }
    }

    fn rebased_attributes(&self, current: &Self) -> Self {
        let was = |name: &str| self.given(&format!("{WAS}{name}"));
        let typed: Vec<_> = label_words(self.get(LABELS)).collect();
        let was_labels: Vec<_> = label_words(was(LABELS).unwrap_or_default()).collect();
        let mut labels: Vec<_> = label_words(current.get(LABELS)).collect();
        labels.retain(|label| typed.contains(label) || !was_labels.contains(label));
        for label in typed {
            if !was_labels.contains(&label) && !labels.contains(&label) {
                labels.push(label);
            }
        }
        let fields = Self::default().with(LABELS, labels.join(" ")).with(AGENT, self.get(AGENT));
        ValueField::ALL.iter().map(|field| field.as_str()).fold(fields, |fields, name| {
            let is_changed = self.given(name) != was(name);
            fields.with(name, if is_changed { self.get(name) } else { current.get(name) })
        })
    }
}

/// A change that a person asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum FormChange {
    Answer(QuestionAnswer),
    Return(CommentText, ClaimProof),
    Close(Resolution, CommentText, ClaimProof),
    Reopen(CommentText),
    /// The values of one side, where both sides of a sync changed this version of the issue.
    Resolve(Box<Issue>, Side),
    /// Any change that leaves the status alone.
    Other(Box<IssueChange>),
}

impl FormChange {
    /// Parses the fields of an action on an issue.
    pub fn parse(action: Action, fields: &Fields, issue: &Issue) -> Result<Self, String> {
        let other = |change| Self::Other(Box::new(change));
        // The person has confirmed whose claim it is. The comment then names that agent.
        let is_forced = issue.holder().is_some();
        let proof = ClaimProof { number: None, is_forced, is_person: true };
        Ok(match action {
            Action::Answer => Self::Answer(answer(fields)?),
            Action::Return => Self::Return(comment(fields)?, proof),
            Action::Close => Self::Close(outcome(fields)?, comment(fields)?, proof),
            Action::Reopen => Self::Reopen(comment(fields)?),
            Action::Comment => {
                other(IssueChange { comment: Some(comment(fields)?), ..IssueChange::default() })
            }
            Action::Park => {
                let parked = Some(Some((comment(fields)?, None)));
                other(IssueChange { parked, ..IssueChange::default() })
            }
            Action::Unpark => other(IssueChange { parked: Some(None), ..IssueChange::default() }),
            Action::Attributes => other(attributes(fields, issue)?),
            Action::Resolve => {
                let side = Side::from_word(fields.get(SIDE));
                let side = side.ok_or_else(|| "There is no side. Choose one.".to_owned())?;
                Self::Resolve(Box::new(issue.clone()), side)
            }
            Action::File => return Err("An issue is filed on a page of its own.".to_owned()),
        })
    }

    /// Makes the change, if the issue still has this version.
    pub async fn make(
        self,
        tracker: &Tracker,
        issue: IssueRef,
        version: String,
        agent: AgentName,
    ) -> Result<(), StoreError> {
        let known = IssueAtVersion { issue, version: Some(version) };
        let changed = match self {
            Self::Answer(answer) => tracker.answer_question(known, answer, agent).await,
            Self::Return(comment, proof) => {
                tracker.return_issue(known, comment, agent, proof).await
            }
            Self::Close(outcome, comment, proof) => {
                tracker.close_issue(known, outcome, comment, agent, proof).await
            }
            Self::Reopen(comment) => tracker.reopen_issue(known, comment, agent).await,
            Self::Resolve(issue, side) => {
                return sync::resolve(tracker, &issue, side, &agent).await.map(drop);
            }
            Self::Other(change) => tracker.change_issue(known, *change, agent).await,
        };
        changed.map(drop)
    }
}

/// Parses the name of the person.
pub(super) fn agent(fields: &Fields) -> Result<AgentName, String> {
    let name = fields.get(AGENT);
    name.parse().map_err(|error| format!("{}: {error}", text::YOUR_NAME))
}

fn comment(fields: &Fields) -> Result<CommentText, String> {
    let given = fields.get(TEXT);
    if given.trim().is_empty() {
        return Err("The text is empty. Write one.".to_owned());
    }
    CommentText::try_from(given).map_err(|error| error.to_string())
}

fn answer(fields: &Fields) -> Result<QuestionAnswer, String> {
    match (fields.get(OPTION), fields.get(TEXT).trim().is_empty()) {
        ("", true) => Err("There is no answer. Choose one or write one.".to_owned()),
        ("", false) => comment(fields).map(QuestionAnswer::Text),
        (_, false) => Err("Choose an answer or write one, but not both.".to_owned()),
        (option, true) => {
            let number = option.parse().map_err(|_| {
                "The chosen answer is not one of those offered. Choose another one.".to_owned()
            })?;
            Ok(QuestionAnswer::Option(number))
        }
    }
}

/// Parses how an issue ends.
pub(super) fn outcome(fields: &Fields) -> Result<Resolution, String> {
    match fields.get(OUTCOME) {
        "closed" => Ok(Resolution::Closed),
        "rejected" => Ok(Resolution::Rejected),
        _ => Err("There is no outcome. Choose one.".to_owned()),
    }
}

/// Parses the attributes. A form without a priority or an assignee leaves it as it is.
fn attributes(fields: &Fields, issue: &Issue) -> Result<IssueChange, String> {
    let wanted = labels(fields)?;
    let labels = &issue.attributes.labels;
    let labels_remove = labels.iter().filter(|label| !wanted.contains(label)).cloned().collect();
    let labels_add = wanted.into_iter().filter(|label| !labels.contains(label)).collect();
    let values = values(fields, &issue.attributes)?;
    Ok(IssueChange { values, labels_add, labels_remove, ..IssueChange::default() })
}

/// Parses the fields of an issue that is to be filed, with one of the kinds of work that the project uses.
pub(super) fn new_issue(
    id: IssueId,
    fields: &Fields,
    used: &Classifications,
) -> Result<NewIssue, String> {
    let classification = used.iter().find(|kind| kind.as_str() == fields.get(KIND));
    let details = IssueChange {
        values: values(fields, &AttributeValues::default())?,
        labels_add: labels(fields)?,
        ..IssueChange::default()
    };
    Ok(NewIssue {
        id,
        title: fields.get(TITLE).try_into().map_err(|error| format!("{}: {error}", text::TITLE))?,
        description: fields
            .get(TEXT)
            .try_into()
            .map_err(|error| format!("{}: {error}", text::DESCRIPTION))?,
        classification: classification.ok_or_else(|| "There is no kind. Choose one.".to_owned())?,
        details,
    })
}

/// Parses the values that are others than before. What is as it was would be refused on an issue that has ended.
fn values(fields: &Fields, before: &AttributeValues) -> Result<Vec<FieldValue>, String> {
    let given =
        ValueField::ALL.iter().filter_map(|field| Some((*field, fields.given(field.as_str())?)));
    let mut values = Vec::new();
    for (field, given) in given {
        let value = time_arg::field_value(field, given, &Utc);
        let value = value.map_err(|error| format!("{}: {error}", attributes::field(field)))?;
        if value != FieldValue::of(field, before) {
            values.push(value);
        }
    }
    Ok(values)
}

fn labels(fields: &Fields) -> Result<Vec<Label>, String> {
    let words = label_words(fields.get(LABELS));
    words.map(|word| word.parse::<Label>().map_err(|error| error.to_string())).collect()
}

fn label_words(text: &str) -> impl Iterator<Item = &str> {
    text.split([' ', ',', '\n', '\t']).filter(|word| !word.is_empty())
}
