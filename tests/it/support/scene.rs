//! Processes on one store, their changes and the results.
//!
//! Each change has its own agent. The change is part of the store exactly if the issue contains the name of that agent.

use std::collections::HashSet;
use std::path::Path;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use agent_issue_tracker::domain::{
    AgentName, Classification, Command, CommentText, Description, Facts, Issue, IssueId, IssueRef,
    Title,
};
use agent_issue_tracker::store::files::StoreOptions;
use agent_issue_tracker::store::{SqliteStore, Store, StoreError};
use tokio::runtime::Builder;

use super::PATIENCE;
use super::commands::{at, number};
use super::disk::Disk;
use super::stores::{all_issues, apply, open_with, quiet};

/// A process on a store.
#[derive(Clone)]
pub struct Process {
    pub disk: Arc<Disk>,
    pub store: Arc<SqliteStore>,
}

impl Process {
    pub fn start(directory: &Path, disk: Arc<Disk>) -> Self {
        Self::start_with(directory, disk, quiet())
    }

    pub fn start_with(directory: &Path, disk: Arc<Disk>, options: StoreOptions) -> Self {
        let store = Arc::new(open_with(directory, &disk, options));
        Self { disk, store }
    }

    /// Another process on the same disk.
    pub fn beside(&self, directory: &Path) -> Self {
        Self::start(directory, self.disk.beside())
    }

    /// Publishes. On a busy machine another process may write for longer than the store waits.
    pub async fn publish(&self) -> Result<(), StoreError> {
        let begun = Instant::now();
        loop {
            match self.store.maintenance().publish().await {
                Err(StoreError::Busy(_)) if begun.elapsed() < PATIENCE => {}
                published => return published,
            }
        }
    }

    /// Ends the process without any further call.
    pub async fn kill(&self) {
        self.disk.unhook();
        self.disk.die_at(1);
        self.store.close().await;
    }
}

/// How long a paused process waits for a visitor, which may itself wait for a lock that the process holds.
const VISIT: Duration = Duration::from_millis(25);

/// An action that runs while a process is paused at a call.
#[derive(Default)]
pub struct Visit(Arc<Mutex<Option<JoinHandle<()>>>>);

impl Visit {
    /// Runs an action on another thread, from a hook.
    pub fn now<F: Future<Output = ()>>(act: impl FnOnce() -> F + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(Some(start(act)))))
    }

    /// Waits for the end of the action. Can be used in a hook.
    pub fn join(self) {
        self.0.lock().unwrap().take().unwrap().join().unwrap();
    }
}

/// Starts an action, and waits a moment for its end.
fn start<F: Future<Output = ()>>(act: impl FnOnce() -> F + Send + 'static) -> JoinHandle<()> {
    let (done, is_done) = channel();
    let handle = thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(act());
        let _ = done.send(());
    });
    let _ = is_done.recv_timeout(VISIT);
    handle
}

/// The outcome of a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    Pending,
    Confirmed(IssueId),
    /// Nothing changed, because the change was refused or had nothing to do.
    Refused,
    Uncertain,
}

/// The changes of a test and their outcomes.
#[derive(Default)]
pub struct Answers {
    changes: Mutex<Vec<Outcome>>,
}

impl Answers {
    /// Makes a change with its own agent and number.
    pub async fn change(
        &self,
        process: &Process,
        command: impl FnOnce(AgentName, u32) -> Command,
    ) -> Result<Option<Arc<Issue>>, StoreError> {
        let n = {
            let mut changes = self.changes.lock().unwrap();
            changes.push(Outcome::Pending);
            changes.len() as u32 - 1
        };
        let command = command(AgentName::try_from(agent_of(n as usize)).unwrap(), n);
        let result = apply(&*process.store, command, at(i64::from(n))).await;
        let outcome = match &result {
            // A dead process returns no result.
            _ if process.disk.trouble.is_dead() => Outcome::Uncertain,
            Ok(Some(issue)) => Outcome::Confirmed(issue.id),
            Ok(None) => Outcome::Refused,
            Err(StoreError::Uncertain(_)) => Outcome::Uncertain,
            Err(_) => Outcome::Refused,
        };
        self.changes.lock().unwrap()[n as usize] = outcome;
        result
    }

    pub async fn file(&self, process: &Process) -> Result<Option<Arc<Issue>>, StoreError> {
        self.change(process, |agent, n| file(agent, n, "")).await
    }

    pub async fn claim(&self, process: &Process) -> Result<Option<Arc<Issue>>, StoreError> {
        let claim = |agent, _| Command::GetNextIssue {
            issue: None,
            classification: None,
            agent,
            terms: Default::default(),
        };
        self.change(process, claim).await
    }

    /// Returns, completes or comments an issue.
    pub async fn change_issue(
        &self,
        process: &Process,
        issue: IssueId,
        kind: u8,
    ) -> Result<Option<Arc<Issue>>, StoreError> {
        let (issue, comment) = (IssueRef::from(issue), CommentText::try_from("c").unwrap());
        self.change(process, move |agent, _| match kind % 3 {
            0 => Command::ReturnIssue { issue, comment, agent, required_claim: Default::default() },
            1 => Command::CompleteIssue {
                issue,
                comment,
                agent,
                required_claim: Default::default(),
                facts: Facts::default(),
            },
            _ => Command::CommentIssue { issue, comment, agent },
        })
        .await
    }

    /// Records the last change as refused.
    pub fn mark_last_change_refused(&self) {
        *self.changes.lock().unwrap().last_mut().unwrap() = Outcome::Refused;
    }

    /// Checks the issues of a store against the outcomes.
    pub async fn check(&self, store: &dyn Store) -> Result<(), String> {
        let issues = all_issues(store).await.map_err(|error| format!("unreadable: {error}"))?;
        self.check_issues(&issues)
    }

    fn check_issues(&self, issues: &[Arc<Issue>]) -> Result<(), String> {
        let mut once = HashSet::new();
        if let Some(twice) = issues.iter().find(|issue| !once.insert(issue.id)) {
            return Err(format!("{} is stored twice", twice.id));
        }
        for issue in issues {
            let mut holder: Option<&str> = None;
            for entry in &issue.history {
                if entry.action.starts_with("Issue claimed") {
                    if let Some(holder) = holder.replace(&entry.agent) {
                        let agent = &entry.agent;
                        return Err(format!("{} was claimed by {holder} and {agent}", issue.id));
                    }
                } else if !["Issue edited by hand", "Comment added"].contains(&&*entry.action) {
                    holder = None;
                }
            }
        }
        let traces: HashSet<(IssueId, &str)> =
            issues.iter().flat_map(|issue| traces(issue)).collect();
        let agents: HashSet<&str> = traces.iter().map(|(_, agent)| *agent).collect();
        for (n, outcome) in self.changes.lock().unwrap().iter().enumerate() {
            let agent = agent_of(n);
            match outcome {
                Outcome::Confirmed(id) if !traces.contains(&(*id, &agent)) => {
                    return Err(format!("change {n} of {id} was confirmed and is lost"));
                }
                Outcome::Refused if agents.contains(&*agent) => {
                    return Err(format!("change {n} was refused and is stored"));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Files issue `n` with a description.
pub fn file(agent: AgentName, n: u32, description: &str) -> Command {
    Command::AddIssue {
        id: number(n),
        title: Title::try_from(format!("issue {n}")).unwrap(),
        description: Description::try_from(description).unwrap(),
        classification: Classification::Bug,
        details: Box::default(),
        agent,
    }
}

fn agent_of(n: usize) -> String {
    format!("agent-{n}")
}

/// Returns the agents that changed an issue.
fn traces(issue: &Issue) -> impl Iterator<Item = (IssueId, &str)> {
    let agents = issue.history.iter().map(|entry| entry.agent.as_str());
    let comments = issue.comments.iter().map(|comment| comment.agent.as_str());
    agents.chain(comments).map(|agent| (issue.id, agent))
}
