//! `ait log`: what happened, and what happens.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use anstyle::Style;
use anyhow::Result;
use clap::Args;
use serde::Serialize;

use super::line::Line;
use super::live::{Live, Wake};
use super::options::{agent_name, issue_ref};
use super::output::{FAINT, STRONG, local, of_status};
use super::since::{Since, since};
use super::{Ending, Output, plain};
use crate::domain::event::RETURN_ACTION;
use crate::domain::{
    AgentName, Event, EventKind, Issue, IssueId, IssueRef, Moment, Query, Status, Timestamp,
};
use crate::tracker::{Cursor, StoreError, Tracker};

/// How many moments a person is shown at once.
const SCREENFUL: usize = 50;
/// How often it is asked what happened meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// The arguments of `ait log`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "With --follow it goes on until Ctrl-C, and ends with 0.\n\n\
    Examples:\n  \
    ait log                           the last that happened\n  \
    ait log -f                        and what happens from now on\n  \
    ait log --since 2h --agent dev-1\n  \
    ait log --since '2026-11-21 13:00' --issue 3f2a9c1e\n  \
    ait log -f -n 0 --json | jq -r 'select(.status == \"completed\") | .title'")]
pub struct Arguments {
    /// Go on with what every process does, as it happens
    #[arg(short, long)]
    follow: bool,

    /// Only what happened since: so long ago, or a date and time
    #[arg(short, long, value_name = "WHEN", value_parser = since)]
    since: Option<Since>,

    /// How much to show of the past, the latest of it; 0 for nothing [default: 50 on a terminal, unless
    /// --since is given; else all]
    #[arg(short = 'n', long, value_name = "COUNT")]
    limit: Option<usize>,

    /// Only what this agent did
    #[arg(short, long, value_name = "NAME", value_parser = agent_name)]
    agent: Option<AgentName>,

    /// Only what happened to this issue
    #[arg(short, long, value_name = "ID", value_parser = issue_ref)]
    issue: Option<IssueRef>,

    /// Answer as JSON, one object on each line, for scripts
    #[arg(long)]
    json: bool,
}

impl Arguments {
    /// Tells whether it goes on until somebody ends it.
    pub(super) fn follows(&self) -> bool {
        self.follow
    }
}

pub(super) async fn run(
    arguments: &Arguments,
    tracker: &Tracker,
    output: &mut Output,
) -> Result<Ending> {
    let issue = match &arguments.issue {
        Some(reference) => Some(tracker.get_issue(reference.clone()).await?.id),
        None => None,
    };
    let agent = arguments.agent.as_ref().map(AgentName::as_str);
    let mut feed = Feed { tracker, issue, agent, seen: Seen::default() };
    // Following begins before the past is read, so that nothing falls between the two.
    let cursor = tracker.changes(None).await?.cursor;
    let issues = feed.issues().await?;
    let mut past = feed.entries(&issues);
    if arguments.follow {
        past = feed.seen.news(past);
    }
    if let Some(start) = arguments.since.and_then(|since| since.from(tracker.now())) {
        past.retain(|entry| entry.moment.at >= start);
    }
    let is_unlimited = !output.is_terminal() || arguments.since.is_some();
    let most = arguments.limit.unwrap_or(if is_unlimited { usize::MAX } else { SCREENFUL });
    let past = &past[past.len().saturating_sub(most)..];
    past.iter().try_for_each(|entry| entry.write(arguments.json, tracker.now(), output))?;
    if arguments.follow {
        drop(issues);
        follow(feed, cursor, arguments.json, output).await?;
    } else if past.is_empty() && most > 0 {
        tracing::info!("nothing has happened that fits");
    }
    Ok(Ending::Done)
}

/// Writes what happens until somebody ends it.
async fn follow(
    mut feed: Feed<'_>,
    mut cursor: Cursor,
    json: bool,
    output: &mut Output,
) -> Result<()> {
    let mut live = Live::begin()?;
    let mut is_first_look = true;
    let mut known_problem = None;
    output.flush()?;
    loop {
        if live.wait(LOOK_EVERY).await == Wake::End {
            return Ok(());
        }
        output.measure();
        match feed.look(&mut cursor, &mut is_first_look, json, output).await? {
            Ok(()) => known_problem = None,
            // Somebody may be about to mend it, and what happens then is still wanted.
            Err(error) => {
                let problem = Some(error.to_string());
                if known_problem != problem {
                    tracing::warn!("{error}; waiting until that is mended");
                    known_problem = problem;
                }
            }
        }
        output.flush()?;
    }
}

/// The stream of what happens, as far as it is wanted.
struct Feed<'a> {
    tracker: &'a Tracker,
    issue: Option<IssueId>,
    agent: Option<&'a str>,
    seen: Seen,
}

impl Feed<'_> {
    /// The issues that can tell something.
    async fn issues(&self) -> Result<Vec<Arc<Issue>>, StoreError> {
        match self.issue {
            Some(id) => Ok(vec![self.tracker.get_issue(id.into()).await?]),
            None => {
                let all = Query { take: usize::MAX, ..Query::default() };
                Ok(self.tracker.list_issues(all).await?.issues)
            }
        }
    }

    /// What issues tell, oldest first.
    fn entries<'i>(&self, issues: &'i [Arc<Issue>]) -> Vec<Entry<'i>> {
        let of = |issue: &'i Arc<Issue>| {
            let entry = |moment| Entry { issue: issue.id, title: &issue.title, moment };
            issue.story().into_iter().map(entry)
        };
        let mut entries: Vec<_> =
            issues.iter().flat_map(of).filter(|entry| self.is_wanted(entry)).collect();
        entries.sort_by_key(|entry| entry.moment.at);
        entries
    }

    fn is_wanted(&self, entry: &Entry<'_>) -> bool {
        self.issue.is_none_or(|issue| issue == entry.issue)
            && self.agent.is_none_or(|agent| agent == entry.moment.agent)
    }

    /// Writes what happened since the last look. The inner error is the store's.
    async fn look(
        &mut self,
        cursor: &mut Cursor,
        is_first_after_reading: &mut bool,
        json: bool,
        output: &mut Output,
    ) -> Result<Result<(), StoreError>> {
        let changes = match self.tracker.changes(Some(*cursor)).await {
            Ok(changes) => changes,
            Err(error) => return Ok(Err(error)),
        };
        let is_edited = |event: &Arc<Event>| matches!(event.kind, EventKind::Edited { .. });
        // What they tell that no command did, the issues tell better.
        let is_whole = changes.complete && !changes.events.iter().any(is_edited);
        for event in changes.events.iter().filter(|event| is_whole || is_edited(event)) {
            self.write_event(event, *is_first_after_reading, json, output).await?;
        }
        *is_first_after_reading = false;
        if !is_whole {
            // More happened than is remembered, or something that no event tells.
            let issues = match self.issues().await {
                Ok(issues) => issues,
                Err(error) => return Ok(Err(error)),
            };
            let entries = self.entries(&issues);
            let news = self.seen.news(entries);
            news.iter().try_for_each(|entry| entry.write(json, self.tracker.now(), output))?;
            *is_first_after_reading = true;
        }
        *cursor = changes.cursor;
        Ok(Ok(()))
    }

    async fn write_event(
        &mut self,
        event: &Event,
        may_be_known: bool,
        json: bool,
        output: &mut Output,
    ) -> Result<()> {
        let mut entry = Entry { issue: event.issue, title: "", moment: event.moment() };
        // What happened while the issues were read is told by both.
        if !self.is_wanted(&entry) || (may_be_known && self.seen.contains(&entry)) {
            return Ok(());
        }
        self.seen.insert(&entry);
        let issue = self.tracker.get_issue(event.issue.into()).await.ok();
        entry.title = issue.as_ref().map_or("", |issue| &issue.title);
        entry.write(json, self.tracker.now(), output)
    }
}

/// What was read or told so far, by hashes, and how often.
#[derive(Default)]
struct Seen {
    hasher: RandomState,
    counts: HashMap<u64, u32>,
}

impl Seen {
    fn key(&self, entry: &Entry<'_>) -> u64 {
        self.hasher.hash_one((entry.issue, entry.moment))
    }

    fn contains(&self, entry: &Entry<'_>) -> bool {
        self.counts.contains_key(&self.key(entry))
    }

    fn insert(&mut self, entry: &Entry<'_>) {
        *self.counts.entry(self.key(entry)).or_default() += 1;
    }

    /// Takes everything that there is now, and leaves what was not there before.
    fn news<'i>(&mut self, mut entries: Vec<Entry<'i>>) -> Vec<Entry<'i>> {
        let mut before = mem::take(&mut self.counts);
        entries.retain(|entry| {
            self.insert(entry);
            match before.get_mut(&self.key(entry)) {
                Some(count) if *count > 0 => {
                    *count -= 1;
                    false
                }
                _ => true,
            }
        });
        entries
    }
}

const DATE: &str = "%Y-%m-%d";

/// How much fits on a line.
#[derive(Clone, Copy)]
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

/// One moment of one issue.
#[derive(Clone, Copy)]
struct Entry<'a> {
    issue: IssueId,
    title: &'a str,
    moment: Moment<'a>,
}

/// The same in JSON.
#[derive(Serialize)]
struct JsonEntry<'a> {
    at: Timestamp,
    issue: IssueId,
    title: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    agent: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<&'a str>,
}

impl Entry<'_> {
    fn write(&self, json: bool, now: Timestamp, output: &mut Output) -> Result<()> {
        let Self { issue, title, moment } = *self;
        let Moment { at, agent, action, comment } = moment;
        let status = moment.status();
        if json {
            return output.json_line(&JsonEntry {
                at,
                issue,
                title,
                status,
                agent,
                action,
                comment,
            });
        }
        let room = Room::of(output.width());
        let time = match room {
            Room::Wide => local(at, "%Y-%m-%d %H:%M:%S"),
            Room::Usual => local(at, "%m-%d %H:%M"),
            // What tells most: the time of what was today, the date of what was not.
            Room::Narrow if local(at, DATE) == local(now, DATE) => local(at, "%H:%M"),
            Room::Narrow => local(at, "%m-%d"),
        };
        let action = match action {
            Some(RETURN_ACTION) => "returned",
            Some(action) => action.strip_prefix("Issue ").unwrap_or(action),
            None => "commented",
        };
        let (gap, action, by) = match room {
            Room::Narrow => (" ", action.split(' ').next().unwrap_or(action), ""),
            _ => ("  ", action, "by "),
        };
        let mut line = Line::default()
            .part(FAINT, time)
            .text(gap)
            .part(STRONG, issue.short())
            .text(gap)
            .part(status.map_or(Style::new(), of_status), plain::line(action))
            .text(format!(" {by}{}: {}", plain::line(agent), plain::line(title)));
        if let Some(said) = comment.and_then(|text| text.lines().find(|it| !it.trim().is_empty())) {
            line = line.part(FAINT, format!(" · {}", plain::line(said.trim())));
        }
        output.line(line.fitted(output.width(), output))
    }
}
