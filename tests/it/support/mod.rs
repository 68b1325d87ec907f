//! Starts the binary, talks to it, and reads its files.

#[cfg(feature = "postgres")]
pub mod clock;
pub mod commands;
pub mod disk;
pub mod documents;
pub mod files;
pub mod http;
pub mod pause;
#[cfg(feature = "postgres")]
pub mod pgbouncer;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "postgres")]
pub mod relay;
pub mod runs;
pub mod scene;
pub mod scripts;
pub mod server_context;
pub mod stores;
pub mod trouble;

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The time limit of every wait: longer than any step takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The tools that every agent has, in the order of `tools/list`.
pub const TOOLS: &[&str] = &[
    "add_issue",
    "list_issues",
    "get_next_issue",
    "return_issue",
    "complete_issue",
    "get_next_review_item",
    "close_issue",
];

/// The path of the binary under test: the one in `AIT_BIN` when the tests are compiled, else the one that Cargo builds
/// for them. The latter has extra features from dev-dependencies that the released binary lacks.
pub const BINARY: &str = match option_env!("AIT_BIN") {
    Some(path) => path,
    None => env!("CARGO_BIN_EXE_ait"),
};

/// Returns a command for the binary in a clean environment, with its pages on a free port.
pub fn ait(directory: &Path) -> Command {
    ait_through(BINARY, directory)
}

/// Returns a command like [`ait`] for another program, which must start the binary.
pub fn ait_through(program: &str, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(directory).env("PORT", "0");
    // Keep the port reservations and client settings of the user and of the tests apart.
    command.env("XDG_STATE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/state"));
    command.env("HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/home"));
    command.env_remove("XDG_CONFIG_HOME");
    let others =
        ["AIT_AGENT", "COLUMNS", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "VISUAL", "EDITOR"];
    let server_variables = [
        "AIT_LOG_FILE",
        "AIT_LOG_FORMAT",
        "AIT_BIND",
        "AIT_TOKEN",
        "AIT_TOKEN_FILE",
        "AIT_WEB_ACTIONS",
        "AIT_PROJECTS",
        "AIT_ROLE",
    ];
    let store_variables = ["ISSUES_FILE", "AIT_STORE", "AIT_STORE_PASSWORD"];
    for variable in
        store_variables.into_iter().chain(["RUST_LOG"]).chain(server_variables).chain(others)
    {
        command.env_remove(variable);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A directory that is not inside any repository.
pub fn directory() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// Returns true if a directory has no store files. Files of the process registry do not count.
pub fn has_no_store_files(directory: &Path) -> bool {
    let names = |directory: &Path| files::names(directory).into_iter();
    let own_directory = files::store_directory(directory);
    let is_registry = |name: &str| matches!(name, "processes" | ".gitignore");
    names(directory).all(|name| name == ".ait")
        && (!own_directory.exists() || names(&own_directory).all(|name| is_registry(&name)))
}

/// Creates a directory in memory, for files that only the test's own process reads.
pub fn directory_in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| directory())
}

/// Returns the factor from `AIT_TEST_FACTOR` by which crash and power cut tests run longer.
pub fn factor() -> u64 {
    std::env::var("AIT_TEST_FACTOR").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// Reports that a test is skipped because the machine lacks something. Fails in CI, which must have everything.
pub fn skip(lacking: &str) {
    assert!(std::env::var_os("CI").is_none(), "CI must not skip this test: {lacking}");
    eprintln!("skipped: {lacking}");
}

/// Returns the parameters of `initialize`.
pub fn initialize_params() -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    })
}

/// Returns a JSON-RPC request.
pub fn request(id: u64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// The result of a tool call.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    pub text: String,
    pub is_error: bool,
}

impl Answer {
    /// Returns the text of a call that must succeed.
    #[track_caller]
    pub fn ok(self) -> String {
        assert!(!self.is_error, "{}", self.text);
        self.text
    }

    /// Returns the issue in the result of a call that must succeed.
    #[track_caller]
    pub fn issue(self) -> Value {
        let text = self.ok();
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("not an issue: {text}"))
    }

    /// Returns the text of a call that must fail.
    #[track_caller]
    pub fn refusal(self) -> String {
        assert!(self.is_error, "{}", self.text);
        self.text
    }
}

/// A running process with a client that speaks raw JSON-RPC. Killed on drop.
pub struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    frames: Receiver<Value>,
    early: HashMap<u64, Value>,
    log: Log,
    last_id: u64,
}

impl Client {
    /// Starts the binary in a directory and sends `initialize`.
    pub fn start(directory: &Path) -> Self {
        Self::begin(&mut ait(directory))
    }

    /// Starts a prepared command and sends `initialize`.
    pub fn begin(command: &mut Command) -> Self {
        let mut client = Self::spawn(command);
        client.initialize();
        client
    }

    /// Starts a prepared command and sends nothing.
    pub fn spawn(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let (sender, frames) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let frame = serde_json::from_str(&line)
                    .unwrap_or_else(|_| json!({ "not a protocol frame": line }));
                if sender.send(frame).is_err() {
                    return;
                }
            }
        });
        let log = Log::of(child.stderr.take().unwrap());
        let stdin = child.stdin.take();
        Self { child, stdin, frames, early: HashMap::new(), log, last_id: 0 }
    }

    pub fn initialize(&mut self) -> Value {
        let result = self.request("initialize", initialize_params());
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        result
    }

    pub fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string());
    }

    pub fn send_line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
        stdin.flush().unwrap();
    }

    /// Returns the next frame of the server, or `None` after the end of its output.
    pub fn frame(&mut self) -> Option<Value> {
        match self.frames.recv_timeout(PATIENCE) {
            Ok(frame) => {
                assert_eq!(frame["jsonrpc"], "2.0", "stdout must hold frames only: {frame}");
                Some(frame)
            }
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("no response; log:\n{}", self.log.text()),
        }
    }

    /// Sends a request without waiting for the response. Returns its id.
    pub fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&request(id, method, params));
        id
    }

    /// Waits for the response to a request. Returns `None` if the output ends first.
    pub fn reply(&mut self, id: u64) -> Option<Value> {
        loop {
            if let Some(frame) = self.early.remove(&id) {
                return Some(frame);
            }
            let frame = self.frame()?;
            let Some(other) = frame["id"].as_u64() else { panic!("unexpected frame {frame}") };
            self.early.insert(other, frame);
        }
    }

    /// Sends a request and returns its result or its error.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        let reply = self
            .reply(id)
            .unwrap_or_else(|| panic!("the process ended; log:\n{}", self.log.text()));
        reply.get("result").or_else(|| reply.get("error")).unwrap().clone()
    }

    pub fn ask_tool(&mut self, tool: &str, arguments: Value) -> u64 {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    pub fn answer(&mut self, id: u64) -> Option<Answer> {
        let reply = self.reply(id)?;
        let text = reply["result"]["content"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("no text in {reply}")).to_owned();
        Some(Answer { text, is_error: reply["result"]["isError"] == true })
    }

    pub fn call(&mut self, tool: &str, arguments: Value) -> Answer {
        let id = self.ask_tool(tool, arguments);
        self.answer(id).unwrap_or_else(|| panic!("the process ended; log:\n{}", self.log.text()))
    }

    /// Files an issue and returns its id.
    pub fn add(&mut self, title: &str, classification: &str) -> String {
        let arguments = json!({ "title": title, "description": "", "classification": classification, "agent": "test" });
        id_in(&self.call("add_issue", arguments).ok())
    }

    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Returns the port of the pages, as logged.
    pub fn port(&self) -> u16 {
        let log = self.log.wait_for("pages: http://localhost:");
        let (_, rest) = log.split_once("pages: http://localhost:").unwrap();
        rest.split(|character: char| !character.is_ascii_digit()).next().unwrap().parse().unwrap()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Closes stdin and waits for the end of the process.
    pub fn close(&mut self) -> ExitStatus {
        drop(self.stdin.take());
        self.wait()
    }

    pub fn signal(&self, name: &str) {
        signal(&self.child, name);
    }

    pub fn wait(&mut self) -> ExitStatus {
        wait(&mut self.child)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a signal to a child process.
pub fn signal(child: &Child, name: &str) {
    let kill = format!("kill -{name} {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
}

/// Waits until a condition holds.
pub fn until(what: &str, mut is_true: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_true() {
        assert!(start.elapsed() < PATIENCE, "not in time: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

pub fn wait(child: &mut Child) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        assert!(start.elapsed() < PATIENCE, "the process does not end");
        thread::sleep(Duration::from_millis(2));
    }
}

/// The stderr of a process.
#[derive(Clone)]
pub struct Log(Arc<(Mutex<(String, bool)>, Condvar)>);

impl Log {
    pub fn of(mut stderr: impl Read + Send + 'static) -> Self {
        let log = Self(Arc::default());
        let shared = log.clone();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            loop {
                let count = stderr.read(&mut buffer).unwrap_or(0);
                let mut state = shared.0.0.lock().unwrap();
                state.0.push_str(&String::from_utf8_lossy(&buffer[..count]));
                state.1 = count == 0;
                shared.0.1.notify_all();
                if count == 0 {
                    return;
                }
            }
        });
        log
    }

    pub fn text(&self) -> String {
        self.0.0.lock().unwrap().0.clone()
    }

    /// Waits for the end of the log and returns all of it.
    pub fn whole(&self) -> String {
        let state = self.0.0.lock().unwrap();
        let (state, _) =
            self.0.1.wait_timeout_while(state, PATIENCE, |(_, ended)| !*ended).unwrap();
        state.0.clone()
    }

    /// Waits until the log contains a text, and returns the log.
    #[track_caller]
    pub fn wait_for(&self, text: &str) -> String {
        let state = self.0.0.lock().unwrap();
        let waits = |(log, ended): &mut (String, bool)| !log.contains(text) && !*ended;
        let (state, _) = self.0.1.wait_timeout_while(state, PATIENCE, waits).unwrap();
        assert!(state.0.contains(text), "no {text:?} in the log:\n{}", state.0);
        state.0.clone()
    }
}

/// Returns the first id in a text: a full id, or the 8 digits at the beginning of a compact reply.
pub fn id_in(text: &str) -> String {
    let is_short =
        |word: &str| word.len() == 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let first = text.split(' ').next().filter(|word| is_short(word));
    let word = first.or_else(|| text.split_whitespace().find(|word| word.len() == 36));
    word.unwrap_or_else(|| panic!("no id in {text:?}")).to_owned()
}

/// An HTTP response.
pub struct Response {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub body: String,
}

impl Response {
    /// Parses the body, which must be JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        assert_eq!(self.headers["content-type"], "application/json");
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("not JSON: {}", self.body))
    }
}

/// Returns the issue count of the health check, which must be ok.
#[track_caller]
pub fn health_issue_count(port: u16) -> u64 {
    let response = get(port, "/health");
    let report = response.json();
    assert_eq!((response.status, &report["status"]), (200, &json!("ok")), "{report}");
    report["issueCount"].as_u64().unwrap()
}

pub fn get(port: u16, path: &str) -> Response {
    http(reqwest::Method::GET, port, path)
}

pub fn http(method: reqwest::Method, port: u16, path: &str) -> Response {
    let client = http::connections();
    let url = format!("http://127.0.0.1:{port}{path}");
    let response = client.request(method, url).send().unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    Response { status, headers, body: response.text().unwrap() }
}
