//! Merges versions of `issues.json` issue by issue, for git.
//!
//! It merges as an external edit is merged, but into the state of a file instead of a log. The base of an issue is its
//! version in the common ancestor. Knows no git and no store.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

use serde_json::Value;

use super::format::{self, FormatError};
use super::merge_state::plan_merge;
use crate::State;
use crate::published::plan::{MergeTarget, Versions, decide_merge};
use crate::state::Document;
use ait_domain::merge::lacks_only_comments;
use ait_domain::{AgentName, Command, CommentText, Issue, IssueId, Timestamp};

/// Who says in a comment what the merge did not take over.
const AUTHOR: &str = "git-merge";
/// The most characters of such a comment.
const MAX_CHARS: usize = 50_000;

/// The result of a merge.
#[derive(Clone, Debug)]
pub struct MergedFile {
    /// The bytes of the merged file.
    pub bytes: Vec<u8>,
    /// The number of issues in it.
    pub issues: usize,
    /// The issues in which both sides changed the same fields, and these fields. The value of `ours` stays, and a
    /// comment has the other one.
    pub conflicts: Vec<(IssueId, Vec<&'static str>)>,
}

/// A side of a merge that cannot be read.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{side} {source}")]
pub struct InvalidSide {
    /// The name of the side.
    pub side: &'static str,
    /// The reason.
    pub source: FormatError,
}

/// Merges two versions of `issues.json` that were made from `base`. An empty version has no issues.
///
/// The merge depends on the versions alone, so that it is the same in every clone.
pub fn merge_files(base: &[u8], ours: &[u8], theirs: &[u8]) -> Result<MergedFile, InvalidSide> {
    let base = state_of(base, "the common ancestor:")?;
    let ours = state_of(ours, "our side:")?;
    let theirs = state_of(theirs, "their side:")?;
    let plan =
        plan_merge(&ours, &theirs, |versions| Ok::<_, Infallible>(bases(versions, &base, &theirs)));
    let Ok(mut plan) = plan;
    let time_of = |command: &Command| match command {
        Command::MergeEdit { theirs, .. } => theirs.modified_at,
        Command::InsertIssue { issue, .. } => issue.modified_at,
        _ => Timestamp::from_unix_millis(0),
    };
    let mut merged = ours;
    decide_merge(&mut merged, &plan.commands, &mut plan.conflicts, time_of);
    for (id, fields) in &plan.conflicts {
        let Some(theirs) = theirs.issues.get(*id) else { continue };
        if let Err(error) =
            MergeTarget::decide(&mut merged, &comment(&theirs, fields), theirs.modified_at)
        {
            tracing::warn!("{}: {error}", id.short());
        }
    }
    let mut bytes = Vec::new();
    format::write(&merged.document(), &mut bytes).expect("a vector takes all bytes");
    Ok(MergedFile { bytes, issues: merged.issues.len(), conflicts: plan.conflicts })
}

fn state_of(bytes: &[u8], side: &'static str) -> Result<State, InvalidSide> {
    if bytes.trim_ascii().is_empty() {
        return Ok(State::of(Document::default()));
    }
    let document = format::parse(bytes).map_err(|source| InvalidSide { side, source })?;
    Ok(State::of(document))
}

/// Returns the base of each issue that differs.
///
/// If the history of one side has all of the other, that other version is the base: the side has seen it, even if the
/// common ancestor is older. But a history that has not grown since the common ancestor says nothing of edits by hand.
/// In a cherry-pick, git gives a version that one side has never seen. That is no base.
fn bases(versions: Versions, base: &State, theirs: &State) -> HashMap<IssueId, Arc<Issue>> {
    let ancestor = |id: IssueId| base.issues.get(id);
    let seen = |issue: Arc<Issue>| {
        let ancestor = ancestor(issue.id).filter(|ancestor| ancestor.history == issue.history);
        ancestor.unwrap_or(issue)
    };
    let current = versions.current.into_iter().map(|(id, ours)| (id, seen(ours)));
    let outdated = versions.outdated.into_iter().filter_map(|(id, (ours, _))| {
        let theirs = theirs.issues.get(id)?;
        if lacks_only_comments(&ours, &theirs) {
            return Some((id, seen(theirs)));
        }
        let is_ancestor = |base: &Arc<Issue>| {
            lacks_only_comments(&ours, base) && lacks_only_comments(&theirs, base)
        };
        Some((id, ancestor(id).filter(is_ancestor)?))
    });
    current.chain(outdated).collect()
}

/// Returns the command that says what the merge did not take over.
fn comment(theirs: &Issue, fields: &[&'static str]) -> Command {
    let values = serde_json::to_value(theirs).unwrap_or_default();
    let mut text =
        "Both sides of a merge changed this issue. Not taken over from the other side:".to_owned();
    for field in fields {
        let value = match values.get(*field) {
            Some(Value::String(value)) => value.clone(),
            Some(value) => value.to_string(),
            None => serde_json::to_string(&(&theirs.attributes, &theirs.unknown_keys))
                .unwrap_or_default(),
        };
        text.push_str(&format!("\n\n{field}: {value}"));
    }
    let text: String = text.chars().take(MAX_CHARS).collect();
    Command::CommentIssue {
        issue: theirs.id.into(),
        comment: CommentText::try_from(text).expect("the comment is neither blank nor too long"),
        agent: AgentName::try_from(AUTHOR).expect("the name is valid"),
    }
}
