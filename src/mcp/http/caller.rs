//! What goes along with the HTTP request that a message came in.

use std::sync::{Arc, Weak};

use axum::http::request::Parts;
use rmcp::service::{RequestContext, RoleServer};

use crate::http::{Mode, Principal};

/// The session of a request, as something that can be kept.
#[derive(Clone)]
pub(super) struct Keepable(pub Weak<()>);

/// What keeps a session in memory as long as it is there, because its client watches something.
pub(in crate::mcp) struct Kept {
    _session: Arc<()>,
}

/// Keeps the session of a request in memory; over stdio, and without a session, there is none.
pub(in crate::mcp) fn kept(context: &RequestContext<RoleServer>) -> Option<Kept> {
    let session = of_http_request::<Keepable>(context)?.0.upgrade()?;
    Some(Kept { _session: session })
}

/// The name of the token that a request came with, if that is one to read with only.
pub(in crate::mcp) fn read_only_token(context: &RequestContext<RoleServer>) -> Option<&str> {
    let principal = of_http_request::<Principal>(context)?;
    (principal.mode() == Mode::ReadOnly).then(|| principal.name())
}

/// What goes along with the HTTP request that a message came in; each has its own, also within a session.
pub(in crate::mcp) fn of_http_request<T: Send + Sync + 'static>(
    context: &RequestContext<RoleServer>,
) -> Option<&T> {
    context.extensions.get::<Parts>()?.extensions.get()
}
