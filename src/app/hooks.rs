//! `ait hooks`, and the calls of the hooks by git and by clients.

use std::env;
use std::io::{Read, stdin};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use form_urlencoded::Serializer;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::OpenStore;
use crate::cli::{self, ClientHookArguments, HookAction, HookCallArguments, Output};
use crate::config::settings::AGENT;
use crate::config::{Config, Price, Source, StoreLocation};
use crate::domain::AgentName;
use crate::git::Git;
use crate::hooks::{
    self, ASK_LIMIT, CALL_LIMIT, HookContext, HookInput, HookTexts, HooksDir, SERVER_LIMIT,
    SESSION_END_LIMIT, SESSION_LIMIT, SUBAGENT_LIMIT,
};
use crate::port_probe;
use crate::processes::{ProcessEntry, Registry};
use crate::setup::{self, HookClient, HooksOfProject, HostEnv, SessionEvent};
use crate::store::files::StoreOptions;
use crate::store::files::fs::{FileSystem, RealFileSystem};
use crate::store::files::paths::StorePaths;
use crate::tracker::Tracker;
use crate::web::HOOK_TEXTS_PATH;

/// How long a note waits for the lock of the store.
const BUSY_AFTER: Duration = Duration::from_millis(1_200);
/// How long the end of a session waits for it.
const SESSION_BUSY_AFTER: Duration = Duration::from_millis(700);
/// The longest input from a client, in bytes.
const MAX_INPUT_BYTES: u64 = 1024 * 1024;

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
    let root = StoreLocation::found_from(working_directory).project(working_directory);
    let output = &Output::stdout();
    if let Some(client) = action.client() {
        let hooks = HooksOfProject { client, root: &root, env: &host, program: &command };
        return cli::change_client_hooks(action, hooks, is_store_named, output);
    }
    let directory = HooksDir::find(&Git::new(working_directory, ASK_LIMIT)).await?;
    let clients = setup::clients_with_hooks(&root, &host, &command).flatten().collect();
    cli::change_hooks(action, &directory, clients, &command, is_store_named, output)
}

/// Does the work of a hook that git has called, within the time that git may wait. An error becomes a line on
/// stderr, so that git goes on.
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
    let config = spawn_blocking(move || config().map(|config| (is_there(&config), config)));
    let (is_there, config) = config.await??;
    if !is_there {
        return Ok(());
    }
    let OpenStore { tracker, .. } = OpenStore::new(&config, StoreOptions::for_hook(BUSY_AFTER));
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
    if hooks::call(hook, &context).await? {
        tracker.close().await;
    }
    Ok(())
}

/// Does the work of a hook that a client has called, within the time that a client may wait. The client is told nothing
/// after an error, which becomes a line on stderr.
///
/// # Errors
///
/// A person typed the command.
pub async fn call_client_hook(
    arguments: &ClientHookArguments,
    config: impl FnOnce(Option<PathBuf>) -> Result<Config> + Send + 'static,
) -> Result<cli::ExitStatus> {
    // Another version may have installed hooks that this one does not know.
    let Some(event) = arguments.event()? else { return Ok(cli::ExitStatus::Done) };
    let limit = match event {
        SessionEvent::SessionEnd => SESSION_END_LIMIT,
        SessionEvent::SessionStart | SessionEvent::Stop => SESSION_LIMIT,
        _ => SUBAGENT_LIMIT,
    };
    let problem = match timeout(limit, session(event, arguments.client(), config)).await {
        Ok(Ok(())) => return Ok(cli::ExitStatus::Done),
        Ok(Err(error)) => cli::render_error(&error),
        Err(_) => "it took too long".to_owned(),
    };
    tracing::warn!("the hook {} did nothing: {problem}", event.as_str());
    Ok(cli::ExitStatus::Done)
}

async fn session(
    event: SessionEvent,
    client: HookClient,
    config: impl FnOnce(Option<PathBuf>) -> Result<Config> + Send + 'static,
) -> Result<()> {
    // A client that keeps stdin open, or a file system that hangs, must not block the timeout.
    let prepared = spawn_blocking(move || {
        let mut text = Vec::new();
        stdin().lock().take(MAX_INPUT_BYTES).read_to_end(&mut text)?;
        let input: HookInput = serde_json::from_slice(&text).context("the input is not valid")?;
        let config = config(input.directory())?;
        let servers = match event {
            SessionEvent::SessionStart | SessionEvent::Stop => servers(&config),
            _ => Vec::new(),
        };
        let transcript = input.subagent_transcript().filter(|_| event.is_of_subagent());
        let claims = transcript.as_deref().map(hooks::claims_of).transpose();
        let claims = claims.context("the transcript cannot be read")?.unwrap_or_default();
        Ok::<_, anyhow::Error>((is_there(&config), config, input, servers, claims))
    });
    let (is_there, config, input, servers, mut claims) = prepared.await??;
    let is_idle = match event {
        SessionEvent::Stop => !input.is_first_stop(),
        _ => event.is_of_subagent() && claims.is_empty() && !input.has_reached_limit(),
    };
    if !is_there || is_idle {
        return Ok(());
    }
    let agent = config.agent.as_ref().map(|agent| &agent.value);
    let options = StoreOptions::for_hook(SESSION_BUSY_AFTER);
    let OpenStore { tracker, .. } = OpenStore::new(&config, options);
    let told = match event {
        SessionEvent::SessionEnd => {
            hooks::end_session(&tracker, agent, &input).await?;
            None
        }
        _ if event.is_of_subagent() => {
            hooks::hold_after_limit(&tracker, &input, agent, &claims).await?;
            let can_go_on = event == SessionEvent::SubagentStop && input.is_first_stop();
            hooks::end_subagent(&tracker, &claims, can_go_on).await?
        }
        _ => {
            let texts = match ask(&servers, &tracker, agent).await {
                Some(texts) => texts,
                None => HookTexts::read(&tracker, agent).await?,
            };
            texts.answer(event, client)
        }
    };
    if let Some(told) = told {
        let output = Output::stdout();
        output.json_line(&told)?;
        output.flush()?;
    }
    // The transcript of a session may be long, and its claims end without it.
    if event == SessionEvent::SessionEnd {
        let read = move || {
            let transcripts = input.session_transcripts();
            transcripts.iter().flat_map(|path| hooks::claims_of(path).unwrap_or_default()).collect()
        };
        claims = spawn_blocking(read).await?;
    }
    for claim in &mut claims {
        claim.usage.micros = Price::micros(&config.prices, &claim.usage);
    }
    hooks::record_usage(&tracker, &claims).await?;
    hooks::park_expensive(&tracker, &claims, config.budget).await?;
    let may_change = event.is_of_subagent() || event == SessionEvent::SessionEnd;
    if may_change {
        tracker.close().await;
    }
    Ok(())
}

/// Returns the addresses of the servers of the store in a file.
fn servers(config: &Config) -> Vec<SocketAddr> {
    let store = RealFileSystem.resolve(&config.location.path).ok();
    let store = store.filter(|_| config.database.is_none());
    let live = store.and_then(|store| Registry::for_store(&store).list_live_readonly().ok());
    live.unwrap_or_default().iter().filter_map(ProcessEntry::open_address).collect()
}

/// Asks a server what the hook is to say: it knows the store already, and reading a large one takes too long. `None` if
/// no server answers in time.
async fn ask(
    servers: &[SocketAddr],
    tracker: &Tracker,
    agent: Option<&AgentName>,
) -> Option<HookTexts> {
    let agent = agent.map(AgentName::as_str).unwrap_or_default();
    let query = Serializer::new(String::new()).append_pair("agent", agent).finish();
    let path = format!("{HOOK_TEXTS_PATH}?{query}");
    let answer = port_probe::json(*servers.first()?, &path, MAX_INPUT_BYTES, SERVER_LIMIT).await?;
    let is_ours = answer["storeId"] == tracker.store_id().await.to_string();
    serde_json::from_value(answer).ok().filter(|_| is_ours)
}

/// Returns true if there is a store. A hook creates none.
fn is_there(config: &Config) -> bool {
    config.database.is_some() || is_store(&config.location.path)
}

fn is_store(path: &Path) -> bool {
    let has_database = |issues| StorePaths::of(issues).database().is_file();
    path.exists() || RealFileSystem.resolve(path).is_ok_and(has_database)
}
