//! Where a command writes its answer: stdout, as it is.

use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use chrono::{DateTime, Local, Utc};
use serde::Serialize;

use crate::domain::{Classification, Status, Timestamp};

/// The answer of a command on its way to stdout.
///
/// On a terminal with colours and cut to its width; whole and plain into a pipe or a file.
pub struct Output {
    out: BufWriter<StdoutLock<'static>>,
    is_terminal: bool,
    is_coloured: bool,
    size: Size,
}

/// How much a terminal shows, in columns and rows.
#[derive(Clone, Copy)]
struct Size {
    width: usize,
    height: usize,
}

impl Size {
    /// What a terminal has that does not tell.
    const USUAL: Self = Self { width: 80, height: 24 };

    /// What the terminal has that stdout is, if it is one.
    fn of_stdout() -> Self {
        let Some((width, height)) = terminal_size::terminal_size_of(io::stdout()) else {
            return Self::USUAL;
        };
        let (width, height) = (usize::from(width.0), usize::from(height.0));
        if width == 0 || height == 0 { Self::USUAL } else { Self { width, height } }
    }
}

impl Output {
    /// Writes to stdout.
    ///
    /// Colours follow `--color`, `NO_COLOR`, `CLICOLOR_FORCE` and `TERM`, as `anstream` understands them.
    pub fn stdout() -> Self {
        let stdout = io::stdout();
        let is_terminal = stdout.is_terminal();
        let is_coloured = anstream::AutoStream::choice(&stdout) != anstream::ColorChoice::Never;
        let out = BufWriter::new(stdout.lock());
        Self { out, is_terminal, is_coloured, size: Size::of_stdout() }
    }

    /// Tells whether a person looks at it as it comes.
    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// How many columns there are; `None` when there is no end to a line.
    pub fn width(&self) -> Option<usize> {
        self.is_terminal.then_some(self.size.width)
    }

    /// How many rows can be seen at once; `None` when there is no end to them.
    pub fn height(&self) -> Option<usize> {
        self.is_terminal.then_some(self.size.height)
    }

    /// Finds out how large the terminal is now.
    pub fn measure(&mut self) {
        self.size = Size::of_stdout();
    }

    /// A value in a style, where there are colours.
    pub fn styled(&self, style: Style, value: impl Display) -> String {
        if self.is_coloured { format!("{style}{value}{style:#}") } else { value.to_string() }
    }

    /// Writes a line.
    ///
    /// # Errors
    ///
    /// stdout takes no more.
    pub fn line(&mut self, line: impl Display) -> Result<()> {
        Ok(writeln!(self.out, "{line}")?)
    }

    /// Writes a value as JSON: indented for a person, one line for a program.
    ///
    /// # Errors
    ///
    /// stdout takes no more.
    pub fn json(&mut self, value: &impl Serialize) -> Result<()> {
        if self.is_terminal {
            serde_json::to_writer_pretty(&mut self.out, value)?;
        } else {
            serde_json::to_writer(&mut self.out, value)?;
        }
        Ok(self.out.write_all(b"\n")?)
    }

    /// Writes a value as JSON on one line, also for a person: one of many.
    ///
    /// # Errors
    ///
    /// stdout takes no more.
    pub fn json_line(&mut self, value: &impl Serialize) -> Result<()> {
        serde_json::to_writer(&mut self.out, value)?;
        Ok(self.out.write_all(b"\n")?)
    }

    /// Makes sure that everything is written.
    ///
    /// # Errors
    ///
    /// stdout takes no more.
    pub fn flush(&mut self) -> Result<()> {
        Ok(self.out.flush()?)
    }
}

/// Bytes as they are, for what is no text of lines.
impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Tells whether a command failed only because nobody reads its answer any more, as `head` does not.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let is_closed = |kind: io::ErrorKind| kind == io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| {
        let of_json =
            cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
        let kind = cause.downcast_ref::<io::Error>().map(io::Error::kind).or(of_json);
        kind.is_some_and(is_closed)
    })
}

/// What is less important than the rest.
pub(super) const FAINT: Style = Style::new().dimmed();
/// What is more important than the rest.
pub(super) const STRONG: Style = Style::new().bold();

/// The style of a status.
pub(super) fn of_status(status: Status) -> Style {
    let colour = match status {
        Status::Created => AnsiColor::Blue,
        Status::InProgress => AnsiColor::Yellow,
        Status::Completed => AnsiColor::Cyan,
        Status::InReview => AnsiColor::Magenta,
        Status::Closed => AnsiColor::Green,
        Status::Rejected => AnsiColor::Red,
    };
    colour.on_default()
}

/// The style of a classification.
pub(super) fn of_classification(classification: Classification) -> Style {
    match classification {
        Classification::Bug => AnsiColor::Red.on_default(),
        Classification::Improvement | Classification::Feature => Style::new(),
    }
}

/// A time in the time zone of this machine, in a form as `strftime` has it.
pub(super) fn local(time: Timestamp, form: &str) -> String {
    DateTime::<Utc>::from(time).with_timezone(&Local).format(form).to_string()
}
