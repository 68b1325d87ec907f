//! Background threads: publishing after changes, and watching the files for changes of others.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};

use super::edits;
use super::fs::directory_of;
use super::publish::{Publication, Publisher, SkipPublish};
use super::replaced_logs::commit_after_merges;
use super::shared::Shared;
use super::support::lock;
use super::writer::{WeakWriter, WriterHandle};
use crate::store::StoreError;

/// The first and the longest pause before a retry, after a failure or while another process publishes.
const FIRST_RETRY: Duration = Duration::from_millis(200);
const MAX_RETRY_PAUSE: Duration = Duration::from_secs(30);
/// The poll intervals with and without file notifications.
const SLOW_POLL: Duration = Duration::from_secs(1);
const FAST_POLL: Duration = Duration::from_millis(100);
/// How long file notifications are batched.
const DEBOUNCE: Duration = Duration::from_millis(15);
/// How long this process leaves a batch of another process without proof of durability before it syncs the batch
/// itself.
const UNDURABLE_FOR: Duration = Duration::from_secs(1);

/// Tells the publisher thread when to publish.
#[derive(Default)]
pub(in crate::store) struct Schedule {
    state: Mutex<ScheduleState>,
    woken: Condvar,
}

#[derive(Default)]
struct ScheduleState {
    /// When the oldest unpublished change was made.
    changed: Option<Instant>,
    /// True while the publisher thread runs.
    is_running: bool,
    is_closing: bool,
}

impl Schedule {
    /// Records a change. Returns true if the caller has to start the publisher thread.
    pub fn changed(&self) -> bool {
        let mut state = lock(&self.state);
        state.changed.get_or_insert_with(Instant::now);
        self.woken.notify_all();
        !std::mem::replace(&mut state.is_running, true)
    }

    /// Ends the thread after its current work.
    pub fn close(&self) {
        lock(&self.state).is_closing = true;
        self.woken.notify_all();
    }

    /// Waits for a change, then until the change is `after` old and `not_before` is reached. Returns false if the
    /// thread has to end.
    pub fn wait(&self, after: Duration, not_before: Instant) -> bool {
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

/// Starts the thread that publishes changes until the store is closed.
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
            let published = publisher.publish(SkipPublish::Unchanged);
            if let Err(error) = publisher.write_snapshot() {
                tracing::warn!("failed to write a snapshot: {}", error.reason());
            }
            match published {
                Ok(Publication::Written | Publication::UpToDate) => {
                    *lock(&publisher.shared.unpublished) = None;
                    retry = FIRST_RETRY;
                    continue;
                }
                Ok(Publication::Busy) => {}
                Err(error) => {
                    // The log has every change; only the file is outdated.
                    let why = format!(
                        "issues.json is not up to date: {}; every change is in the log",
                        error.reason()
                    );
                    // The health reports a damaged log itself, and problems of the file are logged when they are found.
                    let is_of_log = error.is_damage() || matches!(error, StoreError::Unreadable(_));
                    if !is_of_log && lock(&publisher.shared.known).problem.is_none() {
                        tracing::warn!("{why}");
                        *lock(&publisher.shared.unpublished) = Some(why);
                    }
                    retry = (retry * 2).min(MAX_RETRY_PAUSE);
                }
            }
            not_before = Instant::now() + retry;
            schedule.changed();
        }
    });
    if let Err(error) = spawned {
        tracing::warn!("issues.json is not brought up to date: failed to start a thread: {error}");
    }
}

/// Called after each check of the files, to publish changes that other processes did not publish.
pub(super) type OnPoll = Box<dyn Fn(&Arc<Shared>, WriterHandle) + Send>;

/// Starts the thread that watches the files for changes, until the store is dropped.
pub(super) fn start_watching(shared: &Arc<Shared>, writer: &WriterHandle, on_poll: OnPoll) {
    let (shared, writer) = (Arc::downgrade(shared), writer.downgrade());
    let spawned = thread::Builder::new()
        .name("ait-watcher".to_owned())
        .spawn(move || Watch::new(on_poll).run(&shared, &writer));
    if let Err(error) = spawned {
        tracing::warn!("changes of other processes show late: failed to start a thread: {error}");
    }
}

struct Watch {
    on_poll: OnPoll,
    watcher: Option<RecommendedWatcher>,
    watched: Vec<PathBuf>,
    events: Receiver<()>,
    undurable_since: Option<Instant>,
}

impl Watch {
    fn new(on_poll: OnPoll) -> Self {
        let (sender, events): (SyncSender<()>, _) = sync_channel(1);
        let mut rested: Option<Instant> = None;
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            // Processes that read the files change nothing.
            if event.is_ok_and(|event| event.kind.is_access()) {
                return;
            }
            // One pending notification is enough.
            let _ = sender.try_send(());
            if rested.is_none_or(|rested| rested.elapsed() >= DEBOUNCE) {
                // The system queues notifications in the meantime, so that a busy store does not wake this thread
                // each time. All that are queued then pass without another rest.
                thread::sleep(DEBOUNCE);
                rested = Some(Instant::now());
            }
        });
        let watcher = watcher
            .inspect_err(|error| tracing::debug!("file notifications are not available: {error}"))
            .ok();
        Self { on_poll, watcher, watched: Vec::new(), events, undurable_since: None }
    }

    fn run(&mut self, shared: &Weak<Shared>, writer: &WeakWriter) {
        while let (Some(shared), Some(writer)) = (shared.upgrade(), writer.upgrade()) {
            self.poll(&shared, writer);
            drop(shared);
            let poll = if self.watched.is_empty() { FAST_POLL } else { SLOW_POLL };
            match self.events.recv_timeout(poll) {
                Ok(()) => thread::sleep(DEBOUNCE),
                // Clearing also rewatches directories that were replaced.
                Err(RecvTimeoutError::Timeout) => self.watched.clear(),
                // Without a watcher the channel is disconnected.
                Err(RecvTimeoutError::Disconnected) => thread::sleep(FAST_POLL),
            }
            // The next check covers notifications that arrived in the meantime.
            while self.events.try_recv().is_ok() {}
        }
    }

    fn poll(&mut self, shared: &Arc<Shared>, writer: WriterHandle) {
        // Callers of the store get its errors themselves.
        let Ok(view) = shared.fresh_durable() else { return };
        self.watch(&[&view.paths.log, &view.paths.directory, directory_of(&view.paths.issues)]);
        if edits::needs_merge(shared, &view)
            && let Ok(Err(error)) | Err(error) = writer.run(edits::adopt_external_edit)
        {
            tracing::warn!(
                "an external edit of {} is not merged for now: {error}",
                shared.path.display()
            );
        }
        if view.durable == view.state.position {
            self.undurable_since = None;
        } else if self.undurable_since.get_or_insert_with(Instant::now).elapsed() >= UNDURABLE_FOR {
            // The process that appended the batch died before it was durable.
            let _ = writer.run(|committer| commit_after_merges(committer, |_| ()));
            self.undurable_since = None;
        }
        (self.on_poll)(shared, writer);
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
