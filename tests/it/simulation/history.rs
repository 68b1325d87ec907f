//! One simulated history: processes change issues concurrently, call by call, with faults, crashes, power cuts and
//! edits, all derived from a seed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_issue_tracker::domain::IssueId;
use agent_issue_tracker::store::Store;
use fastrand::Rng;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::gate::Gate;
use crate::support::directory_in_memory;
use crate::support::disk::{Disk, FaultyDuty};
use crate::support::power::{Fate, files_after, write_files};
use crate::support::scene::{Answers, Process};
use crate::support::stores::all_issues;
use crate::support::trouble::{EIO, ENOSPC, Fault};

const ROUNDS: usize = 14;

/// How often each kind of step happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    pub histories: usize,
    pub changes: usize,
    pub faults: usize,
    pub deaths: usize,
    pub cuts: usize,
    pub edits: usize,
}

impl Tally {
    pub fn add(&mut self, other: Self) {
        self.histories += other.histories;
        self.changes += other.changes;
        self.faults += other.faults;
        self.deaths += other.deaths;
        self.cuts += other.cuts;
        self.edits += other.edits;
    }
}

pub struct History {
    directory: TempDir,
    disk: Arc<Disk>,
    faulty_duty: FaultyDuty,
    processes: Vec<Process>,
    answers: Arc<Answers>,
    gate: Gate,
    rng: Rng,
    /// The text of `issues.json` when the editor last read it.
    read: Option<String>,
    /// The comment of the last edit, until a process merges the edit.
    newest_edit: Option<String>,
    /// The comments of merged edits.
    edits: Vec<String>,
    pub tally: Tally,
    pub trace: Vec<String>,
}

impl History {
    pub fn new(seed: u64, faulty_duty: FaultyDuty) -> Self {
        let mut rng = Rng::with_seed(seed);
        let directory = directory_in_memory();
        let disk = Disk::new(directory.path(), faulty_duty);
        let processes =
            (0..rng.usize(1..=3)).map(|_| Process::start(directory.path(), disk.beside()));
        let processes = processes.collect();
        let answers = Answers::new(&disk);
        let tally = Tally { histories: 1, ..Tally::default() };
        Self {
            directory,
            disk,
            faulty_duty,
            processes,
            answers,
            gate: Gate::default(),
            rng,
            read: None,
            newest_edit: None,
            edits: Vec::new(),
            tally,
            trace: Vec::new(),
        }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn file(&self) -> PathBuf {
        self.path().join("issues.json")
    }

    fn record(&mut self, text: impl Into<String>) {
        self.trace.push(text.into());
    }

    /// Plays the history and checks it.
    pub async fn play(&mut self) -> Result<(), String> {
        for round in 0..ROUNDS {
            self.record(format!("round {round}"));
            let is_cut = self.round().await;
            if is_cut {
                self.cut_power().await?;
            }
            self.check().await?;
            if self.rng.u8(0..3) == 0 {
                self.edit();
            }
            if self.rng.bool() {
                self.merge_edit().await?;
            }
        }
        self.tally.changes = self.answers.count();
        let last = Process::start(self.path(), self.disk.beside());
        last.publish().await.map_err(|error| format!("the last publish failed: {error}"))?;
        let issues = all_issues(&*last.store).await.map_err(|error| error.to_string())?;
        last.kill().await;
        let text = fs::read_to_string(self.file()).unwrap_or_default();
        let published: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        if published["issues"].as_array().map(Vec::len) != Some(issues.len()) {
            return Err("issues.json lacks issues at the end".to_owned());
        }
        for process in &self.processes {
            process.kill().await;
        }
        Ok(())
    }

    /// Lets some processes act concurrently. Returns true if the power failed.
    async fn round(&mut self) -> bool {
        let known = all_issues(&*self.processes[0].store).await.unwrap_or_default();
        let known: Vec<IssueId> = known.iter().map(|issue| issue.id).collect();
        let mut threads = Vec::new();
        for number in 0..self.processes.len() {
            if threads.is_empty() || self.rng.u8(0..4) > 0 {
                self.gate.guard(number, &self.processes[number]);
                if self.rng.u8(0..8) == 0 {
                    let call = self.rng.usize(1..60);
                    let fault = if self.rng.bool() { Fault::Once(call) } else { Fault::From(call) };
                    let trouble = &self.processes[number].disk.trouble;
                    trouble.with(if self.rng.bool() { EIO } else { ENOSPC });
                    trouble.begin(fault);
                    self.tally.faults += 1;
                    self.record(format!("process {number} gets a fault at call {call}"));
                }
                threads.push(self.start(number, &known));
            }
        }
        let is_cut = self.schedule();
        self.gate.clear();
        for thread in threads {
            thread.join().unwrap();
        }
        for number in 0..self.processes.len() {
            let process = self.processes[number].clone();
            process.disk.unhook();
            if process.disk.trouble.is_dead() {
                process.kill().await;
                self.processes[number] = Process::start(self.path(), self.disk.beside());
            } else {
                process.disk.trouble.end();
            }
        }
        is_cut
    }

    fn start(&mut self, number: usize, known: &[IssueId]) -> std::thread::JoinHandle<()> {
        let (answers, process) = (Arc::clone(&self.answers), self.processes[number].clone());
        let (kind, count) = (self.rng.u8(0..12), self.rng.u8(1..=3));
        let issue = known.get(self.rng.usize(0..known.len().max(1))).copied();
        self.record(format!("process {number} does {kind}"));
        self.gate.start(number, move || async move {
            for _ in 0..count {
                // The results are checked later.
                match (kind, issue) {
                    (0..3, _) => drop(answers.file(&process).await),
                    (3..6, _) => drop(answers.claim(&process).await),
                    (6..9, Some(issue)) => drop(answers.change_issue(&process, issue, kind).await),
                    (9..11, _) => drop(process.publish().await),
                    _ => drop(process.store.counts().await),
                }
            }
        })
    }

    /// Resumes the processes in random order until all are done. Returns true if the power failed.
    fn schedule(&mut self) -> bool {
        let mut is_cut = false;
        loop {
            let waiting = self.gate.waiting();
            let Some(&number) = self.rng.choice(&waiting) else { return is_cut };
            if self.rng.u16(0..600) == 0 {
                self.record(format!("process {number} dies"));
                self.processes[number].disk.die_at(1);
                self.tally.deaths += 1;
            } else if self.rng.u16(0..900) == 0 {
                self.record("the power fails");
                for process in &self.processes {
                    process.disk.die_at(1);
                }
                is_cut = true;
            } else if self.rng.u16(0..400) == 0 {
                self.edit();
            }
            // Often let the process make several calls in a row.
            for _ in 0..self.rng.usize(1..4) {
                self.gate.go_on(number);
                if !self.gate.waiting().contains(&number) {
                    break;
                }
            }
        }
    }

    /// Continues with the durable files in another directory.
    async fn cut_power(&mut self) -> Result<(), String> {
        for process in &self.processes {
            process.kill().await;
        }
        let seed = self.rng.u64(..);
        let fate = match self.rng.u8(0..6) {
            0 => Fate::Lost,
            1 => Fate::Kept,
            _ => Fate::Mixed { seed },
        };
        self.record(format!("{fate:?}"));
        self.tally.cuts += 1;
        // The editor does not sync its files, so a power cut may lose the newest edit.
        self.newest_edit = None;
        let tree = files_after(&self.disk.steps(), fate);
        self.directory = directory_in_memory();
        write_files(self.path(), &tree);
        self.disk = Disk::new(self.path(), self.faulty_duty);
        self.answers.replace_disk(&self.disk);
        let count = self.processes.len();
        self.processes =
            (0..count).map(|_| Process::start(self.path(), self.disk.beside())).collect();
        Ok(())
    }

    /// Checks that every process sees the acknowledged changes and can make another change.
    async fn check(&mut self) -> Result<(), String> {
        let later = Process::start(self.path(), self.disk.beside());
        let all: Vec<_> = self.processes.iter().chain([&later]).collect();
        for (number, process) in all.iter().enumerate() {
            let at = |wrong| format!("for process {number}: {wrong}");
            self.answers.check(&*process.store).await.map_err(at)?;
            let issues = all_issues(&*process.store).await.map_err(|error| error.to_string())?;
            let comments: Vec<_> = issues.iter().flat_map(|issue| &issue.comments).collect();
            if let Some(lost) = self
                .edits
                .iter()
                .find(|edit| !comments.iter().any(|comment| comment.text == **edit))
            {
                return Err(at(format!("{lost} is lost")));
            }
        }
        let number = self.rng.usize(0..all.len());
        let filed = self.answers.file(all[number]).await;
        filed.map_err(|error| format!("no change is possible for process {number}: {error}"))?;
        later.kill().await;
        Ok(())
    }

    /// The editor saves the text that it read now or earlier, with one more comment.
    fn edit(&mut self) {
        if self.read.is_none() || self.rng.bool() {
            self.read = fs::read_to_string(self.file()).ok();
        }
        let Some(read) = &self.read else { return };
        let Ok(mut document) = serde_json::from_str::<Value>(read) else { return };
        let Some(issues) = document["issues"].as_array_mut().filter(|issues| !issues.is_empty())
        else {
            return;
        };
        let text = format!("edit {}", self.tally.edits);
        let issue = self.rng.usize(0..issues.len());
        let Some(comments) = issues[issue]["comments"].as_array_mut() else { return };
        comments.push(json!({
            "timestamp": format!("2026-03-01T00:00:{:02}.000Z", self.tally.edits % 60),
            "agent": format!("editor {}", self.tally.edits), "text": text,
        }));
        let saved = serde_json::to_string_pretty(&document).unwrap();
        if self.rng.bool() {
            fs::write(self.file(), &saved).unwrap();
        } else {
            let temp = self.path().join("saved");
            fs::write(&temp, &saved).unwrap();
            fs::rename(temp, self.file()).unwrap();
        }
        self.tally.edits += 1;
        self.record(format!("the editor saves {text}"));
        self.read = Some(saved);
        self.newest_edit = Some(text);
    }

    /// Lets a process merge the newest edit, which must be kept from then on.
    async fn merge_edit(&mut self) -> Result<(), String> {
        let Some(edit) = self.newest_edit.take() else { return Ok(()) };
        let process = &self.processes[self.rng.usize(0..self.processes.len())];
        // A publish also merges files that a dead process displaced but did not read.
        process.publish().await.map_err(|error| format!("the publish failed: {error}"))?;
        self.record(format!("{edit} is merged"));
        self.edits.push(edit);
        Ok(())
    }
}
