//! The thread that writes `issues.json` after changes.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use super::database::Database;
use super::published::{self, Publication};
use super::write::newest;
use super::writer::{WeakWriter, WriterHandle};
use crate::store::json::background::Schedule;
use crate::store::json::support::lock;

/// The first and the longest pause before a retry, after a failure or while another process publishes.
const FIRST_RETRY: Duration = Duration::from_millis(200);
const MAX_RETRY_PAUSE: Duration = Duration::from_secs(30);

/// Starts the thread that publishes changes until the store is closed.
pub(super) fn start(database: &Arc<Database>, writer: &WeakWriter, schedule: &Arc<Schedule>) {
    let (database, writer, schedule) = (Arc::clone(database), writer.clone(), Arc::clone(schedule));
    let spawned = thread::Builder::new().name("ait-publisher".to_owned()).spawn(move || {
        let (mut not_before, mut retry) = (Instant::now(), FIRST_RETRY);
        while schedule.wait(database.options.publish_after, not_before) {
            let rest = published::rest(&database);
            if !rest.is_zero() {
                not_before = Instant::now() + rest;
                schedule.changed();
                continue;
            }
            let Some(writer) = writer.upgrade() else { return };
            match published::publish(&database, &writer) {
                Ok(Publication::Written | Publication::UpToDate) => {
                    retry = FIRST_RETRY;
                    continue;
                }
                Ok(Publication::Busy) => {}
                Err(error) => {
                    // Problems of the file itself are logged when they are found.
                    if lock(&database.known).problem.is_none() {
                        let why = error.reason();
                        tracing::warn!(
                            "issues.json is not up to date: {why}; every change is in the store"
                        );
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

/// Publishes at the end, if the file is not large.
pub(super) async fn finish(database: &Arc<Database>, writer: &WriterHandle) {
    let (database, writer) = (Arc::clone(database), writer.clone());
    if !database.has_changed.load(Ordering::Relaxed) {
        return;
    }
    let publishing = move || {
        let Ok(paths) = database.paths() else { return };
        let Ok(Some(position)) = database.read(newest) else { return };
        let bytes = database.fs.fingerprint(&paths.issues).ok().flatten();
        let is_small =
            bytes.is_none_or(|file| file.length_bytes() <= database.options.last_publish_bytes);
        if !is_small || published::is_published(&database, &paths, position) {
            return;
        }
        if let Err(error) = published::publish(&database, &writer) {
            tracing::debug!("issues.json is not up to date: {error}");
        }
    };
    if tokio::runtime::Handle::try_current().is_ok() {
        let _ = tokio::task::spawn_blocking(publishing).await;
    } else {
        publishing();
    }
}
