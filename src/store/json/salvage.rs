//! What can be read of files that are damaged, put together anew.
//!
//! Of a broken `issues.json` each issue that can be read by itself is taken; of a damaged journal every
//! whole frame, also behind the damage. A change is made when the issue that it changes is there and does
//! not have it already. What is lost is told, one thing a line. Nothing is written.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use super::format::{self, Document};
use super::frame;
use super::fs::{FileSystem, RealFileSystem};
use super::journal::{Content, Entry, Header};
use super::look::{Unsound, files};
use super::pieces::{self, Piece};
use super::record;
use crate::domain::{DomainError, Event, EventKind, Issue, IssueId, Trace};
use crate::store::IssueStore;
use crate::store::backup::format as backup;

/// How many losses are told one by one.
const MAX_TOLD: usize = 1_000;

/// What could be read.
#[derive(Clone, Debug, Default)]
pub struct Salvage {
    /// The issues with the changes that could be made.
    pub document: Document,
    /// How many issues `issues.json` gave.
    pub issues_read: usize,
    /// How many changes of the journal were made.
    pub changes_made: usize,
    /// What is lost, in words.
    pub lost: Vec<String>,
}

/// Reads what can be read of the store at a path.
///
/// # Errors
///
/// The files cannot be read at all.
pub fn salvage(path: &Path) -> Result<Salvage, Unsound> {
    let files = files(path)?;
    let read = |path: &Path| {
        let failed = |error: std::io::Error| Unsound::Io {
            path: path.to_owned(),
            reason: error.to_string(),
        };
        let contents = RealFileSystem.read(path).map_err(failed)?;
        Ok(contents.map(|contents| contents.bytes))
    };
    let (snapshot, journal) = (read(&files.snapshot)?, read(&files.journal)?);
    if snapshot.is_none() && journal.is_none() {
        return Err(Unsound::Io {
            path: files.snapshot,
            reason: "there is no such file".to_owned(),
        });
    }
    let mut salvage = Salvage::default();
    match &snapshot {
        Some(bytes) => salvage.take_snapshot(bytes),
        None => salvage.lose(format!("{} is gone", files.snapshot.display())),
    }
    salvage.issues_read = salvage.document.issues.len();
    if let Some(bytes) = journal {
        salvage.take_journal(&bytes, snapshot.map(|bytes| Content::of(&bytes)));
    }
    Ok(salvage)
}

impl Salvage {
    fn lose(&mut self, what: String) {
        if self.lost.len() < MAX_TOLD {
            self.lost.push(what);
        } else if self.lost.len() == MAX_TOLD {
            self.lost.push("more, which is not listed".to_owned());
        }
    }

    fn take_snapshot(&mut self, bytes: &[u8]) {
        if let Ok(document) = format::parse(bytes.to_vec()) {
            self.document = document;
            backup::forget(&mut self.document.extra);
            return;
        }
        let pieces = pieces::read(bytes);
        for lost in pieces::lost(bytes, &pieces) {
            self.lose(lost);
        }
        // Of two issues with one id the one with the longer story, where the first of them stood.
        let mut order: Vec<Issue> = Vec::new();
        let mut places: HashMap<IssueId, usize> = HashMap::new();
        for Piece { issue, .. } in pieces {
            let Some(&place) = places.get(&issue.id) else {
                places.insert(issue.id, order.len());
                order.push(issue);
                continue;
            };
            if order[place] == issue {
                continue;
            }
            let id = issue.id;
            if issue.history.len() > order[place].history.len() {
                order[place] = issue;
            }
            self.lose(format!("another issue with the id {id}, which has the shorter history"));
        }
        for issue in order {
            // Each id is there once.
            let _ = self.document.issues.push(issue);
        }
    }

    fn take_journal(&mut self, bytes: &[u8], content: Option<Content>) {
        let (frames, base) = match Header::read(bytes) {
            Ok((header, begin)) => (self.verified(&header, begin, bytes), Some(header)),
            Err(_) => (self.unverified(bytes), None),
        };
        let saved = frames.iter().rev().find_map(|frame| match &frame.entry {
            Entry::Intent { seq, content: intended, .. } if Some(*intended) == content => {
                Some(*seq)
            }
            _ => None,
        });
        let follows = base.as_ref().is_some_and(|header| header.base() == content);
        let mut next = base.map(|header| header.base_seq + 1);
        let mut told: HashMap<IssueId, usize> = HashMap::new();
        for Frame { entry, .. } in frames {
            let Entry::Change { seq, event } = entry else { continue };
            if let Some(next) = next.filter(|next| *next < seq) {
                let what = if next + 1 == seq {
                    format!("change {next} of the journal")
                } else {
                    format!("changes {next} to {} of the journal", seq - 1)
                };
                self.lose(what);
            }
            next = Some(seq + 1);
            let is_saved = saved.is_some_and(|saved| seq <= saved);
            let is_there = !follows && contains(&self.document.issues, &mut told, &event);
            if !is_saved && !is_there {
                self.make(seq, &event);
            }
        }
    }

    fn make(&mut self, seq: u64, event: &Arc<Event>) {
        match self.document.issues.apply(event) {
            Ok(_) => self.changes_made += 1,
            // An import that issues.json has already.
            Err(DomainError::IdTaken { .. }) => {}
            Err(_) => self.lose(format!(
                "change {seq} of the journal: {} by {} at {}, of the lost issue {}",
                event.kind.action().unwrap_or("a comment"),
                event.agent,
                event.at,
                event.issue,
            )),
        }
    }

    /// Every whole frame, of whole batches where they end the file.
    fn verified(&mut self, header: &Header, begin: u64, bytes: &[u8]) -> Vec<Frame> {
        let (mut frames, mut bad): (Vec<Frame>, Option<usize>) = (Vec::new(), None);
        let mut at = usize::try_from(begin).unwrap_or(usize::MAX);
        while at < bytes.len() {
            let Some((json, length)) = frame::decode(header.epoch, at as u64, &bytes[at..]) else {
                bad.get_or_insert(at);
                at += 1;
                continue;
            };
            if let Some(begin) = bad.take() {
                self.lose(format!("{} damaged bytes of the journal at byte {begin}", at - begin));
            }
            match record::read(json) {
                Some((entry, is_end, _)) => frames.push(Frame { entry, is_end }),
                None => {
                    self.lose(format!("what a newer version wrote in the journal at byte {at}"));
                }
            }
            at += length;
        }
        if let Some(begin) = bad {
            let count = bytes.len() - begin;
            self.lose(format!(
                "the last {count} bytes of the journal, which are damaged or were not written whole"
            ));
        }
        // Nobody was told of a batch that was not written whole.
        let whole = frames.iter().rposition(|frame| frame.is_end).map_or(0, |last| last + 1);
        if whole < frames.len() {
            let count = frames.len() - whole;
            self.lose(format!("{count} changes at the end of the journal that nobody was told of"));
            frames.truncate(whole);
        }
        frames
    }

    /// The frames of a journal whose beginning is damaged: nobody can check them, since the checksums
    /// depend on it.
    fn unverified(&mut self, bytes: &[u8]) -> Vec<Frame> {
        let mut frames = Vec::new();
        let (first, rest) =
            bytes.split_at(memchr::memchr(b'\n', bytes).map_or(bytes.len(), |end| end + 1));
        for line in rest.split_inclusive(|byte| *byte == b'\n') {
            match frame::unchecked(line).and_then(record::read) {
                Some((entry, is_end, _)) => frames.push(Frame { entry, is_end }),
                None => self.lose(format!("{} damaged bytes of the journal", line.len())),
            }
        }
        self.lose(format!(
            "the first {} bytes of the journal, without which no checksum in it can be verified: {} \
             changes are taken as they stand",
            first.len(),
            frames.len(),
        ));
        frames
    }
}

/// An entry, and whether a batch ends with it.
struct Frame {
    entry: Entry,
    is_end: bool,
}

/// Tells whether an issue has a change already. `told` is up to where its history was compared.
fn contains(issues: &IssueStore, told: &mut HashMap<IssueId, usize>, event: &Event) -> bool {
    let Ok(issue) = issues.find(&event.issue.into()) else { return false };
    if let EventKind::Imported { .. } = &event.kind {
        return true;
    }
    let told = told.entry(event.issue).or_default();
    let trace = event.trace_in(&issue, *told);
    if let Some(Trace::Entry(place)) = trace {
        *told = place + 1;
    }
    trace.is_some()
}
