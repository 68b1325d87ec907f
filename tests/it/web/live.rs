//! The stream of events.

use std::fs;
use std::time::Instant;

use serde_json::json;

use super::serve;
use crate::support::http::Raw;
use crate::support::{Client, get};

/// An open page, as far as the server knows.
struct Stream {
    raw: Raw,
    heard: String,
}

impl Stream {
    fn open(port: u16) -> Self {
        let mut raw = Raw::connect(port);
        raw.send("GET /events HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n");
        let heard = raw.begin();
        Self { raw, heard }
    }

    /// Waits for the next event of a name, and gives its data.
    fn next(&mut self, name: &str) -> String {
        let begin = format!("event: {name}\n");
        loop {
            if let Some((_, event)) = self.heard.split_once(&begin)
                && let Some((event, rest)) = event.split_once("\n\n")
            {
                let data = event.lines().find_map(|line| line.strip_prefix("data: "));
                let data = data.unwrap_or_default().to_owned();
                self.heard = rest.to_owned();
                return data;
            }
            let heard = self.raw.some();
            assert!(!heard.is_empty(), "the stream has ended: {}", self.heard);
            self.heard += &heard;
        }
    }
}

/// Where the store stands that a page shows.
fn place(port: u16) -> String {
    let body = get(port, "/").body;
    let (_, rest) = body.split_once("data-place=\"").unwrap();
    rest.split('"').next().unwrap().to_owned()
}

#[test]
fn a_stream_tells_of_every_change_by_any_process() {
    let (directory, mut client, port) = serve(&[]);
    let mut stream = Stream::open(port);
    assert!(stream.heard.contains("content-type: text/event-stream"), "{}", stream.heard);
    assert!(!stream.heard.contains("content-encoding"), "{}", stream.heard);
    let before = stream.next("hello");
    assert_eq!(before, place(port));
    // With the first change the log is made, which may be told by itself.
    client.add("t", "bug");
    while stream.next("change") != place(port) {}
    let before = place(port);
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
        assert_eq!(now, place(port));
        last = now;
        eprintln!("told after {:?}", begun.elapsed());
    }
    // Edited by hand, which no process tells of.
    drop((client.call("list_issues", json!({})), other.close()));
    let path = directory.path().join("issues.json");
    let edited = fs::read_to_string(&path).unwrap().replace("\"t\"", "\"other\"");
    fs::write(&path, edited).unwrap();
    stream.next("change");
}

#[test]
fn a_stream_on_which_nothing_happens_says_that_it_is_there() {
    let (_directory, _client, port) = serve(&[]);
    let mut stream = Stream::open(port);
    stream.next("hello");
    // What has no data is no event for a browser.
    assert!(!stream.next("beat").is_empty());
}

#[test]
fn a_stream_ends_with_its_server_and_says_where_the_next_one_stands() {
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
