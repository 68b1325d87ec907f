//! Tables with aligned columns.

use clap::builder::styling::Style;

use super::output::{FAINT, Output};
use super::sanitize::{columns, cut};

/// The gap between two columns.
const GAP: usize = 2;

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
        let widest = rows.iter().map(|row| columns(&row[at].text)).max().unwrap_or(0);
        let widest = widest.max(table[at].name.len());
        if room.is_some() { widest.min(table[at].at_most) } else { widest }
    };
    let widths: Vec<usize> = others.iter().map(|&at| width_of(at)).collect();
    let taken: usize = widths.iter().map(|width| width + GAP).sum();
    let left = room.map_or(usize::MAX, |width| width.saturating_sub(taken));
    let line = |cell: &dyn Fn(usize) -> (String, Style)| {
        let mut line = String::new();
        for (&at, &width) in others.iter().zip(&widths) {
            let (text, style) = cell(at);
            let text = cut(&text, width);
            let padding = width - columns(&text) + GAP;
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
