//! The event stream.

use std::fs;
use std::time::Instant;

use serde_json::json;

use super::serve;
use crate::support::http::Raw;
use crate::support::{Client, get};

/// The event stream of an open page.
struct Stream {
    raw: Raw,
    received: String,
}

impl Stream {
    fn open(port: u16) -> Self {
        let mut raw = Raw::connect(port);
        raw.send("GET /events HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n");
        let received = raw.begin();
        Self { raw, received }
    }

    /// Waits for the next event of a name and returns its data.
    fn next(&mut self, name: &str) -> String {
        let begin = format!("event: {name}\n");
        loop {
            if let Some((_, event)) = self.received.split_once(&begin)
                && let Some((event, rest)) = event.split_once("\n\n")
            {
                let data = event.lines().find_map(|line| line.strip_prefix("data: "));
                let data = data.unwrap_or_default().to_owned();
                self.received = rest.to_owned();
                return data;
            }
            let received = self.raw.some();
            assert!(!received.is_empty(), "the stream ended: {}", self.received);
            self.received += &received;
        }
    }
}

/// Returns the store version that the list shows.
fn version(port: u16) -> String {
    let body = get(port, "/").body;
    let (_, rest) = body.split_once("data-version=\"").unwrap();
    rest.split('"').next().unwrap().to_owned()
}

#[test]
fn stream_announces_changes_by_every_process() {
    let (directory, mut client, port) = serve(&[]);
    let mut stream = Stream::open(port);
    assert!(stream.received.contains("content-type: text/event-stream"), "{}", stream.received);
    assert!(!stream.received.contains("content-encoding"), "{}", stream.received);
    let before = stream.next("hello");
    assert_eq!(before, version(port));
    // The first change creates the log, which may send an extra event.
    client.add("t", "bug");
    while stream.next("change") != version(port) {}
    let before = version(port);
    let mut other = Client::start(directory.path());
    let mut last = before;
    for turn in 0..4 {
        let begun = Instant::now();
        if turn % 2 == 0 {
            client.add("t", "bug")
        } else {
            other.add("t", "bug")
        };
        let now = stream.next("change");
        assert_ne!(now, last);
        assert_eq!(now, version(port));
        last = now;
        eprintln!("announced after {:?}", begun.elapsed());
    }
    // No process announces an external edit, so the server must notice it.
    drop((client.call("list_issues", json!({})), other.close()));
    let path = directory.path().join("issues.json");
    let edited = fs::read_to_string(&path).unwrap().replace("\"t\"", "\"other\"");
    fs::write(&path, edited).unwrap();
    stream.next("change");
}

#[test]
fn an_idle_stream_sends_heartbeats() {
    let (_directory, _client, port) = serve(&[]);
    let mut stream = Stream::open(port);
    stream.next("hello");
    // Browsers ignore events without data.
    assert!(!stream.next("beat").is_empty());
}

#[test]
fn streams_start_with_the_version_and_end_with_the_server() {
    let (_directory, mut client, port) = serve(&[]);
    let mut stream = Stream::open(port);
    let before = stream.next("hello");
    client.add("t", "bug");
    let now = stream.next("change");
    let mut late = Stream::open(port);
    assert_eq!(late.next("hello"), now);
    assert_ne!(before, now);
    assert!(client.close().success());
    assert!(stream.raw.some().is_empty() || stream.raw.rest().is_empty());
}
