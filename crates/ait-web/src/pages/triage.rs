//! The page of what is wrong in the queue.

use maud::{Markup, html};

use super::components;
use crate::strings::triage as text;
use ait_tracker::read_model::{FindingKind, Findings};
use ait_tracker::triage::{Reader, ReportedFinding, TriageReport};

/// How many findings the page shows of all kinds together, and of one kind.
const MAX_OF_ALL: usize = 60;
const MAX_OF_KIND: usize = 100;

/// Renders the page; only findings of one kind if there is one.
pub(super) fn content(findings: &Findings, kind: Option<FindingKind>) -> Markup {
    let take = if kind.is_some() { MAX_OF_KIND } else { MAX_OF_ALL };
    let report = TriageReport::of(findings, kind.as_slice(), take, Reader::Person);
    let is_same = |one: &ReportedFinding<'_>, next: &ReportedFinding<'_>| {
        one.finding.kind == next.finding.kind
    };
    html! {
        h1.unseen { (text::TITLE) }
        @if kind.is_some() { p { a href="/triage" { "Show all kinds" } } }
        @if report.total == 0 {
            section.notice {
                p {
                    "Nothing is wrong in the queue. This command looks for the same in a terminal:"
                }
                (components::command("ait triage"))
            }
        }
        @for found in report.findings.chunk_by(is_same) {
            (section(found[0].finding.kind, found, report.counts[found[0].finding.kind.as_str()], kind.is_none()))
        }
        @if kind.is_some() && report.more > 0 { p.quiet { (components::with_code(&format!("{} more: `ait triage -n {}` lists them", report.more, report.more))) } }
    }
}

/// Renders the findings of a kind. The page of all kinds leads to the others.
fn section(
    kind: FindingKind,
    found: &[ReportedFinding<'_>],
    count: usize,
    is_among_others: bool,
) -> Markup {
    html! {
        section.questions aria-labelledby={ "kind-" (kind) } {
            h2 id={ "kind-" (kind) } {
                a href={ "/triage?kind=" (kind) } { (text::kind(kind)) } " " span.count { (count) }
            }
            p.quiet { (kind.description()) }
            @for reported in found { (finding(reported)) }
            @if is_among_others && count > found.len() {
                p.more { a href={ "/triage?kind=" (kind) } { (count - found.len()) " more" } }
            }
        }
    }
}

fn finding(reported: &ReportedFinding<'_>) -> Markup {
    html! {
        article.question {
            @for issue in &reported.finding.issues {
                h3 {
                    (components::status(issue.status)) " "
                    a href=(components::issue_path(issue.id)) dir="auto" { (components::undirected(&issue.title)) }
                }
            }
            p.asked dir="auto" { (components::undirected(&reported.finding.why)) }
            p.quiet { "Next: " (components::with_code(&reported.next)) }
        }
    }
}
