//! `ait doctor`: the subject of the examination, from what was set.

use std::env;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use tokio::task::spawn_blocking;

use super::OpenStore;
use super::port::USUAL;
use crate::cli::{self, DoctorArguments, Output};
use crate::config::settings::FILE;
use crate::config::{Config, FILE_NAME, Location};
use crate::doctor::{Around, Settings, Subject};
use crate::domain::Timestamp;
use crate::setup::Machine;
use crate::store::Store;
use crate::store::json::JsonStoreOptions;

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
    working_directory: &Path,
    config: impl FnOnce() -> Result<Config, String> + Send + 'static,
) -> Result<cli::Ending> {
    let around = around(&location, working_directory);
    let Location { path, reason, .. } = location;
    let settings = spawn_blocking(move || config().map(|config| settings(&config)));
    let settings = match tokio::time::timeout(SETTINGS_WITHIN, settings).await {
        Ok(settings) => settings?,
        Err(_) => {
            Err("the settings cannot be read: the disk, or a pipe in their place, hangs".to_owned())
        }
    };
    let allows_network = settings.as_ref().is_ok_and(|settings| settings.allows_network);
    // Not one that reads in place: what hangs must hang on a thread that nobody waits for.
    let options = JsonStoreOptions { allows_network, ..JsonStoreOptions::default() };
    let OpenStore { store, tracker, maintenance } = OpenStore::at(&path, options);
    let now = tracker.now();
    let mut output = Output::stdout();
    let maintenance = Some(maintenance);
    let subject = Subject { path, reason, store, maintenance, settings, around, now };
    let ended = cli::run_doctor(command, subject, &mut output).await;
    output.flush()?;
    ended
}

/// The subject of an examination where the settings are understood.
pub(super) fn subject(
    config: &Config,
    store: Arc<dyn Store>,
    working_directory: &Path,
    now: Timestamp,
) -> Subject {
    let around = around(&config.location, working_directory);
    let Location { path, reason, .. } = config.location.clone();
    // A report repairs nothing, so it needs no access to the files beside the store.
    let maintenance = None;
    Subject { path, reason, store, maintenance, settings: Ok(settings(config)), around, now }
}

fn around(location: &Location, working_directory: &Path) -> Around {
    let root = location.project(working_directory);
    // Clients that are started here have the same environment; others may have another.
    let is_by_environment = env::var_os(FILE.variable).is_some_and(|file| !file.is_empty());
    let found = (!is_by_environment).then(|| Location::found_from(&root).path);
    let machine = Machine::new(|name| env::var_os(name), env::home_dir());
    Around { root, machine, is_named: location.is_named, found }
}

fn settings(config: &Config) -> Settings {
    let file = config.project().join(FILE_NAME);
    let token = config.token.as_ref();
    Settings {
        file: file.exists().then_some(file),
        allows_network: config.allows_network(),
        port: config.port.as_ref().map(|port| (port.value.0, port.source.to_string())),
        usual: USUAL,
        address: config.bind.value.0,
        address_by: config.bind.source.to_string(),
        token_file: config.token_file.as_ref().map(|file| file.value.0.clone()),
        token: token.map(|token| (token.value.0.clone(), token.source.to_string())),
    }
}
