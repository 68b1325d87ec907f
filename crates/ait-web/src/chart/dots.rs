//! Lines with two points each, to compare durations.

use maud::{Markup, html};

use super::axis::horizontal_grid;
use super::scale::{Scale, percent};
use super::{AXIS_HEIGHT, Caption, picture};
use crate::format;

const ROW_HEIGHT: u32 = 50;

/// One line.
pub(crate) struct Dot<'a> {
    pub name: &'a str,
    /// A remark beside the name.
    pub note: String,
    /// The value in milliseconds and the tooltip of both points, if there are any.
    pub points: Option<[(u64, String); 2]>,
    /// The values as text.
    pub values: String,
}

/// Renders a chart of lines on one scale, which ends at or after `max_ms`.
pub(crate) fn dots(caption: Caption<'_>, rows: &[Dot<'_>], max_ms: u64) -> Markup {
    let scale = Scale::of_durations(max_ms, 5);
    let height = ROW_HEIGHT * rows.len() as u32;
    let drawing = html! {
        (horizontal_grid(scale, height, format::precise_duration))
        @for (index, row) in (0..).zip(rows) {
            @let y = ROW_HEIGHT * index;
            text.name x="8" y=(y + 16) { (row.name) " " tspan.note { (row.note) } }
            text.value x="100%" y=(y + 16) text-anchor="end" { (row.values) }
            @if let Some([(first, first_hint), (second, second_hint)]) = &row.points {
                @let [from, to] = [*first, *second].map(|value| percent(scale.position(value)));
                line.lead x1="0" x2=(from) y1=(y + 33) y2=(y + 33) {}
                line.between x1=(from) x2=(to) y1=(y + 33) y2=(y + 33) {}
                circle.second-point cx=(to) cy=(y + 33) r="6" { title { (second_hint) } }
                circle.first-point cx=(from) cy=(y + 33) r="6" { title { (first_hint) } }
            }
        }
    };
    picture(caption, "dots", height + AXIS_HEIGHT, &drawing)
}
