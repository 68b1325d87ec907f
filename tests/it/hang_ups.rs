//! SIGHUP: a closed terminal ends the server, a rotated log does not.

#![cfg(target_os = "linux")]

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::support::http::{Agent, Server};
use crate::support::{BINARY, Client, Log, ait_through, directory, health_issue_count, until};

#[test]
fn sighup_does_not_stop_the_server() {
    let directory = directory();
    let mut server = Server::start(directory.path());
    let mut client = Client::start(directory.path());
    let mut agent = Agent::connect(server.port);
    for number in 0..3 {
        server.signal("HUP");
        client.signal("HUP");
        agent.add("t");
        client.add("t", "bug");
        assert_eq!(health_issue_count(server.port), 2 * number + 2);
    }
    assert!(client.close().success());
    server.signal("TERM");
    assert!(server.wait().success());
}

#[test]
fn sighup_stops_the_server_only_if_its_terminal_is_closed() {
    if Command::new("script").arg("--version").output().is_err() {
        crate::support::skip("no script(1) here");
        return;
    }
    let directory = directory();
    let line = format!("echo $$ > pid; exec '{BINARY}' serve");
    let mut command = ait_through("script", directory.path());
    let mut script = command.args(["-qefc", &line, "/dev/null"]).spawn().unwrap();
    let screen = Log::of(script.stdout.take().unwrap());
    let port = screen.wait_for("pages: http://localhost:");
    let port = port.rsplit(':').next().unwrap().split_whitespace().next().unwrap();
    let pid = fs::read_to_string(directory.path().join("pid")).unwrap().trim().to_owned();
    let hang_up = format!("kill -HUP {pid}");
    assert!(Command::new("sh").args(["-c", &hang_up]).status().unwrap().success());
    // The server may handle the signal before or after a request.
    for _ in 0..20 {
        health_issue_count(port.parse().unwrap());
    }
    script.kill().unwrap();
    script.wait().unwrap();
    let process = PathBuf::from(format!("/proc/{pid}"));
    until("the server ends with its terminal", || !process.exists());
}
