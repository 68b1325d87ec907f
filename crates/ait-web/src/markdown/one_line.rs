//! The beginning of a text on one line, without the signs of Markdown but those that change its sense: for rows and
//! cards.

use comrak::Arena;
use comrak::arena_tree::NodeEdge;
use comrak::nodes::{Node, NodeValue};

use super::{options, parsed, printable};
use ait_domain::text::shortened;

/// How many times as many characters as the line has are parsed: signs and addresses take some.
const SOURCE_FACTOR: usize = 4;

/// Returns at most so many characters of a text. A text without words but signs is shown as it is.
pub(crate) fn one_line(text: &str, max_chars: usize) -> String {
    let end = text.char_indices().nth(SOURCE_FACTOR * max_chars);
    let source = printable(&text[..end.map_or(text.len(), |(end, _)| end)]);
    let arena = Arena::new();
    let words = parsed(&arena, &source, &options()).map(words).unwrap_or_default();
    // Entities may stand for control characters.
    let line = match joined(&printable(&words)) {
        line if line.is_empty() => joined(&source),
        line => line,
    };
    if end.is_some() && line.chars().count() <= max_chars {
        format!("{line}…")
    } else {
        shortened(&line, max_chars)
    }
}

fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the texts of a document; the items of lists are separated by points.
fn words(document: Node<'_>) -> String {
    let mut words = String::new();
    for edge in document.traverse() {
        let node = match edge {
            NodeEdge::Start(node) => node,
            NodeEdge::End(node) => {
                if matches!(node.data().value, NodeValue::Strikethrough) {
                    words.push_str("~~");
                }
                continue;
            }
        };
        match &node.data().value {
            NodeValue::Strikethrough => words.push_str("~~"),
            NodeValue::Text(text) => words.push_str(text),
            NodeValue::Code(code) => words.push_str(&code.literal),
            NodeValue::CodeBlock(block) => words.extend([" ", &block.literal]),
            NodeValue::HtmlBlock(block) => words.extend([" ", &block.literal]),
            NodeValue::HtmlInline(html) => words.push_str(html),
            NodeValue::Item(_) if !words.trim().is_empty() => words.push_str(" · "),
            NodeValue::TaskItem(item) => {
                words.push_str(if words.trim().is_empty() { "" } else { " · " });
                words.push_str(if item.symbol.is_some() { "[x] " } else { "[ ] " });
            }
            value
                if value.block()
                    || matches!(value, NodeValue::SoftBreak | NodeValue::LineBreak) =>
            {
                words.push(' ');
            }
            _ => {}
        }
    }
    words
}
