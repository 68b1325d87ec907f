//! The syncs that `ait serve` runs by itself: those with `every`.

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::sleep;

use crate::config::Config;
use crate::sync::{self, Directions, Report, Run, SyncError, SyncSettings};
use crate::tracker::Tracker;

/// Starts them. A server that ends may cut a run short: the next one goes on.
pub(super) fn start(config: &Config, tracker: &Tracker, directory: &Path) {
    for settings in &config.syncs {
        let Some(every) = settings.every else { continue };
        let settings = settings.clone();
        let tracker = tracker.clone();
        let project = config.project();
        let directory = directory.to_owned();
        tokio::spawn(async move { repeat(&settings, every, &tracker, project, directory).await });
    }
}

async fn repeat(
    settings: &SyncSettings,
    every: Duration,
    tracker: &Tracker,
    project: PathBuf,
    directory: PathBuf,
) {
    let name = &settings.name;
    loop {
        match run(settings, tracker, &project, &directory).await {
            Ok(report) if report == Report::default() => {}
            Ok(report) => {
                tracing::info!("sync {name}: {}", report.summary());
                for problem in &report.problems {
                    tracing::warn!("sync {name}: {problem}");
                }
            }
            Err(problem) => tracing::warn!("sync {name}: {problem}"),
        }
        sleep(every).await;
    }
}

async fn run(
    settings: &SyncSettings,
    tracker: &Tracker,
    project: &Path,
    directory: &Path,
) -> Result<Report, String> {
    let remote = sync::connect(settings, &|name| env::var(name).ok(), project)?;
    let directions = Directions { pulls: true, pushes: true, is_dry: false };
    let run = Run::new(tracker, &*remote, settings, directions, &|_| ());
    match run.map_err(|error| error.to_string())?.run(directory).await {
        // The other process does it.
        Err(SyncError::Running) => Ok(Report::default()),
        ended => ended.map_err(|error| error.to_string()),
    }
}
