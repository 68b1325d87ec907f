//! Whether a person has allowed a client to start the servers of a project, which no project can allow itself.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::edit::{json, toml};
use super::staged_file::read;
use super::{HostEnv, SERVER};

/// Whether a person has allowed the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Consent {
    /// Nothing is left to do.
    Given,
    /// The person has to do this first.
    Missing(&'static str),
    /// The client does not tell.
    Unknown,
}

/// What Claude Code knows: the trust in a directory, which counts below it, in `~/.claude.json`, and the servers in
/// the settings (<https://code.claude.com/docs/en/settings>), or, from older versions, beside the trust.
pub(super) fn of_claude(root: &Path, env: &HostEnv) -> Consent {
    let known = |name: &str| env.at_home(name).and_then(|file| json_of(&file));
    let user = known(".claude.json").unwrap_or_default();
    let Some(projects) = user.get("projects").filter(|projects| projects.is_object()) else {
        return Consent::Unknown;
    };
    let project = |directory: &Path| &projects[&*directory.to_string_lossy()];
    // Clients resolve links.
    let root = &real(root);
    if !root.ancestors().any(|directory| project(directory)["hasTrustDialogAccepted"] == true) {
        return Consent::Missing(
            "trust this project first: start claude here once and accept the trust dialog",
        );
    }
    let in_project = |name| json_of(&root.join(name));
    let settings = [
        Some(project(root).clone()),
        known(".claude/settings.json"),
        in_project(".claude/settings.json"),
        in_project(".claude/settings.local.json"),
    ];
    let names_server = |settings: &Value, list| {
        let servers = settings[list].as_array();
        servers.is_some_and(|servers| servers.iter().any(|server| server == SERVER))
    };
    let is_allowed = |settings: &Value| {
        settings["enableAllProjectMcpServers"] == true
            || names_server(settings, "enabledMcpjsonServers")
    };
    if settings.iter().flatten().any(|settings| names_server(settings, "disabledMcpjsonServers")) {
        return Consent::Missing(
            "it was told not to use the server: run `claude mcp reset-project-choices`, and allow it at the next start",
        );
    }
    if settings.iter().flatten().any(is_allowed) {
        return Consent::Given;
    }
    Consent::Missing("allow its server first: start claude here once and choose to use it")
}

/// What Codex knows: the trust in a directory or in its repository, and in each hook, in the configuration of the user
/// (<https://developers.openai.com/codex/config-basic>, <https://developers.openai.com/codex/hooks>).
pub(super) fn of_codex(root: &Path, env: &HostEnv) -> Consent {
    let text = env.codex_home.as_ref().and_then(|home| text_of(&home.join("config.toml")));
    let table =
        |path: &[&str]| toml::get(text.as_deref()?, path).ok().map(Option::unwrap_or_default);
    let Some(projects) = table(&["projects"]) else { return Consent::Unknown };
    let root = &real(root);
    let is_trusted =
        |directory: &Path| projects[&*directory.to_string_lossy()]["trust_level"] == "trusted";
    let repository = root.ancestors().find(|directory| directory.join(".git").exists());
    if !is_trusted(root) && !repository.is_some_and(is_trusted) {
        return Consent::Missing(
            "trust this project first: start codex here once and choose \"Trust and continue\"",
        );
    }
    let hooks = root.join(".codex/hooks.json");
    let reviewed = table(&["hooks", "state"]).unwrap_or_default();
    let mut reviewed = reviewed.as_object().into_iter().flat_map(|hooks| hooks.keys());
    if hooks.exists() && !reviewed.any(|name| name.starts_with(&*hooks.to_string_lossy())) {
        return Consent::Missing(
            "trust its hooks first: start codex here once and choose \"Trust all and continue\"",
        );
    }
    Consent::Given
}

fn real(directory: &Path) -> PathBuf {
    directory.canonicalize().unwrap_or_else(|_| directory.to_owned())
}

fn json_of(file: &Path) -> Option<Value> {
    let text = text_of(file)?;
    json::parsed(&text)
}

fn text_of(file: &Path) -> Option<String> {
    read(file, "").ok().flatten()
}
