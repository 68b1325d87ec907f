//! Searching for texts: from the cheapest test to the exact one.

use std::cell::OnceCell;

use super::positions::Positions;
use super::read_view::ReadView;
use crate::domain::Condition;
use crate::domain::condition::{IdName, LoweredTexts};

/// The texts of a condition, prepared for being looked for in many issues.
pub(super) struct TextSearch {
    texts: Vec<SearchedText>,
    /// The issues in which each text may occur that every match has; `None` without such a text.
    candidates: Option<Positions>,
}

struct SearchedText {
    text: String,
    /// The issues that it names.
    id_name: IdName,
    /// The issues that may contain it, and those that it names.
    candidates: Positions,
}

impl TextSearch {
    /// Prepares the search for the texts of a condition.
    pub fn new(condition: &Condition, view: &ReadView<'_>) -> Self {
        let prepare = |text: &str| {
            let id_name = IdName::of(text);
            let mut candidates = view.index.signatures.candidates(text, &view.issues);
            let named = id_name.ranges().iter().flat_map(|ids| view.issues.positions(ids));
            named.for_each(|at| candidates.insert(at));
            SearchedText { text: text.to_owned(), id_name, candidates }
        };
        let texts: Vec<_> = condition.texts().into_iter().map(prepare).collect();
        let needed: Vec<&str> = condition.conjuncts().iter().filter_map(Condition::text).collect();
        let needed = texts.iter().filter(|one| needed.contains(&&*one.text));
        let candidates = needed.map(|one| one.candidates.clone()).reduce(Positions::and);
        Self { texts, candidates }
    }

    /// Returns true if no text is looked for.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Returns how many of the texts may occur in the issue at a position.
    pub fn promised(&self, position: usize) -> usize {
        self.texts.iter().filter(|one| one.candidates.contains(position)).count()
    }

    /// Returns the issues in which each text may occur that every match has; `None` without such a text.
    pub fn candidates(&self) -> Option<&Positions> {
        self.candidates.as_ref()
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
        let lowered =
            || texts.get_or_init(|| LoweredTexts::of(&view.issue(position))).contain(text);
        let names = |id_name: &IdName| id_name.names(view.summaries()[position].id);
        let Some(searched) = self.texts.iter().find(|one| one.text == text) else {
            return names(&IdName::of(text)) || lowered();
        };
        searched.candidates.contains(position) && (names(&searched.id_name) || lowered())
    }
}
