//! The sessions that are in memory, which of them makes room for others, and which were ended.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use indexmap::IndexSet;
use rmcp::transport::streamable_http_server::session::SessionId;
use rmcp::transport::streamable_http_server::session::local::LocalSessionHandle;
use tokio_util::sync::CancellationToken;

use super::session_id::key_of;

/// How many sessions that were ended are remembered.
const MAX_ENDED: usize = 16_384;
/// How many times as many sessions are kept of clients that watch something.
const WATCHING_FACTOR: usize = 4;

/// What is in memory.
#[derive(Default)]
pub(super) struct Live {
    pub sessions: HashMap<SessionId, Session>,
    /// Counts uses, so that the session that was idle for longest can be told.
    pub uses: u64,
    /// Names of sessions that made room and whose workers will still report that they have ended.
    pub leaving: HashMap<SessionId, usize>,
    /// The keys of the sessions that were ended last, in that order.
    ended: IndexSet<u128>,
}

pub(super) struct Session {
    pub handle: LocalSessionHandle,
    pub last_use: u64,
    /// Whether the handshake is over; before that, rmcp fails on anything else.
    pub is_ready: bool,
    pub end: CancellationToken,
    /// Shared with the streams that are open and the requests that are being served.
    pub users: Arc<()>,
    /// Shared with what the client watches.
    pub watches: Arc<()>,
    /// When its stream of news was opened last.
    pub heard: Option<Instant>,
}

impl Live {
    /// Takes a session out for good.
    pub fn end(&mut self, id: &str) -> Option<Session> {
        self.ended.extend(key_of(id));
        if self.ended.len() > MAX_ENDED {
            self.ended.shift_remove_index(0);
        }
        self.sessions.remove(id)
    }

    /// Returns true if a session was ended, by whichever spelling of its name.
    pub fn has_ended(&self, id: &str) -> bool {
        key_of(id).is_some_and(|key| self.ended.contains(&key))
    }

    /// Takes the session out that has been idle for longest, when there are more than there may be.
    pub fn leave(&mut self, capacity: usize) -> Option<LocalSessionHandle> {
        if self.sessions.len() <= capacity {
            return None;
        }
        let is_full = self.sessions.len() > WATCHING_FACTOR * capacity;
        let is_idle = |session: &Session| {
            let watches = Arc::strong_count(&session.watches) > 1;
            Arc::strong_count(&session.users) == 1 && (is_full || !watches)
        };
        let idle = self.sessions.iter().filter(|(_, session)| is_idle(session));
        let (id, _) = idle.min_by_key(|(_, session)| session.last_use)?;
        let id = Arc::clone(id);
        let session = self.sessions.remove(&id)?;
        *self.leaving.entry(id).or_default() += 1;
        Some(session.handle)
    }

    /// Takes the session out whose worker has ended.
    ///
    /// The worker of one that made room reports its end by the same name, when the session may long
    /// have been taken up again; that report is used up.
    pub fn ended(&mut self, id: &SessionId) -> Option<Session> {
        let Some(workers) = self.leaving.get_mut(id) else {
            return self.sessions.remove(id);
        };
        *workers -= 1;
        if *workers == 0 {
            self.leaving.remove(id);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use rmcp::transport::streamable_http_server::session::local::{
        SessionConfig, create_local_session,
    };

    use super::*;

    fn begin(live: &mut Live, id: &SessionId) {
        let (handle, _worker) = create_local_session(Arc::clone(id), SessionConfig::default());
        let (end, users) = (CancellationToken::new(), Arc::default());
        let (watches, heard) = (Arc::default(), None);
        let session = Session { handle, last_use: 0, is_ready: true, end, users, watches, heard };
        live.sessions.insert(Arc::clone(id), session);
    }

    #[test]
    fn the_sessions_that_were_ended_last_are_remembered_and_no_more() {
        let mut live = Live::default();
        let id = |number: usize| format!("store.{number:032x}.client");
        for number in 0..=MAX_ENDED {
            for _ in 0..2 {
                assert!(live.end(&id(number)).is_none());
            }
            assert!(live.has_ended(&id(number)) && !live.has_ended(&id(number + 1)));
        }
        assert!(!live.has_ended(&id(0)) && live.has_ended(&id(1)));
        assert!(live.has_ended(&id(1).replace("client", "another")));
        assert_eq!(live.ended.len(), MAX_ENDED);
        assert!(live.end("no name of a session").is_none());
    }

    #[test]
    fn a_worker_that_left_does_not_take_the_next_of_its_session_along() {
        let (mut live, id) = (Live::default(), SessionId::from("any"));
        for _ in 0..2 {
            begin(&mut live, &id);
            assert!(live.leave(0).is_some());
        }
        begin(&mut live, &id);
        for _ in 0..2 {
            assert!(live.ended(&id).is_none());
            assert!(live.sessions.contains_key(&id));
        }
        assert!(live.leaving.is_empty());
        // This report is of the one that is there.
        assert!(live.ended(&id).is_some());
        assert!(live.sessions.is_empty() && live.leave(0).is_none());
    }
}
