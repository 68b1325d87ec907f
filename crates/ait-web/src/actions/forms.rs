//! The forms with which people change an issue. They work without scripts.

use std::sync::Arc;

use maud::{Markup, html};

use super::action::Action;
use super::done::Done;
use super::fields::{
    AGENT, BLOCKERS, CONFIRMED, Fields, ISSUE_TO, KIND, LABELS, LINK_KIND, NONE, OPTION, OUTCOME,
    PARENT, SIDE, TEXT, TITLE, TOKEN, VERSION, attribute_fields, hash_of, was,
};
use super::form_token::{FormTokens, Purpose};
use super::inbox;
use super::person::{Person, known_name, your_name};
use crate::pages::components::{self, issue_path};
use crate::pages::questions;
use crate::strings::{self, actions as text, attributes};
use ait_domain::text::shortened;
use ait_domain::{
    AgentName, Classifications, CommentText, Issue, Label, LinkKind, Priority, Question, Status,
    Title, ValueField,
};
use ait_sync::{Link, Side};
use ait_tracker::read_model::ReadView;

/// How many options of a question a form offers.
const MAX_OPTIONS: usize = 20;
/// How many characters the field for all labels takes.
const MAX_LABELS_CHARS: usize = 50 * (Label::MAX_CHARS + 1);
/// How many characters the field for all blockers takes.
const MAX_LINKS_CHARS: usize = 2_000;
/// The lists of values that complete fields, and how many each has.
const KNOWN_LABELS: &str = "known-labels";
const KNOWN_NAMES: &str = "known-names";
const MAX_KNOWN: usize = 100;
/// How many characters of an option a form shows.
const MAX_OPTION_CHARS: usize = 1_000;

/// Renders forms for a person.
pub(crate) struct IssueForms {
    pub tokens: Arc<FormTokens>,
    pub person: Person,
    /// What the person has just done.
    pub done: Option<Done>,
    /// The kinds of work that the project uses.
    pub kinds: Arc<Classifications>,
    /// Open issues with nearly the title of the one that the person has just filed.
    pub near: Vec<Arc<Issue>>,
}

/// Returns the path to which the form of an action is sent.
fn action_path(issue: &Issue, action: Action) -> String {
    format!("{}/actions/{}", issue_path(issue.id), action.as_str())
}

/// Returns the actions that an issue allows besides an answer and a comment.
fn further_actions(issue: &Issue) -> impl Iterator<Item = Action> {
    let is_open = issue.status.is_open();
    let is_parked = issue.attributes.parked.is_some();
    let has_question = issue.open_question().is_some();
    let is_in_conflict = Link::all(issue).values().any(|link| !link.conflicts.is_empty());
    let allowed = [
        (Action::Resolve, is_in_conflict),
        (Action::Claim, issue.status == Status::Created && !is_parked),
        (Action::Park, is_open && !is_parked),
        (Action::Unpark, is_open && is_parked && !has_question),
        (Action::Return, is_open && issue.status != Status::Created),
        (Action::Close, is_open),
        (Action::Reopen, !is_open),
    ];
    allowed.into_iter().filter_map(|(action, is_allowed)| is_allowed.then_some(action))
}

impl IssueForms {
    /// Renders what the person has just done; nothing on other pages.
    pub fn notice(&self, issue: &Issue) -> Markup {
        html! {
            @if let Some(done) = &self.done { (done.notice(&issue_path(issue.id), &self.tokens, &self.person)) }
            @for near in &self.near {
                p.notice {
                    "An open issue has nearly the same title; close one of the two if they mean \
                         the same:" " "
                    a href=(issue_path(near.id)) dir="auto" { (components::title(&near.title)) }
                }
            }
        }
    }

    /// Renders the answers to the open question: a button for each option, and the form; nothing if there is none.
    pub fn answer(&self, issue: &Issue) -> Markup {
        html! {
            @match issue.open_question() {
                None => {}
                Some(asked) if asked.options.is_empty() => { (self.form(Action::Answer, issue)) }
                Some(asked) => {
                    (inbox::form(&self.tokens, &self.person, &issue_path(issue.id)))
                    p.answers #issue-answers { (questions::buttons(issue.id, asked, questions::MAX_OPTION_CHARS)) }
                    details.fold #fold-answer {
                        summary { (strings::questions::OTHER) }
                        (self.form(Action::Answer, issue))
                    }
                }
            }
        }
    }

    /// Renders the form for the title and the description, in whose place it opens; nothing if they stay.
    pub fn texts(&self, issue: &Issue) -> Markup {
        html! {
            @if issue.status.is_open() {
                details.fold #fold-texts {
                    summary { (text::label(Action::Texts)) }
                    (self.form(Action::Texts, issue))
                }
            }
        }
    }

    /// Renders the form for the properties.
    pub fn properties(&self, issue: &Issue) -> Markup {
        self.form(Action::Attributes, issue)
    }

    /// Renders all other forms.
    pub fn others(&self, issue: &Issue) -> Markup {
        html! {
            section.actions #issue-actions aria-labelledby="actions-heading" {
                h2 #actions-heading { "Change this issue" }
                (self.form(Action::Comment, issue))
                @for action in further_actions(issue) {
                    details.fold id={ "fold-" (action.as_str()) } {
                        summary { (text::label(action)) }
                        (self.form(action, issue))
                    }
                }
            }
        }
    }

    fn form(&self, action: Action, issue: &Issue) -> Markup {
        self.filled(action, issue, &Fields::of(action, issue))
    }

    /// Renders the form of an action with what was typed into it.
    pub fn filled(&self, action: Action, issue: &Issue, fields: &Fields) -> Markup {
        html! {
            // A comment says the same about every version, so its form goes with the page while a person types.
            form.action id={ "act-" (action.as_str()) } data-follows[action == Action::Comment] method="post"
                action=(action_path(issue, action)) {
                (self.hidden(action, issue, false))
                (before(action, issue))
                (self.inputs(action, issue, fields))
                // One field is enough to change it, and what was refused shows what was sent.
                @if action == Action::Comment || !fields.get(AGENT).is_empty() { (your_name(fields, &self.person)) }
                @else { (known_name(&self.person)) }
                @if action == Action::Resolve { (sides()) } @else { button type="submit" { (text::label(action)) } }
            }
        }
    }

    fn inputs(&self, action: Action, issue: &Issue, fields: &Fields) -> Markup {
        let has_ended = issue.status.has_ended();
        match action {
            Action::Answer => html! {
                @match issue.open_question() {
                    Some(question) if !question.options.is_empty() => {
                        (options(question, fields.get(OPTION)))
                        (textarea("Or answer in your own words", fields, false))
                    }
                    _ => { (textarea("Your answer", fields, true)) }
                }
            },
            Action::Texts => {
                html! { (title(fields, false)) (textarea(text::DESCRIPTION, fields, false)) }
            }
            Action::Attributes => html! {
                @if !has_ended { (kind(&self.kinds, fields)) }
                (attributes(fields, has_ended, &html! {
                    (input("Part of", PARENT, fields, MAX_LINKS_CHARS))
                    (input("Blocked by", BLOCKERS, fields, MAX_LINKS_CHARS))
                }))
            },
            _ => reason(action, fields),
        }
    }

    /// Renders the form that chooses a side of a sync, for pages with several issues.
    pub fn choice(&self, issue: &Issue) -> Markup {
        let action = Action::Resolve;
        html! {
            form.action method="post" action=(action_path(issue, action)) {
                (self.hidden(action, issue, false))
                (your_name(&Fields::default(), &self.person))
                (sides())
            }
        }
    }

    /// Renders the form that confirms an action, with what was typed.
    pub fn confirmation(&self, action: Action, issue: &Issue, fields: &Fields) -> Markup {
        html! {
            form.action method="post" action=(action_path(issue, action)) {
                (self.hidden(action, issue, true))
                input type="hidden" name=(CONFIRMED) value="true";
                input type="hidden" name=(AGENT) value=(fields.get(AGENT));
                input type="hidden" name=(TEXT) value=(fields.get(TEXT));
                @if action == Action::Close {
                    input type="hidden" name=(OUTCOME) value=(fields.get(OUTCOME));
                    p { (text::OUTCOME) ": " b { (fields.get(OUTCOME)) } }
                }
                blockquote.typed dir="auto" { (fields.get(TEXT)) }
                button type="submit" { (text::label(action)) } " "
                a href=(issue_path(issue.id)) { "Cancel" }
            }
        }
    }

    /// Renders the version that the form changes, and its token.
    fn hidden(&self, action: Action, issue: &Issue, is_confirmed: bool) -> Markup {
        let version = issue.version();
        let principal = self.person.principal.as_str();
        let purpose =
            Purpose { action, is_confirmed, issue: issue.id, version: &version, principal };
        html! {
            input type="hidden" name=(VERSION) value=(version);
            input type="hidden" name=(TOKEN) value=(self.tokens.token(&purpose));
        }
    }
}

/// Renders what the fields are, so that what the person leaves alone can be told from what they change.
fn before(action: Action, issue: &Issue) -> Markup {
    let fields = Fields::of(action, issue);
    let hidden = |name: &str, value: &str| {
        html! { input type="hidden" name=(was(name)) value=(value); }
    };
    html! {
        @if action == Action::Attributes { @for name in attribute_fields() { (hidden(name, fields.get(name))) } }
        @if action == Action::Texts { @for name in [TITLE, TEXT] { (hidden(name, &hash_of(fields.get(name)))) } }
    }
}

/// Renders the buttons that choose a side.
fn sides() -> Markup {
    html! {
        @for (side, label) in [(Side::Here, text::KEEP), (Side::There, text::TAKE)] {
            button type="submit" name=(SIDE) value=(side) { (label) } " "
        }
    }
}

/// Renders the fields of an action whose form does not depend on the issue.
pub(super) fn reason(action: Action, fields: &Fields) -> Markup {
    match action {
        Action::Comment => textarea("Comment", fields, true),
        Action::Park => textarea("Why agents should not claim it now", fields, true),
        Action::Return => textarea("Why, and what the next agent should know", fields, true),
        Action::Reopen => textarea("Why, and what is left to do", fields, true),
        Action::Link => html! {
            label {
                span { "They are" }
                select name=(LINK_KIND) {
                    @for kind in LinkKind::ALL {
                        option value=(kind) selected[fields.get(LINK_KIND) == kind.as_str()] { (strings::relations::kind(*kind)) }
                    }
                }
            }
            (input("Issue", ISSUE_TO, fields, MAX_LINKS_CHARS))
        },
        Action::Close => html! {
            (outcome(fields.get(OUTCOME)))
            (textarea("Why", fields, true))
        },
        _ => html! {},
    }
}

/// Renders the fields for the attributes of many issues. What is left empty stays as it is.
pub(super) fn attributes_of_many(fields: &Fields) -> Markup {
    let input = |label: &str, name: &str, example: &str, max_chars: usize| {
        html! {
            label {
                span { (label) }
                input type="text" name=(name) value=(fields.get(name)) placeholder=(example) maxlength=(max_chars)
                    list=[list_of(name)] autocomplete="off" autocapitalize="none" spellcheck="false" dir="auto";
            }
        }
    };
    let assignee = ValueField::Assignee;
    html! {
        label {
            span { (attributes::PRIORITY) }
            select name=(ValueField::Priority.as_str()) autocomplete="off" {
                @let chosen = fields.get(ValueField::Priority.as_str());
                option value="" selected[chosen.is_empty()] { "as it is" }
                @for level in (0..=Priority::MAX).map(|level| level.to_string()).chain([NONE.to_owned()]) {
                    option value=(level) selected[chosen == level] { (level) }
                }
            }
        }
        (input(text::LABELS, LABELS, "ui -old", MAX_LABELS_CHARS))
        (input(attributes::field(assignee), assignee.as_str(), "as it is, or none", AgentName::MAX_CHARS))
    }
}

/// Renders the fields for the attributes of an issue, `others` behind them, and at the end the rare ones, folded while
/// they are empty. One that has ended keeps all but its labels.
pub(super) fn attributes(fields: &Fields, has_ended: bool, others: &Markup) -> Markup {
    let values = if has_ended { &[] } else { ValueField::ALL };
    let (rare, common): (Vec<&ValueField>, Vec<_>) =
        values.iter().partition(|field| field.is_rare());
    let is_open = rare.iter().any(|field| !fields.get(field.as_str()).is_empty());
    let value = |field: &ValueField| match field {
        ValueField::Priority => priority(fields.get(field.as_str())),
        field => input(attributes::field(*field), field.as_str(), fields, AgentName::MAX_CHARS),
    };
    html! {
        (input(text::LABELS, LABELS, fields, MAX_LABELS_CHARS))
        @for field in common { (value(field)) }
        (others)
        @if !rare.is_empty() {
            details.rare open[is_open] {
                summary { (text::RARE) }
                @for field in rare { (value(field)) }
            }
        }
    }
}

fn input(label: &str, name: &str, fields: &Fields, max_chars: usize) -> Markup {
    html! {
        label {
            span { (label) }
            input type="text" name=(name) value=(fields.get(name)) maxlength=(max_chars) autocomplete="off"
                list=[list_of(name)] autocapitalize="none" spellcheck="false" dir="auto";
        }
    }
}

/// Returns the list of the values that complete a field.
fn list_of(name: &str) -> Option<&'static str> {
    match name {
        LABELS => Some(KNOWN_LABELS),
        _ if name == ValueField::Assignee.as_str() => Some(KNOWN_NAMES),
        _ => None,
    }
}

/// Renders the labels and names that complete fields.
pub(crate) fn known(view: &ReadView<'_>) -> Markup {
    html! {
        datalist #(KNOWN_LABELS) { @for label in view.attribute_counts().labels(MAX_KNOWN) { option value=(label) {} } }
        datalist #(KNOWN_NAMES) { @for name in view.recent_agents(MAX_KNOWN) { option value=(name) {} } }
    }
}

/// Renders the field for the title, which has the focus if it is the `is_first` of its page.
pub(super) fn title(fields: &Fields, is_first: bool) -> Markup {
    html! {
        label {
            span { (text::TITLE) }
            input type="text" name=(TITLE) value=(fields.get(TITLE)) required autofocus[is_first]
                maxlength=(Title::MAX_CHARS) autocomplete="off" dir="auto";
        }
    }
}

/// Renders the choice of the kind of work: one of those that the project uses, or the one that the issue has.
pub(super) fn kind(used: &Classifications, fields: &Fields) -> Markup {
    let chosen = fields.get(KIND);
    let has_other = !chosen.is_empty() && used.words().all(|kind| kind != chosen);
    html! {
        label {
            span { (strings::KIND) }
            select name=(KIND) {
                @for kind in used.words() { option value=(kind) selected[chosen == kind] translate="no" { (kind) } }
                @if has_other { option value=(chosen) selected translate="no" { (chosen) } }
            }
        }
    }
}

/// Renders the choice of how an issue ends.
fn outcome(chosen: &str) -> Markup {
    html! {
        label {
            span { (text::OUTCOME) }
            select name=(OUTCOME) {
                @for (value, name) in text::OUTCOMES {
                    option value=(value) selected[chosen == value] { (name) }
                }
            }
        }
    }
}

pub(super) fn textarea(label: &str, fields: &Fields, is_required: bool) -> Markup {
    html! {
        label {
            span { (label) }
            // The first line break of the content is not part of it (HTML standard, section 13.1.2.5).
            textarea name=(TEXT) rows="4" maxlength=(CommentText::MAX_CHARS) required[is_required] dir="auto" {
                "\n" (fields.get(TEXT))
            }
        }
    }
}

fn options(question: &Question, chosen: &str) -> Markup {
    let numbered = (1..).zip(question.options.iter().take(MAX_OPTIONS));
    let is_chosen = |number: usize| number.to_string() == chosen;
    html! {
        fieldset {
            legend { "Choose an answer" }
            @for (number, option) in numbered {
                label.choice {
                    input type="radio" name=(OPTION) value=(number) checked[is_chosen(number)];
                    span dir="auto" { (shortened(option, MAX_OPTION_CHARS)) }
                }
            }
            label.choice {
                input type="radio" name=(OPTION) value="";
                span { "none of these" }
            }
        }
    }
}

fn priority(chosen: &str) -> Markup {
    html! {
        label {
            span { (attributes::PRIORITY) }
            select name=(ValueField::Priority.as_str()) {
                option value="" selected[chosen.is_empty()] { (text::NO_PRIORITY) }
                @for level in 0..=Priority::MAX {
                    @let level = level.to_string();
                    option value=(level) selected[chosen == level] { (level) }
                }
            }
        }
    }
}
