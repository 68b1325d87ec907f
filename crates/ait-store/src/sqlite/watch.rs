//! Notices the changes of other processes.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::watch;

use super::database::Database;
use super::edits::{self, needs_merge};
use super::publish::{self as publishing, is_behind};
use super::write::newest;
use super::writer::WeakWriter;
use crate::EventPosition;
use crate::files::schedule::Schedule;

/// How often the database is looked at, with and without notifications of its files.
const SLOW_POLL: Duration = Duration::from_secs(1);
const FAST_POLL: Duration = Duration::from_millis(100);
/// For how long notifications are gathered.
const DEBOUNCE: Duration = Duration::from_millis(5);

/// Starts the thread that looks for new events until the store is dropped.
pub(super) fn spawn(
    database: &Arc<Database>,
    found: watch::Sender<EventPosition>,
    writer: WeakWriter,
    schedule: Arc<Schedule>,
) {
    let database = Arc::downgrade(database);
    let thread = thread::Builder::new().name("ait-watcher".to_owned());
    if let Err(error) = thread.spawn(move || run(&database, &found, &writer, &schedule)) {
        tracing::warn!("changes of other processes show late: failed to start a thread: {error}");
    }
}

fn run(
    database: &Weak<Database>,
    found: &watch::Sender<EventPosition>,
    writer: &WeakWriter,
    schedule: &Arc<Schedule>,
) {
    let (wake, woken) = sync_channel::<()>(1);
    let mut watcher: Option<RecommendedWatcher> = None;
    loop {
        let Some(database) = database.upgrade() else { return };
        if watcher.is_none() {
            watcher = begin(&database, wake.clone());
        }
        if let Some(writer) = writer.upgrade()
            && needs_merge(&database, writer.is_running())
            && let Err(error) = writer.run(edits::adopt)
        {
            let path = database.issues().display();
            tracing::warn!("an external edit of {path} is not merged for now: {error}");
        }
        match database.read(newest) {
            Ok(Some(position)) => {
                // A database that took the place of another one may have fewer events.
                found.send_if_modified(|known| std::mem::replace(known, position) != position);
                // The process that made a change publishes it within a second, unless it ended before.
                if is_behind(&database, position) && schedule.changed() {
                    publishing::start(&database, writer, schedule);
                }
            }
            Ok(None) => {}
            Err(failure) => tracing::debug!("new events are not seen: {failure:?}"),
        }
        drop(database);
        let poll = if watcher.is_some() { SLOW_POLL } else { FAST_POLL };
        match woken.recv_timeout(poll) {
            Ok(()) => thread::sleep(DEBOUNCE),
            // The directory may be another one.
            Err(RecvTimeoutError::Timeout) => watcher = None,
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Watches the directory of the database, if it exists.
fn begin(database: &Database, wake: std::sync::mpsc::SyncSender<()>) -> Option<RecommendedWatcher> {
    let directory = database.paths().ok()?.directory;
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Reads open and close files, too.
        if event.is_ok_and(|event| !event.kind.is_access()) {
            let _ = wake.try_send(());
        }
    })
    .ok()?;
    watcher.watch(&directory, RecursiveMode::NonRecursive).ok()?;
    // Edits of `issues.json` show there.
    watcher.watch(directory.parent()?.parent()?, RecursiveMode::NonRecursive).ok()?;
    Some(watcher)
}
