//! The fields of an issue, and the names that CSV columns and JSON keys have for them.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::Unreadable;
use super::value::{Value, word};
use ait_domain::ValueField;
use ait_domain::external_id::{ID_NAMES, NUMBER_NAMES};
use ait_domain::text::shortened;

/// How many names an error lists at most.
const LISTED: usize = 50;
const SHOWN_CHARS: usize = 60;

/// The column for all unknown keys, and what stands for them in
/// [`ImportDraft::unstated`](super::ImportDraft::unstated).
pub(super) const EXTRA: &str = "extra";

/// A field of an issue in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Field {
    /// The id, here or in another program.
    Id,
    Title,
    Description,
    /// The kind of work.
    Classification,
    Status,
    /// The category of the status in the other program, which tells what a status of its own means.
    StatusCategory,
    /// Why an issue is closed. It decides between closed and rejected.
    Resolution,
    /// Labels. One of them may give the classification.
    Labels,
    /// The issue of which it is a part.
    Parent,
    /// The issues that must end before it can be claimed.
    BlockedBy,
    /// The time of filing.
    CreatedAt,
    /// The time of the last change.
    ModifiedAt,
    /// The time of closing, or whether the issue is closed.
    ClosedAt,
    /// Until when the issue waits.
    ParkedUntil,
    /// A field with one value or none.
    Value(ValueField),
    /// Who filed the issue.
    Author,
    /// The history, as `ait export` writes it.
    History,
    Comments,
    /// The number of the issue within its project.
    Number,
    /// The address of the issue.
    Url,
    /// The unknown keys, in a column of `ait export`.
    Extra,
}

/// The names of each field, with spaces between several ones. Names in other programs are in lower case and without
/// separators. If a file has several names of a field, the first one in this order holds it: usually ait's own, but
/// GitHub's `url` is the address in the API, and Jira's `Parent` is a number.
const NAMES: [(Field, &[&str]); 26] = [
    (Field::Id, &ID_NAMES),
    (Field::Title, &["title summary subject name taskname shortdesc task content"]),
    (Field::Description, &["description body desc details notes taskcontent"]),
    (Field::Classification, &["classification type issuetype workitemtype tracker kind"]),
    (Field::Status, &["status state statename currentstate bugstatus"]),
    (Field::StatusCategory, &["statusCategory statecategory stategroup statetype statedetail"]),
    (Field::Resolution, &["resolution statereason closereason"]),
    (Field::Value(ValueField::Priority), &["prioritylabel priority"]),
    (Field::Labels, &["labels label tags"]),
    (Field::Value(ValueField::Assignee), &["assignee assignees assignedto"]),
    (
        Field::Parent,
        &[
            "parentkey parent parentissue parenttask parentid parenttaskid epickey customfield(epiclink) parentissueurl",
        ],
    ),
    (
        Field::BlockedBy,
        &[
            "blocked_by dependson depends dependencies deps blockers isblockedby blockedby(dependencies)",
            "inwardissuelink(blocks) issuelinks",
        ],
    ),
    (
        Field::CreatedAt,
        &["createdAt created createdon createddate creationdate createdtime datecreated opened"],
    ),
    (
        Field::ModifiedAt,
        &[
            "modifiedAt modified updatedat updated updatedon updateddate changeddate lastmodified lasteditedtime",
            "dateupdated changed",
        ],
    ),
    (
        Field::ClosedAt,
        &[
            "closedAt resolvedat resolved resolutiondate completedat doneat closedon closeddate completeddate dateclosed",
            "canceledat canceled done isdone completed iscompleted complete iscomplete closed isclosed finished",
        ],
    ),
    (Field::ParkedUntil, &["parkedUntil deferuntil snoozeduntil wait"]),
    (Field::Value(ValueField::Due), &["due duedate dueon dueat dueby deadline enddate targetdate"]),
    (
        Field::Value(ValueField::Estimate),
        &[
            "estimate storypoints storypointestimate customfield(storypoints) customfield(storypointestimate) points",
            "effort estimatedhours",
        ],
    ),
    (Field::Value(ValueField::Touches), &["touches"]),
    (Field::Value(ValueField::Budget), &["budget"]),
    (Field::Author, &["author reporter creator createdby user requester"]),
    (Field::History, &["history"]),
    (Field::Comments, &["comments comment journals"]),
    (Field::Number, &NUMBER_NAMES),
    (Field::Url, &["htmlurl weburl permalinkurl url"]),
    (Field::Extra, &[EXTRA]),
];

/// The field of each name, and the rank of the name.
static FIELDS: LazyLock<HashMap<String, (Field, usize)>> = LazyLock::new(|| {
    let of_field = |(field, names): &(Field, &'static [&'static str])| {
        let field = *field;
        let names = names.iter().flat_map(|names| names.split(' '));
        names.enumerate().map(move |(rank, name)| (plain(name), (field, rank + 1)))
    };
    NAMES.iter().flat_map(of_field).collect()
});

/// Normalizes a name: lower case, without separators between words and without GitLab's note on the time zone.
fn plain(name: &str) -> String {
    let plain = name.to_lowercase().replace([' ', '_', '-'], "");
    plain.strip_suffix("(utc)").map_or(plain.clone(), str::to_owned)
}

impl Field {
    /// Returns the fields that a column can be mapped to.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|(field, _)| *field).filter(|field| *field != Self::Extra)
    }

    /// Returns the name of the field in ait.
    pub fn name(self) -> &'static str {
        match self {
            Self::Url => "url",
            Self::Parent => "parent",
            Self::Value(field) => field.as_str(),
            field => {
                let names = NAMES.iter().find(|(other, _)| *other == field);
                names.and_then(|(_, names)| names[0].split(' ').next()).unwrap_or_default()
            }
        }
    }

    /// Returns the field with this name in ait.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|field| field.name() == name)
    }

    /// Returns true if several columns together can hold the field.
    fn is_list(self) -> bool {
        matches!(
            self,
            Self::Labels | Self::Parent | Self::BlockedBy | Self::ClosedAt | Self::Comments
        )
    }
}

/// Returns one name for all names of a field, and for all spellings of another name.
pub(super) fn common_name(name: &str) -> String {
    let plain = plain(name);
    FIELDS.get(&plain).map_or(plain, |(field, _)| field.name().to_owned())
}

/// Returns true if a name is that of a field.
pub fn is_known(name: &str) -> bool {
    FIELDS.contains_key(&plain(name))
}

/// Returns true if a name is that of a field which hardly any other object has.
pub(super) fn is_of_issues(name: &str) -> bool {
    let fields = [Field::Id, Field::Status, Field::CreatedAt, Field::ClosedAt];
    FIELDS.get(&plain(name)).is_some_and(|(field, _)| fields.contains(field))
}

/// What a column or key holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Meaning {
    Field(Field),
    /// A value that ait has no field for.
    Other,
    Ignored,
}

/// A value of a column or key, and the value that replaces it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValueMapping {
    /// The name of the column or key.
    pub column: String,
    /// The value in the file. Its case does not matter.
    pub from: String,
    /// The value that is read instead.
    pub to: String,
}

/// The meanings that the user gives to columns or keys, and to their values.
#[derive(Clone, Debug, Default)]
pub struct Mapping {
    meanings: Vec<(String, Meaning)>,
    values: Vec<ValueMapping>,
}

impl Mapping {
    /// Creates a mapping. A name that is both mapped and ignored is ignored.
    pub fn new(mapped: &[(String, Field)], ignored: &[String], values: &[ValueMapping]) -> Self {
        let ignored = ignored.iter().map(|name| (name.clone(), Meaning::Ignored));
        let mapped = mapped.iter().map(|(name, field)| (name.clone(), Meaning::Field(*field)));
        Self { meanings: ignored.chain(mapped).collect(), values: values.to_vec() }
    }

    /// Returns true if it gives no meanings.
    pub fn is_empty(&self) -> bool {
        self.meanings.is_empty() && self.values.is_empty()
    }

    pub(super) fn get(&self, name: &str) -> Option<Meaning> {
        let found = || self.meanings.iter().find(|(given, _)| plain(given) == plain(name));
        if self.meanings.is_empty() { None } else { found().map(|(_, meaning)| *meaning) }
    }

    /// Returns true if the user says anything about a column or key.
    pub(super) fn mentions(&self, name: &str) -> bool {
        let of_value = |given: &ValueMapping| plain(&given.column) == plain(name);
        self.get(name).is_some() || self.values.iter().any(of_value)
    }

    /// Returns the value that replaces that of a column or key, if there is one.
    pub(super) fn replacement(&self, name: &str, value: Value<'_>) -> Option<&str> {
        if self.values.is_empty() {
            return None;
        }
        let value = word(&value.name()?);
        let is_it = |given: &&ValueMapping| {
            plain(&given.column) == plain(name) && word(&given.from) == value
        };
        self.values.iter().find(is_it).map(|given| &*given.to)
    }

    /// Returns the meaning of each name of a file or object. If several hold a field that is no list, the one that
    /// the user mapped holds it, or else the one whose name ranks first; the rest are other values.
    pub(super) fn meanings<'a>(&self, names: impl Iterator<Item = &'a str>) -> Vec<Meaning> {
        let mut holders: HashMap<&'static str, (usize, usize)> = HashMap::new();
        let mut meanings = Vec::new();
        for (place, name) in names.enumerate() {
            let (meaning, rank) = match self.get(name) {
                Some(meaning) => (meaning, 0),
                None => FIELDS
                    .get(&plain(name))
                    .map_or((Meaning::Other, 0), |(field, rank)| (Meaning::Field(*field), *rank)),
            };
            meanings.push(meaning);
            let Meaning::Field(field) = meaning else { continue };
            if field.is_list() {
                continue;
            }
            let holder = holders.entry(field.name()).or_insert((rank, place));
            if holder.1 == place {
                continue;
            }
            let loser =
                if rank < holder.0 { std::mem::replace(holder, (rank, place)).1 } else { place };
            meanings[loser] = Meaning::Other;
        }
        meanings
    }

    /// Checks that a file has all names of the mapping.
    pub(super) fn check<'a>(
        &self,
        names: impl Iterator<Item = &'a str> + Clone,
    ) -> Result<(), Unreadable> {
        let is_there = |given: &str| names.clone().any(|name| plain(name) == plain(given));
        let given = self.meanings.iter().map(|(name, _)| name);
        let mut given = given.chain(self.values.iter().map(|value| &value.column));
        let Some(missing) = given.find(|given| !is_there(given)) else { return Ok(()) };
        let found = names.take(LISTED).map(|name| shortened(name, SHOWN_CHARS));
        let found = found.collect::<Vec<_>>().join(", ");
        Err(Unreadable::UnknownColumn { missing: missing.clone(), found })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_name_holds_a_field_and_lists_have_several() {
        let names =
            ["Name", "Title", "Label", "Tags", "html_url", "URL", "Votes", "Created At (UTC)"];
        let meanings = Mapping::default().meanings(names.into_iter());
        let field = Meaning::Field;
        assert_eq!(
            meanings,
            [
                Meaning::Other,
                field(Field::Title),
                field(Field::Labels),
                field(Field::Labels),
                field(Field::Url),
                Meaning::Other,
                Meaning::Other,
                field(Field::CreatedAt),
            ]
        );
        let mapping = Mapping::new(&[("name".to_owned(), Field::Title)], &["url".to_owned()], &[]);
        let meanings = mapping.meanings(names.into_iter());
        assert_eq!(meanings[..2], [field(Field::Title), Meaning::Other]);
        assert_eq!(meanings[5], Meaning::Ignored);
        assert!(Field::all().all(|field| Field::from_name(field.name()) == Some(field)));
    }
}
