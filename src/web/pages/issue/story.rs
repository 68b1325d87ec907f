//! What happened to an issue, as one list of deeds and comments.

use maud::{Markup, html};

use super::texts::Texts;
use super::{IssueView, icons, parts};
use crate::domain::event::RETURN_ACTION;
use crate::domain::{Moment, Status};
use crate::web::words::Words;

/// How many of the latest entries the usual page shows, besides the first one.
const LATEST: usize = 50;

/// The list, oldest first.
pub(super) fn story(view: &IssueView<'_>, texts: &mut Texts<'_>, words: &Words) -> Markup {
    let story = view.issue.story();
    let left_out = match story.len().saturating_sub(1 + LATEST) {
        _ if view.is_whole => 0,
        count => count,
    };
    let is_shown = |(place, _): &(usize, &Moment<'_>)| *place == 0 || *place > left_out;
    // The latest first, because that is what most readers come for, and room for texts is limited.
    let mut entries: Vec<Markup> = story
        .iter()
        .enumerate()
        .filter(is_shown)
        .rev()
        .map(|(place, moment)| entry(place, moment, view, texts, words))
        .collect();
    entries.reverse();
    html! {
        section #issue-story aria-labelledby="story-heading" {
            h2 #story-heading { (words.issue.story) }
            @if story.is_empty() {
                p.quiet { (words.issue.no_story) }
            } @else {
                ol #timeline.story {
                    @for (place, entry) in entries.iter().enumerate() {
                        (entry)
                        @if place == 0 && left_out > 0 {
                            (gap(view, left_out, story.len(), words))
                        }
                    }
                }
            }
            @if view.is_whole {
                p { a href=(parts::address(view.issue.id)) { (words.issue.show_less) } }
            }
        }
    }
}

fn gap(view: &IssueView<'_>, left_out: usize, total: usize, words: &Words) -> Markup {
    html! {
        li.gap #issue-gap {
            ((words.issue.left_out)(left_out)) " "
            a href={ (parts::address(view.issue.id)) "?all=1" } { ((words.issue.show_all)(total)) }
        }
    }
}

fn entry(
    place: usize,
    moment: &Moment<'_>,
    view: &IssueView<'_>,
    texts: &mut Texts<'_>,
    words: &Words,
) -> Markup {
    html! {
        li class={ "moment " (colour(moment)) } id={ "moment-" (place + 1) }
            data-changed=(moment.at.unix_millis())
        {
            (sign(moment))
            p.deed {
                (parts::agent(moment.agent)) " " (deed(moment, words)) " "
                (parts::ago(moment.at, view.now, words))
            }
            @if let Some(comment) = moment.comment {
                div.prose dir="auto" { (texts.show(comment)) }
            }
        }
    }
}

/// The class that gives an entry its colour.
fn colour(moment: &Moment<'_>) -> String {
    match moment.status() {
        Some(_) if moment.action == Some(RETURN_ACTION) => "was-returned".to_owned(),
        Some(status) => format!("status-{status}"),
        None => String::new(),
    }
}

/// The drawing in front of an entry.
fn sign(moment: &Moment<'_>) -> Markup {
    match (moment.action, moment.status()) {
        (Some(RETURN_ACTION), _) => icons::other("return"),
        (Some(_), Some(status)) => icons::status(status),
        (Some(_), None) => icons::other("clock"),
        (None, _) => icons::other("comment"),
    }
}

fn deed(moment: &Moment<'_>, words: &Words) -> Markup {
    match (moment.action, moment.status()) {
        (Some(RETURN_ACTION), _) => html! { (words.issue.did_return) },
        (Some(_), Some(status)) => did(status, words),
        // What another program has written, in its words.
        (Some(action), None) => html! { "· " bdi { (action) } },
        (None, _) => html! { (words.issue.did_comment) },
    }
}

fn did(status: Status, words: &Words) -> Markup {
    html! { ((words.issue.did)(status)) }
}
