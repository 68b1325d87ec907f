//! A store that is nothing but its state in memory.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::{BoxFuture, FutureExt, ready};

use super::backup::{Consent, Difference, Holdings, Replacement, Verdict};
use super::changes::{Changes, Cursor, Recent};
use super::{Document, IssueStore, Store, StoreError, StoreFuture, StoreId, Vitals};
use crate::domain::{Command, Counts, Extra, Issue, IssueRef, Page, Query, Timestamp};

/// A store that keeps its issues in memory only: for tests, and the model that others must match.
#[derive(Debug)]
pub struct MemoryStore {
    id: StoreId,
    state: Mutex<State>,
}

/// How many ended sessions are remembered.
const MAX_ENDED_SESSIONS: usize = 10_000;

#[derive(Debug, Default)]
struct State {
    issues: IssueStore,
    extra: Extra,
    recent: Recent,
    /// The sessions that were ended, the last one last.
    ended: VecDeque<String>,
}

impl State {
    fn document(&self) -> Document {
        Document { issues: self.issues.clone(), extra: self.extra.clone() }
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self { id: StoreId::random(), state: Mutex::default() }
    }
}

impl MemoryStore {
    fn state(&self) -> MutexGuard<'_, State> {
        // A panic between two statements of `IssueStore` cannot leave it half changed in a way that
        // outlives the test that uses this store.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn apply_now(
        &self,
        command: &Command,
        now: Timestamp,
    ) -> Result<Option<Arc<Issue>>, StoreError> {
        let mut state = self.state();
        let Some(event) = state.issues.decide(command, now)? else { return Ok(None) };
        let issue = state.issues.apply(&event)?;
        state.recent.push(Arc::new(event));
        Ok(Some(issue))
    }

    fn replace_now(&self, document: Document, consent: Consent) -> Replacement {
        let mut state = self.state();
        let difference = Difference::between(&state.document(), &document);
        if let Some(found) = Replacement::found(consent, difference.clone()) {
            return found;
        }
        (state.issues, state.extra) = (document.issues, document.extra);
        state.recent.interrupt();
        let (difference, damage, kept) = (Some(difference), None, Vec::new());
        Replacement { verdict: Verdict::Done, difference, damage, kept }
    }

    fn end_session_now(&self, session: String) {
        let ended = &mut self.state().ended;
        if !ended.contains(&session) {
            ended.push_back(session);
        }
        if ended.len() > MAX_ENDED_SESSIONS {
            ended.pop_front();
        }
    }
}

impl Store for MemoryStore {
    fn id(&self) -> BoxFuture<'_, StoreId> {
        ready(self.id).boxed()
    }

    fn apply(&self, command: Command, now: Timestamp) -> StoreFuture<'_, Option<Arc<Issue>>> {
        ready(self.apply_now(&command, now)).boxed()
    }

    fn get(&self, reference: IssueRef) -> StoreFuture<'_, Arc<Issue>> {
        ready(self.state().issues.find(&reference).map_err(StoreError::from)).boxed()
    }

    fn list(&self, query: Query) -> StoreFuture<'_, Page> {
        ready(Ok(self.state().issues.list(&query))).boxed()
    }

    fn counts(&self) -> StoreFuture<'_, Counts> {
        ready(Ok(self.state().issues.counts())).boxed()
    }

    fn changes(&self, after: Option<Cursor>) -> StoreFuture<'_, Changes> {
        ready(Ok(self.state().recent.since(after))).boxed()
    }

    fn holdings(&self) -> StoreFuture<'_, Holdings> {
        ready(Ok(Holdings { document: self.state().document(), damage: None })).boxed()
    }

    fn replace(&self, document: Document, consent: Consent) -> StoreFuture<'_, Replacement> {
        ready(Ok(self.replace_now(document, consent))).boxed()
    }

    fn files(&self) -> BoxFuture<'_, Vec<PathBuf>> {
        ready(Vec::new()).boxed()
    }

    fn check(&self) -> StoreFuture<'_, ()> {
        ready(Ok(())).boxed()
    }

    fn try_writing(&self) -> StoreFuture<'_, ()> {
        ready(Ok(())).boxed()
    }

    fn vitals(&self) -> BoxFuture<'_, Vitals> {
        ready(Vitals { name: "memory".to_owned(), ..Vitals::default() }).boxed()
    }

    fn end_session(&self, session: String) -> StoreFuture<'_, ()> {
        self.end_session_now(session);
        ready(Ok(())).boxed()
    }

    fn session_ended(&self, session: String) -> StoreFuture<'_, bool> {
        ready(Ok(self.state().ended.contains(&session))).boxed()
    }

    fn keep_up(&self) -> StoreFuture<'_, bool> {
        ready(Ok(false)).boxed()
    }

    fn take_over_edit(&self) -> StoreFuture<'_, ()> {
        ready(Ok(())).boxed()
    }

    fn save(&self) -> StoreFuture<'_, ()> {
        ready(Ok(())).boxed()
    }

    fn close(&self) -> BoxFuture<'_, bool> {
        ready(true).boxed()
    }
}
