//! The store behind `issues.json`.
//!
//! One truth in two files: `issues.json` as it was at some moment ([`mod@format`]), and a journal of what
//! was committed since ([`journal`]). Any number of processes share them as equals.
//!
//! A change goes from the caller to the one writer thread of its process ([`writer`]), which commits
//! everything that waits at once ([`commit`]): under the lock it catches up with what others appended
//! ([`replica`]), gets the files in order ([`session`]), decides and appends; then it gives up the lock,
//! syncs, publishes, and answers. From time to time it writes `issues.json` and begins the journal anew
//! ([`schedule`], [`checkpoint`]). Opening and recovery are one thing ([`load`]). What is wrong with files is
//! told by [`look`], what is wrong with what they stand on by [`ground`]; [`mend`] repairs the little that is safe to repair, and [`salvage`] reads what can be read.
//!
//! Readers take no lock and wait for no sync: a look at the files tells whether what is in memory is
//! still the newest state, and what others appended is read from where the last look ended. A read that
//! begins after an answer, in whichever process on this machine, sees its change. It may also see a change of
//! another process that is appended and not answered yet, which a power cut can take back.
//!
//! | file | what |
//! |---|---|
//! | `issues.json` | the issues; replaced as a whole |
//! | `issues.json.journal` | what was committed since; appended to |
//! | `issues.json.lock` | the lock of a commit; empty, never deleted |
//! | `issues.json.checkpoint` | the lock of whoever writes a large `issues.json`; empty, never deleted |
//! | `issues.json.sessions` | which clients' HTTP sessions were ended ([`sessions`]); appended to, there only when one was |
//! | `issues.json.hand-*` | what somebody made of `issues.json` and the store did not take over as it was |
//! | `issues.json.before-restore-*` | what a restore has replaced ([`restore`]), as a backup |
//! | `*.damaged-*` | copies of damaged files that a restore has replaced |
//! | `issues.json.journal.suspect-*` | a journal that a disk failed to save and to give back, kept for people |
//! | `issues.json.journal.torn-*` | what a process that died had not finished writing, kept for people |
//! | `.issues.json.*.tmp` | a replacement that is being written; left behind only by a process that was killed, and removed by the next one that writes, unless it may be what somebody has saved (see `stale`) |

mod aside;
pub mod checkpoint;
pub mod commit;
mod edits;
pub mod format;
pub mod frame;
pub mod fs;
pub mod ground;
pub mod journal;
pub mod load;
pub mod look;
pub mod mend;
mod merge;
mod others;
mod pieces;
mod probe;
mod record;
pub mod replica;
pub mod restore;
pub mod salvage;
pub mod schedule;
pub mod session;
pub mod sessions;
mod stale;
mod suspect;
mod ticket;
mod upkeep;
mod view;
pub mod writer;
mod written;

use std::path::{self, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};

use self::commit::Committer;
use self::fs::{FileSystem, RealFileSystem};
pub use self::others::{Others, Request};
use self::replica::Replica;
use self::restore::Restore;
use self::view::{Place, Standing, View};
use self::writer::Writer;
use super::backup::{Consent, Holdings, Replacement};
use super::{Changes, Cursor, Document, Store, StoreError, StoreFuture, StoreId, Vitals};
use crate::domain::{Command, Counts, Issue, IssueRef, Page, Query, Timestamp};

/// How a [`JsonStore`] behaves where there is a choice.
#[derive(Clone, Copy, Debug)]
pub struct JsonStoreOptions {
    /// How long a command waits for the lock before it is withdrawn and answered "busy".
    pub busy_after: Duration,
    /// How long after the last change `issues.json` is brought up to date.
    pub checkpoint_after: Duration,
    /// Whether whoever asks waits for the disk on the thread that asks, rather than on one of those that
    /// the runtime keeps for that. For a process that has nothing else to do: it opens the store faster,
    /// because memory is had at less cost on the thread that a process begins with.
    pub reads_in_place: bool,
    /// The longest checkpoint that the end of a process waits for, by what the last one took. What it
    /// leaves out is in the journal.
    pub last_checkpoint: Duration,
    /// How long after a look at files that are bad, or that somebody edited, they are looked at again,
    /// up to five times: editors and git write in place, or remove a file before they write it anew.
    pub second_look_after: Duration,
    /// From which size of `issues.json` and journal together on `issues.json` is written while others commit.
    /// What is smaller is written sooner than the lock is given up and taken again.
    pub aside_from_bytes: u64,
}

impl Default for JsonStoreOptions {
    fn default() -> Self {
        Self {
            busy_after: Duration::from_secs(10),
            checkpoint_after: Duration::from_millis(300),
            reads_in_place: false,
            last_checkpoint: Duration::from_millis(300),
            second_look_after: Duration::from_millis(20),
            aside_from_bytes: 512 * 1024,
        }
    }
}

/// A store in one JSON file, shared with other processes.
pub struct JsonStore {
    replica: Arc<Replica>,
    writer: Writer,
    options: JsonStoreOptions,
    ended_sessions: Arc<sessions::Known>,
}

impl JsonStore {
    /// Prepares a store in the given file, which need not exist yet.
    ///
    /// Neither reads nor creates anything: what is wrong with the file shows in each operation, for
    /// as long as it is wrong.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self::with(path, Arc::new(RealFileSystem), JsonStoreOptions::default())
    }

    /// The same for a process that does one thing, and that somebody waits for.
    pub fn for_command(path: impl Into<PathBuf>) -> Self {
        Self::for_one(path, JsonStoreOptions::default().busy_after)
    }

    /// The same for a command that makes so many changes that they wait for each other, and all of them
    /// for each new `issues.json`: one that was told to try again would lose its place among them.
    pub fn for_many_changes(path: impl Into<PathBuf>) -> Self {
        Self::for_one(path, Duration::from_secs(600))
    }

    /// The same for a hook of another program, which must not be held up: what hangs does so on a thread
    /// that nobody waits for.
    pub fn for_hook(path: impl Into<PathBuf>, busy_after: Duration) -> Self {
        let last_checkpoint = Duration::from_millis(10);
        let options = JsonStoreOptions { busy_after, last_checkpoint, ..Default::default() };
        Self::with(path, Arc::new(RealFileSystem), options)
    }

    fn for_one(path: impl Into<PathBuf>, busy_after: Duration) -> Self {
        let last_checkpoint = Duration::from_millis(10);
        let options = JsonStoreOptions {
            busy_after,
            last_checkpoint,
            reads_in_place: true,
            ..JsonStoreOptions::default()
        };
        Self::with(path, Arc::new(RealFileSystem), options)
    }

    /// Prepares a store that reaches the disk through `fs`.
    pub fn with(
        path: impl Into<PathBuf>,
        fs: Arc<dyn FileSystem>,
        options: JsonStoreOptions,
    ) -> Self {
        let replica = Arc::new(Replica::new(path.into(), fs, &options));
        let writer = Writer::new(Arc::clone(&replica), options);
        Self { replica, writer, options, ended_sessions: Arc::default() }
    }

    /// Makes the other processes on the store known, so that an edit of `issues.json` is left to those who
    /// know more of it.
    #[must_use]
    pub fn beside(self, others: Arc<dyn Others>) -> Self {
        // Only the first ones count, and there are no others.
        let _ = self.replica.others.set(others);
        self
    }

    /// Lets changes be made on a file system of a network, too, if somebody has said that no other machine uses
    /// the store; else they are refused there.
    #[must_use]
    pub fn allowing_network(self, allows: bool) -> Self {
        self.replica.ground.allow_network(allows);
        self
    }

    /// The file as it was given, symbolic links not resolved.
    pub fn path(&self) -> &Path {
        self.replica.path()
    }

    /// Answers a read from the newest state of the files, on a thread that may wait for the disk.
    fn read<T: Send + 'static>(
        &self,
        answer: impl FnOnce(&View) -> Result<T, StoreError> + Send + 'static,
    ) -> StoreFuture<'_, T> {
        self.wait(move |replica| answer(&*replica.fresh()?))
    }

    /// Does something that may wait for the disk, on a thread that may do so.
    fn wait<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Replica) -> Result<T, StoreError> + Send + 'static,
    ) -> StoreFuture<'_, T> {
        let (replica, in_place) = (Arc::clone(&self.replica), self.options.reads_in_place);
        async move {
            if in_place {
                return work(&replica);
            }
            let done = tokio::task::spawn_blocking(move || work(&replica));
            // A read that panics is a defect; it is answered like a file that cannot be read.
            done.await.unwrap_or_else(|panic| Err(StoreError::Unreadable(panic.to_string())))
        }
        .boxed()
    }
}

/// The id of a store: that of the place that its file has, or would have, symbolic links resolved; as
/// long as the directory of the file cannot be found, that of the absolute path as it was given.
///
/// So two machines, or two containers, that call a file the same have stores of the same id, and a file
/// that is reached by two hard links or two mounts has two.
fn identity(path: &Path, resolved: Option<PathBuf>) -> StoreId {
    let given = || path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let place = resolved.unwrap_or_else(given);
    StoreId::of("ait issues.json", place.as_os_str().as_encoded_bytes())
}

impl Store for JsonStore {
    fn id(&self) -> BoxFuture<'_, StoreId> {
        let resolved = self.wait(|replica| Ok(replica.place()?.snapshot));
        async move { identity(self.path(), resolved.await.ok()) }.boxed()
    }

    fn apply(&self, command: Command, now: Timestamp) -> StoreFuture<'_, Option<Arc<Issue>>> {
        async move {
            // The writer decides anew, so what was known last will do, as long as it gives an event.
            let known = self.replica.latest();
            if known.is_some_and(|view| matches!(view.issues.decide(&command, now), Ok(Some(_)))) {
                return self.writer.apply(command, now).await;
            }
            // What is refused, and a claim that finds nothing, needs no lock and leaves no trace, and
            // is answered from the newest state.
            let (command, decided) = self
                .read(move |view| {
                    let decided = view.issues.decide(&command, now);
                    Ok((command, decided))
                })
                .await?;
            match decided? {
                Some(_) => self.writer.apply(command, now).await,
                None => Ok(None),
            }
        }
        .boxed()
    }

    fn get(&self, reference: IssueRef) -> StoreFuture<'_, Arc<Issue>> {
        self.read(move |view| Ok(view.issues.find(&reference)?))
    }

    fn list(&self, query: Query) -> StoreFuture<'_, Page> {
        self.read(move |view| Ok(view.issues.list(&query)))
    }

    fn counts(&self) -> StoreFuture<'_, Counts> {
        self.read(|view| Ok(view.issues.counts()))
    }

    fn changes(&self, after: Option<Cursor>) -> StoreFuture<'_, Changes> {
        self.read(move |view| Ok(view.recent.since(after)))
    }

    fn holdings(&self) -> StoreFuture<'_, Holdings> {
        self.read(|view| {
            let damage = match &view.standing {
                Standing::Damaged { why, .. } => Some(why.clone()),
                _ => None,
            };
            Ok(Holdings { document: view.document(), damage })
        })
    }

    fn replace(&self, document: Document, consent: Consent) -> StoreFuture<'_, Replacement> {
        let (caller_ticket, writer_ticket) = ticket::ticket();
        let mut restore = Restore::new(&self.replica, document, consent, writer_ticket);
        let restored = self.wait(move |_| restore.run());
        async move {
            tokio::pin!(restored);
            tokio::select! {
                restored = &mut restored => return restored,
                () = tokio::time::sleep(self.options.busy_after) => {}
            }
            if caller_ticket.withdraw() { Err(self.writer.busy()) } else { restored.await }
        }
        .boxed()
    }

    fn files(&self) -> BoxFuture<'_, Vec<PathBuf>> {
        let files = self.wait(|replica| {
            let Place { snapshot, journal, lock, checkpoint, sessions } = replica.place()?;
            Ok(vec![snapshot, journal, lock, checkpoint, sessions])
        });
        async move { files.await.unwrap_or_default() }.boxed()
    }

    fn check(&self) -> StoreFuture<'_, ()> {
        let (broken, replica) = (self.writer.broken(), Arc::clone(&self.replica));
        self.read(move |view| match (&view.standing, &view.journal, broken) {
            (Standing::Damaged { why, .. }, ..) => Err(StoreError::Damaged(why.clone())),
            (_, _, Some(broken)) => Err(broken),
            _ if replica.suspects.why(view).is_some() => {
                Err(StoreError::NotSaved(replica.suspects.why(view).unwrap_or_default()))
            }
            (_, Some(journal), _) if !session::is_writable(&*replica.fs, journal, &view.place) => {
                Err(session::not_writable(&view.place))
            }
            _ => replica.ground.survey(&*replica.fs, &view.place),
        })
    }

    fn try_writing(&self) -> StoreFuture<'_, ()> {
        self.wait(probe::try_writing)
    }

    fn vitals(&self) -> BoxFuture<'_, Vitals> {
        let vitals = self.wait(|replica| Ok(probe::vitals(replica)));
        async move { vitals.await.unwrap_or_default() }.boxed()
    }

    fn end_session(&self, session: String) -> StoreFuture<'_, ()> {
        self.wait(move |replica| sessions::end(replica, &session))
    }

    fn session_ended(&self, session: String) -> StoreFuture<'_, bool> {
        let known = Arc::clone(&self.ended_sessions);
        self.wait(move |replica| known.is_ended(replica, &session))
    }

    fn keep_up(&self) -> StoreFuture<'_, bool> {
        self.read(|view| Ok(others::knows_edit(view)))
    }

    fn take_over_edit(&self) -> StoreFuture<'_, ()> {
        let mut committer = Committer::new(Arc::clone(&self.replica));
        self.wait(move |_| committer.take_over_edit())
    }

    fn save(&self) -> StoreFuture<'_, ()> {
        let mut committer = Committer::new(Arc::clone(&self.replica));
        let saved = self.wait(move |_| committer.checkpoint_now());
        let in_time = tokio::time::timeout(self.options.busy_after, saved);
        async move { in_time.await.unwrap_or_else(|_| Err(self.writer.busy())) }.boxed()
    }

    fn close(&self) -> BoxFuture<'_, bool> {
        self.writer.close().boxed()
    }
}
