//! The section of patterns in a `.gitignore`.

use super::EditError;
use super::marked::NUMBER_SIGN;

/// The pattern for a file in a directory; an empty directory is that of the `.gitignore`.
pub fn anchored_pattern(directory: &str, name: &str) -> String {
    if directory.is_empty() { format!("/{name}") } else { format!("/{directory}/{name}") }
}

/// The patterns for the files that the store of a directory keeps on one machine. Git cannot track what is below an
/// ignored directory, so that with some directories to track there, it is what the directory has that is ignored.
pub fn data_directory(directory: &str, tracked: &[&str]) -> Vec<String> {
    let data = anchored_pattern(directory, ".ait/");
    if tracked.is_empty() {
        return vec![data];
    }
    let tracked = tracked.iter().map(|name| format!("!{data}{name}/"));
    std::iter::once(format!("{data}*")).chain(tracked).collect()
}

/// Adds patterns to those of the section. A directory gives way to the pattern for what it has.
pub fn add(text: &str, patterns: &[String]) -> Result<String, EditError> {
    let section = NUMBER_SIGN.section(text)?.unwrap_or_default();
    let mut all: Vec<String> = section.lines().map(str::to_owned).collect();
    all.retain(|line| !patterns.contains(&format!("{line}*")));
    all.extend(
        patterns.iter().filter(|pattern| !section.lines().any(|line| line == *pattern)).cloned(),
    );
    set(text, &all)
}

/// Makes the section have those of the patterns that the rest of the file lacks; without any, there is no section.
///
/// # Errors
///
/// The lines around the section are incomplete.
pub fn set(text: &str, patterns: &[String]) -> Result<String, EditError> {
    let others = NUMBER_SIGN.unset(text)?;
    let bare = |line: &'_ str| -> String { line.trim().trim_start_matches('/').to_owned() };
    let is_there = |pattern: &str| others.lines().any(|line| bare(line) == bare(pattern));
    let missing: Vec<_> =
        patterns.iter().map(String::as_str).filter(|pattern| !is_there(pattern)).collect();
    if missing.is_empty() { Ok(others) } else { NUMBER_SIGN.set(text, &missing.join("\n")) }
}
