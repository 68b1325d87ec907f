//! What closed issues tell the agent that claims another one.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use super::{StoreError, Tracker, read_after_change};
use crate::domain::lessons::{files, lesson, subjects};
use crate::domain::{Condition, Issue, IssueId, Order, Query, Status};

/// How many closed issues are told of at most, and with how many characters: 300 tokens.
const MAX_TOLD: usize = 8;
const MAX_CHARS: usize = 900;
/// How many closed issues about the same are looked at, the latest ones.
const MAX_COMPARED: usize = 30;

/// What a closed issue tells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lesson {
    pub issue: IssueId,
    /// A sentence of its comments.
    pub text: String,
}

/// A line with the short id.
impl fmt::Display for Lesson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.issue.short(), self.text)
    }
}

impl Tracker {
    /// Returns what was learned in closed issues near an issue: first those that it is linked with,
    /// then those about the files that it names or with the words of its title. Nothing if none is near.
    pub async fn known(&self, issue: &Issue) -> Vec<Lesson> {
        read_after_change(self.find_known(issue)).await.unwrap_or_default()
    }

    async fn find_known(&self, issue: &Issue) -> Result<Vec<Lesson>, StoreError> {
        let files = files(issue);
        let mut near = self.linked_with(issue).await?;
        near.extend(self.about(subjects(issue, &files)).await?);
        let mut told = BTreeSet::from([issue.id]);
        let mut lessons = Vec::new();
        let mut chars = 0;
        for other in near {
            if other.status != Status::Closed || !told.insert(other.id) {
                continue;
            }
            let Some(text) = lesson(&other, &files) else { continue };
            let lesson = Lesson { issue: other.id, text };
            chars += lesson.to_string().chars().count();
            if lessons.len() == MAX_TOLD || chars > MAX_CHARS {
                break;
            }
            lessons.push(lesson);
        }
        Ok(lessons)
    }

    async fn linked_with(&self, issue: &Issue) -> Result<Vec<Arc<Issue>>, StoreError> {
        let links = &issue.attributes.links;
        if links.is_empty() {
            return Ok(Vec::new());
        }
        let around = self.issues_around([issue.id]).await?;
        Ok(links.iter().filter_map(|link| around.get(link.to)).collect())
    }

    async fn about(&self, subjects: BTreeSet<String>) -> Result<Vec<Arc<Issue>>, StoreError> {
        if subjects.is_empty() {
            return Ok(Vec::new());
        }
        let condition = Condition::Tells(subjects);
        let order = Order::LatestActivity;
        let query = Query { condition, order, take: MAX_COMPARED, ..Query::default() };
        Ok(self.list_issues(query).await?.issues)
    }
}
