//! A client over stdio, which starts its own process.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Instant;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{self, Operation};
use crate::load::{Burst, Times};
use crate::server::{ait, processor_time};
use benches::figures::ns;
use benches::fixture;

/// The number of lines that may come before a response.
const MAX_LINES: usize = 100;

pub struct Client {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last_id: u64,
    /// The directory of the store, if the client owns it.
    _directory: Option<TempDir>,
}

impl Client {
    /// Starts a client on a new store with `size` issues.
    pub fn with(size: usize) -> Self {
        let directory = fixture::directory_with(size);
        let mut client = Self::start(&directory);
        client._directory = Some(directory);
        client
    }

    /// Starts a client on an existing store.
    pub fn start(directory: &TempDir) -> Self {
        let mut command = ait(directory);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().expect("a process");
        let input = process.stdin.take().expect("a pipe");
        let output = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut client = Self { process, input, output, last_id: 0, _directory: None };
        client.exchange(
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#,
        );
        client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        client
    }

    /// Measures `count` operations, as [`Lane::run`](crate::load::Lane::run) does.
    pub fn run(&mut self, into: &mut Times, operation: Operation, count: usize) {
        let before = processor_time(self.process.id());
        let burst = self.burst(operation, count);
        into.add(burst, processor_time(self.process.id()) - before);
    }

    pub fn burst(&mut self, operation: Operation, count: usize) -> Burst {
        let arguments = operation.arguments().to_string();
        let begun = Instant::now();
        let times = (0..count)
            .map(|_| {
                let begun = Instant::now();
                self.last_id += 1;
                let answer = self.exchange(&client::call(self.last_id, operation, &arguments, ""));
                let took = ns(begun.elapsed());
                assert!(!answer.contains(r#""isError":true"#), "{answer}");
                took
            })
            .collect();
        Burst { times, took: begun.elapsed() }
    }

    /// Sends a request and returns the response line.
    pub fn request(&mut self, method: &str, params: &Value) -> String {
        self.last_id += 1;
        let id = self.last_id;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.exchange(&request.to_string())
    }

    fn send(&mut self, message: &str) {
        let line = format!("{message}\n");
        self.input.write_all(line.as_bytes()).expect("a server that listens");
    }

    fn exchange(&mut self, message: &str) -> String {
        self.send(message);
        let mut line = String::new();
        for _ in 0..MAX_LINES {
            line.clear();
            self.output.read_line(&mut line).expect("an answer");
            if line.contains(r#""id":"#) {
                return line;
            }
        }
        panic!("no answer to {message}");
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Ignore the error for a process that has already ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
