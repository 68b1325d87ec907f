//! Measures the branch of an issue: what its agent hands in.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::task::spawn_blocking;

use super::{branch_of, worktrees};
use ait_domain::facts::short_hash;
use ait_domain::{Facts, Issue, Timestamp, Work};
use ait_setup::PROGRAM;
use ait_system::git::Git;

/// How long git may take to measure a branch. What it does not say in time is left out.
const LIMIT: Duration = Duration::from_secs(5);
/// How many commits on all branches of issues together are looked at.
const MAX_OPEN: &str = "--max-count=1000";
/// How the log of a branch begins the lines of commits that were made on it, and not taken over from another branch.
const OWN_COMMITS: [&str; 4] = ["commit", "cherry-pick", "rebase", "am"];

/// Measures what is handed in with the branch of an issue, in the repository around a directory.
///
/// The facts are empty if there is no such branch, if it is checked out in the main worktree, so that the branch that
/// it will be merged into is not known, or if git does not tell.
pub async fn measure(directory: &Path, issue: &Issue) -> Facts {
    let work = branch_work(directory, issue).await.map(Box::new);
    Facts { work, ..Facts::default() }
}

async fn branch_work(directory: &Path, issue: &Issue) -> Option<Work> {
    let branch = Branch::find(directory, issue).await?;
    let start = branch.start().await?;
    let Branch { git, head, .. } = &branch;
    let range = format!("{start}..{head}");
    let commits = git.try_output(&["rev-list", "--count", &range]).await.ok()??;
    let diff = ["diff", "--numstat", "-z", "--no-renames", "--no-ext-diff", "--no-textconv"];
    let diff = git.try_output(&[&diff[..], &[&start, head, "--"]].concat()).await.ok()??;
    let tree = git.try_output(&["rev-parse", &format!("{head}^{{tree}}")]).await.ok()??;
    let mut work =
        Work { commits: commits.parse().ok()?, head: head.clone(), tree, ..Work::default() };
    for file in diff.split('\0').filter(|file| !file.is_empty()) {
        work.files += 1;
        count_lines(&mut work, file);
    }
    if work.commits > 0
        && let Some((commit, subject)) = branch.merge().await
    {
        work.merge = Some(commit);
        work.pull_request = pull_request(&subject);
    }
    Some(work)
}

/// Returns the files that the branch of an issue changes, and those with changes in its worktree.
pub async fn changed(directory: PathBuf, issue: Arc<Issue>) -> Vec<String> {
    let files = async {
        let branch = Branch::find(&directory, &issue).await?;
        let start = branch.start().await?;
        let Branch { git, name, head } = branch;
        let mut listed = worktrees(&git).await.ok()?.into_iter();
        let own = listed.find(|worktree| worktree.branch.as_ref() == Some(&name));
        let diff = ["diff", "--name-only", "-z", "--no-renames", &start];
        let Some(own) = own else {
            return git.try_output(&[&diff[..], &[&head, "--"]].concat()).await.ok()?;
        };
        let git = git.within(&own.path);
        let mut files = git.try_output(&[&diff[..], &["--"]].concat()).await.ok()??;
        let new = ["ls-files", "--others", "--exclude-standard", "-z"];
        files.push('\0');
        files += &git.try_output(&new).await.ok()??;
        Some(files)
    };
    let files = files.await.unwrap_or_default();
    files.split('\0').filter(|file| !file.is_empty()).map(str::to_owned).collect()
}

/// Returns when a file in the worktree of an issue changed last; now if a command runs there.
pub async fn last_sign(directory: PathBuf, issue: Arc<Issue>) -> Option<Timestamp> {
    let branch = Branch::find(&directory, &issue).await?;
    let mut listed = worktrees(&branch.git).await.ok()?.into_iter();
    let own = listed.find(|worktree| worktree.branch.as_ref() == Some(&branch.name))?.path;
    let files = changed(directory, issue).await;
    spawn_blocking(move || {
        if runs_command(&own) {
            return Some(Timestamp::from(Utc::now()));
        }
        let time = |file: String| own.join(file).symlink_metadata().ok()?.modified().ok();
        let last = files.into_iter().filter_map(time).max()?;
        Some(Timestamp::from(DateTime::<Utc>::from(last)))
    })
    .await
    .ok()?
}

/// Returns true if a process works in a directory. Servers of ait, and the clients that started them, do not count:
/// they stay while their agents do nothing. Only Linux tells where processes work.
fn runs_command(directory: &Path) -> bool {
    let Ok(processes) = fs::read_dir("/proc") else { return false };
    let is_inside = |process: &PathBuf| {
        let place = fs::read_link(process.join("cwd"));
        place.is_ok_and(|place| place.starts_with(directory))
    };
    let inside: Vec<_> = processes.flatten().map(|entry| entry.path()).filter(is_inside).collect();
    let stat = |process: &PathBuf| fs::read_to_string(process.join("stat")).unwrap_or_default();
    let mut idle = Vec::new();
    for process in &inside {
        // `7 (ait) S 3`: the process, its program, its state and its parent.
        if let Some((pid, rest)) = stat(process).split_once(&format!(" ({PROGRAM}) ")) {
            idle.push(pid.to_owned());
            idle.extend(rest.split(' ').nth(1).map(str::to_owned));
        }
    }
    let is_idle = |process: &PathBuf| {
        process.file_name().is_some_and(|pid| idle.iter().any(|one| **one == *pid))
    };
    !inside.iter().all(is_idle)
}

/// Says what was handed in, and which commit the branch has now if that is another one.
pub async fn handed_in(directory: &Path, issue: &Issue) -> Option<String> {
    let work = issue.handed_in()?;
    let mut said = work.to_string();
    if let Some(receipt) = issue.receipt_of(&work.tree) {
        said += if receipt.has_passed() { ", check passed" } else { ", check failed" };
    }
    if let Some(head) = newer_head(directory, issue).await {
        said += &format!("; the branch is at {head} now");
    }
    Some(said)
}

/// Returns the short name of the last commit of a branch if it is not the one that was handed in.
pub async fn newer_head(directory: &Path, issue: &Issue) -> Option<String> {
    let work = issue.handed_in()?;
    let Branch { head, .. } = Branch::find(directory, issue).await?;
    (head != work.head).then(|| short_hash(&head).to_owned())
}

/// Returns what the branches of issues have that the main branch lacks: for each the commits, and the lines that these
/// add and remove. Files are not counted. Branches without a commit of their own are left out.
pub async fn open_branches(directory: &Path) -> HashMap<String, Work> {
    open_work(directory).await.unwrap_or_default()
}

async fn open_work(directory: &Path) -> Option<HashMap<String, Work>> {
    directory.ancestors().find(|outer| outer.join(".git").exists())?;
    let git = Git::around(directory, LIMIT);
    let main = worktrees(&git).await.ok()?.into_iter().next()?;
    let branches = format!("--branches={}", branch_of("*"));
    // One call for all branches: a page shows many agents.
    let log = ["log", &branches, "--not", "HEAD", MAX_OPEN, "--format=%x00%S", "--numstat"];
    let diff = ["--no-renames", "--no-ext-diff", "--no-textconv", "--"];
    let log = git.within(&main.path).try_output(&[&log[..], &diff[..]].concat()).await.ok()??;
    let mut found: HashMap<String, Work> = HashMap::new();
    for commit in log.split('\0').skip(1) {
        let mut lines = commit.lines();
        let name = lines.next()?.trim_start_matches("refs/heads/");
        let work = found.entry(name.to_owned()).or_default();
        work.commits += 1;
        lines.filter(|line| !line.is_empty()).for_each(|line| count_lines(work, line));
    }
    Some(found)
}

/// Returns the number of the pull request that the subject of a commit names, as GitHub, Gitea and Azure DevOps write
/// it: `Merge pull request #12 from a/b`, `Title (#12)`, `Merged PR 12: title`.
fn pull_request(subject: &str) -> Option<u64> {
    const MARKS: [&str; 3] = ["Merge pull request #", "(#", "Merged PR "];
    let digits = MARKS.iter().find_map(|mark| Some(subject.rsplit_once(mark)?.1))?;
    digits.split(|digit: char| !digit.is_ascii_digit()).next()?.parse().ok()
}

/// Adds the lines of a file in the format of `--numstat`. Those of a binary file are not counted.
fn count_lines(work: &mut Work, file: &str) {
    let mut numbers = file.split('\t').map(|number| number.parse().unwrap_or(0));
    work.added += numbers.next().unwrap_or(0);
    work.removed += numbers.next().unwrap_or(0);
}

/// The branch of an issue.
pub(super) struct Branch {
    /// git in the repository.
    pub git: Git,
    pub name: String,
    /// Its last commit.
    pub head: String,
}

impl Branch {
    /// Finds it in the repository around a directory.
    pub async fn find(directory: &Path, issue: &Issue) -> Option<Self> {
        // Outside of repositories, git is not even started.
        directory.ancestors().find(|outer| outer.join(".git").exists())?;
        let git = Git::around(directory, LIMIT);
        let name = branch_of(&issue.id.short());
        let reference = format!("refs/heads/{name}");
        let head =
            git.try_output(&["rev-parse", "--verify", "--quiet", &reference]).await.ok()??;
        Some(Self { git, name, head })
    }

    /// Returns git in the main worktree; `None` if the branch is checked out there.
    async fn main(&self) -> Option<Git> {
        let main = worktrees(&self.git).await.ok()?.into_iter().next()?;
        (main.branch.as_ref() != Some(&self.name)).then(|| self.git.within(&main.path))
    }

    /// Returns the commit at which the work begins.
    pub async fn start(&self) -> Option<String> {
        let Self { git, name, head } = self;
        let main = self.main().await?;
        let common = main.try_output(&["merge-base", "HEAD", head]).await.ok()??;
        if common != *head {
            return Some(common);
        }
        // The main branch has all of its commits: it was merged already, or nothing was committed.
        let log = ["log", "--walk-reflogs", "--format=%H %gs", name, "--"];
        let log = git.try_output(&log).await.ok()??;
        let lines: Vec<_> = log.lines().filter_map(|line| line.split_once(' ')).collect();
        let (start, _) = lines.last()?;
        let is_own = |(_, what): &(&str, &str)| OWN_COMMITS.iter().any(|own| what.starts_with(own));
        let start = if lines.iter().any(is_own) { start } else { head.as_str() };
        Some(start.to_owned())
    }

    /// Returns the commit that brought the branch to the main branch, and its subject; `None` if none did.
    async fn merge(&self) -> Option<(String, String)> {
        let main = self.main().await?;
        let is_merged = ["merge-base", "--is-ancestor", &self.head, "HEAD"];
        main.try_output(&is_merged).await.ok()??;
        let range = format!("{}..HEAD", self.head);
        let log =
            ["log", "--first-parent", "--ancestry-path", "--format=%H %P%x00%s", &range, "--"];
        let log = main.try_output(&log).await.ok()??;
        // The first commit after the branch, unless that only continues it.
        let merge = log.lines().last().and_then(|line| {
            let (commits, subject) = line.split_once('\0')?;
            let mut commits = commits.split(' ');
            let commit = commits.next().filter(|_| commits.next() != Some(&self.head))?;
            Some((commit.to_owned(), subject.to_owned()))
        });
        Some(merge.unwrap_or_else(|| (self.head.clone(), String::new())))
    }
}

#[cfg(test)]
mod tests {
    use super::pull_request;

    #[test]
    fn the_subject_of_a_merge_names_its_pull_request() {
        for (subject, number) in [
            ("Merge pull request #12 from team/issue", Some(12)),
            ("Merge pull request 'Read links' (#7) from issue into main", Some(7)),
            ("Read links (#3) (#41)", Some(41)),
            ("Merged PR 5: Read links", Some(5)),
            ("Merge branch 'issue'", None),
            ("Close #12", None),
            ("Odd (#x)", None),
        ] {
            assert_eq!(pull_request(subject), number, "{subject}");
        }
    }
}
