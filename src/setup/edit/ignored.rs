//! Patterns in a `.gitignore`, each only where it is not there yet.

use super::EditError;
use super::marked::NUMBER_SIGN;

/// The line for a file in a directory, which is empty for that of the list.
pub fn whole(directory: &str, name: &str) -> String {
    if directory.is_empty() { format!("/{name}") } else { format!("/{directory}/{name}") }
}

/// The line for what lies beside a store and belongs to one machine.
pub fn beside(directory: &str) -> String {
    whole(directory, ".ait/")
}

/// The text with these patterns besides those that the section has.
///
/// # Errors
///
/// Those of [`set`].
pub fn add(text: &str, patterns: &[String]) -> Result<String, EditError> {
    let section = NUMBER_SIGN.section(text)?.unwrap_or_default();
    let mut all: Vec<String> = section.lines().map(str::to_owned).collect();
    all.extend(patterns.iter().filter(|it| !section.lines().any(|line| line == *it)).cloned());
    set(text, &all)
}

/// The text with these patterns, in a section of ours as far as somebody else has not written them; without
/// a section where that is all of them.
///
/// # Errors
///
/// One mark of the section stands without the other.
pub fn set(text: &str, patterns: &[String]) -> Result<String, EditError> {
    let others = NUMBER_SIGN.unset(text)?;
    let bare = |line: &'_ str| -> String { line.trim().trim_start_matches('/').to_owned() };
    let is_there = |pattern: &str| others.lines().any(|line| bare(line) == bare(pattern));
    let missing: Vec<_> =
        patterns.iter().map(String::as_str).filter(|pattern| !is_there(pattern)).collect();
    if missing.is_empty() { Ok(others) } else { NUMBER_SIGN.set(text, &missing.join("\n")) }
}

/// The text without the section.
///
/// # Errors
///
/// Those of [`set`].
pub fn unset(text: &str) -> Result<String, EditError> {
    NUMBER_SIGN.unset(text)
}
