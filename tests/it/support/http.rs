//! `ait serve` processes and their HTTP clients.

use std::collections::HashMap;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::files::store_directory;
use super::{Answer, Log, PATIENCE, ait, get, id_in, initialize_params, request, signal, wait};

/// A running `ait serve`, killed on drop.
pub struct Server {
    child: Child,
    log: Log,
    pub port: u16,
    directory: PathBuf,
}

impl Server {
    pub fn start(directory: &Path) -> Self {
        Self::start_with(directory, 0, &[])
    }

    pub fn start_with(directory: &Path, port: u16, arguments: &[&str]) -> Self {
        let mut command = ait(directory);
        command.arg("serve").args(arguments).env("PORT", port.to_string());
        Self::spawn(command, directory)
    }

    /// Starts a prepared command in its directory.
    pub fn spawn(mut command: Command, directory: &Path) -> Self {
        let mut child = command.spawn().unwrap();
        let log = Log::of(child.stderr.take().unwrap());
        let text = log.wait_for("pages: http://localhost:");
        let (_, rest) = text.split_once("pages: http://localhost:").unwrap();
        let port = rest.split_whitespace().next().unwrap();
        Self { child, log, port: port.parse().unwrap(), directory: directory.to_owned() }
    }

    /// Kills the process with SIGKILL, and starts another on the same port.
    pub fn kill_and_start_again(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        *self = Self::start_with(&self.directory, self.port, &[]);
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, name: &str) {
        signal(&self.child, name);
    }

    pub fn wait(&mut self) -> ExitStatus {
        wait(&mut self.child)
    }

    pub fn log(&self) -> &Log {
        &self.log
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An HTTP response.
pub struct Reply {
    pub status: u16,
    pub kind: String,
    pub session: Option<String>,
    pub body: String,
}

impl Reply {
    /// Parses the body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("not JSON: {}", self.body))
    }

    /// Returns the result of a tool call.
    #[track_caller]
    pub fn answer(&self) -> Answer {
        let message = self.json();
        let text = message["result"]["content"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("{}: no text in {message}", self.status));
        Answer { text: text.to_owned(), is_error: message["result"]["isError"] == true }
    }
}

/// An agent that uses HTTP. It sends raw JSON-RPC, so that tests control each message.
pub struct Agent {
    http: reqwest::blocking::Client,
    pub port: u16,
    pub session: Option<String>,
    last_id: u64,
    /// The query of its URL, with the question mark.
    pub query: String,
}

impl Agent {
    /// Creates an agent without a session.
    pub fn new(port: u16) -> Self {
        Self { http: connections(), port, session: None, last_id: 0, query: String::new() }
    }

    /// Creates an agent that sends a token with each request.
    pub fn authorized(port: u16, authorization: &str) -> Self {
        let mut agent = Self::new(port);
        agent.authorize(authorization);
        agent
    }

    /// Sends another token from now on, over new connections.
    pub fn authorize(&mut self, authorization: &str) {
        let headers = [("authorization".to_owned(), authorization.to_owned())];
        let headers = (&HashMap::from(headers)).try_into().unwrap();
        self.http = client_builder().default_headers(headers).build().unwrap();
    }

    /// Replaces its connections with new ones.
    pub fn reconnect(&mut self) {
        self.http = connections();
    }

    /// Creates an agent and begins a session.
    pub fn connect(port: u16) -> Self {
        let mut agent = Self::new(port);
        agent.begin();
        agent
    }

    /// Begins a session.
    pub fn begin(&mut self) {
        self.try_begin().unwrap();
    }

    /// Begins a session. Fails if the server is down.
    pub fn try_begin(&mut self) -> reqwest::Result<()> {
        let reply = self.try_request("initialize", initialize_params())?;
        assert_eq!(reply.status, 200, "{}", reply.body);
        self.session = reply.session;
        let begun = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(self.post(&begun)?.status, 202);
        Ok(())
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp{}", self.port, self.query)
    }

    /// Sends a message and returns the response. Fails if the server is down.
    pub fn post(&self, message: &Value) -> reqwest::Result<Reply> {
        received(self.try_stream(message)?)
    }

    /// Sends a message and returns the response as a stream.
    pub fn stream(&self, message: &Value) -> reqwest::blocking::Response {
        self.try_stream(message).unwrap()
    }

    fn try_stream(&self, message: &Value) -> reqwest::Result<reqwest::blocking::Response> {
        let mut post = self.http.post(self.url()).body(message.to_string());
        post = post.header("content-type", "application/json");
        post = post.header("accept", "application/json, text/event-stream");
        if let Some(session) = &self.session {
            post = post.header("mcp-session-id", session);
        }
        if message["params"]["_meta"].is_object() {
            post = post.header("mcp-protocol-version", "2026-07-28");
            post = post.header("mcp-method", message["method"].as_str().unwrap());
            if let Some(name) = message["params"]["name"].as_str() {
                post = post.header("mcp-name", name);
            }
        }
        post.send()
    }

    pub fn request(&mut self, method: &str, params: Value) -> Reply {
        self.try_request(method, params).unwrap()
    }

    pub fn try_request(&mut self, method: &str, params: Value) -> reqwest::Result<Reply> {
        self.last_id += 1;
        self.post(&request(self.last_id, method, params))
    }

    pub fn call(&mut self, tool: &str, arguments: Value) -> Answer {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments })).answer()
    }

    /// Files an issue and returns its id.
    pub fn add(&mut self, title: &str) -> String {
        let arguments =
            json!({ "title": title, "description": "", "classification": "bug", "agent": "test" });
        id_in(&self.call("add_issue", arguments).ok())
    }

    /// Ends the session.
    pub fn delete(&self) -> Reply {
        self.try_delete().unwrap()
    }

    /// Ends the session. Fails if the server is down.
    pub fn try_delete(&self) -> reqwest::Result<Reply> {
        let delete = self.http.delete(self.url());
        let session = self.session.as_deref().unwrap_or_default();
        received(delete.header("mcp-session-id", session).send()?)
    }

    /// Opens the event stream of the session.
    pub fn listen(&self) -> reqwest::blocking::Response {
        let get = self.http.get(self.url()).header("accept", "text/event-stream");
        get.header("mcp-session-id", self.session.as_deref().unwrap()).send().unwrap()
    }
}

/// Creates a client with an empty connection pool.
pub fn connections() -> reqwest::blocking::Client {
    client_builder().build().unwrap()
}

pub fn client_builder() -> reqwest::blocking::ClientBuilder {
    // `ait` turns encryption on, and a client then needs a provider even if it only connects to this machine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::blocking::Client::builder().timeout(PATIENCE).no_proxy()
}

fn received(response: reqwest::blocking::Response) -> reqwest::Result<Reply> {
    let header =
        |name| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    let (kind, session) = (header("content-type").unwrap_or_default(), header("mcp-session-id"));
    let status = response.status().as_u16();
    Ok(Reply { status, kind, session, body: response.text()? })
}

/// Returns the `_meta` of a request in the stateless era.
pub fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// Locks the newest segment, so that no process can change the store. The log must not be empty.
pub fn lock_turn(directory: &Path) -> File {
    let lock = File::open(store_directory(directory).join("turn.lock")).unwrap();
    lock.lock().unwrap();
    lock
}

/// Returns a call that files an issue, always with the same request id.
pub fn filing(addition: Value) -> Value {
    let arguments =
        json!({ "title": "t", "description": "", "classification": "bug", "agent": "a" });
    let mut params = json!({ "name": "add_issue", "arguments": arguments });
    params.as_object_mut().unwrap().extend(addition.as_object().unwrap().clone());
    request(77, "tools/call", params)
}

/// Returns the value of a metric of a server.
#[track_caller]
pub fn metric(port: u16, name: &str) -> u64 {
    find_metric(port, name).unwrap_or_else(|| panic!("no metric {name}"))
}

/// Returns the value of a metric, or `None` before it is first counted.
fn find_metric(port: u16, name: &str) -> Option<u64> {
    let metrics = get(port, "/metrics").body;
    let line = metrics.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
    line.map(|line| line.parse().unwrap())
}

/// Waits until a metric of a server has the expected value.
#[track_caller]
pub fn wait_for_metric(port: u16, name: &str, expected: u64) {
    let start = Instant::now();
    loop {
        let found = find_metric(port, name);
        if found == Some(expected) {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "{name} is {found:?}, not {expected}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// The metric for sessions with subscriptions or an open stream.
pub const SESSIONS: &str = "ait_http_sessions";

/// The metric for calls in progress.
pub const IN_PROGRESS: &str = "ait_operations_in_progress";

/// The metric for cancelled calls of [`filing`].
pub const CANCELLED: &str = "ait_operations_total{tool=\"add_issue\",outcome=\"cancelled\"}";

/// A TCP connection that sends and receives raw bytes.
pub struct Raw(pub TcpStream);

impl Raw {
    pub fn connect(port: u16) -> Self {
        Self::of(TcpStream::connect(("127.0.0.1", port)).unwrap())
    }

    pub fn of(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Self(stream)
    }

    /// Sends bytes. Ignores errors, because the server may already have closed the connection.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        let _gone = self.0.write_all(bytes.as_ref());
        self
    }

    /// Reads until the end of the response header, and returns everything read so far.
    pub fn begin(&mut self) -> String {
        let mut bytes = Vec::new();
        while !bytes.windows(4).any(|window| window == b"\r\n\r\n") {
            let mut some = [0; 1024];
            let count = self.0.read(&mut some).unwrap();
            assert!(count > 0, "the response ended early: {bytes:?}");
            bytes.extend_from_slice(&some[..count]);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Returns the next bytes, or an empty string if the server has closed the connection.
    pub fn some(&mut self) -> String {
        let mut some = [0; 1024];
        let count = self.0.read(&mut some).unwrap();
        String::from_utf8_lossy(&some[..count]).into_owned()
    }

    /// Returns everything until the server closes the connection.
    pub fn rest(&mut self) -> String {
        let mut bytes = Vec::new();
        if let Err(error) = self.0.read_to_end(&mut bytes) {
            let has_ended =
                matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe);
            assert!(has_ended, "the server does not close the connection: {error}");
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    pub fn end(&mut self) {
        let _gone = self.0.shutdown(Shutdown::Both);
    }
}

/// Returns the bytes of a POST request to the MCP endpoint.
pub fn posted(headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let mut bytes = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: \
         application/json, text/event-stream\r\n{headers}Content-Length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// Returns the bytes of a request without a body that closes its connection.
pub fn asked(line: &str, headers: &str) -> Vec<u8> {
    format!("{line} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n").into_bytes()
}

/// Returns the bytes of an MCP request that closes its connection.
pub fn message(body: impl AsRef<[u8]>) -> Vec<u8> {
    posted("Connection: close\r\n", body)
}

/// Returns the header with the session id of an agent.
pub fn session_header(agent: &Agent) -> String {
    format!("Mcp-Session-Id: {}\r\n", agent.session.as_ref().unwrap())
}
