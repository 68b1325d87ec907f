//! Limits on nesting and on table cells, checked before and after parsing.

use comrak::arena_tree::NodeEdge;
use comrak::nodes::Node;

/// The deepest nesting of blocks and inlines. Ordinary texts stay below ten; the time that parsers and browsers
/// need grows with the depth.
const MAX_DEPTH: usize = 64;
/// The most cells of all tables, including those that short rows leave out.
const MAX_CELLS: usize = 10_000;

/// Returns true if the lines of a text stay within the limits, as far as that is visible before parsing.
pub(super) fn has_bounded_source(text: &str) -> bool {
    let mut columns = 0;
    let mut cells = 0;
    for line in text.lines() {
        if depth_of(line) > MAX_DEPTH {
            return false;
        }
        // The parser pads each row to the width of its table, and a table may continue until a blank line.
        columns = if line.trim().is_empty() { 0 } else { columns.max(columns_of(line)) };
        cells += columns;
        if cells > MAX_CELLS {
            return false;
        }
    }
    true
}

/// Returns an upper bound of the number of quotes and lists that a line opens.
fn depth_of(line: &str) -> usize {
    let is_prefix =
        |next: &char| matches!(next, ' ' | '\t' | '>' | '-' | '*' | '+' | '.' | ')' | '0'..='9');
    let mut depth = 0;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next_if(is_prefix) {
        let is_marker = matches!(character, '-' | '*' | '+' | '.' | ')');
        let is_last = characters.peek().is_none_or(|next| matches!(next, ' ' | '\t'));
        depth += usize::from(character == '>' || is_marker && is_last);
    }
    depth
}

/// Returns the number of columns of a table whose delimiter row is this line; 0 if the line cannot be one.
fn columns_of(line: &str) -> usize {
    // Delimiters, and the markers of the quotes and lists that may precede them.
    let is_allowed = |character| {
        matches!(character, '|' | ':' | '-' | ' ' | '\t')
            || matches!(character, '>' | '*' | '+' | '.' | ')' | '0'..='9')
    };
    if line.chars().all(is_allowed) && line.contains('-') {
        line.matches('|').count() + 1
    } else {
        0
    }
}

/// Returns true if the nesting of a parsed text stays within the limit.
pub(super) fn has_bounded_depth(document: Node<'_>) -> bool {
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
