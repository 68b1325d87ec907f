//! The page of one issue: what it is, where it stands, and what happened to it.

mod facts;
mod story;
mod texts;

use maud::{Markup, html};

use self::texts::Texts;
use super::icons;
use super::parts::{self, undirected};
use crate::domain::event::RETURN_ACTION;
use crate::domain::{Issue, IssueId, Timestamp};
use crate::web::words::Words;

/// Everything that the page shows.
pub struct IssueView<'a> {
    /// The issue.
    pub issue: &'a Issue,
    /// The one filed before it.
    pub previous: Option<Neighbour>,
    /// The one filed after it.
    pub next: Option<Neighbour>,
    /// The time up to which ages count.
    pub now: Timestamp,
    /// Whether nothing is left out or cut, however long the page becomes.
    pub is_whole: bool,
}

/// An issue beside another one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Neighbour {
    /// Its id.
    pub id: IssueId,
    /// What it is called.
    pub title: Box<str>,
}

/// The path of the JSON of an issue.
pub fn json_path(id: IssueId) -> String {
    format!("/api/issues/{id}")
}

/// The title of the page.
pub fn title(view: &IssueView<'_>, words: &Words) -> String {
    (words.issue.page_title)(&view.issue.id.short(), &undirected(&view.issue.title))
}

/// What the head of the page says: which of its addresses is the right one, and what is beside it.
pub fn head(view: &IssueView<'_>) -> Markup {
    html! {
        link rel="canonical" href=(parts::address(view.issue.id));
        link rel="alternate" type="application/json" href=(json_path(view.issue.id));
        @if let Some(previous) = &view.previous { link rel="prev" href=(parts::address(previous.id)); }
        @if let Some(next) = &view.next { link rel="next" href=(parts::address(next.id)); }
    }
}

/// The content of the page.
///
/// Each element that changes with the issue has an `id` that stays the same.
pub fn content(view: &IssueView<'_>, words: &Words) -> Markup {
    let issue = view.issue;
    let mut texts = Texts::new(view, words);
    let description = texts.show(&issue.description);
    html! {
        article.one-issue {
            (breadcrumb(issue, words))
            (heading(view, words))
            div.issue-columns {
                div.issue-main {
                    section aria-labelledby="description-heading" {
                        h2 #description-heading { (words.issue.description) }
                        @if issue.description.trim().is_empty() {
                            p.quiet #issue-description { (words.issue.no_description) }
                        } @else {
                            div.prose #issue-description dir="auto" { (description) }
                        }
                    }
                    (story::story(view, &mut texts, words))
                }
                (facts::facts(view, words))
            }
            (facts::neighbours(view, words))
        }
    }
}

fn breadcrumb(issue: &Issue, words: &Words) -> Markup {
    html! {
        nav.breadcrumb aria-label=(words.issue.breadcrumb) {
            ol {
                li { a href="/" { (words.terms.issues) } }
                li { a href=(parts::address(issue.id)) aria-current="page" { (issue.id.short()) } }
            }
        }
    }
}

fn heading(view: &IssueView<'_>, words: &Words) -> Markup {
    let issue = view.issue;
    let returns = returns(issue);
    html! {
        header.issue-head {
            h1 #issue-title dir="auto" { (issue.title) }
            p.issue-state #issue-state {
                (parts::status(issue.status, words)) " "
                (parts::kind(issue.classification, words)) " "
                @if let Some(holder) = issue.holder() {
                    span.issue-holder {
                        (words.issue.held_by) b { (parts::agent(holder.agent)) } " "
                        (held_since(holder.since, view, words))
                    }
                    " "
                }
                @if returns > 0 {
                    span.issue-returns {
                        (icons::other("return")) ((words.terms.returned)(returns))
                    }
                }
            }
            p.issue-id {
                code { (issue.id) }
                button.copy type="button" data-copy=(issue.id)
                    data-copied=(words.issue.copied) aria-label=(words.issue.copy_id) hidden
                {
                    (words.issue.copy)
                }
            }
        }
    }
}

fn held_since(since: Timestamp, view: &IssueView<'_>, words: &Words) -> Markup {
    let span = (words.terms.span)(view.now.millis_since(since));
    parts::time(since, &(words.issue.held_for)(&span))
}

/// How often an issue was returned to the queue.
fn returns(issue: &Issue) -> usize {
    issue.history.iter().filter(|entry| entry.action == RETURN_ACTION).count()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::web::words::ENGLISH;

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

    fn page(issue: &Issue, is_whole: bool) -> String {
        let now = Timestamp::parse(&time(1_200)).unwrap();
        let view = IssueView { issue, previous: None, next: None, now, is_whole };
        content(&view, &ENGLISH).into_string()
    }

    #[test]
    fn it_shows_the_first_and_the_latest_entries_and_leads_to_all() {
        let issue = issue(100, "x");
        let usual = page(&issue, false);
        let shown = |html: &str, n: usize| html.contains(&format!("[{n}] x"));
        assert!(usual.contains("filed it") && usual.contains("id=\"moment-1\""));
        assert!(!shown(&usual, 50) && shown(&usual, 51) && shown(&usual, 100));
        assert!(usual.contains("50 entries are left out here."), "{usual}");
        let link = format!("<a href=\"/issues/{ID}?all=1\">Show all 101 entries</a>");
        assert!(usual.contains(&link));
        let whole = page(&issue, true);
        assert!((1..=100).all(|n| shown(&whole, n)) && !whole.contains("left out"));
        assert!(whole.contains(&format!("<a href=\"/issues/{ID}\">Show the usual page</a>")));
    }

    #[test]
    fn the_usual_page_stays_small_however_long_the_texts_are_and_the_whole_one_cuts_nothing() {
        for piece in
            ["words and *more* words ", "x", "\n\n", "\"<&>", "- a\n", "`a` ", "[a](http://b) "]
        {
            let text = format!("{}the end", piece.repeat(100_000 / piece.len()));
            let issue = issue(60, &text);
            let usual = page(&issue, false);
            assert!(usual.len() < 300_000, "{piece:?}: {} bytes", usual.len());
            let whole = page(&issue, true);
            assert_eq!(whole.matches("the end").count(), 60, "{piece:?}");
            assert!(!whole.contains("?all=1"));
        }
        let usual = page(&issue(60, &"words and *more* words ".repeat(1_000)), false);
        assert!(usual.len() < 150_000, "{} bytes", usual.len());
        assert!(
            usual.contains("The first 20000 of 23005 characters."),
            "{}",
            &usual[usual.len() - 9_000..]
        );
    }

    #[test]
    fn deeds_have_words_and_what_is_unknown_keeps_its_own() {
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
            "<bdi class=\"agent\">\u{202e}b</bdi> filed it",
            "</bdi> claimed it for work",
            "class=\"moment was-returned\" id=\"moment-3\" data-changed=\"",
            "</bdi> returned it to the queue",
            "</bdi> · <bdi>Labelled &lt;b&gt;</bdi>",
            "<bdi class=\"agent\">c</bdi> commented",
            "</svg>returned once<",
            "held by <b><bdi class=\"agent\">\u{202e}b</bdi></b> <time",
            "1 more key that this version does not know",
            "&quot;priority&quot;: {&quot;level&quot;:100.0}",
        ] {
            assert!(html.contains(expected), "no {expected:?} in {html}");
        }
    }

    #[test]
    fn what_changes_has_an_id_and_no_id_is_there_twice() {
        let html = page(&issue(3, "x"), false);
        let mut ids: Vec<&str> =
            html.split(" id=\"").skip(1).map(|it| it.split('"').next().unwrap()).collect();
        for expected in [
            "issue-title",
            "issue-state",
            "issue-description",
            "issue-story",
            "issue-facts",
            "moment-4",
        ] {
            assert!(ids.contains(&expected), "{expected} of {ids:?}");
        }
        ids.sort_unstable();
        assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "{ids:?}");
        assert!(!html.contains(" style="));
    }

    #[test]
    fn the_title_of_a_tab_runs_in_one_direction() {
        let mut value: Value = serde_json::to_value(issue(0, "")).unwrap();
        value["title"] = json!("a\u{202e}b\u{2066}c");
        let issue: Issue = serde_json::from_value(value).unwrap();
        let now = Timestamp::parse(&time(0)).unwrap();
        let view = IssueView { issue: &issue, previous: None, next: None, now, is_whole: false };
        assert_eq!(title(&view, &ENGLISH), "abc · 3f2a9c1e");
    }
}
