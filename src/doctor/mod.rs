//! What is wrong with a store and around it, why, and what to do.
//!
//! [`examine`] makes every check and gives a [`Report`]; it changes and leaves nothing. [`repair`] does what
//! is safe to do about it. Checks are functions of facts; the facts come from the store's own look at its
//! files, the processes beside it, and the machine. Knows no terminal: who asks shows the report.
//!
//! Everything ends in time. What waits for a disk does so on threads of its own; a check that has no answer
//! by then is told to hang, and the others are told all the same.

mod access;
mod clients;
mod disk;
mod files;
mod git;
mod histories;
mod machine;
mod prompts;
mod repairs;
mod report;
mod store;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt, join_all};
use tokio::time::{Instant, timeout_at};

use crate::domain::Timestamp;
use crate::setup::Machine;
use crate::store::Store;
use crate::store::json::Maintenance;

pub use access::Settings;
pub use repairs::{Repaired, SalvageError, Salvaged, repair, salvage};
pub use report::{Check, Finding, Repair, Report, Verdict};

/// How long all checks together may take.
const LIMIT: Duration = Duration::from_millis(3_500);

/// What is examined.
#[derive(Clone)]
pub struct Subject {
    /// The file of the store, as it was found or named.
    pub path: PathBuf,
    /// Why it is this one.
    pub reason: String,
    /// The store in it.
    pub store: Arc<dyn Store>,
    /// The way to its files. Without it the store itself is asked whether it can be written, which takes over
    /// edits of `issues.json`, and that file is not repaired.
    pub maintenance: Option<Maintenance>,
    /// What is set; or what is wrong with that.
    pub settings: Result<Settings, String>,
    /// What is around the store.
    pub around: Around,
    /// The time.
    pub now: Timestamp,
}

/// What is around a store: where agents use it, and by which clients.
#[derive(Clone, Debug)]
pub struct Around {
    /// The directory that people open as the project.
    pub root: PathBuf,
    /// The user's machine.
    pub machine: Machine,
    /// Whether somebody named the store, rather than have it found.
    pub is_named: bool,
    /// The store that whoever starts in the project finds, where the environment does not name one.
    pub found: Option<PathBuf>,
}

/// Makes every check.
pub async fn examine(subject: &Subject) -> Report {
    let begun = Instant::now();
    let deadline = begun + LIMIT;
    let groups: [(&[Check], BoxFuture<'_, Vec<Finding>>); 12] = [
        (&store::CHECKS, blocking(subject, store::examine)),
        (&[Check::Writable], disk::writable(subject).boxed()),
        (&[Check::FileSystem], blocking(subject, disk::file_system)),
        (&[Check::Lock], blocking(subject, disk::lock)),
        (&[Check::Space], blocking(subject, disk::space)),
        (&[Check::Ports, Check::Processes], machine::examine(subject).boxed()),
        (&[Check::OtherStores], blocking(subject, files::other_stores)),
        (&[Check::Git], blocking(subject, git::examine)),
        (&[Check::Clients], clients::examine(subject).boxed()),
        (&[Check::Prompts], blocking(subject, prompts::examine)),
        (&[Check::Settings, Check::Access], blocking(subject, access::examine)),
        (&[Check::Leftovers], blocking(subject, files::leftovers)),
    ];
    let groups = groups.into_iter().map(|(checks, work)| async move {
        timeout_at(deadline, work).await.map_err(|_| hanging(checks))
    });
    let groups = join_all(groups).await;
    let is_cut_off = groups.iter().any(Result::is_err);
    let groups = groups.into_iter().map(|group| group.unwrap_or_else(|hanging| hanging));
    let mut findings: Vec<_> = groups.flatten().collect();
    findings.sort_by_key(|finding| finding.check);
    // What does not apply makes nothing worse.
    let verdicts = findings.iter().map(|finding| finding.verdict);
    let verdict = verdicts.filter(|verdict| *verdict != Verdict::Skipped).max();
    Report {
        version: env!("CARGO_PKG_VERSION"),
        examined_at: subject.now,
        took_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        file: subject.path.clone(),
        reason: subject.reason.clone(),
        verdict: verdict.unwrap_or(Verdict::Skipped),
        findings,
        is_cut_off,
    }
}

/// Makes checks on a thread that may wait for a disk, and that nobody waits for in the end.
fn blocking(
    subject: &Subject,
    work: fn(&Subject) -> Vec<Finding>,
) -> BoxFuture<'static, Vec<Finding>> {
    let subject = subject.clone();
    let work = tokio::task::spawn_blocking(move || work(&subject));
    // A check that panics is a defect, and the others are told all the same.
    async move { work.await.unwrap_or_default() }.boxed()
}

/// What is told of checks that have no answer in time.
fn hanging(checks: &[Check]) -> Vec<Finding> {
    let seconds = LIMIT.as_secs_f32();
    let told = checks.iter().enumerate().map(|(place, check)| {
        if place > 0 {
            return Finding::skipped(*check, "not reached, because the check before it hangs");
        }
        Finding::problem(*check, format!("no answer within {seconds} s: the check hangs")).fix(
            "a file system that does not answer, a pipe that nobody writes to, or a very busy machine; try \
             `ls -l` there",
        )
    });
    told.collect()
}
