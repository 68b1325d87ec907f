//! The texts of an issue, within what a page can take.

use maud::{Markup, html};

use super::IssueView;
use crate::domain::IssueId;
use crate::web::markdown::{self, MAX_CHARS};
use crate::web::pages::parts;
use crate::web::words::Words;

/// How many characters of all texts together the usual page shows before it begins to cut them shorter.
const USUAL_CHARS: usize = 40_000;
/// What is shown of each text even then.
const LEAST_CHARS: usize = 400;
/// How many characters of all texts together are laid out on the page that cuts nothing; those behind
/// them are shown as they are written, which takes next to no time.
const WHOLE_CHARS: usize = 400_000;

/// Shows texts, and keeps count of how much of the page they have taken.
pub(super) struct Texts<'a> {
    id: IssueId,
    words: &'a Words,
    is_whole: bool,
    left: usize,
}

impl<'a> Texts<'a> {
    /// Begins a page.
    pub fn new(view: &IssueView<'_>, words: &'a Words) -> Self {
        let left = if view.is_whole { WHOLE_CHARS } else { USUAL_CHARS };
        Self { id: view.issue.id, words, is_whole: view.is_whole, left }
    }

    /// Shows a text, or as much of it as there is room for.
    pub fn show(&mut self, text: &str) -> Markup {
        if self.is_whole { self.show_whole(text) } else { self.show_beginning(text) }
    }

    fn show_whole(&mut self, text: &str) -> Markup {
        let length = text.chars().count();
        let is_affordable = length <= self.left;
        self.left = self.left.saturating_sub(length);
        if is_affordable { markdown::render(text, self.words) } else { markdown::plain(text) }
    }

    fn show_beginning(&mut self, text: &str) -> Markup {
        let room = self.left.clamp(LEAST_CHARS, MAX_CHARS);
        let end = text.char_indices().nth(room).map_or(text.len(), |(end, _)| end);
        let beginning = &text[..end];
        let shown = beginning.chars().count();
        self.left = self.left.saturating_sub(shown);
        html! {
            (markdown::render(beginning, self.words))
            @if end < text.len() {
                p.note {
                    ((self.words.issue.cut)(shown, text.chars().count())) " "
                    a href={ (parts::address(self.id)) "?all=1" } { (self.words.issue.show_whole) }
                }
            }
        }
    }
}
