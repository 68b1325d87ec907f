//! What happened in a history, line by line.

use std::fmt;

use super::world::{PROCESSES, is_guest};

/// What is to become of a call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Verdict {
    Goes,
    Fails,
    /// The process dies in it.
    Dies,
    /// The process is dead.
    Dead,
}

/// A line of the story of a history.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Line {
    pub process: usize,
    pub what: &'static str,
    /// The number of bytes, of the file, or of the operation, by what it is.
    pub detail: u64,
    pub verdict: Option<Verdict>,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { process, what, detail, verdict } = self;
        let guest = if is_guest(*process) { "'s guest" } else { "" };
        write!(f, "process {}{guest}: {what}", process % PROCESSES)?;
        if *detail > 0 {
            write!(f, ", {detail}")?;
        }
        match verdict {
            None | Some(Verdict::Goes) => Ok(()),
            Some(verdict) => write!(f, " {verdict:?}"),
        }
    }
}
