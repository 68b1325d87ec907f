//! The open questions of agents to people.

use maud::{Markup, html};

use super::components;
use crate::markdown::{self, Links, one_line};
use crate::strings::questions as text;
use ait_domain::text::shortened;
use ait_domain::{Issue, IssueId, Parked, Question, Timestamp};
use ait_tracker::read_model::ReadView;

/// How many questions the board shows.
const MAX_QUESTIONS: usize = 20;
/// How many characters and lines of a question the board renders. Of a longer one it shows the beginning, without the
/// signs of Markdown.
const SHORT_CHARS: usize = 400;
const SHORT_LINES: usize = 8;
/// How many characters of an option the board shows.
const MAX_OPTION_CHARS: usize = 100;
/// How many options of a question the pages show.
const MAX_OPTIONS: usize = 20;

/// Renders the open questions of all issues; nothing if there is none.
pub(super) fn of_all(view: &ReadView, now: Timestamp, has_actions: bool) -> Markup {
    let total = view.questions().count();
    html! {
        @if total > 0 {
            section.questions #questions aria-labelledby="questions-heading" {
                h2 #questions-heading { "Questions to people" " " span.count { (total) } }
                @for (issue, parked, asked) in view.questions().take(MAX_QUESTIONS) {
                    article.question id={ "q-" (issue.id) } {
                        h3 { a href=(components::issue_path(issue.id)) dir="auto" { (components::title(&issue.title)) } }
                        (short(&asked.text, view))
                        (options(&asked.options, |option| html! { (shortened(option, MAX_OPTION_CHARS)) }))
                        (default_of(asked))
                        (asked_by(Some(parked), now))
                        (way(issue.id, (!has_actions).then(|| view.short_id(issue.id))))
                    }
                }
                @if total > MAX_QUESTIONS { p.more { (components::with_code(&format!("{} more: `ait questions` lists them all", total - MAX_QUESTIONS))) } }
            }
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
                @if short_id.is_some() { (way(issue.id, short_id)) }
            }
        }
    }
}

/// Renders how to answer: on the page of the issue, or in a terminal.
fn way(id: IssueId, short_id: Option<String>) -> Markup {
    html! {
        p.quiet {
            @if let Some(short_id) = short_id {
                @let command = format!("ait answer {short_id} 'TEXT'");
                "answer in a terminal: " code { (command) } " " (components::copy_command(&command))
            } @else {
                a href={ (components::issue_path(id)) "#act-answer" } { "Answer it" }
            }
        }
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
