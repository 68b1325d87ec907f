//! The report of an examination, with the findings of each check.

use std::path::Path;

use serde::Serialize;

use ait_domain::Timestamp;
use ait_domain::string_enum;

/// The maximum number of details in a finding.
const MAX_DETAILS: usize = 10;

string_enum! {
    /// The result of a check.
    pub enum Verdict {
        /// All is well.
        Ok = "ok",
        /// The check does not apply, or its result cannot be determined.
        Skipped = "skipped",
        /// Needs attention, but everything works.
        Warning = "warning",
        /// Something is wrong.
        Problem = "problem",
    }
}

string_enum! {
    /// The checks, in the order of the report.
    pub enum Check {
        /// The files can be read.
        Readable = "readable",
        /// `issues.json` is valid.
        Valid = "valid",
        /// No two issues share an id.
        Ids = "ids",
        /// The database is sound, and `issues.json` follows it.
        Journal = "journal",
        /// Histories are consistent.
        Histories = "histories",
        /// No claim is stale.
        Claims = "claims",
        /// No issue was returned repeatedly.
        Returns = "returns",
        /// Links lead to issues, and form no cycle.
        Links = "links",
        /// An issue that waits can be claimed.
        Queue = "queue",
        /// No time is in the future.
        Clock = "clock",
        /// The database can be read and changed.
        Database = "database",
        /// The store is writable.
        Writable = "writable",
        /// The file system is suitable for the store.
        FileSystem = "file_system",
        /// The lock is available.
        Lock = "lock",
        /// There is enough free space.
        Space = "space",
        /// The web UI has its port.
        Ports = "ports",
        /// All processes run the same version.
        Processes = "processes",
        /// The store is the only one in the repository.
        OtherStores = "other_stores",
        /// git ignores the machine-local files.
        Git = "git",
        /// The configurations of clients lead to this store.
        Clients = "clients",
        /// The hooks of clients start this program.
        ClientHooks = "client_hooks",
        /// The files that `ait init` wrote are up to date.
        Prompts = "prompts",
        /// `ait.toml` is valid.
        Settings = "settings",
        /// Access over HTTP is restricted.
        Access = "access",
        /// There are no leftover files.
        Leftovers = "leftovers",
    }
}

/// The safe repairs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Repair {
    /// Publish `issues.json`.
    Settle,
    /// Remove the files of dead processes.
    RemoveStale,
    /// Make the token file readable by its owner only.
    ProtectTokens,
    /// Add the machine-local files to `.gitignore`.
    Ignore,
    /// Rewrite files that another version set up.
    Refresh,
    /// Merge both sides of a conflict that git left in `issues.json`.
    Resolve,
    /// Register the merge driver in this clone.
    RegisterDriver,
}

/// The result of a check, with its reason and its fix.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    pub check: Check,
    /// The result.
    pub verdict: Verdict,
    /// The reason, in one sentence.
    pub reason: String,
    /// The affected items.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
    /// How to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// The repair that `--fix` would apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repair: Option<Repair>,
}

impl Finding {
    /// Creates a finding for a check that passed.
    pub fn ok(check: Check, reason: impl Into<String>) -> Self {
        Self::new(check, Verdict::Ok, reason)
    }

    /// Creates a finding for a check that was skipped.
    pub fn skipped(check: Check, reason: impl Into<String>) -> Self {
        Self::new(check, Verdict::Skipped, reason)
    }

    /// Creates a finding that needs attention.
    pub fn warning(check: Check, reason: impl Into<String>) -> Self {
        Self::new(check, Verdict::Warning, reason)
    }

    /// Creates a finding for a problem.
    pub fn problem(check: Check, reason: impl Into<String>) -> Self {
        Self::new(check, Verdict::Problem, reason)
    }

    fn new(check: Check, verdict: Verdict, reason: impl Into<String>) -> Self {
        let details = Vec::new();
        let reason = reason.into();
        Self { check, verdict, reason, details, fix: None, repair: None }
    }

    /// Sets the fix.
    #[must_use]
    pub fn fix(self, fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), ..self }
    }

    /// Sets the affected items. A report lists the first ones.
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

    /// Sets the repair.
    #[must_use]
    pub fn repaired_by(self, repair: Repair) -> Self {
        Self { repair: Some(repair), ..self }
    }
}

/// The report of an examination.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The version of `ait` that ran the checks.
    pub version: &'static str,
    /// When the examination began.
    pub examined_at: Timestamp,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
    /// The path of the file that is the store, or the URL of the database.
    #[serde(rename = "file")]
    pub store: String,
    /// Why it is the store.
    pub reason: String,
    /// The worst result.
    pub verdict: Verdict,
    /// The findings of all checks.
    pub findings: Vec<Finding>,
    /// Whether some checks missed the deadline.
    #[serde(skip)]
    pub is_cut_off: bool,
}

impl Report {
    /// Returns the number of findings with a verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.findings.iter().filter(|finding| finding.verdict == verdict).count()
    }

    /// Returns the distinct repairs in the order in which to apply them.
    pub fn repairs(&self) -> Vec<Repair> {
        let mut repairs: Vec<_> =
            self.findings.iter().filter_map(|finding| finding.repair).collect();
        repairs.sort_unstable();
        repairs.dedup();
        repairs
    }
}

/// Quotes a path for the shell.
pub(super) fn quoted(path: &Path) -> String {
    shell_words::quote(&path.to_string_lossy()).into_owned()
}
