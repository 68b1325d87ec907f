//! Which issue the name of a branch names.

use crate::domain::{IssueId, IssueRef};

/// What stands before the id in the name of a branch.
const BEFORE_ID: &str = "issue-";
/// Characters in a whole id.
const WHOLE_CHARS: usize = 36;

/// The issue that the name of a branch names: `issue-` and at least the first 8 hex digits of its id, as a
/// word of the name. `None` where it names none, or more than one.
pub fn issue_in(branch: &str) -> Option<IssueRef> {
    let branch = branch.to_ascii_lowercase();
    let mut found: Vec<IssueRef> = Vec::new();
    for (at, _) in branch.match_indices(BEFORE_ID) {
        let (before, rest) = (&branch[..at], &branch[at + BEFORE_ID.len()..]);
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        let whole = rest.get(..WHOLE_CHARS).filter(|it| IssueId::parse(it).is_some());
        let id = whole.unwrap_or(&rest[..digits]);
        let is_word = !before.ends_with(char::is_alphanumeric)
            && !rest[id.len()..].starts_with(char::is_alphanumeric);
        if let Some(reference) = id.parse::<IssueRef>().ok().filter(|_| is_word)
            && !found.contains(&reference)
        {
            found.push(reference);
        }
    }
    found.pop().filter(|_| found.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_with_the_id_is_found_and_nothing_else() {
        let whole = "3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73";
        for (branch, expected) in [
            ("issue-3f2a9c1e", Some("3f2a9c1e")),
            ("issue-3F2A9C1E", Some("3f2a9c1e")),
            ("feature/issue-3f2a9c1e-fix-login", Some("3f2a9c1e")),
            ("fix_issue-3f2a9c1e7d54_x", Some("3f2a9c1e7d54")),
            ("issue-3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73", Some(whole)),
            ("issue-3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73-deed", Some(whole)),
            ("issue-3f2a9c1e/issue-3f2a9c1e", Some("3f2a9c1e")),
            ("issue-3f2a9c1e-issue-77b0c5d2", None),
            ("issue-3f2a9c1", None),
            ("issue-3f2a9c1ex", None),
            ("tissue-3f2a9c1e", None),
            ("issue-1234", None),
            ("issue-ü3f2a9c1e", None),
            ("3f2a9c1e", None),
            ("main", None),
        ] {
            let expected = expected.map(|it| it.parse::<IssueRef>().unwrap());
            assert_eq!(issue_in(branch), expected, "{branch}");
        }
    }
}
