//! Ignores the query parameters that no page takes, such as those that trackers add to links. Requests of programs keep
//! them, so that a misspelt one is refused.

use axum::extract::Request;
use axum::http::Uri;
use axum::http::uri::PathAndQuery;
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};

use super::query::ListQuery;

/// The parameters that other pages than the list take.
const OTHERS: [&str; 9] =
    ["kind", "issue", "since", "before", "after", "all", "range", "lanes", "done"];

/// The wallboard, which `?wall` behind the address of any page leads to.
const WALL: &str = "/wall";

fn asks_for_wall(pair: &str) -> bool {
    pair.split('=').next() == Some("wall")
}

/// Passes a request for a page on without the parameters that no page takes.
pub(super) async fn ignore(mut request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let is_for_programs =
        path.starts_with("/api/") || ["/activity.atom", "/issues.csv"].contains(&path);
    if !is_for_programs
        && request.uri().query().is_some_and(|query| query.split('&').any(asks_for_wall))
    {
        return Redirect::to(WALL).into_response();
    }
    if !is_for_programs && let Some(uri) = without_unknown(request.uri()) {
        *request.uri_mut() = uri;
    }
    next.run(request).await
}

/// Returns the address without the unknown parameters; `None` if it has none.
fn without_unknown(uri: &Uri) -> Option<Uri> {
    let query = uri.query()?;
    let is_known = |pair: &&str| {
        let name = form_urlencoded::parse(pair.as_bytes()).next();
        name.is_some_and(|(name, _)| {
            ListQuery::PARAMETERS.contains(&&*name) || OTHERS.contains(&&*name)
        })
    };
    let known: Vec<&str> = query.split('&').filter(is_known).collect();
    let known = known.join("&");
    if known == query {
        return None;
    }
    let mark = if known.is_empty() { "" } else { "?" };
    let mut parts = uri.clone().into_parts();
    let path = format!("{}{mark}{known}", uri.path());
    parts.path_and_query = Some(PathAndQuery::try_from(path).ok()?);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unknown_parameters_are_dropped() {
        for (given, expected) in [
            ("/", None),
            ("/?status=open&label=a%26b", None),
            ("/?utm_source=mail", Some("/")),
            (
                "/?utm_source=mail&status=open&fbclid=&status=closed",
                Some("/?status=open&status=closed"),
            ),
            ("/board?%73tatus=x&", Some("/board?%73tatus=x")),
        ] {
            let found = without_unknown(&given.parse().unwrap());
            assert_eq!(found.map(|uri| uri.to_string()).as_deref(), expected, "{given}");
        }
    }
}
