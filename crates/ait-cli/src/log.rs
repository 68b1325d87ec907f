//! `ait log`: shows and follows the event log.

use std::collections::VecDeque;
use std::mem;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use clap::builder::styling::Style;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use tokio::sync::watch;

use super::options::{agent_name, issue_ref, time_arg};
use super::output::{FAINT, STRONG, local, of_status};
use super::signals::{FOREVER, Live, Wake};
use super::styled_line::Line;
use super::{CommandContext, ExitStatus, Output, no_issues, sanitize};
use ait_domain::{
    ActionKind, AgentName, Attributes, Change, EventKind, FieldValue, Issue, IssueId, IssueRef,
    Patch, Status, TimelineEntry, Timestamp, ValueField,
};
use ait_query::time_arg::TimeArg;
use ait_tracker::activity::{
    self, ActivityFilter, EventRecord, MAX_SCANNED, newest_first, number_before, oldest_first,
    title_in,
};
use ait_tracker::hints::{self, COMMANDS};
use ait_tracker::{Bounds, EventPosition, NumberedEvent, StoreError, Tracker};

/// How many events are shown at once on a terminal.
const SCREENFUL: usize = 50;
/// How many events are read and written at once.
const PAGE: usize = 10_000;
/// How soon an unreadable store is read again.
const RETRY: Duration = Duration::from_secs(1);

/// The arguments of `ait log`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "With --follow, the command runs until Ctrl-C and exits with 0.\n\n\
    Examples:\n  \
    ait log                           the latest events\n  \
    ait log -f                        and new events as they happen\n  \
    ait log --since 2h --agent dev-1\n  \
    ait log --since '2026-11-21 13:00' --issue 3f2a9c1e\n  \
    ait log --json --after 1500 -n 100  the first 100 events after number 1500\n  \
    ait log -f -n 0 --json | jq -r 'select(.status == \"completed\") | .title'")]
pub struct Arguments {
    /// Keep running, and show new events of all processes as they happen
    #[arg(short, long)]
    follow: bool,

    /// Only events since WHEN: a duration before now, or a date and time
    #[arg(short, long, value_name = "WHEN", value_parser = time_arg)]
    since: Option<TimeArg>,

    /// Only events after this event number; --json shows the numbers
    #[arg(long, value_name = "NUMBER")]
    after: Option<u64>,

    /// Maximum number of past events: the latest ones, or with --after the first ones; 0 for none [default: 50
    /// on a terminal, unless --since or --after is given; else all]
    #[arg(short = 'n', long, value_name = "COUNT")]
    limit: Option<usize>,

    /// Only events of this agent
    #[arg(short, long, value_name = "NAME", value_parser = agent_name)]
    agent: Option<AgentName>,

    /// Only events of this issue, including its history from before the log
    #[arg(short, long, value_name = "ID", value_parser = issue_ref)]
    issue: Option<IssueRef>,

    /// Only events of this kind
    #[arg(short, long, value_name = "KIND", value_parser = kind())]
    kind: Option<&'static str>,

    /// Print JSON, one object per line, for scripts: with the event number, and the values before and after
    /// the event
    #[arg(long)]
    json: bool,
}

fn kind() -> impl TypedValueParser<Value = &'static str> {
    PossibleValuesParser::new(EventKind::WORDS)
        .map(|word| activity::kind_from_word(&word).expect("only these words are possible"))
}

impl Arguments {
    /// Returns true if the command follows the log until the user ends it (`-f`).
    pub(super) fn follows(&self) -> bool {
        self.follow
    }

    /// Returns the maximum number of past events to show; `None` for all.
    fn most(&self, output: &Output) -> Option<usize> {
        let shows_all = !output.is_terminal() || self.since.is_some() || self.after.is_some();
        self.limit.or((!shows_all).then_some(SCREENFUL))
    }
}

pub(super) async fn run(arguments: &Arguments, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let CommandContext { tracker, output, .. } = *context;
    let issue = match &arguments.issue {
        Some(reference) => Some(tracker.get_issue(reference.clone()).await?.id),
        None => None,
    };
    let filter = ActivityFilter {
        agent: arguments.agent.as_ref().map(|agent| agent.as_str().to_owned()),
        kind: arguments.kind,
        issue,
        since: arguments.since.map(|since| since.time(tracker.now())),
    };
    // Subscribe before the past is read, so that no event is missed. Following continues after the last event
    // shown, so that none is repeated.
    let watched = arguments.follow.then(|| tracker.watch());
    let most = arguments.most(output);
    let json = arguments.json;
    let mut log = Log { tracker, output, filter, json, written: 0, read_at: tracker.now() };
    let end = match (issue, arguments.after) {
        _ if most == Some(0) => tracker.log_bounds().await?.newest,
        (Some(issue), None) => log.write_issue(issue, most).await?,
        (_, Some(after)) => log.write_after(after, most).await?,
        (None, None) => match most {
            Some(most) => log.write_latest(most).await?,
            None => {
                let after = match log.filter.since {
                    Some(since) => number_before(tracker, since).await?,
                    None => 0,
                };
                log.write_after(after, None).await?
            }
        },
    };
    if let Some(watched) = watched {
        follow(log, watched, end).await?;
    } else if log.written == 0 && most != Some(0) {
        match end.number {
            0 if super::is_empty(tracker).await? => tracing::info!("{}", no_issues()),
            0 => tracing::info!(
                "the log has no events yet; --issue ID shows the history of one issue"
            ),
            _ => tracing::info!("no events match"),
        }
    }
    Ok(ExitStatus::Done)
}

/// Writes the events after a position until the user ends the command.
async fn follow(
    mut log: Log<'_>,
    mut watched: watch::Receiver<EventPosition>,
    mut last: EventPosition,
) -> Result<()> {
    let mut live = Live::begin()?;
    let mut known_problem = None;
    loop {
        match log.write_news(&mut last).await {
            Ok(()) => known_problem = None,
            // The store may be repaired while this command waits, and later events are still wanted.
            Err(error) => {
                let problem = hints::for_store(&error.downcast::<StoreError>()?, &COMMANDS);
                if known_problem.as_ref() != Some(&problem) {
                    tracing::warn!("{problem}; waiting until the problem is fixed");
                    known_problem = Some(problem);
                }
            }
        }
        log.output.flush()?;
        let wait = if known_problem.is_some() { RETRY } else { FOREVER };
        tokio::select! {
            wake = live.wait(wait) => if wake == Wake::End { return Ok(()) },
            // The sender lives as long as the tracker.
            Ok(()) = watched.changed() => {}
        }
        log.output.measure();
    }
}

/// A query on the log, and its output format.
struct Log<'a> {
    tracker: &'a Tracker,
    output: &'a Output,
    filter: ActivityFilter,
    json: bool,
    /// How many entries were written.
    written: usize,
    /// When the log was last read.
    read_at: Timestamp,
}

impl Log<'_> {
    /// Writes the first events after a number, up to the latest one at the start; returns the position of that one.
    async fn write_after(&mut self, after: u64, most: Option<usize>) -> Result<EventPosition> {
        let Bounds { newest, oldest } = self.tracker.log_bounds().await?;
        let mut after = after;
        let mut left = most.unwrap_or(usize::MAX);
        if after > newest.number {
            tracing::warn!("there is no event {after}: the latest is {}", newest.number);
        } else if oldest > after.saturating_add(1) && after > 0 {
            tracing::warn!("events {} to {} are no longer kept", after + 1, oldest - 1);
        }
        while after < newest.number && left > 0 {
            let page = oldest_first(self.tracker, &self.filter, after, left.min(PAGE)).await?;
            let events = page.events.iter().take_while(|event| is_up_to(event, newest)).collect();
            self.write_events(events).await?;
            left -= page.events.len();
            if page.is_last {
                break;
            }
            after = page.reached;
        }
        Ok(newest)
    }

    /// Writes the latest events; returns the position of the last one.
    async fn write_latest(&mut self, most: usize) -> Result<EventPosition> {
        let newest = self.tracker.log_bounds().await?.newest;
        let mut before = newest.number + 1;
        let mut events = VecDeque::new();
        while events.len() < most {
            let wanted = most - events.len();
            let page = newest_first(self.tracker, &self.filter, Some(before), wanted).await?;
            page.events.into_iter().for_each(|event| events.push_front(event));
            if page.is_last {
                break;
            }
            before = page.reached;
        }
        self.write_events(events.iter().collect()).await?;
        Ok(newest)
    }

    /// Writes the events of one issue, after the part of its history from before the log; returns the position of the
    /// latest event of the store.
    async fn write_issue(&mut self, id: IssueId, most: Option<usize>) -> Result<EventPosition> {
        let found = activity::of_issue(self.tracker, id).await?;
        let older = found.before.iter().flat_map(Issue::timeline);
        let older: Vec<_> = older.filter(|moment| self.filter.accepts_moment(moment)).collect();
        let events = found.events.iter().filter(|event| self.filter.accepts(&event.event));
        let events: Vec<_> = events.collect();
        let skipped = (older.len() + events.len()).saturating_sub(most.unwrap_or(usize::MAX));
        let short = self.tracker.issues_around([id]).await?.short_id(id);
        for moment in older.iter().skip(skipped) {
            self.written += 1;
            if self.json {
                self.output.json_line(&EventRecord::of_moment(&found.issue, moment))?;
            } else {
                let entry = Entry::of_moment(&found.issue, *moment);
                entry.write(&short, self.tracker.now(), self.output)?;
            }
        }
        let skipped = skipped.saturating_sub(older.len());
        self.write_events(events[skipped..].to_vec()).await?;
        Ok(found.newest)
    }

    /// Writes the events after a position, and advances it.
    async fn write_news(&mut self, last: &mut EventPosition) -> Result<()> {
        loop {
            let read_at = mem::replace(&mut self.read_at, self.tracker.now());
            let Some(read) = self.tracker.events_since(*last, MAX_SCANNED).await? else {
                return self.write_replaced(last, read_at).await;
            };
            let events = read.events;
            let Some(newest) = events.last().map(|event| event.position) else { return Ok(()) };
            let wanted = events.iter().filter(|event| self.filter.accepts(&event.event)).collect();
            self.write_events(wanted).await?;
            *last = newest;
            self.output.flush()?;
        }
    }

    /// Writes the events since a time, after the log that was followed was replaced.
    async fn write_replaced(&mut self, last: &mut EventPosition, since: Timestamp) -> Result<()> {
        tracing::warn!("the event log was replaced: following the new one");
        let filter =
            ActivityFilter { since: self.filter.since.max(Some(since)), ..self.filter.clone() };
        let mut page = newest_first(self.tracker, &filter, None, PAGE).await?;
        page.events.reverse();
        self.write_events(page.events.iter().collect()).await?;
        *last = page.bounds.newest;
        Ok(())
    }

    /// Writes events. If the store cannot be read, writes nothing.
    async fn write_events(&mut self, events: Vec<&NumberedEvent>) -> Result<()> {
        if events.is_empty() {
            return Ok(());
        }
        let ids = events.iter().map(|event| event.event.issue);
        let issues = self.tracker.issues_around(ids).await?;
        let now = self.tracker.now();
        for event in events {
            self.written += 1;
            let id = event.event.issue;
            let issue = issues.get(id);
            let title = issue.as_ref().map(|issue| issue.title.as_str());
            if self.json {
                self.output.json_line(&EventRecord::new(event, title))?;
            } else {
                let short = match id {
                    IssueId::NIL => "-".repeat(8),
                    id => issues.short_id(id),
                };
                Entry::of_event(event, title).write(&short, now, self.output)?;
            }
        }
        Ok(())
    }
}

fn is_up_to(event: &NumberedEvent, newest: EventPosition) -> bool {
    event.position.number <= newest.number
}

const DATE: &str = "%Y-%m-%d";

/// How much space a line has.
#[derive(Clone, Copy, PartialEq)]
enum Room {
    Narrow,
    Usual,
    Wide,
}

impl Room {
    fn of(width: Option<usize>) -> Self {
        match width {
            Some(..60) => Self::Narrow,
            Some(..100) => Self::Usual,
            _ => Self::Wide,
        }
    }
}

/// One line of output for people.
struct Entry<'a> {
    /// The number of the event; `None` for an entry from before the log.
    number: Option<u64>,
    title: &'a str,
    status: Option<Status>,
    moment: TimelineEntry<'a>,
    /// What was changed in fields.
    patch: Option<&'a Patch>,
}

impl<'a> Entry<'a> {
    fn of_event(numbered: &'a NumberedEvent, title: Option<&'a str>) -> Self {
        let event = &numbered.event;
        let patch = match &event.kind {
            EventKind::Edited { patch } | EventKind::Changed { patch } => Some(&**patch),
            _ => None,
        };
        Self {
            number: Some(numbered.position.number),
            title: title.or_else(|| title_in(event)).unwrap_or_default(),
            status: event.status_after(),
            moment: event.timeline_entry(),
            patch,
        }
    }

    fn of_moment(issue: &'a Issue, moment: TimelineEntry<'a>) -> Self {
        Self { number: None, title: &issue.title, status: moment.status(), moment, patch: None }
    }

    fn write(&self, issue: &str, now: Timestamp, output: &Output) -> Result<()> {
        let TimelineEntry { at, agent, action, comment } = self.moment;
        let room = Room::of(output.width());
        let time = match room {
            Room::Wide => local(at, "%Y-%m-%d %H:%M:%S"),
            Room::Usual => local(at, "%m-%d %H:%M"),
            // The time for today, the date for other days.
            Room::Narrow if local(at, DATE) == local(now, DATE) => local(at, "%H:%M"),
            Room::Narrow => local(at, "%m-%d"),
        };
        let action = match (self.moment.kind(), action) {
            (ActionKind::Returned, _) => "returned",
            (ActionKind::Commented, _) | (_, None) => "commented",
            (ActionKind::Asked, _) => "asked",
            (ActionKind::Answered, _) => "answered",
            (ActionKind::Checked, _) => "checked",
            (ActionKind::Used, _) => "used",
            (_, Some(action)) => action.strip_prefix("Issue ").unwrap_or(action),
        };
        let (gap, action, by) = match room {
            Room::Narrow => (" ", action.split(' ').next().unwrap_or(action), ""),
            _ => ("  ", action, "by "),
        };
        let number = self.number.filter(|_| room != Room::Narrow);
        let number = number.map(|number| format!("{gap}#{number}")).unwrap_or_default();
        let mut line = Line::default()
            .part(FAINT, format!("{time}{number}"))
            .text(gap)
            .part(STRONG, issue)
            .text(gap)
            .part(self.status.map_or(Style::new(), of_status), sanitize::line(action))
            .text(format!(" {by}{}: {}", sanitize::line(agent), sanitize::line(self.title)));
        let said = comment.and_then(|text| text.lines().find(|line| !line.trim().is_empty()));
        let is_by_hand = self.moment.kind() == ActionKind::Edited;
        let changed = self.patch.map(|patch| changes(patch, is_by_hand));
        let changed = changed.filter(|changes| !changes.is_empty());
        if let Some(more) = said.map(str::to_owned).or(changed) {
            line = line.part(FAINT, format!(" · {}", sanitize::line(more.trim())));
        }
        output.line(line.fitted(output.width(), output))
    }
}

/// Returns what a patch did to the fields with short values, such as `due 2026-12-01 → 2026-12-04`. The action of an
/// edit by hand names no field, so the others are named here.
fn changes(patch: &Patch, is_by_hand: bool) -> String {
    let described = |name: &'static str| {
        let values = patch.attributes.as_ref().and_then(|change| described(name, change));
        values.or_else(|| is_by_hand.then(|| name.to_owned()))
    };
    patch.fields().into_iter().filter_map(described).collect::<Vec<_>>().join(", ")
}

/// Returns what a change did to the field with this name, if that is short.
fn described(name: &str, change: &Change<Attributes>) -> Option<String> {
    if let Some(field) = ValueField::from_word(name) {
        let shown = |attributes| match FieldValue::of(field, attributes) {
            value if value.is_none() => "none".to_owned(),
            value => value.to_string(),
        };
        return Some(format!("{name} {} → {}", shown(&change.before), shown(&change.after)));
    }
    let parked = change.after.parked.as_ref().filter(|_| name == "parked")?;
    Some(format!("parked: {}", parked.reason))
}
