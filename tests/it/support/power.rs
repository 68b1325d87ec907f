//! What a power cut leaves: everything that was synced, and any part of the rest.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use fastrand::Rng;

/// A file by the order in which it was made, whatever it is called.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FileId(pub usize);

/// Something that changed a disk, or made a change durable.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    Wrote {
        file: FileId,
        offset: u64,
        bytes: Vec<u8>,
    },
    Cut {
        file: FileId,
        length_bytes: u64,
    },
    Synced(FileId),
    /// What was not synced of a file never reaches the disk: the kernel could not write it, and takes it for
    /// written.
    Dropped(FileId),
    Renamed {
        file: FileId,
        name: String,
    },
    /// Two files have changed names, at once.
    Exchanged([(FileId, String); 2]),
    /// A file was given another name, and has the old one no more.
    PutAside {
        name: String,
        kept: String,
    },
    SyncedDirectory,
    /// So many operations were answered.
    Answered(usize),
}

/// What becomes of the changes that were not synced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Nothing of them reached the disk.
    Lost,
    /// All of them did.
    Kept,
    /// Any of them did, in any order, in part; what a file has grown by without being written shows
    /// zeros or what was on the disk there before.
    Mixed { seed: u64 },
}

/// The smallest part of a write that reaches a disk or does not.
const SECTOR_BYTES: usize = 512;

#[derive(Clone, Default)]
struct Disk {
    files: BTreeMap<FileId, (Vec<u8>, Vec<Step>)>,
    names: BTreeMap<String, FileId>,
    renames: Vec<Step>,
}

/// The files after a power cut behind the first so many steps.
pub fn files_after(steps: &[Step], fate: Fate) -> BTreeMap<String, Vec<u8>> {
    let files = known_files_after(steps, fate).into_iter();
    files.map(|(name, (_, content))| (name, content)).collect()
}

/// The same, with what they were before.
pub fn known_files_after(steps: &[Step], fate: Fate) -> BTreeMap<String, (FileId, Vec<u8>)> {
    let mut disk = Disk::default();
    for step in steps {
        match step {
            Step::Wrote { file, .. } | Step::Cut { file, .. } => {
                disk.files.entry(*file).or_default().1.push(step.clone());
            }
            Step::Synced(file) => {
                let (content, unsynced) = disk.files.entry(*file).or_default();
                unsynced.drain(..).for_each(|step| redo(content, &step));
            }
            Step::Dropped(file) => {
                let (_, unsynced) = disk.files.entry(*file).or_default();
                unsynced.clear();
            }
            Step::Renamed { .. } | Step::Exchanged(_) | Step::PutAside { .. } => {
                disk.renames.push(step.clone());
            }
            Step::SyncedDirectory => {
                for step in std::mem::take(&mut disk.renames) {
                    disk.rename(&step);
                }
            }
            Step::Answered(_) => {}
        }
    }
    disk.after(fate)
}

impl Disk {
    fn rename(&mut self, step: &Step) {
        match step {
            Step::Renamed { file, name } => drop(self.names.insert(name.clone(), *file)),
            Step::Exchanged(both) => {
                self.names.extend(both.iter().map(|(file, name)| (name.clone(), *file)));
            }
            Step::PutAside { name, kept } => {
                if let Some(file) = self.names.remove(name) {
                    self.names.insert(kept.clone(), file);
                }
            }
            _ => {}
        }
    }

    fn after(mut self, fate: Fate) -> BTreeMap<String, (FileId, Vec<u8>)> {
        let mut rng = match fate {
            Fate::Mixed { seed } => Rng::with_seed(seed),
            Fate::Lost | Fate::Kept => Rng::with_seed(0),
        };
        // What lay on the disk before, at the places where it was.
        let old: Vec<_> = self.files.values().map(|(content, _)| content.clone()).collect();
        for step in std::mem::take(&mut self.renames) {
            if fate == Fate::Kept || fate != Fate::Lost && rng.bool() {
                self.rename(&step);
            }
        }
        let files = &self.files;
        let content = |file: &FileId| {
            let (mut content, unsynced) = files.get(file).cloned().unwrap_or_default();
            match fate {
                Fate::Lost => {}
                Fate::Kept => unsynced.iter().for_each(|step| redo(&mut content, step)),
                Fate::Mixed { .. } => {
                    let stale = rng.choice(&old).filter(|_| old.len() > 1).map(|old| &old[..]);
                    unsynced.iter().for_each(|step| half_redo(&mut content, step, stale, &mut rng));
                }
            }
            content
        };
        let mut content = content;
        self.names.iter().map(|(name, file)| (name.clone(), (*file, content(file)))).collect()
    }
}

/// Does a step to the content of its file.
fn redo(content: &mut Vec<u8>, step: &Step) {
    match step {
        Step::Wrote { offset, bytes, .. } => {
            let (start, end) = (*offset as usize, *offset as usize + bytes.len());
            content.resize(content.len().max(end), 0);
            content[start..end].copy_from_slice(bytes);
        }
        Step::Cut { length_bytes, .. } => content.truncate(*length_bytes as usize),
        _ => {}
    }
}

/// Does any part of a step: all of it, nothing, the first bytes, or some sectors.
fn half_redo(content: &mut Vec<u8>, step: &Step, stale: Option<&[u8]>, rng: &mut Rng) {
    let Step::Wrote { file, offset, bytes } = step else {
        if rng.bool() {
            redo(content, step);
        }
        return;
    };
    let (file, offset) = (*file, *offset);
    match rng.u8(0..4) {
        0 => {}
        1 => redo(content, step),
        2 => {
            let bytes = bytes[..rng.usize(0..=bytes.len())].to_vec();
            redo(content, &Step::Wrote { file, offset, bytes });
        }
        _ => {
            let end = offset as usize + bytes.len();
            let old_length = content.len();
            content.resize(content.len().max(end), 0);
            if let Some(stale) = stale.and_then(|stale| stale.get(old_length..)) {
                let place = content[old_length..].iter_mut();
                place.zip(stale).for_each(|(byte, stale)| *byte = *stale);
            }
            let mut at = offset as usize;
            while at < end {
                let sector_end = (at / SECTOR_BYTES + 1) * SECTOR_BYTES;
                let stop = sector_end.min(end);
                if rng.bool() {
                    let part = &bytes[at - offset as usize..stop - offset as usize];
                    content[at..stop].copy_from_slice(part);
                }
                at = stop;
            }
        }
    }
}

/// Puts files into an empty directory.
pub fn write_files(directory: &Path, files: &BTreeMap<String, Vec<u8>>) {
    for (name, content) in files {
        fs::write(directory.join(name), content).unwrap();
    }
}
