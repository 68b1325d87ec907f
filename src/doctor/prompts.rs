//! What was set up in the project for agents: whether another version wrote it. And the repairs of that.

use crate::setup::{self, Change, SetupError, Upkeep, UpkeepState};
use crate::store::json::inspect::place_of;

use super::report::counted;
use super::{Check, Finding, Repair, Subject};

pub(super) fn examine(subject: &Subject) -> Vec<Finding> {
    let check = Check::Prompts;
    vec![match upkeep(subject).look() {
        Ok(state) => told(&state),
        Err(error @ SetupError::Outside { .. }) => Finding::skipped(check, reason(&error)),
        Err(error) => Finding::problem(check, reason(&error))
            .fix("mend it there; `ait init` changes nothing until then"),
    }]
}

fn upkeep(subject: &Subject) -> Upkeep<'_> {
    let around = &subject.around;
    let (root, machine, is_store_named) = (&around.root, &around.machine, around.is_named);
    Upkeep { root, machine, store: &subject.path, is_store_named }
}

fn told(state: &UpkeepState) -> Finding {
    let check = Check::Prompts;
    let UpkeepState { current, changes, edited, newer } = state;
    let outdated = changes.iter().map(|it| format!("{}: of another version", it.shown));
    let edited_ones = edited.iter().map(|it| format!("{it}: edited, and of another version"));
    let newer_ones = newer.iter().map(|it| format!("{it}: of a newer version"));
    let about: Vec<_> = outdated.chain(edited_ones).chain(newer_ones).collect();
    if about.is_empty() {
        return match current.len() {
            0 => Finding::skipped(check, "nothing was set up here (`ait init` does that)"),
            count => Finding::ok(
                check,
                format!("{} of this version", counted(count, "file is", "files are")),
            ),
        };
    }
    let mut fixes = Vec::new();
    if !changes.is_empty() {
        fixes.push("`ait doctor --fix` writes anew what nobody has edited");
    }
    if !edited.is_empty() {
        fixes.push("`ait init --force --dry-run` shows what is new for those that were edited, and without --dry-run replaces them");
    }
    if !newer.is_empty() {
        fixes.push("update this ait");
    }
    let reason =
        counted(about.len(), "file is not of this version", "files are not of this version");
    let finding = Finding::warning(check, reason).about(about).fix(fixes.join("; "));
    if changes.is_empty() { finding } else { finding.repaired_by(Repair::Refresh) }
}

/// Writes anew what another version wrote and nobody has edited, and keeps copies.
pub(super) fn refresh(subject: &Subject) -> Result<String, String> {
    let state = upkeep(subject).look().map_err(|error| reason(&error))?;
    let time = subject.now.to_string().replace(':', "");
    let kept = state.changes.into_iter().map(|change| change.kept_as_of(&time));
    let written = write(&kept.collect::<Vec<_>>(), subject)?;
    Ok(format!(
        "wrote anew {}, and kept each as *{}{time}",
        written.join(", "),
        setup::REPAIR_SUFFIX
    ))
}

/// Has git ignore what belongs to one machine; `None` if it does so already.
pub(super) fn ignore(subject: &Subject) -> Result<Option<String>, String> {
    let store = place_of(&subject.path).map_err(|error| error.to_string())?.issues;
    let upkeep = Upkeep { store: &store, ..upkeep(subject) };
    let change = upkeep.ignore().map_err(|error| reason(&error))?;
    let written = write(change.as_slice(), subject)?;
    Ok((!written.is_empty()).then(|| format!("completed {}", written.join(", "))))
}

fn write(changes: &[Change], subject: &Subject) -> Result<Vec<String>, String> {
    let applied = setup::apply(changes, &subject.around.root);
    match applied.failure {
        Some((file, error)) => Err(format!("{file}: {error}")),
        None => Ok(applied.written),
    }
}

/// Why a file cannot be looked at, without what is to be done for setting up.
fn reason(error: &SetupError) -> String {
    match error {
        SetupError::Unreadable { path, cause } => format!("{path} cannot be read: {cause}"),
        SetupError::Unusable { path, problem } => format!("{path}, {problem}"),
        SetupError::Outside { path, target } => {
            format!("{path} leads to {}, outside of the project", target.display())
        }
        SetupError::Dangling { path } => format!("{path} is a link that leads nowhere"),
        other => other.to_string(),
    }
}
