//! Parts that several pages share.

use maud::{Markup, html};

use super::icons;
use crate::example::PATH;
use crate::format;
use crate::markdown::Mention;
use crate::strings;
use ait_domain::text::shortened;
use ait_domain::{Classification, IssueId, IssueRef, Status, Timestamp};
use ait_query::QueryError;
use ait_tracker::read_model::ReadView;

/// How many agents a filter offers: those that were active last.
const MAX_AGENTS: usize = 100;
/// How many characters of a title a link to an issue shows on hover.
const MAX_MENTION_CHARS: usize = 80;

/// Renders the badge of a status.
pub(crate) fn status(status: Status) -> Markup {
    html! {
        span class={ "badge status-" (status) } { (icons::status(status)) (strings::status(status)) }
    }
}

/// Renders the icon of a status, where its name has no room.
pub(super) fn status_icon(status: Status) -> Markup {
    let name = strings::status(status);
    html! {
        span class={ "badge-icon status-" (status) } title=(name) { (icons::status(status)) span.unseen { (name) } }
    }
}

/// Renders the badge of a classification.
pub(super) fn kind(kind: Classification) -> Markup {
    html! {
        span class={ "badge kind-" (kind) } translate="no" { (icons::kind(kind)) (kind) }
    }
}

/// Renders a text about a time; the exact time shows on hover.
pub(super) fn time(time: Timestamp, text: &str) -> Markup {
    html! { time datetime=(time) title=(time) { (text) } }
}

/// Renders a time to the minute, in UTC; the script shows that of the reader.
pub(super) fn local_time(time: Timestamp) -> Markup {
    html! { time datetime=(time) data-as="time" { (format::time(time)) } }
}

/// Renders that the time before it is in UTC, as long as no script shows that of the reader.
pub(super) fn utc() -> Markup {
    html! { span.utc translate="no" { " UTC" } }
}

/// Renders that the times are in UTC, as long as no script shows those of the reader.
pub(super) fn all_utc() -> Markup {
    html! { span.utc { (strings::ALL_UTC) } }
}

/// Renders how long ago something happened.
pub(crate) fn ago(then: Timestamp, now: Timestamp) -> Markup {
    time(then, &strings::ago(now.millis_since(then)))
}

/// Renders how long an agent has held an issue.
pub(super) fn held_since(since: Timestamp, now: Timestamp) -> Markup {
    time(since, &strings::held_for(now.millis_since(since)))
}

/// Renders for how long the holder of an issue has been silent; nothing if it is not.
pub(super) fn silence(silent_ms: Option<u64>) -> Markup {
    html! {
        @if let Some(silent_ms) = silent_ms { " " span.silent { (strings::claims::silent(silent_ms)) } }
    }
}

/// Renders the mark of an old claim.
pub(super) fn old_claim() -> Markup {
    html! { strong.stale { (icons::other("clock")) (strings::board::OLD_CLAIM) } }
}

/// Renders the name of an agent, whose direction cannot affect the text around it.
pub(crate) fn agent(name: &str) -> Markup {
    html! { bdi.agent { (undirected(name)) } }
}

/// Renders how often an issue was returned.
pub(super) fn returns(count: usize) -> Markup {
    html! { @if count > 0 { span.returns { (number("return", count, &strings::returned(count))) } } }
}

/// Returns the link to an issue that a text names, if there is such an issue.
pub(super) fn mention(reference: &IssueRef, view: &ReadView) -> Option<Mention> {
    let issue = &view.summaries()[view.position(reference).ok()?];
    let title = shortened(&undirected(&issue.title), MAX_MENTION_CHARS);
    let title = format!("{title} ({})", strings::status(issue.status));
    Some(Mention { path: issue_path(issue.id), title })
}

/// Renders a number behind its icon; `meaning` shows on hover and is read out.
pub(super) fn number(icon: &str, number: usize, meaning: &str) -> Markup {
    html! {
        span title=(meaning) {
            (icons::other(icon)) span aria-hidden="true" { (number) } span.unseen { (meaning) }
        }
    }
}

/// Renders a command for a terminal, with a button that copies it.
pub(super) fn command(command: &str) -> Markup {
    html! {
        div.command {
            pre tabindex="0" { code { (command) } }
            (copy_command(command))
        }
    }
}

/// Renders the way to an example, for a project without issues.
pub(super) fn example(has_example: bool) -> Markup {
    html! {
        @if has_example {
            p { a.new href=(PATH) target="_blank" { (strings::list::EXAMPLE) } }
        } @else {
            p { (strings::list::EXAMPLE) ":" }
            (command(strings::list::EXAMPLE_COMMAND))
        }
    }
}

/// Renders the button that copies a command. The script shows it.
pub(super) fn copy_command(command: &str) -> Markup {
    html! {
        button.copy type="button" data-copy=(command) data-copied="Command copied."
            aria-label="Copy the command" hidden
        {
            "Copy"
        }
    }
}

/// Renders what is wrong with a search.
pub(super) fn invalid_search(mistake: &QueryError) -> Markup {
    html! {
        section.notice role="alert" {
            h2 { (strings::errors::INVALID_QUERY) }
            p { bdi { (mistake.to_string()) } }
        }
    }
}

/// Renders the choice of an agent in a form of filters.
pub(super) fn agent_filter(view: &ReadView, chosen: Option<&str>) -> Markup {
    let mut agents = view.recent_agents(MAX_AGENTS);
    agents.extend(chosen.filter(|agent| !agents.contains(agent)));
    agents.sort_unstable();
    html! {
        label {
            span { (strings::AGENT) }
            select name="agent" {
                option value="" { (strings::ANY_AGENT) }
                @for agent in agents {
                    option value=(agent) selected[chosen == Some(agent)] { (agent) }
                }
            }
        }
    }
}

/// Returns a text without the characters that override or isolate directions. Within a title they would let a text
/// read as another one, and in places without markup they would also turn round what follows.
pub(crate) fn undirected(text: &str) -> String {
    let is_direction =
        |character: char| matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.replace(is_direction, "")
}

/// Returns the path of the page of an issue.
pub(crate) fn issue_path(id: IssueId) -> String {
    format!("/issues/{id}")
}

/// Renders what stands between backquotes as code.
pub(crate) fn with_code(line: &str) -> Markup {
    html! {
        @for (at, part) in line.split('`').enumerate() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// Returns the title of an issue without the backticks that enclose code, for drawings.
pub(super) fn without_code(title: &str) -> String {
    if has_code(title) { title.replace('`', "") } else { title.to_owned() }
}

fn has_code(title: &str) -> bool {
    title.matches('`').count().is_multiple_of(2)
}

/// Renders the title of an issue, with code where backticks enclose it.
pub(crate) fn title(title: &str) -> Markup {
    let title = undirected(title);
    if has_code(&title) {
        with_code(&title)
    } else {
        html! { (title) }
    }
}
