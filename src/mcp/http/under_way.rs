//! Which requests of sessions are under way.
//!
//! JSON-RPC tells answers apart by the ids of their requests. Two requests of a session with one id would
//! leave one of them without its answer for good; the second is refused instead.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestId;

/// The requests that are under way, as session and id.
#[derive(Clone, Debug, Default)]
pub(super) struct UnderWay(Arc<Mutex<HashSet<Request>>>);

type Request = (String, RequestId);

impl UnderWay {
    /// Takes note of a request until what this gives is dropped; `None` when there is such a one.
    pub fn begin(&self, session: &str, id: &RequestId) -> Option<Entry> {
        let request = (session.to_owned(), id.clone());
        let is_new = self.requests().insert(request.clone());
        is_new.then(|| Entry { all: self.clone(), request })
    }

    fn requests(&self) -> MutexGuard<'_, HashSet<Request>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that is under way.
pub(super) struct Entry {
    all: UnderWay,
    request: Request,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.all.requests().remove(&self.request);
    }
}
