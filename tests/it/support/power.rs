//! What a power cut leaves: everything that was synced, and any part of the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use fastrand::Rng;

/// A file by the order in which it was made, whatever it is called.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FileId(pub usize);

/// The same for a directory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DirectoryId(pub usize);

/// The directory that holds everything.
pub const ROOT: DirectoryId = DirectoryId(0);

/// What a name can stand for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Node {
    File(FileId),
    Directory(DirectoryId),
}

/// A name in a directory.
pub type Entry = (DirectoryId, String);

/// Something that changed a disk, or made a change durable.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    /// What was on the disk before, or was put there by a program that the test does not watch. It is durable.
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
    /// What was not synced of a file never reaches the disk: the kernel could not write it, and takes it for
    /// written.
    Dropped(FileId),
    /// Names that changed in one step.
    Named(Names),
    SyncedDirectory(DirectoryId),
    /// A sync of a directory failed: its names reach the disk only with another change of its names.
    FailedDirectory(DirectoryId),
}

/// What becomes of the changes that were not synced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Nothing of them reached the disk.
    Lost,
    /// All of them did.
    Kept,
    /// Any of them did, in any order: each change of names by itself, and contents sector by sector.
    Mixed { seed: u64 },
}

/// All fates of a power cut, with so many mixed ones.
pub fn fates(seed: u64, mixed: u64) -> impl Iterator<Item = Fate> {
    let mixed = (0..mixed).map(move |number| Fate::Mixed { seed: seed * 1000 + number });
    [Fate::Lost, Fate::Kept].into_iter().chain(mixed)
}

/// The smallest part of a file that reaches a disk or does not.
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
    /// Names of which the kernel believes that they are on the disk.
    forgotten: Vec<Names>,
}

/// Names that changed in one step.
type Names = Vec<(Entry, Option<Node>)>;

/// Files, and directories without a content, by their paths.
pub type Tree = BTreeMap<PathBuf, Option<Vec<u8>>>;

/// What is on the disk after a power cut behind these steps.
pub fn files_after(steps: &[Step], fate: Fate) -> Tree {
    let mut durable = Durable::default();
    for step in steps {
        durable.take(step);
    }
    durable.after(fate)
}

/// Takes the changes of names in a directory out of a list.
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

/// A content each sector of which is as it was at another moment.
fn mix(versions: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    let (first, last) = (versions[0].len(), versions[versions.len() - 1].len());
    let length = match rng.u8(0..3) {
        0 if first < last => rng.usize(first..=last),
        _ => versions[rng.usize(0..versions.len())].len(),
    };
    // Sometimes the disk kept everything up to a moment.
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

/// Puts files into an empty directory.
pub fn write_files(directory: &Path, tree: &Tree) {
    for (path, content) in tree {
        let path = directory.join(path);
        match content {
            Some(content) => fs::write(path, content).unwrap(),
            None => fs::create_dir(path).unwrap(),
        }
    }
}
