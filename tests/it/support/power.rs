//! The files after a power cut: everything that was synced, and any part of the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use fastrand::Rng;

/// A file, identified by the order of creation and independent of its name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FileId(pub usize);

/// A directory, identified by the order of creation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DirectoryId(pub usize);

/// The root directory.
pub const ROOT: DirectoryId = DirectoryId(0);

/// The target of a directory entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Node {
    File(FileId),
    Directory(DirectoryId),
}

/// An entry of a directory: the directory and the name.
pub type Entry = (DirectoryId, String);

/// A change of the disk, or an action that makes changes durable.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    /// A node that existed before the test or was created by a program outside of it. It is durable.
    Found {
        entry: Entry,
        node: Node,
        content: Vec<u8>,
    },
    Wrote {
        file: FileId,
        offset: u64,
        bytes: Vec<u8>,
    },
    Synced(FileId),
    /// A failed sync of a file: the kernel treats its unsynced data as written, although it never reaches the disk.
    Dropped(FileId),
    /// Directory entries that changed in one step.
    Named(Names),
    SyncedDirectory(DirectoryId),
    /// A failed sync of a directory: its entries reach the disk only after another change of its entries.
    FailedDirectory(DirectoryId),
}

/// The outcome of a power cut for the unsynced changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// No change reached the disk.
    Lost,
    /// All changes reached the disk.
    Kept,
    /// Any subset reached the disk, in any order: entries change by change, contents sector by sector.
    Mixed { seed: u64 },
}

/// Returns the fates of a power cut, with `mixed` mixed ones.
pub fn fates(seed: u64, mixed: u64) -> impl Iterator<Item = Fate> {
    let mixed = (0..mixed).map(move |number| Fate::Mixed { seed: seed * 1000 + number });
    [Fate::Lost, Fate::Kept].into_iter().chain(mixed)
}

/// The unit of a write: a sector reaches the disk entirely or not at all.
const SECTOR_BYTES: usize = 512;

#[derive(Clone, Default)]
struct Content {
    durable: Vec<u8>,
    unsynced: Vec<(u64, Vec<u8>)>,
}

#[derive(Clone, Default)]
struct Durable {
    files: BTreeMap<FileId, Content>,
    names: BTreeMap<Entry, Node>,
    unsynced: Vec<Names>,
    /// Entry changes that the kernel wrongly considers durable.
    forgotten: Vec<Names>,
}

/// Directory entries that changed in one step.
type Names = Vec<(Entry, Option<Node>)>;

/// A tree of files and directories by path; directories have no content.
pub type Tree = BTreeMap<PathBuf, Option<Vec<u8>>>;

/// Returns the files after a power cut that follows these steps.
pub fn files_after(steps: &[Step], fate: Fate) -> Tree {
    let mut durable = Durable::default();
    for step in steps {
        durable.take(step);
    }
    durable.after(fate)
}

/// Removes the entry changes of a directory from a list and returns them.
fn taken(list: &mut Vec<Names>, directory: DirectoryId) -> Vec<Names> {
    let is_in = |names: &Names| names.iter().any(|((within, _), _)| *within == directory);
    let (taken, rest) = std::mem::take(list).into_iter().partition(is_in);
    *list = rest;
    taken
}

impl Durable {
    fn take(&mut self, step: &Step) {
        match step {
            Step::Found { entry, node, content } => {
                self.names.insert(entry.clone(), *node);
                if let Node::File(file) = node {
                    let content = Content { durable: content.clone(), unsynced: Vec::new() };
                    self.files.insert(*file, content);
                }
            }
            Step::Wrote { file, offset, bytes } => {
                self.files.entry(*file).or_default().unsynced.push((*offset, bytes.clone()));
            }
            Step::Synced(file) => {
                let Content { durable, unsynced } = self.files.entry(*file).or_default();
                unsynced.drain(..).for_each(|write| redo(durable, &write));
            }
            Step::Dropped(file) => self.files.entry(*file).or_default().unsynced.clear(),
            Step::Named(names) => {
                for ((directory, _), _) in names {
                    let again = taken(&mut self.forgotten, *directory);
                    self.unsynced.extend(again);
                }
                self.unsynced.push(names.clone());
            }
            Step::SyncedDirectory(directory) => {
                let synced = taken(&mut self.unsynced, *directory);
                synced.iter().for_each(|names| self.rename(names));
            }
            Step::FailedDirectory(directory) => {
                let failed = taken(&mut self.unsynced, *directory);
                self.forgotten.extend(failed);
            }
        }
    }

    fn rename(&mut self, names: &[(Entry, Option<Node>)]) {
        for (entry, node) in names {
            match node {
                Some(node) => drop(self.names.insert(entry.clone(), *node)),
                None => drop(self.names.remove(entry)),
            }
        }
    }

    fn after(mut self, fate: Fate) -> Tree {
        let mut rng = match fate {
            Fate::Mixed { seed } => Rng::with_seed(seed),
            Fate::Lost | Fate::Kept => Rng::with_seed(0),
        };
        for names in std::mem::take(&mut self.unsynced) {
            if fate == Fate::Kept || fate != Fate::Lost && rng.bool() {
                self.rename(&names);
            }
        }
        let mut tree = Tree::new();
        self.gather(ROOT, Path::new(""), fate, &mut rng, &mut BTreeSet::new(), &mut tree);
        tree
    }

    fn gather(
        &self,
        directory: DirectoryId,
        path: &Path,
        fate: Fate,
        rng: &mut Rng,
        seen: &mut BTreeSet<DirectoryId>,
        tree: &mut Tree,
    ) {
        if !seen.insert(directory) {
            return;
        }
        for ((_, name), node) in self.names.iter().filter(|((within, _), _)| *within == directory) {
            let path = path.join(name);
            match node {
                Node::File(file) => {
                    let content = self.files.get(file).cloned().unwrap_or_default();
                    tree.insert(path, Some(content.after(fate, rng)));
                }
                Node::Directory(below) => {
                    tree.insert(path.clone(), None);
                    self.gather(*below, &path, fate, rng, seen, tree);
                }
            }
        }
    }
}

impl Content {
    fn after(self, fate: Fate, rng: &mut Rng) -> Vec<u8> {
        let Self { mut durable, unsynced } = self;
        match fate {
            Fate::Lost => durable,
            Fate::Kept => {
                unsynced.iter().for_each(|write| redo(&mut durable, write));
                durable
            }
            Fate::Mixed { .. } => {
                let mut versions = vec![durable];
                for write in &unsynced {
                    let mut next = versions[versions.len() - 1].clone();
                    redo(&mut next, write);
                    versions.push(next);
                }
                mix(&versions, rng)
            }
        }
    }
}

/// Combines sectors of different versions into one content.
fn mix(versions: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    let (first, last) = (versions[0].len(), versions[versions.len() - 1].len());
    let length = match rng.u8(0..3) {
        0 if first < last => rng.usize(first..=last),
        _ => versions[rng.usize(0..versions.len())].len(),
    };
    // Sometimes the disk kept exactly the state of one moment.
    let moment = rng.bool().then(|| rng.usize(0..versions.len()));
    let mut mixed = Vec::with_capacity(length);
    while mixed.len() < length {
        let begin = mixed.len();
        let end = length.min(begin + SECTOR_BYTES);
        let version = &versions[moment.unwrap_or_else(|| rng.usize(0..versions.len()))];
        mixed.extend_from_slice(&version[begin.min(version.len())..end.min(version.len())]);
        mixed.resize(end, 0);
    }
    mixed
}

fn redo(content: &mut Vec<u8>, (offset, bytes): &(u64, Vec<u8>)) {
    let begin = usize::try_from(*offset).unwrap();
    let end = begin + bytes.len();
    content.resize(content.len().max(end), 0);
    content[begin..end].copy_from_slice(bytes);
}

/// Writes a tree into an empty directory.
pub fn write_files(directory: &Path, tree: &Tree) {
    for (path, content) in tree {
        let path = directory.join(path);
        match content {
            Some(content) => fs::write(path, content).unwrap(),
            None => fs::create_dir(path).unwrap(),
        }
    }
}
