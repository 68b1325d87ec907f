//! The commands for people and scripts: their output and their exit codes.

mod attributes;
mod board;
mod change;
mod editor;
mod generate;
mod guesses;
mod lifecycle;
mod list;
mod log;
mod open;
mod shutdown;
#[cfg(target_os = "linux")]
mod terminal;
mod unknown_command;
mod usage_error;

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output};
use std::thread;

use serde_json::Value;

use crate::support::files::{id, issue_json, write_issues};
use crate::support::{ait, directory};

/// A temporary directory with a store, in which tests run commands.
struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Self {
        Self(directory())
    }

    /// Creates a desk whose store has these issues.
    fn with(issues: &[Value]) -> Self {
        let desk = Self::new();
        write_issues(desk.path(), issues);
        desk
    }

    /// Creates a desk with one issue in each status. Its title is the status.
    fn with_one_in_each_status() -> Self {
        let statuses =
            ["created", "in_progress", "completed", "in_review", "closed", "rejected"].iter();
        let issues =
            statuses.zip(1..).map(|(status, number)| issue_json(&id(number), status, status));
        Self::with(&issues.collect::<Vec<_>>())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Returns a command with these arguments.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = ait(self.path());
        command.args(arguments).env("TZ", "UTC").env("AIT_AGENT", "tester");
        command
    }

    fn run(&self, arguments: &[&str]) -> Run {
        Run(self.command(arguments).output().unwrap())
    }

    /// Runs a command with this input.
    fn run_with_input(&self, arguments: &[&str], input: impl AsRef<[u8]>) -> Run {
        let mut child = self.command(arguments).spawn().unwrap();
        let (mut stdin, input) = (child.stdin.take().unwrap(), input.as_ref().to_owned());
        // The command may end without reading its input.
        let writer = thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        Run(output)
    }

    /// Files an issue. Returns its id.
    fn add(&self, title: &str) -> String {
        self.run(&["add", title, "-c", "bug", "--json"]).done().json()["id"]
            .as_str()
            .unwrap()
            .into()
    }
}

/// The output and the exit code of a command.
struct Run(Output);

impl Run {
    #[track_caller]
    fn ends_with(self, code: i32) -> Self {
        assert_eq!(self.0.status.code(), Some(code), "{}{}", self.stdout(), self.stderr());
        self
    }

    /// Checks that the command succeeded and wrote nothing to stderr.
    #[track_caller]
    fn done(self) -> Self {
        let run = self.ends_with(0);
        assert_eq!(run.stderr(), "");
        run
    }

    /// Checks the exit code, and that stdout is empty or an error as JSON. Returns stderr.
    #[track_caller]
    fn failed(self, code: i32) -> String {
        let run = self.ends_with(code);
        let is_error = |text: &str| {
            serde_json::from_str::<Value>(text).is_ok_and(|json| json["code"].is_string())
        };
        assert!(run.stdout().is_empty() || is_error(&run.stdout()), "{}", run.stdout());
        run.stderr()
    }

    fn stdout(&self) -> String {
        String::from_utf8(self.0.stdout.clone()).unwrap()
    }

    fn stderr(&self) -> String {
        String::from_utf8(self.0.stderr.clone()).unwrap()
    }

    #[track_caller]
    fn json(&self) -> Value {
        let text = self.stdout();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }
}

/// Compares a text with its snapshot, with the ids and times masked.
macro_rules! assert_written {
    ($name:expr, $text:expr) => {
        insta::with_settings!({ filters => crate::command_line::FILTERS.to_vec() }, {
            insta::assert_snapshot!($name, $text);
        });
    };
}
use assert_written;

const FILTERS: [(&str, &str); 8] = [
    (r#""position":"(\d+)-[0-9a-f]{16}""#, r#""position":"$1-[hash]""#),
    (r"(?i)[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", "[id]"),
    (r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "[time]"),
    (r"20\d\d-\d\d-\d\d \d\d:\d\d(:\d\d)?", "[local time]"),
    // A colour sequence may precede the id.
    (r"(?m)(^|[^0-9a-z]|\x1b\[1m)[0-9a-f]{8}\b", "$1[short]"),
    (r"(\x1b\[2m)\d+ (?:s|min|h|d)(\x1b\[0m) +", "$1[age]$2  "),
    (r"\b\d+ (s|min|h|d) +", "[age]  "),
    (r"\b\d+ (s|min|h|d)\b", "[age]"),
];

/// A running process. Killed on drop.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
