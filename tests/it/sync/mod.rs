//! `ait sync` with a GitHub on this machine, as a user runs it: edits on both sides, faults and kills.

mod add;
mod azure;
mod backlog;
mod links;
mod pages;

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::files::{names, stored_issues, wait_for_file};
use crate::support::http::{Server, connections};
use crate::support::runs::{Run, run};
use crate::support::{Client, ait, directory, get, postgres, scripts, skip};

const TOKEN: &str = "good-token";
const KEY: &str = "good-key";

/// A remote in a process of its own. It ends with its stdin.
struct Fake {
    child: Child,
    _stdin: ChildStdin,
    url: String,
    /// The beginning of the table of the sync `company`.
    table: &'static str,
    client: reqwest::blocking::Client,
}

impl Fake {
    /// Starts an empty one; `None` without Node.
    fn start(script: &str, given: &[&str], table: &'static str) -> Option<Self> {
        let node = match scripts::node() {
            Ok(node) => node,
            Err(missing) => {
                skip(missing);
                return None;
            }
        };
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/remotes");
        let mut command = Command::new(node);
        command.arg(folder.join(script)).args(given);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = format!("http://127.0.0.1:{}", line.trim());
        Some(Self { child, _stdin: stdin, url, table, client: connections() })
    }

    fn control(&self, given: Value) {
        let request = self.client.put(format!("{}/_control", self.url));
        assert!(request.body(given.to_string()).send().unwrap().status().is_success(), "{given}");
    }

    fn state(&self) -> Value {
        let text = self.client.get(format!("{}/_state", self.url)).send().unwrap().text().unwrap();
        serde_json::from_str(&text).unwrap()
    }

    fn issue(&self, number: usize) -> Value {
        self.state()["issues"][number - 1].clone()
    }

    /// Returns the texts of the comments on an issue.
    fn comments(&self, number: usize) -> Vec<String> {
        let state = self.state();
        let all = state["comments"].as_array().unwrap().iter();
        let of_issue = all.filter(|comment| comment["number"] == number);
        of_issue.map(|comment| comment["body"].as_str().unwrap().to_owned()).collect()
    }

    fn calls(&self) -> Vec<String> {
        let state = self.state();
        let calls = state["calls"].as_array().unwrap().iter();
        calls.map(|call| call.as_str().unwrap().to_owned()).collect()
    }

    /// Adds an issue that the sync of the tests brings in.
    fn file(&self, title: &str) {
        self.control(json!({"issue": {"title": title, "labels": ["agents"]}}));
    }

    /// Writes an `ait.toml` with the sync `company`.
    fn configure(&self, directory: &Path, more: &str) {
        let url = &self.url;
        let text = format!("[sync.company]\n{}url = \"{url}\"\n{more}", self.table);
        fs::write(directory.join("ait.toml"), text).unwrap();
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn github() -> Option<Fake> {
    let table = "kind = \"github\"\nproject = \"acme/shop\"\npull = \"label:agents\"\n";
    Fake::start("github.mjs", &[], table)
}

const PUSH_ALL: &str = "push = [\"status\", \"comments\", \"title\", \"description\", \"labels\", \"assignee\", \"new\"]\n";

fn command(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = ait(directory);
    command.arg("sync").args(arguments).env("GITHUB_TOKEN", TOKEN).env("NO_PROXY", "127.0.0.1");
    command.env("BACKLOG_API_KEY", KEY).env("AZURE_DEVOPS_TOKEN", KEY);
    command
}

fn sync(directory: &Path, arguments: &[&str]) -> Run {
    let output = command(directory, arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let run = Run {
        code: output.status.code().unwrap(),
        out: text(output.stdout),
        log: text(output.stderr),
    };
    assert!(!run.whole().contains(TOKEN) && !run.whole().contains(KEY), "{}", run.whole());
    run
}

/// Returns the only issue here with a title.
fn titled(directory: &Path, title: &str) -> Value {
    let mut found: Vec<Value> =
        stored_issues(directory).into_iter().filter(|issue| issue["title"] == title).collect();
    assert_eq!(found.len(), 1, "{title}");
    found.remove(0)
}

fn id(issue: &Value) -> String {
    issue["id"].as_str().unwrap().to_owned()
}

#[test]
fn the_clients_of_the_vendors_accept_the_remotes_of_these_tests() {
    for script in ["octokit.mjs", "backlog.mjs", "azure.mjs"] {
        scripts::run(scripts::node(), script, &[]);
    }
}

#[test]
fn issues_come_in_work_happens_here_and_goes_back() {
    let Some(github) = github() else { return };
    let directory = directory();
    let path = directory.path();
    github.configure(path, PUSH_ALL);
    github.control(json!({"clockMinutes": -10}));
    github.file("First");
    github
        .control(json!({"issue": {"title": "A pull request", "labels": ["agents"], "pull": true}}));
    github.control(json!({"issue": {"title": "Of people"}}));
    github.file("Second");
    github.control(json!({"comment": {"number": 1, "body": "Happens daily"}}));
    run(path, &["add", "Began here", "-d", "Text"]).ok();
    assert_eq!(sync(path, &[]).ok(), "company: 2 new here, 1 filed there, 1 comments received\n");
    assert_eq!(stored_issues(path).len(), 3);
    let first = titled(path, "First");
    assert_eq!(first["comments"][0]["text"], "Happens daily");
    assert_eq!(first["comments"][0]["agent"], "maria");
    let filed = github.issue(5);
    assert_eq!(
        (&filed["title"], &filed["user"]["login"]),
        (&json!("Began here"), &json!("ait-bot"))
    );
    assert!(filed["body"].as_str().unwrap().starts_with("Text\n\n<!-- ait:"), "{filed}");
    // The number of the issue there names it here, too.
    assert!(run(path, &["show", "#1"]).ok().contains("First"));
    assert!(run(path, &["show", "#5"]).ok().contains("Began here"));
    let calls = github.calls().len();
    assert_eq!(sync(path, &[]).ok(), "company: nothing new\n");
    assert_eq!(sync(path, &[]).ok(), "company: nothing new\n");
    assert!(
        github.calls()[calls..].iter().all(|call| call.starts_with("GET ")),
        "{:?}",
        github.calls()
    );

    run(path, &["claim", &id(&first), "-a", "dev-1"]).ok();
    assert_eq!(sync(path, &[]).ok(), "company: 1 changed there\n");
    assert_eq!(github.issue(1)["assignees"][0]["login"], "ait-bot");
    run(path, &["complete", &id(&first), "-a", "dev-1", "-m", "Fixed in a branch"]).ok();
    run(path, &["close", &id(&first), "-m", "Merged"]).ok();
    run(path, &["edit", &id(&first), "--add-label", "done"]).ok();
    github.control(json!({"edit": {"number": 4, "title": "Second, again", "state": "closed", "state_reason": "not_planned"}}));
    let report = sync(path, &[]).ok();
    assert_eq!(report, "company: 1 changed here, 1 changed there, 2 comments sent\n");
    let there = github.issue(1);
    assert_eq!((&there["state"], &there["state_reason"]), (&json!("closed"), &json!("completed")));
    assert!(there["labels"].as_array().unwrap().iter().any(|label| label["name"] == "done"));
    let said = github.comments(1);
    assert!(said[1].starts_with("**dev-1**: Fixed in a branch\n\n<!-- ait:"), "{said:?}");
    assert_eq!(said.len(), 3);
    assert_eq!(titled(path, "Second, again")["status"], "rejected");
    assert_eq!(sync(path, &[]).ok(), "company: nothing new\n");
    // A person opens it again there.
    github.control(json!({"edit": {"number": 1, "state": "open", "state_reason": "reopened"}}));
    // It waits again, so the account is named no more.
    assert_eq!(sync(path, &[]).ok(), "company: 1 changed here, 1 changed there\n");
    assert_eq!(github.issue(1)["assignees"], json!([]));
    assert_eq!(titled(path, "First")["status"], "created");
    assert_eq!(titled(path, "First")["comments"].as_array().unwrap().len(), 3);
}

#[test]
fn a_dry_run_only_reads() {
    let Some(github) = github() else { return };
    let directory = directory();
    let path = directory.path();
    github.configure(path, PUSH_ALL);
    github.file("First");
    run(path, &["add", "Began here"]).ok();
    let report = sync(path, &["--dry-run"]).ok();
    assert_eq!(report, "company: 1 new here, 1 filed there (would be done)\n");
    assert_eq!(stored_issues(path).len(), 1);
    sync(path, &[]).ok();
    run(path, &["comment", &id(&titled(path, "First")), "Looked at it"]).ok();
    run(path, &["edit", &id(&titled(path, "First")), "--title", "Other"]).ok();
    let before = (stored_issues(path), github.calls().len());
    let server = Server::start(path);
    let page = get(server.port, "/sync").body;
    drop(server);
    assert_eq!(github.calls().len(), before.1);
    assert!(page.contains("Sent by the next run: 1<"), "{page}");
    assert!(
        page.contains("Other</a> <span class=\"quiet\"><bdi>1</bdi></span>: title, comments<"),
        "{page}"
    );
    let report: Value = serde_json::from_str(&sync(path, &["--dry-run", "--json"]).ok()).unwrap();
    assert_eq!((&report[0]["changedThere"], &report[0]["commentsThere"]), (&json!(1), &json!(1)));
    assert_eq!(before.0, stored_issues(path));
    let calls = github.calls();
    assert!(calls[before.1..].iter().all(|call| call.starts_with("GET ")), "{calls:?}");
    // Each direction alone.
    assert_eq!(sync(path, &["--pull"]).ok(), "company: nothing new\n");
    assert_eq!(sync(path, &["--push"]).ok(), "company: 1 changed there, 1 comments sent\n");
}

#[test]
fn what_both_sides_changed_stays_until_somebody_chooses() {
    let Some(github) = github() else { return };
    let directory = directory();
    let path = directory.path();
    github.configure(path, PUSH_ALL);
    github.file("First");
    github.file("Second");
    sync(path, &[]).ok();
    let [first, second] = ["First", "Second"].map(|title| id(&titled(path, title)));
    for (issue, number) in [(&first, 1), (&second, 2)] {
        run(path, &["edit", issue, "--title", "Here"]).ok();
        run(path, &["edit", issue, "--description", "Only here"]).ok();
        github.control(json!({"edit": {"number": number, "title": "There"}}));
    }
    let found = sync(path, &[]);
    assert_eq!(found.code, 1);
    assert!(found.out.contains("title is \"Here\" here and \"There\" there"), "{}", found.out);
    assert!(found.out.contains(&format!("`ait sync --take {}`", &first[..8])), "{}", found.out);
    for of_person in
        [run(path, &["triage"]).ok(), run(path, &["triage", "--kind", "sync_conflict"]).ok()]
    {
        assert!(of_person.contains("changed here and at its remote: title"), "{of_person}");
        assert!(of_person.contains(&format!("`ait sync --keep {}`", &first[..8])), "{of_person}");
    }
    let server = Server::start(path);
    let page = get(server.port, "/sync").body;
    assert!(page.contains("Last run ") && page.contains("2 with conflicts"), "{page}");
    assert!(page.contains("Here</pre>") && page.contains("There</pre>"), "{page}");
    let page = get(server.port, "/").body;
    assert!(
        page.contains("Changed here and at the remote 2<")
            && page.contains(&format!("ait sync --keep {}", &first[..8])),
        "{page}"
    );
    let page = get(server.port, &format!("/issues/{first}")).body;
    let link = "href=\"https://github.com/acme/shop/issues/1\" rel=\"noopener noreferrer\"";
    assert!(page.contains(link), "{page}");
    drop(server);
    for number in [1, 2] {
        let there = github.issue(number);
        assert_eq!((&there["title"], &there["body"]), (&json!("There"), &json!("Only here")));
    }
    let again = sync(path, &[]);
    assert_eq!((again.code, again.out), (1, found.out.replace("2 changed there, ", "")));
    assert_eq!(sync(path, &["--keep", &first]).ok(), "title: kept; the next sync sends it\n");
    assert_eq!(sync(path, &["--take", &second]).ok(), "title: taken from there\n");
    assert_eq!(sync(path, &["--take", &second]).code, 1);
    assert_eq!(sync(path, &[]).ok(), "company: 1 changed there\n");
    assert_eq!(github.issue(1)["title"], "Here");
    assert_eq!(github.issue(2)["title"], "There");
    titled(path, "There");
}

#[test]
fn agents_read_what_an_issue_is_there_now() {
    let Some(github) = github() else { return };
    let directory = directory();
    let path = directory.path();
    github.configure(path, "");
    github.file("First");
    github.control(json!({"comment": {"number": 1, "body": "Known"}}));
    sync(path, &[]).ok();
    run(path, &["add", "Began here"]).ok();
    github
        .control(json!({"edit": {"number": 1, "title": "Other", "body": "line\n".repeat(9_000)}}));
    github.control(json!({"comment": {"number": 1, "body": "New"}}));
    let before = (stored_issues(path), github.calls().len());
    let mut agent = ait(path);
    agent.env("GITHUB_TOKEN", TOKEN).env("NO_PROXY", "127.0.0.1");
    let mut agent = Client::begin(agent.args(["--toolsets", "all"]));
    let answer = agent.call("get_remote", json!({ "issue_id": "#1" })).ok();
    let there: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(
        (&there["title"], &there["state"], &there["sync"]),
        (&json!("Other"), &json!("open"), &json!("company"))
    );
    assert_eq!(there["newComments"].as_array().unwrap().len(), 1);
    assert_eq!(there["newComments"][0]["text"], "New");
    // Within the budget.
    assert!(there["left_out"].is_string() && answer.len() < 45_000, "{}", answer.len());
    let own = id(&titled(path, "Began here"));
    let refusal = agent.call("get_remote", json!({ "issue_id": own })).refusal();
    assert!(refusal.contains("is tied to no issue of a remote tracker"), "{refusal}");
    github.control(json!({"fault": "500", "method": "GET", "times": 9}));
    let failure = agent.call("get_remote", json!({ "issue_id": "#1" })).refusal();
    assert!(failure.contains("company: ") && !failure.contains(TOKEN), "{failure}");
    assert_eq!(stored_issues(path), before.0);
    assert!(github.calls()[before.1..].iter().all(|call| call.starts_with("GET ")));
    fs::remove_file(path.join("ait.toml")).unwrap();
    let mut without = Client::begin(ait(path).args(["--toolsets", "all"]));
    let tools = without.request("tools/list", json!({})).to_string();
    assert!(tools.contains("recall") && !tools.contains("get_remote"), "{tools}");
}

/// After each fault, runs until all is done create nothing twice.
#[test]
fn faults_and_kills_lose_nothing_and_make_nothing_twice() {
    let Some(github) = github() else { return };
    let directory = directory();
    let path = directory.path();
    github.configure(path, PUSH_ALL);
    github.file("First");
    sync(path, &[]).ok();
    let first = id(&titled(path, "First"));
    let mut step = 0;
    for fault in ["429", "500", "cut"] {
        for method in ["GET", "POST", "PATCH"] {
            step += 1;
            run(path, &["add", &format!("New {step}")]).ok();
            run(path, &["comment", &first, &format!("Comment {step}.")]).ok();
            run(path, &["edit", &first, "--title", &format!("Title {step}")]).ok();
            github.control(json!({"comment": {"number": 1, "body": format!("Answer {step}.")}}));
            github.control(json!({"fault": fault, "method": method, "times": 1}));
            let run = sync(path, &[]);
            // What was not done for sure is looked for by the next run, but for what is harmless twice.
            assert_eq!(
                run.code,
                i32::from(fault != "429" && method == "POST"),
                "{fault} {method}: {}",
                run.whole()
            );
        }
    }
    // Kills at any time.
    for delay in 0..12 {
        step += 1;
        run(path, &["add", &format!("New {step}")]).ok();
        run(path, &["comment", &first, &format!("Comment {step}.")]).ok();
        github.control(json!({"comment": {"number": 1, "body": format!("Answer {step}.")}}));
        let mut child = command(path, &[]).spawn().unwrap();
        thread::sleep(Duration::from_millis(5 + 7 * delay));
        let _ = child.kill();
        child.wait().unwrap();
    }
    sync(path, &[]).ok();
    assert_eq!(sync(path, &[]).ok(), "company: nothing new\n");
    let issues = stored_issues(path);
    let there = github.state()["issues"].as_array().unwrap().clone();
    assert_eq!((issues.len(), there.len()), (step + 1, step + 1));
    let said = github.comments(1);
    let here = titled(path, there[0]["title"].as_str().unwrap());
    let here = here["comments"].as_array().unwrap();
    assert_eq!((said.len(), here.len()), (2 * step, 2 * step));
    for step in 1..=step {
        for text in [format!("Comment {step}."), format!("Answer {step}.")] {
            assert_eq!(said.iter().filter(|said| said.contains(&text)).count(), 1, "{text}");
            assert_eq!(here.iter().filter(|said| said["text"] == text).count(), 1, "{text}");
        }
        titled(path, &format!("New {step}"));
    }
}

#[test]
fn errors_are_in_the_words_of_the_remote_and_name_the_way_out() {
    let Some(github) = github() else { return };
    let directory = directory();
    let path = directory.path();
    assert!(sync(path, &[]).refusal().contains("ait.toml has no sync"));
    github.configure(path, PUSH_ALL);
    github.file("First");
    let mut wrong = command(path, &[]);
    let wrong = wrong.env("GITHUB_TOKEN", "WRONG-SECRET").output().unwrap();
    let wrong = String::from_utf8(wrong.stderr).unwrap();
    assert!(wrong.contains("Authentication failed (HTTP 401): check GITHUB_TOKEN"), "{wrong}");
    assert!(!wrong.contains("WRONG-SECRET"), "{wrong}");
    let missing = command(path, &[]).env_remove("GITHUB_TOKEN").output().unwrap();
    assert!(String::from_utf8(missing.stderr).unwrap().contains("GITHUB_TOKEN is not set"));
    let examined = ait(path).arg("doctor").env_remove("GITHUB_TOKEN").output().unwrap();
    let examined = String::from_utf8(examined.stdout).unwrap();
    assert!(
        examined.contains("the sync company cannot run: GITHUB_TOKEN is not set"),
        "{examined}"
    );
    github.control(json!({"fault": "limit", "times": 1, "clockMinutes": 10}));
    let limited = sync(path, &[]).refusal();
    assert!(limited.contains("allows no more calls for 3"), "{limited}");
    assert!(sync(path, &["other"]).refusal().contains("no [sync.other]; it has company"));
    sync(path, &[]).ok();
    run(path, &["edit", &id(&titled(path, "First")), "-d", &"x".repeat(70_000)]).ok();
    run(path, &["add", "Second"]).ok();
    // One issue that the remote refuses keeps the others from nothing.
    let refused = sync(path, &[]);
    assert_eq!(refused.code, 1);
    assert!(refused.out.contains("GitHub: Validation Failed: body is too long"), "{}", refused.out);
    assert_eq!(github.issue(2)["title"], "Second");
    for (line, expected) in [
        ("kind = \"jira\"", "no kind of a remote: give azure, backlog, github"),
        ("kind = \"github\"", "project is missing"),
        (
            "kind = \"github\"\nproject = \"a/b\"\nurl = \"http://example.com\"",
            "begins with https://",
        ),
        ("kind = \"github\"\nproject = \"a/b\"\nevery = \"1s\"", "give a time from 10s on"),
    ] {
        fs::write(path.join("ait.toml"), format!("[sync.company]\n{line}\n")).unwrap();
        let refused = sync(path, &[]);
        assert_eq!(refused.code, 2);
        let expected_place = "ait.toml, line 1: [sync.company]: ";
        assert!(
            refused.log.contains(expected_place) && refused.log.contains(expected),
            "{}",
            refused.log
        );
    }
    fs::write(path.join("ait.toml"), "[sync.company]\nkind = \"github\"\nproject = \"../x\"\n")
        .unwrap();
    assert!(sync(path, &[]).refusal().contains("give OWNER/NAME"));
}

/// Connections go through a proxy that counts them. A sync is the control.
#[test]
fn without_a_sync_nothing_is_connected_to() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = format!("http://{}", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    thread::spawn(move || {
        for _ in listener.incoming() {
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });
    let directory = directory();
    let path = directory.path();
    let through = |arguments: &[&str]| {
        let mut command = ait(path);
        for variable in ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"] {
            command.env(variable, &proxy);
        }
        command.args(arguments).env("GITHUB_TOKEN", TOKEN).output().unwrap()
    };
    for arguments in
        [&["add", "T"][..], &["list"], &["sync"], &["status"], &["doctor"], &["triage"]]
    {
        through(arguments);
    }
    assert_eq!(count.load(Ordering::SeqCst), 0);
    let table = "[sync.company]\nkind = \"github\"\nproject = \"acme/shop\"\n";
    fs::write(path.join("ait.toml"), table).unwrap();
    through(&["list"]);
    assert_eq!(count.load(Ordering::SeqCst), 0);
    through(&["sync"]);
    assert_ne!(count.load(Ordering::SeqCst), 0);
}

#[test]
fn one_process_at_a_time_runs_a_sync_again_and_again() {
    let Some(github) = github() else { return };
    let directory = directory();
    let path = directory.path();
    github.configure(path, "");
    github.file("First");
    let mut child = command(path, &["--every", "1s"]).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "company: 1 new here");
    assert_eq!(lines.next().unwrap().unwrap(), "company: nothing new");
    child.kill().unwrap();
    child.wait().unwrap();
    // What a killed process leaves keeps no other one out.
    sync(path, &[]).ok();
    let files = names(&path.join(".ait/issues.json/sync"));
    assert_eq!(files, [".gitignore", "company.json", "company.last", "company.lock"]);
}

#[test]
fn a_server_runs_the_syncs_that_have_a_time() {
    let Some(github) = github() else { return };
    let directory = directory();
    let path = directory.path();
    github.configure(path, "every = \"10s\"\n");
    github.file("First");
    let mut command = ait(path);
    command.arg("serve").env("GITHUB_TOKEN", TOKEN).env("NO_PROXY", "127.0.0.1");
    let server = Server::spawn(command, path);
    let log = server.log().wait_for("sync company: 1 new here");
    assert!(!log.contains(TOKEN), "{log}");
    titled(path, "First");
}

#[test]
fn a_queue_in_postgres_syncs_also_without_the_note_of_another_machine() {
    let (Some(url), Some(github)) = (postgres::project(), github()) else { return };
    let [one, other] = [directory(), directory()];
    for (directory, number) in [(&one, 1), (&other, 2)] {
        github.configure(directory.path(), PUSH_ALL);
        let path = directory.path();
        let text = fs::read_to_string(path.join("ait.toml")).unwrap();
        fs::write(path.join("ait.toml"), format!("store = \"{url}\"\n{text}")).unwrap();
        github.file(&format!("Of {number}"));
        assert_eq!(sync(path, &[]).ok(), "company: 1 new here\n");
        run(path, &["comment", &format!("#{number}"), &format!("Seen by {number}")]).ok();
        assert_eq!(sync(path, &[]).ok(), "company: 1 comments sent\n");
        assert_eq!(sync(path, &[]).ok(), "company: nothing new\n");
    }
    assert_eq!(github.comments(1).len(), 1);
}

#[test]
fn agents_get_issues_without_their_ties() {
    let directory = directory();
    let path = directory.path();
    let mut client = Client::start(path);
    let id = client.add("Login fails", "bug");
    wait_for_file(path, |issues| issues.len() == 1);
    let file = path.join("issues.json");
    let text = fs::read_to_string(&file).unwrap();
    let tie = r#""comments": [], "sync": { "company": { "key": "12" } }, "other": 1"#;
    fs::write(&file, text.replace(r#""comments": []"#, tie)).unwrap();
    let issue = client.call("list_issues", json!({ "issue_id": id })).issue();
    assert_eq!((&issue["other"], issue.get("sync")), (&json!(1), None));
    let claimed = client.call("get_next_issue", json!({ "agent": "dev" })).issue();
    assert_eq!(claimed.get("sync"), None);
    assert!(client.close().success());
    assert!(run(path, &["show", &id]).ok().contains("  sync company: 12\n"));
    assert_eq!(stored_issues(path)[0]["sync"]["company"]["key"], "12");
}
