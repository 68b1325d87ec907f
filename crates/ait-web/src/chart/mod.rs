//! Charts as SVG, rendered on the server.
//!
//! They turn numbers, times and texts into markup and know nothing of issues. A chart fills the width of the page while
//! its text keeps its size: horizontal positions are percentages, or belong to paths in a nested drawing that is
//! stretched. Classes determine colours and patterns.

mod area;
mod axis;
mod bar_rows;
mod bars;
mod dots;
mod scale;

use maud::{Markup, html};

use super::format;
use ait_domain::Timestamp;

pub(super) use self::area::{Area, Band};
pub(super) use self::axis::TimeAxis;
pub(super) use self::bar_rows::{BarRows, Bars};
pub(super) use self::bars::{Bar, bars};
pub(super) use self::dots::{Dot, dots};

/// The width of stretched drawings, in their own units.
const STRETCHED: f64 = 600.0;
/// The space below a plot, for the axis.
const AXIS_HEIGHT: u32 = 26;

/// The text alternative of a chart.
#[derive(Clone, Copy)]
pub(super) struct Caption<'a> {
    /// A name that is unique on the page.
    pub id: &'a str,
    pub title: &'a str,
    pub description: &'a str,
}

/// Renders a chart of a given height around its drawing.
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

/// The tooltip of a time.
pub(super) struct Hint {
    pub at: Timestamp,
    pub text: String,
}

impl Hint {
    fn draw(&self) -> Markup {
        html! { title data-at=(self.at.unix_millis()) { (format::time(self.at)) "\n" (self.text) } }
    }
}

/// Renders a nested drawing that is stretched to the width of the chart.
fn stretched(y: u32, height: u32, drawing: &Markup) -> Markup {
    html! {
        svg y=(y) width="100%" height=(height) viewBox={ "0 0 " (STRETCHED) " " (height) }
            preserveAspectRatio="none" { (drawing) }
    }
}

/// Renders a legend of classes, names and values.
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

/// Renders the legend of the two points of a line.
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

/// Renders the patterns that distinguish areas without colour. A page needs them once.
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

/// The name and the values of a table row.
pub(super) type Row = (Markup, Vec<String>);

/// Renders a folded table with the numbers of a chart.
pub(super) fn table(id: &str, caption: &str, head: &[&str], rows: &[Row]) -> Markup {
    html! {
        details.numbers id={ (id) "-numbers" } {
            summary { "Show the numbers" }
            div.scroll tabindex="0" role="region" aria-label=(caption) {
                table {
                    caption.unseen { (caption) }
                    thead { tr { @for name in head { th scope="col" { (name) } } } }
                    tbody {
                        @for (name, values) in rows {
                            tr {
                                th scope="row" { (name) }
                                @for value in values { td { (value) } }
                            }
                        }
                    }
                }
            }
        }
    }
}
