//! What people keep for the pages of a project, under one key beside the issues: which rows of the inbox are put off,
//! and views of the list.
//!
//! The store merges it, so that two people may change it at once, and `issues.json` has it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use ait_domain::{IssueId, Timestamp};
use ait_tracker::read_model::ReadView;

/// The key.
pub(super) const KEY: &str = "pages";
/// How many rows can be put off at once. Those that were put off first come back.
const MAX_PUT_OFF: usize = 500;

#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PageData {
    put_off: BTreeMap<String, PutOff>,
    /// The query strings of views by their names.
    pub views: BTreeMap<String, String>,
}

/// That a row of the inbox is put off.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
struct PutOff {
    at: Timestamp,
    /// When it comes back; `None` for when its issue changes.
    until: Option<Timestamp>,
}

impl PageData {
    /// Reads it. What has another form is not ours.
    pub fn of(view: &ReadView<'_>) -> Self {
        let text = view.unknown_key(KEY).unwrap_or_default();
        serde_json::from_str(text).unwrap_or_default()
    }

    /// Returns true if any row was put off.
    pub fn has_put_off(&self) -> bool {
        !self.put_off.is_empty()
    }

    /// Returns true if a row is put off whose issue changed last at a time.
    pub fn is_put_off(&self, row: &str, changed_at: Option<Timestamp>, now: Timestamp) -> bool {
        self.put_off.get(row).is_some_and(|put_off| match put_off.until {
            Some(until) => now < until,
            None => changed_at.is_none_or(|changed_at| changed_at <= put_off.at),
        })
    }

    /// Returns the change that puts a row off until a time, or until its issue changes. Rows whose time has come are
    /// forgotten.
    pub fn putting_off(&self, row: &str, now: Timestamp, until: Option<Timestamp>) -> Value {
        let mut oldest: Vec<_> = self.put_off.iter().collect();
        oldest.sort_by_key(|(_, put_off)| put_off.at);
        let surplus = (oldest.len() + 1).saturating_sub(MAX_PUT_OFF);
        let is_over = |put_off: &PutOff| put_off.until.is_some_and(|until| until <= now);
        let forgotten =
            oldest.iter().enumerate().filter(|(at, (_, one))| *at < surplus || is_over(one));
        let mut rows: serde_json::Map<_, _> =
            forgotten.map(|(_, (row, _))| ((*row).clone(), Value::Null)).collect();
        rows.insert(row.to_owned(), json!({ "at": now, "until": until }));
        json!({ "putOff": rows })
    }

    /// Returns the change that saves a view, or forgets it.
    pub fn keeping_view(name: &str, query: Option<&str>) -> Value {
        json!({ "views": { name: query } })
    }

    /// Returns the change that brings a row back.
    pub fn bringing_back(row: &str) -> Value {
        json!({ "putOff": { row: null } })
    }
}

/// Returns true if rows have such names: a kind, or a kind and the id of an issue.
pub(super) fn is_row(name: &str) -> bool {
    const MAX_KIND_BYTES: usize = 40;
    let (kind, issue) = name.split_once(':').map_or((name, None), |(kind, id)| (kind, Some(id)));
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    (1..=MAX_KIND_BYTES).contains(&kind.len())
        && kind.bytes().all(is_letter)
        && issue.is_none_or(|id| IssueId::parse(id).is_some_and(|parsed| parsed.to_string() == id))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(minute: i64) -> Timestamp {
        Timestamp::from_unix_millis(minute * 60_000)
    }

    #[test]
    fn a_row_is_put_off_until_its_time_or_a_change() {
        let data: PageData = serde_json::from_value(json!({ "putOff": {
            "stale": { "at": time(5), "until": time(9) }, "parked:1": { "at": time(5), "until": null },
        } }))
        .unwrap();
        for (row, changed, now, expected) in [
            ("stale", Some(time(7)), 8, true),
            ("stale", None, 9, false),
            ("parked:1", Some(time(5)), 99, true),
            ("parked:1", Some(time(6)), 99, false),
            ("other", None, 6, false),
        ] {
            assert_eq!(data.is_put_off(row, changed, time(now)), expected, "{row} {now}");
        }
        // A row whose time has come is forgotten.
        let change = data.putting_off("a", time(10), None);
        assert_eq!(change["putOff"]["stale"], Value::Null);
        assert!(
            change["putOff"].get("parked:1").is_none()
                && change["putOff"]["a"]["at"] == json!(time(10))
        );
        let many = (0..600).map(|n| (format!("r{n:03}"), PutOff { at: time(n), until: None }));
        let full = PageData { put_off: many.collect(), ..PageData::default() };
        let change = full.putting_off("a", time(999), None);
        assert_eq!(
            change["putOff"].as_object().unwrap().len(),
            102,
            "the 101 oldest, and the new one"
        );
    }

    #[test]
    fn only_rows_that_there_can_be_are_put_off() {
        let id = "3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73";
        for (name, expected) in [
            ("nothing_ready", true),
            (&*format!("stale:{id}"), true),
            (&*format!("parked:{}", id.to_uppercase()), false),
            ("stale:3f2a9c1e", false),
            ("", false),
            ("a b", false),
            ("stale:", false),
            (&*"x".repeat(41), false),
        ] {
            assert_eq!(is_row(name), expected, "{name}");
        }
    }
}
