//! The graph around an issue, an entry, a file, a folder or an agent: a drawing, and lists that say the same.

use maud::{Markup, html};

use super::components::{self, undirected};
use super::layout::Tab;
use crate::strings;
use ait_domain::text::shortened;
use ait_domain::{Issue, Status, memory};
use ait_tracker::graph::{Found, Graph, Node};

/// The drawing, in its own units: its width, what the name of the beginning takes of each half, the way to the next
/// ring, a label of a ring that is not the last at least, and the height of a row.
const WIDTH: f64 = 1090.0;
const START: f64 = 70.0;
const WAY: f64 = 44.0;
const LABEL: f64 = 190.0;
const ROW: f64 = 20.0;
/// The space of a node beside its label.
const NODE: f64 = 12.0;
/// How wide a character is at most, for most texts; the drawing cuts what is wider.
const CHAR: f64 = 6.4;
/// How much of a text a list shows, in characters.
const MAX_CHARS: usize = 200;

/// Returns the tab of the page.
pub(super) fn tab(graph: &Graph) -> Tab {
    match graph.nodes.first().map(Section::of) {
        Some(Section::Agents) => Tab::Agents,
        Some(Section::Issues) => Tab::Issues,
        _ => Tab::Memory,
    }
}

/// Renders the page.
pub(super) fn content(graph: &Graph) -> Markup {
    let Some(start) = graph.nodes.first() else { return html! {} };
    html! {
        h1 { "Around" " " bdi { (start.node) } }
        @if let Some(issue) = &start.issue {
            p.details { (mark(issue)) " " a href=(components::issue_path(issue.id)) dir="auto" { (components::title(&said(issue))) } }
        }
        @if graph.nodes.len() == 1 {
            section.notice { p { "Nothing is known about it." } }
        } @else {
            (drawing(graph))
            @for section in [Section::Entries, Section::Issues, Section::Files, Section::Agents] {
                (list(graph, section))
            }
            @if graph.is_cut { p.quiet { "More lies around it: the nearest are shown." } }
        }
    }
}

/// A list of the page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Entries,
    Issues,
    Files,
    Agents,
}

impl Section {
    fn of(found: &Found) -> Self {
        match (&found.node, &found.issue) {
            (Node::Issue(_), Some(issue)) if issue.status == Status::Kept => Self::Entries,
            (Node::Issue(_), _) => Self::Issues,
            (Node::File(_), _) => Self::Files,
            (Node::Agent(_), _) => Self::Agents,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Entries => "Entries",
            Self::Issues => "Issues",
            Self::Files => "Files",
            Self::Agents => "Agents",
        }
    }

    const fn class(self) -> &'static str {
        match self {
            Self::Entries => "entry",
            Self::Issues => "issue",
            Self::Files => "file",
            Self::Agents => "agent",
        }
    }
}

fn list(graph: &Graph, section: Section) -> Markup {
    let found: Vec<_> =
        graph.nodes.iter().skip(1).filter(|found| Section::of(found) == section).collect();
    // Every tie to an agent or to a file says the same.
    let is_said = |from: usize| from > 0 || graph.nodes[from].issue.is_some();
    html! {
        @if !found.is_empty() {
            section.links aria-labelledby=(section.class()) {
                h2 id=(section.class()) { (section.name()) " " span.count { (found.len()) } }
                ul {
                    @for one in found {
                        li {
                            @if let Some(issue) = &one.issue {
                                (mark(issue)) " " a href=(path(&one.node)) dir="auto" { (components::title(&said(issue))) } " " code { (one.node) } " "
                            } @else {
                                a href=(path(&one.node)) { code { (one.node) } } " "
                            }
                            @if let Some((from, tie)) = one.from.filter(|(from, _)| is_said(*from)) {
                                span.quiet { (tie) " " bdi { (name(&graph.nodes[from], LABEL)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Renders what an issue is: its status, or the kind of an entry.
fn mark(issue: &Issue) -> Markup {
    match issue.status {
        Status::Kept => components::kind(issue.classification),
        status => components::status_icon(status),
    }
}

/// Returns what an issue or an entry says, on one line.
fn said(issue: &Issue) -> String {
    let text = match issue.status {
        Status::Kept => memory::text(issue),
        _ => issue.title.as_str(),
    };
    shortened(&undirected(&text.split_whitespace().collect::<Vec<_>>().join(" ")), MAX_CHARS)
}

/// Returns the path of the graph around a node.
pub(super) fn path(node: &Node) -> String {
    let name = node.to_string();
    let encoded = name.split('/').map(|part| form_urlencoded::byte_serialize(part.as_bytes()));
    let parts = encoded.map(|part| part.collect::<String>().replace('+', "%20"));
    format!("/graph/{}", parts.collect::<Vec<_>>().join("/"))
}

/// Where a node is.
struct Place {
    x: f64,
    y: f64,
    /// 1 on the right side, -1 on the left one.
    side: f64,
    /// How wide the label is at most: to the edge, unless other nodes lie beyond it.
    label: f64,
}

impl Place {
    const MIDDLE: f64 = WIDTH / 2.0;

    /// Returns the line to a node from the one it was found through: level below the label of that one, then a curve.
    fn line_from(&self, from: &Self) -> String {
        let Self { x, y, .. } = self;
        let Self { x: from_x, y: from_y, .. } = from;
        let bend_from = x - self.side * WAY;
        let bend = x - self.side * WAY / 2.0;
        format!("M{from_x} {from_y}H{bend_from}C{bend} {from_y} {bend} {y} {x} {y}")
    }
}

/// Draws the beginning in the middle, and on both sides of it the others as a tree: each node has a row of its own or
/// stands beside those beyond it, so no label lies on another.
fn drawing(graph: &Graph) -> Markup {
    let (places, height) = places(graph);
    html! {
        div.around role="group" tabindex="0" aria-label="What lies around it, as the lists below say" {
            svg viewBox={ "0 0 " (WIDTH) " " (height) } {
                @for (found, place) in graph.nodes.iter().zip(&places) {
                    @if let Some((from, _)) = found.from { path d=(place.line_from(&places[from])) {} }
                }
                @for (found, place) in graph.nodes.iter().zip(&places).skip(1) { (node(found, place)) }
                text.start translate="no" x=(Place::MIDDLE) y=(height / 2.0 + 4.0) text-anchor="middle" {
                    (name(&graph.nodes[0], 2.0 * START))
                }
            }
        }
    }
}

/// Draws a node, and its name on the side that is away from the middle. The lists have the same links for the keyboard.
fn node(found: &Found, place: &Place) -> Markup {
    let Place { x, y, side, label: width } = *place;
    let is_right = side > 0.0;
    html! {
        a class=(Section::of(found).class()) href=(path(&found.node)) tabindex="-1" {
            title translate="no" { (full_name(found)) }
            @match &found.issue {
                Some(issue) if issue.status != Status::Kept => {
                    use class={ "status-" (issue.status) } href={ "#status-" (issue.status) } x=(x - 6.0) y=(y - 6.0)
                        width="12" height="12" {}
                }
                _ => circle cx=(x) cy=(y) r="5" {}
            }
            // A drawing of its own, which cuts what is too wide.
            svg x=(if is_right { x + NODE } else { x - NODE - width }) y=(y - ROW / 2.0) width=(width) height=(ROW) {
                text translate="no" x=(if is_right { 0.0 } else { width }) y="14" text-anchor=(if is_right { "start" } else { "end" }) {
                    (name(found, width))
                }
            }
        }
    }
}

fn full_name(found: &Found) -> String {
    match &found.issue {
        Some(issue) if issue.status == Status::Kept => {
            format!("{}: {}", issue.classification, said(issue))
        }
        Some(issue) => format!("{} ({})", said(issue), strings::status(issue.status)),
        None => found.node.to_string(),
    }
}

/// Returns what the drawing says of a node: a title, or the last part of a name.
fn name(found: &Found, width: f64) -> String {
    let name = found.issue.as_deref().map_or_else(|| found.node.to_string(), said);
    let name = components::without_code(&name);
    let name = match found.node {
        Node::File(_) => name.rsplit('/').next().unwrap_or(&name),
        _ => &name,
    };
    shortened(name, (width / CHAR) as usize)
}

/// Returns where the nodes are, and the height of the drawing. A node has as many rows as nodes without any beyond them
/// lie behind it.
fn places(graph: &Graph) -> (Vec<Place>, f64) {
    let nodes = &graph.nodes;
    let mut rows = vec![0; nodes.len()];
    for (at, found) in nodes.iter().enumerate().rev() {
        rows[at] = rows[at].max(1);
        if let Some((from, _)) = found.from {
            rows[from] += rows[at];
        }
    }
    // The first row of each node, and its side; the first row that each has left for those beyond it.
    let mut first = vec![0; nodes.len()];
    let mut sides = vec![0; nodes.len()];
    let mut free = vec![0; nodes.len()];
    let mut taken = [0; 2];
    for (at, found) in nodes.iter().enumerate() {
        let Some((from, _)) = found.from else { continue };
        sides[at] = if from > 0 { sides[from] } else { usize::from(taken[1] < taken[0]) };
        let next = if from > 0 { &mut free[from] } else { &mut taken[sides[at]] };
        first[at] = *next;
        *next += rows[at];
        free[at] = first[at];
    }
    let height = ROW * taken[0].max(taken[1]) as f64;
    // What the labels of the last ring leave is for those before it.
    let mut outer = [0.0_f64; 2];
    for (at, found) in nodes.iter().enumerate().filter(|(_, found)| found.depth > 1) {
        let width = name(found, Place::MIDDLE).chars().count() as f64 * CHAR;
        outer[sides[at]] = outer[sides[at]].max(width);
    }
    let labels = outer.map(|outer| (Place::MIDDLE - START - 2.0 * WAY - NODE - outer).max(LABEL));
    let place = |(at, found): (usize, &Found)| {
        let side = if sides[at] == 0 { 1.0 } else { -1.0 };
        let above = (height - ROW * taken[sides[at]] as f64) / 2.0;
        if found.from.is_none() {
            return Place { x: Place::MIDDLE, y: height / 2.0, side, label: START };
        }
        let reach = START + WAY + (found.depth as f64 - 1.0) * (labels[sides[at]] + WAY);
        let x = Place::MIDDLE + side * reach;
        let y = above + ROW * (first[at] as f64 + rows[at] as f64 / 2.0);
        let label =
            if free[at] > first[at] { labels[sides[at]] } else { Place::MIDDLE - reach } - NODE;
        Place { x, y, side, label }
    };
    (nodes.iter().enumerate().map(place).collect(), height)
}
