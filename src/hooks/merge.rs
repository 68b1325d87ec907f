//! `post-merge`: a merged branch is noted on its issue, once.

use std::sync::Arc;

use super::call::latest;
use super::message::found;
use super::{Call, CallError, issue_in};
use crate::domain::{AgentName, CommentText, Issue};

/// The most branches that are noted of one merge.
const MAX_BRANCHES: usize = 20;
/// The most commits of a merge in which one is looked for.
const MAX_COMMITS: &str = "--max-count=500";
/// Where branches are.
const PLACES: [&str; 2] = ["refs/heads/", "refs/remotes/"];

/// A branch that was merged.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Branch {
    name: String,
    /// Its last commit; `None` where only its name is known.
    tip: Option<String>,
}

/// Notes what was merged; gives whether there was something to note.
pub(super) async fn note(call: &Call<'_>) -> Result<bool, CallError> {
    let Some(target) = call.git.branch().await? else { return Ok(false) };
    // What comes into the branch of an issue is the work of others, brought up to date.
    let (Some(noting), false) = (&call.noting, issue_in(&target).is_some()) else {
        return Ok(false);
    };
    let is_squash = call.argument(0) == Some("1");
    let branches = if is_squash { named(call) } else { merged(call).await? };
    let mut has_noted = false;
    let mut seen = Vec::new();
    for branch in branches.into_iter().take(MAX_BRANCHES) {
        let Some(reference) = issue_in(&branch.name) else { continue };
        let Some(issue) = found(call, reference).await? else { continue };
        if seen.contains(&issue.id) {
            continue;
        }
        seen.push(issue.id);
        let text = match is_squash {
            true => squashed(call, &issue, &branch, &target).await?,
            false => arrived(call, &issue, &branch, &target).await?,
        };
        if let Some(text) = text {
            say(call, &issue, text, noting).await?;
            has_noted = true;
        }
    }
    Ok(has_noted)
}

/// The branches that git was told to merge.
fn named(call: &Call<'_>) -> Vec<Branch> {
    let mut words = call.action.split_whitespace();
    let is_merge = matches!(words.next(), Some("merge" | "pull"));
    let names = words.filter(|name| is_merge && issue_in(name).is_some());
    names.map(|name| Branch { name: name.to_owned(), tip: None }).collect()
}

/// The branches with commits that were not here before: those that are known here, then those that git
/// was told to merge, such as one that is known elsewhere alone.
async fn merged(call: &Call<'_>) -> Result<Vec<Branch>, CallError> {
    let arguments = ["for-each-ref", "--merged", "HEAD", "--no-merged", "ORIG_HEAD"];
    let arguments = [&arguments[..], &["--format=%(objectname) %(refname)"], &PLACES].concat();
    let listed = call.git.ask_whether(&arguments).await?.unwrap_or_default();
    let branches = listed.lines().filter_map(|line| {
        let (tip, name) = line.split_once(' ')?;
        let name = PLACES.iter().find_map(|place| name.strip_prefix(place))?;
        issue_in(name)?;
        Some(Branch { name: name.to_owned(), tip: Some(tip.to_owned()) })
    });
    let mut branches: Vec<_> = branches.collect();
    branches.extend(named(call));
    Ok(branches)
}

/// What is to be said of a branch whose commits have arrived; `None` where that was said.
async fn arrived(
    call: &Call<'_>,
    issue: &Arc<Issue>,
    branch: &Branch,
    target: &str,
) -> Result<Option<String>, CallError> {
    let commit = arrival(call, branch).await?;
    let joint = format!(" merged into {target} as ");
    for comment in latest(issue) {
        let noted = comment.text.strip_prefix("Branch ").and_then(|it| it.split_once(&joint));
        let Some(noted) = noted.and_then(|(_, commit)| commit.strip_suffix('.')) else { continue };
        let is_hash = noted.len() >= 4 && noted.bytes().all(|it| it.is_ascii_hexdigit());
        // What came with an earlier merge has not come again.
        let contains = match &branch.tip {
            Some(tip) if is_hash => {
                let arguments = ["merge-base", "--is-ancestor", tip, noted];
                call.git.ask_whether(&arguments).await?.is_some()
            }
            _ => false,
        };
        if is_hash && (contains || commit.starts_with(noted)) {
            return Ok(None);
        }
    }
    let short = call.git.ask(&["rev-parse", "--short", &commit]).await?;
    Ok(Some(format!("Branch {}{joint}{short}.", branch.name)))
}

/// The commit with which a branch came: the first on the line of the target that contains it. A pull may
/// bring many merges, and each is named by its own, as it is wherever it is pulled.
async fn arrival(call: &Call<'_>, branch: &Branch) -> Result<String, CallError> {
    let head = call.git.ask(&["rev-parse", "HEAD"]).await?;
    let Some(tip) = &branch.tip else { return Ok(head) };
    let arguments = ["rev-list", "--first-parent", "--reverse", MAX_COMMITS, "ORIG_HEAD..HEAD"];
    let listed = call.git.ask_whether(&arguments).await?.unwrap_or_default();
    let line: Vec<&str> = listed.lines().collect();
    let (mut without, mut with) = (0, line.len().saturating_sub(1));
    while without < with {
        let middle = usize::midpoint(without, with);
        let arguments = ["merge-base", "--is-ancestor", tip, line[middle]];
        if call.git.ask_whether(&arguments).await?.is_some() {
            with = middle;
        } else {
            without = middle + 1;
        }
    }
    Ok(line.get(with).map_or(head, |commit| (*commit).to_owned()))
}

/// What is to be said of a branch whose changes wait to be committed; `None` where that was said.
async fn squashed(
    call: &Call<'_>,
    issue: &Arc<Issue>,
    branch: &Branch,
    target: &str,
) -> Result<Option<String>, CallError> {
    let short = call.git.ask(&["rev-parse", "--short", "HEAD"]).await?;
    let name = &branch.name;
    let text = format!("Branch {name} squashed into {target} on top of {short}, to be committed.");
    let is_said = latest(issue).any(|comment| comment.text == text);
    Ok((!is_said).then_some(text))
}

async fn say(
    call: &Call<'_>,
    issue: &Arc<Issue>,
    text: String,
    noting: &AgentName,
) -> Result<(), CallError> {
    let comment = CommentText::try_from(text)?;
    call.tracker.comment_issue(issue.id.into(), comment, noting.clone()).await?;
    Ok(())
}
