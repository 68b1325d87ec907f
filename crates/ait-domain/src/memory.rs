//! Entries of the memory: what a team keeps for later agents, such as a decision with its reason, or a trap.
//!
//! An entry is an issue of a [kind](super::Classification::is_entry) of its own, in the status [`Kept`](Status::Kept).
//! So it has an id, an author, a history and comments, and everything that holds for the changes of issues holds for
//! it. It is no work: it is neither claimed nor counted, and no list of issues shows it. These fields have a meaning of
//! their own:
//!
//! | field | meaning |
//! |---|---|
//! | title | the text, or the beginning of a longer one |
//! | description | the whole text, if it is longer; in the last line, behind `About:`, files and folders |
//! | labels, related | what else it is about |
//! | due | when it ends |
//! | `duplicate_of` | the entry that replaces it |

use std::collections::BTreeSet;

use super::text::shortened;
use super::{
    Description, DomainError, Issue, IssueId, LinkKind, Status, Timestamp, Title, file_names,
};

/// The longest text that stands in the title alone, and of a title that is the beginning of a text, in characters.
const MAX_TITLE: usize = 200;
/// What the line with the files and folders begins with.
const ABOUT: &str = "About: ";

/// Returns the title and the description of an entry with a text, about files and folders. Those that the text names
/// itself are not repeated.
///
/// # Errors
///
/// An empty text, and one that is too long for a description.
pub fn texts(text: &str, about: &[String]) -> Result<(Title, Description), DomainError> {
    let text = text.trim();
    let first = text.lines().next().unwrap_or_default().trim_start_matches(['#', ' ']);
    let is_title = text.chars().count() <= MAX_TITLE && !text.contains('\n');
    let title = Title::try_from(shortened(first, MAX_TITLE))?;
    let named = file_names::files_in(text);
    let others: Vec<_> = about.iter().filter(|file| !named.contains(*file)).cloned().collect();
    let mut parts = Vec::new();
    parts.extend((!is_title).then(|| text.to_owned()));
    parts.extend((!others.is_empty()).then(|| format!("{ABOUT}{}", others.join(", "))));
    Ok((title, Description::try_from(parts.join("\n\n"))?))
}

/// Returns the text of an entry.
pub fn text(entry: &Issue) -> &str {
    let (text, _) = parts(entry);
    if text.is_empty() { &entry.title } else { text }
}

/// Returns the files and folders that an entry is about.
pub fn files(entry: &Issue) -> BTreeSet<String> {
    let (_, about) = parts(entry);
    let about = about.split(',').map(str::trim).filter(|file| !file.is_empty());
    file_names::files_in(text(entry)).into_iter().chain(about.map(str::to_owned)).collect()
}

/// Returns the text of the description, and the files in its last line.
fn parts(entry: &Issue) -> (&str, &str) {
    let description = entry.description.trim_end();
    let start = description.rfind('\n').map_or(0, |end| end + 1);
    match description[start..].strip_prefix(ABOUT) {
        Some(about) => (description[..start].trim_end(), about),
        None => (description, ""),
    }
}

/// Returns true if another entry replaces one.
pub fn is_replaced(entry: &Issue) -> bool {
    replacement(entry).is_some()
}

/// Returns the entry that replaces one.
pub fn replacement(entry: &Issue) -> Option<IssueId> {
    entry.attributes.linked(LinkKind::DuplicateOf).next()
}

/// Returns true if an entry still holds at a time.
pub fn is_in_force(entry: &Issue, now: Timestamp) -> bool {
    let has_ended = entry.attributes.due.is_some_and(|due| due.is_past_at(now));
    entry.status == Status::Kept && !is_replaced(entry) && !has_ended
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Attributes, Classification, Event, EventKind};

    fn entry(title: &Title, description: &Description) -> Issue {
        let kind = EventKind::Filed {
            title: title.as_str().to_owned(),
            description: description.as_str().to_owned(),
            classification: Classification::Trap,
            attributes: Attributes::default(),
        };
        let at = Timestamp::from_unix_millis(0);
        Event::new(IssueId::NIL, at, "a", kind).filed().unwrap()
    }

    #[test]
    fn an_entry_has_its_text_and_its_files() {
        let long = format!("# Use one writer\n\n{}", "Because. ".repeat(100));
        for text in ["slug('') must stay ''", "see kit/text.py", "two\nlines", &long] {
            for about in [&[][..], &["kit/text.py".to_owned(), "src/store".to_owned()]] {
                let (title, description) = texts(text, about).unwrap();
                let entry = entry(&title, &description);
                assert_eq!(entry.status, Status::Kept);
                assert_eq!(super::text(&entry), text.trim());
                let mut expected = file_names::files_in(text);
                expected.extend(about.iter().cloned());
                assert_eq!(files(&entry), expected, "{text}");
            }
        }
        let (title, description) = texts(&long, &[]).unwrap();
        assert_eq!((title.as_str(), description.as_str()), ("Use one writer", long.trim()));
        assert!(texts("  \n ", &[]).is_err());
    }

    #[test]
    fn an_entry_is_in_force_until_it_ends_or_is_replaced() {
        let (title, description) = texts("a fact", &[]).unwrap();
        let now = Timestamp::from_unix_millis(1_000);
        let mut entry = entry(&title, &description);
        assert!(is_in_force(&entry, now));
        let due = |millis| crate::Due::Time(Timestamp::from_unix_millis(millis));
        let with = |due| super::super::AttributeValues { due: Some(due), ..Default::default() };
        entry.attributes = with(due(1_001)).into();
        assert!(is_in_force(&entry, now));
        entry.attributes = with(due(999)).into();
        assert!(!is_in_force(&entry, now));
    }
}
