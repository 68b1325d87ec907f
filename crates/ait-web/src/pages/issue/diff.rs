//! What the branch of an issue changes, on the page of the issue.

use maud::{Markup, html};

use super::{IssueView, components};
use crate::markdown;
use crate::strings::{self, issue as text};
use ait_domain::Comment;
use ait_domain::text::shortened;
use ait_worktrees::{Diff, FileDiff};

/// How many comments on a file are shown, and how many characters of each.
const MAX_COMMENTS: usize = 20;
const MAX_CHARS: usize = 400;

/// Renders the section, if the reader asked for it.
pub(super) fn section(view: &IssueView) -> Markup {
    let comments = &view.found.issue.comments;
    html! {
        @if let Some(diff) = &view.diff {
            section #issue-diff aria-labelledby="diff-heading" {
                h2 #diff-heading { "Changes" }
                @match diff {
                    Some(diff) if !diff.files.is_empty() => { (files(diff, comments)) }
                    _ => { p.quiet { (text::NO_BRANCH) } }
                }
            }
        }
    }
}

fn files(diff: &Diff, comments: &[Comment]) -> Markup {
    html! {
        @for file in &diff.files { (one_file(file, comments)) }
        @if diff.left_out > 0 { p.note { (strings::more_files(diff.left_out)) } }
    }
}

fn one_file(file: &FileDiff, comments: &[Comment]) -> Markup {
    let on_file: Vec<_> =
        comments.iter().filter_map(|comment| line_in(comment, &file.path)).collect();
    html! {
        details {
            summary {
                code { (markdown::printable(&file.path)) } " "
                ins { "+" (file.added) } " " del { "-" (file.removed) }
                @if !on_file.is_empty() { " · " (strings::comments(on_file.len())) }
            }
            @for (line, comment) in on_file.iter().take(MAX_COMMENTS) {
                p { b { (text::line(*line)) } " " (components::agent(&comment.agent)) ": " span dir="auto" { (shortened(&comment.text, MAX_CHARS)) } }
            }
            @if !file.text.is_empty() { (markdown::difference(&file.text)) }
            @if file.is_cut { p.note { (text::DIFF_CUT) } }
        }
    }
}

/// Returns the line of a file that a comment names, as in `src/main.rs:12`.
fn line_in<'a>(comment: &'a Comment, path: &str) -> Option<(u32, &'a Comment)> {
    let named = comment.text.match_indices(path).find_map(|(at, _)| {
        let is_whole = !comment.text[..at]
            .ends_with(|before: char| before.is_alphanumeric() || "/._-".contains(before));
        let rest = comment.text[at + path.len()..].strip_prefix(':').filter(|_| is_whole)?;
        let digits =
            rest.len() - rest.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
        rest[..digits].parse().ok()
    });
    Some((named?, comment))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ait_domain::Timestamp;

    #[test]
    fn comments_name_lines_of_files() {
        for (text, path, expected) in [
            ("src/a.rs:12 is wrong", "src/a.rs", Some(12)),
            ("see `a.rs:7`", "a.rs", Some(7)),
            ("src/a.rs:12", "a.rs", None),
            ("a.rs: no", "a.rs", None),
            ("a.rs", "a.rs", None),
            ("a.rs:1 b.rs:2", "b.rs", Some(2)),
            ("a.rs:99999999999999", "a.rs", None),
        ] {
            let at = Timestamp::parse("2026-01-31T09:30:00.000Z").unwrap();
            let comment = Comment::new(at, "a", text);
            assert_eq!(line_in(&comment, path).map(|(line, _)| line), expected, "{text}");
        }
    }
}
