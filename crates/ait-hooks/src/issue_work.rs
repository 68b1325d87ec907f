//! What git knows of the work on an issue: branches that its id names, and commits that name it.

use std::collections::BTreeSet;

use anyhow::Result;
use serde::Serialize;

use ait_domain::{IssueId, IssueRef};
use ait_system::git::Git;
use ait_tracker::Lesson;

/// How many branches and commits are named.
const MAX: usize = 5;
/// The same for git.
const MAX_COUNT: &str = "--max-count=5";
/// How many commits are looked at to count the changes of files.
const MAX_COUNTED: &str = "--max-count=200";
/// How such a commit is shown: its time, behind a mark that is in no path.
const TIME_FORMAT: &str = "--format=%x00%ct";
const COMMIT: char = '\0';
/// How a commit is shown: its short name and its subject.
const FORMAT: &str = "--format=%h %s";

/// What git has of an issue.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct IssueWork {
    /// The branches whose names contain the id, with their commits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub branches: Vec<IssueBranch>,
    /// The newest commits on any branch whose message names the issue.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<String>,
}

/// A branch of an issue.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct IssueBranch {
    pub name: String,
    /// The newest commits that the checked-out branch lacks, each with its subject.
    pub commits: Vec<String>,
}

/// Finds what git has of some issues, in their order.
///
/// # Errors
///
/// There is no repository, or git does not answer in time.
pub async fn issue_work(git: &Git, ids: &[IssueId]) -> Result<Vec<IssueWork>> {
    let refs = ["for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes"];
    let refs = git.ask(&refs).await?;
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        let is_of_issue =
            |name: &&str| IssueRef::in_branch(name).is_some_and(|named| named.range().contains(id));
        let mut work = IssueWork::default();
        for name in refs.lines().filter(is_of_issue).take(MAX) {
            let range = format!("HEAD..{name}");
            let commits = git.try_output(&["log", MAX_COUNT, FORMAT, &range, "--"]).await?;
            let commits = lines(commits.as_deref());
            work.branches.push(IssueBranch { name: name.to_owned(), commits });
        }
        // As the hook for commit messages writes it.
        let named = format!("--grep=Issue: {}", id.short());
        let commits = ["log", "--all", "--fixed-strings", MAX_COUNT, FORMAT, &named];
        work.commits = lines(git.try_output(&commits).await?.as_deref());
        found.push(work);
    }
    Ok(found)
}

/// Returns the files that the branch of an issue changes.
///
/// # Errors
///
/// There is no repository, or git does not answer in time.
pub async fn changed_files(git: &Git, id: IssueId) -> Result<Vec<String>> {
    let work = issue_work(git, &[id]).await?;
    let Some(branch) = work.first().and_then(|work| work.branches.first()) else {
        return Ok(Vec::new());
    };
    let range = format!("HEAD...{}", branch.name);
    let files = git.try_output(&["diff", "--relative", "--name-only", &range, "--"]).await?;
    Ok(lines(files.as_deref()))
}

/// Notes how often commits changed the files and folders of entries since. Without a repository, or with one that is
/// slow, they lack that.
pub async fn note_changes(git: &Git, lessons: &mut [Lesson]) {
    let with_files = || lessons.iter().filter(|lesson| !lesson.files.is_empty());
    let Some(oldest) = with_files().map(|lesson| lesson.since).min() else { return };
    let files: BTreeSet<&str> =
        with_files().flat_map(|lesson| &lesson.files).map(String::as_str).collect();
    let since = format!("--since={oldest}");
    let mut arguments = vec!["-c", "core.quotepath=off", "log", MAX_COUNTED, "--relative"];
    arguments.extend(["--name-only", TIME_FORMAT, &since, "--"]);
    arguments.extend(files);
    let log = git.try_output(&arguments).await.ok().flatten();
    let changes = log.as_deref().map(changed_paths).unwrap_or_default();
    for lesson in lessons {
        let changed = lesson.files.iter().filter_map(|file| {
            let is_within = |path: &&str| {
                path.strip_prefix(&**file)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            let counts = changes.iter().filter(|(seconds, paths)| {
                // git counts whole seconds.
                seconds * 1_000 > lesson.since.unix_millis() && paths.iter().any(is_within)
            });
            let count = counts.count();
            (count > 0).then(|| format!("{file} changed {count}x"))
        });
        let changed: Vec<_> = changed.collect();
        lesson.changed = (!changed.is_empty()).then(|| changed.join(", "));
    }
}

/// Returns the time of each commit in a log of names, in seconds since 1970, with the paths that it changes.
fn changed_paths(log: &str) -> Vec<(i64, Vec<&str>)> {
    let commits = log.split(COMMIT).filter(|commit| !commit.is_empty());
    let parsed = commits.filter_map(|commit| {
        let mut lines = commit.lines().filter(|line| !line.is_empty());
        Some((lines.next()?.parse().ok()?, lines.collect()))
    });
    parsed.collect()
}

fn lines(text: Option<&str>) -> Vec<String> {
    text.into_iter().flat_map(str::lines).map(str::to_owned).collect()
}
