//! Shutdown with calls in flight, and clients that disconnect during their calls.

use std::path::Path;
use std::process::ExitStatus;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::files::stored_issues;
use crate::support::http::{
    Agent, CANCELLED, IN_PROGRESS, Raw, SESSIONS, Server, filing, lock_turn, message, meta, posted,
    session_header, wait_for_metric,
};
use crate::support::{Client, PATIENCE, directory};

/// The longest time that a process takes to end, whatever its clients do.
const PROMISE: Duration = Duration::from_secs(2);

/// Ends a process and checks its exit code and its time limit.
#[track_caller]
fn assert_ends(how: &str, end: impl FnOnce() -> ExitStatus) {
    let begun = Instant::now();
    let status = end();
    let took = begun.elapsed();
    assert_eq!(status.code(), Some(0), "{how}: {status}");
    assert!(took < PROMISE, "{how}: {took:?}");
}

/// Ends a process during HTTP calls, and checks the responses to these calls and the event streams.
fn end_during_calls(
    how: &str,
    (directory, port): (&Path, u16),
    other_calls: u64,
    end: impl FnOnce() -> ExitStatus,
) {
    let agent = Agent::connect(port);
    let streams: Vec<_> = (0..4).map(|_| Agent::connect(port).listen()).collect();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| agent.post(&filing(json!({}))).unwrap().answer());
        let stateless = scope.spawn(|| {
            let agent = Agent::new(port);
            agent.post(&filing(json!({ "_meta": meta() }))).unwrap().answer()
        });
        wait_for_metric(port, IN_PROGRESS, 2 + other_calls);
        assert_ends(how, end);
        for answer in [waiting, stateless] {
            let refusal = answer.join().unwrap().refusal();
            assert!(refusal.contains("shutting down"), "{how}: {refusal}");
        }
    });
    for stream in streams {
        assert_eq!(stream.text().unwrap(), "", "{how}");
    }
    assert_eq!(stored_issues(directory).len(), 1, "{how}");
}

#[test]
fn signal_stops_the_server_after_answering_all_calls() {
    for how in ["TERM", "INT"] {
        let directory = directory();
        let mut server = Server::start(directory.path());
        Agent::connect(server.port).add("first");
        let _lock = lock_turn(directory.path());
        end_during_calls(how, (directory.path(), server.port), 0, || {
            server.signal(how);
            server.wait()
        });
        assert!(!server.log().whole().contains("ERROR"), "{}", server.log().text());
    }
}

/// The log of a process that was killed has no such line.
#[test]
fn the_log_ends_with_the_reason() {
    for (signal, reason) in [(Some("TERM"), "SIGTERM"), (Some("INT"), "SIGINT"), (None, "stdin")] {
        let directory = directory();
        let mut client = Client::start(directory.path());
        let status = match signal {
            Some(signal) => {
                client.signal(signal);
                client.wait()
            }
            None => client.close(),
        };
        assert!(status.success(), "{reason}");
        let log = client.log().whole();
        let last = log.lines().last().unwrap_or_default();
        assert!(last.contains(&format!("stopped: {reason}")), "{log}");
    }
    let directory = directory();
    let mut client = Client::start(directory.path());
    client.signal("KILL");
    client.wait();
    assert!(!client.log().whole().contains("stopped"));
}

#[test]
fn stdin_eof_or_signal_stops_both_transports_in_time() {
    for how in ["TERM", "INT", "end of input"] {
        let directory = directory();
        let mut client = Client::start(directory.path());
        client.add("first", "bug");
        let _lock = lock_turn(directory.path());
        let arguments =
            json!({ "title": "t", "description": "", "classification": "bug", "agent": "a" });
        let id = client.ask_tool("add_issue", arguments);
        end_during_calls(how, (directory.path(), client.port()), 1, || {
            if how == "end of input" {
                return client.close();
            }
            client.signal(how);
            client.wait()
        });
        let refusal = client.answer(id).expect("the call is answered").refusal();
        assert!(refusal.contains("nothing was changed"), "{how}: {refusal}");
    }
}

/// Opens connections that keep a server waiting, each in another way.
fn slow_clients(port: u16) -> [Raw; 4] {
    let whole = message("{}");
    // More responses than the buffers of both sides hold, and the client reads none.
    let greedy = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(5_000);
    let begun: [&[u8]; 4] =
        [b"", b"GET / HTTP/1.1\r\nHost: local", &whole[..whole.len() - 1], &greedy];
    begun.map(|bytes| {
        let mut client = Raw::connect(port);
        client.0.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
        client.send(bytes);
        client
    })
}

#[test]
fn slow_clients_do_not_delay_the_shutdown() {
    let directory = directory();
    let mut server = Server::start(directory.path());
    Agent::connect(server.port).add("first");
    let _lock = lock_turn(directory.path());
    let server_clients = slow_clients(server.port);
    end_during_calls("serve", (directory.path(), server.port), 0, || {
        server.signal("TERM");
        server.wait()
    });
    drop(server_clients);
    let mut client = Client::start(directory.path());
    let _slow_clients = slow_clients(client.port());
    end_during_calls("stdio", (directory.path(), client.port()), 0, || {
        client.signal("TERM");
        client.wait()
    });
}

/// Returns the number of open file descriptors of a process, including connections.
#[cfg(target_os = "linux")]
fn open_files(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()
}

#[cfg(not(target_os = "linux"))]
fn open_files(_pid: u32) -> usize {
    0
}

#[test]
fn disconnected_clients_leak_no_calls_sessions_or_files() {
    let directory = directory();
    let server = Server::start(directory.path());
    let (path, port) = (directory.path(), server.port);
    let mut first = Agent::connect(port);
    first.add("first");
    let open = open_files(server.pid());
    let stateless =
        "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: add_issue\r\n";
    for round in 0..3 {
        let agents: Vec<_> = (0..12).map(|_| Agent::connect(port)).collect();
        let streams: Vec<_> = agents.iter().step_by(2).map(Agent::listen).collect();
        let lock = lock_turn(path);
        let waiting = agents.iter().map(|agent| (session_header(agent), json!({})));
        let waiting = waiting.chain([(stateless.to_owned(), json!({ "_meta": meta() }))]);
        let mut waiting: Vec<_> = waiting
            .map(|(headers, addition)| {
                let mut raw = Raw::connect(port);
                raw.send(posted(&headers, filing(addition).to_string()));
                raw
            })
            .collect();
        wait_for_metric(port, IN_PROGRESS, 13);
        waiting[12].end();
        thread::scope(|scope| {
            for (number, (agent, call)) in agents.iter().zip(&mut waiting).enumerate() {
                // One third closes the connection, one third ends the session, and one third does both at once.
                if number % 3 != 1 {
                    scope.spawn(|| call.end());
                }
                if number % 3 != 0 {
                    scope.spawn(|| assert_eq!(agent.delete().status, 204, "round {round}"));
                }
            }
        });
        wait_for_metric(port, CANCELLED, 13 * (round + 1));
        wait_for_metric(port, IN_PROGRESS, 0);
        lock.unlock().unwrap();
        for agent in agents.iter().step_by(3) {
            agent.post(&filing(json!({}))).unwrap().answer().ok();
            assert_eq!(agent.delete().status, 204, "round {round}");
        }
        drop(streams);
    }
    wait_for_metric(port, SESSIONS, 0);
    // In each of 3 rounds, 4 clients repeated their call successfully.
    assert_eq!(stored_issues(path).len(), 13);
    let start = Instant::now();
    // The store keeps some connections, each with two files or three.
    let most = open + 16;
    while open_files(server.pid()) > most {
        assert!(start.elapsed() < PATIENCE, "{} files, not {most}", open_files(server.pid()));
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(first.request("ping", json!({})).status, 200);
    assert!(!server.log().text().contains("ERROR"), "{}", server.log().text());
}
