//! What `ait import` does with the entries of a file: the plan, the notes on it, and the commits.

use std::collections::hash_map::Entry as Slot;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};

use super::import_links;
use super::import_report::{ImportOutcome, Place, Report, Row};
use super::import_update::{self, Update};
use super::progress::Progress;
use super::sanitize;
use ait_domain::{
    AgentName, Classification, Condition, DomainError, Issue, IssueId, Query, Status, ValueField,
};
use ait_interchange::difference::differences;
use ait_interchange::fields::{self, Field};
use ait_interchange::{Blamed, Content, FileEntry, ImportDraft};
use ait_tracker::hints;
use ait_tracker::{IndexedIssues, StoreError, Tracker};

/// How many issues one commit imports at most.
const MAX_BATCH: usize = 250;
/// How many bytes of issues one commit imports, to bound memory and the time that others wait; one issue at least.
const MAX_BATCH_BYTES: usize = 4 * 1024 * 1024;
/// How many columns, values or links a note names.
const MAX_NOTED: usize = 10;
/// How long the store may be busy before the command logs it.
const BUSY_PATIENCE: Duration = Duration::from_secs(5);

/// The plan for the entries of a file.
pub(super) struct Import {
    pub report: Report,
    /// The issues to import, each with its index in the report.
    new: Vec<(usize, ImportDraft)>,
    /// The stored issues that differ.
    different: Vec<Update>,
}

impl Import {
    /// Compares the entries with the store, and with each other.
    pub fn of(mut entries: Vec<FileEntry>, kept: &IndexedIssues) -> Self {
        skip_older(&mut entries);
        import_links::resolve_links(&mut entries, kept);
        let mut first: HashMap<IssueId, (Place, Arc<Issue>)> = HashMap::new();
        let mut import = Self { report: Report::default(), new: Vec::new(), different: Vec::new() };
        for entry in entries {
            let place = Place { line: entry.line, item: entry.item };
            let (id, title, outcome) = match entry.content {
                Content::Skipped { id, title, reason } => {
                    (id, title, ImportOutcome::Skipped { reason })
                }
                Content::Refused { id, title, mut reason, blamed } => {
                    if let Some(blamed) = blamed {
                        reason = with_column_hint(&reason, &blamed);
                    }
                    (id, title, ImportOutcome::Refused { reason })
                }
                Content::Issue(draft) => {
                    import.add(place, draft, &mut first, kept);
                    continue;
                }
            };
            import.report.push(Row::of(place, id, title, outcome));
        }
        import.new.sort_by_key(|(_, draft)| draft.queue_key());
        import
    }

    fn add(
        &mut self,
        place: Place,
        mut draft: ImportDraft,
        first: &mut HashMap<IssueId, (Place, Arc<Issue>)>,
        kept: &IndexedIssues,
    ) {
        let issue = Arc::clone(draft.issue.issue());
        let stored = kept.get(issue.id);
        let outcome = match first.entry(issue.id) {
            Slot::Occupied(earlier) => {
                let (place, earlier) = earlier.get();
                match differences(earlier, &draft)[..] {
                    [] => ImportOutcome::Same,
                    _ => ImportOutcome::Refused { reason: same_id(*place, draft.lacks_id) },
                }
            }
            Slot::Vacant(slot) => {
                slot.insert((place, Arc::clone(&issue)));
                stored.as_ref().map_or(ImportOutcome::New, |kept| compared(kept, &draft))
            }
        };
        let id = issue.id.to_string();
        let title = issue.title.clone();
        let is_dated = !draft.unstated.contains(&"createdAt");
        let is_new = outcome == ImportOutcome::New;
        let is_different = matches!(outcome, ImportOutcome::Different { .. });
        let mut row = Row::of(place, Some(id), Some(title), outcome);
        row.created_at = is_dated.then_some(issue.created_at);
        let place = self.report.push(row);
        if is_new {
            self.report.remark(place, std::mem::take(&mut draft.remarks));
            self.new.push((place, draft));
        } else if let Some(ours) = stored.filter(|_| is_different) {
            self.different.push(Update { place, ours, draft });
        }
    }

    /// Returns what there is to tell about the import besides its report.
    pub async fn notes(&self, tracker: &Tracker) -> Result<Vec<String>> {
        let links: Vec<String> = self.report.dropped_links().collect();
        let links = listed(links.iter().map(String::as_str), "; ");
        let links = links.map(|links| format!("links that were not made: {links}"));
        let guesses = listed(self.report.guesses.keys().map(String::as_str), "; ");
        let guesses = guesses.map(|guesses| {
            format!(
                "guessed: {guesses}; --map-value COLUMN:VALUE=WORD says what else a value means"
            )
        });
        let columns = self.column_notes().into_iter();
        let notes = self.id_note().into_iter().chain(columns).chain(links).chain(guesses);
        Ok(notes.chain(self.assignee_notes(tracker).await?).collect())
    }

    /// Returns what would identify issues that are imported now and that only their texts identify.
    fn id_note(&self) -> Option<String> {
        let lacking: Vec<_> = self.new.iter().filter_map(|(_, draft)| draft.lacks_id).collect();
        let missing = lacking.first()?;
        let what = match *missing {
            "id" => "a column or key id (or number and url)".to_owned(),
            field => format!("the column or key {field}"),
        };
        let (count, them) = match lacking.len() {
            1 => ("1 new issue has".to_owned(), "it"),
            count => (format!("{count} new issues have"), "them"),
        };
        Some(format!(
            "{count} no id: if title or description changes, the next import adds {them} again; to avoid that, \
             include {what} from the first import on"
        ))
    }

    /// Returns which columns or keys have no meaning, or have one that another value gives or that ait cannot read.
    fn column_notes(&self) -> Vec<String> {
        let kept = self.report.kept.keys().map(String::as_str);
        let (known, unknown): (Vec<&str>, Vec<&str>) =
            kept.partition(|name| fields::is_known(name));
        let first = unknown.first().map(|name| shell_words::quote(name).into_owned());
        let unknown = listed(unknown.into_iter(), ", ").zip(first).map(|(names, first)| {
            format!(
                "kept as they are, because their names are no fields: {names}; --map {first}=FIELD gives a column a \
                 meaning"
            )
        });
        let known = listed(known.into_iter(), ", ").map(|names| {
            format!("kept as they are, because ait cannot read them or another value has their field: {names}")
        });
        unknown.into_iter().chain(known).collect()
    }

    /// Returns to whom open issues are assigned who is no agent here.
    async fn assignee_notes(&self, tracker: &Tracker) -> Result<Vec<String>> {
        let mut assigned: BTreeMap<&str, usize> = BTreeMap::new();
        let from_outside = self.new.iter().filter(|(_, draft)| !draft.is_of_ait());
        for (_, draft) in from_outside {
            let issue = draft.issue.issue();
            let assignee = issue.attributes.assignee.as_deref();
            if let Some(assignee) = assignee.filter(|_| !issue.status.has_ended()) {
                *assigned.entry(assignee).or_default() += 1;
            }
        }
        let mut notes = Vec::new();
        for (name, count) in assigned.into_iter().take(MAX_NOTED) {
            let condition = Condition::Involves(name.to_owned());
            let query = Query { condition, take: 1, ..Query::default() };
            if tracker.list_issues(query).await?.total == 0 {
                let issues =
                    if count == 1 { "1 issue is" } else { &*format!("{count} issues are") };
                let name = sanitize::line(name);
                notes.push(format!("{issues} assigned to {name}: no other agent gets them"));
            }
        }
        Ok(notes)
    }

    /// Plans the updates of the stored issues that differ. Returns them with the versions to merge.
    pub async fn plan_updates(&mut self, tracker: &Tracker) -> Result<Vec<(Arc<Issue>, Issue)>> {
        let bases = import_update::bases(&self.different, tracker).await?;
        let mut versions = Vec::new();
        for update in &mut self.different {
            let ours = &update.ours;
            let issue = import_update::updated(update, bases.get(&ours.id), tracker.now());
            if issue == **ours {
                continue;
            }
            let left = differences(&issue, &update.draft);
            let mut updates = differences(ours, &update.draft);
            updates.retain(|field| !left.contains(field));
            self.report.set(update.place, ImportOutcome::Updated { updates });
            self.report.remark(update.place, std::mem::take(&mut update.draft.remarks));
            versions.push((Arc::clone(ours), issue));
        }
        Ok(versions)
    }

    /// Imports the new issues in their order.
    pub async fn file(&mut self, tracker: &Tracker, agent: &AgentName) -> Result<()> {
        let total = self.new.len();
        let progress = Progress::of("importing", total);
        let mut filed = 0;
        let mut is_told = false;
        let mut waiting = std::mem::take(&mut self.new).into_iter().peekable();
        while waiting.peek().is_some() {
            let mut batch = Vec::new();
            let mut bytes = 0;
            while batch.len() < MAX_BATCH
                && let Some((_, draft)) = waiting.peek()
                && (batch.is_empty() || bytes + draft.issue.json_bytes() <= MAX_BATCH_BYTES)
            {
                bytes += draft.issue.json_bytes();
                batch.extend(waiting.next());
            }
            let size = batch.len();
            let filing = self.file_batch(batch, tracker, agent);
            filed += warn_when_busy(filing, &mut is_told).await.with_context(|| {
                format!(
                    "{filed} of {total} new issues were imported; import the file again for the rest"
                )
            })?;
            (0..size).for_each(|_| progress.step());
        }
        Ok(())
    }

    /// Imports issues in one commit, or one by one if one of them is refused. Returns how many were imported.
    async fn file_batch(
        &mut self,
        batch: Vec<(usize, ImportDraft)>,
        tracker: &Tracker,
        agent: &AgentName,
    ) -> Result<usize, StoreError> {
        let issues: Vec<_> = batch.iter().map(|(_, draft)| draft.issue.clone()).collect();
        let refusal = match tracker.import_issues(issues, agent).await {
            Ok(()) => return Ok(batch.len()),
            Err(StoreError::Refused(refusal)) => refusal,
            Err(error) => return Err(error),
        };
        if let [(place, draft)] = &batch[..] {
            let outcome = match refusal {
                // Another process imported it in the meantime.
                DomainError::IdTaken { id } => {
                    compared(&*tracker.get_issue(id.into()).await?, draft)
                }
                refusal => {
                    let reason = hints::for_refusal(&refusal, &hints::COMMANDS);
                    ImportOutcome::Refused { reason }
                }
            };
            self.report.set(*place, outcome);
            return Ok(0);
        }
        let mut filed = 0;
        for one in batch {
            filed += Box::pin(self.file_batch(vec![one], tracker, agent)).await?;
        }
        Ok(filed)
    }
}

/// Keeps the newest of several versions of an issue. Programs that append to a file leave the older ones in it.
fn skip_older(entries: &mut [FileEntry]) {
    let mut newest: HashMap<IssueId, usize> = HashMap::new();
    for at in 0..entries.len() {
        let Some(draft) = dated(&entries[at]) else { continue };
        let Issue { id, modified_at, .. } = **draft.issue.issue();
        let Some(&other) = newest.get(&id) else {
            newest.insert(id, at);
            continue;
        };
        let known = dated(&entries[other]).map(|draft| draft.issue.issue().modified_at);
        let (older, newer) = match known.cmp(&Some(modified_at)) {
            std::cmp::Ordering::Less => (other, at),
            std::cmp::Ordering::Equal => continue,
            std::cmp::Ordering::Greater => (at, other),
        };
        newest.insert(id, newer);
        let place = Place { line: entries[newer].line, item: entries[newer].item };
        let title = dated(&entries[older]).map(|draft| draft.issue.issue().title.clone());
        let reason = format!("{place} has a newer version of it");
        entries[older].content = Content::Skipped { id: Some(id.to_string()), title, reason };
    }
}

/// Returns an issue of another program that says when it was changed.
fn dated(entry: &FileEntry) -> Option<&ImportDraft> {
    match &entry.content {
        Content::Issue(draft) => {
            let is_dated = !draft.is_of_ait() && !draft.unstated.contains(&"modifiedAt");
            Some(draft).filter(|_| is_dated)
        }
        _ => None,
    }
}

/// Adds how to read a column differently, if one is to blame.
fn with_column_hint(reason: &str, blamed: &Blamed) -> String {
    let column = shell_words::quote(&blamed.column);
    let meaning = format!("{}=FIELD", blamed.column);
    let meaning = format!("--map {} gives it another meaning", shell_words::quote(&meaning));
    let Some((field, value)) = &blamed.unknown else {
        return format!("{reason}; --ignore {column} leaves it out, {meaning}");
    };
    // Without its status, a finished issue would wait for work again, so ignoring that column is no way out.
    let (word, otherwise) = match field {
        // An unknown word may mean anything, and closed work would be lost.
        Field::Status => (Status::Created.as_str(), meaning),
        Field::Value(ValueField::Priority) => {
            ("2", format!("--ignore {column} leaves the priorities out"))
        }
        _ => (
            Classification::Feature.as_str(),
            format!("--ignore {column} makes every issue an improvement"),
        ),
    };
    let Some(value) = value else { return format!("{reason}; {otherwise}") };
    let mapped = format!("{}:{value}={word}", blamed.column);
    format!("{reason}; --map-value {} reads it as {word}, {otherwise}", shell_words::quote(&mapped))
}

/// Returns why the second of two issues with the same id is refused.
fn same_id(place: Place, lacks_id: Option<&str>) -> String {
    let way_out = lacks_id.map_or(String::new(), |field| {
        format!(", because only their texts identify them: give each one its own {field}")
    });
    format!("{place} has the same id{way_out}")
}

fn compared(kept: &Issue, draft: &ImportDraft) -> ImportOutcome {
    let differs = differences(kept, draft);
    if differs.is_empty() { ImportOutcome::Same } else { ImportOutcome::Different { differs } }
}

/// Returns the first texts of a list in one line; `None` without any.
fn listed<'a>(texts: impl Iterator<Item = &'a str>, separator: &str) -> Option<String> {
    let texts: Vec<_> = texts.collect();
    let shown = texts.iter().take(MAX_NOTED).copied().collect::<Vec<_>>().join(separator);
    let more = match texts.len().saturating_sub(MAX_NOTED) {
        0 => String::new(),
        more => format!(" and {more} more (--json shows all)"),
    };
    (!texts.is_empty()).then(|| format!("{}{more}", sanitize::line(&shown)))
}

/// Waits for the store, and logs once if it is busy for long.
pub(super) async fn warn_when_busy<T>(work: impl Future<Output = T>, is_told: &mut bool) -> T {
    tokio::pin!(work);
    if !*is_told {
        if let Ok(done) = tokio::time::timeout(BUSY_PATIENCE, &mut work).await {
            return done;
        }
        *is_told = true;
        tracing::warn!(
            "the store is busy, because another process holds its lock or the disk is slow: waiting for up to \
             10 minutes; if you stop with Ctrl-C, import the file again for the rest"
        );
    }
    work.await
}
