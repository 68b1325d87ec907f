//! Calls and commands that wait for an issue to claim: who gets it, what ends a wait, and what a wait costs.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::files::stored_issues;
use crate::support::http::{
    Agent, IN_PROGRESS, Raw, Server, meta, posted, session_header, wait_for_metric,
};
use crate::support::runs::run;
use crate::support::{Client, Log, ait, directory, get, request, signal, until, wait};

/// Longer than the interval at which a process polls the store.
const A_WHILE: Duration = Duration::from_millis(1_500);

/// Returns the arguments of a claim with the longest possible wait.
fn waits(agent: &str) -> Value {
    json!({ "agent": agent, "wait_seconds": 600 })
}

fn status_of(directory: &Path, id: &str) -> String {
    let issues = stored_issues(directory);
    let issue = issues.iter().find(|issue| issue["id"] == id).unwrap();
    issue["status"].as_str().unwrap().to_owned()
}

fn in_progress(client: &Client, count: u64) {
    wait_for_metric(client.port(), IN_PROGRESS, count);
}

#[test]
fn a_release_in_another_process_wakes_a_client() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    let id = client.add("t", "bug");
    run(directory.path(), &["next", "-a", "holder"]).ok();
    let waiting = client.ask_tool("get_next_issue", waits("b"));
    in_progress(&client, 1);
    run(directory.path(), &["release", &id, "-a", "holder"]).ok();
    assert_eq!(client.answer(waiting).unwrap().issue()["id"], id);
    // A completed issue wakes a waiting reviewer.
    let waiting = client.ask_tool("get_next_review_item", waits("c"));
    in_progress(&client, 1);
    run(directory.path(), &["complete", &id, "-m", "done", "-a", "b"]).ok();
    assert_eq!(client.answer(waiting).unwrap().issue()["id"], id);
}

#[test]
fn waiting_clients_of_two_processes_get_each_issue_once() {
    const COUNT: usize = 32;
    let directory = directory();
    let mut clients = [Client::start(directory.path()), Client::start(directory.path())];
    let mut asked = Vec::new();
    for number in 0..COUNT {
        let client = &mut clients[number % 2];
        asked.push(client.ask_tool("get_next_issue", waits(&format!("agent {number}"))));
    }
    let issues: Vec<_> =
        (0..COUNT).map(|number| json!({ "title": format!("issue {number}") })).collect();
    fs::write(directory.path().join("new.json"), json!({ "issues": issues }).to_string()).unwrap();
    run(directory.path(), &["import", "new.json"]).ok();
    let mut claimed = BTreeSet::new();
    for (number, id) in asked.into_iter().enumerate() {
        let issue = clients[number % 2].answer(id).unwrap().issue();
        assert!(claimed.insert(issue["id"].as_str().unwrap().to_owned()), "{issue}");
    }
    assert_eq!(claimed.len(), COUNT);
    assert!(stored_issues(directory.path()).iter().all(|issue| issue["status"] == "in_progress"));
}

#[test]
fn cancelled_and_closed_calls_claim_nothing() {
    let directory = directory();
    let server = Server::start(directory.path());
    let mut agent = Agent::connect(server.port);
    // Two clients close their connections, and one cancels its call.
    let call = |id: u64| {
        let params = json!({ "name": "get_next_issue", "arguments": waits("gone") });
        request(id, "tools/call", params)
    };
    let mut closed: Vec<_> = (0..2).map(|_| Raw::connect(server.port)).collect();
    for (id, connection) in (100..).zip(&mut closed) {
        let headers = session_header(&agent);
        connection.send(posted(&headers, call(id).to_string()));
    }
    let cancelled = thread::spawn({
        let mut other = Agent::new(server.port);
        other.session.clone_from(&agent.session);
        move || other.post(&call(200)).map(|reply| reply.body)
    });
    wait_for_metric(server.port, IN_PROGRESS, 3);
    drop(closed);
    let cancel = json!({ "requestId": 200 });
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel });
    assert_eq!(agent.post(&cancel).unwrap().status, 202);
    wait_for_metric(server.port, IN_PROGRESS, 0);
    assert_eq!(cancelled.join().unwrap().unwrap(), "");
    let id = agent.add("t");
    assert_eq!(status_of(directory.path(), &id), "created");
    assert_eq!(stored_issues(directory.path())[0]["history"].as_array().unwrap().len(), 1);
}

#[test]
fn a_shutdown_answers_waiting_calls() {
    let directory = directory();
    let mut server = Server::start(directory.path());
    let wait_once = |session: Option<String>, port| {
        let mut agent = Agent::new(port);
        agent.session = session;
        thread::spawn(move || agent.call("get_next_issue", waits("b")))
    };
    let agent = Agent::connect(server.port);
    let calls: Vec<_> = (0..8).map(|_| wait_once(agent.session.clone(), server.port)).collect();
    wait_for_metric(server.port, IN_PROGRESS, 8);
    server.signal("TERM");
    for call in calls {
        assert_eq!(call.join().unwrap().ok(), "No issue is waiting to be claimed.");
    }
    assert!(server.wait().success());
    // The same session continues with another process.
    let mut server = Server::start(directory.path());
    let waiting = wait_once(agent.session.clone(), server.port);
    wait_for_metric(server.port, IN_PROGRESS, 1);
    // A killed process leaves no claim behind.
    server.kill_and_start_again();
    assert!(waiting.join().is_err());
    let id = Agent::connect(server.port).add("t");
    assert_eq!(status_of(directory.path(), &id), "created");
    let waiting = wait_once(agent.session, server.port);
    assert_eq!(waiting.join().unwrap().issue()["id"], id);
}

#[test]
fn stdin_eof_ends_a_wait() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    let waiting = client.ask_tool("get_next_review_item", waits("b"));
    in_progress(&client, 1);
    assert!(client.close().success());
    assert_eq!(client.answer(waiting).unwrap().ok(), "No issue is waiting for review.");
}

#[test]
fn a_wait_with_conflicting_arguments_is_refused() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    let id = client.add("t", "bug");
    for arguments in [json!({ "mine": true }), json!({ "issue_id": id })] {
        let mut arguments = arguments;
        arguments["agent"] = "a".into();
        arguments["wait_seconds"] = 5.into();
        let refusal = client.call("get_next_issue", arguments.clone()).refusal();
        assert!(refusal.contains("leave out issue_id and mine, or wait_seconds"), "{refusal}");
        arguments["wait_seconds"] = 0.into();
        client.call("get_next_issue", arguments).ok();
    }
    for tool in ["get_next_issue", "get_next_review_item"] {
        let refusal = client.call(tool, json!({ "agent": "a", "wait_seconds": 601 })).refusal();
        assert!(refusal.contains("`wait_seconds` must be an integer from 0 to 600"), "{refusal}");
    }
}

#[test]
fn a_wait_times_out_and_is_not_logged_as_slow() {
    let directory = directory();
    let mut client = Client::spawn(ait(directory.path()).args(["--log", "debug"]));
    client.initialize();
    let begun = Instant::now();
    let answer = client.call("get_next_issue", json!({ "agent": "a", "wait_seconds": 2 }));
    assert!(begun.elapsed() >= Duration::from_secs(2));
    assert_eq!(answer.ok(), "No issue is waiting to be claimed.");
    let log = client.log().wait_for("tool call");
    let line = log.lines().find(|line| line.contains("tool call")).unwrap();
    assert!(line.contains("DEBUG"), "{line}");
    // The duration of a wait is not measured, because it would be meaningless.
    let page = get(client.port(), "/metrics").body;
    assert!(!page.contains("ait_operation_duration_seconds_count{tool=\"get_next_issue\"}"));
}

#[test]
fn clients_with_a_progress_token_get_the_progress_of_a_wait() {
    let directory = directory();
    let server = Server::start(directory.path());
    let agent = Agent::connect(server.port);
    let call = |meta: Value| {
        let params = json!({ "name": "get_next_issue", "arguments": waits("b"), "_meta": meta });
        request(7, "tools/call", params)
    };
    let token = json!({ "progressToken": "token" });
    let mut with_session = Raw::connect(server.port);
    let headers = format!("Connection: close\r\n{}", session_header(&agent));
    with_session.send(posted(&headers, call(token.clone()).to_string()));
    let stateless = thread::spawn(move || {
        let mut meta = meta();
        meta["progressToken"] = "token".into();
        Agent::new(server.port).stream(&call(meta)).text().unwrap()
    });
    let mut client = Client::start(directory.path());
    client.send(&call(token));
    let progress = client.frame().unwrap();
    assert_eq!(progress["method"], "notifications/progress", "{progress}");
    let params = &progress["params"];
    assert_eq!((&params["progressToken"], &params["total"]), (&json!("token"), &json!(600.0)));
    assert!(params["progress"].as_f64().unwrap() >= 15.0, "{progress}");

    for title in ["1", "2", "3"] {
        run(directory.path(), &["add", title]).ok();
    }
    assert_eq!(client.frame().unwrap()["result"]["isError"], false);
    for answer in [with_session.rest(), stateless.join().unwrap()] {
        let (progress, result) =
            answer.split_once("notifications/progress").unwrap_or_else(|| panic!("{answer}"));
        assert!(!progress.contains("\"result\""), "{answer}");
        assert!(result.contains("\"result\"") && result.contains("in_progress"), "{answer}");
    }
}

#[test]
fn waiting_calls_and_commands_write_no_files() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    client.add("t", "bug");
    client.call("get_next_issue", json!({ "agent": "a" })).ok();
    run(directory.path(), &["save"]).ok();
    client.ask_tool("get_next_issue", waits("b"));
    client.ask_tool("get_next_review_item", waits("b"));
    let command = Waiting::begin(directory.path(), &["next", "--wait"]);
    in_progress(&client, 2);
    // The index of searches follows the changes.
    let mut before = files(directory.path());
    until("the files come to rest", || {
        thread::sleep(A_WHILE);
        let last = std::mem::replace(&mut before, files(directory.path()));
        last == before
    });
    thread::sleep(2 * A_WHILE);
    assert_eq!(files(directory.path()), before);
    signal(&command.child, "INT");
    command.end();
}

/// Returns all files below a directory, with their contents and modification times.
fn files(directory: &Path) -> Vec<(std::path::PathBuf, Vec<u8>, std::time::SystemTime)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            // SQLite creates it when a process begins to read.
            if entry.path().ends_with("queue.db-shm") {
                continue;
            }
            let modified = entry.metadata().unwrap().modified().unwrap();
            found.push((entry.path(), fs::read(entry.path()).unwrap(), modified));
        }
    }
    found.sort();
    found
}

/// A waiting command and its log.
struct Waiting {
    child: Child,
    log: Log,
}

impl Waiting {
    fn begin(directory: &Path, arguments: &[&str]) -> Self {
        let mut child = ait(directory).args(arguments).env("RUST_LOG", "debug").spawn().unwrap();
        let log = Log::of(child.stderr.take().unwrap());
        log.wait_for("waiting until Ctrl-C");
        Self { child, log }
    }

    /// Waits for the command to end. Returns the exit code and stdout.
    fn end(mut self) -> (i32, String) {
        let code = wait(&mut self.child).code().unwrap();
        let mut out = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        (code, out)
    }
}

#[test]
fn commands_wait_for_an_issue_a_change_or_a_question() {
    let directory = directory();
    let ait = |arguments: &[&str]| run(directory.path(), arguments).ok();
    let filed: Value = serde_json::from_str(&ait(&["add", "t", "-c", "bug", "--json"])).unwrap();
    let id = filed["id"].as_str().unwrap();
    ait(&["next", "-a", "holder"]);
    let begin = |arguments: &[&str]| Waiting::begin(directory.path(), arguments);
    let feature = begin(&["wait", "-c", "feature", "--timeout", "10m", "-a", "b"]);
    let ready = begin(&["wait", "-a", "b"]);
    let changed = begin(&["wait", "--issue", &id[..8]]);
    ait(&["release", id, "-a", "holder"]);
    let line = format!("{} created: t\n", &id[..8]);
    assert_eq!(ready.end(), (0, line.clone()));
    assert_eq!(changed.end(), (0, line));
    assert_eq!(status_of(directory.path(), id), "created");

    ait(&["next", "-a", "holder"]);
    let next = begin(&["next", "--wait", "-c", "bug", "-a", "b", "--json"]);
    ait(&["release", id, "-a", "holder"]);
    let (code, out) = next.end();
    let claimed: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (code, &claimed["id"], &claimed["status"]),
        (0, &filed["id"], &json!("in_progress"))
    );

    let completed = begin(&["wait", "--review", "--json", "-a", "c"]);
    ait(&["complete", id, "-m", "done", "-a", "b"]);
    let (code, out) = completed.end();
    assert!(code == 0 && out.contains(id), "{out}");
    ait(&["review", "-a", "c"]);
    let review = begin(&["review", "--wait", "5m", "-a", "d"]);
    ait(&["return", id, "-m", "again", "-a", "c"]);
    ait(&["complete", id, "-m", "done again", "-a", "b"]);
    let (code, out) = review.end();
    assert!(code == 0 && out.contains("in review"), "{out}");

    ait(&["add", "a feature", "-c", "feature"]);
    assert!(feature.end().1.ends_with(" created: a feature\n"));

    // Anything for any agent: work that is assigned to one, what an answer frees, and what waits for review.
    let any = || begin(&["wait", "--any"]);
    ait(&["next", "-a", "b"]);
    let assigned = any();
    ait(&["add", "for one", "-c", "feature", "--assignee", "z"]);
    let (code, out) = assigned.end();
    assert!(code == 0 && out.ends_with(" created: for one\n"), "{out}");
    let for_one = out[..8].to_owned();
    ait(&["next", "-a", "z"]);
    ait(&["ask", &for_one, "Which one?", "-a", "z"]);
    let answered = any();
    ait(&["answer", &for_one, "this"]);
    assert!(answered.end().1.contains("for one"));
    ait(&["next", "-a", "z"]);
    let reviewed = any();
    ait(&["complete", &for_one, "-m", "done", "-a", "z"]);
    let (code, out) = reviewed.end();
    assert!(code == 0 && out.contains("for one"), "{out}");

    let asked = begin(&["wait", "--question"]);
    ait(&["ask", id, "Which one?", "--option", "this", "-a", "d"]);
    let (code, out) = asked.end();
    assert!(code == 0 && out.contains("Which one?") && out.contains("1. this"), "{out}");
    // The question is still open.
    let again = ait(&["wait", "--question", "--json"]);
    assert_eq!(again, ait(&["questions", "--json"]));
}

#[test]
fn status_lists_waiting_commands() {
    let directory = directory();
    run(directory.path(), &["add", "t", "-c", "bug"]).ok();
    let kinds = || {
        let status = run(directory.path(), &["status", "--json"]).ok();
        let status: Value = serde_json::from_str(&status).unwrap();
        let processes = status["processes"].as_array().unwrap().iter();
        processes.map(|process| process["kind"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let commands =
        [&["next", "--wait", "-c", "feature"][..], &["review", "--wait"], &["wait", "--review"]];
    let waiting = commands.map(|arguments| Waiting::begin(directory.path(), arguments));
    assert_eq!(kinds(), ["wait"; 3]);
    for command in waiting {
        signal(&command.child, "INT");
        command.end();
    }
    assert_eq!(kinds(), [""; 0]);
}

#[test]
fn commands_stop_waiting_at_their_timeout() {
    let directory = directory();
    let filed = run(directory.path(), &["add", "t", "-c", "bug"]).ok();
    let id = &filed[..8];
    for (arguments, message) in [
        (&["next", "--wait", "1s", "-c", "feature"][..], "no feature is waiting"),
        (&["review", "--wait", "1s"], "no issue is completed"),
        (&["wait", "--timeout", "1s", "-c", "feature"], "no feature is waiting"),
        (&["wait", "--review", "--timeout", "1s"], "no issue is completed"),
        (&["wait", "--issue", id, "--timeout", "1s"], "is still created"),
        (&["wait", "--question", "--timeout", "1s"], "no open questions"),
        (&["wait", "--any", "--timeout", "1s", "--file", "empty.json"], "no issue can be claimed"),
    ] {
        let begun = Instant::now();
        let waited = run(directory.path(), arguments);
        assert!(begun.elapsed() >= Duration::from_secs(1));
        assert!(waited.log.contains(message), "{waited:?}");
        assert_eq!((waited.code, &*waited.out), (1, ""));
    }
    for arguments in [&["next", "--wait", "10"][..], &["wait", "--timeout", "soon"]] {
        let refused = run(directory.path(), arguments);
        assert!(refused.log.contains("give one such as 30s or 10m"), "{refused:?}");
        assert_eq!(refused.code, 2);
    }
    let both = run(directory.path(), &["wait", "--review", "--issue", id]);
    assert_eq!(both.code, 2, "{both:?}");
}

#[test]
fn ctrl_c_ends_a_wait_at_once() {
    let directory = directory();
    run(directory.path(), &["add", "t", "-c", "bug"]).ok();
    let before = files(directory.path());
    for arguments in [
        &["next", "--wait", "-c", "feature"][..],
        &["review", "--wait", "--json"],
        &["wait", "--review", "--timeout", "1h"],
    ] {
        let waiting = Waiting::begin(directory.path(), arguments);
        signal(&waiting.child, "INT");
        let log = waiting.log.clone();
        let (code, out) = waiting.end();
        let nothing = if arguments.contains(&"--json") { "null\n" } else { "" };
        assert_eq!((code, &*out), (1, nothing), "{}", log.whole());
    }
    assert_eq!(files(directory.path()), before);
}
