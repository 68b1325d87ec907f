//! `ait init`: sets a project up for the clients of its agents.

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::confirmation::{ask, can_ask, is_confirmed};
use super::init_view;
use super::options::Format;
use super::{ExitStatus, Output};
use ait_domain::text::counted;
use ait_setup::{
    CLIENTS, Client, FoundClient, Plan, Preset, Project, SetupError, SetupReport, SetupRequest,
    merge_driver,
};

/// The arguments of `ait init`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Finds the clients in use, shows what it will write, and asks. For each client: the entry of the MCP\n\
        server, the prompts where it looks for agents, hooks, and permissions: what a team has to do without\n\
        asking. For the project: a section in CLAUDE.md, AGENTS.md or GEMINI.md, lines in .gitignore, and in\n\
        ait.toml settings for a team: claims, review, max-attempts, replies, toolsets. Comments, order and\n\
        everything else in these files stay. No copies are kept: git is the undo. Running it twice changes\n\
        nothing.\n\n\
        Presets:\n  \
        team           a team-lead starts developers, bug-fixers and one code-reviewer\n  \
        solo           one developer works; a person reviews with `ait review` and `ait close`\n  \
        review-heavy   as team, and nobody reviews what they worked on or what they filed\n\n\
        Exits with 0 also if there is nothing to do; with 1, and without writing, if you say no or a\n\
        file cannot be edited.\n\n\
        Examples:\n  \
        ait init                          find the clients, show, ask, write\n  \
        ait init --yes --preset solo      for scripts: do not ask\n  \
        ait init --client cursor --http   Cursor alone, by URL; pins a port in ait.toml\n  \
        ait init --dry-run                show what it would write\n  \
        ait init --remove                 remove what it wrote"
)]
pub struct Arguments {
    /// Write without asking
    #[arg(short, long)]
    yes: bool,

    /// Show the plan and write nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,

    /// Only this client, even if it was not found; may be repeated
    #[arg(long, value_name = "NAME", value_parser = client())]
    client: Vec<&'static Client>,

    /// Which prompts and workflow the project gets [default: that of the project, or else team]
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(Preset::names()))]
    preset: Option<String>,

    /// Let clients connect by URL to an ait that runs, instead of starting it; pins a port
    #[arg(long)]
    pub http: bool,

    /// Let git track the store instead of ignoring it, and merge it issue by issue
    #[arg(long)]
    track: bool,

    /// Leave out what lets agents use the tools and run commands without asking you
    #[arg(long)]
    no_permissions: bool,

    /// Remove what was written; with --client only what belongs to that client
    #[arg(long, conflicts_with_all = ["http", "track", "preset", "no_permissions"])]
    pub remove: bool,

    /// Also replace another server of the same name and edited prompts, and follow links out of the project
    #[arg(short, long)]
    force: bool,

    #[command(flatten)]
    format: Format,
}

/// Sets a project up, or removes that again. `has_hooks` says whether the repository has git hooks of ours.
///
/// # Errors
///
/// A file cannot be read, edited or written; the text says what to do.
pub fn run(
    arguments: &Arguments,
    project: &Project,
    has_hooks: bool,
    output: &Output,
) -> Result<ExitStatus> {
    let found = clients(arguments, project)?;
    let clients: Vec<_> = found.iter().map(|found| found.client).collect();
    let preset = preset(arguments, project)?;
    let plan = if arguments.remove {
        ait_setup::removal(project, &clients, arguments.force)?
    } else {
        ait_setup::plan(&SetupRequest {
            project,
            clients,
            is_named: found.iter().all(|found| found.why.is_none()),
            preset: &preset,
            track: arguments.track,
            permissions: !arguments.no_permissions,
            force: arguments.force,
        })?
    };
    let next = |plan: &Plan, is_written| {
        let mut next = match arguments {
            Arguments { dry_run: true, .. } => Vec::new(),
            Arguments { remove: true, .. } => {
                ait_setup::steps_after_removal(project, has_hooks, is_written)
            }
            _ => ait_setup::next_steps(project, &found, &preset, &plan.changes, is_written),
        };
        next.extend(others_on_machine(&found, project));
        next
    };
    carry_out(plan, &found, next, arguments, project, output)
}

/// Writes the store of the project into `ait.toml`, and nothing else.
pub fn set_store(arguments: &Arguments, project: &Project, output: &Output) -> Result<ExitStatus> {
    let plan = ait_setup::plan_store(&project.settings, &project.env, project.database.as_deref())?;
    let next = |_: &Plan, _| vec!["Set up the clients: ait init".to_owned()];
    carry_out(plan, &[], next, arguments, project, output)
}

/// Shows a plan, writes it if the user agrees, and says what comes next.
fn carry_out(
    plan: Plan,
    found: &[FoundClient],
    next: impl FnOnce(&Plan, bool) -> Vec<String>,
    arguments: &Arguments,
    project: &Project,
    output: &Output,
) -> Result<ExitStatus> {
    if !arguments.format.json {
        init_view::write(&project.env.short(&project.root), found, &plan, output)?;
    }
    let is_written = (!plan.changes.is_empty() || plan.registers_driver) && !arguments.dry_run;
    if is_written {
        output.flush()?;
        if !is_agreed(arguments)? {
            output.line("nothing was written")?;
            output.flush()?;
            return Ok(ExitStatus::Incomplete);
        }
        ait_setup::apply(&plan.changes, &project.root).complete(plan.changes.len())?;
        if plan.registers_driver {
            merge_driver::register(&project.root, &project.command)?;
        }
        let removes_all = arguments.remove && arguments.client.is_empty();
        if removes_all && let Ok(Some(_)) = merge_driver::registered(&project.root) {
            merge_driver::unregister(&project.root)?;
        }
    }
    let next = next(&plan, is_written);
    if arguments.format.json {
        output.json(&SetupReport::new(project, found, plan, is_written, next))?;
    } else {
        let done = if arguments.remove { "removed" } else { "done" };
        match plan.changes.len() {
            0 if plan.registers_driver && is_written => {
                output.line("done: registered the merge driver")?;
            }
            0 => output.line("nothing to do")?,
            _ if arguments.dry_run => output.line("nothing was written: this was a dry run")?,
            count => output.line(format_args!("{done}: {}", counted(count, "file", "files")))?,
        }
        for step in next {
            output.line(step)?;
        }
    }
    output.flush()?;
    Ok(ExitStatus::Done)
}

/// Names the clients on the machine that the project does not use.
fn others_on_machine(found: &[FoundClient], project: &Project) -> Option<String> {
    let is_of_project = found.iter().any(|found| found.is_of_project);
    let others = CLIENTS.iter().filter(|_| is_of_project).filter(|client| {
        found.iter().all(|found| found.client.name != client.name)
            && client.trace_on_machine(&project.env).is_some()
    });
    let others: Vec<_> = others.map(|client| format!("--client {}", client.name)).collect();
    (!others.is_empty()).then(|| {
        format!(
            "Not set up, because this project has no files of theirs: ait init {}",
            others.join(" ")
        )
    })
}

impl Arguments {
    /// Returns true if the command line names something to write for clients.
    pub fn names_setup(&self) -> bool {
        let has_flag = self.http || self.track || self.remove;
        has_flag || self.preset.is_some() || !self.client.is_empty()
    }
}

/// Returns true if the user can be asked before the plan is shown.
fn asks(arguments: &Arguments) -> bool {
    !arguments.yes && !arguments.dry_run && can_ask(arguments.format.json)
}

/// Returns the named preset, else that of the project, else the one that the user chooses.
fn preset(arguments: &Arguments, project: &Project) -> Result<Preset> {
    if let Some(named) = arguments.preset.as_deref().and_then(Preset::named) {
        return Ok(named);
    }
    let before = Preset::of_project(&project.root);
    let is_new = Preset::detect(&project.root).is_none() && !project.settings.exists();
    if arguments.remove || !is_new || !asks(arguments) {
        return Ok(before);
    }
    let rows = Preset::all().map(|preset| format!("  {:<14}{}\n", preset.name, preset.description));
    let mut question = format!("Who works on the issues?\n{}", rows.collect::<String>());
    loop {
        let answer = ask(&format!("{question}[{}] ", before.name))?.trim().to_lowercase();
        let found = Preset::all().find(|preset| preset.name.starts_with(&answer));
        match found {
            _ if answer.is_empty() => return Ok(before),
            Some(preset) => return Ok(preset),
            None => question = format!("{answer:?} is none of them. "),
        }
    }
}

/// The named clients, else those that the project uses, else those that the user chooses. For a removal, no client
/// stands for all of them.
fn clients(arguments: &Arguments, project: &Project) -> Result<Vec<FoundClient>> {
    let mut named = arguments.client.clone();
    if named.is_empty() && !arguments.remove {
        let in_use = FoundClient::in_use(&project.root, &project.env);
        let is_of_project = in_use.iter().any(|found| found.is_of_project);
        if !in_use.is_empty() && (is_of_project || in_use.len() == 1 || !asks(arguments)) {
            return Ok(in_use);
        }
        named = chosen(arguments, &in_use)?;
    }
    Ok(FoundClient::named(&named))
}

/// Asks the user for the clients, where that is possible. Several are on the machine, or none.
fn chosen(arguments: &Arguments, on_machine: &[FoundClient]) -> Result<Vec<&'static Client>> {
    let none = || SetupError::NoClient { known: Client::names() };
    if !asks(arguments) {
        bail!(none());
    }
    let is_here = |client: &Client| on_machine.iter().any(|one| one.client.name == client.name);
    let row = |(index, client): (usize, &Client)| {
        let mark = if is_here(client) { "*" } else { " " };
        format!("{mark} {}  {:<16}{}\n", index + 1, client.name, client.title)
    };
    let rows: String = CLIENTS.iter().enumerate().map(row).collect();
    let (head, otherwise) = if on_machine.is_empty() {
        ("No client was found here.", "Enter alone writes nothing")
    } else {
        (
            "This project has files of no client; * is on this machine.",
            "Enter alone means all with *",
        )
    };
    let mut question = format!("{head} These are known:\n{rows}");
    loop {
        let answer = ask(&format!(
            "{question}Which do you use? Names or numbers, separated by spaces; {otherwise}: "
        ))?;
        let names = answer.split(|sign: char| sign == ',' || sign.is_whitespace());
        let names = names.filter(|name| !name.is_empty());
        let clients: Result<Vec<_>, _> = names.map(answered).collect();
        match clients {
            Ok(clients) if clients.is_empty() && on_machine.is_empty() => bail!(none()),
            Ok(clients) if clients.is_empty() => {
                return Ok(on_machine.iter().map(|found| found.client).collect());
            }
            Ok(clients) => return Ok(clients),
            Err(problem) => question = format!("{problem}. "),
        }
    }
}

/// Finds a client by its name, its number in the list, its program, or the start of its name.
fn answered(word: &str) -> Result<&'static Client, String> {
    let name = word.to_lowercase();
    let number = name.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let exact = || CLIENTS.iter().find(|client| client.is_called(&name));
    if let Some(client) = number.map_or_else(exact, |index| CLIENTS.get(index)) {
        return Ok(client);
    }
    let begun: Vec<_> = CLIENTS.iter().filter(|client| client.name.starts_with(&name)).collect();
    match begun[..] {
        [] => Err(format!("{word:?} is none of them")),
        [client] => Ok(client),
        _ => {
            let names: Vec<_> = begun.iter().map(|client| client.name).collect();
            Err(format!("{word:?} may be {}", names.join(" or ")))
        }
    }
}

/// Asks the user, unless the command line has the answer.
fn is_agreed(arguments: &Arguments) -> Result<bool> {
    if arguments.yes {
        return Ok(true);
    }
    if !can_ask(arguments.format.json) {
        bail!(
            "stdin is not a terminal: pass --yes to write, or --dry-run to see the plan; nothing was written"
        );
    }
    is_confirmed("Write this?")
}

/// Parses the name of a client; completions know the names, too.
fn client() -> impl TypedValueParser<Value = &'static Client> {
    PossibleValuesParser::new(CLIENTS.iter().map(|client| client.name))
        .map(|name| Client::named(&name).expect("only these names are possible"))
}
