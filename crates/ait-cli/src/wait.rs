//! `ait wait`: waits for an issue or a question, and claims nothing.

use std::io::{self, Write};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use tokio::time::timeout;

use super::issue_view::words;
use super::options::{CallerArgs, GivenKind, classification, issue_ref, time_span};
use super::print_issue::print_line;
use super::progress::with_progress;
use super::questions::{NO_QUESTIONS, print as print_questions};
use super::ready::why_nothing;
use super::review::why_no_review;
use super::signals::until_end;
use super::{CommandContext, ExitStatus, Output};
use ait_domain::{Condition, Issue, IssueRef, Query, Status};
use ait_tracker::{ClaimKind, IndexedIssues, OpenQuestion, StoreError, Subset, Tracker};

/// How often a wait for anything shows that it goes on.
const DOT_EVERY: Duration = Duration::from_secs(60);

/// The arguments of `ait wait`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Claims nothing. Prints the issue or the questions and exits with 0 when they are there, and with 1 \
    after --timeout or Ctrl-C.\n\n\
    Examples:\n  \
    ait wait -c bug && ait next -c bug\n  \
    ait wait --review --timeout 10m\n  \
    ait wait --any\n  \
    ait wait --issue 3f2a9c1e --json\n  \
    ait wait --question && notify-send 'an agent asks'"
)]
pub struct Arguments {
    /// Until you can claim an issue for work (the default)
    #[arg(long, group = "event")]
    ready: bool,

    /// Until you can claim an issue for review
    #[arg(long, group = "event", conflicts_with = "classification")]
    review: bool,

    /// Until this issue has another status than now
    #[arg(short, long, value_name = "ID", group = "event", conflicts_with = "classification")]
    #[arg(value_parser = issue_ref)]
    issue: Option<IssueRef>,

    /// Until any agent can claim an issue, for work or for review; prints a dot a minute meanwhile
    #[arg(long, group = "event", conflicts_with_all = ["classification", "agent"])]
    any: bool,

    /// Until a question to people is open
    #[arg(long, group = "event", conflicts_with_all = ["classification", "agent"])]
    question: bool,

    /// Only this kind of work
    #[arg(short, long, value_name = "KIND", value_parser = classification(), ignore_case = true)]
    classification: Option<GivenKind>,

    /// At most this time [default: any time]
    #[arg(long, value_name = "TIME", value_parser = time_span)]
    timeout: Option<Duration>,

    #[command(flatten)]
    caller: CallerArgs,
}

pub(super) async fn run(arguments: &Arguments, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let CommandContext { tracker, output, .. } = *context;
    if arguments.question {
        return arguments.question(tracker, output).await;
    }
    let (found, nothing) = match &arguments.issue {
        None if arguments.any => {
            let find = async || first_claimable(tracker).await;
            let waiting = with_dots(until_end(arguments.timeout, tracker.wait_for(find)));
            (waiting.await?.transpose()?, "no issue can be claimed".to_owned())
        }
        Some(reference) => {
            let before = tracker.get_issue(reference.clone()).await?;
            let id = before.id;
            let status = before.status;
            let find =
                |issues: &_| IndexedIssues::get(issues, id).filter(|now| now.status != status);
            let found = arguments.wait(tracker, Subset::Around(vec![id]), find).await?;
            (found, format!("{} is still {}", id.short(), words(status)))
        }
        None => {
            let agent = arguments.caller.agent(context)?;
            let kind = if arguments.review {
                ClaimKind::Review
            } else {
                ClaimKind::Work(arguments.classification.map(|kind| kind.used_by(tracker)))
            };
            let find = |issues: &_| tracker.next_in(issues, kind, &agent);
            let subset = Subset::Claimable(vec![agent.clone()]);
            let found = arguments.wait(tracker, subset, find).await?;
            let nothing = match (&found, kind) {
                (Some(_), _) => String::new(),
                (None, ClaimKind::Review) => why_no_review(tracker, &agent).await?,
                (None, ClaimKind::Work(kind)) => why_nothing(tracker, kind, &agent).await?,
            };
            (found, nothing)
        }
    };
    match &found {
        _ if arguments.caller.format.json => output.json(&found.as_deref())?,
        Some(issue) => print_line(issue, None, output)?,
        None => tracing::info!("{nothing}"),
    }
    Ok(ExitStatus::done_if(found.is_some()))
}

/// Returns the first issue that some agent could claim: for review, or else for work.
async fn first_claimable(tracker: &Tracker) -> Result<Option<Arc<Issue>>, StoreError> {
    let now = tracker.now();
    let for_review = Condition::Not(Box::new(Condition::Parked(now)));
    for (status, condition) in
        [(Status::Completed, for_review), (Status::Created, Condition::Ready(now))]
    {
        let statuses = Some(status).into();
        let query = Query { statuses, condition, take: 1, ..Query::default() };
        if let Some(first) = tracker.list_issues(query).await?.issues.pop() {
            return Ok(Some(first));
        }
    }
    Ok(None)
}

/// Prints a dot a minute on stderr: some clients end a command that prints nothing for five minutes.
async fn with_dots<T>(work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    loop {
        match timeout(DOT_EVERY, &mut work).await {
            Ok(done) => return done,
            // The wait goes on if stderr is closed.
            Err(_) => drop(write!(io::stderr(), ".")),
        }
    }
}

impl Arguments {
    /// Waits for an open question, and prints all of them.
    async fn question(&self, tracker: &Tracker, output: &Output) -> Result<ExitStatus> {
        let find = |issues: &_| {
            let questions = OpenQuestion::all_in(issues);
            (!questions.is_empty()).then_some(questions)
        };
        let Some(questions) = self.wait(tracker, Subset::Questions, find).await? else {
            if self.caller.format.json {
                output.json(&None::<()>)?;
            } else {
                tracing::info!("{NO_QUESTIONS}");
            }
            return Ok(ExitStatus::Incomplete);
        };
        print_questions(questions, self.caller.format, tracker.now(), output)?;
        Ok(ExitStatus::Done)
    }

    /// Waits until `find` finds something; `None` if the time passes or the user ends the wait.
    async fn wait<T>(
        &self,
        tracker: &Tracker,
        subset: Subset,
        find: impl Fn(&IndexedIssues) -> Option<T>,
    ) -> Result<Option<T>> {
        let waiting = until_end(self.timeout, tracker.wait_until(subset, find));
        Ok(with_progress("waiting", waiting).await?.transpose()?)
    }
}
