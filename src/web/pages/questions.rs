//! The open questions of agents to people.

use maud::{Markup, html};

use super::components;
use crate::domain::text::shortened;
use crate::domain::{Issue, Timestamp};
use crate::read_model::ReadView;
use crate::web::strings::questions as text;

/// How many questions the board shows.
const MAX_QUESTIONS: usize = 20;
/// How many characters of a question and of an option the pages show.
const MAX_CHARS: usize = 2_000;
/// How many options of a question the pages show.
const MAX_OPTIONS: usize = 20;

/// Renders the open questions of all issues; nothing if there is none.
pub(super) fn of_all(view: &ReadView, now: Timestamp, has_actions: bool) -> Markup {
    let total = view.questions().count();
    html! {
        @if total > 0 {
            section.questions #questions aria-labelledby="questions-heading" {
                h2 #questions-heading { (text::HEADING) " " span.count { (total) } }
                @for issue in view.questions().take(MAX_QUESTIONS) {
                    article.question id={ "q-" (issue.id) } {
                        h3 { a href=(components::issue_path(issue.id)) dir="auto" { (components::undirected(&issue.title)) } }
                        (question(&issue, now))
                        (way(&issue, (!has_actions).then(|| view.short_id(issue.id))))
                    }
                }
                @if total > MAX_QUESTIONS { p.more { (text::more(total - MAX_QUESTIONS)) } }
            }
        }
    }
}

/// Renders the open question of an issue; nothing if it has none. `short_id` is for the command that answers it;
/// without, the form for the answer follows.
pub(in crate::web) fn of_issue(issue: &Issue, now: Timestamp, short_id: Option<String>) -> Markup {
    html! {
        @if issue.open_question().is_some() {
            section.question #issue-question aria-labelledby="question-heading" {
                h2 #question-heading { (text::QUESTION) }
                (question(issue, now))
                @if short_id.is_some() { (way(issue, short_id)) }
            }
        }
    }
}

/// Renders how to answer: on the page of the issue, or in a terminal.
fn way(issue: &Issue, short_id: Option<String>) -> Markup {
    html! {
        p.quiet {
            @if let Some(short_id) = short_id {
                @let command = text::command(&short_id);
                (text::ANSWER_WITH) code { (command) } " " (components::copy_command(&command))
            } @else {
                a href={ (components::issue_path(issue.id)) "#act-answer" } { (text::ANSWER) }
            }
        }
    }
}

fn question(issue: &Issue, now: Timestamp) -> Markup {
    let parked = issue.attributes.parked.as_ref();
    html! {
        @if let (Some(parked), Some(question)) = (parked, issue.open_question()) {
            p.asked dir="auto" { (shortened(&question.text, MAX_CHARS)) }
            @if !question.options.is_empty() {
                ol {
                    @for option in question.options.iter().take(MAX_OPTIONS) {
                        li dir="auto" { (shortened(option, MAX_CHARS)) }
                    }
                }
            }
            p.quiet {
                (text::ASKED_BY) (components::agent(&parked.by)) " " (components::ago(parked.since, now))
            }
        }
    }
}
