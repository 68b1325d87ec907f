//! Checks and repairs of the files that `ait init` wrote: whether they are up to date.

use super::{Check, CheckContext, Finding, Repair};
use ait_domain::text::counted;
use ait_setup::{
    FileChange, FileProblem, InstalledSetup, ProjectLanguages, ProjectPrompts, ProjectTemplates,
    SetupError, SetupStatus,
};
use ait_store::files::fs::directory_of;
use ait_store::sqlite::inspect::paths_of;

pub(super) fn examine(context: &CheckContext) -> Vec<Finding> {
    let check = Check::Prompts;
    let installed = match upkeep(context).compare() {
        Ok(state) => finding_of(&state),
        Err(error @ SetupError::Outside { .. }) => Finding::skipped(check, reason(&error)),
        Err(error) => Finding::problem(check, reason(&error))
            .fix("correct it there; `ait init` changes nothing until then"),
    };
    std::iter::once(installed).chain(files_of_team(context)).collect()
}

/// Checks the roles, prompts, templates and languages of the project, if it has any.
fn files_of_team(context: &CheckContext) -> impl Iterator<Item = Finding> {
    let project = directory_of(&context.path);
    let prompts = ProjectPrompts::read(project);
    let (roles, mut problems) = ait_setup::roles::examine(project, context.tools, &prompts);
    problems.extend(prompts.problems);
    let names = ["role or prompt of .ait/ is", "roles and prompts of .ait/ are"];
    let fix =
        "correct them there: a session with such a role is refused, and such a prompt is left out";
    let of_agents = finding_of_team(names, roles + prompts.prompts.len(), &problems, fix);
    let ProjectTemplates { templates, problems } = ProjectTemplates::read(project);
    let names = ["template of .ait/ is", "templates of .ait/ are"];
    let fix = "correct them there: such a template is left out";
    let of_issues = finding_of_team(names, templates.len(), &problems, fix);
    let ProjectLanguages { count, problems, .. } = ProjectLanguages::read(project);
    let names = ["table of .ait/languages/ is", "tables of .ait/languages/ are"];
    let fix = "correct them there: the pages leave such a text out";
    let of_pages = finding_of_team(names, count, &problems, fix);
    [of_agents, of_issues, of_pages].into_iter().flatten()
}

fn finding_of_team(
    [one, many]: [&str; 2],
    valid: usize,
    problems: &[FileProblem],
    fix: &str,
) -> Option<Finding> {
    if !problems.is_empty() {
        let count = counted(problems.len(), one, many);
        let finding = Finding::warning(Check::Prompts, format!("{count} not valid"));
        return Some(finding.about(problems.iter().map(ToString::to_string)).fix(fix));
    }
    let count = counted(valid, one, many);
    (valid > 0).then(|| Finding::ok(Check::Prompts, format!("{count} valid")))
}

fn upkeep(context: &CheckContext) -> InstalledSetup<'_> {
    let project = &context.project;
    let root = &project.root;
    let machine = &project.machine;
    let is_store_named = project.is_named;
    InstalledSetup { root, env: machine, store: &context.path, is_store_named }
}

/// What is counted.
const FILE: &str = "file that `ait init` wrote is";
const FILES: &str = "files that `ait init` wrote are";

fn finding_of(state: &SetupStatus) -> Finding {
    let check = Check::Prompts;
    let SetupStatus { current, changes, edited, newer } = state;
    let outdated = changes.iter().map(|change| format!("{}: of another version", change.shown));
    let edited_ones = edited.iter().map(|path| format!("{path}: edited, and of another version"));
    let newer_ones = newer.iter().map(|path| format!("{path}: of a newer version"));
    let about: Vec<_> = outdated.chain(edited_ones).chain(newer_ones).collect();
    if about.is_empty() {
        return match current.len() {
            0 => Finding::skipped(check, "nothing was set up here (`ait init` does that)"),
            count => Finding::ok(check, format!("{} of this version", counted(count, FILE, FILES))),
        };
    }
    let mut fixes = Vec::new();
    if !changes.is_empty() {
        fixes.push("`ait doctor --fix` updates the files that were not edited");
    }
    if !edited.is_empty() {
        fixes.push(
            "`ait init --force --dry-run` shows the new contents of the edited files; \
             without --dry-run it replaces them",
        );
    }
    if !newer.is_empty() {
        fixes.push("update this ait");
    }
    let reason = format!("{} not of this version", counted(about.len(), FILE, FILES));
    let finding = Finding::warning(check, reason).about(about).fix(fixes.join("; "));
    if changes.is_empty() { finding } else { finding.repaired_by(Repair::Refresh) }
}

/// Rewrites unedited files of other versions, and keeps copies of them.
pub(super) fn refresh(context: &CheckContext) -> Result<String, String> {
    let state = upkeep(context).compare().map_err(|error| reason(&error))?;
    let time = context.now.to_string().replace(':', "");
    let kept = state.changes.into_iter().map(|change| change.with_backup_copy(&time));
    let written = write(&kept.collect::<Vec<_>>(), context)?;
    Ok(format!(
        "rewrote {}, and kept each original as *{}{time}",
        written.join(", "),
        ait_setup::REPAIR_SUFFIX
    ))
}

/// Adds the machine-local files to `.gitignore`; `None` if git already ignores them.
pub(super) fn ignore(context: &CheckContext) -> Result<Option<String>, String> {
    let store = paths_of(&context.path).map_err(|error| error.to_string())?.issues;
    let upkeep = InstalledSetup { store: &store, ..upkeep(context) };
    let change = upkeep.ignore().map_err(|error| reason(&error))?;
    let written = write(change.as_slice(), context)?;
    Ok((!written.is_empty()).then(|| format!("updated {}", written.join(", "))))
}

fn write(changes: &[FileChange], context: &CheckContext) -> Result<Vec<String>, String> {
    let applied = ait_setup::apply(changes, &context.project.root);
    match applied.failure {
        Some((file, error)) => Err(format!("{file}: {error}")),
        None => Ok(applied.written),
    }
}

/// Returns why a file cannot be examined, without the advice for `ait init`.
fn reason(error: &SetupError) -> String {
    match error {
        SetupError::Unreadable { path, cause } => format!("{path} cannot be read: {cause}"),
        SetupError::Unusable { path, problem } => format!("{path}, {problem}"),
        SetupError::Outside { path, target } => {
            format!("{path} leads to {}, outside the project", target.display())
        }
        SetupError::Dangling { path } => format!("{path} is a dangling symbolic link"),
        other => other.to_string(),
    }
}
