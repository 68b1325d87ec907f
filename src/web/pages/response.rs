//! The responses with pages: errors are rendered, and each page gets an `ETag`.

use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use maud::Markup;
use xxhash_rust::xxh3::Xxh3;

use super::error::ErrorPage;
use super::layout;
use crate::web::{WebState, etag};

/// The end of an attribute.
const QUOTE: u8 = 0x22;

const HTML: &str = "text/html; charset=utf-8";

/// Renders errors, and gives each page an `ETag` that does not depend on the time of rendering.
pub(in crate::web) async fn finish(
    State(state): State<WebState>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers().clone();
    let response = next.run(request).await;
    if let Some(error) = response.extensions().get::<ErrorPage>() {
        return error.render(&state.project);
    }
    let is_page =
        response.headers().get(header::CONTENT_TYPE).is_some_and(|media_type| media_type == HTML);
    if response.status() != StatusCode::OK || !is_page {
        return response;
    }
    let Ok(body) = to_bytes(response.into_body(), usize::MAX).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let mut version = Xxh3::new();
    for part in without_time(&body) {
        version.update(part);
    }
    etag::respond_as(&headers, HTML, version.digest128(), body.into())
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
pub(in crate::web) fn respond(status: StatusCode, page: Markup) -> Response {
    (status, [(header::CACHE_CONTROL, "no-cache")], page).into_response()
}
