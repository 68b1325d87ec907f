//! `ait open`: the page in the browser.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use serde_json::json;

use super::{Desk, Run};
use crate::support::http::Server;

#[test]
fn open_print_prints_the_url_without_a_browser() {
    let desk = Desk::new();
    let server = Server::start(desk.path());
    let (port, url) = (server.port.to_string(), format!("http://localhost:{}", server.port));
    let printed = desk.run(&["open", "--print", "--port", &port]).done();
    assert_eq!(printed.stdout(), format!("{url}\n"));
    let json = desk.run(&["--port", &port, "open", "--print", "--json"]).done().json();
    assert_eq!(json, json!({ "url": url, "opened": false }));
    let other =
        desk.run(&["--file", "other.json", "open", "--print", "--port", &port]).ends_with(0);
    assert!(other.stderr().contains("shows issues.json, not other.json"), "{}", other.stderr());
}

#[cfg(target_os = "linux")]
#[test]
fn open_starts_the_configured_browser_with_the_url() {
    use std::os::unix::fs::PermissionsExt;
    use std::time::{Duration, Instant};

    let desk = Desk::new();
    let server = Server::start(desk.path());
    let (browser, visited) = (desk.path().join("browser.sh"), desk.path().join("visited"));
    let script =
        format!("#!/bin/sh\nprintf %s \"$1\" > '{0}.new'\nmv '{0}.new' '{0}'\n", visited.display());
    fs::write(&browser, script).unwrap();
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = desk.command(&["open", "--json"]);
    command.env("PORT", server.port.to_string()).env("BROWSER", &browser);
    let answer = Run(command.output().unwrap()).done().json();
    let url = format!("http://localhost:{}", server.port);
    assert_eq!(answer, json!({ "url": url, "opened": true }));
    let start = Instant::now();
    // The command does not wait for the browser.
    while !visited.exists() {
        assert!(start.elapsed() < crate::support::PATIENCE, "the browser was not started");
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(fs::read_to_string(visited).unwrap().trim_end_matches('/'), url);
    // Without a browser, the command still prints the URL.
    let mut command = desk.command(&["open"]);
    command.env("PORT", server.port.to_string()).env("PATH", desk.path()).env("BROWSER", "nothing");
    let without_browser = Run(command.output().unwrap()).ends_with(0);
    assert_eq!(without_browser.stdout(), format!("{url}\n"));
    assert!(
        without_browser.stderr().contains("cannot start a browser"),
        "{}",
        without_browser.stderr()
    );
}

#[test]
fn open_reports_a_port_without_the_tracker() {
    let desk = Desk::new();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port().to_string();
    let other_server = thread::spawn(move || {
        let (mut client, _) = free.accept().unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            client.read_exact(&mut byte).unwrap();
            request.extend(byte);
        }
        client.write_all(b"HTTP/1.1 404 Not Found\r\nServer: other\r\n\r\n").unwrap();
    });
    let taken = desk.run(&["open", "--port", &port]).failed(1);
    assert!(taken.contains("no ait serves") && taken.contains("ait serve --port"), "{taken}");
    other_server.join().unwrap();
    let unserved = desk.run(&["open", "--port", &port]).failed(1);
    assert!(
        unserved.contains(&format!("port {port}")) && unserved.contains("`ait serve`"),
        "{unserved}"
    );
    assert!(desk.run(&["open", "--port", "0"]).failed(2).contains("1..=65535"));
}
