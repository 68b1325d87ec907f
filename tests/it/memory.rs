//! What agents and people keep for later ones: entries, through tools, commands, pages and files.

use std::process::Command;
use std::sync::Arc;

use agent_issue_tracker::domain::{AgentName, Classification, Description, Issue, Title};
use agent_issue_tracker::store::{SqliteStore, Store};
use agent_issue_tracker::tracker::memory::NewEntry;
use agent_issue_tracker::tracker::{NewIssue, Tracker};
use serde_json::{Value, json};

use crate::support::http::Server;
use crate::support::postgres::{open, project};
use crate::support::runs::{run, run_with};
use crate::support::{Client, ait, directory, get, id_in};

/// Keeps an entry on the command line, and returns its short id.
fn keep(directory: &std::path::Path, arguments: &[&str]) -> String {
    let kept = run(directory, &[&["remember", "-a", "dev-1"], arguments].concat()).ok();
    kept.lines().next().unwrap()["Kept ".len()..].trim_end_matches('.').to_owned()
}

fn begin(directory: &std::path::Path) -> Client {
    Client::begin(ait(directory).args(["--toolsets", "memory"]))
}

fn found(answer: &str) -> Vec<String> {
    let answer: Value = serde_json::from_str(answer).unwrap();
    let found = answer["found"].as_array().cloned().unwrap_or_default();
    found.iter().map(|line| line.as_str().unwrap().to_owned()).collect()
}

fn known(claim: &str) -> Vec<String> {
    let claim: Value = serde_json::from_str(claim).unwrap();
    let known = claim["known"].as_array().cloned().unwrap_or_default();
    known.iter().map(|line| line.as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_agent_keeps_what_the_next_one_is_shown() {
    let directory = directory();
    let mut client = begin(directory.path());
    let entry = json!({ "text": "slug('') must stay '', the router matches on it", "kind": "trap",
        "about": ["kit/text.py", "search"], "agent": "dev-1" });
    let kept: Value = serde_json::from_str(&client.call("remember", entry.clone()).ok()).unwrap();
    let id = kept["kept"].as_str().unwrap().to_owned();
    assert_eq!(kept, json!({ "kept": id }));
    // Its answer was lost.
    let again: Value = serde_json::from_str(&client.call("remember", entry).ok()).unwrap();
    assert_eq!(again, kept);
    // Another one that begins the same is another one.
    let begins = "a printer in the hall shows old prices at noon, and ".repeat(6);
    let mut both = ["only on Mondays", "never on Mondays"].map(|end| {
        let entry = json!({ "text": format!("{begins}{end}"), "kind": "fact", "agent": "dev-3" });
        client.call("remember", entry).ok()[..18].to_owned()
    });
    both.sort();
    assert_ne!(both[0], both[1]);
    let money = json!({ "text": "amounts are Decimal, never float (audit)", "kind": "decision",
        "about": ["src/money"], "agent": "dev-1" });
    client.call("remember", money).ok();

    let mut claim = |title: &str, about: &str| {
        let issue = json!({ "title": title, "description": about, "classification": "bug", "agent": "lead" });
        let id = id_in(&client.call("add_issue", issue).ok());
        let claim = client.call("get_next_issue", json!({ "agent": "dev-2", "issue_id": id })).ok();
        let done = json!({ "agent": "dev-2", "issue_id": id, "comment": "done" });
        client.call("complete_issue", done).ok();
        known(&claim)
    };
    let trap = format!("{id} trap: slug('') must stay '', the router matches on it");
    assert_eq!(claim("Long slugs", "In kit/text.py they are cut."), std::slice::from_ref(&trap));
    let decided = claim("Totals", "See src/money/total.rs.");
    assert!(
        decided.len() == 1 && decided[0].contains("decision: amounts are Decimal"),
        "{decided:?}"
    );
    assert!(claim("Translate the manual", "Into French.").is_empty());
    // Words of the title.
    assert_eq!(claim("Empty slug breaks the router", "A 404.").len(), 1);

    let by_file = client.call("recall", json!({ "query": "file:kit/text.py" })).ok();
    assert!(found(&by_file)[0].starts_with(&trap), "{by_file}");
    assert!(found(&by_file)[0].contains("(dev-1, 20"), "{by_file}");
    for query in ["kind:trap", "label:search", "by:dev-1 slug", "router matches"] {
        let rows = found(&client.call("recall", json!({ "query": query })).ok());
        assert!(rows.len() == 1 && rows[0].starts_with(&id), "{query}: {rows:?}");
    }
    let whole = client.call("recall", json!({ "ids": [id] })).ok();
    let whole: Value = serde_json::from_str(&whole).unwrap();
    assert_eq!(whole["entries"][0]["about"], json!(["kit/text.py", "search"]));
    assert!(found(&client.call("recall", json!({ "query": "nothing like it" })).ok()).is_empty());
    assert_eq!(found(&client.call("recall", json!({})).ok()).len(), 4);

    // It is no work.
    let claimed = client.call("get_next_issue", json!({ "agent": "dev-2", "issue_id": id }));
    assert!(claimed.refusal().contains("an entry of the memory, and no work"));
    let listed: Value = serde_json::from_str(&client.call("list_issues", json!({})).ok()).unwrap();
    assert_eq!(listed["count"], 4);
    let long = json!({ "text": "x".repeat(601), "kind": "fact", "agent": "dev-1" });
    assert!(client.call("remember", long).refusal().contains("601 characters, and at most 600"));
    let issue = json!({ "text": "x", "kind": "fact", "agent": "dev-1", "replaces": "ffffffff" });
    assert!(client.call("remember", issue).refusal().contains("ffffffff"));
}

#[test]
fn only_the_last_of_three_replacements_is_shown() {
    let directory = directory();
    let path = directory.path();
    let first =
        keep(path, &["ids are numbers of rows", "--kind", "decision", "--about", "src/ids.rs"]);
    let similar =
        run(path, &["remember", "ids are random numbers", "-a", "dev-2", "--kind", "decision"])
            .ok();
    assert!(similar.contains(&first), "{similar}");
    let second = similar.lines().next().unwrap()["Kept ".len()..].trim_end_matches('.').to_owned();
    // Undone, it never held; kept again, it does.
    run(path, &["undo", "-a", "dev-2"]).ok();
    assert!(!run(path, &["recall"]).ok().contains(&second));
    let again =
        run(path, &["remember", "ids are random numbers", "-a", "dev-2", "--kind", "decision"])
            .ok();
    let again = again.lines().next().unwrap()["Kept ".len()..].trim_end_matches('.').to_owned();
    assert_ne!(again, second);
    let chain = |text: &str, replaced: &str| {
        keep(path, &[text, "--kind", "decision", "--about", "src/ids.rs", "--replaces", replaced])
    };
    let third = chain("ids are UUIDs of version 4", &again);
    let third = chain("ids are UUIDs of version 7, because indexes like order", &third);
    let fourth = chain("ids are ULIDs", &first);
    assert_ne!(third, fourth);
    run(path, &["add", "Short ids", "-d", "in src/ids.rs", "-a", "lead"]).ok();
    let claimed = run(path, &["next", "-a", "dev-3"]).ok();
    assert!(claimed.contains(&fourth) && claimed.contains("version 7"), "{claimed}");
    assert!(!claimed.contains(&first) && !claimed.contains("version 4"), "{claimed}");
    let all = run(path, &["recall", "--all"]).ok();
    assert!(all.contains(&first) && all.contains("version 4"), "{all}");
    // One that has ended is no longer shown.
    run(path, &["edit", &fourth, "--due", "2020-01-01"]).ok();
    assert!(!run(path, &["recall"]).ok().contains(&fourth));
}

#[test]
fn entries_are_no_work_in_any_face() {
    let directory = directory();
    let path = directory.path();
    let id = keep(path, &["the deploy needs VPN", "--about", "ops"]);
    run(path, &["add", "One issue", "-d", "x", "-a", "lead"]).ok();
    for shown in
        [["list", "--all"], ["board", "--json"], ["stats", "--json"], ["export", "--format=csv"]]
    {
        let shown = run(path, &shown).ok();
        assert!(!shown.contains(&id) && !shown.contains("VPN"), "{shown}");
    }
    assert!(run(path, &["status"]).ok().contains("1 created"));
    for (command, reason) in [
        (&["claim", &*id][..], "an entry of the memory"),
        (&["close", &id], "an entry of the memory"),
        (&["complete", &id, "-m", "x"], "an entry of the memory"),
        (&["reopen", &id], "an entry of the memory"),
        (&["park", &id, "-m", "x"], "an entry of the memory"),
        (&["edit", &id, "-c", "bug"], "an entry of the memory"),
    ] {
        let refused = run(path, command).refusal();
        assert!(refused.contains(reason), "{command:?}: {refused}");
    }
    // It can be found, corrected, linked and discussed.
    run(path, &["edit", &id, "--title", "the deploy needs the VPN"]).ok();
    run(path, &["comment", &id, "still so"]).ok();
    assert!(run(path, &["recall", "deploy"]).ok().contains("needs the VPN"));
    assert!(run(path, &["show", &id]).ok().contains("still so"));

    // Through a document into another queue, unchanged.
    let exported = run(path, &["export"]).ok();
    let other = crate::support::directory();
    run_with(other.path(), &["import", "-", "--format=json", "-a", "lead"], exported.as_bytes())
        .ok();
    assert_eq!(run(other.path(), &["export"]).ok(), exported);
    assert!(run(path, &["doctor"]).ok().contains("0 problems"));

    let filed = run(path, &["add", "x", "-d", "x", "-c", "decision"]);
    assert!(filed.code != 0 && filed.log.contains("decision"), "{filed:?}");
    let server = Server::start(path);
    let page = get(server.port, "/memory").body;
    assert!(page.contains("the deploy needs the VPN") && page.contains("dev-1"), "{page}");
    assert!(get(server.port, "/memory?q=nothing+like").body.contains("Nothing matches"));
    assert!(get(server.port, &format!("/issues/{id}")).body.contains("needs the VPN"));
    assert!(!get(server.port, "/").body.contains("VPN"));
}

#[test]
fn what_an_agent_learned_costs_no_extra_call() {
    let directory = directory();
    let path = directory.path();
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(path).args(["-c", "user.name=n", "-c", "user.email=n@example.com"]);
        assert!(git.args(arguments).status().unwrap().success(), "{arguments:?}");
    };
    git(&["init", "-q", "."]);
    std::fs::write(path.join("Makefile"), "all:\n").unwrap();
    git(&["add", "Makefile"]);
    git(&["commit", "-qm", "begin"]);
    let mut client = begin(path);
    let issue = json!({ "title": "Build twice", "description": "It does.", "classification": "bug", "agent": "lead" });
    let id = id_in(&client.call("add_issue", issue).ok());
    client.call("get_next_issue", json!({ "agent": "dev-1" })).ok();
    git(&["checkout", "-qb", &format!("issue-{}", &id[..8])]);
    std::fs::write(path.join("Makefile"), "all: once\n").unwrap();
    git(&["commit", "-qam", "once"]);
    git(&["checkout", "-q", "-"]);
    let done = json!({ "agent": "dev-1", "issue_id": id, "comment": "done",
        "learned": "make runs the recipe twice if the target is a folder" });
    client.call("complete_issue", done.clone()).ok();
    client.call("complete_issue", done).ok();
    let rows = found(&client.call("recall", json!({ "query": "file:Makefile" })).ok());
    assert!(rows.len() == 1 && rows[0].contains("fact: make runs the recipe twice"), "{rows:?}");
    // The issue itself leads to it, too.
    let near = found(&client.call("recall", json!({ "issue_id": id })).ok());
    assert_eq!(near.len(), 1, "{near:?}");
    // A commit after the entry marks it.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    std::fs::write(path.join("Makefile"), "all: never\n").unwrap();
    git(&["commit", "-qam", "never"]);
    let rows = found(&client.call("recall", json!({ "query": "file:Makefile" })).ok());
    assert!(rows[0].contains("[Makefile changed 1x since]"), "{rows:?}");
}

#[test]
fn overviews_name_what_was_decided() {
    let directory = directory();
    let path = directory.path();
    assert!(!run(path, &["digest", "--json"]).ok().contains("memory"));
    let decision = keep(path, &["amounts are Decimal", "--kind", "decision"]);
    keep(path, &["the deploy needs VPN"]);
    run(path, &["add", "One issue", "-d", "x", "-a", "lead"]).ok();
    run(path, &["next", "-a", "dev-2"]).ok();
    let line = format!("{decision} decision: amounts are Decimal");
    let digest: Value = serde_json::from_str(&run(path, &["digest", "--json"]).ok()).unwrap();
    assert_eq!(digest["memory"], json!({ "entries": 2, "decisions": [line] }));
    assert!(run(path, &["digest"]).ok().contains(&line));
    let greeting = run_with(path, &["hook", "session-start"], b"{}").ok();
    assert!(greeting.contains("Kept in the memory: 2") && greeting.contains(&line), "{greeting}");
    let toolsets = ["--toolsets", "analysis", "--toolsets", "planning"];
    let mut client = Client::begin(ait(path).args(toolsets));
    let digest: Value = serde_json::from_str(&client.call("get_digest", json!({})).ok()).unwrap();
    assert_eq!(digest["memory"]["entries"], 2);
    let project = client.call("get_context", json!({})).ok();
    let project: Value = serde_json::from_str(&project).unwrap();
    assert_eq!(project["decisions"], json!([line]));
    assert_eq!(project["entries"].as_array().unwrap().len(), 1);
    assert!(project["underWay"][0].as_str().unwrap().contains("One issue"), "{project}");
    for (uri, count) in [("tracker://memory", 2), ("tracker://decisions", 1)] {
        let read = client.request("resources/read", json!({ "uri": uri }));
        let text = read["contents"][0]["text"].as_str().unwrap();
        let read: Value = serde_json::from_str(text).unwrap();
        assert_eq!(read["count"], count, "{read}");
    }
}

/// Eight agents keep entries at the same time, and some of them are killed.
#[test]
fn what_was_answered_is_there_once() {
    const AGENTS: usize = 8;
    const ENTRIES: usize = 25;
    let directory = directory();
    let path = directory.path().to_owned();
    let agents = (0..AGENTS).map(|agent| {
        let path = path.clone();
        std::thread::spawn(move || {
            let mut client = begin(&path);
            for at in 0..ENTRIES {
                if agent % 2 == 0 && at % 10 == 5 {
                    client.signal("KILL");
                    client.wait();
                    client = begin(&path);
                }
                let text = format!("agent {agent} knows thing {at}");
                let entry =
                    json!({ "text": text, "kind": "fact", "agent": format!("dev-{agent}") });
                client.ask_tool("remember", entry.clone());
                if agent % 2 == 0 && at % 10 == 7 {
                    client.signal("KILL");
                    client.wait();
                    client = begin(&path);
                }
                client.call("remember", entry).ok();
            }
        })
    });
    agents.collect::<Vec<_>>().into_iter().for_each(|agent| agent.join().unwrap());
    let all: Value =
        serde_json::from_str(&run(&path, &["recall", "-n", "1000", "--json"]).ok()).unwrap();
    let mut texts: Vec<_> =
        all["found"].as_array().unwrap().iter().map(|row| row["text"].to_string()).collect();
    assert_eq!(texts.len(), AGENTS * ENTRIES);
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), AGENTS * ENTRIES);
}

/// What an agent sees of entries, in any store.
async fn tell(store: Arc<dyn Store>) {
    let tracker = Tracker::new(store);
    let agent = || AgentName::try_from("a").unwrap();
    let keep = async |kind, text: &str, about: &[&str]| {
        let about = about.iter().map(|one| (*one).to_owned()).collect();
        let entry = NewEntry { about, ..NewEntry::new(kind, text.to_owned()) };
        tracker.remember(entry, agent()).await.unwrap().entry.issue
    };
    let file = async |title: &str, about: &str| {
        let title = Title::try_from(title).unwrap();
        let new = NewIssue::new(title, Description::try_from(about).unwrap(), Classification::Bug);
        tracker.add_issue(new, agent()).await.unwrap().issue
    };
    let issue = file("Sums", "In src/store/sum.rs.").await;
    let folder = keep(Classification::Decision, "one writer at a time", &["src/store"]).await;
    let other = keep(Classification::Trap, "clocks go back", &["src/clock.rs"]).await;
    let linked = keep(Classification::Fact, "asked the customer", &[&issue.id.short()]).await;
    let long = format!("First line\n\n{}", "body ".repeat(100));
    let long = keep(Classification::Decision, &long, &["src/store/sum.rs"]).await;
    let known = tracker.known(&issue).await;
    let ids: Vec<_> = known.iter().map(|lesson| lesson.issue).collect();
    assert_eq!(ids, [linked.id, long.id, folder.id], "{known:?}");
    assert!(known.iter().all(|lesson| lesson.issue != other.id));
    assert_eq!(tracker.counts().await.unwrap().total(), 1);
    let entries = tracker.list_issues(Tracker::entries(10)).await.unwrap();
    assert_eq!((entries.total, entries.issues.len()), (4, 4));
    let whole: Arc<Issue> = tracker.entry(long.id.into()).await.unwrap();
    assert!(whole.title == "First line" && whole.description.contains("body body"));
    assert!(tracker.entry(issue.id.into()).await.is_err());
}

#[tokio::test]
async fn stores_tell_of_entries() {
    let directory = directory();
    tell(Arc::new(SqliteStore::new(directory.path().join("issues.json")))).await;
    if let Some(project) = project() {
        tell(Arc::new(open(&project))).await;
    }
}
