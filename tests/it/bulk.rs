//! The toolset `bulk` and its commands: query issues, change many, undo.

use std::fs;
use std::path::Path;
use std::thread;

use agent_issue_tracker::tracker::EventNumbers;
use serde_json::{Value, json};

use crate::support::files::{id, issue_json, stored_issues, write_issues};
use crate::support::postgres::project;
use crate::support::runs::run;
use crate::support::{Client, ait, directory, until};

fn lead(directory: &Path) -> Client {
    Client::begin(ait(directory).args(["--toolsets", "bulk,analysis"]))
}

fn report(client: &mut Client, tool: &str, arguments: Value) -> Value {
    let text = client.call(tool, arguments).ok();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Twelve issues; the last two are closed.
fn issues() -> Vec<Value> {
    let status = |n| if n < 10 { "created" } else { "closed" };
    let issue = |n| issue_json(&id(n), &format!("Login fails {n}"), status(n));
    (0..12).map(issue).collect()
}

fn count_with_label(directory: &Path, label: &str) -> usize {
    let has = |issue: &&Value| {
        issue["labels"].as_array().is_some_and(|labels| labels.contains(&json!(label)))
    };
    stored_issues(directory).iter().filter(has).count()
}

#[test]
fn query_handle_survives_a_restart_and_changes_can_be_undone() {
    let directory = directory();
    write_issues(directory.path(), &issues());
    let mut client = lead(directory.path());
    let found = report(&mut client, "query_issues", json!({ "query": "login sort:filed" }));
    assert_eq!((&found["count"], found["preview"].as_array().unwrap().len()), (&json!(12), 10));
    let row = found["preview"][3].as_str().unwrap();
    assert_eq!(row, format!("3: {} created: Login fails 3", &id(3)[..8]));
    let handle = found["handle"].as_str().unwrap().to_owned();
    let rest =
        report(&mut client, "query_issues", json!({ "handle": handle, "skip": 10, "take": 5 }));
    assert_eq!((&rest["count"], &rest["expires"]), (&json!(12), &found["expires"]));
    assert_eq!(rest["preview"][1], format!("11: {} closed: Login fails 11", &id(11)[..8]));
    assert_eq!(rest["preview"].as_array().unwrap().len(), 2);
    let first = report(&mut client, "query_issues", json!({ "handle": handle }));
    assert_eq!(first["preview"], found["preview"]);
    for wrong in [
        json!({}),
        json!({ "query": "login", "skip": 1 }),
        json!({ "query": "login", "handle": handle }),
    ] {
        let refused = client.call("query_issues", wrong).refusal();
        assert!(refused.contains("give `query`, or give `handle`"), "{refused}");
    }
    // Filed after the query, so not in the handle.
    client.add("Login fails again", "bug");
    client.close();

    let mut client = lead(directory.path());
    let mut change = json!({
        "handle": handle, "items": "all", "agent": "lead", "labels_add": ["ui"], "priority": 1,
    });
    let preview = report(&mut client, "change_issues", change.clone());
    assert_eq!((&preview["would_change"], &preview["refused"]), (&json!(10), &json!(2)));
    assert!(preview["next"].as_str().unwrap().contains("dry_run: false"), "{preview}");
    assert!(preview["why"][0].as_str().unwrap().contains("is closed"), "{preview}");
    change["dry_run"] = json!(false);
    let changed = report(&mut client, "change_issues", change.clone());
    assert_eq!((&changed["changed"], &changed["refused"]), (&json!(10), &json!(2)));
    until("the change is published", || count_with_label(directory.path(), "ui") == 10);

    let range = changed["change"].as_str().unwrap();
    assert!(changed["undo"].as_str().unwrap().contains(range), "{changed}");
    let undo = json!({ "change": range, "agent": "lead", "dry_run": false });
    let undone = report(&mut client, "undo_change", undo);
    assert_eq!((&undone["undone"], &undone["changes"]), (&json!(10), &json!(10)));
    until("the undo is published", || count_with_label(directory.path(), "ui") == 0);
    client.close();
}

#[test]
fn adding_and_claiming_issues_returns_change_numbers() {
    let directory = directory();
    let mut client =
        Client::begin(ait(directory.path()).args(["--toolsets", "lifecycle,planning,bulk"]));
    let issue = |title: &str| json!({ "title": title, "description": "", "classification": "bug" });
    let issues = json!({ "issues": [issue("one"), issue("two")], "agent": "lead" });
    let filed = client.call("add_issues", issues).ok();
    assert!(filed.starts_with("2 filed: ") && filed.ends_with(", change 1-2"), "{filed}");
    let claimed = client.call("get_next_issue", json!({ "agent": "dev" })).issue();
    assert_eq!(claimed["change"], "3", "{claimed}");
    // Reading an issue returns no change number.
    let shown = client.call("list_issues", json!({ "issue_id": claimed["id"] })).issue();
    assert_eq!(shown["change"], Value::Null);
    let undo = json!({ "change": "3", "agent": "lead", "dry_run": false });
    assert_eq!(report(&mut client, "undo_change", undo)["undone"], 1);
    client.close();
}

/// Agents change the same issues at once, each with a server of its own. The numbers in each answer are those of its
/// own events.
fn answers_have_the_numbers_of_their_own_changes(store: &[&str]) {
    const AGENTS: usize = 4;
    const ROUNDS: usize = 8;
    let directory = directory();
    let begin = || {
        let mut command = ait(directory.path());
        Client::begin(command.args(store).args(["--toolsets", "lifecycle,planning,bulk"]))
    };
    let mut first = begin();
    let shared: Vec<String> = (0..3).map(|n| first.add(&format!("shared {n}"), "bug")).collect();
    let found = report(&mut first, "query_issues", json!({ "query": "shared" }));
    let handle = found["handle"].as_str().unwrap();
    let act = |agent: &str| {
        let (mut client, mut answers) = (begin(), Vec::new());
        for _ in 0..ROUNDS {
            let issue = json!({ "title": "new", "description": "", "classification": "bug" });
            let issues = json!({ "issues": [issue.clone(), issue], "agent": agent });
            let filed = client.call("add_issues", issues).ok();
            let change = filed.split_once(", change ").unwrap().1;
            answers.push((change.split(';').next().unwrap().to_owned(), 2));
            let claimed = client.call("get_next_issue", json!({ "agent": agent })).issue();
            answers.push((claimed["change"].as_str().unwrap().to_owned(), 1));
            let seen = json!({ "issue_id": shared[0], "comment": "seen", "agent": agent });
            let seen = client.call("update_issue", seen).ok();
            answers.push((seen.split_once(", change ").unwrap().1.to_owned(), 1));
            let all = json!({
                "handle": handle, "items": "all", "comment": "all", "agent": agent, "dry_run": false,
            });
            let changed = report(&mut client, "change_issues", all);
            answers.push((changed["change"].as_str().unwrap().to_owned(), shared.len()));
        }
        client.close();
        answers
    };
    let names: Vec<String> = (0..AGENTS).map(|n| format!("agent-{n}")).collect();
    let answers: Vec<_> = thread::scope(|scope| {
        let act = &act;
        let threads: Vec<_> = names.iter().map(|name| scope.spawn(move || act(name))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    first.close();
    let log = run(directory.path(), &[store, &["log", "--json", "-n", "10000"]].concat()).ok();
    let events: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (name, answers) in names.iter().zip(answers) {
        for (numbers, count) in answers {
            let parsed: EventNumbers = numbers.parse().unwrap();
            let is_own = |event: &&Value| parsed.contains(event["number"].as_u64().unwrap());
            let agents: Vec<_> =
                events.iter().filter(is_own).map(|event| &event["agent"]).collect();
            assert_eq!(agents, vec![name; count], "{numbers}");
        }
    }
}

#[test]
fn answers_have_the_numbers_of_their_own_changes_in_files() {
    answers_have_the_numbers_of_their_own_changes(&[]);
}

#[test]
fn answers_have_the_numbers_of_their_own_changes_in_postgres() {
    let Some(url) = project() else { return };
    answers_have_the_numbers_of_their_own_changes(&["--store", &url]);
}

/// A word alone would find the issues that contain it, and change those.
#[test]
fn items_that_are_no_query_change_nothing() {
    let directory = directory();
    write_issues(directory.path(), &issues());
    let mut client = lead(directory.path());
    let found = report(&mut client, "query_issues", json!({ "query": "login sort:filed" }));
    for items in ["All", "everything", "\"all\"", "login fails", "-login", "[0", "0]", "[[0]]", " "]
    {
        let reject = json!({
            "handle": found["handle"], "items": items, "agent": "lead", "end": "reject", "comment": "c",
            "dry_run": false,
        });
        let refused = client.call("change_issues", reject).refusal();
        assert!(
            refused.contains("must be \"all\", an array of indices, or criteria"),
            "{items}: {refused}"
        );
    }
    let rejected = stored_issues(directory.path())
        .iter()
        .filter(|issue| issue["status"] == "rejected")
        .count();
    assert_eq!(rejected, 0);
    let all = json!({
        "handle": found["handle"], "items": "all", "agent": "lead", "end": "reject", "comment": "c",
    });
    let preview = report(&mut client, "change_issues", all);
    assert!(preview["warning"].as_str().unwrap().contains("agents cannot undo"), "{preview}");
    client.close();
}

#[test]
fn items_accept_all_indices_or_a_query() {
    let directory = directory();
    write_issues(directory.path(), &issues());
    let mut client = lead(directory.path());
    let found =
        report(&mut client, "query_issues", json!({ "query": "login sort:filed", "take": 8 }));
    assert_eq!(
        (&found["count"], &found["more"]),
        (&json!(8), &json!("4 more match, and are not in the handle"))
    );
    let handle = found["handle"].as_str().unwrap();
    let mut change = |items: Value| {
        let arguments =
            json!({ "handle": handle, "items": items, "agent": "lead", "labels_add": ["ui"] });
        client.call("change_issues", arguments)
    };
    for (items, count) in [
        (json!("all"), 8),
        (json!("0"), 1),
        (json!(0), 1),
        (json!("0,2-5"), 5),
        (json!("[1, 2]"), 2),
        (json!([1, 2]), 2),
        (json!("status:created login"), 8),
        (json!("kind:bug fails \"fails 3\""), 1),
        (json!("status:closed"), 0),
        (json!(id(9)[..8]), 0),
        (json!({ "statuses": ["created", "closed"], "kinds": ["bug"] }), 8),
        (json!({ "title_contains": "FAILS 3" }), 1),
        (json!({ "labels": ["ui"] }), 0),
        (json!({ "idle_days_min": 0, "idle_days_max": 100_000 }), 8),
        (json!({ "idle_days_min": 100_000 }), 0),
        (json!("{\"statuses\":[\"closed\"]}"), 0),
    ] {
        let answer: Value = serde_json::from_str(&change(items.clone()).ok()).unwrap();
        match count {
            0 => assert!(
                answer["warning"].as_str().unwrap().contains("no issue of the handle"),
                "{answer}"
            ),
            count => assert_eq!(answer["would_change"], json!(count), "{items}: {answer}"),
        }
    }
    let invalid = "Invalid items: must be \"all\", an array of indices, or criteria";
    for (items, words) in [
        (json!("8"), "the handle has the places 0 to 7, not 8"),
        (json!([0, 8]), "the handle has the places 0 to 7, not 8"),
        (json!("1,,2"), invalid),
        (json!("5000"), invalid),
        (json!([]), invalid),
        (json!({ "state": "open" }), invalid),
        (json!({ "statuses": ["opne"] }), "use open, created"),
        (json!({}), "no criteria are given"),
        (json!("0,5-2"), "5-2 begins after its end"),
        (json!("labell:ui"), "invalid query"),
        (json!("all that waits for the login of the app labl:ui"), "invalid query"),
    ] {
        let refused = change(items.clone()).refusal();
        assert!(refused.contains(words), "{items}: {refused}");
    }
    client.close();
}

#[test]
fn refused_calls_say_what_to_do() {
    let directory = directory();
    write_issues(directory.path(), &issues());
    let mut client = lead(directory.path());
    let handle = report(&mut client, "query_issues", json!({ "query": "login" }))["handle"].clone();
    for (arguments, words) in [
        (
            json!({ "handle": "qh_000000000000", "items": "all", "agent": "a", "priority": 1 }),
            "Query handle 'qh_000000000000' not found or expired: call query_issues again",
        ),
        (json!({ "handle": handle, "items": "all", "agent": "a" }), "say what to change"),
        (
            json!({ "handle": handle, "items": "all", "agent": "a", "end": "close" }),
            "needs a `comment`",
        ),
        (
            json!({ "handle": handle, "items": "all", "agent": "a", "link": "related" }),
            "`link` and `to` together",
        ),
        (json!({ "handle": handle, "agent": "a", "priority": 1 }), "`items` is missing"),
    ] {
        let refused = client.call("change_issues", arguments.clone()).refusal();
        assert!(refused.contains(words), "{arguments}: {refused}");
    }
    let none = report(&mut client, "query_issues", json!({ "query": "login label:ui" }));
    assert!(
        none["handle"].is_null() && none["nothing"].as_str().unwrap().contains("label:ui"),
        "{none}"
    );
    let refused = client.call("undo_change", json!({ "agent": "a" })).refusal();
    assert!(refused.contains("`by_agent` with `since`"), "{refused}");
    let refused = client.call("undo_change", json!({ "agent": "a", "change": "9999" })).refusal();
    assert!(refused.contains("there is no change 9999"), "{refused}");
    client.close();
}

#[test]
fn changes_never_apply_to_approximate_matches() {
    let directory = directory();
    write_issues(directory.path(), &issues());
    let words = "login fails if it is up to me or so";
    assert!(run(directory.path(), &["list", words]).ok().contains("Login fails 3"));
    let none = run(directory.path(), &["bulk", words, "-p", "1", "--yes"]);
    assert!(none.code == 1 && none.log.contains("no issue"), "{none:?}");
    assert_eq!(stored_issues(directory.path())[3]["priority"], Value::Null);
    let typo = "please park what waits for the login of the app labl:ui";
    let refused = run(directory.path(), &["bulk", typo, "-p", "1", "--yes"]);
    assert!(refused.log.contains("label:"), "{refused:?}");
    let mut client = lead(directory.path());
    let found = report(&mut client, "query_issues", json!({ "query": words }));
    assert_eq!(found["count"], 0, "{found}");
    client.call("query_issues", json!({ "query": typo })).refusal();
    // An OR selects the issues of both sides.
    let either = ["bulk", "status:closed OR \"fails 3\"", "-l", "+seen", "--yes"];
    assert!(run(directory.path(), &either).ok().contains("Login fails 11"));
    client.close();
}

#[test]
fn undo_warns_before_it_ends_issues() {
    let directory = directory();
    let path = directory.path();
    fs::write(path.join("ait.toml"), "claims = \"owned\"\n").unwrap();
    for title in ["one", "two"] {
        run(path, &["add", title, "-a", "dev"]).ok();
    }
    let preview = run(path, &["undo", "--last", "-a", "dev", "--dry-run"]);
    assert!(preview.log.contains("agents cannot undo the end"), "{preview:?}");
    let mut client = lead(path);
    let by = json!({ "agent": "lead", "by_agent": "dev", "since": "1h" });
    let preview = report(&mut client, "undo_change", by);
    assert!(
        preview["warning"].as_str().unwrap().contains("agents cannot undo the end"),
        "{preview}"
    );
    // The proposed call undoes the changes shown, and no later ones.
    assert!(preview["next"].as_str().unwrap().contains("change: \"1-2\""), "{preview}");
    client.close();
    let undone = run(path, &["undo", "--last", "-a", "dev", "--yes"]);
    assert!(undone.log.contains("undone; `ait undo 3"), "{undone:?}");
    // The undo keeps an owned claim and names only that reason.
    run(path, &["next", "-a", "dev"]).ok();
    let refused = run(path, &["undo", "4", "-a", "lead", "--yes"]);
    let said = format!("{}{}", refused.out, refused.log);
    assert!(said.contains("or undo it with --force"), "{said}");
    assert!(!said.contains("nothing to undo"), "{said}");
    run(path, &["undo", "4", "-a", "lead", "--yes", "--force"]).ok();
}

#[test]
fn handle_expires_after_its_lifetime() {
    let directory = directory();
    write_issues(directory.path(), &issues());
    fs::write(directory.path().join("ait.toml"), "handle-lifetime = \"1ms\"\n").unwrap();
    let mut client = lead(directory.path());
    let found = report(&mut client, "query_issues", json!({ "query": "login sort:filed" }));
    let arguments =
        json!({ "handle": found["handle"], "items": "all", "agent": "a", "priority": 1 });
    until("the handle expires", || {
        let answer = client.call("change_issues", arguments.clone());
        answer.text.contains("not found or expired")
    });
    client.close();
    for wrong in ["0s", "49h", "soon"] {
        fs::write(directory.path().join("ait.toml"), format!("handle-lifetime = \"{wrong}\"\n"))
            .unwrap();
        let refused = run(directory.path(), &["list"]);
        assert!(refused.code == 2 && refused.log.contains("1s to 48h"), "{wrong}: {refused:?}");
    }
}

#[test]
fn change_issues_returns_parks_links_and_rejects() {
    let directory = directory();
    write_issues(directory.path(), &issues());
    let mut client = lead(directory.path());
    for _ in 0..3 {
        client.call("get_next_issue", json!({ "agent": "gone" })).ok();
    }
    let change = |client: &mut Client, query: &str, mut arguments: Value| {
        let found = report(client, "query_issues", json!({ "query": query }));
        arguments["handle"] = found["handle"].clone();
        arguments["items"] = json!("all");
        arguments["agent"] = json!("lead");
        arguments["dry_run"] = json!(false);
        report(client, "change_issues", arguments)["changed"].clone()
    };
    let back = json!({ "end": "return", "comment": "its agent is gone" });
    assert_eq!(change(&mut client, "holder:gone", back), 3);
    let parked = json!({ "park": "until the release", "assignee": "dev-1" });
    assert_eq!(change(&mut client, "returns:>=1", parked), 3);
    assert_eq!(change(&mut client, "is:parked", json!({ "park": "none", "assignee": "none" })), 3);
    let linked = json!({ "link": "duplicate_of", "to": id(0), "comment": "the same" });
    assert_eq!(change(&mut client, "\"fails 1\" status:created", linked), 1);
    let rejected =
        json!({ "end": "reject", "comment": "out of scope", "classification": "feature" });
    assert_eq!(change(&mut client, "status:open", rejected), 10);
    let by = json!({ "agent": "lead", "by_agent": "lead", "since": "1h" });
    let preview = report(&mut client, "undo_change", by);
    assert!(
        preview["left"][0].as_str().unwrap().contains("only a person opens it again"),
        "{preview}"
    );
    client.close();
}

#[test]
fn saved_queries_are_resources_and_filter_problems() {
    let directory = directory();
    write_issues(directory.path(), &issues());
    let settings = "[queries]\ntriage = \"status:open login\"\nsecond = \"\\\"fails 2\\\"\"\n";
    fs::write(directory.path().join("ait.toml"), settings).unwrap();
    let mut client = lead(directory.path());
    let listed = client.request("resources/list", json!({}));
    let uris: Vec<_> =
        listed["resources"].as_array().unwrap().iter().map(|one| &one["uri"]).collect();
    assert!(uris.contains(&&json!("tracker://queries/triage")), "{listed}");
    let mut read = |uri: &str| client.request("resources/read", json!({ "uri": uri }));
    let found = read("tracker://queries/triage");
    let found: Value =
        serde_json::from_str(found["contents"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!((&found["count"], found["issues"].as_array().unwrap().len()), (&json!(10), 10));
    let unknown = read("tracker://queries/other");
    assert!(unknown.to_string().contains("there are second, triage"), "{unknown}");
    let template = json!({ "type": "ref/resource", "uri": "tracker://queries/{name}" });
    let argument = json!({ "name": "name", "value": "t" });
    let completed =
        client.request("completion/complete", json!({ "ref": template, "argument": argument }));
    assert_eq!(completed["completion"]["values"], json!(["triage"]));

    let thin = json!({ "kinds": ["thin_description"] });
    assert_eq!(report(&mut client, "find_problems", thin)["total"], json!(10));
    let thin = json!({ "kinds": ["thin_description"], "query": "@second" });
    let found = report(&mut client, "find_problems", thin);
    assert_eq!(
        (&found["total"], &found["findings"][0]["issues"][0]["id"]),
        (&json!(1), &json!(id(2)))
    );
    client.close();
}

#[test]
fn bulk_command_previews_then_changes_and_can_be_undone() {
    let directory = directory();
    let path = directory.path();
    write_issues(path, &issues());
    let ended = |arguments: &[&str], code: i32, words: &str| {
        let run = run(path, arguments);
        let said = format!("{}{}", run.out, run.log);
        assert!(run.code == code && said.contains(words), "{arguments:?}: {run:?}");
        said
    };
    let shown = ended(
        &["bulk", "login", "-l", "+ui", "-p", "1"],
        1,
        "nothing was changed; --yes changes them",
    );
    assert!(shown.contains("Login fails 9") && !shown.contains("Login fails 10"), "{shown}");
    assert_eq!(count_with_label(path, "ui"), 0);
    let dry = ["bulk", "login", "-l", "+ui", "--dry-run", "--json"];
    let preview: Value = serde_json::from_str(&run(path, &dry).ok()).unwrap();
    assert_eq!(
        (&preview["dryRun"], preview["changed"].as_array().unwrap().len()),
        (&json!(true), 10)
    );
    ended(&["bulk", "login", "-l", "+ui", "--yes"], 0, "changed 10 issues; `ait undo ");
    assert_eq!(count_with_label(path, "ui"), 10);
    ended(&["bulk", "login status:all", "-p", "0", "--yes"], 1, "stays: issue");
    ended(&["bulk", "nowhere", "-p", "0", "--yes"], 1, "`nowhere` excludes");
    // An empty query, as from an unset variable, matches no issue instead of all.
    ended(&["bulk", "", "--reject", "-m", "x", "--yes"], 2, "write is:open");
    for word in ["All", "everything", "*"] {
        ended(&["bulk", word, "--reject", "-m", "x", "--yes"], 2, "write is:open");
    }
    // A leading minus excludes issues; it is not a flag.
    ended(&["bulk", "-label:ui", "-p", "0", "--dry-run"], 1, "excludes");
    ended(&["list", "-label:ui", "login"], 0, "no issue matches");
    let unlabelled = ended(&["list", "login", "-label:nothing"], 0, "Login fails 9");
    assert!(unlabelled.contains("Login fails 0"), "{unlabelled}");
    ended(&["bulk", "login"], 2, "say what to change");
    ended(&["bulk", "login", "--close"], 2, "say why with -m");
    ended(&["bulk", "login", "--close", "--park", "-m", "x"], 2, "cannot be used with");

    ended(&["undo", "--last", "--dry-run"], 0, "would undo: priority");
    ended(&["undo", "--last", "--yes"], 0, "takes that back");
    assert_eq!(stored_issues(path)[0]["priority"], Value::Null);
    // `ait log` shows the numbers of changes.
    let log = run(path, &["log", "-n", "1"]).ok();
    let number = log.split('#').nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    assert!(log.contains("(undoes changes "), "{log}");
    let undone: Value =
        serde_json::from_str(&run(path, &["undo", &number, "--yes", "--json"]).ok()).unwrap();
    assert_eq!(
        (&undone["changes"], &undone["issues"][0]["undone"]),
        (&json!(1), &json!(["priority"]))
    );
    ended(&["undo", &number, "--yes"], 1, "there is nothing to undo");
    ended(&["undo", "--by", "nobody", "--since", "1h"], 1, "nobody changed nothing");
    ended(&["undo", "--by", "nobody"], 2, "needs --since");
    ended(&["undo", "x"], 2, "is not the number of a change");
    ended(&["undo", "7", "--last"], 2, "cannot be used with");

    let close = ["bulk", "fails", "3", "--close", "-m", "fixed"];
    ended(&[&close[..], &["--dry-run"]].concat(), 0, "agents cannot undo the end");
    let closed = ended(&[&close[..], &["--yes"]].concat(), 0, "changed 1 issue; `ait undo ");
    assert!(closed.contains("ait undo"), "{closed}");
    ended(&["undo"], 0, "takes that back");
    assert_eq!(stored_issues(path)[3]["status"], "created");
}

#[test]
fn undo_by_time_warns_where_the_log_begins() {
    let directory = directory();
    let path = directory.path();
    // These issues are older than the log.
    write_issues(path, &issues());
    let nothing = run(path, &["undo", "--by", "dev", "--since", "900d"]);
    assert!(nothing.code == 1 && nothing.log.contains("; the log begins at"), "{nothing:?}");
    run(path, &["edit", &id(1), "-p", "1", "-a", "dev"]).ok();
    let recent = run(path, &["undo", "--by", "dev", "--since", "900d", "--dry-run"]);
    assert!(recent.code == 0 && recent.log.contains("warning: the log begins at"), "{recent:?}");
    let last = run(path, &["undo", "--last", "-a", "dev", "--dry-run"]);
    assert!(last.code == 0 && !last.log.contains("the log begins at"), "{last:?}");
    let mut client = lead(path);
    let arguments = json!({ "by_agent": "dev", "since": "900d", "agent": "lead" });
    let found = report(&mut client, "undo_change", arguments);
    let warning = found["warning"].as_str().unwrap_or_default();
    assert!(warning.starts_with("the log begins at 20"), "{found}");
    let refused = client
        .call("undo_change", json!({ "by_agent": "nobody", "since": "900d", "agent": "lead" }));
    assert!(refused.text.contains("nobody changed nothing in that time; the log begins at"));
}

#[test]
fn undo_by_time_gives_no_warning_if_the_log_is_complete() {
    let directory = directory();
    let path = directory.path();
    run(path, &["add", "first", "-c", "bug", "-a", "dev"]).ok();
    let arguments = ["undo", "--by", "dev", "--since", "900d", "--dry-run", "--json"];
    let run = run(path, &arguments);
    assert!(!run.log.contains("the log begins"), "{run:?}");
    let report: Value = serde_json::from_str(&run.ok()).unwrap();
    assert_eq!((&report["changes"], &report["warning"]), (&json!(1), &Value::Null));
}
