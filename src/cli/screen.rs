//! A terminal that is drawn on as a whole.

use std::env;
use std::io::{self, Write};

use anyhow::Result;

use super::Output;

// Control sequences of ECMA-48 and private modes of DEC terminals, which all that are in use understand.
const ALTERNATE_SCREEN: &str = "\x1b[?1049h";
const FORMER_SCREEN: &str = "\x1b[?1049l";
const HIDE_CURSOR: &str = "\x1b[?25l";
const SHOW_CURSOR: &str = "\x1b[?25h";
const HOME: &str = "\x1b[H";
const ERASE_LINE: &str = "\x1b[2K";
const ERASE_BELOW: &str = "\x1b[J";
/// Terminals that know these show everything between them at once; others ignore them.
const BEGIN_FRAME: &str = "\x1b[?2026h";
const END_FRAME: &str = "\x1b[?2026l";

/// The alternate screen of the terminal; what was there before is back when this value is dropped.
pub(super) struct Screen<'a> {
    output: &'a mut Output,
}

impl<'a> Screen<'a> {
    /// Tells whether stdout is a terminal that can be drawn on.
    pub fn is_possible(output: &Output) -> bool {
        output.is_terminal() && env::var_os("TERM").is_none_or(|term| term != "dumb")
    }

    pub fn enter(output: &'a mut Output) -> io::Result<Self> {
        let screen = Self { output };
        write!(screen.output, "{ALTERNATE_SCREEN}{HIDE_CURSOR}")?;
        Ok(screen)
    }

    /// The output, which knows how large the terminal is now.
    pub fn measured(&mut self) -> &Output {
        self.output.measure();
        self.output
    }

    /// Draws lines, each of which must fit, over what was there, without emptying the screen in between.
    pub fn draw(&mut self, lines: &[String]) -> Result<()> {
        let height = self.output.height().unwrap_or(usize::MAX);
        let lines = &lines[..lines.len().min(height)];
        let mut frame = format!("{BEGIN_FRAME}{HOME}");
        for (at, line) in lines.iter().enumerate() {
            // Erased before and not behind the text: a cursor behind the last column stands on it.
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
        // Whoever took the terminal away needs nothing back.
        let _gone = write!(self.output, "{SHOW_CURSOR}{FORMER_SCREEN}");
        let _gone = Write::flush(self.output);
    }
}
