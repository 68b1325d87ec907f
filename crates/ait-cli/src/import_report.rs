//! The output of `ait import`: the outcome, or the planned outcome, of each entry of a file.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use anyhow::Result;
use clap::builder::styling::{AnsiColor, Style};
use serde::Serialize;

use super::output::{FAINT, STRONG, local};
use super::table::{self, Cell, Column};
use super::{ExitStatus, Output, sanitize};
use ait_domain::Timestamp;
use ait_interchange::Remarks;

/// How many entries are shown on a terminal.
const SCREENFUL: usize = 20;

/// The outcome of an entry.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub(super) enum ImportOutcome {
    /// It is not in the store and is imported.
    New,
    /// It is in the store with the same content.
    Same,
    /// It is in the store with other content, which the store keeps.
    Different {
        /// The names of the attributes that differ.
        differs: Vec<String>,
    },
    /// It is in the store, and what is new in the file is brought in (`--update`).
    Updated {
        /// The names of the attributes that change.
        updates: Vec<String>,
    },
    /// It cannot be imported.
    Refused {
        /// The reason, and the way out.
        reason: String,
    },
    /// It is rightly left out.
    Skipped { reason: String },
}

/// The outcomes of the entries of a file, in its order.
#[derive(Default)]
pub(super) struct Report {
    rows: Vec<Row>,
    /// The columns or keys that are kept without a meaning, and how many issues have each.
    pub kept: BTreeMap<String, usize>,
    /// The values that were read by a guess, with their meaning, and how many issues have each.
    pub guesses: BTreeMap<String, usize>,
}

/// Where an entry is in its file.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Place {
    /// The line, counted from 1.
    pub line: usize,
    /// The position in the array, counted from 1, if the line does not tell the entries apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<usize>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.item {
            Some(item) => write!(f, "item {item}"),
            None => write!(f, "line {}", self.line),
        }
    }
}

/// An entry and its outcome.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Row {
    #[serde(flatten)]
    place: Place,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// The time of filing, if the file gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// The links in the file that were not made, with the reasons.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dropped_links: Vec<String>,
    #[serde(flatten)]
    outcome: ImportOutcome,
}

#[derive(Clone, Copy, Serialize)]
struct Totals {
    new: usize,
    same: usize,
    different: usize,
    updated: usize,
    refused: usize,
    skipped: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    dry_run: bool,
    format: &'a str,
    #[serde(flatten)]
    totals: Totals,
    /// The columns or keys that are kept without a meaning, and how many issues have each.
    kept: &'a BTreeMap<String, usize>,
    /// The values that were read by a guess, with their meaning, and how many issues have each.
    guesses: &'a BTreeMap<String, usize>,
    issues: &'a [Row],
}

impl Report {
    /// Adds an entry and returns its index in the report.
    pub fn push(&mut self, row: Row) -> usize {
        self.rows.push(row);
        self.rows.len() - 1
    }

    /// Replaces the planned outcome of an entry with the actual one.
    pub fn set(&mut self, place: usize, outcome: ImportOutcome) {
        self.rows[place].outcome = outcome;
    }

    /// Adds what there is to tell about an entry that is imported.
    pub fn remark(&mut self, place: usize, remarks: Remarks) {
        for (texts, counts) in
            [(remarks.kept, &mut self.kept), (remarks.guesses, &mut self.guesses)]
        {
            // Of repeated columns, each one counts once.
            for text in texts.into_iter().collect::<BTreeSet<_>>() {
                *counts.entry(text).or_default() += 1;
            }
        }
        self.rows[place].dropped_links = remarks.dropped_links;
    }

    /// Returns the links that were not made, each with the place of its entry.
    pub fn dropped_links(&self) -> impl Iterator<Item = String> {
        self.rows
            .iter()
            .flat_map(|row| row.dropped_links.iter().map(|link| format!("{}: {link}", row.place)))
    }

    /// Prints the report and returns the outcome of the command.
    pub fn write(
        &self,
        form: &str,
        dry_run: bool,
        json: bool,
        output: &Output,
    ) -> Result<ExitStatus> {
        let totals = self.totals();
        if json {
            let Self { rows: issues, kept, guesses } = self;
            output.json(&Answer { dry_run, format: form, totals, kept, guesses, issues })?;
        } else {
            self.write_rows(dry_run, output)?;
            let Totals { new, same, different, updated, refused, skipped } = totals;
            let mut counts =
                format!("{new} new, {same} same, {different} different, {refused} refused");
            for (count, word) in [(updated, "updated"), (skipped, "skipped")] {
                if count > 0 {
                    counts.push_str(&format!(", {count} {word}"));
                }
            }
            output.line(if dry_run { format!("nothing is written: {counts}") } else { counts })?;
        }
        Ok(ExitStatus::done_if(totals.different + totals.refused == 0))
    }

    fn totals(&self) -> Totals {
        let count = |is_it: fn(&ImportOutcome) -> bool| {
            self.rows.iter().filter(|row| is_it(&row.outcome)).count()
        };
        Totals {
            new: count(|outcome| matches!(outcome, ImportOutcome::New)),
            same: count(|outcome| matches!(outcome, ImportOutcome::Same)),
            different: count(|outcome| matches!(outcome, ImportOutcome::Different { .. })),
            updated: count(|outcome| matches!(outcome, ImportOutcome::Updated { .. })),
            refused: count(|outcome| matches!(outcome, ImportOutcome::Refused { .. })),
            skipped: count(|outcome| matches!(outcome, ImportOutcome::Skipped { .. })),
        }
    }

    /// Prints the entries that were not imported, with the reason; in a dry run, also those that would be.
    fn write_rows(&self, dry_run: bool, output: &Output) -> Result<()> {
        let is_told = |row: &&Row| match row.outcome {
            ImportOutcome::New | ImportOutcome::Updated { .. } => dry_run,
            ImportOutcome::Same => false,
            ImportOutcome::Different { .. }
            | ImportOutcome::Refused { .. }
            | ImportOutcome::Skipped { .. } => true,
        };
        let most = if output.is_terminal() { SCREENFUL } else { usize::MAX };
        let told = self.rows.iter().filter(is_told).count();
        let rows: Vec<_> = self.rows.iter().filter(is_told).take(most).map(Row::cells).collect();
        if rows.is_empty() {
            return Ok(());
        }
        let mut columns = COLUMNS;
        if self.rows.iter().any(|row| row.place.item.is_some()) {
            columns[0].name = "ITEM";
        }
        let mut lines = table::rows(output, columns, &rows).into_iter();
        lines.next().map_or(Ok(()), |head| output.line(head))?;
        for (line, row) in lines.zip(&rows) {
            output.line(line)?;
            // The reason tells what to do, so it is printed whole, on a line of its own on a terminal.
            let [.., why] = row;
            if output.width().is_some() && !why.text.is_empty() {
                output.line(format_args!("{WHY_INDENT}{}", why.text))?;
            }
        }
        if told > rows.len() {
            let more = format!("and {} more: --json shows all", told - rows.len());
            let more = output.styled(FAINT, more);
            output.line(more)?;
        }
        Ok(())
    }
}

const COLUMNS: [Column; 6] = [
    Column { name: "LINE", from_width: 0, at_most: 8 },
    Column { name: "OUTCOME", from_width: 0, at_most: 9 },
    Column { name: "ID", from_width: 0, at_most: 16 },
    Column { name: "CREATED", from_width: 80, at_most: 10 },
    Column { name: "TITLE", from_width: 0, at_most: usize::MAX },
    // Never a column on a terminal; see `write_rows`.
    Column { name: "WHY", from_width: usize::MAX, at_most: usize::MAX },
];
const WHY_INDENT: &str = "  ";

impl Row {
    pub fn of(
        place: Place,
        id: Option<String>,
        title: Option<String>,
        outcome: ImportOutcome,
    ) -> Self {
        Self { place, id, title, created_at: None, dropped_links: Vec::new(), outcome }
    }

    fn cells(&self) -> [Cell; 6] {
        let (word, colour, why) = match &self.outcome {
            ImportOutcome::New => ("new", AnsiColor::Green, String::new()),
            ImportOutcome::Same => ("same", AnsiColor::White, String::new()),
            ImportOutcome::Different { differs } => {
                let why = format!("different {}; the store keeps its own", differs.join(", "));
                ("different", AnsiColor::Yellow, why)
            }
            ImportOutcome::Updated { updates } => {
                ("updated", AnsiColor::Cyan, format!("updates {}", updates.join(", ")))
            }
            ImportOutcome::Refused { reason } => ("refused", AnsiColor::Red, reason.clone()),
            ImportOutcome::Skipped { reason } => ("skipped", AnsiColor::White, reason.clone()),
        };
        let text = |text: &Option<String>| text.as_deref().map_or("-".to_owned(), sanitize::line);
        // The ids of the tracker are long, and their first 8 digits suffice.
        let id = match &self.outcome {
            ImportOutcome::Refused { .. } | ImportOutcome::Skipped { .. } => text(&self.id),
            _ => text(&self.id).chars().take(8).collect(),
        };
        // It decides the order of the queue.
        let created = self.created_at.filter(|_| self.outcome == ImportOutcome::New);
        let created = created.map(|time| local(time, "%Y-%m-%d"));
        [
            Cell::new(self.place.item.unwrap_or(self.place.line).to_string(), FAINT),
            Cell::new(word, colour.on_default()),
            Cell::new(id, STRONG),
            Cell::new(created.unwrap_or_default(), FAINT),
            Cell::new(text(&self.title), Style::new()),
            Cell::new(sanitize::line(&why), Style::new()),
        ]
    }
}
