//! The move of everything from one store to another one of any kind.
//!
//! The target begins with the state of the source and with the events that the source still has, each with its number,
//! so that readers that follow events by their numbers go on. Knows no kind of store.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use xxhash_rust::xxh3::xxh3_128;

use super::{
    EventPosition, NumberedEvent, SnapshotVisitor, Store, StoreError, event_format, read_into,
};
use ait_domain::{Issue, IssueId, Lease, Order, Query, StatusSet, UnknownKeys};

/// How many events are read at once, and how many issues.
const PAGE: usize = 5000;
const ISSUES: usize = 1000;

/// A store that can begin with everything that another store has.
#[async_trait]
pub trait TransferTarget: Store {
    /// Takes over everything, all or nothing. The store has to be empty.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotSaved`] if the store is not empty, or says what is wrong with it; the errors of the source.
    /// Every error except [`StoreError::Uncertain`] means that the store is as it was.
    async fn take_over(&self, transfer: &Transfer<'_>) -> Result<(), StoreError>;

    /// Notes that everything was moved to another store. From then on, this one cannot be opened.
    async fn say_moved(&self, to: &str) -> Result<(), StoreError>;
}

/// Everything that a store has at one event number.
pub struct Transfer<'a> {
    source: &'a dyn Store,
    content: Content,
    oldest: u64,
}

/// What a store has, with a hash instead of each issue.
#[derive(Default)]
struct Content {
    position: EventPosition,
    unknown_keys: UnknownKeys,
    /// The issues in the order of filing.
    issues: Vec<(IssueId, u128)>,
    leases: HashMap<IssueId, Lease>,
}

impl SnapshotVisitor for Content {
    fn begin(&mut self, position: EventPosition, unknown_keys: UnknownKeys) {
        *self = Self { position, unknown_keys, ..Self::default() };
    }

    fn visit(&mut self, issue: Arc<Issue>, lease: Option<Lease>) {
        let bytes = serde_json::to_vec(&*issue).expect("an issue can always be written");
        self.issues.push((issue.id, xxh3_128(&bytes)));
        self.leases.extend(lease.map(|lease| (issue.id, lease)));
    }
}

/// What a comparison of two stores has compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Compared {
    /// The number of issues.
    pub issues: usize,
    /// The number of leases.
    pub leases: usize,
    /// The number of the oldest event.
    pub oldest: u64,
    /// The number of the newest event, which is less than that of the oldest one if there is none.
    pub newest: u64,
}

/// Why two stores are not known to be the same.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TransferError {
    /// One of them cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// They differ.
    #[error("the two stores differ: {0}")]
    Differs(String),
}

impl<'a> Transfer<'a> {
    /// Reads a store that nothing changes meanwhile.
    ///
    /// # Errors
    ///
    /// [`StoreError::Busy`] if it was changed meanwhile; the errors of the source, also if it is damaged.
    pub async fn of(source: &'a dyn Store) -> Result<Self, StoreError> {
        // A read can succeed up to the damage.
        if let Some(damage) = source.damage().await {
            return Err(damage);
        }
        let content: Content = read_into(source).await?;
        let oldest = source.events(content.position.number, 1).await?.oldest;
        let transfer = Self { source, content, oldest };
        transfer.check_unchanged().await?;
        Ok(transfer)
    }

    /// Returns the position of the newest event.
    pub fn position(&self) -> EventPosition {
        self.content.position
    }

    /// Returns the unknown top-level keys.
    pub fn unknown_keys(&self) -> &UnknownKeys {
        &self.content.unknown_keys
    }

    /// Returns the next issues in the order of filing, with their leases. Returns none after the last one.
    ///
    /// # Errors
    ///
    /// Those of the source.
    pub async fn issues(
        &self,
        skip: usize,
    ) -> Result<Vec<(Arc<Issue>, Option<Lease>)>, StoreError> {
        let statuses = StatusSet::EVERYTHING;
        let next = Query { statuses, order: Order::Filed, skip, take: ISSUES, ..Query::default() };
        let issues = self.source.list(next).await?.issues.into_iter();
        let leased = |issue: Arc<Issue>| {
            let lease = self.content.leases.get(&issue.id).cloned();
            (issue, lease)
        };
        Ok(issues.map(leased).collect())
    }

    /// Returns the number of the event before the oldest one.
    pub fn base(&self) -> u64 {
        self.oldest.saturating_sub(1)
    }

    /// Returns the next events after `after`, and sets it to the number of the last one of them. Returns `None` after
    /// the newest event.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unreadable`], also if an event is missing.
    pub async fn next_page(
        &self,
        after: &mut u64,
    ) -> Result<Option<Vec<NumberedEvent>>, StoreError> {
        let newest = self.content.position.number;
        if *after >= newest {
            return Ok(None);
        }
        let mut events = self.source.events(*after, PAGE).await?.events;
        events.retain(|event| event.position.number <= newest);
        let is_whole = events.iter().zip(*after + 1..).all(|(event, n)| event.position.number == n);
        let Some(last) = events.last().filter(|_| is_whole) else {
            let missing = *after + 1;
            return Err(StoreError::Unreadable(format!(
                "event {missing} or one after it is missing"
            )));
        };
        *after = last.position.number;
        Ok(Some(events))
    }

    /// Checks that the source is as it was when its state was read.
    ///
    /// # Errors
    ///
    /// [`StoreError::Busy`] if it is not; [`StoreError::Unreadable`].
    pub async fn check_unchanged(&self) -> Result<(), StoreError> {
        let known = self.content.position;
        let newest = self.source.events(known.number, 1).await?.newest;
        if newest == known {
            return Ok(());
        }
        if newest.number < known.number {
            let last = known.number;
            // A process died while it made them durable. The next change does that.
            return Err(StoreError::Busy(format!(
                "the events up to {last} are not known to be on disk; change anything in the source first"
            )));
        }
        Err(StoreError::Busy(format!(
            "the source was changed meanwhile: its newest event was {}, and now is {}; stop every process that uses it",
            known.number, newest.number
        )))
    }
}

/// Reads two stores and compares each issue by a hash of its bytes, each lease, the unknown keys, and each event with
/// its number byte by byte.
///
/// # Errors
///
/// [`TransferError::Differs`] names the first difference; the errors of the stores.
pub async fn compare(source: &dyn Store, target: &dyn Store) -> Result<Compared, TransferError> {
    let source = Transfer::of(source).await?;
    let target = Transfer::of(target).await?;
    let ours = &source.content;
    let theirs = &target.content;
    let is_same = |is_same: bool, what: &dyn Fn() -> String| {
        if is_same { Ok(()) } else { Err(TransferError::Differs(what())) }
    };
    let issues = ours.issues.len();
    let others = theirs.issues.len();
    is_same(issues == others, &|| format!("{issues} issues, then {others}"))?;
    for (one, other) in ours.issues.iter().zip(&theirs.issues) {
        is_same(one == other, &|| format!("issue {}, then {}", one.0, other.0))?;
    }
    is_same(ours.unknown_keys == theirs.unknown_keys, &|| "the other top-level keys".to_owned())?;
    is_same(ours.leases == theirs.leases, &|| "the leases of claims".to_owned())?;
    let base = source.base();
    let newest = ours.position.number;
    let range = (target.base(), theirs.position.number);
    is_same((base, newest) == range, &|| {
        format!("events {} to {newest}, then {} to {}", base + 1, range.0 + 1, range.1)
    })?;
    let mut one = base;
    let mut other = base;
    let mut left = Vec::new().into_iter();
    let mut right = Vec::new().into_iter();
    for number in base + 1..=newest {
        if left.len() == 0 {
            left = source.next_page(&mut one).await?.unwrap_or_default().into_iter();
        }
        if right.len() == 0 {
            right = target.next_page(&mut other).await?.unwrap_or_default().into_iter();
        }
        let one = left.next().map(stored);
        let other = right.next().map(stored);
        is_same(one.is_some() && one == other, &|| format!("event {number}"))?;
    }
    Ok(Compared { issues, leases: ours.leases.len(), oldest: base + 1, newest })
}

/// Returns an event as stores keep it.
fn stored(event: NumberedEvent) -> (u64, Vec<u8>) {
    (event.position.number, event_format::write(&event.event))
}
