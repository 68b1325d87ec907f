//! The log of a server: its formats, its file, and that it never blocks the server.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use chrono::DateTime;
use serde_json::{Value, json};

use crate::support::http::{Raw, Server, asked};
use crate::support::runs::run;
use crate::support::{Client, Log, ait, directory, get, signal, until, wait};

/// A running `ait serve` that logs to a file. Killed on drop.
struct Logged {
    child: Child,
    stderr: Log,
    port: u16,
}

impl Logged {
    /// Starts a server, and reads its port from the log.
    fn start(directory: &Path, file: &Path, format: &str) -> Self {
        let before = ports(file).len();
        let mut command = logging(directory, file);
        command.args(["serve", "--port", "0", "--color", "always"]);
        command.env("AIT_LOG_FORMAT", format).env("RUST_LOG", "debug");
        let mut child = command.spawn().unwrap();
        let stderr = Log::of(child.stderr.take().unwrap());
        until("the port is in the log", || ports(file).len() > before);
        Self { child, stderr, port: *ports(file).last().unwrap() }
    }

    /// Ends the process. Returns its stderr.
    fn end(mut self) -> String {
        signal(&self.child, "TERM");
        assert!(wait(&mut self.child).success());
        self.stderr.whole()
    }
}

impl Drop for Logged {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a command that logs to a file.
fn logging(directory: &Path, file: &Path) -> Command {
    let mut command = ait(directory);
    command.env("AIT_LOG_FILE", file);
    command
}

fn text_of(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_default()
}

/// Returns the ports that a log names.
fn ports(file: &Path) -> Vec<u16> {
    let text = text_of(file);
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let after = whole.split("pages: http://localhost:").skip(1);
    after
        .map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next().unwrap())
        .map(|port| port.parse().unwrap())
        .collect()
}

/// Parses a log of JSON lines, which must all be complete.
#[track_caller]
fn objects(text: &str) -> Vec<Value> {
    assert!(text.ends_with('\n') && !text.contains('\x1b'), "{text}");
    let objects = text.lines().map(|line| {
        let object: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{line:?}"));
        let time = object["timestamp"].as_str().unwrap();
        assert!(time.ends_with('Z') && DateTime::parse_from_rfc3339(time).is_ok(), "{line}");
        let level = object["level"].as_str().unwrap();
        assert!(["ERROR", "WARN", "INFO", "DEBUG", "TRACE"].contains(&level), "{line}");
        assert!(object["message"].is_string(), "{line}");
        object
    });
    objects.collect()
}

/// Makes a request that is logged as one line with this name.
fn leave_mark(port: u16, name: &str) {
    let request = asked("GET /", &format!("Host: {name}.example\r\n"));
    let answer = Raw::connect(port).send(request).rest();
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
}

/// Counts the lines for each name given to [`leave_mark`].
#[track_caller]
fn marks(text: &str) -> BTreeMap<String, usize> {
    let mut marks = BTreeMap::new();
    for object in objects(text) {
        let message = object["message"].as_str().unwrap();
        if let Some((name, _)) = message.split_once(".example") {
            let name = name.rsplit('"').next().unwrap();
            *marks.entry(name.to_owned()).or_default() += 1;
        }
    }
    marks
}

fn once_each(names: impl Iterator<Item = String>) -> BTreeMap<String, usize> {
    names.map(|name| (name, 1)).collect()
}

#[test]
fn log_file_is_private_uncoloured_and_announced_on_stderr() {
    let directory = directory();
    let file = directory.path().join("ait.log");
    let server = Logged::start(directory.path(), &file, "text");
    leave_mark(server.port, "first");
    let stderr = server.end();
    assert_eq!(stderr, format!("logging to {}\n", file.display()));
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let text = text_of(&file);
    assert!(text.contains("first.example") && text.ends_with('\n'), "{text}");
    for line in text.lines() {
        let (time, rest) = line.split_once(' ').unwrap();
        assert!(time.ends_with('Z') && DateTime::parse_from_rfc3339(time).is_ok(), "{line}");
        assert!(
            ["INFO ", "DEBUG "].iter().any(|level| rest.trim_start().starts_with(level)),
            "{line}"
        );
        assert!(!line.contains('\x1b'), "{line}");
    }
    // Another process appends to the same file.
    Logged::start(directory.path(), &file, "text").end();
    assert!(text_of(&file).starts_with(&text));
}

#[test]
fn json_log_lines_are_flat_objects() {
    let directory = directory();
    let mut command = ait(directory.path());
    command.env("AIT_LOG_FORMAT", "json").env("RUST_LOG", "trace");
    let mut client = Client::spawn(&mut command);
    client.initialize();
    client.add("t", "bug");
    get(client.port(), "/health");
    assert!(client.close().success());
    let objects = objects(&client.log().whole());
    let usual = ["timestamp", "level", "message"];
    let has_more = |object: &Value| {
        object.as_object().unwrap().keys().any(|key| !usual.contains(&key.as_str()))
    };
    assert!(objects.iter().any(has_more), "{objects:#?}");
    for object in objects {
        assert!(object.as_object().unwrap().values().all(|value| !value.is_object()), "{object}");
    }
}

#[test]
fn log_rotation_loses_and_splits_no_line() {
    const THREADS: usize = 3;
    const EACH: usize = 60;
    let directory = directory();
    let file = directory.path().join("ait.log");
    let server = Logged::start(directory.path(), &file, "json");
    let port = server.port;
    let done = AtomicUsize::new(0);
    let moved: Vec<PathBuf> = thread::scope(|scope| {
        for thread in 0..THREADS {
            let done = &done;
            scope.spawn(move || {
                for number in 0..EACH {
                    leave_mark(port, &format!("n{thread}-{number}"));
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let moves = (1..=4).map(|round| {
            until("more requests are logged", || done.load(Ordering::Relaxed) >= round * EACH / 2);
            let moved = directory.path().join(format!("ait.log.{round}"));
            fs::rename(&file, &moved).unwrap();
            signal(&server.child, "HUP");
            until("the new file exists", || file.exists());
            moved
        });
        moves.collect()
    });
    assert_eq!(server.end().lines().count(), 1);
    let mut whole = String::new();
    for file in moved.iter().chain([&file]) {
        let text = text_of(file);
        objects(&text);
        whole += &text;
    }
    let names = (0..THREADS).flat_map(|thread| (0..EACH).map(move |n| format!("n{thread}-{n}")));
    assert_eq!(marks(&whole), once_each(names));
    assert_eq!(whole.matches("reopened the log file").count(), moved.len());
}

#[test]
fn processes_sharing_a_log_file_keep_lines_intact() {
    const EACH: usize = 150;
    let directories = [directory(), directory()];
    let place = directory();
    let file = place.path().join("shared.log");
    let servers =
        directories.each_ref().map(|directory| Logged::start(directory.path(), &file, "json"));
    thread::scope(|scope| {
        for server in &servers {
            for half in 0..2 {
                scope.spawn(move || {
                    for number in 0..EACH {
                        leave_mark(server.port, &format!("p{}-{half}-{number}", server.port));
                    }
                });
            }
        }
    });
    let ports = servers.each_ref().map(|server| server.port);
    servers.into_iter().for_each(|server| drop(server.end()));
    let names = ports.into_iter().flat_map(|port| {
        (0..2).flat_map(move |half| (0..EACH).map(move |n| format!("p{port}-{half}-{n}")))
    });
    assert_eq!(marks(&text_of(&file)), once_each(names));
}

#[test]
fn unopenable_log_file_stops_serve_but_not_stdio() {
    let directory = directory();
    let pipe = directory.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    fs::write(directory.path().join("file"), "").unwrap();
    let paths = ["missing/ait.log", ".", "file/ait.log", "pipe"];
    for path in paths.map(|path| directory.path().join(path)) {
        let expected = format!("cannot open the log file {}: ", path.display());
        let output = logging(directory.path(), &path).arg("serve").output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        for words in ["ERROR", &expected, "name a writable file with", "AIT_LOG_FILE"] {
            assert!(stderr.contains(words), "no {words:?} in {stderr}");
        }
        let mut client = Client::spawn(&mut logging(directory.path(), &path));
        client.initialize();
        client.add("t", "bug");
        client.log().wait_for(&expected);
        client.log().wait_for("pages: http://localhost:");
        assert!(client.close().success());
    }
}

#[test]
fn panic_is_logged_as_one_line() {
    use agent_issue_tracker::logging::{Log, LogFormat, LogOptions, LogProfile};
    const FILE: &str = "AIT_TEST_PANIC_LOG";
    // The test starts itself again as the process that panics.
    if let Some(file) = std::env::var_os(FILE) {
        let (file, format) = (Some(file.into()), LogFormat::Json);
        let options = LogOptions { file, format, ..LogOptions::new(LogProfile::Server) };
        let log = Log::start(options).unwrap();
        thread::spawn(|| panic!("on\npurpose")).join().unwrap_err();
        log.end();
        return;
    }
    let directory = directory();
    let file = directory.path().join("ait.log");
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "logs::panic_is_logged_as_one_line"]).env(FILE, &file);
    let output = again.output().unwrap();
    assert!(output.status.success());
    let objects = objects(&text_of(&file));
    let message = objects[0]["message"].as_str().unwrap();
    assert!(message.contains("tests/it/logs.rs") && message.ends_with("on purpose"), "{message}");
    assert!(!String::from_utf8_lossy(&output.stderr).contains("purpose"));
}

#[test]
fn startup_errors_go_to_stderr_and_the_log_file() {
    let (others, directory) = (directory(), directory());
    let taken = Server::start(others.path());
    let file = directory.path().join("ait.log");
    let mut command = logging(directory.path(), &file);
    let output = command.args(["serve", "--port", &taken.port.to_string()]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    for text in [&stderr, &text_of(&file)] {
        assert!(text.contains(&format!("port {} is taken by", taken.port)), "{text}");
    }
    assert!(stderr.lines().last().unwrap().starts_with("error: "), "{stderr}");
}

#[test]
fn commands_print_errors_to_stderr_and_not_to_the_log_file() {
    let directory = directory();
    let file = directory.path().join("ait.log");
    let mut command = logging(directory.path(), &file);
    let output = command.args(["show", "ffffffff"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stderr.starts_with(b"error: there is no issue ffffffff"));
    assert!(!file.exists());
}

/// Makes a server log more than fits into any buffer on the way.
fn work_with(client: &mut Client) {
    client.initialize();
    for number in 0..30 {
        client.add(&format!("t{number}"), "bug");
        client.call("list_issues", json!({})).ok();
    }
    assert!(client.close().success());
}

#[test]
#[cfg(target_os = "linux")]
fn full_disk_under_the_log_warns_once_and_blocks_nothing() {
    let directory = directory();
    let mut command = logging(directory.path(), Path::new("/dev/full"));
    let mut client = Client::spawn(command.env("RUST_LOG", "trace,rmcp=trace"));
    work_with(&mut client);
    let stderr = client.log().whole();
    // One warning, not one for each line.
    assert_eq!(stderr.lines().count(), 2, "{stderr}");
    assert!(stderr.contains("warning: cannot write to the log file /dev/full: "), "{stderr}");
    assert_eq!(crate::support::files::stored_issues(directory.path()).len(), 30);
}

#[test]
fn unread_log_pipe_blocks_nothing() {
    let directory = directory();
    let pipe = directory.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let _reader = fs::File::options().read(true).write(true).open(&pipe).unwrap();
    let mut command = logging(directory.path(), &pipe);
    let mut client = Client::spawn(command.env("RUST_LOG", "trace,rmcp=trace"));
    work_with(&mut client);
    assert!(client.log().whole().contains("lines are lost"));
}

#[test]
fn failed_reopen_keeps_the_old_log_file() {
    let directory = directory();
    let (logs, gone) = (directory.path().join("logs"), directory.path().join("gone"));
    fs::create_dir(&logs).unwrap();
    let server = Logged::start(directory.path(), &logs.join("ait.log"), "json");
    fs::rename(&logs, &gone).unwrap();
    signal(&server.child, "HUP");
    let said = "cannot reopen the log file, so the old one stays in use";
    server.stderr.wait_for(said);
    leave_mark(server.port, "later");
    fs::rename(&gone, &logs).unwrap();
    signal(&server.child, "HUP");
    let file = logs.join("ait.log");
    until("the log file is reopened", || text_of(&file).contains("reopened the log file"));
    server.end();
    let text = text_of(&file);
    assert!(text.contains(said), "{text}");
    assert_eq!(marks(&text), once_each(["later".to_owned()].into_iter()));
}

#[test]
fn invalid_log_format_is_refused_with_valid_values() {
    let directory = directory();
    let mut command = ait(directory.path());
    let output = command.arg("serve").env("AIT_LOG_FORMAT", "xml").output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    for words in ["AIT_LOG_FORMAT", "xml", "text", "json"] {
        assert!(stderr.contains(words), "no {words:?} in {stderr}");
    }
    assert_eq!(run(directory.path(), &["list"]).code, 0);
}
