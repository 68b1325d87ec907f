//! How many merges fail, and how much is done, if agents avoid the files of each other: a simulation with real merges.
//!
//! ```text
//! cargo bench -p benches --bench overlap
//! ```
//!
//! Eight agents work on 300 issues that say which files they change. The queue, the branches and the merges are real,
//! and only the time is not: an issue takes an agent half an hour to an hour and a half, and a merge that fails half of
//! that again. See `benches/README.md` for results.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use agent_issue_tracker::domain::{
    AgentName, ClaimProof, ClaimSettings, Classification, Facts, FieldValue, Issue, IssueChange,
    OverlapPolicy,
};
use agent_issue_tracker::store::SqliteStore;
use agent_issue_tracker::tracker::{ClaimKind, NewIssue, Tracker};
use fastrand::Rng;
use tokio::runtime::Runtime;

const ISSUES: usize = 300;
const AGENTS: usize = 8;
/// The directories of the project, and the files and lines of each.
const DIRECTORIES: usize = 12;
const FILES: usize = 5;
const LINES: usize = 60;
/// How many lines of a file an issue changes.
const CHANGED: usize = 12;
const SEEDS: u64 = 3;

/// What a run of the simulation came to.
#[derive(Default)]
struct Outcome {
    conflicts: usize,
    /// How many minutes all issues took.
    minutes: usize,
    /// How many claims met other work all the same.
    warned: usize,
}

/// A branch that its agent merges at a time.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Work {
    ends: usize,
    agent: usize,
    branch: String,
    /// How long a repair takes if the merge fails.
    repair: usize,
    is_repaired: bool,
}

fn main() {
    // `cargo test --benches` also starts this program, without `--bench`; it must not measure then.
    if std::env::args().any(|argument| argument == "--bench") {
        report(&mut io::stdout()).expect("standard output is open");
    }
}

fn report(out: &mut dyn Write) -> io::Result<()> {
    let runtime = Runtime::new()?;
    writeln!(out, "| seed | `overlap` | merges that failed | warned claims | issues per hour |")?;
    writeln!(out, "|---:|---|---:|---:|---:|")?;
    let mut conflicts = [0; 2];
    let mut minutes = [0; 2];
    for seed in 0..SEEDS {
        for (at, overlap) in [OverlapPolicy::Off, OverlapPolicy::Avoid].into_iter().enumerate() {
            let outcome = runtime.block_on(run(overlap, &mut Rng::with_seed(seed)));
            let Outcome { conflicts: failed, minutes: taken, warned } = outcome;
            let rate = ISSUES as f64 * 60.0 / taken as f64;
            writeln!(out, "| {seed} | `{overlap}` | {failed} | {warned} | {rate:.2} |")?;
            conflicts[at] += failed;
            minutes[at] += taken;
        }
    }
    let [off, avoid] = conflicts.map(|count| count as f64);
    let fewer = (1.0 - avoid / off) * 100.0;
    let rate = minutes[0] as f64 / minutes[1] as f64 * 100.0;
    writeln!(
        out,
        "\n{fewer:.0} % fewer merges fail with `avoid`, at {rate:.0} % of the issues per hour."
    )
}

async fn run(overlap: OverlapPolicy, rng: &mut Rng) -> Outcome {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let root = directory.path();
    let repository = root.join("project");
    make_repository(&repository);
    let settings = ClaimSettings { overlap, ..ClaimSettings::default() };
    let store = SqliteStore::new(root.join("issues.json"));
    let tracker = Tracker::new(Arc::new(store)).with_claim_settings(settings);
    for number in 0..ISSUES {
        file(&tracker, number, rng).await;
    }
    let mut outcome = Outcome::default();
    let mut working = BinaryHeap::new();
    for agent in 0..AGENTS {
        working.extend(begin(&tracker, &repository, agent, 0, &mut outcome).await.map(Reverse));
    }
    while let Some(Reverse(mut work)) = working.pop() {
        if !work.is_repaired && !git(&repository, &["merge", "-q", "--no-edit", &work.branch]) {
            assert!(git(&repository, &["merge", "--abort"]));
            outcome.conflicts += 1;
            work.is_repaired = true;
            work.ends += work.repair;
            working.push(Reverse(work));
            continue;
        }
        if work.is_repaired {
            assert!(git(&repository, &["merge", "-q", "--no-edit", "-X", "theirs", &work.branch]));
        }
        outcome.minutes = work.ends;
        let id = work.branch.parse().expect("a branch is called as its issue");
        let comment = "Merged".try_into().expect("a comment");
        let agent = name(work.agent);
        let completed = tracker
            .complete_issue(id, comment, agent, ClaimProof::default(), Facts::default())
            .await;
        completed.expect("an issue that is worked on");
        let next = begin(&tracker, &repository, work.agent, work.ends, &mut outcome).await;
        working.extend(next.map(Reverse));
    }
    outcome
}

fn name(agent: usize) -> AgentName {
    AgentName::try_from(format!("dev-{agent}")).expect("a name")
}

/// Makes a project whose files have numbered lines.
fn make_repository(repository: &Path) {
    let text: String = (0..LINES).map(|line| format!("line {line}\n")).collect();
    for directory in 0..DIRECTORIES {
        let directory = repository.join(format!("src/{directory}"));
        fs::create_dir_all(&directory).expect("a directory");
        for file in 0..FILES {
            fs::write(directory.join(format!("{file}.rs")), &text).expect("a file");
        }
    }
    for arguments in [&["init", "-q", "-b", "main"][..], &["add", "."], &["commit", "-qm", "begin"]]
    {
        assert!(git(repository, arguments));
    }
}

/// Files an issue that changes one to three files of a directory. Some directories are changed more often than others.
async fn file(tracker: &Tracker, number: usize, rng: &mut Rng) {
    let directory = rng.usize(..DIRECTORIES).min(rng.usize(..DIRECTORIES));
    let mut files: Vec<_> = (0..FILES).collect();
    rng.shuffle(&mut files);
    files.truncate(rng.usize(1..=3));
    let paths: Vec<_> = files.iter().map(|file| format!("src/{directory}/{file}.rs")).collect();
    let touches = paths.join(", ").parse().expect("paths");
    let priority = rng.u64(1..=3).try_into().expect("a priority");
    let values = vec![FieldValue::Touches(Some(touches)), FieldValue::Priority(Some(priority))];
    // Where the changes begin, and how long the work takes.
    let description = format!("{} {}", rng.usize(..LINES - CHANGED), rng.usize(30..=90));
    let issue = NewIssue::new(
        format!("Issue {number}").try_into().expect("a title"),
        description.try_into().expect("a description"),
        Classification::Improvement,
    );
    let details = IssueChange { values, ..IssueChange::default() };
    tracker.add_issue(NewIssue { details, ..issue }, name(0)).await.expect("a new issue");
}

/// Claims the next issue and does its work on a branch; `None` if all are done.
async fn begin(
    tracker: &Tracker,
    repository: &Path,
    agent: usize,
    now: usize,
    outcome: &mut Outcome,
) -> Option<Work> {
    let claimed = tracker.claim_next(ClaimKind::Work(None), name(agent)).await.expect("a claim")?;
    let issue = &claimed.issue;
    outcome.warned += usize::from(!tracker.overlaps(issue).await.expect("a read").is_empty());
    let branch = issue.id.to_string();
    let [begin, minutes] = numbers(issue);
    assert!(git(repository, &["checkout", "-q", "-b", &branch]));
    for path in issue.attributes.touches.as_ref().expect("paths").paths() {
        let path = repository.join(path);
        let text = fs::read_to_string(&path).expect("a file");
        let lines = text.lines().enumerate().map(|(at, line)| {
            let is_changed = (begin..begin + CHANGED).contains(&at);
            if is_changed { format!("{} at {at}\n", issue.title) } else { format!("{line}\n") }
        });
        fs::write(&path, lines.collect::<String>()).expect("a file");
    }
    for arguments in [&["commit", "-qam", &issue.title][..], &["checkout", "-q", "main"]] {
        assert!(git(repository, arguments));
    }
    let repair = minutes / 2;
    Some(Work { ends: now + minutes, agent, branch, repair, is_repaired: false })
}

fn numbers(issue: &Issue) -> [usize; 2] {
    let numbers = issue.description.split(' ').map(|number| number.parse().expect("a number"));
    numbers.collect::<Vec<_>>().try_into().expect("two numbers")
}

/// Runs git, and returns true if it succeeds.
fn git(repository: &Path, arguments: &[&str]) -> bool {
    let mut git = Command::new("git");
    git.current_dir(repository).args(["-c", "user.name=dev", "-c", "user.email=dev@example.com"]);
    git.args(["-c", "gc.auto=0"]).args(arguments).env("GIT_CONFIG_GLOBAL", "/dev/null");
    git.stdout(Stdio::null()).stderr(Stdio::null());
    git.status().expect("git runs").success()
}
