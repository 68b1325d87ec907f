//! Who has a port of this machine: whether another process of the tracker, or a stranger.

use std::time::Duration;

use listeners::Protocol;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::store::StoreId;

/// How long a stranger may take to say who it is, when that is only good to know.
const PROBE_TIMEOUT: Duration = Duration::from_millis(300);
const MAX_ANSWER_BYTES: u64 = 4096;
const MAX_NAME_CHARS: usize = 80;
/// What the tracker calls itself in its answers, before the version.
const PRODUCT: &str = concat!(env!("CARGO_PKG_NAME"), "/");

/// What somebody who listens on a port answers to a health probe.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Answer {
    /// What it calls itself.
    pub server: Option<String>,
    /// What it calls its store.
    pub store: Option<String>,
    /// Which store that is.
    pub store_id: Option<StoreId>,
}

impl Answer {
    /// Tells whether the tracker answers.
    pub fn is_tracker(&self) -> bool {
        self.server.as_ref().is_some_and(|server| server.starts_with(PRODUCT))
    }
}

/// Says, as far as that can be told, who listens on a port of 127.0.0.1: the process, and what its
/// HTTP answer calls itself.
pub(crate) async fn owner(port: u16) -> String {
    let server = answer(port, PROBE_TIMEOUT).await.and_then(|answer| answer.server);
    named(process(port).await, server).unwrap_or_else(|| "another program".to_owned())
}

/// Says the same; `None` when there is nobody.
pub(crate) async fn stranger(port: u16, answer: Option<&Answer>) -> Option<String> {
    let answers = answer.is_some();
    let server = answer.and_then(|answer| answer.server.clone());
    let unnamed = answers.then(|| "another program".to_owned());
    named(process(port).await, server).or(unnamed)
}

/// Asks the health probe on a port of 127.0.0.1; `None` when nothing answers in time.
pub(crate) async fn answer(port: u16, within: Duration) -> Option<Answer> {
    let text = tokio::time::timeout(within, ask(port)).await.ok().flatten()?;
    Some(read(&text))
}

async fn process(port: u16) -> Option<listeners::Process> {
    let process = tokio::task::spawn_blocking(move || {
        listeners::get_process_by_port(port, Protocol::TCP).ok()
    });
    process.await.ok().flatten()
}

fn named(process: Option<listeners::Process>, server: Option<String>) -> Option<String> {
    Some(match (process, server) {
        (Some(process), Some(server)) => {
            format!("process {} ({}), which answers as {server}", process.pid, process.name)
        }
        (Some(process), None) => format!("process {} ({})", process.pid, process.name),
        (None, Some(server)) => format!("a program that answers as {server}"),
        (None, None) => return None,
    })
}

async fn ask(port: u16) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
    let request = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    stream.take(MAX_ANSWER_BYTES).read_to_end(&mut answer).await.ok()?;
    Some(String::from_utf8_lossy(&answer).into_owned())
}

fn read(answer: &str) -> Answer {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer, ""));
    let server = head
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("server"));
    let report: Value = serde_json::from_str(body).unwrap_or_default();
    Answer {
        server: server.map(|(_, server)| harmless(server)),
        store: report["store"].as_str().map(harmless),
        store_id: report["storeId"].as_str().and_then(|id| id.parse().ok()),
    }
}

/// What comes from a stranger and goes into a line for people.
fn harmless(text: &str) -> String {
    let kept = text.chars().filter(|character| !character.is_control()).take(MAX_NAME_CHARS);
    kept.collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tracker_is_known_by_its_server_header_and_tells_its_store() {
        let ours = read(&format!(
            "HTTP/1.1 200 OK\r\nserver: {PRODUCT}1.0.0\r\n\r\n{{\"store\":\"issues.json\"}}"
        ));
        assert!(ours.is_tracker());
        assert_eq!(ours.store.as_deref(), Some("issues.json"));
        let other = read("HTTP/1.0 404 Not Found\r\nServer: Simple\u{7}HTTP\r\n\r\nserver: x");
        let server = Some("SimpleHTTP".to_owned());
        assert_eq!(other, Answer { server, ..Answer::default() });
        assert!(!other.is_tracker());
        assert_eq!(read("SSH-2.0-x"), Answer::default());
    }
}
