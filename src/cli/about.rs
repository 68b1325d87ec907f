//! What `ait` tells of itself: completions for shells, and manual pages.

use std::io::Write;
use std::path::PathBuf;
use std::{fs, iter, mem};

use anyhow::{Context, Result, bail};
use clap::{Args, Command, Subcommand};
use clap_complete::Shell;
use clap_mangen::Man;

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
        AboutCommand::Man(arguments) => write_manual(arguments, line, output)?,
    }
    output.flush()?;
    Ok(Ending::Done)
}

fn write_manual(arguments: &ManArguments, line: Command, output: &mut Output) -> Result<()> {
    // `ait help` says nothing that the pages do not say. Building tells each command the options that it
    // has from the whole.
    let mut line = line.disable_help_subcommand(true);
    line.build();
    match arguments {
        ManArguments { dir: Some(dir), .. } => {
            let cannot = || format!("the manual cannot be written to {}", dir.display());
            fs::create_dir_all(dir).with_context(cannot)?;
            for page in iter::once(&line).chain(line.get_subcommands()) {
                let path = dir.join(format!("{}.1", title(page)));
                fs::write(path, manual(page)?).with_context(cannot)?;
            }
            Ok(())
        }
        ManArguments { command: None, .. } => Ok(output.write_all(manual(&line)?.as_bytes())?),
        ManArguments { command: Some(name), .. } => {
            let Some(command) = line.find_subcommand(name) else {
                bail!("there is no command {name:?}; `ait --help` lists them");
            };
            Ok(output.write_all(manual(command)?.as_bytes())?)
        }
    }
}

/// What the page of a command is called, such as `ait-list`.
fn title(command: &Command) -> String {
    command.get_display_name().unwrap_or(command.get_name()).to_owned()
}

/// The page of a command in roff.
fn manual(command: &Command) -> Result<String> {
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    let page = String::from_utf8(page).context("the manual is not UTF-8")?;
    // What stands below the options is laid out in lines and columns, which are to stay.
    let mut in_notes = false;
    let mut lines = Vec::new();
    for line in page.lines() {
        if line.starts_with(".SH") {
            if mem::replace(&mut in_notes, line == ".SH EXTRA") {
                lines.push(".fi");
            }
            lines.extend(if in_notes { &[".SH NOTES", ".nf"][..] } else { &[][..] });
        }
        if line != ".SH EXTRA" {
            lines.push(line);
        }
    }
    Ok(lines.join("\n") + "\n")
}
