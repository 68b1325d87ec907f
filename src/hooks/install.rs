//! Examines the hooks of a repository, and plans and makes their changes.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Serialize;

use super::{Hook, HooksDir};

/// The suffix under which an existing hook is kept.
const PREVIOUS_SUFFIX: &str = ".before-ait-hooks";
/// The beginning of the second line of our scripts.
const MARK: &str = "# ait hooks ";
/// What the hooks have that lefthook writes. It writes them again whenever its configuration changes.
const LEFTHOOK: &str = "lefthook";
/// The suffix under which lefthook keeps the hook that it replaces, and never calls it.
const LEFTHOOK_SUFFIX: &str = ".old";
/// The suffix under which pre-commit keeps the hook that it replaces, and calls it.
const LEGACY_SUFFIX: &str = ".legacy";

/// The state of a hook.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HookState {
    /// Ours is there.
    Installed,
    /// Ours is there, but starts another program, or is not executable.
    Outdated,
    /// Ours is there, edited or of another version.
    Edited,
    /// There is none.
    Missing,
    /// There is another one.
    Other,
    /// There is another one, and beside it the one that was there before ours.
    Overwritten,
    /// lefthook has put its own in the place of ours.
    Resynced,
}

/// A hook of a repository.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HookStatus {
    /// The hook.
    #[serde(rename = "name")]
    pub hook: Hook,
    /// Its state.
    pub state: HookState,
    /// Its file.
    #[serde(rename = "file")]
    pub path: PathBuf,
    /// The hook that was there before ours.
    #[serde(rename = "earlier", skip_serializing_if = "Option::is_none")]
    pub previous: Option<PathBuf>,
    /// Whether that is executable, so that ours runs it.
    #[serde(rename = "earlierRuns", skip_serializing_if = "Option::is_none")]
    pub previous_runs: Option<bool>,
}

/// A plan for the hooks of a repository, or what was changed.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct ChangeReport {
    /// The directory of the hooks.
    pub directory: PathBuf,
    /// The changes, each to another hook.
    pub changes: Vec<HookChange>,
    /// What the user should know, a line each.
    pub notes: Vec<String>,
    /// Whether the changes were made.
    pub written: bool,
    /// Whether a hook has to stay as it is; the notes say why.
    #[serde(skip)]
    pub is_partial: bool,
}

/// A change of a hook.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct HookChange {
    /// Its file.
    #[serde(rename = "file")]
    pub path: PathBuf,
    /// The kind of the change, in a word.
    pub what: &'static str,
    /// Where the present hook goes before ours is written, or what takes the place of ours.
    #[serde(rename = "earlier", skip_serializing_if = "Option::is_none")]
    pub previous: Option<PathBuf>,
    /// The script to write; `None` removes the hook.
    #[serde(skip)]
    pub script: Option<String>,
}

/// Examines the hooks. `command` starts the tracker.
///
/// # Errors
///
/// A hook cannot be read.
pub fn status_of_hooks(directory: &HooksDir, command: &str) -> Result<Vec<HookStatus>> {
    let status = |hook: Hook| {
        let mut path = directory.path.join(hook.as_str());
        let previous = previous_path(&path);
        let legacy = with_suffix(&path, LEGACY_SUFFIX);
        if is_ours(&legacy)? && !is_ours(&path)? {
            path = legacy;
        }
        let previous = read(&previous)?.map(|_| previous);
        let script = script(hook, command);
        let state = match read(&path)? {
            None => HookState::Missing,
            Some(text) if text == script && is_executable(&path) => HookState::Installed,
            Some(text) if without_command(&text) == without_command(&script) => HookState::Outdated,
            Some(text) if has_mark(&text) => HookState::Edited,
            Some(text) if is_resynced(&text, &path, previous.as_deref())? => HookState::Resynced,
            Some(_) if previous.is_some() => HookState::Overwritten,
            Some(_) => HookState::Other,
        };
        let previous_runs = previous.as_deref().map(is_executable);
        Ok(HookStatus { hook, state, path, previous, previous_runs })
    };
    Hook::ALL.iter().copied().map(status).collect()
}

/// Plans to install the hooks. `force` replaces edited ones of ours.
///
/// # Errors
///
/// An existing hook cannot be kept, because a file with the suffix of kept hooks is there already.
pub fn install(
    directory: &HooksDir,
    hooks: &[HookStatus],
    command: &str,
    force: bool,
) -> Result<ChangeReport> {
    let mut plan = ChangeReport { directory: directory.path.clone(), ..ChangeReport::default() };
    let mut has_lefthook = false;
    for HookStatus { hook, state, path, previous, .. } in hooks {
        match (state, previous) {
            (HookState::Installed, _) => continue,
            (HookState::Edited, _) if !force => {
                plan.keep(format!(
                    "{} is ours, edited, and stays; --force replaces it",
                    hook.as_str()
                ));
                continue;
            }
            (HookState::Overwritten, Some(previous)) => bail!(
                "{} is another hook in the place of ours, and {} is the hook from before ours: put what you need of \
                 both into the first, remove the second, and try again; nothing was written",
                path.display(),
                previous.display()
            ),
            _ => {}
        }
        let is_other = matches!(state, HookState::Other | HookState::Resynced);
        has_lefthook |= is_other && read(path)?.is_some_and(|text| text.contains(LEFTHOOK));
        plan.changes.push(HookChange {
            path: path.clone(),
            what: if *state == HookState::Missing { "new" } else { "replaced" },
            previous: is_other.then(|| previous_path(path)),
            script: Some(script(*hook, command)),
        });
    }
    if has_lefthook {
        plan.notes.push(lefthook_note(command));
    }
    if directory.is_in_worktree && !plan.changes.is_empty() {
        plan.notes.push(format!(
            "{} belongs to the worktree: commit the hooks, or ignore them",
            directory.path.display()
        ));
    }
    Ok(plan)
}

/// Plans to remove our hooks and to put those from before in their place. `force` removes edited ones, too.
pub fn removal(directory: &HooksDir, hooks: &[HookStatus], force: bool) -> ChangeReport {
    let mut plan = ChangeReport { directory: directory.path.clone(), ..ChangeReport::default() };
    for HookStatus { hook, state, path, previous, .. } in hooks {
        let name = hook.as_str();
        match (state, previous) {
            (HookState::Edited, _) if !force => {
                plan.keep(format!("{name} is ours, edited, and stays; --force removes it"));
            }
            (HookState::Overwritten, Some(previous)) => plan.keep(format!(
                "{name} is another hook in the place of ours, and stays; so does {}, the hook from before ours: \
                 move it into its place, or remove it",
                previous.display()
            )),
            (HookState::Other | HookState::Resynced, _) | (HookState::Missing, None) => {}
            _ => plan.changes.push(HookChange {
                path: path.clone(),
                what: "removed",
                previous: previous.clone(),
                script: None,
            }),
        }
    }
    plan
}

impl ChangeReport {
    fn keep(&mut self, note: String) {
        self.is_partial = true;
        self.notes.push(note);
    }

    /// Makes the changes, until one fails.
    ///
    /// # Errors
    ///
    /// A file cannot be changed.
    pub fn apply(&mut self) -> Result<()> {
        for (done, change) in self.changes.iter().enumerate() {
            let (path, count) = (change.path.display(), self.changes.len());
            change.apply().with_context(|| {
                format!(
                    "{path} cannot be changed ({done} of {count} are done); correct that and try again"
                )
            })?;
        }
        self.written = !self.changes.is_empty();
        Ok(())
    }
}

impl HookChange {
    fn apply(&self) -> io::Result<()> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        let Some(script) = &self.script else {
            match &self.previous {
                Some(previous) => fs::rename(previous, &self.path)?,
                None => fs::remove_file(&self.path)?,
            }
            // Fails for a directory that is not empty, which is to stay.
            let _ = fs::remove_dir(directory);
            return Ok(());
        };
        fs::create_dir_all(directory)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".ait-hooks.");
        // The umask applies.
        builder.permissions(fs::Permissions::from_mode(0o777));
        let mut file = builder.tempfile_in(directory)?;
        file.write_all(script.as_bytes())?;
        file.as_file().sync_all()?;
        if let Some(previous) = &self.previous {
            fs::rename(&self.path, previous)?;
        }
        file.persist(&self.path)?;
        let aside = with_suffix(&self.path, LEFTHOOK_SUFFIX);
        if is_ours(&aside).unwrap_or_default() {
            fs::remove_file(aside)?;
        }
        Ok(())
    }
}

/// Says how our hooks outlast the next time that lefthook writes its own.
fn lefthook_note(command: &str) -> String {
    let command = shell_words::quote(command);
    let hooks = Hook::ALL.iter().map(|hook| {
        let hook = hook.as_str();
        format!("{hook}: {{ jobs: [ {{ run: {command} hooks run {hook} {{0}} || true }} ] }}")
    });
    format!(
        "lefthook writes its hooks again when its configuration changes, and ours are lost then; to keep them, add to \
         lefthook.yml: {}",
        hooks.collect::<Vec<_>>().join("; ")
    )
}

/// Returns true if lefthook has put a hook in the place of ours.
fn is_resynced(text: &str, path: &Path, previous: Option<&Path>) -> Result<bool> {
    if !text.contains(LEFTHOOK) {
        return Ok(false);
    }
    let previous = previous.map(read).transpose()?.flatten();
    Ok(previous.is_some_and(|previous| previous.contains(LEFTHOOK))
        || is_ours(&with_suffix(path, LEFTHOOK_SUFFIX))?)
}

fn is_ours(path: &Path) -> Result<bool> {
    Ok(read(path)?.is_some_and(|text| has_mark(&text)))
}

/// The script of a hook, for every POSIX shell.
fn script(hook: Hook, command: &str) -> String {
    let (name, command) = (hook.as_str(), shell_words::quote(command));
    let (on_failure, end) = match hook {
        Hook::PrepareCommitMsg => ("exit $?", "exit 0"),
        // The merge is made already, so ours still runs.
        Hook::PostMerge => ("status=$?", "exit \"${status:-0}\""),
    };
    format!(
        "#!/bin/sh\n\
         {MARK}1: `ait hooks install` wrote this, and `ait hooks remove` takes it back.\n\
         # A hook that was here before is beside it, and runs first.\n\
         ait={command}\n\
         earlier=\"${{0%/*}}/{name}{PREVIOUS_SUFFIX}\"\n\
         if [ -x \"$earlier\" ] && [ \"${{AIT_HOOK-}}\" != {name} ]; then\n\
         \tAIT_HOOK={name} \"$earlier\" \"$@\" || {on_failure}\n\
         fi\n\
         # Nothing that goes wrong here holds git up.\n\
         if command -v \"$ait\" >/dev/null 2>&1; then\n\
         \t\"$ait\" hooks run {name} \"$@\" </dev/null || :\n\
         fi\n\
         {end}\n"
    )
}

/// The lines of a script but for the one that names the program.
fn without_command(script: &str) -> Vec<&str> {
    script.lines().filter(|line| !line.starts_with("ait=")).collect()
}

fn has_mark(script: &str) -> bool {
    script.lines().nth(1).is_some_and(|line| line.starts_with(MARK))
}

/// Where a hook is kept that was there before ours.
fn previous_path(path: &Path) -> PathBuf {
    with_suffix(path, PREVIOUS_SUFFIX)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{name}{suffix}"))
}

/// Reads a hook; a link that leads nowhere is an empty one.
fn read(path: &Path) -> Result<Option<String>> {
    let bytes = match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            bail!("{} is no file: move it away; nothing was written", path.display())
        }
        Ok(_) => fs::read(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(path.is_symlink().then(String::new));
        }
        Err(error) => Err(error),
    };
    let bytes = bytes.with_context(|| {
        format!(
            "{} cannot be read: make it readable, or move it away; nothing was written",
            path.display()
        )
    })?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// Returns true if git runs a hook.
fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}
