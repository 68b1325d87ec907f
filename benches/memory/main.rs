//! What a claim and a search find of what a team learned, and what that costs.
//!
//! ```text
//! cargo bench -p benches --bench memory
//! ```
//!
//! The corpus is made: each closed issue is about one of some files, and its hand-in comment has one rule. A question
//! is a new issue whose answers are known: the closed issues about the same file, or about the same thing. It has
//! other words than they have, but for the name of the file or of the thing. See `benches/README.md` for results.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use benches::ait;
use benches::figures::{percentile, timed, us};
use serde_json::{Value, json};
use uuid::Uuid;

const CLOSED: usize = 1_000;
const QUESTIONS: usize = 300;
/// The lines that count.
const TOP: usize = 5;
const ENTRIES: [usize; 2] = [0, 10_000];
const CALLS: usize = 200;

fn main() {
    // `cargo test --benches` also starts this program, without `--bench`; it must not measure then.
    if std::env::args().any(|argument| argument == "--bench") {
        retrieval();
        costs();
    }
}

/// Makes texts of words that are as rare as those of people: few are frequent, and most are not.
struct Corpus {
    random: fastrand::Rng,
    words: Vec<String>,
}

impl Corpus {
    fn new() -> Self {
        const PARTS: [&str; 20] = [
            "ca", "ro", "mi", "ten", "lu", "sor", "pa", "vi", "gen", "do", "ker", "ti", "ma",
            "bel", "zu", "fan", "qui", "no", "hal", "re",
        ];
        let mut random = fastrand::Rng::with_seed(7);
        let mut word = || (0..3).map(|_| PARTS[random.usize(..PARTS.len())]).collect::<String>();
        let words = (0..2_000).map(|_| word()).collect();
        Self { random, words }
    }

    fn text(&mut self, words: usize) -> String {
        let word = |random: &mut fastrand::Rng| {
            let place = random.f64().powi(3) * self.words.len() as f64;
            self.words[place as usize].clone()
        };
        (0..words).map(|_| word(&mut self.random)).collect::<Vec<_>>().join(" ")
    }

    fn thing(&mut self) -> String {
        format!("{}{}", self.text(1), self.random.u16(100..1_000))
    }

    /// Returns an issue, or an entry, as it stands in `issues.json`.
    fn issue(&mut self, status: &str, title: &str, description: &str, comment: &str) -> Value {
        let minute = self.random.usize(..60 * 24 * 28);
        let time = format!(
            "2026-02-{:02}T{:02}:{:02}:00.000Z",
            1 + minute / 1_440,
            minute / 60 % 24,
            minute % 60
        );
        let history =
            |action: &str| json!({ "timestamp": time, "agent": "dev-1", "action": action });
        let (kind, actions) = match status {
            "kept" => ("trap", vec![history("Entry kept")]),
            "closed" => {
                let actions = ["Issue filed", "Issue claimed for work", "Issue completed"];
                ("bug", actions.map(history).to_vec())
            }
            _ => ("bug", vec![history("Issue filed")]),
        };
        let comments = match comment {
            "" => json!([]),
            text => json!([{ "timestamp": time, "agent": "dev-1", "text": text }]),
        };
        json!({
            "id": Uuid::from_u128(self.random.u128(..)).to_string(), "title": title, "description": description,
            "classification": kind, "createdAt": time, "modifiedAt": time, "status": status,
            "history": actions, "comments": comments,
        })
    }
}

/// How often what is known is among the first lines.
fn retrieval() {
    let mut corpus = Corpus::new();
    let mut issues = Vec::new();
    let mut subjects = Vec::new();
    for _ in 0..CLOSED / 2 {
        let (file, thing) =
            (format!("src/{}/{}.rs", corpus.text(1), corpus.thing()), corpus.thing());
        let mut ids = Vec::new();
        for _ in 0..2 {
            let title = format!("{} {thing} {}", corpus.text(2), corpus.text(2));
            let rule = format!("{} must {}", corpus.text(3), corpus.text(5));
            let comment =
                format!("Done on the branch, tests pass.\n- {file}: {rule}.\n{}.", corpus.text(9));
            let description = format!("{} {file} {}", corpus.text(20), corpus.text(20));
            let issue = corpus.issue("closed", &title, &description, &comment);
            ids.push(issue["id"].as_str().unwrap_or_default()[..8].to_owned());
            issues.push(issue);
        }
        subjects.push((file, thing, ids));
    }
    let mut questions = Vec::new();
    for at in 0..QUESTIONS {
        let (file, thing, answers) = subjects[at * subjects.len() / QUESTIONS].clone();
        let named = at % 2 == 0;
        let title = if named { corpus.text(5) } else { format!("{} {thing}", corpus.text(3)) };
        let description =
            if named { format!("{} {file}.", corpus.text(20)) } else { corpus.text(20) };
        let issue = corpus.issue("created", &title, &description, "");
        questions.push((
            issue["id"].as_str().unwrap_or_default().to_owned(),
            named,
            file,
            title,
            answers,
        ));
        issues.push(issue);
    }
    let directory = tempfile::tempdir().expect("a directory");
    write(directory.path(), &issues);
    let mut client = Client::start(directory.path());
    let mut shares = [[0.0; 3]; 2];
    for (id, named, file, title, answers) in &questions {
        let claim = client.call("get_next_issue", &json!({ "agent": "dev-2", "issue_id": id }));
        let query = if *named { format!("file:{file}") } else { title.clone() };
        let recalled = client.call("recall", &json!({ "query": query, "take": TOP }));
        let words = if *named { file } else { title };
        let search = json!({ "query": format!("{words} status:closed"), "take": TOP });
        let listed = client.call("query_issues", &search);
        let share = |lines: &str| {
            let found = answers.iter().filter(|answer| lines.contains(*answer)).count();
            found as f64 / answers.len() as f64
        };
        let lines = |value: &Value, key: &str| {
            let lines = value[key].as_array().into_iter().flatten().take(TOP);
            lines.map(ToString::to_string).collect::<String>()
        };
        let found = [lines(&claim, "known"), lines(&recalled, "found"), listed.to_string()];
        for (sum, found) in shares[usize::from(!named)].iter_mut().zip(found) {
            *sum += share(&found);
        }
    }
    println!("Recall at {TOP} over {CLOSED} closed issues, {QUESTIONS} questions\n");
    println!("| the question names | the claim | `recall` | a search of closed issues |");
    println!("|---|---:|---:|---:|");
    for (name, shares) in ["the file", "the thing, in its title"].iter().zip(shares) {
        let [claim, recall, list] = shares.map(|sum| sum / (QUESTIONS as f64 / 2.0));
        println!("| {name} | {claim:.2} | {recall:.2} | {list:.2} |");
    }
}

/// What entries cost a claim and a search.
fn costs() {
    println!("\nA call over stdio beside {CLOSED} issues, p50 in µs\n");
    println!("| entries | a claim | `recall` of two words |");
    println!("|---:|---:|---:|");
    for entries in ENTRIES {
        let mut corpus = Corpus::new();
        let mut issues = Vec::new();
        for at in 0..CLOSED + entries {
            let about = format!("src/{}/{}.rs", corpus.text(1), corpus.text(1));
            let title = corpus.text(8);
            let kind = if at < CLOSED { "created" } else { "kept" };
            let description = if at < CLOSED { corpus.text(30) } else { format!("About: {about}") };
            issues.push(corpus.issue(kind, &title, &description, ""));
        }
        let directory = tempfile::tempdir().expect("a directory");
        write(directory.path(), &issues);
        let mut client = Client::start(directory.path());
        client.call("get_next_issue", &json!({ "agent": "dev-2" }));
        // The index of searches follows the import.
        std::thread::sleep(std::time::Duration::from_secs(3));
        let p50 = |mut times: Vec<u64>| {
            times.sort_unstable();
            us(percentile(&times, 50))
        };
        let claim = |_| timed(|| client.call("get_next_issue", &json!({ "agent": "dev-2" })));
        let claims = p50((0..CALLS).map(claim).collect());
        let recall = |_| {
            let query = json!({ "query": corpus.text(2) });
            timed(|| client.call("recall", &query))
        };
        let recalls = p50((0..CALLS).map(recall).collect());
        println!("| {entries} | {claims:.0} | {recalls:.0} |");
    }
}

fn write(directory: &Path, issues: &[Value]) {
    let text = json!({ "issues": issues }).to_string();
    std::fs::write(directory.join("issues.json"), text).expect("space on the disk");
}

/// A client over stdio.
struct Client {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last_id: u64,
}

impl Client {
    fn start(directory: &Path) -> Self {
        let mut command = ait();
        command.args(["--toolsets", "memory,bulk", "--port", "0", "--replies", "json"]);
        command
            .current_dir(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut process = command.spawn().expect("a process");
        let input = process.stdin.take().expect("a pipe");
        let output = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut client = Self { process, input, output, last_id: 0 };
        let who = json!({ "name": "bench", "version": "1" });
        client.request(
            "initialize",
            &json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": who }),
        );
        writeln!(client.input, r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#)
            .expect("a server");
        client
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.last_id += 1;
        let request =
            json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params });
        writeln!(self.input, "{request}").expect("a server");
        for line in self.output.by_ref().lines() {
            let answer: Value = serde_json::from_str(&line.expect("an answer")).expect("JSON");
            if answer["id"] == self.last_id {
                return answer["result"].clone();
            }
        }
        panic!("the server has ended")
    }

    /// Calls a tool, and returns its answer, which is JSON.
    fn call(&mut self, name: &str, arguments: &Value) -> Value {
        let result = self.request("tools/call", &json!({ "name": name, "arguments": arguments }));
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        assert_ne!(result["isError"], true, "{name}: {text}");
        serde_json::from_str(text).unwrap_or_default()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
