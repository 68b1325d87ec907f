//! One server by URL with many agents, and processes beside it, all on one store; either is killed and
//! started again while they work.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::files::stored_issues;
use crate::support::http::{Agent, Server};
use crate::support::{Answer, Client, PATIENCE, directory, factor, id_in};

const AGENTS: usize = 32;
const PROCESSES: usize = 8;
const ROUNDS: usize = 12;
/// How often the server is killed while its agents work.
const RESTARTS: usize = 6;

/// What one of them was answered.
#[derive(Default)]
struct Answered {
    filed: Vec<String>,
    claimed: Vec<String>,
    completed: Vec<String>,
}

/// A way to call a tool. Without an answer, nobody knows whether the call was made.
trait Caller {
    fn try_call(&mut self, tool: &str, arguments: Value) -> Option<Answer>;
}

/// An agent by URL, who finds the server gone now and then and asks again in the same session.
impl Caller for Agent {
    fn try_call(&mut self, tool: &str, arguments: Value) -> Option<Answer> {
        let params = json!({ "name": tool, "arguments": arguments });
        let reply = self.try_request("tools/call", params);
        // Gone; the next one starts in a moment.
        let reply = reply.inspect_err(|_| thread::sleep(Duration::from_millis(2))).ok()?;
        Some(reply.answer())
    }
}

/// An agent that starts a process of its own, and another when that one is gone.
struct Owner<'a> {
    directory: &'a Path,
    process: Client,
}

impl Caller for Owner<'_> {
    fn try_call(&mut self, tool: &str, arguments: Value) -> Option<Answer> {
        let asked = std::panic::AssertUnwindSafe(|| self.process.ask_tool(tool, arguments));
        let answer = std::panic::catch_unwind(asked).ok().and_then(|id| self.process.answer(id));
        if answer.is_none() {
            self.process = Client::start(self.directory);
        }
        answer
    }
}

/// Files, claims and completes, round after round; what has no answer is not asked again.
fn work(caller: &mut dyn Caller, name: &str, done: &AtomicUsize) -> Answered {
    let mut answered = Answered::default();
    let mut rounds = 0;
    let start = Instant::now();
    while rounds < ROUNDS {
        assert!(start.elapsed() < PATIENCE * 3, "{name} was left behind in round {rounds}");
        let filing =
            json!({ "title": name, "description": "", "classification": "bug", "agent": name });
        let Some(filed) = caller.try_call("add_issue", filing) else { continue };
        answered.filed.push(id_in(&filed.ok()));
        let Some(claim) = caller.try_call("get_next_issue", json!({ "agent": name })) else {
            continue;
        };
        let Ok(issue) = serde_json::from_str::<Value>(&claim.ok()) else { continue };
        let id = issue["id"].as_str().unwrap().to_owned();
        answered.claimed.push(id.clone());
        let end = json!({ "issue_id": id, "comment": name, "agent": name });
        if caller.try_call("complete_issue", end).map(Answer::ok).is_some() {
            answered.completed.push(id);
        }
        rounds += 1;
        done.fetch_add(1, Ordering::Relaxed);
    }
    answered
}

/// Kills the server again and again, spread over the work, until enough is done.
fn restart(server: &mut Server, done: &AtomicUsize, ended: &AtomicBool) -> usize {
    let mut restarts = 0;
    let step = AGENTS * ROUNDS / (RESTARTS + 1);
    while restarts < RESTARTS && !ended.load(Ordering::Relaxed) {
        if done.load(Ordering::Relaxed) < step * (restarts + 1) {
            thread::sleep(Duration::from_millis(1));
            continue;
        }
        server.kill_and_start_again();
        restarts += 1;
    }
    restarts
}

#[test]
fn agents_by_url_and_processes_lose_nothing_while_either_is_killed_and_started_again() {
    for _ in 0..factor() {
        let directory = directory();
        let path = directory.path();
        let mut server = Server::start(path);
        let (port, done, ended) = (server.port, AtomicUsize::new(0), AtomicBool::new(false));
        let (all, restarts) = thread::scope(|scope| {
            let (done, ended) = (&done, &ended);
            let mut workers = Vec::new();
            for number in 0..AGENTS {
                // The session is begun once; nothing but a kill may cost it an answer.
                let mut agent = Agent::connect(port);
                workers.push(scope.spawn(move || work(&mut agent, &format!("url-{number}"), done)));
            }
            for number in 0..PROCESSES {
                let mut owner = Owner { directory: path, process: Client::start(path) };
                workers.push(scope.spawn(move || {
                    let name = format!("process-{number}");
                    let mut answered = work(&mut owner, &name, done);
                    owner.process.signal("KILL");
                    let more = work(&mut owner, &name, done);
                    answered.filed.extend(more.filed);
                    answered.claimed.extend(more.claimed);
                    answered.completed.extend(more.completed);
                    answered
                }));
            }
            let restarter = scope.spawn(|| restart(&mut server, done, ended));
            let all: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
            ended.store(true, Ordering::Relaxed);
            (all, restarter.join().unwrap())
        });
        let all: Vec<Answered> = all.into_iter().map(|answered| answered.unwrap()).collect();
        assert_eq!(restarts, RESTARTS);
        assert_kept(path, &all);
    }
}

/// What was answered is stored, and nobody was given what another had.
fn assert_kept(directory: &Path, all: &[Answered]) {
    let issues = stored_issues(directory);
    let issues: HashMap<_, _> =
        issues.iter().map(|issue| (issue["id"].as_str().unwrap(), issue)).collect();
    for id in all.iter().flat_map(|answered| &answered.filed) {
        assert!(issues.contains_key(id.as_str()), "{id} is lost");
    }
    let mut claimed = HashSet::new();
    for id in all.iter().flat_map(|answered| &answered.claimed) {
        assert!(claimed.insert(id), "{id} was claimed twice");
        assert_ne!(issues[id.as_str()]["status"], "created", "the claim of {id} is lost");
    }
    for id in all.iter().flat_map(|answered| &answered.completed) {
        assert_eq!(issues[id.as_str()]["status"], "completed", "{id}");
    }
    for (id, issue) in &issues {
        let history = issue["history"].as_array().unwrap();
        let claims = history.iter().filter(|it| it["action"] == "Issue claimed for work").count();
        assert!(claims <= 1, "{id} was claimed {claims} times: {history:?}");
    }
}
