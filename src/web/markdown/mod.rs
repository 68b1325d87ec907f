//! Texts of agents as pages show them: GitHub-flavoured Markdown that can do no harm.
//!
//! What a reader's browser gets is made of an allow-list of elements, loads nothing from anywhere, and is
//! bounded in time, depth and size whatever the text is: a text that would break a bound is shown as it
//! is written. Knows nothing of issues.

#[cfg(test)]
mod bombs;
mod clean;
mod html;
mod shape;

use std::borrow::Cow;
use std::time::{Duration, Instant};

use comrak::{Arena, Options, try_parse_document};
use maud::{Markup, PreEscaped, html};

use super::words::Words;

/// The most characters (Unicode scalar values) of a text that is read as Markdown. Some texts take a time
/// that grows with the square of their length: here, none of them takes long.
pub const MAX_CHARS: usize = 20_000;

/// When parsing is given up. No text is known that takes a fiftieth of it in a release; this is for those
/// that are not known.
const PATIENCE: Duration = Duration::from_secs(2);

/// How many times longer than its text a rendered one may be, beyond [`FREE_BYTES`].
const MAX_GROWTH: usize = 4;
/// What a rendered text may have in any case, so that short ones with many links or cells are rendered.
const FREE_BYTES: usize = 4_096;

/// Shows a text as Markdown; as it is written, with a note on why, where that is not possible within the
/// bounds of this module.
pub fn render(text: &str, words: &Words) -> Markup {
    if text.chars().nth(MAX_CHARS).is_some() {
        return noted(text, words.markdown.too_long);
    }
    match rendered(text, words) {
        Some(markup) => markup,
        None => noted(text, words.markdown.too_intricate),
    }
}

/// Shows a text as it is written.
pub fn plain(text: &str) -> Markup {
    html! { pre { (printable(text)) } }
}

fn noted(text: &str, note: &str) -> Markup {
    html! {
        p.note { (note) }
        (plain(text))
    }
}

fn rendered(text: &str, words: &Words) -> Option<Markup> {
    if !shape::is_bounded(text) {
        return None;
    }
    let text = printable(text);
    let options = options();
    let arena = Arena::new();
    let started = Instant::now();
    let takes_long = || started.elapsed() > PATIENCE;
    let document = try_parse_document(&arena, &text, &options, &takes_long).ok()?;
    if !shape::is_flat(document) {
        return None;
    }
    let most = FREE_BYTES + MAX_GROWTH * text.len();
    let html = html::written(document, &options, &words.markdown).filter(|it| it.len() <= most)?;
    let html = clean::cleaned(&html);
    (html.len() <= most).then_some(PreEscaped(html))
}

fn options() -> Options<'static> {
    let mut options = Options::default();
    options.extension.table = true;
    options.extension.strikethrough = true;
    options.extension.autolink = true;
    options.extension.tasklist = true;
    options.render.hardbreaks = true;
    options
}

/// A text without the characters that HTML cannot hold: each is shown as U+FFFD.
fn printable(text: &str) -> Cow<'_, str> {
    let is_odd = |it: char| it.is_control() && !matches!(it, '\n' | '\r' | '\t');
    if text.contains(is_odd) { text.replace(is_odd, "\u{fffd}").into() } else { text.into() }
}

#[cfg(test)]
mod tests;
