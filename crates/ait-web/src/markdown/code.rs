//! Writes blocks of code: with a button that copies them, folded if they are long, and with the lines of differences
//! marked.

use std::fmt::{self, Write};

/// How many lines a block shows before it is folded.
const MAX_LINES: usize = 24;
/// Lines of more characters do not fit on a phone, so the block must take the focus to be scrolled.
const MAX_COLUMNS: usize = 30;
/// How much longer each block may make the HTML, and each line of a difference.
pub(super) const MAX_BLOCK_BYTES: usize = 320;
pub(super) const MAX_LINE_BYTES: usize = 12;

/// The languages of differences.
const DIFFS: [&str; 3] = ["diff", "patch", "udiff"];

/// Writes a block of code, or of HTML as code. `info` is what stands behind its fence.
pub(super) fn write_block(out: &mut impl Write, info: &str, text: &str) -> fmt::Result {
    let lines = text.lines().count();
    let is_wide = text.lines().any(|line| line.chars().nth(MAX_COLUMNS).is_some());
    out.write_str("<div class=\"code\">")?;
    if lines > MAX_LINES {
        write!(out, "<details><summary>{lines} lines</summary>")?;
    }
    out.write_str(if is_wide || lines > MAX_LINES {
        "<pre tabindex=\"0\"><code>"
    } else {
        "<pre><code>"
    })?;
    if is_diff(info, text) {
        write_lines(out, text)?;
    } else {
        write_escaped(out, text)?;
    }
    out.write_str("</code></pre>")?;
    if lines > MAX_LINES {
        out.write_str("</details>")?;
    }
    let name = "Copy the code";
    let copied = "Code copied.";
    let word = "Copy";
    writeln!(
        out,
        "<button class=\"copy\" type=\"button\" hidden=\"\" aria-label=\"{name}\" data-copied=\"{copied}\">{word}</button></div>"
    )
}

/// Writes a text between tags, where quotation marks may stand for themselves.
pub(super) fn write_escaped(context: &mut impl Write, text: &str) -> fmt::Result {
    let mut rest = text;
    while let Some(place) = rest.find(['&', '<', '>']) {
        context.write_str(&rest[..place])?;
        context.write_str(match rest.as_bytes()[place] {
            b'&' => "&amp;",
            b'<' => "&lt;",
            _ => "&gt;",
        })?;
        rest = &rest[place + 1..];
    }
    context.write_str(rest)
}

/// Returns true for a unified difference.
fn is_diff(info: &str, text: &str) -> bool {
    let language = info.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    DIFFS.contains(&&*language)
        || language.is_empty()
            && (text.starts_with("diff --git ")
                || text.starts_with("--- ") && text.contains("\n+++ ")
                || text.starts_with("@@ -"))
}

/// Writes the lines of a difference.
pub(super) fn write_lines(out: &mut impl Write, text: &str) -> fmt::Result {
    text.split_inclusive('\n').try_for_each(|line| write_line(out, line))
}

fn write_line(out: &mut impl Write, line: &str) -> fmt::Result {
    let is_name = line.starts_with("+++ ") || line.starts_with("--- ");
    let element = match line.as_bytes().first() {
        Some(b'+') if !is_name => "ins",
        Some(b'-') if !is_name => "del",
        Some(b'@') => "em",
        _ => return write_escaped(out, line),
    };
    write!(out, "<{element}>")?;
    write_escaped(out, line)?;
    write!(out, "</{element}>")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(info: &str, text: &str) -> String {
        let mut html = String::new();
        write_block(&mut html, info, text).unwrap();
        html
    }

    #[test]
    fn lines_of_differences_are_marked() {
        let diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n same\n-<old>\n+new\n";
        let expected = "--- a/x\n+++ b/x\n<em>@@ -1 +1 @@\n</em> same\n<del>-&lt;old&gt;\n</del><ins>+new\n</ins>";
        for info in ["diff", "Patch x", ""] {
            assert!(block(info, diff).contains(&format!("<code>{expected}</code>")), "{info}");
        }
        assert!(!block("rust", diff).contains("<ins>"));
        assert!(!block("", "- a\n+ b\n").contains("<ins>"));
        assert!(block("diff", "- a\n+ b").contains("<del>- a\n</del><ins>+ b</ins>"));
    }

    #[test]
    fn long_blocks_are_folded_and_can_be_scrolled() {
        let long = "x\n".repeat(MAX_LINES + 1);
        assert!(
            block("", &long).contains("<details><summary>25 lines</summary><pre tabindex=\"0\">")
        );
        assert!(block("", &long[2..]).starts_with("<div class=\"code\"><pre><code>x"));
        assert!(block("", &"x".repeat(MAX_COLUMNS + 1)).contains("<pre tabindex=\"0\">"));
    }
}
