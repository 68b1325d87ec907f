//! The limit on how much Markdown a page of an issue renders.

use std::cell::Cell;

use maud::{Markup, html};

use super::{IssueView, components};
use crate::markdown::{self, Links, MAX_CHARS, Mention};
use crate::repository::Repository;
use ait_domain::{IssueId, IssueRef};
use ait_tracker::read_model::ReadView;

/// How many characters of Markdown the default page renders before it cuts texts shorter.
const DEFAULT_CHARS: usize = 40_000;
/// How many characters of each text the default page shows at least.
const MIN_CHARS: usize = 400;
/// How many characters of Markdown the full page renders. It shows the remaining texts as plain text, which
/// costs next to nothing.
const FULL_CHARS: usize = 400_000;

/// How many links to issues the texts of the default page contain, and those of the full one.
const MAX_MENTIONS: [usize; 2] = [200, 2_000];

/// Renders texts and counts how much of the budget is left.
pub(super) struct MarkdownBudget<'a, 'b> {
    id: IssueId,
    is_full: bool,
    left_chars: usize,
    left_mentions: Cell<usize>,
    view: &'a ReadView<'b>,
    repository: Option<&'a Repository>,
}

impl<'a, 'b> MarkdownBudget<'a, 'b> {
    /// Returns the budget of a page.
    pub fn new(view: &IssueView<'a, 'b>) -> Self {
        let left_chars = if view.is_full { FULL_CHARS } else { DEFAULT_CHARS };
        let left_mentions = Cell::new(MAX_MENTIONS[usize::from(view.is_full)]);
        let id = view.found.issue.id;
        let is_full = view.is_full;
        let repository = view.repository;
        Self { id, is_full, left_chars, left_mentions, view: view.view, repository }
    }

    fn markdown(&self, text: &str) -> Markup {
        let issue = |reference: &IssueRef| self.mention(reference);
        markdown::render(text, &Links { issue: &issue, repository: self.repository })
    }

    /// Returns the link to an issue that a text names, if there is such an issue.
    fn mention(&self, reference: &IssueRef) -> Option<Mention> {
        let left = self.left_mentions.get().checked_sub(1)?;
        let mention = components::mention(reference, self.view)?;
        self.left_mentions.set(left);
        Some(mention)
    }

    /// Renders a text, or the start of it if the page is not the full one and the text exceeds the budget.
    pub fn render(&mut self, text: &str) -> Markup {
        if self.is_full { self.render_full(text) } else { self.render_start(text) }
    }

    fn render_full(&mut self, text: &str) -> Markup {
        let length = text.chars().count();
        let is_within_budget = length <= self.left_chars;
        self.left_chars = self.left_chars.saturating_sub(length);
        if is_within_budget { self.markdown(text) } else { markdown::plain(text) }
    }

    fn render_start(&mut self, text: &str) -> Markup {
        let max_chars = self.left_chars.clamp(MIN_CHARS, MAX_CHARS);
        let end = text.char_indices().nth(max_chars).map_or(text.len(), |(end, _)| end);
        let start = &text[..end];
        let shown = start.chars().count();
        self.left_chars = self.left_chars.saturating_sub(shown);
        html! {
            (self.markdown(start))
            @if end < text.len() {
                p.note {
                    "Showing the first " (shown) " of " (text.chars().count()) " characters." " "
                    a href={ (components::issue_path(self.id)) "?all=1" } { "Show all texts in full" }
                }
            }
        }
    }
}
