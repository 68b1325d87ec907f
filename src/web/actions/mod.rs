//! What people do on the pages: forms, and the answer to a question over `/api`. Only with the setting `web-actions`.
//!
//! All changes go through the use cases of the tracker. A form is accepted from a page of this server alone: its origin
//! and its token say so, and its version says what the person saw.

pub(super) mod action;
mod answer_api;
mod fields;
mod filing;
pub(super) mod form_token;
pub(super) mod forms;
mod handler;
pub(super) mod person;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};

use super::WebState;
use super::pages;

/// Returns the routes that change issues; none if the pages are read-only.
pub(super) fn routes(state: &WebState) -> Router {
    if state.form_tokens.is_none() {
        return Router::new();
    }
    Router::new()
        .route("/new", get(filing::show_form).post(filing::submit))
        .route("/issues/{id}/actions/{action}", get(handler::to_issue).post(handler::act))
        .route("/api/issues/{id}/answer", post(answer_api::answer))
        .with_state(state.clone())
        .layer(from_fn_with_state(state.clone(), pages::response::finish))
}
