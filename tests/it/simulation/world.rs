//! Who goes on next: all processes of a history wait at a gate before each call on the disk, and one of
//! them at a time is let through.
//!
//! Nothing here depends on the time or on which thread is faster: one thread runs, and all others wait at the
//! gate, for an operation to do, or for something that the one that runs does. So the numbers that are
//! drawn on the way, and with them the whole history, follow from the seed.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;

use fastrand::Rng;

use super::ledger::Ledger;
use super::platter::Platter;
use super::story::{Line, Verdict};
use crate::support::PATIENCE;

/// What a process does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// It has nothing to do.
    Idle,
    /// One of its threads is under way, or about to come to the gate.
    Running,
    /// One of its threads waits to be let through.
    AtGate,
}

/// The most processes. Behind each stands its guest, who asks something of it while it writes.
pub const PROCESSES: usize = 4;

/// The guest of a process.
pub fn guest_of(process: usize) -> usize {
    process + PROCESSES
}

/// Tells whether this is a guest.
pub fn is_guest(process: usize) -> bool {
    process >= PROCESSES
}

/// A simulated process, or a guest.
pub struct Process {
    pub status: Status,
    /// What it waits at the gate for.
    wanted: &'static str,
    /// Whether its calls still reach the disk; shared with its disk, since the threads of a process that died
    /// may go on for a while.
    pub is_alive: Arc<AtomicBool>,
    /// When it found a lock taken that it waits for.
    blocked_at: Option<u64>,
    /// Whether the thread that asks waits for the one that writes.
    is_parked: bool,
    /// Whether a call of the operation under way was made to fail.
    pub is_hurt: bool,
    /// Whether something failed in it that cannot be repeated.
    pub is_tainted: bool,
    /// Which of two threads that a checkpoint has goes first, and whether each is through.
    pub side_first: bool,
    is_paired: bool,
    side_done: bool,
    main_done: bool,
    /// Its temporary files, as far as they were not renamed.
    pub temps: Vec<PathBuf>,
}

impl Process {
    fn new() -> Self {
        Self {
            status: Status::Idle,
            wanted: "",
            is_alive: Arc::new(true.into()),
            blocked_at: None,
            is_parked: false,
            is_hurt: false,
            is_tainted: false,
            side_first: false,
            is_paired: false,
            side_done: false,
            main_done: false,
            temps: Vec::new(),
        }
    }

    pub fn is_alive(&self) -> bool {
        self.is_alive.load(Ordering::SeqCst)
    }
}

/// How often things go wrong by themselves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Trouble {
    /// How many calls may still fail, and how many processes may still die in one.
    pub failures: u32,
    pub deaths: u32,
    /// One in so many calls does.
    pub every: u32,
}

/// Everything about a history; whoever has the turn changes it.
pub struct State {
    pub rng: Rng,
    pub processes: Vec<Process>,
    pub platter: Platter,
    pub ledger: Ledger,
    pub trouble: Trouble,
    pub story: Vec<Line>,
    /// Why the history is wrong.
    pub wrong: Option<String>,
    turn: Option<usize>,
    /// How many more calls the process that has the turn makes before it comes to the gate again.
    budget: u32,
    /// How many calls were made, which is the time, too.
    pub calls: u64,
}

/// The gate.
pub struct World {
    state: Mutex<State>,
    /// Tells whoever lets processes through that none of them is under way.
    quiet: Condvar,
    /// Tell the threads of each process that they may go on.
    turns: Vec<Condvar>,
}

const WRITER: &str = "ait-writer";
/// The names of the threads that ask.
pub const ASKER: &str = "asker";
pub const GUEST: &str = "guest";

impl World {
    pub fn new(seed: u64) -> Self {
        let state = State {
            rng: Rng::with_seed(seed),
            processes: (0..2 * PROCESSES).map(|_| Process::new()).collect(),
            platter: Platter::default(),
            ledger: Ledger::default(),
            trouble: Trouble::default(),
            story: Vec::new(),
            wrong: None,
            turn: None,
            budget: 0,
            calls: 0,
        };
        let turns = (0..2 * PROCESSES).map(|_| Condvar::new()).collect();
        Self { state: Mutex::new(state), quiet: Condvar::new(), turns }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Waits at the gate before a call, and tells what becomes of it.
    pub fn gate(&self, me: usize, is_alive: &AtomicBool, what: &'static str) -> Verdict {
        let mut state = self.state();
        let is_dead = || !is_alive.load(Ordering::SeqCst);
        let wait = |state| self.turns[me].wait(state).unwrap();
        // What the thread that writes is given at once is committed at once.
        while thread::current().name() == Some(WRITER)
            && !is_dead()
            && !state.processes[me].is_parked
        {
            state = wait(state);
        }
        // Where something begins to count, others get a chance more often.
        if !is_dead() && what_counts(what) && state.rng.bool() {
            state.budget = 0;
        }
        loop {
            if is_dead() {
                return Verdict::Dead;
            }
            let is_mine = state.turn == Some(me) && state.processes[me].blocked_at.is_none();
            if is_mine && state.budget > 0 {
                break;
            }
            state.processes[me].status = Status::AtGate;
            state.processes[me].wanted = what;
            self.quiet.notify_one();
            state = wait(state);
        }
        state.budget -= 1;
        state.calls += 1;
        let verdict = state.verdict(me, what);
        state.tell(me, what, 0, Some(verdict));
        if verdict == Verdict::Dies {
            self.end_life(&mut state, me % PROCESSES);
        }
        verdict
    }

    /// Notes that a process has to wait for a lock: it is not let through before somebody else was.
    pub fn blocked(&self, me: usize) {
        let mut state = self.state();
        state.calls -= 1;
        state.processes[me].blocked_at = Some(state.calls);
    }

    /// Notes that the thread that asks waits for the one that writes.
    pub fn parked(&self, me: usize) {
        self.state().processes[me].is_parked = true;
        self.turns[me].notify_all();
    }

    /// Notes that a process has come to the end of what it was told to do.
    pub fn ended(&self, me: usize) {
        self.state().processes[me].status = Status::Idle;
        self.quiet.notify_one();
    }

    /// Waits until no process is under way.
    pub fn wait_until_quiet(&self) -> MutexGuard<'_, State> {
        let is_busy = |state: &mut State| {
            state.processes.iter().any(|process| process.status == Status::Running)
        };
        let (state, waited) =
            self.quiet.wait_timeout_while(self.state(), PATIENCE, is_busy).unwrap();
        if waited.timed_out() {
            let last: Vec<_> = state.story.iter().rev().take(20).collect();
            panic!("a process neither comes to the gate nor ends; at last {last:?}");
        }
        state
    }

    /// Lets a process through that waits at the gate, for so many calls.
    pub fn let_through(&self, mut state: MutexGuard<'_, State>, process: usize, calls: u32) {
        state.turn = Some(process);
        state.budget = calls;
        state.processes[process].status = Status::Running;
        state.processes[process].blocked_at = None;
        drop(state);
        self.turns[process].notify_all();
    }

    /// Kills a process. It is under way until its threads have noticed.
    pub fn kill(&self, state: &mut State, process: usize) {
        state.tell(process, "is killed", 0, None);
        self.end_life(state, process);
    }

    /// None of the calls of a process reaches the disk from now on, and its temporary files stay there.
    fn end_life(&self, state: &mut State, process: usize) {
        let State { processes, platter, .. } = state;
        processes[process].is_alive.store(false, Ordering::SeqCst);
        processes[process].temps.drain(..).for_each(|temp| platter.keep_temp(&temp));
        for asker in [process, guest_of(process)] {
            if processes[asker].status == Status::AtGate {
                processes[asker].status = Status::Running;
            }
            self.turns[asker].notify_all();
        }
    }

    /// Lets one of the two threads of a checkpoint wait until the other one is through.
    pub fn wait_for_other(&self, me: usize, is_alive: &AtomicBool, is_side: bool) {
        let mut state = self.state();
        state.processes[me].is_paired |= !is_side;
        let waits = |process: &Process| {
            let other_first = process.side_first != is_side;
            let is_done = if is_side { process.main_done } else { process.side_done };
            other_first && !is_done && is_alive.load(Ordering::SeqCst)
        };
        while waits(&state.processes[me]) {
            state = self.turns[me].wait(state).unwrap();
        }
    }

    /// Notes that one of the two threads of a checkpoint is through.
    pub fn through(&self, me: usize, is_side: bool) {
        let mut state = self.state();
        let process = &mut state.processes[me];
        process.side_done |= is_side;
        process.main_done |= !is_side && process.is_paired;
        self.turns[me].notify_all();
    }
}

fn what_counts(call: &str) -> bool {
    matches!(
        call,
        "write_at" | "sync_data" | "exchange" | "replace" | "sync_directory" | "truncate"
    )
}

impl State {
    pub fn tell(
        &mut self,
        process: usize,
        what: &'static str,
        detail: u64,
        verdict: Option<Verdict>,
    ) {
        self.story.push(Line { process, what, detail, verdict });
    }

    /// Takes note of the first thing that is wrong.
    pub fn check(&mut self, checked: Result<(), String>) {
        if let Err(wrong) = checked {
            self.wrong.get_or_insert(wrong);
        }
    }

    /// Notes that a process begins to do something.
    pub fn begin(&mut self, process: usize) {
        let process = &mut self.processes[process];
        process.status = Status::Running;
        (process.is_parked, process.is_hurt) = (false, false);
    }

    /// Notes that a process makes ready for a checkpoint.
    pub fn begin_temp(&mut self, process: usize, temp: PathBuf) {
        let process = &mut self.processes[process];
        (process.is_paired, process.side_done, process.main_done) = (false, false, false);
        process.temps.push(temp);
    }

    /// The processes that can be let through.
    pub fn at_gate(&self) -> Vec<usize> {
        let is_ready = |&it: &usize| {
            let process = &self.processes[it];
            process.status == Status::AtGate
                && process.blocked_at.is_none_or(|blocked_at| blocked_at < self.calls)
                && (is_guest(it) || self.processes[guest_of(it)].status == Status::Idle)
        };
        (0..self.processes.len()).filter(is_ready).collect()
    }

    /// The processes that write, holding nothing back that a guest would have to wait for.
    pub fn hosts(&self) -> Vec<usize> {
        let is_host = |&it: &usize| {
            let process = &self.processes[it];
            process.status == Status::AtGate && matches!(process.wanted, "write_at" | "sync_data")
        };
        (0..PROCESSES).filter(is_host).collect()
    }

    /// Tells whether somebody waits at the gate for a call.
    pub fn is_wanted(&self, call: &str) -> bool {
        self.at_gate().iter().any(|process| self.processes[*process].wanted == call)
    }

    /// The processes in a status.
    pub fn all(&self, status: Status) -> Vec<usize> {
        (0..self.processes.len()).filter(|&it| self.processes[it].status == status).collect()
    }

    /// To be called when nobody can be let through.
    pub fn check_for_deadlock(&mut self) {
        if self.all(Status::Idle).len() < self.processes.len() {
            self.check(Err("everybody waits for a lock".to_owned()));
        }
    }

    /// What becomes of a call.
    fn verdict(&mut self, me: usize, what: &'static str) -> Verdict {
        let Trouble { failures, deaths, every } = self.trouble;
        // These cannot tell that they failed.
        let is_silent = matches!(what, "remove_stale_temps" | "pause");
        let before = self.story.iter().rev().find(|line| line.process == me).map(|line| line.what);
        // What can do the most harm goes wrong the most often.
        let every = match what {
            _ if before == Some("exchange") => every / 10,
            _ if what_counts(what) => every / 4,
            _ => every,
        };
        if failures + deaths == 0 || self.rng.u32(0..every) > 0 {
            return Verdict::Goes;
        }
        if self.rng.u32(0..failures + deaths) < deaths {
            self.trouble.deaths -= 1;
            self.ledger.tally.deaths += 1;
            return Verdict::Dies;
        }
        if is_silent {
            return Verdict::Goes;
        }
        self.trouble.failures -= 1;
        let process = &mut self.processes[me];
        process.is_hurt = true;
        process.is_tainted |= matches!(what, "sync_data" | "sync_directory" | "truncate");
        Verdict::Fails
    }

    /// Begins the life of a process anew.
    pub fn revive(&mut self, process: usize) -> Arc<AtomicBool> {
        let side_first = self.rng.bool();
        let is_alive = Arc::new(true.into());
        for asker in [process, guest_of(process)] {
            let is_alive = Arc::clone(&is_alive);
            self.processes[asker] = Process { side_first, is_alive, ..Process::new() };
        }
        is_alive
    }
}
