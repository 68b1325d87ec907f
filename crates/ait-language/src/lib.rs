//! The pages in other languages. They are written in English; a language is a table of English texts and its own, which
//! is applied to the finished markup. It knows nothing of pages, and reads no files.
//!
//! A table is TOML:
//!
//! ```toml
//! name = "Deutsch"
//!
//! [texts]
//! "Inbox" = "Eingang"
//! "{text} ago" = "vor {}"
//! "{n} issues" = { one = "{} Aufgabe", other = "{} Aufgaben" }
//! ```
//!
//! A key is a whole text between two tags, or in an attribute that people read. In a key, `{n}` stands for a number,
//! `{text}` for another text of the table, and `{}` for anything else. What they stood for is in the text by `{}`, in
//! the order of the key, or by its place: `{1}`, `{2}`. A text may depend on the plural category (CLDR) of the first
//! number in its key.
//!
//! # The files
//!
//! * `table.rs`, `pattern.rs`: a table, and its keys with places for other texts
//! * `markup.rs`: applies a table to markup
//! * `ja.toml`: Japanese, whose keys are all that there are

mod markup;
mod pattern;
mod table;

use std::sync::{Arc, LazyLock};

use self::table::Table;

pub use self::table::Problem;

/// The language in which the pages are written, as a BCP 47 tag.
pub const ENGLISH: &str = "en";

const JAPANESE: &str = "ja";

/// The table that is built in.
static BUILT_IN: LazyLock<Arc<Language>> = LazyLock::new(|| {
    let mut language = Language::new(JAPANESE).expect("the tag of a built-in language is valid");
    let problems = language.table.add(include_str!("ja.toml"), None);
    assert!(problems.is_empty(), "the built-in language has problems: {problems:?}");
    Arc::new(language)
});

/// A language of the pages.
#[derive(Clone, Debug)]
pub struct Language {
    /// The BCP 47 tag.
    pub tag: String,
    table: Table,
}

impl Language {
    fn new(tag: &str) -> Option<Self> {
        Some(Self { tag: tag.to_owned(), table: Table::new(tag)? })
    }

    /// Returns its own name.
    pub fn name(&self) -> &str {
        match (&self.table.name, &*self.tag) {
            (Some(name), _) => name,
            (None, ENGLISH) => "English",
            (None, tag) => tag,
        }
    }

    /// Returns true if pages stay as they are written.
    pub fn is_as_written(&self) -> bool {
        self.tag == ENGLISH && self.table.keys().next().is_none()
    }

    /// Translates a document or a part of one.
    pub fn markup(&self, page: &str) -> String {
        markup::translate(page, &self.tag, &self.table)
    }

    /// Returns a table with all keys, as TOML. Keys without a text have the English one.
    pub fn to_toml(&self) -> String {
        self.table.to_toml(self.name(), BUILT_IN.table.keys())
    }
}

/// The languages of the pages.
#[derive(Clone, Debug)]
pub struct Languages(Vec<Arc<Language>>);

impl Default for Languages {
    fn default() -> Self {
        let english = Language::new(ENGLISH).expect("the tag of English is valid");
        Self(vec![Arc::new(english), Arc::clone(&BUILT_IN)])
    }
}

impl Languages {
    /// Adds a table of a project. It wins over what there is of the language; one for English replaces texts as they
    /// are written. Returns what is wrong: such texts are left out, and the others stay.
    pub fn add(&mut self, tag: &str, table: &str) -> Vec<Problem> {
        let known = self.0.iter().position(|language| language.tag.eq_ignore_ascii_case(tag));
        let language = known.map_or_else(|| Language::new(tag), |at| Some((*self.0[at]).clone()));
        let Some(mut language) = language else {
            return vec![Problem {
                line: None,
                reason: format!(
                    "{tag:?} is no language: name the file by a tag such as de or pt-BR"
                ),
            }];
        };
        let problems = language.table.add(table, Some(&BUILT_IN.table));
        match known {
            Some(at) => self.0[at] = Arc::new(language),
            None => self.0.push(Arc::new(language)),
        }
        problems
    }

    /// Returns the languages, English first.
    pub fn all(&self) -> impl Iterator<Item = &Language> {
        self.0.iter().map(|language| &**language)
    }

    /// Returns a language by its tag.
    pub fn find(&self, tag: &str) -> Option<&Arc<Language>> {
        self.0.iter().find(|language| language.tag.eq_ignore_ascii_case(tag))
    }

    /// Returns a language with all keys, of which none has a text if the project has no such language.
    pub fn find_or_begin(&self, tag: &str) -> Option<Arc<Language>> {
        self.find(tag).cloned().or_else(|| Language::new(tag).map(Arc::new))
    }

    /// Chooses the language for a reader who accepts these, as an `Accept-Language` header has them (RFC 9110, section
    /// 12.5.4). Returns `None` if pages stay as they are written.
    pub fn accepted(&self, header: &str) -> Option<&Arc<Language>> {
        accept_language::parse(header).iter().find_map(|wanted| {
            // A reader of `de-AT` reads `de`.
            let main = wanted.split('-').next().unwrap_or_default();
            self.find(wanted).or_else(|| self.find(main))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(tag: &str, table: &str) -> Languages {
        let mut languages = Languages::default();
        assert_eq!(languages.add(tag, table), []);
        languages
    }

    #[test]
    fn the_first_accepted_language_that_there_is_is_chosen() {
        let languages = with("de", "name = \"Deutsch\"\n[texts]\n\"Inbox\" = \"Eingang\"");
        for (header, tag) in [
            ("ja", Some("ja")),
            ("JA-jp, en;q=0.5", Some("ja")),
            ("fr, de-AT;q=0.9, ja;q=0.8", Some("de")),
            ("en-US,en;q=0.9,ja;q=0.8", Some("en")),
            ("ja;q=0.1, de;q=0.2", Some("de")),
            ("fr", None),
            ("", None),
            ("*;;q", None),
        ] {
            let found = languages.accepted(header).map(|language| &*language.tag);
            assert_eq!(found, tag, "{header}");
        }
    }

    #[test]
    fn a_table_of_a_project_adds_to_the_built_in_one() {
        let languages = with("ja", "[texts]\n\"Inbox\" = \"要対応\"");
        let japanese = languages.find("ja").unwrap();
        assert_eq!(japanese.markup("<p>Inbox</p><p>Board</p>"), "<p>要対応</p><p>ボード</p>");
        assert_eq!(japanese.name(), "日本語");
    }

    #[test]
    fn english_names_are_replaced_too() {
        let languages = with("en", "[texts]\n\"Inbox\" = \"To do\"");
        assert_eq!(languages.find("en").unwrap().markup("<b>Inbox</b>"), "<b>To do</b>");
    }

    #[test]
    fn plurals_follow_the_rules_of_the_language() {
        let forms = "{ one = \"{} zgłoszenie\", few = \"{} zgłoszenia\", other = \"{} zgłoszeń\" }";
        let table = format!("[texts]\n\"1 issue\" = \"1 zgłoszenie\"\n\"{{n}} issues\" = {forms}");
        let languages = with("pl", &table);
        let polish = languages.find("pl").unwrap();
        for (english, expected) in [
            ("1 issue", "1 zgłoszenie"),
            ("3 issues", "3 zgłoszenia"),
            ("5 issues", "5 zgłoszeń"),
            ("1,022 issues", "1,022 zgłoszenia"),
        ] {
            assert_eq!(polish.markup(english), expected);
        }
    }

    #[test]
    fn what_is_wrong_with_a_table_is_named_and_the_rest_is_used() {
        let table = "[texts]\n\"Inbx\" = \"a\"\n\"Board\" = \"Tafel\"\n\"Agents\" = \"\"\n\"{text} ago\" = \"vor {2}\"";
        let mut languages = Languages::default();
        let problems: Vec<_> =
            languages.add("de", table).into_iter().map(|problem| problem.reason).collect();
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(problems[0].contains("\"Agents\""), "{problems:?}");
        assert!(problems[1].contains("did you mean \"Inbox\"?"), "{problems:?}");
        assert!(problems[2].contains("{2}"), "{problems:?}");
        assert_eq!(languages.find("de").unwrap().markup("Board"), "Tafel");
        let broken = languages.add("de", "[texts]\n\"Board = 1");
        assert_eq!(broken[0].line, Some(2), "{broken:?}");
        assert_eq!(languages.add("../x", "")[0].line, None);
    }

    #[test]
    fn a_printed_table_is_the_same_again() {
        let languages = with(
            "de",
            "name = \"Deutsch\"\n[texts]\n\"{n} issues\" = { one = \"{} A\", other = \"{} B\" }",
        );
        let german = languages.find("de").unwrap();
        let mut again = Languages::default();
        assert_eq!(again.add("de", &german.to_toml()), []);
        assert_eq!(again.find("de").unwrap().to_toml(), german.to_toml());
        assert_eq!(again.find("de").unwrap().markup("2 issues"), "2 B");
    }
}
