//! Concurrent transactions of several processes in PostgreSQL. A trigger holds one of them at its commit, so that the
//! order is fixed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_issue_tracker::domain::{
    AgentName, Classification, Command, FieldValue, IssueChange, IssueId, LinkKind, Priority,
    Resolution,
};
use agent_issue_tracker::store::{PostgresStore, Store, Subset};
use agent_issue_tracker::tracker::{ClaimKind, Tracker};
use tokio::task::JoinHandle;
use tokio_postgres::Client;

use crate::support::PATIENCE;
use crate::support::commands::{
    add, agent, all, at, claim, close, comment, ids, number, other, say,
};
use crate::support::postgres::{open, shared};
use crate::support::stores::{WholeState, apply};

/// The key of the advisory lock that holds back the commits of the agent `slow`.
const GATE: i64 = 42;

fn slow() -> AgentName {
    AgentName::try_from("slow").unwrap()
}

/// Two processes on one project, and the connection that holds back the agent `slow`.
struct Scene {
    stores: [Arc<PostgresStore>; 2],
    gate: Client,
    url: String,
}

impl Scene {
    async fn new() -> Option<Self> {
        let server = shared()?;
        let url = server.project();
        let stores = [(); 2].map(|()| Arc::new(open(&url)));
        stores[0].make_schema().await.unwrap();
        let (gate, schema) = (server.connect().await, url.split_once("schema=")?.1);
        let trigger = format!(
            "CREATE FUNCTION {schema}.wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             IF NEW.body LIKE '%\"agent\":\"slow\"%' THEN PERFORM pg_advisory_xact_lock({GATE}, {hash}); END IF; \
             RETURN NULL; END $$; \
             CREATE CONSTRAINT TRIGGER wait AFTER INSERT ON {schema}.events DEFERRABLE INITIALLY DEFERRED \
             FOR EACH ROW EXECUTE FUNCTION {schema}.wait(); \
             SELECT pg_advisory_lock({GATE}, {hash})",
            hash = hash(&url),
        );
        gate.batch_execute(&trigger).await.unwrap();
        Some(Self { stores, gate, url })
    }

    /// Begins a change by the agent `slow`, and waits until its transaction reaches its commit.
    async fn hold(&self, command: Command) -> JoinHandle<()> {
        let store = Arc::clone(&self.stores[0]);
        self.hold_task(async move {
            apply(&*store, command, at(1)).await.unwrap();
        })
        .await
    }

    /// Like [`hold`](Self::hold), for any task that makes the change.
    async fn hold_task(&self, task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        let held = tokio::spawn(task);
        let waits = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND classid = 42 \
                     AND objid::bigint = $1::bigint AND NOT granted";
        self.until(waits, i64::from(hash(&self.url))).await;
        held
    }

    /// Waits until another transaction is blocked by the held one.
    async fn until_another_waits(&self) {
        let waits = "SELECT 1 FROM pg_locks held JOIN pg_stat_activity other \
                     ON held.pid = ANY(pg_blocking_pids(other.pid)) WHERE held.locktype = 'advisory' \
                     AND held.classid = 42 AND held.objid::bigint = $1::bigint AND NOT held.granted";
        self.until(waits, i64::from(hash(&self.url))).await;
    }

    /// Claims an issue while a transaction from outside `ait` locks `held`, and commits that transaction once the claim
    /// waits for it. Returns the id of the claimed issue.
    async fn claim_while_held(&self, held: IssueId) -> Option<IssueId> {
        let schema = self.url.split_once("schema=").unwrap().1;
        let lock =
            format!("BEGIN; SELECT FROM {schema}.issues WHERE id = '{held}' FOR NO KEY UPDATE");
        self.gate.batch_execute(&lock).await.unwrap();
        let store = Arc::clone(&self.stores[1]);
        let claim = tokio::spawn(async move { apply(&*store, claim(None), at(2)).await });
        let gate = self.gate.query_one("SELECT pg_backend_pid()", &[]).await.unwrap();
        let waits =
            "SELECT 1 FROM pg_locks WHERE NOT granted AND $1::bigint = ANY(pg_blocking_pids(pid))";
        self.until(waits, gate.get::<_, i32>(0).into()).await;
        self.gate.batch_execute("COMMIT").await.unwrap();
        claim.await.unwrap().unwrap().map(|issue| issue.id)
    }

    /// Waits until a query returns a row.
    async fn until(&self, query: &str, parameter: i64) {
        let begun = Instant::now();
        while self.gate.query(query, &[&parameter]).await.unwrap().is_empty() {
            assert!(begun.elapsed() < PATIENCE, "{query}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn release(&self, held: JoinHandle<()>) {
        let unlock = format!("SELECT pg_advisory_unlock({GATE}, {})", hash(&self.url));
        self.gate.batch_execute(&unlock).await.unwrap();
        held.await.unwrap();
    }
}

/// Returns a positive lock key for a project, so that tests do not block each other.
fn hash(url: &str) -> i32 {
    let sum = url.bytes().fold(7_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    (sum >> 1) as i32
}

fn add_as(n: u32, agent: AgentName) -> Command {
    let Command::AddIssue { id, title, description, classification, details, .. } =
        add(n, Classification::Bug)
    else {
        unreachable!("add adds an issue")
    };
    Command::AddIssue { id, title, description, classification, details, agent }
}

/// The transaction with the lower sequence value commits last. A reader that has already seen the other event must
/// still get the late one.
#[tokio::test(flavor = "multi_thread")]
async fn readers_by_number_skip_no_event_that_commits_later() {
    let Some(scene) = Scene::new().await else { return };
    let [first, second] = &scene.stores;
    let follower = open(&scene.url);
    assert_eq!(follower.state().await.unwrap().issues.len(), 0);
    let held = scene.hold(add_as(1, slow())).await;
    apply(&**second, add(2, Classification::Bug), at(2)).await.unwrap();
    let read = second.events(0, 10).await.unwrap();
    assert_eq!(read.events.len(), 1, "the held event is not committed yet");
    assert_eq!((read.events[0].event.issue, read.newest.number), (number(2), 1));
    assert_eq!(follower.state().await.unwrap().issues.len(), 1);
    scene.release(held).await;
    let rest = second.events(1, 10).await.unwrap();
    assert_eq!(rest.events.len(), 1);
    assert_eq!((rest.events[0].event.issue, rest.events[0].position.number), (number(1), 2));
    // A plain sequence would have numbered them the other way around.
    let schema = scene.url.split_once("schema=").unwrap().1;
    let drawn = format!("SELECT issue FROM {schema}.events WHERE number IS NOT NULL ORDER BY seq");
    let drawn: Vec<IssueId> = scene
        .gate
        .query(&drawn, &[])
        .await
        .unwrap()
        .iter()
        .map(|row| IssueId::from(row.get::<_, uuid::Uuid>(0)))
        .collect();
    assert_eq!(drawn, [number(1), number(2)]);
    // All processes agree on the filing order, which is the order of the event numbers.
    for store in [&**first, &**second, &follower, &open(&scene.url)] {
        let filed = [number(2), number(1)];
        assert_eq!(ids(&store.list(all()).await.unwrap().issues), filed);
        let state = store.state().await.unwrap();
        assert_eq!(state.issues.issues().map(|issue| issue.id).collect::<Vec<_>>(), filed);
    }
    let claimed = apply(&**first, claim(None), at(3)).await.unwrap().unwrap();
    assert_eq!(claimed.id, number(2));
}

/// A process caches the position where its search for ready issues begins. It must still find an issue that becomes
/// ready before that position, even if that change was uncommitted during the last search.
#[tokio::test(flavor = "multi_thread")]
async fn issues_that_become_ready_again_are_next() {
    let Some(scene) = Scene::new().await else { return };
    let [first, second] = &scene.stores;
    for n in 1..=9 {
        apply(&**second, add(n, Classification::Bug), at(1)).await.unwrap();
    }
    for expected in [1, 2] {
        let claimed = apply(&**second, claim(None), at(2)).await.unwrap().unwrap();
        assert_eq!(claimed.id, number(expected));
    }
    let command = |n: u32, agent| Command::ReturnIssue {
        issue: number(n).into(),
        comment: comment(),
        agent,
        required_claim: Default::default(),
    };
    let held = scene.hold(command(1, slow())).await;
    let mut newest = second.watch();
    for (expected, events) in [(3, 12), (4, 13), (5, 14)] {
        let claimed = apply(&**second, claim(None), at(3)).await.unwrap().unwrap();
        assert_eq!(claimed.id, number(expected));
        // A process searches for the first ready issue before it announces its events.
        newest.wait_for(|newest| newest.number >= events).await.unwrap();
    }
    scene.release(held).await;
    apply(&**first, command(3, agent()), at(4)).await.unwrap();
    let kind = Some(Classification::Bug);
    for (expected, kind) in [(1, None), (3, kind), (6, None)] {
        let claimed = apply(&**second, claim(kind), at(5)).await.unwrap().unwrap();
        assert_eq!(claimed.id, number(expected));
    }
}

fn block(n: u32, blocker: u32, agent: AgentName) -> Command {
    let links_add = vec![(LinkKind::BlockedBy, number(blocker).into())];
    let change = IssueChange { links_add, ..IssueChange::default() };
    Command::ChangeIssue { issue: number(n).into(), change: change.into(), agent }
}

fn close_as(n: u32, agent: AgentName) -> Command {
    let (issue, comment) = (number(n).into(), comment());
    let (resolution, required_claim) = (Resolution::Closed, Default::default());
    Command::CloseIssue { issue, resolution, comment, agent, required_claim }
}

/// One process adds a blocker to an issue while another process closes that blocker. Whichever commits first, the
/// issue must be ready afterwards.
#[tokio::test(flavor = "multi_thread")]
async fn a_blocker_closed_during_its_link_does_not_block() {
    for closes_first in [false, true] {
        let Some(scene) = Scene::new().await else { return };
        let [first, second] = &scene.stores;
        for n in [1, 2] {
            apply(&**first, add(n, Classification::Bug), at(0)).await.unwrap();
        }
        let (slow_one, fast_one) = if closes_first {
            (close_as(1, slow()), block(2, 1, agent()))
        } else {
            (block(2, 1, slow()), close_as(1, agent()))
        };
        let held = scene.hold(slow_one).await;
        let store = Arc::clone(second);
        let other = tokio::spawn(async move { apply(&*store, fast_one, at(2)).await });
        scene.until_another_waits().await;
        scene.release(held).await;
        other.await.unwrap().unwrap();
        let claimed = apply(&**first, claim(None), at(3)).await.unwrap();
        assert_eq!(claimed.map(|issue| issue.id), Some(number(2)), "{closes_first}");
    }
}

/// Two processes each close one of the two blockers of an issue, and each still sees the other blocker open.
#[tokio::test(flavor = "multi_thread")]
async fn an_issue_is_ready_after_both_blockers_close_at_once() {
    let Some(scene) = Scene::new().await else { return };
    let [first, second] = &scene.stores;
    for n in [1, 2, 3] {
        apply(&**first, add(n, Classification::Bug), at(0)).await.unwrap();
    }
    for blocker in [1, 2] {
        apply(&**first, block(3, blocker, agent()), at(0)).await.unwrap();
    }
    let held = scene.hold(close_as(1, slow())).await;
    let store = Arc::clone(second);
    let other = tokio::spawn(async move { apply(&*store, close_as(2, agent()), at(2)).await });
    scene.until_another_waits().await;
    scene.release(held).await;
    other.await.unwrap().unwrap();
    let claimed = apply(&**second, claim(None), at(3)).await.unwrap();
    assert_eq!(claimed.map(|issue| issue.id), Some(number(3)));
}

/// A claim skips an issue that another claim is taking, and waits for one that another change has locked.
#[tokio::test(flavor = "multi_thread")]
async fn claims_skip_claimed_issues_and_wait_for_changed_ones() {
    let Some(scene) = Scene::new().await else { return };
    let [first, second] = &scene.stores;
    for n in [1, 2, 3] {
        apply(&**first, add(n, Classification::Bug), at(0)).await.unwrap();
    }
    let terms = Default::default();
    let taking = Command::GetNextIssue { issue: None, classification: None, agent: slow(), terms };
    let held = scene.hold(taking).await;
    let claimed = apply(&**second, claim(None), at(2)).await.unwrap();
    assert_eq!(claimed.map(|issue| issue.id), Some(number(2)));
    scene.release(held).await;
    scene
        .gate
        .batch_execute(&format!("SELECT pg_advisory_lock({GATE}, {})", hash(&scene.url)))
        .await
        .unwrap();
    let issue = number(3).into();
    let held = scene.hold(Command::CommentIssue { issue, comment: comment(), agent: slow() }).await;
    let store = Arc::clone(second);
    let claim = tokio::spawn(async move { apply(&*store, claim(None), at(2)).await });
    scene.until_another_waits().await;
    scene.release(held).await;
    let claimed = claim.await.unwrap().unwrap().unwrap();
    assert_eq!((claimed.id, claimed.comments.len()), (number(3), 1));
}

/// Claims skip only issues that other claims are taking. They wait for every other kind of lock.
#[tokio::test(flavor = "multi_thread")]
async fn claims_wait_for_locks_that_are_not_claims() {
    let Some(scene) = Scene::new().await else { return };
    let first = &scene.stores[0];
    for n in [1, 2] {
        apply(&**first, add(n, Classification::Bug), at(0)).await.unwrap();
    }
    assert_eq!(scene.claim_while_held(number(1)).await, Some(number(1)));
}

/// A claim that waits for an edit takes what comes first after it, and another one does not wait for that edit, too.
#[tokio::test(flavor = "multi_thread")]
async fn a_claim_looks_again_after_it_waited_for_an_edit() {
    let Some(scene) = Scene::new().await else { return };
    let [first, second] = &scene.stores;
    for n in [1, 2, 3] {
        apply(&**first, add(n, Classification::Bug), at(0)).await.unwrap();
    }
    let last = FieldValue::Priority(Some(Priority::try_from(4).unwrap()));
    let change = Box::new(IssueChange::from(last));
    let command = Command::ChangeIssue { issue: number(1).into(), change, agent: slow() };
    let held = scene.hold(command).await;
    let store = Arc::clone(second);
    let waiting = tokio::spawn(async move { apply(&*store, claim(None), at(2)).await });
    scene.until_another_waits().await;
    let third = open(&scene.url);
    let claimed = apply(&third, claim(None), at(2)).await.unwrap();
    assert_eq!(claimed.map(|issue| issue.id), Some(number(2)));
    scene.release(held).await;
    let claimed = waiting.await.unwrap().unwrap();
    assert_eq!(claimed.map(|issue| issue.id), Some(number(3)));
}

/// Claims wait for a locked issue that comes first because it is assigned to their agent or its parking just ended.
#[tokio::test(flavor = "multi_thread")]
async fn claims_wait_for_assigned_and_newly_unparked_issues() {
    let urgent = FieldValue::Priority(Some(Priority::FIRST));
    let assigned = FieldValue::Assignee(Some(agent())).into();
    let until = Some(Some((comment(), Some(at(1)))));
    let parked = IssueChange { values: vec![urgent], parked: until, ..IssueChange::default() };
    for change in [assigned, parked] {
        let Some(scene) = Scene::new().await else { return };
        for n in [1, 2] {
            apply(&*scene.stores[0], add(n, Classification::Bug), at(0)).await.unwrap();
        }
        let (issue, change) = (number(2).into(), Box::new(change));
        let change = Command::ChangeIssue { issue, change, agent: other() };
        apply(&*scene.stores[0], change, at(0)).await.unwrap();
        let claimed = scene.claim_while_held(number(2)).await;
        assert_eq!(claimed, Some(number(2)));
        let claimed = apply(&*scene.stores[0], claim(None), at(3)).await.unwrap();
        assert_eq!(claimed.map(|issue| issue.id), Some(number(1)));
    }
}

/// Two processes add links that together close a cycle; the store refuses one of them.
#[tokio::test(flavor = "multi_thread")]
async fn concurrent_links_cannot_close_a_cycle() {
    let Some(scene) = Scene::new().await else { return };
    let [first, second] = &scene.stores;
    for n in [1, 2, 3, 4] {
        apply(&**first, add(n, Classification::Bug), at(0)).await.unwrap();
    }
    apply(&**first, block(3, 2, agent()), at(0)).await.unwrap();
    apply(&**first, block(1, 4, agent()), at(0)).await.unwrap();
    let held = scene.hold(block(2, 1, slow())).await;
    let store = Arc::clone(second);
    let closing = tokio::spawn(async move { apply(&*store, block(4, 3, agent()), at(2)).await });
    scene.until_another_waits().await;
    scene.release(held).await;
    let refused = closing.await.unwrap();
    assert!(refused.unwrap_err().to_string().contains("wait"), "a cycle is refused");
}

/// A subset contains the same issues and relations as the whole state.
#[tokio::test]
async fn subsets_agree_with_the_whole_state() {
    let Some(scene) = Scene::new().await else { return };
    let store = &scene.stores[0];
    for n in 1..=4 {
        apply(&**store, add(n, Classification::Bug), at(0)).await.unwrap();
    }
    apply(&**store, block(1, 2, agent()), at(1)).await.unwrap();
    apply(&**store, claim(None), at(2)).await.unwrap();
    let whole = store.state().await.unwrap().issues;
    let around = store.subset(Subset::Around(vec![number(1)])).await.unwrap().issues;
    assert!(around.is_blocked(&whole.get(number(1)).unwrap()) && around.get(number(3)).is_none());
    let claimable = store.subset(Subset::Claimable(vec![agent(), other()])).await.unwrap().issues;
    let next = claimable.next_ready(&agent(), None, at(3)).map(|index| claimable.at(index).id);
    assert_eq!(next, Some(number(3)));
    let held = store.subset(Subset::HeldBy(agent())).await.unwrap().issues;
    assert_eq!(held.held_by(&agent()), [number(2)]);
    let closed = close(number(2).into(), Resolution::Closed);
    apply(&**store, closed, at(4)).await.unwrap();
    apply(&**store, say(number(1).into()), at(5)).await.unwrap();
    let freed = apply(&**store, claim(None), at(6)).await.unwrap().unwrap();
    assert_eq!(freed.id, number(1));
}

/// The caller of this claim is gone but its client may be alive, so that nothing else ends the claim.
#[tokio::test(flavor = "multi_thread")]
async fn the_lapse_of_an_undelivered_claim_is_retried() {
    let Some(scene) = Scene::new().await else { return };
    apply(&*scene.stores[1], add(1, Classification::Bug), at(0)).await.unwrap();
    let schema = scene.url.split_once("schema=").unwrap().1;
    let refuse = format!(
        "CREATE SEQUENCE {schema}.refused; CREATE FUNCTION {schema}.refuse() RETURNS trigger LANGUAGE plpgsql \
         AS $$ BEGIN PERFORM nextval('{schema}.refused'); RAISE EXCEPTION 'not now'; END $$; \
         CREATE TRIGGER refuse BEFORE INSERT ON {schema}.events FOR EACH ROW \
         WHEN (NEW.body LIKE '%lapsed%') EXECUTE FUNCTION {schema}.refuse()"
    );
    scene.gate.batch_execute(&refuse).await.unwrap();
    let tracker = Tracker::new(Arc::clone(&scene.stores[0]) as Arc<dyn Store>);
    let held = scene.hold_task(async move {
        let _ = tracker.claim_next(ClaimKind::Work(None), slow()).await;
    });
    let held = held.await;
    held.abort();
    let _ = held.await;
    let unlock = format!("SELECT pg_advisory_unlock({GATE}, {})", hash(&scene.url));
    scene.gate.batch_execute(&unlock).await.unwrap();
    let refused = format!("SELECT 1 FROM {schema}.refused WHERE is_called AND $1 = 0::bigint");
    scene.until(&refused, 0).await;
    let allow = format!("DROP TRIGGER refuse ON {schema}.events");
    scene.gate.batch_execute(&allow).await.unwrap();
    let lapsed = format!("SELECT 1 FROM {schema}.issues WHERE holder IS NULL AND $1 = 0::bigint");
    scene.until(&lapsed, 0).await;
    let issue = scene.stores[1].get(number(1).into()).await.unwrap();
    assert!(
        issue.history.iter().any(|entry| entry.action == "Claim lapsed"),
        "{:?}",
        issue.history
    );
}
