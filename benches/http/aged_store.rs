//! A store with two months of history.

use std::fs::File;
use std::io::{BufWriter, Write};

use agent_issue_tracker::domain::{
    AttributeValues, Attributes, Classification, EventKind, IssueId, Link, LinkKind, Priority,
};
use agent_issue_tracker::store::files::format::{self, Document};
use chrono::{TimeDelta, Utc};
use uuid::Uuid;

use crate::server::Server;
use benches::fixture::template;
use benches::issues::{self, Filing, comment};

/// The age of the oldest issue.
const AGE_DAYS: i64 = 60;
/// The number of agents.
const AGENTS: usize = 200;

/// Starts a server on a store with two months of history. All issues have ended, except the newest two percent.
pub fn aged_store(size: usize) -> Server {
    let path = template(&format!("aged-{size}.json"), |path| {
        let mut file = BufWriter::new(File::create(path).expect("a new file"));
        format::write(&document(size), &mut file).expect("space on the disk");
        file.flush().expect("space on the disk");
    });
    Server::on(&path)
}

fn document(size: usize) -> Document {
    let mut document = Document::default();
    let begin = Utc::now() - TimeDelta::days(AGE_DAYS);
    let mut before = None;
    for number in 0..size {
        let issue = IssueId::from(Uuid::new_v4());
        let Filing { title, description } = Filing::new(number);
        let comment = || comment(number).into_string();
        let kinds = [
            EventKind::Filed {
                attributes: attributes(number, before.replace(issue)),
                title: title.into_string(),
                description: description.into_string(),
                classification: Classification::ALL[number % Classification::ALL.len()],
            },
            EventKind::Claimed,
            EventKind::Completed { comment: comment() },
            EventKind::ReviewStarted,
            match number % 20 {
                0 => EventKind::Rejected { comment: comment() },
                _ => EventKind::Closed { comment: comment() },
            },
        ];
        let is_open = number >= size - size / 50;
        let count = if is_open { 1 + number % 4 } else { kinds.len() };
        let filed = TimeDelta::days(AGE_DAYS) * i32::try_from(number).expect("a small store")
            / i32::try_from(size).expect("a small store");
        for (step, kind) in kinds.into_iter().take(count).enumerate() {
            let at = begin + filed + TimeDelta::minutes((number % 50 * step) as i64);
            let agent = format!("agent-{}", (number + step) % AGENTS);
            issues::apply(&mut document, issue, at.min(Utc::now()).into(), agent, kind);
        }
    }
    document
}

/// Every third issue has a label and a priority; every fifth is blocked by the one before it.
fn attributes(number: usize, before: Option<IssueId>) -> Attributes {
    let label = || format!("area/part-{}", number % 50).parse().expect("a valid label");
    let priority = || Priority::try_from(number as u64 % 5).expect("a valid priority");
    let is_third = number.is_multiple_of(3);
    let blocker = before.filter(|_| number % 5 == 4);
    let links = blocker.map(|to| Link { kind: LinkKind::BlockedBy, to }).into_iter().collect();
    AttributeValues {
        labels: if is_third { vec![label()] } else { Vec::new() },
        priority: is_third.then(priority),
        links,
        ..AttributeValues::default()
    }
    .into()
}
