//! What the read model does not know: which descriptions lack sections of the template of their kind. The store and the
//! project are asked.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::read_model::ReadModel;
use crate::read_model::finding::{Finding, FindingKind, Findings, FoundIssue, MAX_KEPT};
use crate::read_model::text_facts::written_chars;
use crate::{StoreError, Tracker};
use ait_domain::thresholds::ENOUGH_DESCRIPTION_CHARS;
use ait_domain::{Issue, LinkKind, Query, Status, Template};

/// How many issues of a kind are looked at, the first ones.
const MAX_ISSUES: usize = 2_000;

/// Adds the sections that are missing to the findings of thin descriptions.
pub(super) async fn ask_for_sections(
    model: &ReadModel,
    findings: &mut Arc<Findings>,
) -> Result<(), StoreError> {
    let tracker = model.tracker();
    let templates = tracker.templates().await;
    if templates.is_empty() {
        return Ok(());
    }
    let wholes = model.read(|view| {
        let parts = view.index.links.of_kind(LinkKind::Parent);
        parts.map(|(whole, _)| whole).collect::<BTreeSet<_>>()
    });
    let wholes = wholes.await?;
    for template in templates {
        for issue in created(tracker, &template).await? {
            let missing = template.missing(&issue.description);
            if !missing.is_empty() && !wholes.contains(&issue.id) {
                Arc::make_mut(findings).ask_for(&issue, missing);
            }
        }
    }
    Ok(())
}

async fn created(tracker: &Tracker, template: &Template) -> Result<Vec<Arc<Issue>>, StoreError> {
    let statuses = Some(Status::Created).into();
    let classification = Some(template.kind);
    let query = Query { statuses, classification, take: MAX_ISSUES, ..Query::default() };
    Ok(tracker.list_issues(query).await?.issues)
}

impl Findings {
    fn ask_for(&mut self, issue: &Issue, sections: Vec<String>) {
        let kind = FindingKind::ThinDescription;
        let of_kind = |finding: &&mut Finding| finding.kind == kind;
        let mut known = self.found.iter_mut().filter(of_kind);
        if let Some(finding) = known.find(|finding| finding.issues[0].id == issue.id) {
            finding.sections = sections;
            return;
        }
        // The others are counted already.
        if written_chars(&issue.description) < ENOUGH_DESCRIPTION_CHARS {
            return;
        }
        self.counts[kind as usize] += 1;
        let end = self.found.partition_point(|finding| finding.kind <= kind);
        let begin = self.found.partition_point(|finding| finding.kind < kind);
        if end - begin < MAX_KEPT {
            let why = "the description lacks sections of the template of its kind".to_owned();
            let issues = vec![FoundIssue::from(issue)];
            self.found.insert(end, Finding { kind, issues, agent: None, why, sections });
        }
    }
}
