//! Issues of beads (`bd`), as in its `issues.jsonl` or the output of `bd list --json`.
//!
//! | beads | ait |
//! |---|---|
//! | `id` | the id is derived from it, so it is the same in each import |
//! | `description`, `design`, `acceptance_criteria`, `notes` | the description, with headings for the last three |
//! | `issue_type` | the classification of that name, else `bug`, `feature`, or an improvement |
//! | `status` | that of the word, as in every file; in progress only with an `assignee` |
//! | `created_by`, `closed_at`, `close_reason` | history entries, and a comment |
//! | `assignee` | the assignee, or the holder of an issue in progress |
//! | `comments` | comments |
//! | `priority`, `labels` | priority, labels |
//! | `due_at`, `estimated_minutes` | due, estimate in minutes |
//! | `deferred`, `defer_until`, `blocked` without an open blocker | parked |
//! | `dependencies`, `deps`, `parent` | links, if the other issue is imported, too |
//! | everything else, and everything that the above represents less exactly | kept under the unknown key `beads` |
//!
//! Objects that are not work to be done (messages, agents, gates, templates, pinned notes) are refused, and deleted
//! issues are skipped. Source of the format: `internal/types/types.go` of beads, versions 0.9 to 0.5x.

use indexmap::IndexMap;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use serde_json::value::{RawValue, to_raw_value};

use super::attributes::{assignee_of, labels_of, without_labels};
use super::fields::{Field, Meaning};
use super::given::{Fault, Given};
use super::value::{Value, name_of};
use super::words::{self, FoundStatus};
use super::{Content, ImportDraft, NamedLink, ReadOptions, Remarks, Values, defaults, times};
use ait_domain::event::{CLAIM_ACTION, CLOSE_ACTION, FILE_ACTION, REJECT_ACTION};
use ait_domain::external_id::BEADS_KEY;
use ait_domain::json_compat;
use ait_domain::{
    AttributeValues, Classification, Classifications, Comment, Due, EventKind, HistoryEntry, Issue,
    LinkKind, Parked, Status, Timestamp, UnknownKeys,
};

/// The agent where beads names none.
const NOBODY: &str = "beads";
/// The keys that are imported unchanged and need not be kept twice.
const CARRIED: &str = "_type title description design acceptance_criteria notes comments";
/// The other keys that have a meaning.
const UNDERSTOOD: &str = "due_at estimated_minutes id status issue_type assignee created_by created_at updated_at \
    closed_at close_reason priority labels dependencies deps depends_on blocked_by parent parent_id defer_until \
    pinned is_template";
/// The types of objects that are not work.
const NO_WORK: &str = "message molecule gate agent role convoy event merge-request rig slot";

/// The kinds of dependencies that are links in ait, without separators. The others relate no work.
const LINKS: [(LinkKind, &[&str]); 4] = [
    (LinkKind::BlockedBy, &["blocks", "waitsfor", "conditionalblocks", "blockedby", "dependson"]),
    (LinkKind::Parent, &["parentchild", "child", "childof"]),
    (LinkKind::Related, &["related", "relatesto", "relatedto", "discoveredfrom"]),
    (LinkKind::DuplicateOf, &["duplicates", "duplicateof"]),
];

/// An issue of beads.
struct Bead(Values);

/// Reads a beads object. The error says why it is refused.
pub(super) fn read(values: Values, options: &ReadOptions) -> Result<Content, Fault> {
    let bead = Bead(values);
    if bead.text("status")?.as_deref() == Some("tombstone") {
        let id = bead.text("id")?;
        let title = bead.text("title")?;
        return Ok(Content::Skipped { id, title, reason: "it was deleted in beads".to_owned() });
    }
    bead.draft(options).map(Content::Issue)
}

impl Bead {
    fn get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, Fault> {
        let parsed = self.0.get(key).map(|json| serde_json::from_str::<Option<T>>(json.get()));
        parsed.transpose().map(Option::flatten).map_err(|error| {
            Fault::of(format!("not a beads issue: {key}: {}", json_compat::problem(&error)))
        })
    }

    fn text(&self, key: &str) -> Result<Option<String>, Fault> {
        Ok(self.get::<String>(key)?.filter(|text| !text.is_empty()))
    }

    fn time(&self, key: &str) -> Result<Option<Timestamp>, Fault> {
        let Some(text) = self.text(key)?.filter(|text| !times::is_none(text)) else {
            return Ok(None);
        };
        let time = times::parse(&text, None).map(Some);
        time.map_err(|_| Fault::of(format!("{key} is {text:?}, which is not a time")))
    }

    /// Returns true if a key is set: `bd backup` writes 1 for true.
    fn is_set(&self, key: &str) -> bool {
        self.0.get(key).is_some_and(|json| Value::Json(json).truth() == Some(true))
    }

    /// Returns the items of a list, also of one in a text.
    fn list(&self, key: &str) -> Vec<Json> {
        self.get(key).ok().flatten().unwrap_or_else(|| {
            let names = self.0.get(key).map(|json| Value::Json(json).names());
            names.into_iter().flatten().map(Json::from).collect()
        })
    }

    fn draft(&self, options: &ReadOptions) -> Result<ImportDraft, Fault> {
        self.refuse_no_work()?;
        let id = self.text("id")?.ok_or_else(|| Fault::of("it has no id".to_owned()))?;
        let assignee =
            self.0.get("assignee").and_then(|json| assignee_of(Value::Json(json), false));
        let found = self.status()?;
        let is_held = found.status == Status::InProgress && assignee.is_some();
        let status = if is_held { found.status } else { defaults::status(found.status, &[]) };
        let created = self.time("created_at")?;
        let updated = self.time("updated_at")?;
        let created_at = created.or(updated).unwrap_or(options.now);
        let changed_at = updated.unwrap_or(created_at);
        let mut remarks = Remarks::default();
        let named_links = self.links(&id, &mut remarks)?;
        let filer = self.text("created_by")?;
        let mut attributes = self.attributes(found, updated.or(created), &mut remarks)?;
        attributes.assignee = assignee.clone().filter(|_| status == Status::Created);
        let mut issue = Issue {
            id: defaults::id("beads", &[&id]),
            title: words::title_of(&self.text("title")?.unwrap_or_default()),
            description: self.description()?,
            classification: self.classification(&options.classifications)?,
            created_at,
            modified_at: changed_at,
            status,
            history: vec![HistoryEntry::new(created_at, named(filer.as_deref()), FILE_ACTION)],
            comments: self.comments(changed_at)?,
            attributes: attributes.into(),
            unknown_keys: self.rest(&mut remarks),
        };
        self.set_end(&mut issue, named(assignee.as_deref()), changed_at)?;
        let latest = issue.history.last().map_or(changed_at, |last| last.timestamp);
        issue.modified_at = changed_at.max(latest);
        let is_dated = created.or(updated).is_some();
        let unstated =
            if is_dated { &["history"][..] } else { &["history", "createdAt", "modifiedAt"] };
        Ok(ImportDraft {
            issue: issue.try_into()?,
            unstated: unstated.to_vec(),
            filed: created.map(|time| (time, 0)),
            lacks_id: None,
            is_blocked: self.text("status")?.as_deref() == Some("blocked"),
            remarks,
            named_links,
        })
    }

    /// Adds the claim or the end to the history.
    fn set_end(&self, issue: &mut Issue, agent: &str, changed_at: Timestamp) -> Result<(), Fault> {
        let closed_at = self.time("closed_at")?.unwrap_or(changed_at);
        let (time, action) = match issue.status {
            Status::InProgress => (changed_at, CLAIM_ACTION),
            Status::Closed => (closed_at, CLOSE_ACTION),
            Status::Rejected => (closed_at, REJECT_ACTION),
            _ => return Ok(()),
        };
        issue.history.push(HistoryEntry::new(time, agent, action));
        if issue.status.has_ended() {
            let closed =
                EventKind::Closed { comment: self.text("close_reason")?.unwrap_or_default() };
            let comment = closed.comment().filter(|text| !text.trim().is_empty());
            issue.comments.extend(comment.map(|text| Comment::new(closed_at, agent, text)));
        }
        Ok(())
    }

    fn refuse_no_work(&self) -> Result<(), Fault> {
        let fault = |problem: String| Err(Fault::of(problem));
        if let Some(other) = self.text("_type")?.filter(|kind| kind != "issue") {
            return fault(format!("a beads {other} is not an issue"));
        }
        if let Some(kind) = self.text("issue_type")?.filter(|kind| words::has(NO_WORK, kind)) {
            return fault(format!("a beads {kind} is not work to be done"));
        }
        let is_pinned = self.is_set("pinned") || self.text("status")?.as_deref() == Some("pinned");
        if is_pinned || self.is_set("is_template") {
            let reason = "pinned issues and templates of beads are not work to be done";
            return fault(reason.to_owned());
        }
        Ok(())
    }

    fn status(&self) -> Result<FoundStatus, Fault> {
        let Some(word) = self.text("status")? else { return Ok(Status::Created.into()) };
        words::status_of(&word).ok_or_else(|| {
            let value = Value::Cell(&word);
            let given = Given::new("status", Meaning::Field(Field::Status), value);
            given.map_or_else(
                || Fault::of(word.clone()),
                |given| given.unknown_word(Field::Status, Status::words_of_work()),
            )
        })
    }

    fn description(&self) -> Result<String, Fault> {
        let sections = [
            ("Design", self.text("design")?),
            ("Acceptance criteria", self.text("acceptance_criteria")?),
            ("Notes", self.text("notes")?),
        ];
        Ok(defaults::with_sections(self.text("description")?.unwrap_or_default(), sections))
    }

    fn attributes(
        &self,
        found: FoundStatus,
        since: Option<Timestamp>,
        remarks: &mut Remarks,
    ) -> Result<AttributeValues, Fault> {
        let labels = labels_of(self.list("labels").iter().filter_map(name_of));
        let kept = self.0.get("labels").and_then(|json| without_labels(Value::Json(json), &labels));
        if kept.is_some_and(|json| !Value::Json(&json).is_blank()) {
            remarks.keep("labels");
        }
        let priority = self.0.get("priority").and_then(|json| Value::Json(json).name());
        let number = priority.as_deref().and_then(words::priority_of);
        if priority.is_some() && number.is_none() {
            remarks.keep("priority");
        }
        let parked = self.parked(found, since)?.filter(|_| found.status == Status::Created);
        let minutes = self.0.get("estimated_minutes").and_then(|json| Value::Json(json).name());
        let estimate = minutes.as_deref().and_then(|minutes| minutes.parse().ok());
        if minutes.is_some() && estimate.is_none() {
            remarks.keep("estimated_minutes");
        }
        let due = self.time("due_at")?.map(Due::of_time);
        Ok(AttributeValues {
            priority: number,
            labels,
            parked: parked.map(Box::new),
            due,
            estimate,
            ..AttributeValues::default()
        })
    }

    fn classification(&self, used: &Classifications) -> Result<Classification, Fault> {
        let word = self.text("issue_type")?.unwrap_or_default();
        Ok(match Classification::from_word(&word) {
            Some(kind) if used.contains(kind) => kind,
            Some(Classification::Epic) => used.fitting(Classification::Feature),
            _ => used.usual(),
        })
    }

    /// Returns why an issue waits until another time. Without a time of its own, each import would give another one.
    fn parked(
        &self,
        found: FoundStatus,
        since: Option<Timestamp>,
    ) -> Result<Option<Parked>, Fault> {
        let until = self.time("defer_until")?;
        let Some(since) = since.filter(|_| found.is_parked || until.is_some()) else {
            return Ok(None);
        };
        let status = self.text("status")?.filter(|_| found.is_parked);
        let reason = format!("{} in beads", status.as_deref().unwrap_or("deferred"));
        Ok(Some(Parked { reason, since, by: NOBODY.to_owned(), until, question: None }))
    }

    fn links(&self, id: &str, remarks: &mut Remarks) -> Result<Vec<NamedLink>, Fault> {
        let mut links = Vec::new();
        let lists = ["dependencies", "deps", "depends_on", "blocked_by"].map(|key| self.list(key));
        for dependency in lists.iter().flatten() {
            let text = |keys: [&str; 2]| {
                let found = keys.iter().find_map(|key| dependency.get(*key)?.as_str());
                found.filter(|text| !text.is_empty())
            };
            // `bd show` lists whole issues instead.
            let kind = text(["type", "dependency_type"]).unwrap_or("blocks");
            let other = text(["depends_on_id", "id"]).or(dependency.as_str()).unwrap_or_default();
            let word = words::squeezed(kind);
            let link = LINKS.iter().find(|(_, kinds)| kinds.contains(&&*word));
            if text(["issue_id"; 2]).is_some_and(|of| of != id) {
                remarks.drop_link(format!("{kind} {other}"), "it is of another issue");
            } else if let Some((link, _)) = link {
                links.push(link_to(*link, kind, other));
            } else {
                remarks.drop_link(format!("{kind} {other}"), "ait has no such links");
            }
        }
        for key in ["parent", "parent_id"] {
            links.extend(self.text(key)?.map(|id| link_to(LinkKind::Parent, "parent", &id)));
        }
        Ok(links)
    }

    fn comments(&self, otherwise: Timestamp) -> Result<Vec<Comment>, Fault> {
        let Some(json) = self.0.get("comments") else { return Ok(Vec::new()) };
        let comments = super::comments::read(Value::Json(json), None, otherwise);
        let comments = comments.map_err(|problem| Fault::of(format!("comments: {problem}")))?;
        let plain =
            |comment: Comment| Comment::new(comment.timestamp, agent(&comment), &*comment.text);
        Ok(comments.into_iter().flatten().map(plain).collect())
    }

    /// Returns the object without the keys that are imported unchanged.
    fn rest(&self, remarks: &mut Remarks) -> UnknownKeys {
        let mut keys = UnknownKeys::default();
        let kept = self.0.iter().filter(|(key, _)| !words::has(CARRIED, key));
        let kept: IndexMap<&String, &RawValue> = kept.map(|(key, value)| (key, &**value)).collect();
        let unread = kept.iter().filter(|(key, value)| {
            !words::has(UNDERSTOOD, key) && !Value::Json(value).says_nothing()
        });
        unread.for_each(|(key, _)| remarks.keep(key));
        if let Ok(rest) = to_raw_value(&kept) {
            keys.insert(BEADS_KEY.to_owned(), rest);
        }
        keys
    }
}

fn link_to(kind: LinkKind, word: &str, name: &str) -> NamedLink {
    let ids = vec![defaults::id("beads", &[name])];
    NamedLink { kind, shown: format!("{word} {name}"), name: name.to_owned(), ids }
}

/// Returns the author of a comment.
fn agent(comment: &Comment) -> &str {
    if comment.agent == defaults::AGENT { NOBODY } else { &comment.agent }
}

fn named(name: Option<&str>) -> &str {
    name.map(str::trim).filter(|name| !name.is_empty()).unwrap_or(NOBODY)
}
