//! What keeps a text from growing or nesting without bound, told before and after it is parsed.

use comrak::arena_tree::NodeEdge;
use comrak::nodes::{Node, NodeValue};

/// The most blocks and inlines within one another. Writers of texts for people stay below ten; the time
/// that parsers and browsers take grows with the depth.
const MAX_DEPTH: usize = 64;
/// The most cells of all tables, those included that a short row leaves out.
const MAX_CELLS: usize = 10_000;

/// Tells whether parsing a text gives no more than can be dealt with, looking at its lines alone.
pub(super) fn is_bounded(text: &str) -> bool {
    let (mut columns, mut cells) = (0, 0);
    for line in text.lines() {
        if depth_of(line) > MAX_DEPTH {
            return false;
        }
        // A row is filled up to the width of its table, however short it is; the table goes on at least
        // until a blank line.
        columns = if line.trim().is_empty() { 0 } else { columns.max(columns_of(line)) };
        cells += columns;
        if cells > MAX_CELLS {
            return false;
        }
    }
    true
}

/// An upper bound of how many quotes and lists a line begins.
fn depth_of(line: &str) -> usize {
    let is_prefix =
        |it: &char| matches!(it, ' ' | '\t' | '>' | '-' | '*' | '+' | '.' | ')' | '0'..='9');
    let mut depth = 0;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next_if(is_prefix) {
        let is_marker = matches!(character, '-' | '*' | '+' | '.' | ')');
        let is_last = characters.peek().is_none_or(|next| matches!(next, ' ' | '\t'));
        depth += usize::from(character == '>' || is_marker && is_last);
    }
    depth
}

/// How many columns a table has if this is the line below its header; 0 if it cannot be that line.
fn columns_of(line: &str) -> usize {
    let quoted = |it: char| matches!(it, '>' | '*' | '+' | '.' | ')' | '0'..='9');
    let is_rule = line.chars().all(|it| matches!(it, '|' | ':' | '-' | ' ' | '\t') || quoted(it));
    if is_rule && line.contains('-') { line.matches('|').count() + 1 } else { 0 }
}

/// Tells whether nothing in a parsed text is nested too deeply.
pub(super) fn is_flat(document: Node<'_>) -> bool {
    let mut depth = 0usize;
    for edge in document.traverse() {
        match edge {
            NodeEdge::Start(_) => depth += 1,
            NodeEdge::End(_) => depth -= 1,
        }
        if depth > MAX_DEPTH {
            return false;
        }
    }
    true
}

/// Tells whether a node is part of a link.
pub(super) fn is_in_link(node: Node<'_>) -> bool {
    node.ancestors().skip(1).any(|it| matches!(it.data().value, NodeValue::Link(_)))
}
