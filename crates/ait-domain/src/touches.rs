//! Which files the work on an issue changes, and where two such lists meet.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::DomainError;

/// Paths and globs in the repository, separated by commas. A path stands for all below it, `*` and `?` for characters
/// but the slash, and `**` for any directories.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Touches(Vec<String>);

impl Touches {
    /// The maximum number of paths, and of characters of each.
    const MAX_COUNT: usize = 20;
    const MAX_CHARS: usize = 200;

    /// Returns the first of these paths that meets one of some others: a file can match both.
    pub fn meeting<'a>(&'a self, others: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
        let mut others = others.into_iter();
        others.find_map(|other| self.paths().find(|own| meet(own, other)))
    }

    /// Returns the paths.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

/// Returns true if a file can match both paths.
fn meet(one: &str, other: &str) -> bool {
    let alike = |one: &&[u8], other: &&[u8]| {
        let is_same = |one: &u8, other: &u8| one == other || *one == b'?' || *other == b'?';
        patterns_meet(one, other, |byte| *byte == b'*', is_same, false)
    };
    patterns_meet(&segments(one), &segments(other), |segment| **segment == *b"**", alike, true)
}

fn segments(path: &str) -> Vec<&[u8]> {
    path.split('/').map(str::as_bytes).collect()
}

/// Returns true if something can match two patterns, whose parts stand for one thing each, or for any number of them.
/// With `is_prefix`, a pattern also matches what goes on behind it.
fn patterns_meet<T>(
    one: &[T],
    other: &[T],
    is_any: fn(&T) -> bool,
    alike: impl Fn(&T, &T) -> bool,
    is_prefix: bool,
) -> bool {
    // Whether the ends of the patterns meet, by how much of the other pattern is left out.
    let mut below = vec![false; other.len() + 1];
    for at in (0..=one.len()).rev() {
        let own = one.get(at);
        let mut row = vec![false; other.len() + 1];
        for to in (0..=other.len()).rev() {
            let their = other.get(to);
            row[to] = match (own, their) {
                (None, None) => true,
                (None, _) | (_, None) if is_prefix => true,
                _ => {
                    own.is_some_and(is_any) && (below[to] || their.is_some() && row[to + 1])
                        || their.is_some_and(is_any) && (row[to + 1] || own.is_some() && below[to])
                        || own.zip(their).is_some_and(|(own, their)| alike(own, their))
                            && below[to + 1]
                }
            };
        }
        below = row;
    }
    below[0]
}

impl FromStr for Touches {
    type Err = DomainError;

    fn from_str(text: &str) -> Result<Self, DomainError> {
        const EXPECTED: &str =
            "are no paths: give up to 20 in the repository, such as src/store, docs/*.md";
        let path = |path: &str| {
            let path = path.trim();
            let path = path.strip_prefix("./").unwrap_or(path).trim_end_matches('/');
            let is_valid = !path.split('/').any(|segment| matches!(segment, "" | "." | ".."))
                && path.chars().count() <= Self::MAX_CHARS
                && !path.contains(char::is_control);
            is_valid.then(|| path.to_owned())
        };
        let paths: Option<Vec<_>> = text.split(',').map(path).collect();
        paths
            .filter(|paths| paths.len() <= Self::MAX_COUNT)
            .map(Self)
            .ok_or_else(|| DomainError::invalid(text, EXPECTED))
    }
}

impl fmt::Display for Touches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}

impl Serialize for Touches {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Touches {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_meet_where_a_file_can_match_both() {
        for (one, other, expected) in [
            ("src/store", "src/store/sql.rs", true),
            ("src/store", "src/stores.rs", false),
            ("src", "src", true),
            ("src/*.rs", "src/lib.rs", true),
            ("src/*.rs", "src/a/lib.rs", false),
            ("src/**/*.rs", "src/a/b/lib.rs", true),
            ("src/**/*.rs", "src/lib.rs", true),
            ("**/mod.rs", "src", true),
            ("**/mod.rs", "src/lib.rs", true),
            ("**/mod.rs", "mod.rs/x", true),
            ("docs/*.md", "docs/a*", true),
            ("docs/a*.md", "docs/b*.md", false),
            ("docs/a*b", "docs/*ab*b", true),
            ("d?cs", "docs/x", true),
            ("d?cs", "dcs", false),
            ("*", "README.md", true),
            ("src/*/a", "src/x/b", false),
        ] {
            let [touches, others] = [one, other].map(|path| path.parse::<Touches>().unwrap());
            assert_eq!(touches.meeting(others.paths()).is_some(), expected, "{one} {other}");
            assert_eq!(others.meeting(touches.paths()).is_some(), expected, "{other} {one}");
        }
        let long = "**/*a*/".repeat(20);
        let touches: Touches = long[..140].parse().unwrap();
        assert!(touches.meeting([&*"b/".repeat(100)]).is_some());
    }

    #[test]
    fn paths_are_relative_and_few() {
        for (text, shown) in
            [("src/store", "src/store"), (" ./src/ ,docs/*.md", "src, docs/*.md"), ("a b", "a b")]
        {
            assert_eq!(text.parse::<Touches>().unwrap().to_string(), shown);
        }
        let many = ["a"; 21].join(",");
        for text in ["", "/etc", "a/../b", "a//b", "a,,b", "a\nb", &many, &"x".repeat(201)] {
            assert!(text.parse::<Touches>().is_err(), "{text}");
        }
    }
}
