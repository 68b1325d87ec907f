//! What the issues of a group of the list have in common, and the cards in a row of the board.

use maud::{Markup, html};

use super::{components, icons};
use crate::query::Rows;
use crate::strings::{self, board as text};
use ait_domain::{IssueId, Label, Status};
use ait_tracker::read_model::{IssueSummary, ReadView};

/// A row or a group, in the order in which pages show them: by name, those without a name last.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Row {
    /// Whether it has the issues that belong to no other.
    pub is_rest: bool,
    status: Option<Status>,
    name: String,
    whole: Option<IssueId>,
}

impl Row {
    /// Returns the row of an issue.
    pub fn of(summary: &IssueSummary, by: Rows, view: &ReadView) -> Self {
        let attributes = &summary.attributes;
        let mut status = None;
        let mut whole = None;
        let name = match by {
            Rows::Status => {
                status = Some(summary.status);
                Some(strings::status(summary.status))
            }
            Rows::Agent => {
                let holder = summary.holder().map(|held| view.names().text(held.agent));
                holder.or(attributes.assignee.as_deref())
            }
            Rows::Whole => {
                whole = attributes.parent().filter(|id| view.summary(*id).is_some());
                whole.and_then(|id| view.summary(id)).map(|whole| &*whole.title)
            }
            Rows::Label => attributes.labels.first().map(Label::as_str),
        };
        Self { is_rest: name.is_none(), status, name: name.unwrap_or_default().to_owned(), whole }
    }

    /// Renders what its issues have in common.
    pub fn name(&self, by: Rows) -> Markup {
        let name = components::title(&self.name);
        html! {
            @if self.is_rest {
                (text::without(by))
            } @else if let Some(status) = self.status {
                (icons::status(status)) " " (name)
            } @else if let Some(whole) = self.whole {
                a href=(components::issue_path(whole)) dir="auto" { (name) }
            } @else {
                bdi translate="no" { (name) }
            }
        }
    }
}
