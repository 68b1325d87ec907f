//! The cost of writing a reply of the MCP server, compared with `serde_json::to_string` of the same issues.
//!
//! ```text
//! cargo bench -p benches --bench replies
//! ```
//!
//! See `benches/README.md` for results. Both sides are measured alternately, and their medians are compared.

use std::hint::black_box;
use std::io::{self, Write};
use std::sync::Arc;

use agent_issue_tracker::domain::{Classification, Comment, EventKind, Issue, IssueId, Timestamp};
use agent_issue_tracker::mcp::McpOptions;
use agent_issue_tracker::mcp::options::ReplyFormat;
use agent_issue_tracker::mcp::reply::{List, ListedIssue, Reply, ReplyOptions, WholeIssue};
use agent_issue_tracker::store::files::format::Document;
use benches::figures::{percentile, timed, us};
use benches::issues::{self, Filing};
use chrono::Utc;
use uuid::Uuid;

const ROUNDS: usize = 51;
/// The minimum duration of a sample, in ns.
const SAMPLE: u64 = 500_000;

fn main() {
    // `cargo test --benches` also starts this program, without `--bench`; it must not measure then.
    if std::env::args().any(|argument| argument == "--bench") {
        report(&mut io::stdout()).expect("standard output is open");
    }
}

fn report(out: &mut dyn Write) -> io::Result<()> {
    let short = [issue(2_000)];
    let long = [issue(90_000)];
    let endless = [with_empty_comments(100_000)];
    let many: Vec<_> = (0..50).map(|_| issue(2_000)).collect();
    writeln!(out, "Writing a reply, p50 of {ROUNDS} in µs\n")?;
    writeln!(out, "| reply | form | budget | bytes | p50 | p90 | `to_string` | ratio |")?;
    writeln!(out, "|---|---|---:|---:|---:|---:|---:|---:|")?;
    for (name, issues, reply, budget) in [
        ("an issue", &short[..], whole as fn(&[Arc<Issue>]) -> Reply, 10_000),
        ("an issue, counted", &short, whole, 1_000),
        ("50 rows", &many, list, 10_000),
        ("an issue over the budget", &long, whole, 10_000),
        ("an issue with 100,000 empty comments", &endless, whole, 10_000),
        ("50 rows over the budget", &many, list, 1_000),
    ] {
        for format in [ReplyFormat::Json, ReplyFormat::Compact] {
            let max_reply_tokens = budget.to_string().parse().expect("a valid budget");
            let options = McpOptions { format, max_reply_tokens, ..McpOptions::default() };
            let options = ReplyOptions::new(&options, Default::default());
            let reply = reply(issues);
            let write = || options.write(&reply).expect("issues can be written");
            let plain_issues: Vec<&Issue> = issues.iter().map(|issue| &**issue).collect();
            let plain = || serde_json::to_string(&plain_issues).expect("issues can be written");
            let ([p50, p90], plain) = compare(write, plain);
            let bytes = write().len();
            writeln!(
                out,
                "| {name} | {format} | {budget} | {bytes} | {p50:.1} | {p90:.1} | {plain:.1} | {:.1} |",
                p50 / plain
            )?;
        }
    }
    Ok(())
}

/// Returns the p50 and the p90 of one call, and the p50 of the other, in µs.
fn compare(call: impl Fn() -> String, other: impl Fn() -> String) -> ([f64; 2], f64) {
    let sample = |call: &dyn Fn() -> String| {
        let mut calls = 0;
        let mut taken = 0;
        while taken < SAMPLE {
            taken += timed(|| (0..8).for_each(|_| drop(black_box(call()))));
            calls += 8;
        }
        taken / calls
    };
    let (mut calls, mut others) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        calls.push(sample(&call));
        others.push(sample(&other));
    }
    calls.sort_unstable();
    others.sort_unstable();
    ([50, 90].map(|percent| us(percentile(&calls, percent))), us(percentile(&others, 50)))
}

/// Returns a claimed issue of at least `bytes` bytes: a third is description, the rest comments and history.
fn issue(bytes: usize) -> Arc<Issue> {
    let (mut document, id) = (Document::default(), IssueId::from(Uuid::new_v4()));
    let at = Timestamp::from(Utc::now());
    let mut apply = |kind| {
        issues::apply(&mut document, id, at, issues::agent().into_string(), kind);
        document.issues.get(id).expect("the issue that was filed")
    };
    let Filing { title, description } = Filing::new(1);
    let description = description.into_string();
    let repeats = (bytes / 3).div_ceil(description.len());
    apply(EventKind::Filed {
        attributes: Default::default(),
        title: title.into_string(),
        description: description.repeat(repeats),
        classification: Classification::Bug,
    });
    loop {
        let comment = issues::comment(1).into_string();
        let issue = apply(EventKind::Claimed);
        if serde_json::to_string(&*issue).expect("issues can be written").len() >= bytes {
            return issue;
        }
        apply(EventKind::Returned { comment });
    }
}

/// Returns an issue with `count` empty comments, which only an external edit can create.
fn with_empty_comments(count: usize) -> Arc<Issue> {
    let mut issue = Issue::clone(&issue(2_000));
    let comment = Comment { text: String::new(), ..issue.comments[0].clone() };
    issue.comments = vec![comment; count];
    Arc::new(issue)
}

fn whole(issues: &[Arc<Issue>]) -> Reply {
    Reply::Issue(WholeIssue::claimed(Arc::clone(&issues[0]), None))
}

fn list(issues: &[Arc<Issue>]) -> Reply {
    let listed = |issue: &Arc<Issue>| ListedIssue {
        issue: Arc::clone(issue),
        is_short_id_unique: true,
        is_blocked: false,
        gone: None,
        waits_for_parts: false,
        claim: None,
    };
    Reply::List(List {
        total: issues.len(),
        is_at_least: false,
        nothing: None,
        skip: Some(0),
        issues: issues.iter().map(listed).collect(),
        cursor: None,
        fields: None,
        now: Timestamp::from(Utc::now()),
    })
}
