//! Open issues with nearly the title of a new one.

use std::sync::Arc;

use super::{StoreError, Tracker, read_after_change};
use ait_domain::titles::{are_near, significant_words};
use ait_domain::{Condition, Issue, Order, Query, StatusSet};

/// How many issues are named at most.
const MAX_NAMED: usize = 2;
/// How many issues with words of a title are compared with it.
const MAX_COMPARED: usize = 20;
/// How many words of a title are looked for.
const MAX_WORDS: usize = 12;

impl Tracker {
    /// Returns at most two open issues, other than these new ones, that have nearly the title of one of them.
    ///
    /// Looks only at the latest issues and at those with a rare word of a title.
    pub async fn near_titles(&self, filed: &[Arc<Issue>]) -> Vec<Arc<Issue>> {
        read_after_change(self.find_near_titles(filed)).await.unwrap_or_default()
    }

    async fn find_near_titles(&self, filed: &[Arc<Issue>]) -> Result<Vec<Arc<Issue>>, StoreError> {
        let mut near: Vec<Arc<Issue>> = Vec::new();
        for new in filed {
            let take = MAX_COMPARED + filed.len();
            for found in self.with_words_of(&new.title, StatusSet::open(), take).await? {
                let is_new = !filed.iter().chain(&near).any(|known| known.id == found.id);
                if is_new && are_near(&new.title, &found.title) {
                    near.push(found);
                }
                if near.len() == MAX_NAMED {
                    return Ok(near);
                }
            }
        }
        Ok(near)
    }

    /// Returns the issues, in any status, that have the most in common with the title of one; itself not.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    pub async fn similar_titles(
        &self,
        issue: &Issue,
        take: usize,
    ) -> Result<Vec<Arc<Issue>>, StoreError> {
        let mut found = self.with_words_of(&issue.title, StatusSet::ALL, take + 1).await?;
        found.retain(|other| other.id != issue.id);
        found.truncate(take);
        Ok(found)
    }

    /// Returns the issues with at least half of the words of a title, the most relevant first.
    async fn with_words_of(
        &self,
        title: &str,
        statuses: StatusSet,
        take: usize,
    ) -> Result<Vec<Arc<Issue>>, StoreError> {
        let mut texts = significant_words(title);
        texts.truncate(MAX_WORDS);
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let at_least = texts.len().div_ceil(2);
        let condition = Condition::SomeTexts { texts, at_least };
        let order = Order::Relevance;
        let query = Query { statuses, condition, order, take, ..Query::default() };
        Ok(self.list_issues(query).await?.issues)
    }
}
