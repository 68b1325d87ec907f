//! Starting the binary, talking to it, and looking at what it leaves on disk.

#[cfg(feature = "postgres")]
pub mod clock;
pub mod commands;
pub mod disk;
pub mod files;
pub mod http;
pub mod pause;
#[cfg(feature = "postgres")]
pub mod pgbouncer;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod power;
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

/// Longer than anything takes on a busy machine; a test that needs it all has failed.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The tools, in the order in which they are listed.
pub const TOOLS: [&str; 7] = [
    "add_issue",
    "list_issues",
    "get_next_issue",
    "return_issue",
    "complete_issue",
    "get_next_review_item",
    "close_issue",
];

/// The path of the binary under test: the one that `AIT_BIN` names when the tests are compiled, else the one that is
/// built beside them. That one has the features which dev-dependencies turn on, and the one that people get lacks.
pub const BINARY: &str = match option_env!("AIT_BIN") {
    Some(path) => path,
    None => env!("CARGO_BIN_EXE_ait"),
};

/// The binary under test with a clean environment, its pages on a port that the system picks.
pub fn ait(directory: &Path) -> Command {
    ait_through(BINARY, directory)
}

/// The same, started by another program, whose arguments are still to be given.
pub fn ait_through(program: &str, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(directory).env("PORT", "0");
    // What the user's own projects have pinned, and what the user's clients are told, is none of the tests'
    // business, nor theirs of the user's.
    command.env("XDG_STATE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/state"));
    command.env("HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/home"));
    command.env_remove("XDG_CONFIG_HOME");
    let others =
        ["AIT_AGENT", "COLUMNS", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "VISUAL", "EDITOR"];
    let of_servers = [
        "AIT_LOG_FILE",
        "AIT_LOG_FORMAT",
        "AIT_BIND",
        "AIT_TOKEN",
        "AIT_TOKEN_FILE",
        "AIT_WEB_ACTIONS",
        "AIT_PROJECTS",
    ];
    let of_stores = ["ISSUES_FILE", "AIT_STORE", "AIT_STORE_PASSWORD"];
    for variable in of_stores.into_iter().chain(["RUST_LOG"]).chain(of_servers).chain(others) {
        command.env_remove(variable);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A directory that is not inside any repository.
pub fn directory() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// Returns true if a directory holds nothing of a store: what tells of the processes that use it goes with them.
pub fn has_no_store_files(directory: &Path) -> bool {
    let names = |directory: &Path| files::names(directory).into_iter();
    let own = files::store_directory(directory);
    let is_of_processes = |name: &str| matches!(name, "processes" | ".gitignore");
    names(directory).all(|name| name == ".ait")
        && (!own.exists() || names(&own).all(|name| is_of_processes(&name)))
}

/// The same where that costs least: what is only ever read by the process that wrote it needs no disk.
pub fn directory_in_memory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| directory())
}

/// How many times longer the tests of crashes and power cuts are to go on: `AIT_TEST_FACTOR`.
pub fn factor() -> u64 {
    std::env::var("AIT_TEST_FACTOR").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// Says that a test does not run, because this machine lacks something. Fails in CI, which has to have everything.
pub fn skip(lacking: &str) {
    assert!(std::env::var_os("CI").is_none(), "CI must not skip this test: {lacking}");
    eprintln!("skipped: {lacking}");
}

/// The parameters of `initialize`.
pub fn initialize_params() -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    })
}

/// A request as it stands on a line.
pub fn request(id: u64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// What a tool answered.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    pub text: String,
    pub is_error: bool,
}

impl Answer {
    /// The text of a call that must have succeeded.
    #[track_caller]
    pub fn ok(self) -> String {
        assert!(!self.is_error, "{}", self.text);
        self.text
    }

    /// The issue that a call must have answered with.
    #[track_caller]
    pub fn issue(self) -> Value {
        let text = self.ok();
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("not an issue: {text}"))
    }

    /// The text of a call that must have failed.
    #[track_caller]
    pub fn refusal(self) -> String {
        assert!(self.is_error, "{}", self.text);
        self.text
    }
}

/// A running process, and a client that speaks raw JSON-RPC with it. Killed when it is dropped.
pub struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    frames: Receiver<Value>,
    early: HashMap<u64, Value>,
    log: Log,
    last_id: u64,
}

impl Client {
    /// Starts the binary in a directory and introduces the client.
    pub fn start(directory: &Path) -> Self {
        Self::begin(&mut ait(directory))
    }

    /// Starts a prepared command and introduces the client.
    pub fn begin(command: &mut Command) -> Self {
        let mut client = Self::spawn(command);
        client.initialize();
        client
    }

    /// Starts a prepared command; says nothing yet.
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

    /// The next frame of the server, whatever it is; `None` when its output has ended.
    pub fn frame(&mut self) -> Option<Value> {
        match self.frames.recv_timeout(PATIENCE) {
            Ok(frame) => {
                assert_eq!(frame["jsonrpc"], "2.0", "stdout must hold frames only: {frame}");
                Some(frame)
            }
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("no answer; log:\n{}", self.log.text()),
        }
    }

    /// Sends a request without waiting for its answer.
    pub fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&request(id, method, params));
        id
    }

    /// Waits for the answer to a request; `None` when the output ended before it.
    pub fn reply(&mut self, id: u64) -> Option<Value> {
        loop {
            if let Some(frame) = self.early.remove(&id) {
                return Some(frame);
            }
            let frame = self.frame()?;
            let Some(other) = frame["id"].as_u64() else { panic!("nobody asked for {frame}") };
            self.early.insert(other, frame);
        }
    }

    /// The result of a request, or its error.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        let reply = self.reply(id).unwrap_or_else(|| panic!("gone; log:\n{}", self.log.text()));
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
        self.answer(id).unwrap_or_else(|| panic!("gone; log:\n{}", self.log.text()))
    }

    /// Files an issue and gives its id.
    pub fn add(&mut self, title: &str, classification: &str) -> String {
        let arguments = json!({ "title": title, "description": "", "classification": classification, "agent": "test" });
        id_in(&self.call("add_issue", arguments).ok())
    }

    pub fn log(&self) -> &Log {
        &self.log
    }

    /// The port of the pages, as the log gives it.
    pub fn port(&self) -> u16 {
        let log = self.log.wait_for("pages: http://localhost:");
        let (_, rest) = log.split_once("pages: http://localhost:").unwrap();
        rest.split(|it: char| !it.is_ascii_digit()).next().unwrap().parse().unwrap()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends the input and waits for the end of the process.
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

/// Sends a signal to a process that was started here.
pub fn signal(child: &Child, name: &str) {
    let kill = format!("kill -{name} {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
}

/// Asks again and again until the answer is yes.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
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

/// What a process writes to stderr.
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

    /// Waits for the end of the log and gives all of it.
    pub fn whole(&self) -> String {
        let state = self.0.0.lock().unwrap();
        let (state, _) =
            self.0.1.wait_timeout_while(state, PATIENCE, |(_, ended)| !*ended).unwrap();
        state.0.clone()
    }

    /// Waits until the log holds a text.
    #[track_caller]
    pub fn wait_for(&self, text: &str) -> String {
        let state = self.0.0.lock().unwrap();
        let waits = |(log, ended): &mut (String, bool)| !log.contains(text) && !*ended;
        let (state, _) = self.0.1.wait_timeout_while(state, PATIENCE, waits).unwrap();
        assert!(state.0.contains(text), "no {text:?} in the log:\n{}", state.0);
        state.0.clone()
    }
}

/// The first id in a text: whole, or the 8 digits at the beginning of a compact reply.
pub fn id_in(text: &str) -> String {
    let is_short =
        |word: &str| word.len() == 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let first = text.split(' ').next().filter(|word| is_short(word));
    let word = first.or_else(|| text.split_whitespace().find(|word| word.len() == 36));
    word.unwrap_or_else(|| panic!("no id in {text:?}")).to_owned()
}

/// The answer to an HTTP request.
pub struct Response {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub body: String,
}

impl Response {
    /// The body, which must be JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        assert_eq!(self.headers["content-type"], "application/json");
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("not JSON: {}", self.body))
    }
}

/// How many issues the health probe counts, which must find everything in order.
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
    let client = reqwest::blocking::Client::builder().timeout(PATIENCE).no_proxy().build().unwrap();
    let url = format!("http://127.0.0.1:{port}{path}");
    let response = client.request(method, url).send().unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    Response { status, headers, body: response.text().unwrap() }
}
