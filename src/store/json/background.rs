//! What a process does for the store while nobody asks: publishing what changed, and watching what others do.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use super::edits;
use super::fs::directory_of;
use super::publish::{Publication, Publisher, Unless};
use super::support::lock;
use super::view::Shared;
use super::writer::{WeakWriter, WriterHandle};

/// How long after a failure, or when another process is publishing, it is tried again at first, and at most.
const FIRST_RETRY: Duration = Duration::from_millis(200);
const LAST_RETRY: Duration = Duration::from_secs(30);
/// How often is looked at the store where the system tells of changes, and where it does not.
const SLOW_POLL: Duration = Duration::from_secs(1);
const FAST_POLL: Duration = Duration::from_millis(100);
/// How long changes are gathered.
const GATHER: Duration = Duration::from_millis(15);
/// How long a batch of another process may be without a word that it is durable, until this process makes it so.
const UNDURABLE_FOR: Duration = Duration::from_secs(1);

/// When there is something to publish.
#[derive(Default)]
pub(super) struct Schedule {
    state: Mutex<ScheduleState>,
    woken: Condvar,
}

#[derive(Default)]
struct ScheduleState {
    /// Since when there is something to publish.
    changed: Option<Instant>,
    /// Whether there is a thread.
    is_running: bool,
    is_closing: bool,
}

impl Schedule {
    /// Takes note that something changed; returns true if there is no thread to publish it.
    pub fn changed(&self) -> bool {
        let mut state = lock(&self.state);
        state.changed.get_or_insert_with(Instant::now);
        self.woken.notify_all();
        !std::mem::replace(&mut state.is_running, true)
    }

    /// Ends the thread, which finishes what it is at.
    pub fn close(&self) {
        lock(&self.state).is_closing = true;
        self.woken.notify_all();
    }

    /// Waits until something changed and `rest` is over; false when the thread is to end.
    fn wait(&self, after: Duration, not_before: Instant) -> bool {
        let mut state = lock(&self.state);
        loop {
            if state.is_closing {
                return false;
            }
            let now = Instant::now();
            let due = state.changed.map(|changed| (changed + after).max(not_before));
            state = match due {
                Some(due) if due <= now => {
                    state.changed = None;
                    return true;
                }
                Some(due) => {
                    let waited = self.woken.wait_timeout(state, due - now);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.woken.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

/// Publishes what changes, until the store is closed.
pub(super) fn start_publishing(publisher: Publisher, schedule: Arc<Schedule>) {
    let after = publisher.shared.options.publish_after;
    let spawned = thread::Builder::new().name("ait-publisher".to_owned()).spawn(move || {
        let (mut not_before, mut retry) = (Instant::now(), FIRST_RETRY);
        while schedule.wait(after, not_before) {
            let rest = publisher.rest();
            if !rest.is_zero() {
                not_before = Instant::now() + rest;
                schedule.changed();
                continue;
            }
            let published = publisher.publish(Unless::Unchanged);
            if let Err(error) = publisher.snapshot() {
                tracing::warn!("no snapshot could be written: {}", error.reason());
            }
            match published {
                Ok(Publication::Written | Publication::UpToDate) => {
                    *lock(&publisher.shared.unpublished) = None;
                    retry = FIRST_RETRY;
                    continue;
                }
                Ok(Publication::Busy) => {}
                Err(error) => {
                    // The log has everything; only the file is older than it should be.
                    let why = format!(
                        "issues.json is not up to date: {}; every change is in the log",
                        error.reason()
                    );
                    // What is wrong with the file itself was told when it was looked at.
                    if lock(&publisher.shared.known).problem.is_none() {
                        tracing::warn!("{why}");
                        *lock(&publisher.shared.unpublished) = Some(why);
                    }
                    retry = (retry * 2).min(LAST_RETRY);
                }
            }
            not_before = Instant::now() + retry;
            schedule.changed();
        }
    });
    if let Err(error) = spawned {
        tracing::warn!("issues.json is not brought up to date: no thread for it: {error}");
    }
}

/// Called when changes were seen, to publish what whoever made them did not.
pub(super) type Stale = Box<dyn Fn(&Arc<Shared>, WriterHandle) + Send>;

/// Watches what other processes and people do to the files, as long as the store is there.
pub(super) fn start_watching(shared: &Arc<Shared>, writer: &WriterHandle, stale: Stale) {
    let (shared, writer) = (Arc::downgrade(shared), writer.downgrade());
    let spawned = thread::Builder::new()
        .name("ait-watcher".to_owned())
        .spawn(move || Watch::new(stale).run(&shared, &writer));
    if let Err(error) = spawned {
        tracing::warn!("what other processes do is not seen at once: no thread for it: {error}");
    }
}

struct Watch {
    stale: Stale,
    watcher: Option<RecommendedWatcher>,
    watched: Vec<PathBuf>,
    events: Receiver<()>,
    undurable_since: Option<Instant>,
}

impl Watch {
    fn new(stale: Stale) -> Self {
        let (sender, events): (SyncSender<()>, _) = sync_channel(1);
        let mut told: Option<Instant> = None;
        let watcher = notify::recommended_watcher(move |_| {
            if told.is_none_or(|told| told.elapsed() >= GATHER) {
                told = Some(Instant::now());
                // One that waits already is enough.
                let _ = sender.try_send(());
                // The system gathers what comes meanwhile, so that a busy store does not wake this thread each time.
                thread::sleep(GATHER);
            }
        });
        let watcher = watcher
            .inspect_err(|error| tracing::debug!("the system tells of no changes: {error}"))
            .ok();
        Self { stale, watcher, watched: Vec::new(), events, undurable_since: None }
    }

    fn run(&mut self, shared: &Weak<Shared>, writer: &WeakWriter) {
        while let (Some(shared), Some(writer)) = (shared.upgrade(), writer.upgrade()) {
            self.look(&shared, writer);
            drop(shared);
            let poll = if self.watched.is_empty() { FAST_POLL } else { SLOW_POLL };
            match self.events.recv_timeout(poll) {
                Ok(()) => thread::sleep(GATHER),
                // Also directories that were replaced are watched again.
                Err(RecvTimeoutError::Timeout) => self.watched.clear(),
                // Without a watcher nobody sends anything.
                Err(RecvTimeoutError::Disconnected) => thread::sleep(FAST_POLL),
            }
            // What came while it was gathered is seen by the next look.
            while self.events.try_recv().is_ok() {}
        }
    }

    fn look(&mut self, shared: &Arc<Shared>, writer: WriterHandle) {
        // What is wrong with the store, those are told who use it.
        let Ok(view) = shared.fresh_durable() else { return };
        self.watch(&[&view.place.log, &view.place.directory, directory_of(&view.place.issues)]);
        if edits::is_pending(shared, &view)
            && let Ok(Err(error)) | Err(error) = writer.run(edits::adopt)
        {
            tracing::warn!(
                "an edit of {} is not taken over for now: {error}",
                shared.path.display()
            );
        }
        if view.durable == view.state.position {
            self.undurable_since = None;
        } else if self.undurable_since.get_or_insert_with(Instant::now).elapsed() >= UNDURABLE_FOR {
            // Whoever appended it has died before it was durable.
            let _ = writer.run(|committer| edits::transact(committer, |_| ()));
            self.undurable_since = None;
        }
        (self.stale)(shared, writer);
    }

    fn watch(&mut self, directories: &[&Path]) {
        let Some(watcher) = &mut self.watcher else { return };
        for directory in directories {
            let is_new = !self.watched.iter().any(|watched| watched == directory);
            if is_new && watcher.watch(directory, RecursiveMode::NonRecursive).is_ok() {
                self.watched.push(directory.to_path_buf());
            }
        }
    }
}
