//! Tables with aligned columns.

use clap::builder::styling::Style;

use super::output::{FAINT, Output};
use super::sanitize::{columns, cut};

/// The gap between two columns.
const GAP: usize = 2;
/// The name of the column with ids.
const ID: &str = "ID";
/// The widest id that widens its column. Only the row of a longer one is out of line.
const WIDEST_ID: usize = "3f2a9c1e-7d54".len();

/// The name and the layout of a column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub name: &'static str,
    /// The terminal width below which the column is hidden.
    pub from_width: usize,
    /// The maximum width on a terminal; the last column takes the remaining width.
    pub at_most: usize,
}

/// One cell.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub text: String,
    pub style: Style,
}

impl Cell {
    pub fn new(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style }
    }
}

/// Renders a table with a header.
///
/// On a terminal, each row is cut to one line. Otherwise nothing is cut. Columns before the last are hidden if all of
/// their cells are empty.
pub(super) fn rows<const N: usize>(
    output: &Output,
    table: [Column; N],
    rows: &[[Cell; N]],
) -> Vec<String> {
    let room = output.width();
    let is_empty = |at: usize| at + 1 < N && rows.iter().all(|row| row[at].text.is_empty());
    let fits = |at: usize| room.is_none_or(|width| width >= table[at].from_width);
    let shown: Vec<usize> = (0..N).filter(|&at| fits(at) && !is_empty(at)).collect();
    let Some((&last, others)) = shown.split_last() else { return Vec::new() };
    let width_of = |at: usize| {
        let most = if table[at].name == ID { WIDEST_ID } else { usize::MAX };
        let cells = rows.iter().map(|row| columns(&row[at].text));
        let widest = cells.filter(|width| *width <= most).max().unwrap_or(0);
        let widest = widest.max(table[at].name.len());
        if room.is_some() { widest.min(table[at].at_most) } else { widest }
    };
    let widths: Vec<usize> = others.iter().map(|&at| width_of(at)).collect();
    let line = |cell: &dyn Fn(usize) -> (String, Style)| {
        let mut line = String::new();
        let mut left = room.unwrap_or(usize::MAX);
        for (&at, &width) in others.iter().zip(&widths) {
            let (text, style) = cell(at);
            let text = if table[at].name == ID { text } else { cut(&text, width) };
            let padding = width.saturating_sub(columns(&text)) + GAP;
            left = left.saturating_sub(columns(&text) + padding);
            line.push_str(&output.styled(style, text));
            line.extend(std::iter::repeat_n(' ', padding));
        }
        let (text, style) = cell(last);
        line.push_str(&output.styled(style, cut(&text, left)));
        line.truncate(line.trim_end().len());
        line
    };
    let head = line(&|at| (table[at].name.to_owned(), FAINT));
    let body = rows.iter().map(|row| line(&|at| (row[at].text.clone(), row[at].style)));
    std::iter::once(head).chain(body).collect()
}
