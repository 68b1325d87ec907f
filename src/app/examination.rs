//! `ait doctor`: the subject of the examination, from what was set.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use tokio::task::spawn_blocking;

use super::port::USUAL;
use crate::cli::{self, DoctorArguments, Output};
use crate::config::{Config, FILE_NAME, Location};
use crate::doctor::{Settings, Subject};
use crate::domain::Timestamp;
use crate::store::{JsonStore, Store};
use crate::tracker::Tracker;

/// How long the settings may take to be read, before everything else.
const SETTINGS_WITHIN: Duration = Duration::from_millis(1_000);

/// Examines a store, also where the settings cannot be understood.
///
/// # Errors
///
/// The answer cannot be written; nothing could be salvaged.
pub async fn doctor(
    command: &DoctorArguments,
    location: Location,
    config: impl FnOnce() -> Result<Config, String> + Send + 'static,
) -> Result<cli::Ending> {
    // Not one that reads in place: what hangs must hang on a thread that nobody waits for.
    let store = Arc::new(JsonStore::new(&location.path));
    let now = Tracker::new(store.clone()).now();
    let Location { path, reason, .. } = location;
    let settings = spawn_blocking(move || config().map(|config| settings(&config)));
    let settings = match tokio::time::timeout(SETTINGS_WITHIN, settings).await {
        Ok(settings) => settings?,
        Err(_) => {
            Err("the settings cannot be read: the disk, or a pipe in their place, hangs".to_owned())
        }
    };
    let mut output = Output::stdout();
    let ended =
        cli::run_doctor(command, Subject { path, reason, store, settings, now }, &mut output);
    let ended = ended.await;
    output.flush()?;
    ended
}

/// The subject of an examination where the settings are understood.
pub(super) fn subject(config: &Config, store: Arc<dyn Store>, now: Timestamp) -> Subject {
    let Location { path, reason, .. } = config.location.clone();
    Subject { path, reason, store, settings: Ok(settings(config)), now }
}

fn settings(config: &Config) -> Settings {
    let file = config.project().join(FILE_NAME);
    let token = config.token.as_ref();
    Settings {
        file: file.exists().then_some(file),
        port: config.port.as_ref().map(|port| (port.value.0, port.source.to_string())),
        usual: USUAL,
        address: config.bind.value.0,
        address_by: config.bind.source.to_string(),
        token_file: config.token_file.as_ref().map(|file| file.value.0.clone()),
        token: token.map(|token| (token.value.0.clone(), token.source.to_string())),
    }
}
