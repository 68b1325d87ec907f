//! What an examination found: one finding for each check.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::domain::Timestamp;
use crate::domain::issue::words;

/// How many things of a kind a finding lists.
const MAX_DETAILS: usize = 10;

words! {
    /// How a check ended.
    Verdict {
        /// All is well.
        Ok = "ok",
        /// It was not checked, because it does not apply or nothing can be told.
        Skipped = "skipped",
        /// Somebody should look at it; everything works.
        Warning = "warning",
        /// Something is wrong.
        Problem = "problem",
    }
}

words! {
    /// What is checked, in the order in which it is told.
    Check {
        /// The files can be read.
        Readable = "readable",
        /// `issues.json` is valid.
        Valid = "valid",
        /// No two issues share an id.
        Ids = "ids",
        /// The log is whole, its snapshots fit it, and `issues.json` follows it.
        Journal = "journal",
        /// Histories are possible.
        Histories = "histories",
        /// Nobody holds an issue for long.
        Claims = "claims",
        /// No issue comes back again and again.
        Returns = "returns",
        /// Nothing lies in the future.
        Clock = "clock",
        /// A change could be written.
        Writable = "writable",
        /// The file system keeps its promises.
        FileSystem = "file_system",
        /// The lock can be had.
        Lock = "lock",
        /// There is room.
        Space = "space",
        /// The page has its port.
        Ports = "ports",
        /// All processes are of one version.
        Processes = "processes",
        /// There is one store in the repository.
        OtherStores = "other_stores",
        /// git ignores what is not to be committed.
        Git = "git",
        /// The configurations of clients lead here.
        Clients = "clients",
        /// What was set up for agents is of this version.
        Prompts = "prompts",
        /// `ait.toml` is valid.
        Settings = "settings",
        /// Nobody gets in who should not.
        Access = "access",
        /// Nothing was left behind.
        Leftovers = "leftovers",
    }
}

/// What is safe to repair.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Repair {
    /// To bring `issues.json` up to date.
    Settle,
    /// To remove what dead processes have left.
    RemoveStale,
    /// To keep others from reading the tokens.
    ProtectTokens,
    /// To add the names of files to `.gitignore`.
    Ignore,
    /// To write anew what another version has set up.
    Refresh,
}

/// What a check found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// What was checked.
    pub check: Check,
    /// How it ended.
    pub verdict: Verdict,
    /// Why, in one sentence.
    pub reason: String,
    /// What it is about, one thing each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// What `--fix` would do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repair: Option<Repair>,
}

impl Finding {
    /// Something that is as it should be.
    pub fn ok(check: Check, reason: impl Into<String>) -> Self {
        Self::new(check, Verdict::Ok, reason)
    }

    /// Something that was not checked.
    pub fn skipped(check: Check, reason: impl Into<String>) -> Self {
        Self::new(check, Verdict::Skipped, reason)
    }

    /// Something that somebody should look at.
    pub fn warning(check: Check, reason: impl Into<String>) -> Self {
        Self::new(check, Verdict::Warning, reason)
    }

    /// Something that is wrong.
    pub fn problem(check: Check, reason: impl Into<String>) -> Self {
        Self::new(check, Verdict::Problem, reason)
    }

    fn new(check: Check, verdict: Verdict, reason: impl Into<String>) -> Self {
        let (details, reason) = (Vec::new(), reason.into());
        Self { check, verdict, reason, details, fix: None, repair: None }
    }

    /// The same with what to do about it.
    #[must_use]
    pub fn fix(self, fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), ..self }
    }

    /// The same with what it is about, of which the first are listed.
    #[must_use]
    pub fn about(self, things: impl IntoIterator<Item = String>) -> Self {
        let mut things = things.into_iter();
        let mut details: Vec<_> = things.by_ref().take(MAX_DETAILS).collect();
        let more = things.count();
        if more > 0 {
            details.push(format!("and {more} more"));
        }
        Self { details, ..self }
    }

    /// The same for what can be repaired.
    #[must_use]
    pub fn repaired_by(self, repair: Repair) -> Self {
        Self { repair: Some(repair), ..self }
    }
}

/// What an examination found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The version that examined.
    pub version: &'static str,
    /// When.
    pub examined_at: Timestamp,
    /// How long it took.
    pub took_ms: u64,
    /// The file of the store.
    pub file: PathBuf,
    /// Why it is this one.
    pub reason: String,
    /// The worst of the verdicts.
    pub verdict: Verdict,
    /// One for each check.
    pub findings: Vec<Finding>,
    /// Whether there was no time for some of them.
    #[serde(skip)]
    pub is_cut_off: bool,
}

impl Report {
    /// How many checks ended so.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.findings.iter().filter(|finding| finding.verdict == verdict).count()
    }

    /// What is safe to repair, each once, in the order in which it is to be done.
    pub fn repairs(&self) -> Vec<Repair> {
        let mut repairs: Vec<_> = self.findings.iter().filter_map(|it| it.repair).collect();
        repairs.sort_unstable();
        repairs.dedup();
        repairs
    }
}

/// A path as a word of a command.
pub(super) fn quoted(path: &Path) -> String {
    shell_words::quote(&path.to_string_lossy()).into_owned()
}

/// A number of things in words.
pub(super) fn counted(count: usize, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}
