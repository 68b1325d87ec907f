//! Areas on top of one another, over time.

use std::fmt::Write;

use maud::{Markup, html};

use super::axis::{Tick, time_axis, upward};
use super::scale::{Scale, percent, short};
use super::{AXIS_HEIGHT, Caption, STRETCHED, picture, stretched};

const HEIGHT: u32 = 280;
/// What is above the plot for the highest label.
const TOP: u32 = 10;
/// The least distance of two labels beside the areas.
const LABEL_DISTANCE: f64 = 17.0;

/// One area.
pub(in crate::web) struct Band<'a> {
    /// What its colour and its pattern go by.
    pub class: &'a str,
    /// What it is called.
    pub name: &'a str,
    /// Its thickness at the end, in words.
    pub value: String,
    /// Its thickness at each point.
    pub values: Vec<u32>,
}

/// A picture of areas on top of one another.
pub(in crate::web) struct Area<'a> {
    /// The areas, the uppermost first.
    pub bands: Vec<Band<'a>>,
    /// Where each point is, from 0 to 1.
    pub places: Vec<f64>,
    /// What each point tells who points at it.
    pub hints: Vec<String>,
    /// The times below.
    pub ticks: Vec<Tick>,
    /// How numbers are written.
    pub number: fn(u64) -> String,
}

impl Area<'_> {
    /// Draws it.
    pub fn draw(&self, caption: Caption<'_>) -> Markup {
        let edges = self.edges();
        let highest = edges[0].iter().copied().max().unwrap_or(0);
        let scale = Scale::of_numbers(highest, 5);
        let height = |value: u64| f64::from(HEIGHT) * (1.0 - scale.share(value));
        let drawing = html! {
            (upward(scale, TOP, HEIGHT, self.number))
            (stretched(TOP, HEIGHT, &self.areas(caption.id, &edges, height)))
            (time_axis(&self.ticks, TOP + HEIGHT))
            (self.labels(&edges, height))
            (self.strips())
        };
        picture(caption, "area", TOP + HEIGHT + AXIS_HEIGHT, &drawing)
    }

    /// The upper edge of each area, and the zero below the last.
    fn edges(&self) -> Vec<Vec<u64>> {
        let mut edges = vec![vec![0; self.places.len()]];
        for band in self.bands.iter().rev() {
            let below = edges.last().into_iter().flatten();
            let edge = below.zip(&band.values).map(|(below, &value)| below + u64::from(value));
            let edge = edge.collect();
            edges.push(edge);
        }
        edges.reverse();
        edges
    }

    fn areas(&self, id: &str, edges: &[Vec<u64>], height: impl Fn(u64) -> f64) -> Markup {
        let outline = |upper: &[u64], lower: &[u64]| {
            let there = self.places.iter().zip(upper);
            let back = self.places.iter().zip(lower).rev();
            let mut path = String::new();
            for (number, (place, &value)) in there.chain(back).enumerate() {
                let letter = if number == 0 { 'M' } else { 'L' };
                let (x, y) = (short(place * STRETCHED), short(height(value)));
                // Writing into a string does not fail.
                let _ = write!(path, "{letter}{x} {y}");
            }
            path + "Z"
        };
        html! {
            @for (band, edges) in self.bands.iter().zip(edges.windows(2)) {
                @if band.values.iter().any(|value| *value > 0) {
                    defs { path id={ (id) "-" (band.class) } d=(outline(&edges[0], &edges[1])) {} }
                    use class={ "fill " (band.class) } href={ "#" (id) "-" (band.class) } {}
                    use.over href={ "#" (id) "-" (band.class) } fill={ "url(#hatch-" (band.class) ")" } {}
                }
            }
        }
    }

    /// The names of the areas beside their ends, moved apart where they would overlap.
    fn labels(&self, edges: &[Vec<u64>], height: impl Fn(u64) -> f64) -> Markup {
        let last = |edge: &Vec<u64>| edge.last().copied().unwrap_or(0);
        let mut labels: Vec<_> = self
            .bands
            .iter()
            .zip(edges.windows(2))
            .filter(|(band, _)| band.values.last().is_some_and(|value| *value > 0))
            .map(|(band, edges)| (band, (height(last(&edges[0])) + height(last(&edges[1]))) / 2.0))
            .collect();
        let mut bound = 4.0;
        for (_, y) in &mut labels {
            *y = y.max(bound);
            bound = *y + LABEL_DISTANCE;
        }
        let mut bound = f64::from(HEIGHT);
        for (_, y) in labels.iter_mut().rev() {
            *y = y.min(bound);
            bound = *y - LABEL_DISTANCE;
        }
        html! {
            g.labels {
                @for (band, y) in labels {
                    text x="100%" dx="10" y=(short(y + f64::from(TOP))) dy=".35em" class={ "ink " (band.class) } {
                        (band.name) " " (band.value)
                    }
                }
            }
        }
    }

    /// What is pointed at: around each point, half the way to its neighbours.
    fn strips(&self) -> Markup {
        let between = |left: usize| (self.places[left] + self.places[left + 1]) / 2.0;
        let last = self.places.len() - 1;
        html! {
            g.strips {
                @for (number, hint) in self.hints.iter().enumerate() {
                    @let begin = if number == 0 { 0.0 } else { between(number - 1) };
                    @let end = if number == last { 1.0 } else { between(number) };
                    rect x=(percent(begin)) width=(percent(end - begin)) y=(TOP) height=(HEIGHT) {
                        title { (hint) }
                    }
                }
            }
        }
    }
}
