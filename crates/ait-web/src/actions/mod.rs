//! Changes: the forms of people, and those of programs over `/api`. Only with the setting `web-actions`.
//!
//! All changes go through the use cases of the tracker. A form is accepted from a page of this server alone: its origin
//! and its token say so, and its version says what the person saw. A program needs an access token.
//!
//! # From the page to the store
//!
//! 1. With `web-actions`, `ait-web/actions/forms.rs` adds forms to the page of an issue. Each has the version of the
//!    issue and a token, which `ait-web/actions/form_token.rs` derives from a secret of the process.
//! 2. `ait-web/actions/handler.rs` takes a form: it refuses tokens that only read (`ait-web/actions/person.rs`), and
//!    checks the origin, the media type, the token of the form and the version, in this order. The version is compared
//!    here to show what changed meanwhile. Closing, and returning a claimed issue, ask for confirmation on a page of
//!    their own first. `ait-web/actions/fields.rs` parses the fields into a change.
//! 3. The change goes to the tracker with an `IssueAtVersion` (`ait-tracker/lib.rs`): an issue and its version, for
//!    which the commit begins with `Command::RequireVersion`, which decides under the lock. If two forms for the same
//!    version arrive, only the first takes effect. A form that files an issue (`ait-web/actions/filing.rs`) has the id
//!    that the issue gets, for the same reason.
//! 4. A change leads to the page of the issue, which says what was done and offers its undo
//!    (`ait-web/actions/done.rs`, `ait-web/actions/undo.rs`). Anything else leads to a page with the reason and the
//!    form as it was filled in, for the current version of the issue (`Fields::rebased`).
//!
//! The list has one form for all issues that are selected in it (`ait-web/actions/many.rs`). Each comes with its
//! version, and they are changed in one commit, as by `ait bulk`: what is refused is named, the rest is done. The inbox
//! has one form for all its rows (`ait-web/actions/inbox.rs`), and the list one that saves it as a view
//! (`ait-web/actions/views.rs`).

pub(super) mod action;
pub(super) mod done;
mod fields;
mod filing;
pub(super) mod form_token;
pub(super) mod forms;
pub(super) mod handler;
pub(super) mod inbox;
pub(super) mod many;
pub(super) mod person;
mod undo;
pub(super) mod views;
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
        .route(action::FILE_PATH, get(filing::show_form).post(filing::submit))
        .route(action::MANY_PATH, get(many::to_list).post(many::act))
        .route(action::INBOX_PATH, post(inbox::act))
        .route(action::VIEWS_PATH, get(many::to_list).post(views::act))
        .route(action::UNDO_PATH, get(many::to_list).post(undo::act))
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
