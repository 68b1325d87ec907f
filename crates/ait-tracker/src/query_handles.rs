//! Query handles: the issues that a query found, under a name, so that a later call changes exactly these.
//!
//! A handle is a small file of the user, so that it survives a restart of the server. It works on the machine where it
//! was made.

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;
use uuid::Uuid;

use crate::StoreId;
use ait_domain::{IssueId, Timestamp};
use ait_system::small_file;

/// What the name of a handle begins with.
const PREFIX: &str = "qh_";
/// The number of digits that follow.
const DIGITS: usize = 12;
/// The size limit of the file of a handle, in bytes. An id takes 39.
const MAX_FILE_BYTES: u64 = 100_000;

/// For how long a query handle is kept: more than nothing, and at most 48 hours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HandleLifetime(pub Duration);

impl HandleLifetime {
    /// The longest time.
    pub const MAX: Duration = Duration::from_secs(48 * 60 * 60);
}

impl Default for HandleLifetime {
    fn default() -> Self {
        Self(Duration::from_secs(5 * 60))
    }
}

impl FromStr for HandleLifetime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = humantime::parse_duration(text).ok();
        let is_valid = |time: &Duration| !time.is_zero() && *time <= Self::MAX;
        let invalid = || format!("{text:?} is not a time from 1s to 48h, such as 5m");
        parsed.filter(is_valid).map(Self).ok_or_else(invalid)
    }
}

impl fmt::Display for HandleLifetime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_duration(self.0).fmt(f)
    }
}

/// The handles of one store.
#[derive(Clone, Debug)]
pub struct QueryHandles {
    /// `None` if the user has no place for them.
    directory: Option<PathBuf>,
    lifetime: HandleLifetime,
}

/// The issues that a query found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryHandle {
    pub name: String,
    /// When it ends.
    pub expires_at: Timestamp,
    /// The issues, in the order of the query.
    pub ids: Vec<IssueId>,
}

impl QueryHandles {
    /// Returns the handles of a store. Does no I/O.
    pub fn new(store: StoreId, lifetime: HandleLifetime) -> Self {
        let directory =
            small_file::state_directory("handles").map(|path| path.join(store.to_string()));
        Self { directory, lifetime }
    }

    /// Keeps issues under a new name, and forgets the handles that have ended.
    pub fn keep(&self, ids: Vec<IssueId>, now: Timestamp) -> io::Result<QueryHandle> {
        let no_place = || io::Error::new(io::ErrorKind::NotFound, "the user has no home directory");
        let directory = self.directory.as_deref().ok_or_else(no_place)?;
        fs::create_dir_all(directory)?;
        forget_old(directory, now);
        let digits = Uuid::new_v4().simple().to_string();
        let lifetime_ms = i64::try_from(self.lifetime.0.as_millis()).unwrap_or(i64::MAX);
        let expires_at = Timestamp::from_unix_millis(now.unix_millis().saturating_add(lifetime_ms));
        let handle =
            QueryHandle { name: format!("{PREFIX}{}", &digits[..DIGITS]), expires_at, ids };
        let mut file = NamedTempFile::new_in(directory)?;
        file.write_all(&serde_json::to_vec(&handle)?)?;
        file.persist(directory.join(&handle.name))?;
        Ok(handle)
    }

    /// Finds a handle; `None` if there is none with this name, or it has ended.
    pub fn find(&self, name: &str, now: Timestamp) -> Option<QueryHandle> {
        // The name becomes part of a path.
        let digits = name.strip_prefix(PREFIX)?;
        let is_name = digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let path = self.directory.as_deref().filter(|_| is_name)?.join(name);
        read(&path).filter(|handle| handle.expires_at > now)
    }
}

fn read(path: &Path) -> Option<QueryHandle> {
    serde_json::from_slice(&small_file::read_bytes(path, MAX_FILE_BYTES).ok()?).ok()
}

/// Removes the files of handles that have ended. One that cannot be removed is tried again with the next handle.
fn forget_old(directory: &Path, now: Timestamp) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if read(&path).is_some_and(|handle| handle.expires_at <= now) {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handles(directory: &Path) -> QueryHandles {
        QueryHandles {
            directory: Some(directory.join("store")),
            lifetime: HandleLifetime::default(),
        }
    }

    #[test]
    fn a_handle_names_its_issues_until_it_ends() {
        let directory = tempfile::tempdir().unwrap();
        let ids = vec![IssueId::from(Uuid::from_u128(7)), IssueId::NIL];
        let now = Timestamp::from_unix_millis(1_000_000);
        let made = handles(directory.path()).keep(ids.clone(), now).unwrap();
        // As another process sees it.
        let handles = handles(directory.path());
        assert_eq!(handles.find(&made.name, now), Some(made.clone()));
        let last = Timestamp::from_unix_millis(1_299_999);
        assert_eq!(handles.find(&made.name, last).map(|handle| handle.ids), Some(ids));
        let end = Timestamp::from_unix_millis(1_300_000);
        assert_eq!(handles.find(&made.name, end), None);
        let path = directory.path().join("store");
        assert_eq!(fs::read_dir(&path).unwrap().count(), 1);
        let next = handles.keep(Vec::new(), end).unwrap();
        let names: Vec<_> =
            fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, [next.name.as_str()]);
    }

    #[test]
    fn only_names_of_handles_are_looked_up() {
        let directory = tempfile::tempdir().unwrap();
        let handles = handles(directory.path());
        let now = Timestamp::from_unix_millis(0);
        let made = handles.keep(vec![IssueId::NIL], now).unwrap();
        let path = directory.path().join("store");
        fs::copy(path.join(&made.name), path.join("other")).unwrap();
        for name in ["", "other", "qh_", "qh_../../../x", "../store/other", "qh_0123456789ab"] {
            assert_eq!(handles.find(name, now), None, "{name}");
        }
    }

    #[test]
    fn the_largest_handle_fits_its_file() {
        let directory = tempfile::tempdir().unwrap();
        let handles = handles(directory.path());
        let now = Timestamp::from_unix_millis(0);
        let ids = vec![IssueId::from(Uuid::from_u128(u128::MAX)); crate::MAX_BULK];
        let made = handles.keep(ids, now).unwrap();
        assert_eq!(handles.find(&made.name, now), Some(made));
    }
}
