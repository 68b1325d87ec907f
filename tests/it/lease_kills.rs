//! Many agents over stdio and HTTP on one store, while processes, sessions and servers end at random, often with a
//! claim. The histories of the issues must show that claims ended with their clients, and only with them.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::support::files::{id, issue_json, stored_issues, write_issues};
use crate::support::http::{Agent, Server};
use crate::support::{Answer, Client, PATIENCE, directory, factor};

/// How much time an agent has to come back after its client is gone, in milliseconds.
const GRACE_MS: i64 = 2_000;
/// How long a session may be silent.
const TTL: Duration = Duration::from_secs(5);
/// How long after the grace period a claim may lapse: two checks on a busy machine.
const LATE_MS: i64 = 5_000;

/// The numbers of clients and issues, and the speed of the work.
#[derive(Clone, Copy, Default)]
struct Workload {
    servers: usize,
    sessions_per_server: usize,
    /// Clients over stdio, each with a process of its own.
    processes: usize,
    /// The number of issues, for each `AIT_TEST_FACTOR`.
    issues: usize,
    /// How long agents work, for each `AIT_TEST_FACTOR`.
    seconds: u64,
    /// How long an agent holds an issue at most, in milliseconds.
    think_ms: u64,
    /// How long a server runs at most before it is killed, in milliseconds.
    serve_ms: u64,
}

/// A period in which an agent had no client, in milliseconds. `to` is `None` if the agent did not come back.
#[derive(Clone, Copy, Debug)]
struct Gone {
    /// The earliest and the latest time at which its client ended.
    from: [i64; 2],
    to: Option<i64>,
}

/// Counters of what all agents did.
#[derive(Default)]
struct Tally {
    /// The time of the slowest answer to a claim.
    slowest: Duration,
    gone: HashMap<String, Vec<Gone>>,
    claims: usize,
    kills: usize,
    ended_sessions: usize,
    server_kills: usize,
    returns: usize,
    late_accepted: usize,
    late_refused: usize,
}

#[derive(Default)]
struct Run {
    workload: Workload,
    tally: Mutex<Tally>,
    is_over: AtomicBool,
    servers_are_over: AtomicBool,
}

fn now() -> i64 {
    DateTime::<Utc>::from(SystemTime::now()).timestamp_millis()
}

impl Run {
    fn note(&self, change: impl FnOnce(&mut Tally)) {
        change(&mut self.tally.lock().unwrap());
    }

    fn note_gone(&self, agent: &str, from: [i64; 2]) {
        let gone = Gone { from, to: None };
        self.note(|tally| tally.gone.entry(agent.to_owned()).or_default().push(gone));
    }

    /// Notes that a session was silent since a call that began then, if that was too long: it counted as gone.
    fn note_silence(&self, agent: &str, begun: i64) {
        let from = begun + i64::try_from(TTL.as_millis()).unwrap();
        if agent.starts_with("session-") && from < now() {
            let gone = Gone { from: [from; 2], to: Some(now()) };
            self.note(|tally| tally.gone.entry(agent.to_owned()).or_default().push(gone));
        }
    }

    fn note_back(&self, agent: &str, to: i64) {
        self.note(|tally| {
            if let Some(gone) = tally.gone.get_mut(agent).and_then(|all| all.last_mut()) {
                gone.to.get_or_insert(to);
            }
        });
    }
}

/// A claim that an agent received.
#[derive(Clone)]
struct Claim {
    agent: String,
    issue: String,
    number: u64,
}

impl Claim {
    fn of(agent: &str, answer: &Answer) -> Option<Self> {
        let issue: Value = serde_json::from_str(&answer.text).ok()?;
        let number = issue["claim"]["number"].as_u64()?;
        Some(Self { agent: agent.to_owned(), issue: issue["id"].as_str()?.to_owned(), number })
    }

    /// Returns arguments that end this claim. Their comment names the claim, so that `check` can compare the numbers.
    fn end(&self) -> Value {
        let comment = format!("claim {}", self.number);
        json!({ "issue_id": self.issue, "comment": comment, "agent": self.agent, "claim": self.number })
    }
}

/// A client that works for one agent after another.
trait Worker {
    /// Starts the next client.
    fn start(&mut self);
    fn call(&mut self, tool: &str, arguments: Value) -> Option<Answer>;
    /// Ends the client, during a call if possible. Returns the earliest and the latest time of its end.
    fn kill(&mut self, run: &Run, during: Option<(&str, Value)>) -> [i64; 2];
}

struct Process<'a> {
    directory: &'a Path,
    client: Client,
}

impl Worker for Process<'_> {
    fn start(&mut self) {
        self.client = Client::start(self.directory);
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Option<Answer> {
        Some(self.client.call(tool, arguments))
    }

    fn kill(&mut self, run: &Run, during: Option<(&str, Value)>) -> [i64; 2] {
        if let Some((tool, arguments)) = during {
            self.client.ask_tool(tool, arguments);
            thread::sleep(Duration::from_micros(fastrand::u64(..3_000)));
        }
        let from = now();
        self.client.signal("KILL");
        self.client.wait();
        run.note(|tally| tally.kills += 1);
        [from, now()]
    }
}

struct Session {
    agent: Agent,
}

impl Worker for Session {
    fn start(&mut self) {
        self.agent = Agent::new(self.agent.port);
        retry(|| self.agent.try_begin().is_ok());
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Option<Answer> {
        let params = json!({ "name": tool, "arguments": arguments });
        let reply = self.agent.try_request("tools/call", params);
        let reply = reply.ok().filter(|reply| reply.status == 200);
        if reply.is_none() {
            self.agent.reconnect();
        }
        Some(reply?.answer())
    }

    fn kill(&mut self, run: &Run, _: Option<(&str, Value)>) -> [i64; 2] {
        let mut times = [now(); 2];
        retry(|| {
            let deleted = self.agent.try_delete();
            self.agent.reconnect();
            times[1] = now();
            // The first attempt may have ended the session without an answer.
            deleted.is_ok_and(|reply| matches!(reply.status, 204 | 404))
        });
        run.note(|tally| tally.ended_sessions += 1);
        times
    }
}

/// Retries while the server is down.
fn retry(mut is_done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_done() {
        assert!(begun.elapsed() < PATIENCE, "the server does not come back");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Claims with one client after another, and ends the claims or the clients.
fn work(worker: &mut dyn Worker, name: &str, run: &Run) {
    let mut stale: Vec<Claim> = Vec::new();
    for turn in 0.. {
        if run.is_over.load(Ordering::Relaxed) {
            break;
        }
        let agent = format!("{name}-{turn}");
        worker.start();
        let Some(claim) = hold(worker, &agent, run) else { continue };
        match fastrand::u8(..4) {
            0 => {
                let answer = worker.call("return_issue", claim.end());
                run.note(|tally| tally.returns += usize::from(answer.is_some()));
                run.note_gone(&agent, worker.kill(run, None));
            }
            1 => come_back(worker, &claim, run),
            _ => {
                let times = worker.kill(run, Some(("complete_issue", claim.end())));
                run.note_gone(&agent, times);
                stale.push(claim);
            }
        }
        if stale.len() > 3 {
            complete_late(worker, stale.remove(0), run);
        }
    }
}

/// Claims and completes issues, and returns a claim that it did not complete. Returns `None` if it ended the client.
fn hold(worker: &mut dyn Worker, agent: &str, run: &Run) -> Option<Claim> {
    let mut begun_at = now();
    for _ in 0..fastrand::usize(1..4) {
        let begun = Instant::now();
        begun_at = now();
        let claimed = worker.call("get_next_issue", json!({ "agent": agent }));
        run.note(|tally| tally.slowest = tally.slowest.max(begun.elapsed()));
        let Some(claim) = claimed.and_then(|answer| Claim::of(agent, &answer)) else { break };
        run.note(|tally| tally.claims += 1);
        thread::sleep(Duration::from_millis(fastrand::u64(..run.workload.think_ms)));
        run.note_silence(agent, begun_at);
        if fastrand::bool() {
            return Some(claim);
        }
        for _ in 0..fastrand::usize(1..3) {
            // Repeating the call changes nothing.
            let answer = worker.call("complete_issue", claim.end());
            // Only a client that was silent for too long may have lost its claim.
            let is_lost = answer.is_some_and(|answer| answer.is_error);
            assert!(!is_lost || begun.elapsed() > TTL, "{agent} lost claim {}", claim.number);
        }
    }
    // The server may have been killed during the call.
    run.note_silence(agent, begun_at);
    // A claim whose answer is lost must lapse.
    let times = worker.kill(run, Some(("get_next_issue", json!({ "agent": agent }))));
    run.note_gone(agent, times);
    None
}

/// Ends the client of an agent that comes back with another one. Within the grace period it must keep its claim.
fn come_back(worker: &mut dyn Worker, claim: &Claim, run: &Run) {
    let times = worker.kill(run, None);
    run.note_gone(&claim.agent, times);
    worker.start();
    let mine = json!({ "agent": claim.agent, "mine": true });
    if let Some(answer) = worker.call("get_next_issue", mine) {
        let is_in_time = now() - times[0] < GRACE_MS;
        // The answer may list other claims, too.
        if answer.text.contains(&claim.issue) {
            run.note_back(&claim.agent, now());
            let answer = worker.call("complete_issue", claim.end());
            answer.map(Answer::ok);
        } else {
            assert!(
                !is_in_time,
                "{} lost its claim within the grace period: {}",
                claim.agent, answer.text
            );
        }
    }
    run.note_gone(&claim.agent, worker.kill(run, None));
}

/// Completes an old claim under the name of its agent. The claim may have lapsed.
fn complete_late(worker: &mut dyn Worker, claim: Claim, run: &Run) {
    worker.start();
    if let Some(answer) = worker.call("complete_issue", claim.end()) {
        run.note(
            |tally| {
                if answer.is_error { tally.late_refused += 1 } else { tally.late_accepted += 1 }
            },
        );
    }
    // The claim may just have been taken up when the server was killed.
    run.note_gone(&claim.agent, worker.kill(run, None));
}

/// Kills a server at random times and starts it again. Its sessions continue.
fn restart(mut server: Server, run: &Run) {
    let is_over = || run.servers_are_over.load(Ordering::Relaxed);
    while !is_over() {
        let until =
            Instant::now() + Duration::from_millis(fastrand::u64(500..run.workload.serve_ms));
        while Instant::now() < until && !is_over() {
            thread::sleep(Duration::from_millis(10));
        }
        server.kill_and_start_again();
        run.note(|tally| tally.server_kills += 1);
    }
}

fn entries(issue: &Value) -> impl Iterator<Item = (&str, &str, i64)> {
    issue["history"].as_array().unwrap().iter().map(|entry| {
        let time = DateTime::parse_from_rfc3339(entry["timestamp"].as_str().unwrap()).unwrap();
        let text = |key: &str| entry[key].as_str().unwrap();
        (text("agent"), text("action"), time.timestamp_millis())
    })
}

/// Checks the history of an issue. Appends the time from the end of a client to the lapse of its claim, with details.
fn check(issue: &Value, gone: &HashMap<String, Vec<Gone>>, reclaimed: &mut Vec<(i64, String)>) {
    let (mut number, mut holder, mut completed) = (0, None, 0);
    let mut comments = issue["comments"].as_array().unwrap().iter();
    for (agent, action, time) in entries(issue) {
        let comment = match action {
            "Issue completed" | "Claim lapsed" | "Issue returned to created status" => {
                comments.next().unwrap()["text"].as_str().unwrap()
            }
            _ => "",
        };
        match action {
            "Issue claimed for work" => {
                assert_eq!(holder, None, "two agents hold {issue:#}");
                (number, holder) = (number + 1, Some(agent));
            }
            "Issue completed" | "Issue returned to created status" => {
                assert_eq!(comment, format!("claim {number}"), "a stale number in {issue:#}");
                holder = None;
                completed += usize::from(action == "Issue completed");
            }
            "Claim lapsed" => {
                assert_eq!(agent, "ait");
                let agent = holder.take().unwrap_or_else(|| panic!("nobody held {issue:#}"));
                if !comment.starts_with("the agent is gone") {
                    continue;
                }
                let all = gone.get(agent).map(Vec::as_slice).unwrap_or_default();
                let mut due = all.iter().rev().filter(|gone| {
                    let is_over = gone.to.is_some_and(|to| to < time);
                    gone.from[0] + GRACE_MS <= time && !is_over
                });
                let gone = due
                    .next()
                    .unwrap_or_else(|| panic!("{agent} had a client: {issue:#}\n{all:?}"));
                reclaimed.push((time - gone.from[1], format!("at {time}: {all:?} {issue}")));
            }
            _ => {}
        }
    }
    assert!(completed <= 1, "completed {completed} times: {issue:#}");
    assert_eq!(holder, None, "still held: {issue:#}");
}

fn run(workload: Workload, directory: &Path) -> Run {
    let run = Run { workload, ..Run::default() };
    let servers: Vec<_> = (0..workload.servers).map(|_| Server::start(directory)).collect();
    thread::scope(|scope| {
        let run = &run;
        let mut workers = Vec::new();
        for (place, server) in servers.iter().enumerate() {
            for number in 0..workload.sessions_per_server {
                let mut session = Session { agent: Agent::new(server.port) };
                let name = format!("session-{place}-{number}");
                workers.push(scope.spawn(move || work(&mut session, &name, run)));
            }
        }
        for number in 0..workload.processes {
            let mut process = Process { directory, client: Client::start(directory) };
            let name = format!("process-{number}");
            workers.push(scope.spawn(move || work(&mut process, &name, run)));
        }
        let restarting: Vec<_> =
            servers.into_iter().map(|server| scope.spawn(move || restart(server, run))).collect();
        let until = Instant::now() + Duration::from_secs(workload.seconds * factor());
        while Instant::now() < until && !workers.iter().any(|worker| worker.is_finished()) {
            thread::sleep(Duration::from_millis(10));
        }
        run.is_over.store(true, Ordering::Relaxed);
        let ended: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        run.servers_are_over.store(true, Ordering::Relaxed);
        ended
            .into_iter()
            .chain(restarting.into_iter().map(|one| one.join()))
            .for_each(Result::unwrap);
    });
    run
}

/// Runs a workload and checks the issues. Returns the counters, and the longest time from the end of a client to the
/// lapse of its claim, in milliseconds.
fn run_and_check(workload: Workload) -> (Tally, i64) {
    // Each of these tests needs the machine for itself.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock();
    let directory = directory();
    let path = directory.path();
    let settings =
        format!("claims = \"owned\"\nclaim-grace = \"2s\"\nclaim-ttl = \"{}s\"\n", TTL.as_secs());
    std::fs::write(path.join("ait.toml"), settings).unwrap();
    let count = workload.issues * usize::try_from(factor()).unwrap();
    let issues: Vec<_> = (0..count).map(|n| issue_json(&id(n), "t", "created")).collect();
    write_issues(path, &issues);
    let run = run(workload, path);
    // One last server must find all claims that are due.
    let _last = Server::start(path);
    let ended = Instant::now();
    let rest = Duration::from_millis(u64::try_from(GRACE_MS + LATE_MS).unwrap()) + TTL + TTL / 4;
    let all = loop {
        let all = stored_issues(path);
        if !all.iter().any(|issue| issue["status"] == "in_progress") {
            break all;
        }
        assert!(ended.elapsed() < rest, "claims of clients that are gone remain");
        thread::sleep(Duration::from_millis(100));
    };
    let tally = run.tally.into_inner().unwrap();
    let mut reclaimed = Vec::new();
    all.iter().for_each(|issue| check(issue, &tally.gone, &mut reclaimed));
    reclaimed.sort_unstable();
    let (p50, (max, slowest)) = (reclaimed[reclaimed.len() / 2].0, reclaimed.last().unwrap());
    eprintln!(
        "the slowest lapse {slowest}\n{} sessions, {} processes; {} claims; killed: {} processes, {} sessions, {} times a server; {} lapses, none of a live client, after {p50} ms \
         (p50) and {max} ms (max), with calls of up to {} ms; {} returns; late answers: {} accepted, {} refused",
        workload.servers * workload.sessions_per_server,
        workload.servers + workload.processes,
        tally.claims,
        tally.kills,
        tally.ended_sessions,
        tally.server_kills,
        reclaimed.len(),
        tally.slowest.as_millis(),
        tally.returns,
        tally.late_accepted,
        tally.late_refused
    );
    assert!(reclaimed.len() > 10, "too little happened");
    (tally, *max)
}

/// Runs a workload until enough happened: on a busy machine, little happens in the time of one run.
fn run_until(workload: Workload, is_enough: impl Fn(&Tally) -> bool) -> (Tally, i64) {
    let mut runs = (0..3).map(|_| run_and_check(workload));
    runs.find(|(tally, _)| is_enough(tally)).expect("too little happened")
}

#[test]
fn claims_end_with_their_clients_under_random_kills() {
    let workload =
        Workload { servers: 2, sessions_per_server: 5, processes: 6, ..Workload::default() };
    let workload = Workload { issues: 300, seconds: 6, think_ms: 60, serve_ms: 3_000, ..workload };
    let (_, max) = run_until(workload, |tally| tally.late_refused > 0);
    assert!(max <= GRACE_MS + LATE_MS, "{max} ms");
}

/// Many clients, most of them idle at any moment: hundreds among the long tests.
#[test]
fn claims_of_many_clients_end_with_their_clients() {
    let (servers, sessions_per_server) = if factor() == 1 { (3, 20) } else { (6, 50) };
    let workload = Workload { servers, sessions_per_server, processes: 2, ..Workload::default() };
    let workload =
        Workload { issues: 800, seconds: 12, think_ms: 3_000, serve_ms: 12_000, ..workload };
    let clients = servers * sessions_per_server;
    let (tally, max) = run_until(workload, |tally| {
        tally.kills > 2 && tally.server_kills > 2 && tally.ended_sessions > clients
    });
    // With so many clients on few processors a call takes seconds, and so does a lapse. The test with few clients
    // always checks the time; this test checks it only among the long tests, which have the machine for themselves.
    let slowest = i64::try_from(tally.slowest.as_millis()).unwrap();
    let is_in_time = max <= GRACE_MS + LATE_MS + slowest;
    assert!(is_in_time || factor() == 1, "{max} ms, while a call took {slowest} ms");
}
