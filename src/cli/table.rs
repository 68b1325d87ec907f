//! Aligned columns.

use anstyle::Style;

use super::output::{FAINT, Output};
use super::plain::{columns, cut};

/// The gap between two columns.
const GAP: usize = 2;

/// What a column is called, and what it gives up where there is little room.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub name: &'static str,
    /// The terminal width below which it is left out.
    pub from_width: usize,
    /// The most columns it takes on a terminal; the last column takes what is left.
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

/// The lines of a table, with the names of its columns above them.
///
/// On a terminal each row is one line that fits; elsewhere nothing is cut.
pub(super) fn rows<const N: usize>(
    output: &Output,
    table: [Column; N],
    rows: &[[Cell; N]],
) -> Vec<String> {
    let room = output.width();
    let shown: Vec<usize> =
        (0..N).filter(|&at| room.is_none_or(|width| width >= table[at].from_width)).collect();
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
