//! One history: processes that change issues at once, call by call, with faults, deaths, power cuts and edits, all
//! chosen by a seed.

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

/// How often something happened.
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
    neglect: FaultyDuty,
    processes: Vec<Process>,
    answers: Arc<Answers>,
    gate: Gate,
    rng: Rng,
    /// What the editor read last.
    read: Option<String>,
    /// The comment of the last edit, unless a process has looked at it.
    newest_edit: Option<String>,
    /// The comments of edits that a process has taken over.
    edits: Vec<String>,
    pub tally: Tally,
    pub story: Vec<String>,
}

impl History {
    pub fn new(seed: u64, neglect: FaultyDuty) -> Self {
        let mut rng = Rng::with_seed(seed);
        let directory = directory_in_memory();
        let disk = Disk::new(directory.path(), neglect);
        let processes =
            (0..rng.usize(1..=3)).map(|_| Process::start(directory.path(), disk.beside()));
        let processes = processes.collect();
        let answers = Answers::new(&disk);
        let tally = Tally { histories: 1, ..Tally::default() };
        Self {
            directory,
            disk,
            neglect,
            processes,
            answers,
            gate: Gate::default(),
            rng,
            read: None,
            newest_edit: None,
            edits: Vec::new(),
            tally,
            story: Vec::new(),
        }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn file(&self) -> PathBuf {
        self.path().join("issues.json")
    }

    fn tell(&mut self, text: impl Into<String>) {
        self.story.push(text.into());
    }

    /// Plays it; tells what is wrong.
    pub async fn play(&mut self) -> Result<(), String> {
        for round in 0..ROUNDS {
            self.tell(format!("round {round}"));
            let is_cut = self.round().await;
            if is_cut {
                self.cut_power().await?;
            }
            self.check().await?;
            if self.rng.u8(0..3) == 0 {
                self.edit();
            }
            if self.rng.bool() {
                self.look_at_edit().await?;
            }
        }
        self.tally.changes = self.answers.count();
        let last = Process::start(self.path(), self.disk.beside());
        last.publish().await.map_err(|error| format!("not published at the end: {error}"))?;
        let issues = all_issues(&*last.store).await.map_err(|error| error.to_string())?;
        last.kill().await;
        let text = fs::read_to_string(self.file()).unwrap_or_default();
        let told: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        if told["issues"].as_array().map(Vec::len) != Some(issues.len()) {
            return Err("issues.json does not tell everything at the end".to_owned());
        }
        for process in &self.processes {
            process.kill().await;
        }
        Ok(())
    }

    /// Some processes do something at once; true if the power failed meanwhile.
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
                    self.tell(format!("process {number} meets a fault from call {call} on"));
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
        self.tell(format!("process {number} does {kind}"));
        self.gate.start(number, move || async move {
            for _ in 0..count {
                // What they were told is checked later.
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

    /// Lets the processes go on in any order, until all are done; true if the power failed.
    fn schedule(&mut self) -> bool {
        let mut is_cut = false;
        loop {
            let waiting = self.gate.waiting();
            let Some(&number) = self.rng.choice(&waiting) else { return is_cut };
            if self.rng.u16(0..600) == 0 {
                self.tell(format!("process {number} dies"));
                self.processes[number].disk.die_at(1);
                self.tally.deaths += 1;
            } else if self.rng.u16(0..900) == 0 {
                self.tell("the power fails");
                for process in &self.processes {
                    process.disk.die_at(1);
                }
                is_cut = true;
            } else if self.rng.u16(0..400) == 0 {
                self.edit();
            }
            // Several calls at once, often.
            for _ in 0..self.rng.usize(1..4) {
                self.gate.go_on(number);
                if !self.gate.waiting().contains(&number) {
                    break;
                }
            }
        }
    }

    /// What is durable goes on in another directory.
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
        self.tell(format!("{fate:?}"));
        self.tally.cuts += 1;
        // Nobody syncs what the editor saves.
        self.newest_edit = None;
        let tree = files_after(&self.disk.steps(), fate);
        self.directory = directory_in_memory();
        write_files(self.path(), &tree);
        self.disk = Disk::new(self.path(), self.neglect);
        self.answers.replace_disk(&self.disk);
        let count = self.processes.len();
        self.processes =
            (0..count).map(|_| Process::start(self.path(), self.disk.beside())).collect();
        Ok(())
    }

    /// Everybody finds what was answered, and can go on.
    async fn check(&mut self) -> Result<(), String> {
        let later = Process::start(self.path(), self.disk.beside());
        let all: Vec<_> = self.processes.iter().chain([&later]).collect();
        for (number, process) in all.iter().enumerate() {
            let who = |wrong| format!("for process {number}: {wrong}");
            self.answers.check(&*process.store).await.map_err(who)?;
            let issues = all_issues(&*process.store).await.map_err(|error| error.to_string())?;
            let comments: Vec<_> = issues.iter().flat_map(|issue| &issue.comments).collect();
            if let Some(lost) = self
                .edits
                .iter()
                .find(|edit| !comments.iter().any(|comment| comment.text == **edit))
            {
                return Err(who(format!("{lost} is lost")));
            }
        }
        let number = self.rng.usize(0..all.len());
        let filed = self.answers.file(all[number]).await;
        filed.map_err(|error| format!("nothing follows for process {number}: {error}"))?;
        later.kill().await;
        Ok(())
    }

    /// Somebody saves what was read now or some time ago, with one more comment.
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
        self.tell(format!("somebody saves {text}"));
        self.read = Some(saved);
        self.newest_edit = Some(text);
    }

    /// Lets a process look at the newest edit, which must stay from then on.
    async fn look_at_edit(&mut self) -> Result<(), String> {
        let Some(edit) = self.newest_edit.take() else { return Ok(()) };
        let process = &self.processes[self.rng.usize(0..self.processes.len())];
        // Whoever publishes also finds what a dead process has displaced and not looked at.
        process.publish().await.map_err(|error| format!("not published: {error}"))?;
        self.tell(format!("{edit} is taken over"));
        self.edits.push(edit);
        Ok(())
    }
}
