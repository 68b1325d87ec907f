//! Stacked areas over time.

use std::fmt::Write;

use maud::{Markup, html};

use super::axis::{TimeAxis, vertical_grid};
use super::scale::{Scale, percent, short};
use super::{AXIS_HEIGHT, Caption, Hint, STRETCHED, picture, stretched};

/// The space above the plot, for the highest label.
const TOP: u32 = 10;
/// The minimum distance between two labels beside the areas.
const LABEL_DISTANCE: f64 = 17.0;

/// One area.
pub(crate) struct Band<'a> {
    /// The class of its colour and pattern.
    pub class: &'a str,
    pub name: &'a str,
    /// The last value, as text.
    pub value: String,
    /// The value at each point.
    pub values: Vec<u32>,
}

/// A chart of stacked areas.
pub(crate) struct Area<'a> {
    /// The areas, from top to bottom.
    pub bands: Vec<Band<'a>>,
    /// The horizontal position of each point, from 0 to 1.
    pub positions: Vec<f64>,
    /// The tooltip of each point.
    pub hints: Vec<Hint>,
    pub axis: TimeAxis,
    /// The height of the plot.
    pub height: u32,
}

impl Area<'_> {
    /// Renders the chart.
    pub fn draw(&self, caption: Caption<'_>) -> Markup {
        let edges = self.edges();
        let highest = edges[0].iter().copied().max().unwrap_or(0);
        let scale = Scale::of_numbers(highest, 5);
        let height = |value: u64| f64::from(self.height) * (1.0 - scale.position(value));
        let drawing = html! {
            (vertical_grid(scale, TOP, self.height))
            (stretched(TOP, self.height, &self.areas(caption.id, &edges, height)))
            (self.axis.draw(TOP + self.height, 1.0))
            (self.labels(&edges, height))
            (self.strips())
        };
        picture(caption, "area", TOP + self.height + AXIS_HEIGHT, &drawing)
    }

    /// Returns the upper edge of each area, and the baseline.
    fn edges(&self) -> Vec<Vec<u64>> {
        let mut edges = vec![vec![0; self.positions.len()]];
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
            let forward = self.positions.iter().zip(upper);
            let backward = self.positions.iter().zip(lower).rev();
            let mut path = String::new();
            for (index, (position, &value)) in forward.chain(backward).enumerate() {
                let letter = if index == 0 { 'M' } else { 'L' };
                let x = short(position * STRETCHED);
                let y = short(height(value));
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

    /// Renders the labels beside the areas, moved apart where they would overlap.
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
        let mut bound = f64::from(self.height);
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

    /// Renders the strips with the tooltips: around each point, half the way to its neighbours.
    fn strips(&self) -> Markup {
        let between = |left: usize| (self.positions[left] + self.positions[left + 1]) / 2.0;
        let last = self.positions.len() - 1;
        html! {
            g.strips {
                @for (index, hint) in self.hints.iter().enumerate() {
                    @let begin = if index == 0 { 0.0 } else { between(index - 1) };
                    @let end = if index == last { 1.0 } else { between(index) };
                    rect x=(percent(begin)) width=(percent(end - begin)) y=(TOP) height=(self.height) {
                        (hint.draw())
                    }
                }
            }
        }
    }
}
