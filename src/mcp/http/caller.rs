//! Who asks, and whether anybody still waits for the answer.
//!
//! An answer over HTTP goes to the connection that asked, and nowhere else. When that is closed, or the
//! session ends, a call that is not decided yet is withdrawn: a claim would belong to nobody.

use std::future;
use std::sync::{Arc, Weak};

use axum::http::request::Parts;
use rmcp::service::{RequestContext, RoleServer};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::under_way::Entry;
use crate::http::{Mode, Principal};

/// Goes along with a request to where it is worked on.
#[derive(Clone)]
pub(super) struct Caller {
    gone: CancellationToken,
    /// The id is in use for as long as the request is worked on, also when nobody waits for it.
    _entry: Option<Arc<Entry>>,
}

/// The session of a request, as something that can be kept.
#[derive(Clone)]
pub(super) struct Keepable(pub Weak<()>);

/// What keeps a session in memory as long as it is there, because its client watches something.
pub(in crate::mcp) struct Kept {
    _session: Arc<()>,
}

/// Keeps the session of a request in memory; over stdio, and without a session, there is none.
pub(in crate::mcp) fn kept(context: &RequestContext<RoleServer>) -> Option<Kept> {
    let session = of_request::<Keepable>(context)?.0.upgrade()?;
    Some(Kept { _session: session })
}

/// Stays with the connection that waits for the answer.
pub(super) struct Waiting {
    _gone: DropGuard,
    _entry: Option<Arc<Entry>>,
}

impl Caller {
    /// A caller who is gone when what comes with it is dropped, or when the session ends.
    pub fn new(ended: &CancellationToken, entry: Option<Entry>) -> (Self, Waiting) {
        let (gone, entry) = (ended.child_token(), entry.map(Arc::new));
        let waiting = Waiting { _gone: gone.clone().drop_guard(), _entry: entry.clone() };
        (Self { gone, _entry: entry }, waiting)
    }
}

/// Waits until nobody waits for the answer to a request any more; over stdio, for ever.
pub(in crate::mcp) async fn is_gone(context: &RequestContext<RoleServer>) {
    match of_request::<Caller>(context) {
        Some(caller) => caller.gone.cancelled().await,
        None => future::pending().await,
    }
}

/// The name of the token that a request came with, if that is one to read with only.
pub(in crate::mcp) fn read_only_token(context: &RequestContext<RoleServer>) -> Option<&str> {
    let principal = of_request::<Principal>(context)?;
    (principal.mode() == Mode::ReadOnly).then(|| principal.name())
}

/// What goes along with the HTTP request that a message came in; each has its own, also within a session.
fn of_request<T: Send + Sync + 'static>(context: &RequestContext<RoleServer>) -> Option<&T> {
    context.extensions.get::<Parts>()?.extensions.get()
}
