//! Changes: the forms of people, and those of programs over `/api`. Only with the setting `web-actions`.
//!
//! All changes go through the use cases of the tracker. A form is accepted from a page of this server alone: its origin
//! and its token say so, and its version says what the person saw. A program needs an access token.

pub(super) mod action;
mod fields;
mod filing;
pub(super) mod form_token;
pub(super) mod forms;
mod handler;
pub(super) mod person;
mod write_api;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, patch, post};

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
        .route("/api/issues", post(write_api::file))
        .route("/api/issues/{id}", patch(write_api::edit))
        .route("/api/issues/{id}/comments", post(write_api::comment))
        .route("/api/issues/{id}/answer", post(write_api::answer))
        .route("/api/issues/{id}/close", post(write_api::close))
        .method_not_allowed_fallback(super::refuse_method)
        .with_state(state.clone())
        .layer(from_fn_with_state(state.clone(), pages::response::finish))
}
