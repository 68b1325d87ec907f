//! Edits of `issues.json` while agents work, by a slow editor and by git. The store loses no acknowledged change,
//! no issue is claimed twice, and every edit is in the store or in a kept file.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::files::{issues_in_file, kept, stored_issues, wait_for_file};
use crate::support::runs::run;
use crate::support::{Client, directory, factor};

/// How long agents and the editor work concurrently.
const SESSION: Duration = Duration::from_secs(6);
/// The longest time that the editor has the file open.
const OPEN_MS: u64 = 300;

/// The acknowledged changes of an agent.
#[derive(Default)]
struct Answered {
    filed: Vec<String>,
    claimed: Vec<String>,
    completed: Vec<String>,
}

impl Answered {
    fn add(&mut self, other: Self) {
        self.filed.extend(other.filed);
        self.claimed.extend(other.claimed);
        self.completed.extend(other.completed);
    }

    /// Checks that every acknowledged change is stored and that each issue was claimed once.
    fn check(&self, issues: &[Value]) {
        let known: HashMap<_, _> =
            issues.iter().map(|issue| (issue["id"].as_str().unwrap(), issue)).collect();
        let lost: Vec<_> =
            self.filed.iter().filter(|id| !known.contains_key(id.as_str())).collect();
        assert_eq!(lost, Vec::<&String>::new(), "of {} filed issues", self.filed.len());
        let mut claimed = HashSet::new();
        for id in &self.claimed {
            assert!(claimed.insert(id), "{id} was claimed twice");
            let history = known[id.as_str()]["history"].as_array().unwrap();
            let claims =
                history.iter().filter(|entry| entry["action"] == "Issue claimed for work").count();
            assert_eq!(claims, 1, "{history:#?}");
        }
        for id in &self.completed {
            assert_eq!(known[id.as_str()]["status"], "completed", "{}", known[id.as_str()]);
        }
    }
}

/// Runs an agent with its own server.
fn serve_agent(directory: &Path, name: &str, is_over: &AtomicBool) -> Answered {
    let mut client = Client::start(directory);
    let mut answered = Answered::default();
    while !is_over.load(Ordering::Relaxed) {
        answered.filed.push(client.add(name, "bug"));
        let claim = client.call("get_next_issue", json!({ "agent": name })).ok();
        if let Ok(issue) = serde_json::from_str::<Value>(&claim) {
            let id = issue["id"].as_str().unwrap().to_owned();
            answered.claimed.push(id.clone());
            let done = json!({ "issue_id": id, "comment": name, "agent": name });
            client.call("complete_issue", done).ok();
            answered.completed.push(id);
        }
        // Fast enough to matter, slow enough that the file stays small for the editor.
        thread::sleep(Duration::from_millis(20));
    }
    assert!(client.close().success(), "{}", client.log().text());
    answered
}

/// Runs an agent that starts a command for each call.
fn command_agent(directory: &Path, is_over: &AtomicBool) -> Answered {
    let mut answered = Answered::default();
    while !is_over.load(Ordering::Relaxed) {
        let filed = run(directory, &["add", "command", "-c", "bug", "-a", "c", "--json"]).ok();
        answered.filed.push(id_of(&filed));
        let claimed = run(directory, &["next", "-a", "c", "--json"]);
        if claimed.code == 0 {
            answered.claimed.push(id_of(&claimed.out));
        }
    }
    answered
}

/// Files an issue by a command. Returns its id.
#[track_caller]
fn add(directory: &Path, title: &str) -> String {
    id_of(&run(directory, &["add", title, "-c", "bug", "-a", "a", "--json"]).ok())
}

fn id_of(issue: &str) -> String {
    let issue: Value = serde_json::from_str(issue).unwrap_or_else(|_| panic!("no JSON: {issue}"));
    issue["id"].as_str().unwrap().to_owned()
}

/// Replaces a file by renaming, as editors do.
fn save(path: &Path, document: &Value) {
    let temp = path.with_file_name("editor's own file");
    fs::write(&temp, serde_json::to_vec_pretty(document).unwrap()).unwrap();
    fs::rename(&temp, path).unwrap();
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Changes titles, one issue at a time. Returns the last title of each issue and the number of edits.
fn edit(directory: &Path, is_over: &AtomicBool) -> (HashMap<String, String>, usize) {
    let path = directory.join("issues.json");
    let mut last = HashMap::new();
    let mut count = 0;
    while !is_over.load(Ordering::Relaxed) {
        count += 1;
        let mut document = read(&path);
        thread::sleep(Duration::from_millis(fastrand::u64(..OPEN_MS)));
        let issues = document["issues"].as_array_mut().unwrap();
        let index = fastrand::usize(..issues.len());
        let issue = &mut issues[index];
        let title = format!("edited {count}");
        issue["title"] = json!(title);
        last.insert(issue["id"].as_str().unwrap().to_owned(), title);
        save(&path, &document);
        thread::sleep(Duration::from_millis(fastrand::u64(..OPEN_MS / 3)));
    }
    (last, count)
}

/// Checks that each edit is in the store or in a kept file.
fn check_edits(directory: &Path, issues: &[Value], edits: &HashMap<String, String>) {
    let files = kept(directory);
    let files: Vec<_> = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    for issue in issues {
        let Some(title) = edits.get(issue["id"].as_str().unwrap()) else { continue };
        let in_kept = || {
            let line = format!("\"title\": {}", json!(title));
            files.iter().any(|file| file.contains(&line))
        };
        assert!(issue["title"] == json!(title) || in_kept(), "{title} is lost: {issue:#}");
    }
}

#[test]
fn concurrent_editor_and_agents_lose_nothing() {
    for _ in 0..factor() {
        let directory = directory();
        let path = directory.path();
        let mut first = Client::start(path);
        first.add("first", "bug");
        wait_for_file(path, |issues| issues.len() == 1);
        assert!(first.close().success());
        let is_over = AtomicBool::new(false);
        let (answered, (edits, count)) = thread::scope(|scope| {
            let agents = [
                scope.spawn(|| serve_agent(path, "one", &is_over)),
                scope.spawn(|| serve_agent(path, "other", &is_over)),
                scope.spawn(|| command_agent(path, &is_over)),
            ];
            let editor = scope.spawn(|| edit(path, &is_over));
            let begun = Instant::now();
            let works = || agents.iter().all(|agent| !agent.is_finished()) && !editor.is_finished();
            while begun.elapsed() < SESSION && works() {
                thread::sleep(Duration::from_millis(20));
            }
            is_over.store(true, Ordering::Relaxed);
            let mut answered = Answered::default();
            for agent in agents {
                answered.add(agent.join().unwrap());
            }
            (answered, editor.join().unwrap())
        });
        assert!(count > 5 && answered.claimed.len() > 20, "{count}");
        let issues = stored_issues(path);
        answered.check(&issues);
        check_edits(path, &issues, &edits);
        run(path, &["save"]).ok();
        let differing = |(one, other): &(&Value, &Value)| one != other;
        let saved = issues_in_file(path);
        let found = issues.iter().zip(&saved).find(differing);
        assert!(found.is_none() && saved.len() == issues.len(), "{found:#?}");
    }
}

/// The editor continues from its own saved copy, which does not contain the merge of the edit before.
#[test]
fn edit_right_after_a_merged_edit_is_not_lost() {
    let directory = directory();
    let path = directory.path();
    let file = path.join("issues.json");
    let ids = [add(path, "one"), add(path, "other")];
    // The process that merges an edit reports a conflict and keeps the file.
    let assert_known = |id: &str, title: &str| {
        let shown = run(path, &["show", id, "--json"]);
        let issue: Value = serde_json::from_str(&shown.out).unwrap();
        if issue["title"] != title {
            check_edits(path, &[issue], &HashMap::from([(id.to_owned(), title.to_owned())]));
        }
    };
    for round in 0..10 {
        run(path, &["save"]).ok();
        let mut document = read(&file);
        let mut edit = |index: usize, title: String| {
            document["issues"][index]["title"] = json!(title);
            save(&file, &document);
        };
        edit(0, format!("first {round}"));
        // Some commands only read; others change the store and publish the file again.
        let merging: &[&str] = match round % 3 {
            0 => &["list"],
            1 => &["add", "more", "-c", "bug", "-a", "a"],
            _ => &["complete", &ids[0], "-m", "c", "-a", "a"],
        };
        run(path, merging).ok();
        edit(0, format!("second {round}"));
        assert_known(&ids[0], &format!("second {round}"));
        edit(1, format!("third {round}"));
        add(path, "after");
        assert_known(&ids[1], &format!("third {round}"));
        assert_known(&ids[0], &format!("second {round}"));
    }
}

/// Creates a repository in which `issues.json` with two issues is committed.
fn repository() -> (tempfile::TempDir, Vec<String>) {
    let directory = directory();
    let path = directory.path();
    git(path, &["init", "-q"]);
    let ids = ["one", "other"].map(|title| add(path, title)).to_vec();
    run(path, &["save"]).ok();
    git(path, &["add", "issues.json"]);
    git(path, &["commit", "-qm", "the queue"]);
    assert_eq!(git(path, &["status", "--porcelain"]), "");
    (directory, ids)
}

#[track_caller]
fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = git_command(directory, arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn git_command(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.current_dir(directory).args(["-c", "user.name=t", "-c", "user.email=t@localhost"]);
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").args(arguments);
    command
}

/// Claims and completes the first issue, and files another. Returns its id.
fn work(client: &mut Client, first: &str) -> String {
    let claimed = client.call("get_next_issue", json!({ "agent": "w" })).issue();
    assert_eq!(claimed["id"], first);
    let done = json!({ "issue_id": first, "comment": "done", "agent": "w" });
    client.call("complete_issue", done).ok();
    client.add("filed since", "bug")
}

/// Checks that new processes and backups see what [`work`] did.
#[track_caller]
fn check_work(directory: &Path, first: &str, filed: &str, when: &str) {
    for id in [first, filed] {
        let shown = run(directory, &["show", id, "--json"]).ok();
        let issue: Value = serde_json::from_str(&shown).unwrap();
        let status = if id == first { "completed" } else { "created" };
        assert_eq!(issue["status"], status, "{when}: {issue:#}");
    }
    run(directory, &["backup", "--force", "backup.json"]).ok();
    let backup = read(&directory.join("backup.json"));
    let issues = backup["issues"].as_array().unwrap();
    assert_eq!(issues.len(), stored_issues(directory).len());
    let is_saved = issues.iter().any(|issue| issue["id"] == filed);
    assert!(is_saved, "{when}: {filed} is not in the backup");
}

#[test]
fn git_checkout_undoes_no_change_in_any_order() {
    /// A step between the change and the orderly shutdown.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Published,
        Checkout,
        Read,
        Change,
        Save,
    }
    use Step::{Change, Checkout, Published, Read, Save};
    let orders: [&[Step]; 8] = [
        &[Checkout],
        &[Published, Checkout],
        &[Published, Checkout, Read],
        &[Published, Checkout, Change],
        &[Checkout, Read, Checkout, Change],
        &[Published, Checkout, Save],
        &[Checkout, Change, Published, Checkout],
        &[Published, Checkout, Change, Checkout, Read, Change],
    ];
    for order in orders {
        let (directory, ids) = repository();
        let path = directory.path();
        let mut client = Client::start(path);
        let filed = work(&mut client, &ids[0]);
        for step in order {
            match step {
                Published => {
                    let is_filed =
                        |issues: &[Value]| issues.iter().any(|issue| issue["id"] == filed[..]);
                    wait_for_file(path, is_filed);
                }
                Checkout => drop(git(path, &["checkout", "--", "issues.json"])),
                Read => drop(client.call("list_issues", json!({})).ok()),
                Change => drop(client.add("later", "bug")),
                Save => drop(run(path, &["save"]).ok()),
            }
        }
        assert!(client.close().success(), "{order:?}: {}", client.log().text());
        assert!(!client.log().text().contains("ERROR"), "{order:?}: {}", client.log().text());
        check_work(path, &ids[0], &filed, &format!("{order:?}"));
        // The next change publishes the file again.
        add(path, "last");
        assert_eq!(issues_in_file(path), stored_issues(path), "{order:?}");
    }
}

#[test]
fn git_clean_with_running_servers_loses_nothing() {
    for (asks_servers, checks_out) in [(true, true), (false, true), (true, false), (false, false)] {
        let (directory, ids) = repository();
        let path = directory.path();
        let mut servers = [Client::start(path), Client::start(path)];
        let filed = work(&mut servers[0], &ids[0]);
        servers[1].call("list_issues", json!({ "issue_id": filed })).issue();
        // Git may report a directory that is not empty, because the servers recreate it at once.
        drop(git_command(path, &["clean", "-qfdx"]).output().unwrap());
        if checks_out {
            git(path, &["checkout", "--", "issues.json"]);
        }
        let added = add(path, "after clean");
        if asks_servers {
            for id in [&filed, &added] {
                for server in &mut servers {
                    server.call("list_issues", json!({ "issue_id": id })).issue();
                }
            }
            let again = servers[1].call("get_next_issue", json!({ "agent": "w" })).issue();
            assert_ne!(again["id"], ids[0], "a completed issue was claimed again");
        }
        for server in &mut servers {
            assert!(server.close().success(), "{}", server.log().text());
        }
        let when = format!("asks {asks_servers}, checks out {checks_out}");
        check_work(path, &ids[0], &filed, &when);
        let shown = run(path, &["show", &added, "--json"]);
        assert_eq!(shown.code, 0, "{when}: {}", shown.log);
    }
}

#[test]
fn git_stash_loses_nothing_and_can_be_popped() {
    let (directory, ids) = repository();
    let path = directory.path();
    let mut client = Client::start(path);
    let filed = work(&mut client, &ids[0]);
    let published =
        wait_for_file(path, |issues| issues.iter().any(|issue| issue["id"] == filed[..]));
    git(path, &["stash", "-q"]);
    assert_eq!(issues_in_file(path).len(), 2);
    check_work(path, &ids[0], &filed, "stashed");
    client.call("list_issues", json!({ "issue_id": filed })).issue();
    assert!(client.close().success());
    check_work(path, &ids[0], &filed, "ended");
    // Readers leave the file unchanged, so that git can apply the stash.
    git(path, &["stash", "pop", "-q"]);
    assert_eq!(issues_in_file(path), published);
    check_work(path, &ids[0], &filed, "popped");
}
