//! Requests that file issues and are repeated, because their answer was lost.
//!
//! The ids of the issues follow from the request. So a repeat finds what the first one filed, in every process and
//! store, and two at once cannot both file.

use std::sync::Arc;
use std::time::Duration;

use uuid::Builder;
use xxhash_rust::xxh3::xxh3_128;

use super::{EventPosition, NewIssue, StoreError, Tracker};
use ait_domain::text::trimmed;
use ait_domain::{AgentName, DomainError, Issue, IssueId};

/// How long a request id stands for one request.
const REQUEST_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// The longest name of a request, in characters.
const MAX_REQUEST_CHARS: usize = 200;

/// What became of a request.
enum Filing {
    /// It is new. These are the ids for its issues.
    New(Vec<IssueId>),
    /// It repeats one that filed these issues.
    Repeated(Vec<Arc<Issue>>),
}

impl Tracker {
    /// Files issues, which are made from their ids. A repeat of a named request files nothing, and gets the issues of
    /// the first one, without events.
    ///
    /// # Errors
    ///
    /// Those of [`add_issues`](Self::add_issues) and of `issues`; the name of the request is empty or too long.
    pub async fn file<E: From<StoreError>>(
        &self,
        request: Option<&str>,
        agent: AgentName,
        count: usize,
        issues: impl Fn(&[IssueId]) -> Result<Vec<NewIssue>, E>,
    ) -> Result<(Vec<Arc<Issue>>, Vec<EventPosition>), E> {
        let Some(request) = request else {
            let ids: Vec<_> = (0..count).map(|_| NewIssue::random_id()).collect();
            return Ok(self.add_issues(issues(&ids)?, agent).await?);
        };
        let request = trimmed("the request id", request, MAX_REQUEST_CHARS);
        let request = request.map_err(StoreError::Refused)?;
        loop {
            let ids = match self.filing(&request, &agent, count).await? {
                Filing::New(ids) => ids,
                Filing::Repeated(issues) => return Ok((issues, Vec::new())),
            };
            match self.add_issues(issues(&ids)?, agent.clone()).await {
                // The same request has filed them meanwhile.
                Err(StoreError::Refused(DomainError::IdTaken { id })) if ids.contains(&id) => {}
                filed => return Ok(filed?),
            }
        }
    }

    /// Finds out whether an agent repeats a request to file `count` issues, which it named `request`.
    async fn filing(
        &self,
        request: &str,
        agent: &AgentName,
        count: usize,
    ) -> Result<Filing, StoreError> {
        let store = self.store_id().await;
        // The same id may name another request after its lifetime.
        for turn in 0_u32.. {
            let id = |at| id(&[&store.to_string(), agent.as_str(), request], turn, at);
            let ids: Vec<_> = (0..count).map(id).collect();
            let mut filed = Vec::new();
            for id in &ids {
                match self.get_issue((*id).into()).await {
                    Ok(issue) => filed.push(issue),
                    Err(StoreError::Refused(_)) => break,
                    Err(error) => return Err(error),
                }
            }
            let Some(first) = filed.first() else { return Ok(Filing::New(ids)) };
            let age_ms = self.now().millis_since(first.created_at);
            if Duration::from_millis(age_ms) < REQUEST_LIFETIME {
                return Ok(Filing::Repeated(filed));
            }
        }
        unreachable!("a store has less than 4 billion issues")
    }
}

/// Returns an id in the form of a random one.
fn id(parts: &[&str], turn: u32, at: usize) -> IssueId {
    let text = format!("{parts:?} {turn} {at}");
    Builder::from_random_bytes(xxh3_128(text.as_bytes()).to_be_bytes()).into_uuid().into()
}
