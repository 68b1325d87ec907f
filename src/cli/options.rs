//! The options that several commands share, and how their values are read.

use std::io::{self, IsTerminal, Read};

use anyhow::{Context, Result, bail};
use chrono::Local;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::COMMANDS;
use crate::domain::{AgentName, Classification, CommentText, DomainError, IssueRef};
use crate::time_arg::TimeArg;

/// Arguments that do not go together, and what to do.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct WrongUsage(pub &'static str);

/// How the answer is written.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct Format {
    /// Answer as JSON, for scripts
    #[arg(long)]
    pub json: bool,
}

/// Who acts.
#[derive(Clone, Debug, Args)]
pub(super) struct Acting {
    /// Who does it [default: AIT_AGENT, agent in ait.toml, or else your user name]
    #[arg(short, long, value_name = "NAME", value_parser = agent_name)]
    agent: Option<AgentName>,
}

impl Acting {
    /// The agent that the command line names, or else the usual one, or else the user.
    pub fn agent(&self, usual: Option<&AgentName>) -> Result<AgentName> {
        if let Some(agent) = self.agent.as_ref().or(usual) {
            return Ok(agent.clone());
        }
        let user =
            whoami::username().context("your user name is not known; say who acts with --agent")?;
        AgentName::try_from(user)
            .context("your user name cannot be used; say who acts with --agent")
    }
}

/// Which issue, and what is to be said about it.
#[derive(Clone, Debug, Args)]
pub(super) struct Handover {
    /// The issue: its id, or at least the first 8 hex digits of it
    #[arg(value_parser = issue_ref)]
    pub id: IssueRef,

    /// What the next one should know; - reads it from stdin
    #[arg(short, long, value_name = "TEXT")]
    message: String,

    #[command(flatten)]
    pub acting: Acting,

    #[command(flatten)]
    pub format: Format,
}

impl Handover {
    /// The message, read from stdin where that was asked for.
    pub fn comment(&self) -> Result<CommentText> {
        let text = text_or_stdin(&self.message, "the message")?;
        // Limits are those of comments, which is what the message becomes.
        Ok(CommentText::try_from(text)?)
    }
}

/// The text itself; for `-`, everything from stdin, without the line break at its end.
pub(super) fn text_or_stdin(text: &str, what: &str) -> Result<String> {
    if text != "-" {
        return Ok(text.to_owned());
    }
    let stdin = io::stdin();
    if stdin.is_terminal() {
        // stderr is not the answer, and the answer is not there yet.
        tracing::warn!("reading {what} from the terminal: end it with Ctrl-D");
    }
    let mut bytes = Vec::new();
    stdin
        .lock()
        .take(MAX_STDIN_BYTES + 1)
        .read_to_end(&mut bytes)
        .context("stdin cannot be read")?;
    if bytes.len() as u64 > MAX_STDIN_BYTES {
        bail!("{what} on stdin is longer than {MAX_STDIN_BYTES} bytes: shorten it");
    }
    let mut text =
        String::from_utf8(bytes).ok().with_context(|| format!("{what} on stdin is not UTF-8"))?;
    text.truncate(text.trim_end_matches(['\n', '\r']).len());
    Ok(text)
}

/// More than any text may have.
const MAX_STDIN_BYTES: u64 = 4 * 1024 * 1024;

/// Reads one of the words for a classification, and lets completions know them.
pub(super) fn classification() -> impl TypedValueParser<Value = Classification> {
    let words = Classification::ALL.iter().map(|kind| kind.as_str());
    PossibleValuesParser::new(words)
        .map(|word| Classification::from_word(&word).expect("only these words are possible"))
}

pub(super) fn agent_name(text: &str) -> Result<AgentName, String> {
    in_our_words(AgentName::try_from(text))
}

pub(super) fn issue_ref(text: &str) -> Result<IssueRef, String> {
    in_our_words(text.parse())
}

/// Reads a point in time; dates are those of this machine's time zone.
pub(super) fn time_arg(text: &str) -> Result<TimeArg, String> {
    TimeArg::parse(text, &Local)
}

/// A value of the command line, or why it cannot be used.
pub(super) fn in_our_words<T>(value: Result<T, DomainError>) -> Result<T, String> {
    value.map_err(|error| error.in_words(&COMMANDS).to_string())
}
