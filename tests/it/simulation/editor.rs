//! Somebody who edits `issues.json` by hand, or git, in one step between two calls of the processes.

use std::fs::{self, File};
use std::path::Path;

use agent_issue_tracker::store::json::format;
use serde_json::Value;

use super::world::State;
use crate::support::files::{id, issue_json};
use crate::support::power::Step;

/// The first of the numbers of the issues that are added by hand.
const FIRST_BY_HAND: usize = 100;

/// When somebody edits what `issues.json` says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Edits {
    /// When no process runs, so that each state is known.
    Alone,
    /// At any time.
    Meanwhile,
}

/// An editor, and what it remembers.
#[derive(Default)]
pub struct Editor {
    copies: Vec<Vec<u8>>,
    added: usize,
}

impl Editor {
    /// Changes the file without changing what it says, which is right at any moment; nothing happens where
    /// there is none.
    pub fn touch(&mut self, state: &mut State, directory: &Path) {
        let path = directory.join("issues.json");
        let Ok(bytes) = fs::read(&path) else { return };
        state.ledger.tally.touches += 1;
        if state.rng.bool() {
            let file = File::open(&path).unwrap();
            let (now, id) = (state.calls, state.platter.id_of(&file));
            state.platter.touched(id, now);
            state.tell(0, "issues.json is touched", 0, None);
        } else {
            write(state, directory, &bytes);
        }
        self.copies.push(bytes);
    }

    /// Changes what the file says, which is the truth when no process runs and the journal is empty. What
    /// is not written is an edit that nobody finds.
    pub fn edit(&mut self, state: &mut State, directory: &Path, is_written: bool) {
        let bytes = fs::read(directory.join("issues.json")).unwrap();
        let mut document: Value = serde_json::from_slice(&bytes).unwrap();
        let issues = document["issues"].as_array_mut().unwrap();
        let place = state.rng.usize(0..issues.len());
        let edited = match state.rng.u8(0..4) {
            0 => {
                issues[place]["title"] = format!("edited {}", self.copies.len()).into();
                serde_json::to_vec_pretty(&document).unwrap()
            }
            1 => {
                let added = id(FIRST_BY_HAND + self.added);
                self.added += 1;
                issues.insert(place, issue_json(&added, "by hand", "created"));
                serde_json::to_vec_pretty(&document).unwrap()
            }
            2 => {
                issues.remove(place);
                serde_json::to_vec(&document).unwrap()
            }
            _ => state.rng.choice(&self.copies).unwrap_or(&bytes).clone(),
        };
        self.copies.push(bytes);
        state.ledger.tally.edits += 1;
        state.ledger.edited(format::parse(edited.clone()).unwrap().issues);
        if is_written {
            write(state, directory, &edited);
        }
    }

    /// Changes what the file says while processes run: an issue gets another title, or one is added. False
    /// where there is none.
    pub fn edit_meanwhile(&mut self, state: &mut State, directory: &Path) -> bool {
        let Ok(bytes) = fs::read(directory.join("issues.json")) else { return false };
        let mut document: Value = serde_json::from_slice(&bytes).unwrap();
        let issues = document["issues"].as_array_mut().unwrap();
        if issues.is_empty() {
            return false;
        }
        let place = state.rng.usize(0..issues.len());
        let title = format!("by hand {}", state.ledger.tally.edits);
        if state.rng.bool() {
            issues[place]["title"] = title.as_str().into();
        } else {
            let added = id(FIRST_BY_HAND + self.added);
            self.added += 1;
            issues.insert(place, issue_json(&added, &title, "created"));
        }
        let id = serde_json::from_value(issues[place]["id"].clone()).unwrap();
        let edited = serde_json::to_vec_pretty(&document).unwrap();
        state.ledger.tally.edits += 1;
        state.ledger.facts.as_mut().unwrap().entitle(id, &title);
        state.ledger.edited(format::parse(edited.clone()).unwrap().issues);
        write(state, directory, &edited);
        true
    }
}

/// Writes the file, durably, as most editors do: beside the old one, whose place it takes; or in place.
fn write(state: &mut State, directory: &Path, bytes: &[u8]) {
    let (path, beside) = (directory.join("issues.json"), directory.join("issues.json.new"));
    let now = state.calls;
    let id = if state.rng.bool() {
        fs::write(&beside, bytes).unwrap();
        let id = state.platter.made(&File::open(&beside).unwrap());
        fs::rename(&beside, &path).unwrap();
        id
    } else {
        fs::write(&path, bytes).unwrap();
        let id = state.platter.id_of(&File::open(&path).unwrap());
        state.platter.cut(id, 0, now);
        id
    };
    state.platter.wrote(id, 0, bytes, now);
    state.platter.synced(Step::Synced(id));
    state.platter.renamed(id, "issues.json".to_owned(), now);
    state.platter.synced(Step::SyncedDirectory);
    state.tell(0, "issues.json is written by hand", bytes.len() as u64, None);
}
