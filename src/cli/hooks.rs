//! `ait hooks`: git names and notes issues.

use std::ffi::OsString;
use std::path::Path;

use anstyle::{AnsiColor, Style};
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use serde::Serialize;

use super::options::{Format, WrongUsage};
use super::output::{FAINT, STRONG};
use super::{Ending, Output, plain};
use crate::hooks::{self, Hook, Place, Plan, Standing, State, Step, Wish};

/// The arguments of `ait hooks`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "prepare-commit-msg adds a line `Issue: 3f2a9c1e Title` to the message of a commit. The issue is\n\
        the one that the branch names (issue-3f2a9c1e, as a word of its name), or else the only one\n\
        that $AIT_AGENT works on; and only where it is claimed. post-merge notes on an issue that its\n\
        branch was merged.\n\n\
        Neither ever holds git up: where there is no store, or no ait, nothing happens, and what goes wrong\n\
        is said in one line. Hooks that are there are kept as NAME.before-ait-hooks, and run first.\n\n\
        Examples:\n  \
        ait hooks install\n  \
        ait hooks status\n  \
        ait hooks remove"
)]
pub struct Arguments {
    /// What is to be done.
    #[command(subcommand)]
    pub action: Action,
}

/// What is to be done with the hooks of a repository.
#[derive(Clone, Debug, Subcommand)]
pub enum Action {
    /// Put the hooks into this repository, for all its worktrees
    Install(ChangeArguments),
    /// Take them back; hooks that were there before are there again
    Remove(ChangeArguments),
    /// Tell how the hooks stand; ends with 1 when one of them is not installed
    Status(StatusArguments),
    /// What the hooks call.
    #[command(hide = true)]
    Run(CallArguments),
}

/// The arguments of `ait hooks install` and `ait hooks remove`.
#[derive(Clone, Copy, Debug, Args)]
#[command(
    after_help = "Ends with 1 when a hook had to stay as it is; the answer says which, and why."
)]
pub struct ChangeArguments {
    /// Only show what would be done
    #[arg(long)]
    dry_run: bool,

    /// Also where somebody has edited a hook of ours
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    format: Format,
}

/// The arguments of `ait hooks status`.
#[derive(Clone, Copy, Debug, Args)]
pub struct StatusArguments {
    #[command(flatten)]
    format: Format,
}

/// What git gives a hook.
#[derive(Clone, Debug, Args)]
pub struct CallArguments {
    /// Which hook.
    pub hook: String,
    /// What git gave it.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<OsString>,
}

/// What is answered as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    directory: &'a Path,
    #[serde(skip_serializing_if = "Option::is_none")]
    set_by: Option<&'a str>,
    /// What is in the way of installing hooks there.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    hooks: Vec<HookReport<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HookReport<'a> {
    name: &'static str,
    state: &'static str,
    file: &'a Path,
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier: Option<&'a Path>,
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier_runs: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept_as: Option<&'a Path>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ChangeReport<'a> {
    directory: &'a Path,
    changes: Vec<StepReport<'a>>,
    notes: &'a [String],
    written: bool,
}

#[derive(Serialize)]
struct StepReport<'a> {
    file: &'a Path,
    what: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier: Option<&'a Path>,
}

/// Installs or removes hooks, or tells how they stand; `command` is what they start the tracker by, and
/// `is_store_named` whether the command line names a store, of which they know nothing.
///
/// # Errors
///
/// What kept it from being done; the text says what to do.
pub fn run(
    action: &Action,
    place: &Place,
    command: &str,
    is_store_named: bool,
    output: &mut Output,
) -> Result<Ending> {
    let standings = hooks::survey(place, command)?;
    let wish = |force| Wish { place, command, force };
    let ending = match action {
        Action::Install(_) if is_store_named => bail!(WrongUsage(
            "hooks find the store of the repository in which git calls them, or the one that ISSUES_FILE names \
             then: leave --file out"
        )),
        Action::Install(arguments) => {
            place.writable(command)?;
            let plan = hooks::install(&wish(arguments.force), &standings)?;
            change(arguments, place, &plan, "installed", output)?
        }
        Action::Remove(arguments) => {
            let plan = hooks::removal(&wish(arguments.force), &standings);
            change(arguments, place, &plan, "taken back", output)?
        }
        Action::Status(arguments) => {
            let problem = place.writable(command).err().map(|error| error.to_string());
            tell(arguments.format, place, &standings, problem, output)?
        }
        Action::Run(_) => Ending::Nothing,
    };
    output.flush()?;
    Ok(ending)
}

fn change(
    arguments: &ChangeArguments,
    place: &Place,
    plan: &Plan,
    done: &str,
    output: &mut Output,
) -> Result<Ending> {
    let is_written = !plan.steps.is_empty() && !arguments.dry_run;
    if is_written {
        let applied = hooks::apply(&plan.steps);
        if let Some((path, error)) = applied.failure {
            let (done, count) = (applied.done, plan.steps.len());
            return Err(error).with_context(|| {
                format!(
                    "{} cannot be changed ({done} of {count} are done); mend that, and try again",
                    path.display()
                )
            });
        }
    }
    if arguments.format.json {
        let changes = plan.steps.iter().map(step_report).collect();
        let directory = &place.directory;
        let notes = &plan.notes;
        output.json(&ChangeReport { directory, changes, notes, written: is_written })?;
    } else {
        for step in &plan.steps {
            let StepReport { file, what, earlier } = step_report(step);
            let file = output.styled(STRONG, plain::line(&file.display().to_string()));
            let earlier = earlier.and_then(Path::file_name).map(|name| {
                let verb = if matches!(step, Step::Write { .. }) { "kept as" } else { "back from" };
                format!(", the earlier one {verb} {}", name.to_string_lossy())
            });
            output.line(format_args!("{file} ({what}{})", earlier.unwrap_or_default()))?;
        }
        for note in &plan.notes {
            output.line(format_args!("Note: {}", plain::line(note)))?;
        }
        match plan.steps.len() {
            0 => output.line("nothing to do")?,
            _ if arguments.dry_run => output.line("nothing was written: this was a dry run")?,
            1 => output.line(format_args!("{done}: 1 hook"))?,
            count => output.line(format_args!("{done}: {count} hooks"))?,
        }
    }
    Ok(if plan.is_partial { Ending::Partly } else { Ending::Done })
}

fn step_report(step: &Step) -> StepReport<'_> {
    match step {
        Step::Write { path, before: None, .. } => {
            StepReport { file: path, what: "new", earlier: None }
        }
        Step::Write { path, keep, .. } => {
            StepReport { file: path, what: "replaced", earlier: keep.as_deref() }
        }
        Step::Remove { path, restore, .. } => {
            StepReport { file: path, what: "removed", earlier: restore.as_deref() }
        }
    }
}

fn tell(
    format: Format,
    place: &Place,
    standings: &[Standing],
    problem: Option<String>,
    output: &mut Output,
) -> Result<Ending> {
    let is_there = |it: &Standing| matches!(it.state, State::Installed | State::Kept);
    let ending = if standings.iter().all(is_there) { Ending::Done } else { Ending::Partly };
    if format.json {
        let hooks = standings.iter().map(|it| HookReport {
            name: it.hook.name(),
            state: it.state.as_str(),
            file: &it.path,
            earlier: it.earlier.as_ref().map(|earlier| earlier.path.as_path()),
            earlier_runs: it.earlier.as_ref().map(|earlier| earlier.runs),
            kept_as: it.kept_as.as_deref(),
        });
        let (directory, set_by) = (&*place.directory, place.set_by.as_deref());
        output.json(&Report { directory, set_by, problem, hooks: hooks.collect() })?;
        return Ok(ending);
    }
    let directory = output.styled(STRONG, plain::line(&place.directory.display().to_string()));
    let set_by =
        place.set_by.as_ref().map(|by| format!(" (core.hooksPath in {})", plain::line(by)));
    output.line(format_args!("{directory}{}", set_by.unwrap_or_default()))?;
    for it in standings {
        let style = match it.state {
            State::Installed | State::Kept => AnsiColor::Green.on_default(),
            State::Missing | State::Other => Style::new(),
            _ => AnsiColor::Yellow.on_default(),
        };
        let name = output.styled(STRONG, format_args!("{:<18}", it.hook.name()));
        output.line(format_args!("{name}  {}", output.styled(style, plain::line(&words(it)))))?;
        if let Some(earlier) = it.earlier.as_ref().filter(|_| it.state != State::Overwritten) {
            let file = earlier.path.file_name().unwrap_or_default().to_string_lossy();
            let how = match earlier.runs {
                true => "runs first, the hook that was there before",
                false => "is the hook that was there before; it is not executable and does not run",
            };
            let line = format!("{:<18}  {} {how}", "", plain::line(&file));
            output.line(output.styled(FAINT, line))?;
        }
    }
    if let Some(problem) = problem {
        output.line(format_args!("Note: {}", plain::line(&problem)))?;
    }
    Ok(ending)
}

fn words(standing: &Standing) -> String {
    let kept = standing.kept_as.as_deref().and_then(Path::file_name).unwrap_or_default();
    match standing.state {
        State::Installed => "installed".to_owned(),
        State::Outdated => {
            "of another version, or for another program: `ait hooks install` renews it".to_owned()
        }
        State::Edited => "installed, and edited by somebody".to_owned(),
        State::Disabled => {
            "not executable, so that git leaves it out: `ait hooks install` mends it".to_owned()
        }
        State::Missing => "not installed: `ait hooks install`".to_owned(),
        State::Other => {
            "not installed; another hook is there, which `ait hooks install` keeps and calls"
                .to_owned()
        }
        State::Overwritten => format!(
            "overwritten by another program; *{} is the hook from before ours",
            hooks::EARLIER_SUFFIX
        ),
        State::Kept => format!("of another program, which keeps ours as {}", kept.display()),
    }
}

impl CallArguments {
    /// The hook, if this version knows it.
    pub fn known(&self) -> Option<Hook> {
        Hook::named(&self.hook)
    }
}
