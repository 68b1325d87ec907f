//! Charts as SVG, drawn here and not in the browser.
//!
//! They know nothing of issues: numbers and finished texts in, markup out. A picture fills the width that it
//! is given while its text keeps its size: what depends on the width is given in percent, or is a path
//! in a drawing within the drawing that is stretched. Colours and patterns go by class.

mod area;
mod axis;
mod bars;
mod dots;
mod lanes;
mod scale;
mod table;

use maud::{Markup, html};

pub(super) use self::area::{Area, Band};
pub(super) use self::axis::{Unit, time_ticks};
pub(super) use self::bars::{Bar, bars};
pub(super) use self::dots::{Dot, dots};
pub(super) use self::lanes::{Lane, Lanes};
pub(super) use self::scale::Scale;
pub(super) use self::table::{Row, table};

/// The width of the drawings that are stretched, in their own units.
const STRETCHED: f64 = 600.0;
/// What is below a plot for the axis of times.
const AXIS_HEIGHT: u32 = 26;

/// What a picture is to those who do not see it.
#[derive(Clone, Copy)]
pub(super) struct Caption<'a> {
    /// A name that is used once on the page.
    pub id: &'a str,
    /// What the picture is called.
    pub title: &'a str,
    /// What it shows.
    pub description: &'a str,
}

/// A picture of a given height around its drawing.
fn picture(caption: Caption<'_>, kind: &str, height: u32, drawing: &Markup) -> Markup {
    let [title, description] = ["title", "desc"].map(|part| format!("{}-{part}", caption.id));
    html! {
        svg class={ "chart " (kind) } role="img" aria-labelledby={ (title) " " (description) }
            width="100%" height=(height) {
            title id=(title) { (caption.title) }
            desc id=(description) { (caption.description) }
            (drawing)
        }
    }
}

/// A drawing within a picture that takes all of its width.
fn stretched(y: u32, height: u32, drawing: &Markup) -> Markup {
    html! {
        svg y=(y) width="100%" height=(height) viewBox={ "0 0 " (STRETCHED) " " (height) }
            preserveAspectRatio="none" { (drawing) }
    }
}

/// The entries of a legend, in the order in which the picture shows them.
pub(super) fn legend(entries: &[(&str, &str, String)]) -> Markup {
    html! {
        ul.legend {
            @for (class, name, value) in entries {
                li {
                    (swatch(class))
                    (name) " " b { (value) }
                }
            }
        }
    }
}

/// The legend of the two points of a line.
pub(super) fn point_legend(first: &str, second: &str) -> Markup {
    html! {
        ul.legend {
            @for (class, name) in [("first-point", first), ("second-point", second)] {
                li {
                    svg.swatch aria-hidden="true" width="16" height="16" {
                        circle class=(class) cx="8" cy="8" r="6" {}
                    }
                    (name)
                }
            }
        }
    }
}

fn swatch(class: &str) -> Markup {
    html! {
        svg.swatch aria-hidden="true" width="16" height="16" {
            rect class={ "fill " (class) } width="16" height="16" rx="3" {}
            rect fill={ "url(#hatch-" (class) ")" } width="16" height="16" rx="3" {}
        }
    }
}

/// The patterns that tell areas apart without their colours, once for a page.
///
/// Those that are not listed are plain.
pub(super) fn patterns(classes: &[&str]) -> Markup {
    // Lines in five directions, so that neighbours differ.
    let lines = [
        "",
        "M-2 2l4-4M0 8l8-8M6 10l4-4",
        "M0 2h8M0 6h8",
        "M-2 6l4 4M0 0l8 8M6-2l4 4",
        "M4 3v2",
        "M2 0v8M6 0v8",
    ];
    html! {
        svg.patterns aria-hidden="true" width="0" height="0" {
            defs {
                @for (class, line) in classes.iter().zip(lines) {
                    pattern id={ "hatch-" (class) } width="8" height="8" patternUnits="userSpaceOnUse" {
                        path.hatch d=(line) {}
                    }
                }
            }
        }
    }
}
