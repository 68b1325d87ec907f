//! A table of texts.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;

use icu_locale_core::Locale;
use icu_plurals::{PluralCategory, PluralRules};
use serde::Deserialize;

use super::pattern::{Pattern, Place};
use ait_domain::text::{nearest, shortened};

/// The longest text, in characters.
const MAX_CHARS: usize = 1_000;
/// How often a text is compared with a key whose words it has, and so has each text within it. Long lists of users'
/// words would take long.
const MAX_TRIALS: usize = 500;

/// What is wrong with a table, or with one of its texts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The line, from 1, if the table cannot be read.
    pub line: Option<usize>,
    pub reason: String,
}

/// A table as a file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    name: Option<String>,
    #[serde(default)]
    texts: BTreeMap<String, Text>,
}

/// A text, or one for each plural category.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(untagged)]
enum Text {
    One(String),
    Plural(Plural),
}

/// Texts by the plural categories of CLDR.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Plural {
    zero: Option<String>,
    one: Option<String>,
    two: Option<String>,
    few: Option<String>,
    many: Option<String>,
    other: String,
}

impl Plural {
    fn of(&self, category: PluralCategory) -> &str {
        let own = match category {
            PluralCategory::Zero => &self.zero,
            PluralCategory::One => &self.one,
            PluralCategory::Two => &self.two,
            PluralCategory::Few => &self.few,
            PluralCategory::Many => &self.many,
            PluralCategory::Other => &None,
        };
        own.as_deref().unwrap_or(&self.other)
    }

    fn all(&self) -> impl Iterator<Item = &String> {
        let Self { zero, one, two, few, many, other } = self;
        [zero, one, two, few, many].into_iter().flatten().chain([other])
    }
}

/// The texts of a language, by the English ones.
#[derive(Clone, Debug)]
pub struct Table {
    pub name: Option<String>,
    texts: BTreeMap<String, Text>,
    /// The keys with places, those with most words first.
    patterns: Vec<(Pattern, String)>,
    /// Which of them a text may be like, by the first byte of the text.
    by_first: Vec<Vec<usize>>,
    tag: Locale,
}

impl Table {
    /// Begins the table of a language. Returns `None` if the tag is not one of BCP 47.
    pub fn new(tag: &str) -> Option<Self> {
        let tag = Locale::try_from_str(tag).ok()?;
        Some(Self {
            name: None,
            texts: BTreeMap::new(),
            patterns: Vec::new(),
            by_first: Vec::new(),
            tag,
        })
    }

    /// Adds texts, which replace those with the same key. Returns what is wrong with the others. `known` has the keys
    /// that there are.
    pub fn add(&mut self, table: &str, known: Option<&Self>) -> Vec<Problem> {
        let given: Given = match toml::from_str(table) {
            Ok(given) => given,
            Err(error) => {
                let line = error.span().map(|span| table[..span.start].lines().count().max(1));
                return vec![Problem { line, reason: error.message().to_owned() }];
            }
        };
        self.name = given.name.or(self.name.take());
        let mut problems = Vec::new();
        for (key, text) in given.texts {
            match check(&key, &text, known) {
                Err(reason) => problems.push(Problem { line: None, reason }),
                Ok(()) => drop(self.texts.insert(key, text)),
            }
        }
        let keys = self.texts.keys();
        let patterns = keys.map(|key| (Pattern::parse(key), key.clone()));
        self.patterns = patterns.filter(|(pattern, _)| !pattern.places.is_empty()).collect();
        self.patterns.sort_by_key(|(pattern, _)| (Reverse(pattern.weight), pattern.places.clone()));
        let of_byte = |byte| {
            let all = self.patterns.iter().enumerate();
            all.filter(|(_, (pattern, _))| pattern.may_begin_with(byte)).map(|(at, _)| at).collect()
        };
        self.by_first = (0..=u8::MAX).map(of_byte).collect();
        problems
    }

    /// Returns the English texts.
    pub fn keys(&self) -> impl Iterator<Item = &str> + Clone {
        self.texts.keys().map(String::as_str)
    }

    /// Returns the text for an English one; `None` if the table has none.
    pub fn get(&self, english: &str) -> Option<Cow<'_, str>> {
        self.get_within(english, &mut { MAX_TRIALS })
    }

    /// Returns the text for an English one, while `trials` lets it try.
    fn get_within(&self, english: &str, trials: &mut usize) -> Option<Cow<'_, str>> {
        if let Some(Text::One(text)) = self.texts.get(english) {
            return Some(text.into());
        }
        let first = usize::from(*english.as_bytes().first()?);
        self.by_first.get(first)?.iter().find_map(|at| {
            let (pattern, key) = &self.patterns[*at];
            pattern.matches(english, |places| {
                *trials = trials.checked_sub(1)?;
                self.fill(pattern, &self.texts[key], places, trials).map(Cow::from)
            })
        })
    }

    /// Returns a text with what stands at its places, if the table has the texts among that.
    fn fill(
        &self,
        pattern: &Pattern,
        text: &Text,
        places: &[&str],
        trials: &mut usize,
    ) -> Option<String> {
        let own = places.iter().zip(&pattern.places).map(|(part, place)| match place {
            Place::Text if part.contains(char::is_alphabetic) => self.get_within(part, trials),
            _ => Some(Cow::from(*part)),
        });
        let own: Vec<_> = own.collect::<Option<_>>()?;
        let text = match text {
            Text::One(text) => text,
            Text::Plural(plural) => plural.of(self.category(pattern, places)),
        };
        Some(filled(text, &own))
    }

    /// Returns the plural category of the first number.
    fn category(&self, pattern: &Pattern, found: &[&str]) -> PluralCategory {
        let numbers = pattern.places.iter().zip(found);
        let mut numbers = numbers.filter(|(place, _)| **place == Place::Number);
        let number = numbers.next().and_then(|(_, text)| text.replace(',', "").parse::<u64>().ok());
        // Looked up each time: plural texts are few.
        let rules = PluralRules::try_new_cardinal((&self.tag).into()).ok();
        number
            .zip(rules)
            .map_or(PluralCategory::Other, |(number, rules)| rules.category_for(number))
    }

    /// Returns the table with all `keys`, as TOML. Keys without a text have the English one.
    pub fn to_toml<'a>(&self, name: &str, keys: impl Iterator<Item = &'a str>) -> String {
        // Strings of JSON are strings of TOML, too.
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let mut table = format!("name = {}\n\n[texts]\n", quoted(name));
        for key in keys {
            let text = match self.texts.get(key) {
                Some(Text::Plural(plural)) => inline(plural, quoted),
                Some(Text::One(text)) => quoted(text),
                None => quoted(&in_order(key)),
            };
            let _ = writeln!(table, "{} = {text}", quoted(key));
        }
        table
    }
}

/// Returns an English text as a text of a table, where all places are `{}`.
fn in_order(key: &str) -> String {
    key.replace("{n}", "{}").replace("{text}", "{}")
}

fn inline(plural: &Plural, quoted: impl Fn(&str) -> String) -> String {
    let Plural { zero, one, two, few, many, other } = plural;
    let names = [("zero", zero), ("one", one), ("two", two), ("few", few), ("many", many)];
    let own = names.iter().filter_map(|(name, text)| Some((*name, text.as_ref()?)));
    let all: Vec<_> = own
        .chain([("other", other)])
        .map(|(name, text)| format!("{name} = {}", quoted(text)))
        .collect();
    format!("{{ {} }}", all.join(", "))
}

/// Says why a text cannot be used.
fn check(key: &str, text: &Text, known: Option<&Table>) -> Result<(), String> {
    let shown = format!("{:?}", shortened(key, 80));
    if let Some(known) = known.filter(|known| !known.texts.contains_key(key)) {
        let near = nearest(key, known.keys());
        let near = near.map(|near| format!(": did you mean {near:?}?")).unwrap_or_default();
        return Err(format!("the pages have no text {shown}{near}"));
    }
    let places = Pattern::parse(key).places.len();
    let one = |text: &String| {
        let length = text.chars().count();
        if text.trim().is_empty() || length > MAX_CHARS || text.contains(char::is_control) {
            return Err(format!(
                "the text for {shown} must have 1 to {MAX_CHARS} characters without line breaks"
            ));
        }
        match places_of(text).find(|place| *place >= places) {
            Some(place) => Err(format!(
                "the text for {shown} has {{{}}}, and its key has {places} places",
                place + 1
            )),
            None => Ok(()),
        }
    };
    match text {
        Text::One(text) => one(text),
        Text::Plural(plural) => plural.all().try_for_each(one),
    }
}

/// Returns the places that a text names, from 0.
fn places_of(text: &str) -> impl Iterator<Item = usize> {
    let mut next = 0;
    parts(text).filter_map(move |part| part.ok().map(|named| place(named, &mut next)))
}

/// Returns the place that a part of a text names: the next one if it has no number.
fn place(named: Option<usize>, next: &mut usize) -> usize {
    *next += 1;
    named.unwrap_or(*next) - 1
}

fn filled(text: &str, found: &[Cow<'_, str>]) -> String {
    let mut next = 0;
    let part = |part| match part {
        Ok(named) => found.get(place(named, &mut next)).map_or("", |own| &**own),
        Err(words) => words,
    };
    parts(text).map(part).collect()
}

/// Returns the words of a text, and its places with their numbers from 1: `{}` and `{2}`.
fn parts(text: &str) -> impl Iterator<Item = Result<Option<usize>, &str>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let place = |from: &str| {
            let name = from.strip_prefix('{')?.split_once('}')?.0;
            let number = name.parse::<usize>().ok().filter(|number| *number > 0);
            (name.is_empty() || number.is_some()).then_some((number, name.len() + 2))
        };
        if rest.is_empty() {
            return None;
        }
        if let Some((number, length)) = place(rest) {
            rest = &rest[length..];
            return Some(Ok(number));
        }
        let braces = rest.match_indices('{').map(|(at, _)| at);
        let mut braces = braces.filter(|at| place(&rest[*at..]).is_some());
        let (words, behind) = rest.split_at(braces.next().unwrap_or(rest.len()));
        rest = behind;
        Some(Err(words))
    })
}
