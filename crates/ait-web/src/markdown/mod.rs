//! Renders the texts of agents: GitHub-flavoured Markdown as safe HTML.
//!
//! The HTML contains only elements of an allow-list and loads nothing from other servers. Rendering is limited in
//! time, depth and size: a text that exceeds a limit is shown as plain text. Of issues it knows only how texts name
//! them.

mod code;
mod html;
mod limits;
mod mentions;
mod one_line;
mod references;

use std::borrow::Cow;
use std::time::{Duration, Instant};

use self::code::{MAX_BLOCK_BYTES, MAX_LINE_BYTES};
use comrak::nodes::Node;
use comrak::{Arena, Options, try_parse_document};
use maud::{Markup, PreEscaped, html};

pub(super) use self::mentions::{Links, Mention};
pub(super) use self::one_line::one_line;

/// The most characters (Unicode scalar values) of a text that is parsed as Markdown. The parser needs quadratic
/// time for some texts; below this length none of them takes long.
pub(super) const MAX_CHARS: usize = 20_000;

/// The time limit of the parser. All known texts need less than a fiftieth of it in a release build; it guards
/// against unknown ones.
const TIMEOUT: Duration = Duration::from_secs(2);

/// How many times longer than its text the HTML may be, beyond [`MIN_LIMIT_BYTES`].
const MAX_GROWTH: usize = 4;
/// The size that is always allowed, so that short texts with many links are rendered.
const MIN_LIMIT_BYTES: usize = 4_096;
/// How much longer each cell of a table may make the HTML, and for how many cells: `<td align="right"></td>` alone is
/// several times as long as the text of a cell.
const MAX_CELL_BYTES: usize = 24;
const MAX_SMALL_CELLS: usize = 1_000;
/// For how many blocks of code, and for how many of their lines, the HTML may be longer.
const MAX_BLOCKS: usize = 100;
const MAX_LINES: usize = 2_000;
/// How much longer each link to what a text names may make the HTML.
const MAX_MENTION_BYTES: usize = 600;

/// Renders a text as Markdown, or as plain text with a note if it exceeds a limit. What it names becomes a link if
/// `links` has one.
pub(super) fn render(text: &str, links: &Links<'_>) -> Markup {
    if text.chars().nth(MAX_CHARS).is_some() {
        return plain_with_note(text, "Shown as plain text because it is long.");
    }
    try_render(text, links).unwrap_or_else(|| {
        plain_with_note(text, "Shown as plain text because its markup is too complex.")
    })
}

/// Renders a text as plain text.
pub(super) fn plain(text: &str) -> Markup {
    html! { pre { (printable(text)) } }
}

/// Renders a unified difference.
pub(super) fn difference(text: &str) -> Markup {
    let mut lines = String::new();
    code::write_lines(&mut lines, &printable(text)).expect("a string takes all text");
    html! { div.code { pre tabindex="0" { code { (PreEscaped(lines)) } } } }
}

fn plain_with_note(text: &str, note: &str) -> Markup {
    html! {
        p.note { (note) }
        (plain(text))
    }
}

fn try_render(text: &str, links: &Links<'_>) -> Option<Markup> {
    let text = printable(text);
    let options = options();
    let arena = Arena::new();
    let document = parsed(&arena, &text, &options)?;
    let (html, written) = html::write(document, &options, links)?;
    // Entities may stand for control characters.
    let html = printable(&html).into_owned();
    let cells = text.matches('|').count().min(MAX_SMALL_CELLS);
    let blocks = written.blocks.min(MAX_BLOCKS);
    let lines = written.lines.min(MAX_LINES);
    let extra_bytes = MAX_MENTION_BYTES * written.mentions
        + MAX_CELL_BYTES * cells
        + MAX_BLOCK_BYTES * blocks
        + MAX_LINE_BYTES * lines;
    let max_bytes = MIN_LIMIT_BYTES + MAX_GROWTH * text.len() + extra_bytes;
    if html.len() > max_bytes {
        return None;
    }
    Some(PreEscaped(html))
}

/// Returns the parsed text; `None` if it exceeds a limit.
fn parsed<'a>(arena: &'a Arena<'a>, text: &str, options: &Options<'_>) -> Option<Node<'a>> {
    if !limits::has_bounded_source(text) {
        return None;
    }
    let started = Instant::now();
    let is_late = || started.elapsed() > TIMEOUT;
    let document = try_parse_document(arena, text, options, &is_late).ok()?;
    limits::has_bounded_depth(document).then_some(document)
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

/// Replaces the control characters, which HTML cannot contain, with U+FFFD.
pub(super) fn printable(text: &str) -> Cow<'_, str> {
    let is_control =
        |character: char| character.is_control() && !matches!(character, '\n' | '\r' | '\t');
    if text.contains(is_control) {
        text.replace(is_control, "\u{fffd}").into()
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests;
