//! What the processes of a history are told to do, about few issues, so that they meet.

use agent_issue_tracker::domain::{
    AgentName, Classification, Command, Description, IssueRef, Resolution, Title,
};
use fastrand::Rng;

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
