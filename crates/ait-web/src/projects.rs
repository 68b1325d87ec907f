//! The projects of the user that are served on this machine, with their numbers and their open issues.
//!
//! Each server is asked over HTTP for its own, so the pages show of another project what that server tells everyone. A
//! server that needs a token is not asked.

use std::collections::HashSet;
use std::process;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use futures::future::join_all;
use indexmap::IndexMap;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;

use super::WebState;
use super::api::JSON;
use super::etag;
use super::pages::context::Signs;
use super::pages::error::ErrorJson;
use super::pages::response::DAMAGED;
use ait_domain::text::shortened;
use ait_domain::{Classification, IssueId, Priority, Status, Timestamp};
use ait_http::port_probe;
use ait_http::processes::{ProcessEntry, Registry};
use ait_tracker::read_model::{ClaimInfo, Column, ReadView};

/// The path of the numbers of one project, and that of its open issues.
pub(super) const PATH: &str = "/api/project";
pub(super) const BOARD_PATH: &str = "/api/project/board";
/// The most projects of a page.
const MAX_PROJECTS: usize = 100;
/// How many characters of the damage of a store are shown.
const MAX_DAMAGE_CHARS: usize = 500;
/// How long a server may take to answer.
const WITHIN: Duration = Duration::from_millis(1_000);
/// How many issues a project tells in each status, and how many characters of a title and of the name of an agent.
pub(super) const MAX_CARDS: usize = 40;
pub(super) const MAX_TITLE_CHARS: usize = 200;
pub(super) const MAX_HOLDER_CHARS: usize = 60;
/// How many labels of an issue a project tells.
pub(super) const MAX_LABELS: usize = 3;

/// What a server tells of its project.
pub(super) trait OfProject: DeserializeOwned {
    /// Where it tells it.
    const PATH: &str;
    /// The most bytes of an answer.
    const MAX_BYTES: u64;

    /// Returns what a project tells at a time. `inbox` is the number of its inbox.
    fn of(project: &str, view: &ReadView<'_>, inbox: usize, now: Timestamp) -> Self;
}

/// The numbers of a project.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProjectNumbers {
    /// Its name.
    pub project: String,
    /// How many issues are in each status.
    pub counts: IndexMap<String, usize>,
    /// How many questions to people are open.
    pub questions: usize,
    /// How many problems the queue has.
    pub findings: usize,
    /// The number of the inbox.
    #[serde(default)]
    pub inbox: usize,
}

impl OfProject for ProjectNumbers {
    const PATH: &str = PATH;
    const MAX_BYTES: u64 = 16 << 10;

    fn of(project: &str, view: &ReadView<'_>, inbox: usize, now: Timestamp) -> Self {
        let counts = view.counts();
        let count = |status: &Status| (status.as_str().to_owned(), counts.in_status(*status));
        Self {
            project: project.to_owned(),
            counts: Status::OF_WORK.iter().map(count).collect(),
            questions: view.questions().count(),
            findings: view.recent_findings(now).total(),
            inbox,
        }
    }
}

impl ProjectNumbers {
    /// Returns how many issues are in a status.
    pub fn in_status(&self, status: Status) -> usize {
        self.counts.get(status.as_str()).copied().unwrap_or_default()
    }
}

/// The open issues of a project.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProjectBoard {
    /// Its name.
    pub project: String,
    /// A column for each status, in the order of the lifecycle.
    pub columns: Vec<ProjectColumn>,
}

/// The issues of a project in a status.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProjectColumn {
    pub status: Status,
    /// How many there are.
    pub total: usize,
    /// The first ones, in the order of its board.
    pub cards: Vec<ProjectCard>,
}

/// An issue of a project.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProjectCard {
    pub id: IssueId,
    pub title: String,
    pub classification: Classification,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// Its first labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// The agent that holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// Since when it is held, or else in its status.
    pub since: Timestamp,
}

impl OfProject for ProjectBoard {
    const PATH: &str = BOARD_PATH;
    const MAX_BYTES: u64 = 512 << 10;

    fn of(project: &str, view: &ReadView<'_>, _inbox: usize, now: Timestamp) -> Self {
        let most = |status: Status| if status.is_open() { MAX_CARDS } else { 0 };
        let columns = view.board(now, most, |_| true).into_iter();
        let columns = columns.filter(|column| column.status.is_open()).map(|column| {
            let cards = column.cards.iter().map(|&position| ProjectCard::of(position, view));
            let Column { status, total, .. } = column;
            ProjectColumn { status, total, cards: cards.collect() }
        });
        Self { project: project.to_owned(), columns: columns.collect() }
    }
}

impl ProjectCard {
    /// Returns its priority; that of an issue without one if it is no priority.
    pub fn priority(&self) -> Priority {
        let given = self.priority.and_then(|number| Priority::try_from(u64::from(number)).ok());
        given.unwrap_or_default()
    }

    fn of(position: usize, view: &ReadView<'_>) -> Self {
        let summary = &view.summaries()[position];
        let holder = summary.holder();
        let labels = summary.attributes.labels.iter().take(MAX_LABELS);
        let name = |held: ClaimInfo| shortened(view.names().text(held.agent), MAX_HOLDER_CHARS);
        Self {
            id: summary.id,
            title: shortened(&summary.title, MAX_TITLE_CHARS),
            classification: summary.classification,
            priority: summary.attributes.priority.map(Priority::get),
            labels: labels.map(ToString::to_string).collect(),
            holder: holder.map(name),
            since: holder.map_or_else(|| summary.in_status_since(), |held| held.since),
        }
    }
}

/// A project that is served.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ServedProject<T> {
    /// Its server.
    pub entry: ProcessEntry,
    /// What it tells, or what is damaged in its store; `None` for this server, for one that needs a token and one that
    /// does not answer.
    pub told: Option<Result<T, String>>,
    /// Whether it is this server.
    pub is_own: bool,
}

/// Returns the projects of the user, by name. Of several servers of one store it has this one, or else the oldest.
pub(super) async fn served<T: OfProject>(registry: Registry) -> Vec<ServedProject<T>> {
    let entries = spawn_blocking(move || registry.list_live().unwrap_or_default()).await;
    let mut entries = entries.unwrap_or_default();
    let mut stores = HashSet::new();
    entries.sort_by_key(|entry| !is_own(entry));
    entries.retain(|entry| entry.url.is_some() && stores.insert(entry.store.clone()));
    entries.sort_by_cached_key(|entry| entry.project.as_ref().map(|name| name.to_lowercase()));
    join_all(entries.into_iter().take(MAX_PROJECTS).map(ask)).await
}

/// Asks the server of a project what it tells.
async fn ask<T: OfProject>(entry: ProcessEntry) -> ServedProject<T> {
    let is_own = is_own(&entry);
    let told = if is_own { None } else { told(&entry).await };
    ServedProject { entry, told, is_own }
}

fn is_own(entry: &ProcessEntry) -> bool {
    entry.pid == process::id()
}

/// Returns what a server tells of its project; `None` if it needs a token or does not answer.
async fn told<T: OfProject>(entry: &ProcessEntry) -> Option<Result<T, String>> {
    let answer = port_probe::json(entry.open_address()?, T::PATH, T::MAX_BYTES, WITHIN).await?;
    match answer[DAMAGED].as_str() {
        Some(damaged) => Some(Err(shortened(damaged, MAX_DAMAGE_CHARS))),
        None => serde_json::from_value(answer).ok().map(Ok),
    }
}

/// Answers with what this project tells.
pub(super) async fn tell<T: OfProject + Serialize>(
    State(state): State<WebState>,
    request: HeaderMap,
) -> Result<Response, ErrorJson> {
    let now = state.tracker.now();
    let project = state.project.clone();
    let signs = Signs::read(&state, state.tracker.damage().await).await;
    let json = state.read_model.read(move |view| {
        let told = T::of(&project.name, view, signs.attention(view), now);
        serde_json::to_vec(&told).expect("what a project tells can always be serialized")
    });
    Ok(etag::respond(&request, JSON, json.await?))
}
