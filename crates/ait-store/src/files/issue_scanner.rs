//! Finds the issues in an invalid file by parsing each one alone.

use std::ops::Range;

use memchr::{memchr, memchr_iter};

use ait_domain::json_compat;
use ait_domain::text::shortened;
use ait_domain::{Issue, IssueId};

/// The keys by which a broken issue is named.
const ID: &str = "\"id\"";
const TITLE: &str = "\"title\"";

/// The length of the excerpt of an unreadable part, in characters.
const SHOWN_CHARS: usize = 60;

/// An issue and its range in the text.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct FoundIssue {
    pub issue: Issue,
    pub range: Range<usize>,
}

/// An id that several issues of a file share.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RepeatedId {
    pub id: IssueId,
    /// The lines in which the issues begin, counted from 1.
    pub lines: Vec<usize>,
    /// True if the issues are identical.
    pub are_identical: bool,
}

/// A part of a text that is no valid issue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct UnreadPart {
    /// The id of the broken issue, if it can be read.
    pub id: Option<IssueId>,
    /// A description with the line.
    pub what: String,
}

/// Returns the issues in a text, in order.
pub(crate) fn scan(bytes: &[u8]) -> Vec<FoundIssue> {
    let repaired = json_compat::without_lone_surrogates(bytes);
    // The repair keeps the length, so offsets stay valid.
    let bytes = repaired.as_deref().unwrap_or(bytes);
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = memchr(b'{', &bytes[at..]) {
        let begin = at + next;
        let mut values = serde_json::Deserializer::from_slice(&bytes[begin..]).into_iter();
        at = begin + 1;
        if let Some(Ok(issue)) = values.next() {
            at = begin + values.byte_offset();
            found.push(FoundIssue { issue, range: begin..at });
        }
    }
    found
}

/// Returns the ids that occur more than once.
pub(crate) fn repeated_ids(bytes: &[u8], found: &[FoundIssue]) -> Vec<RepeatedId> {
    let mut order: Vec<&FoundIssue> = found.iter().collect();
    order.sort_by_key(|found| found.issue.id);
    let alike = order.chunk_by(|one, other| one.issue.id == other.issue.id);
    let repeated = alike.filter(|group| group.len() > 1).map(|group| RepeatedId {
        id: group[0].issue.id,
        lines: group.iter().map(|found| line(bytes, found.range.start)).collect(),
        are_identical: group.iter().all(|found| found.issue == group[0].issue),
    });
    repeated.collect()
}

/// Describes the parts between the issues that are no issues.
pub(crate) fn unread(bytes: &[u8], found: &[FoundIssue]) -> Vec<UnreadPart> {
    let starts = found.iter().map(|found| found.range.start).chain([bytes.len()]);
    let ends = [0].into_iter().chain(found.iter().map(|found| found.range.end));
    let gaps = ends.zip(starts).filter(|(begin, end)| begin < end);
    gaps.flat_map(|(begin, end)| unread_in(bytes, begin..end)).collect()
}

fn unread_in(bytes: &[u8], gap: Range<usize>) -> Vec<UnreadPart> {
    let text = String::from_utf8_lossy(&bytes[gap.clone()]);
    let is_structure = |letter: char| letter.is_whitespace() || "{}[],:".contains(letter);
    // Most gaps are structure only. Counting lines is slow, because it starts at the beginning of the file.
    if text.replacen("\"issues\"", "", 1).chars().all(is_structure) {
        return Vec::new();
    }
    let first = line(bytes, gap.start);
    let line_at = |offset: usize| first + memchr_iter(b'\n', &text.as_bytes()[..offset]).count();
    let parts = text.match_indices(ID).filter_map(|(begin, _)| {
        let (id, rest) = string_member(&text[begin..], ID)?;
        let rest = rest.trim_start().strip_prefix(',').map(str::trim_start);
        let title = rest.and_then(|rest| string_member(rest, TITLE));
        let title = title.map(|(title, _)| format!(" ({})", shown(title))).unwrap_or_default();
        let what = format!("issue {}{title} at line {}", shown(id), line_at(begin));
        Some(UnreadPart { id: IssueId::parse(id), what })
    });
    let parts: Vec<_> = parts.collect();
    if parts.is_empty() {
        let begin = text.len() - text.trim_start_matches(is_structure).len();
        let what =
            format!("text that is no issue at line {}: {}", line_at(begin), shown(&text[begin..]));
        return vec![UnreadPart { id: None, what }];
    }
    parts
}

/// Returns the string behind a key at the beginning of a text, on one line, and the rest of the text.
fn string_member<'t>(text: &'t str, key: &str) -> Option<(&'t str, &'t str)> {
    let value = text.strip_prefix(key)?.trim_start().strip_prefix(':')?;
    let (value, rest) = value.trim_start().strip_prefix('"')?.split_once('"')?;
    (!value.is_empty() && !value.contains('\n')).then_some((value, rest))
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
    fn complete_issues_are_read_and_unreadable_parts_reported() {
        let one = issue(1, "one");
        let other = issue(3, "three");
        let broken = issue(2, "two").replace("\"bug\"", "bug");
        let spaced = broken.replace("\":", "\"\t:\r\n ");
        for (text, count, named) in [
            (format!("{{\"issues\": [{one},\n{other}]}}"), 2, ""),
            (format!("{{\"issues\": [{one},\n{broken},{other}]}}"), 2, "(two) at line 2"),
            (format!("{{\"issues\": [{one},\n{spaced},{other}]}}"), 2, "(two) at line 2"),
            (format!("{{\"issues\": [{one}, {other}"), 2, ""),
            (format!("{{\"issues\": [{one},\n{}", &other[..100]), 1, "(three) at line 2"),
            (format!("\n<<<<<<< ours\n{one}\n=======\n{other}"), 2, "line 2: <<<<<<< ours"),
            (String::new(), 0, ""),
        ] {
            let found = scan(text.as_bytes());
            assert_eq!(found.len(), count, "{text}");
            let unread = unread(text.as_bytes(), &found);
            let named_ids = unread.iter().filter(|part| part.id.is_some()).count();
            assert_eq!(named_ids, usize::from(named.starts_with('(')));
            let unread: Vec<_> = unread.into_iter().map(|part| part.what).collect();
            assert_eq!(unread.is_empty(), named.is_empty(), "{unread:?}");
            assert!(unread.join("\n").contains(named), "{unread:?}");
        }
    }

    #[test]
    fn identical_and_conflicting_duplicates_are_distinguished() {
        let one = issue(1, "one");
        let two = issue(1, "two");
        let text = format!("{{\"issues\": [\n{one},\n{one}\n]}}");
        let repeated = repeated_ids(text.as_bytes(), &scan(text.as_bytes()));
        assert_eq!(repeated.len(), 1);
        assert_eq!((repeated[0].lines.as_slice(), repeated[0].are_identical), (&[2, 3][..], true));
        let text = format!("{{\"issues\": [{one}, {two}]}}");
        assert!(!repeated_ids(text.as_bytes(), &scan(text.as_bytes()))[0].are_identical);
    }
}
