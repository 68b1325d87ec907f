//! Who has a port that this process could not have.

use std::time::Duration;

use listeners::Protocol;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const PROBE_TIMEOUT: Duration = Duration::from_millis(300);
const MAX_ANSWER_BYTES: u64 = 2048;

/// Says, as far as that can be told, who listens on a port of 127.0.0.1: the process, and what its
/// HTTP answer calls itself.
pub async fn port_owner(port: u16) -> String {
    let process = tokio::task::spawn_blocking(move || {
        listeners::get_process_by_port(port, Protocol::TCP).ok()
    });
    let process = process.await.ok().flatten();
    let server = tokio::time::timeout(PROBE_TIMEOUT, server_header(port)).await.ok().flatten();
    match (process, server) {
        (Some(process), Some(server)) => {
            format!("process {} ({}), which answers as {server}", process.pid, process.name)
        }
        (Some(process), None) => format!("process {} ({})", process.pid, process.name),
        (None, Some(server)) => format!("a program that answers as {server}"),
        (None, None) => "another program".to_owned(),
    }
}

/// The `Server` header of the answer to a plain request.
async fn server_header(port: u16) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
    let request = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    stream.take(MAX_ANSWER_BYTES).read_to_end(&mut answer).await.ok()?;
    let answer = String::from_utf8_lossy(&answer);
    let (_, server) = answer
        .lines()
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("server"))?;
    // It comes from a stranger and goes into a log line.
    Some(
        server
            .chars()
            .filter(|character| !character.is_control())
            .take(80)
            .collect::<String>()
            .trim()
            .to_owned(),
    )
}
