//! The projects of the user that are served on this machine, with their numbers.
//!
//! Each server is asked over HTTP for its own numbers, so the page shows of another project what that server tells
//! everyone. A server that needs a token is not asked.

use std::collections::HashSet;
use std::process;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use futures::future::join_all;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;

use super::WebState;
use super::api::JSON;
use super::etag;
use super::pages::error::ErrorJson;
use super::pages::response::DAMAGED;
use ait_domain::{Status, Timestamp};
use ait_http::port_probe;
use ait_http::processes::{ProcessEntry, Registry};
use ait_tracker::read_model::ReadView;

/// The path of the numbers of one project.
pub(super) const PATH: &str = "/api/project";
/// The most projects of a page.
const MAX_PROJECTS: usize = 100;
/// The most bytes of an answer.
const MAX_BYTES: u64 = 16 << 10;
/// How long a server may take to answer.
const WITHIN: Duration = Duration::from_millis(1_000);

/// The numbers of a project.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProjectNumbers {
    /// What is damaged in its store.
    #[serde(skip)]
    pub damaged: Option<String>,
    /// Its name.
    pub project: String,
    /// How many issues are in each status.
    pub counts: IndexMap<String, usize>,
    /// How many questions to people are open.
    pub questions: usize,
    /// How many problems the queue has.
    pub findings: usize,
}

impl ProjectNumbers {
    /// Returns the numbers of a project at a time.
    pub fn of(project: &str, view: &ReadView<'_>, now: Timestamp) -> Self {
        let counts = view.counts();
        let count = |status: &Status| (status.as_str().to_owned(), counts.in_status(*status));
        Self {
            damaged: None,
            project: project.to_owned(),
            counts: Status::OF_WORK.iter().map(count).collect(),
            questions: view.questions().count(),
            findings: view.recent_findings(now).total(),
        }
    }

    /// Returns how many issues are in a status.
    pub fn in_status(&self, status: Status) -> usize {
        self.counts.get(status.as_str()).copied().unwrap_or_default()
    }
}

/// A project that is served.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ServedProject {
    /// Its server.
    pub entry: ProcessEntry,
    /// Its numbers; `None` for this server, for one that needs a token and one that does not answer.
    pub numbers: Option<ProjectNumbers>,
    /// Whether it is this server.
    pub is_own: bool,
}

/// Returns the projects of the user, by name. Of several servers of one store it has this one, or else the oldest.
pub(super) async fn served(registry: Registry) -> Vec<ServedProject> {
    let entries = spawn_blocking(move || registry.list_live().unwrap_or_default()).await;
    let mut entries = entries.unwrap_or_default();
    let mut stores = HashSet::new();
    entries.sort_by_key(|entry| !is_own(entry));
    entries.retain(|entry| entry.url.is_some() && stores.insert(entry.store.clone()));
    entries.sort_by_cached_key(|entry| entry.project.as_ref().map(|name| name.to_lowercase()));
    join_all(entries.into_iter().take(MAX_PROJECTS).map(ask)).await
}

/// Asks the server of a project for its numbers.
async fn ask(entry: ProcessEntry) -> ServedProject {
    let is_own = is_own(&entry);
    let numbers = if is_own { None } else { numbers(&entry).await };
    ServedProject { entry, numbers, is_own }
}

fn is_own(entry: &ProcessEntry) -> bool {
    entry.pid == process::id()
}

/// Asks a server for the numbers of its project; `None` if it needs a token or does not answer.
async fn numbers(entry: &ProcessEntry) -> Option<ProjectNumbers> {
    let answer = port_probe::json(entry.open_address()?, PATH, MAX_BYTES, WITHIN).await?;
    if let Some(damaged) = answer[DAMAGED].as_str() {
        let damaged = Some(damaged.to_owned());
        return Some(ProjectNumbers { damaged, ..ProjectNumbers::default() });
    }
    serde_json::from_value(answer).ok()
}

/// Answers with the numbers of this project.
pub(super) async fn project(
    State(state): State<WebState>,
    request: HeaderMap,
) -> Result<Response, ErrorJson> {
    let now = state.tracker.now();
    let project = state.project.clone();
    let json = state.read_model.read(move |view| {
        let numbers = ProjectNumbers::of(&project.name, view, now);
        serde_json::to_vec(&numbers).expect("numbers can always be serialized")
    });
    Ok(etag::respond(&request, JSON, json.await?))
}
