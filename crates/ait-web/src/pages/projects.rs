//! The pages of all projects of the user that are served on this machine: a table, and one board.

use axum::extract::State;
use maud::{Markup, html};

use super::chips::tint;
use super::components::{self, undirected, with_code};
use super::{Page, PageResult, WebError, icons, page};
use crate::WebState;
use crate::projects::{
    MAX_CARDS, MAX_HOLDER_CHARS, MAX_LABELS, MAX_TITLE_CHARS, OfProject, ProjectBoard, ProjectCard,
    ProjectColumn, ProjectNumbers, ServedProject, served,
};
use crate::query::Place;
use crate::strings::{self, attributes, board as cards, projects as text};
use ait_domain::text::shortened;
use ait_domain::{Label, Status, StatusSet, Timestamp};
use ait_tracker::hints;
use ait_tracker::triage::take_in_turns;

/// How many cards a column has, of all projects together.
const MAX_IN_COLUMN: usize = 100;
/// How many characters of the name of a project its sign has.
const MAX_SIGN_CHARS: usize = 24;

/// Shows the projects of the user in a table; an error if this server does not list them.
pub(crate) async fn table(State(state): State<WebState>) -> PageResult {
    of_all(&state, text::TITLE, |projects, _| table_of(projects)).await
}

/// Shows the open issues of all projects on a board; an error if this server does not list projects.
pub(crate) async fn board(State(state): State<WebState>) -> PageResult {
    of_all(&state, text::BOARD, board_of).await
}

async fn of_all<T: OfProject + Send + 'static>(
    state: &WebState,
    title: &str,
    content: impl FnOnce(&[Project<T>], Timestamp) -> Markup + Send + 'static,
) -> PageResult {
    let registry = state.projects.clone().ok_or_else(WebError::not_found)?;
    let served = served::<T>(registry).await;
    let name = state.project.name.clone();
    let title = title.to_owned();
    let damaged = state.tracker.damage().await;
    let damaged = damaged.map(|damage| hints::for_store(&damage, &hints::COMMANDS));
    page(state, None, move |view, context| {
        let mut own =
            Some(damaged.map_or_else(
                || Ok(T::of(&name, view, context.attention.count(), context.now)),
                Err,
            ));
        let projects: Vec<_> = served.into_iter().map(|one| Project::of(one, &mut own)).collect();
        let content = content(&projects, context.now);
        Ok(Page { title, content, ..Page::default() })
    })
    .await
}

/// A project on these pages.
struct Project<T> {
    name: String,
    /// The address of its pages; empty for this server, whose pages have this address, however the reader came here.
    url: String,
    store: Option<String>,
    is_own: bool,
    /// What it tells, or what is damaged in its store, or why it tells nothing.
    told: Result<T, Markup>,
}

impl<T> Project<T> {
    /// `own` is what this server tells.
    fn of(served: ServedProject<T>, own: &mut Option<Result<T, String>>) -> Self {
        let ServedProject { entry, told, is_own } = served;
        let told = match if is_own { own.take() } else { told } {
            Some(Ok(told)) => Ok(told),
            Some(Err(damaged)) => Err(html! {
                span dir="auto" translate="yes" { (with_code(&undirected(&damaged))) }
            }),
            None if entry.is_guarded => Err(html! { "needs a token: open its page to see more" }),
            None => Err(html! { "does not answer" }),
        };
        let url = entry.url.filter(|_| !is_own).unwrap_or_default();
        let name = undirected(entry.project.as_deref().unwrap_or(&url));
        Self { name, url, store: entry.store, is_own, told }
    }
}

fn table_of(projects: &[Project<ProjectNumbers>]) -> Markup {
    html! {
        h1 { (text::TITLE) }
        p.quiet {
            "Your projects that are served on this machine. Each has its own address." " "
            a href="/projects/board" { (cards::other(Place::List(None))) }
        }
        div.sheet.projects {
            table role="table" {
                thead role="rowgroup" {
                    tr role="row" {
                        th scope="col" role="columnheader" { "Project" }
                        @for (name, ..) in cells(&ProjectNumbers::default()) {
                            th.number scope="col" role="columnheader" { (name) }
                        }
                    }
                }
                tbody role="rowgroup" { @for project in projects { (row(project)) } }
            }
        }
    }
}

fn row(project: &Project<ProjectNumbers>) -> Markup {
    html! {
        tr role="row" {
            th scope="row" role="rowheader" {
                a.title href={ (project.url) "/" } { bdi { (project.name) } }
                @if project.is_own { " " span.quiet { "this server" } }
                @if let Some(store) = &project.store { span.store { bdi { (undirected(store)) } } }
            }
            @match &project.told {
                Err(why) => { td.bad role="cell" colspan="6" { (why) } }
                Ok(numbers) => {
                    @for (name, count, path) in cells(numbers) {
                        td.number role="cell" data-name=(name) {
                            @if count > 0 { a href={ (project.url) (path) } { (count) } } @else { "0" }
                        }
                    }
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
        ("Created", sum(&[Status::Created]), "/?status=created"),
        ("In progress", sum(&[Status::InProgress]), "/?status=in_progress"),
        ("For review", review, "/?status=completed&status=in_review"),
        ("Ended", ended, "/?status=closed&status=rejected"),
        ("Questions", numbers.questions, "/board"),
        ("Inbox", numbers.inbox, "/inbox"),
    ]
}

fn board_of(projects: &[Project<ProjectBoard>], now: Timestamp) -> Markup {
    let columns: Vec<_> =
        StatusSet::open().iter().map(|status| Column::of(status, projects)).collect();
    let has_silent = projects.iter().any(|project| project.told.is_err());
    let has_cards = columns.iter().any(|column| !column.cards.is_empty());
    html! {
        div.bar {
            h1 { (text::BOARD) }
            p.quiet {
                "The open issues of your projects that are served on this machine." " "
                a href="/projects" { "As a table" }
            }
        }
        @if has_silent {
            section.notice {
                ul.chosen {
                    li { "Not on this board:" }
                    @for project in projects {
                        @if let Err(why) = &project.told {
                            li { a href={ (project.url) "/" } { bdi { (project.name) } } " " span.quiet { (why) } }
                        }
                    }
                }
            }
        }
        nav.jump aria-label="Columns of the board" {
            ul { @for column in &columns { li { a href={ "#c-" (column.status) } { (column.name()) } } } }
        }
        // On a phone it scrolls, also without a card that could take the focus.
        div.board tabindex=[(!has_cards).then_some("0")] {
            @for column in &columns { (column.markup(now)) }
        }
    }
}

/// A column with the cards of all projects.
struct Column<'a> {
    status: Status,
    total: usize,
    cards: Vec<(&'a Project<ProjectBoard>, &'a ProjectCard)>,
    /// How many issues of each project have no card, where there are any.
    hidden: Vec<(&'a Project<ProjectBoard>, usize)>,
}

impl<'a> Column<'a> {
    fn of(status: Status, projects: &'a [Project<ProjectBoard>]) -> Self {
        let of_project = |project: &'a Project<ProjectBoard>| {
            let columns = &project.told.as_ref().ok()?.columns;
            Some((project, columns.iter().find(|column| column.status == status)?))
        };
        let columns: Vec<_> = projects.iter().filter_map(of_project).collect();
        let totals = columns.iter().map(|(_, column)| column.total);
        let each: Vec<_> = columns.iter().map(|(_, column)| *column).collect();
        let cards = in_one_order(status, &each);
        let hidden = columns.iter().enumerate().filter_map(|(at, (project, column))| {
            let shown = cards.iter().filter(|(of, _)| *of == at).count();
            let hidden = column.total.saturating_sub(shown);
            (hidden > 0).then_some((*project, hidden))
        });
        let hidden = hidden.collect();
        let total = totals.fold(0, usize::saturating_add);
        let cards = cards.into_iter().map(|(at, card)| (columns[at].0, card)).collect();
        Self { status, total, cards, hidden }
    }

    fn name(&self) -> Markup {
        html! {
            (icons::status(self.status))
            span { (strings::status(self.status)) }
            " " span.count { (self.total) }
        }
    }

    fn markup(&self, now: Timestamp) -> Markup {
        let status = self.status;
        html! {
            section id={ "c-" (status) } class={ "column status-" (status) } {
                h2 { (self.name()) }
                @if self.cards.is_empty() {
                    p.quiet { "no issues" }
                } @else {
                    ol.cards { @for (project, one) in &self.cards { li { (card(project, one, now)) } } }
                }
                @for (project, count) in &self.hidden {
                    p.more {
                        a href={ (project.url) "/?status=" (status) } { bdi { (sign(project)) } " " (count) " more" }
                    }
                }
            }
        }
    }
}

/// Returns the first cards of the columns of several projects, each with the index of its column. They are in the order
/// of the board: by priority, or the newest claims first. Each project keeps its own order, so issues that must wait
/// stay behind its others, and none hides those of another.
fn in_one_order<'a>(
    status: Status,
    columns: &[&'a ProjectColumn],
) -> Vec<(usize, &'a ProjectCard)> {
    let key = |card: &ProjectCard| {
        if status.is_claimed() {
            -card.since.unix_millis()
        } else {
            i64::from(card.priority().get())
        }
    };
    let keyed = columns.iter().enumerate().flat_map(|(at, column)| {
        let mut last = i64::MIN;
        column.cards.iter().take(MAX_CARDS).map(move |card| {
            last = last.max(key(card));
            (last, at, card)
        })
    });
    let mut keyed = take_in_turns(keyed, |(_, at, _)| *at, MAX_IN_COLUMN);
    keyed.sort_by_key(|(key, ..)| *key);
    keyed.into_iter().map(|(_, at, card)| (at, card)).collect()
}

/// Returns the short name of a project.
fn sign(project: &Project<ProjectBoard>) -> String {
    shortened(&project.name, MAX_SIGN_CHARS)
}

fn card(project: &Project<ProjectBoard>, card: &ProjectCard, now: Timestamp) -> Markup {
    let ProjectCard { id, since, .. } = *card;
    let title = shortened(&card.title, MAX_TITLE_CHARS);
    let path = components::issue_path(id);
    html! {
        article.card id={ "i-" (id) (project.url) } data-changed=(since.unix_millis()) {
            h3 { a.title href={ (project.url) (path) } dir="auto" { (components::title(&title)) } }
            p.details {
                a class={ "chip label " (tint(&project.name)) } href={ (project.url) "/board" } title=(project.name) translate="no" {
                    bdi { (sign(project)) }
                }
                (components::kind(card.classification))
                code { (id.short()) }
                @if card.priority.is_some() {
                    span class={ "chip priority-" (card.priority()) } { (attributes::short_priority(card.priority())) }
                }
                @for label in card.labels.iter().take(MAX_LABELS) {
                    span class={ "chip label " (tint(label)) } translate="no" { (shortened(&undirected(label), Label::MAX_CHARS)) }
                }
            }
            p.standing {
                @if let Some(holder) = &card.holder {
                    b { (components::agent(&shortened(holder, MAX_HOLDER_CHARS))) } " "
                    (components::held_since(since, now))
                } @else {
                    (components::time(since, &cards::waiting(now.millis_since(since))))
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ait_domain::{Classification, IssueId};

    fn column(status: Status, cards: &[(&str, Option<u8>, i64)]) -> ProjectColumn {
        let card = |(title, priority, minute): &(&str, Option<u8>, i64)| ProjectCard {
            id: IssueId::NIL,
            title: (*title).to_owned(),
            classification: Classification::Bug,
            priority: *priority,
            labels: Vec::new(),
            holder: None,
            since: Timestamp::from_unix_millis(minute * 60_000),
        };
        ProjectColumn { status, total: cards.len(), cards: cards.iter().map(card).collect() }
    }

    fn titles(status: Status, columns: &[ProjectColumn]) -> Vec<String> {
        let columns: Vec<_> = columns.iter().collect();
        let cards = in_one_order(status, &columns);
        cards.iter().map(|(at, card)| format!("{at}{}", card.title)).collect()
    }

    #[test]
    fn cards_of_projects_mix_and_keep_their_own_order() {
        let status = Status::Created;
        // The last one of the first project must wait.
        let one = [("a", Some(0), 0), ("b", None, 0), ("c", Some(3), 0), ("blocked", Some(0), 0)];
        let other = [("d", Some(1), 0), ("e", Some(2), 0), ("f", Some(9), 0), ("g", Some(4), 0)];
        let mixed = titles(status, &[column(status, &one), column(status, &other)]);
        assert_eq!(mixed, ["0a", "1d", "0b", "1e", "1f", "0c", "0blocked", "1g"]);
        let status = Status::InProgress;
        let one = [("new", None, 50), ("old", None, 10)];
        let other = [("newest", Some(4), 60), ("between", Some(4), 30)];
        let mixed = titles(status, &[column(status, &one), column(status, &other)]);
        assert_eq!(mixed, ["1newest", "0new", "1between", "0old"]);
    }

    #[test]
    fn no_project_hides_the_others() {
        let status = Status::Created;
        let urgent = vec![("x", Some(0), 0); 500];
        let mut columns = vec![column(status, &urgent); 3];
        columns.push(column(status, &[("y", Some(4), 0)]));
        let shown = titles(status, &columns);
        assert_eq!(shown.len(), MAX_IN_COLUMN);
        assert_eq!(shown.last().unwrap(), "3y");
        let count = |at: &str| shown.iter().filter(|one| one.starts_with(at)).count();
        assert_eq!(["0", "1", "2"].map(count), [33; 3]);
    }
}
