//! The fields of a form: as they were sent, and what they mean.

use chrono::Utc;
use xxhash_rust::xxh3::xxh3_64;

use crate::strings::{actions as text, attributes};
use ait_domain::{
    AgentName, AttributeValues, ClaimProof, Classification, Classifications, CommentText,
    Description, DomainError, FieldValue, Issue, IssueChange, IssueId, IssueRef, Label, LinkKind,
    QuestionAnswer, Resolution, Title, ValueField,
};
use ait_query::time_arg;
use ait_sync::Side;
use ait_tracker::{
    BulkChange, BulkEnd, EventNumbers, IssueAtVersion, NewIssue, StoreError, Tracker,
};

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
/// An issue that is selected, or several with spaces between, each with its version behind a colon.
pub(super) const ISSUE: &str = "issue";
/// Which action, in a form that offers several.
pub(super) const ACTION: &str = "action";
/// The name of a view.
pub(super) const NAME: &str = "name";
/// What many issues are to the one of [`ISSUE_TO`].
pub(super) const LINK_KIND: &str = "link";
pub(super) const ISSUE_TO: &str = "to";
/// The page from which the form came.
pub(super) const BACK: &str = "back";
/// The numbers of the events to undo.
pub(super) const CHANGE: &str = "change";
/// The value that removes one from many issues. An empty field leaves them alone.
pub(super) const NONE: &str = "none";
pub(super) const TITLE: &str = "title";
pub(super) const KIND: &str = "classification";
pub(super) const PARENT: &str = "parent";
pub(super) const BLOCKERS: &str = "blockers";
/// What the name of a field begins with that has its value when the form was rendered, or the hash of a text.
pub(super) const WAS: &str = "was-";

const NO_KIND: &str = "There is no such kind. Choose one.";

/// The fields of a form as they were sent or are shown.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Fields(Vec<(String, String)>);

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

    /// Returns all values of a field.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    fn given(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns the fields of an action before a person has typed anything.
    pub fn of(action: Action, issue: &Issue) -> Self {
        let fields = Self::default();
        if action == Action::Texts {
            return fields.with(TITLE, &*issue.title).with(TEXT, &*issue.description);
        }
        if action != Action::Attributes {
            return fields;
        }
        let attributes = &issue.attributes;
        let labels: Vec<&str> = attributes.labels.iter().map(Label::as_str).collect();
        let linked = |kind| {
            let links = attributes.links.iter().filter(move |link| link.kind == kind);
            links.map(|link| link.to.short()).collect::<Vec<_>>().join(" ")
        };
        let fields = fields
            .with(LABELS, labels.join(" "))
            .with(BLOCKERS, linked(LinkKind::BlockedBy))
            .with(PARENT, linked(LinkKind::Parent))
            .with(KIND, issue.classification.as_str());
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
            Action::Texts => {
                let current = Self::of(action, issue);
                let text = |fields: Self, name| {
                    let is_changed = self.given(&was(name)) != Some(&hash_of(self.get(name)));
                    fields.with(name, if is_changed { self.get(name) } else { current.get(name) })
                };
                [TITLE, TEXT].into_iter().fold(Self::default().with(AGENT, self.get(AGENT)), text)
            }
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
        let known = |name: &str| self.given(&was(name));
        let fields = [LABELS, BLOCKERS].into_iter().fold(Self::default(), |fields, name| {
            let typed: Vec<_> = words(self.get(name)).collect();
            let known: Vec<_> = words(known(name).unwrap_or_default()).collect();
            let mut merged: Vec<_> = words(current.get(name)).collect();
            merged.retain(|word| typed.contains(word) || !known.contains(word));
            for word in typed {
                if !known.contains(&word) && !merged.contains(&word) {
                    merged.push(word);
                }
            }
            fields.with(name, merged.join(" "))
        });
        single_fields().fold(fields.with(AGENT, self.get(AGENT)), |fields, name| {
            let is_changed = self.given(name) != known(name);
            fields.with(name, if is_changed { self.get(name) } else { current.get(name) })
        })
    }
}

/// Returns the fields of the attributes with one value each.
fn single_fields() -> impl Iterator<Item = &'static str> {
    ValueField::words().chain([KIND, PARENT])
}

/// Returns all fields of the attributes.
pub(super) fn attribute_fields() -> impl Iterator<Item = &'static str> {
    single_fields().chain([LABELS, BLOCKERS])
}

/// Returns the name of the field with what another one was when the form was rendered.
pub(super) fn was(name: &str) -> String {
    format!("{WAS}{name}")
}

/// Returns the hash of a text, which a form has in its place.
pub(super) fn hash_of(text: &str) -> String {
    format!("{:016x}", xxh3_64(text.as_bytes()))
}

/// A change that a person asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum FormChange {
    Answer(QuestionAnswer),
    Reopen(CommentText),
    /// The values of one side, where both sides of a sync changed this version of the issue.
    Resolve(Box<Issue>, Side),
    /// A change that many issues can have at once.
    Other(Box<BulkChange>),
}

impl FormChange {
    /// Parses the fields of an action on an issue.
    pub fn parse(action: Action, fields: &Fields, issue: &Issue) -> Result<Self, String> {
        Ok(match action {
            Action::Answer => Self::Answer(answer(fields)?),
            Action::Reopen => Self::Reopen(comment(fields)?),
            Action::Attributes => Self::of(attributes(fields, issue)?),
            Action::Texts => Self::of(texts(fields, issue)?),
            Action::Resolve => {
                let side = Side::from_word(fields.get(SIDE));
                let side = side.ok_or_else(|| "There is no side. Choose one.".to_owned())?;
                Self::Resolve(Box::new(issue.clone()), side)
            }
            _ => Self::Other(Box::new(change_of_many(action, fields)?)),
        })
    }

    fn of(change: IssueChange) -> Self {
        Self::Other(Box::new(BulkChange { change, ..BulkChange::default() }))
    }

    /// Makes the change, if the issue still has this version. Returns the numbers of its events, if they are known.
    pub async fn make(
        self,
        tracker: &Tracker,
        issue: IssueRef,
        version: String,
        agent: AgentName,
        proof: ClaimProof,
    ) -> Result<Option<EventNumbers>, StoreError> {
        let known = IssueAtVersion { issue, version: Some(version) };
        let changed = match self {
            Self::Answer(answer) => tracker.answer_question(known, answer, agent).await,
            Self::Reopen(comment) => tracker.reopen_issue(known, comment, agent).await,
            Self::Resolve(issue, side) => {
                return ait_sync::resolve(tracker, &issue, side, &agent).await.map(|_| None);
            }
            Self::Other(bulk) => match bulk.end {
                None => tracker.change_issue(known, bulk.change, agent).await,
                Some(BulkEnd::Claim) => tracker.claim_for_person(known, agent).await,
                Some(BulkEnd::Return(comment)) => {
                    tracker.return_issue(known, comment, agent, proof).await
                }
                Some(BulkEnd::Close(outcome, comment)) => {
                    tracker.close_issue(known, outcome, comment, agent, proof).await
                }
            },
        };
        Ok(tracker.change_numbers(&changed?.events).await)
    }
}

/// Parses the fields of an action that many issues can have at once.
pub(super) fn change_of_many(action: Action, fields: &Fields) -> Result<BulkChange, String> {
    let change = |change| BulkChange { change, ..BulkChange::default() };
    let end = |end| BulkChange { end: Some(end), ..BulkChange::default() };
    Ok(match action {
        Action::Attributes => change(attributes_of_many(fields)?),
        Action::Comment => {
            change(IssueChange { comment: Some(comment(fields)?), ..IssueChange::default() })
        }
        Action::Park => {
            let parked = Some(Some((comment(fields)?, None)));
            change(IssueChange { parked, ..IssueChange::default() })
        }
        Action::Link => {
            let kind = LinkKind::from_word(fields.get(LINK_KIND));
            let kind = kind.ok_or_else(|| "There is no kind of link. Choose one.".to_owned())?;
            let to = IssueRef::named(fields.get(ISSUE_TO), IssueRef::MIN_DIGITS).map_err(said)?;
            change(IssueChange { links_add: vec![(kind, to)], ..IssueChange::default() })
        }
        Action::Unpark => change(IssueChange { parked: Some(None), ..IssueChange::default() }),
        Action::Claim => end(BulkEnd::Claim),
        Action::Return => end(BulkEnd::Return(comment(fields)?)),
        Action::Close => end(BulkEnd::Close(outcome(fields)?, comment(fields)?)),
        _ => return Err("The page of the issue has the form for this.".to_owned()),
    })
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
    let before = Fields::of(Action::Attributes, issue);
    // What is as it was stays, also if other issues begin with the same digits by now.
    let changed = |name: &str| {
        let given = fields.given(name)?;
        let is_same = words(given).eq(words(before.get(name)));
        (!is_same).then(|| words(given).collect::<Vec<_>>())
    };
    let issue_of = |word: &&str| IssueRef::named(word, IssueRef::MIN_DIGITS).map_err(said);
    let classification = changed(KIND).map(|kind| {
        let kind = kind.first().and_then(|word| Classification::work_from_word(word));
        kind.ok_or_else(|| NO_KIND.to_owned())
    });
    let parent = changed(PARENT).map(|words| match words[..] {
        [] => Ok(None),
        [parent] => issue_of(&parent).map(Some),
        _ => Err("An issue has one parent.".to_owned()),
    });
    let blocked_by = changed(BLOCKERS).map(|words| words.iter().map(issue_of).collect());
    Ok(IssueChange {
        values,
        labels_add,
        labels_remove,
        classification: classification.transpose()?,
        parent: parent.transpose()?,
        blocked_by: blocked_by.transpose()?,
        ..IssueChange::default()
    })
}

/// Parses the texts of an issue that are others than before.
fn texts(fields: &Fields, issue: &Issue) -> Result<IssueChange, String> {
    let changed = |name, before: &str| fields.given(name).filter(|given| *given != before);
    Ok(IssueChange {
        title: changed(TITLE, &issue.title).map(title).transpose()?,
        description: changed(TEXT, &issue.description).map(description).transpose()?,
        ..IssueChange::default()
    })
}

fn title(given: &str) -> Result<Title, String> {
    given.try_into().map_err(|error| format!("{}: {error}", text::TITLE))
}

fn description(given: &str) -> Result<Description, String> {
    given.try_into().map_err(|error| format!("{}: {error}", text::DESCRIPTION))
}

/// Parses the attributes that many issues get. An empty field leaves them as they are.
fn attributes_of_many(fields: &Fields) -> Result<IssueChange, String> {
    let mut change = IssueChange::default();
    let given = ValueField::ALL.iter().map(|field| (*field, fields.get(field.as_str()).trim()));
    for (field, given) in given.filter(|(_, given)| !given.is_empty()) {
        let given = if given == NONE { "" } else { given };
        change.values.push(value(field, given)?);
    }
    for word in words(fields.get(LABELS)) {
        let labels = match word.strip_prefix('-') {
            Some(_) => &mut change.labels_remove,
            None => &mut change.labels_add,
        };
        labels.push(word.trim_start_matches(['-', '+']).parse().map_err(said)?);
    }
    if change == IssueChange::default() {
        return Err("There is nothing to set. Fill in a field.".to_owned());
    }
    Ok(change)
}

fn said(error: DomainError) -> String {
    error.to_string()
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
        title: title(fields.get(TITLE))?,
        description: description(fields.get(TEXT))?,
        classification: classification.ok_or_else(|| NO_KIND.to_owned())?,
        details,
    })
}

/// Parses the values that are others than before. What is as it was would be refused on an issue that has ended.
fn values(fields: &Fields, before: &AttributeValues) -> Result<Vec<FieldValue>, String> {
    let given =
        ValueField::ALL.iter().filter_map(|field| Some((*field, fields.given(field.as_str())?)));
    let mut values = Vec::new();
    for (field, given) in given {
        let value = value(field, given)?;
        if value != FieldValue::of(field, before) {
            values.push(value);
        }
    }
    Ok(values)
}

fn value(field: ValueField, given: &str) -> Result<FieldValue, String> {
    let value = time_arg::field_value(field, given, &Utc);
    value.map_err(|error| format!("{}: {error}", attributes::field(field)))
}

fn labels(fields: &Fields) -> Result<Vec<Label>, String> {
    words(fields.get(LABELS)).map(|word| word.parse().map_err(said)).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split([' ', ',', '\n', '\t']).filter(|word| !word.is_empty())
}
