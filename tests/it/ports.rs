//! Several processes on one store, and several stores on one machine: which process serves the page, which one
//! takes over, and what `ait status` reports.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::files::{id, issue_json, names, store_directory, stored_issues, write_issues};
use crate::support::http::Server;
use crate::support::runs::run;
use crate::support::{Client, Log, ait, directory, get, until, wait};

fn on_port(directory: &Path, port: u16) -> Command {
    let mut command = ait(directory);
    command.env("PORT", port.to_string());
    command
}

fn status(directory: &Path) -> Value {
    serde_json::from_str(&run(directory, &["status", "--json"]).ok()).unwrap()
}

/// Returns the kind and port of each process that `ait status` shows.
fn processes(directory: &Path) -> Vec<(String, Option<u64>)> {
    let report = status(directory);
    let processes = report["processes"].as_array().unwrap().iter();
    let kind_and_port =
        |process: &Value| (process["kind"].as_str().unwrap().to_owned(), process["port"].as_u64());
    processes.map(kind_and_port).collect()
}

fn serves(port: u16) -> bool {
    std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
}

#[test]
fn another_process_takes_over_the_port_after_a_kill() {
    let directory = directory();
    let mut first = Client::start(directory.path());
    let port = first.port();
    let mut others: Vec<_> =
        (0..3).map(|_| Client::spawn(&mut on_port(directory.path(), port))).collect();
    for other in &mut others {
        other.initialize();
        let log = other.log().wait_for("this process takes over when that one ends");
        let line =
            format!("pages: http://localhost:{port}, served by process {} (ait)", first.pid());
        assert!(log.contains(&line), "{log}");
        other.add("filed by a standby", "bug");
    }
    let port = u64::from(port);
    let stdio = |port| ("stdio".to_owned(), port);
    until("all processes are listed", || processes(directory.path()).len() == 4);
    let known = processes(directory.path());
    assert_eq!(
        known.iter().filter(|process| **process == stdio(Some(port))).count(),
        1,
        "{known:?}"
    );
    assert_eq!(known.iter().filter(|process| **process == stdio(None)).count(), 3, "{known:?}");
    first.signal("KILL");
    first.wait();
    let port = u16::try_from(port).unwrap();
    until("another process serves the port", || serves(port));
    assert_eq!(get(port, "/health").json()["issueCount"], 3);
    until("the new server is listed", || {
        let known = processes(directory.path());
        known.len() == 3 && known.iter().filter(|process| process.1.is_some()).count() == 1
    });
    for other in &mut others {
        other.add("filed after the takeover", "bug");
        assert!(other.close().success());
    }
    assert_eq!(stored_issues(directory.path()).len(), 6);
    // After the last process ends, no registry file is left.
    assert!(!store_directory(directory.path()).join("processes").exists());
    assert_eq!(processes(directory.path()), []);
}

/// Standby processes answer all requests of their agents while the server is killed again and again.
#[test]
fn port_takeover_loses_no_stdio_request() {
    const ROUNDS: usize = 3;
    let directory = directory();
    let mut server = Client::start(directory.path());
    let port = server.port();
    let (is_over, path) = (AtomicBool::new(false), directory.path());
    let answered: usize = thread::scope(|scope| {
        let agent = || {
            let mut agent = Client::spawn(&mut on_port(path, port));
            agent.initialize();
            let mut answered = 0;
            while !is_over.load(Ordering::Relaxed) && answered < 20_000 {
                agent.add("under load", "bug");
                answered += 1;
            }
            assert!(agent.close().success());
            answered
        };
        let agents: Vec<_> = (0..3).map(|_| scope.spawn(agent)).collect();
        for _ in 0..ROUNDS {
            server.signal("KILL");
            server.wait();
            until("another process serves the port", || serves(port));
            // The next process becomes a standby.
            server = Client::spawn(&mut on_port(path, port));
            server.initialize();
        }
        is_over.store(true, Ordering::Relaxed);
        agents.into_iter().map(|agent| agent.join().unwrap()).sum()
    });
    assert!(answered > 0);
    assert!(server.close().success());
    assert_eq!(stored_issues(directory.path()).len(), answered);
}

#[test]
fn stdio_leaves_http_to_a_serve_process_and_takes_over_its_port() {
    let directory = directory();
    let mut server = Server::start(directory.path());
    let port = server.port;
    let mut command = ait(directory.path());
    let mut agent = Client::spawn(command.env_remove("PORT"));
    agent.initialize();
    let line = format!("pages: http://localhost:{port}, served by process {} (ait)", server.pid());
    agent.log().wait_for(&line);
    // A process that requires a token is no substitute for one that requires none.
    let mut command = ait(directory.path());
    command.env("AIT_TOKEN", "0123456789abcdef0123456789abcdef0123").env_remove("PORT");
    let mut other = Client::spawn(&mut command);
    other.initialize();
    other.log().wait_for(&format!("{} (ait serve)", line.trim_end_matches(" (ait)")));
    let stdio = |port: Option<u16>| ("stdio".to_owned(), port.map(u64::from));
    let known = processes(directory.path());
    assert_eq!(known.iter().filter(|process| **process == stdio(None)).count(), 2, "{known:?}");
    assert!(other.close().success());
    server.signal("TERM");
    server.wait();
    until("the agent serves the port", || processes(directory.path()) == [stdio(Some(port))]);
    assert_eq!(get(port, "/health").json()["issueCount"], 0);
}

#[test]
fn serve_fails_at_once_on_a_taken_explicit_port() {
    let directory = directory();
    let server = Server::start(directory.path());
    let port = server.port.to_string();
    let refused = run(directory.path(), &["serve", "--port", &port]).refusal();
    let line = format!(
        "port {port} is taken by process {} (ait), which serves this store already; choose another",
        server.pid()
    );
    assert!(refused.contains(&line), "{refused}");
    assert_eq!(processes(directory.path()), [("serve".to_owned(), Some(server.port.into()))]);
}

#[test]
fn stdio_works_beside_a_taken_port_and_takes_it_when_free() {
    let directory = directory();
    let other_program = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other_program.local_addr().unwrap().port();
    let mut client = Client::spawn(&mut on_port(directory.path(), port));
    client.initialize();
    client.add("t", "bug");
    let log = client.log().wait_for("it will start when the port is free");
    assert!(log.contains(&format!("port {port} is taken by ")), "{log}");
    drop(other_program);
    client.log().wait_for(&format!("pages: http://localhost:{port}"));
    assert_eq!(get(port, "/health").json()["issueCount"], 1);
    assert!(client.close().success());
}

#[test]
fn status_reports_old_claims_and_watching_commands() {
    let directory = directory();
    let held = |number, title, status| issue_json(&id(number), title, status);
    let issues = [
        held(1, "waits", "created"),
        held(2, "held for months", "in_progress"),
        held(3, "in review for months", "in_review"),
    ];
    write_issues(directory.path(), &issues);
    run(directory.path(), &["next", "--agent", "now"]).ok();
    let report = status(directory.path());
    let file = directory.path().canonicalize().unwrap().join("issues.json");
    assert_eq!(report["file"], file.to_str().unwrap());
    assert_eq!(report["reason"], "outside a repository: the working directory");
    assert_eq!(report["counts"][1], json!({ "status": "in_progress", "count": 2 }));
    let old = |report: &Value| -> Vec<_> {
        let claims = report["oldClaims"].as_array().unwrap().iter();
        claims.map(|claim| claim["title"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(old(&report), ["held for months", "in review for months"]);
    let all = run(directory.path(), &["status", "--json", "--old-after", "0s"]).ok();
    assert_eq!(old(&serde_json::from_str(&all).unwrap()).len(), 3);
    let plain = run(directory.path(), &["status"]).ok();
    for words in ["2 in progress · 1 in review", "OLD CLAIM", "held for months", "no process"] {
        assert!(plain.contains(words), "no {words:?} in {plain}");
    }
    // `ait status` also works when the store is damaged.
    let good = std::fs::read(directory.path().join("issues.json")).unwrap();
    std::fs::write(directory.path().join("issues.json"), "{").unwrap();
    let output = run(directory.path(), &["status"]);
    assert!(output.code == 0 && output.out.contains("2 in progress"), "{output:?}");
    assert!(
        output.log.contains("issues.json, line 1") && output.log.contains("continue"),
        "{output:?}"
    );
    std::fs::rename(directory.path().join(".ait"), directory.path().join("away")).unwrap();
    let bad = run(directory.path(), &["status"]);
    assert!(bad.code == 1 && bad.out.contains("cannot be read"), "{bad:?}");
    assert!(bad.out.contains("no process serves this store"), "{bad:?}");
    std::fs::write(directory.path().join("issues.json"), good).unwrap();
    let mut watch = ait(directory.path()).args(["log", "-f"]).spawn().unwrap();
    until("the watching command is listed", || {
        processes(directory.path()) == [("watch".to_owned(), None)]
    });
    watch.kill().unwrap();
    watch.wait().unwrap();
    assert_eq!(processes(directory.path()), []);
}

/// A process without tokens never takes over the port of a server that requires them.
#[test]
fn server_with_tokens_is_not_replaced_by_one_without() {
    let directory = directory();
    let mut command = ait(directory.path());
    command.arg("serve").env("AIT_TOKEN", "0123456789abcdef");
    let mut guarded = command.spawn().unwrap();
    let log = Log::of(guarded.stderr.take().unwrap());
    let start = log.wait_for("pages: http://localhost:");
    let port: u16 = start.rsplit(':').next().unwrap().trim().parse().unwrap();
    assert_eq!(get(port, "/").status, 401);
    let mut open = Client::spawn(&mut on_port(directory.path(), port));
    open.initialize();
    open.log().wait_for("requires a token, while this process has none");
    // This process leaves HTTP to the server while the server runs.
    std::fs::write(directory.path().join("ait.toml"), format!("port = {port}\n")).unwrap();
    let mut deferring = Client::spawn(ait(directory.path()).env_remove("PORT"));
    deferring.initialize();
    deferring.log().wait_for("requires a token, while this process has none");
    let mut knowing =
        Client::spawn(on_port(directory.path(), port).env("AIT_TOKEN", "0123456789abcdef"));
    knowing.initialize();
    knowing.log().wait_for("this process takes over when that one ends");
    guarded.kill().unwrap();
    guarded.wait().unwrap();
    until("another process serves the port", || serves(port));
    assert_eq!(get(port, "/").status, 401);
    open.add("t", "bug");
    assert!(knowing.close().success());
    // Both processes would retry within a second.
    thread::sleep(Duration::from_secs(2));
    assert!(!serves(port));
    assert!(open.close().success() && deferring.close().success());
}

/// `git clean` and the restore of a damaged store remove the registry files of running processes.
#[test]
fn a_process_registers_again_after_its_files_are_removed() {
    let directory = directory();
    let path = directory.path();
    let mut agent = Client::start(path);
    agent.add("t", "bug");
    let known = [("stdio".to_owned(), Some(agent.port().into()))];
    assert_eq!(processes(path), known);
    until("the registry is removed", || std::fs::remove_dir_all(path.join(".ait")).is_ok());
    until("the process is listed again", || processes(path) == known);
    assert!(agent.close().success());
    assert_eq!(processes(path), []);
}

/// Registry files are removed even when a process ends at once.
#[test]
fn short_lived_processes_leave_no_files() {
    let directory = directory();
    for _ in 0..20 {
        let mut child = ait(directory.path()).spawn().unwrap();
        drop(child.stdin.take());
        assert!(wait(&mut child).success());
        assert!(names(directory.path()).is_empty(), "{:?}", names(directory.path()));
    }
}

/// Other programs use the default ports too, so this test runs in a network namespace.
#[cfg(target_os = "linux")]
#[test]
fn default_ports_are_shared_with_other_projects_and_programs() {
    let up = "ip link set lo up && exec \"$@\"";
    let isolated = |command: &[&str]| {
        let mut shell = Command::new("unshare");
        shell.args(["-rn", "sh", "-c", up, "sh"]).args(command).env_remove("PORT");
        shell.output()
    };
    if !isolated(&["true"]).is_ok_and(|output| output.status.success()) {
        crate::support::skip("network namespaces are not permitted (unshare, ip)");
        return;
    }
    let test = std::env::current_exe().unwrap();
    let arguments = ["--ignored", "--exact", "ports::default_ports_in_an_isolated_network"];
    let output = isolated(&[&[test.to_str().unwrap()], &arguments[..]].concat()).unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "another test runs it in a network namespace"]
fn default_ports_in_an_isolated_network() {
    let on_default_port = |directory: &Path| {
        let mut command = ait(directory);
        command.env_remove("PORT");
        let mut client = Client::spawn(&mut command);
        client.initialize();
        client
    };
    let [one, other, third] = [(); 3].map(|()| directory());
    let other_program = TcpListener::bind("127.0.0.1:3000").unwrap();
    let mut first = on_default_port(one.path());
    let log = first.log().wait_for("pages: http://localhost:3001");
    assert!(log.contains("port 3000 is taken by ") && log.contains("uses port 3001"), "{log}");
    drop(other_program);
    // Another project takes the free port; another process of the first project uses the page of that project.
    let mut other_project = on_default_port(other.path());
    other_project.log().wait_for("pages: http://localhost:3000");
    let mut second = on_default_port(one.path());
    second.log().wait_for("pages: http://localhost:3001, served by process");
    // The service of the first project has no explicit port and becomes a standby.
    let mut command = ait(one.path());
    let mut service = command.arg("serve").env_remove("PORT").spawn().unwrap();
    let log = Log::of(service.stderr.take().unwrap());
    log.wait_for("pages: http://localhost:3001, served by process");
    assert!(second.close().success());
    first.signal("KILL");
    first.wait();
    until("the service takes over", || serves(3001));
    // A server of another store never uses the port that a project has pinned.
    std::fs::write(third.path().join("ait.toml"), "port = 3002\n").unwrap();
    assert!(on_default_port(third.path()).close().success());
    let fourth = directory();
    let mut last = on_default_port(fourth.path());
    let log = last.log().wait_for("pages: http://localhost:3003");
    assert!(log.contains("port 3000 is taken by "), "{log}");
    for client in [&mut other_project, &mut last] {
        assert!(client.close().success());
    }
    service.kill().unwrap();
    service.wait().unwrap();
}
