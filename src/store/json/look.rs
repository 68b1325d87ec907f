//! What the files of a store look like to somebody who wants to know what is wrong with them.
//!
//! Changes and makes nothing, and takes no lock.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::fs::{FileSystem, RealFileSystem, Stamp, Unresolved};
use super::journal::{self, Content, Entry, Header, Rest, Unreadable};
use super::load::{LoadError, load};
use super::pieces;
use super::view::{Place, Standing, View};
use crate::json_text::FormatError;
use crate::store::IssueStore;

pub use super::pieces::Repeated;

/// How often, and after which pause, it is looked again at what looks wrong: it may only be under way.
const LOOKS: usize = 5;
const PAUSE: Duration = Duration::from_millis(50);
/// How long it may have taken to look for that; large files are looked at once.
const RELOOK_WITHIN: Duration = Duration::from_millis(500);

/// The files of a store, symbolic links resolved. None of them need exist.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Files {
    /// `issues.json`.
    pub snapshot: PathBuf,
    /// What was committed since.
    pub journal: PathBuf,
    /// The lock of a commit.
    pub lock: PathBuf,
    /// The lock of whoever writes a large `issues.json`.
    pub checkpoint: PathBuf,
    /// Which sessions were ended.
    pub sessions: PathBuf,
}

/// A file that was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FoundFile {
    /// Its size.
    pub length_bytes: u64,
    /// When its content last changed.
    pub modified: SystemTime,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Look {
    /// `issues.json`, where there is one.
    pub snapshot: Option<FoundFile>,
    /// The journal, where there is one.
    pub journal: Option<FoundFile>,
    /// The issues, with the journal as far as it can be followed; or why there are none.
    pub issues: Result<IssueStore, Unsound>,
    /// How the journal stands to `issues.json`.
    pub standing: JournalStanding,
    /// The ids that occur more than once.
    pub repeated: Vec<Repeated>,
}

/// Why the files describe no issues.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unsound {
    /// The directory of the store is not there.
    #[error("the directory {} does not exist", .0.display())]
    NoDirectory(PathBuf),
    /// A file cannot be read.
    #[error("{} cannot be read: {reason}", .path.display())]
    Io {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// `issues.json` is not valid.
    #[error("{0}")]
    Format(FormatError),
    /// `issues.json` is gone, and its journal is there.
    #[error("{} is gone, though its journal is there", .0.display())]
    Gone(PathBuf),
    /// A restore did not come to its end.
    #[error(
        "a restore over damaged files did not come to its end; they are kept with names that end in .damaged-{0}"
    )]
    Interrupted(String),
    /// The files are replaced faster than they can be read.
    #[error("{} is being replaced again and again", .0.display())]
    Moving(PathBuf),
}

/// How a journal stands to `issues.json`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum JournalStanding {
    /// There is none.
    Missing,
    /// It follows it, with so many changes.
    Follows(usize),
    /// It is whole; what it follows can be told when `issues.json` can be read.
    Whole(usize),
    /// Writing `issues.json` was interrupted: the next change goes on with it.
    Interrupted,
    /// Somebody replaced or edited `issues.json`, so that its changes follow another one.
    FollowsAnother(usize),
    /// What begins there was not written whole, and nobody was told of it.
    Torn {
        /// The offset.
        at: u64,
        /// How much it is.
        length_bytes: u64,
    },
    /// What begins at this offset was saved once and has changed since.
    Damaged(u64),
    /// A newer version wrote what begins at this offset.
    Newer(u64),
    /// A change in it does not fit what is there.
    Misfit(String),
    /// It cannot be read.
    Unreadable(String),
}

/// Where the files of a store are.
///
/// # Errors
///
/// There is no place for them.
pub fn files(path: &Path) -> Result<Files, Unsound> {
    let Place { snapshot, journal, lock, checkpoint, sessions } = place(path)?;
    Ok(Files { snapshot, journal, lock, checkpoint, sessions })
}

fn place(path: &Path) -> Result<Place, Unsound> {
    RealFileSystem.resolve(path).map(Place::of).map_err(|Unresolved { directory, source }| {
        if source.kind() == std::io::ErrorKind::NotFound {
            Unsound::NoDirectory(directory)
        } else {
            Unsound::Io { path: directory, reason: source.to_string() }
        }
    })
}

/// Looks at the files of the store at a path.
pub fn look(path: &Path) -> Look {
    let place = match place(path) {
        Ok(place) => place,
        Err(unsound) => {
            let standing = JournalStanding::Missing;
            let (snapshot, journal, repeated) = (None, None, Vec::new());
            return Look { snapshot, journal, issues: Err(unsound), standing, repeated };
        }
    };
    let begun = Instant::now();
    let mut found = look_once(&RealFileSystem, &place);
    for _ in 1..LOOKS {
        if found.is_sound() || begun.elapsed() > RELOOK_WITHIN {
            break;
        }
        thread::sleep(PAUSE);
        found = look_once(&RealFileSystem, &place);
    }
    if let (Err(Unsound::Format(_)), Ok(Some(contents))) =
        (&found.issues, RealFileSystem.read(&place.snapshot))
    {
        found.repeated = pieces::repeated(&contents.bytes, &pieces::read(&contents.bytes));
    }
    found
}

impl Look {
    fn is_sound(&self) -> bool {
        use JournalStanding::{Follows, Missing};
        self.issues.is_ok() && matches!(self.standing, Missing | Follows(_))
    }
}

fn look_once(fs: &dyn FileSystem, place: &Place) -> Look {
    let snapshot = fs.stamp(&place.snapshot);
    let journal = fs.read(&place.journal);
    let view = load(fs, place, None);
    // The file may be large, and is read for the second time only where that has to decide.
    let content = || {
        let contents = fs.read(&place.snapshot).ok().flatten();
        contents.map(|contents| Content::of(&contents.bytes))
    };
    let standing = match &journal {
        Ok(None) => JournalStanding::Missing,
        Ok(Some(contents)) => standing(&contents.bytes, content, &view),
        Err(error) => JournalStanding::Unreadable(error.to_string()),
    };
    let journal = journal.map(|contents| contents.map(|contents| contents.stamp));
    let [snapshot, journal] = [snapshot, journal].map(|stamp| stamp.ok().flatten().map(found));
    Look {
        snapshot,
        journal,
        issues: view.map(|view| view.issues).map_err(unsound),
        standing,
        repeated: Vec::new(),
    }
}

fn found(stamp: Stamp) -> FoundFile {
    FoundFile { length_bytes: stamp.length_bytes(), modified: stamp.modified() }
}

fn unsound(error: LoadError) -> Unsound {
    match error {
        LoadError::MissingDirectory(path) => Unsound::NoDirectory(path),
        LoadError::Gone(path) => Unsound::Gone(path),
        LoadError::Io { path, source } => Unsound::Io { path, reason: source.to_string() },
        LoadError::Format { source, .. } => Unsound::Format(source),
        LoadError::Interrupted { time, .. } => Unsound::Interrupted(time),
        LoadError::Moving(path) => Unsound::Moving(path),
    }
}

/// How the bytes of a journal stand to an `issues.json` with that content.
fn standing(
    bytes: &[u8],
    content: impl Fn() -> Option<Content>,
    view: &Result<View, LoadError>,
) -> JournalStanding {
    let of_damage = |why| match why {
        Unreadable::Damaged { offset } => JournalStanding::Damaged(offset),
        Unreadable::Newer { offset } => JournalStanding::Newer(offset),
    };
    let (header, begin) = match Header::read(bytes) {
        Ok(read) => read,
        Err(why) => return of_damage(why),
    };
    let behind = &bytes[usize::try_from(begin).unwrap_or(usize::MAX)..];
    let scan = journal::scan(header.epoch, begin, header.base_seq, behind);
    let changes = scan.entries.iter().filter(|it| matches!(it, Entry::Change { .. })).count();
    match scan.rest {
        Rest::Unreadable(why) => return of_damage(why),
        Rest::Torn => {
            let length_bytes = bytes.len() as u64 - scan.end;
            return JournalStanding::Torn { at: scan.end, length_bytes };
        }
        Rest::Nothing => {}
    }
    match view.as_ref().map(|view| &view.standing) {
        Err(_) => JournalStanding::Whole(changes),
        Ok(Standing::Damaged { why, .. }) => JournalStanding::Misfit(why.clone()),
        Ok(Standing::Unsettled { edited: true, .. }) if content() != header.base() => {
            JournalStanding::FollowsAnother(changes)
        }
        Ok(Standing::Unsettled { .. }) => JournalStanding::Interrupted,
        Ok(Standing::Settled) => JournalStanding::Follows(changes),
    }
}
