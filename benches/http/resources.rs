//! Start-up, resources and prompts over stdio: how soon a new process answers, and how long each request takes.

use std::io::{self, Write};
use std::time::Instant;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::load::head;
use crate::server::ait;
use crate::stdio::Client;
use benches::figures::{ns, percentile, timed, us};
use benches::fixture::{self, Fixture};

const SIZES: [usize; 4] = [0, 1_000, 10_000, 100_000];
/// The number of process starts per figure.
const STARTS: usize = 15;
const ROUNDS: usize = 10;
/// The number of reads per round.
const EACH: usize = 20;

const RESOURCES: [&str; 4] =
    ["tracker://queue", "tracker://diagnostics", "tracker://config", "tracker://presets"];
const PROMPTS: [&str; 6] =
    ["team-lead", "developer", "bug-fixer", "code-reviewer", "setup_wizard", "health_check"];

pub fn report(out: &mut dyn Write) -> io::Result<()> {
    starts(out)?;
    reads(out)
}

/// Measures the time from the start of a process to its first responses, compared with a process that does nothing.
fn starts(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "From the start of a process, p50 of {STARTS}, ms\n")?;
    head(out, "issues | `ait --version` | `initialize` | `list_issues`, 20, right after it")?;
    for size in SIZES {
        start(out, &format!("{size}"), &fixture::directory_with(size))?;
        let fixture = Fixture::published(size);
        start(out, &format!("{size}, with their log"), &fixture.directory)?;
    }
    writeln!(out)
}

fn start(out: &mut dyn Write, name: &str, directory: &TempDir) -> io::Result<()> {
    let (mut nothing, mut first, mut list) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..STARTS {
        nothing.push(timed(|| {
            ait(directory).arg("--version").output().expect("a process");
        }));
        let begun = Instant::now();
        let mut client = Client::start(directory);
        first.push(ns(begun.elapsed()));
        let take = json!({ "name": "list_issues", "arguments": { "take": 20 } });
        assert!(client.request("tools/call", &take).contains("count"));
        list.push(ns(begun.elapsed()));
    }
    let p50 = [nothing, first, list].map(|mut times| {
        times.sort_unstable();
        us(percentile(&times, 50)) / 1e3
    });
    writeln!(out, "| {name} | {:.1} | {:.1} | {:.1} |", p50[0], p50[1], p50[2])
}

/// A repeated request and its durations.
struct Lane {
    name: String,
    method: &'static str,
    params: Value,
    times: Vec<u64>,
    bytes: usize,
}

impl Lane {
    fn new(name: &str, method: &'static str, params: Value) -> Self {
        Self { name: name.to_owned(), method, params, times: Vec::new(), bytes: 0 }
    }

    fn run(&mut self, client: &mut Client) {
        for _ in 0..EACH {
            let begun = Instant::now();
            let answer = client.request(self.method, &self.params);
            self.times.push(ns(begun.elapsed()));
            assert!(answer.contains(r#""result":"#), "{answer}");
            self.bytes = answer.len();
        }
    }
}

/// Measures each resource and prompt alternately with a ping. The diagnostics are cached; computing them has its own
/// line.
fn reads(out: &mut dyn Write) -> io::Result<()> {
    for size in [10_000, 100_000] {
        let directory = fixture::directory_with(size);
        let mut client = Client::start(&directory);
        let list = json!({ "name": "list_issues", "arguments": { "take": 1 } });
        let id = id_in(&client.request("tools/call", &list));
        let begun = Instant::now();
        client.request("resources/read", &json!({ "uri": "tracker://diagnostics" }));
        let examination = begun.elapsed();
        let issue = format!("tracker://issues/{id}");
        let mut lanes = vec![Lane::new("ping", "ping", json!({}))];
        for uri in RESOURCES.into_iter().chain([&*issue]) {
            let name = if uri == issue { "tracker://issues/{id}" } else { uri };
            lanes.push(Lane::new(name, "resources/read", json!({ "uri": uri })));
        }
        for name in PROMPTS {
            lanes.push(Lane::new(name, "prompts/get", json!({ "name": name })));
        }
        let params = json!({ "name": "developer", "arguments": { "issue_id": id } });
        lanes.push(Lane::new("developer, about one issue", "prompts/get", params));
        let typed = json!({ "name": "id", "value": &id[..2] });
        let reference = json!({ "type": "ref/resource", "uri": "tracker://issues/{id}" });
        let completed = json!({ "ref": reference, "argument": typed });
        lanes.push(Lane::new("completion of two digits", "completion/complete", completed));
        for _ in 0..ROUNDS {
            lanes.iter_mut().for_each(|lane| lane.run(&mut client));
        }
        writeln!(out, "Resources and prompts over stdio, {size} issues\n")?;
        head(out, "what | bytes | p50 µs | p99 µs | longest µs | p50 to `ping`")?;
        let mut ping = None;
        for Lane { name, mut times, bytes, .. } in lanes {
            times.sort_unstable();
            let [p50, p99, longest] = [50, 99, 100].map(|percent| us(percentile(&times, percent)));
            let ratio = p50 / *ping.get_or_insert(p50);
            writeln!(
                out,
                "| {name} | {bytes} | {p50:.0} | {p99:.0} | {longest:.0} | {ratio:.1} |"
            )?;
        }
        let ms = examination.as_secs_f64() * 1e3;
        writeln!(out, "\nThe first `tracker://diagnostics`, which runs the checks: {ms:.0} ms\n")?;
    }
    Ok(())
}

/// Returns the first id in a response.
fn id_in(answer: &str) -> String {
    let (_, rest) = answer.split_once(r#"\"id\":\""#).expect("an issue");
    rest.split('\\').next().expect("an id").to_owned()
}
