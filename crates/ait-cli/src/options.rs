//! Options that several commands share, and parsers of their values.

use std::ffi::OsString;
use std::future::pending;
use std::io::{self, IsTerminal, Read};
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use chrono::Local;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::print_issue::{print_changed, print_claimed};
use super::progress::with_progress;
use super::signals::until_end;
use super::{CommandContext, ExitStatus};
use ait_domain::{
    AgentName, ClaimProof, Classification, Classifications, DomainError, IssueRef, Timestamp,
};
use ait_interchange::words;
use ait_query::time_arg::TimeArg;
use ait_query::{is_excluding, key_help};
use ait_tracker::activity::state_at;
use ait_tracker::hints::{self, COMMANDS};
use ait_tracker::{Changed, ClaimKind, Claimant, IndexedIssues, Tracker};

/// An error for arguments that conflict. Says what to do.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct WrongUsage(pub &'static str);

/// The name of the agent that acts, as the value of an option.
pub(super) const ME: &str = "@me";
/// The commands that take a query.
const WITH_QUERY: [&str; 4] = ["list", "ls", "search", "bulk"];

/// Returns a help text with the terms of a query before it.
pub(super) fn with_terms(help: &str) -> String {
    format!(
        "Terms of a query; a - before one excludes what matches it, and OR and parentheses combine them:\n{}\n\n{help}",
        key_help()
    )
}

/// Returns the words of a command line, where the terms that exclude issues, such as `-label:ui`, are no options: a
/// space stands before them, which means nothing in a query.
pub fn with_excluding_terms(line: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut has_query = false;
    let word = |word: OsString| {
        let text = word.to_str().unwrap_or_default();
        has_query |= WITH_QUERY.contains(&text);
        if has_query && is_excluding(text) { format!(" {text}").into() } else { word }
    };
    line.into_iter().map(word).collect()
}

/// The output format.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Format {
    /// Print JSON, for scripts
    #[arg(long)]
    pub json: bool,
}

/// Who acts, and how the outcome is printed.
#[derive(Clone, Debug, Args)]
pub(super) struct CallerArgs {
    /// Act as this agent [default: AIT_AGENT, agent in ait.toml, or else your user name]
    #[arg(short, long, value_name = "NAME", value_parser = agent_name)]
    agent: Option<AgentName>,

    #[command(flatten)]
    pub format: Format,
}

impl CallerArgs {
    /// Returns the agent of the command line, else the default one, else the user name.
    pub fn agent(&self, context: &CommandContext<'_>) -> Result<AgentName> {
        own_name(self.agent.as_ref().or(context.default_agent))
    }

    /// Returns what the caller says of a claim. A caller without the name of an agent is a person, and so is one that
    /// uses force.
    pub fn proof(&self, context: &CommandContext<'_>, is_forced: bool) -> ClaimProof {
        let is_named = self.agent.is_some() || context.default_agent.is_some();
        ClaimProof { number: None, is_forced, is_person: is_forced || !is_named }
    }

    /// Changes each of the issues, and prints it. If one of several does not exist, none is changed.
    pub async fn each(
        &self,
        ids: &[IssueRef],
        change: impl AsyncFn(IssueRef, AgentName) -> Result<Changed>,
        context: &CommandContext<'_>,
    ) -> Result<ExitStatus> {
        let CommandContext { tracker, output, .. } = *context;
        let agent = self.agent(context)?;
        for id in ids.iter().filter(|_| ids.len() > 1) {
            tracker.get_issue(id.clone()).await?;
        }
        for id in ids {
            let changed = change(id.clone(), agent.clone()).await?;
            print_changed(&changed, self.format.json, tracker, output).await?;
        }
        Ok(ExitStatus::Done)
    }
}

/// Returns the name of an agent: the given one, or else the user name.
///
/// # Errors
///
/// The user name is no name of an agent.
pub fn own_name(given: Option<&AgentName>) -> Result<AgentName> {
    if let Some(agent) = given {
        return Ok(agent.clone());
    }
    let user =
        whoami::username().context("your user name is unknown; name an agent with --agent")?;
    AgentName::try_from(user)
        .context("your user name is not a valid agent name; name an agent with --agent")
}

/// What the user says of the claim that a change ends.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct ClaimArgs {
    /// Only if this claim has not ended; `ait next` and `ait review` print its number
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    claim: Option<u32>,

    /// Even if another agent holds the issue
    #[arg(long, conflicts_with = "claim")]
    force: bool,
}

impl ClaimArgs {
    pub fn proof(self, caller: &CallerArgs, context: &CommandContext<'_>) -> ClaimProof {
        let number = self.claim.map(|number| number as usize);
        ClaimProof { number, ..caller.proof(context, self.force) }
    }
}

/// How long a claim of the command line lasts.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct TtlArgs {
    /// Let your claims lapse this long after your last command with --ttl [default: they last]
    #[arg(long, value_name = "TIME", value_parser = ttl)]
    ttl: Option<Duration>,
}

impl TtlArgs {
    /// Returns the tracker for such a claim.
    pub fn tracker(self, tracker: &Tracker) -> Tracker {
        let claimant = self.ttl.map_or(Claimant::Cli, Claimant::CliWithTtl);
        tracker.for_claimant(claimant)
    }
}

/// Returns the text, or for `-` all of stdin without trailing line breaks.
pub(super) fn text_or_stdin(text: &str, what: &str) -> Result<String> {
    if text != "-" {
        return Ok(text.to_owned());
    }
    let stdin = io::stdin();
    if stdin.is_terminal() {
        // Uses stderr, because stdout is for the command's output.
        tracing::warn!("reading {what} from the terminal: end with Ctrl-D");
    }
    let mut bytes = Vec::new();
    stdin.lock().take(MAX_STDIN_BYTES + 1).read_to_end(&mut bytes).context("cannot read stdin")?;
    if bytes.len() as u64 > MAX_STDIN_BYTES {
        bail!("{what} on stdin is longer than {MAX_STDIN_BYTES} bytes: shorten it");
    }
    let mut text =
        String::from_utf8(bytes).ok().with_context(|| format!("{what} on stdin is not UTF-8"))?;
    text.truncate(text.trim_end_matches(['\n', '\r']).len());
    Ok(text)
}

/// The minimum number of hex digits that a person has to type; more are needed only where these are ambiguous.
const MIN_TYPED_DIGITS: usize = 4;
/// Where the user finds ids.
const SHORT_IDS: &str = "`ait list` shows the first 8 digits of each";
/// More than the limit of any text.
const MAX_STDIN_BYTES: u64 = 4 * 1024 * 1024;

/// Parses one of these words, and lists them for shell completions. The argument may ignore the case.
pub(super) fn one_of<T: FromStr<Err = String> + Clone + Send + Sync + 'static>(
    words: impl Iterator<Item = &'static str>,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(words).try_map(|word| word.to_lowercase().parse::<T>())
}

/// A kind of work as a user names it, which the project may call otherwise.
#[derive(Clone, Copy, Debug)]
pub(super) struct GivenKind(Classification);

impl GivenKind {
    /// Returns what the project calls it, if that is clear.
    pub fn used_by(self, tracker: &Tracker) -> Classification {
        let near = words::classification_of(self.0.as_str(), tracker.classifications());
        near.ok().flatten().unwrap_or(self.0)
    }
}

/// Parses a classification. The help has those that a project usually uses.
pub(super) fn classification() -> impl TypedValueParser<Value = GivenKind> {
    let usual = Classifications::default();
    let words = Classification::of_work()
        .map(move |kind| PossibleValue::new(kind.as_str()).hide(!usual.contains(kind)));
    PossibleValuesParser::new(words).try_map(|word| word.to_lowercase().parse().map(GivenKind))
}

/// How `ait next` and `ait review` claim.
#[derive(Clone, Debug, Args)]
pub struct ClaimNextArgs {
    /// Wait until there is one, for at most this time [default: for any time]
    #[arg(long, value_name = "TIME", value_parser = time_span)]
    #[expect(clippy::option_option, reason = "clap knows an optional value by this type")]
    wait: Option<Option<Duration>>,

    #[command(flatten)]
    ttl: TtlArgs,

    #[command(flatten)]
    caller: CallerArgs,
}

impl ClaimNextArgs {
    /// Returns true if the command may wait (`--wait`).
    pub fn waits(&self) -> bool {
        self.wait.is_some()
    }

    /// Claims the next issue, and prints it, or why there is none.
    pub async fn run(
        &self,
        kind: ClaimKind,
        why_nothing: impl AsyncFnOnce(&Tracker, &AgentName) -> Result<String>,
        context: &CommandContext<'_>,
    ) -> Result<ExitStatus> {
        let CommandContext { tracker, output, .. } = *context;
        let agent = self.caller.agent(context)?;
        let tracker = &self.ttl.tracker(tracker);
        let claimed = self.claim(kind, &agent, tracker).await?;
        let nothing = match claimed {
            Some(_) => String::new(),
            None => why_nothing(tracker, &agent).await?,
        };
        print_claimed(claimed, self.caller.format.json, tracker, &nothing, output).await
    }

    /// Claims the next issue; `None` if there is none, or if the user ends the wait.
    async fn claim(
        &self,
        kind: ClaimKind,
        agent: &AgentName,
        tracker: &Tracker,
    ) -> Result<Option<Changed>> {
        let Some(limit) = self.wait else {
            return Ok(tracker.claim_next(kind, agent.clone()).await?);
        };
        // At the end, this drops the claim. If it has just been made, it lapses.
        let claim = tracker.wait_for_next(kind, agent.clone(), pending());
        let claimed = with_progress("waiting for an issue", until_end(limit, claim)).await?;
        Ok(claimed.transpose()?.flatten())
    }
}

pub(super) fn agent_name(text: &str) -> Result<AgentName, String> {
    if text.eq_ignore_ascii_case(ME) {
        return Err("@me is not known: give the name of an agent".to_owned());
    }
    with_command_hints(AgentName::try_from(text))
}

pub(super) fn issue_ref(text: &str) -> Result<IssueRef, String> {
    IssueRef::named(text, MIN_TYPED_DIGITS).map_err(|error| match error {
        DomainError::InvalidReference { given, min_digits } if IssueRef::begun(text).is_some() => {
            let given = given.trim_start_matches('#');
            format!("{given:?} is too short: type at least {min_digits} hex digits of the id; {SHORT_IDS}")
        }
        DomainError::InvalidReference { given, .. } => format!(
            "{given:?} is no id, which has hex digits only: `ait list {}` finds issues by their text, and {SHORT_IDS}",
            shell_words::quote(&given)
        ),
        error => hints::for_refusal(&error, &COMMANDS),
    })
}

/// Returns true if a text can be the id of an issue.
pub(super) fn is_issue_ref(text: &str) -> bool {
    IssueRef::with_min_digits(text, MIN_TYPED_DIGITS).is_ok()
}

/// Parses a time; dates are in the local time zone.
pub(super) fn time_arg(text: &str) -> Result<TimeArg, String> {
    TimeArg::parse(text, &Local)
}

/// Returns the issues at a time, and that time.
pub(super) async fn issues_at(
    tracker: &Tracker,
    at: TimeArg,
) -> Result<(IndexedIssues, Timestamp)> {
    let at = at.time(tracker.now());
    Ok((state_at(tracker, at).await?.issues, at))
}

/// Parses a span of time.
pub(super) fn time_span(text: &str) -> Result<Duration, String> {
    let parsed = humantime::parse_duration(text);
    parsed.map_err(|_| format!("{text:?} is not a time: give one such as 30s or 10m"))
}

/// Parses the time after which claims lapse.
fn ttl(text: &str) -> Result<Duration, String> {
    let ttl = time_span(text)?;
    if ttl.is_zero() {
        return Err(
            "claims of no time would not last: leave --ttl out if they are not to lapse".to_owned()
        );
    }
    Ok(ttl)
}

/// Converts an error of the domain to a message that names commands.
pub(super) fn with_command_hints<T>(value: Result<T, DomainError>) -> Result<T, String> {
    value.map_err(|error| hints::for_refusal(&error, &COMMANDS))
}
