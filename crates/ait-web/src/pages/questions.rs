//! The open questions of agents to people.

use maud::{Markup, html};

use super::components;
use crate::actions::action::Action;
use crate::actions::inbox::{self, ANSWER, FORM};
use crate::actions::many::ManyForms;
use crate::markdown::{self, Links, one_line};
use crate::strings::{actions, questions as text};
use ait_domain::text::shortened;
use ait_domain::{Issue, IssueId, Parked, Question, Timestamp};
use ait_tracker::read_model::ReadView;

/// How many questions the board shows: each is one line above the columns.
const MAX_QUESTIONS: usize = 5;
/// How many characters of a question such a line has.
const MAX_LINE_CHARS: usize = 300;
/// How many characters and lines of a question the board renders. Of a longer one it shows the beginning, without the
/// signs of Markdown.
const SHORT_CHARS: usize = 400;
const SHORT_LINES: usize = 8;
/// How many characters of an option the board and a button show.
pub(crate) const MAX_OPTION_CHARS: usize = 100;
/// How many options of a question the pages show.
const MAX_OPTIONS: usize = 20;
/// How many options of a question have buttons, and how many characters each of these has.
const MAX_BUTTONS: usize = 4;
const MAX_BUTTON_CHARS: usize = 24;

/// Renders the open questions of all issues on a page with this address, each as a line that unfolds; nothing if there
/// is none.
pub(super) fn of_all(
    view: &ReadView,
    now: Timestamp,
    has_actions: bool,
    forms: Option<&ManyForms>,
    page: &str,
) -> Markup {
    let total = view.questions().count();
    html! {
        @if total > 0 {
            section.questions #questions aria-labelledby="questions-heading" {
                div.questions-head {
                    h2 #questions-heading { "Questions to people" " " span.count { (total) } }
                    @if let Some(forms) = forms { (inbox::form(&forms.tokens, &forms.person, page)) }
                    @if total > MAX_QUESTIONS { p.more { a href="/inbox?kind=question" { (total - MAX_QUESTIONS) " more" } } }
                }
                @for (issue, parked, asked) in view.questions().take(MAX_QUESTIONS) {
                    article.question id={ "q-" (issue.id) } {
                        details {
                            summary {
                                b dir="auto" { (components::title(&issue.title)) } " "
                                span.quiet dir="auto" { (components::undirected(&one_line(&asked.text, MAX_LINE_CHARS))) }
                            }
                            (short(&asked.text, view))
                            (options(&asked.options, |option| html! { (shortened(option, MAX_OPTION_CHARS)) }))
                            (default_of(asked))
                            (asked_by(Some(parked), now))
                            p { a href=(components::issue_path(issue.id)) { "Open the page" } }
                            @if !has_actions { (in_terminal(&view.short_id(issue.id))) }
                        }
                        @if has_actions { p.answers { (answers(issue.id, forms.map(|_| asked))) } }
                    }
                }
            }
        }
    }
}

/// Renders a button for each of the first options of a question, and the link to the form for all answers.
pub(super) fn answers(id: IssueId, asked: Option<&Question>) -> Markup {
    html! {
        @if let Some(asked) = asked { (buttons(id, asked, MAX_BUTTON_CHARS)) }
        a href={ (components::issue_path(id)) "#issue-question" } {
            @if asked.is_none_or(|asked| asked.options.is_empty()) { (actions::label(Action::Answer)) } @else { (text::OTHER) }
        }
    }
}

/// Renders a button for each of the first options of a question, for the form of [`inbox::form`]. A button has at most
/// `max_chars` characters of its option.
pub(crate) fn buttons(id: IssueId, asked: &Question, max_chars: usize) -> Markup {
    html! {
        @for (number, option) in (1..).zip(&asked.options).take(MAX_BUTTONS) {
            @let option = components::undirected(&shortened(option, MAX_OPTION_CHARS));
            button form=(FORM) name=(ANSWER) value=(inbox::option(id, asked, number)) title=(option) dir="auto" {
                (shortened(&option, max_chars))
            }
            " "
        }
    }
}

/// Renders the open question of an issue with `render`; nothing if it has none. `short_id` is for the command that
/// answers it; without, the form for the answer follows, which has the options.
pub(crate) fn of_issue(
    issue: &Issue,
    now: Timestamp,
    short_id: Option<String>,
    mut render: impl FnMut(&str) -> Markup,
) -> Markup {
    html! {
        @if let Some(asked) = issue.open_question() {
            section.question #issue-question aria-labelledby="question-heading" {
                h2 #question-heading { (text::QUESTION) }
                div.prose dir="auto" { (render(&asked.text)) }
                @if short_id.is_some() { (options(&asked.options, render)) }
                (default_of(asked))
                (asked_by(issue.attributes.parked.as_deref(), now))
                @if let Some(short_id) = short_id { (in_terminal(&short_id)) }
            }
        }
    }
}

/// Renders how to answer in a terminal.
fn in_terminal(short_id: &str) -> Markup {
    let command = format!("ait answer {short_id} 'TEXT'");
    html! {
        p.quiet { "answer in a terminal: " code { (command) } " " (components::copy_command(&command)) }
    }
}

/// Renders a short question, or the beginning of a long one.
fn short(asked: &str, view: &ReadView) -> Markup {
    let is_short =
        asked.chars().nth(SHORT_CHARS).is_none() && asked.lines().nth(SHORT_LINES).is_none();
    let links =
        Links { issue: &|reference| components::mention(reference, view), repository: None };
    html! {
        div.prose dir="auto" {
            @if is_short { (markdown::render(asked, &links)) } @else { p { (one_line(asked, SHORT_CHARS)) } }
        }
    }
}

fn options(options: &[String], mut render: impl FnMut(&str) -> Markup) -> Markup {
    html! {
        @if !options.is_empty() {
            ol { @for option in options.iter().take(MAX_OPTIONS) { li dir="auto" { (render(option)) } } }
        }
    }
}

/// Renders the answer that the tracker gives if no person does, and when it does.
fn default_of(question: &Question) -> Markup {
    html! {
        @if let Some(default) = &question.default {
            p.quiet dir="auto" translate="yes" { (text::default(default.at)) (one_line(&default.text, SHORT_CHARS)) }
        }
    }
}

fn asked_by(parked: Option<&Parked>, now: Timestamp) -> Markup {
    html! {
        @if let Some(parked) = parked {
            p.quiet { "asked by " (components::agent(&parked.by)) " " (components::ago(parked.since, now)) }
        }
    }
}
