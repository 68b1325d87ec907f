//! The graph of what a team did and learned: issues, entries, files and agents, and what ties them together.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use super::{Lesson, StoreError, Tracker};
use ait_domain::text::shortened;
use ait_domain::{
    ActionKind, Condition, HistoryEntry, Issue, IssueGraph, IssueId, IssueRef, LinkKind, Order,
    Query, Status, StatusSet, lessons, memory,
};

/// How many nodes a graph has at most.
pub const MAX_NODES: usize = 50;
/// How far from its beginning a graph reaches at most.
pub const MAX_DEPTH: usize = 3;
/// How many issues next to a node are looked at, the latest ones.
const MAX_NEXT: usize = 20;
/// How much of a text a line has, in characters.
const MAX_CHARS: usize = 160;

/// A thing that is known.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Node {
    /// An issue or an entry.
    Issue(IssueId),
    /// A file or a folder.
    File(String),
    Agent(String),
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Issue(id) => f.write_str(&id.short()),
            Self::File(name) | Self::Agent(name) => f.write_str(name),
        }
    }
}

/// A node of a graph, with what ties it to the node through which it was found.
#[derive(Clone, PartialEq, Debug)]
pub struct Found {
    pub node: Node,
    /// How many ties lead to it from the beginning.
    pub depth: usize,
    /// The place of the node through which it was found, and how the two are tied; `None` for the beginning.
    pub from: Option<(usize, &'static str)>,
    /// The issue or the entry.
    pub issue: Option<Arc<Issue>>,
}

/// What lies around a node, the nearest first.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Graph {
    pub nodes: Vec<Found>,
    /// More lies around it.
    pub is_cut: bool,
}

impl Graph {
    /// Returns a line for each node but the beginning: entries first, then issues that ended, other issues, files and
    /// agents; of each, the nearest first.
    pub fn lines(&self) -> Vec<String> {
        let mut others: Vec<_> = self.nodes.iter().skip(1).collect();
        others.sort_by_key(|found| (rank(found.issue.as_deref(), &found.node), found.depth));
        others.into_iter().map(|found| self.line(found)).collect()
    }

    fn line(&self, found: &Found) -> String {
        let said = match (&found.issue, &found.node) {
            (Some(entry), _) if entry.status == Status::Kept => {
                Lesson::of_entry(entry, MAX_CHARS).to_string()
            }
            (Some(issue), _) => {
                let title = format!("{} {}: {}", issue.id.short(), issue.status, issue.title);
                match lessons::lesson(issue, &lessons::files(issue)) {
                    Some(told) if issue.status == Status::Closed => format!("{title}: {told}"),
                    _ => title,
                }
            }
            (None, node) => node.to_string(),
        };
        let tie = found.from.map(|(from, tie)| format!(" ({tie} {})", self.nodes[from].node));
        shortened(&said, MAX_CHARS) + &tie.unwrap_or_default()
    }
}

/// Returns how early a node is told of.
fn rank(issue: Option<&Issue>, node: &Node) -> u8 {
    match (issue.map(|issue| issue.status), node) {
        (Some(Status::Kept), _) => 0,
        (Some(status), _) if status.has_ended() => 1,
        (Some(_), _) => 2,
        (None, Node::File(_)) => 3,
        (None, _) => 4,
    }
}

/// How an agent is tied to an issue that it neither filed nor claimed.
const TOOK_PART: &str = "took part in";

fn tie_of_agent((at, entry): (usize, &HistoryEntry)) -> (&'static str, Node, Option<Arc<Issue>>) {
    let tie = match ActionKind::of(&entry.action) {
        _ if at == 0 => "filed",
        ActionKind::Claimed | ActionKind::Completed => "worked on",
        ActionKind::ReviewStarted => "reviewed",
        _ => TOOK_PART,
    };
    (tie, Node::Agent(entry.agent.clone()), None)
}

impl Tracker {
    /// Returns what lies around an issue, an entry, a file, a folder or an agent, up to so many ties away. Other agents
    /// lead no further, because they are tied to almost everything.
    ///
    /// # Errors
    ///
    /// There is no issue with the id.
    pub async fn graph(&self, about: &str, depth: usize) -> Result<Graph, StoreError> {
        let about = about.trim();
        let issue = match IssueRef::in_search(about) {
            Some(issue) => Some(self.get_issue(issue).await?),
            None => None,
        };
        let start = match &issue {
            Some(issue) => Node::Issue(issue.id),
            None if about.contains(['/', '.']) => {
                Node::File(about.trim_start_matches("./").trim_end_matches('/').to_owned())
            }
            None => Node::Agent(about.to_owned()),
        };
        let mut graph = Graph::default();
        let mut known = BTreeMap::from([(start.clone(), 0)]);
        graph.nodes.push(Found { node: start, depth: 0, from: None, issue });
        let mut next = VecDeque::from([0]);
        while let Some(at) = next.pop_front() {
            let found = graph.nodes[at].clone();
            let leads_on = found.depth == 0 || !matches!(found.node, Node::Agent(_));
            if found.depth >= depth.min(MAX_DEPTH) || !leads_on {
                continue;
            }
            let mut around = self.ties(&found).await?;
            around.sort_by_key(|(_, node, issue)| rank(issue.as_deref(), node));
            for (tie, node, issue) in around {
                if known.contains_key(&node) {
                    continue;
                }
                if graph.nodes.len() == MAX_NODES {
                    graph.is_cut = true;
                    return Ok(graph);
                }
                known.insert(node.clone(), graph.nodes.len());
                next.push_back(graph.nodes.len());
                let from = Some((at, tie));
                graph.nodes.push(Found { node, depth: found.depth + 1, from, issue });
            }
        }
        Ok(graph)
    }

    /// Returns what is tied to a node, each with the tie as it is said of the other one.
    async fn ties(
        &self,
        found: &Found,
    ) -> Result<Vec<(&'static str, Node, Option<Arc<Issue>>)>, StoreError> {
        let issues = |tie, issues: Vec<Arc<Issue>>| {
            issues.into_iter().map(move |issue| (tie, Node::Issue(issue.id), Some(issue)))
        };
        let Some(issue) = &found.issue else {
            let (tie, condition) = match &found.node {
                Node::Agent(name) => ("of", Condition::Involves(name.clone())),
                node => ("about", Condition::Text(node.to_string().to_lowercase())),
            };
            return Ok(issues(tie, self.latest(condition).await?).collect());
        };
        let around = self.issues_around([issue.id]).await?;
        let mut ties = Vec::new();
        for kind in LinkKind::ALL {
            let (there, back) = match kind {
                LinkKind::Parent => ("whole of", "part of"),
                LinkKind::BlockedBy => ("blocks", "waits for"),
                LinkKind::Related => ("related to", "related to"),
                LinkKind::DuplicateOf if issue.status == Status::Kept => {
                    ("replaces", "replaced by")
                }
                LinkKind::DuplicateOf => ("duplicated by", "duplicate of"),
            };
            let linked =
                |ids: Vec<IssueId>| ids.into_iter().filter_map(|id| around.get(id)).collect();
            ties.extend(issues(there, linked(issue.attributes.linked(*kind).collect())));
            ties.extend(issues(back, linked(around.linked_from(*kind, issue.id))));
        }
        let mut mentioned = Vec::new();
        let texts: Vec<_> = issue.searchable_texts().collect();
        let words = texts.iter().flat_map(|text| text.split(|one: char| !one.is_alphanumeric()));
        for word in words.filter(|word| word.len() == 8).take(MAX_NEXT) {
            let Ok(reference) = word.parse::<IssueRef>() else { continue };
            mentioned.extend(self.get_issue(reference).await.ok());
        }
        ties.extend(issues("mentioned in", mentioned));
        ties.extend(issues("mentions", self.latest(Condition::Text(issue.id.short())).await?));
        ties.retain(|(_, node, _)| *node != found.node);
        let files = match issue.status {
            Status::Kept => memory::files(issue),
            _ => lessons::files(issue),
        };
        ties.extend(files.into_iter().map(|file| ("named in", Node::File(file), None)));
        let mut agents: Vec<_> = issue.history.iter().enumerate().map(tie_of_agent).collect();
        // The first tie of an agent counts.
        agents.sort_by_key(|(tie, ..)| *tie == TOOK_PART);
        ties.extend(agents);
        Ok(ties)
    }

    /// Returns the latest issues and entries that match a condition.
    async fn latest(&self, condition: Condition) -> Result<Vec<Arc<Issue>>, StoreError> {
        let statuses = StatusSet::EVERYTHING;
        let order = Order::LatestActivity;
        let query = Query { statuses, order, condition, take: MAX_NEXT, ..Query::default() };
        Ok(self.list_issues(query).await?.issues)
    }
}
