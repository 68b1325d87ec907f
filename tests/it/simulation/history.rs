//! One history: what the processes are told to do, who goes on next, and what goes wrong, all of it from a
//! seed.

use std::path::PathBuf;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use agent_issue_tracker::domain::{Command, Issue};
use agent_issue_tracker::store::json::JsonStoreOptions;
use agent_issue_tracker::store::json::fs::RealFileSystem;
use agent_issue_tracker::store::{JsonStore, Store, StoreError};
use fastrand::Rng;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::asker::{Asker, issues_in};
use super::disk::Disk;
use super::editor::{Editor, Edits};
use super::facts::Facts;
use super::ledger::issues;
use super::neglect::Neglect;
use super::operation::{ISSUES, Operation, add, any_issue, operation};
use super::platter::is_marked;
use super::story::Line;
use super::tally::Tally;
use super::world::{ASKER, GUEST, PROCESSES, State, Status, Trouble, World, guest_of};
use crate::support::commands::at;
use crate::support::directory_in_memory;
use crate::support::files::names;
use crate::support::power::Fate;

/// More calls than any history makes.
const MAX_CALLS: u64 = 50_000;
const NEVER: Duration = Duration::from_secs(3600);

/// What does the work of one history after the other.
pub struct Stage {
    runtime: Runtime,
    askers: Vec<Asker>,
}

/// What became of a history.
pub struct Report {
    pub story: Vec<Line>,
    pub tally: Tally,
    pub wrong: Option<String>,
}

impl Default for Stage {
    fn default() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = { runtime }.worker_threads(1).enable_time().build().unwrap();
        let start = |name| Asker::start(name, runtime.handle().clone());
        let names = [[ASKER; PROCESSES], [GUEST; PROCESSES]];
        let askers = names.as_flattened().iter().map(|name| start(name)).collect();
        Self { runtime, askers }
    }
}

impl Stage {
    /// Plays the history of a seed.
    pub fn play(&self, seed: u64, edits: Edits, neglect: Neglect) -> Report {
        let mut history = History::new(self, seed, edits, neglect);
        while history.step() {}
        history.end()
    }
}

/// A history under way.
struct History<'a> {
    stage: &'a Stage,
    world: Arc<World>,
    directory: TempDir,
    neglect: Neglect,
    stores: Vec<Option<Arc<JsonStore>>>,
    /// How many operations are still to be begun.
    operations: u32,
    /// How many power cuts there may still be.
    cuts: u32,
    /// How many edits there may still be.
    edits: u32,
    editor: Editor,
    next_time: i64,
    next_issue: u32,
}

impl<'a> History<'a> {
    fn new(stage: &'a Stage, seed: u64, edits: Edits, neglect: Neglect) -> Self {
        let mut rng = Rng::with_seed(seed);
        let processes = rng.usize(2..=PROCESSES);
        let operations = rng.u32(4..=24);
        let cuts = rng.u32(0..3);
        let world = Arc::new(World::new(rng.u64(..)));
        world.state().trouble = Trouble {
            failures: [0, 0, 1, 3][rng.usize(0..4)],
            deaths: [0, 1, 2][rng.usize(0..3)],
            every: [20, 60, 200][rng.usize(0..3)],
        };
        let (directory, stores) = (directory_in_memory(), vec![None; processes]);
        let edits = match edits {
            Edits::Alone => [0, 0, 0, 1, 2][rng.usize(0..5)],
            Edits::Meanwhile => {
                world.state().ledger.facts = Some(Facts::default());
                rng.u32(1..8)
            }
        };
        let (editor, next_time, next_issue) = (Editor::default(), 0, ISSUES);
        Self {
            stage,
            world,
            directory,
            neglect,
            stores,
            operations,
            cuts,
            edits,
            editor,
            next_time,
            next_issue,
        }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("issues.json")
    }

    /// Does the next thing; false when there is nothing left to do, or something is wrong.
    fn step(&mut self) -> bool {
        let world = Arc::clone(&self.world);
        let mut state = world.wait_until_quiet();
        self.bury(&mut state);
        if state.wrong.is_some() {
            return false;
        }
        let (ready, mut idle) = (state.at_gate(), state.all(Status::Idle));
        idle.retain(|process| *process < self.stores.len());
        if state.calls > MAX_CALLS {
            state.wrong = Some("it does not come to an end".to_owned());
            return false;
        }
        // What could not be made durable is of interest before somebody else makes it so.
        let is_tainted = state.processes.iter().any(|process| process.is_tainted);
        if self.cuts > 0 && state.rng.u32(0..if is_tainted { 10 } else { 100 }) == 0 {
            self.cuts -= 1;
            self.cut_power(state);
            return true;
        }
        if state.rng.u32(0..60) == 0 {
            self.editor.touch(&mut state, self.directory.path());
        }
        let meanwhile = state.ledger.facts.is_some();
        // Between the last look at the file and its replacement, an edit can do the most harm.
        let every = if state.is_wanted("exchange") { 3 } else { 20 };
        if self.edits > 0 && state.rng.u32(0..if meanwhile { every } else { 100 }) == 0 {
            if !meanwhile {
                self.edits -= 1;
                self.edit(state);
                return true;
            }
            self.edits -= u32::from(self.editor.edit_meanwhile(&mut state, self.directory.path()));
        }
        let hosts = state.hosts();
        if !hosts.is_empty() && state.rng.u32(0..12) == 0 {
            let host = hosts[state.rng.usize(0..hosts.len())];
            self.visit(state, host);
            return true;
        }
        let begins = self.operations > 0 && !idle.is_empty();
        if begins && (ready.is_empty() || state.rng.u32(0..3) == 0) {
            let process = idle[state.rng.usize(0..idle.len())];
            self.begin(state, process);
        } else if !ready.is_empty() {
            let process = ready[state.rng.usize(0..ready.len())];
            let calls = [1, 1, 2, 4, 10, 40][state.rng.usize(0..6)];
            world.let_through(state, process, calls);
        } else {
            state.check_for_deadlock();
            return false;
        }
        true
    }

    /// Takes leave of processes that died or have come to their end.
    fn bury(&mut self, state: &mut State) {
        for process in state.all(Status::Idle) {
            state.ledger.ended(process);
            if process < self.stores.len() && !state.processes[process].is_alive() {
                self.stores[process] = None;
            }
        }
    }

    /// Tells a process that has nothing to do what to do.
    fn begin(&mut self, mut state: MutexGuard<'_, State>, process: usize) {
        self.operations -= 1;
        let operation = match &self.stores[process] {
            None => {
                let store = self.open(&mut state, process);
                self.stores[process] = Some(Arc::new(store));
                operation(&mut state, process)
            }
            Some(_) => operation(&mut state, process),
        };
        self.ask(state, process, operation);
    }

    /// Asks something of a process while it writes.
    fn visit(&mut self, mut state: MutexGuard<'_, State>, host: usize) {
        let guest = guest_of(host);
        let is_free = state.processes[guest].status == Status::Idle;
        // One that comes to its end is not to be asked any more.
        if !is_free || self.stores[host].is_none() {
            return;
        }
        state.ledger.tally.visits += 1;
        let operation = match state.rng.bool() {
            true => Operation::List,
            false => Operation::Get(any_issue(&mut state.rng)),
        };
        self.ask(state, guest, operation);
    }

    fn ask(&mut self, mut state: MutexGuard<'_, State>, process: usize, operation: Operation) {
        self.next_time += 1;
        let now = at(self.next_time);
        let (commands, what): (&[Command], _) = match &operation {
            Operation::Change(commands) => (commands, "begins changes"),
            Operation::Get(_) => (&[], "begins a get"),
            Operation::List => (&[], "begins a list"),
            Operation::Save => (&[], "begins a save"),
            Operation::Close => (&[], "begins to end"),
        };
        state.tell(process, what, commands.len() as u64, None);
        state.ledger.begun(process, commands, now);
        state.begin(process);
        let store = match operation {
            Operation::Close => self.stores[process].take(),
            _ => self.stores[process % PROCESSES].clone(),
        };
        drop(state);
        self.stage.askers[process].ask(&self.world, process, &store.unwrap(), operation, now);
    }

    fn open(&self, state: &mut State, process: usize) -> JsonStore {
        let is_alive = state.revive(process);
        let disk = Disk::new(&self.world, process, is_alive, self.neglect);
        let options = JsonStoreOptions {
            busy_after: NEVER,
            checkpoint_after: NEVER,
            reads_in_place: true,
            last_checkpoint: NEVER,
            second_look_after: Duration::ZERO,
            aside_from_bytes: if state.rng.bool() { 0 } else { u64::MAX },
        };
        JsonStore::with(self.path(), Arc::new(disk), options)
    }

    /// Kills everybody.
    fn kill_all(&mut self, mut state: MutexGuard<'_, State>) {
        let world = Arc::clone(&self.world);
        for process in 0..self.stores.len() {
            world.kill(&mut state, process);
        }
        drop(state);
        self.bury(&mut world.wait_until_quiet());
    }

    fn cut_power(&mut self, state: MutexGuard<'_, State>) {
        self.kill_all(state);
        let mut state = self.world.state();
        let seed = state.rng.u64(..);
        let fate = match state.rng.u8(0..4) {
            0 => Fate::Lost,
            1 => Fate::Kept,
            _ => Fate::Mixed { seed },
        };
        state.tell(0, "the power is cut", 0, None);
        state.platter.cut_power(self.directory.path(), fate);
        state.ledger.tally.cuts += 1;
        self.note_kept(&mut state);
        let survived = match self.look() {
            Ok(found) => state.ledger.survived(&found),
            Err(error) => Err(format!("after a power cut: {error}")),
        };
        state.check(survived);
    }

    /// The issues as somebody finds them who comes now.
    fn look(&self) -> Result<Vec<Issue>, StoreError> {
        let options = JsonStoreOptions {
            reads_in_place: true,
            second_look_after: Duration::ZERO,
            ..Default::default()
        };
        let store = JsonStore::with(self.path(), Arc::new(RealFileSystem), options);
        let page = self.stage.runtime.block_on(store.holdings())?;
        match page.damage {
            Some(why) => Err(StoreError::Damaged(why)),
            None => Ok(issues(&page.document.issues)),
        }
    }

    /// Takes note of what was kept of edits, or will be by the next process that writes.
    fn note_kept(&self, state: &mut State) {
        let Some(facts) = &mut state.ledger.facts else { return };
        let is_kept = |name: &String| name.contains(".hand-") || is_marked(name);
        let kept = names(self.directory.path()).into_iter().filter(is_kept);
        let kept = kept.map(|name| issues_in(&self.directory.path().join(name)));
        facts.kept = kept.flatten().collect();
    }

    /// Lets everybody come to an end, and looks at what is left.
    fn end(mut self) -> Report {
        let world = Arc::clone(&self.world);
        if world.wait_until_quiet().wrong.is_none() {
            self.end_well();
        }
        self.kill_all(world.wait_until_quiet());
        let mut state = world.state();
        state.ledger.tally.histories = 1;
        state.ledger.tally.calls = state.calls as usize;
        let (story, wrong) = (std::mem::take(&mut state.story), state.wrong.take());
        Report { story, wrong, tally: state.ledger.tally }
    }

    fn end_well(&mut self) {
        self.put_in_order();
        let mut state = self.world.state();
        self.note_kept(&mut state);
        let found = self.look().map_err(|error| error.to_string());
        let found = found.and_then(|found| state.ledger.is_now(&found));
        state.check(found);
        let temps = names(self.directory.path());
        if let Some(temp) = temps.iter().find(|name| name.ends_with(".tmp")) {
            state.check(Err(format!("{temp} was left behind")));
        }
    }

    /// Lets everybody come to an end undisturbed, and a last one make everything tidy.
    fn put_in_order(&mut self) {
        self.world.state().trouble = Trouble::default();
        self.run();
        // One that died left no store.
        let world = Arc::clone(&self.world);
        self.bury(&mut world.state());
        for process in (0..self.stores.len()).rev() {
            if self.stores[process].is_some() {
                self.finish(process, Operation::Close);
            }
        }
        let mut state = self.world.state();
        self.stores[0] = Some(Arc::new(self.open(&mut state, 0)));
        drop(state);
        let last = add(self.next_issue, 0);
        self.next_issue += 1;
        for operation in [Operation::Change(vec![last]), Operation::Save, Operation::Close] {
            self.finish(0, operation);
        }
    }

    /// Edits `issues.json` when no process runs and the journal is empty.
    fn edit(&mut self, mut state: MutexGuard<'_, State>) {
        let trouble = std::mem::take(&mut state.trouble);
        drop(state);
        self.put_in_order();
        let mut state = self.world.state();
        if state.wrong.is_none() {
            let journal = std::fs::read(self.directory.path().join("issues.json.journal")).unwrap();
            let is_empty = journal.iter().filter(|byte| **byte == b'\n').count() == 1;
            state.check(is_empty.then_some(()).ok_or("the journal is not empty".to_owned()));
            let is_written = self.neglect != Neglect::Edit;
            self.editor.edit(&mut state, self.directory.path(), is_written);
        }
        state.trouble = trouble;
    }

    /// Lets a process do something, alone.
    fn finish(&mut self, process: usize, operation: Operation) {
        let world = Arc::clone(&self.world);
        self.ask(world.state(), process, operation);
        self.run();
    }

    /// Lets everybody come to the end of what they do.
    fn run(&mut self) {
        let world = Arc::clone(&self.world);
        loop {
            let mut state = world.wait_until_quiet();
            let Some(&process) = state.at_gate().first() else {
                state.check_for_deadlock();
                return;
            };
            world.let_through(state, process, u32::MAX);
        }
    }
}
