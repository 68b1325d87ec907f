//! A list of issues as CSV, for spreadsheets.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Response};

use super::WebState;
use super::listing::Listing;
use super::pages::error::ErrorJson;
use super::query::ListQuery;
use ait_domain::{Issue, Page};
use ait_interchange::FileFormat;

/// How many issues one answer has at most; the parameter `page` asks for the next ones.
pub(super) const MAX_ROWS: usize = 10_000;
/// After how many bytes of texts an answer ends, in case the issues are very long.
const MAX_BYTES: usize = 64 * 1024 * 1024;

const MEDIA_TYPE: &str = "text/csv; charset=utf-8";
/// How many issues match. An answer with fewer rows is a part.
const TOTAL: HeaderName = HeaderName::from_static("x-total-count");

/// Answers with the matching issues as CSV, in the format of `ait export`. Takes the same parameters as the list.
pub(super) async fn issues(
    State(state): State<WebState>,
    RawQuery(query): RawQuery,
) -> Result<Response, ErrorJson> {
    let query = ListQuery::parse_request(query.as_deref())?;
    let listing = Listing::find(&state, &query, MAX_ROWS).await??;
    let Page { issues, total, .. } = listing.found;
    let headers = [
        (header::CONTENT_TYPE, MEDIA_TYPE.to_owned()),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"issues.csv\"".to_owned()),
        (header::CACHE_CONTROL, "no-cache".to_owned()),
        (TOTAL, total.to_string()),
    ];
    Ok((headers, csv(issues)).into_response())
}

fn csv(mut issues: Vec<Arc<Issue>>) -> Vec<u8> {
    let mut left_bytes = MAX_BYTES;
    let fits = |issue: &&Arc<Issue>| {
        let is_left = left_bytes > 0;
        left_bytes = left_bytes.saturating_sub(length(issue));
        is_left
    };
    let fitting = issues.iter().take_while(fits).count();
    issues.truncate(fitting);
    let mut csv = Vec::new();
    ait_interchange::write(&issues, FileFormat::Csv, &mut csv, &|| ())
        .expect("writing to memory cannot fail");
    csv
}

/// Returns the length of the texts of an issue, in bytes.
fn length(issue: &Issue) -> usize {
    issue.description.len() + issue.comments.iter().map(|comment| comment.text.len()).sum::<usize>()
}
