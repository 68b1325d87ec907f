//! `ait init`: set a project up for the clients of its agents.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Serialize;

use super::init_view::{self, Found};
use super::options::Format;
use super::{Ending, Output};
use crate::setup::{
    self, Applied, CLIENTS, Client, Machine, Plan, Preset, SetupError, Unwish, Wish,
};

/// The arguments of `ait init`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Finds the clients in use, shows what it will write, and asks. For each client: the entry of the MCP\n\
        server, and the prompts where it looks for agents. For the project: a section in CLAUDE.md,\n\
        AGENTS.md or GEMINI.md, and lines in .gitignore. Comments, order and everything else in these files\n\
        stay. A file that changes is kept as FILE.before-ait-init. Doing it twice changes nothing.\n\n\
        Presets:\n  \
        team           a team-lead starts developers, bug-fixers and one code-reviewer\n  \
        solo           one developer works; a person reviews with `ait review` and `ait close`\n  \
        review-heavy   as team, and nobody reviews what they worked on or what they filed\n\n\
        Ends with 0 also when there was nothing to do, and with 1 when nothing was written because somebody\n\
        said no, or a file is not as expected.\n\n\
        Examples:\n  \
        ait init                          find the clients, show, ask, write\n  \
        ait init --yes --preset solo      for scripts: do not ask\n  \
        ait init --client cursor --http   Cursor alone, by URL; pins a port in ait.toml\n  \
        ait init --dry-run                show what it would write\n  \
        ait init --remove                 take back what it wrote"
)]
pub struct Arguments {
    /// Write without asking
    #[arg(short, long)]
    yes: bool,

    /// Write nothing, and show what would be written
    #[arg(short = 'n', long)]
    dry_run: bool,

    /// Only this client, also where it was not found; may be repeated
    #[arg(long, value_name = "NAME", value_parser = client())]
    client: Vec<&'static Client>,

    /// Which prompts, settings and workflow the project gets [default: those that it has, or else team]
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(Preset::names()))]
    preset: Option<String>,

    /// Let clients ask the ait that runs, by URL, rather than start their own; pins a port
    #[arg(long)]
    pub http: bool,

    /// Leave the store to git, rather than have git ignore it
    #[arg(long)]
    track: bool,

    /// Take back what was written; with --client only what is that client's own
    #[arg(long, conflicts_with_all = ["http", "track", "preset"])]
    remove: bool,

    /// Also replace a server of the same name and prompts that were edited, and follow links out of the project
    #[arg(short, long)]
    force: bool,

    #[command(flatten)]
    format: Format,
}

/// What is to know of the project, and of the machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Project {
    /// Its directory.
    pub root: PathBuf,
    /// The user's machine.
    pub machine: Machine,
    /// What clients start the tracker by.
    pub command: String,
    /// The store.
    pub store: PathBuf,
    /// Whether it was named, rather than found.
    pub is_store_named: bool,
    /// The file with the settings.
    pub settings: PathBuf,
    /// The port that clients are told which connect by URL.
    pub port: Option<u16>,
    /// Whether callers over HTTP need a token.
    pub needs_token: bool,
}

/// What is answered as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    project: String,
    clients: Vec<&'a str>,
    changes: Vec<ChangeReport<'a>>,
    notes: &'a [String],
    written: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ChangeReport<'a> {
    file: &'a str,
    what: &'static str,
    backup: Option<String>,
}

/// Sets a project up, or takes that back.
///
/// # Errors
///
/// What kept it from being done; the text says what to do.
pub fn run(arguments: &Arguments, project: &Project, output: &mut Output) -> Result<Ending> {
    let found = clients(arguments, project)?;
    let clients = found.iter().map(|found| found.client).collect();
    let plan = planned(arguments, project, clients)?;
    if !arguments.format.json {
        init_view::write(&project.machine.short(&project.root), &found, &plan, output)?;
    }
    let is_written = !plan.changes.is_empty() && !arguments.dry_run;
    if is_written {
        output.flush()?;
        if !is_agreed(arguments)? {
            output.line("nothing was written")?;
            output.flush()?;
            return Ok(Ending::Nothing);
        }
        finished(setup::apply(&plan.changes, &project.root), plan.changes.len())?;
    }
    if arguments.format.json {
        output.json(&report(project, &found, &plan, is_written))?;
    } else {
        let files = |count: usize| if count == 1 { "1 file" } else { "files" };
        let done = if arguments.remove { "taken back" } else { "done" };
        match plan.changes.len() {
            0 => output.line("nothing to do")?,
            _ if arguments.dry_run => output.line("nothing was written: this was a dry run")?,
            1 => output.line(format_args!("{done}: {}", files(1)))?,
            count => output.line(format_args!("{done}: {count} {}", files(count)))?,
        }
        if is_written && !arguments.remove {
            let is_in_git = project.root.join(".git").exists();
            init_view::write_next(&found, project.port.is_some(), is_in_git, output)?;
        }
    }
    output.flush()?;
    Ok(Ending::Done)
}

/// The clients that are named, else those that are found; for taking back, none says all.
fn clients(arguments: &Arguments, project: &Project) -> Result<Vec<Found>> {
    let named = |client| Found { client, why: "named".to_owned() };
    if !arguments.client.is_empty() || arguments.remove {
        let mut found: Vec<Found> = Vec::new();
        for client in &arguments.client {
            if found.iter().all(|it| it.client.name != client.name) {
                found.push(named(client));
            }
        }
        return Ok(found);
    }
    let traced = CLIENTS.iter().filter_map(|client| {
        let why = client.trace(&project.root, &project.machine)?;
        Some(Found { client, why })
    });
    let found: Vec<Found> = traced.collect();
    if found.is_empty() {
        let known: Vec<_> = CLIENTS.iter().map(|client| client.name).collect();
        bail!(SetupError::NoClient { known: known.join(", ") });
    }
    Ok(found)
}

fn planned(
    arguments: &Arguments,
    project: &Project,
    clients: Vec<&'static Client>,
) -> Result<Plan> {
    let (root, machine, command) = (&project.root, &project.machine, &project.command);
    let (store, settings) = (&project.store, project.settings.clone());
    if arguments.remove {
        let force = arguments.force;
        let unwish = Unwish { root, machine, clients, command, store, settings, force };
        return Ok(setup::removal(&unwish)?);
    }
    let preset = match &arguments.preset {
        Some(name) => Preset::named(name).expect("only names of presets are possible"),
        None => Preset::of_project(root),
    };
    let url = project.port.map(|port| format!("http://localhost:{port}/mcp"));
    let mut plan = setup::plan(&Wish {
        root,
        machine,
        clients,
        is_named: !arguments.client.is_empty(),
        preset: &preset,
        command,
        url: url.as_deref(),
        store,
        is_store_named: project.is_store_named,
        track: arguments.track,
        settings,
        port: project.port,
        force: arguments.force,
    })?;
    if url.is_some() && project.needs_token {
        plan.notes.push(
            "callers need a token here: give each client the header Authorization: Bearer TOKEN, in a \
             place that is not committed"
                .to_owned(),
        );
    }
    Ok(plan)
}

/// Asks, unless that was answered on the command line.
fn is_agreed(arguments: &Arguments) -> Result<bool> {
    if arguments.yes {
        return Ok(true);
    }
    if !io::stdin().is_terminal() || arguments.format.json {
        bail!(
            "there is nobody to ask: say --yes to have it written, or --dry-run to see it; nothing was \
             written"
        );
    }
    // stdout may be a file.
    let mut terminal = io::stderr();
    write!(terminal, "Write this? [y/N] ")
        .and_then(|()| terminal.flush())
        .context("nobody can be asked")?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).context("there is no answer")?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Fails where something could not be written, and says how far it came.
fn finished(applied: Applied, count: usize) -> Result<()> {
    let Some((file, error)) = applied.failure else { return Ok(()) };
    let written = match applied.written.len() {
        0 => "nothing was written".to_owned(),
        done => format!("written before that, {done} of {count}: {}", applied.written.join(", ")),
    };
    Err(error).with_context(|| {
        format!("{file} cannot be written; {written}; run ait init again, or ait init --remove, when that is mended")
    })
}

fn report<'a>(project: &Project, found: &'a [Found], plan: &'a Plan, written: bool) -> Report<'a> {
    let changes = plan.changes.iter().map(|change| ChangeReport {
        file: &change.shown,
        what: init_view::what(change),
        backup: (change.backup == setup::Backup::Made)
            .then(|| project.machine.short(&change.backup_path)),
    });
    Report {
        project: project.root.display().to_string(),
        clients: found.iter().map(|found| found.client.name).collect(),
        changes: changes.collect(),
        notes: &plan.notes,
        written,
    }
}

/// Reads the name of a client, and lets completions know them.
fn client() -> impl TypedValueParser<Value = &'static Client> {
    PossibleValuesParser::new(CLIENTS.iter().map(|client| client.name))
        .map(|name| Client::named(&name).expect("only these names are possible"))
}
