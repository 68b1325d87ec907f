//! Shell completions and manual pages.

use std::path::PathBuf;
use std::{fs, iter, mem};

use anyhow::{Context, Result, bail};
use clap::{Args, Command, Subcommand};
use clap_complete::Shell;
use clap_mangen::Man;

use super::{ExitStatus, Output, completions};

/// The commands that need no store.
#[derive(Clone, Debug, Subcommand)]
pub enum GenerateCommand {
    /// Print the completions for a shell
    Completions(CompletionsArguments),
    /// Print the manual, or write it to files
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
    /// The command to describe; without it, ait as a whole
    command: Option<String>,

    /// Write one page for ait and one for each command to this directory
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    dir: Option<PathBuf>,
}

/// Runs a command; `line` is the whole command line definition.
///
/// # Errors
///
/// The output cannot be written.
pub fn run(command: &GenerateCommand, line: Command, output: &Output) -> Result<ExitStatus> {
    match command {
        GenerateCommand::Completions(CompletionsArguments { shell }) => {
            output.text(completions::script(*shell, &line))?;
        }
        GenerateCommand::Man(arguments) => write_manual(arguments, line, output)?,
    }
    output.flush()?;
    Ok(ExitStatus::Done)
}

fn write_manual(arguments: &ManArguments, line: Command, output: &Output) -> Result<()> {
    // `ait help` would only repeat the other pages. Building adds the global options to each command.
    let mut line = line.disable_help_subcommand(true);
    line.build();
    match arguments {
        ManArguments { dir: Some(dir), .. } => {
            let cannot = || format!("cannot write the manual to {}", dir.display());
            fs::create_dir_all(dir).with_context(cannot)?;
            let commands = line.get_subcommands().filter(|command| !command.is_hide_set());
            for page in iter::once(&line).chain(commands) {
                let path = dir.join(format!("{}.1", title(page)));
                fs::write(path, manual(page)?).with_context(cannot)?;
            }
            Ok(())
        }
        ManArguments { command: None, .. } => output.text(manual(&line)?),
        ManArguments { command: Some(name), .. } => {
            let Some(command) = line.find_subcommand(name) else {
                bail!("no such command: {name:?}; `ait --help` lists the commands");
            };
            output.text(manual(command)?)
        }
    }
}

/// Returns the title of a command's page, such as `ait-list`.
fn title(command: &Command) -> String {
    command.get_display_name().unwrap_or(command.get_name()).to_owned()
}

/// Renders the page of a command as roff.
fn manual(command: &Command) -> Result<String> {
    let mut page = Vec::new();
    Man::new(command.clone().version(env!("CARGO_PKG_VERSION"))).render(&mut page)?;
    let page = String::from_utf8(page).context("the manual is not UTF-8")?;
    // Keep the line breaks and columns of the text below the options.
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
