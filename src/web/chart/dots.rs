//! Two points on a line, one line for each thing that is compared.

use maud::{Markup, html};

use super::axis::rightward;
use super::scale::{Scale, percent};
use super::{AXIS_HEIGHT, Caption, picture};

const ROW_HEIGHT: u32 = 50;

/// One line.
pub(in crate::web) struct Dot<'a> {
    /// What it is about.
    pub name: &'a str,
    /// What is to be known besides.
    pub note: String,
    /// Where the two points are, and what they tell who points at them; `None` without any.
    pub points: Option<[(u64, String); 2]>,
    /// The values in words.
    pub values: String,
}

/// A picture of lines with two points each, on one scale.
pub(in crate::web) fn dots(
    caption: Caption<'_>,
    rows: &[Dot<'_>],
    scale: Scale,
    label: fn(u64) -> String,
) -> Markup {
    let height = ROW_HEIGHT * rows.len() as u32;
    let drawing = html! {
        (rightward(scale, height, label))
        @for (number, row) in (0..).zip(rows) {
            @let y = ROW_HEIGHT * number;
            text.name x="8" y=(y + 16) { (row.name) " " tspan.note { (row.note) } }
            text.value x="100%" y=(y + 16) text-anchor="end" { (row.values) }
            @if let Some([(first, first_hint), (second, second_hint)]) = &row.points {
                @let [from, to] = [*first, *second].map(|value| percent(scale.share(value)));
                line.lead x1="0" x2=(from) y1=(y + 33) y2=(y + 33) {}
                line.between x1=(from) x2=(to) y1=(y + 33) y2=(y + 33) {}
                circle.second-point cx=(to) cy=(y + 33) r="6" { title { (second_hint) } }
                circle.first-point cx=(from) cy=(y + 33) r="6" { title { (first_hint) } }
            }
        }
    };
    picture(caption, "dots", height + AXIS_HEIGHT, &drawing)
}
