//! The data of the pages as JSON.

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use indexmap::IndexMap;
use serde::Serialize;
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_128;

use super::WebState;
use super::etag;
use super::listing::Listing;
use super::lookup::find;
use super::pages::error::ErrorJson;
use super::pages::list::PAGE_SIZE;
use super::query::{ListQuery, Parameters, finding_kind, stats_range};
use ait_domain::WithClaim;
use ait_domain::{AgentName, Issue, IssueId, MatchCounts, Status, Timestamp};
use ait_hooks::HookTexts;
use ait_query::NoMatch;
use ait_query::field_selection::FieldSelection;
use ait_tracker::read_model::FindingKind;
use ait_tracker::read_model::MAX_KEPT;
use ait_tracker::triage::{Reader, TriageReport};

pub(super) const JSON: &str = "application/json";
/// How many agents an answer has.
const MAX_AGENTS: usize = 1_000;

/// A page of the matching issues.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct List<'a> {
    /// How many issues match; a lower bound unless `isExact`.
    total: usize,
    is_exact: bool,
    page: usize,
    pages: usize,
    /// How many issues match in each status, whatever statuses were asked for; lower bounds unless
    /// `hasExactCounts`.
    counts: IndexMap<&'static str, usize>,
    has_exact_counts: bool,
    /// Why no issue matches the search.
    #[serde(skip_serializing_if = "Option::is_none")]
    nothing: Option<String>,
    /// The issues on the page, in the format of `issues.json`, or the selected fields of each.
    issues: Vec<ListedIssue<'a>>,
}

/// An issue on the page.
#[derive(Serialize)]
#[serde(untagged)]
enum ListedIssue<'a> {
    Whole(&'a Issue),
    Selected(Value),
}

/// Answers with a page of issues. Takes the same parameters as the list.
pub(super) async fn issues(
    State(state): State<WebState>,
    RawQuery(query): RawQuery,
    request: HeaderMap,
) -> Result<Response, ErrorJson> {
    let query = ListQuery::parse_request(query.as_deref())?;
    let listing = Listing::find(&state, &query, PAGE_SIZE).await??;
    let MatchCounts { counts, are_exact } = listing.counts();
    let count = |status: &Status| (status.as_str(), counts.in_status(*status));
    let issues = listing.found.issues.iter();
    let now = state.tracker.now();
    let list = List {
        total: listing.found.total,
        is_exact: listing.found.is_exact,
        page: listing.number,
        pages: listing.pages(),
        counts: Status::OF_WORK.iter().map(count).collect(),
        has_exact_counts: are_exact,
        nothing: listing.nothing.as_ref().map(NoMatch::to_string),
        issues: issues.map(|issue| listed(issue, query.fields.as_ref(), now)).collect(),
    };
    let json = serde_json::to_vec(&list).expect("issues can always be serialized");
    Ok(etag::respond(&request, JSON, json))
}

fn listed<'a>(
    issue: &'a Issue,
    fields: Option<&FieldSelection>,
    now: Timestamp,
) -> ListedIssue<'a> {
    match fields {
        None => ListedIssue::Whole(issue),
        Some(fields) => ListedIssue::Selected(fields.select(issue, now)),
    }
}

/// Answers with one issue, in the format of `issues.json`, with its claim. The `ETag` is the version of the issue.
pub(super) async fn issue(
    State(state): State<WebState>,
    asked: Result<Path<String>, PathRejection>,
    request: HeaderMap,
) -> Result<Response, ErrorJson> {
    let Path(asked) = asked?;
    let issue = find(&state, &asked).await?;
    let json =
        serde_json::to_vec(&WithClaim::from(&*issue)).expect("an issue can always be serialized");
    Ok(etag::respond_exactly(&request, JSON, &issue.version(), json))
}

/// The agents.
#[derive(Serialize)]
struct AgentList<'a> {
    agents: Vec<ListedAgent<'a>>,
}

/// An agent.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListedAgent<'a> {
    name: &'a str,
    /// The issues that it holds, the oldest claim first.
    holds: Vec<IssueId>,
    /// The time of its latest action.
    last_activity: Timestamp,
}

/// Answers with the agents: those that hold issues first, then by their latest action; at most [`MAX_AGENTS`].
pub(super) async fn agents(
    State(state): State<WebState>,
    RawQuery(query): RawQuery,
    request: HeaderMap,
) -> Result<Response, ErrorJson> {
    Parameters::of_request(query.as_deref(), &[])?;
    let json = state.read_model.read(move |view| {
        let agents = view.agents().into_iter().take(MAX_AGENTS).map(|agent| ListedAgent {
            name: view.names().text(agent.name),
            holds: agent.holds.iter().copied().map(|at| view.summaries()[at].id).collect(),
            last_activity: agent.last.0.at(),
        });
        let list = AgentList { agents: agents.collect() };
        serde_json::to_vec(&list).expect("agents can always be serialized")
    });
    Ok(etag::respond(&request, JSON, json.await?))
}

/// What the hooks of a client tell an agent.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HookTextsResponse {
    /// The id of the store. Another server may have the port on which a hook expects one of its store.
    store_id: String,
    #[serde(flatten)]
    texts: HookTexts,
}

/// Answers with what the hooks of a client tell an agent.
pub(super) async fn session(
    State(state): State<WebState>,
    RawQuery(query): RawQuery,
    request: HeaderMap,
) -> Result<Response, ErrorJson> {
    let parameters = Parameters::of_request(query.as_deref(), &["agent"])?;
    let expected = || "the name of an agent".to_owned();
    let agent = parameters.get("agent", expected, |name| name.parse::<AgentName>().ok())?;
    let store_id = state.tracker.store_id().await.to_string();
    let texts = HookTexts::read(&state.tracker, agent.as_ref()).await?;
    let session = HookTextsResponse { store_id, texts };
    let json = serde_json::to_vec(&session).expect("texts can always be serialized");
    Ok(etag::respond(&request, JSON, json))
}

/// Answers with the statistics of a range.
///
/// The numbers change with time even when nothing happens, so the `ETag` names a minute.
pub(super) async fn stats(
    State(state): State<WebState>,
    RawQuery(query): RawQuery,
    request: HeaderMap,
) -> Result<Response, ErrorJson> {
    let range = stats_range(&Parameters::of_request(query.as_deref(), &["range"])?)?;
    let now = state.tracker.now();
    let version = state.streams.probe().await.version;
    let version = format!("{version} {range} {}", now.unix_millis() / 60_000);
    let json = state.read_model.read(move |view| {
        let stats = view.stats(range, now);
        serde_json::to_vec(&stats).expect("statistics can always be serialized")
    });
    Ok(etag::respond_as(&request, JSON, xxh3_128(version.as_bytes()), json.await?))
}

/// Answers with what is wrong in the queue, of one kind or of all.
pub(super) async fn triage(
    State(state): State<WebState>,
    RawQuery(query): RawQuery,
    request: HeaderMap,
) -> Result<Response, ErrorJson> {
    let kind = finding_kind(&Parameters::of_request(query.as_deref(), &["kind"])?)?;
    let now = state.tracker.now();
    let findings = state.read_model.findings(now).await?;
    let take = MAX_KEPT * FindingKind::ALL.len();
    let report = TriageReport::of(&findings, kind.as_slice(), take, Reader::Person);
    let json = serde_json::to_vec(&report).expect("a report can always be serialized");
    Ok(etag::respond(&request, JSON, json))
}
