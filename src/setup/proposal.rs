//! What to propose for a project: a preset and the command, from what there is to see of it.

use std::path::{Path, PathBuf};

use super::clients::{CLIENTS, Client};
use super::machine::Machine;
use super::presets::Preset;

/// What shows that changes are owned by people who have to agree, as GitHub and GitLab document it.
const OWNERS: [&str; 4] =
    ["CODEOWNERS", ".github/CODEOWNERS", ".gitlab/CODEOWNERS", "docs/CODEOWNERS"];

/// A proposal.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The project.
    pub project: PathBuf,
    /// The clients that are in use, each with what shows that.
    pub clients: Vec<(&'static Client, String)>,
    /// Whether it is in git.
    pub is_in_git: bool,
    /// Whether it was set up before.
    pub is_set_up: bool,
    /// The preset.
    pub preset: Preset,
    /// Why this one, in words that follow "because".
    pub why: String,
    /// What sets it up, in the directory of the project.
    pub command: String,
}

/// Looks at a project and proposes a preset, unless one is given. `command` is what calls this program.
pub fn propose(
    project: &Path,
    machine: &Machine,
    preset: Option<Preset>,
    command: &str,
) -> Proposal {
    let traced = |client: &'static Client| Some((client, client.trace(project, machine)?));
    let clients: Vec<_> = CLIENTS.iter().filter_map(traced).collect();
    let before = Preset::told_in(project);
    let is_set_up = before.is_some();
    let (preset, why) = match (preset, before) {
        (Some(preset), _) => (preset, "the person asked for it".to_owned()),
        (None, Some(before)) => (before, "the project has it now".to_owned()),
        (None, None) => chosen(project, &clients),
    };
    let command = format!("{command} init --preset {}", preset.name);
    Proposal {
        project: project.to_owned(),
        clients,
        is_in_git: project.ancestors().any(|directory| directory.join(".git").exists()),
        is_set_up,
        preset,
        why,
        command,
    }
}

/// The preset that suits what there is to see.
fn chosen(project: &Path, clients: &[(&Client, String)]) -> (Preset, String) {
    let named = |name| Preset::named(name).expect("the tests name every preset");
    if let Some(owners) = OWNERS.iter().find(|owners| project.join(owners).exists()) {
        return (named("review-heavy"), format!("{owners} says who has to agree to a change"));
    }
    match clients.iter().find(|(client, _)| client.agents.is_some()) {
        Some((client, _)) => {
            (named("team"), format!("{} can start agents of its own", client.title))
        }
        None if clients.is_empty() => (named("team"), "it suits most".to_owned()),
        None => (named("solo"), "none of these clients starts agents of its own".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::setup::edit::marked::MARKDOWN;

    #[test]
    fn what_is_proposed_follows_what_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let (root, machine) = (directory.path(), Machine::default());
        let proposed = |preset| propose(root, &machine, preset, "ait");
        let name = |preset| proposed(preset).preset.name;
        assert_eq!((name(None), proposed(None).clients.len()), ("team", 0));
        fs::create_dir(root.join(".zed")).unwrap();
        assert_eq!(name(None), "solo");
        assert_eq!(proposed(None).clients[0].0.name, "zed");
        fs::create_dir(root.join(".cursor")).unwrap();
        assert_eq!(name(None), "team");
        fs::create_dir(root.join(".github")).unwrap();
        fs::write(root.join(".github/CODEOWNERS"), "* @owner\n").unwrap();
        assert_eq!(name(None), "review-heavy");
        assert_eq!(name(Preset::named("team")), "team");
        assert!(!proposed(None).is_set_up && !proposed(None).is_in_git);
        let section = MARKDOWN.set("", &Preset::named("solo").unwrap().workflow).unwrap();
        fs::write(root.join("AGENTS.md"), section).unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        let again = proposed(None);
        assert_eq!((again.preset.name, again.is_set_up, again.is_in_git), ("solo", true, true));
        assert_eq!(again.command, "ait init --preset solo");
    }
}
