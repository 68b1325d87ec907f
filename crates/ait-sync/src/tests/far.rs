//! A remote in memory, with faults, edits between a read and a change and between two pages, times of whole seconds,
//! and short pages that are counted, so that edits move issues from one to another.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use ait_domain::{IssueId, LinkKind, Priority, Timestamp};
use async_trait::async_trait;
use fastrand::Rng;
use tokio::task::yield_now;

use crate::marker;
use crate::remote::{
    Field, Listing, NewRemoteIssue, Remote, RemoteChange, RemoteComment, RemoteError, RemoteIssue,
    RemoteLink, RemotePage, State,
};
use crate::settings::Kind;

const PER_PAGE: usize = 2;

#[derive(Clone, Debug)]
pub(super) struct FarIssue {
    pub(super) issue: RemoteIssue,
    pub(super) comments: Vec<RemoteComment>,
}

pub(super) struct Far {
    /// Which fields and states it has.
    pub(super) kind: Kind,
    pub(super) issues: BTreeMap<u64, FarIssue>,
    pub(super) now_ms: i64,
    pub(super) changes: u64,
    /// The changes that calls made.
    pub(super) calls: usize,
    /// How likely a call fails, before or after its effect.
    pub(super) fault: f64,
    /// How likely an edit comes between a read and a change, or between two pages.
    pub(super) edit_between: f64,
    pub(super) edits: Vec<(u64, Field, String)>,
    pub(super) drops_markers: bool,
    pub(super) rng: Rng,
}

impl Far {
    pub(super) fn new(kind: Kind, now_ms: i64, rng: Rng) -> Self {
        Self {
            kind,
            issues: BTreeMap::new(),
            now_ms,
            changes: 0,
            calls: 0,
            fault: 0.0,
            edit_between: 0.0,
            edits: Vec::new(),
            drops_markers: false,
            rng,
        }
    }

    /// Edits an issue as a person does while a call is on its way, perhaps.
    fn edit_between(&mut self, number: u64) {
        if self.rng.f64() < self.edit_between {
            let value = format!("between{}", self.changes);
            let (field, value) = self.edit(number, &value);
            self.edits.push((number, field, value));
        }
    }

    pub(super) fn touch(&mut self, number: u64) {
        // Some changes follow at once, some much later.
        let most = [1500, 600_000][usize::from(self.rng.u8(0..6) == 0)];
        self.now_ms += 1 + self.rng.i64(0..most);
        self.changes += 1;
        // Times of this remote have whole seconds.
        let at = Timestamp::from_unix_millis(self.now_ms / 1000 * 1000);
        let Some(far) = self.issues.get_mut(&number) else { return };
        far.issue.updated_at = at;
        far.issue.revision = Some(self.changes);
        far.issue.comments = far.comments.len();
    }

    pub(super) fn edit(&mut self, number: u64, value: &str) -> (Field, String) {
        let choice = self.rng.u8(0..7);
        let kind = self.kind;
        // Links to earlier issues make no cycle; all parts are those of the first one, which blocks none.
        let blocker = self.rng.u64(2..=number.max(3) - 1);
        let Some(far) = self.issues.get_mut(&number) else { return (Field::Title, String::new()) };
        let issue = &mut far.issue;
        let edited = match choice {
            0 => {
                issue.title = format!("far title {value}");
                (Field::Title, issue.title.clone())
            }
            1 => {
                issue.description = format!("A longer text that was written far away: {value}");
                (Field::Description, issue.description.clone())
            }
            2 => {
                let states: Vec<_> =
                    State::ALL.iter().filter(|state| kind.nearest(**state) == **state).collect();
                issue.state = *states[value.len() % states.len()];
                (Field::Status, issue.state.to_string())
            }
            5 if kind.fields().contains(&Field::Priority) => {
                issue.priority = Priority::try_from(value.len() as u64 % 4).ok();
                let value = issue.priority.map(|priority| priority.get().to_string());
                (Field::Priority, value.unwrap_or_default())
            }
            3 | 4 if number > 2 => {
                let (kind, to) = if choice == 3 {
                    (LinkKind::Parent, 1)
                } else {
                    (LinkKind::BlockedBy, blocker)
                };
                let link = RemoteLink { kind, to: to.to_string() };
                if issue.links.contains(&link) {
                    issue.links.retain(|other| *other != link);
                } else {
                    issue.links.push(link);
                }
                (Field::Labels, String::new())
            }
            _ => {
                issue.labels.push(format!("far-{value}"));
                (Field::Labels, format!("far-{value}"))
            }
        };
        self.touch(number);
        edited
    }
}

pub(super) struct FarAway(pub(super) Mutex<Far>);

impl FarAway {
    pub(super) fn far(&self) -> MutexGuard<'_, Far> {
        self.0.lock().unwrap()
    }

    /// Makes a call with an effect, which may fail before or after it, and at which a run may end.
    async fn call<T>(
        &self,
        effect: impl FnOnce(&mut Far) -> Result<T, RemoteError>,
    ) -> Result<T, RemoteError> {
        let fails = |far: &mut Far| far.fault > 0.0 && far.rng.f64() < far.fault;
        let broke = || Err(RemoteError::Unavailable("the connection broke".to_owned()));
        yield_now().await;
        if fails(&mut self.far()) {
            let is_limited = self.far().rng.bool();
            return if is_limited { Err(RemoteError::Limited(Duration::ZERO)) } else { broke() };
        }
        let done = effect(&mut self.far());
        yield_now().await;
        if fails(&mut self.far()) { broke() } else { done }
    }
}

pub(super) fn number(key: &str) -> u64 {
    key.parse().unwrap()
}

pub(super) fn missing(key: &str) -> RemoteError {
    RemoteError::Missing(key.to_owned())
}

#[async_trait]
impl Remote for FarAway {
    async fn list(&self, listing: Listing) -> Result<RemotePage, RemoteError> {
        let list = move |far: &mut Far| {
            let offset: usize = listing.next.as_deref().map_or(0, |next| next.parse().unwrap());
            if offset > 0 && !far.issues.is_empty() {
                let number = far.rng.u64(1..=far.issues.len() as u64);
                far.edit_between(number);
            }
            let is_asked =
                |far: &&FarIssue| listing.since.is_none_or(|since| far.issue.updated_at >= since);
            let mut issues: Vec<_> = far.issues.values().filter(is_asked).collect();
            issues.sort_by_key(|far| (far.issue.updated_at, number(&far.issue.key)));
            let end = offset + PER_PAGE;
            let next = (issues.len() > end).then(|| end.to_string());
            let issues = issues.into_iter().skip(offset).take(PER_PAGE);
            let issues = issues.map(|far| far.issue.clone()).collect();
            Ok(RemotePage { issues, next, ..RemotePage::default() })
        };
        self.call(list).await
    }

    async fn read(&self, key: &str) -> Result<RemoteIssue, RemoteError> {
        self.call(move |far| {
            far.issues.get(&number(key)).map(|far| far.issue.clone()).ok_or_else(|| missing(key))
        })
        .await
    }

    async fn comments(&self, key: &str) -> Result<Vec<RemoteComment>, RemoteError> {
        self.call(move |far| {
            far.issues.get(&number(key)).map(|far| far.comments.clone()).ok_or_else(|| missing(key))
        })
        .await
    }

    async fn change(
        &self,
        seen: &RemoteIssue,
        change: &RemoteChange,
    ) -> Result<RemoteIssue, RemoteError> {
        self.call(move |far| {
            let key = number(&seen.key);
            far.edit_between(key);
            let kind = far.kind;
            let issue = &mut far.issues.get_mut(&key).ok_or_else(|| missing(&seen.key))?.issue;
            if issue.revision != seen.revision {
                return Err(RemoteError::Changed(seen.key.clone()));
            }
            issue.title = change.title.clone().unwrap_or(issue.title.clone());
            if let Some(description) = &change.description {
                issue.description = marker::unmarked(description).0;
            }
            issue.state = change.status.map_or(issue.state, |state| kind.nearest(state));
            issue.priority = change.priority.unwrap_or(issue.priority);
            let gone =
                |label: &String| !change.labels_remove.iter().any(|one| one.as_str() == label);
            issue.labels.retain(gone);
            issue.labels.extend(change.labels_add.iter().map(ToString::to_string));
            far.calls += 1;
            far.touch(key);
            Ok(far.issues[&key].issue.clone())
        })
        .await
    }

    async fn comment(&self, key: &str, text: &str) -> Result<(), RemoteError> {
        self.call(move |far| {
            let id = format!("c{}", far.changes);
            let text =
                if far.drops_markers { text.split("\n\n<!--").next().unwrap() } else { text };
            let created_at = Timestamp::from_unix_millis(far.now_ms);
            let text = text.to_owned();
            let comment = RemoteComment { id, author: "sync".to_owned(), created_at, text };
            far.issues.get_mut(&number(key)).ok_or_else(|| missing(key))?.comments.push(comment);
            far.calls += 1;
            far.touch(number(key));
            Ok(())
        })
        .await
    }

    async fn create(&self, new: &NewRemoteIssue) -> Result<RemoteIssue, RemoteError> {
        self.call(move |far| {
            let (description, marker) = marker::unmarked(&new.description);
            let marker = marker.filter(|_| !far.drops_markers);
            let labels = new.labels.iter().map(ToString::to_string).collect();
            far.calls += 1;
            let number = add(far, &new.title, description, marker, labels).key;
            let far = far.issues.get_mut(&self::number(&number)).ok_or_else(|| missing(&number))?;
            far.issue.priority = new.priority;
            Ok(far.issue.clone())
        })
        .await
    }
}

pub(super) fn add(
    far: &mut Far,
    title: &str,
    description: String,
    marker: Option<IssueId>,
    labels: Vec<String>,
) -> RemoteIssue {
    let number = far.issues.len() as u64 + 1;
    let at = Timestamp::from_unix_millis(far.now_ms);
    let issue = RemoteIssue {
        key: number.to_string(),
        url: format!("https://far.example/{number}"),
        updated_at: at,
        created_at: at,
        author: Some("maria".to_owned()),
        kind: None,
        title: title.to_owned(),
        description,
        marker,
        state: State::Open,
        revision: None,
        priority: None,
        labels,
        links: Vec::new(),
        comments: 0,
        is_wanted: true,
    };
    far.issues.insert(number, FarIssue { issue, comments: Vec::new() });
    far.touch(number);
    far.issues[&number].issue.clone()
}
