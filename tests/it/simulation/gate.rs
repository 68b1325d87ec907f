//! One call at a time: several processes pause before each call, and a scheduler resumes one of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};

use tokio::runtime::Builder;

use crate::support::scene::Process;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Status {
    Running,
    AtCall,
    Done,
}

#[derive(Default)]
struct State {
    processes: BTreeMap<usize, Status>,
    /// The number of threads of each process that wait for its turn: the working thread and background threads.
    waiting: BTreeMap<usize, usize>,
    /// The process whose turn it is.
    turn: Option<usize>,
}

impl State {
    /// Returns true if a process has started an action and not finished it.
    fn is_working(&self, number: usize) -> bool {
        self.processes.get(&number).is_some_and(|status| *status != Status::Done)
    }
}

#[derive(Clone, Default)]
pub struct Gate(Arc<(Mutex<State>, Condvar)>);

impl Gate {
    /// Pauses a process before each call.
    pub fn guard(&self, number: usize, process: &Process) {
        let gate = self.clone();
        process.disk.never_wait_for_locks();
        process.disk.hook(move |_| gate.wait_for_turn(number));
    }

    fn wait_for_turn(&self, number: usize) {
        let (state, changed) = &*self.0;
        let mut state = state.lock().unwrap();
        // Background work after the response is not paused.
        if !state.is_working(number) {
            return;
        }
        *state.waiting.entry(number).or_default() += 1;
        state.processes.insert(number, Status::AtCall);
        changed.notify_all();
        while state.turn != Some(number) && state.is_working(number) {
            state = changed.wait(state).unwrap();
        }
        if state.turn == Some(number) {
            state.turn = None;
        }
        let waiting = state.waiting.entry(number).or_default();
        *waiting -= 1;
        if *waiting == 0 && state.is_working(number) {
            state.processes.insert(number, Status::Running);
        }
        changed.notify_all();
    }

    /// Starts an action of a process, up to its first call.
    pub fn start<F: Future<Output = ()>>(
        &self,
        number: usize,
        act: impl FnOnce() -> F + Send + 'static,
    ) -> JoinHandle<()> {
        self.0.0.lock().unwrap().processes.insert(number, Status::Running);
        let gate = self.clone();
        thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(act());
            let (state, changed) = &*gate.0;
            state.lock().unwrap().processes.insert(number, Status::Done);
            changed.notify_all();
        })
    }

    /// Waits until every process is paused at a call or done. Returns the paused ones.
    pub fn waiting(&self) -> Vec<usize> {
        let (state, changed) = &*self.0;
        let mut state = state.lock().unwrap();
        while state.turn.is_some()
            || state.processes.values().any(|status| *status == Status::Running)
        {
            state = changed.wait(state).unwrap();
        }
        state
            .processes
            .iter()
            .filter(|(_, status)| **status == Status::AtCall)
            .map(|(n, _)| *n)
            .collect()
    }

    /// Lets a paused process make its call.
    pub fn go_on(&self, number: usize) {
        let (state, changed) = &*self.0;
        state.lock().unwrap().turn = Some(number);
        changed.notify_all();
    }

    /// Resumes all processes and pauses them no more.
    pub fn clear(&self) {
        let (state, changed) = &*self.0;
        let mut state = state.lock().unwrap();
        state.processes.clear();
        state.turn = None;
        changed.notify_all();
    }
}
