//! The files that a text names.

use std::collections::BTreeSet;

/// The endings of files that are named without a folder.
const ENDINGS: &str = "c cc cfg conf cpp cs css csv ex go graphql h hpp html ini java js json jsx kt lua md mjs php pl proto \
    ps1 py rb rs scala scss sh sql svelte swift tf toml ts tsx txt vue xml yaml yml zig";
/// The longest ending of a file in a folder, in bytes.
const MAX_ENDING: usize = 8;
/// How many files are read from a text at most.
pub(super) const MAX_FILES: usize = 16;

/// Returns the files that a text names, as they are named: with a folder, or with the ending of a source file.
pub fn files_in(text: &str) -> BTreeSet<String> {
    let is_part = |one: char| one.is_alphanumeric() || "._-/@+".contains(one);
    let words = text.split(|one: char| !is_part(one));
    let names =
        words.map(|word| word.trim_start_matches("./").trim_matches(['.', '-', '/', '@', '+']));
    names.filter(|name| is_file(name)).map(str::to_owned).take(MAX_FILES).collect()
}

fn is_file(name: &str) -> bool {
    let (folder, file) = name.rsplit_once('/').unwrap_or(("", name));
    let Some((stem, ending)) = file.rsplit_once('.') else { return false };
    let is_ending = ending.len() <= MAX_ENDING
        && ending.starts_with(|one: char| one.is_ascii_alphabetic())
        && ending.bytes().all(|one| one.is_ascii_alphanumeric());
    let is_source = || ENDINGS.split(' ').any(|one| one.eq_ignore_ascii_case(ending));
    !stem.is_empty() && is_ending && !name.contains("//") && (!folder.is_empty() || is_source())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_what_looks_like_a_path() {
        let text = "In `src/store/mod.rs` and ./kit/text.py (see README.md:12), not in 1.2.3, e.g. example.com, \
            https://example.com/a, and/or, etc. But docs/x.adoc, and Makefile are not all.";
        let found: Vec<_> = files_in(text).into_iter().collect();
        assert_eq!(found, ["README.md", "docs/x.adoc", "kit/text.py", "src/store/mod.rs"]);
        assert!(files_in("").is_empty());
    }
}
