//! The marks that a sync leaves in texts at a remote, by which it recognises what it sent itself. They are comments of
//! HTML, which pages do not show.

use ait_domain::{Comment, IssueId};
use xxhash_rust::xxh3::xxh3_64;

const BEGIN: &str = "<!-- ait:";
const END: &str = " -->";
/// How long a comment may be that is sent: GitHub takes 65,536 characters with author and mark.
const MAX_SENT_CHARS: usize = 65_000;

/// Returns a description with the marker of an issue.
pub(crate) fn marked(description: &str, issue: IssueId) -> String {
    format!("{description}\n\n{BEGIN}{issue}{END}").trim_start().to_owned()
}

/// Splits the last marker off a description.
#[cfg(any(feature = "http", test))]
pub(crate) fn unmarked(text: &str) -> (String, Option<IssueId>) {
    let text = text.replace("\r\n", "\n");
    let found = split(&text).and_then(|(before, mark)| Some((before, IssueId::parse(mark)?)));
    match found {
        Some((before, issue)) => (before.to_owned(), Some(issue)),
        None => (text, None),
    }
}

/// Returns the mark of a comment of an issue.
pub(crate) fn comment_mark(issue: IssueId, comment: &Comment) -> String {
    let Comment { timestamp, agent, text, .. } = comment;
    let hash = xxh3_64(format!("{issue}\0{timestamp}\0{agent}\0{text}").as_bytes());
    format!("{:012x}", hash >> 16)
}

/// Returns a comment as it is sent: with its author, and its mark. What is too long for GitHub is cut.
pub(crate) fn sent_comment(comment: &Comment, mark: &str) -> String {
    let text = shortened_lines(&comment.text, MAX_SENT_CHARS);
    format!("**{}**: {text}\n\n{BEGIN}{mark}{END}", comment.agent)
}

/// Returns the beginning of a text that is too long, with its lines.
pub(crate) fn shortened_lines(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        None => text.to_owned(),
        Some(_) => text.chars().take(max_chars - 1).chain(['…']).collect(),
    }
}

/// Returns the mark in the text of a comment, if it was sent from a queue.
pub(crate) fn mark_of(text: &str) -> Option<&str> {
    let (_, mark) = split(text)?;
    (mark.len() == 12 && mark.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(mark)
}

fn split(text: &str) -> Option<(&str, &str)> {
    let (before, mark) = text.trim_end().strip_suffix(END)?.rsplit_once(BEGIN)?;
    Some((before.trim_end_matches('\n'), mark))
}

#[cfg(test)]
mod tests {
    use ait_domain::Timestamp;

    use super::*;

    #[test]
    fn a_marker_is_found_again_and_shows_nothing_of_it() {
        let issue = IssueId::parse("3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73").unwrap();
        for text in ["", "a", "a\n\nb", "<!-- ait:x -->"] {
            assert_eq!(unmarked(&marked(text, issue)), (text.to_owned(), Some(issue)), "{text}");
        }
        assert_eq!(unmarked("a\r\nb <!-- x -->"), ("a\nb <!-- x -->".to_owned(), None));
        let comment = Comment::new(Timestamp::from_unix_millis(0), "dev", "done");
        let mark = comment_mark(issue, &comment);
        assert_eq!(mark_of(&sent_comment(&comment, &mark)), Some(&*mark));
        assert_eq!(mark_of("done"), None);
        let long = Comment { text: "ü".repeat(70_000), ..comment.clone() };
        let sent = sent_comment(&long, &mark);
        assert!(sent.chars().count() < 65_536 && mark_of(&sent) == Some(&*mark));
        assert_eq!(mark_of(&marked("done", issue)), None);
    }
}
