//! Claims end with their clients, and only with them.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::files::{names, only_issue, store_directory, stored_issues};
use crate::support::http::{Agent, IN_PROGRESS, Server, meta, wait_for_metric};
use crate::support::runs::run;
use crate::support::{Client, ait, directory, get, until};

/// The reason in the history of a claim that lapsed.
const GONE: &str = "the agent is gone";

fn start(directory: &Path, grace: &str) -> Client {
    Client::begin(ait(directory).env("AIT_CLAIM_GRACE", grace))
}

fn claim(client: &mut Client, agent: &str) -> Value {
    client.call("get_next_issue", json!({ "agent": agent })).issue()
}

/// Returns the only issue as another process reads it.
fn stored(directory: &Path) -> Value {
    only_issue(directory)
}

fn last_action(issue: &Value) -> &str {
    issue["history"].as_array().unwrap().last().unwrap()["action"].as_str().unwrap()
}

#[test]
fn claim_of_a_killed_process_lapses_after_the_grace_period() {
    let directory = directory();
    let mut other = start(directory.path(), "1s");
    let id = other.add("t", "bug");
    let mut client = start(directory.path(), "1s");
    claim(&mut client, "dev");
    client.signal("KILL");
    client.wait();
    until("the claim has lapsed", || stored(directory.path())["status"] == "created");
    let issue = stored(directory.path());
    assert_eq!(last_action(&issue), "Claim lapsed");
    let said = issue["comments"][0]["text"].as_str().unwrap();
    assert!(said.starts_with(GONE) && said.contains("its process ended"), "{said}");
    // The gone agent may still complete the issue, because no other agent has claimed it since.
    let done = json!({ "issue_id": id, "comment": "late", "agent": "dev", "claim": 1 });
    other.call("complete_issue", done.clone()).ok();
    // A review lapses back to `completed`.
    let mut reviewer = start(directory.path(), "1s");
    reviewer.call("get_next_review_item", json!({ "agent": "rev" })).issue();
    assert!(reviewer.close().success());
    until("the review has lapsed", || stored(directory.path())["status"] == "completed");
    // The number of a lapsed claim cannot end the claim of the successor.
    other.call("get_next_review_item", json!({ "agent": "rev-2" })).issue();
    let stale = json!({ "issue_id": id, "comment": "x", "agent": "rev", "claim": 2 });
    let refusal = other.call("return_issue", stale).refusal();
    assert!(refusal.contains("rev-2 has held it"), "{refusal}");
}

/// A number that no claim has is no way to leave the number out: an agent whose claim has ended could end another one
/// so.
#[test]
fn zero_is_no_claim_number_and_no_time_to_live() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    let id = client.add("t", "bug");
    claim(&mut client, "dev");
    for (tool, more) in [
        ("complete_issue", json!({})),
        ("return_issue", json!({})),
        ("close_issue", json!({ "resolution": "closed" })),
    ] {
        let mut call = |number: Value| {
            let mut arguments = json!({ "issue_id": id, "comment": "x", "agent": "other" });
            arguments["claim"] = number;
            arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            client.call(tool, arguments).refusal()
        };
        for zero in [json!(0), json!(0.0)] {
            let refusal = call(zero);
            assert!(
                refusal.contains("`claim` must be an integer of at least 1, not 0"),
                "{refusal}"
            );
            assert!(refusal.contains("(Claim number; leave it out if you have none)"), "{refusal}");
        }
    }
    assert_eq!(stored(directory.path())["status"], "in_progress");
    // Clients that send every parameter have nothing to say with these.
    for nothing in [json!(null), json!("")] {
        let done = json!({ "issue_id": id, "comment": "x", "agent": "dev", "claim": nothing });
        client.call("complete_issue", done).ok();
    }
    for arguments in [&["complete", &id, "-m", "x", "--claim", "0"][..], &["next", "--ttl", "0s"]] {
        let run = run(directory.path(), arguments);
        assert_eq!(run.code, 2, "{run:?}");
    }
}

#[test]
fn silent_but_live_process_keeps_its_claim() {
    let directory = directory();
    let mut client = Client::begin(
        ait(directory.path()).env("AIT_CLAIM_GRACE", "1s").env("AIT_CLAIM_TTL", "1s"),
    );
    client.add("t", "bug");
    claim(&mut client, "dev");
    let mut other = start(directory.path(), "1s");
    let second = other.add("second", "bug");
    let mut victim = start(directory.path(), "1s");
    assert_eq!(claim(&mut victim, "victim")["id"], json!(second));
    victim.signal("KILL");
    victim.wait();
    // Waits for the lapse of a later claim.
    until("the other claim has lapsed", || {
        let listed = other.call("list_issues", json!({ "issue_id": second })).issue();
        listed["status"] == "created"
    });
    let held = client.call("get_next_issue", json!({ "agent": "dev", "mine": true })).issue();
    assert_eq!(held["status"], "in_progress");
}

#[test]
fn an_agent_that_is_gone_is_not_at_work() {
    let directory = directory();
    let server = Server::start(directory.path());
    let mut client = start(directory.path(), "1h");
    client.add("t", "bug");
    claim(&mut client, "dev");
    let is = |state: &str| get(server.port, "/agents").body.contains(&format!(">{state}<"));
    assert!(is("works") && !is("gone"));
    client.signal("KILL");
    client.wait();
    until("the page shows that the agent is gone", || is("gone") && !is("works"));
}

#[test]
fn agent_that_comes_back_in_time_keeps_its_claim() {
    let directory = directory();
    let mut client = start(directory.path(), "5s");
    client.add("t", "bug");
    claim(&mut client, "dev");
    client.signal("KILL");
    client.wait();
    let mut again = start(directory.path(), "5s");
    let held = again.call("get_next_issue", json!({ "agent": "dev", "mine": true })).issue();
    assert_eq!(held["claim"]["number"], 1);
    let status = ait(directory.path()).args(["status", "--json"]).output().unwrap();
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!(status["leases"][0]["agent"], "dev", "{status}");
    assert_eq!(status["leases"][0].get("goneForMs"), None, "{status}");
    // The claim now depends on the new client.
    again.signal("KILL");
    again.wait();
    let status = ait(directory.path()).args(["status", "--json"]).output().unwrap();
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    assert!(status["leases"][0]["goneForMs"].is_u64(), "{status}");
    let doctor = ait(directory.path()).arg("doctor").output().unwrap();
    let doctor = String::from_utf8(doctor.stdout).unwrap();
    assert!(doctor.contains("1 is of a client that is gone"), "{doctor}");
}

/// `issues.json` does not name the clients of claims, so the running processes write them to the new log.
#[test]
fn claims_keep_their_clients_when_the_log_is_removed() {
    let directory = directory();
    let path = directory.path();
    let mut other = start(path, "1s");
    let id = other.add("t", "bug");
    let mut client = start(path, "1s");
    claim(&mut client, "dev");
    let seen = other.call("list_issues", json!({ "issue_id": id })).issue();
    assert_eq!(seen["status"], "in_progress");
    run(path, &["save"]).ok();
    // As `git clean -fdx` does. Processes may create files at the same time.
    until("the log is gone", || std::fs::remove_dir_all(path.join(".ait")).is_ok());
    run(path, &["edit", &id, "--label", "ui", "--agent", "lead"]).ok();
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(
        stored(path)["status"],
        "in_progress",
        "the claim lapsed although its client is live"
    );
    client.signal("KILL");
    client.wait();
    until("the claim has lapsed", || stored(path)["status"] == "created");
    assert_eq!(last_action(&stored(path)), "Claim lapsed");
}

/// A restore removes issues and adds them again to change their order.
#[test]
fn claims_that_a_restore_does_not_change_keep_their_clients() {
    let directory = directory();
    let path = directory.path();
    let mut other = start(path, "1s");
    let id = other.add("one", "bug");
    other.add("two", "bug");
    let mut client = start(path, "1s");
    claim(&mut client, "dev");
    run(path, &["save"]).ok();
    let mut other_order: Value =
        serde_json::from_slice(&std::fs::read(path.join("issues.json")).unwrap()).unwrap();
    other_order["issues"].as_array_mut().unwrap().reverse();
    std::fs::write(path.join("b.json"), other_order.to_string()).unwrap();
    run(path, &["restore", "b.json", "--force"]).ok();
    let claimed = || {
        let issues = stored_issues(path);
        assert_eq!(issues[1]["id"], id.as_str());
        issues[1]["status"] == "in_progress"
    };
    assert!(claimed());
    client.signal("KILL");
    client.wait();
    until("the claim has lapsed", || !claimed());
}

#[test]
fn commands_release_claims_of_dead_clients_without_a_server() {
    let directory = directory();
    let run = |arguments: &[&str]| {
        let mut command = ait(directory.path());
        command.args(arguments).env("AIT_CLAIM_GRACE", "1s").env("AIT_AGENT", "me");
        command.output().unwrap()
    };
    let mut client = start(directory.path(), "1s");
    client.add("t", "bug");
    claim(&mut client, "dev");
    client.signal("KILL");
    client.wait();
    // The first command notes that the client is gone.
    until("the command gets the issue", || run(&["next"]).status.success());
    assert_eq!(stored(directory.path())["history"][2]["action"], "Claim lapsed");
    // Claims of commands do not lapse.
    std::thread::sleep(Duration::from_secs(2));
    assert!(!run(&["next", "--agent", "you"]).status.success());
}

#[test]
fn ended_session_loses_its_claims_and_a_connected_one_does_not() {
    let directory = directory();
    let mut command = ait(directory.path());
    command.args(["serve"]).env("AIT_CLAIM_GRACE", "1s").env("AIT_CLAIM_TTL", "2s");
    let serve = Server::spawn(command, directory.path());
    let (mut one, mut other) = (Agent::connect(serve.port), Agent::connect(serve.port));
    let ids = ["1", "2"].map(|title| one.add(title));
    let status = |agent: &mut Agent, id: &str| {
        agent.call("list_issues", json!({ "issue_id": id })).issue()["status"].clone()
    };
    one.call("get_next_issue", json!({ "agent": "a" })).issue();
    other.call("get_next_issue", json!({ "agent": "b" })).issue();
    let _stream = other.listen();
    one.delete();
    let mut third = Agent::connect(serve.port);
    until("the claim of the ended session has lapsed", || status(&mut third, &ids[0]) == "created");
    // A session that is silent and not connected is gone after the time to live.
    third.call("get_next_issue", json!({ "agent": "c" })).issue();
    let mut observer = Agent::connect(serve.port);
    until("the claim of the silent session has lapsed", || {
        status(&mut observer, &ids[0]) == "created"
    });
    assert_eq!(status(&mut observer, &ids[1]), "in_progress");
}

#[test]
fn claim_of_a_command_lapses_after_its_time_to_live() {
    let directory = directory();
    let run = |arguments: &[&str]| {
        let mut command = ait(directory.path());
        command.args(arguments).env("AIT_CLAIM_GRACE", "1s").env("AIT_AGENT", "me");
        command.output().unwrap().status.success()
    };
    assert!(run(&["add", "t"]) && run(&["next", "--ttl", "1s"]));
    assert!(!run(&["next", "--agent", "you"]));
    until("the claim has lapsed", || run(&["next", "--agent", "you"]));
    let issue = stored(directory.path());
    let said = issue["comments"][0]["text"].as_str().unwrap();
    assert!(said.contains("it was silent for too long"), "{said}");
}

#[test]
fn zero_grace_period_disables_lapses() {
    let directory = directory();
    let mut client = start(directory.path(), "0");
    client.add("t", "bug");
    claim(&mut client, "dev");
    client.signal("KILL");
    client.wait();
    let status = ait(directory.path()).args(["status", "--json"]).output().unwrap();
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!(status["leases"], json!([]));
}

/// All processes stop for longer than the grace period, as on a suspended machine or in a debugger.
#[test]
fn no_claim_lapses_after_all_processes_were_suspended() {
    let directory = directory();
    let settings = "claim-grace = \"1s\"\nclaim-ttl = \"2s\"\n";
    std::fs::write(directory.path().join("ait.toml"), settings).unwrap();
    let servers = [(); 2].map(|()| Server::start(directory.path()));
    let mut processes = [(); 2].map(|()| Client::start(directory.path()));
    let mut sessions = [0, 1].map(|place| Agent::connect(servers[place].port));
    let _streams = sessions.each_ref().map(Agent::listen);
    for title in ["1", "2", "3", "4", "dead"] {
        sessions[0].add(title);
    }
    let mut held = Vec::new();
    for (name, session) in ["a", "b"].into_iter().zip(&mut sessions) {
        held.push(session.call("get_next_issue", json!({ "agent": name })).issue()["id"].clone());
    }
    for (name, process) in ["c", "d"].into_iter().zip(&mut processes) {
        held.push(claim(process, name)["id"].clone());
    }
    let signal_all = |name: &str| {
        servers.iter().for_each(|server| server.signal(name));
        processes.iter().for_each(|process| process.signal(name));
    };
    signal_all("STOP");
    // Longer than the time to live of sessions.
    std::thread::sleep(Duration::from_secs(4));
    signal_all("CONT");
    // After the lapse of this claim, all processes have checked the clients.
    let mut victim = Client::start(directory.path());
    let orphan = claim(&mut victim, "e")["id"].clone();
    victim.signal("KILL");
    victim.wait();
    let status = |agent: &mut Agent, id: &Value| {
        agent.call("list_issues", json!({ "issue_id": id })).issue()["status"].clone()
    };
    let mut observer = Agent::connect(servers[0].port);
    until("the claim of the dead process has lapsed", || {
        status(&mut observer, &orphan) == "created"
    });
    for id in &held {
        assert_eq!(status(&mut observer, id), "in_progress");
    }
}

/// Otherwise, after a kill of the server, the claims of the session would last as long as those of a silent one.
#[test]
fn end_of_a_session_is_recorded_before_it_is_acknowledged() {
    let directory = directory();
    let serve = Server::start(directory.path());
    let clients = store_directory(directory.path()).join("clients");
    for _ in 0..20 {
        let mut agent = Agent::connect(serve.port);
        agent.add("t");
        agent.call("get_next_issue", json!({ "agent": "a" })).issue();
        assert_eq!(agent.delete().status, 204);
        let is_live = |name: &String| !name.contains('.');
        let live: Vec<_> = names(&clients).into_iter().filter(is_live).collect();
        assert!(live.is_empty(), "{live:?}");
    }
}

#[test]
fn session_that_only_reads_is_not_silent() {
    let directory = directory();
    let mut command = ait(directory.path());
    command.args(["serve"]).env("AIT_CLAIM_GRACE", "1s").env("AIT_CLAIM_TTL", "2s");
    let serve = Server::spawn(command, directory.path());
    let (mut reading, mut silent) = (Agent::connect(serve.port), Agent::connect(serve.port));
    let ids = ["1", "2"].map(|title| reading.add(title));
    reading.call("get_next_issue", json!({ "agent": "a" })).issue();
    silent.call("get_next_issue", json!({ "agent": "b" })).issue();
    let mut status =
        |id: &str| reading.call("list_issues", json!({ "issue_id": id })).issue()["status"].clone();
    until("the claim of the silent session has lapsed", || status(&ids[1]) == "created");
    assert_eq!(status(&ids[0]), "in_progress");
}

#[test]
fn sessionless_client_keeps_its_claim_while_it_waits() {
    let directory = directory();
    let mut command = ait(directory.path());
    command.args(["serve"]).env("AIT_CLAIM_GRACE", "1s").env("AIT_CLAIM_TTL", "1s");
    let serve = Server::spawn(command, directory.path());
    let call = |tool: &str, arguments: Value| {
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta() });
        Agent::new(serve.port).request("tools/call", params)
    };
    let mut observer = Agent::connect(serve.port);
    let ids = ["1", "2"].map(|title| observer.add(title));
    assert_eq!(
        call("get_next_issue", json!({ "agent": "waiting" })).answer().issue()["id"],
        ids[0]
    );
    std::thread::scope(|scope| {
        // There is nothing to review.
        let waits = json!({ "agent": "waiting", "wait_seconds": 600 });
        let waiting = scope.spawn(|| call("get_next_review_item", waits));
        wait_for_metric(serve.port, IN_PROGRESS, 1);
        assert_eq!(
            call("get_next_issue", json!({ "agent": "silent" })).answer().issue()["id"],
            ids[1]
        );
        let mut issue = |id: &str| observer.call("list_issues", json!({ "issue_id": id })).issue();
        // The claim of a client that does not wait lapses, although it is newer.
        until("the claim of the silent client has lapsed", || {
            issue(&ids[1])["status"] == "created"
        });
        assert_eq!(issue(&ids[0])["claim"]["agent"], "waiting");
        let done = json!({ "issue_id": ids[1], "comment": "done", "agent": "other" });
        observer.call("complete_issue", done).ok();
        assert_eq!(waiting.join().unwrap().answer().issue()["id"], ids[1]);
    });
}

#[test]
fn status_uses_the_grace_period_of_running_servers() {
    let directory = directory();
    let mut client = start(directory.path(), "3h");
    client.add("t", "bug");
    claim(&mut client, "dev");
    let lapses_in = || {
        // The grace period of the command itself is one minute.
        let status = ait(directory.path()).args(["status", "--json"]).output().unwrap();
        let status: Value = serde_json::from_slice(&status.stdout).unwrap();
        status["leases"][0]["lapsesInMs"].clone()
    };
    assert_eq!(lapses_in(), Value::Null);
    let server = |grace: &str| {
        let mut command = ait(directory.path());
        command.arg("serve").env("AIT_CLAIM_GRACE", grace);
        Server::spawn(command, directory.path())
    };
    let longer = server("3h");
    client.signal("KILL");
    client.wait();
    assert!(lapses_in().as_u64().unwrap() > 2 * 60 * 60 * 1_000);
    // The server with the shortest grace period lapses the claim.
    let shorter = server("2h");
    assert!(lapses_in().as_u64().unwrap() <= 2 * 60 * 60 * 1_000);
    drop((longer, shorter));
    assert!(lapses_in().as_u64().unwrap() <= 60 * 1_000);
    let _never = server("0");
    assert_eq!(lapses_in(), Value::Null);
}

#[test]
fn agent_that_listed_its_claims_keeps_them_if_the_server_dies() {
    let directory = directory();
    let mut command = ait(directory.path());
    command.arg("serve").env("AIT_CLAIM_GRACE", "1s");
    let mut serve = Server::spawn(command, directory.path());
    let mut agent = Agent::connect(serve.port);
    agent.add("t");
    let claims_and_dies = || {
        let mut client = start(directory.path(), "1h");
        claim(&mut client, "dev");
        client.signal("KILL");
        client.wait();
    };
    // After this lapse, the server has checked for clients that are gone.
    claims_and_dies();
    until("the claim has lapsed", || stored(directory.path())["status"] == "created");
    claims_and_dies();
    agent.call("get_next_issue", json!({ "agent": "dev", "mine": true })).issue();
    serve.signal("KILL");
    serve.wait();
    let status = ait(directory.path()).args(["status", "--json"]).output().unwrap();
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    let client = status["leases"][0]["client"].as_str().unwrap();
    assert!(client.starts_with("session-"), "{status}");
    assert_eq!(status["leases"][0].get("goneForMs"), None, "{status}");
}

/// With owned claims, a name belongs to one session at a time, and tools tell that a client is gone.
#[test]
fn a_name_belongs_to_one_living_session() {
    let directory = directory();
    let owned = || {
        let mut command = ait(directory.path());
        Client::begin(command.env("AIT_CLAIMS", "owned").env("AIT_CLAIM_GRACE", "1h"))
    };
    let mut first = owned();
    let ids = ["1", "2", "3"].map(|title| first.add(title, "bug"));
    assert_eq!(claim(&mut first, "developer")["id"], json!(ids[0]));
    let mut second = owned();
    let in_use = json!({ "agent": "developer" });
    let refusal = second.call("get_next_issue", in_use.clone()).refusal();
    let (_, free) = refusal.split_once("use the name \"").unwrap();
    let free = free.split('"').next().unwrap();
    assert!(free.starts_with("developer-"), "{refusal}");
    assert_eq!(claim(&mut second, free)["id"], json!(ids[1]));
    assert_eq!(claim(&mut first, "developer")["id"], json!(ids[2]));
    first.signal("KILL");
    first.wait();
    let rows =
        |client: &mut Client| client.call("list_issues", json!({ "status": "in_progress" })).ok();
    until("the first client is gone", || rows(&mut second).matches("lapsesInSeconds").count() == 2);
    let round = second.call("list_issues", json!({ "take": 0 })).issue();
    assert_eq!((&round["gone"], &round["in_progress"]), (&json!(2), &json!(3)), "{round}");
    let whole = second.call("list_issues", json!({ "issue_id": ids[0] })).issue();
    assert!(whole["claim"]["gone"]["lapsesInSeconds"].as_u64().unwrap() <= 3_600, "{whole}");
    // Who claims under the name begins anew: what the dead agent held is back in its place.
    let mut third = owned();
    let again = claim(&mut third, "developer");
    assert_eq!((&again["id"], &again["claim"]["number"]), (&json!(ids[0]), &json!(2)), "{again}");
    assert_eq!(
        third.call("list_issues", json!({ "issue_id": ids[2] })).issue()["status"],
        "created"
    );
    // With trusting claims, as in the original tracker, a name is no more than a name.
    let mut trusting = start(directory.path(), "1h");
    assert_eq!(claim(&mut trusting, "developer")["id"], json!(ids[2]));
}
