//! The dialogs that only work with scripts: the palette, and the list of shortcuts.

use maud::{Markup, html};

use crate::query_language::SavedQueries;
use crate::web::strings::dialogs as text;

/// How many saved queries the palette offers.
const MAX_SAVED: usize = 100;

/// Renders the dialogs, closed.
pub(super) fn dialogs(saved: &SavedQueries) -> Markup {
    html! {
        dialog #help aria-labelledby="help-heading" {
            h2 #help-heading { (text::SHORTCUTS) }
            dl {
                @for (keys, action) in text::KEYS {
                    dt { @for (at, key) in keys.iter().enumerate() { @if at > 0 { " " } kbd { (key) } } }
                    dd { (action) }
                }
            }
            label { input #single-keys type="checkbox" checked; span { (text::SINGLE_KEYS) } }
            button.close type="button" { (text::CLOSE) }
        }
        dialog #palette aria-label=(text::PALETTE) data-page=(text::PAGE) data-agent=(text::AGENT)
            data-search=(text::SEARCH) data-found=(text::COUNT)
        {
            input type="text" role="combobox" aria-label=(text::PALETTE) placeholder=(text::HINT) aria-expanded="true"
                aria-controls="palette-found" aria-autocomplete="list" autocomplete="off" spellcheck="false"
                maxlength="500";
            ul #palette-found role="listbox" aria-label=(text::FOUND) {}
            p.unseen role="status" {}
            ul #palette-places hidden {
                @for name in saved.keys().take(MAX_SAVED) {
                    li { a href={ "/?q=%40" (name) } data-kind=(text::SAVED) data-name={ "@" (name) } { (name) } }
                }
            }
        }
    }
}
