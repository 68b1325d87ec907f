//! What the processes of a history are told to do, about few issues, so that they meet; and what that comes to.

use agent_issue_tracker::domain::{
    AgentName, Classification, Command, Description, Issue, IssueRef, Resolution, Timestamp, Title,
};
use agent_issue_tracker::store::IssueStore;
use fastrand::Rng;
use serde_json::Value;

use super::world::State;
use crate::support::commands::{at, comment, number};

/// How many different issues most commands are about.
pub const ISSUES: u32 = 6;

/// What a process is told to do.
#[derive(Clone, Debug)]
pub enum Operation {
    /// All at once, so that they share a commit.
    Change(Vec<Command>),
    Get(IssueRef),
    List,
    /// Bring `issues.json` up to date.
    Save,
    /// Come to an end.
    Close,
}

/// Files an issue.
pub fn add(n: u32, process: usize) -> Command {
    Command::AddIssue {
        id: number(n),
        title: Title::try_from(format!("issue {n}")).unwrap(),
        description: Description::try_from("").unwrap(),
        classification: Classification::ALL[n as usize % 2],
        agent: agent(process),
    }
}

fn agent(process: usize) -> AgentName {
    AgentName::try_from(format!("agent {process}")).unwrap()
}

/// What a process is told to do.
pub fn operation(state: &mut State, process: usize) -> Operation {
    match state.rng.u8(0..20) {
        0..2 => Operation::List,
        2 => Operation::Get(any_issue(&mut state.rng)),
        3..6 => Operation::Save,
        6 => Operation::Close,
        7..10 => {
            let count = state.rng.usize(2..5);
            Operation::Change((0..count).map(|_| command(state, process)).collect())
        }
        _ => Operation::Change(vec![command(state, process)]),
    }
}

/// Any of the issues, which need not be there.
pub fn any_issue(rng: &mut Rng) -> IssueRef {
    IssueRef::from(number(rng.u32(0..ISSUES)))
}

/// A command about one of few issues, so that they meet; mostly one that is possible now.
fn command(state: &mut State, process: usize) -> Command {
    let command = any_command(&mut state.rng, process);
    match state.ledger.last().decide(&command, at(0)) {
        Ok(Some(_)) => command,
        _ => any_command(&mut state.rng, process),
    }
}

fn any_command(rng: &mut Rng, process: usize) -> Command {
    let (agent, comment) = (agent(process), comment());
    match rng.u8(0..12) {
        0..3 => add(rng.u32(0..ISSUES), process),
        3..6 => {
            let classification = rng.bool().then(|| Classification::ALL[rng.usize(0..2)]);
            Command::GetNextIssue { classification, agent }
        }
        6 => Command::GetNextReviewItem { agent },
        7..9 => Command::ReturnIssue { issue: any_issue(rng), comment, agent },
        9 => Command::CompleteIssue { issue: any_issue(rng), comment, agent },
        10 => Command::CommentIssue { issue: any_issue(rng), comment, agent },
        _ => {
            let resolution = Resolution::ALL[rng.usize(0..Resolution::ALL.len())];
            Command::CloseIssue { issue: any_issue(rng), resolution, comment, agent }
        }
    }
}

/// Tells whether a command gives somebody an issue.
pub fn is_claim(command: &Command) -> bool {
    matches!(command, Command::GetNextIssue { .. } | Command::GetNextReviewItem { .. })
}

/// The issue that nobody holds any more once a command is decided.
pub fn freed_by(command: &Command) -> Option<&IssueRef> {
    match command {
        Command::ReturnIssue { issue, .. }
        | Command::CompleteIssue { issue, .. }
        | Command::CloseIssue { issue, .. } => Some(issue),
        _ => None,
    }
}

/// What a command comes to.
pub type Outcome = Result<Option<Issue>, String>;

/// Whether a process may say that it could not do something.
#[derive(Clone, Copy, Debug)]
pub struct Excuse {
    /// One of its calls was made to fail meanwhile.
    pub is_hurt: bool,
}

/// What a command comes to that changes nothing; a change is none of its answers.
pub fn outcome(state: &IssueStore, command: &Command, now: Timestamp) -> Outcome {
    match state.decide(command, now) {
        Ok(None) => Ok(None),
        Ok(Some(_)) => Err("a change".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// The JSON of the frames in some bytes of a journal.
pub fn frames(bytes: &[u8]) -> Vec<Value> {
    const PREFIX_BYTES: usize = "crc8hex8 len8hex8 ".len();
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(&line[PREFIX_BYTES..]).unwrap()).collect()
}
