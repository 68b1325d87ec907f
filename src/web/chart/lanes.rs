//! Rows of bars over the same time and with the same scale, one row for each thing that is counted.

use std::fmt::Write;

use maud::{Markup, html};

use super::axis::{Tick, time_axis, upward};
use super::scale::{Scale, percent, short};
use super::{AXIS_HEIGHT, Caption, STRETCHED, picture, stretched};

/// What is above the bars of a row for its name.
const NAME_HEIGHT: u32 = 24;
const BAR_HEIGHT: u32 = 40;
/// Of few bars, none is a slab.
const MAX_WIDTH: f64 = STRETCHED / 14.0;
const LANE_HEIGHT: u32 = NAME_HEIGHT + BAR_HEIGHT + 6;

/// One row.
pub(in crate::web) struct Lane<'a> {
    /// What its colour goes by.
    pub class: &'a str,
    /// What it is called.
    pub name: &'a str,
    /// The sum of it.
    pub total: String,
    /// The height of each bar.
    pub values: Vec<u32>,
}

/// A picture of rows of bars.
pub(in crate::web) struct Lanes<'a> {
    /// The rows, each with the same number of bars.
    pub lanes: Vec<Lane<'a>>,
    /// What each place tells who points at it.
    pub hints: Vec<String>,
    /// The times below.
    pub ticks: Vec<Tick>,
    /// How numbers are written.
    pub number: fn(u64) -> String,
}

impl Lanes<'_> {
    /// Draws it.
    pub fn draw(&self, caption: Caption<'_>) -> Markup {
        let highest = self.lanes.iter().flat_map(|lane| &lane.values).max();
        let scale = Scale::of_numbers(highest.copied().unwrap_or(0).into(), 1);
        let height = LANE_HEIGHT * self.lanes.len() as u32;
        let width = 1.0 / self.hints.len() as f64;
        let drawing = html! {
            @for (number, lane) in (0..).zip(&self.lanes) {
                @let y = LANE_HEIGHT * number;
                text.name x="0" y=(y + 14) { (lane.name) " " tspan.total { (lane.total) } }
                (upward(scale, y + NAME_HEIGHT, BAR_HEIGHT, self.number))
                (stretched(y + NAME_HEIGHT, BAR_HEIGHT, &html! {
                    path class={ "fill " (lane.class) } d=(bars(&lane.values, scale)) {}
                }))
            }
            (time_axis(&self.ticks, height - 6))
            g.strips {
                @for (number, hint) in self.hints.iter().enumerate() {
                    rect x=(percent(number as f64 * width)) width=(percent(width)) height=(height - 6) {
                        title { (hint) }
                    }
                }
            }
        };
        picture(caption, "lanes", height + AXIS_HEIGHT, &drawing)
    }
}

fn bars(values: &[u32], scale: Scale) -> String {
    let slot = STRETCHED / values.len() as f64;
    let width = (slot * 0.76).min(MAX_WIDTH);
    let mut path = String::new();
    for (number, &value) in values.iter().enumerate().filter(|(_, value)| **value > 0) {
        let x = short(slot * (number as f64 + 0.5) - width / 2.0);
        let height = scale.share(value.into()) * f64::from(BAR_HEIGHT);
        let width = short(width);
        // Writing into a string does not fail.
        let _ = write!(path, "M{x} {BAR_HEIGHT}v-{}h{width}V{BAR_HEIGHT}z", short(height.max(1.0)));
    }
    path
}
