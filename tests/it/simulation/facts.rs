//! What must be so where somebody edits `issues.json` while processes run: which of the two comes first is not
//! known then, and so neither is each state. Whatever was answered must be there, and whatever was written by
//! hand.

use std::collections::BTreeMap;

use agent_issue_tracker::domain::{Issue, IssueId};

/// What is known to be so.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// What was told about issues, and when.
    told: Vec<(u64, Issue)>,
    /// The title that each issue has got by hand at last.
    titles: BTreeMap<IssueId, String>,
    /// What is in files that were kept because somebody saved twice at the same moment.
    pub kept: Vec<Issue>,
}

impl Facts {
    /// Takes note of an answer.
    pub fn tell(&mut self, now: u64, issue: &Issue) {
        self.told.push((now, issue.clone()));
    }

    /// Takes note of a title that somebody has given an issue, which need not have been there before.
    pub fn entitle(&mut self, issue: IssueId, title: &str) {
        self.titles.insert(issue, title.to_owned());
    }

    /// Checks that issues have everything that was told before a time; of one issue alone where only that was
    /// asked for.
    pub fn are_in(&self, found: &[Issue], before: u64, only: bool) -> Result<(), String> {
        for (time, told) in &self.told {
            let Some(issue) = found.iter().find(|issue| issue.id == told.id) else {
                if only || *time >= before {
                    continue;
                }
                return Err(format!("{} is not there any more: {found:?}", told.id));
            };
            let has_all = told.history.iter().all(|entry| issue.history.contains(entry))
                && told.comments.iter().all(|comment| issue.comments.contains(comment));
            if *time < before && !has_all {
                return Err(format!("{issue:?} has not all of {told:?}"));
            }
        }
        Ok(())
    }

    /// Checks that all that was written by hand is there.
    pub fn arrived(&self, found: &[Issue]) -> Result<(), String> {
        for (id, title) in &self.titles {
            let mut everywhere = found.iter().chain(&self.kept);
            if !everywhere.any(|issue| issue.id == *id && issue.title.as_str() == title) {
                return Err(format!("{id} has not got the title {title:?}: {found:?}"));
            }
        }
        Ok(())
    }
}
