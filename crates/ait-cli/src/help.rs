//! `ait help`: the commands of a day on one screen, and all of them.

use std::ffi::OsString;

use anyhow::Result;
use clap::Command;

use super::aliases::from_command;
use super::{ExitStatus, Output};

/// What fits on one screen of 24 lines.
const SHORT: &str = "\
One shared issue queue for a team of coding agents

Usage: ait [COMMAND]

  init        set this project up for the clients of your agents
  add         file an issue: ait add 'Login fails on Safari' -c bug
  list        list the open issues, or those that match: ait list login
  show        show one issue with its history: ait show 3f2a9c1e
  next        claim the next issue for work
  complete    hand an issue over to review: ait complete 3f2a9c1e -m 'what you did'
  review      claim the next completed issue for review
  close       close an issue, or reject it with --reject
  board       show who works on what, and what waits
  undo        take back your last change

In a terminal, `ait` alone serves the web page. `ait serve` and `ait mcp` are servers.

  ait help COMMAND    options and examples of a command
  ait help --all      all commands
  ait help serve      the options of a server: port, tokens, logs and others
  ait doctor          what is wrong, and what to do
";

/// A help about `ait` as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Help {
    /// The commands of a day.
    Short,
    /// All commands.
    All,
}

/// Returns the help about `ait` as a whole that a command line asks for.
pub fn wanted(line: &[OsString]) -> Option<Help> {
    match from_command(line)[..] {
        ["help" | "-h" | "--help"] => Some(Help::Short),
        ["help", "--all" | "-a" | "all"] | ["-h" | "--help", "--all"] => Some(Help::All),
        _ => None,
    }
}

/// Prints a help; `line` is the whole command line definition.
pub fn print(help: Help, line: Command, output: &Output) -> Result<ExitStatus> {
    match help {
        Help::Short => output.text(SHORT)?,
        Help::All => {
            // `ait help serve` has the options of a server.
            let is_of_server = |arg: &clap::Arg| arg.get_help_heading().is_none();
            let mut line = line.mut_args(|arg| {
                let is_hidden = is_of_server(&arg);
                arg.hide(is_hidden)
            });
            output.text(line.render_long_help().to_string())?;
        }
    }
    output.flush()?;
    Ok(ExitStatus::Done)
}
