//! One row of a CSV file: what its cells say, and what is assumed where they say nothing.

use ::csv::StringRecord;
use chrono::{NaiveDate, NaiveDateTime};
use indexmap::IndexMap;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use super::super::{Draft, derived};
use super::{EXTRA, Header, KEY, SHOWN_CHARS, unguarded};
use crate::domain::text::shortened;
use crate::domain::{
    Classification, DomainError, Extra, HistoryEntry, Issue, IssueId, Status, Timestamp,
};
use crate::json_text;

pub(super) struct Row<'a> {
    pub header: &'a Header,
    pub cells: &'a StringRecord,
}

impl Row<'_> {
    /// What the row says in a column, if anything.
    pub fn cell(&self, column: &str) -> Option<&str> {
        let cell = self.cells.get(self.header.place_of(column)?)?;
        Some(cell).filter(|cell| !cell.trim().is_empty())
    }

    pub fn draft(&self, now: Timestamp) -> Result<Draft, String> {
        let (cells, columns) = (self.cells.len(), self.header.names.len());
        if cells > columns {
            return Err(format!(
                "the row has {cells} cells and the header {columns}: put texts with separators into \
                 quotation marks"
            ));
        }
        let (title, description) = (self.text("title"), self.text("description"));
        let title = if self.header.is_ours { &title } else { title.trim() };
        let created_at = self.time("createdAt")?;
        let modified_at = self.time("modifiedAt")?;
        let classification = self.cell("classification").map(classification_of).transpose()?;
        let status = self.cell("status").map(status_of).transpose()?;
        let history = self.json("history")?;
        let comments = self.json("comments")?;
        let unstated = [
            ("description", self.header.place_of("description").is_none()),
            ("classification", classification.is_none()),
            ("createdAt", created_at.is_none()),
            ("modifiedAt", modified_at.is_none()),
            ("status", status.is_none()),
            ("history", history.is_none()),
            ("comments", comments.is_none()),
            (EXTRA, !self.header.is_ours),
        ];
        let unstated = unstated.into_iter().filter(|(_, is_unstated)| *is_unstated);
        let created_at = created_at.or(modified_at).unwrap_or(now);
        let history: Vec<HistoryEntry> = history.unwrap_or_default();
        let issue = Issue {
            id: self.id(title, &description),
            title: title.to_owned(),
            extra: self.extra()?,
            description,
            classification: classification.unwrap_or(Classification::Improvement),
            created_at,
            modified_at: modified_at.unwrap_or(created_at),
            status: derived::status(status.unwrap_or(Status::Created), &history),
            history,
            comments: comments.unwrap_or_default(),
        };
        let issue = issue.try_into().map_err(|error: DomainError| error.to_string())?;
        Ok(Draft { issue, unstated: unstated.map(|(name, _)| name).collect() })
    }

    fn text(&self, column: &str) -> String {
        let cell = self.header.place_of(column).and_then(|place| self.cells.get(place));
        let cell = cell.unwrap_or_default();
        let text = if self.header.is_ours { unguarded(cell) } else { cell };
        text.to_owned()
    }

    fn time(&self, column: &str) -> Result<Option<Timestamp>, String> {
        let Some(text) = self.cell(column) else { return Ok(None) };
        match time_of(text.trim()) {
            Some(time) => Ok(Some(time)),
            None => Err(format!(
                "{column} is {:?}, which is no time: write it as 2026-01-31T09:30:00Z or 2026-01-31",
                shortened(text, SHOWN_CHARS)
            )),
        }
    }

    fn json<T: DeserializeOwned>(&self, column: &str) -> Result<Option<T>, String> {
        let Some(text) = self.cell(column) else { return Ok(None) };
        // Values of unknown keys are kept to the letter: without line breaks they fit into one line.
        let value = serde_json::from_str(&json_text::without_white_space(text));
        value.map(Some).map_err(|error| {
            format!("{column} is not the JSON of an export: {}", json_text::problem(&error))
        })
    }

    /// The id of ours in the row, or one derived from what the row is known by.
    fn id(&self, title: &str, description: &str) -> IssueId {
        let Some(given) = self.cell("id").map(str::trim) else {
            return derived::id("csv row", &[title, description]);
        };
        our_id(given).unwrap_or_else(|| derived::id("csv", &[given]))
    }

    /// The unknown keys: those that were exported, and the columns that mean nothing here.
    fn extra(&self) -> Result<Extra, String> {
        let mut extra = Extra::default();
        let known: Option<IndexMap<String, Box<RawValue>>> = self.json(EXTRA)?;
        for (key, value) in known.unwrap_or_default() {
            extra.insert(key, value);
        }
        let mut others = Map::new();
        for (place, cell) in self.cells.iter().enumerate() {
            let is_kept = match self.header.meanings.get(place).copied().flatten() {
                None => true,
                // An id that is none here still names the issue elsewhere.
                Some("id") => our_id(cell.trim()).is_none(),
                Some(_) => false,
            };
            if is_kept && !cell.trim().is_empty() {
                others.insert(self.header.names[place].clone(), Value::from(cell));
            }
        }
        if !others.is_empty()
            && let Ok(others) = to_raw_value(&others)
        {
            extra.insert(KEY.to_owned(), others);
        }
        Ok(extra)
    }
}

fn our_id(text: &str) -> Option<IssueId> {
    serde_json::from_value(Value::from(text)).ok()
}

/// A word of a list of words, in any case and with spaces in it.
fn word(text: &str) -> String {
    text.trim().to_lowercase().replace([' ', '-'], "_")
}

fn classification_of(text: &str) -> Result<Classification, String> {
    let word = word(text);
    let usual = match word.as_str() {
        "defect" => Some(Classification::Bug),
        "story" | "user_story" | "epic" => Some(Classification::Feature),
        "enhancement" | "task" | "sub_task" | "chore" => Some(Classification::Improvement),
        _ => None,
    };
    Classification::from_word(&word).or(usual).ok_or_else(|| {
        let given = shortened(text, SHOWN_CHARS);
        format!("classification is {given:?}: write bug, improvement or feature")
    })
}

fn status_of(text: &str) -> Result<Status, String> {
    let word = word(text);
    let usual = match word.as_str() {
        "open" | "new" | "todo" | "to_do" | "backlog" => Some(Status::Created),
        "done" | "resolved" => Some(Status::Closed),
        _ => None,
    };
    Status::from_word(&word).or(usual).ok_or_else(|| {
        let words: Vec<_> = Status::ALL.iter().map(|status| status.as_str()).collect();
        let given = shortened(text, SHOWN_CHARS);
        format!("status is {given:?}: write one of {}", words.join(", "))
    })
}

/// A time in our form, or as spreadsheets write it, which then is taken for UTC.
fn time_of(text: &str) -> Option<Timestamp> {
    const FORMS: [&str; 4] =
        ["%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M"];
    let of_day = || NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?.and_hms_opt(0, 0, 0);
    let of_forms = || FORMS.iter().find_map(|form| NaiveDateTime::parse_from_str(text, form).ok());
    let local = || of_forms().or_else(of_day).map(|time| Timestamp::from(time.and_utc()));
    Timestamp::parse(text).or_else(local)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_times_are_understood_as_spreadsheets_write_them() {
        assert_eq!(classification_of(" Bug"), Ok(Classification::Bug));
        assert_eq!(classification_of("User story"), Ok(Classification::Feature));
        assert!(classification_of("idea").unwrap_err().contains("\"idea\": write bug"));
        assert_eq!(status_of("In Progress"), Ok(Status::InProgress));
        assert_eq!(status_of("To-Do"), Ok(Status::Created));
        assert!(status_of("later").unwrap_err().contains("created, in_progress"));
        for (text, time) in [
            ("2026-01-31T09:30:00.5+02:00", "2026-01-31T07:30:00.500Z"),
            ("2026-01-31 09:30", "2026-01-31T09:30:00.000Z"),
            ("2026-01-31", "2026-01-31T00:00:00.000Z"),
        ] {
            assert_eq!(time_of(text).unwrap().to_string(), time);
        }
        assert_eq!(time_of("31.1.2026"), None);
    }
}
