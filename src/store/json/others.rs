//! Leaving an edit of `issues.json` to those who know what the store held before it.
//!
//! Who has just begun knows of that only what the journal tells; see [`edits`](super::edits). Were it to take
//! the edit over, work that others were answered could be undone. So it asks them, and waits a while: they
//! look every now and then whether anybody does.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::commit::Committer;
use super::load::LoadError;
use super::replica::Replica;
use super::view::View;
use crate::store::StoreError;

/// How long others have, and how often is looked what they did. They look once a second.
const WITHIN: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The other processes on a store that stay for long, as far as somebody who begins can know.
pub trait Others: Send + Sync {
    /// Asks them to take over what somebody made of the `issues.json` at a path, until the request is
    /// dropped; `None` when there are none.
    fn ask(&self, store: &Path) -> Option<Box<dyn Request>>;
}

/// A request to other processes.
pub trait Request {
    /// Tells whether there still is a process that may hear it.
    fn is_heard(&self) -> bool;
}

/// Tells whether a state contains an edit that others may know more of.
pub(super) fn may_know_more(view: &View) -> bool {
    let base = view.journal.as_ref().and_then(|journal| journal.header.base());
    base.is_some() && view.edit.as_ref().is_some_and(|edit| edit.before.is_none())
}

/// Waits until others have taken over an edit of which this process knows too little; in vain where there are
/// none, or none that do it: then the file counts as it is.
pub(super) fn leave_to_others(replica: &Replica) -> Result<(), LoadError> {
    let Some(others) = replica.others.get() else { return Ok(()) };
    let (mut request, begun) = (None, Instant::now());
    loop {
        let view = replica.fresh()?;
        if !may_know_more(&view) {
            return Ok(());
        }
        let asked = request.get_or_insert_with(|| others.ask(&view.place.snapshot));
        if !asked.as_ref().is_some_and(|request| request.is_heard()) {
            return Ok(());
        }
        if begun.elapsed() > WITHIN {
            let path = view.place.snapshot.display();
            tracing::warn!(
                "{path} was edited, and no process that knows what it held before has taken that over: it \
                 counts as it is"
            );
            return Ok(());
        }
        thread::sleep(LOOK_EVERY);
    }
}

impl Committer {
    /// Takes over an edit, if there is one of which this process knows enough.
    pub fn take_over_edit(&mut self) -> Result<(), StoreError> {
        let replica = Arc::clone(self.replica());
        if knows_edit(&*replica.fresh()?) {
            self.settle(&replica)?;
        }
        Ok(())
    }
}

/// Tells whether a state contains an edit of which this process knows enough.
pub(super) fn knows_edit(view: &View) -> bool {
    view.edit.as_ref().is_some_and(|edit| edit.before.is_some())
}
