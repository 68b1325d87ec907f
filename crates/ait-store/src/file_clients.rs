//! The clients that hold claims, as files beside the store.
//!
//! Each client that made a claim has a file in `.ait/<file name>/clients/`. A process holds its file locked while it
//! lives; the kernel releases the lock when it ends, however that happens. The file of any other client says when it
//! was renewed last, and for how long that counts. Once a client is gone, a second file `<client>.gone` says since
//! when.
//!
//! Times are those of the monotonic clock, which neither jumps nor counts while the machine is suspended. They mean
//! nothing after a restart of the machine, so each time comes with the id of the boot.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::clients::Clients;
use crate::files::fs::{RealFileSystem, is_abandoned, no_follow, remove_if_exists};
use crate::files::support::lock;
use ait_domain::ClientId;

/// What the ids of processes begin with.
const PROCESS: &str = "process-";
/// The extension of the file of a client that is gone.
const GONE: &str = "gone";
/// The extension of a file that is being written.
const TEMP: &str = "tmp";
/// The most time between two renewals of a client that are both written. It is added to the time that they count for.
const MAX_RENEWAL_GAP: Duration = Duration::from_secs(15);

/// A time on this machine, since it booted.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BootTime {
    /// The id of the boot.
    pub boot: String,
    /// The time since some fixed point of that boot, in milliseconds.
    pub ms: u64,
}

impl BootTime {
    fn now() -> Self {
        /// Empty where the kernel has none. Then only the clock itself tells boots apart.
        static BOOT: LazyLock<String> = LazyLock::new(|| {
            let id = fs::read_to_string("/proc/sys/kernel/random/boot_id");
            id.unwrap_or_default().trim().to_owned()
        });
        let now = clock_gettime(ClockId::Monotonic);
        let seconds = now.tv_sec.unsigned_abs();
        let nanos = now.tv_nsec.unsigned_abs();
        Self { boot: BOOT.clone(), ms: seconds * 1_000 + nanos / 1_000_000 }
    }

    /// Returns how long ago an earlier time was; `None` if it was before the machine started.
    fn since(&self, earlier: &Self) -> Option<Duration> {
        let ms = self.ms.checked_sub(earlier.ms)?;
        (self.boot == earlier.boot).then(|| Duration::from_millis(ms))
    }
}

/// The content of the file of a client that is no process.
#[derive(Serialize, Deserialize)]
struct Renewed {
    at: BootTime,
    ttl_ms: u64,
}

/// What the file of a client says.
#[derive(PartialEq, Eq)]
enum Presence {
    Lives,
    /// For how long its last renewal has not counted, if that is known.
    Gone {
        expired_for: Option<Duration>,
    },
}

/// The clock that the registry uses.
pub type Clock = Arc<dyn Fn() -> BootTime + Send + Sync>;

/// The clients in a directory.
pub struct FileClients {
    directory: Box<dyn Fn() -> io::Result<PathBuf> + Send + Sync>,
    clock: Clock,
    /// The locked files of this process.
    held: Mutex<HashMap<ClientId, File>>,
    /// The clients that this process has ended, as long as they may matter.
    ended: Mutex<HashSet<ClientId>>,
}

impl FileClients {
    /// Returns the clients in a directory, which is found when it is first needed.
    pub fn new(directory: impl Fn() -> io::Result<PathBuf> + Send + Sync + 'static) -> Self {
        Self::with_clock(directory, Arc::new(BootTime::now))
    }

    /// Like [`new`](Self::new), with another clock.
    pub fn with_clock(
        directory: impl Fn() -> io::Result<PathBuf> + Send + Sync + 'static,
        clock: Clock,
    ) -> Self {
        Self {
            directory: Box::new(directory),
            clock,
            held: Mutex::default(),
            ended: Mutex::default(),
        }
    }

    fn ended(&self) -> MutexGuard<'_, HashSet<ClientId>> {
        lock(&self.ended)
    }

    fn held(&self) -> MutexGuard<'_, HashMap<ClientId, File>> {
        lock(&self.held)
    }

    fn path(&self, client: &ClientId) -> io::Result<PathBuf> {
        // Ids come from the log, so a damaged one must not lead to another directory.
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if client.as_str().is_empty() || !client.as_str().bytes().all(is_name) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "this is no id of a client"));
        }
        Ok((self.directory)()?.join(client.as_str()))
    }

    /// Writes a small file whole.
    fn write(path: &Path, value: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_vec(value)?;
        let temp = temp_beside(path);
        fs::create_dir_all(path.parent().unwrap_or(path))?;
        fs::write(&temp, text)?;
        // The rename makes it appear whole. It needs no sync: after a power cut it is worthless.
        fs::rename(temp, path)
    }

    /// Creates the file of a process. It appears locked, so that no other process takes it for one that is gone.
    fn locked(path: &Path) -> io::Result<File> {
        let temp = temp_beside(path);
        fs::create_dir_all(path.parent().unwrap_or(path))?;
        let file = OpenOptions::new().write(true).create_new(true).open(&temp)?;
        file.try_lock()?;
        fs::rename(temp, path)?;
        Ok(file)
    }

    fn presence(&self, client: &ClientId, path: &Path) -> io::Result<Presence> {
        let gone = Presence::Gone { expired_for: None };
        if let Some(own) = self.held().get_mut(client) {
            // The files of the store that are not under version control were removed, such as by `git clean`.
            if !path.exists() {
                *own = Self::locked(path)?;
            }
            return Ok(Presence::Lives);
        }
        let file = match no_follow().read(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(gone),
            file => file?,
        };
        if client.as_str().starts_with(PROCESS) {
            return match file.try_lock_shared() {
                Ok(()) => Ok(gone),
                Err(TryLockError::WouldBlock) => Ok(Presence::Lives),
                Err(TryLockError::Error(error)) => Err(error),
            };
        }
        let now = (self.clock)();
        let Some(expiry) = expiry(file, &now) else { return Ok(gone) };
        if now.ms < expiry {
            return Ok(Presence::Lives);
        }
        Ok(Presence::Gone { expired_for: Some(Duration::from_millis(now.ms - expiry)) })
    }

    /// Removes the file of a client that is not needed and gone, but not if it is renewed at this moment.
    fn forget(&self, client: &ClientId, path: &Path) -> io::Result<()> {
        if self.presence(client, path)? == Presence::Lives {
            return Ok(());
        }
        let taken = temp_beside(path);
        fs::rename(path, &taken)?;
        match self.presence(client, &taken)? {
            Presence::Lives => fs::rename(taken, path),
            Presence::Gone { .. } => remove(&taken),
        }
    }
}

impl Clients for FileClients {
    fn begin_process(&self) -> io::Result<ClientId> {
        let id = format!("{PROCESS}{}-{}", process::id(), Uuid::new_v4().simple());
        let client = ClientId::new(&id);
        let file = Self::locked(&self.path(&client)?)?;
        self.held().insert(client.clone(), file);
        Ok(client)
    }

    fn renew(&self, client: &ClientId, ttl: Duration) -> io::Result<()> {
        // Until the end of this call, so that no renewal comes after an end.
        let ended = self.ended();
        if ended.contains(client) {
            return Ok(());
        }
        let now = (self.clock)();
        let path = self.path(client)?;
        // A client that calls often need not be written each time.
        let ttl_ms = |ttl: Duration| u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
        if no_follow()
            .read(true)
            .open(&path)
            .ok()
            .and_then(|file| expiry(file, &now))
            .is_some_and(|expiry| expiry >= now.ms.saturating_add(ttl_ms(ttl)))
        {
            return Ok(());
        }
        let ttl_ms = ttl_ms(ttl.saturating_add(MAX_RENEWAL_GAP.min(ttl / 4)));
        Self::write(&path, &Renewed { at: now, ttl_ms })?;
        remove(&path.with_extension(GONE))
    }

    fn end(&self, client: &ClientId) {
        let Ok(path) = self.path(client) else { return };
        let mut ended = self.ended();
        ended.insert(client.clone());
        if !path.exists() {
            return;
        }
        // Where it cannot be written, the next one who looks notes the time.
        let _ = Self::write(&path.with_extension(GONE), &(self.clock)());
        self.held().remove(client);
        let _ = remove(&path);
    }

    fn gone_for(&self, client: &ClientId) -> io::Result<Option<Duration>> {
        let path = self.path(client)?;
        let mark = path.with_extension(GONE);
        let Presence::Gone { expired_for } = self.presence(client, &path)? else {
            remove(&mark)?;
            return Ok(None);
        };
        let now = (self.clock)();
        let since: Option<BootTime> =
            fs::read(&mark).ok().and_then(|text| serde_json::from_slice(&text).ok());
        if let Some(gone) = since.and_then(|since| now.since(&since)) {
            // A mark that was written while the client was renewed is too old.
            return Ok(Some(expired_for.map_or(gone, |expired| gone.min(expired))));
        }
        Self::write(&mark, &now)?;
        Ok(Some(Duration::ZERO))
    }

    fn forget_gone(&self, needed: &dyn Fn(&ClientId) -> bool) {
        let Ok(directory) = (self.directory)() else { return };
        let names = fs::read_dir(&directory).into_iter().flatten().flatten();
        for path in names.map(|name| name.path()) {
            let Some(stem) = path.file_stem().and_then(|stem| stem.to_str()) else { continue };
            let client = ClientId::new(stem.split('.').next().unwrap_or(stem));
            if needed(&client) {
                continue;
            }
            let own = directory.join(client.as_str());
            // Where it fails, the next one who forgets tries again.
            let _ = match path.extension().and_then(|extension| extension.to_str()) {
                None => self.forget(&client, &path),
                Some(TEMP) if is_abandoned(&RealFileSystem, &path) => remove(&path),
                Some(TEMP) => Ok(()),
                Some(_) if matches!(self.presence(&client, &own), Ok(Presence::Gone { .. })) => {
                    remove(&path)
                }
                Some(_) => Ok(()),
            };
        }
        self.ended().retain(|client| needed(client));
    }
}

/// Returns until when the last renewal counts, in milliseconds of this boot; `None` if it says nothing about this boot.
fn expiry(file: File, now: &BootTime) -> Option<u64> {
    let Renewed { at, ttl_ms } = serde_json::from_reader(file).ok()?;
    now.since(&at)?;
    Some(at.ms.saturating_add(ttl_ms))
}

/// Returns an unused name beside a file.
fn temp_beside(path: &Path) -> PathBuf {
    path.with_extension(format!("{}.{TEMP}", Uuid::new_v4().simple()))
}

/// Removes a file if it is there.
fn remove(path: &Path) -> io::Result<()> {
    remove_if_exists(&RealFileSystem, path)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    use super::*;

    /// With a quarter of it added, it counts for 60 s.
    const TTL: Duration = Duration::from_secs(48);

    struct Sample {
        directory: tempfile::TempDir,
        now_ms: Arc<AtomicU64>,
    }

    impl Sample {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            Self { directory, now_ms: Arc::new(AtomicU64::new(1_000)) }
        }

        fn process(&self) -> FileClients {
            self.process_of_boot("one")
        }

        fn process_of_boot(&self, boot: &'static str) -> FileClients {
            let path = self.directory.path().join("clients");
            let now_ms = Arc::clone(&self.now_ms);
            let now =
                move || BootTime { boot: boot.to_owned(), ms: now_ms.load(Ordering::Relaxed) };
            FileClients::with_clock(move || Ok(path.clone()), Arc::new(now))
        }

        fn pass(&self, seconds: u64) {
            self.now_ms.fetch_add(seconds * 1_000, Ordering::Relaxed);
        }
    }

    fn seconds(gone: Option<Duration>) -> Option<u64> {
        gone.map(|gone| gone.as_secs())
    }

    #[test]
    fn a_process_lives_until_its_lock_is_released() {
        let sample = Sample::new();
        let one = sample.process();
        let other = sample.process();
        let client = one.begin_process().unwrap();
        sample.pass(1_000_000);
        assert_eq!(one.gone_for(&client).unwrap(), None);
        assert_eq!(other.gone_for(&client).unwrap(), None);
        // It dies without a word.
        drop(one);
        assert_eq!(seconds(other.gone_for(&client).unwrap()), Some(0));
        sample.pass(7);
        assert_eq!(seconds(sample.process().gone_for(&client).unwrap()), Some(7));
    }

    #[test]
    fn a_living_process_restores_its_removed_file() {
        let sample = Sample::new();
        let one = sample.process();
        let other = sample.process();
        let client = one.begin_process().unwrap();
        fs::remove_dir_all(sample.directory.path().join("clients")).unwrap();
        assert_eq!(seconds(other.gone_for(&client).unwrap()), Some(0));
        assert_eq!(one.gone_for(&client).unwrap(), None);
        assert_eq!(other.gone_for(&client).unwrap(), None);
    }

    #[test]
    fn an_ended_process_is_gone_since_its_end() {
        let sample = Sample::new();
        let one = sample.process();
        let client = one.begin_process().unwrap();
        one.end(&client);
        sample.pass(9);
        assert_eq!(seconds(sample.process().gone_for(&client).unwrap()), Some(9));
    }

    #[test]
    fn a_renewed_client_lives_for_its_time_and_can_come_back() {
        let sample = Sample::new();
        let one = sample.process();
        let other = sample.process();
        let client = ClientId::new("session-1");
        one.renew(&client, TTL).unwrap();
        sample.pass(11);
        // Too soon to be written, and a shorter time does not shorten it.
        one.renew(&client, TTL).unwrap();
        other.renew(&client, TTL / 8).unwrap();
        sample.pass(48);
        assert_eq!(other.gone_for(&client).unwrap(), None);
        sample.pass(1);
        assert_eq!(seconds(other.gone_for(&client).unwrap()), Some(0));
        sample.pass(5);
        assert_eq!(seconds(other.gone_for(&client).unwrap()), Some(5));
        one.renew(&client, TTL).unwrap();
        assert_eq!(other.gone_for(&client).unwrap(), None);
        // The time begins anew.
        sample.pass(60);
        assert_eq!(seconds(other.gone_for(&client).unwrap()), Some(0));
    }

    #[test]
    fn an_ended_session_stays_gone_whatever_call_comes_late() {
        let sample = Sample::new();
        let server = sample.process();
        let other = sample.process();
        let client = ClientId::new("session-1");
        server.renew(&client, TTL).unwrap();
        server.end(&client);
        server.renew(&client, TTL).unwrap();
        sample.pass(3);
        assert_eq!(seconds(other.gone_for(&client).unwrap()), Some(3));
    }

    #[test]
    fn a_mark_from_before_the_last_renewal_does_not_count() {
        let sample = Sample::new();
        let server = sample.process();
        let client = ClientId::new("session-1");
        server.renew(&client, TTL).unwrap();
        // An observer wrote it when the client had just been renewed.
        let mark = server.path(&client).unwrap().with_extension(GONE);
        FileClients::write(&mark, &(server.clock)()).unwrap();
        sample.pass(65);
        assert_eq!(seconds(sample.process().gone_for(&client).unwrap()), Some(5));
    }

    #[test]
    fn new_clients_are_not_forgotten_while_they_are_noted() {
        const CLIENTS: usize = 2_000;
        let sample = Sample::new();
        let one = sample.process();
        let other = sample.process();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    other.forget_gone(&|_| false);
                }
            });
            let noted = scope.spawn(|| {
                for number in 0..CLIENTS {
                    let process = one.begin_process()?;
                    let session = ClientId::new(&format!("session-{number}"));
                    one.renew(&session, TTL)?;
                    for client in [process, session] {
                        assert_eq!(sample.process().gone_for(&client)?, None, "{client}");
                        one.end(&client);
                    }
                }
                io::Result::Ok(())
            });
            let noted = noted.join();
            is_over.store(true, Ordering::Relaxed);
            noted.unwrap().unwrap();
        });
    }

    #[test]
    fn a_restart_of_the_machine_begins_a_new_time() {
        let sample = Sample::new();
        let client = ClientId::new("session-1");
        sample.process().renew(&client, TTL).unwrap();
        let next_boot = sample.process_of_boot("two");
        assert_eq!(seconds(next_boot.gone_for(&client).unwrap()), Some(0));
        sample.pass(30);
        assert_eq!(seconds(next_boot.gone_for(&client).unwrap()), Some(30));
        let third_boot = sample.process_of_boot("three");
        assert_eq!(seconds(third_boot.gone_for(&client).unwrap()), Some(0));
    }

    #[test]
    fn gone_clients_are_forgotten_unless_they_are_needed() {
        let sample = Sample::new();
        let one = sample.process();
        let living = one.begin_process().unwrap();
        let needed = ClientId::new("session-1");
        let gone = ClientId::new("session-2");
        for client in [&needed, &gone] {
            one.renew(client, TTL).unwrap();
        }
        sample.pass(60);
        for client in [&needed, &gone] {
            assert_eq!(seconds(one.gone_for(client).unwrap()), Some(0));
        }
        one.forget_gone(&|client| *client == needed);
        let mut names: Vec<_> = fs::read_dir(sample.directory.path().join("clients"))
            .unwrap()
            .map(|name| name.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, [living.as_str(), "session-1", "session-1.gone"]);
        one.end(&living);
        one.forget_gone(&|_| false);
        let left = fs::read_dir(sample.directory.path().join("clients")).unwrap().count();
        assert_eq!(left, 0);
    }

    #[test]
    fn ids_that_are_no_file_names_are_refused() {
        let sample = Sample::new();
        for id in ["", "..", "a/b", "a.gone"] {
            assert!(sample.process().gone_for(&ClientId::new(id)).is_err(), "{id}");
        }
    }
}
