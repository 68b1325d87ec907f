//! Conditional responses: 304 to clients that already have the body.

use axum::http::{Extensions, HeaderMap, HeaderValue, StatusCode, Version, header};
use axum::response::{IntoResponse, Response};
use xxhash_rust::xxh3::xxh3_128;

/// Answers with a body, or with 304 if the request names its `ETag` in `If-None-Match` (RFC 9110,
/// section 13.1.2). Clients may cache the response but must revalidate it each time.
pub fn respond(request: &HeaderMap, media_type: &'static str, body: Vec<u8>) -> Response {
    respond_as(request, media_type, xxh3_128(&body), body)
}

/// Answers as [`respond`] does, with an `ETag` that names `version` instead of the body.
pub fn respond_as(
    request: &HeaderMap,
    media_type: &'static str,
    version: u128,
    body: Vec<u8>,
) -> Response {
    // Weak, because the compression layer may change the bytes.
    respond_tagged(request, media_type, "W/", &format!("\"{version:032x}\""), body)
}

/// Answers as [`respond`] does, with a strong `ETag` that names `version`. Such a response is never compressed.
pub fn respond_exactly(
    request: &HeaderMap,
    media_type: &'static str,
    version: &str,
    body: Vec<u8>,
) -> Response {
    respond_tagged(request, media_type, "", &format!("\"{version}\""), body)
}

/// Returns true if a response may be compressed. A strong `ETag` promises the same bytes in each response.
pub fn may_compress(_: StatusCode, _: Version, headers: &HeaderMap, _: &Extensions) -> bool {
    headers.get(header::ETAG).is_none_or(|tag| tag.as_bytes().starts_with(b"W/"))
}

fn respond_tagged(
    request: &HeaderMap,
    media_type: &'static str,
    weakness: &str,
    tag: &str,
    body: Vec<u8>,
) -> Response {
    let is_cached = matches(request, tag);
    let tag = HeaderValue::from_str(&format!("{weakness}{tag}"));
    let headers = [
        (header::ETAG, tag.expect("digits and dots in quotes make a header value")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (header::VARY, HeaderValue::from_static("accept-encoding")),
    ];
    if is_cached {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    (headers, [(header::CONTENT_TYPE, media_type)], body).into_response()
}

/// Returns true if an `If-None-Match` header is `*` or contains the quoted tag, weak or strong.
///
/// Neither quotes nor commas occur within our tags, so a tag in a list needs no parser to be found.
fn matches(request: &HeaderMap, tag: &str) -> bool {
    let mut conditions =
        request.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    conditions.any(|condition| condition.trim() == "*" || condition.contains(tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(conditions: &[&str]) -> Response {
        let mut request = HeaderMap::new();
        for condition in conditions {
            request.append(header::IF_NONE_MATCH, HeaderValue::from_str(condition).unwrap());
        }
        respond(&request, "application/json", b"{}".to_vec())
    }

    #[test]
    fn a_matching_if_none_match_gets_304() {
        let full = response(&[]);
        assert_eq!(full.status(), StatusCode::OK);
        assert_eq!(full.headers()["cache-control"], "no-cache");
        assert_eq!(full.headers()["content-type"], "application/json");
        let tag = full.headers()["etag"].to_str().unwrap().to_owned();
        let strong = tag.strip_prefix("W/").unwrap();
        assert!(strong.len() == 34 && strong.starts_with('"'), "{tag}");
        for conditions in [
            vec!["*"],
            vec![" * "],
            vec![tag.as_str()],
            vec![strong],
            vec![&format!("\"a\", {tag}")],
            vec![&format!("\"a,b\",,\tW/\"c\" ,{tag},\"d\"")],
            vec!["\"a\"", tag.as_str()],
        ] {
            let cached = response(&conditions);
            assert_eq!(cached.status(), StatusCode::NOT_MODIFIED, "{conditions:?}");
            assert_eq!(cached.headers()["etag"], tag.as_str());
            assert_eq!(cached.headers()["cache-control"], "no-cache");
            assert!(!cached.headers().contains_key("content-type"));
        }
        let bare = strong.trim_matches('"');
        for conditions in [
            vec![""],
            vec!["\"\""],
            vec![bare],
            vec![&format!("\"{bare}")],
            vec![&format!("\"a{bare}\"")],
            vec!["\"*\""],
            vec!["*, \"a\""],
        ] {
            assert_eq!(response(&conditions).status(), StatusCode::OK, "{conditions:?}");
        }
    }
}
