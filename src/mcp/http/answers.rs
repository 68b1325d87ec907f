//! Answers: one that comes alone is sent as plain JSON; a stream is begun only where something comes
//! before it, or where it takes long.
//!
//! rmcp answers requests of a session with a stream of server-sent events, of which there is
//! nearly always one. Plain JSON is smaller, is understood by every HTTP tool, and is not held back by
//! proxies that collect events.

use std::convert::Infallible;
use std::task::Poll;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderValue, header, response};
use axum::response::Response;
use futures::stream::{self, StreamExt};
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::time::{Instant, timeout_at};

use super::EVENT_STREAM;

/// The end of an event.
const BLANK_LINE: &[u8] = b"\n\n";

/// The answer to a request, as plain JSON if it comes alone and within some time; `None` when there is
/// none. Calls `passed_on` when the connection takes the answer, and drops it uncalled if it never does.
pub(super) async fn plain<F>(response: Response, within: Duration, passed_on: F) -> Option<Response>
where
    F: FnOnce() + Send + 'static,
{
    let deadline = Instant::now() + within;
    let (mut parts, body) = response.into_parts();
    let kind = parts.headers.get(header::CONTENT_TYPE);
    if !kind.is_some_and(|kind| kind.as_bytes().starts_with(EVENT_STREAM.as_bytes())) {
        let answer = to_bytes(body, usize::MAX).await.unwrap_or_default();
        return Some(whole(parts, answer, passed_on));
    }
    let mut frames = body.into_data_stream();
    let mut begun = Vec::new();
    while let Ok(frame) = timeout_at(deadline, frames.next()).await {
        let Some(Ok(frame)) = frame else {
            if begun.is_empty() {
                return None;
            }
            break;
        };
        begun.extend_from_slice(&frame);
        let Some(end) = begun.windows(BLANK_LINE.len()).position(|it| it == BLANK_LINE) else {
            continue;
        };
        let event = &begun[..end];
        if event.starts_with(b":") {
            // A sign of life.
            begun.drain(..end + BLANK_LINE.len());
        } else if let Some(answer) = answer_in(event) {
            let json = HeaderValue::from_static("application/json");
            parts.headers.insert(header::CONTENT_TYPE, json);
            parts.headers.remove("x-accel-buffering");
            return Some(whole(parts, answer.into(), passed_on));
        } else {
            break;
        }
    }
    let begun = stream::iter([Ok(Bytes::from(begun))]);
    let mut passed_on = Some(passed_on);
    let end = stream::poll_fn(move |_| {
        if let Some(passed_on) = passed_on.take() {
            passed_on();
        }
        Poll::Ready(None)
    });
    Some(Response::from_parts(parts, Body::from_stream(begun.chain(frames).chain(end))))
}

/// An answer that is all there.
fn whole<F>(mut parts: response::Parts, answer: Bytes, passed_on: F) -> Response
where
    F: FnOnce() + Send + 'static,
{
    parts.headers.insert(header::CONTENT_LENGTH, answer.len().into());
    let body = stream::once(async move {
        passed_on();
        Ok::<_, Infallible>(answer)
    });
    Response::from_parts(parts, Body::from_stream(body))
}

/// The message of an event, if it is the answer to a request.
fn answer_in(event: &[u8]) -> Option<Vec<u8>> {
    /// What tells an answer from requests and notifications of the server.
    #[derive(Deserialize)]
    struct Answer {
        method: Option<IgnoredAny>,
    }

    let mut data =
        event.split(|byte| *byte == b'\n').filter_map(|line| line.strip_prefix(b"data:"));
    let (Some(message), None) = (data.next(), data.next()) else {
        return None;
    };
    let answer: Answer = serde_json::from_slice(message).ok()?;
    answer.method.is_none().then(|| message.trim_ascii().to_vec())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// What becomes of a stream with these frames, and whether it is JSON.
    async fn answered(frames: &[&'static str], is_open: bool) -> (bool, String) {
        let frames: Vec<_> = frames.iter().map(|it| Ok::<_, std::io::Error>(*it)).collect();
        let frames = stream::iter(frames);
        let body = match is_open {
            false => Body::from_stream(frames),
            true => Body::from_stream(frames.chain(stream::pending().take_until(async {
                tokio::time::sleep(Duration::from_millis(200)).await;
            }))),
        };
        let mut response = Response::new(body);
        let kind = HeaderValue::from_static(EVENT_STREAM);
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        let response = plain(response, Duration::from_millis(20), || ()).await;
        let Some(response) = response else { return (false, "none".to_owned()) };
        let is_json = response.headers()[header::CONTENT_TYPE] == "application/json";
        let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (is_json, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn only_an_answer_that_comes_alone_and_soon_is_plain_json() {
        let answer = "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\nid: 0/1\n\n";
        let json = answer.lines().next().unwrap().strip_prefix("data: ").unwrap();
        let notification = "data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n";
        for (frames, is_open, is_json, expected) in [
            (vec![answer], false, true, json.to_owned()),
            (vec![answer], true, true, json.to_owned()),
            (vec![":\n\n", &answer[..9], &answer[9..]], true, true, json.to_owned()),
            (vec![notification, answer], false, false, format!("{notification}{answer}")),
            (
                vec!["data:\nretry: 3000\n\n", answer],
                false,
                false,
                format!("data:\nretry: 3000\n\n{answer}"),
            ),
            (vec![], false, false, "none".to_owned()),
            (vec![], true, false, String::new()),
            (vec![&answer[..9]], true, false, answer[..9].to_owned()),
        ] {
            assert_eq!(answered(&frames, is_open).await, (is_json, expected), "{frames:?}");
        }
    }

    #[tokio::test]
    async fn an_answer_counts_as_passed_on_when_it_was_taken_and_not_before() {
        for (kind, text) in [
            ("application/json", "{}"),
            (EVENT_STREAM, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"),
            (EVENT_STREAM, "data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n"),
        ] {
            for is_taken in [false, true] {
                let mut response = Response::new(Body::from(text));
                let kind = HeaderValue::from_static(kind);
                response.headers_mut().insert(header::CONTENT_TYPE, kind);
                let passed_on = Arc::new(AtomicBool::new(false));
                let noted = Arc::clone(&passed_on);
                let note = move || noted.store(true, Ordering::SeqCst);
                let response = plain(response, Duration::from_secs(1), note).await.unwrap();
                assert!(!passed_on.load(Ordering::SeqCst), "{text}");
                match is_taken {
                    true => drop(to_bytes(response.into_body(), usize::MAX).await.unwrap()),
                    false => drop(response),
                }
                assert_eq!(passed_on.load(Ordering::SeqCst), is_taken, "{text}");
                assert_eq!(Arc::strong_count(&passed_on), 1, "{text}");
            }
        }
    }
}
