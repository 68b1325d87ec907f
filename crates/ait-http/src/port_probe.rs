//! The port probe: finds out whether another process of the tracker or another program listens on a local port, and
//! asks other servers of the user for their numbers.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use listeners::Protocol;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use ait_store::StoreId;

/// How long a listener may take to identify itself, where the result is only informative.
const PROBE_TIMEOUT: Duration = Duration::from_millis(300);
const MAX_ANSWER_BYTES: u64 = 4096;
const MAX_NAME_CHARS: usize = 80;
/// The start of the tracker's `Server` header, before the version.
const PRODUCT: &str = "agent-issue-tracker/";

/// The response of a listener to a health probe.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProbeResponse {
    /// Its `Server` header.
    pub server: Option<String>,
    /// The file of its store.
    pub store: Option<String>,
    pub store_id: Option<StoreId>,
}

impl ProbeResponse {
    /// Returns true if the listener is the tracker.
    pub fn is_tracker(&self) -> bool {
        self.server.as_ref().is_some_and(|server| server.starts_with(PRODUCT))
    }
}

/// Describes the listener on a port of 127.0.0.1, as far as it can be found: its process, and its `Server` header.
pub async fn describe_owner(port: u16) -> String {
    let server = answer(port, PROBE_TIMEOUT).await.and_then(|answer| answer.server);
    named(process(port).await, server).unwrap_or_else(|| "another program".to_owned())
}

/// Describes the listener on a port, given its response to a probe; `None` if nothing listens.
pub async fn describe_listener(port: u16, answer: Option<&ProbeResponse>) -> Option<String> {
    let answers = answer.is_some();
    let server = answer.and_then(|answer| answer.server.clone());
    let unnamed = answers.then(|| "another program".to_owned());
    named(process(port).await, server).or(unnamed)
}

/// Sends a health probe to a port of 127.0.0.1; `None` if nothing responds in time.
pub async fn answer(port: u16, within: Duration) -> Option<ProbeResponse> {
    let text = tokio::time::timeout(within, ask(port)).await.ok().flatten()?;
    Some(read(&text))
}

/// Returns true if the server on a port of 127.0.0.1 refuses a request without a token.
pub async fn needs_token(port: u16, within: Duration) -> bool {
    let address = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port);
    let asked = tokio::time::timeout(within, request(address, "/api/project", MAX_ANSWER_BYTES));
    let answer = asked.await.ok().flatten();
    answer.is_some_and(|answer| answer.split(' ').nth(1) == Some("401"))
}

/// Asks a server at an address for JSON of at most `max_bytes`, which may be that of an error; `None` if there is no
/// such answer in time.
pub async fn json(
    address: SocketAddr,
    path: &str,
    max_bytes: u64,
    within: Duration,
) -> Option<Value> {
    let asked = tokio::time::timeout(within, request(address, path, max_bytes));
    let answer = asked.await.ok().flatten()?;
    let (_, body) = answer.split_once("\r\n\r\n")?;
    serde_json::from_str(body).ok()
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
    request(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port), "/health", MAX_ANSWER_BYTES).await
}

async fn request(address: SocketAddr, path: &str, max_bytes: u64) -> Option<String> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    stream.take(max_bytes).read_to_end(&mut answer).await.ok()?;
    Some(String::from_utf8_lossy(&answer).into_owned())
}

fn read(answer: &str) -> ProbeResponse {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer, ""));
    let server = head
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("server"));
    let report: Value = serde_json::from_str(body).unwrap_or_default();
    ProbeResponse {
        server: server.map(|(_, server)| harmless(server)),
        store: report["store"].as_str().map(harmless),
        store_id: report["storeId"].as_str().and_then(|id| id.parse().ok()),
    }
}

/// Cleans text of unknown origin for output: no control characters, bounded length.
fn harmless(text: &str) -> String {
    let kept = text.chars().filter(|character| !character.is_control()).take(MAX_NAME_CHARS);
    kept.collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probe_recognizes_the_tracker_by_its_server_header() {
        let ours = read(&format!(
            "HTTP/1.1 200 OK\r\nserver: {PRODUCT}1.0.0\r\n\r\n{{\"store\":\"issues.json\"}}"
        ));
        assert!(ours.is_tracker());
        assert_eq!(ours.store.as_deref(), Some("issues.json"));
        let other = read("HTTP/1.0 404 Not Found\r\nServer: Simple\u{7}HTTP\r\n\r\nserver: x");
        let server = Some("SimpleHTTP".to_owned());
        assert_eq!(other, ProbeResponse { server, ..ProbeResponse::default() });
        assert!(!other.is_tracker());
        assert_eq!(read("SSH-2.0-x"), ProbeResponse::default());
    }
}
