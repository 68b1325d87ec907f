//! The command line: its messages and exit codes.

use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use crate::support::files::names;
use crate::support::{
    BINARY, Client, Log, ait, ait_through, directory, health_issue_count, signal, wait,
};

fn run(arguments: &[&str]) -> Output {
    let directory = directory();
    let output = ait(directory.path()).args(arguments).output().unwrap();
    assert!(names(directory.path()).is_empty());
    output
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn help_and_version_have_the_expected_text() {
    let help = run(&["--help"]);
    assert!(help.status.success());
    insta::assert_snapshot!("help", text(&help.stdout));
    let version = run(&["--version"]);
    assert_eq!(text(&version.stdout), concat!("ait ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn usage_errors_exit_with_2_and_name_the_cause() {
    for (arguments, expected) in [
        (&["--prot", "1"][..], "--port"),
        (&["--port", "70000"], "70000"),
        (&["srve"], "serve"),
        (&["serve", "extra"], "extra"),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(expected), "{}", text(&output.stderr));
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn invalid_environment_variable_is_named_in_the_error() {
    let directory = directory();
    let output = ait(directory.path()).env("PORT", "web").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let log = text(&output.stderr);
    assert!(log.contains("PORT: \"web\" is not a port") && log.contains("65535"), "{log}");
}

#[test]
fn invalid_log_filter_does_not_suppress_startup_messages() {
    for (filter, expected) in
        [("", "store: "), ("a=b=c", "RUST_LOG is \"a=b=c\""), ("a=b=c", "store: ")]
    {
        let directory = directory();
        let client = Client::spawn(ait(directory.path()).env("RUST_LOG", filter));
        client.log().wait_for(expected);
    }
}

#[test]
fn startup_log_names_the_store_its_source_and_the_web_ui_url() {
    let directory = directory();
    let other = directory.path().join("other.json");
    let mut client = Client::spawn(ait(directory.path()).args(["--file", "other.json"]));
    let log = client.log().wait_for("pages: http://localhost:");
    assert!(log.contains(&format!("store: {} (named by --file)", other.display())), "{log}");
    assert!(client.close().success());
    let mut client = Client::spawn(ait(directory.path()).env("ISSUES_FILE", &other));
    client.log().wait_for("(named by ISSUES_FILE)");
    client.initialize();
    client.add("t", "bug");
    client.close();
    assert_eq!(names(directory.path()), [".ait", "other.json"]);
}

#[test]
fn serve_runs_without_stdin_and_stops_on_sigterm() {
    let directory = directory();
    let mut command = ait(directory.path());
    let mut child = command.arg("serve").stdin(std::process::Stdio::null()).spawn().unwrap();
    let log = Log::of(child.stderr.take().unwrap());
    let start = log.wait_for("pages: http://localhost:");
    let port = start.rsplit(':').next().unwrap().trim().parse().unwrap();
    assert_eq!(health_issue_count(port), 0);
    signal(&child, "TERM");
    assert!(wait(&mut child).success());
}

#[test]
fn bare_ait_serves_the_page_without_a_client_on_stdin() {
    let directory = directory();
    let mut child = ait(directory.path()).stdin(std::process::Stdio::null()).spawn().unwrap();
    let log = Log::of(child.stderr.take().unwrap());
    let start = log.wait_for("pages: http://localhost:");
    assert!(start.contains("stdin is not from an MCP client"), "{start}");
    signal(&child, "TERM");
    assert!(wait(&mut child).success());
}

#[test]
fn bare_ait_serves_a_client_on_a_pipe_and_mcp_says_that_it_is_meant() {
    let directory = directory();
    let mut guessed = Client::start(directory.path());
    guessed.add("t", "bug");
    guessed.log().wait_for("so ait serves MCP there, as `ait mcp` does");
    assert!(guessed.close().success());
    let mut meant = Client::spawn(ait(directory.path()).args(["mcp", "--name", "queue"]));
    meant.initialize();
    meant.add("t", "bug");
    assert!(!meant.log().text().contains("so ait serves"), "{}", meant.log().text());
    assert!(meant.close().success());
    // The pipe is closed at once.
    let nothing = ait(directory.path()).output().unwrap();
    let log = text(&nothing.stderr);
    assert!(log.contains("stdin ended before an MCP client said anything: `ait serve`"), "{log}");
}

#[test]
fn a_server_in_no_project_tells_its_agent_and_begins_no_queue() {
    let home = directory();
    let mut client = Client::spawn(ait(home.path()).env("HOME", home.path()));
    client.initialize();
    let arguments = serde_json::json!({
        "title": "t", "description": "d", "classification": "bug", "agent": "a",
    });
    let refusal = client.call("add_issue", arguments).refusal();
    assert!(refusal.contains("is not the directory of a project"), "{refusal}");
    client.close();
    assert!(names(home.path()).iter().all(|name| name != "issues.json"));
    // A person names the queue, or begins it.
    let mut named =
        Client::spawn(ait(home.path()).args(["--file", "issues.json"]).env("HOME", home.path()));
    named.initialize();
    named.add("t", "bug");
    assert!(named.close().success());
    let mut existing = Client::spawn(ait(home.path()).env("HOME", home.path()));
    existing.initialize();
    existing.add("t", "bug");
}

#[test]
fn demo_begins_an_empty_queue_with_recent_issues() {
    let directory = directory();
    let run = |arguments: &[&str]| ait(directory.path()).args(arguments).output().unwrap();
    assert!(run(&["demo"]).status.success());
    let listed: serde_json::Value =
        serde_json::from_slice(&run(&["list", "changed:>-1h", "--json"]).stdout).unwrap();
    assert_eq!(listed["total"], 6, "{listed}");
    let doctor = run(&["doctor"]);
    assert!(doctor.status.success(), "{}", text(&doctor.stdout));
    let again = run(&["demo"]);
    assert_eq!(again.status.code(), Some(1));
    assert!(text(&again.stderr).contains("this queue has issues already"));
}

#[test]
fn large_demo_is_twelve_days_of_a_team() {
    let read = || {
        let directory = directory();
        let run = |arguments: &[&str]| ait(directory.path()).args(arguments).output().unwrap();
        assert!(run(&["demo", "--large"]).status.success());
        let listed = run(&["list", "--status", "all", "--json", "-n", "1000"]).stdout;
        let listed: serde_json::Value = serde_json::from_slice(&listed).unwrap();
        (directory, listed["issues"].as_array().unwrap().clone())
    };
    let (directory, issues) = read();
    assert_eq!(issues.len(), 384);
    for status in ["created", "in_progress", "completed", "in_review", "closed", "rejected"] {
        assert!(issues.iter().any(|issue| issue["status"] == status), "{status}");
    }
    let doctor = ait(directory.path()).args(["doctor"]).output().unwrap();
    assert!(doctor.status.success(), "{}", text(&doctor.stdout));
    let stats = ait(directory.path()).args(["stats", "--json"]).output().unwrap();
    let stats: serde_json::Value = serde_json::from_slice(&stats.stdout).unwrap();
    assert!(stats["throughput"]["total"]["returned"].as_u64().unwrap() > 20, "{stats}");
    // The same each time but for its dates.
    let facts = |issues: &[serde_json::Value]| -> Vec<_> {
        issues.iter().map(|issue| (issue["id"].clone(), issue["status"].clone())).collect()
    };
    assert_eq!(facts(&issues), facts(&read().1));
}

#[test]
fn taken_port_stops_serve_but_not_stdio_and_names_the_owner() {
    let (elsewhere, directory) = (directory(), directory());
    let mut first = Client::start(elsewhere.path());
    let port = first.port().to_string();
    let mut second = Client::spawn(ait(directory.path()).env("PORT", &port));
    second.initialize();
    second.add("t", "bug");
    let log = second.log().wait_for("web UI unavailable");
    for words in [&format!("port {port} is taken"), "agent-issue-tracker/", "--port"] {
        assert!(log.contains(words), "no {words:?} in {log}");
    }
    if cfg!(target_os = "linux") {
        assert!(log.contains(&format!("process {}", first.pid())), "{log}");
    }
    let serve = ait(directory.path()).args(["serve", "--port", &port]).output().unwrap();
    assert_eq!(serve.status.code(), Some(1));
    assert!(text(&serve.stderr).contains("is taken by"), "{}", text(&serve.stderr));
    assert!(second.close().success());
    assert!(first.close().success());
}

#[test]
fn silent_program_on_the_port_does_not_delay_startup() {
    let directory = directory();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port().to_string();
    let start = std::time::Instant::now();
    let mut client = Client::spawn(ait(directory.path()).env("PORT", &port));
    client.initialize();
    client.add("t", "bug");
    client.log().wait_for(&format!("port {port} is taken"));
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

/// Runs `ait` in a terminal until it mentions Ctrl-C, presses Ctrl-C, and returns the output. Returns `None` without
/// script(1), which provides the terminal.
#[cfg(target_os = "linux")]
fn run_in_terminal(directory: &Path, arguments: &str) -> Option<String> {
    if Command::new("script").arg("--version").output().is_err() {
        crate::support::skip("no script(1) here");
        return None;
    }
    // Without `exec`, some shells keep running, and Ctrl-C would kill them.
    let program = format!("exec '{BINARY}' {arguments}");
    let mut command = ait_through("script", directory);
    let mut child = command.args(["-qefc", &program, "/dev/null"]).spawn().unwrap();
    let log = Log::of(child.stdout.take().unwrap());
    log.wait_for("Ctrl-C");
    // Stdin stays open: at its end, `script` would close the terminal.
    let mut keyboard = child.stdin.take().unwrap();
    keyboard.write_all(b"\x03").unwrap();
    let status = wait(&mut child);
    assert!(status.success(), "{status}: {}", log.whole());
    Some(log.whole().replace("\r\n", "\n"))
}

#[cfg(target_os = "linux")]
#[test]
fn terminal_start_greets_the_user_without_log_lines() {
    let directory = directory();
    let Some(text) = run_in_terminal(directory.path(), "") else { return };
    let store = directory.path().join("issues.json");
    let lines: Vec<_> = text.lines().collect();
    assert!(lines[0].starts_with("pages   http://localhost:"), "{text}");
    let rest = [
        &*format!("store   {}", store.display()),
        "issues  no issues yet: `ait add \"TITLE\"` files one",
        "no MCP client is set up for this project yet: run `ait init`",
        "Ctrl-C to stop",
    ];
    assert_eq!(lines[1..5], rest, "{text}");
    let init = &["init", "--yes", "--client", "claude-code"];
    for arguments in [&["add", "one"][..], &["add", "two"], &["next"], init] {
        assert!(ait(directory.path()).args(arguments).output().unwrap().status.success());
    }
    let text = run_in_terminal(directory.path(), "").unwrap();
    assert!(text.contains("\nissues  1 created · 1 in progress\nCtrl-C to stop\n"), "{text}");
    assert!(!text.contains("INFO"), "{text}");
}

#[cfg(target_os = "linux")]
#[test]
fn second_terminal_start_names_the_page_and_what_to_do() {
    let directory = directory();
    let mut first = Client::start(directory.path());
    let port = format!("--port {}", first.port());
    let Some(text) = run_in_terminal(directory.path(), &port) else { return };
    let page = format!("pages   http://localhost:{}\n", first.port());
    assert!(text.starts_with(&page), "{text}");
    let who = format!("served by process {} (ait) already: open that page", first.pid());
    assert!(text.contains(&who) && text.contains("press Ctrl-C to stop this process"), "{text}");
    assert!(first.close().success());
}

#[cfg(target_os = "linux")]
#[test]
fn terminal_start_with_log_option_keeps_the_log_lines() {
    let directory = directory();
    let Some(text) = run_in_terminal(directory.path(), "--log info") else { return };
    assert!(text.contains("INFO") && text.contains("pages: http://localhost:"), "{text}");
    assert!(text.contains("claude mcp add issues -- "), "{text}");
}
