//! Bars to the right, divided into parts.

use maud::{Markup, html};

use super::axis::rightward;
use super::scale::{Scale, percent};
use super::{AXIS_HEIGHT, Caption, picture};

const ROW_HEIGHT: u32 = 34;
const BAR_HEIGHT: u32 = 20;

/// One bar.
pub(in crate::web) struct Bar<'a> {
    /// What it is about.
    pub name: String,
    /// Its length in words.
    pub total: String,
    /// Its parts: what the colour goes by, the length, and what it tells who points at it.
    pub parts: Vec<(&'a str, u32, String)>,
}

/// A picture of bars.
pub(in crate::web) fn bars(
    caption: Caption<'_>,
    rows: &[Bar<'_>],
    label: fn(u64) -> String,
) -> Markup {
    let length = |bar: &Bar<'_>| bar.parts.iter().map(|part| u64::from(part.1)).sum::<u64>();
    let scale = Scale::of_numbers(rows.iter().map(length).max().unwrap_or(0), 4);
    let height = ROW_HEIGHT * rows.len() as u32;
    let drawing = html! {
        (rightward(scale, height, label))
        @for (number, row) in (0..).zip(rows) {
            @let y = ROW_HEIGHT * number + (ROW_HEIGHT - BAR_HEIGHT) / 2;
            text.name x="-10" y=(y + BAR_HEIGHT / 2) dy=".35em" text-anchor="end" { (row.name) }
            @for (begin, (class, value, hint)) in begins(row).zip(&row.parts).filter(|(_, part)| part.1 > 0) {
                @let [x, width] = [begin, u64::from(*value)].map(|value| percent(scale.share(value)));
                rect class={ "fill " (class) } x=(x) y=(y) width=(width) height=(BAR_HEIGHT) {
                    title { (hint) }
                }
                rect.over fill={ "url(#hatch-" (class) ")" } x=(x) y=(y) width=(width) height=(BAR_HEIGHT) {}
            }
            text.total x=(percent(scale.share(length(row)))) dx="8" y=(y + BAR_HEIGHT / 2) dy=".35em" { (row.total) }
        }
    };
    picture(caption, "bars", height + AXIS_HEIGHT, &drawing)
}

/// Where each part begins.
fn begins(row: &Bar<'_>) -> impl Iterator<Item = u64> {
    row.parts.iter().scan(0, |end, part| {
        let begin = *end;
        *end += u64::from(part.1);
        Some(begin)
    })
}
