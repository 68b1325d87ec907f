//! The log: on stderr or in a file, for people or for programs, and never in anybody's way.
//!
//! A client that does not read stderr, or has closed it, and a disk that is full must not hold up or
//! bring down anything: lines are written by a thread of their own, and dropped when too many wait.

mod file;
mod writer;

use std::io;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;
use std::{fmt, panic};

use anstyle::AnsiColor;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use file::LogFile;
use writer::{Lines, Message};

pub use file::LogFileError;

/// What is logged unless somebody says otherwise. The protocol library reports every notification at
/// `info`, every refused request as a warning, and every client that goes away as an error.
const DEFAULT: &str = "info,rmcp=off,notify=off";
/// The same for a command that somebody waits for.
const DEFAULT_OF_COMMANDS: &str = "warn,agent_issue_tracker::cli=info";
/// How many lines may wait to be written.
const WAITING_LINES: usize = 1_000;
/// How long the last lines may take to be written.
const LAST_LINES: Duration = Duration::from_millis(200);

/// Who speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Voice {
    /// A program that runs for long: each line says when, and how serious it is.
    Server,
    /// A command that somebody waits for: lines as programs print them there.
    Command,
}

/// What the lines of a server look like.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// On each line a JSON object with `timestamp` (RFC 3339, UTC), `level`, `message` and whatever
    /// else the event has.
    Json,
}

impl LogFormat {
    /// Every format.
    pub const ALL: [Self; 2] = [Self::Text, Self::Json];

    /// The word for it in the settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
        }
    }

    /// The format that a word stands for.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == word)
    }
}

impl FromStr for LogFormat {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::from_word(word)
            .ok_or_else(|| format!("{word:?} is no format of a log: give text or json"))
    }
}

impl fmt::Display for LogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What is logged, how, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogOptions {
    /// Who speaks.
    pub voice: Voice,
    /// What is logged, as `RUST_LOG` has it; `None` or nothing for the usual.
    pub filter: Option<String>,
    /// The file that the lines are appended to; `None` for stderr.
    pub file: Option<PathBuf>,
    /// What the lines look like; those of a command are always text.
    pub format: LogFormat,
}

impl LogOptions {
    /// The usual log, on stderr.
    pub fn new(voice: Voice) -> Self {
        Self { voice, filter: None, file: None, format: LogFormat::Text }
    }
}

/// The running log.
#[derive(Debug)]
pub struct Log {
    messages: SyncSender<Message>,
    is_file: bool,
    /// Whether the file is to be opened anew before the next line.
    reopening: Arc<AtomicBool>,
}

impl Log {
    /// Starts the log of this process, which can have only one.
    ///
    /// # Errors
    ///
    /// The file cannot be opened; then nothing was started, and another one may be.
    ///
    /// # Panics
    ///
    /// When the process has one already.
    pub fn start(options: LogOptions) -> Result<Self, LogFileError> {
        let file = options.file.as_deref().map(LogFile::open).transpose()?;
        let (messages, incoming) = sync_channel(WAITING_LINES);
        let reopening = Arc::new(AtomicBool::new(false));
        let log = Self { messages, is_file: file.is_some(), reopening: Arc::clone(&reopening) };
        if let Some(file) = &file {
            // Whoever started the program looks there.
            log.say(&format!("the log goes to {}", file.path().display()));
        }
        writer::start(file, reopening, incoming);
        log.listen(&options);
        if options.voice == Voice::Server && (log.is_file || options.format == LogFormat::Json) {
            // Otherwise it is said on stderr, in lines that are no JSON.
            panic::set_hook(Box::new(|panic| {
                tracing::error!("{}", panic.to_string().replace('\n', " "));
            }));
        }
        Ok(log)
    }

    /// Takes what the program tells from now on.
    fn listen(&self, options: &LogOptions) {
        let wanted = options.filter.as_deref().unwrap_or_default();
        let usual = if options.voice == Voice::Server { DEFAULT } else { DEFAULT_OF_COMMANDS };
        let filter = EnvFilter::try_new(if wanted.is_empty() { usual } else { wanted });
        let unusable = filter.as_ref().err().map(ToString::to_string);
        let lines = self.messages.clone();
        let log = tracing_subscriber::fmt()
            .with_env_filter(filter.unwrap_or_else(|_| EnvFilter::new(usual)))
            .with_target(false)
            .with_ansi(!self.is_file && is_coloured())
            .with_writer(move || Lines(lines.clone()))
            .log_internal_errors(false);
        match (options.voice, options.format) {
            (Voice::Server, LogFormat::Text) => log.init(),
            (Voice::Server, LogFormat::Json) => {
                let log = log.json().flatten_event(true).with_ansi(false);
                log.with_current_span(false).with_span_list(false).init();
            }
            (Voice::Command, _) => log.event_format(AsCommand).init(),
        }
        if let Some(error) = unusable {
            tracing::warn!("RUST_LOG is {wanted:?}, which cannot be used ({error}): using {usual}");
        }
    }

    /// Logs what keeps the program from going on; where the log is a file, it is said on stderr, too.
    pub fn fail(&self, what: &str) {
        tracing::error!("{what}");
        if self.is_file {
            self.say(&format!("error: {what}"));
        }
    }

    /// Writes a line to stderr, wherever the log goes.
    fn say(&self, line: &str) {
        let _ = self.messages.try_send(Message::Aside(format!("{line}\n").into_bytes()));
    }

    /// Opens the file anew whenever the process gets SIGHUP, so that it can be moved away first; where
    /// there is no file, or no such signal, nothing comes of it. Needs a Tokio runtime to be in.
    ///
    /// # Errors
    ///
    /// The signal cannot be listened to.
    pub fn reopen_on_hangup(&self) -> io::Result<()> {
        if self.is_file {
            let mut hangups = hangups()?;
            let (messages, reopening) = (self.messages.clone(), Arc::clone(&self.reopening));
            tokio::spawn(async move {
                while hangups.recv().await.is_some() {
                    reopening.store(true, Ordering::Release);
                    // When there is no room for it, there are lines that do the same.
                    let _ = messages.try_send(Message::Wake);
                }
            });
        }
        Ok(())
    }

    /// Waits for the last lines, unless nobody reads them.
    pub fn end(self) {
        let (written, waiting) = sync_channel(1);
        if self.messages.try_send(Message::End(written)).is_ok() {
            let _ = waiting.recv_timeout(LAST_LINES);
        }
    }
}

#[cfg(unix)]
fn hangups() -> io::Result<tokio::signal::unix::Signal> {
    use tokio::signal::unix::{SignalKind, signal};
    signal(SignalKind::hangup())
}

/// A signal that never comes.
#[cfg(not(unix))]
struct NoSignal;

#[cfg(not(unix))]
impl NoSignal {
    async fn recv(&mut self) -> Option<()> {
        None
    }
}

#[cfg(not(unix))]
fn hangups() -> io::Result<NoSignal> {
    Ok(NoSignal)
}

fn is_coloured() -> bool {
    anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never
}

/// `error: what is wrong`, as the parser of the command line writes it, too; a remark as it is.
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
