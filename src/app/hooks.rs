//! `ait hooks`, and the calls of the hooks by git.

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
use crate::hooks::{self, ASK_LIMIT, CALL_LIMIT, Git, HookContext, HooksDir};
use crate::setup::HostEnv;
use crate::store::json::JsonStoreOptions;
use crate::store::json::fs::{FileSystem, RealFileSystem};
use crate::store::json::paths::StorePaths;

/// How long a note waits for the lock of the store.
const BUSY_AFTER: Duration = Duration::from_millis(1_200);

/// Installs, removes or examines the hooks of the repository around a directory.
///
/// # Errors
///
/// There is no repository, or its hooks cannot be read or changed.
pub async fn hooks(
    action: &HookAction,
    working_directory: &Path,
    is_store_named: bool,
) -> Result<cli::ExitStatus> {
    let host = HostEnv::new(|name| env::var_os(name), env::home_dir());
    let program = env::current_exe().context("the path of this program is not known")?;
    let command = host.command(&program);
    let directory = HooksDir::find(&Git::new(working_directory, ASK_LIMIT)).await?;
    cli::change_hooks(action, &directory, &command, is_store_named, &mut Output::stdout())
}

/// Does the work of a hook that git has called, within the time that git may wait. An error becomes a line on
/// stderr, so that git goes on.
///
/// # Errors
///
/// None.
pub async fn call_hook(
    arguments: &HookCallArguments,
    working_directory: PathBuf,
    config: impl FnOnce() -> Result<Config> + Send + 'static,
) -> Result<cli::ExitStatus> {
    let called = timeout(CALL_LIMIT, called(arguments, working_directory, config)).await;
    let problem = match called {
        Ok(Ok(())) => return Ok(cli::ExitStatus::Done),
        Ok(Err(error)) => cli::render_error(&error),
        Err(_) => "it took too long: the disk hangs, or another process holds the store".to_owned(),
    };
    let what = match arguments.hook.as_str() {
        "post-merge" => "the merge is not noted",
        _ => "the commit names no issue",
    };
    tracing::warn!("{what}: {}", problem.lines().next().unwrap_or_default());
    Ok(cli::ExitStatus::Done)
}

async fn called(
    arguments: &HookCallArguments,
    working_directory: PathBuf,
    config: impl FnOnce() -> Result<Config> + Send + 'static,
) -> Result<()> {
    // Another version may call hooks that this one does not know.
    let Some(hook) = arguments.known() else { return Ok(()) };
    // A file system that hangs must not block the timeout.
    let config =
        spawn_blocking(move || config().map(|config| (is_store(&config.location.path), config)));
    let (is_there, config) = config.await??;
    if !is_there {
        return Ok(());
    }
    let OpenStore { tracker, .. } = OpenStore::new(&config, JsonStoreOptions::for_hook(BUSY_AFTER));
    let user = || AgentName::try_from(whoami::username().ok()?).ok();
    let agent = config.agent.as_ref();
    let is_of_call = |source: &Source| *source == Source::Variable(AGENT.variable);
    let context = HookContext {
        tracker: &tracker,
        git: Git::new(working_directory, CALL_LIMIT),
        arguments: &arguments.arguments,
        action: env::var("GIT_REFLOG_ACTION").unwrap_or_default(),
        worker: agent.filter(|agent| is_of_call(&agent.source)).map(|agent| agent.value.clone()),
        author: agent.map(|agent| agent.value.clone()).or_else(user),
    };
    if hooks::call(hook, &context).await? && !tracker.close().await {
        save_behind(&config.location.path);
    }
    Ok(())
}

/// Returns true if there is a store. A hook creates none.
fn is_store(path: &Path) -> bool {
    let has_log = |issues| StorePaths::of(issues).log.is_dir();
    path.exists() || RealFileSystem.resolve(path).is_ok_and(has_log)
}
