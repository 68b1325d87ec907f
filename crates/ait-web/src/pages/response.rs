//! The responses with pages: errors are rendered, and each page is translated and gets an `ETag`.

use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use maud::Markup;
use serde_json::json;
use xxhash_rust::xxh3::Xxh3;

use super::error::{ErrorPage, is_of_api};
use super::layout;
use crate::language::Chosen;
use crate::{WebState, etag};
use ait_tracker::hints;

/// The end of an attribute.
const QUOTE: u8 = 0x22;

/// The key of what is damaged, in JSON.
pub(crate) const DAMAGED: &str = "damaged";

const HTML: &str = "text/html; charset=utf-8";

/// Renders errors, translates pages, and gives each an `ETag` that does not depend on the time of rendering.
pub(crate) async fn finish(
    State(state): State<WebState>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers().clone();
    let uri = request.uri().clone();
    let mut response = next.run(request).await;
    if let Some(error) = response.extensions().get::<ErrorPage>() {
        response = error.render(&state.project, &state.streams.probe().await);
    }
    let is_page =
        response.headers().get(header::CONTENT_TYPE).is_some_and(|media_type| media_type == HTML);
    if !is_page {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(body) = to_bytes(body, usize::MAX).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let chosen = Chosen::of(&headers, uri.query(), &state.project);
    let body = chosen.translated(body.into());
    if parts.status != StatusCode::OK {
        parts.headers.remove(header::CONTENT_LENGTH);
        return chosen.noted_in(Response::from_parts(parts, body.into()));
    }
    let mut version = Xxh3::new();
    for part in without_time(&body) {
        version.update(part);
    }
    chosen.noted_in(etag::respond_as(&headers, HTML, version.digest128(), body))
}

/// Says in the JSON of a damaged store what is damaged, and refuses copies of it in other formats.
pub(crate) async fn say_damage(
    State(state): State<WebState>,
    mut request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path();
    let is_api = is_of_api(&request);
    if !is_api && !["/issues.csv", "/activity.atom"].contains(&path) {
        return next.run(request).await;
    }
    let Some(damage) = state.tracker.damage().await else { return next.run(request).await };
    if !is_api {
        return ErrorPage::from(damage).into_response();
    }
    // A client that has the body without the damage must get it again.
    request.headers_mut().remove(header::IF_NONE_MATCH);
    let (mut parts, body) = next.run(request).await.into_parts();
    parts.headers.remove(header::ETAG);
    parts.headers.remove(header::CONTENT_LENGTH);
    let Ok(body) = to_bytes(body, usize::MAX).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let Some(rest) = body.strip_prefix(b"{") else {
        return Response::from_parts(parts, body.into());
    };
    let damage = hints::for_store(&damage, &hints::COMMANDS);
    let mut json = format!("{{\"{DAMAGED}\":{},", json!(damage)).into_bytes();
    json.extend(rest);
    Response::from_parts(parts, json.into())
}

/// Returns what is before and after the time in the markup of a page.
fn without_time(body: &[u8]) -> [&[u8]; 2] {
    let name = layout::NOW.as_bytes();
    let begin =
        body.windows(name.len()).position(|part| part == name).map_or(0, |at| at + name.len());
    let end = body[begin..].iter().position(|byte| *byte == QUOTE).map_or(begin, |at| begin + at);
    [&body[..begin], &body[end..]]
}

/// Answers with a page that browsers must revalidate.
pub(crate) fn respond(status: StatusCode, page: Markup) -> Response {
    (status, [(header::CACHE_CONTROL, "no-cache")], page).into_response()
}
