//! Taking changes back: by their numbers, or those of an agent in some time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::bulk::{Attempt, BulkOutcome, MAX_BULK};
use super::log::{Bounds, EventNumbers, LogReader, ends_before};
use super::{NumberedEvent, Part, StoreError, Tracker};
use crate::domain::undo::{self, LeftReason, Undoing, Undone};
use crate::domain::{
    AgentName, ClaimProof, Command, CommentText, DomainError, Event, Issue, IssueId, Patch,
    Resolution, Timestamp,
};

/// How often, and how long each time, to wait until the log tells of all changes of the issues.
const TRIALS: usize = 20;
const TRIAL: Duration = Duration::from_millis(50);

/// Which changes to undo.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UndoSelection {
    /// The events with these numbers, of the agent of the first one. What others changed in between stays.
    Numbers(EventNumbers),
    /// The events of an agent.
    By {
        /// The agent.
        agent: AgentName,
        /// From when.
        since: Timestamp,
        /// Until when; `None` for now.
        until: Option<Timestamp>,
    },
    /// The newest change of an agent, with all events of it.
    Last(AgentName),
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
    /// The selection has no events.
    #[error("{agent} changed nothing in that time")]
    NothingBy {
        /// The agent.
        agent: AgentName,
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
    /// The issue.
    pub id: IssueId,
    /// Its title; `None` if it is no longer there.
    pub title: Option<String>,
    /// The fields that are as before; `filing` if the issue is rejected.
    pub undone: Vec<&'static str>,
    /// What stays, with the reasons.
    pub left: Vec<(&'static str, LeftReason)>,
    /// Why the whole issue stays.
    pub refused: Option<DomainError>,
}

/// What an undo did, or would do.
#[derive(Clone, Debug)]
pub struct UndoOutcome {
    /// How many events it concerns.
    pub count: usize,
    /// The numbers of the first and the last of them.
    pub numbers: EventNumbers,
    /// The issues.
    pub issues: Vec<UndoneIssue>,
    /// The numbers of the first and the last event of the undo; `None` if nothing was changed.
    pub events: Option<EventNumbers>,
}

impl Tracker {
    /// Undoes changes with one commit. What later changes concern stays, and so does what was said; ended issues do not
    /// open again. With `is_dry_run`, nothing changes, and the result says what would.
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
        let ids: BTreeSet<IssueId> = selected.values().copied().collect();
        if ids.len() > MAX_BULK {
            return Err(UndoError::TooMany { count: ids.len() });
        }
        let mut trial = 1;
        let plan = loop {
            let is_last = trial >= TRIALS;
            if let Some(plan) = self.plan(&selected, &ids, agent, proof, is_last).await? {
                break plan;
            }
            // The issues show a change that the log does not tell of yet.
            sleep(TRIAL).await;
            trial += 1;
        };
        self.carry_out(plan, &selected, is_dry_run).await
    }

    /// Returns the numbers of the selected events, with their issues. There is at least one.
    async fn selected(
        &self,
        selection: &UndoSelection,
    ) -> Result<BTreeMap<u64, IssueId>, UndoError> {
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

    async fn numbered(
        &self,
        EventNumbers(numbers): &EventNumbers,
    ) -> Result<BTreeMap<u64, IssueId>, UndoError> {
        let given = *numbers.start();
        let mut log = LogReader::after(self, given.saturating_sub(1));
        let (mut selected, mut agent) = (BTreeMap::new(), None);
        while let Some(read) = log.next().await?
            && numbers.contains(&read.number())
        {
            if agent.is_none() && read.number() != given {
                break;
            }
            let agent = agent.get_or_insert_with(|| read.event.agent.clone());
            if *agent == read.event.agent {
                selected.insert(read.number(), read.event.issue);
            }
        }
        if selected.is_empty() {
            let Bounds { newest, oldest } = log.bounds();
            return Err(UndoError::NoSuchChange { given, oldest, newest: newest.number });
        }
        Ok(selected)
    }

    /// Returns the events of an agent in a time; only those of the newest change if `is_last`.
    ///
    /// The events of one change follow each other and have the same time, unless an issue was changed later than that
    /// by another clock.
    async fn latest_by(
        &self,
        agent: &AgentName,
        since: Timestamp,
        until: Timestamp,
        is_last: bool,
    ) -> Result<BTreeMap<u64, IssueId>, UndoError> {
        let (mut selected, mut time) = (BTreeMap::new(), None);
        let mut log = LogReader::before(self, u64::MAX);
        while let Some(read) = log.next().await? {
            let event = &read.event;
            let is_wanted = event.agent == agent.as_str()
                && (since..=until).contains(&event.at)
                && event.issue != IssueId::NIL;
            let ends_change = time.is_some_and(|time| !is_wanted || event.at != time);
            if ends_before(event, since) || (is_last && ends_change) {
                break;
            }
            if is_wanted {
                time = Some(event.at);
                selected.insert(read.number(), event.issue);
            }
        }
        match selected.is_empty() {
            true => Err(UndoError::NothingBy { agent: agent.clone() }),
            false => Ok(selected),
        }
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
        let state = self.store.part(Part::Around(ids.iter().copied().collect())).await?;
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
            let found = undo::undo(&issue, &marked).or_else(|| is_last.then(untold));
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
        selected: &BTreeMap<u64, IssueId>,
        is_dry_run: bool,
    ) -> Result<UndoOutcome, UndoError> {
        let attempts = plan.iter().filter_map(|planned| {
            let commands = planned.commands.clone();
            (!commands.is_empty()).then_some(Attempt { id: planned.id, commands })
        });
        // A link that comes back leads to another issue.
        let linked = plan.iter().filter_map(|planned| match &planned.undone.undoing {
            Undoing::Change(wanted) => Some(wanted.attributes.links.iter().map(|link| link.to)),
            _ => None,
        });
        let (attempts, linked) = (attempts.collect(), linked.flatten().collect());
        let BulkOutcome { refused, events, .. } =
            self.try_each(attempts, linked, is_dry_run).await?;
        let mut refused: BTreeMap<_, _> = refused.into_iter().collect();
        let issues = plan.into_iter().map(|planned| {
            let refused = refused.remove(&planned.id);
            planned.reported(refused)
        });
        let numbers = selected.keys();
        let (first, last) = (numbers.clone().next(), numbers.clone().next_back());
        let (first, last) = (first.copied().unwrap_or_default(), last.copied().unwrap_or_default());
        let numbers = EventNumbers(first..=last);
        Ok(UndoOutcome { count: selected.len(), numbers, issues: issues.collect(), events })
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
        let (guard, agent) = (self.guard(proof), agent.clone());
        let undoing = match undoing {
            Undoing::Nothing => return Ok(Vec::new()),
            Undoing::Change(wanted) => {
                let (wanted, undone) = (Arc::new(Issue::clone(wanted)), undone.to_owned());
                Command::UndoChanges { wanted, undone, agent, guard }
            }
            Undoing::Reject => {
                let comment = format!("Filing this was undone ({undone}).");
                let (comment, resolution) = (CommentText::try_from(comment)?, Resolution::Rejected);
                let issue = issue.id.into();
                Command::CloseIssue { issue, resolution, comment, agent, guard }
            }
        };
        let version = Command::RequireVersion { issue: issue.id.into(), version: issue.version() };
        Ok(vec![version, undoing])
    }
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
        let title = issue.map(|issue| issue.title.clone());
        UndoneIssue { id, title, undone: fields, left, refused }
    }
}
