//! What a change did to an issue, field by field, and to its texts word by word.
//!
//! The history only names the fields. The values come from the events, for as long as the log keeps them.

use std::fmt::Display;
use std::time::{Duration, Instant};

use maud::{Markup, html};
use similar::{ChangeTag, TextDiff};

use super::components;
use crate::markdown::printable;
use crate::strings::{self, attributes, changes as text, relations};
use ait_domain::text::shortened;
use ait_domain::{
    ActionKind, Attributes, Change, Classification, EventKind, FieldValue, Issue, Label, Link,
    Parked, Patch, TimelineEntry, Timestamp, ValueField,
};
use ait_tracker::activity::{ActivityFilter, newest_first};
use ait_tracker::read_model::ReadView;
use ait_tracker::{NumberedEvent, Tracker};

/// How many of the latest events of the issue are read for the default page, and for the full one.
const MAX_EVENTS: [usize; 2] = [100, 400];
/// How many characters of compared texts the default page shows, and the full one.
const MAX_CHARS: [usize; 2] = [20_000, 400_000];
/// How long comparing all texts of a page may take. After that, differences are coarse.
const PATIENCE: Duration = Duration::from_millis(100);
/// How many characters of unchanged text stand around each difference.
const CONTEXT_CHARS: usize = 80;

/// The events that changed fields of an issue.
#[derive(Default)]
pub(crate) struct Changes(Vec<NumberedEvent>);

impl Changes {
    /// Reads the events behind the latest changes of an issue. There are none if it has no changes, or if the events
    /// cannot be read.
    pub async fn read(tracker: &Tracker, issue: &Issue, is_full: bool) -> Self {
        let limit = MAX_EVENTS[usize::from(is_full)];
        let Some(since) = first_change(issue, limit) else { return Self::default() };
        let filter = ActivityFilter {
            issue: Some(issue.id),
            since: Some(since),
            ..ActivityFilter::default()
        };
        let read = newest_first(tracker, &filter, None, limit).await;
        let mut events = read.map(|page| page.events).unwrap_or_default();
        events.retain(|numbered| patch_in(&numbered.event.kind).is_some());
        Self(events)
    }

    /// Returns what an entry of the timeline changed, if its event was read.
    pub fn of(&self, moment: &TimelineEntry<'_>) -> Option<&Patch> {
        let is_entry = |numbered: &&NumberedEvent| {
            let event = &numbered.event;
            event.at == moment.at
                && event.agent == moment.agent
                && event.kind.action() == moment.action
        };
        patch_in(&self.0.iter().find(is_entry)?.event.kind)
    }
}

/// Returns the time of the oldest change among the latest entries of the history.
fn first_change(issue: &Issue, limit: usize) -> Option<Timestamp> {
    let latest = &issue.history[issue.history.len().saturating_sub(limit)..];
    let is_change = |kind: ActionKind| matches!(kind, ActionKind::Changed | ActionKind::Edited);
    let first = latest.iter().find(|entry| is_change(ActionKind::of(&entry.action)))?;
    Some(first.timestamp)
}

fn patch_in(kind: &EventKind) -> Option<&Patch> {
    match kind {
        EventKind::Changed { patch } | EventKind::Edited { patch } => Some(patch),
        _ => None,
    }
}

/// Renders changes, and counts how much of the budget of the page is left.
pub(in crate::pages) struct ChangeWriter<'a, 'b> {
    view: &'a ReadView<'b>,
    left_chars: usize,
    deadline: Instant,
}

impl<'a, 'b> ChangeWriter<'a, 'b> {
    /// Returns the writer of a page.
    pub fn new(view: &'a ReadView<'b>, is_full: bool) -> Self {
        let left_chars = MAX_CHARS[usize::from(is_full)];
        Self { view, left_chars, deadline: Instant::now() + PATIENCE }
    }

    /// Renders the changed fields with their values.
    pub fn write(&mut self, patch: &Patch) -> Markup {
        let mut fields = Vec::new();
        if let Some(title) = &patch.title {
            fields.push((text::TITLE, self.words(title)));
        }
        if let Some(description) = &patch.description {
            fields.push((text::DESCRIPTION, self.words(description)));
        }
        self.values(patch, &mut fields);
        rendered(&fields)
    }

    /// Renders the changed fields as [`write`](Self::write) does, but says of title and description only that they
    /// changed.
    pub fn write_briefly(&mut self, patch: &Patch) -> Markup {
        let texts = [
            patch.title.is_some().then_some(text::TITLE),
            patch.description.is_some().then_some(text::DESCRIPTION),
        ];
        let changed = |name| (name, html! { span.quiet { "changed" } });
        let mut fields: Vec<_> = texts.into_iter().flatten().map(changed).collect();
        self.values(patch, &mut fields);
        rendered(&fields)
    }

    fn values(&mut self, patch: &Patch, fields: &mut Vec<(&'static str, Markup)>) {
        if let Some(Change { before, after }) = &patch.classification {
            let name = |kind: Classification| Some(kind.as_str());
            fields.push((strings::KIND, replaced(name(*before), name(*after))));
        }
        if let Some(Change { before, after }) = &patch.status {
            let name = |status| Some(strings::status(status));
            fields.push((strings::STATUS, replaced(name(*before), name(*after))));
        }
        if let Some(Change { before, after }) = &patch.attributes {
            self.attributes(before, after, fields);
        }
    }

    fn attributes(
        &mut self,
        before: &Attributes,
        after: &Attributes,
        fields: &mut Vec<(&'static str, Markup)>,
    ) {
        for field in ValueField::ALL {
            let [old, new] = [before, after].map(|values| FieldValue::of(*field, values));
            if old != new {
                let name = |value: FieldValue| match value {
                    FieldValue::Priority(Some(priority)) => {
                        Some(attributes::short_priority(priority))
                    }
                    value => Some(value.to_string()).filter(|text| !text.is_empty()),
                };
                fields.push((attributes::field(*field), replaced(name(old), name(new))));
            }
        }
        if before.labels != after.labels {
            let name = |label: &Label| html! { (label.as_str()) };
            fields.push(("Labels", exchanged(&before.labels, &after.labels, name)));
        }
        if before.links != after.links {
            let name = |link: &Link| self.link(link);
            fields.push((relations::LINKS, exchanged(&before.links, &after.links, name)));
        }
        if before.parked != after.parked {
            let mut reason = |parked: Option<&Parked>| {
                parked.map(|parked| self.shortened(&printable(&parked.reason)))
            };
            let before = reason(before.parked.as_deref());
            let after = reason(after.parked.as_deref());
            fields.push((strings::issue::PARKED, replaced(before, after)));
        }
    }

    fn link(&self, link: &Link) -> Markup {
        html! {
            (relations::kind(link.kind)) " "
            @match self.view.summary(link.to) {
                Some(other) => { a href=(components::issue_path(link.to)) { (components::title(&other.title)) } }
                None => { code { (link.to.short()) } }
            }
        }
    }

    /// Renders the words that differ, with some text around them.
    fn words(&mut self, Change { before, after }: &Change<String>) -> Markup {
        let before = printable(before);
        let after = printable(after);
        let hunks = hunks(&before, &after, self.deadline);
        let last = hunks.len() - 1;
        html! {
            @for (number, hunk) in hunks.iter().enumerate() {
                @match hunk {
                    Hunk::Same(same) => (self.shortened(&context(same, number == 0, number == last))),
                    Hunk::Differs(before, after) => {
                        @if !before.is_empty() { del { (self.shortened(before)) } }
                        @if !after.is_empty() { ins { (self.shortened(after)) } }
                    }
                }
            }
        }
    }

    /// Returns as much of a text as the budget allows.
    fn shortened(&mut self, text: &str) -> String {
        let shown = shortened(text, self.left_chars);
        self.left_chars = self.left_chars.saturating_sub(shown.chars().count());
        shown
    }
}

fn rendered(fields: &[(&str, Markup)]) -> Markup {
    html! {
        @if !fields.is_empty() {
            dl.changes {
                @for (name, change) in fields { div { dt { (name) } dd dir="auto" { (change) } } }
            }
        }
    }
}

/// Renders a value that replaced another one.
fn replaced<T: Display>(before: Option<T>, after: Option<T>) -> Markup {
    html! {
        @if let Some(before) = before { del { (before) } " " }
        @match after {
            Some(after) => { ins { (after) } }
            None => { span.quiet { "none" } }
        }
    }
}

/// Renders the items that only one of two lists has.
fn exchanged<T: PartialEq>(before: &[T], after: &[T], name: impl Fn(&T) -> Markup) -> Markup {
    html! {
        @for item in before.iter().filter(|item| !after.contains(item)) { del { (name(item)) } " " }
        @for item in after.iter().filter(|item| !before.contains(item)) { ins { (name(item)) } " " }
    }
}

/// A part of a comparison.
#[derive(PartialEq, Debug)]
enum Hunk {
    /// The same text on both sides.
    Same(String),
    /// The text before, and the text after.
    Differs(String, String),
}

/// Compares two texts word by word. Spaces between two differences belong to them. There is at least one part.
fn hunks(before: &str, after: &str, deadline: Instant) -> Vec<Hunk> {
    let diff = TextDiff::configure().deadline(deadline).diff_words(before, after);
    let mut hunks: Vec<Hunk> = Vec::new();
    for change in diff.iter_all_changes() {
        let word = change.value();
        match (change.tag(), hunks.last_mut()) {
            (ChangeTag::Equal, Some(Hunk::Same(same))) => same.push_str(word),
            (ChangeTag::Equal, _) => hunks.push(Hunk::Same(word.to_owned())),
            (tag, _) => differ(&mut hunks, tag, word),
        }
    }
    if hunks.is_empty() { vec![Hunk::Same(String::new())] } else { hunks }
}

/// Adds a word that only one side has. If only spaces follow the last difference, it goes on.
fn differ(hunks: &mut Vec<Hunk>, tag: ChangeTag, word: &str) {
    let is_space = |text: &str| text.chars().all(|character| character == ' ');
    if let [.., Hunk::Differs(before, after), Hunk::Same(same)] = &mut hunks[..]
        && is_space(same)
    {
        before.push_str(same);
        after.push_str(same);
        hunks.pop();
    }
    let (removed, added) = if tag == ChangeTag::Delete { (word, "") } else { ("", word) };
    match hunks.last_mut() {
        Some(Hunk::Differs(before, after)) => {
            before.push_str(removed);
            after.push_str(added);
        }
        _ => hunks.push(Hunk::Differs(removed.to_owned(), added.to_owned())),
    }
}

/// Returns the text around differences: the end of the first part, the beginning of the last one, both of others.
fn context(same: &str, is_first: bool, is_last: bool) -> String {
    let sides = 2_usize.saturating_sub(usize::from(is_first) + usize::from(is_last));
    let count = same.chars().count();
    if count <= CONTEXT_CHARS * sides.max(1) + 1 {
        return same.to_owned();
    }
    let at = |chars: usize| same.char_indices().nth(chars).map_or(same.len(), |(at, _)| at);
    let head = if is_first { "" } else { &same[..at(CONTEXT_CHARS)] };
    let tail = if is_last { "" } else { &same[at(count - CONTEXT_CHARS)..] };
    format!("{head}…{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(before: &str, after: &str) -> Vec<Hunk> {
        hunks(before, after, Instant::now() + Duration::from_secs(60))
    }

    #[test]
    fn texts_are_compared_word_by_word() {
        let same = |text: &str| Hunk::Same(text.to_owned());
        let differs = |one: &str, other: &str| Hunk::Differs(one.to_owned(), other.to_owned());
        for (before, after, expected) in [
            ("a b c", "a x c", vec![same("a "), differs("b", "x"), same(" c")]),
            ("a b c d", "a x y d", vec![same("a "), differs("b c", "x y"), same(" d")]),
            ("", "new", vec![differs("", "new")]),
            ("old", "", vec![differs("old", "")]),
            ("a", "a b", vec![same("a"), differs("", " b")]),
            ("", "", vec![same("")]),
        ] {
            assert_eq!(compared(before, after), expected, "{before:?} to {after:?}");
        }
    }

    #[test]
    fn long_unchanged_text_is_cut_to_its_edges() {
        let long = "é".repeat(400);
        let edge = "é".repeat(CONTEXT_CHARS);
        assert_eq!(context(&long, true, false), format!("…{edge}"));
        assert_eq!(context(&long, false, true), format!("{edge}…"));
        assert_eq!(context(&long, false, false), format!("{edge}…{edge}"));
        assert_eq!(context("short", false, false), "short");
    }
}
