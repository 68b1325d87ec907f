//! Taking changes back: by their numbers, or those of an agent in some time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::bulk::{Attempt, BulkOutcome, MAX_BULK};
use super::events::{Bounds, EventNumbers, LogReader, ends_before};
use super::{NumberedEvent, StoreError, Subset, Tracker};
use ait_domain::undo::{self, LeftReason, Undoing, Undone};
use ait_domain::{
    AgentName, ClaimProof, Command, CommentText, Condition, DomainError, Event, EventKind, Issue,
    IssueId, Patch, Query, Resolution, StatusSet, Timestamp,
};

/// How often, and how long each time, to wait until the log contains the newest changes of the issues.
const MAX_ATTEMPTS: usize = 20;
const TRIAL: Duration = Duration::from_millis(50);

/// How long after each other the issues of one import may come, in milliseconds. Each one is a commit of its own.
const IMPORT_GAP_MS: i64 = 60_000;

/// Which changes to undo.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UndoSelection {
    /// The events with these numbers, of the agent of the first one. What others changed in between stays.
    Numbers(EventNumbers),
    /// The events of an agent.
    By {
        agent: AgentName,
        /// From when.
        since: Timestamp,
        /// Until when; `None` for now.
        until: Option<Timestamp>,
    },
    /// The newest change of an agent, with all events of it.
    Last(AgentName),
}

/// From when on the log knows changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogBegins(pub Timestamp);

impl fmt::Display for LogBegins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the log begins at {} and knows no earlier changes", self.0)
    }
}

/// The events to undo, with their issues.
struct Selected {
    events: BTreeMap<u64, IssueId>,
    /// Numbers that select the same events again.
    numbers: EventNumbers,
    log_begins: Option<LogBegins>,
}

/// Why changes cannot be undone.
#[derive(Clone, Debug, thiserror::Error)]
pub enum UndoError {
    /// The store cannot be read or changed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no event with the number.
    #[error("there is no change {given}: the log has the changes {oldest} to {newest}")]
    NoSuchChange {
        /// The number.
        given: u64,
        /// The number of the oldest event that is kept.
        oldest: u64,
        /// The number of the newest event.
        newest: u64,
    },
    /// The event with the number concerns no issue.
    #[error("change {given} concerns no issue: it is an edit of the other keys of issues.json")]
    NoIssue {
        /// The number.
        given: u64,
    },
    /// The selection has no events.
    #[error("{agent} changed nothing in that time{}", .log_begins.map(|at| format!("; {at}")).unwrap_or_default())]
    NothingBy {
        agent: AgentName,
        /// Where the log begins, if the time begins before that.
        log_begins: Option<LogBegins>,
    },
    /// The selection has too many issues.
    #[error(
        "these changes concern {count} issues: at most {MAX_BULK} are undone at once; choose a shorter time"
    )]
    TooMany {
        /// How many.
        count: usize,
    },
}

/// What undoing did to an issue, or would do.
#[derive(Clone, Debug)]
pub struct UndoneIssue {
    pub id: IssueId,
    /// Its title; `None` if it is no longer there.
    pub title: Option<String>,
    /// The fields that are as before; `filing` if the issue is rejected.
    pub undone: Vec<&'static str>,
    /// What stays, with the reasons.
    pub left: Vec<(&'static str, LeftReason)>,
    /// Why the whole issue stays.
    pub refused: Option<DomainError>,
    /// Whether the issue ends, so that it never opens again.
    pub is_ended: bool,
}

/// What an undo did, or would do.
#[derive(Clone, Debug)]
pub struct UndoOutcome {
    /// How many events it concerns.
    pub count: usize,
    /// Numbers that select the same events again.
    pub numbers: EventNumbers,
    pub issues: Vec<UndoneIssue>,
    /// The numbers of the undo; `None` if nothing was changed, or if they cannot be read.
    pub events: Option<EventNumbers>,
    /// Where the log begins, if the selection begins before that and so may lack changes.
    pub log_begins: Option<LogBegins>,
}

impl UndoOutcome {
    /// Returns true if issues end, which no undo takes back.
    pub fn ends_issues(&self) -> bool {
        self.issues.iter().any(|issue| issue.is_ended)
    }
}

impl Tracker {
    /// Undoes changes with one commit. What later changes concern stays, and so does what was said; ended issues open
    /// again only if a person undoes their end. With `is_dry_run`, nothing changes, and the result says what would.
    ///
    /// The cost is that of reading the events since the first change.
    ///
    /// # Errors
    ///
    /// [`UndoError`]. Nothing has changed then.
    pub async fn undo(
        &self,
        selection: &UndoSelection,
        agent: &AgentName,
        proof: ClaimProof,
        is_dry_run: bool,
    ) -> Result<UndoOutcome, UndoError> {
        let selected = self.selected(selection).await?;
        let ids: BTreeSet<IssueId> = selected.events.values().copied().collect();
        if ids.len() > MAX_BULK {
            return Err(UndoError::TooMany { count: ids.len() });
        }
        let mut trial = 1;
        let plan = loop {
            let is_last = trial >= MAX_ATTEMPTS;
            if let Some(plan) = self.plan(&selected.events, &ids, agent, proof, is_last).await? {
                break plan;
            }
            // The issues show a change that the log does not tell of yet.
            sleep(TRIAL).await;
            trial += 1;
        };
        self.carry_out(plan, selected, is_dry_run).await
    }

    /// Returns the selected events. There is at least one.
    async fn selected(&self, selection: &UndoSelection) -> Result<Selected, UndoError> {
        match selection {
            UndoSelection::Numbers(numbers) => self.numbered(numbers).await,
            UndoSelection::By { agent, since, until } => {
                self.latest_by(agent, *since, until.unwrap_or(Timestamp::MAX), false).await
            }
            UndoSelection::Last(agent) => {
                self.latest_by(agent, Timestamp::MIN, Timestamp::MAX, true).await
            }
        }
    }

    /// Returns the events with these numbers, of the agent of the first one.
    async fn numbered(&self, numbers: &EventNumbers) -> Result<Selected, UndoError> {
        let given = numbers.first();
        let mut log = LogReader::after(self, given.saturating_sub(1));
        let mut selected = BTreeMap::new();
        let mut agent = None;
        while let Some(read) = log.next().await?
            && read.number() <= numbers.last()
        {
            if !numbers.contains(read.number()) {
                continue;
            }
            if agent.is_none() && read.number() != given {
                break;
            }
            let agent = agent.get_or_insert_with(|| read.event.agent.clone());
            if *agent == read.event.agent && read.event.issue != IssueId::NIL {
                selected.insert(read.number(), read.event.issue);
            }
        }
        if selected.is_empty() && agent.is_some() {
            return Err(UndoError::NoIssue { given });
        }
        // Not those of later events: what was shown is undone, whatever happens until then.
        let last = selected.last_key_value().map(|(last, _)| *last);
        let Some(numbers) = last.and_then(|last| numbers.up_to(last)) else {
            let Bounds { newest, oldest } = log.bounds();
            return Err(UndoError::NoSuchChange { given, oldest, newest: newest.number });
        };
        Ok(Selected { events: selected, numbers, log_begins: None })
    }

    /// Returns the events of an agent in a time; only those of the newest change if `is_last`.
    ///
    /// In an issue that is dated in the future, the events of several changes have the same time: the last one
    /// counts. Lapses by servers are not counted as the agent's change. Events of others may be between those of a
    /// change.
    async fn latest_by(
        &self,
        agent: &AgentName,
        since: Timestamp,
        until: Timestamp,
        is_last: bool,
    ) -> Result<Selected, UndoError> {
        let mut selected = BTreeMap::new();
        let mut newer: Option<Arc<Event>> = None;
        let mut log = LogReader::before(self, u64::MAX);
        let now = self.now();
        let mut begin = Some(now);
        while let Some(read) = log.next().await? {
            let event = &read.event;
            let is_of_server =
                matches!(event.kind, EventKind::TakenUp { .. } | EventKind::Lapsed { .. });
            let is_wanted = event.agent == agent.as_str()
                && (since..=until).contains(&event.at)
                && event.issue != IssueId::NIL
                && !(is_last && is_of_server);
            let is_again = || event.at > now && selected.values().any(|id| *id == event.issue);
            let ends_change = newer.as_ref().is_some_and(|newer| {
                let is_other = is_wanted && (!is_one_change(event, newer) || is_again());
                is_other || ends_before(event, newer.at)
            });
            if ends_before(event, since) || (is_last && ends_change) {
                begin = None;
                break;
            }
            begin = Some(event.at);
            if is_wanted {
                selected.insert(read.number(), event.issue);
                newer = Some(Arc::clone(event));
            }
        }
        let log_begins = match begin.filter(|begin| !is_last && since < *begin) {
            Some(begin) => self.forgotten(log.bounds(), begin).await?,
            None => None,
        };
        let runs = selected.keys().map(|number| *number..=*number);
        let Some(numbers) = EventNumbers::of(runs) else {
            return Err(UndoError::NothingBy { agent: agent.clone(), log_begins });
        };
        // Of all changes of an agent in a time, the first and the last number say enough.
        let all = EventNumbers::of([numbers.first()..=numbers.last()]);
        let numbers = all.filter(|_| !is_last).unwrap_or(numbers);
        Ok(Selected { events: selected, numbers, log_begins })
    }

    /// Returns the time of the oldest event, if there were changes before: the log has dropped them, or it began with
    /// issues that were there.
    async fn forgotten(
        &self,
        bounds: Bounds,
        begin: Timestamp,
    ) -> Result<Option<LogBegins>, StoreError> {
        let before = Timestamp::from_unix_millis(begin.unix_millis() - 1);
        let condition = Condition::Created(Timestamp::MIN..=before);
        let is_forgotten = bounds.oldest > 1
            || self
                .list_issues(Query {
                    statuses: StatusSet::EVERYTHING,
                    condition,
                    ..Query::default()
                })
                .await?
                .total
                > 0;
        Ok(is_forgotten.then_some(LogBegins(begin)))
    }

    /// Plans the undo of each issue; `None` if the log does not tell of all changes yet. With `is_last`, such issues
    /// are left.
    async fn plan(
        &self,
        selected: &BTreeMap<u64, IssueId>,
        ids: &BTreeSet<IssueId>,
        agent: &AgentName,
        proof: ClaimProof,
        is_last: bool,
    ) -> Result<Option<Vec<Planned>>, UndoError> {
        let first = selected.keys().next().copied().unwrap_or(1);
        let events = self.events_of(ids, first).await?;
        let state = self.store.subset(Subset::Around(ids.iter().copied().collect())).await?;
        let undone = match (first, selected.keys().next_back()) {
            (first, Some(last)) if *last != first => format!("changes {first} to {last}"),
            _ => format!("change {first}"),
        };
        let mut planned = Vec::new();
        for id in ids {
            let Some(issue) = state.issues.get(*id) else {
                let left = vec![("issue", LeftReason::Gone)];
                let undone = Undone { undoing: Undoing::Nothing, left };
                planned.push(Planned { id: *id, issue: None, undone, commands: Vec::new() });
                continue;
            };
            let numbered = events.get(id).map(Vec::as_slice).unwrap_or_default();
            let marked: Vec<(&Event, bool)> = numbered
                .iter()
                .map(|one| (&*one.event, selected.contains_key(&one.position.number)))
                .collect();
            let untold =
                || Undone { undoing: Undoing::Nothing, left: vec![("issue", LeftReason::Untold)] };
            let found =
                undo::undo(&issue, &marked, proof.is_person).or_else(|| is_last.then(untold));
            let Some(found) = found else { return Ok(None) };
            let commands = self.commands_of(&issue, &found.undoing, &undone, agent, proof)?;
            planned.push(Planned { id: *id, issue: Some(issue), undone: found, commands });
        }
        Ok(Some(planned))
    }

    /// Returns the events of issues from a number on, by issue, oldest first.
    async fn events_of(
        &self,
        ids: &BTreeSet<IssueId>,
        first: u64,
    ) -> Result<BTreeMap<IssueId, Vec<NumberedEvent>>, StoreError> {
        let mut found: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let mut log = LogReader::after(self, first - 1);
        while let Some(read) = log.next().await? {
            if ids.contains(&read.event.issue) {
                found.entry(read.event.issue).or_default().push(read);
            }
        }
        Ok(found)
    }

    async fn carry_out(
        &self,
        plan: Vec<Planned>,
        selected: Selected,
        is_dry_run: bool,
    ) -> Result<UndoOutcome, UndoError> {
        // As they were made one after another, so they are undone, the newest one first: links that were turned round
        // would make a cycle otherwise.
        let Selected { events: selected, numbers, log_begins } = selected;
        let newest: BTreeMap<IssueId, u64> = selected.iter().map(|(at, id)| (*id, *at)).collect();
        let mut attempts: Vec<_> = plan
            .iter()
            .map(|planned| Attempt { id: planned.id, commands: planned.commands.clone() })
            .filter(|attempt| !attempt.commands.is_empty())
            .collect();
        attempts.sort_by_key(|attempt| Reverse(newest.get(&attempt.id).copied()));
        // A link that comes back leads to another issue.
        let linked = plan.iter().filter_map(|planned| match &planned.undone.undoing {
            Undoing::Change(wanted) => Some(wanted.attributes.links.iter().map(|link| link.to)),
            _ => None,
        });
        let linked = linked.flatten().collect();
        let BulkOutcome { refused, events, .. } =
            self.try_each(attempts, linked, is_dry_run).await?;
        let mut refused: BTreeMap<_, _> = refused.into_iter().collect();
        let issues = plan.into_iter().map(|planned| {
            let refused = refused.remove(&planned.id);
            planned.reported(refused)
        });
        let issues = issues.collect();
        Ok(UndoOutcome { count: selected.len(), numbers, issues, events, log_begins })
    }

    /// Returns the commands that undo changes of an issue; none if nothing can be undone.
    fn commands_of(
        &self,
        issue: &Issue,
        undoing: &Undoing,
        undone: &str,
        agent: &AgentName,
        proof: ClaimProof,
    ) -> Result<Vec<Command>, StoreError> {
        let required_claim = self.claim_requirement(proof);
        let agent = agent.clone();
        let undoing = match undoing {
            Undoing::Nothing => return Ok(Vec::new()),
            Undoing::Change(wanted) => {
                let result = Arc::new(Issue::clone(wanted));
                let undone = undone.to_owned();
                Command::UndoChanges { result, undone, agent, required_claim }
            }
            Undoing::Reject => {
                let comment = format!("Filing this was undone ({undone}).");
                let comment = CommentText::try_from(comment)?;
                let resolution = Resolution::Rejected;
                let issue = issue.id.into();
                Command::CloseIssue { issue, resolution, comment, agent, required_claim }
            }
        };
        let version = Command::RequireVersion { issue: issue.id.into(), version: issue.version() };
        Ok(vec![version, undoing])
    }
}

/// Returns true if an event and the next one belong to one change: they have the same time, or an import of many issues
/// made both.
fn is_one_change(event: &Event, next: &Event) -> bool {
    let is_import = |event: &Event| matches!(event.kind, EventKind::Imported { .. });
    let gap = (next.at.unix_millis() - event.at.unix_millis()).abs();
    gap == 0 || (is_import(event) && is_import(next) && gap <= IMPORT_GAP_MS)
}

/// The plan for an issue.
struct Planned {
    id: IssueId,
    /// The issue; `None` if it is no longer there.
    issue: Option<Arc<Issue>>,
    undone: Undone,
    commands: Vec<Command>,
}

impl Planned {
    fn reported(self, refused: Option<DomainError>) -> UndoneIssue {
        let Self { id, issue, undone: Undone { undoing, left }, .. } = self;
        let fields = match (&undoing, &issue) {
            _ if refused.is_some() => Vec::new(),
            (Undoing::Change(wanted), Some(issue)) => Patch::between(issue, wanted).fields(),
            (Undoing::Reject, _) => vec!["filing"],
            _ => Vec::new(),
        };
        let is_ended = match &undoing {
            _ if refused.is_some() => false,
            Undoing::Reject => true,
            Undoing::Change(wanted) => {
                let is_open = issue.as_ref().is_some_and(|issue| issue.status.is_open());
                is_open && wanted.status.has_ended()
            }
            Undoing::Nothing => false,
        };
        let title = issue.map(|issue| issue.title.clone());
        UndoneIssue { id, title, undone: fields, left, refused, is_ended }
    }
}
