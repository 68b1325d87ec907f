//! `ait ask`, `ait questions` and `ait answer`: questions of agents to people.

use anyhow::Result;
use clap::Args;
use serde_json::json;

use super::issue_view::default_line;
use super::options::{
    CallerArgs, ClaimArgs, Format, WrongUsage, issue_ref, text_or_stdin, time_arg,
};
use super::output::{FAINT, STRONG};
use super::print_issue::{print_changed, print_line, print_number};
use super::styled_line::Line;
use super::{CommandContext, ExitStatus, Output, sanitize};
use ait_domain::{
    ActionKind, CommentText, Issue, IssueRef, Question, QuestionAnswer, Status, Timestamp,
};
use ait_query::time_arg::TimeArg;
use ait_system::span::humanize_duration;
use ait_tracker::OpenQuestion;

/// The arguments of `ait ask`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    ait ask 3f2a9c1e 'Which database?' --option SQLite --option Postgres\n  \
    ait ask 3f2a9c1e 'Which port?' --default 8080 --default-after 2h\n  \
    ait ask 3f2a9c1e - < question.md")]
pub struct AskArguments {
    /// The issue: its id, or at least the first 4 hex digits
    #[arg(value_parser = issue_ref)]
    id: IssueRef,

    /// The question; - reads it from stdin
    #[arg(required = true)]
    question: Vec<String>,

    /// An answer to choose from; may be repeated
    #[arg(long = "option", value_name = "TEXT")]
    options: Vec<String>,

    /// The answer that the tracker gives if no person answers in time
    #[arg(long, value_name = "TEXT")]
    default: Option<String>,

    /// When it does: a duration from now, or a date and time
    #[arg(long, value_name = "WHEN", value_parser = time_arg)]
    default_after: Option<TimeArg>,

    #[command(flatten)]
    claim: ClaimArgs,

    #[command(flatten)]
    caller: CallerArgs,
}

/// Ends the help of `ait questions`.
pub(super) const EXAMPLES: &str = "Examples:\n  \
    ait questions\n  \
    ait questions --json | jq -r '.questions[] | .id + \" \" + .question'";

/// The arguments of `ait answer`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    ait answer 3f2a9c1e 'SQLite: it needs no server'\n  \
    ait answer 3f2a9c1e --option 1")]
pub struct AnswerArguments {
    /// The issue: its id, or at least the first 4 hex digits
    #[arg(value_parser = issue_ref)]
    id: IssueRef,

    /// The answer; - reads it from stdin
    #[arg(required_unless_present = "option")]
    text: Vec<String>,

    /// Answer with this option, counted from 1
    #[arg(long, value_name = "NUMBER", conflicts_with = "text", value_parser = clap::value_parser!(u32).range(1..))]
    option: Option<u32>,

    #[command(flatten)]
    caller: CallerArgs,
}

/// What is said where no question is open.
pub(super) const NO_QUESTIONS: &str = "no open questions";

pub(super) async fn ask(
    arguments: &AskArguments,
    context: &CommandContext<'_>,
) -> Result<ExitStatus> {
    let CommandContext { tracker, output, .. } = *context;
    let agent = arguments.caller.agent(context)?;
    let text = text_or_stdin(&arguments.question.join(" "), "the question")?;
    let mut question = Question::new(&text, &arguments.options)?;
    let now = tracker.now();
    match (&arguments.default, arguments.default_after.map(|after| after.time_after(now))) {
        (Some(_), Some(at)) if at <= now => {
            let reason = "--default-after names a time that has passed: name a later one";
            return Err(WrongUsage(reason).into());
        }
        (Some(default), Some(at)) => question = question.with_default(default, at)?,
        (None, None) => {}
        _ => {
            let reason = "--default and --default-after come together, as in --default 8080 --default-after 2h";
            return Err(WrongUsage(reason).into());
        }
    }
    let proof = arguments.claim.proof(&arguments.caller, context);
    let asked = tracker.ask_human(arguments.id.clone(), question, agent, proof).await?;
    if arguments.caller.format.json {
        return print_changed(&asked, true, tracker, output).await;
    }
    let parked = if had_holder(&asked.issue) {
        "asked; the claim has ended, and the issue is parked until `ait answer`"
    } else {
        "asked; the issue is parked until `ait answer`"
    };
    let default = asked.issue.open_question().and_then(|question| question.default.as_ref());
    let remark = match default {
        Some(default) => format!("{parked}; {}", default_line(default)),
        None => parked.to_owned(),
    };
    print_line(&asked.issue, Some(remark), output)?;
    print_number(&asked, tracker, output).await?;
    Ok(ExitStatus::Done)
}

/// Returns true if the issue was claimed before its last change.
fn had_holder(issue: &Issue) -> bool {
    let mut earlier = issue.history.iter().rev().skip(1);
    let status = earlier.find_map(|entry| ActionKind::of(&entry.action).status_after(None));
    status.is_some_and(Status::is_claimed)
}

pub(super) async fn answer(
    arguments: &AnswerArguments,
    context: &CommandContext<'_>,
) -> Result<ExitStatus> {
    let output = context.output;
    let agent = arguments.caller.agent(context)?;
    let answer = match arguments.option {
        Some(number) => QuestionAnswer::Option(number as usize),
        None => {
            let text = text_or_stdin(&arguments.text.join(" "), "the answer")?;
            QuestionAnswer::Text(CommentText::try_from(text)?)
        }
    };
    let answered =
        context.tracker.answer_question(arguments.id.clone().into(), answer, agent).await?;
    print_changed(&answered, arguments.caller.format.json, context.tracker, output).await
}

pub(super) async fn list(format: &Format, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let CommandContext { tracker, output, .. } = *context;
    let questions = tracker.questions().await?;
    if questions.is_empty() && !format.json {
        tracing::info!("{NO_QUESTIONS}");
    }
    print(questions, *format, tracker.now(), output)?;
    Ok(ExitStatus::Done)
}

pub(super) fn print(
    questions: Vec<OpenQuestion>,
    format: Format,
    now: Timestamp,
    output: &Output,
) -> Result<()> {
    if format.json {
        return output.json(&json!({ "total": questions.len(), "questions": questions }));
    }
    questions.iter().try_for_each(|question| write(question, now, output))
}

fn write(question: &OpenQuestion, now: Timestamp, output: &Output) -> Result<()> {
    let ago = humanize_duration(now.millis_since(question.asked_at));
    let head = Line::default()
        .part(STRONG, question.id.short())
        .text(format!(" {}", sanitize::line(&question.title)))
        .part(FAINT, format!(" · {} asked {ago} ago", sanitize::line(&question.agent)));
    output.line(head.fitted(output.width(), output))?;
    let options = question.options.iter().zip(1..);
    let options = options.map(|(option, number)| format!("{number}. {}", sanitize::line(option)));
    let default = question.default.as_ref().map(default_line);
    for line in sanitize::lines(&question.question).chain(options).chain(default) {
        Line::default().text(format!("  {line}")).write_wrapped(2, output)?;
    }
    Ok(())
}
