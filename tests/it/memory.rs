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
/// Runs git in a directory, as of an hour from now, so that no clock of whole seconds decides.
fn git(directory: &std::path::Path, arguments: &[&str]) {
    let later = (chrono::Utc::now() + chrono::Duration::hours(1)).to_rfc3339();
    let mut git = Command::new("git");
    git.current_dir(directory).args(["-c", "user.name=a", "-c", "user.email=a@example.com"]);
    let done = git.args(arguments).env("GIT_COMMITTER_DATE", &later).output().unwrap();
    assert!(done.status.success(), "{done:?}");
}

#[test]
fn stale_entries_are_about_files_that_changed_since() {
    let directory = directory();
    let path = directory.path();
    git(path, &["init", "-q"]);
    let changed = keep(path, &["slug('') must stay ''", "--about", "kit/text.py"]);
    let folder = keep(path, &["all of kit is generated", "--about", "kit/"]);
    let same = keep(path, &["amounts are Decimal", "--about", "src/money.py"]);
    let about_nothing = keep(path, &["the team is in two time zones"]);
    std::fs::create_dir_all(path.join("kit/deep")).unwrap();
    std::fs::write(path.join("kit/text.py"), "def slug(): pass").unwrap();
    git(path, &["add", "kit"]);
    git(path, &["commit", "-qm", "kit"]);
    let rows = |query: &str| {
        let mut rows: Vec<_> = run(path, &["recall", query])
            .out
            .lines()
            .map(|row| row.split(' ').next().unwrap().to_owned())
            .collect();
        rows.sort();
        rows
    };
    let sorted = |ids: &[&String]| {
        let mut ids: Vec<_> = ids.iter().map(|id| (*id).clone()).collect();
        ids.sort();
        ids
    };
    assert_eq!(rows("stale:yes"), sorted(&[&changed, &folder]));
    assert_eq!(rows("stale:yes slug"), sorted(&[&changed]));
    assert_eq!(rows("stale:no"), sorted(&[&same, &about_nothing]));
    let mut client = begin(path);
    let found = found(&client.call("recall", json!({ "query": "stale:yes", "take": 1 })).ok());
    assert_eq!(found.len(), 1);
    assert!(found[0].contains(" changed 1x since]"), "{found:?}");
}

#[test]
fn an_entry_ends_with_an_issue() {
    let directory = directory();
    let path = directory.path();
    let issue = id_in(&run(path, &["add", "Replace the cache", "-a", "lead"]).ok());
    let entry = keep(path, &["the cache is filled twice", "--until", &issue[..8]]);
    assert!(run(path, &["recall"]).ok().contains(&entry));
    let page = |path: &std::path::Path| {
        let server = Server::start(path);
        get(server.port, "/memory").body
    };
    assert!(page(path).contains("until the end of"));
    run(path, &["close", &issue, "-a", "lead", "-m", "done"]).ok();
    assert!(!run(path, &["recall"]).out.contains(&entry));
    assert!(run(path, &["recall", "--all"]).ok().contains(&entry));
    let mut client = begin(path);
    assert!(found(&client.call("recall", json!({})).ok()).is_empty());
    let late = json!({ "text": "x y", "kind": "fact", "agent": "dev-1", "until": issue });
    assert!(client.call("remember", late.clone()).refusal().contains("closed"));
    run(path, &["reopen", &issue, "-a", "lead", "-m", "not yet"]).ok();
    assert!(run(path, &["recall"]).ok().contains(&entry));
    client.call("remember", late).ok();
    let bad = run(path, &["remember", "x", "-a", "dev-1", "--until", "whenever"]);
    assert!(bad.log.contains("give a day such as 2026-11-21"), "{bad:?}");
}

#[test]
fn triage_lists_contradictions_and_entries_that_no_work_needs() {
    let directory = directory();
    let path = directory.path();
    let about = ["--kind", "decision", "--about", "src/money.py"];
    let older = keep(path, &[&["amounts are Decimal"], &about[..]].concat());
    let newer = keep(path, &[&["amounts are integers of cents"], &about[..]].concat());
    keep(path, &["texts are UTF-8", "--kind", "decision", "--about", "src/text.py"]);
    let triage = run(path, &["triage", "--kind", "contradiction", "--json"]).ok();
    let triage: Value = serde_json::from_str(&triage).unwrap();
    assert_eq!(triage["total"], 1, "{triage}");
    let ids = [0, 1]
        .map(|at| triage["findings"][0]["issues"][at]["id"].as_str().unwrap()[..8].to_owned());
    assert_eq!(ids, [newer.clone(), older.clone()]);
    run(path, &["link", &newer, "related", &older, "-a", "lead"]).ok();
    let count = |kind: &str| {
        let triage = run(path, &["triage", "--kind", kind, "--json"]).ok();
        serde_json::from_str::<Value>(&triage).unwrap()["total"].as_u64().unwrap()
    };
    assert_eq!(count("contradiction"), 0);
    assert_eq!(count("unused_entry"), 0);

    // Old entries, one of them about a file of an issue of today.
    let text = std::fs::read_to_string(path.join("issues.json")).unwrap();
    let mut file: Value = serde_json::from_str(&text).unwrap();
    for issue in file["issues"].as_array_mut().unwrap() {
        for time in ["createdAt", "modifiedAt"] {
            issue[time] = "2026-01-05T10:00:00.000Z".into();
        }
        for entry in issue["history"].as_array_mut().unwrap() {
            entry["timestamp"] = "2026-01-05T10:00:00.000Z".into();
        }
    }
    let old = crate::support::directory();
    std::fs::write(old.path().join("issues.json"), file.to_string()).unwrap();
    let path = old.path();
    run(path, &["add", "Rounding of totals", "-d", "See src/money.py", "-a", "lead"]).ok();
    let unused = run(path, &["triage", "--kind", "unused_entry"]).ok();
    assert!(unused.contains("texts are UTF-8") && !unused.contains("amounts"), "{unused}");
    let server = Server::start(path);
    // They have time, so they do not count in the inbox.
    let inbox = get(server.port, "/inbox").body;
    let (due, later) = inbox.split_once("id=\"later\"").unwrap();
    let [in_due, in_later] = [due, later].map(|part| part.contains("Entries that no work needs"));
    assert!(!in_due && in_later, "{inbox}");
    let due = due.matches("<span class=\"attention-kind\">").count();
    assert_eq!(get(server.port, "/api/project").json()["inbox"], due, "{inbox}");
    assert!(get(server.port, "/inbox?kind=unused_entry").body.contains("texts are UTF-8"));
    assert_eq!(get(server.port, "/api/triage?kind=unused_entry").json()["total"], 1);
}

#[test]
fn the_graph_says_what_was_decided_and_tried() {
    let directory = directory();
    let path = directory.path();
    let decision = keep(path, &["one writer thread", "--kind", "decision", "--about", "src/store"]);
    let tried =
        id_in(&run(path, &["add", "Two writers", "-d", "In src/store/mod.rs", "-a", "lead"]).ok());
    run(path, &["close", &tried, "-a", "lead", "-m", "src/store/mod.rs must have one writer."])
        .ok();
    let part = id_in(&run(path, &["add", "Measure it", "--parent", &tried[..8], "-a", "ann"]).ok());
    run(path, &["add", "Translate the manual", "-a", "lead"]).ok();
    let mut client = begin(path);
    let mut around = |about: &str, depth: usize| {
        let answer = client.call("recall", json!({ "about": about, "depth": depth })).ok();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let lines = answer["around"].as_array().unwrap().iter();
        lines.map(|line| line.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let near = around("src/store", 1);
    assert_eq!(near[0], format!("{decision} decision: one writer thread (about src/store)"));
    let closed =
        format!("{} closed: Two writers: src/store/mod.rs must have one writer.", &tried[..8]);
    assert_eq!(near[1], format!("{closed} (about src/store)"));
    assert_eq!(near.len(), 2);
    let far = around("src/store/", 2);
    assert!(
        far.contains(&format!("{} created: Measure it (part of {})", &part[..8], &tried[..8])),
        "{far:?}"
    );
    // An agent on the way leads no further.
    assert!(far.iter().any(|line| line == &format!("lead (filed {})", &tried[..8])), "{far:?}");
    assert!(!far.iter().any(|line| line.contains("manual")), "{far:?}");
    assert_eq!(around("ann", 1).len(), 1);
    assert!(around("nobody", 3).is_empty());
    let shown = run(path, &["recall", "--about", &tried[..8]]).ok();
    assert!(shown.contains("Measure it") && shown.contains("named in"), "{shown}");
    let server = Server::start(path);
    for about in ["src/store", "ann", &tried[..8], &decision] {
        let page = get(server.port, &format!("/graph/{about}")).body;
        assert!(page.contains("<svg") && page.contains(&tried[..8]), "{page}");
    }
    assert!(get(server.port, "/graph/%3Cb%3E").body.contains("Nothing is known"));
    assert_eq!(get(server.port, "/graph/ffffffff").status, 404);
}

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
        serde_json::from_str(&run(&path, &["recall", "-n", "2000", "--json"]).ok()).unwrap();
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
