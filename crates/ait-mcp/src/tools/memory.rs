//! The memory as tools show it: rows of entries with what changed since, and what an agent learned in its work.

use std::time::Duration;

use serde::Deserialize;

use super::CallContext;
use crate::result::Failure;
use ait_domain::schema::any_string;
use ait_domain::string_schema;
use ait_domain::{AgentName, Classification, IssueRef};
use ait_hooks::{changed_files, note_changes};
use ait_system::git::Git;
use ait_tracker::Lesson;
use ait_tracker::memory::NewEntry;

/// The longest text that an agent keeps, in characters. People may keep longer ones.
pub(super) const MAX_CHARS: usize = 600;
/// How many files of a branch a text is about at most.
const MAX_FILES: usize = 8;
/// How long git may take for a call.
const GIT_LIMIT: Duration = Duration::from_millis(300);

/// What an agent learned in its work.
#[derive(Deserialize)]
pub(super) struct Learned(String);

string_schema! {
    Learned = any_string(),
}

/// Checks the length of a text that an agent keeps.
pub(super) fn checked(text: String) -> Result<String, Failure> {
    let count = text.chars().count();
    if count <= MAX_CHARS {
        return Ok(text);
    }
    Err(Failure::invalid(format!(
        "the text has {count} characters, and at most {MAX_CHARS} are kept: say one thing, and leave out what the code says"
    )))
}

impl CallContext {
    /// Keeps what an agent learned in its work on an issue, about the files of its branch.
    pub(super) async fn learn(
        &self,
        issue: &IssueRef,
        learned: Option<Learned>,
        agent: &AgentName,
    ) -> Result<(), Failure> {
        let Some(Learned(text)) = learned.filter(|learned| !learned.0.trim().is_empty()) else {
            return Ok(());
        };
        let text = checked(text)?;
        let issue = self.tracker.get_issue(issue.clone()).await?.id;
        let files = changed_files(&self.git().await, issue).await.unwrap_or_default();
        let files = files.into_iter().take(MAX_FILES).collect();
        let about = vec![issue.to_string()];
        let entry = NewEntry { about, files, ..NewEntry::new(Classification::Fact, text) };
        self.tracker.remember(entry, agent.clone()).await?;
        Ok(())
    }

    /// Returns a line for each lesson, with how often its files changed since.
    pub(super) async fn lines(&self, mut lessons: Vec<Lesson>) -> Vec<String> {
        if lessons.iter().any(|lesson| !lesson.files.is_empty()) {
            note_changes(&self.git().await, &mut lessons).await;
        }
        lessons.iter().map(ToString::to_string).collect()
    }

    pub(super) async fn git(&self) -> Git {
        Git::new(self.server.get().await.project.root, GIT_LIMIT)
    }
}
