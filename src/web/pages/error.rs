//! What went wrong, as a page and as JSON.

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use serde_json::{Value, json};

use super::parts::{self, undirected};
use super::plain;
use crate::domain::text::shortened;
use crate::domain::{IssueId, Status};
use crate::overview::Digest;
use crate::tracker::StoreError;
use crate::web::address::BadAddress;
use crate::web::site::Site;
use crate::web::words::Words;

/// Where the store stands while it cannot be read: nowhere that it is ever found.
const UNREADABLE: &str = "-";
/// How much of what was asked for is repeated.
const SHOWN_CHARS: usize = 60;

/// Why there is no answer, and what to do instead.
#[derive(Clone, Debug)]
pub struct ErrorPage {
    /// The status of the answer.
    pub status: StatusCode,
    /// What went wrong, in a few words.
    pub title: &'static str,
    /// What went wrong, in a sentence.
    pub text: String,
    /// What stands above the issues that are offered.
    pub offer: &'static str,
    /// The issues that may have been meant.
    pub offered: Vec<Offered>,
}

/// An issue that may have been meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Offered {
    /// Its id.
    pub id: IssueId,
    /// What it is called.
    pub title: Box<str>,
    /// Where it stands.
    pub status: Status,
}

impl From<&Digest> for Offered {
    fn from(digest: &Digest) -> Self {
        Self { id: digest.id, title: digest.title.clone(), status: digest.status }
    }
}

/// In which form an answer is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// As a page.
    Page,
    /// As JSON.
    Json,
}

impl ErrorPage {
    /// A path that leads nowhere.
    pub fn nothing_here(words: &Words) -> Self {
        let text = words.errors.no_page.to_owned();
        Self::new(StatusCode::NOT_FOUND, words.errors.nothing_here, text)
    }

    /// An id that no issue has.
    pub fn unknown_issue(asked: &str, nearest: Vec<Offered>, words: &Words) -> Self {
        let text = (words.errors.unknown_issue)(&repeated(asked));
        Self::new(StatusCode::NOT_FOUND, words.errors.no_issue, text)
            .offering(words.errors.nearest, nearest)
    }

    /// Something in the place of an id that cannot be one.
    pub fn not_an_id(asked: &str, nearest: Vec<Offered>, words: &Words) -> Self {
        let text = (words.errors.not_an_id)(&repeated(asked));
        Self::new(StatusCode::NOT_FOUND, words.errors.no_issue, text)
            .offering(words.errors.nearest, nearest)
    }

    /// A beginning that the ids of `count` issues have.
    pub fn ambiguous(asked: &str, count: usize, candidates: Vec<Offered>, words: &Words) -> Self {
        let text = (words.errors.ambiguous)(&repeated(asked), count);
        Self::new(StatusCode::NOT_FOUND, words.errors.several_issues, text)
            .offering(words.errors.candidates, candidates)
    }

    /// An address with a parameter that there is not, or that cannot be what was given.
    pub fn bad_address(bad: &BadAddress, words: &Words) -> Self {
        let (name, given) = (repeated(&bad.parameter), repeated(&bad.given));
        let text = (words.errors.bad_parameter)(&name, &given, &bad.expected);
        Self::new(StatusCode::BAD_REQUEST, words.errors.bad_address, text)
    }

    /// A store that cannot be read.
    pub fn unreadable(error: &StoreError, words: &Words) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, words.errors.unreadable, error.to_string())
    }

    fn new(status: StatusCode, title: &'static str, text: String) -> Self {
        Self { status, title, text, offer: "", offered: Vec::new() }
    }

    fn offering(self, offer: &'static str, offered: Vec<Offered>) -> Self {
        Self { offer, offered, ..self }
    }

    /// The answer in a form.
    pub(in crate::web) fn into_response(self, form: Form, site: &Site) -> Response {
        match form {
            // What cannot be read now may be readable in a moment.
            Form::Page if self.status.is_server_error() => plain(site, &self, Some(UNREADABLE)),
            Form::Page => plain(site, &self, None),
            Form::Json => {
                let uncached = [(header::CACHE_CONTROL, "no-store")];
                (self.status, uncached, Json(json(&self))).into_response()
            }
        }
    }
}

/// What somebody asked for, as a sentence can repeat it.
fn repeated(asked: &str) -> String {
    let printable = |it: char| if it.is_control() { '\u{fffd}' } else { it };
    shortened(&undirected(asked).chars().map(printable).collect::<String>(), SHOWN_CHARS)
}

/// The content of the page.
pub fn content(error: &ErrorPage, words: &Words) -> Markup {
    let is_server = error.status.is_server_error();
    html! {
        section.error {
            p.error-code aria-hidden="true" { (error.status.as_u16()) }
            h1 { (error.title) }
            p.error-text dir="auto" { (error.text) }
            @if is_server { p { (words.errors.unreadable_advice) } }
            @if !error.offered.is_empty() {
                h2 { (error.offer) }
                ul.offered {
                    @for offered in &error.offered {
                        li {
                            a href=(parts::address(offered.id)) {
                                code { (offered.id.short()) } " "
                                bdi { (offered.title) }
                            }
                            " " (parts::status(offered.status, words))
                        }
                    }
                }
            }
            p.ways-out {
                @if is_server {
                    // An empty address is that of this page.
                    a href="" { (words.errors.again) }
                } @else {
                    a href="/" { (words.errors.all_issues) }
                }
            }
        }
    }
}

/// The same for programs.
pub fn json(error: &ErrorPage) -> Value {
    let nearest = error.offered.iter().map(|it| json!({ "id": it.id, "title": it.title }));
    json!({ "error": error.text, "nearest": nearest.collect::<Vec<_>>() })
}

/// Answers a request whose path leads nowhere.
pub(in crate::web) async fn nothing_here(State(site): State<Site>, request: Request) -> Response {
    let path = request.uri().path();
    let form = if path == "/api" || path.starts_with("/api/") { Form::Json } else { Form::Page };
    ErrorPage::nothing_here(site.words).into_response(form, &site)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::words::ENGLISH;

    #[test]
    fn what_was_asked_for_is_repeated_without_harm() {
        let asked = format!("\u{202e}<b>\n{}", "x".repeat(1_000));
        let error = ErrorPage::not_an_id(&asked, Vec::new(), &ENGLISH);
        let html = content(&error, &ENGLISH).into_string();
        assert!(html.contains("“&lt;b&gt;\u{fffd}xxx"), "{html}");
        assert!(!html.contains('\u{202e}') && html.len() < 500, "{html}");
    }

    #[test]
    fn the_issues_that_may_have_been_meant_are_links_with_their_titles() {
        let id = IssueId::parse("3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73").unwrap();
        let offered = vec![Offered { id, title: "a & b".into(), status: Status::InReview }];
        let error = ErrorPage::ambiguous("3f2a9c1e", 7, offered, &ENGLISH);
        let html = content(&error, &ENGLISH).into_string();
        let link = format!(
            "<a href=\"/issues/{id}\"><code>3f2a9c1e</code> <bdi>a &amp; b</bdi></a> <span class=\"badge status-in_review\">"
        );
        assert!(html.contains(&link) && html.contains("of 7 issues"), "{html}");
        let expected = json!({
            "error": "The ids of 7 issues begin with “3f2a9c1e”: give more digits, or choose.",
            "nearest": [{ "id": id, "title": "a & b" }],
        });
        assert_eq!(json(&error), expected);
    }
}
