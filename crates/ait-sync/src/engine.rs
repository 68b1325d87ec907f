//! A run of a sync: reads what changed at the remote, merges it, and sends what changed here.
//!
//! Each step may be the last one of a process. What is read from the remote is merged in one commit with the base of
//! the merge. What is sent is noted in a commit before, so that it is recognised when it comes back; comments and
//! issues that are filed have markers, which are looked for before they are sent again.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;

use ait_domain::{
    AgentName, Comment, DomainError, ImportedIssue, Issue, IssueId, IssueRef, Timestamp,
};
use ait_tracker::{StoreError, Tracker};

use crate::convert::{self, Converted};
use crate::link::{Base, Issues, Link};
use crate::links;
use crate::marker;
use crate::plan::{Plan, Rules};
use crate::remote::{Field, Listing, NewRemoteIssue, Remote, RemoteError, RemoteIssue, State};
use crate::report::{Report, SyncError};
use crate::settings::{Push, SyncSettings};
use crate::watermark::{LastRun, Watermark, WatermarkFile};

/// What a merge sends that only reads from the remote.
static NOTHING: BTreeSet<Push> = BTreeSet::new();
/// How often a step is tried again because the issue changed meanwhile, here or there.
const TRIES: usize = 8;
/// How far before the watermark changes are read again: what was written late, with an earlier time.
const OVERLAP_MS: i64 = 120_000;

/// Which directions a run has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Directions {
    pub pulls: bool,
    pub pushes: bool,
    /// Whether it only reads, here and there.
    pub is_dry: bool,
}

/// A run of a sync.
pub struct Run<'a> {
    tracker: &'a Tracker,
    remote: &'a dyn Remote,
    settings: &'a SyncSettings,
    /// What is sent; nothing in a run that only reads from the remote.
    push: BTreeSet<Push>,
    agent: AgentName,
    directions: Directions,
    progress: &'a (dyn Fn(&Report) + Send + Sync),
    report: Report,
}

impl<'a> Run<'a> {
    /// Prepares a run. `progress` is called after each issue.
    pub fn new(
        tracker: &'a Tracker,
        remote: &'a dyn Remote,
        settings: &'a SyncSettings,
        directions: Directions,
        progress: &'a (dyn Fn(&Report) + Send + Sync),
    ) -> Result<Self, DomainError> {
        let push = if directions.pushes { settings.push.clone() } else { BTreeSet::new() };
        let agent = AgentName::try_from(settings.name.as_str())?;
        let report = Report::default();
        Ok(Self { tracker, remote, settings, push, agent, directions, progress, report })
    }

    /// Runs the sync. Its watermark is in `directory`, and how it ended.
    pub async fn run(mut self, directory: &Path) -> Result<Report, SyncError> {
        let cannot = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::WouldBlock => SyncError::Running,
            _ => SyncError::File { directory: directory.to_owned(), reason: error.to_string() },
        };
        let file = WatermarkFile::open(directory, &self.settings.name).map_err(cannot)?;
        let mut ended = self.run_once(&file, &cannot).await;
        if !self.directions.is_dry {
            let run = LastRun::of(&ended, &self.report, self.tracker.now());
            ended = ended.and(file.note(&run).map_err(cannot));
        }
        ended.map(|()| self.report)
    }

    async fn run_once(
        &mut self,
        file: &WatermarkFile,
        cannot: &(impl Fn(std::io::Error) -> SyncError + Sync),
    ) -> Result<(), SyncError> {
        if self.directions.pulls {
            let watermark = self.pull(file.read()).await?;
            if !self.directions.is_dry {
                file.write(&watermark).map_err(cannot)?;
            }
            let Self { tracker, settings, agent, directions, report, .. } = self;
            links::merge(tracker, &settings.name, agent, directions.is_dry, report).await?;
        }
        if self.directions.pushes {
            self.push_all().await?;
        }
        self.find_conflicts().await
    }

    /// Names all issues with conflicts, also those of earlier runs.
    async fn find_conflicts(&mut self) -> Result<(), SyncError> {
        let issues: Issues = self.tracker.read_into().await?;
        let name = &self.settings.name;
        let is_in_conflict = |issue: &&Arc<Issue>| {
            Link::of(issue, name).is_some_and(|link| !link.conflicts.is_empty())
        };
        let found: BTreeSet<IssueId> =
            issues.0.iter().filter(is_in_conflict).map(|issue| issue.id).collect();
        if self.directions.is_dry {
            self.report.conflicts.extend(found);
        } else {
            self.report.conflicts = found;
        }
        Ok(())
    }

    /// Merges what changed at the remote, and returns how far it was read.
    async fn pull(&mut self, known: Watermark) -> Result<Watermark, SyncError> {
        let SyncSettings { url, project, pull, .. } = self.settings;
        let of = format!("{url} {project} {pull}");
        let known = if known.of == of { known } else { Watermark { of, ..Watermark::default() } };
        let mut before = Vec::new();
        for _ in 0..TRIES {
            let mut seen = Vec::new();
            let (read, pages) = self.pull_pages(&known, &mut seen).await?;
            // An edit moves an issue to the last page, and another one from a page that was not read yet to one that
            // was. So several pages are read again until nothing moved.
            if pages == 1 || seen == before || self.directions.is_dry {
                return Ok(read);
            }
            before = seen;
        }
        Ok(known)
    }

    /// Merges the pages of the changes since a watermark, and notes which issues they had. Returns how far they go, and
    /// how many there were.
    async fn pull_pages(
        &mut self,
        known: &Watermark,
        seen: &mut Vec<(String, Timestamp)>,
    ) -> Result<(Watermark, usize), SyncError> {
        let since = known.since.map(|since| {
            Timestamp::from_unix_millis(since.unix_millis().saturating_sub(OVERLAP_MS))
        });
        let mut listing = Listing { since, next: None, version: known.version.clone() };
        let mut read = Watermark { version: None, ..known.clone() };
        let mut pages = 0;
        loop {
            let page = self.remote.list(listing.clone()).await?;
            pages += 1;
            if page.is_unchanged {
                return Ok((known.clone(), pages));
            }
            let mut arrived = Vec::new();
            for theirs in &page.issues {
                read.since = read.since.max(Some(theirs.updated_at));
                seen.push((theirs.key.clone(), theirs.updated_at));
                match self.take(theirs).await {
                    Ok(new) => arrived.extend(new),
                    Err(error) => self.pass_over(&theirs.key, error)?,
                }
            }
            self.import(arrived).await?;
            (self.progress)(&self.report);
            if listing.next.is_none() && read.since == known.since {
                read.version = page.version;
            }
            let Some(next) = page.next else { return Ok((read, pages)) };
            // Of several pages the first one says nothing about the others.
            read.version = None;
            listing = Listing { next: Some(next), version: None, ..listing };
        }
    }

    /// Notes an error that concerns one issue alone; returns any other one.
    fn pass_over(&mut self, key: &str, error: SyncError) -> Result<(), SyncError> {
        match error {
            SyncError::Remote(error) if error.is_of_one_issue() => {
                self.report.problem(format!("{key}: {error}"));
                Ok(())
            }
            SyncError::Store(StoreError::Refused(refusal)) => {
                self.report.problem(format!("{key}: {refusal}"));
                Ok(())
            }
            error => Err(error),
        }
    }

    /// Merges an issue of the remote into the one here, or returns it if it is new and to come in.
    async fn take(&mut self, theirs: &RemoteIssue) -> Result<Option<ImportedIssue>, SyncError> {
        let Some(converted) = self.convert(theirs) else { return Ok(None) };
        for _ in 0..TRIES {
            let Some(ours) = self.linked(theirs, &converted).await? else {
                if !theirs.is_wanted {
                    return Ok(None);
                }
                return self.arrival(theirs, &converted).await.map(Some);
            };
            let name = &self.settings.name;
            let link = Link::of(&ours, name).unwrap_or_default();
            let is_other = !link.key.is_empty() && link.key != theirs.key;
            // A page may have been read before the change that was merged last.
            let is_old = link.updated_at.is_some_and(|at| at > theirs.updated_at);
            if is_other || is_old {
                return Ok(None);
            }
            let comments = self.new_comments(&ours, theirs, Some(&link)).await?;
            let plan = self.rules(&NOTHING).plan(&ours, &converted, link);
            if self.merge(&ours, &plan, theirs, &converted, comments).await? {
                return Ok(None);
            }
        }
        Err(SyncError::Busy)
    }

    fn convert(&mut self, theirs: &RemoteIssue) -> Option<Converted> {
        let classifications = self.tracker.classifications();
        match convert::converted(theirs, classifications, self.tracker.now()) {
            Ok(converted) => Some(converted),
            Err(reason) => {
                self.report.problem(format!("{}: {reason}", theirs.key));
                None
            }
        }
    }

    fn rules<'r>(&'r self, push: &'r BTreeSet<Push>) -> Rules<'r> {
        let agent = self.agent.as_str();
        Rules { kind: self.settings.kind, push, agent, now: self.tracker.now() }
    }

    /// Returns the issue here that belongs to one of the remote: the one that was being filed there, or the one that an
    /// import would have made.
    async fn linked(
        &self,
        theirs: &RemoteIssue,
        converted: &Converted,
    ) -> Result<Option<Arc<Issue>>, SyncError> {
        if let Some(id) = theirs.marker
            && let Some(ours) = self.find(id).await?
            // Other people can write markers, too, so one counts only for an issue that this sync files.
            && let Some(link) = Link::of(&ours, &self.settings.name)
            && (link.key.is_empty() || link.key == theirs.key)
        {
            return Ok(Some(ours));
        }
        self.find(converted.issue.id).await
    }

    async fn find(&self, id: IssueId) -> Result<Option<Arc<Issue>>, SyncError> {
        match self.tracker.get_issue(IssueRef::from(id)).await {
            Ok(issue) => Ok(Some(issue)),
            Err(StoreError::Refused(DomainError::UnknownIssue { .. })) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Prepares an issue of the remote for the queue, tied.
    async fn arrival(
        &self,
        theirs: &RemoteIssue,
        converted: &Converted,
    ) -> Result<ImportedIssue, SyncError> {
        let mut issue = converted.issue.clone();
        issue.comments = self.new_comments(&issue, theirs, None).await?;
        let mut link = self.rules(&NOTHING).plan(&issue, converted, Link::default()).link;
        link.note(theirs);
        link.set(&mut issue, &self.settings.name);
        Ok(ImportedIssue::try_from(issue).map_err(StoreError::Refused)?)
    }

    /// Adds the issues of a page that are new here: in one commit, unless one of them is refused.
    async fn import(&mut self, arrived: Vec<ImportedIssue>) -> Result<(), SyncError> {
        let all = self.import_together(arrived.clone()).await;
        let Err(StoreError::Refused(_)) = all else { return Ok(all?) };
        for issue in arrived {
            let id = issue.issue().id;
            match self.import_together(vec![issue]).await {
                // It came in by another way meanwhile, and is merged by the next run.
                Err(StoreError::Refused(DomainError::IdTaken { .. })) => {}
                Err(error) => self.pass_over(&id.short(), error.into())?,
                Ok(()) => {}
            }
        }
        Ok(())
    }

    async fn import_together(&mut self, issues: Vec<ImportedIssue>) -> Result<(), StoreError> {
        let count = issues.len();
        let comments: usize = issues.iter().map(|issue| issue.issue().comments.len()).sum();
        if !self.directions.is_dry && count > 0 {
            self.tracker.import_issues(issues, &self.agent).await?;
        }
        self.report.imported += count;
        self.report.comments_here += comments;
        Ok(())
    }

    /// Reads the comments of an issue that are new here.
    async fn new_comments(
        &self,
        ours: &Issue,
        theirs: &RemoteIssue,
        link: Option<&Link>,
    ) -> Result<Vec<Comment>, SyncError> {
        // Times may have whole seconds, so that a comment need not change them.
        let is_known = link.is_some_and(|link| {
            link.updated_at == Some(theirs.updated_at) && link.comments == theirs.comments
        });
        if is_known || theirs.comments == 0 {
            return Ok(Vec::new());
        }
        let comments = self.remote.comments(&theirs.key).await?;
        Ok(convert::new_comments(ours, &comments, &self.settings.name))
    }

    /// Commits what a plan changes here. Returns false if the issue changed meanwhile.
    async fn merge(
        &mut self,
        ours: &Issue,
        plan: &Plan,
        theirs: &RemoteIssue,
        converted: &Converted,
        comments: Vec<Comment>,
    ) -> Result<bool, SyncError> {
        let mut after = plan.issue.clone();
        let mut link = plan.link.clone();
        link.note(theirs);
        for (key, value) in converted.issue.unknown_keys.iter() {
            if after.unknown_keys.get(key).is_none() {
                after.unknown_keys.insert(key.to_owned(), value.to_owned());
            }
        }
        let is_changed = after.history.len() > ours.history.len();
        let added = comments.len();
        if added > 0 {
            after.comments.extend(comments);
            after.comments.sort_by_key(|comment| comment.timestamp);
            after.modified_at = self.tracker.now().max(after.modified_at);
        }
        link.set(&mut after, &self.settings.name);
        if !link.conflicts.is_empty() {
            self.report.conflicts.insert(ours.id);
        }
        let is_made = self.replace(ours, after).await?;
        if is_made {
            self.report.changed_here += usize::from(is_changed);
            self.report.comments_here += added;
        }
        Ok(is_made)
    }

    /// Replaces an issue unless it changed since it was read. Returns false if it did.
    async fn replace(&self, ours: &Issue, after: Issue) -> Result<bool, SyncError> {
        if self.directions.is_dry || after == *ours {
            return Ok(true);
        }
        match self.tracker.replace_issue(ours, after, &self.agent).await {
            Err(StoreError::Refused(DomainError::VersionChanged { .. })) => Ok(false),
            done => Ok(done.map(|()| true)?),
        }
    }

    /// Sends what changed here.
    async fn push_all(&mut self) -> Result<(), SyncError> {
        let issues: Issues = self.tracker.read_into().await?;
        let name = &self.settings.name;
        let mut new = Vec::new();
        let mut changed = Vec::new();
        for issue in issues.0 {
            match *self.rules(&self.push).waiting(&issue) {
                [] => {}
                [Push::New] => new.push(issue),
                _ => changed.extend(Link::of(&issue, name).map(|link| (issue.id, link.key))),
            }
        }
        self.file_all(&new, &mut changed).await?;
        for (id, key) in changed {
            if let Err(error) = self.send(id, &key).await {
                self.pass_over(&key, error)?;
            }
            (self.progress)(&self.report);
        }
        Ok(())
    }

    /// Sends what changed in an issue: its fields, then its comments.
    async fn send(&mut self, id: IssueId, key: &str) -> Result<(), SyncError> {
        for _ in 0..TRIES {
            let theirs = self.remote.read(key).await?;
            let Some(converted) = self.convert(&theirs) else { return Ok(()) };
            let Some(ours) = self.find(id).await? else { return Ok(()) };
            let Some(link) = Link::of(&ours, &self.settings.name) else { return Ok(()) };
            let plan = self.rules(&self.push).plan(&ours, &converted, link.clone());
            let comments = self.new_comments(&ours, &theirs, Some(&link)).await?;
            if !self.merge(&ours, &plan, &theirs, &converted, comments).await? {
                continue;
            }
            if plan.sends() && !self.change(id, &theirs, plan).await? {
                continue;
            }
            return self.send_comments(id, &theirs.key).await;
        }
        Err(SyncError::Busy)
    }

    /// Makes the change of a plan there. Returns false if the issue changed there meanwhile.
    async fn change(
        &mut self,
        id: IssueId,
        seen: &RemoteIssue,
        mut plan: Plan,
    ) -> Result<bool, SyncError> {
        self.report.changed_there += 1;
        if self.directions.is_dry {
            return Ok(true);
        }
        if let (Some(description), Some(issue)) = (&mut plan.change.description, seen.marker) {
            *description = marker::marked(description, issue);
        }
        let theirs = match self.remote.change(seen, &plan.change).await {
            Err(RemoteError::Changed(_)) => {
                self.report.changed_there -= 1;
                return Ok(false);
            }
            theirs => theirs?,
        };
        let Some(converted) = self.convert(&theirs) else { return Ok(true) };
        for _ in 0..TRIES {
            let Some(ours) = self.find(id).await? else { return Ok(true) };
            let mut link = Link::of(&ours, &self.settings.name).unwrap_or_default();
            plan.settle(&mut link, &converted, &self.rules(&self.push));
            let merged = self.rules(&NOTHING).plan(&ours, &converted, link);
            // Comments and links that came meanwhile are read by the next pull.
            let RemoteIssue { updated_at, comments, ref links, .. } = *seen;
            let links = links.clone();
            let at = RemoteIssue { updated_at, comments, links, ..theirs.clone() };
            if self.merge(&ours, &merged, &at, &converted, Vec::new()).await? {
                return Ok(true);
            }
        }
        Err(SyncError::Busy)
    }

    /// Sends the comments of an issue that are not there yet.
    async fn send_comments(&mut self, id: IssueId, key: &str) -> Result<(), SyncError> {
        let name = self.settings.name.clone();
        let Some(ours) = self.find(id).await? else { return Ok(()) };
        let link = Link::of(&ours, &name).unwrap_or_default();
        let unsent = self.rules(&self.push).unsent(&ours, &link);
        if unsent.is_empty() {
            return Ok(());
        }
        if self.directions.is_dry {
            self.report.comments_there += unsent.len();
            return Ok(());
        }
        let there = self.remote.comments(key).await?;
        let there: HashSet<&str> =
            there.iter().filter_map(|comment| marker::mark_of(&comment.text)).collect();
        let mut sent = Vec::new();
        for (comment, mark) in unsent {
            if !there.contains(mark.as_str()) {
                self.remote.comment(key, &marker::sent_comment(comment, &mark)).await?;
                self.report.comments_there += 1;
            }
            sent.push(mark);
        }
        self.change_link(id, |link| link.sent_comments.extend(sent.iter().cloned())).await
    }

    /// Changes the tie of an issue.
    async fn change_link(&self, id: IssueId, change: impl Fn(&mut Link)) -> Result<(), SyncError> {
        for _ in 0..TRIES {
            let Some(ours) = self.find(id).await? else { return Ok(()) };
            let mut link = Link::of(&ours, &self.settings.name).unwrap_or_default();
            change(&mut link);
            let mut after = Issue::clone(&ours);
            link.set(&mut after, &self.settings.name);
            if self.replace(&ours, after).await? {
                return Ok(());
            }
        }
        Err(SyncError::Busy)
    }

    /// Files issues there. Those that an earlier run was to file are looked for first.
    async fn file_all(
        &mut self,
        issues: &[Arc<Issue>],
        filed: &mut Vec<(IssueId, String)>,
    ) -> Result<(), SyncError> {
        let is_begun = |issue: &&Arc<Issue>| Link::of(issue, &self.settings.name).is_some();
        let begun: Vec<&Arc<Issue>> = issues.iter().filter(is_begun).collect();
        let mut found = Vec::new();
        if let Some(since) = begun.iter().map(|issue| issue.created_at).min() {
            found = self.find_filed(since, &begun).await?;
        }
        for issue in issues {
            let there = found.iter().find(|theirs| theirs.marker == Some(issue.id));
            let result = match there {
                Some(theirs) => self.take(theirs).await.map(|_| Some(theirs.key.clone())),
                None => self.file(issue.id).await,
            };
            match result {
                Ok(Some(key)) => filed.push((issue.id, key)),
                Ok(None) => {}
                Err(error) => self.pass_over(&issue.id.short(), error)?,
            }
            (self.progress)(&self.report);
        }
        Ok(())
    }

    /// Returns the issues there that have the marker of one of some issues.
    async fn find_filed(
        &self,
        since: Timestamp,
        issues: &[&Arc<Issue>],
    ) -> Result<Vec<RemoteIssue>, SyncError> {
        /// How much the clocks of the two sides may differ.
        const SKEW_MS: i64 = 24 * 60 * 60 * 1000;
        let since = Timestamp::from_unix_millis(since.unix_millis().saturating_sub(SKEW_MS));
        let mut listing = Listing { since: Some(since), ..Listing::default() };
        let mut found = Vec::new();
        loop {
            let page = self.remote.list(listing.clone()).await?;
            found.extend(
                page.issues
                    .into_iter()
                    .filter(|theirs| issues.iter().any(|issue| theirs.marker == Some(issue.id))),
            );
            let Some(next) = page.next else { return Ok(found) };
            listing.next = Some(next);
        }
    }

    /// Files an issue there, and returns its key.
    async fn file(&mut self, id: IssueId) -> Result<Option<String>, SyncError> {
        self.report.filed_there += 1;
        if self.directions.is_dry {
            return Ok(None);
        }
        // If the answer gets lost, the next run finds the issue by its marker, and what was sent in the tie.
        let Some(filed) = self.begin_filing(id).await? else { return Ok(None) };
        let new = NewRemoteIssue {
            title: filed.title.clone(),
            description: marker::marked(&filed.description, id),
            priority: filed.attributes.priority,
            labels: filed.attributes.labels.clone(),
        };
        let theirs = self.remote.create(&new).await?;
        let Some(converted) = self.convert(&theirs) else { return Ok(None) };
        for _ in 0..TRIES {
            let Some(ours) = self.find(id).await? else { return Ok(None) };
            let rules = self.rules(&NOTHING);
            let mut link = Link::of(&ours, &self.settings.name).unwrap_or_default();
            for (field, base) in &mut link.base {
                *base = base.answered(&rules.their_value(&converted, *field));
            }
            link.remote_labels.clone_from(&converted.issue.attributes.labels);
            let plan = rules.plan(&ours, &converted, link);
            if self.merge(&ours, &plan, &theirs, &converted, Vec::new()).await? {
                return Ok(Some(theirs.key));
            }
        }
        Err(SyncError::Busy)
    }

    /// Notes that an issue is being filed there, with what is sent. Returns it as it was then.
    async fn begin_filing(&self, id: IssueId) -> Result<Option<Arc<Issue>>, SyncError> {
        for _ in 0..TRIES {
            let Some(ours) = self.find(id).await? else { return Ok(None) };
            let rules = self.rules(&self.push);
            let mut link = Link::default();
            for field in self.settings.kind.fields().iter().filter(|field| **field != Field::Labels)
            {
                let sent = match field {
                    Field::Status => self.settings.kind.nearest(State::Open).to_string(),
                    field => rules.value(&ours, *field),
                };
                link.base.insert(*field, Base::of(&sent, &sent));
            }
            link.labels.clone_from(&ours.attributes.labels);
            link.remote_labels.clone_from(&ours.attributes.labels);
            let mut after = Issue::clone(&ours);
            link.set(&mut after, &self.settings.name);
            if self.replace(&ours, after).await? {
                return Ok(Some(ours));
            }
        }
        Err(SyncError::Busy)
    }
}
