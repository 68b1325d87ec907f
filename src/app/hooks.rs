//! `ait hooks`: what it has to know of this machine, and the calls that git makes.

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::{OpenStore, save_behind};
use crate::cli::{self, HookAction, HookCallArguments, Output};
use crate::config::settings::AGENT;
use crate::config::{Config, Source};
use crate::domain::AgentName;
use crate::hooks::{self, ASK_LIMIT, CALL_LIMIT, Call, Git};
use crate::setup::Machine;
use crate::store::json::JsonStoreOptions;
use crate::store::json::fs::{FileSystem, RealFileSystem};
use crate::store::json::place::Place;

/// How long a note waits for those who hold the store.
const BUSY_AFTER: Duration = Duration::from_millis(1_200);

/// Installs the hooks of the repository around a directory, removes them, or tells how they stand.
///
/// # Errors
///
/// What kept it from being done.
pub async fn hooks(
    action: &HookAction,
    working_directory: &Path,
    is_store_named: bool,
) -> Result<cli::Ending> {
    let machine = Machine::new(|name| env::var_os(name), env::home_dir());
    let program = env::current_exe().context("where this program lies is not known")?;
    let command = machine.command(&program);
    let place = hooks::place(&Git::new(working_directory, ASK_LIMIT)).await?;
    cli::change_hooks(action, &place, &command, is_store_named, &mut Output::stdout())
}

/// Does what git has called a hook for. Whatever comes of it, git goes on: what went wrong is said in a
/// line, and nothing takes longer than git may wait.
///
/// # Errors
///
/// None.
pub async fn call_hook(
    arguments: &HookCallArguments,
    working_directory: PathBuf,
    config: impl FnOnce() -> Result<Config> + Send + 'static,
) -> Result<cli::Ending> {
    let called = timeout(CALL_LIMIT, called(arguments, working_directory, config)).await;
    let problem = match called {
        Ok(Ok(())) => return Ok(cli::Ending::Done),
        Ok(Err(error)) => cli::explained(&error),
        Err(_) => "no time is left: the disk hangs, or somebody holds the store".to_owned(),
    };
    let what = match arguments.hook.as_str() {
        "post-merge" => "the merge is not noted",
        _ => "the commit names no issue",
    };
    tracing::warn!("{what}: {}", problem.lines().next().unwrap_or_default());
    Ok(cli::Ending::Done)
}

async fn called(
    arguments: &HookCallArguments,
    working_directory: PathBuf,
    config: impl FnOnce() -> Result<Config> + Send + 'static,
) -> Result<()> {
    // A hook of another version.
    let Some(hook) = arguments.known() else { return Ok(()) };
    // On threads of their own: what hangs must not hold git up.
    let config = spawn_blocking(move || config().map(|it| (is_store(&it.location.path), it)));
    let (is_there, config) = config.await??;
    if !is_there {
        return Ok(());
    }
    let OpenStore { tracker, .. } = OpenStore::new(&config, JsonStoreOptions::for_hook(BUSY_AFTER));
    let user = || AgentName::try_from(whoami::username().ok()?).ok();
    let agent = config.agent.as_ref();
    let is_of_call = |source: &Source| *source == Source::Variable(AGENT.variable);
    let call = Call {
        tracker: &tracker,
        git: Git::new(working_directory, CALL_LIMIT),
        arguments: &arguments.arguments,
        action: env::var("GIT_REFLOG_ACTION").unwrap_or_default(),
        worker: agent.filter(|it| is_of_call(&it.source)).map(|agent| agent.value.clone()),
        noting: agent.map(|agent| agent.value.clone()).or_else(user),
    };
    if hooks::call(hook, &call).await? && !tracker.close().await {
        save_behind(&config.location.path);
    }
    Ok(())
}

/// Returns true if there is a store. A hook makes none.
fn is_store(path: &Path) -> bool {
    let has_log = |issues| Place::of(issues).log.is_dir();
    path.exists() || RealFileSystem.resolve(path).is_ok_and(has_log)
}
