//! A full-screen view on a terminal.

use std::env;
use std::io::{self, Write};

use anyhow::Result;

use super::Output;

// Control sequences of ECMA-48 and private modes of DEC terminals; all current terminals support them.
const ALTERNATE_SCREEN: &str = "\x1b[?1049h";
const FORMER_SCREEN: &str = "\x1b[?1049l";
const HIDE_CURSOR: &str = "\x1b[?25l";
const SHOW_CURSOR: &str = "\x1b[?25h";
/// Bracketed paste: terminals mark a pasted text, so that its characters are no keys.
const MARK_PASTES: &str = "\x1b[?2004h";
const LEAVE_PASTES: &str = "\x1b[?2004l";
const HOME: &str = "\x1b[H";
const ERASE_LINE: &str = "\x1b[2K";
const ERASE_BELOW: &str = "\x1b[J";
/// Synchronized update: terminals that support it show the whole frame at once, others ignore it.
const BEGIN_FRAME: &str = "\x1b[?2026h";
const END_FRAME: &str = "\x1b[?2026l";

/// The alternate screen of the terminal. Dropping it restores the previous screen.
pub(super) struct Screen<'a> {
    output: &'a mut Output,
}

impl<'a> Screen<'a> {
    /// Returns true if stdout is a terminal that supports full-screen views.
    pub fn is_possible(output: &Output) -> bool {
        output.is_terminal() && env::var_os("TERM").is_none_or(|term| term != "dumb")
    }

    pub fn enter(output: &'a mut Output) -> io::Result<Self> {
        let screen = Self { output };
        write!(screen.output, "{ALTERNATE_SCREEN}{HIDE_CURSOR}{MARK_PASTES}")?;
        Ok(screen)
    }

    /// Measures the terminal and returns the output.
    pub fn measured(&mut self) -> &Output {
        self.output.measure();
        self.output
    }

    /// Draws lines over the previous frame, without clearing the screen, which would flicker. Each line must fit.
    pub fn draw(&mut self, lines: &[String]) -> Result<()> {
        let height = self.output.height().unwrap_or(usize::MAX);
        let lines = &lines[..lines.len().min(height)];
        let mut frame = format!("{BEGIN_FRAME}{HOME}");
        for (at, line) in lines.iter().enumerate() {
            // Erase before the text: after a line that fills the row, the cursor would still be on its last column.
            let to_next = if at == 0 { "" } else { "\r\n" };
            frame.push_str(&format!("{to_next}{ERASE_LINE}{line}"));
        }
        if lines.len() < height {
            frame.push_str(&format!("\r\n{ERASE_BELOW}"));
        }
        frame.push_str(END_FRAME);
        self.output.write_all(frame.as_bytes())?;
        Ok(Write::flush(self.output)?)
    }
}

impl Drop for Screen<'_> {
    fn drop(&mut self) {
        // If the terminal is gone, there is nothing to restore.
        let _gone = write!(self.output, "{LEAVE_PASTES}{SHOW_CURSOR}{FORMER_SCREEN}");
        let _gone = Write::flush(self.output);
    }
}
