//! What a lead needs to know before it starts workers: how much there is, and how much of it can be claimed.

use indexmap::IndexMap;
use serde::Serialize;

use super::{StoreError, Tracker};
use ait_domain::{Condition, Query, Status, StatusSet};

/// The numbers of a queue.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Round {
    /// How many issues have each status.
    #[serde(flatten)]
    pub counts: IndexMap<&'static str, usize>,
    /// How many open issues there are of each classification.
    pub open: IndexMap<&'static str, usize>,
    /// How many issues an agent could claim for work, of each classification, and for `review`.
    pub ready: IndexMap<&'static str, usize>,
    /// How many open issues are parked.
    pub parked: usize,
    /// How many questions to people are open.
    pub questions: usize,
}

impl Tracker {
    /// Counts the issues of the queue.
    pub async fn round(&self) -> Result<Round, StoreError> {
        let now = self.now();
        let counts = self.counts().await?;
        let counts =
            Status::OF_WORK.iter().map(|status| (status.as_str(), counts.in_status(*status)));
        let open = Query { statuses: StatusSet::open(), ..Query::default() };
        let is_parked = Condition::Parked(now);
        let is_unparked = Condition::Not(Box::new(is_parked.clone()));
        let completed = Query { statuses: Some(Status::Completed).into(), ..Query::default() };
        let mut round = Round {
            counts: counts.collect(),
            open: IndexMap::new(),
            ready: IndexMap::from([("review", self.count(completed.with(is_unparked)).await?)]),
            parked: self.count(open.clone().with(is_parked)).await?,
            questions: self.questions().await?.len(),
        };
        for kind in self.classifications().iter() {
            let open = Query { classification: Some(kind), ..open.clone() };
            round.open.insert(kind.as_str(), self.count(open.clone()).await?);
            let ready = self.count(open.with(Condition::Ready(now))).await?;
            round.ready.insert(kind.as_str(), ready);
        }
        Ok(round)
    }

    /// Counts the issues that match a query, all of them.
    async fn count(&self, query: Query) -> Result<usize, StoreError> {
        // All matches of a condition are counted only up to a page that is looked for.
        let skip = if query.condition.is_empty() { 0 } else { usize::MAX };
        let all = Query { skip, take: 0, ..query };
        Ok(self.list_issues(all).await?.total)
    }
}
