//! Horizontal bars, divided into parts.

use maud::{Markup, html};

use super::axis::horizontal_grid;
use super::scale::{Scale, percent};
use super::{AXIS_HEIGHT, Caption, picture};
use crate::format;

const ROW_HEIGHT: u32 = 34;
const BAR_HEIGHT: u32 = 20;

/// One bar.
pub(crate) struct Bar<'a> {
    pub name: String,
    /// The sum of the parts, as text.
    pub total: String,
    /// The class, the value and the tooltip of each part.
    pub parts: Vec<(&'a str, u32, String)>,
}

/// Renders a chart of bars.
pub(crate) fn bars(caption: Caption<'_>, rows: &[Bar<'_>]) -> Markup {
    let length = |bar: &Bar<'_>| bar.parts.iter().map(|part| u64::from(part.1)).sum::<u64>();
    let scale = Scale::of_numbers(rows.iter().map(length).max().unwrap_or(0), 4);
    let height = ROW_HEIGHT * rows.len() as u32;
    let drawing = html! {
        (horizontal_grid(scale, height, format::number))
        @for (index, row) in (0..).zip(rows) {
            @let y = ROW_HEIGHT * index + (ROW_HEIGHT - BAR_HEIGHT) / 2;
            text.name x="-10" y=(y + BAR_HEIGHT / 2) dy=".35em" text-anchor="end" { (row.name) }
            @for (start, (class, value, hint)) in starts(row).zip(&row.parts).filter(|(_, part)| part.1 > 0) {
                @let [x, width] = [start, u64::from(*value)].map(|value| percent(scale.position(value)));
                rect class={ "fill " (class) } x=(x) y=(y) width=(width) height=(BAR_HEIGHT) {
                    title { (hint) }
                }
                rect.over fill={ "url(#hatch-" (class) ")" } x=(x) y=(y) width=(width) height=(BAR_HEIGHT) {}
            }
            text.total x=(percent(scale.position(length(row)))) dx="8" y=(y + BAR_HEIGHT / 2) dy=".35em" { (row.total) }
        }
    };
    picture(caption, "bars", height + AXIS_HEIGHT, &drawing)
}

/// Returns the start of each part.
fn starts(row: &Bar<'_>) -> impl Iterator<Item = u64> {
    row.parts.iter().scan(0, |end, part| {
        let start = *end;
        *end += u64::from(part.1);
        Some(start)
    })
}
