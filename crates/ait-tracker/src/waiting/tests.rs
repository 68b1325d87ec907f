//! Who gets what of those that wait, in a store in memory.

use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{JoinHandle, yield_now};
use tokio::time::timeout;

use super::*;
use crate::NewIssue;
use ait_domain::{
    ClaimProof, ClaimSettings, Classification, CommentText, Facts, FieldValue, IssueChange,
    IssueId, ReviewPolicy, Status,
};
use ait_store::testing::TestStore;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(30);

fn tracker() -> Tracker {
    Tracker::new(Arc::new(TestStore::default()))
}

fn name(name: &str) -> AgentName {
    name.try_into().unwrap()
}

async fn file(tracker: &Tracker, kind: Classification, details: IssueChange) -> IssueId {
    let title = "t".try_into().unwrap();
    let description = "".try_into().unwrap();
    let issue = NewIssue { details, ..NewIssue::new(title, description, kind) };
    let filed = tracker.add_issue(issue, name("filer")).await;
    filed.unwrap().issue.id
}

async fn file_bug(tracker: &Tracker) -> IssueId {
    file(tracker, Classification::Bug, IssueChange::default()).await
}

async fn complete(tracker: &Tracker, id: IssueId, agent: &str) {
    let done = CommentText::try_from("done").unwrap();
    let proof = ClaimProof::default();
    tracker.complete_issue(id.into(), done, name(agent), proof, Facts::default()).await.unwrap();
}

type Claim = (String, IssueId);

/// What the callers got, in the order in which they got it.
struct Callers {
    tracker: Tracker,
    got: (UnboundedSender<Claim>, UnboundedReceiver<Claim>),
}

impl Callers {
    fn of(tracker: &Tracker) -> Self {
        Self { tracker: tracker.clone(), got: unbounded_channel() }
    }

    /// Starts a caller.
    fn start(&self, agent: &str, kind: ClaimKind) -> JoinHandle<()> {
        let tracker = self.tracker.clone();
        let got = self.got.0.clone();
        let agent = agent.to_owned();
        tokio::spawn(async move {
            let claimed = tracker.wait_for_next(kind, name(&agent), pending()).await;
            got.send((agent, claimed.unwrap().unwrap().issue.id)).unwrap();
        })
    }

    /// Starts a caller, and returns when it is in the list.
    async fn begin(&self, agent: &str, kind: ClaimKind) -> JoinHandle<()> {
        let before = self.waiting();
        let caller = self.start(agent, kind);
        self.until_waiting(before + 1).await;
        caller
    }

    fn waiting(&self) -> usize {
        self.tracker.wait_list.state().callers.len()
    }

    async fn until_waiting(&self, count: usize) {
        let so_many = async {
            while self.waiting() != count {
                yield_now().await;
            }
        };
        timeout(PATIENCE, so_many).await.unwrap();
    }

    async fn next(&mut self) -> Claim {
        timeout(PATIENCE, self.got.1.recv()).await.unwrap().unwrap()
    }
}

const ANY: ClaimKind = ClaimKind::Work(None);
const BUG: ClaimKind = ClaimKind::Work(Some(Classification::Bug));
const FEATURE: ClaimKind = ClaimKind::Work(Some(Classification::Feature));

#[tokio::test]
async fn those_who_wait_are_served_in_the_order_in_which_they_came() {
    let tracker = tracker();
    let mut callers = Callers::of(&tracker);
    for number in 0..50 {
        callers.begin(&format!("agent {number}"), ANY).await;
    }
    for number in 0..25 {
        let filed = file_bug(&tracker).await;
        assert_eq!(callers.next().await, (format!("agent {number}"), filed));
    }
    // Several at once.
    let mut filed = Vec::new();
    for _ in 25..50 {
        filed.push(file_bug(&tracker).await);
    }
    for (number, filed) in (25..50).zip(filed) {
        assert_eq!(callers.next().await, (format!("agent {number}"), filed));
    }
    callers.until_waiting(0).await;
}

#[tokio::test]
async fn those_who_wait_for_something_else_do_not_hold_up_others() {
    let not_author = ClaimSettings { review: ReviewPolicy::NotAuthor, ..ClaimSettings::default() };
    let tracker = tracker().with_claim_settings(not_author);
    let mut callers = Callers::of(&tracker);
    for (agent, kind) in [
        ("maker of features", FEATURE),
        ("author", ClaimKind::Review),
        ("anyone", ANY),
        ("assignee", BUG),
        ("reviewer", ClaimKind::Review),
    ] {
        callers.begin(agent, kind).await;
    }
    let details = FieldValue::Assignee(Some(name("assignee"))).into();
    let assigned = file(&tracker, Classification::Bug, details).await;
    assert_eq!(callers.next().await, ("assignee".to_owned(), assigned));
    let bug = file_bug(&tracker).await;
    assert_eq!(callers.next().await, ("anyone".to_owned(), bug));
    complete(&tracker, bug, "author").await;
    assert_eq!(callers.next().await, ("reviewer".to_owned(), bug));
    let feature = file(&tracker, Classification::Feature, IssueChange::default()).await;
    assert_eq!(callers.next().await, ("maker of features".to_owned(), feature));
    complete(&tracker, assigned, "assignee").await;
    assert_eq!(callers.next().await, ("author".to_owned(), assigned));
}

#[tokio::test]
async fn a_claim_that_does_not_wait_lets_others_go_first() {
    let tracker = tracker();
    let mut callers = Callers::of(&tracker);
    callers.begin("first", ANY).await;
    // Nothing else runs between these two, so the list has not seen the issue.
    let filed = file_bug(&tracker).await;
    let hasty = tracker.claim_next(ANY, name("hasty")).await.unwrap();
    assert_eq!(hasty, None);
    assert_eq!(callers.next().await, ("first".to_owned(), filed));

    // One that waits for something else does not keep others from it.
    callers.begin("maker of features", FEATURE).await;
    let filed = file_bug(&tracker).await;
    let claimed = tracker.claim_next(ANY, name("hasty")).await.unwrap().unwrap();
    assert_eq!(claimed.issue.id, filed);
}

#[tokio::test]
async fn a_caller_that_is_gone_gets_nothing() {
    let tracker = tracker();
    let mut callers = Callers::of(&tracker);
    let gone = callers.begin("gone", ANY).await;
    callers.begin("there", ANY).await;
    gone.abort();
    callers.until_waiting(1).await;
    let filed = file_bug(&tracker).await;
    assert_eq!(callers.next().await, ("there".to_owned(), filed));
    callers.until_waiting(0).await;

    // Its end comes in the same moment as the issue.
    for is_first in [true, false] {
        let late = callers.begin("late", ANY).await;
        if is_first {
            late.abort();
        }
        let filed = file_bug(&tracker).await;
        late.abort();
        let claimed = tracker.claim_next(ANY, name("there")).await.unwrap();
        assert_eq!(claimed.unwrap().issue.id, filed);
        callers.until_waiting(0).await;
    }
}

#[tokio::test]
async fn a_wait_ends_at_its_end() {
    let tracker = tracker();
    let wait = tracker.wait_for_next(ANY, name("a"), async {});
    assert_eq!(timeout(PATIENCE, wait).await.unwrap().unwrap(), None);
    assert!(tracker.wait_list.is_empty());
    // What is there is claimed even then.
    let filed = file_bug(&tracker).await;
    let wait = tracker.wait_for_next(ANY, name("a"), async {});
    assert_eq!(wait.await.unwrap().unwrap().issue.id, filed);
}

#[tokio::test]
async fn parked_issues_are_claimed_when_their_parking_ends() {
    let tracker = tracker();
    let mut callers = Callers::of(&tracker);
    callers.begin("a", ANY).await;
    let reason = CommentText::try_from("later").unwrap();
    let soon = Utc::now() + chrono::TimeDelta::milliseconds(300);
    let parked = Some(Some((reason, Some(soon.into()))));
    let filed =
        file(&tracker, Classification::Bug, IssueChange { parked, ..IssueChange::default() }).await;
    assert_eq!(callers.next().await, ("a".to_owned(), filed));
    assert!(Utc::now() >= soon);
}

#[tokio::test]
async fn no_more_callers_wait_than_may() {
    let tracker = tracker();
    let mut callers = Callers::of(&tracker);
    for _ in 0..MAX_WAITING {
        callers.start("a", FEATURE);
    }
    callers.until_waiting(MAX_WAITING).await;
    let one_more = tracker.wait_for_next(ANY, name("b"), pending());
    assert_eq!(timeout(PATIENCE, one_more).await.unwrap().unwrap(), None);
    let filed = file_bug(&tracker).await;
    let one_more = tracker.wait_for_next(ANY, name("b"), pending());
    assert_eq!(one_more.await.unwrap().unwrap().issue.id, filed);
    let filed = file(&tracker, Classification::Feature, IssueChange::default()).await;
    assert_eq!(callers.next().await, ("a".to_owned(), filed));
}

#[tokio::test]
async fn wait_until_sees_each_change() {
    let tracker = tracker();
    let is_completed =
        |issues: &IndexedIssues| (issues.counts().in_status(Status::Completed) > 0).then_some(());
    let reviews = Subset::Claimable(vec![name("reviewer")]);
    let change = async {
        let filed = file_bug(&tracker).await;
        yield_now().await;
        complete(&tracker, filed, "a").await;
    };
    let (found, ()) =
        tokio::join!(timeout(PATIENCE, tracker.wait_until(reviews, is_completed)), change);
    assert!(found.unwrap().is_ok());
}
