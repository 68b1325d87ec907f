//! What the read model does not know: what is wrong with the entries of the memory, and which claims are stuck. The
//! store is asked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::sections::ask_for_sections;
use crate::read_model::finding::{Finding, FindingKind, Findings, FoundIssue, MAX_KEPT};
use crate::read_model::{IssueSummary, ReadModel, ReadView};
use crate::stuck::StuckClaim;
use crate::{StoreError, Tracker};
use ait_domain::lessons::{files, told_subjects, wanted_subjects};
use ait_domain::thresholds::{UNUSED_AFTER_DAYS, UNUSED_AFTER_MS};
use ait_domain::titles::significant_words;
use ait_domain::{
    Classification, Condition, Issue, IssueId, Order, Query, Status, Timestamp, memory,
};

/// How many decisions and unused entries are looked at, and how many issues they are compared with; the latest ones.
const MAX_ENTRIES: usize = 500;
const MAX_ISSUES: usize = 2_000;

impl ReadModel {
    /// Returns what is wrong in the queue and in the memory.
    ///
    /// # Errors
    ///
    /// Those of reads.
    pub async fn findings(&self, now: Timestamp) -> Result<Arc<Findings>, StoreError> {
        let tracker = self.tracker();
        let mut findings = self.read(move |view| view.findings(now)).await?;
        ask_for_sections(self, &mut findings).await?;
        if tracker.counts().await?.in_status(Status::Kept) > 0 {
            let findings = Arc::make_mut(&mut findings);
            findings.add(FindingKind::Contradiction, contradictions(tracker).await?);
            findings.add(FindingKind::UnusedEntry, unused(tracker, now).await?);
        }
        let stuck = tracker.recently_stuck().await?;
        if !stuck.is_empty() {
            let found = |claim: &StuckClaim| (vec![Arc::clone(&claim.issue)], claim.why());
            let found = self.read(move |view| {
                stuck.iter().filter(|claim| view.has_claim(claim)).map(found).collect()
            });
            Arc::make_mut(&mut findings).add(FindingKind::Stuck, found.await?);
        }
        Ok(findings)
    }
}

impl ReadView<'_> {
    /// Returns true if a claim that was stuck lately still lasts.
    pub fn has_claim(&self, stuck: &StuckClaim) -> bool {
        let now = self.summary(stuck.issue.id).and_then(IssueSummary::holder);
        let then = stuck.issue.holder();
        then.is_some_and(|then| now.is_some_and(|now| now.since == then.since))
    }
}

impl Findings {
    fn add(&mut self, kind: FindingKind, found: Vec<(Vec<Arc<Issue>>, String)>) {
        self.counts[kind as usize] = found.len();
        self.found.extend(found.into_iter().take(MAX_KEPT).map(|(entries, why)| {
            let issues = entries.iter().map(|entry| FoundIssue::from(&**entry)).collect();
            Finding { kind, issues, agent: None, why, sections: Vec::new() }
        }));
    }
}

/// Finds pairs of decisions in force about the same file that have no link with each other, the newer one first.
async fn contradictions(tracker: &Tracker) -> Result<Vec<(Vec<Arc<Issue>>, String)>, StoreError> {
    let decisions = Condition::Classification(Classification::Decision);
    let decisions = tracker.entries_in_force(decisions, MAX_ENTRIES).await?.issues;
    let mut about: BTreeMap<String, Vec<&Arc<Issue>>> = BTreeMap::new();
    for decision in &decisions {
        for file in memory::files(decision) {
            about.entry(file).or_default().push(decision);
        }
    }
    let mut told = BTreeSet::new();
    let mut found = Vec::new();
    for (file, decisions) in about {
        for (at, one) in decisions.iter().enumerate() {
            for other in &decisions[at + 1..] {
                let linked = |one: &Issue, other: IssueId| {
                    one.attributes.links.iter().any(|link| link.to == other)
                };
                let mut pair = [*one, *other];
                pair.sort_by_key(|entry| std::cmp::Reverse((entry.created_at, entry.id)));
                let is_new = told.insert((pair[0].id, pair[1].id));
                if is_new && !linked(one, other.id) && !linked(other, one.id) {
                    let why = format!("both are about {file}, and neither replaces the other");
                    found.push((pair.map(Arc::clone).to_vec(), why));
                }
            }
        }
    }
    Ok(found)
}

/// Finds entries in force, unchanged for long, that no claim of an issue can have shown that was worked on since.
async fn unused(
    tracker: &Tracker,
    now: Timestamp,
) -> Result<Vec<(Vec<Arc<Issue>>, String)>, StoreError> {
    let begin = Timestamp::from_unix_millis(now.unix_millis() - UNUSED_AFTER_MS as i64);
    let old = Condition::Changed(Timestamp::MIN..=begin);
    let mut entries = tracker.entries_in_force(old, MAX_ENTRIES).await?.issues;
    if entries.is_empty() {
        return Ok(Vec::new());
    }
    let recent = Query {
        condition: Condition::Changed(begin..=Timestamp::MAX),
        order: Order::LatestActivity,
        take: MAX_ISSUES,
        ..Query::default()
    };
    let recent = tracker.list_issues(recent).await?.issues;
    let mut wanted = BTreeSet::new();
    let mut words = BTreeSet::new();
    let mut linked = BTreeSet::new();
    for issue in &recent {
        wanted.extend(wanted_subjects(issue, &files(issue)));
        words
            .extend(significant_words(&issue.title).into_iter().map(|word| format!("word {word}")));
        linked.insert(issue.id);
        linked.extend(issue.attributes.links.iter().map(|link| link.to));
    }
    entries.retain(|entry| {
        let told = told_subjects(entry);
        let is_linked = linked.contains(&entry.id)
            || entry.attributes.links.iter().any(|link| linked.contains(&link.to));
        !is_linked && told.is_disjoint(&wanted) && told.intersection(&words).count() < 2
    });
    let why = format!("no issue of the last {UNUSED_AFTER_DAYS} days is near to it");
    Ok(entries.into_iter().map(|entry| (vec![entry], why.clone())).collect())
}
