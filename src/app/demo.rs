//! `ait demo`: an example queue to look at.

use std::fs;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::OpenStore;
use super::demo_large::{KNOWN, LEAD, name, play};
use crate::cli::{self, DemoArguments};
use crate::config::Config;
use crate::domain::Timestamp;
use crate::store::files::StoreOptions;
use crate::tracker::memory::NewEntry;

const EXAMPLE: &str = include_str!("../../issues.json.example");
/// How long before now the last change of the example is, in milliseconds.
const LAST_CHANGE_MS: i64 = 4 * 60_000;

/// Begins an empty queue with the issues of the example, as if a team were at work on them now.
///
/// # Errors
///
/// The queue has issues, or is in a database, or its file cannot be written.
pub async fn demo(command: &DemoArguments, config: &Config) -> Result<cli::ExitStatus> {
    if config.database.is_some() {
        bail!("the example is a file: `ait --file demo.json demo` puts it into a queue of its own");
    }
    let opened = OpenStore::new(config, StoreOptions::for_cli());
    let count = opened.tracker.counts().await?.total();
    if count > 0 {
        opened.tracker.close().await;
        bail!(
            "this queue has issues already: `ait --file demo.json demo` puts the example into a queue of its own"
        );
    }
    let now = opened.tracker.now();
    let path = &config.location.path;
    if command.large {
        let played = large(&opened, now).await;
        opened.tracker.close().await;
        let path = path.display();
        played.with_context(|| {
            format!("the example is not whole: remove {path} and .ait beside it, and try again")
        })?;
    } else {
        opened.tracker.close().await;
        let example = shifted(now)?;
        fs::write(path, example).with_context(|| format!("cannot write {}", path.display()))?;
    }
    cli::tell_of_demo(path, &cli::Output::stdout())
}

/// Lets a team work in an empty queue until now, and keeps what it learned.
pub(super) async fn large(opened: &OpenStore, now: Timestamp) -> Result<()> {
    play(&*opened.store, now).await?;
    for (kind, text, about) in KNOWN {
        let entry = NewEntry::new(kind, text.to_owned());
        let entry = NewEntry { about: vec![about.to_owned()], ..entry };
        opened.tracker.remember(entry, name(LEAD)?).await?;
    }
    if let Some(maintenance) = &opened.maintenance {
        maintenance.publish().await?;
    }
    Ok(())
}

/// Returns the example, with all times moved so that its last change was just now.
fn shifted(now: Timestamp) -> Result<String> {
    let mut example: Value = serde_json::from_str(EXAMPLE)?;
    let mut newest = None;
    each_time(&mut example, &mut |_, time| newest = newest.max(Some(time)));
    let newest = newest.context("the example has times")?;
    let by = now.unix_millis() - LAST_CHANGE_MS - newest.unix_millis();
    each_time(&mut example, &mut |text, time| {
        *text = Timestamp::from_unix_millis(time.unix_millis() + by).to_string();
    });
    Ok(serde_json::to_string_pretty(&example)? + "\n")
}

fn each_time(value: &mut Value, change: &mut impl FnMut(&mut String, Timestamp)) {
    match value {
        Value::String(text) => {
            if let Some(time) = Timestamp::parse(text) {
                change(text, time);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| each_time(value, change)),
        Value::Object(members) => {
            members.iter_mut().for_each(|(_, value)| each_time(value, change));
        }
        _ => {}
    }
}
