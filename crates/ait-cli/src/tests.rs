//! Tests of what all commands have in common.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use tokio::time::Instant;

use super::{CommandContext, ExitStatus, Output, QueueCommand, SyncContext, run};
use ait_domain::{
    AgentName, ClaimProof, Classification, Facts, Issue, IssueChange, LinkKind, Question,
};
use ait_query::SavedQueries;
use ait_store::Store;
use ait_store::testing::{Reads, TestStore};
use ait_tracker::{NewIssue, Tracker};

/// How long a command may wait for what it prints besides the change.
const PATIENCE: Duration = Duration::from_secs(10);

/// The commands that change issues. `ID` is an issue as the word before says, `OTHER` another one.
const CHANGES: [&str; 20] = [
    "created: add new",
    "created: next",
    "created: next --wait 9s",
    "created: claim ID",
    "held: release ID",
    "held: return ID -m no",
    "held: complete ID -m done",
    "completed: review",
    "created: close ID -m done",
    "created: edit ID -p 1",
    "created: bulk is:open -p 1 --yes",
    "created: undo 1 --yes",
    "created: undo --last --yes",
    "created: comment ID -m seen",
    "created: link ID related OTHER",
    "linked: unlink ID blocked-by OTHER",
    "created: park ID -m later",
    "parked: unpark ID",
    "held: ask ID which",
    "asked: answer ID this",
];

#[derive(Parser)]
struct CommandLine {
    #[command(subcommand)]
    command: QueueCommand,
}

async fn file(tracker: &Tracker) -> Arc<Issue> {
    let title = "t".try_into().unwrap();
    let text = "".try_into().unwrap();
    let issue = NewIssue::new(title, text, Classification::Bug);
    tracker.add_issue(issue, "b".try_into().unwrap()).await.unwrap().issue
}

/// Files two issues, and changes the first one as a word says. Returns them.
async fn prepare(tracker: &Tracker, state: &str) -> [Arc<Issue>; 2] {
    let [issue, other] = [file(tracker).await, file(tracker).await];
    let agent = AgentName::try_from("b").unwrap();
    let proof = ClaimProof::default();
    let reason = || "done".try_into().unwrap();
    let id = issue.id;
    let change = match state {
        "linked" => IssueChange {
            links_add: vec![(LinkKind::BlockedBy, other.id.into())],
            ..IssueChange::default()
        },
        "parked" => IssueChange { parked: Some(Some((reason(), None))), ..IssueChange::default() },
        _ => IssueChange::default(),
    };
    let changed = match state {
        "created" => return [issue, other],
        "held" => tracker.claim_issue(id.into(), agent).await,
        "completed" => {
            tracker.complete_issue(id.into(), reason(), agent, proof, Facts::default()).await
        }
        "asked" => {
            let question = Question::new("which", &[]).unwrap();
            tracker.ask_human(id.into(), question, agent, proof).await
        }
        _ => tracker.change_issue(id.into(), change, agent).await,
    };
    [changed.unwrap().issue, other]
}

#[tokio::test(start_paused = true)]
async fn a_command_succeeds_if_nothing_can_be_read_after_its_commit() {
    for (line, reads, format) in CHANGES.into_iter().flat_map(|line| {
        let all = [Reads::FailAfterCommit, Reads::StallAfterCommit];
        all.into_iter().flat_map(move |reads| [(line, reads, ""), (line, reads, " --json")])
    }) {
        let store = Arc::new(TestStore::new(|_| ()));
        let tracker = Tracker::new(Arc::clone(&store) as Arc<dyn Store>);
        let (state, words) = line.split_once(": ").unwrap();
        let [issue, other] = prepare(&tracker, state).await;
        let words = words.replace("ID", &issue.id.short()).replace("OTHER", &other.id.short());
        let words = format!("ait {words} -a b{format}");
        let command = CommandLine::parse_from(words.split(' ')).command;
        let saved_queries = SavedQueries::default();
        let nowhere = Path::new("");
        let syncs = SyncContext { settings: &[], project: nowhere, directory: nowhere };
        let newest = tracker.watch();
        let before = *newest.borrow();
        store.set_reads(reads);
        let begun = Instant::now();
        let output = Output::discarded();
        let context = CommandContext {
            tracker: &tracker,
            maintenance: None,
            saved_queries: &saved_queries,
            syncs,
            default_agent: None,
            output: &output,
        };
        let ended = run(&command, &context).await;
        assert!(begun.elapsed() < PATIENCE, "{words} {reads:?}: {:?}", begun.elapsed());
        let ended = ended.unwrap_or_else(|error| panic!("{words} {reads:?}: {error:#}"));
        assert_eq!(ended, ExitStatus::Done, "{words} {reads:?}");
        assert_ne!(*newest.borrow(), before, "{words} {reads:?}");
    }
}
