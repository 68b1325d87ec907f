//! Diagnosis of a store and its environment: what is wrong, why, and how to fix it.
//!
//! [`examine`] runs every check and returns a [`Report`]; it changes nothing. [`examine_and_fix`] can make the safe
//! repairs, too. Checks are functions of facts that come from the store's inspection of its files, the process registry
//! and the machine. This module prints nothing; the caller shows the report.
//!
//! Every check has a deadline. Blocking checks run on threads of their own; a check that misses the deadline is
//! reported as timed out, next to the results of the others.

mod access;
mod client_hooks;
mod clients;
mod conflict;
mod database;
mod disk;
mod files;
mod git;
mod hidden_queue;
mod issue_checks;
mod link_checks;
mod process_checks;
mod prompts;
mod repairs;
mod report;
mod store;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt, join_all};
use serde::Serialize;
use tokio::time::{Instant, timeout_at};

use self::repairs::repair;
use ait_domain::Timestamp;
use ait_setup::HostEnv;
use ait_store::Maintenance;
use ait_store::Store;
use ait_store::sqlite::inspect::paths_of;

pub use access::Settings;
pub use conflict::Conflict;
pub use hidden_queue::{hidden_queue, worktree_copy};
pub use repairs::{Repaired, SalvageError, Salvaged, salvage};
pub use report::{Check, Finding, Repair, Report, Verdict};

/// The time limit for all checks together.
const LIMIT: Duration = Duration::from_millis(3_500);

/// How long a listener on a port may take to say who it is. The checks of all ports run at once.
const PROBE_TIMEOUT: Duration = Duration::from_millis(800);

/// The store to examine, and its environment.
#[derive(Clone)]
pub struct CheckContext {
    /// The file of the store, as found or named.
    pub path: PathBuf,
    /// Why this file is the store.
    pub reason: String,
    /// The URL of the database that is the store instead of the file.
    pub database: Option<String>,
    /// The open store.
    pub store: Arc<dyn Store>,
    /// Access to the files of the store. Without it, the write check goes through the store, which also adopts
    /// external edits of `issues.json`, and the file is not repaired.
    pub maintenance: Option<Maintenance>,
    /// The settings, or why they are invalid.
    pub settings: Result<Settings, String>,
    /// The environment of the store.
    pub project: ProjectContext,
    /// The names of the tools, which roles narrow.
    pub tools: &'static [&'static str],
    /// The current time.
    pub now: Timestamp,
}

/// The environment of a store: the project and the clients of its agents.
#[derive(Clone, Debug)]
pub struct ProjectContext {
    /// The project's root directory.
    pub root: PathBuf,
    /// The user's home and PATH.
    pub machine: HostEnv,
    /// Whether the store was named explicitly, not found.
    pub is_named: bool,
    /// The store that a process started in the project finds if the environment names none.
    pub found: Option<PathBuf>,
    /// The directory in which the doctor runs.
    pub working_directory: PathBuf,
}

impl CheckContext {
    /// Returns the store that a process started in the project finds, if that is another one.
    pub fn other_store(&self) -> Option<&Path> {
        let real = |path: &Path| paths_of(path).map(|paths| paths.issues).ok();
        let found = self.project.found.as_deref();
        found.filter(|found| *found != self.path && real(found) != real(&self.path))
    }
}

/// An examination, with the repairs that it led to.
#[derive(Clone, Debug, Serialize)]
pub struct Examination {
    /// The report, after the repairs.
    #[serde(flatten)]
    pub report: Report,
    /// The outcome of each repair.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repaired: Vec<Repaired>,
}

/// Runs every check. With `fix` set, makes the safe repairs, and checks again.
pub async fn examine_and_fix(context: &CheckContext, fix: bool) -> Examination {
    let report = examine(context).await;
    if !fix || report.repairs().is_empty() {
        return Examination { report, repaired: Vec::new() };
    }
    let repaired = repair(context, &report).await;
    Examination { report: examine(context).await, repaired }
}

/// Runs every check.
pub async fn examine(context: &CheckContext) -> Report {
    let begun = Instant::now();
    let deadline = begun + LIMIT;
    let groups = match &context.database {
        Some(url) => vec![
            (&[Check::Database][..], database::examine(context, url).boxed()),
            (&[Check::OtherStores], blocking(context, files::other_stores)),
        ],
        None => checks_of_files(context),
    };
    let groups = groups.into_iter().chain(checks_of_project(context));
    let groups = groups.map(|(checks, work)| async move {
        timeout_at(deadline, work).await.map_err(|_| hanging(checks))
    });
    let groups = join_all(groups).await;
    let is_cut_off = groups.iter().any(Result::is_err);
    let groups = groups.into_iter().map(|group| group.unwrap_or_else(|hanging| hanging));
    let mut findings: Vec<_> = groups.flatten().collect();
    findings.sort_by_key(|finding| finding.check);
    // Skipped checks do not affect the verdict.
    let verdicts = findings.iter().map(|finding| finding.verdict);
    let verdict = verdicts.filter(|verdict| *verdict != Verdict::Skipped).max();
    Report {
        version: env!("CARGO_PKG_VERSION"),
        examined_at: context.now,
        took_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        store: match &context.database {
            Some(url) => url.clone(),
            None => context.path.display().to_string(),
        },
        reason: context.reason.clone(),
        verdict: verdict.unwrap_or(Verdict::Skipped),
        findings,
        is_cut_off,
    }
}

/// Some checks, and the work that makes their findings.
type Group<'a> = (&'a [Check], BoxFuture<'a, Vec<Finding>>);

/// Returns the checks of a store in files.
fn checks_of_files(context: &CheckContext) -> Vec<Group<'_>> {
    vec![
        (&store::CHECKS, blocking(context, store::examine)),
        (&[Check::Writable], disk::writable(context).boxed()),
        (&[Check::FileSystem], blocking(context, disk::file_system)),
        (&[Check::Lock], blocking(context, disk::lock)),
        (&[Check::Space], blocking(context, disk::space)),
        (&[Check::OtherStores], blocking(context, files::other_stores)),
        (&[Check::Leftovers], blocking(context, files::leftovers)),
    ]
}

/// Returns the checks of what is around a store: processes, repository, clients and settings.
fn checks_of_project(context: &CheckContext) -> [Group<'_>; 6] {
    [
        (&[Check::Ports, Check::Processes], process_checks::examine(context).boxed()),
        (&[Check::Git], blocking(context, git::examine)),
        (&[Check::Clients], clients::examine(context).boxed()),
        (&[Check::ClientHooks], blocking(context, client_hooks::examine)),
        (&[Check::Prompts], blocking(context, prompts::examine)),
        (&[Check::Settings, Check::Access], blocking(context, access::examine)),
    ]
}

/// Runs checks on a thread that may block on a disk. Past the deadline, the thread is abandoned.
fn blocking(
    context: &CheckContext,
    work: fn(&CheckContext) -> Vec<Finding>,
) -> BoxFuture<'static, Vec<Finding>> {
    let context = context.clone();
    let work = tokio::task::spawn_blocking(move || work(&context));
    // A check that panics is a bug; the other results are still reported.
    async move { work.await.unwrap_or_default() }.boxed()
}

/// Returns the findings for checks that missed the deadline.
fn hanging(checks: &[Check]) -> Vec<Finding> {
    let seconds = LIMIT.as_secs_f32();
    let told = checks.iter().enumerate().map(|(index, check)| {
        if index > 0 {
            return Finding::skipped(*check, "not run, because the check before it hangs");
        }
        Finding::problem(*check, format!("timed out after {seconds} s: the check hangs")).fix(
            "the cause may be an unresponsive file system, a pipe without a writer, or a very busy machine; try \
             `ls -l` there",
        )
    });
    told.collect()
}
