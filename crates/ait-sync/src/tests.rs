//! Random schedules of edits on both sides, with faults of the remote, runs that end at any call or commit, and clocks
//! that differ. The remote has the fields and states of each kind in turn.
//!
//! `AIT_TEST_FACTOR` makes more of them: 50 plays 10,000. The controls break what makes a run safe, and must be
//! noticed.

mod far;

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use ait_domain::{
    AgentName, ClaimProof, CommentText, Description, Facts, FieldValue, Issue, IssueChange,
    IssueId, Label, Query, Resolution, Status, StatusSet, Timestamp, Title, ValueField,
};
use ait_store::testing::TestStore;
use ait_tracker::{NewIssue, Tracker};
use fastrand::Rng;
use futures::FutureExt;

use self::far::{Far, FarAway, add, number};
use crate::conflicts::{Side, resolve};
use crate::engine::{Directions, Run};
use crate::link::{KEY, Link};
use crate::plan::own_value;
use crate::remote::{Field, RemoteComment, RemoteIssue, State};
use crate::settings::{Kind, Push, SyncSettings};
use crate::watermark::{Watermark, WatermarkFile};

const SYNC: &str = "far";
const CLEAN: &str = "a run without faults ends";

/// What is broken on purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Broken {
    Nothing,
    /// The remote drops markers.
    Markers,
    /// The base is forgotten after each run.
    Base,
    /// The watermark is moved on before a run succeeded.
    Watermark,
}

/// Both sides, and what was written on them.
struct World {
    tracker: Tracker,
    far: FarAway,
    settings: SyncSettings,
    directory: tempfile::TempDir,
    rng: Rng,
    broken: Broken,
    written: usize,
    /// The texts of all comments.
    comments: BTreeSet<String>,
    /// The last values since the last complete run, here and there, by the title with which the issue began.
    edits: BTreeMap<(IssueId, Field), [Option<String>; 2]>,
}

fn agent() -> AgentName {
    AgentName::try_from("dev").unwrap()
}

impl World {
    fn new(seed: u64, broken: Broken) -> Self {
        let mut rng = Rng::with_seed(seed);
        let kind = Kind::ALL[rng.usize(0..Kind::ALL.len())];
        // Ten minutes slow, or fast.
        let now_ms = ait_tracker_now() + if rng.bool() { 600_000 } else { -600_000 };
        let far = Far::new(kind, now_ms, Rng::with_seed(seed + 1));
        let far = Far { drops_markers: broken == Broken::Markers, ..far };
        let push = Push::ALL.iter().copied().filter(|push| *push != Push::Assignee).collect();
        let store = TestStore::default();
        store.pause_at_commits();
        let settings = SyncSettings {
            name: SYNC.to_owned(),
            kind,
            project: "p".to_owned(),
            url: "https://far.example".to_owned(),
            pull: String::new(),
            push,
            token_file: None,
            has_key_in_url: false,
            every: None,
        };
        Self {
            tracker: Tracker::new(Arc::new(store)),
            far: FarAway(Mutex::new(far)),
            settings,
            directory: tempfile::tempdir().unwrap(),
            rng,
            broken,
            written: 0,
            comments: BTreeSet::new(),
            edits: BTreeMap::new(),
        }
    }

    fn value(&mut self) -> String {
        self.written += 1;
        format!("v{}.{}", self.written, "x".repeat(self.written % 3))
    }

    async fn issues(&self) -> Vec<Arc<Issue>> {
        let query = Query { statuses: StatusSet::EVERYTHING, take: 1000, ..Query::default() };
        self.tracker.list_issues(query).await.unwrap().issues
    }

    async fn edit_here(&mut self) {
        let issues = self.issues().await;
        let value = self.value();
        if issues.is_empty() || self.rng.u8(0..8) == 0 {
            let title = Title::try_from(format!("near {value}").as_str()).unwrap();
            let kind = self.tracker.classifications().usual();
            let new = NewIssue::new(title, Description::try_from("here").unwrap(), kind);
            self.tracker.add_issue(new, agent()).await.unwrap();
            return;
        }
        let issue = &issues[self.rng.usize(0..issues.len())];
        let change = |change| self.tracker.change_issue(issue.id.into(), change, agent());
        let text = |text: &str| CommentText::try_from(text).unwrap();
        let kind = self.settings.kind;
        let edited = match self.rng.u8(0..7) {
            0 if issue.status.is_open() => {
                let title = format!("near title {value}");
                let new = Some(Title::try_from(title.as_str()).unwrap());
                change(IssueChange { title: new, ..IssueChange::default() }).await.unwrap();
                Some((Field::Title, title))
            }
            1 if issue.status.is_open() => {
                let text = format!("A longer text that was written here by an agent: {value}");
                let new = Some(Description::try_from(text.as_str()).unwrap());
                change(IssueChange { description: new, ..IssueChange::default() }).await.unwrap();
                Some((Field::Description, text))
            }
            2 if issue.status.has_ended() => {
                let reason = text(&format!("again {value}!"));
                self.comments.insert(reason.as_str().to_owned());
                self.tracker.reopen_issue(issue.id.into(), reason, agent()).await.unwrap();
                Some((Field::Status, "open".to_owned()))
            }
            2 => {
                let reason = text(&format!("end {value}!"));
                let end = [Resolution::Closed, Resolution::Rejected][self.rng.usize(0..2)];
                let said = reason.as_str().to_owned();
                let id = issue.id.into();
                let closed =
                    self.tracker.close_issue(id, end, reason, agent(), Default::default()).await;
                // It may have parts that are open.
                closed.is_ok().then(|| self.comments.insert(said));
                closed.ok().map(|_| (Field::Status, end.to_string()))
            }
            3 => {
                let label: Label = format!("near-{value}").parse().unwrap();
                let labels_add = vec![label];
                if issue.attributes.labels.len() < 8 {
                    change(IssueChange { labels_add, ..IssueChange::default() }).await.unwrap();
                }
                None
            }
            4 if issue.status == Status::Created => {
                // It may wait for another one.
                let claimed = self.tracker.claim_issue(issue.id.into(), agent()).await;
                claimed.is_ok().then(|| (Field::Status, kind.nearest(State::Active).to_string()))
            }
            4 if issue.status == Status::InProgress => {
                let done = text(&format!("done {value}!"));
                let said = done.as_str().to_owned();
                let id = issue.id.into();
                let proof = ClaimProof::default();
                let completed =
                    self.tracker.complete_issue(id, done, agent(), proof, Facts::default()).await;
                completed.unwrap();
                self.comments.insert(said);
                Some((Field::Status, kind.nearest(State::Resolved).to_string()))
            }
            5 if issue.status.is_open() => {
                let priority = self.written % 5;
                let priority = FieldValue::parse(ValueField::Priority, &priority.to_string());
                let values = vec![priority.unwrap()];
                let value = values[0].to_string();
                // It may have that priority.
                let changed = change(IssueChange { values, ..IssueChange::default() }).await;
                let is_there = kind.fields().contains(&Field::Priority);
                (changed.is_ok() && is_there).then_some((Field::Priority, value))
            }
            _ => {
                let said = format!("said here {value}!");
                self.comments.insert(said.clone());
                let text = text(&said);
                self.tracker.comment_issue(issue.id.into(), text, agent()).await.unwrap();
                None
            }
        };
        if let Some((field, value)) = edited {
            self.edits.entry((issue.id, field)).or_default()[0] = Some(value);
        }
    }

    async fn edit_there(&mut self) {
        let value = self.value();
        let mut far = self.far.far();
        if far.issues.is_empty() || self.rng.u8(0..8) == 0 {
            add(
                &mut far,
                &format!("far {value}"),
                "there".to_owned(),
                None,
                vec!["Good First".into()],
            );
            return;
        }
        let number = self.rng.u64(1..=far.issues.len() as u64);
        if self.rng.bool() {
            let text = format!("said there {value}!");
            let created_at = Timestamp::from_unix_millis(far.now_ms);
            let id = format!("c{}", far.changes);
            self.comments.insert(text.clone());
            let comment = RemoteComment { id, author: "maria".to_owned(), created_at, text };
            far.issues.get_mut(&number).unwrap().comments.push(comment);
            far.touch(number);
            return;
        }
        let (field, value) = far.edit(number, &value);
        far.edits.push((number, field, value));
    }

    /// Runs the sync. It ends after `polls` steps, as a process that is killed; `None` lets it end by itself.
    async fn run(&mut self, polls: Option<usize>) -> Option<crate::Report> {
        if self.broken == Broken::Watermark {
            let file = WatermarkFile::open(self.directory.path(), SYNC).unwrap();
            let read = file.read();
            let SyncSettings { url, project, pull, .. } = &self.settings;
            let of = format!("{url} {project} {pull}");
            let since = Some(Timestamp::from_unix_millis(self.far.far().now_ms + 121_000));
            if read.of == of {
                file.write(&Watermark { of, since, version: None }).unwrap();
            }
        }
        let directions = Directions { pulls: true, pushes: true, is_dry: false };
        let run = Run::new(&self.tracker, &self.far, &self.settings, directions, &|_| ()).unwrap();
        let mut run = pin!(run.run(self.directory.path()));
        let mut left = polls;
        let ended = std::future::poll_fn(|context| {
            if let Some(left) = &mut left {
                if *left == 0 {
                    return Poll::Ready(None);
                }
                *left -= 1;
            }
            run.as_mut().poll(context).map(Some)
        });
        let ended = ended.await;
        if self.broken == Broken::Base {
            for issue in self.issues().await {
                let Some(mut link) = Link::of(&issue, SYNC) else { continue };
                link.base.clear();
                let mut after = Issue::clone(&issue);
                link.set(&mut after, SYNC);
                self.tracker.replace_issue(&issue, after, &agent()).await.unwrap();
            }
        }
        match ended {
            None => None,
            Some(Ok(report)) => Some(report),
            Some(Err(error)) => {
                assert!(polls.is_some() || self.far.far().fault > 0.0, "{CLEAN}: {error}");
                None
            }
        }
    }

    /// Runs the sync until both sides should agree, and returns what is wrong.
    async fn check(&mut self) -> Result<(), String> {
        {
            let mut far = self.far.far();
            far.fault = 0.0;
            far.edit_between = 0.0;
        }
        self.run(None).await.ok_or("no report")?;
        self.take_far_edits().await;
        self.check_edits().await?;
        self.edits.clear();
        for issue in self.issues().await {
            let conflicted = Link::of(&issue, SYNC).is_some_and(|link| !link.conflicts.is_empty());
            if conflicted {
                let side = if self.rng.bool() { Side::Here } else { Side::There };
                resolve(&self.tracker, &issue, side, &agent()).await.unwrap();
            }
        }
        self.run(None).await.ok_or("no report")?;
        self.run(None).await.ok_or("no report")?;
        let calls = self.far.far().calls;
        let report = self.run(None).await.ok_or("no report")?;
        if self.far.far().calls != calls || report != crate::Report::default() {
            return Err(format!("a run with nothing to do did something: {report:?}"));
        }
        self.agree().await
    }

    /// Notes what was edited at the remote by the ids here.
    async fn take_far_edits(&mut self) {
        let issues = self.issues().await;
        let edits = std::mem::take(&mut self.far.far().edits);
        for (number, field, value) in
            edits.into_iter().filter(|(_, field, _)| *field != Field::Labels)
        {
            let is_it = |issue: &&Arc<Issue>| {
                Link::of(issue, SYNC).is_some_and(|link| link.key == number.to_string())
            };
            match issues.iter().find(is_it) {
                Some(issue) => {
                    self.edits.entry((issue.id, field)).or_default()[1] = Some(value);
                }
                // The answer to its filing was lost.
                None => self.far.far().edits.push((number, field, value)),
            }
        }
    }

    /// Returns the fields that have one value.
    fn fields(&self) -> Vec<Field> {
        let fields = self.settings.kind.fields().iter().copied();
        fields.filter(|field| *field != Field::Labels).collect()
    }

    fn here(&self, issue: &Issue, field: Field) -> String {
        match field {
            Field::Status => self.settings.kind.nearest(State::of(issue.status)).to_string(),
            field => own_value(issue, field),
        }
    }

    fn there(&self, issue: &RemoteIssue, field: Field) -> String {
        match field {
            Field::Title => issue.title.clone(),
            Field::Description => issue.description.clone(),
            Field::Status => issue.state.to_string(),
            Field::Priority => {
                issue.priority.map_or_else(String::new, |priority| priority.get().to_string())
            }
            Field::Labels => String::new(),
        }
    }

    /// What only one side edited is on both sides.
    async fn check_edits(&self) -> Result<(), String> {
        let far = self.far.far().issues.clone();
        for issue in self.issues().await {
            let Some(link) = Link::of(&issue, SYNC) else { continue };
            let there = &far[&number(&link.key)].issue;
            for field in self.fields() {
                let here = self.here(&issue, field);
                let there = self.there(there, field);
                let same = |one: &str, other: &str| is_same(field, one, other);
                let is_right = match self.edits.get(&(issue.id, field)) {
                    Some([Some(edited), None] | [None, Some(edited)]) => {
                        same(&here, edited) && same(&there, edited)
                    }
                    Some([Some(ours), Some(theirs)]) => {
                        same(&here, &there) && (same(&here, ours) || same(&here, theirs))
                            || link.conflicts.contains_key(&field)
                                && same(&here, ours)
                                && there == *theirs
                    }
                    _ => same(&here, &there),
                };
                if !is_right {
                    let edits = self.edits.get(&(issue.id, field));
                    return Err(format!(
                        "{field} is {here:?} here and {there:?} there, after {edits:?}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Both sides have the same, and everything once.
    async fn agree(&self) -> Result<(), String> {
        let issues = self.issues().await;
        let far = self.far.far();
        let mut keys = BTreeSet::new();
        for issue in &issues {
            let Some(link) = Link::of(issue, SYNC) else {
                if issue.status.has_ended() {
                    continue;
                }
                return Err(format!("{} was not filed there", issue.title));
            };
            if !keys.insert(link.key.clone()) {
                return Err(format!("{} is here twice", link.key));
            }
            let there = far.issues.get(&number(&link.key)).ok_or("an issue vanished")?;
            let labels: BTreeSet<_> = there.issue.labels.iter().cloned().collect();
            let labels: BTreeSet<_> = labels
                .iter()
                .filter_map(|name| ait_interchange::attributes::label_of(name))
                .collect();
            let here: BTreeSet<_> = issue.attributes.labels.iter().cloned().collect();
            let differs =
                |field| !is_same(field, &self.here(issue, field), &self.there(&there.issue, field));
            let has_labels = self.settings.kind.fields().contains(&Field::Labels);
            if self.fields().into_iter().any(differs) || has_labels && here != labels {
                return Err(format!("the sides differ: {issue:?} and {:?}", there.issue));
            }
            let links: BTreeSet<_> =
                there.issue.links.iter().map(|link| (link.kind, link.to.clone())).collect();
            let linked = issue.attributes.links.iter().map(|link| {
                let other = issues.iter().find(|other| other.id == link.to)?;
                Some((link.kind, Link::of(other, SYNC)?.key))
            });
            if linked.collect::<Option<BTreeSet<_>>>() != Some(links) {
                return Err(format!("the links differ: {issue:?} and {:?}", there.issue));
            }
            if there.comments.len() != issue.comments.len() {
                return Err(format!(
                    "{} has {:?} and {:?}",
                    link.key, issue.comments, there.comments
                ));
            }
        }
        if keys.len() != far.issues.len() {
            return Err(format!("{} issues here, and {} there", keys.len(), far.issues.len()));
        }
        let here = issues.iter().flat_map(|issue| &issue.comments).map(|comment| &comment.text);
        let there = far.issues.values().flat_map(|far| &far.comments).map(|comment| &comment.text);
        for text in &self.comments {
            let is_unfiled = issues.iter().any(|issue| {
                issue.unknown_keys.get(KEY).is_none()
                    && issue.comments.iter().any(|comment| comment.text == *text)
            });
            let counts = [
                here.clone().filter(|one| *one == text).count(),
                there.clone().filter(|one| one.contains(text.as_str())).count(),
            ];
            if !is_unfiled && counts != [1, 1] {
                return Err(format!(
                    "{text:?} is {} times here, and {} times there",
                    counts[0], counts[1]
                ));
            }
        }
        Ok(())
    }
}

/// Returns true if both sides agree on a value. Work that is in progress there begins here with a claim.
fn is_same(field: Field, here: &str, there: &str) -> bool {
    let is_unfinished =
        |state: &str| [State::Open, State::Active].map(State::as_str).contains(&state);
    here == there || field == Field::Status && is_unfinished(here) && is_unfinished(there)
}

fn ait_tracker_now() -> i64 {
    Tracker::new(Arc::new(TestStore::default())).now().unix_millis()
}

/// Plays one schedule, and returns what is wrong.
async fn play(seed: u64, broken: Broken) -> Result<(), String> {
    let mut world = World::new(seed, broken);
    for _ in 0..3 {
        {
            let mut far = world.far.far();
            far.fault = [0.0, 0.05, 0.2][world.rng.usize(0..3)];
            far.edit_between = [0.0, 0.3][world.rng.usize(0..2)];
        }
        for _ in 0..world.rng.usize(4..24) {
            match world.rng.u8(0..5) {
                0 | 1 => world.edit_here().await,
                2 | 3 => world.edit_there().await,
                _ => {
                    let polls = world.rng.bool().then(|| world.rng.usize(0..60));
                    let _ = world.run(polls).await;
                    world.take_far_edits().await;
                }
            }
        }
        world.check().await?;
    }
    Ok(())
}

fn schedules() -> u64 {
    let factor = std::env::var("AIT_TEST_FACTOR").ok().and_then(|factor| factor.parse().ok());
    200 * factor.unwrap_or(1)
}

#[tokio::test]
async fn both_sides_agree_after_any_schedule() {
    for seed in 0..schedules() {
        let played = std::panic::AssertUnwindSafe(play(seed, Broken::Nothing)).catch_unwind().await;
        match played {
            Ok(Ok(())) => {}
            Ok(Err(wrong)) => panic!("seed {seed}: {wrong}"),
            Err(_) => panic!("seed {seed}"),
        }
    }
}

#[tokio::test]
async fn each_broken_safeguard_is_noticed() {
    for broken in [Broken::Markers, Broken::Base, Broken::Watermark] {
        let mut is_noticed = false;
        for seed in 0..schedules() {
            is_noticed = play(seed, broken).await.is_err();
            if is_noticed {
                break;
            }
        }
        assert!(is_noticed, "{broken:?}");
    }
}
