//! Where programs keep notes of a user that are worth more than a cache, and less than data.

use std::env;
use std::path::PathBuf;

/// Returns a directory of this program for such notes: `ait/<name>` in `$XDG_STATE_HOME`, or else in `~/.local/state` (XDG
/// Base Directory Specification); `None` for a user without a home directory. It need not exist.
pub fn directory(name: &str) -> Option<PathBuf> {
    let state = env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let state = state.or_else(|| Some(env::home_dir()?.join(".local/state")))?;
    Some(state.join("ait").join(name))
}
