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
