//! One HTTP server with many agents and several stdio processes on one store, with kills and restarts during their
//! work.

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
/// How often each process is killed during a call, and the most calls between two kills.
const KILLS: usize = 3;
const CALLS_BETWEEN_KILLS: usize = ROUNDS;
/// The longest time in µs between the start of a call and the kill.
const LAST_MOMENT_US: u64 = 2_000;

/// The acknowledged changes of an agent.
#[derive(Default)]
struct Answered {
    filed: Vec<String>,
    claimed: Vec<String>,
    completed: Vec<String>,
}

/// Counts stops and starts of the server: odd while no server runs.
#[derive(Default)]
struct Epoch(AtomicUsize);

impl Epoch {
    fn now(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    fn change(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A way to call a tool. Without an answer, the outcome of the call is unknown.
trait Caller {
    fn try_call(&mut self, tool: &str, arguments: Value) -> Option<Answer>;
}

/// An HTTP agent that reconnects with the same session after a restart of the server.
struct HttpAgent<'a> {
    agent: Agent,
    epoch: &'a Epoch,
    /// The epoch in which its connections were opened.
    connected_in: usize,
    lost: &'a AtomicUsize,
}

impl Caller for HttpAgent<'_> {
    /// A call may lose its answer only if the server is killed.
    fn try_call(&mut self, tool: &str, arguments: Value) -> Option<Answer> {
        let begun_in = self.epoch.now();
        if begun_in != self.connected_in {
            // Connections from an earlier epoch are dead, which shows only on use.
            self.agent.reconnect();
            self.connected_in = begun_in;
        }
        let params = json!({ "name": tool, "arguments": arguments });
        match self.agent.try_request("tools/call", params) {
            Ok(reply) => Some(reply.answer()),
            Err(error) => {
                let was_up = begun_in.is_multiple_of(2) && self.epoch.now() == begun_in;
                assert!(!was_up, "the server was running but did not answer {tool}: {error:?}");
                self.lost.fetch_add(1, Ordering::Relaxed);
                // The next server starts in a moment.
                thread::sleep(Duration::from_millis(2));
                None
            }
        }
    }
}

/// A stdio agent that kills its own process now and then, and starts another.
struct StdioAgent<'a> {
    directory: &'a Path,
    process: Client,
    kills: usize,
    calls_until_kill: usize,
}

impl<'a> StdioAgent<'a> {
    fn start(directory: &'a Path) -> Self {
        let calls_until_kill = fastrand::usize(0..CALLS_BETWEEN_KILLS);
        Self { directory, process: Client::start(directory), kills: 0, calls_until_kill }
    }
}

impl Caller for StdioAgent<'_> {
    /// A call may lose its answer only if the process is killed.
    fn try_call(&mut self, tool: &str, arguments: Value) -> Option<Answer> {
        let id = self.process.ask_tool(tool, arguments);
        if self.kills == KILLS || self.calls_until_kill > 0 {
            self.calls_until_kill = self.calls_until_kill.saturating_sub(1);
            let answer = self.process.answer(id);
            let log = self.process.log();
            assert!(answer.is_some(), "the process ended without a kill: {}", log.whole());
            return answer;
        }
        thread::sleep(Duration::from_micros(fastrand::u64(..LAST_MOMENT_US)));
        self.process.signal("KILL");
        let answer = self.process.answer(id);
        let kills = self.kills + 1;
        *self = Self { kills, ..Self::start(self.directory) };
        answer
    }
}

/// Files, claims and completes issues in rounds, and does not repeat calls without an answer.
fn work(caller: &mut dyn Caller, name: &str, done: &AtomicUsize) -> Answered {
    let mut answered = Answered::default();
    let mut rounds = 0;
    let start = Instant::now();
    while rounds < ROUNDS {
        assert!(start.elapsed() < PATIENCE * 3, "{name} is stuck in round {rounds}");
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

/// Kills and restarts the server at even steps of the work.
fn restart(server: &mut Server, epoch: &Epoch, done: &AtomicUsize, ended: &AtomicBool) -> usize {
    let mut restarts = 0;
    let step = AGENTS * ROUNDS / (RESTARTS + 1);
    while restarts < RESTARTS && !ended.load(Ordering::Relaxed) {
        if done.load(Ordering::Relaxed) < step * (restarts + 1) {
            thread::sleep(Duration::from_millis(1));
            continue;
        }
        epoch.change();
        server.kill_and_start_again();
        epoch.change();
        restarts += 1;
    }
    restarts
}

#[test]
fn http_and_stdio_agents_lose_nothing_across_kills_and_restarts() {
    for _ in 0..factor() {
        let directory = directory();
        let path = directory.path();
        let mut server = Server::start(path);
        let (port, done, ended) = (server.port, AtomicUsize::new(0), AtomicBool::new(false));
        let (epoch, lost) = (Epoch::default(), AtomicUsize::new(0));
        let (all, restarts) = thread::scope(|scope| {
            let (done, ended, epoch, lost) = (&done, &ended, &epoch, &lost);
            let mut workers = Vec::new();
            for number in 0..AGENTS {
                // Each session is created once; only a kill may cost it an answer.
                let agent = Agent::connect(port);
                let mut http_agent = HttpAgent { agent, epoch, connected_in: 0, lost };
                workers.push(
                    scope.spawn(move || work(&mut http_agent, &format!("url-{number}"), done)),
                );
            }
            for number in 0..PROCESSES {
                let mut stdio_agent = StdioAgent::start(path);
                workers.push(scope.spawn(move || {
                    let answered = work(&mut stdio_agent, &format!("process-{number}"), done);
                    assert_eq!(stdio_agent.kills, KILLS, "process-{number}");
                    answered
                }));
            }
            let restarter = scope.spawn(|| restart(&mut server, epoch, done, ended));
            let all: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
            ended.store(true, Ordering::Relaxed);
            (all, restarter.join().unwrap())
        });
        let all: Vec<Answered> = all.into_iter().map(|answered| answered.unwrap()).collect();
        assert_eq!(restarts, RESTARTS);
        assert!(lost.into_inner() > 0, "no kill interrupted a request");
        assert_kept(path, &all);
    }
}

/// Checks that every acknowledged change is stored and no issue was claimed twice.
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
        let claims =
            history.iter().filter(|entry| entry["action"] == "Issue claimed for work").count();
        assert!(claims <= 1, "{id} was claimed {claims} times: {history:?}");
    }
}
