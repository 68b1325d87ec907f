//! What `ait import` answers: what became, or would become, of each entry of a file.

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use serde::Serialize;

use super::output::{FAINT, STRONG};
use super::table::{self, Cell, Column};
use super::{Ending, Output, plain};
use crate::interchange::Form;

/// How many entries a person is shown.
const SCREENFUL: usize = 20;

/// What becomes of an entry.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub(super) enum Outcome {
    /// It is not in the store, and is imported.
    New,
    /// It is in the store as it is in the file.
    Same,
    /// It is in the store with other content, which stays.
    Different {
        /// The names of the attributes that differ.
        differs: Vec<String>,
    },
    /// It cannot be imported.
    Refused {
        /// Why, and the way out.
        reason: String,
    },
}

/// What becomes of the entries of a file, in its order.
#[derive(Default)]
pub(super) struct Report {
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    line: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(flatten)]
    outcome: Outcome,
}

#[derive(Clone, Copy, Serialize)]
struct Totals {
    new: usize,
    same: usize,
    different: usize,
    refused: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    dry_run: bool,
    format: &'a str,
    #[serde(flatten)]
    totals: Totals,
    issues: &'a [Row],
}

impl Report {
    /// Takes note of an entry and gives its place in the report.
    pub fn push(
        &mut self,
        line: usize,
        id: Option<String>,
        title: Option<String>,
        outcome: Outcome,
    ) -> usize {
        self.rows.push(Row { line, id, title, outcome });
        self.rows.len() - 1
    }

    /// Takes note of what has really become of an entry.
    pub fn set(&mut self, place: usize, outcome: Outcome) {
        self.rows[place].outcome = outcome;
    }

    /// Writes the report and says how the import has ended.
    pub fn write(
        &self,
        form: Form,
        dry_run: bool,
        json: bool,
        output: &mut Output,
    ) -> Result<Ending> {
        let totals = self.totals();
        if json {
            output.json(&Answer { dry_run, format: form.as_str(), totals, issues: &self.rows })?;
        } else {
            self.write_rows(dry_run, output)?;
            let Totals { new, same, different, refused } = totals;
            let counts =
                format!("{new} new, {same} same, {different} different, {refused} refused");
            output.line(if dry_run { format!("nothing is written: {counts}") } else { counts })?;
        }
        Ok(if totals.different + totals.refused == 0 { Ending::Done } else { Ending::Partly })
    }

    fn totals(&self) -> Totals {
        let count = |is_it: fn(&Outcome) -> bool| {
            self.rows.iter().filter(|row| is_it(&row.outcome)).count()
        };
        Totals {
            new: count(|outcome| matches!(outcome, Outcome::New)),
            same: count(|outcome| matches!(outcome, Outcome::Same)),
            different: count(|outcome| matches!(outcome, Outcome::Different { .. })),
            refused: count(|outcome| matches!(outcome, Outcome::Refused { .. })),
        }
    }

    /// What was not imported and why; before the import, also what would be.
    fn write_rows(&self, dry_run: bool, output: &mut Output) -> Result<()> {
        let is_told = |row: &&Row| match row.outcome {
            Outcome::New => dry_run,
            Outcome::Same => false,
            Outcome::Different { .. } | Outcome::Refused { .. } => true,
        };
        let most = if output.is_terminal() { SCREENFUL } else { usize::MAX };
        let told = self.rows.iter().filter(is_told).count();
        let rows: Vec<_> = self.rows.iter().filter(is_told).take(most).map(Row::cells).collect();
        if rows.is_empty() {
            return Ok(());
        }
        let mut lines = table::rows(output, COLUMNS, &rows).into_iter();
        lines.next().map_or(Ok(()), |head| output.line(head))?;
        for (line, row) in lines.zip(&rows) {
            output.line(line)?;
            // Whole, because it tells what to do; a terminal has no room for it beside the rest.
            let [.., why] = row;
            if output.width().is_some() && !why.text.is_empty() {
                output.line(format_args!("{WHY_INDENT}{}", why.text))?;
            }
        }
        if told > rows.len() {
            let more = format!("and {} more: --json tells all", told - rows.len());
            let more = output.styled(FAINT, more);
            output.line(more)?;
        }
        Ok(())
    }
}

const COLUMNS: [Column; 5] = [
    Column { name: "LINE", from_width: 0, at_most: 8 },
    Column { name: "OUTCOME", from_width: 0, at_most: 9 },
    Column { name: "ID", from_width: 0, at_most: 16 },
    Column { name: "TITLE", from_width: 0, at_most: usize::MAX },
    // No terminal is so wide; see `write_rows`.
    Column { name: "WHY", from_width: usize::MAX, at_most: usize::MAX },
];
const WHY_INDENT: &str = "  ";

impl Row {
    fn cells(&self) -> [Cell; 5] {
        let (word, colour, why) = match &self.outcome {
            Outcome::New => ("new", AnsiColor::Green, String::new()),
            Outcome::Same => ("same", AnsiColor::White, String::new()),
            Outcome::Different { differs } => {
                let why = format!("other {}; what the store has is kept", differs.join(", "));
                ("different", AnsiColor::Yellow, why)
            }
            Outcome::Refused { reason } => ("refused", AnsiColor::Red, reason.clone()),
        };
        let text = |text: &Option<String>| text.as_deref().map_or("-".to_owned(), plain::line);
        // Ids of ours are long, and 8 digits of them name an issue.
        let id = match &self.outcome {
            Outcome::Refused { .. } => text(&self.id),
            _ => text(&self.id).chars().take(8).collect(),
        };
        [
            Cell::new(self.line.to_string(), FAINT),
            Cell::new(word, colour.on_default()),
            Cell::new(id, STRONG),
            Cell::new(text(&self.title), Style::new()),
            Cell::new(plain::line(&why), Style::new()),
        ]
    }
}
