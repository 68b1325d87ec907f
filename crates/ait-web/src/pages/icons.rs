//! Icons, so that statuses and kinds differ in shape and not only in colour.
//!
//! Each page contains all of them once. They have no accessible names, because their text always stands beside
//! them.

use maud::{Markup, PreEscaped, html};

use ait_domain::{Classification, Status};

/// The icons, each 16 by 16, in the colour of the text around them.
const SPRITE: &str = concat!(
    r#"<svg class="sprite" aria-hidden="true" focusable="false" width="0" height="0">"#,
    // An empty ring.
    r#"<symbol id="status-created" viewBox="0 0 16 16"><circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" stroke-width="2"/></symbol>"#,
    // Half full.
    r#"<symbol id="status-in_progress" viewBox="0 0 16 16"><circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" stroke-width="2"/><path d="M8 4.5a3.5 3.5 0 0 1 0 7z" fill="currentColor"/></symbol>"#,
    // Full, with a ring around.
    r#"<symbol id="status-completed" viewBox="0 0 16 16"><circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" stroke-width="2"/><circle cx="8" cy="8" r="3.5" fill="currentColor"/></symbol>"#,
    // A magnifying glass.
    r#"<symbol id="status-in_review" viewBox="0 0 16 16"><g fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round"><circle cx="7" cy="7" r="4.5"/><path d="m10.5 10.5 3.5 3.5"/></g></symbol>"#,
    // A tick.
    r#"<symbol id="status-closed" viewBox="0 0 16 16"><path d="m3 8.5 3.5 3.5L13 4.5" fill="none" stroke="currentColor" stroke-width="2.4" stroke-linecap="round" stroke-linejoin="round"/></symbol>"#,
    // A ring, struck through.
    r#"<symbol id="status-rejected" viewBox="0 0 16 16"><g fill="none" stroke="currentColor" stroke-width="2"><circle cx="8" cy="8" r="6"/><path d="m3.9 12.1 8.2-8.2"/></g></symbol>"#,
    r#"<symbol id="kind-bug" viewBox="0 0 16 16"><g fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round"><ellipse cx="8" cy="9.5" rx="3.2" ry="4"/><path d="M6 4.8a2 2 0 0 1 4 0M2 9.5h2.6M11.4 9.5H14M2.8 5.4l2.3 1.7M13.2 5.4l-2.3 1.7M2.8 13.8l2.4-1.6M13.2 13.8l-2.4-1.6"/></g></symbol>"#,
    r#"<symbol id="kind-improvement" viewBox="0 0 16 16"><path d="M8 13.5v-11M3.5 7 8 2.5 12.5 7" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"/></symbol>"#,
    r#"<symbol id="kind-other" viewBox="0 0 16 16"><rect x="3" y="3" width="10" height="10" rx="2.5" fill="none" stroke="currentColor" stroke-width="1.8"/></symbol>"#,
    r#"<symbol id="kind-feature" viewBox="0 0 16 16"><path d="M8 2.5v11M2.5 8h11" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round"/></symbol>"#,
    r#"<symbol id="comment" viewBox="0 0 16 16"><path d="M2.5 3h11v8h-6L4.5 13.5V11h-2z" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linejoin="round"/></symbol>"#,
    r#"<symbol id="return" viewBox="0 0 16 16"><path d="M6 3 3 6l3 3M3.4 6H10a3.5 3.5 0 0 1 0 7H7" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round"/></symbol>"#,
    r#"<symbol id="clock" viewBox="0 0 16 16"><path d="M8 4.5V8l2.5 1.5" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round"/><circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" stroke-width="1.8"/></symbol>"#,
    // A pencil.
    r#"<symbol id="edit" viewBox="0 0 16 16"><path d="m3 13 .7-3 6.8-6.8a1.3 1.3 0 0 1 1.9 0l.4.4a1.3 1.3 0 0 1 0 1.9L6 12.3z" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linejoin="round"/></symbol>"#,
    // A padlock.
    r#"<symbol id="blocked" viewBox="0 0 16 16"><g fill="none" stroke="currentColor" stroke-width="1.7" stroke-linejoin="round"><rect x="3" y="7" width="10" height="6.5" rx="1"/><path d="M5.2 7V5a2.8 2.8 0 0 1 5.6 0v2"/></g></symbol>"#,
    // A tree of two branches.
    r#"<symbol id="parts" viewBox="0 0 16 16"><path d="M4 2.5v9.5h4M4 6h4M10.5 6h3M10.5 12h3" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round"/></symbol>"#,
    // Two bars.
    r#"<symbol id="parked" viewBox="0 0 16 16"><path d="M5.5 3.5v9M10.5 3.5v9" fill="none" stroke="currentColor" stroke-width="2.2" stroke-linecap="round"/></symbol>"#,
    // Columns of a board.
    r#"<symbol id="columns" viewBox="0 0 16 16"><path d="M3.2 3v10M8 3v7M12.8 3v5" fill="none" stroke="currentColor" stroke-width="3" stroke-linecap="round"/></symbol>"#,
    // Lines of a list.
    r#"<symbol id="lines" viewBox="0 0 16 16"><path d="M2.5 4h11M2.5 8h11M2.5 12h11" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round"/></symbol>"#,
    "</svg>",
);

/// Renders all icons, which the functions below refer to.
pub(super) fn sprite() -> Markup {
    PreEscaped(SPRITE.to_owned())
}

/// Renders the icon of a status.
pub(super) fn status(status: Status) -> Markup {
    html! { svg.icon aria-hidden="true" focusable="false" { use href={ "#status-" (status) } {} } }
}

/// Renders the icon of a classification.
pub(super) fn kind(kind: Classification) -> Markup {
    let name = match kind {
        Classification::Bug | Classification::Improvement | Classification::Feature => {
            kind.as_str()
        }
        _ => "other",
    };
    html! { svg.icon aria-hidden="true" focusable="false" { use href={ "#kind-" (name) } {} } }
}

/// Renders one of the other icons: `comment`, `return`, `clock`, `edit`, `blocked`,
/// `parked` or `parts`.
pub(super) fn other(name: &str) -> Markup {
    html! { svg.icon aria-hidden="true" focusable="false" { use href={ "#" (name) } {} } }
}
