//! The log: on stderr, for people, and never in anybody's way.
//!
//! A client that does not read stderr, or has closed it, must not hold up or bring down anything:
//! lines are written by a thread of their own, and dropped when too many wait.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;
use std::{env, fmt, thread};

use anstyle::AnsiColor;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// What is logged unless `RUST_LOG` says otherwise. The protocol library reports every notification
/// at `info`, every refused request as a warning, and every client that goes away as an error.
const DEFAULT: &str = "info,rmcp=off";
/// The same for a command that somebody waits for.
const DEFAULT_OF_COMMANDS: &str = "warn,agent_issue_tracker::cli=info";
/// How many lines may wait for somebody to read them.
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

/// The running log.
#[derive(Debug)]
pub struct Log {
    messages: SyncSender<Message>,
}

/// What goes to the thread that writes.
#[derive(Debug)]
enum Message {
    Line(Vec<u8>),
    /// Everything before it was written when this is answered.
    End(SyncSender<()>),
}

impl Log {
    /// Starts the log of this process, which can have only one.
    ///
    /// # Panics
    ///
    /// When the process has one already.
    pub fn start(voice: Voice) -> Self {
        let (messages, incoming) = sync_channel(WAITING_LINES);
        thread::spawn(move || write_lines(&incoming));
        let wanted = env::var(EnvFilter::DEFAULT_ENV).unwrap_or_default();
        let default = if voice == Voice::Server { DEFAULT } else { DEFAULT_OF_COMMANDS };
        let filter = EnvFilter::try_new(if wanted.is_empty() { default } else { &wanted });
        let unusable = filter.as_ref().err().map(ToString::to_string);
        let lines = messages.clone();
        let log = tracing_subscriber::fmt()
            .with_env_filter(filter.unwrap_or_else(|_| EnvFilter::new(default)))
            .with_target(false)
            .with_ansi(is_coloured())
            .with_writer(move || Lines(lines.clone()))
            .log_internal_errors(false);
        match voice {
            Voice::Server => log.init(),
            Voice::Command => log.event_format(AsCommand).init(),
        }
        if let Some(error) = unusable {
            tracing::warn!(
                "RUST_LOG is {wanted:?}, which cannot be used ({error}): using {default}"
            );
        }
        Self { messages }
    }

    /// Waits for the last lines, unless nobody reads them.
    pub fn end(self) {
        let (written, waiting) = sync_channel(1);
        if self.messages.try_send(Message::End(written)).is_ok() {
            let _ = waiting.recv_timeout(LAST_LINES);
        }
    }
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

fn write_lines(incoming: &Receiver<Message>) {
    for message in incoming {
        match message {
            // There is nowhere to say that a line cannot be written.
            Message::Line(line) => drop(io::stderr().write_all(&line)),
            Message::End(written) => drop(written.send(())),
        }
    }
}

/// Takes what is logged, a whole line at a time, and drops it when too many wait.
struct Lines(SyncSender<Message>);

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let _ = self.0.try_send(Message::Line(line.to_vec()));
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
