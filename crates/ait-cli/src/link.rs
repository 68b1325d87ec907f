//! `ait link` and `ait unlink`: links between issues.

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::options::{CallerArgs, WrongUsage, issue_ref};
use super::print_issue::print_changed;
use super::{CommandContext, ExitStatus, refusal};
use ait_domain::{AgentName, DomainError, IssueChange, IssueRef, LinkKind};
use ait_tracker::{Changed, Tracker};

/// Ends the help of `ait link`.
pub(super) const LINK_EXAMPLES: &str = "Examples:\n  \
    ait link 3f2a9c1e blocked-by 8d1f02aa       8d1f02aa must end first\n  \
    ait link 3f2a9c1e parent 77aa0011           3f2a9c1e is a part of 77aa0011\n  \
    ait link 3f2a9c1e related 8d1f02aa 1c9be2d4\n  \
    ait link 3f2a9c1e duplicate-of 8d1f02aa";

/// Ends the help of `ait unlink`.
pub(super) const UNLINK_EXAMPLES: &str = "Examples:\n  \
    ait unlink 3f2a9c1e blocked-by 8d1f02aa\n  \
    ait unlink 3f2a9c1e parent 77aa0011";

/// The arguments of `ait link` and `ait unlink`: links of one kind from an issue to others.
#[derive(Clone, Debug, Args)]
pub struct Arguments {
    /// The issue: its id, or at least the first 4 hex digits
    #[arg(value_name = "ID", value_parser = issue_ref)]
    from: IssueRef,

    /// How the issue is related to the others
    #[arg(value_parser = kind())]
    kind: LinkKind,

    /// The other issues
    #[arg(value_name = "ID", required = true, value_parser = issue_ref)]
    to: Vec<IssueRef>,

    #[command(flatten)]
    caller: CallerArgs,
}

/// Returns the word for a kind on the command line.
pub(super) fn word(kind: LinkKind) -> &'static str {
    match kind {
        LinkKind::Parent => "parent",
        LinkKind::BlockedBy => "blocked-by",
        LinkKind::Related => "related",
        LinkKind::DuplicateOf => "duplicate-of",
    }
}

fn kind() -> impl TypedValueParser<Value = LinkKind> {
    // `issues.json` has the words with underscores.
    let value = |kind: &LinkKind| PossibleValue::new(word(*kind)).alias(kind.as_str());
    PossibleValuesParser::new(LinkKind::ALL.iter().map(value)).map(|given| {
        LinkKind::from_word(&given.replace('-', "_")).expect("only these words are possible")
    })
}

pub(super) async fn link(links: &Arguments, context: &CommandContext<'_>) -> Result<ExitStatus> {
    if links.kind == LinkKind::Parent && links.to.len() > 1 {
        return Err(WrongUsage("an issue has at most one parent: name one").into());
    }
    let change = IssueChange { links_add: links.all(), ..IssueChange::default() };
    links.change(change, "is linked so already", context).await
}

pub(super) async fn unlink(links: &Arguments, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let change = IssueChange { links_remove: links.all(), ..IssueChange::default() };
    let none = "has no such link: `ait show ID` shows its links";
    links.change(change, none, context).await
}

impl Arguments {
    fn all(&self) -> Vec<(LinkKind, IssueRef)> {
        self.to.iter().map(|to| (self.kind, to.clone())).collect()
    }

    async fn change(
        &self,
        change: IssueChange,
        why_not: &str,
        context: &CommandContext<'_>,
    ) -> Result<ExitStatus> {
        let output = context.output;
        let agent = self.caller.agent(context)?;
        let changed = change_or_say(&self.from, change, why_not, agent, context.tracker).await?;
        print_changed(&changed, self.caller.format.json, context.tracker, output).await
    }
}

/// Changes an issue. If nothing would change, the error says why.
pub(super) async fn change_or_say(
    reference: &IssueRef,
    change: IssueChange,
    why_not: &str,
    agent: AgentName,
    tracker: &Tracker,
) -> Result<Changed> {
    let changed = tracker.change_issue(reference.clone().into(), change, agent).await;
    let error = match changed {
        Ok(changed) => return Ok(changed),
        Err(error) => anyhow::Error::from(error),
    };
    match refusal(&error) {
        Some(DomainError::NothingToChange { id }) => bail!("{} {why_not}", id.short()),
        _ => Err(error),
    }
}
