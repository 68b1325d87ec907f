//! Partial issues, as people, scripts and other programs write them: a title and optional other fields.
//!
//! A CSV row and a JSON object are converted in the same way, so the same issue gets the same id from both.

use indexmap::IndexMap;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};

use super::attributes::{self, NamedLink};
use super::defaults::{AGENT, agent};
use super::fields::{EXTRA, Field};
use super::given::{Fault, Given};
use super::value::{self, Value};
use super::words::{self, FoundStatus};
use super::{Content, ImportDraft, ReadOptions, Remarks, comments, defaults};
use ait_domain::event::{CLOSE_ACTION, FILE_ACTION, REJECT_ACTION};
use ait_domain::fields::required_fields;
use ait_domain::{
    AttributeValues, Attributes, Classification, Comment, FieldValue, HistoryEntry, Issue, IssueId,
    Link, LinkKind, Parked, Status, Timestamp, UnknownKeys, ValueField,
};
use ait_domain::{Classifications, text::shortened};

const SHOWN_CHARS: usize = 60;
const LINK_FIELDS: [(Field, LinkKind); 2] =
    [(Field::Parent, LinkKind::Parent), (Field::BlockedBy, LinkKind::BlockedBy)];

/// The values of a row or an object.
pub(super) struct PartialIssue<'a> {
    pub values: Vec<Given<'a>>,
    /// Whether `ait export` wrote it, so that nothing is trimmed or guessed.
    pub is_ours: bool,
    /// The unknown key that keeps the values without a field.
    pub key: &'static str,
    /// Whether that key keeps only values whose names are those of ait's own keys. The others keep their names.
    pub keeps_names: bool,
}

/// The times that a file gives.
struct Times {
    created: Option<Timestamp>,
    modified: Option<Timestamp>,
    closed: Option<Timestamp>,
    /// Whether the file says that the issue is closed; `None` if it does not say.
    is_closed: Option<bool>,
}

/// The comments of a partial issue.
struct ReadComments {
    /// `None` if the file gives none.
    comments: Option<Vec<Comment>>,
    /// The indexes of the values of the field that are something else, such as the number of comments.
    not_comments: Vec<usize>,
}

/// Which values the fields of the issue keep.
struct KeptValues<'a> {
    /// The status, if the history is derived from the values.
    derived_for: Option<Status>,
    /// The attributes that the values give.
    attributes: &'a AttributeValues,
    not_comments: Vec<usize>,
}

impl<'a> PartialIssue<'a> {
    /// Converts the values. Missing times default to `now`.
    pub fn draft(&self, options: &ReadOptions) -> Result<ImportDraft, Fault> {
        let title = self
            .text(Field::Title)?
            .ok_or_else(|| Fault::of("title is missing: every issue needs one".to_owned()))?;
        let description = self.text(Field::Description)?;
        let our_id = self.filled(Field::Id).and_then(|id| value::our_id(&id.value.name()?));
        let is_exact = self.is_ours || our_id.is_some();
        let title = if is_exact { title } else { words::title_of(&title) };
        let mut remarks = Remarks::default();
        let times = self.times(options)?;
        let classification = self.classification(&options.classifications)?;
        let status = self.status(&times, &mut remarks)?;
        let history: Option<Vec<HistoryEntry>> = self.json(Field::History)?;
        let created_at = times.created.or(times.modified).or(times.closed).unwrap_or(options.now);
        let closed_at = times.closed.unwrap_or(created_at);
        let modified_at = times.modified.unwrap_or(closed_at.max(created_at));
        let ReadComments { comments, not_comments } = self.comments(options, modified_at)?;
        let unstated = [
            ("description", description.is_none()),
            ("classification", classification.is_none()),
            ("createdAt", times.created.is_none()),
            ("modifiedAt", times.modified.is_none()),
            ("status", status.is_none()),
            ("history", history.is_none()),
            ("comments", comments.is_none()),
            (EXTRA, !self.is_ours),
        ];
        let unstated = unstated.into_iter().filter(|(_, is_unstated)| *is_unstated);
        let description = description.unwrap_or_default();
        let kept_history = history.as_deref().unwrap_or_default();
        let found = status.unwrap_or(Status::Created.into());
        let status = defaults::status(found.status, kept_history);
        let derived = history.is_none().then(|| self.history(status, created_at, times.closed));
        let mut attributes = self.attributes(options)?;
        let derived_for = derived.is_some().then_some(status);
        let found = FoundStatus { status, ..found };
        attributes.parked = self.parked(found, modified_at, options)?.map(Box::new);
        let kept = KeptValues { derived_for, attributes: &attributes, not_comments };
        let mut unknown_keys = self.unknown_keys(&kept, &mut remarks)?;
        let others = Attributes::take_from(&mut unknown_keys);
        let attributes = self.all_attributes(attributes, others)?;
        let mut issue = Issue {
            id: our_id.unwrap_or_else(|| self.derived_id(&title, &description)),
            title,
            description,
            classification: classification.unwrap_or(options.classifications.usual()),
            created_at,
            modified_at,
            status,
            unknown_keys,
            history: derived.or(history).unwrap_or_default(),
            comments: comments.unwrap_or_default(),
            attributes,
        };
        issue.set_unknown_namesakes_aside();
        Ok(ImportDraft {
            issue: issue.try_into()?,
            unstated: unstated.map(|(name, _)| name).collect(),
            filed: times
                .created
                .filter(|_| !self.is_ours)
                .map(|time| (time, self.number().unwrap_or_default())),
            lacks_id: self.lacks_id(),
            named_links: self.named_links(),
            is_blocked: found.is_parked && self.name(Field::Status).is_some_and(is_blocked),
            remarks,
        })
    }

    /// Returns the number of the issue in the other program, also from a key such as `SHOP-12`.
    fn number(&self) -> Option<u64> {
        let name = self.filled(Field::Number).or_else(|| self.filled(Field::Id))?.value.name()?;
        let project = name.trim_end_matches(|character: char| character.is_ascii_digit());
        let is_number = project.is_empty() || project.ends_with(['-', '_', '#']);
        name[project.len()..].parse().ok().filter(|_| is_number)
    }

    pub(super) fn of(&self, field: Field) -> impl Iterator<Item = Given<'a>> {
        self.values.iter().copied().filter(move |given| given.field == Some(field))
    }

    pub(super) fn filled(&self, field: Field) -> Option<Given<'a>> {
        self.of(field).find(|given| !given.value.is_blank())
    }

    fn text(&self, field: Field) -> Result<Option<String>, Fault> {
        let Some(given) = self.of(field).next() else { return Ok(None) };
        let text = given.value.text().ok_or_else(|| {
            given.fault(format_args!("is {}, which is not a text", given.value.shown()))
        });
        text.map(Some)
    }

    /// Returns a refused entry with the id and the title of the values.
    pub fn refused(&self, fault: Fault) -> Content {
        let [id, title] = [Field::Id, Field::Title].map(|field| {
            let name = self.filled(field)?.value.name()?;
            Some(shortened(&name, SHOWN_CHARS))
        });
        fault.refused(id, title)
    }

    fn json<T: DeserializeOwned>(&self, field: Field) -> Result<Option<T>, Fault> {
        let Some(given) = self.filled(field) else { return Ok(None) };
        let parsed = given.value.parsed().map(Some);
        parsed
            .map_err(|problem| given.fault(format_args!("is not the JSON of an export: {problem}")))
    }

    fn times(&self, options: &ReadOptions) -> Result<Times, Fault> {
        let time = |given: Given<'_>| given.time(options);
        let created = self.filled(Field::CreatedAt).map(time).transpose()?.flatten();
        let modified = self.filled(Field::ModifiedAt).map(time).transpose()?.flatten();
        let mut times = Times { created, modified, closed: None, is_closed: None };
        for given in self.of(Field::ClosedAt).filter(|given| !given.value.is_blank()) {
            match given.value.truth() {
                Some(truth) => times.is_closed = Some(truth || times.is_closed == Some(true)),
                None => times.closed = times.closed.or(time(given)?),
            }
        }
        Ok(times)
    }

    fn classification(&self, used: &Classifications) -> Result<Option<Classification>, Fault> {
        if let Some(given) = self.filled(Field::Classification) {
            let kind = given.value.name().map(|name| words::classification_of(&name, used));
            let kind = kind
                .and_then(Result::ok)
                .ok_or_else(|| given.unknown_word(Field::Classification, used.words()))?;
            if kind.is_some() {
                return Ok(kind);
            }
        }
        let labels: Vec<_> = self.of(Field::Labels).flat_map(|given| given.value.names()).collect();
        Ok(words::classification_of_labels(&labels, used))
    }

    /// Returns the status: that of the word, or else of its category. A resolution can make a closed issue a rejected
    /// one.
    fn status(&self, times: &Times, remarks: &mut Remarks) -> Result<Option<FoundStatus>, Fault> {
        let is_closed = times.is_closed.or(times.closed.map(|_| true));
        let by_time = is_closed.map(|is_closed| {
            FoundStatus::from(if is_closed { Status::Closed } else { Status::Created })
        });
        let found = match self.filled(Field::Status) {
            None => by_time,
            Some(given) => {
                let word = given.value.name();
                let by_word = word.as_deref().and_then(words::status_of);
                let beside = self.filled(Field::StatusCategory);
                let beside = beside.and_then(|given| given.value.category().or(given.value.name()));
                let category = beside.or_else(|| given.value.category());
                let by_category = category.as_deref().and_then(words::status_of_category);
                let found = match (by_word, by_category) {
                    // Words mean other things in other teams; the category decides what has ended.
                    (Some(by_word), Some(by_category))
                        if by_word.status.has_ended() == by_category.status.has_ended() =>
                    {
                        by_word
                    }
                    (_, Some(by_category)) => {
                        remarks.guess(given.read_as(by_category.status, "by its category"));
                        by_category
                    }
                    (Some(by_word), None) => by_word,
                    (None, None) => {
                        let by_part = || {
                            let found = words::status_in(word.as_deref()?)?;
                            Some((found, "by a part of it"))
                        };
                        let (found, why) = by_time
                            .filter(|_| times.is_closed.is_some())
                            .map(|found| (found, "because the file says whether it is closed"))
                            .or_else(by_part)
                            .ok_or_else(|| {
                                given.unknown_word(Field::Status, Status::words_of_work())
                            })?;
                        remarks.guess(given.read_as(found.status, why));
                        found
                    }
                };
                // Elsewhere the word of ait for work that waits for review is often the last one.
                let is_ambiguous = category.is_none() && !self.is_ours;
                let is_last =
                    is_ambiguous && word.is_some_and(|word| words::squeezed(&word) == "completed");
                if is_last && times.closed.is_some() {
                    return Ok(Some(Status::Closed.into()));
                }
                if is_last {
                    remarks.guess(given.read_as(found.status, "and waits for review"));
                }
                let is_open = !found.status.has_ended() && times.is_closed == Some(true);
                Some(if is_open { Status::Closed.into() } else { found })
            }
        };
        let resolution = self.name(Field::Resolution);
        let is_rejected = resolution.is_some_and(|reason| words::means_rejected(&reason));
        Ok(found.map(|found| match found.status {
            Status::Closed if is_rejected => Status::Rejected.into(),
            _ => found,
        }))
    }

    /// Returns why the issue is parked, if its status says that it waits for something, or if it waits until a time to
    /// come.
    fn parked(
        &self,
        found: FoundStatus,
        since: Timestamp,
        options: &ReadOptions,
    ) -> Result<Option<Parked>, Fault> {
        let until = self.filled(Field::ParkedUntil).map(|given| given.time(options));
        let until = until.transpose()?.flatten();
        let is_over = until.is_some_and(|until| until <= options.now);
        let waits = found.is_parked || until.is_some() && found.status == Status::Created;
        if is_over || !waits {
            return Ok(None);
        }
        let word = self.name(Field::Status).filter(|_| found.is_parked);
        let word = word.map(|word| format!("{:?}", shortened(&word, SHOWN_CHARS)));
        let reason = format!("{} in the imported file", word.as_deref().unwrap_or("deferred"));
        Ok(Some(Parked { reason, since, by: AGENT.to_owned(), until, question: None }))
    }

    fn comments(&self, options: &ReadOptions, otherwise: Timestamp) -> Result<ReadComments, Fault> {
        if self.is_ours {
            let comments = self.json(Field::Comments)?;
            return Ok(ReadComments { comments, not_comments: Vec::new() });
        }
        let mut read = ReadComments { comments: None, not_comments: Vec::new() };
        for (index, given) in self.values.iter().enumerate() {
            if given.field != Some(Field::Comments) || given.value.is_blank() {
                continue;
            }
            let more = comments::read(given.value, options.date_order, otherwise);
            match more.map_err(|problem| given.fault(format_args!("cannot be read: {problem}")))? {
                Some(more) => read.comments.get_or_insert_default().extend(more),
                None => read.not_comments.push(index),
            }
        }
        Ok(read)
    }

    /// Returns the attributes of columns and keys together with the others.
    fn all_attributes(
        &self,
        given: AttributeValues,
        others: Attributes,
    ) -> Result<Attributes, Fault> {
        let mut all = given;
        all.fill_from(&others);
        all.parked = all.parked.or_else(|| others.parked.clone());
        if self.is_ours {
            for (field, kind) in LINK_FIELDS {
                self.set_links(field, kind, &mut all.links)?;
            }
        }
        Ok(all.into())
    }

    /// Sets the links of a kind to those of a column of `ait export`, if the file has the column. Links that are there
    /// already keep their place.
    fn set_links(&self, field: Field, kind: LinkKind, links: &mut Vec<Link>) -> Result<(), Fault> {
        let Some(given) = self.of(field).next() else { return Ok(()) };
        let mut wanted = Vec::new();
        for name in given.value.names() {
            let to = value::our_id(&name).ok_or_else(|| {
                given.fault(format_args!("is {}, which is no id of ait", given.value.shown()))
            })?;
            wanted.push(Link { kind, to });
        }
        if kind == LinkKind::Parent && wanted.len() > 1 {
            return Err(given.fault("names several issues: an issue has at most one parent"));
        }
        links.retain(|link| link.kind != kind || wanted.contains(link));
        for link in wanted {
            if !links.contains(&link) {
                links.push(link);
            }
        }
        Ok(())
    }

    /// Returns the links by the names that the file has for the other issues.
    fn named_links(&self) -> Vec<NamedLink> {
        let of_field = |(field, kind): (Field, LinkKind)| {
            let names = self.of(field).flat_map(|given| attributes::names_of_issues(given.value));
            names.map(move |name| {
                let shown = format!("{kind} {name}");
                NamedLink { kind, shown, ids: self.ids_of(&name), name }
            })
        };
        if self.is_ours { Vec::new() } else { LINK_FIELDS.into_iter().flat_map(of_field).collect() }
    }

    /// Returns the ids that an issue of this name can have.
    fn ids_of(&self, name: &str) -> Vec<IssueId> {
        let number = name.trim_start_matches('#');
        // The parts of a task may be numbered as 1.2.
        let is_number = number.starts_with(|first: char| first.is_ascii_digit())
            && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let neighbour = || {
            let url = self.address()?;
            let own = self.name(Field::Number)?;
            Some(format!("{}{number}", &url[..url.len() - own.len()]))
        };
        let url = if is_number {
            neighbour()
        } else {
            // GitHub names a parent by its address in the API.
            Some(name.replace("https://api.github.com/repos/", "https://github.com/"))
        };
        let by_url = url.filter(|url| url.contains("://"));
        let ids = [
            value::our_id(name),
            by_url.map(|url| defaults::id("url", &[&url])),
            Some(defaults::id("csv", &[name])),
        ];
        ids.into_iter().flatten().collect()
    }

    /// Returns the history that author and time of closing give.
    fn history(
        &self,
        status: Status,
        created_at: Timestamp,
        closed: Option<Timestamp>,
    ) -> Vec<HistoryEntry> {
        let author = self.name(Field::Author);
        let closed = closed.filter(|_| status.has_ended());
        let mut history = Vec::new();
        if author.is_some() || closed.is_some() {
            history.push(HistoryEntry::new(created_at, agent(author.as_deref()), FILE_ACTION));
        }
        if let Some(closed) = closed {
            let is_rejected = status == Status::Rejected;
            let action = if is_rejected { REJECT_ACTION } else { CLOSE_ACTION };
            history.push(HistoryEntry::new(closed, AGENT, action));
        }
        history
    }

    /// Derives the id from what identifies the issue elsewhere: its address, its id there, or its texts.
    fn derived_id(&self, title: &str, description: &str) -> IssueId {
        match (self.address(), self.name(Field::Id)) {
            (Some(url), _) => defaults::id("url", &[&url]),
            (None, Some(id)) => defaults::id("csv", &[&id]),
            (None, None) => {
                let number = self.name(Field::Number);
                let texts = [title, description].into_iter().chain(number.as_deref());
                defaults::id("csv row", &texts.collect::<Vec<_>>())
            }
        }
    }

    fn name(&self, field: Field) -> Option<String> {
        self.filled(field).and_then(|given| given.value.name())
    }

    /// Returns the address of the issue. It ends in the number; others may be shared by several issues.
    fn address(&self) -> Option<String> {
        let url = self.name(Field::Url)?;
        let number = self.name(Field::Number)?;
        (url.rsplit('/').next() == Some(&number)).then_some(url)
    }

    /// Returns the fields that would identify the issue, if only its texts do.
    fn lacks_id(&self) -> Option<&'static str> {
        if self.address().is_some() || self.name(Field::Id).is_some() {
            return None;
        }
        Some(match (self.name(Field::Number), self.name(Field::Url)) {
            (Some(_), None) => "url",
            (None, Some(_)) => "number",
            _ => "id",
        })
    }

    /// Returns the unknown keys: the exported ones, and the values that no field of an issue keeps.
    fn unknown_keys(
        &self,
        kept: &KeptValues<'_>,
        remarks: &mut Remarks,
    ) -> Result<UnknownKeys, Fault> {
        let mut unknown_keys = UnknownKeys::default();
        let known: Option<IndexMap<String, Box<RawValue>>> = self.json(Field::Extra)?;
        for (key, value) in known.unwrap_or_default() {
            unknown_keys.insert(key, value);
        }
        let mut others: IndexMap<&str, Vec<Box<RawValue>>> = IndexMap::new();
        // These keys cannot keep other values.
        let mut ours = kept.attributes.set_fields();
        ours.extend(required_fields());
        for (index, given) in self.values.iter().enumerate() {
            let Some(rest) = self.rest_of(index, kept) else { continue };
            if !is_understood(*given) && !given.value.says_nothing() {
                remarks.keep(given.name);
            }
            if self.keeps_names && !ours.contains(&given.name) {
                unknown_keys.insert(given.name.to_owned(), rest);
            } else {
                others.entry(given.name).or_default().push(rest);
            }
        }
        let alone = |values: Vec<Box<RawValue>>| match <[_; 1]>::try_from(values) {
            Ok([value]) => value,
            Err(values) => to_raw_value(&values).unwrap_or_default(),
        };
        let others: IndexMap<_, _> =
            others.into_iter().map(|(name, values)| (name, alone(values))).collect();
        if !others.is_empty()
            && let Ok(others) = to_raw_value(&others)
        {
            unknown_keys.insert(self.key.to_owned(), others);
        }
        Ok(unknown_keys)
    }

    /// Returns what no field of the issue keeps of the value at an index.
    fn rest_of(&self, index: usize, kept: &KeptValues<'_>) -> Option<Box<RawValue>> {
        let given = self.values[index];
        let value = given.value;
        let attributes = kept.attributes;
        let is_other = match given.field {
            Some(_) if value.is_blank() => false,
            Some(Field::Labels) => return attributes::without_labels(value, &attributes.labels),
            Some(Field::Value(field)) => {
                let has_more = field == ValueField::Assignee
                    && !self.is_ours
                    && attributes::has_more_assignees(value);
                has_more || FieldValue::of(field, attributes).is_none() && !is_unset(given)
            }
            // The names that other issues have elsewhere.
            Some(Field::Parent | Field::BlockedBy) => !self.is_ours,
            Some(Field::Comments) => kept.not_comments.contains(&index),
            _ => is_other(given, kept.derived_for),
        };
        is_other.then(|| value.raw())
    }
}

/// Returns true if a value says that its field has none.
pub(super) fn is_unset(given: Given<'_>) -> bool {
    given.value.name().is_some_and(|name| words::means_nothing(&name))
}

/// Returns true if a status says that other work comes first.
fn is_blocked(status: String) -> bool {
    words::squeezed(&status).starts_with("blocked")
}

/// Returns true if a value that is kept has a meaning nevertheless: it names the issue, or decides its status or its
/// links.
fn is_understood(given: Given<'_>) -> bool {
    match given.field {
        Some(Field::Parent | Field::BlockedBy) => !attributes::has_other_links(given.value),
        Some(Field::Id | Field::Number | Field::Url | Field::Resolution | Field::ParkedUntil) => {
            true
        }
        _ => false,
    }
}

/// Returns true if no field of the issue keeps the value. Attributes and comments are not considered.
fn is_other(given: Given<'_>, derived_for: Option<Status>) -> bool {
    let name = || given.value.name();
    match given.field {
        None => !matches!(given.value, Value::Cell(text) if text.trim().is_empty()),
        Some(_) if given.value.is_blank() => false,
        Some(Field::Resolution | Field::Number | Field::Url | Field::ParkedUntil) => true,
        // An id of another program still names the issue there.
        Some(Field::Id) => name().is_none_or(|id| value::our_id(&id).is_none()),
        Some(Field::Author) => derived_for.is_none() || name().is_none(),
        Some(Field::ClosedAt) => {
            let is_time = given.value.truth().is_none() && !given.value.says_nothing();
            is_time && !derived_for.is_some_and(Status::has_ended)
        }
        Some(_) => false,
    }
}
