//! The protocol of claims and leases as a state machine: agents with two clients each, an observer, and the clock.
//!
//! Time is counted in ticks. First a process notices that a client is gone, and writes a mark. Once the mark is as old
//! as the grace period, the observer finds the claim due, and lapses it in a second step. Any action may happen between
//! the two steps.

/// The grace period in ticks.
pub const GRACE: u8 = 2;

/// The fault of a broken protocol, which the checker must find.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    Nothing,
    /// An answer may have the number of an older claim.
    Number,
    /// A claim lapses as soon as its client is known to be gone.
    Grace,
    /// A lapse does not check that the claim still belongs to the client that was found gone.
    Client,
    /// Connected sessions are not renewed.
    Renewal,
    /// The grace period is measured with the wall clock, which jumps.
    WallClock,
    /// Lapses do not wait after a pause of all processes.
    Rest,
    /// Each check of a gone client restarts the grace period.
    Mark,
    /// A repeated answer is carried out again.
    Repetition,
}

/// A protocol with limited numbers of issues, agents and claims.
#[derive(Clone, Copy, Debug)]
pub struct Protocol {
    pub issues: usize,
    pub agents: usize,
    /// How often an issue may be claimed.
    pub claims: usize,
    pub fault: Fault,
}

/// A client: each agent has a process, which dies for good, and a session, which may come back.
pub type Client = usize;

/// Returns the agent of a client.
pub fn agent_of(client: Client) -> usize {
    client / 2
}

/// Returns true for a session.
pub fn is_session(client: Client) -> bool {
    client % 2 == 1
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct State {
    pub issues: Vec<Issue>,
    pub clients: Vec<Presence>,
    /// The claim that an observer has found due.
    pub due: Option<Due>,
    /// The number of ticks in which no claim lapses after a pause.
    rest: u8,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Issue {
    /// The agent of each claim. The number of a claim is its position, from 1.
    pub claims: Vec<usize>,
    /// The client that holds the issue.
    pub held: Option<Client>,
    /// The last change, if it ended a claim.
    pub end: Option<End>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum End {
    Lapsed,
    /// This agent ended the claim. Its comment is always the same, so the number does not matter.
    Answered {
        agent: usize,
        completes: bool,
    },
}

/// The call by which an agent ends a claim.
#[derive(Clone, Debug)]
pub struct Answer {
    pub agent: usize,
    /// `None` if it does not name its claim.
    pub number: Option<usize>,
    pub completes: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Presence {
    pub is_dead: bool,
    /// The session is connected, but its last renewal no longer counts.
    pub is_stale: bool,
    /// How long the client is known to be gone, in ticks as the observer measures them.
    pub mark: Option<u8>,
    /// How long the client has been gone while others could act, in ticks.
    gone: u8,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Due {
    pub issue: usize,
    pub number: usize,
    pub client: Client,
    /// True if the client had been gone for the grace period when the observer checked.
    was_gone: bool,
}

#[derive(Clone, Debug)]
pub enum Action {
    Claim {
        client: Client,
        issue: usize,
    },
    /// May happen at any time, even late.
    Answer {
        issue: usize,
        answer: Answer,
    },
    Die(Client),
    ComeBack(Client),
    TakeUp {
        client: Client,
        issue: usize,
    },
    Notice(Client),
    FindDue(usize),
    Lapse,
    Tick,
    /// All processes are stopped for longer than the grace period.
    Pause,
    /// The wall clock jumps.
    Jump,
}

/// The outcome of an action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    Done,
    Unchanged,
    Refused,
}

impl Issue {
    pub fn is_ready(&self) -> bool {
        let is_completed = matches!(self.end, Some(End::Answered { completes: true, .. }));
        self.held.is_none() && !is_completed
    }

    fn end_with(&mut self, end: End) {
        (self.held, self.end) = (None, Some(end));
    }
}

impl State {
    /// Returns true if no claim may lapse yet after a pause.
    pub fn is_resting(&self) -> bool {
        self.rest > 0
    }
}

impl Presence {
    /// Returns true if the registry of clients takes the client for gone.
    pub fn seems_gone(&self) -> bool {
        self.is_dead || self.is_stale
    }

    fn renew(&mut self) {
        *self = Self::default();
    }
}

impl Protocol {
    pub fn start(&self) -> State {
        State {
            issues: vec![Issue::default(); self.issues],
            clients: vec![Presence::default(); 2 * self.agents],
            ..State::default()
        }
    }

    /// Returns the possible actions in a state.
    pub fn actions(&self, state: &State) -> Vec<Action> {
        let mut actions = vec![Action::Tick, Action::Pause, Action::Jump];
        actions.extend(state.due.iter().map(|_| Action::Lapse));
        for (client, presence) in state.clients.iter().enumerate() {
            let holds = state.issues.iter().any(|issue| issue.held == Some(client));
            if !presence.is_dead {
                actions.push(Action::Die(client));
            } else if is_session(client) {
                actions.push(Action::ComeBack(client));
            }
            if holds {
                actions.push(Action::Notice(client));
            }
        }
        for issue in 0..self.issues {
            self.actions_on(issue, state, &mut actions);
        }
        actions
    }

    fn actions_on(&self, issue: usize, state: &State, actions: &mut Vec<Action>) {
        let of_issue = &state.issues[issue];
        let live = |client: &Client| !state.clients[*client].is_dead;
        let live: Vec<_> = (0..state.clients.len()).filter(live).collect();
        if of_issue.is_ready() && of_issue.claims.len() < self.claims {
            actions.extend(live.iter().map(|&client| Action::Claim { client, issue }));
        }
        if let Some(from) = of_issue.held {
            let is_other =
                |client: &&Client| **client != from && agent_of(**client) == agent_of(from);
            let others = live.iter().filter(is_other).filter(|_| state.clients[from].seems_gone());
            actions.extend(others.map(|&client| Action::TakeUp { client, issue }));
            actions.push(Action::FindDue(issue));
        }
        let numbered = of_issue.claims.iter().enumerate().map(|(n, &agent)| (agent, Some(n + 1)));
        let unnumbered = (0..self.agents).map(|agent| (agent, None));
        for (agent, number) in numbered.chain(unnumbered) {
            actions.extend([true, false].map(|completes| {
                let answer = Answer { agent, number, completes };
                Action::Answer { issue, answer }
            }));
        }
    }

    /// Carries out an action. Fails if that breaks a promise.
    pub fn step(&self, state: &mut State, action: &Action) -> Result<Outcome, &'static str> {
        let outcome = self.change(state, action);
        // The model forgets how long a client without a claim has been gone.
        for (client, presence) in state.clients.iter_mut().enumerate() {
            if !state.issues.iter().any(|issue| issue.held == Some(client)) {
                *presence = Presence { is_dead: presence.is_dead, ..Presence::default() };
            }
        }
        outcome
    }

    fn change(&self, state: &mut State, action: &Action) -> Result<Outcome, &'static str> {
        match action {
            Action::Claim { client, issue } => {
                let issue = &mut state.issues[*issue];
                issue.claims.push(agent_of(*client));
                (issue.held, issue.end) = (Some(*client), None);
                state.clients[*client].renew();
            }
            Action::Answer { issue, answer } => {
                return self.answer(&mut state.issues[*issue], answer);
            }
            Action::Die(client) => {
                state.clients[*client].is_dead = true;
                state.clients[*client].is_stale = false;
            }
            Action::ComeBack(client) => state.clients[*client].renew(),
            Action::TakeUp { client, issue } => {
                // The client may hold other issues, too.
                if let Some(from) = state.issues[*issue].held.replace(*client) {
                    self.notice(&mut state.clients[from]);
                }
                state.clients[*client].renew();
            }
            Action::Notice(client) => self.notice(&mut state.clients[*client]),
            Action::FindDue(issue) => return Ok(self.find_due(state, *issue)),
            Action::Lapse => return self.lapse(state),
            Action::Tick => self.tick(state),
            Action::Pause => {
                state.rest = if self.fault == Fault::Rest { 0 } else { GRACE };
                for (client, presence) in state.clients.iter_mut().enumerate() {
                    presence.mark = presence.mark.map(|_| GRACE);
                    presence.is_stale = is_session(client) && !presence.is_dead;
                }
            }
            Action::Jump if self.fault == Fault::WallClock => {
                let marks = state.clients.iter_mut().map(|presence| &mut presence.mark);
                marks.for_each(|mark| *mark = mark.map(|_| GRACE));
            }
            Action::Jump => {}
        }
        Ok(Outcome::Done)
    }

    /// Returns true if an agent may end the newest claim of an issue.
    fn accepts(&self, issue: &Issue, answer: &Answer) -> bool {
        let Some(number) = answer.number else {
            return issue.held.is_none_or(|client| agent_of(client) == answer.agent);
        };
        let is_newest = number == issue.claims.len() || self.fault == Fault::Number;
        is_newest && (issue.held.is_some() || issue.end == Some(End::Lapsed))
    }

    fn answer(&self, issue: &mut Issue, answer: &Answer) -> Result<Outcome, &'static str> {
        let end = End::Answered { agent: answer.agent, completes: answer.completes };
        let is_repeated = issue.end == Some(end);
        if is_repeated && self.fault != Fault::Repetition {
            return Ok(Outcome::Unchanged);
        }
        let may_repeat = is_repeated && self.fault == Fault::Repetition;
        if !self.accepts(issue, answer) && !may_repeat {
            return Ok(Outcome::Refused);
        }
        let is_stale = answer.number.is_some_and(|number| number != issue.claims.len());
        let is_of_other = issue.held.is_some_and(|client| agent_of(client) != answer.agent);
        issue.end_with(end);
        match () {
            () if is_repeated => Err("a repeated answer was made twice"),
            () if is_of_other => Err("an answer ended the claim of another agent"),
            () if is_stale => Err("a stale number was accepted"),
            () => Ok(Outcome::Done),
        }
    }

    fn notice(&self, presence: &mut Presence) {
        let kept = presence.mark.filter(|_| self.fault != Fault::Mark);
        presence.mark = presence.seems_gone().then(|| kept.unwrap_or(0));
    }

    fn find_due(&self, state: &mut State, issue: usize) -> Outcome {
        let Some(client) = state.issues[issue].held else { return Outcome::Refused };
        self.notice(&mut state.clients[client]);
        let presence = &state.clients[client];
        let grace = if self.fault == Fault::Grace { 0 } else { GRACE };
        if state.is_resting() || presence.mark.is_none_or(|mark| mark < grace) {
            return Outcome::Refused;
        }
        let was_gone = presence.is_dead && presence.gone >= GRACE;
        let number = state.issues[issue].claims.len();
        state.due = Some(Due { issue, number, client, was_gone });
        Outcome::Done
    }

    /// Lapses the due claim, even if its session has come back since `find_due`.
    fn lapse(&self, state: &mut State) -> Result<Outcome, &'static str> {
        let Some(due) = state.due.take() else { return Ok(Outcome::Refused) };
        let issue = &mut state.issues[due.issue];
        let Some(client) = issue.held.filter(|_| issue.claims.len() == due.number) else {
            return Ok(Outcome::Refused);
        };
        if client != due.client && self.fault != Fault::Client {
            return Ok(Outcome::Refused);
        }
        issue.end_with(End::Lapsed);
        if client == due.client && due.was_gone {
            Ok(Outcome::Done)
        } else {
            Err("a claim lapsed before its client was gone for the grace period")
        }
    }

    fn tick(&self, state: &mut State) {
        state.rest = state.rest.saturating_sub(1);
        let later = |ticks: u8| (ticks + 1).min(GRACE);
        for (client, presence) in state.clients.iter_mut().enumerate() {
            presence.mark = presence.mark.map(later);
            if presence.is_dead {
                presence.gone = later(presence.gone);
            } else if is_session(client) && self.fault == Fault::Renewal {
                presence.is_stale = true;
            } else if is_session(client) {
                presence.renew();
            }
        }
    }

    /// Checks the promises that every state must keep.
    pub fn check(&self, state: &State) -> Result<(), &'static str> {
        for issue in &state.issues {
            let mut enders: Vec<_> = issue
                .claims
                .iter()
                .enumerate()
                .filter(|(n, agent)| {
                    let answer = Answer { agent: **agent, number: Some(n + 1), completes: true };
                    self.accepts(issue, &answer)
                })
                .collect();
            enders.sort_by_key(|(_, agent)| **agent);
            enders.dedup_by_key(|(_, agent)| **agent);
            if enders.len() > 1 {
                return Err("two agents could complete an issue");
            }
        }
        self.check_progress(state)
    }

    /// Checks that the claims of dead clients lapse if time passes and the observer checks them.
    fn check_progress(&self, state: &State) -> Result<(), &'static str> {
        let orphaned = |state: &State| -> Vec<usize> {
            let is_orphaned = |issue: &usize| {
                state.issues[*issue].held.is_some_and(|client| state.clients[client].is_dead)
            };
            (0..state.issues.len()).filter(is_orphaned).collect()
        };
        let mut state = state.clone();
        for _ in 0..=2 * GRACE {
            for issue in orphaned(&state) {
                self.lapse(&mut state)?;
                self.find_due(&mut state, issue);
                self.lapse(&mut state)?;
            }
            self.tick(&mut state);
        }
        if orphaned(&state).is_empty() { Ok(()) } else { Err("a claim of a dead client stays") }
    }
}
