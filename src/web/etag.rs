//! Answering with a body, or telling a reader that the one it has is still the right one.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use xxhash_rust::xxh3::xxh3_128;

/// Answers a request for a body, of the given media type: 200 with an `ETag`, or 304 without the
/// body when the request says by `If-None-Match` that its sender has it (RFC 9110, section 13.1.2).
///
/// The answer may be kept, but has to be asked for again each time.
pub fn answer(request: &HeaderMap, media_type: &'static str, body: Vec<u8>) -> Response {
    // Weak, because the bytes may be compressed on the way.
    let tag = format!("W/\"{:032x}\"", xxh3_128(&body));
    answer_as(request, media_type, &tag, body)
}

/// The same with a tag that is made of something else than the body.
pub fn answer_as(
    request: &HeaderMap,
    media_type: &'static str,
    tag: &str,
    body: Vec<u8>,
) -> Response {
    let is_known = fits(request, tag.trim_start_matches("W/"));
    let tag = HeaderValue::from_str(tag).expect("hexadecimal digits in quotes make a header value");
    let kept = [
        (header::ETAG, tag),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (header::VARY, HeaderValue::from_static("accept-encoding")),
    ];
    if is_known {
        return (StatusCode::NOT_MODIFIED, kept).into_response();
    }
    (kept, [(header::CONTENT_TYPE, media_type)], body).into_response()
}

/// Tells whether a request names a tag, in whichever of its `If-None-Match` headers.
fn fits(request: &HeaderMap, tag: &str) -> bool {
    let conditions = request.get_all(header::IF_NONE_MATCH).iter();
    conditions.filter_map(|value| value.to_str().ok()).any(|value| names(value, tag))
}

/// Tells whether a condition is `*` or a list with a tag in it. The comparison is the weak one: how the
/// sender's tag was meant makes no difference.
fn names(condition: &str, tag: &str) -> bool {
    let mut rest = condition.trim();
    if rest == "*" {
        return true;
    }
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let opaque = rest.strip_prefix("W/").unwrap_or(rest);
        // A tag may hold a comma: it ends with its quote.
        let Some(end) = opaque.strip_prefix('"').and_then(|inner| inner.find('"')) else {
            return false;
        };
        let (given, others) = opaque.split_at(end + 2);
        if given == tag {
            return true;
        }
        rest = others;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(conditions: &[&str]) -> Response {
        let mut request = HeaderMap::new();
        for condition in conditions {
            request.append(header::IF_NONE_MATCH, HeaderValue::from_str(condition).unwrap());
        }
        answer(&request, "application/json", b"{}".to_vec())
    }

    #[test]
    fn whoever_has_the_body_is_told_so_and_gets_no_other() {
        let whole = asked(&[]);
        assert_eq!(whole.status(), StatusCode::OK);
        assert_eq!(whole.headers()["cache-control"], "no-cache");
        assert_eq!(whole.headers()["content-type"], "application/json");
        let tag = whole.headers()["etag"].to_str().unwrap().to_owned();
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
            let answer = asked(&conditions);
            assert_eq!(answer.status(), StatusCode::NOT_MODIFIED, "{conditions:?}");
            assert_eq!(answer.headers()["etag"], tag.as_str());
            assert_eq!(answer.headers()["cache-control"], "no-cache");
            assert!(!answer.headers().contains_key("content-type"));
        }
        let bare = strong.trim_matches('"');
        for conditions in [
            vec![""],
            vec!["\"\""],
            vec![bare],
            vec![&format!("\"{bare}")],
            vec![&format!("w/{strong}")],
            vec![&format!("\"a{strong}")],
            vec!["\"*\""],
            vec!["*, \"a\""],
        ] {
            assert_eq!(asked(&conditions).status(), StatusCode::OK, "{conditions:?}");
        }
    }
}
