//! How the hooks of a repository stand, and what is to be done to them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::script::{self, Owner};
use super::{EARLIER_SUFFIX, Earlier, Hook, HooksError, Place, Standing, State};

/// What is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wish<'a> {
    /// Where the hooks are.
    pub place: &'a Place,
    /// What the hooks start the tracker by.
    pub command: &'a str,
    /// Whether a hook of ours may go that somebody has edited.
    pub force: bool,
}

/// What is to be done to the hooks of a repository.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Plan {
    /// The steps, each to a hook of its own.
    pub steps: Vec<Step>,
    /// What people should know besides, a line each.
    pub notes: Vec<String>,
    /// Whether something was asked for that is not to be done; the notes say what.
    pub is_partial: bool,
}

/// What is to be done to a hook.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// Ours is written.
    Write {
        /// Where.
        path: PathBuf,
        /// What is there now.
        before: Option<Vec<u8>>,
        /// What is to be there.
        script: String,
        /// Where that is kept which is there now.
        keep: Option<PathBuf>,
    },
    /// What is there goes.
    Remove {
        /// Where.
        path: PathBuf,
        /// What is there now.
        before: Option<Vec<u8>>,
        /// What takes its place.
        restore: Option<PathBuf>,
    },
}

/// Looks at the hooks.
///
/// # Errors
///
/// One cannot be read.
pub fn survey(place: &Place, command: &str) -> Result<Vec<Standing>, HooksError> {
    Hook::ALL.into_iter().map(|hook| standing(hook, place, command)).collect()
}

fn standing(hook: Hook, place: &Place, command: &str) -> Result<Standing, HooksError> {
    let path = place.directory.join(hook.name());
    let before = read(&path)?;
    let earlier_path = place.directory.join(format!("{}{EARLIER_SUFFIX}", hook.name()));
    let earlier = read(&earlier_path)?.map(|bytes| Earlier {
        runs: is_executable(&earlier_path),
        is_same: Some(&bytes) == before.as_ref(),
        path: earlier_path,
    });
    let mut kept_as = None;
    let state = match before.as_deref().map(|script| (script, script::owner(hook, script))) {
        None => State::Missing,
        Some((_, Owner::Edited)) => State::Edited,
        Some((_, Owner::Ours)) if !is_executable(&path) => State::Disabled,
        Some((script, Owner::Ours)) if script == script::text(hook, command).as_bytes() => {
            State::Installed
        }
        Some((_, Owner::Ours)) => State::Outdated,
        Some((_, Owner::Another)) => {
            kept_as = kept_beside(hook, &place.directory);
            match (&kept_as, &earlier) {
                (Some(_), _) => State::Kept,
                (None, Some(_)) => State::Overwritten,
                (None, None) => State::Other,
            }
        }
    };
    Ok(Standing { hook, state, path, before, earlier, kept_as })
}

/// Plans to install the hooks. Doing it twice changes nothing.
///
/// # Errors
///
/// There is no place for a hook that is there.
pub fn install(wish: &Wish<'_>, standings: &[Standing]) -> Result<Plan, HooksError> {
    let mut plan = Plan::default();
    for it in standings {
        let name = it.hook.name();
        let mut write = |keep: Option<PathBuf>| {
            plan.steps.push(Step::Write {
                path: it.path.clone(),
                before: it.before.clone(),
                script: script::text(it.hook, wish.command),
                keep,
            });
        };
        match (it.state, &it.earlier) {
            (State::Installed, _) => {}
            (State::Missing | State::Outdated | State::Disabled, _) => write(None),
            (State::Edited, _) if wish.force => write(None),
            (State::Edited, _) => {
                plan.is_partial = true;
                plan.notes.push(format!(
                    "{name} is ours, edited by somebody, and stays; --force replaces it"
                ));
            }
            (State::Kept, _) => plan.notes.push(format!(
                "{name} is of another program, which keeps ours as {}, and stays so",
                file_name(it.kept_as.as_deref())
            )),
            (State::Other | State::Overwritten, Some(earlier)) if !earlier.is_same => {
                let (path, earlier) = (it.path.clone(), earlier.path.clone());
                return Err(HooksError::TwoEarlier { path, earlier });
            }
            (State::Other | State::Overwritten, earlier) => {
                let beside = || it.path.with_file_name(format!("{name}{EARLIER_SUFFIX}"));
                write(earlier.is_none().then(beside));
            }
        }
    }
    if wish.place.is_in_worktree && !plan.steps.is_empty() {
        plan.notes.push(format!(
            "{} belongs to the worktree: commit what is written there, or ignore it",
            wish.place.directory.display()
        ));
    }
    Ok(plan)
}

/// Plans to take the hooks back, and nothing else: what was there before is there again.
pub fn removal(wish: &Wish<'_>, standings: &[Standing]) -> Plan {
    let mut plan = Plan::default();
    for it in standings {
        let name = it.hook.name();
        let restore = it.earlier.as_ref().map(|earlier| earlier.path.clone());
        let remove = |path: &Path, before: Option<Vec<u8>>| Step::Remove {
            path: path.to_owned(),
            before,
            restore: restore.clone(),
        };
        match (it.state, &it.earlier, &it.kept_as) {
            (State::Installed | State::Outdated | State::Disabled, ..) => {
                plan.steps.push(remove(&it.path, it.before.clone()));
            }
            (State::Edited, ..) if wish.force => {
                plan.steps.push(remove(&it.path, it.before.clone()));
            }
            (State::Edited, ..) => {
                plan.is_partial = true;
                plan.notes.push(format!(
                    "{name} is ours, edited by somebody, and stays; --force removes it"
                ));
            }
            (State::Missing, Some(_), _) => plan.steps.push(remove(&it.path, None)),
            // The other program goes on with what ours would have called.
            (State::Kept, _, Some(kept)) => {
                plan.steps.push(remove(kept, fs::read(kept).ok()));
                plan.notes.push(format!("{name} is of another program, and stays"));
            }
            (_, Some(earlier), _) if earlier.is_same => plan.steps.push(Step::Remove {
                path: earlier.path.clone(),
                before: it.before.clone(),
                restore: None,
            }),
            (_, Some(earlier), _) => {
                plan.is_partial = true;
                plan.notes.push(format!(
                    "{name} is of another program, which has put it in the place of ours, and stays; so does \
                     {}, the hook from before: put it in its place, or remove it",
                    earlier.path.display()
                ));
            }
            _ => {}
        }
    }
    plan
}

/// Where another program keeps ours that has put itself in its place.
fn kept_beside(hook: Hook, directory: &Path) -> Option<PathBuf> {
    let beside = fs::read_dir(directory).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut kept: Vec<_> = beside
        .filter(|path| {
            let name = file_name(Some(path));
            let is_beside = name.strip_prefix(hook.name()).is_some_and(|it| it.starts_with('.'));
            let is_ours = || matches!(read(path), Ok(Some(text)) if script::owner(hook, &text) != Owner::Another);
            is_beside && is_ours()
        })
        .collect();
    kept.sort();
    kept.into_iter().next()
}

fn file_name(path: Option<&Path>) -> String {
    path.and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned()
}

/// What a hook holds. A link that leads nowhere is a hook that holds nothing.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>, HooksError> {
    let unreadable = |cause| HooksError::Unreadable { path: path.to_owned(), cause };
    match fs::metadata(path) {
        Ok(facts) if facts.is_file() => fs::read(path).map(Some).map_err(unreadable),
        Ok(_) => Err(HooksError::NoFile { path: path.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(path.is_symlink().then(Vec::new))
        }
        Err(error) => Err(unreadable(error)),
    }
}

/// Tells whether git runs a hook.
#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|facts| facts.permissions().mode() & 0o111 != 0)
}

/// Tells whether git runs a hook: there are no such permissions here.
#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.exists()
}
