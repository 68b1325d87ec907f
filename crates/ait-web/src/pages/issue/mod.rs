//! The page of one issue.

pub(super) mod changes;
mod diff;
mod graph;
mod markdown_budget;
mod relations;
mod sidebar;
mod timeline;

use maud::{Markup, html};

pub(super) use self::changes::Changes;
use self::markdown_budget::MarkdownBudget;
pub(super) use self::relations::Mentions;
use super::chips::Chips;
use super::components::{self, undirected};
use super::gone_clients::GoneClients;
use super::{icons, questions};
use crate::actions::forms::IssueForms;
use crate::lookup::Found;
use crate::query::{ListQuery, Place};
use crate::repository::Repository;
use crate::strings::{self, issue as text};
use ait_domain::facts::short_hash;
use ait_domain::{Issue, IssueId, Timestamp, Work};
use ait_sync::Link;
use ait_tracker::Lesson;
use ait_tracker::read_model::ReadView;
use ait_worktrees::Diff;

/// What the page shows.
pub(super) struct IssueView<'a, 'b> {
    pub found: Found,
    pub changes: Changes,
    pub mentions: Mentions,
    /// What closed issues nearby warn of, while it is open.
    pub known: Vec<Lesson>,
    pub gone: &'a GoneClients,
    /// For how many milliseconds its holder has been silent, if it has.
    pub silent_ms: Option<u64>,
    pub view: &'a ReadView<'b>,
    pub now: Timestamp,
    /// The pages of the project's repository.
    pub repository: Option<&'a Repository>,
    /// The last commit of the branch, if that is not the one that was handed in.
    pub newer_head: Option<String>,
    /// What the branch changes, if the reader asked for it; `None` within if there is no branch.
    pub diff: Option<Option<Diff>>,
    /// Whether the page shows all entries and texts in full.
    pub is_full: bool,
    /// The forms of a person who may change the issue.
    pub forms: Option<IssueForms>,
}

/// Returns the path of the JSON of an issue.
pub(super) fn json_path(id: IssueId) -> String {
    format!("/api/issues/{id}")
}

/// Returns the title of the page.
pub(super) fn title(issue: &Issue) -> String {
    format!("{} · {}", undirected(&issue.title), issue.id.short())
}

/// Renders the links to the canonical address, the JSON and the neighbours, for the head of the page.
pub(super) fn head(found: &Found) -> Markup {
    let id = found.issue.id;
    html! {
        link rel="canonical" href=(components::issue_path(id));
        link rel="alternate" type="application/json" href=(json_path(id));
        @if let Some(previous) = &found.previous { link rel="prev" href=(components::issue_path(previous.id)); }
        @if let Some(next) = &found.next { link rel="next" href=(components::issue_path(next.id)); }
    }
}

/// Renders the page.
///
/// The `id` of each element that changes with the issue stays the same.
pub(super) fn content(view: &IssueView) -> Markup {
    let issue = &view.found.issue;
    let mut budget = MarkdownBudget::new(view);
    html! {
        article.one-issue {
            nav.breadcrumb aria-label="Breadcrumb" {
                ol {
                    li { a href="/" { (strings::ISSUES) } }
                    li { a href=(components::issue_path(issue.id)) aria-current="page" { (issue.id.short()) } }
                }
            }
            (heading(view))
            @if let Some(forms) = &view.forms { (forms.notice(issue)) }
            div.issue-columns {
                div.issue-main {
                    @let short_id = view.forms.is_none().then(|| view.view.short_id(issue.id));
                    (questions::of_issue(issue, view.now, short_id, |text| budget.render(text)))
                    @if let Some(forms) = &view.forms { (forms.answer(issue)) }
                    section aria-labelledby="description-heading" {
                        h2 #description-heading { "Description" }
                        @if let Some(forms) = &view.forms { (forms.texts(issue)) }
                        @if issue.description.trim().is_empty() {
                            p.quiet #issue-description { "No description." }
                        } @else {
                            div.prose #issue-description dir="auto" { (budget.render(&issue.description)) }
                        }
                    }
                    (diff::section(view))
                    (relations::known(view))
                    (relations::relations(view))
                    (relations::backlinks(view))
                    (graph::graph(view))
                    (timeline::timeline(view, &mut budget))
                    @if let Some(forms) = &view.forms { (forms.others(issue)) }
                }
                (sidebar::sidebar(view))
            }
            (sidebar::neighbours(&view.found))
        }
    }
}

fn heading(view: &IssueView) -> Markup {
    let issue = &view.found.issue;
    let now = view.now;
    let chips =
        Chips { view: view.view, now, place: Place::List(None), query: ListQuery::default() };
    let returns = issue.returns();
    html! {
        header.issue-head {
            h1 #issue-title dir="auto" { (components::title(&issue.title)) }
            p.issue-state #issue-state {
                (components::status(issue.status)) " "
                (components::kind(issue.classification)) " "
                @if let Some(holder) = issue.holder() {
                    span.issue-holder {
                        (text::HELD_BY) b { (components::agent(holder.agent)) } " "
                        (components::held_since(holder.since, now)) (components::silence(view.silent_ms))
                        (view.gone.mark(issue.id))
                    }
                    " "
                }
                @if returns > 0 {
                    span.issue-returns { (icons::other("return")) (strings::returned(returns)) } " "
                }
                @if let Some(summary) = view.view.summary(issue.id) { (chips.of(summary)) }
                @if let Some((key, url)) = remote(issue) {
                    " " a.chip.remote href=(url) rel="noopener noreferrer" title=(text::REMOTE) { bdi { (key) } }
                }
            }
            @if let Some(work) = issue.handed_in() { (handed_in(work, view)) }
            @if let Some(used) = issue.usage() {
                p.issue-work dir="auto" translate="yes" { (text::USED) (used) }
            }
            @if let Some(used) = view.view.usage_of_parts(issue.id) {
                p.issue-work dir="auto" translate="yes" { (text::USED_BY_PARTS) (used) }
            }
            p.issue-id {
                code { (issue.id) } " "
                (copy("Copy id", "Id copied.", &issue.id.to_string())) " "
                (copy("Copy branch", text::COPIED_OTHER, &format!("issue-{}", issue.id.short()))) " "
                (copy("Copy command", text::COPIED_OTHER, &format!("ait show {}", view.view.short_id(issue.id)))) " "
                (copy_link(issue))
            }
        }
    }
}

/// Returns the key and the page of the issue at the remote of a sync.
fn remote(issue: &Issue) -> Option<(String, String)> {
    let mut links = Link::all(issue).into_values().filter(|link| !link.key.is_empty());
    let key = links.next()?.key;
    let url: String = serde_json::from_str(issue.unknown_keys.get("url")?).ok()?;
    let is_web = url.starts_with("https://") || url.starts_with("http://");
    is_web.then_some((key, url))
}

/// Renders what was handed in, as measured, and whether the branch has newer commits.
fn handed_in(work: &Work, view: &IssueView) -> Markup {
    html! {
        p.issue-work #issue-work {
            span dir="auto" translate="yes" { (text::HANDED_IN) (work) }
            @if let Some(receipt) = view.found.issue.receipt_of(&work.tree) {
                " · " span.issue-newer[!receipt.has_passed()] { (text::receipt(receipt)) }
            }
            @if let Some(repository) = view.repository {
                " " a href=(repository.commit(&work.head)) { code { (short_hash(&work.head)) } }
            }
            @if view.diff.is_none() && work.commits > 0 {
                " · " a href={ (components::issue_path(view.found.issue.id)) "?diff=1#issue-diff" } { (text::SHOW_DIFF) }
            }
            @if let Some(head) = &view.newer_head {
                " " strong.issue-newer { (text::newer(head)) }
            }
        }
    }
}

/// Renders the button that copies a link in Markdown. The script adds the address, as the reader reached the page.
fn copy_link(issue: &Issue) -> Markup {
    let title = escaped(&undirected(&issue.title));
    html! {
        button.copy type="button" data-copy=(title) data-copy-path=(components::issue_path(issue.id))
            data-copied=(text::COPIED_OTHER) hidden
        {
            "Copy Markdown"
        }
    }
}

/// Escapes a text for a link in Markdown.
fn escaped(text: &str) -> String {
    text.chars().fold(String::new(), |mut escaped, character| {
        if matches!(character, '\\' | '[' | ']' | '`' | '*' | '_' | '<') {
            escaped.push('\\');
        }
        escaped.push(character);
        escaped
    })
}

/// Renders a button that copies a text, which the script shows.
fn copy(name: &str, copied: &str, value: &str) -> Markup {
    html! {
        button.copy type="button" data-copy=(value) data-copied=(copied) hidden { (name) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use ait_domain::event::RETURN_ACTION;
    use ait_tracker::read_model::Projection;

    const ID: &str = "3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73";

    fn time(minute: usize) -> String {
        format!("2026-01-31T{:02}:{:02}:00.000Z", minute / 60, minute % 60)
    }

    /// An issue with so many comments of a text, each of which came with a completion.
    fn issue(count: usize, text: &str) -> Issue {
        let numbers = 1..=count;
        let history = numbers
            .clone()
            .map(|n| json!({ "timestamp": time(n), "agent": "b", "action": "Issue completed" }));
        let filed = json!({ "timestamp": time(0), "agent": "a", "action": "Issue filed" });
        let history: Vec<Value> = [filed].into_iter().chain(history).collect();
        let comments = numbers.map(
            |n| json!({ "timestamp": time(n), "agent": "b", "text": format!("[{n}] {text}") }),
        );
        let issue = json!({
            "id": ID, "title": "A title", "description": "A *description*", "classification": "bug",
            "createdAt": time(0), "modifiedAt": time(count), "status": "in_progress",
            "history": history,
            "comments": comments.collect::<Vec<_>>(),
        });
        serde_json::from_value(issue).unwrap()
    }

    fn page(issue: &Issue, is_full: bool) -> String {
        let now = Timestamp::parse(&time(1_200)).unwrap();
        let found = Found { issue: Arc::new(issue.clone()), previous: None, next: None };
        let projection = Projection::of([Arc::new(issue.clone())].into_iter());
        let view = &ReadView::of(&projection);
        let changes = Changes::default();
        let mentions = Mentions::default();
        let gone = &GoneClients::default();
        let repository = None;
        let forms = None;
        content(&IssueView {
            found,
            changes,
            mentions,
            known: Vec::new(),
            gone,
            silent_ms: None,
            view,
            now,
            repository,
            newer_head: None,
            diff: None,
            is_full,
            forms,
        })
        .into_string()
    }

    #[test]
    fn a_long_timeline_shows_first_and_latest_entries_with_a_link() {
        let issue = issue(100, "x");
        let short = page(&issue, false);
        let shown = |html: &str, n: usize| html.contains(&format!("[{n}] x"));
        assert!(short.contains("filed it") && short.contains("id=\"moment-1\""));
        assert!(!shown(&short, 50) && shown(&short, 51) && shown(&short, 100));
        assert!(short.contains("50 entries are hidden."), "{short}");
        let link = format!("<a href=\"/issues/{ID}?all=1\">Show all 101 entries</a>");
        assert!(short.contains(&link));
        let full = page(&issue, true);
        assert!((1..=100).all(|n| shown(&full, n)) && !full.contains("hidden."));
        assert!(full.contains(&format!("<a href=\"/issues/{ID}\">Show less</a>")));
    }

    #[test]
    fn the_default_page_is_bounded_and_the_full_page_complete() {
        for piece in
            ["words and *more* words ", "x", "\n\n", "\"<&>", "- a\n", "`a` ", "[a](http://b) "]
        {
            let text = format!("{}the end", piece.repeat(100_000 / piece.len()));
            let issue = issue(60, &text);
            let short = page(&issue, false);
            assert!(short.len() < 300_000, "{piece:?}: {} bytes", short.len());
            let full = page(&issue, true);
            assert_eq!(full.matches("the end").count(), 60, "{piece:?}");
            assert!(!full.contains("?all=1"));
        }
        let short = page(&issue(60, &"words and *more* words ".repeat(1_000)), false);
        assert!(short.len() < 150_000, "{} bytes", short.len());
        assert!(
            short.contains("Showing the first 20000 of 23005 characters."),
            "{}",
            &short[short.len() - 9_000..]
        );
    }

    #[test]
    fn known_actions_are_described_and_unknown_ones_quoted() {
        let mut whole = serde_json::to_value(issue(0, "")).unwrap();
        let entry = |n, action: &str| json!({ "timestamp": time(n), "agent": "\u{202e}b", "action": action });
        whole["history"] = json!([
            entry(0, "Issue filed"),
            entry(1, "Issue claimed for work"),
            entry(2, RETURN_ACTION),
            entry(3, "Labelled <b>"),
            entry(4, "Issue claimed for work"),
        ]);
        whole["comments"] = json!([{ "timestamp": time(9), "agent": "c", "text": "late" }]);
        whole["priority"] = json!({ "level": 1e2 });
        let issue: Issue = serde_json::from_value(whole).unwrap();
        let html = page(&issue, false);
        for expected in [
            "<bdi class=\"agent\">b</bdi> filed it",
            "</bdi> claimed it for work",
            "class=\"moment was-returned\" id=\"moment-3\" data-changed=\"",
            "</bdi> returned it to the queue",
            "</bdi> · <bdi>Labelled &lt;b&gt;</bdi>",
            "<bdi class=\"agent\">c</bdi> commented",
            "</svg>returned once<",
            "held by <b><bdi class=\"agent\">b</bdi></b> <time",
            "1 unknown key<",
            "&quot;priority&quot;: {&quot;level&quot;:100.0}",
        ] {
            assert!(html.contains(expected), "no {expected:?} in {html}");
        }
    }

    #[test]
    fn elements_that_change_have_unique_ids() {
        let html = page(&issue(3, "x"), false);
        let mut ids: Vec<&str> =
            html.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
        for expected in [
            "issue-title",
            "issue-state",
            "issue-description",
            "issue-timeline",
            "issue-sidebar",
            "moment-4",
        ] {
            assert!(ids.contains(&expected), "{expected} of {ids:?}");
        }
        ids.sort_unstable();
        assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "{ids:?}");
        assert!(!html.contains(" style="));
    }

    #[test]
    fn page_titles_contain_no_direction_characters() {
        let mut value: Value = serde_json::to_value(issue(0, "")).unwrap();
        value["title"] = json!("a\u{202e}b\u{2066}c");
        let issue: Issue = serde_json::from_value(value).unwrap();
        assert_eq!(title(&issue), "abc · 3f2a9c1e");
    }
}
