//! CSV (RFC 4180, UTF-8, with a header): one issue per row, for spreadsheets.
//!
//! The columns are `id`, `title`, `description`, `classification`, `status`, `createdAt`, `modifiedAt`, `history`,
//! `comments` and `extra`. If an issue has one of the attributes `priority`, `labels`, `assignee`, `parent` or
//! `blocked_by`, these are columns, too, before `createdAt`; so are `due` and `estimate`, each if an issue has it.
//! `history`, `comments` and `extra` contain JSON; `extra` contains the other attributes and the unknown keys. So an
//! import restores an export exactly.
//!
//! The columns `parent` and `blocked_by` tell which of these links there are. If an issue has other links, or in
//! another order, `extra` has all of its links, and tells their order.
//!
//! # Formulas
//!
//! A spreadsheet evaluates a cell that begins with `=`, `+`, `-` or `@`, and the texts of agents are untrusted. A
//! title or description that begins with one of these, or with an apostrophe, is exported with an apostrophe in
//! front. Importing a file with all of ait's columns removes it again.
//!
//! # Files of other programs
//!
//! Only a title is required. Columns may be in any order and case, be separated by commas, semicolons or tabs, and
//! have the names in [`super::fields`]. Other columns are kept under the unknown key `csv`.

use std::io;
use std::sync::Arc;

use ::csv::{Reader, ReaderBuilder, StringRecord, WriterBuilder};
use serde::Serialize;

use super::fields::{EXTRA, Field, Meaning};
use super::given::{Fault, Given};
use super::partial_issue::PartialIssue;
use super::times::{self, DateOrder};
use super::value::Value;
use super::{Content, FileEntry, ReadOptions, Unreadable, count_of_lines};
use ait_domain::external_id::CSV_KEY;
use ait_domain::text::shortened;
use ait_domain::{AttributeValues, FieldValue, Issue, LinkKind, UnknownKeys, ValueField};

/// The columns of an export, in order.
const COLUMNS: [&str; 10] = [
    "id",
    "title",
    "description",
    "classification",
    "status",
    "createdAt",
    "modifiedAt",
    "history",
    "comments",
    EXTRA,
];
/// The columns of attributes that files have together, and before which column they stand. The other fields have a
/// column behind them if an issue has a value.
const ATTRIBUTE_COLUMNS: [&str; 5] = ["priority", "labels", "assignee", "parent", "blocked_by"];
const BEFORE: usize = 5;
const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];
/// What separates the cells of a file with one column: its texts may have commas without quotation marks.
const NO_SEPARATOR: u8 = 0x1f;
/// With these, the first line tells Excel the separator.
const SEPARATOR_LINE: &str = "sep=";
const SHOWN_CHARS: usize = 60;

/// The value of the column `extra`.
#[derive(Serialize)]
struct UnknownColumns<'a> {
    #[serde(flatten)]
    attributes: AttributeValues,
    #[serde(flatten)]
    unknown_keys: &'a UnknownKeys,
}

/// Writes issues.
pub fn write(
    issues: &[Arc<Issue>],
    out: &mut impl io::Write,
    written: &dyn Fn(),
) -> io::Result<()> {
    let mut rows = WriterBuilder::new().from_writer(out);
    let has =
        |column: &&str| issues.iter().any(|issue| !cell(&issue.attributes, column).is_empty());
    let mut columns = Vec::new();
    if ATTRIBUTE_COLUMNS.iter().any(has) {
        columns.extend(ATTRIBUTE_COLUMNS);
    }
    let further = ValueField::words().filter(|name| !ATTRIBUTE_COLUMNS.contains(name));
    columns.extend(further.filter(has));
    let mut names = COLUMNS.to_vec();
    names.splice(BEFORE..BEFORE, columns.iter().copied());
    rows.write_record(names).map_err(of_out)?;
    for issue in issues {
        let attributes = without_columns(&issue.attributes);
        let is_empty = attributes.set_fields().is_empty() && issue.unknown_keys.is_empty();
        let unknown = UnknownColumns { attributes, unknown_keys: &issue.unknown_keys };
        let mut row = vec![
            issue.id.to_string(),
            guarded(&issue.title),
            guarded(&issue.description),
            issue.classification.to_string(),
            issue.status.to_string(),
            issue.created_at.to_string(),
            issue.modified_at.to_string(),
            json(&issue.history)?,
            json(&issue.comments)?,
            if is_empty { String::new() } else { json(&unknown)? },
        ];
        row.splice(BEFORE..BEFORE, columns.iter().map(|column| cell(&issue.attributes, column)));
        rows.write_record(row).map_err(of_out)?;
        written();
    }
    rows.flush()
}

/// Returns the cell of an attribute.
fn cell(attributes: &AttributeValues, column: &str) -> String {
    match (ValueField::from_word(column), LinkKind::from_word(column)) {
        (Some(field), _) => guarded(&FieldValue::of(field, attributes).to_string()),
        (_, Some(kind)) => joined(attributes.linked(kind)),
        _ => joined(&attributes.labels),
    }
}

fn joined(values: impl IntoIterator<Item = impl ToString>) -> String {
    let texts: Vec<_> = values.into_iter().map(|value| value.to_string()).collect();
    texts.join(",")
}

/// Returns the attributes that the columns do not give.
fn without_columns(attributes: &AttributeValues) -> AttributeValues {
    let order = attributes.links.iter().map(|link| link.kind);
    // An import lists the parent first, then the blockers.
    let is_plain = order.clone().all(LinkKind::decides_order) && order.is_sorted();
    let links = if is_plain { Vec::new() } else { attributes.links.clone() };
    AttributeValues { links, parked: attributes.parked.clone(), ..AttributeValues::default() }
}

fn json(list: &impl Serialize) -> io::Result<String> {
    Ok(serde_json::to_string(list)?)
}

/// Unwraps the I/O error, so that callers can recognize a closed pipe.
fn of_out(error: ::csv::Error) -> io::Error {
    match error.into_kind() {
        ::csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

fn looks_like_a_formula(text: &str) -> bool {
    text.starts_with(['=', '+', '-', '@', '\t', '\r'])
}

/// Escapes a text that a spreadsheet would evaluate.
fn guarded(text: &str) -> String {
    if looks_like_a_formula(text) || text.starts_with('\'') {
        format!("'{text}")
    } else {
        text.to_owned()
    }
}

fn unguarded(text: &str) -> &str {
    match text.strip_prefix('\'') {
        Some(rest) if looks_like_a_formula(rest) || rest.starts_with('\'') => rest,
        _ => text,
    }
}

/// Reads the entries.
///
/// # Errors
///
/// Returns an error if there is no column for the title, or if a column of the mapping is missing.
pub fn read(text: &str, options: &ReadOptions) -> Result<Vec<FileEntry>, Unreadable> {
    let mut widest = Vec::new();
    let spaced = text.starts_with(SEPARATOR_LINE).then(|| {
        let rest = text.split_once('\n').map_or("", |(_, rest)| rest);
        format!("\n{rest}")
    });
    let text = spaced.as_deref().unwrap_or(text);
    for mut separator in SEPARATORS {
        let mut reader = reader(text, separator);
        let Ok(names) = reader.headers() else { continue };
        let header = Header::of(names, options);
        if header.meanings.contains(&Meaning::Field(Field::Title)) {
            if header.names.len() == 1 {
                separator = NO_SEPARATOR;
                reader = self::reader(text, separator);
            }
            options.mapping.check(header.names.iter().map(String::as_str))?;
            let date_order = header.date_order((text, separator)).or(options.date_order);
            let options = ReadOptions { date_order, ..options.clone() };
            return Ok(entries((text, separator), &mut reader, &header, &options));
        }
        if header.names.len() > widest.len() {
            widest = header.names;
        }
    }
    options.mapping.check(widest.iter().map(String::as_str))?;
    let first = text.lines().next().unwrap_or_default();
    let found = shortened(&first.replace(char::is_control, " "), SHOWN_CHARS);
    Err(Unreadable::NoTitleColumn { found })
}

fn reader(text: &str, separator: u8) -> Reader<&[u8]> {
    // Rows may be shorter than the header. Longer rows are reported below.
    ReaderBuilder::new().delimiter(separator).flexible(true).from_reader(text.as_bytes())
}

fn entries(
    (text, separator): (&str, u8),
    reader: &mut Reader<&[u8]>,
    header: &Header,
    options: &ReadOptions,
) -> Vec<FileEntry> {
    let mut entries = Vec::new();
    let mut line = 1;
    let mut counted_to = 0;
    for row in reader.records() {
        let Ok(row) = row else {
            unreachable!("text in memory, of rows of any length, can be read");
        };
        // The position of a row may lie within the line break before it, so lines are counted here.
        let begin = row.position().map_or(0, |position| position.byte());
        let begin = usize::try_from(begin).unwrap_or(usize::MAX).min(text.len());
        let breaks =
            text.as_bytes()[begin..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n'));
        let begin = begin + breaks.count();
        line += count_of_lines(&text.as_bytes()[counted_to..begin]);
        counted_to = begin;
        if row.iter().all(|cell| cell.trim().is_empty()) {
            continue;
        }
        entries.push(FileEntry { line, item: None, content: header.content(&row, options) });
    }
    if let Some(last) = entries.last_mut().filter(|_| is_left_open(text, separator)) {
        let reason = format!(
            "a quotation mark in the row from line {} on is never closed, so this row and the rows after \
             it cannot be separated: close it",
            last.line
        );
        last.content = Content::Refused { id: None, title: None, reason, blamed: None };
    }
    entries
}

/// Returns true if the last cell begins with a quotation mark that is never closed (RFC 4180, 2.5 to 2.7).
fn is_left_open(text: &str, separator: u8) -> bool {
    let mut is_open = false;
    let mut begins = true;
    let mut bytes = text.bytes().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' if is_open && bytes.peek() == Some(&b'"') => drop(bytes.next()),
            b'"' if is_open => is_open = false,
            b'"' if begins => is_open = true,
            _ => {}
        }
        begins = !is_open && (byte == separator || matches!(byte, b'\n' | b'\r'));
    }
    is_open
}

/// The columns of a file and their meanings.
struct Header {
    names: Vec<String>,
    meanings: Vec<Meaning>,
    /// Whether the file has all of ait's columns, so that ait exported it.
    is_ours: bool,
}

impl Header {
    fn of(names: &StringRecord, options: &ReadOptions) -> Self {
        let names: Vec<String> = names.iter().map(|name| name.trim().to_owned()).collect();
        let meanings = options.mapping.meanings(names.iter().map(String::as_str));
        let is_ours = COLUMNS.iter().all(|column| names.iter().any(|name| name == column));
        Self { names, meanings, is_ours }
    }

    /// Returns the order of day and month that the dates of the file show.
    fn date_order(&self, (text, separator): (&str, u8)) -> Option<DateOrder> {
        let is_time = |meaning: &Meaning| {
            let times = [
                Field::CreatedAt,
                Field::ModifiedAt,
                Field::ClosedAt,
                Field::ParkedUntil,
                Field::Value(ValueField::Due),
            ];
            times.iter().any(|field| *meaning == Meaning::Field(*field))
        };
        let mut reader = reader(text, separator);
        let mut row = StringRecord::new();
        while self.meanings.iter().any(is_time) && reader.read_record(&mut row).ok()? {
            let cells = row.iter().zip(&self.meanings).filter(|(_, meaning)| is_time(meaning));
            if let Some(order) = cells.map(|(cell, _)| cell).find_map(times::order_of) {
                return Some(order);
            }
        }
        None
    }

    fn content(&self, row: &StringRecord, options: &ReadOptions) -> Content {
        let cells = row.iter().zip(self.names.iter().zip(&self.meanings));
        let given = cells.filter_map(|(cell, (name, meaning))| {
            let cell = if self.is_ours { unguarded(cell) } else { cell };
            let cell = options.mapping.replacement(name, Value::Cell(cell)).unwrap_or(cell);
            Given::new(name, *meaning, Value::Cell(cell))
        });
        let values = given.collect();
        let issue =
            PartialIssue { values, is_ours: self.is_ours, key: CSV_KEY, keeps_names: false };
        let cells = row.len();
        let columns = self.names.len();
        let draft = if cells > columns {
            let reason = format!(
                "the row has {cells} cells and the header {columns}: enclose texts with separators in \
                 quotation marks"
            );
            Err(Fault::of(reason))
        } else {
            issue.draft(options)
        };
        draft.map_or_else(|fault| issue.refused(fault), Content::Issue)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::difference::differences;
    use ait_domain::{AgentName, Attributes, IssueId, Label, Link, Parked, Priority, Timestamp};

    const PLAIN: &str = r#"{"id":"3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73","title":"=T","description":"","classification":"bug","createdAt":"2026-01-31T09:30:00.000Z","modifiedAt":"2026-01-31T09:31:00.000Z","status":"created","history":[],"comments":[]}"#;

    fn issue(attributes: AttributeValues, key: &str) -> Issue {
        let mut issue: Issue = serde_json::from_str(PLAIN).unwrap();
        issue.attributes = Attributes::from(attributes);
        if !key.is_empty() {
            let value = serde_json::value::to_raw_value("x, y").unwrap();
            issue.unknown_keys.insert(key.to_owned(), value);
        }
        issue
    }

    fn written(issues: &[Issue]) -> String {
        let issues: Vec<_> = issues.iter().cloned().map(Arc::new).collect();
        let mut bytes = Vec::new();
        write(&issues, &mut bytes, &|| ()).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    /// Returns the entries as drafts.
    fn drafts(text: &str) -> Vec<crate::ImportDraft> {
        let now = Timestamp::from_unix_millis(0);
        let options = ReadOptions::at(now);
        let draft = |entry: FileEntry| match entry.content {
            Content::Issue(draft) => draft,
            other => panic!("{other:?}\n{text}"),
        };
        read(text, &options).unwrap().into_iter().map(draft).collect()
    }

    fn arbitrary_attributes() -> impl Strategy<Value = AttributeValues> {
        let kind = prop::sample::select(LinkKind::ALL);
        let link = (kind, 1u128..6).prop_map(|(kind, to)| {
            let to = IssueId::from(uuid::Uuid::from_u128(to));
            Link { kind, to }
        });
        let links = prop::collection::vec(link, 0..6).prop_map(|links| {
            let mut taken: Vec<Link> = Vec::new();
            for link in links {
                let is_parent = |link: &Link| link.kind == LinkKind::Parent;
                let has_parent = is_parent(&link) && taken.iter().any(is_parent);
                if !has_parent && !taken.contains(&link) {
                    taken.push(link);
                }
            }
            taken
        });
        let labels = prop::collection::btree_set("[a-z0-9][a-z0-9:._/-]{0,8}", 0..4);
        let labels =
            labels.prop_map(|all| all.iter().map(|text| text.parse::<Label>().unwrap()).collect());
        let priority = prop::option::of((0u64..5).prop_map(|n| Priority::try_from(n).unwrap()));
        let assignee = prop::option::of("[-=@'\",; a-zü]{1,9}")
            .prop_map(|name| name.and_then(|name| AgentName::try_from(name).ok()));
        let parked = prop::option::of(".{0,9}").prop_map(|reason| {
            let since = Timestamp::from_unix_millis(1_767_000_000_000);
            reason.map(|reason| Parked {
                reason,
                since,
                by: "lead".to_owned(),
                until: None,
                question: None,
            })
        });
        let due = prop::option::of(prop_oneof![
            "20[0-9]{2}-0[1-9]-1[0-9]",
            "20[0-9]{2}-12-31T23:[0-5][0-9]:00Z"
        ])
        .prop_map(|text| text.map(|text| text.parse().unwrap()));
        let estimate = prop::option::of("[0-9]{1,6}(\\.[0-9]{1,2})?")
            .prop_map(|text| text.map(|text| text.parse().unwrap()));
        let touches = prop::option::of("[a-z@=]{1,6}(, [a-z*]{1,6}){0,3}")
            .prop_map(|text| text.map(|text| text.parse().unwrap()));
        let budget = prop::option::of("[1-9]{1,6}( tokens)?")
            .prop_map(|text| text.map(|text| text.parse().unwrap()));
        (priority, labels, assignee, links, parked, due, estimate, touches, budget).prop_map(
            |(priority, labels, assignee, links, parked, due, estimate, touches, budget)| {
                AttributeValues {
                    priority,
                    labels,
                    assignee,
                    links,
                    parked: parked.map(Box::new),
                    due,
                    estimate,
                    touches,
                    budget,
                }
            },
        )
    }

    proptest! {
        #[test]
        fn attributes_and_other_keys_round_trip(
            all in prop::collection::vec((arbitrary_attributes(), "(|mine)"), 1..4),
        ) {
            let issues: Vec<Issue> =
                all.into_iter().map(|(attributes, key)| issue(attributes, &key)).collect();
            let text = written(&issues);
            let drafts = drafts(&text);
            prop_assert_eq!(drafts.len(), issues.len());
            for (draft, issue) in drafts.iter().zip(&issues) {
                prop_assert_eq!(&**draft.issue.issue(), issue, "{}", text);
                prop_assert_eq!(differences(issue, draft), Vec::<String>::new());
            }
        }
    }

    #[test]
    fn attributes_have_columns_only_if_an_issue_has_one() {
        let old = "id,title,description,classification,status,createdAt,modifiedAt,history,comments,extra\n";
        let parked = AttributeValues {
            parked: Some(Box::new(Parked {
                reason: "later".to_owned(),
                since: Timestamp::from_unix_millis(0),
                by: "lead".to_owned(),
                until: None,
                question: None,
            })),
            ..AttributeValues::default()
        };
        for attributes in [AttributeValues::default(), parked] {
            let text = written(&[issue(attributes, "mine")]);
            assert!(text.starts_with(old), "{text}");
        }
        let to = |number| IssueId::from(uuid::Uuid::from_u128(number));
        let link = |kind, number| Link { kind, to: to(number) };
        let attributes = AttributeValues {
            priority: Some(Priority::FIRST),
            labels: vec!["a".parse().unwrap(), "b".parse().unwrap()],
            assignee: "=dev".parse().ok(),
            links: vec![link(LinkKind::Parent, 1), link(LinkKind::BlockedBy, 2)],
            ..AttributeValues::default()
        };
        let text = written(&[issue(attributes.clone(), ""), issue(AttributeValues::default(), "")]);
        let cells = "created,0,\"a,b\",'=dev,00000000-0000-0000-0000-000000000001,\
                     00000000-0000-0000-0000-000000000002,2026-";
        assert!(text.contains(",priority,labels,assignee,parent,blocked_by,createdAt,"), "{text}");
        assert!(text.contains(cells) && text.contains("created,,,,,,2026-"), "{text}");
        // Versions that had no such columns wrote the attributes into `extra`.
        let extra = serde_json::to_string(&attributes).unwrap().replace('"', "\"\"");
        let plain = written(&[issue(AttributeValues::default(), "")]);
        let older = plain.replace("[],[],", &format!("[],[],\"{extra}\""));
        assert_eq!(*drafts(&older)[0].issue.issue().attributes, attributes);
    }

    #[test]
    fn edited_cells_change_the_links() {
        let one = "00000000-0000-0000-0000-000000000001";
        let two = "00000000-0000-0000-0000-000000000002";
        let header = "id,title,description,classification,status,parent,blocked_by,createdAt,modifiedAt,history,comments,extra\n";
        let row = |parent: &str, blockers: &str| {
            let extra = format!(
                r#"{{""links"":[{{""kind"":""related"",""to"":""{two}""}},{{""kind"":""blocked_by"",""to"":""{one}""}}]}}"#
            );
            format!(
                "{header}3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73,T,,bug,created,{parent},\"{blockers}\",2026-01-31,2026-01-31,[],[],\"{extra}\"\n"
            )
        };
        let links = |text: &str| {
            let links = drafts(text)[0].issue.issue().attributes.links.clone();
            let links =
                links.iter().map(|link| format!("{} {}", link.kind, &link.to.to_string()[35..]));
            links.collect::<Vec<_>>().join(", ")
        };
        assert_eq!(links(&row("", one)), "related 2, blocked_by 1");
        assert_eq!(links(&row(two, "")), "related 2, parent 2");
        assert_eq!(
            links(&row("", &format!("{two}, {one}"))),
            "related 2, blocked_by 1, blocked_by 2"
        );
        for (parent, reason) in
            [("SHOP-1", "no id of ait"), (&*format!("\"{one},{two}\""), "at most one parent")]
        {
            let now = Timestamp::from_unix_millis(0);
            let options = ReadOptions::at(now);
            let entries = read(&row(parent, ""), &options).unwrap();
            let Content::Refused { reason: told, .. } = &entries[0].content else { panic!() };
            assert!(told.contains(reason), "{told}");
        }
    }

    #[test]
    fn formula_escaping_round_trips() {
        for text in ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "'x", "''=x", "x", "", "x=1", "a'b"] {
            assert!(!looks_like_a_formula(&guarded(text)), "{text}");
            assert_eq!(unguarded(&guarded(text)), text);
        }
        assert_eq!(unguarded("'quoted' by hand"), "'quoted' by hand");
    }
}
