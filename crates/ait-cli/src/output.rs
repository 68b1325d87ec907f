//! The output of commands, on stdout.

use std::cell::{Cell, RefCell};
use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use chrono::{DateTime, Local, Utc};
use clap::builder::styling::{AnsiColor, Style};
use serde::Serialize;
use serde_json::Value;

use super::damage::said_damage;
use ait_domain::{Classification, Status, Timestamp};

/// Whether the process has written to stdout, of which there is only one.
static HAS_WRITTEN: AtomicBool = AtomicBool::new(false);

/// Returns true if a command has written anything to stdout.
pub(super) fn has_written() -> bool {
    HAS_WRITTEN.load(Ordering::Relaxed)
}

/// The output of a command.
///
/// On a terminal, it is coloured and cut to the width. Otherwise it is plain and complete.
pub struct Output {
    out: RefCell<BufWriter<Box<dyn Write>>>,
    is_terminal: bool,
    is_coloured: bool,
    size: Cell<Size>,
}

/// Collects what is written.
struct Captured(Rc<RefCell<Vec<u8>>>);

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The size of a terminal, in columns and rows.
#[derive(Clone, Copy)]
struct Size {
    width: usize,
    height: usize,
}

impl Size {
    /// The size assumed for a terminal that does not report one.
    const USUAL: Self = Self { width: 80, height: 24 };

    /// Returns the size of the terminal on stdout; outside a terminal, the default.
    fn of_stdout() -> Self {
        let Ok(size) = rustix::termios::tcgetwinsize(io::stdout()) else { return Self::USUAL };
        let width = usize::from(size.ws_col);
        let height = usize::from(size.ws_row);
        if width == 0 || height == 0 { Self::USUAL } else { Self { width, height } }
    }
}

impl Output {
    /// Opens stdout.
    ///
    /// Colours follow `--color`, `NO_COLOR`, `CLICOLOR_FORCE` and `TERM`, as `anstream` understands them.
    pub fn stdout() -> Self {
        let stdout = io::stdout();
        let is_terminal = stdout.is_terminal();
        let is_coloured = anstream::AutoStream::choice(&stdout) != anstream::ColorChoice::Never;
        let out = RefCell::new(BufWriter::<Box<dyn Write>>::new(Box::new(stdout.lock())));
        Self { out, is_terminal, is_coloured, size: Cell::new(Size::of_stdout()) }
    }

    /// Returns the output for a part of the screen, which discards everything.
    pub fn part(&self, width: usize, height: usize, is_coloured: bool) -> Self {
        let out = RefCell::new(BufWriter::<Box<dyn Write>>::new(Box::new(io::sink())));
        let is_terminal = self.is_terminal;
        let size = Cell::new(Size { width, height });
        Self { out, is_terminal, is_coloured: is_coloured && self.is_coloured, size }
    }

    /// Returns what is written to such an output.
    pub fn captured(mut self, write: impl FnOnce(&Self) -> Result<()>) -> Result<String> {
        let text = Rc::new(RefCell::new(Vec::new()));
        self.out = RefCell::new(BufWriter::new(Box::new(Captured(Rc::clone(&text)))));
        write(&self)?;
        self.flush()?;
        Ok(String::from_utf8_lossy(&text.borrow()).into_owned())
    }

    /// Creates an output that discards everything.
    #[cfg(test)]
    pub fn discarded() -> Self {
        let out = RefCell::new(BufWriter::<Box<dyn Write>>::new(Box::new(io::sink())));
        Self { out, is_terminal: false, is_coloured: false, size: Cell::new(Size::USUAL) }
    }

    /// Returns true if stdout is a terminal.
    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Returns the width in columns; `None` if lines are unlimited.
    pub fn width(&self) -> Option<usize> {
        self.is_terminal.then_some(self.size.get().width)
    }

    /// Returns the height in rows; `None` if rows are unlimited.
    pub fn height(&self) -> Option<usize> {
        self.is_terminal.then_some(self.size.get().height)
    }

    /// Measures the terminal again.
    pub fn measure(&self) {
        self.size.set(Size::of_stdout());
    }

    /// Formats a value with a style, if colours are on.
    pub fn styled(&self, style: Style, value: impl Display) -> String {
        if self.is_coloured { format!("{style}{value}{style:#}") } else { value.to_string() }
    }

    /// Writes a line.
    pub fn line(&self, line: impl Display) -> Result<()> {
        self.text(format_args!("{line}\n"))
    }

    /// Writes a text as it is.
    pub fn text(&self, text: impl Display) -> Result<()> {
        let mut out = self;
        Ok(write!(out, "{text}")?)
    }

    /// Writes a value as JSON: indented on a terminal, else on one line. An object of a damaged store begins with what
    /// is damaged.
    pub fn json(&self, value: &impl Serialize) -> Result<()> {
        match said_damage() {
            Some(damaged) => {
                let mut value = serde_json::to_value(value)?;
                if let Value::Object(members) = &mut value {
                    members.shift_insert(0, "damaged".to_owned(), damaged.into());
                }
                self.write_json(&value)
            }
            None => self.write_json(value),
        }
    }

    fn write_json(&self, value: &impl Serialize) -> Result<()> {
        if self.is_terminal {
            serde_json::to_writer_pretty(self, value)?;
        } else {
            serde_json::to_writer(self, value)?;
        }
        self.line("")
    }

    /// Writes a value as JSON on one line, even on a terminal: one record of many.
    pub fn json_line(&self, value: &impl Serialize) -> Result<()> {
        serde_json::to_writer(self, value)?;
        self.line("")
    }

    /// Flushes the output.
    pub fn flush(&self) -> Result<()> {
        Ok(self.out.borrow_mut().flush()?)
    }
}

/// Raw bytes, for output that is not lines of text.
impl Write for &Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        HAS_WRITTEN.store(true, Ordering::Relaxed);
        self.out.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.borrow_mut().flush()
    }
}

/// Returns true if a command failed only because its reader closed the pipe, as `head` does.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let is_closed = |kind: io::ErrorKind| kind == io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| {
        let of_json =
            cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
        let kind = cause.downcast_ref::<io::Error>().map(io::Error::kind).or(of_json);
        kind.is_some_and(is_closed)
    })
}

/// For secondary text.
pub(super) const FAINT: Style = Style::new().dimmed();
/// For emphasis.
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
        Status::Kept => AnsiColor::White,
    };
    colour.on_default()
}

/// The style of a classification.
pub(super) fn of_classification(classification: Classification) -> Style {
    match classification {
        Classification::Bug => AnsiColor::Red.on_default(),
        _ => Style::new(),
    }
}

/// Formats a time in the local time zone, in the syntax of `strftime`.
pub(super) fn local(time: Timestamp, form: &str) -> String {
    DateTime::<Utc>::from(time).with_timezone(&Local).format(form).to_string()
}
