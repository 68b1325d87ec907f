//! The issues of an `issues.json` that cannot be read as a whole: each one that can be read by itself.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::{memchr, memchr_iter};
use regex::Regex;

use crate::domain::text::shortened;
use crate::domain::{Issue, IssueId};
use crate::json_text;

/// How much is shown of what is no issue.
const SHOWN_CHARS: usize = 60;

/// An issue, and where it stands in the text.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Piece {
    pub issue: Issue,
    pub range: Range<usize>,
}

/// An id that several issues of a file have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Repeated {
    /// The id.
    pub id: IssueId,
    /// The lines in which the issues begin, counted from 1.
    pub lines: Vec<usize>,
    /// Whether they are the same in all other respects, too.
    pub identical: bool,
}

/// The issues in a text, in its order.
pub(super) fn read(bytes: &[u8]) -> Vec<Piece> {
    let mended = json_text::without_lone_surrogates(bytes);
    // As long as before: what is replaced and what replaces it have the same length.
    let bytes = mended.as_deref().unwrap_or(bytes);
    let (mut pieces, mut at) = (Vec::new(), 0);
    while let Some(next) = memchr(b'{', &bytes[at..]) {
        let begin = at + next;
        let mut values = serde_json::Deserializer::from_slice(&bytes[begin..]).into_iter();
        at = begin + 1;
        if let Some(Ok(issue)) = values.next() {
            at = begin + values.byte_offset();
            pieces.push(Piece { issue, range: begin..at });
        }
    }
    pieces
}

/// The ids that occur more than once.
pub(super) fn repeated(bytes: &[u8], pieces: &[Piece]) -> Vec<Repeated> {
    let mut order: Vec<&Piece> = pieces.iter().collect();
    order.sort_by_key(|piece| piece.issue.id);
    let alike = order.chunk_by(|one, other| one.issue.id == other.issue.id);
    let repeated = alike.filter(|group| group.len() > 1).map(|group| Repeated {
        id: group[0].issue.id,
        lines: group.iter().map(|piece| line(bytes, piece.range.start)).collect(),
        identical: group.iter().all(|piece| piece.issue == group[0].issue),
    });
    repeated.collect()
}

/// The text without the issues that stand in it once more, the same in every respect.
pub(super) fn without_copies(bytes: &[u8]) -> Vec<u8> {
    let pieces = read(bytes);
    let (mut kept, mut done) = (Vec::with_capacity(bytes.len()), 0);
    for (place, Piece { issue, range }) in pieces.iter().enumerate() {
        if pieces[..place].iter().any(|earlier| earlier.issue == *issue) {
            // With the comma before it, which a later one of an array has.
            let before = &bytes[done..range.start];
            let comma = before.iter().rposition(|byte| *byte == b',').unwrap_or(before.len());
            kept.extend_from_slice(&before[..comma]);
            done = range.end;
        }
    }
    kept.extend_from_slice(&bytes[done..]);
    kept
}

/// What stands between the issues and is none, in words.
pub(super) fn lost(bytes: &[u8], pieces: &[Piece]) -> Vec<String> {
    let starts = pieces.iter().map(|piece| piece.range.start).chain([bytes.len()]);
    let ends = [0].into_iter().chain(pieces.iter().map(|piece| piece.range.end));
    let gaps = ends.zip(starts).filter(|(begin, end)| begin < end);
    gaps.flat_map(|(begin, end)| lost_in(bytes, begin..end)).collect()
}

fn lost_in(bytes: &[u8], gap: Range<usize>) -> Vec<String> {
    static ID: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#""id"[ \t\r\n]*:[ \t\r\n]*"([^"\n]{1,100})"(?:[ \t\r\n]*,[ \t\r\n]*"title"[ \t\r\n]*:[ \t\r\n]*"([^"\n]*)")?"#)
            .expect("the pattern is valid")
    });
    let text = String::from_utf8_lossy(&bytes[gap.clone()]);
    let is_structure = |it: char| it.is_whitespace() || "{}[],:".contains(it);
    // Nearly all of them; lines are counted from the beginning of the file.
    if text.replacen("\"issues\"", "", 1).chars().all(is_structure) {
        return Vec::new();
    }
    let first = line(bytes, gap.start);
    let ids = ID.captures_iter(&text).map(|found| {
        let begin = found.get(0).map_or(0, |whole| whole.start());
        let at = first + memchr_iter(b'\n', &text.as_bytes()[..begin]).count();
        let title = found.get(2).map(|title| format!(" ({})", shown(title.as_str())));
        format!("issue {}{} at line {at}", &found[1], title.unwrap_or_default())
    });
    let ids: Vec<_> = ids.collect();
    if ids.is_empty() {
        let begin = text.len() - text.trim_start_matches(is_structure).len();
        let at = first + memchr_iter(b'\n', &text.as_bytes()[..begin]).count();
        return vec![format!("what is no issue at line {at}: {}", shown(&text[begin..]))];
    }
    ids
}

fn shown(text: &str) -> String {
    shortened(&text.replace(char::is_control, " "), SHOWN_CHARS)
}

fn line(bytes: &[u8], offset: usize) -> usize {
    1 + memchr_iter(b'\n', &bytes[..offset]).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issue(number: usize, title: &str) -> String {
        let time = "2026-01-31T09:30:00.000Z";
        format!(
            r#"{{"id":"{number:08x}-0000-4000-8000-000000000000","title":"{title}","description":"{{}}","classification":"bug","createdAt":"{time}","modifiedAt":"{time}","status":"created","history":[{{"timestamp":"{time}","agent":"a","action":"x"}}],"comments":[]}}"#
        )
    }

    #[test]
    fn whatever_can_be_read_by_itself_is_read_and_the_rest_is_named() {
        let (one, other) = (issue(1, "one"), issue(3, "three"));
        let broken = issue(2, "two").replace("\"bug\"", "bug");
        for (text, count, named) in [
            (format!("{{\"issues\": [{one},\n{other}]}}"), 2, ""),
            (format!("{{\"issues\": [{one},\n{broken},{other}]}}"), 2, "(two) at line 2"),
            (format!("{{\"issues\": [{one}, {other}"), 2, ""),
            (format!("{{\"issues\": [{one},\n{}", &other[..100]), 1, "(three) at line 2"),
            (format!("\n<<<<<<< ours\n{one}\n=======\n{other}"), 2, "line 2: <<<<<<< ours"),
            (String::new(), 0, ""),
        ] {
            let pieces = read(text.as_bytes());
            assert_eq!(pieces.len(), count, "{text}");
            let lost = lost(text.as_bytes(), &pieces).join("\n");
            assert_eq!(lost.is_empty(), named.is_empty(), "{lost}");
            assert!(lost.contains(named), "{lost}");
        }
    }

    #[test]
    fn copies_are_told_from_issues_that_only_share_an_id_and_are_left_out() {
        let (one, two) = (issue(1, "one"), issue(1, "two"));
        let text = format!("{{\"issues\": [\n{one},\n{one}\n]}}");
        let found = repeated(text.as_bytes(), &read(text.as_bytes()));
        assert_eq!(
            (found.len(), found[0].lines.as_slice(), found[0].identical),
            (1, &[2, 3][..], true)
        );
        let kept = without_copies(text.as_bytes());
        assert_eq!(String::from_utf8(kept).unwrap(), format!("{{\"issues\": [\n{one}\n]}}"));
        let text = format!("{{\"issues\": [{one}, {two}]}}");
        assert!(!repeated(text.as_bytes(), &read(text.as_bytes()))[0].identical);
        assert_eq!(without_copies(text.as_bytes()), text.as_bytes());
    }
}
