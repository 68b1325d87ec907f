//! The dialogs that only work with scripts: the palette, and the list of shortcuts.

use maud::{Markup, html};

use crate::project::Project;
use crate::strings::{self, dialogs as text};

/// How many saved queries the palette offers.
const MAX_SAVED: usize = 100;

/// Renders the dialogs, closed.
pub(super) fn dialogs(project: &Project) -> Markup {
    let of_actions = if project.has_actions { &text::ACTION_KEYS[..] } else { &[] };
    html! {
        dialog #help aria-labelledby="help-heading" {
            h2 #help-heading { (text::SHORTCUTS) }
            dl {
                @for (keys, action) in text::KEYS.iter().chain(of_actions) {
                    dt { @for (at, key) in keys.iter().enumerate() { @if at > 0 { " " } kbd { (key) } } }
                    dd { (action) }
                }
            }
            label { input #single-keys type="checkbox" checked; span { "Use shortcuts of a single key" } }
            button.close type="button" { "Close" }
        }
        dialog #peek aria-label=(strings::ISSUE) {
            button.close type="button" { "Close" }
            a href="/" { "Open the page" }
            // A part of the page whose head is not that of this one.
            article.peeked {}
        }
        dialog #palette aria-label=(text::PALETTE) data-page="page" data-agent="agent" data-action="action"
            data-created="created" data-in_progress="in progress" data-completed="completed"
            data-in_review="in review" data-closed="closed" data-rejected="rejected"
            data-search="search for" data-found="{count} found"
        {
            input type="text" role="combobox" aria-label=(text::PALETTE) placeholder="Words, an id, an agent or a page" aria-expanded="true"
                aria-controls="palette-found" aria-autocomplete="list" autocomplete="off" spellcheck="false"
                maxlength="500";
            ul #palette-found role="listbox" aria-label="Found" {}
            p.unseen role="status" {}
            ul #palette-places hidden {
                @for name in project.queries.keys().take(MAX_SAVED) {
                    li { a href={ "/?q=%40" (name) } data-kind="saved query" data-name={ "@" (name) } { (name) } }
                }
            }
        }
    }
}
