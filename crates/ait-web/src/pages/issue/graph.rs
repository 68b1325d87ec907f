//! The drawing of what blocks what: boxes from left to right, with lines from blockers to what they block.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::{IssueView, components, undirected};
use crate::strings::{self, graph as text};
use ait_domain::text::shortened;
use ait_tracker::read_model::{BlockingGraph, GraphNode, IssueSummary};

/// The size of a box.
const WIDTH: usize = 184;
const HEIGHT: usize = 62;
/// The space between columns, and between rows.
const COLUMN_GAP: usize = 52;
const ROW_GAP: usize = 14;
/// The space around the drawing, for the outline of the focus.
const MARGIN: usize = 4;
/// How many characters each of the two lines of a title contains.
const LINE_CHARS: usize = 22;

/// Renders the section; nothing if the issue blocks nothing and nothing blocks it.
pub(super) fn graph(view: &IssueView) -> Markup {
    let Some(graph) = view.view.blocking_graph(view.found.issue.id) else { return html! {} };
    html! {
        section #issue-graph aria-labelledby="graph-heading" {
            h2 #graph-heading { (text::HEADING) }
            div.graph role="group" tabindex="0" aria-label="Drawing of what blocks what" { (drawing(&graph, view)) }
            @if graph.hidden > 0 { p.quiet { (text::hidden(graph.hidden, graph.is_exact)) } }
            (alternative(&graph, view))
        }
    }
}

fn summary<'a>(node: &GraphNode, view: &'a IssueView) -> &'a IssueSummary {
    &view.view.summaries()[node.position]
}

/// Where the boxes are: columns are centred beside each other.
struct Places {
    heights: BTreeMap<usize, usize>,
    width: usize,
    height: usize,
}

impl Places {
    fn of(graph: &BlockingGraph) -> Self {
        let mut heights = BTreeMap::new();
        for node in &graph.nodes {
            *heights.entry(node.column).or_insert(0) += HEIGHT + ROW_GAP;
        }
        let columns = heights.keys().last().map_or(0, |last| last + 1);
        let width = 2 * MARGIN + columns * (WIDTH + COLUMN_GAP) - COLUMN_GAP;
        let height = heights.values().max().map_or(0, |height| 2 * MARGIN + height - ROW_GAP);
        Self { heights, width, height }
    }

    /// Returns the upper left corner of a box.
    fn corner(&self, node: &GraphNode) -> (usize, usize) {
        let column_height = self.heights[&node.column] - ROW_GAP;
        let top = (self.height - column_height) / 2;
        (MARGIN + node.column * (WIDTH + COLUMN_GAP), top + node.row * (HEIGHT + ROW_GAP))
    }
}

fn drawing(graph: &BlockingGraph, view: &IssueView) -> Markup {
    let places = Places::of(graph);
    html! {
        svg role="group" aria-labelledby="graph-title graph-desc" width=(places.width) height=(places.height) {
            title #graph-title { (text::HEADING) }
            desc #graph-desc { (text::description(graph.nodes.len())) }
            defs {
                marker #graph-arrow viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8"
                    orient="auto" { path d="M0 0 8 4 0 8z" {} }
            }
            @for (blocker, blocked) in &graph.edges {
                @let from = &graph.nodes[*blocker];
                @let to = &graph.nodes[*blocked];
                path class={ "edge" @if summary(from, view).status.has_ended() { " ended" } }
                    d=(line(places.corner(from), places.corner(to))) marker-end="url(#graph-arrow)" {}
            }
            @for node in &graph.nodes { (box_of(node, places.corner(node), view)) }
        }
    }
}

/// Returns the path from the right side of one box to the left side of another one.
fn line((x, y): (usize, usize), (to_x, to_y): (usize, usize)) -> String {
    let x = x + WIDTH;
    let y = y + HEIGHT / 2;
    let to_y = to_y + HEIGHT / 2;
    let bend = COLUMN_GAP / 2;
    format!("M{x} {y}C{} {y} {} {to_y} {to_x} {to_y}", x + bend, to_x.saturating_sub(bend))
}

fn box_of(node: &GraphNode, (x, y): (usize, usize), view: &IssueView) -> Markup {
    let issue = summary(node, view);
    let is_current = issue.id == view.found.issue.id;
    let title = undirected(&issue.title);
    let name = format!("{} {title} ({})", issue.id.short(), strings::status(issue.status));
    let [first, second] = two_lines(&components::without_code(&title));
    html! {
        a class={ "node status-" (issue.status) } href=(components::issue_path(issue.id))
            aria-current=[is_current.then_some("page")]
        {
            // The name of the link, also shown on hover.
            title { (name) }
            rect x=(x) y=(y) width=(WIDTH) height=(HEIGHT) rx="8" {}
            // A drawing of its own, which cuts what is too wide.
            svg x=(x + 10) y=(y) width=(WIDTH - 18) height=(HEIGHT) {
                use href={ "#status-" (issue.status) } y="8" width="13" height="13" {}
                text.id x="19" y="19" { (issue.id.short()) }
                text x="0" y="37" { (first) }
                text x="0" y="53" { (second) }
            }
        }
    }
}

/// Returns the beginning of a title on two lines, broken between words where that is possible.
fn two_lines(title: &str) -> [String; 2] {
    let Some((end, _)) = title.char_indices().nth(LINE_CHARS) else {
        return [title.to_owned(), String::new()];
    };
    let is_between_words = title[end..].starts_with(' ');
    let word = title[..end].rfind(' ').filter(|word| *word > 0 && !is_between_words);
    let end = word.unwrap_or(end);
    let (first, second) = title.split_at(end);
    [first.to_owned(), shortened(second.trim_start(), LINE_CHARS - 1)]
}

/// Renders what the drawing shows as a list.
fn alternative(graph: &BlockingGraph, view: &IssueView) -> Markup {
    let mut blocked: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (from, to) in &graph.edges {
        blocked.entry(*from).or_default().push(*to);
    }
    let link = |index: &usize| {
        let issue = summary(&graph.nodes[*index], view);
        html! {
            a href=(components::issue_path(issue.id)) { bdi { (components::title(&issue.title)) } }
            " (" (strings::status(issue.status)) ")"
        }
    };
    html! {
        details.numbers #graph-text {
            summary { "Show as text" }
            ul {
                @for (from, to) in &blocked {
                    li {
                        (link(from)) " " "blocks" " "
                        @for (number, to) in to.iter().enumerate() {
                            @if number > 0 { ", " }
                            (link(to))
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_broken_between_words() {
        for (title, first, second) in [
            ("Short", "Short", ""),
            ("A title that needs two lines", "A title that needs two", "lines"),
            ("A title of words that go on", "A title of words that", "go on"),
            (&*"x".repeat(60), &*"x".repeat(22), &*format!("{}…", "x".repeat(21))),
        ] {
            assert_eq!(two_lines(title), [first, second]);
        }
    }
}
