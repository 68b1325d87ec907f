//! The list of issues: the last changed first, filtered by status, 50 a page.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query as UrlQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};

use super::layout;
use crate::domain::text::shortened;
use crate::domain::{Counts, Issue, Order, Page, Query, Status, Timestamp};
use crate::span;
use crate::tracker::{StoreError, Tracker};

/// How many issues a page shows.
const PAGE_SIZE: usize = 50;
/// A description that is longer is folded.
const UNFOLDED_CHARS: usize = 240;
/// What is longer is cut: a page of long texts would take a browser seconds each time it reloads.
const MAX_TEXT_CHARS: usize = 4_000;
/// How many comments are shown, the latest ones.
const MAX_COMMENTS: usize = 10;

/// What the address asks for. Everything is taken as text: an address that somebody typed gets a
/// page and not an error. Of a parameter that is given twice, the last one counts.
type Address = Vec<(String, String)>;

/// Everything that the page shows.
struct View {
    counts: Counts,
    status: Option<Status>,
    unknown_status: Option<String>,
    page_number: usize,
    issues: Page,
    now: Timestamp,
    /// Why nothing can be changed.
    trouble: Option<StoreError>,
}

/// Shows the issues, or why they cannot be read.
pub(in crate::web) async fn page(
    State(tracker): State<Tracker>,
    address: Result<UrlQuery<Address>, QueryRejection>,
) -> Response {
    let address = address.map(|UrlQuery(address)| address).unwrap_or_default();
    let uncached = [(header::CACHE_CONTROL, "no-store")];
    match view(&tracker, address).await {
        Ok(view) => (uncached, layout("Issues", &list(&view))).into_response(),
        Err(error) => {
            let content = html! {
                section.notice.bad {
                    h1 { "The issues cannot be shown" }
                    p { (error) }
                }
            };
            let page = layout("Issues cannot be shown", &content);
            (StatusCode::SERVICE_UNAVAILABLE, uncached, page).into_response()
        }
    }
}

async fn view(tracker: &Tracker, address: Address) -> Result<View, StoreError> {
    let parameter = |name: &str| {
        address.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.clone())
    };
    let asked = parameter("status").filter(|word| !word.is_empty());
    let status = asked.as_deref().and_then(Status::from_word);
    let unknown_status = if status.is_none() { asked } else { None };
    let counts = tracker.counts().await?;
    let matching = status.map_or(counts.total(), |status| counts.in_status(status));
    let last_page = matching.div_ceil(PAGE_SIZE).max(1);
    let asked_page = parameter("page").and_then(|text| text.parse().ok()).unwrap_or(1);
    let page_number = asked_page.clamp(1, last_page);
    let query = Query {
        statuses: status.into(),
        order: Order::LatestActivity,
        skip: (page_number - 1) * PAGE_SIZE,
        take: PAGE_SIZE,
        ..Query::default()
    };
    let issues = tracker.list_issues(query).await?;
    let (now, trouble) = (tracker.now(), tracker.check().await.err());
    Ok(View { counts, status, unknown_status, page_number, issues, now, trouble })
}

fn list(view: &View) -> Markup {
    html! {
        nav.filters aria-label="Status" {
            (filter_link("All", "/", view.counts.total(), view.status.is_none()))
            @for &status in Status::ALL {
                (filter_link(
                    &words(status),
                    &address(Some(status), 1),
                    view.counts.in_status(status),
                    view.status == Some(status),
                ))
            }
        }
        @if let Some(trouble) = &view.trouble {
            p.notice.bad role="alert" { (trouble) }
        }
        @if let Some(unknown) = &view.unknown_status {
            p.notice role="status" {
                "There is no status “" (unknown) "”: all issues are shown."
            }
        }
        @if view.issues.issues.is_empty() {
            (nothing(view))
        } @else {
            table.issues {
                thead {
                    tr {
                        th scope="col" { "Issue" }
                        th scope="col" { "Kind" }
                        th scope="col" { "Status" }
                        th scope="col" { "Last activity" }
                        th scope="col" { "Created" }
                        th scope="col" { "Modified" }
                    }
                }
                tbody {
                    @for issue in &view.issues.issues { (row(issue, view.now)) }
                }
            }
            (paging(view))
        }
    }
}

fn filter_link(label: &str, address: &str, count: usize, current: bool) -> Markup {
    html! {
        a href=(address) aria-current=[current.then_some("page")] {
            (label) " " span.count { (count) }
        }
    }
}

fn nothing(view: &View) -> Markup {
    html! {
        section.notice {
            @match view.status {
                Some(status) if view.counts.total() > 0 => {
                    h1 { "No issue is " (words(status)) }
                    p { a href="/" { "See all issues" } }
                }
                _ => {
                    h1 { "No issues yet" }
                    p { "Connect a coding agent and ask it to file the first one:" }
                    pre { "claude mcp add issues -- ait" }
                    p {
                        "It calls the tool " code { "add_issue" } " with a title, a description, a \
                        classification (bug, improvement or feature) and its name. What it files \
                        shows up here."
                    }
                }
            }
        }
    }
}

fn row(issue: &Issue, now: Timestamp) -> Markup {
    html! {
        tr {
            td.issue data-label="Issue" {
                p.title { (issue.title) }
                (description(&issue.description))
                (comments(issue, now))
                p.id { code title="id" { (issue.id) } }
            }
            td.badges {
                span class={ "badge kind-" (issue.classification) } { (issue.classification) }
            }
            td.badges {
                span class={ "badge status-" (issue.status) } { (words(issue.status)) }
                @if let Some(holder) = issue.holder() {
                    p.holder {
                        "held by " b { (holder.agent) } " for "
                        time datetime=(holder.since) title=(holder.since) {
                            (span::words(now.millis_since(holder.since)))
                        }
                    }
                }
            }
            td data-label="Last activity" {
                @if let Some(entry) = issue.history.last() {
                    p { (entry.action) }
                    p.quiet { (entry.agent) ", " (ago(entry.timestamp, now)) }
                } @else { span.quiet { "none" } }
            }
            td data-label="Created" { (ago(issue.created_at, now)) }
            td data-label="Modified" { (ago(issue.modified_at, now)) }
        }
    }
}

fn description(text: &str) -> Markup {
    let text = text.trim();
    let beginning = shortened(text.lines().next().unwrap_or_default(), UNFOLDED_CHARS);
    html! {
        @if beginning == text {
            p.text { (text) }
        } @else {
            details {
                summary {
                    span.preview { (beginning.trim_end_matches('…')) "…" }
                    span.less { "Less" }
                }
                p.text { (shortened(text, MAX_TEXT_CHARS)) }
            }
        }
    }
}

fn comments(issue: &Issue, now: Timestamp) -> Markup {
    let count = issue.comments.len();
    let earlier = count.saturating_sub(MAX_COMMENTS);
    html! {
        @if count > 0 {
            details.comments {
                summary { (count) @if count == 1 { " comment" } @else { " comments" } }
                @if earlier > 0 { p.quiet { "The latest " (MAX_COMMENTS) " of them:" } }
                @for comment in &issue.comments[earlier..] {
                    div.comment {
                        p.quiet { b { (comment.agent) } ", " (ago(comment.timestamp, now)) }
                        p.text { (shortened(&comment.text, MAX_TEXT_CHARS)) }
                    }
                }
            }
        }
    }
}

fn paging(view: &View) -> Markup {
    let first = (view.page_number - 1) * PAGE_SIZE + 1;
    let last = first + view.issues.issues.len() - 1;
    html! {
        nav.paging aria-label="Pages" {
            @if view.page_number > 1 {
                a rel="prev" href=(address(view.status, view.page_number - 1)) { "← Newer" }
            }
            span { (first) "–" (last) " of " (view.issues.total) }
            @if last < view.issues.total {
                a rel="next" href=(address(view.status, view.page_number + 1)) { "Older →" }
            }
        }
    }
}

fn address(status: Option<Status>, page: usize) -> String {
    match (status, page) {
        (None, 1) => "/".to_owned(),
        (None, page) => format!("/?page={page}"),
        (Some(status), 1) => format!("/?status={status}"),
        (Some(status), page) => format!("/?status={status}&page={page}"),
    }
}

fn ago(time: Timestamp, now: Timestamp) -> Markup {
    let span = span::words(now.millis_since(time));
    html! { time datetime=(time) title=(time) { (span) " ago" } }
}

/// A status as people write it.
fn words(status: Status) -> String {
    status.as_str().replace('_', " ")
}
