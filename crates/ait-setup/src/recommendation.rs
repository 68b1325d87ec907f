//! Recommends a preset and the command for a project.

use std::path::{Path, PathBuf};

use super::found_client::FoundClient;
use super::host_env::HostEnv;
use super::is_in_git;
use super::presets::Preset;
use ait_system::small_file;

/// The files that name the owners of the code, as GitHub and GitLab document them.
const OWNERS: [&str; 4] =
    ["CODEOWNERS", ".github/CODEOWNERS", ".gitlab/CODEOWNERS", "docs/CODEOWNERS"];

/// The manifest files of projects, what such a file has if the project has tests, and the command that runs them.
const MANIFESTS: [(&str, &str, &str); 11] = [
    ("Cargo.toml", "", "cargo test"),
    ("go.mod", "", "go test ./..."),
    ("package.json", "\"test\":", "npm test"),
    ("deno.json", "", "deno test"),
    ("pyproject.toml", "", "pytest"),
    ("setup.py", "", "pytest"),
    ("pom.xml", "", "mvn test"),
    ("build.gradle", "", "./gradlew test"),
    ("build.gradle.kts", "", "./gradlew test"),
    ("mix.exs", "", "mix test"),
    ("Makefile", "\ntest:", "make test"),
];
/// The most of a manifest that is read, in bytes.
const MAX_MANIFEST_BYTES: u64 = 1 << 20;

/// A recommendation.
#[derive(Clone, Debug)]
pub struct Recommendation {
    pub project: PathBuf,
    /// The clients in use.
    pub clients: Vec<FoundClient>,
    /// Whether the project is in git.
    pub is_in_git: bool,
    /// Whether `ait init` has set it up before.
    pub is_set_up: bool,
    pub preset: Preset,
    /// The reason, as text that follows "because".
    pub why: String,
    /// The manifest file, and the command that it suggests as the check of a merge.
    pub check: Option<(&'static str, &'static str)>,
    /// The command that sets it up, in the directory of the project.
    pub command: String,
}

/// Recommends a preset for a project, unless one is given. `command` starts this program.
pub fn recommend(
    project: &Path,
    env: &HostEnv,
    preset: Option<Preset>,
    command: &str,
) -> Recommendation {
    let clients = FoundClient::in_use(project, env);
    let before = Preset::detect(project);
    let is_set_up = before.is_some();
    let (preset, why) = match (preset, before) {
        (Some(preset), _) => (preset, "the person asked for it".to_owned()),
        (None, Some(before)) => (before, "the project has it now".to_owned()),
        (None, None) => chosen(project, &clients),
    };
    let command = format!("{command} init --preset {}", preset.name);
    Recommendation {
        project: project.to_owned(),
        clients,
        is_in_git: is_in_git(project),
        is_set_up,
        preset,
        why,
        check: check(project),
        command,
    }
}

/// Finds the first manifest whose project has tests.
fn check(project: &Path) -> Option<(&'static str, &'static str)> {
    let has_tests = |(name, mark, _): &&(&str, &str, &str)| {
        let text = small_file::read_bytes(&project.join(name), MAX_MANIFEST_BYTES).ok();
        text.is_some_and(|text| format!("\n{}", String::from_utf8_lossy(&text)).contains(mark))
    };
    MANIFESTS.iter().find(has_tests).map(|(name, _, command)| (*name, *command))
}

/// Chooses a preset by the files of the project and its clients.
fn chosen(project: &Path, clients: &[FoundClient]) -> (Preset, String) {
    let named = |name| Preset::named(name).expect("the tests name every preset");
    if let Some(owners) = OWNERS.iter().find(|owners| project.join(owners).exists()) {
        return (named("review-heavy"), format!("{owners} says who has to agree to a change"));
    }
    match clients.iter().find(|found| found.client.agents.is_some()) {
        Some(FoundClient { client, .. }) => {
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
    use crate::edit::marked::MARKDOWN;

    #[test]
    fn the_recommended_preset_depends_on_project_files() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let env = HostEnv::default();
        let proposed = |preset| recommend(root, &env, preset, "ait");
        let name = |preset| proposed(preset).preset.name;
        assert_eq!((name(None), proposed(None).clients.len()), ("team", 0));
        fs::write(root.join("package.json"), r#"{"scripts": {"build": "x"}}"#).unwrap();
        assert_eq!(proposed(None).check, None);
        fs::write(root.join("Makefile"), "test: all\n").unwrap();
        assert_eq!(proposed(None).check, Some(("Makefile", "make test")));
        fs::write(root.join("package.json"), r#"{"scripts": {"test": "x"}}"#).unwrap();
        assert_eq!(proposed(None).check, Some(("package.json", "npm test")));
        fs::create_dir(root.join(".zed")).unwrap();
        assert_eq!(name(None), "solo");
        assert_eq!(proposed(None).clients[0].client.name, "zed");
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
        fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let again = proposed(None);
        assert_eq!((again.preset.name, again.is_set_up, again.is_in_git), ("solo", true, true));
        assert_eq!(again.command, "ait init --preset solo");
    }
}
