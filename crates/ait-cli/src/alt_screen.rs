//! A full-screen view on a terminal.

use std::env;
use std::io::{self, Write};

use anyhow::Result;
use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen,
};
use crossterm::{execute, queue};

use super::Output;

/// The alternate screen of the terminal. Dropping it restores the previous screen.
pub(super) struct Screen<'a> {
    output: &'a Output,
}

impl<'a> Screen<'a> {
    /// Returns true if stdout is a terminal that supports full-screen views.
    pub fn is_possible(output: &Output) -> bool {
        output.is_terminal() && env::var_os("TERM").is_none_or(|term| term != "dumb")
    }

    pub fn enter(output: &'a Output) -> io::Result<Self> {
        let mut screen = Self { output };
        queue!(screen.output, EnterAlternateScreen, Hide, EnableBracketedPaste)?;
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
        queue!(self.output, BeginSynchronizedUpdate, MoveTo(0, 0))?;
        for (at, line) in lines.iter().enumerate() {
            if at > 0 {
                write!(self.output, "\r\n")?;
            }
            // Before the text: after a line that fills the row, the cursor would still be on its last column.
            queue!(self.output, Clear(ClearType::CurrentLine))?;
            write!(self.output, "{line}")?;
        }
        if lines.len() < height {
            write!(self.output, "\r\n")?;
            queue!(self.output, Clear(ClearType::FromCursorDown))?;
        }
        Ok(execute!(self.output, EndSynchronizedUpdate)?)
    }
}

impl Drop for Screen<'_> {
    fn drop(&mut self) {
        // If the terminal is gone, there is nothing to restore.
        let _gone = execute!(self.output, DisableBracketedPaste, Show, LeaveAlternateScreen);
    }
}
