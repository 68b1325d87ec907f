//! What is on the simulated disk: which files there are, what identifies them, and what was done to them, so
//! that the power can be cut.
//!
//! The contents are real files, and so are the locks; what depends on the time or on the machine is made
//! up here.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use agent_issue_tracker::store::json::fs::Stamp;
use serde::Deserialize;
use serde::de::value::{self, MapDeserializer};

use crate::support::files::all_names;
use crate::support::power::{Fate, FileId, Step, known_files_after, write_files};

/// How long a call takes.
const NS_PER_CALL: u64 = 1_000_000;

/// What the disk remembers.
#[derive(Default)]
pub struct Platter {
    steps: Vec<Step>,
    /// The files by their real numbers.
    ids: BTreeMap<(u64, u64), FileId>,
    /// When the content and the name of each file changed.
    times: BTreeMap<FileId, (u64, u64)>,
    /// How often a sync of each file has failed.
    failures: BTreeMap<FileId, usize>,
    made: usize,
    kept_temps: u32,
    /// What the temporary files are called that processes left.
    kept_as: BTreeMap<String, String>,
}

impl Platter {
    /// The number of a file, which is that of a new one when nobody has seen it before.
    pub fn id_of(&mut self, file: &File) -> FileId {
        let known = self.ids.get(&inode(file)).copied();
        known.unwrap_or_else(|| self.made(file))
    }

    /// The number of a file that was just made. Its inode may have been another file's before.
    pub fn made(&mut self, file: &File) -> FileId {
        let id = FileId(self.made);
        self.made += 1;
        self.ids.insert(inode(file), id);
        id
    }

    pub fn wrote(&mut self, file: FileId, offset: u64, bytes: &[u8], now: u64) {
        self.times.insert(file, (now, now));
        self.steps.push(Step::Wrote { file, offset, bytes: bytes.to_vec() });
    }

    pub fn cut(&mut self, file: FileId, length_bytes: u64, now: u64) {
        self.times.insert(file, (now, now));
        self.steps.push(Step::Cut { file, length_bytes });
    }

    pub fn renamed(&mut self, file: FileId, name: String, now: u64) {
        self.times.entry(file).or_default().1 = now;
        self.steps.push(Step::Renamed { file, name });
    }

    /// Notes that a temporary file and another one have changed names.
    pub fn exchanged(&mut self, temp: &Path, target: &Path, now: u64) {
        let both =
            [temp, target].map(|path| (self.id_of(&File::open(path).unwrap()), name_of(path)));
        for (file, _) in &both {
            self.times.entry(*file).or_default().1 = now;
        }
        self.steps.push(Step::Exchanged(both));
    }

    pub fn synced(&mut self, step: Step) {
        self.steps.push(step);
    }

    /// Notes that a sync of a file has failed.
    pub fn failed(&mut self, file: FileId) {
        *self.failures.entry(file).or_default() += 1;
        self.steps.push(Step::Dropped(file));
    }

    pub fn failures_of(&self, file: FileId) -> usize {
        self.failures.get(&file).copied().unwrap_or(0)
    }

    /// Notes that somebody looked through a file without changing anything but its times.
    pub fn touched(&mut self, file: FileId, now: u64) {
        self.times.insert(file, (now, now));
    }

    /// What identifies the content of an open file, the same in each run of a history.
    pub fn stamp(&mut self, file: &File) -> Stamp {
        let id = self.id_of(file);
        let (modified, changed) = self.times.get(&id).copied().unwrap_or_default();
        let fields = [
            ("lengthBytes", file.metadata().unwrap().len()),
            ("modifiedNs", modified * NS_PER_CALL),
            ("changedNs", changed * NS_PER_CALL),
            ("device", 1),
            ("inode", id.0 as u64),
        ];
        let fields = MapDeserializer::<_, value::Error>::new(fields.into_iter());
        Stamp::deserialize(fields).unwrap()
    }

    /// Leaves a temporary file where the process that made it cannot remove it any more.
    pub fn keep_temp(&mut self, temp: &Path) {
        let name = temp.to_str().unwrap();
        let mut parts: Vec<_> = name.split('.').collect();
        let random = parts.len() - if is_marked(name) { 3 } else { 2 };
        let number = format!("{:06}", self.kept_temps);
        parts[random] = &number;
        let kept = parts.join(".");
        self.kept_temps += 1;
        // One that has got its final name, or that was removed, is gone.
        let _ = fs::hard_link(temp, &kept);
        self.kept_as.insert(name_of(temp), name_of(Path::new(&kept)));
    }

    /// Cuts the power: the directory has what a disk would have afterwards.
    pub fn cut_power(&mut self, directory: &Path, fate: Fate) {
        let there: Vec<_> = all_names(directory)
            .into_iter()
            .map(|name| {
                let path = directory.join(name);
                let id = self.id_of(&File::open(&path).unwrap());
                fs::remove_file(path).unwrap();
                id
            })
            .collect();
        let files = known_files_after(&self.steps, fate).into_iter();
        // That a temporary file was removed is no step.
        let is_there =
            |(name, (id, _)): &(String, (FileId, _))| !is_marked(name) || there.contains(id);
        let name = |name: String| self.kept_as.get(&name).cloned().unwrap_or(name);
        let files: BTreeMap<_, _> =
            files.filter(is_there).map(|(known, (_, content))| (name(known), content)).collect();
        write_files(directory, &files);
        let (made, kept_temps) = (self.made, self.kept_temps);
        *self = Self { made, kept_temps, ..Self::default() };
        for (name, bytes) in files {
            let file = self.made(&File::open(directory.join(&name)).unwrap());
            self.steps.push(Step::Wrote { file, offset: 0, bytes });
            self.steps.push(Step::Synced(file));
            self.steps.push(Step::Renamed { file, name });
        }
        self.steps.push(Step::SyncedDirectory);
    }
}

/// Tells whether this is the name of a temporary file that tells what may stand under it.
pub fn is_marked(name: &str) -> bool {
    const MARKS: usize = 32;
    let middle = name.strip_suffix(".tmp").and_then(|name| name.rsplit('.').next());
    middle.is_some_and(|middle| middle.len() == MARKS)
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

fn inode(file: &File) -> (u64, u64) {
    let metadata = file.metadata().unwrap();
    (metadata.dev(), metadata.ino())
}
