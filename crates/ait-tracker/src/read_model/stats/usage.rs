//! What the work used: by model, by agent and over time, for closed issues, and for attempts that failed.

use std::sync::Arc;

use indexmap::IndexMap;
use serde::Serialize;

use crate::read_model::agent_interner::Names;
use crate::read_model::summary::IssueSummary;
use ait_domain::{Status, Timestamp, Usage};

/// What was recorded since the start of the statistics.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageStats {
    pub total: Usage,
    /// What was used by claims whose issues came back to the queue after them.
    pub failed: Usage,
    /// What the issues that were closed since then used in all.
    pub closed: Usage,
    /// How many of these there are, without those of which nothing is known.
    pub closed_issues: usize,
    pub by_model: IndexMap<String, Usage>,
    pub by_agent: IndexMap<String, Usage>,
    /// What was used in each bucket of the throughput.
    pub buckets: Vec<Usage>,
}

impl UsageStats {
    /// Sums up what was used in some buckets; `None` if nothing is known.
    pub(super) fn of<'a>(
        summaries: impl Iterator<Item = &'a Arc<IssueSummary>>,
        names: &Names,
        begin: Timestamp,
        bucket_ms: u64,
        buckets: usize,
    ) -> Option<Self> {
        let mut stats = Self { buckets: vec![Usage::default(); buckets], ..Self::default() };
        for summary in summaries.filter(|summary| !summary.usages.is_empty()) {
            for used in &summary.usages {
                let usage = Usage { model: String::new(), claim: 0, ..used.usage.clone() };
                if used.at < begin {
                    continue;
                }
                stats.total.add(&usage);
                if used.is_failed {
                    stats.failed.add(&usage);
                }
                let model = used.usage.model.clone();
                stats.by_model.entry(model).or_default().add(&usage);
                let agent = names.text(used.agent).to_owned();
                stats.by_agent.entry(agent).or_default().add(&usage);
                let at = (used.at.millis_since(begin) / bucket_ms) as usize;
                // A clock may be ahead.
                stats.buckets[at.min(buckets - 1)].add(&usage);
            }
            if summary.status == Status::Closed && summary.in_status_since() >= begin {
                stats.closed_issues += 1;
                for used in &summary.usages {
                    stats.closed.add(&Usage { model: String::new(), ..used.usage.clone() });
                }
            }
        }
        let most = |_: &String, one: &Usage, _: &String, other: &Usage| {
            (other.micros, other.tokens()).cmp(&(one.micros, one.tokens()))
        };
        stats.by_model.sort_by(most);
        stats.by_agent.sort_by(most);
        (!stats.total.is_empty()).then_some(stats)
    }

    /// Says what an issue that was closed used on average; `None` if none was.
    pub fn per_closed_issue(&self) -> Option<Usage> {
        (self.closed_issues > 0).then(|| self.closed.divided_by(self.closed_issues))
    }
}
