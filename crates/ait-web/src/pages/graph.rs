//! The graph around an issue, an entry, a file, a folder or an agent: a small drawing, and lists.

use std::f64::consts::TAU;

use maud::{Markup, html};

use super::components;
use ait_domain::text::shortened;
use ait_domain::{Status, memory};
use ait_tracker::graph::{Found, Graph, Node};

/// The size of the drawing, in its own units, and how far apart its rings are at most.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 360.0;
/// How many nodes have their names in the drawing; the others have them in a tooltip.
const MAX_NAMED: usize = 16;
/// How much of a name and of a text is shown, in characters.
const MAX_NAME: usize = 18;
const MAX_CHARS: usize = 200;

/// Renders the page.
pub(super) fn content(graph: &Graph) -> Markup {
    let Some(start) = graph.nodes.first() else { return html! {} };
    html! {
        h1 { "Around" " " bdi { (start.node) } }
        @if let Some(issue) = &start.issue {
            p.details { a href=(components::issue_path(issue.id)) { (said(start)) } }
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
    html! {
        @if !found.is_empty() {
            section.links aria-labelledby=(section.class()) {
                h2 id=(section.class()) { (section.name()) " " span.count { (found.len()) } }
                ul {
                    @for one in found {
                        li {
                            a href=(path(&one.node)) { code { (one.node) } } " "
                            @if one.issue.is_some() { span dir="auto" { (components::undirected(&said(one))) } " " }
                            @if let Some((from, tie)) = one.from {
                                span.quiet { (tie) " " bdi { (graph.nodes[from].node) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns what an issue or an entry says, on one line.
fn said(found: &Found) -> String {
    let Some(issue) = &found.issue else { return found.node.to_string() };
    let text = match issue.status {
        Status::Kept => format!("{}: {}", issue.classification, memory::text(issue)),
        status => format!("{status}: {}", issue.title),
    };
    shortened(&text.split_whitespace().collect::<Vec<_>>().join(" "), MAX_CHARS)
}

/// Returns the path of the graph around a node.
pub(super) fn path(node: &Node) -> String {
    let name = node.to_string();
    let encoded = name.split('/').map(|part| form_urlencoded::byte_serialize(part.as_bytes()));
    let parts = encoded.map(|part| part.collect::<String>().replace('+', "%20"));
    format!("/graph/{}", parts.collect::<Vec<_>>().join("/"))
}

/// Draws the beginning in the middle, and the others on rings around it, each beyond the one it was found through.
fn drawing(graph: &Graph) -> Markup {
    let places = places(graph);
    html! {
        svg.graph role="img" aria-label="What lies around it, as the lists below say" viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } {
            @for (found, (x, y)) in graph.nodes.iter().zip(&places) {
                @if let Some((x1, y1)) = found.from.map(|(from, _)| places[from]) {
                    line x1=(x1) y1=(y1) x2=(x) y2=(y) {}
                }
            }
            @for (at, (found, (x, y))) in graph.nodes.iter().zip(&places).enumerate() {
                g class=(Section::of(found).class()) {
                    title { (said(found)) }
                    circle cx=(x) cy=(y) r=(if at == 0 { 9 } else { 6 }) {}
                    @if at < MAX_NAMED {
                        text x=(x) y=(y - 11.0) text-anchor="middle" { (short_name(&found.node)) }
                    }
                }
            }
        }
    }
}

/// Returns the last part of a name.
fn short_name(node: &Node) -> String {
    let name = node.to_string();
    shortened(name.rsplit('/').next().unwrap_or(&name), MAX_NAME)
}

/// Returns where the nodes are. Nodes without any beyond them share the circle evenly.
fn places(graph: &Graph) -> Vec<(f64, f64)> {
    let nodes = &graph.nodes;
    let children = |at: usize| {
        (0..nodes.len()).filter(move |child| nodes[*child].from.is_some_and(|(from, _)| from == at))
    };
    let mut angles = vec![0.0; nodes.len()];
    let mut ends = 0_usize;
    let mut stack = vec![(0, false)];
    while let Some((at, is_back)) = stack.pop() {
        let own: Vec<_> = children(at).collect();
        if own.is_empty() {
            angles[at] = ends as f64;
            ends += 1;
        } else if is_back {
            angles[at] = own.iter().map(|child| angles[*child]).sum::<f64>() / own.len() as f64;
        } else {
            stack.push((at, true));
            stack.extend(own.into_iter().rev().map(|child| (child, false)));
        }
    }
    let deepest = nodes.iter().map(|found| found.depth).max().unwrap_or_default().max(1) as f64;
    let place = |(at, angle): (usize, f64)| {
        let reach = 0.84 * nodes[at].depth as f64 / deepest;
        let angle = TAU * angle / ends.max(1) as f64;
        let round = |length: f64| (length * 10.0).round() / 10.0;
        (
            round(WIDTH / 2.0 * (1.0 + reach * angle.cos())),
            round(HEIGHT / 2.0 * (1.0 + reach * angle.sin())),
        )
    };
    angles.into_iter().enumerate().map(place).collect()
}
