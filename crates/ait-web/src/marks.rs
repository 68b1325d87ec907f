//! Marks in texts where what was searched for occurs, and finds excerpts with it.

use std::ops::Range;

use maud::{Markup, html};

use ait_domain::{Condition, Issue};

/// How many of the searched texts are marked.
const MAX_TEXTS: usize = 50;
/// How many characters an excerpt has before the first mark, and in all.
const BEFORE_CHARS: usize = 40;
const EXCERPT_CHARS: usize = 160;

/// The texts that a search looks for, in lower case.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Marks(Vec<String>);

impl Marks {
    /// Returns the texts of a condition, without those that must not occur.
    pub fn of(condition: &Condition) -> Self {
        let mut texts: Vec<String> = wanted(condition).into_iter().map(str::to_owned).collect();
        texts.truncate(MAX_TEXTS);
        Self(texts)
    }

    /// Returns true if a text gets marks.
    pub fn has(&self, text: &str) -> bool {
        !self.places(text).is_empty()
    }

    /// Renders a text with marks.
    pub fn marked(&self, text: &str) -> Markup {
        let mut written = 0;
        let pieces = self.places(text).into_iter().map(|place| {
            let before = &text[written..place.start];
            written = place.end;
            (before, &text[place])
        });
        let pieces: Vec<_> = pieces.collect();
        html! {
            @for (before, marked) in pieces { (before) mark { (marked) } }
            (&text[written..])
        }
    }

    /// Returns an excerpt of the description or of a comment of an issue with one of the texts that its title lacks;
    /// `None` if there is none.
    pub fn excerpt(&self, issue: &Issue) -> Option<String> {
        let title = issue.title.to_lowercase();
        let lacking = self.0.iter().filter(|text| !title.contains(text.as_str())).cloned();
        let lacking = Self(lacking.collect());
        if lacking.0.is_empty() {
            return None;
        }
        let comments = issue.comments.iter().map(|comment| comment.text.as_str());
        let mut texts = std::iter::once(issue.description.as_str()).chain(comments);
        texts.find_map(|text| {
            let place = lacking.places(text).into_iter().next()?;
            Some(around(text, place.start))
        })
    }

    /// Returns where the texts occur regardless of case, in order and without overlaps.
    fn places(&self, text: &str) -> Vec<Range<usize>> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let lower = Lowered::of(text);
        let mut places: Vec<Range<usize>> = Vec::new();
        for searched in self.0.iter().filter(|searched| !searched.is_empty()) {
            let found = lower.text.match_indices(searched.as_str());
            places.extend(found.map(|(at, _)| lower.origin(at..at + searched.len())));
        }
        places.sort_unstable_by_key(|place| (place.start, place.end));
        places.dedup_by(|next, before| {
            let overlaps = next.start < before.end;
            before.end = if overlaps { before.end.max(next.end) } else { before.end };
            overlaps
        });
        places
    }
}

/// Returns the texts that a match contains.
fn wanted(condition: &Condition) -> Vec<&str> {
    match condition {
        Condition::All(several) | Condition::Any(several) => {
            several.iter().flat_map(wanted).collect()
        }
        Condition::Not(_) => Vec::new(),
        other => other.texts(),
    }
}

/// A text in lower case, whose characters can be longer or shorter than those of the original.
struct Lowered<'a> {
    original: &'a str,
    text: String,
    /// After each character whose lower-case form has another length: its end in both texts.
    ends: Vec<(usize, usize)>,
}

impl<'a> Lowered<'a> {
    fn of(original: &'a str) -> Self {
        let mut text = String::with_capacity(original.len());
        let mut ends = Vec::new();
        for (at, character) in original.char_indices() {
            let begin = text.len();
            text.extend(character.to_lowercase());
            if text.len() - begin != character.len_utf8() {
                ends.push((text.len(), at + character.len_utf8()));
            }
        }
        Self { original, text, ends }
    }

    /// Returns the place of whole characters in the original that a place stands for.
    fn origin(&self, place: Range<usize>) -> Range<usize> {
        let mut begin = self.original_at(place.start);
        let mut end = self.original_at(place.end);
        while !self.original.is_char_boundary(begin) {
            begin -= 1;
        }
        while !self.original.is_char_boundary(end) {
            end += 1;
        }
        begin..end
    }

    fn original_at(&self, at: usize) -> usize {
        let earlier = self.ends.partition_point(|(end, _)| *end <= at);
        let (end, original) = earlier.checked_sub(1).map_or((0, 0), |index| self.ends[index]);
        (original + at - end).min(self.original.len())
    }
}

/// Returns the part of a text around a place, on one line.
fn around(text: &str, at: usize) -> String {
    let (before, after) = text.split_at(at);
    let begin = before.char_indices().rev().nth(BEFORE_CHARS - 1).map_or(0, |(begin, _)| begin);
    // From the beginning of a word, if there is one.
    let begin = match before[begin..].find(char::is_whitespace) {
        Some(space) if begin > 0 => begin + space,
        _ => begin,
    };
    let end = after.char_indices().nth(EXCERPT_CHARS).map_or(text.len(), |(end, _)| at + end);
    // The marks of code are for whole texts.
    let is_fence = |word: &&str| word.starts_with("```") || word.starts_with("~~~");
    let words = text[begin..end].split_whitespace().filter(|word| !is_fence(word));
    let words: Vec<_> = words.map(|word| word.replace('`', "")).collect();
    let cut = |is_cut: bool| if is_cut { "…" } else { "" };
    format!("{}{}{}", cut(begin > 0), words.join(" "), cut(end < text.len()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use ait_domain::Timestamp;
    use ait_query::{ParsedQuery, SavedQueries};

    fn marks(query: &str) -> Marks {
        let now = Timestamp::from_unix_millis(0);
        Marks::of(&ParsedQuery::parse(query, &SavedQueries::new(), now).unwrap().condition())
    }

    #[test]
    fn what_is_searched_for_is_marked() {
        for (query, text, expected) in [
            ("login", "Login, then LOGIN", "<mark>Login</mark>, then <mark>LOGIN</mark>"),
            ("\"a b\" c", "A b & C", "<mark>A b</mark> &amp; <mark>C</mark>"),
            ("abc bcd", "xabcdx", "x<mark>abcd</mark>x"),
            ("login -page", "login page", "<mark>login</mark> page"),
            ("(ab OR cd) status:open", "ab cd open", "<mark>ab</mark> <mark>cd</mark> open"),
            ("istanbul", "x İSTANBUL istanbul", "x İSTANBUL <mark>istanbul</mark>"),
            ("ärger", "Ärger & ÄRGER", "<mark>Ärger</mark> &amp; <mark>ÄRGER</mark>"),
            ("", "<b>", "&lt;b&gt;"),
            ("script", "<script>", "&lt;<mark>script</mark>&gt;"),
        ] {
            assert_eq!(marks(query).marked(text).into_string(), expected, "{query}");
        }
    }

    #[test]
    fn excerpts_have_what_the_title_lacks() {
        let issue = |description: &str, comment: &str| {
            let at = "2026-01-31T09:30:00.000Z";
            let issue = serde_json::json!({
                "id": "3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73", "title": "The title", "description": description,
                "classification": "bug", "createdAt": at, "modifiedAt": at, "status": "created", "history": [],
                "comments": [{ "timestamp": at, "agent": "a", "text": comment }],
            });
            serde_json::from_value::<Issue>(issue).unwrap()
        };
        let long = format!("{} the Needle\nis here {}", "before ".repeat(30), "after ".repeat(60));
        for (query, description, comment, expected) in [
            ("title", "A title", "", None),
            ("needle", "a  needle", "", Some("a needle")),
            ("title needle", "the title", "NEEDLE!", Some("NEEDLE!")),
            ("3f2a9c1e", "", "", None),
            (
                "needle",
                "Run `needle`:\n```sh\nneedle --all\n```\n",
                "",
                Some("Run needle: needle --all"),
            ),
        ] {
            let found = marks(query).excerpt(&issue(description, comment));
            assert_eq!(found.as_deref(), expected, "{query}");
        }
        let found = marks("needle").excerpt(&issue(&long, "")).unwrap();
        assert!(
            found.starts_with("…before") && found.contains("the Needle is here after"),
            "{found}"
        );
        assert!(found.ends_with('…') && found.chars().count() < 210, "{found}");
    }

    proptest! {
        #[test]
        fn marks_change_no_text(text in "[aİẞßΣ¼x <]{0,20}", word in "[aiİßσx\u{307}]{1,2}") {
            let marks = Marks(vec![word.to_lowercase()]);
            let html = marks.marked(&text).into_string();
            let plain = html.replace("<mark>", "").replace("</mark>", "").replace("&lt;", "<");
            prop_assert_eq!(plain, text);
        }
    }
}
