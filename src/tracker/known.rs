//! What closed issues tell the agent that claims another one.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{StoreError, Tracker, read_after_change};
use crate::domain::lessons::{files_in, lesson};
use crate::domain::titles::{are_near, significant_words};
use crate::domain::{Condition, Issue, Order, Query, Status};

/// How many closed issues are told of at most, and with how many characters: 300 tokens.
const MAX_TOLD: usize = 8;
const MAX_CHARS: usize = 900;
/// How many closed issues that name a file, and how many with words of the title, are looked at.
const MAX_ABOUT_FILES: usize = 20;
const MAX_COMPARED: usize = 20;

impl Tracker {
    /// Returns what was learned in closed issues near an issue, a line for each: first those that it is linked with,
    /// then those about the files that it names, then those with nearly its title. Nothing if none is near.
    pub async fn known(&self, issue: &Issue) -> Vec<String> {
        read_after_change(self.find_known(issue)).await.unwrap_or_default()
    }

    async fn find_known(&self, issue: &Issue) -> Result<Vec<String>, StoreError> {
        let texts = issue.searchable_texts();
        let files: BTreeSet<_> = texts.flat_map(|text| files_in(&text)).collect();
        let mut near = self.linked_with(issue).await?;
        near.extend(self.about(&files).await?);
        near.extend(self.with_title_of(issue).await?);
        let mut told = BTreeSet::from([issue.id]);
        let mut lines = Vec::new();
        let mut chars = 0;
        for other in near {
            if other.status != Status::Closed || !told.insert(other.id) {
                continue;
            }
            let Some(lesson) = lesson(&other, &files) else { continue };
            let line = format!("{} {lesson}", other.id.short());
            chars += line.chars().count();
            if lines.len() == MAX_TOLD || chars > MAX_CHARS {
                break;
            }
            lines.push(line);
        }
        Ok(lines)
    }

    async fn linked_with(&self, issue: &Issue) -> Result<Vec<Arc<Issue>>, StoreError> {
        let links = &issue.attributes.links;
        if links.is_empty() {
            return Ok(Vec::new());
        }
        let around = self.issues_around([issue.id]).await?;
        Ok(links.iter().filter_map(|link| around.get(link.to)).collect())
    }

    async fn about(&self, files: &BTreeSet<String>) -> Result<Vec<Arc<Issue>>, StoreError> {
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let texts = files.iter().map(|file| Condition::Text(file.to_lowercase()));
        self.closed(Condition::Any(texts.collect()), Order::LatestActivity, MAX_ABOUT_FILES).await
    }

    async fn with_title_of(&self, issue: &Issue) -> Result<Vec<Arc<Issue>>, StoreError> {
        let texts = significant_words(&issue.title);
        if texts.len() < 2 {
            return Ok(Vec::new());
        }
        let at_least = texts.len().div_ceil(2);
        let words = Condition::SomeTexts { texts, at_least };
        let mut found = self.closed(words, Order::Relevance, MAX_COMPARED).await?;
        found.retain(|other| are_near(&issue.title, &other.title));
        Ok(found)
    }

    async fn closed(
        &self,
        condition: Condition,
        order: Order,
        take: usize,
    ) -> Result<Vec<Arc<Issue>>, StoreError> {
        let statuses = Some(Status::Closed).into();
        Ok(self
            .list_issues(Query { statuses, condition, order, take, ..Query::default() })
            .await?
            .issues)
    }
}
