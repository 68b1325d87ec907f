//! What git knows of the work on an issue: branches that its id names, and commits that name it.

use anyhow::Result;
use serde::Serialize;

use crate::domain::{IssueId, IssueRef, Timestamp};
use crate::git::Git;
use crate::tracker::Lesson;

/// How many branches and commits are named.
const MAX: usize = 5;
/// The same for git.
const MAX_COUNT: &str = "--max-count=5";
/// How many changes of a file are counted.
const MAX_COUNTED: &str = "--max-count=99";
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
    let files = git.try_output(&["diff", "--name-only", &range, "--"]).await?;
    Ok(lines(files.as_deref()))
}

/// Returns the line of a lesson, with how often its files and folders were changed by commits since. Without a
/// repository, or with one that is slow, it lacks that.
pub async fn with_changes(git: &Git, lesson: &Lesson) -> String {
    let mut changed = Vec::new();
    // git counts whole seconds.
    let since = Timestamp::from_unix_millis(lesson.since.unix_millis().saturating_add(1_000));
    let after = format!("--since={since}");
    for file in &lesson.files {
        let commits = ["log", MAX_COUNTED, "--format=%h", &after, "--", file];
        let commits = git.try_output(&commits).await.unwrap_or_default();
        let count = lines(commits.as_deref()).len();
        changed.extend((count > 0).then(|| format!("{file} changed {count}x")));
    }
    let since = format!(" [{} since]", changed.join(", "));
    format!("{lesson}{}", if changed.is_empty() { "" } else { &since })
}

fn lines(text: Option<&str>) -> Vec<String> {
    text.into_iter().flat_map(str::lines).map(str::to_owned).collect()
}
