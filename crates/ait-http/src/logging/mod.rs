//! The log: on stderr or in a file, as text or as JSON.
//!
//! Logging never blocks the program, even if stderr is closed or unread, or the disk is full: a separate thread
//! writes the lines, and lines beyond a bounded queue are dropped.

mod file;
mod writer;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;
use std::{fmt, panic};

use clap::builder::styling::AnsiColor;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

use ait_domain::string_enum;
use file::LogFile;
use writer::{LineQueue, LogMessage};

pub use file::LogFileError;

/// The libraries that log nothing unless a filter names them. The protocol library logs whole requests at `debug`, each
/// notification at `info`, each refused request as a warning and each disconnect as an error; a certificate that is
/// refused is named by the sync that met it.
const QUIET: &str = "rmcp=off,notify=off,rustls_platform_verifier=off";
/// The default filter of servers, besides [`QUIET`].
const DEFAULT: &str = "info";
/// The default filter of commands.
const DEFAULT_OF_COMMANDS: &str = "warn,ait_cli=info";
/// How many lines may wait for the writer.
const WAITING_LINES: usize = 1_000;
/// How long the process waits at its end for the last lines. On a busy machine the writer thread may get its turn late,
/// and the last line is often the error that a command ends with.
const SHUTDOWN_LINES: Duration = Duration::from_secs(2);

/// The log profile: how lines look and which filter is the default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogProfile {
    /// A long-running process: each line has a time and a level.
    Server,
    /// A command: lines look like those of other command-line programs.
    Command,
}

string_enum! {
    /// The format of a server's log lines.
    #[derive(Default)]
    pub enum LogFormat {
        /// Text for people.
        #[default]
        Text = "text",
        /// One JSON object per line, with `timestamp` (RFC 3339, UTC), `level`, `message` and the other fields of the
        /// event.
        Json = "json",
    }
}

/// The configuration of the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogOptions {
    pub profile: LogProfile,
    /// The filter, in the syntax of `RUST_LOG`; `None` or empty for the default.
    pub filter: Option<String>,
    /// The file to append to; `None` for stderr.
    pub file: Option<PathBuf>,
    /// The format; commands always log text.
    pub format: LogFormat,
}

impl LogOptions {
    /// The default log, on stderr.
    pub fn new(profile: LogProfile) -> Self {
        Self { profile, filter: None, file: None, format: LogFormat::Text }
    }
}

/// The running log.
#[derive(Debug)]
pub struct Log {
    messages: SyncSender<LogMessage>,
    is_file: bool,
    /// Set when the writer must reopen the file before the next line.
    reopening: Arc<AtomicBool>,
}

impl Log {
    /// Starts the log of this process. A process can have only one.
    ///
    /// # Errors
    ///
    /// The file cannot be opened. Nothing was started, so the caller may try again with other options.
    ///
    /// # Panics
    ///
    /// Panics if the process already has a log.
    pub fn start(options: LogOptions) -> Result<Self, LogFileError> {
        let file = options.file.as_deref().map(LogFile::open).transpose()?;
        let (messages, incoming) = sync_channel(WAITING_LINES);
        let reopening = Arc::new(AtomicBool::new(false));
        let log = Self { messages, is_file: file.is_some(), reopening: Arc::clone(&reopening) };
        if let Some(file) = &file {
            // Tell the user, who looks at stderr first.
            log.write_stderr(&format!("logging to {}", file.path().display()));
        }
        writer::start(file, reopening, incoming);
        log.listen(&options);
        if options.profile == LogProfile::Server
            && (log.is_file || options.format == LogFormat::Json)
        {
            // By default, panics go to stderr, and not as JSON.
            panic::set_hook(Box::new(|panic| {
                tracing::error!("{}", panic.to_string().replace('\n', " "));
            }));
        }
        Ok(log)
    }

    /// Installs the global subscriber.
    fn listen(&self, options: &LogOptions) {
        let wanted = options.filter.as_deref().unwrap_or_default();
        let default_filter =
            if options.profile == LogProfile::Server { DEFAULT } else { DEFAULT_OF_COMMANDS };
        let with_quiet = |filter: &str| {
            let parts = QUIET.split(',').chain(filter.split(',').map(str::trim));
            parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(",")
        };
        let filter = if wanted.is_empty() { default_filter } else { wanted };
        let filter = with_quiet(filter).parse::<Targets>();
        let unusable = filter.as_ref().err().map(ToString::to_string);
        let filter = filter.unwrap_or_else(|_| {
            with_quiet(default_filter).parse().expect("the default filters are valid")
        });
        let lines = self.messages.clone();
        let log = tracing_subscriber::fmt()
            .with_max_level(LevelFilter::TRACE)
            .with_target(false)
            .with_ansi(!self.is_file && is_coloured())
            .with_writer(move || LineQueue(lines.clone()))
            .log_internal_errors(false);
        match (options.profile, options.format) {
            (LogProfile::Server, LogFormat::Text) => log.finish().with(filter).init(),
            (LogProfile::Server, LogFormat::Json) => {
                let log = log.json().flatten_event(true).with_ansi(false);
                log.with_current_span(false).with_span_list(false).finish().with(filter).init();
            }
            (LogProfile::Command, _) => log.event_format(AsCommand).finish().with(filter).init(),
        }
        if let Some(error) = unusable {
            tracing::warn!(
                "RUST_LOG is {wanted:?}, which is invalid ({error}): using {default_filter}"
            );
        }
    }

    /// Logs a fatal error, and writes it to stderr if the log is a file.
    pub fn fail(&self, what: &str) {
        tracing::error!("{what}");
        if self.is_file {
            self.write_stderr(&format!("error: {what}"));
        }
    }

    /// Writes a line to stderr, even if the log is a file.
    fn write_stderr(&self, line: &str) {
        let _ = self.messages.try_send(LogMessage::Stderr(format!("{line}\n").into_bytes()));
    }

    /// Reopens the log file on each SIGHUP, for log rotation. Does nothing if the log is not a file. Must be called
    /// within a Tokio runtime.
    pub fn reopen_on_hangup(&self) -> io::Result<()> {
        if self.is_file {
            let mut hangups = hangups()?;
            let messages = self.messages.clone();
            let reopening = Arc::clone(&self.reopening);
            tokio::spawn(async move {
                while hangups.recv().await.is_some() {
                    reopening.store(true, Ordering::Release);
                    // If the queue is full, the next line reopens the file.
                    let _ = messages.try_send(LogMessage::Wake);
                }
            });
        }
        Ok(())
    }

    /// Waits a bounded time for the last lines to be written.
    pub fn end(self) {
        let (written, waiting) = sync_channel(1);
        if self.messages.try_send(LogMessage::End(written)).is_ok() {
            let _ = waiting.recv_timeout(SHUTDOWN_LINES);
        }
    }
}

fn hangups() -> io::Result<tokio::signal::unix::Signal> {
    use tokio::signal::unix::{SignalKind, signal};
    signal(SignalKind::hangup())
}

fn is_coloured() -> bool {
    anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never
}

/// Formats a command's log: errors and warnings with a prefix, as clap does, other messages without.
struct AsCommand;

impl<S, N> FormatEvent<S, N> for AsCommand
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut line: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let (word, colour) = match *event.metadata().level() {
            Level::ERROR => ("error", AnsiColor::Red),
            Level::WARN => ("warning", AnsiColor::Yellow),
            _ => ("", AnsiColor::White),
        };
        if !word.is_empty() && line.has_ansi_escapes() {
            let style = colour.on_default().bold();
            write!(line, "{style}{word}:{style:#} ")?;
        } else if !word.is_empty() {
            write!(line, "{word}: ")?;
        }
        context.format_fields(line.by_ref(), event)?;
        writeln!(line)
    }
}
