//! What several pages show in the same way.

use maud::{Markup, html};

use super::icons;
use crate::domain::{Classification, IssueId, Status, Timestamp};
use crate::web::words::Words;

/// A status, by its colour, its shape and its name.
pub(in crate::web) fn status(status: Status, words: &Words) -> Markup {
    html! {
        span class={ "badge status-" (status) } { (icons::status(status)) ((words.terms.status)(status)) }
    }
}

/// A classification, likewise.
pub(in crate::web) fn kind(kind: Classification, words: &Words) -> Markup {
    html! {
        span class={ "badge kind-" (kind) } { (icons::kind(kind)) ((words.terms.classification)(kind)) }
    }
}

/// A time, in words beside which the exact time shows on hover.
pub(in crate::web) fn time(time: Timestamp, in_words: &str) -> Markup {
    html! { time datetime=(time) title=(time) { (in_words) } }
}

/// How long ago something was.
pub(in crate::web) fn ago(then: Timestamp, now: Timestamp, words: &Words) -> Markup {
    time(then, &(words.terms.ago)(now.millis_since(then)))
}

/// The name of an agent, which cannot turn round what stands beside it.
pub(in crate::web) fn agent(name: &str) -> Markup {
    html! { bdi.agent { (name) } }
}

/// A text for places that take no markup: without the characters that would turn round what follows.
pub(in crate::web) fn undirected(text: &str) -> String {
    let turns = |it: char| matches!(it, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.replace(turns, "")
}

/// Where the page of an issue is.
pub(in crate::web) fn address(id: IssueId) -> String {
    format!("/issues/{id}")
}
