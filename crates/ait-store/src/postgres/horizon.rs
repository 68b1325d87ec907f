//! Where index scans start: all entries before were claimed or numbered when this process last checked.
//!
//! A claimed issue leaves the index of those that are ready, and a numbered event that of those without a number.
//! While some transaction is open for long, the server cannot remove the old entries, and a scan from the beginning of
//! the index passes over all of them. So a process remembers the first ready issue and the first event without a
//! number, and starts its scans there. Rows can appear before that place later. The transaction that wrote such a row
//! had not ended at the check, so a second scan finds them by their transaction (`written_in`).

use std::sync::Mutex;
use std::time::{Duration, Instant};

use tokio_postgres::types::{ToSql, Type};

use crate::files::support::lock;

/// After this time everything is looked at again, in case the database was replaced meanwhile.
const KNOWN_FOR: Duration = Duration::from_secs(60);
/// How often the first issue that is ready is looked for.
const POLL_EVERY: Duration = Duration::from_secs(1);

/// The first ready issue at the last check.
#[derive(Clone, Copy)]
pub(super) struct Ready {
    pub priority: i16,
    pub position: i64,
    /// The oldest transaction that had not ended at that moment.
    pub since: i64,
}

impl Ready {
    /// Scans everything.
    const START: Self = Self { priority: i16::MIN, position: i64::MIN, since: i64::MAX };

    /// Returns the parameters for a statement that looks for issues that are ready.
    pub fn params(&self) -> [(&(dyn ToSql + Sync), Type); 3] {
        [(&self.priority, Type::INT2), (&self.position, Type::INT8), (&self.since, Type::INT8)]
    }
}

/// What a process knows. Empty at the beginning.
#[derive(Default)]
pub(super) struct Horizon(Mutex<Known>);

#[derive(Clone, Copy, Default)]
struct Known {
    /// Since when the process knows something.
    begun: Option<Instant>,
    ready: Option<Ready>,
    /// When the first issue that is ready was looked for.
    checked: Option<Instant>,
    /// The oldest transaction that may have added an event without a number.
    unnumbered: i64,
}

impl Horizon {
    fn change<T>(&self, change: impl FnOnce(&mut Known) -> T) -> T {
        let mut known = lock(&self.0);
        if known.begun.is_none_or(|begun| begun.elapsed() > KNOWN_FOR) {
            *known = Known { begun: Some(Instant::now()), ..Known::default() };
        }
        change(&mut known)
    }

    /// Forgets everything.
    pub fn forget(&self) {
        self.change(|known| *known = Known::default());
    }

    /// Returns from where to look for issues that are ready.
    pub fn ready(&self) -> Ready {
        self.change(|known| known.ready.unwrap_or(Ready::START))
    }

    /// Returns true if the first issue that is ready should be looked for.
    pub fn is_ready_old(&self) -> bool {
        self.change(|known| known.checked.is_none_or(|checked| checked.elapsed() > POLL_EVERY))
    }

    /// Sets the place before which no issue was ready just now.
    pub fn set_ready(&self, ready: Ready) {
        self.change(|known| {
            (known.ready, known.checked) = (Some(ready), Some(Instant::now()));
        });
    }

    /// Returns the oldest transaction that may have added an event without a number.
    pub fn unnumbered(&self) -> i64 {
        self.change(|known| known.unnumbered)
    }

    /// Sets that all events are numbered that were written before a transaction.
    pub fn set_numbered(&self, before: i64) {
        self.change(|known| known.unnumbered = before);
    }
}
