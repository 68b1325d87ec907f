//! `ait digest`: what matters in the queue now.

use anyhow::Result;
use clap::Args;

use super::options::{CallerArgs, time_arg};
use super::output::{FAINT, STRONG, local};
use super::sanitize;
use super::styled_line::Line;
use super::{CommandContext, ExitStatus, Output};
use ait_domain::{Status, Timestamp};
use ait_query::time_arg::TimeArg;
use ait_system::span::humanize_duration;
use ait_tracker::read_model::{Digest, DigestRow, DigestRows, ReadModel};

/// The arguments of `ait digest`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    ait digest\n  \
    ait digest --since 1h\n  \
    ait digest -a dev-1 --json")]
pub struct Arguments {
    /// Tell what ended since WHEN: a duration before now, or a date and time [default: 24h]
    #[arg(short, long, value_name = "WHEN", value_parser = time_arg)]
    since: Option<TimeArg>,

    #[command(flatten)]
    caller: CallerArgs,
}

pub(super) async fn run(arguments: &Arguments, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let output = context.output;
    let now = context.tracker.now();
    let since = arguments.since.map(|since| since.time(now));
    // A digest without one's own issues is better than none.
    let agent = arguments.caller.agent(context).ok();
    let model = ReadModel::new(context.tracker.clone());
    let digest = model.digest(agent, since).await?;
    if arguments.caller.format.json {
        output.json(&digest)?;
    } else {
        write(&digest, now, output)?;
    }
    Ok(ExitStatus::Done)
}

fn write(digest: &Digest, now: Timestamp, output: &Output) -> Result<()> {
    let counted = Status::words();
    let counted = counted.filter_map(|status| Some((status, digest.counts.get(status)?)));
    let counted = counted.filter(|(_, count)| **count > 0);
    let counted: Vec<_> = counted.map(|(status, count)| format!("{count} {status}")).collect();
    let counted = if counted.is_empty() { "no issues".to_owned() } else { counted.join(" · ") };
    output.line(counted)?;
    let Digest { ready, blocked, parked, .. } = digest;
    output
        .line(format_args!("{ready} ready to be claimed · {blocked} blocked · {parked} parked"))?;
    let since = local(digest.since, "%Y-%m-%d %H:%M");
    let none = DigestRows::default();
    for (name, rows) in [
        ("yours".to_owned(), digest.mine.as_ref().unwrap_or(&none)),
        ("questions to people".to_owned(), &digest.questions),
        ("waits longest".to_owned(), &digest.waits_longest),
        ("held".to_owned(), &digest.held),
        ("came back often".to_owned(), &digest.came_back_often),
        (format!("ended since {since}"), &digest.ended),
    ] {
        write_rows(&name, rows, now, output)?;
    }
    if let Some(memory) = &digest.memory {
        output.line("")?;
        output.line(output.styled(STRONG, format_args!("memory {}", memory.entries)))?;
        for line in &memory.decisions {
            let line = Line::default().text(format!("  {}", sanitize::line(line)));
            output.line(line.fitted(output.width(), output))?;
        }
    }
    Ok(())
}

fn write_rows(name: &str, rows: &DigestRows, now: Timestamp, output: &Output) -> Result<()> {
    if rows.count == 0 {
        return Ok(());
    }
    let head = Line::default().part(STRONG, name).text(format!(" {}", rows.count));
    let head = head.fitted(output.width(), output);
    output.line("")?;
    output.line(head)?;
    rows.first.iter().try_for_each(|row| write_row(row, now, output))
}

fn write_row(row: &DigestRow, now: Timestamp, output: &Output) -> Result<()> {
    let agent = row.agent.as_deref().map(|agent| format!(" {}", sanitize::line(agent)));
    let returns = row.returns.map(|count| format!(", returned {count} times"));
    let text = row.question.as_ref().unwrap_or(&row.title);
    let line = Line::default().part(FAINT, format!("  {}  ", row.id)).text(sanitize::line(text));
    let about = format!(
        "  {}{}, {}{}",
        row.status,
        agent.unwrap_or_default(),
        humanize_duration(now.millis_since(row.since)),
        returns.unwrap_or_default()
    );
    let line = line.part(FAINT, about).fitted(output.width(), output);
    output.line(line)
}
