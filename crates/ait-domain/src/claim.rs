//! Claims: their numbers, the clients that hold them, and which claim a change needs.

use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::merge::has_late_claim;
use super::{
    ActionKind, AgentName, Checks, Classification, DomainError, HistoryEntry, Issue, Label, Status,
    Timestamp,
};
use crate::string_enum;

/// The client that holds a claim: a process, a session, or a name. The registry of clients makes these ids and knows
/// which of them live.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClientId(Arc<str>);

impl ClientId {
    /// Wraps an id.
    pub fn new(id: &str) -> Self {
        Self(id.into())
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A claim that lives as long as its client. A claim without a lease lasts until a command ends it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lease {
    /// The number of the claim.
    pub claim: usize,
    pub client: ClientId,
}

/// The terms of a claim.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClaimTerms {
    /// The client with which the claim lives; `None` for a claim that does not lapse.
    pub client: Option<ClientId>,
    /// The maximum number of issues that the agent may hold, this one included; `None` for any number.
    pub max_claims: Option<NonZeroUsize>,
    /// Who may review.
    pub review: ReviewPolicy,
    /// Whether the next issue is left if it says which files its work [changes](super::Touches), so that the caller
    /// can look for one that meets no other work.
    pub leaves_touching: bool,
}

string_enum! {
    /// How agents get issues whose work changes the files of other work.
    #[derive(Default)]
    pub enum OverlapPolicy {
        /// After others of the same priority.
        Avoid = "avoid",
        /// As all others, with a warning.
        #[default]
        Warn = "warn",
        /// As all others.
        Off = "off",
    }
}

string_enum! {
    /// Who may review an issue.
    #[derive(Default)]
    pub enum ReviewPolicy {
        /// Every agent.
        #[default]
        Anyone = "anyone",
        /// Every agent but those that worked on the issue or completed it.
        NotAuthor = "not-author",
        /// Every agent but those that worked on the issue or completed it, and the one that filed it.
        Uninvolved = "uninvolved",
    }
}

impl ReviewPolicy {
    /// Returns true if an agent may review an issue.
    pub fn allows(self, agent: &AgentName, issue: &Issue) -> bool {
        self.author_action(agent, issue).is_none()
    }

    /// Returns what keeps an agent from reviewing an issue: it `worked on`, `completed` or `filed` it.
    pub fn author_action(self, agent: &AgentName, issue: &Issue) -> Option<&'static str> {
        if self == Self::Anyone {
            return None;
        }
        let mut own = issue.history.iter().filter(|entry| entry.agent == agent.as_str());
        own.find_map(|entry| match ActionKind::of(&entry.action) {
            ActionKind::Claimed => Some("worked on"),
            ActionKind::Completed => Some("completed"),
            ActionKind::Filed if self == Self::Uninvolved => Some("filed"),
            _ => None,
        })
    }

    /// Checks that an agent reviews an issue that it closes. The number of a review that lapsed counts as long as no
    /// other agent has claimed the issue.
    ///
    /// # Errors
    ///
    /// [`DomainError::NeedsReview`].
    fn check_close(
        self,
        issue: &Issue,
        agent: &AgentName,
        gives_number: bool,
    ) -> Result<(), DomainError> {
        let reviews = || {
            let claims =
                issue.history.iter().rfind(|entry| ActionKind::of(&entry.action).is_claim());
            let is_last = claims.is_some_and(|claim| {
                ActionKind::of(&claim.action) == ActionKind::ReviewStarted
                    && claim.agent == agent.as_str()
            });
            let lasts = issue.status == Status::InReview || (gives_number && issue.has_lapsed());
            is_last && lasts && self.allows(agent, issue)
        };
        if self == Self::Anyone || reviews() {
            return Ok(());
        }
        let holder = issue.holder().map(|holder| holder.agent.to_owned());
        Err(DomainError::NeedsReview { id: issue.id, status: issue.status, holder })
    }

    /// Checks that an agent completes no issue that another one has completed: it would become its author.
    ///
    /// # Errors
    ///
    /// [`DomainError::AlreadyCompleted`].
    fn check_complete(self, issue: &Issue, agent: &AgentName) -> Result<(), DomainError> {
        let is_completion =
            |entry: &&HistoryEntry| ActionKind::of(&entry.action) == ActionKind::Completed;
        let author = issue.history.iter().rfind(is_completion).map(|entry| entry.agent.as_str());
        match author.filter(|author| *author != agent.as_str()) {
            Some(author) if self != Self::Anyone && issue.status == Status::Completed => {
                let author = author.to_owned();
                Err(DomainError::AlreadyCompleted { id: issue.id, author })
            }
            _ => Ok(()),
        }
    }
}

string_enum! {
    /// Which claims a change may end if it gives no claim number.
    #[derive(Default)]
    pub enum ClaimPolicy {
        /// Every claim, as in the original AgentIssueTracker.
        #[default]
        Trusting = "trusting",
        /// Only claims of the same agent.
        Owned = "owned",
    }
}

/// What a caller says of its claim when it completes, returns or closes an issue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClaimProof {
    /// The number of the claim, if the caller gave one.
    pub number: Option<usize>,
    /// Whether the change is made even if another agent holds the issue.
    pub is_forced: bool,
    /// Whether a person makes the change, who may close an issue without a review: on a page, or on the command line
    /// under the name of the user.
    pub is_person: bool,
}

/// Who runs the models of some agents.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Provider {
    pub name: String,
    /// The label of the entries that say until when its agents get nothing.
    pub label: Label,
    /// The names of its agents, or how they begin, with `*` behind it.
    agents: Vec<String>,
}

impl Provider {
    /// Returns true if an agent is one of its agents.
    pub fn has(&self, agent: &str) -> bool {
        self.agents.iter().any(|name| match name.strip_suffix('*') {
            Some(begin) => agent.starts_with(begin),
            None => agent == name,
        })
    }
}

impl FromStr for Provider {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse =
            || {
                let (name, agents) = text.split_once('=')?;
                let name = name.trim().to_owned();
                let label = format!("hold:{name}").parse().ok()?;
                let agents: Vec<_> = agents.split_whitespace().map(str::to_owned).collect();
                (!name.is_empty() && !name.contains(['/', '.']) && !agents.is_empty())
                    .then_some(Self { name, label, agents })
            };
        parse().ok_or_else(|| {
            format!("{text:?} is no provider: give NAME=AGENTS, such as anthropic=dev-* lead")
        })
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.agents.join(" "))
    }
}

/// How claims are made, kept and ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClaimSettings {
    /// Which claims a change may end if it gives no claim number.
    pub policy: ClaimPolicy,
    /// Who may review.
    pub review: ReviewPolicy,
    /// How agents get issues whose work changes the files of other work.
    pub overlap: OverlapPolicy,
    /// After how many failed attempts an issue is parked; `None` for never.
    pub max_attempts: Option<NonZeroUsize>,
    /// How many issues an agent may hold; `None` for any number.
    pub max_claims: Option<NonZeroUsize>,
    /// Whose agents are whose, for limits of providers.
    pub providers: Vec<Provider>,
    /// The commands that work must pass.
    pub checks: Checks,
    /// Whether they must have passed before issues are handed in and closed.
    pub requires_check: bool,
    /// How long the agent of a client that is gone may take to come back, before its claims lapse; zero if claims never
    /// lapse.
    pub grace: Duration,
    /// How long a client over HTTP may be silent and not connected; zero for any time.
    pub ttl: Duration,
}

impl Default for ClaimSettings {
    fn default() -> Self {
        Self {
            policy: ClaimPolicy::Trusting,
            review: ReviewPolicy::Anyone,
            overlap: OverlapPolicy::default(),
            max_attempts: None,
            max_claims: None,
            providers: Vec::new(),
            checks: Checks::default(),
            requires_check: false,
            grace: Duration::from_secs(60),
            ttl: Duration::from_secs(60 * 60),
        }
    }
}

impl ClaimSettings {
    /// Returns the checks if they are required.
    pub fn required_checks(&self) -> Option<Checks> {
        self.requires_check.then(|| self.checks.clone())
    }
}

/// What a caller needs to complete, return or close an issue.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClaimRequirement {
    /// Which claim it needs.
    pub claim: RequiredClaim,
    /// Whose review an issue needs before it is closed.
    pub review: ReviewPolicy,
    /// The checks, one of which must have passed on the files of the branch before it is handed in, and on its merge
    /// before the issue is closed.
    pub checks: Option<Checks>,
}

/// Which claim a caller needs to complete, return or close an issue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RequiredClaim {
    /// None: the change is allowed even if another agent holds the issue.
    #[default]
    Any,
    /// The claim of the same agent, if the issue is claimed.
    Holder,
    /// The claim with this number.
    Number(usize),
    /// The claim with this number, of the same agent.
    OwnNumber(usize),
    /// None, or the one with this number, against a policy that needs that of the agent. The comment then says whose
    /// claim it was.
    Forced(Option<usize>),
}

impl ClaimRequirement {
    /// Returns the command that work of a kind must have passed. Nothing has passed an empty one, which stands for one
    /// that is missing.
    pub(super) fn check_of(&self, kind: Classification) -> Option<&str> {
        self.checks.as_ref().map(|checks| checks.of(kind).unwrap_or_default())
    }
}

impl From<RequiredClaim> for ClaimRequirement {
    fn from(claim: RequiredClaim) -> Self {
        Self { claim, ..Self::default() }
    }
}

impl RequiredClaim {
    /// Returns the claim that a caller needs under a policy, by what it says.
    pub fn of(proof: ClaimProof, policy: ClaimPolicy) -> Self {
        match (proof.number, policy) {
            (number, _) if proof.is_forced => Self::Forced(number),
            (Some(number), _) => Self::Number(number),
            (None, ClaimPolicy::Owned) => Self::Holder,
            (None, ClaimPolicy::Trusting) => Self::Any,
        }
    }

    fn number(self) -> Option<usize> {
        match self {
            Self::Number(number) | Self::OwnNumber(number) => Some(number),
            Self::Forced(number) => number,
            Self::Any | Self::Holder => None,
        }
    }
}

impl ClaimRequirement {
    /// Checks whether an agent may complete, return or close an issue.
    ///
    /// The number of a claim that lapsed counts as long as no other agent has claimed the issue: the work is late, but
    /// not lost. An agent whose claim came too late, because another clone made one before, needs [`Self::Forced`].
    ///
    /// # Errors
    ///
    /// [`DomainError::NotOwned`]; [`DomainError::OtherClaim`] if the agent holds the issue with another number.
    pub(super) fn check(&self, issue: &Issue, agent: &AgentName) -> Result<(), DomainError> {
        let holder = issue.holder();
        let number = issue.claim_number();
        let is_own = holder.is_none_or(|holder| holder.agent == agent.as_str());
        let is_current = |given: usize| given == number && (holder.is_some() || issue.has_lapsed());
        let is_late = has_late_claim(issue, agent.as_str());
        let is_allowed = match self.claim {
            RequiredClaim::Forced(None) => true,
            RequiredClaim::Forced(Some(given)) => is_current(given),
            _ if is_late => false,
            RequiredClaim::Any => true,
            RequiredClaim::Holder => is_own,
            RequiredClaim::Number(given) => is_current(given),
            RequiredClaim::OwnNumber(given) => is_own && is_current(given),
        };
        if is_allowed {
            return Ok(());
        }
        let given = self.claim.number();
        if let Some(given) = given.filter(|_| is_own && holder.is_some()) {
            return Err(DomainError::OtherClaim { id: issue.id, given, number });
        }
        let holder = holder.map(|holder| (holder.agent.to_owned(), holder.since));
        let ended = given.and_then(|given| issue.claim_end(given));
        let status = issue.status;
        Err(DomainError::NotOwned { id: issue.id, given, number, holder, ended, status, is_late })
    }

    /// Checks an action that ends a claim: whose claim it is, and whether the issue was reviewed.
    ///
    /// # Errors
    ///
    /// Those of [`check`](Self::check), [`DomainError::NeedsReview`] and [`DomainError::AlreadyCompleted`].
    pub(super) fn check_action(
        &self,
        action: ActionKind,
        issue: &Issue,
        agent: &AgentName,
    ) -> Result<(), DomainError> {
        self.check(issue, agent)?;
        match action {
            ActionKind::Closed => {
                self.review.check_close(issue, agent, self.claim.number().is_some())
            }
            ActionKind::Completed => self.review.check_complete(issue, agent),
            _ => Ok(()),
        }
    }

    /// Returns the comment of a change, with the holder whose claim it ends by force.
    pub(super) fn comment(&self, comment: &str, issue: &Issue, agent: &AgentName) -> String {
        let other = issue.holder().filter(|holder| holder.agent != agent.as_str());
        match (self.claim, other) {
            (RequiredClaim::Forced(_), Some(other)) => {
                let number = issue.claim_number();
                format!("{comment}\n\n(forced: {} held claim {number})", other.agent)
            }
            _ => comment.to_owned(),
        }
    }
}

/// The claim of an issue, for its readers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Claim<'a> {
    /// The agent that holds the issue.
    pub agent: &'a str,
    /// The number of the claim.
    pub number: usize,
    /// The time of the claim.
    pub since: Timestamp,
}

/// An issue with its claim, for its readers. The file has no claims of its own: they follow from the history.
#[derive(Clone, Debug, Serialize)]
pub struct WithClaim<'a> {
    #[serde(flatten)]
    issue: &'a Issue,
    #[serde(skip_serializing_if = "Option::is_none")]
    claim: Option<Claim<'a>>,
}

impl<'a> From<&'a Issue> for WithClaim<'a> {
    fn from(issue: &'a Issue) -> Self {
        // An unknown key of another program keeps its name.
        let claim = issue.claim().filter(|_| issue.unknown_keys.get("claim").is_none());
        Self { issue, claim }
    }
}

impl Issue {
    /// Returns the claim of a claimed issue.
    pub fn claim(&self) -> Option<Claim<'_>> {
        let holder = self.holder()?;
        Some(Claim { agent: holder.agent, number: self.claim_number(), since: holder.since })
    }

    /// Returns the number of the latest claim. The claims of an issue are numbered from 1, for work and for review
    /// together; 0 if it was never claimed.
    ///
    /// A history only grows, so no number comes twice. Restoring a backup takes back the numbers, too.
    pub fn claim_number(&self) -> usize {
        let kinds = self.history.iter().map(|entry| ActionKind::of(&entry.action));
        let claims = kinds.filter(|kind| kind.is_claim()).count();
        // Another program claimed the issue in its own words.
        let is_foreign = self
            .claim_entry()
            .is_some_and(|entry| !ActionKind::of(&self.history[entry].action).is_claim());
        claims + usize::from(is_foreign)
    }

    /// Returns when and how a claim ended; `None` if the history has no such claim, or it has not ended.
    fn claim_end(&self, number: usize) -> Option<(Timestamp, ActionKind)> {
        let kinds =
            self.history.iter().map(|entry| (entry.timestamp, ActionKind::of(&entry.action)));
        let mut claims = 0;
        let mut since = kinds.skip_while(|(_, kind)| {
            claims += usize::from(kind.is_claim());
            claims < number
        });
        since.next()?;
        since.find(|(_, kind)| !kind.leaves_status() && *kind != ActionKind::Other)
    }

    /// Returns true if the latest claim lapsed and nothing has followed it but comments and changes.
    fn has_lapsed(&self) -> bool {
        let kinds = self.history.iter().rev().map(|entry| ActionKind::of(&entry.action));
        let mut leading = kinds.filter(|kind| !kind.leaves_status());
        leading.next() == Some(ActionKind::Lapsed)
    }
}
