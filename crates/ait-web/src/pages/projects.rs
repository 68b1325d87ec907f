//! The page of all projects of the user that are served on this machine.

use maud::{Markup, html};

use super::components::{undirected, with_code};
use crate::projects::{ProjectNumbers, ServedProject};
use crate::strings::projects as text;
use ait_domain::Status;

/// Renders the page. `own` has the numbers of this server.
pub(super) fn content(projects: &[ServedProject], own: &ProjectNumbers) -> Markup {
    html! {
        h1 { (text::TITLE) }
        p.quiet { "Your projects that are served on this machine. Each has its own address." }
        div.sheet.projects {
            table role="table" {
                thead role="rowgroup" {
                    tr role="row" {
                        th scope="col" role="columnheader" { "Project" }
                        @for (name, ..) in cells(own) {
                            th.number scope="col" role="columnheader" { (name) }
                        }
                    }
                }
                tbody role="rowgroup" { @for project in projects { (row(project, own)) } }
            }
        }
    }
}

fn row(project: &ServedProject, own: &ProjectNumbers) -> Markup {
    let ServedProject { entry, numbers, is_own } = project;
    let numbers = if *is_own { Some(own) } else { numbers.as_ref() };
    // The pages of this server have this address, however the reader came here.
    let url = entry.url.as_deref().filter(|_| !is_own).unwrap_or_default();
    let name = entry.project.as_deref().unwrap_or(url);
    html! {
        tr role="row" {
            th scope="row" role="rowheader" {
                a.title href={ (url) "/" } { bdi { (undirected(name)) } }
                @if *is_own { " " span.quiet { "this server" } }
                @if let Some(store) = &entry.store { span.store { bdi { (undirected(store)) } } }
            }
            @if let Some(damaged) = numbers.and_then(|numbers| numbers.damaged.as_ref()) {
                td role="cell" colspan="6" dir="auto" translate="yes" { (with_code(&undirected(damaged))) }
            } @else if let Some(numbers) = numbers {
                @for (name, count, path) in cells(numbers) {
                    td.number role="cell" data-name=(name) {
                        @if count > 0 { a href={ (url) (path) } { (count) } } @else { "0" }
                    }
                }
            } @else {
                td.quiet role="cell" colspan="6" {
                    @if entry.is_guarded { "needs a token: open its page to see more" } @else { "does not answer" }
                }
            }
        }
    }
}

/// Returns the numbers of a project with their names, and the paths of the pages that show what they count.
fn cells(numbers: &ProjectNumbers) -> [(&'static str, usize, &'static str); 6] {
    let sum = |statuses: &[Status]| -> usize {
        statuses.iter().map(|status| numbers.in_status(*status)).sum()
    };
    let review = sum(&[Status::Completed, Status::InReview]);
    let ended = sum(&[Status::Closed, Status::Rejected]);
    [
        ("Waiting", sum(&[Status::Created]), "/?status=created"),
        ("In progress", sum(&[Status::InProgress]), "/?status=in_progress"),
        ("For review", review, "/?status=completed&status=in_review"),
        ("Ended", ended, "/?status=closed&status=rejected"),
        ("Questions", numbers.questions, "/board"),
        ("Findings", numbers.findings, "/inbox"),
    ]
}
