//! Compares pages, filters and earlier states with the plain list of all events and the recorded states.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use proptest::prelude::*;
use tokio::sync::watch;
use uuid::Uuid;

use super::*;
use crate::EventPosition;
use ait_domain::{
    Classification, Command, Counts, Issue, IssueRef, Lease, Page, Query, Resolution, UnknownKeys,
};
use ait_store::clients::Clients;
use ait_store::testing::TestStore;
use ait_store::{
    Committed, Events, Outcome, Probe, SnapshotVisitor, State, Store, StoreHealth, StoreId, Subset,
};

const AGENTS: [&str; 3] = ["ann", "bob", "cy"];

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(future)
}

fn time(second: u64) -> Timestamp {
    Timestamp::from_unix_millis(1_769_850_000_000 + 1_000 * i64::try_from(second).unwrap())
}

fn id(number: usize) -> IssueId {
    IssueId::from(Uuid::from_u128((number as u128) << 96 | 0x4000 << 64 | 0x8000 << 48))
}

fn add(number: usize, agent: &str) -> Command {
    Command::AddIssue {
        id: id(number),
        title: format!("issue {number}").try_into().unwrap(),
        description: "".try_into().unwrap(),
        classification: Classification::Bug,
        details: Box::default(),
        agent: agent.try_into().unwrap(),
    }
}

/// A store that exposes only a part of its log.
struct Window {
    store: TestStore,
    /// The number of the oldest retained event.
    oldest: AtomicU64,
}

impl Window {
    fn open() -> Arc<Self> {
        let oldest = AtomicU64::new(1);
        Arc::new(Self { store: TestStore::default(), oldest })
    }

    fn tracker(self: &Arc<Self>) -> Tracker {
        Tracker::new(Arc::clone(self) as Arc<dyn Store>)
    }

    /// Commits each command by itself. A refused one has no outcome.
    async fn commit_at(&self, second: u64, commands: Vec<Command>) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        for command in commands {
            match self.store.commit(vec![command], time(second)).await {
                Ok(committed) => outcomes.extend(committed.outcomes),
                Err(StoreError::Refused(_)) => outcomes.push(None),
                Err(error) => panic!("{error}"),
            }
        }
        outcomes
    }
}

#[async_trait]
impl Store for Window {
    async fn id(&self) -> StoreId {
        self.store.id().await
    }

    async fn commit(
        &self,
        commands: Vec<Command>,
        now: Timestamp,
    ) -> Result<Committed, StoreError> {
        self.store.commit(commands, now).await
    }

    async fn get(&self, reference: IssueRef) -> Result<Arc<Issue>, StoreError> {
        self.store.get(reference).await
    }

    async fn list(&self, query: Query) -> Result<Page, StoreError> {
        self.store.list(query).await
    }

    async fn counts(&self) -> Result<Counts, StoreError> {
        self.store.counts().await
    }

    fn clients(&self) -> Arc<dyn Clients> {
        self.store.clients()
    }

    async fn snapshot(&self, visitor: Arc<Mutex<dyn SnapshotVisitor>>) -> Result<(), StoreError> {
        self.store.snapshot(visitor).await
    }

    async fn subset(&self, subset: Subset) -> Result<State, StoreError> {
        self.store.subset(subset).await
    }

    async fn leases(&self) -> Result<Vec<(IssueId, Lease)>, StoreError> {
        self.store.leases().await
    }

    async fn events(&self, after: u64, limit: usize) -> Result<Events, StoreError> {
        let all = self.store.events(0, usize::MAX).await?;
        let oldest = self.oldest.load(Ordering::SeqCst);
        let first = oldest.max(after.saturating_add(1));
        let events = all.events.into_iter().filter(|event| event.position.number >= first);
        Ok(Events { events: events.take(limit).collect(), newest: all.newest, oldest })
    }

    fn watch(&self) -> watch::Receiver<EventPosition> {
        self.store.watch()
    }

    async fn health(&self, probe: Probe) -> StoreHealth {
        self.store.health(probe).await
    }

    async fn close(&self) -> bool {
        self.store.close().await
    }
}

/// Draws a command on the current issues from two numbers.
fn command(state: &State, number: usize, kind: u8, pick: usize) -> Command {
    let agent = AGENTS[pick % AGENTS.len()];
    let issues: Vec<_> = state.issues.issues().collect();
    let Some(issue) = issues.get(pick % issues.len().max(1)) else { return add(number, agent) };
    let named = IssueRef::from(issue.id);
    let agent_name = agent.try_into().unwrap();
    let comment = format!("because {number}").try_into().unwrap();
    match kind {
        0 => Command::GetNextIssue {
            issue: None,
            classification: None,
            agent: agent_name,
            terms: Default::default(),
        },
        1 => Command::GetNextReviewItem { agent: agent_name, terms: Default::default() },
        2 => Command::ReturnIssue {
            issue: named,
            comment,
            agent: agent_name,
            required_claim: Default::default(),
        },
        3 => Command::CompleteIssue {
            issue: named,
            comment,
            agent: agent_name,
            required_claim: Default::default(),
            facts: Default::default(),
        },
        4 => Command::CloseIssue {
            issue: named,
            resolution: Resolution::Closed,
            comment,
            agent: agent_name,
            required_claim: Default::default(),
        },
        5 => Command::CommentIssue { issue: named, comment, agent: agent_name },
        6 => {
            let title = format!("edited {number}");
            let theirs = Issue { title, ..Issue::clone(issue) }.into();
            Command::MergeEdit { theirs, base: Some(Arc::clone(issue)) }
        }
        7 => {
            let next = issues.iter().skip_while(|other| other.id != issue.id).nth(1);
            let next = next.map(|issue| issue.id);
            Command::RemoveIssue { issue: issue.id, next, agent: agent.to_owned() }
        }
        8 => {
            let placed = Issue { id: id(number), ..Issue::clone(issue) }.into();
            Command::InsertIssue { issue: placed, next: Some(issue.id), agent: agent.to_owned() }
        }
        9 => {
            let mut keys = UnknownKeys::default();
            let value = serde_json::value::to_raw_value(&number).unwrap();
            keys.insert("version".to_owned(), value);
            Command::SetUnknownKeys { keys, agent: agent.to_owned() }
        }
        10 => match issue.claim_entry() {
            Some(entry) => Command::LapseClaim {
                issue: issue.id,
                entry,
                reason: "gone".to_owned(),
                client: None,
            },
            None => add(number, agent),
        },
        _ => add(number, agent),
    }
}

/// Commits random commands, and returns the states after each, with its second.
async fn history(window: &Window, draws: &[(u8, usize)]) -> Vec<(u64, State)> {
    let mut states = Vec::new();
    for (number, &(kind, pick)) in draws.iter().enumerate() {
        let second = number as u64 / 2;
        let before = State::read(&window.store).await.unwrap();
        let command = command(&before, number, kind, pick);
        let _refused = window.commit_at(second, vec![command]).await;
        states.push((second, State::read(&window.store).await.unwrap()));
    }
    states
}

fn draws() -> impl Strategy<Value = Vec<(u8, usize)>> {
    prop::collection::vec((0..16_u8, 0..100_usize), 0..60)
}

fn content(state: &State) -> (Vec<Arc<Issue>>, UnknownKeys, EventPosition) {
    (state.issues.issues().collect(), state.unknown_keys.clone(), state.position)
}

fn filters() -> impl Strategy<Value = ActivityFilter> {
    let agent = prop::option::of(prop::sample::select(&AGENTS[..]));
    let kind = prop::option::of(prop::sample::select(&EventKind::WORDS[..]));
    let issue = prop::option::of(0..60_usize);
    let since = prop::option::of(0..30_u64);
    (agent, kind, issue, since).prop_map(|(agent, kind, issue, since)| ActivityFilter {
        agent: agent.map(str::to_owned),
        kind,
        issue: issue.map(id),
        since: since.map(time),
    })
}

async fn all_events(tracker: &Tracker) -> Vec<NumberedEvent> {
    tracker.events(0, usize::MAX).await.unwrap().events
}

proptest! {
    #[test]
    fn state_at_returns_the_recorded_state(draws in draws()) {
        block_on(async {
            let window = Window::open();
            let states = history(&window, &draws).await;
            let tracker = window.tracker();
            for (second, recorded) in &states {
                // Of several states within a second, the last one counts.
                let later = states.iter().rev().find(|(other, _)| other == second);
                let recorded = later.map_or(recorded, |(_, state)| state);
                let found = state_at(&tracker, time(*second)).await.unwrap();
                prop_assert_eq!(content(&found), content(recorded));
            }
            let found = state_at(&tracker, time(0).before_that()).await.unwrap();
            prop_assert_eq!(content(&found), content(&State::default()));
            Ok(())
        })?;
    }

    #[test]
    fn paging_returns_each_matching_event_once_in_both_directions(
        draws in draws(), filter in filters(), limit in 1..7_usize, oldest in 1..20_u64,
    ) {
        block_on(async {
            let window = Window::open();
            history(&window, &draws).await;
            window.oldest.store(oldest, Ordering::SeqCst);
            let tracker = window.tracker();
            let mut expected = all_events(&tracker).await;
            expected.retain(|event| filter.accepts(&event.event));

            let mut found = Vec::new();
            let mut after = 0;
            loop {
                let page = oldest_first(&tracker, &filter, after, limit).await.unwrap();
                prop_assert!(page.is_last || page.events.len() == limit);
                after = page.reached;
                found.extend(page.events);
                if page.is_last {
                    break;
                }
            }
            prop_assert_eq!(&found, &expected);

            let mut found = Vec::new();
            let mut before = None;
            loop {
                let page = newest_first(&tracker, &filter, before, limit).await.unwrap();
                prop_assert!(page.is_last || page.events.len() == limit);
                before = Some(page.reached);
                found.extend(page.events);
                if page.is_last {
                    break;
                }
            }
            found.reverse();
            prop_assert_eq!(found, expected);
            Ok(())
        })?;
    }

    #[test]
    fn replaying_the_events_of_an_issue_yields_its_current_state(draws in draws(), oldest in 1..40_u64) {
        block_on(async {
            let window = Window::open();
            history(&window, &draws).await;
            let all = all_events(&window.tracker()).await;
            window.oldest.store(oldest.min(all.len() as u64 + 1), Ordering::SeqCst);
            let state = State::read(&window.store).await.unwrap();
            for issue in state.issues.issues() {
                let found = of_issue(&window.tracker(), issue.id).await.unwrap();
                prop_assert_eq!(&found.issue, &issue);
                let mut replayed = found.before;
                for NumberedEvent { event, .. } in &found.events {
                    match &mut replayed {
                        Some(issue) if event.filed().is_none() => event.apply(issue),
                        _ => replayed = event.filed(),
                    }
                }
                prop_assert_eq!(replayed.as_ref(), Some(&*issue));
            }
            Ok(())
        })?;
    }
}

trait BeforeThat {
    fn before_that(self) -> Self;
}

impl BeforeThat for Timestamp {
    fn before_that(self) -> Self {
        Self::from_unix_millis(self.unix_millis() - 1)
    }
}

#[test]
fn a_page_cut_by_the_scan_limit_returns_a_continuation() {
    block_on(async {
        let window = TestStore::default();
        let adds = (0..MAX_SCANNED + 500).map(|number| {
            add(number, if number == 7 || number == MAX_SCANNED + 100 { "bob" } else { "ann" })
        });
        window.commit(adds.collect(), time(0)).await.unwrap();
        let tracker = Tracker::new(Arc::new(window));
        let filter = ActivityFilter { agent: Some("bob".to_owned()), ..ActivityFilter::default() };
        let numbers = |page: &ActivityPage| -> Vec<u64> {
            page.events.iter().map(|event| event.position.number).collect()
        };
        let scanned = MAX_SCANNED as u64;

        let page = newest_first(&tracker, &filter, None, 10).await.unwrap();
        assert_eq!(numbers(&page), [scanned + 101]);
        assert_eq!((page.reached, page.is_last), (501, false));
        let page = newest_first(&tracker, &filter, Some(page.reached), 10).await.unwrap();
        assert_eq!((numbers(&page), page.is_last), (vec![8], true));

        let page = oldest_first(&tracker, &filter, 0, 10).await.unwrap();
        assert_eq!((numbers(&page), page.reached, page.is_last), (vec![8], scanned, false));
        let page = oldest_first(&tracker, &filter, page.reached, 10).await.unwrap();
        assert_eq!((numbers(&page), page.is_last), (vec![scanned + 101], true));
    });
}

#[test]
fn event_numbers_out_of_range_give_empty_pages() {
    block_on(async {
        let window = Window::open();
        window.commit_at(0, vec![add(1, "ann")]).await;
        let tracker = window.tracker();
        let filter = ActivityFilter::default();
        for after in [1, 2, u64::MAX - 1, u64::MAX] {
            let page = oldest_first(&tracker, &filter, after, 10).await.unwrap();
            assert!(page.events.is_empty() && page.is_last);
        }
        for before in [0, 1] {
            let page = newest_first(&tracker, &filter, Some(before), 10).await.unwrap();
            assert!(page.events.is_empty() && page.is_last);
        }
        let page = newest_first(&tracker, &filter, Some(u64::MAX), 10).await.unwrap();
        assert_eq!(page.events.len(), 1);
    });
}

#[test]
fn since_tolerates_slightly_out_of_order_timestamps() {
    block_on(async {
        let window = Window::open();
        for (number, second) in [100, 200, 290, 310, 295, 320].into_iter().enumerate() {
            window.commit_at(second, vec![add(number, "ann")]).await;
        }
        let tracker = window.tracker();
        let filter = ActivityFilter { since: Some(time(300)), ..ActivityFilter::default() };
        let page = newest_first(&tracker, &filter, None, 10).await.unwrap();
        let numbers: Vec<_> = page.events.iter().map(|event| event.position.number).collect();
        assert_eq!((numbers, page.is_last), (vec![6, 4], true));
        assert_eq!(number_before(&tracker, time(300)).await.unwrap(), 3);
        assert!(number_before(&tracker, time(9_000)).await.unwrap() >= 3);
        assert_eq!(number_before(&tracker, time(0)).await.unwrap(), 0);
    });
}

#[test]
fn state_at_fails_for_times_before_the_log() {
    block_on(async {
        let window = Window::open();
        for (number, second) in [10, 20, 30].into_iter().enumerate() {
            window.commit_at(second, vec![add(number, "ann")]).await;
        }
        window.oldest.store(2, Ordering::SeqCst);
        let tracker = window.tracker();
        assert_eq!(state_at(&tracker, time(20)).await.unwrap().issues.len(), 2);
        let error = state_at(&tracker, time(19)).await.unwrap_err();
        assert!(
            matches!(error, HistoryError::NotKept { oldest: Some(oldest) } if oldest == time(20))
        );
        assert!(error.to_string().contains(&time(20).to_string()), "{error}");
    });
}

#[test]
fn event_json_has_the_event_number_and_changed_fields() {
    block_on(async {
        let window = Window::open();
        window.commit_at(0, vec![add(1, "ann")]).await;
        let claim = Command::GetNextIssue {
            issue: None,
            classification: None,
            agent: "bob".try_into().unwrap(),
            terms: Default::default(),
        };
        let issue = window.commit_at(1, vec![claim]).await.remove(0).unwrap();
        let theirs = Issue { title: "new".to_owned(), ..Issue::clone(&issue) }.into();
        let edit = Command::MergeEdit { theirs, base: Some(issue) };
        window.commit_at(2, vec![edit]).await;
        let events = all_events(&window.tracker()).await;
        let json = |place: usize| {
            serde_json::to_value(EventRecord::new(&events[place], Some("now"))).unwrap()
        };
        let filed = serde_json::json!({
            "number": 1, "position": "1-0000000000000000", "at": time(0), "kind": "filed",
            "issue": id(1), "title": "now", "status": "created", "agent": "ann", "action": "Issue filed",
            "after": { "title": "issue 1", "description": "", "classification": "bug", "status": "created" },
        });
        assert_eq!(json(0), filed);
        let claimed = json(1);
        assert_eq!((&claimed["kind"], &claimed["number"]), (&"claimed".into(), &2.into()));
        assert_eq!(claimed["before"], serde_json::json!({ "status": "created" }));
        assert_eq!(claimed["after"], serde_json::json!({ "status": "in_progress" }));
        let edited = json(2);
        assert_eq!(edited["before"]["title"], "issue 1");
        assert_eq!(edited["after"]["title"], "new");
        assert_eq!(edited["before"]["history"], serde_json::json!([]));
        assert_eq!(edited["after"]["history"][0]["agent"], "hand-edit");
        assert_eq!(edited["after"].as_object().unwrap().len(), 3, "{edited}");
    });
}
