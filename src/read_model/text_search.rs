//! Searching for texts: from the cheapest test to the exact one.

use std::cell::OnceCell;

use regex::{Regex, RegexBuilder};

use super::positions::Positions;
use super::read_view::ReadView;
use crate::domain::condition::{IdName, LoweredTexts};
use crate::domain::{Condition, IssueId};

/// The texts of a condition, prepared for being looked for in many issues.
pub(super) struct TextSearch(Vec<SearchedText>);

struct SearchedText {
    text: String,
    /// The issues that it names.
    id_name: IdName,
    /// Whether every match has it.
    is_needed: bool,
    /// The issues that may contain it.
    candidates: Positions,
    /// What the JSON of an issue with it contains.
    written: Option<Regex>,
}

impl TextSearch {
    /// Prepares the search for the texts of a condition.
    pub fn new(condition: &Condition, view: &ReadView<'_>) -> Self {
        let needed: Vec<&str> = condition.conjuncts().iter().filter_map(Condition::text).collect();
        let prepare = |text: &str| SearchedText {
            text: text.to_owned(),
            id_name: IdName::of(text),
            is_needed: needed.contains(&text),
            candidates: view.index.signatures.candidates(text, &view.issues),
            written: written(text),
        };
        Self(condition.texts().into_iter().map(prepare).collect())
    }

    /// Returns true if no text is looked for.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns how many of the texts may occur in the issue at a position.
    pub fn promised(&self, position: usize) -> usize {
        self.0.iter().filter(|one| one.candidates.contains(position)).count()
    }

    /// Returns true if all texts that every match has may occur in the issue at a position. Tests all of them before
    /// the first is looked for.
    pub fn may_match(&self, position: usize, id: IssueId) -> bool {
        let mut needed = self.0.iter().filter(|one| one.is_needed);
        needed.all(|one| one.candidates.contains(position) || one.id_name.names(id))
    }

    /// Returns true if the issue at a position contains one of the texts, or is named by it. `texts` keeps its texts,
    /// once they were needed.
    pub fn finds(
        &self,
        text: &str,
        position: usize,
        view: &ReadView<'_>,
        texts: &OnceCell<LoweredTexts>,
    ) -> bool {
        let id = view.summaries()[position].id;
        let lowered =
            || texts.get_or_init(|| LoweredTexts::of(&view.issue(position))).contain(text);
        let Some(searched) = self.0.iter().find(|one| one.text == text) else {
            return IdName::of(text).names(id) || lowered();
        };
        let is_written =
            |json: &str| searched.written.as_ref().is_none_or(|text| text.is_match(json));
        searched.id_name.names(id)
            || (searched.candidates.contains(position)
                && (texts.get().is_some()
                    || view.issues.written_at(position).is_none_or(is_written))
                && lowered())
    }
}

/// Returns a case-insensitive pattern for a text in JSON. Returns `None` if the pattern could miss matches: outside
/// ASCII, lower-casing changes letters in ways that a pattern does not cover.
fn written(text: &str) -> Option<Regex> {
    if !text.is_ascii() || text.ends_with('i') {
        // The lower-case form of İ is an i followed by a combining dot.
        return None;
    }
    // An external id is written without the # that people put before it.
    let json = serde_json::to_string(text.strip_prefix('#').unwrap_or(text)).ok()?;
    let escaped = json.strip_prefix('"')?.strip_suffix('"')?;
    RegexBuilder::new(&regex::escape(escaped)).case_insensitive(true).build().ok()
}
