//! The command line: what people read, and how a run ends.

use std::net::TcpListener;
use std::process::Output;
use std::time::Duration;

use crate::support::files::names;
use crate::support::{BINARY, Client, Log, ait, directory, healthy_count, signal, wait};

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
fn help_is_for_people() {
    let help = run(&["--help"]);
    assert!(help.status.success());
    insta::assert_snapshot!("help", text(&help.stdout));
    let version = run(&["--version"]);
    assert_eq!(text(&version.stdout), concat!("ait ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn wrong_usage_ends_with_2_and_says_what_is_possible() {
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
fn a_variable_that_cannot_be_used_is_named() {
    let directory = directory();
    let output = ait(directory.path()).env("PORT", "web").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let log = text(&output.stderr);
    assert!(log.contains("PORT: \"web\" is not a port") && log.contains("65535"), "{log}");
}

#[test]
fn an_empty_or_wrong_log_filter_does_not_silence_the_start() {
    for (filter, expected) in
        [("", "store: "), ("a=b=c", "RUST_LOG is \"a=b=c\""), ("a=b=c", "store: ")]
    {
        let directory = directory();
        let client = Client::spawn(ait(directory.path()).env("RUST_LOG", filter));
        client.log().wait_for(expected);
    }
}

#[test]
fn the_start_names_the_file_with_its_reason_and_the_address_of_the_pages() {
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
fn serve_needs_no_input_and_ends_with_a_signal() {
    let directory = directory();
    let mut command = ait(directory.path());
    let mut child = command.arg("serve").stdin(std::process::Stdio::null()).spawn().unwrap();
    let log = Log::of(child.stderr.take().unwrap());
    let start = log.wait_for("pages: http://localhost:");
    let port = start.rsplit(':').next().unwrap().trim().parse().unwrap();
    assert_eq!(healthy_count(port), 0);
    signal(&child, "TERM");
    assert!(wait(&mut child).success());
}

#[test]
fn a_port_that_is_taken_stops_serve_but_not_the_agent_and_the_owner_is_named() {
    let (elsewhere, directory) = (directory(), directory());
    let mut first = Client::start(elsewhere.path());
    let port = first.port().to_string();
    let mut second = Client::spawn(ait(directory.path()).env("PORT", &port));
    second.initialize();
    second.add("t", "bug");
    let log = second.log().wait_for("no pages from this process");
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
fn a_foreign_program_that_never_answers_does_not_hold_up_the_start() {
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

/// `script` gives the process a terminal; where it is missing, nothing can be said.
#[cfg(target_os = "linux")]
#[test]
fn in_a_terminal_the_pages_are_served_and_the_way_to_connect_is_told() {
    use std::io::Write;
    use std::process::{Command, Stdio};

    if Command::new("script").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "CI must have script(1), of bsdutils");
        eprintln!("skipped: no script(1) here");
        return;
    }
    let directory = directory();
    let mut command = Command::new("script");
    // Not every shell makes way for its last command; one that stays would die of Ctrl-C itself.
    let program = format!("exec '{BINARY}'");
    command.args(["-qefc", &program, "/dev/null"]);
    command.current_dir(directory.path()).env("PORT", "0").env_remove("ISSUES_FILE");
    command.env_remove("RUST_LOG").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let log = Log::of(child.stdout.take().unwrap());
    let text = log.wait_for("Ctrl-C");
    assert!(text.contains("pages: http://localhost:"), "{text}");
    assert!(text.contains("claude mcp add issues -- "), "{text}");
    // Ctrl-C. The input stays open: at its end, `script` would end the terminal under the process.
    let mut keyboard = child.stdin.take().unwrap();
    keyboard.write_all(b"\x03").unwrap();
    let status = wait(&mut child);
    assert!(status.success(), "{status}: {}", log.whole());
}
