//! What `ait` tells of itself: completions for shells, and manual pages.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Args, Command, Subcommand};
use clap_complete::Shell;
use clap_mangen::Man;
use std::io::Write;

use super::{Ending, Output};

/// The commands that need no store.
#[derive(Clone, Debug, Subcommand)]
pub enum AboutCommand {
    /// Write the completions for a shell
    Completions(CompletionsArguments),
    /// Write the manual
    Man(ManArguments),
}

/// The arguments of `ait completions`.
#[derive(Clone, Copy, Debug, Args)]
#[command(after_help = "Examples:\n  \
    ait completions bash > ~/.local/share/bash-completion/completions/ait\n  \
    ait completions zsh > \"${fpath[1]}/_ait\"\n  \
    ait completions fish > ~/.config/fish/completions/ait.fish\n  \
    ait completions powershell >> $PROFILE")]
pub struct CompletionsArguments {
    /// The shell
    shell: Shell,
}

/// The arguments of `ait man`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    ait man | man -l -\n  \
    ait man list | man -l -\n  \
    ait man --dir ~/.local/share/man/man1")]
pub struct ManArguments {
    /// The command that the page is about; without it, ait as a whole
    command: Option<String>,

    /// Write a page for ait and one for each command into this directory
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    dir: Option<PathBuf>,
}

/// Runs a command; `line` is the whole command line of the program.
///
/// # Errors
///
/// What kept it from being written.
pub fn run(command: &AboutCommand, mut line: Command, output: &mut Output) -> Result<Ending> {
    match command {
        AboutCommand::Completions(CompletionsArguments { shell }) => {
            let name = line.get_name().to_owned();
            // Into memory first: the generator knows no pipe that is closed.
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut line, name, &mut script);
            output.write_all(&script)?;
        }
        AboutCommand::Man(ManArguments { dir: Some(dir), .. }) => {
            let cannot = || format!("the manual cannot be written to {}", dir.display());
            fs::create_dir_all(dir).with_context(cannot)?;
            clap_mangen::generate_to(line, dir).with_context(cannot)?;
        }
        AboutCommand::Man(ManArguments { command: None, .. }) => Man::new(line).render(output)?,
        AboutCommand::Man(ManArguments { command: Some(name), .. }) => {
            // Building tells each command the options that it has from the whole.
            line.build();
            let Some(command) = line.find_subcommand(name) else {
                bail!("there is no command {name:?}; `ait --help` lists them");
            };
            let full_name = format!("{}-{name}", line.get_name());
            Man::new(command.clone().display_name(full_name)).render(output)?;
        }
    }
    output.flush()?;
    Ok(Ending::Done)
}
