//! Rows of bars over the same time, all with the same scale.

use std::fmt::Write;

use maud::{Markup, html};

use super::axis::{TimeAxis, vertical_grid};
use super::scale::{Scale, percent, short};
use super::{AXIS_HEIGHT, Caption, Hint, STRETCHED, picture, stretched};

/// The space above the bars of a row, for its name.
const NAME_HEIGHT: u32 = 24;
const BAR_HEIGHT: u32 = 40;
/// Keeps a few bars from becoming slabs.
const MAX_WIDTH: f64 = STRETCHED / 14.0;
const ROW_HEIGHT: u32 = NAME_HEIGHT + BAR_HEIGHT + 6;

/// The bars of one thing that is counted.
pub(crate) struct Bars<'a> {
    /// The class of its colour.
    pub class: &'a str,
    pub name: &'a str,
    /// The sum of the values, as text.
    pub total: String,
    pub values: Vec<u32>,
}

/// A chart of rows of bars.
pub(crate) struct BarRows<'a> {
    /// The rows. What shares a row is drawn side by side; all have the same number of bars.
    pub rows: Vec<Vec<Bars<'a>>>,
    /// The tooltip of each bar.
    pub hints: Vec<Hint>,
    pub axis: TimeAxis,
}

impl BarRows<'_> {
    /// Renders the chart.
    pub fn draw(&self, caption: Caption<'_>) -> Markup {
        let highest = self.rows.iter().flatten().flat_map(|bars| &bars.values).max();
        let scale = Scale::of_numbers(highest.copied().unwrap_or(0).into(), 2);
        let height = ROW_HEIGHT * self.rows.len() as u32;
        let width = 1.0 / self.hints.len() as f64;
        let drawing = html! {
            @for (index, row) in (0..).zip(&self.rows) {
                @let y = ROW_HEIGHT * index;
                text.name x="0" y=(y + 14) {
                    @for (at, bars) in row.iter().enumerate() {
                        tspan class={ "ink " (bars.class) } dx=[(at > 0).then_some("12")] { (bars.name) } " "
                        tspan.total { (bars.total) }
                    }
                }
                (vertical_grid(scale, y + NAME_HEIGHT, BAR_HEIGHT))
                (stretched(y + NAME_HEIGHT, BAR_HEIGHT, &html! {
                    @for (at, bars) in row.iter().enumerate() {
                        path class={ "fill " (bars.class) } d=(path(&bars.values, scale, (at, row.len()))) {}
                    }
                }))
            }
            (self.axis.draw(height - 6, 1.0))
            g.strips {
                @for (index, hint) in self.hints.iter().enumerate() {
                    rect x=(percent(index as f64 * width)) width=(percent(width)) height=(height - 6) {
                        (hint.draw())
                    }
                }
            }
        };
        picture(caption, "bar-rows", height + AXIS_HEIGHT, &drawing)
    }
}

/// Returns the bars in their places of those side by side.
fn path(values: &[u32], scale: Scale, (at, of): (usize, usize)) -> String {
    let slot = STRETCHED / values.len() as f64;
    let all = (slot * 0.76).min(MAX_WIDTH);
    let width = all / of as f64;
    let mut path = String::new();
    for (index, &value) in values.iter().enumerate().filter(|(_, value)| **value > 0) {
        let x = short(slot * (index as f64 + 0.5) - all / 2.0 + width * at as f64);
        let height = scale.position(value.into()) * f64::from(BAR_HEIGHT);
        let width = short(width);
        // Writing into a string does not fail.
        let _ = write!(path, "M{x} {BAR_HEIGHT}v-{}h{width}V{BAR_HEIGHT}z", short(height.max(1.0)));
    }
    path
}
