//! The page for a path that leads nowhere.

use axum::http::StatusCode;
use axum::response::IntoResponse;
use maud::html;

use super::layout;

/// Answers 404 and leads back to the list.
pub(in crate::web) async fn page() -> impl IntoResponse {
    let content = html! {
        section.notice {
            h1 { "Nothing here" }
            p { "This address leads to no page. " a href="/" { "See all issues" } }
        }
    };
    (StatusCode::NOT_FOUND, layout("Not found", &content))
}
