//! Wiring: chooses the store, starts the interfaces and shuts them down in order.

mod demo;
mod demo_large;
mod doctor;
mod example;
mod hooks;
mod http_server;
mod init;
mod merge_driver;
mod migrate;
mod port;
mod port_reservations;
mod signals;
mod syncs;
mod texts;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{env, io, mem};

use anyhow::{Context, Result, bail};
use rustix::fs::FileType;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

pub use self::demo::demo;
pub use self::doctor::doctor;
pub use self::hooks::{call_client_hook, call_hook, hooks};
use self::http_server::ProcessContext;
pub use self::init::init;
pub use self::merge_driver::{merge_driver, resolve};
pub use self::migrate::migrate;
pub use self::texts::show_texts;
use crate::cli::{self, OpenArguments, Output, QueueCommand, ShownStore, StatusArguments, Welcome};
use crate::config::settings::LOG;
use crate::config::{
    Address, Config, FILE_NAME, FilePath, KeptEvents, Secret, Served, Source, Sourced,
    StoreLocation, StoreUrl,
};
use crate::doctor::{hidden_queue, worktree_copy};
use crate::domain::Counts;
use crate::hints;
use crate::http::{AccessPolicy, Tokens};
use crate::logging::{LogOptions, LogProfile};
use crate::mcp::options::McpOptions;
use crate::mcp::{self, McpServer, ServerContext};
use crate::metrics::Metrics;
use crate::processes::{ProcessKind, Registry};
use crate::read_model::ReadModel;
use crate::setting::SettingsFile;
use crate::setup::{self, HostEnv, PROGRAM, ProjectTemplates, is_work_tree};
use crate::store::files::fs::RealFileSystem;
use crate::store::files::paths::StorePaths;
use crate::store::files::{KeepEvents, StoreOptions};
use crate::store::transfer::TransferTarget;
#[cfg(feature = "postgres")]
use crate::store::{Password, PostgresOptions, PostgresStore};
use crate::store::{SqliteStore, Store, UnusableStore};
use crate::token_file::TokenFile;
use crate::tracker::{Maintenance, QuestionHook, Tracker};
use crate::worktrees;

/// How long the last responses and the last publish of `issues.json` may take at shutdown.
const DRAIN_LIMIT: Duration = Duration::from_millis(500);
/// How long the final check of the store may take.
const CHECK_LIMIT: Duration = Duration::from_millis(200);

/// What a server logs that greets the user: what is wrong, and which process has the port.
const GREETING_LOG: &str = "warn,ait_cli=info,agent_issue_tracker::app::http_server=info";

/// Returns true if a person has started the tracker in a terminal and wants no log lines.
fn greets(config: &Config) -> bool {
    let is_log_wanted = config.log.is_some()
        || config.log_file.is_some()
        || config.log_format.source != Source::Default
        // The log reports an invalid filter.
        || env::var_os(LOG.variable).is_some_and(|filter| !filter.is_empty());
    let may_greet = config.served == Served::Guessed && io::stdin().is_terminal();
    may_greet && !is_log_wanted && io::stderr().is_terminal()
}

/// Returns true if a server serves an agent on stdin. A client that starts one gives it a pipe or a socket, and a file
/// may hold a session. A terminal and /dev/null are none.
pub fn serves_agent(served: Served) -> bool {
    match served {
        Served::Http => false,
        Served::Agent => true,
        Served::Guessed => {
            let mode =
                rustix::fs::fstat(io::stdin()).map(|stat| FileType::from_raw_mode(stat.st_mode));
            mode.is_ok_and(|kind| {
                matches!(kind, FileType::Fifo | FileType::Socket | FileType::RegularFile)
            })
        }
    }
}

/// Returns the logging options of a server. For a person in a terminal, it logs as commands do.
pub fn log_options(config: &Config) -> LogOptions {
    if greets(config) {
        let filter = Some(GREETING_LOG.to_owned());
        LogOptions { filter, ..LogOptions::new(LogProfile::Command) }
    } else {
        config.log_options()
    }
}

/// Runs the tracker until its client disconnects or a signal arrives.
///
/// # Errors
///
/// The tracker cannot start, or its store cannot be read at the end.
pub async fn run(mut config: Config) -> Result<()> {
    let is_http_only = !serves_agent(config.served);
    if !is_http_only && config.database.is_none() {
        config.store_problem = config.store_problem.or_else(|| no_project(&config.location));
    }
    let access = match access(&config) {
        Err(error) if is_http_only => return Err(error),
        access => access,
    };
    match (config.served, is_http_only) {
        (Served::Guessed, true) => tracing::info!(
            "stdin is not from an MCP client, so ait serves the web page and MCP over HTTP, as `ait serve` does; `ait mcp` \
             serves a client on stdin"
        ),
        (Served::Guessed, false) => tracing::info!(
            "stdin is a pipe or a file, so ait serves MCP there, as `ait mcp` does, and the web page; `ait serve` serves the \
             page alone"
        ),
        _ => {}
    }
    tracing::info!("store: {} ({})", config.store(), config.store_reason());
    let OpenStore { store, tracker, maintenance } =
        OpenStore::new(&config, StoreOptions::default());
    let settings_file = SettingsFile::at(config.project().join(FILE_NAME));
    let metrics = Metrics::new();
    let shutdown = CancellationToken::new();
    let signal = signals::cancel_on_signal(shutdown.clone())?;
    let context = {
        // An upgrade may later put another program at this path.
        let program = env::current_exe().unwrap_or_else(|_| PROGRAM.into());
        let opened =
            OpenStore { store, tracker: tracker.clone(), maintenance: maintenance.clone() };
        let config = config.clone();
        let settings_file = settings_file.clone();
        move || ServerContext { settings_file, ..server_context(&config, opened, &program) }
    };
    // Clients over HTTP have nothing to do with the client that started the server.
    let http_role = config.mcp.role.clone().filter(|_| is_http_only);
    let texts = Arc::new(texts::texts(&config));
    let root = Some(config.project());
    let options = McpOptions { root, http_role, texts, ..config.mcp.clone() };
    let read_model = ReadModel::new(tracker.clone());
    let server = McpServer::new(read_model.clone(), metrics.clone(), options, context);
    let app = App { config, settings_file, tracker, read_model, maintenance, metrics, server };
    // The subscription makes this process adopt external edits and publish what dead processes left unpublished.
    drop(app.tracker.watch());
    let keeper = CancellationToken::new();
    tokio::spawn({
        let tracker = app.tracker.clone();
        let keeper = keeper.clone();
        async move { tracker.watch_leases(keeper).await }
    });
    let _ends_with_this = keeper.drop_guard();
    if is_http_only && app.maintenance.is_some() {
        // All pages need it, and the first one should not wait a second for it where there are many issues.
        let read_model = app.read_model.clone();
        let now = app.tracker.now();
        tokio::spawn(async move { read_model.read(move |view| view.recent_findings(now)).await });
    }
    let served = match access {
        Ok(access) if is_http_only => app.serve_http(access, shutdown).await,
        access => app.serve_agent(access, shutdown).await,
    };
    if served.is_ok() {
        // A log without this line at its end is that of a process that was killed.
        tracing::info!("stopped: {}", signal.get().unwrap_or(&"stdin was closed"));
    }
    served
}

/// Returns why an agent must not begin a queue at a place that no person chose: clients start servers in `/` and in the
/// home directory, too.
fn no_project(location: &StoreLocation) -> Option<String> {
    let directory = location.path.parent()?.canonicalize().ok()?;
    let home = env::home_dir().and_then(|home| home.canonicalize().ok());
    let is_project = directory.parent().is_some() && Some(&directory) != home.as_ref();
    if location.is_named || is_project || location.path.exists() || is_work_tree(&directory) {
        return None;
    }
    Some(format!(
        "{} is not the directory of a project, so no queue begins there: start the client in a project, or name its queue \
         with `ait --file PATH`; `ait init` in the project sets the client up",
        directory.display()
    ))
}

/// A store and its handles.
struct OpenStore {
    store: Arc<dyn Store>,
    tracker: Tracker,
    /// `None` if the store has no files.
    maintenance: Option<Maintenance>,
}

impl OpenStore {
    /// Opens the store of the settings. Reads nothing yet.
    fn new(config: &Config, options: StoreOptions) -> Self {
        let options = configured(config, options);
        let opened = match (&config.store_problem, &config.database) {
            (Some(problem), _) => Self::of(Arc::new(UnusableStore::new(problem))),
            (None, Some(database)) => match open_database(&database.value, config) {
                Ok(store) => Self::of(store),
                Err(why) => Self::of(Arc::new(UnusableStore::new(why))),
            },
            (None, None) => {
                let location = &config.location;
                let directory = env::current_dir();
                let hidden = directory.ok().and_then(|directory| {
                    hidden_queue(&location.path, location.is_named, &directory)
                });
                match hidden.or_else(|| migrate::refuse_moved(&location.path)) {
                    Some(why) => Self::of(Arc::new(UnusableStore::new(why))),
                    None => Self::at(&location.path, options),
                }
            }
        };
        let on_question = config.on_question.as_ref().map(|chosen| QuestionHook {
            command: chosen.value.as_str().into(),
            directory: config.project(),
        });
        let project = config.project();
        let tracker = opened
            .tracker
            .with_worktrees(config.project(), worktrees::changed, worktrees::last_sign)
            .with_claim_settings(config.claims.clone())
            .with_classifications(config.classifications.clone())
            .with_templates(move || ProjectTemplates::read(&project).templates)
            .with_question_command(on_question)
            .with_clones(opened.maintenance.is_some());
        Self { tracker, ..opened }
    }

    /// Opens the store in a file.
    fn at(path: &Path, options: StoreOptions) -> Self {
        let store = SqliteStore::with(path, Arc::new(RealFileSystem), options);
        let maintenance = Some(store.maintenance());
        Self { maintenance, ..Self::of(Arc::new(store)) }
    }

    /// Returns the handles of a store without files.
    fn of(store: Arc<dyn Store>) -> Self {
        Self { tracker: Tracker::new(Arc::clone(&store)), maintenance: None, store }
    }
}

/// Returns options for a store in files with the settings that concern it.
fn configured(config: &Config, options: StoreOptions) -> StoreOptions {
    let keep_events = config.keep_events.as_ref().map(|chosen| match chosen.value {
        KeptEvents::Bytes(bytes) => KeepEvents::Bytes(bytes),
        KeptEvents::Age(age) => KeepEvents::Age(age),
    });
    StoreOptions {
        allows_network: config.allows_network(),
        keep_events: keep_events.unwrap_or_default(),
        ..options
    }
}

/// Opens the store in a database, or returns why it cannot be opened. Connects to nothing yet. In `ait.toml`, the files
/// that its URL names are beside that.
#[cfg(feature = "postgres")]
fn open_database(url: &StoreUrl, config: &Config) -> Result<Arc<dyn TransferTarget>, String> {
    let options = PostgresOptions::parse(&url.0)
        .map_err(|why| format!("{url} is not the URL of a PostgreSQL database: {why}"))?;
    let is_of_file =
        |named: &&Sourced<StoreUrl>| named.value == *url && matches!(named.source, Source::File(_));
    let options = match config.database.as_ref().filter(is_of_file) {
        Some(_) => options.in_directory(&config.project()),
        None => options,
    };
    let options = if serves_agent(config.served) { options.for_one_agent() } else { options };
    let password = config.store_password.as_ref();
    let password = password.map(|password| Password::new(password.value.0.as_str()));
    Ok(Arc::new(PostgresStore::new(options.with_password(password))))
}

/// Refuses the store in a database.
#[cfg(not(feature = "postgres"))]
fn open_database(url: &StoreUrl, _: &Config) -> Result<Arc<dyn TransferTarget>, String> {
    Err(format!(
        "the store is {url}, and this ait was built without PostgreSQL: build it with `cargo build --release --features \
         postgres`"
    ))
}

/// Returns who may use HTTP. On a loopback address, tokens are optional; on other addresses, they are required. After
/// an error an agent on stdio is still served, because it has no other tracker, but HTTP is not.
fn access(config: &Config) -> Result<AccessPolicy> {
    if config.http_is_unsafe {
        bail!(
            "an option or setting that was ignored may restrict who may use it: correct it and start ait again"
        );
    }
    let file = config.token_file.as_ref();
    let token = config.token.as_ref();
    let Sourced { value: Address(address), source } = &config.bind;
    if !address.is_loopback() && file.is_none() && token.is_none() {
        bail!(
            "{source}: {address} is reachable from other machines, and no token is set: name a token file with \
             --token-file FILE (create it with `openssl rand -hex 32 > FILE`), set AIT_TOKEN, or bind 127.0.0.1"
        );
    }
    tokens(file, token).map(|tokens| config.access().with_tokens(tokens))
}

fn tokens(file: Option<&Sourced<FilePath>>, token: Option<&Sourced<Secret>>) -> Result<Tokens> {
    match (file, token) {
        (Some(file), _) => {
            let file = TokenFile::read(&file.value.0)?;
            if let Some(warning) = file.warning {
                tracing::warn!("{warning}");
            }
            Ok(file.tokens)
        }
        (None, Some(token)) => {
            Tokens::single(&token.value.0).with_context(|| token.source.to_string())
        }
        (None, None) => Ok(Tokens::default()),
    }
}

/// Runs one command on the store, and publishes `issues.json` as far as time allows.
pub async fn run_command(command: &QueueCommand, config: &Config) -> Result<cli::ExitStatus> {
    let options = match command {
        QueueCommand::Import(_) => StoreOptions::for_many_changes(),
        _ => StoreOptions::for_cli(),
    };
    let OpenStore { tracker, maintenance, .. } = OpenStore::new(config, options);
    let _process = match command.process_kind() {
        Some(kind) => {
            let files = maintenance.as_ref();
            Some(ProcessContext::of(&tracker, files, config, kind, false).await)
        }
        None => None,
    };
    let default_agent = config.agent.as_ref().map(|agent| &agent.value);
    let output = Output::stdout();
    let project = config.project();
    let sync_directory = match command {
        QueueCommand::Sync(_) => sync_directory(maintenance.as_ref(), config).await,
        _ => PathBuf::new(),
    };
    let syncs =
        cli::SyncContext { settings: &config.syncs, project: &project, directory: &sync_directory };
    let context = cli::CommandContext {
        tracker: &tracker,
        maintenance: maintenance.as_ref(),
        saved_queries: &config.queries,
        default_agent,
        output: &output,
        syncs,
    };
    let ended = cli::run(command, &context).await;
    finish(tracker, ended, &output).await
}

/// Returns where syncs keep how far they have read: with the other files beside `issues.json`. For a store in a
/// database that is beside `ait.toml`, so each machine has its own.
async fn sync_directory(maintenance: Option<&Maintenance>, config: &Config) -> PathBuf {
    let issues = http_server::file_of(maintenance, config).await;
    StorePaths::of(issues).directory.join("sync")
}

/// Shows the state of the store and its live processes.
pub async fn status(command: &StatusArguments, config: &Config) -> Result<cli::ExitStatus> {
    let OpenStore { tracker, maintenance, .. } = OpenStore::new(config, StoreOptions::for_cli());
    let file = http_server::file_of(maintenance.as_ref(), config).await;
    let output = Output::stdout();
    let store = maintenance.map_or_else(|| config.store(), |_| file.display().to_string());
    let reason = config.store_reason();
    let registry = Registry::for_store(&file);
    let unused = match (&config.database, env::current_dir()) {
        (Some(_), _) => Some(config.location.path.clone()).filter(|path| path.is_file()),
        (None, Ok(directory)) => worktree_copy(&file, &directory),
        (None, Err(_)) => None,
    };
    let registry = &registry;
    let unused = unused.as_deref();
    let shown = ShownStore { store: &store, reason: &reason, registry, unused };
    let ended = cli::show_status(command, &tracker, shown, &output).await;
    finish(tracker, ended, &output).await
}

/// Opens the web UI of the store in the browser.
pub async fn open_page(command: &OpenArguments, config: &Config) -> Result<cli::ExitStatus> {
    let opened = OpenStore::new(config, StoreOptions::for_cli());
    let issue = match &command.id {
        Some(id) => Some(opened.tracker.get_issue(id.clone()).await?.id),
        None => None,
    };
    let store = http_server::file_of(opened.maintenance.as_ref(), config).await;
    // The process registry knows the URL best.
    let live = Registry::for_store(&store).list_live().unwrap_or_default();
    let served = live.into_iter().find_map(|entry| entry.url).filter(|_| command.port.is_none());
    let configured = config.port.as_ref().map(|port| port.value.0);
    let port = command.port.or(configured).unwrap_or(*port::USUAL.start());
    let name = store.file_name().unwrap_or_default().to_string_lossy();
    cli::open_page(command, issue, served, port, &name, &Output::stdout()).await
}

/// Ends a command: flushes its output and closes the store.
async fn finish(
    tracker: Tracker,
    ended: Result<cli::ExitStatus>,
    output: &Output,
) -> Result<cli::ExitStatus> {
    // Flush after a failure, too: the output up to there is valid.
    let flushed = output.flush();
    tracker.close().await;
    // The process is about to end: freeing many issues one by one would only take time.
    mem::forget(tracker);
    match (ended, flushed) {
        (Ok(ending), Err(error)) if cli::is_closed_pipe(&error) => Ok(ending),
        (Ok(_), Err(error)) => {
            Err(error.context("the command succeeded, but its output cannot be written"))
        }
        (ended, _) => ended,
    }
}

/// The parts that all interfaces share. Clones share them.
#[derive(Clone)]
struct App {
    config: Config,
    settings_file: SettingsFile,
    tracker: Tracker,
    /// Built by the first page or search.
    read_model: ReadModel,
    maintenance: Option<Maintenance>,
    metrics: Metrics,
    server: McpServer,
}

impl App {
    /// Serves HTTP only, for people, service managers and agents that connect by URL. Any failure is fatal.
    async fn serve_http(self, access: AccessPolicy, shutdown: CancellationToken) -> Result<()> {
        let counts = tokio::select! {
            counts = self.tracker.counts() => match counts {
                // The pages say what is damaged.
                Err(error) if error.is_damage() => Counts::default(),
                counts => counts?,
            },
            // A large store takes a moment to read, and a signal must end the process at once.
            () = shutdown.cancelled() => return Ok(()),
        };
        self.log_what_is_wrong().await;
        let needs_token = !access.tokens().is_empty();
        let process = self.register(ProcessKind::Serve, needs_token).await;
        let Some(http) = process.serve(&self, access, &shutdown).await? else { return Ok(()) };
        let directory = sync_directory(self.maintenance.as_ref(), &self.config).await;
        syncs::start(&self.config, &self.tracker, &directory);
        if greets(&self.config) {
            self.greet(http.page(), counts).await;
        } else if self.config.served == Served::Guessed {
            let program = env::current_exe().unwrap_or_else(|_| "ait".into());
            let header = if needs_token { " --header \"Authorization: Bearer TOKEN\"" } else { "" };
            tracing::info!(
                "to connect an agent: claude mcp add --transport http issues {url}{header}, or give any MCP client \
                 that URL; or let the client start the tracker: claude mcp add issues -- {program} \
                 (no arguments); press Ctrl-C to stop",
                url = http.url(),
                program = program.display(),
            );
        }
        shutdown.cancelled().await;
        http.end(&self.tracker).await;
        Ok(())
    }

    /// Serves an agent on stdin and stdout, and HTTP if possible.
    async fn serve_agent(
        self,
        access: Result<AccessPolicy>,
        shutdown: CancellationToken,
    ) -> Result<()> {
        let ending = CancellationToken::new();
        let http = tokio::spawn({
            let app = self.clone();
            let ending = ending.clone();
            // A taken port or unusable tokens must not stop the agent's tracker.
            async move {
                let unserved = |error| {
                    if app.config.http_is_unsafe {
                        // The invalid setting has been logged as an error.
                        tracing::warn!("web UI unavailable: {error:#}");
                    } else {
                        tracing::error!("web UI unavailable: {error:#}");
                    }
                };
                let needs_token = access.as_ref().is_ok_and(|access| !access.tokens().is_empty());
                let process = app.register(ProcessKind::Stdio, needs_token).await;
                match access {
                    Ok(access) => {
                        let http = process.serve(&app, access, &ending).await;
                        return http.map_err(unserved).ok().flatten();
                    }
                    Err(error) => unserved(error),
                }
                ending.cancelled().await;
                drop(process);
                None
            }
        });
        // The store loads while the client initializes, so problems are logged early.
        tokio::spawn({
            let app = self.clone();
            async move { app.log_what_is_wrong().await }
        });
        let (input, output) = rmcp::transport::io::stdio_pipes();
        let served = mcp::stdio::serve(self.server.clone(), input, output, shutdown).await;
        // If the disk hangs, other processes find the lock released.
        let _noted = tokio::time::timeout(CHECK_LIMIT, self.server.end_process()).await;
        // A process without a port by now has no HTTP requests in progress.
        ending.cancel();
        match tokio::time::timeout(DRAIN_LIMIT, http).await {
            Ok(Ok(Some(http))) => http.end(&self.tracker).await,
            _ => drain(self.tracker.close()).await,
        }
        if !served? {
            tracing::warn!(
                "stdin ended before an MCP client said anything: `ait serve` serves the web page without a client, and `ait \
                 init` sets clients up"
            );
        }
        // A store that is still loading is no error.
        if let Ok(Err(error)) = tokio::time::timeout(CHECK_LIMIT, self.tracker.check()).await {
            return Err(error).context("the agent could not be served fully");
        }
        Ok(())
    }

    async fn greet(&self, page: &str, counts: Counts) {
        let directory = env::current_dir().unwrap_or_default();
        let root = self.config.location.project(&directory);
        // A hanging disk blocks only a background thread.
        let entries = spawn_blocking(move || {
            setup::entries(&root, &HostEnv::new(|name| env::var_os(name), env::home_dir()))
        });
        let has_client = entries.await.is_ok_and(|entries| entries.iter().any(Result::is_ok));
        let store = &self.config.store();
        cli::greet(&Welcome { page, store, counts, has_client });
    }

    async fn register(&self, kind: ProcessKind, needs_token: bool) -> ProcessContext {
        let files = self.maintenance.as_ref();
        ProcessContext::of(&self.tracker, files, &self.config, kind, needs_token).await
    }

    async fn log_what_is_wrong(&self) {
        if cli::say_damage(&self.tracker).await.is_none()
            && let Err(error) = self.tracker.check().await
        {
            tracing::error!("{}", hints::for_store(&error, &hints::COMMANDS));
        }
    }
}

/// Collects the context that agents can read besides issues: settings, doctor report, start command.
fn server_context(config: &Config, opened: OpenStore, program: &Path) -> ServerContext {
    let directory = env::current_dir().unwrap_or_default();
    let context = doctor::context(config, opened, &directory);
    let project = init::project(config, &directory, program);
    let mut command = vec![project.command.clone()];
    let is_in_file = |database: &Sourced<StoreUrl>| matches!(database.source, Source::File(_));
    match &config.database {
        Some(database) if !is_in_file(database) => {
            command.extend(["--store".to_owned(), database.value.to_string()]);
        }
        None if config.location.is_named => {
            command.extend(["--file".to_owned(), config.location.path.display().to_string()]);
        }
        _ => {}
    }
    let settings = config.rows();
    let command = shell_words::join(command);
    let settings_file = SettingsFile::default();
    ServerContext { settings, settings_file, context, project, command }
}

/// Waits a bounded time for work at shutdown. Changes that do not finish in it are not acknowledged.
async fn drain<T>(work: impl Future<Output = T>) {
    if tokio::time::timeout(DRAIN_LIMIT, work).await.is_err() {
        tracing::debug!("exited before all work was finished");
    }
}
