//! One line of parts in different styles.

use std::iter::repeat_n;

use anstyle::Style;

use super::Output;
use super::plain::{columns, cut};

/// Parts that stand beside one another; their texts are harmless already.
#[derive(Clone, Debug, Default)]
pub(super) struct Line(Vec<(String, Style)>);

impl Line {
    /// Puts a part at the end.
    pub fn part(mut self, style: Style, text: impl Into<String>) -> Self {
        self.0.push((text.into(), style));
        self
    }

    /// Puts a part without a style at the end.
    pub fn text(self, text: impl Into<String>) -> Self {
        self.part(Style::new(), text)
    }

    /// Puts a part without a style at the beginning.
    pub fn after(mut self, text: impl Into<String>) -> Self {
        self.0.insert(0, (text.into(), Style::new()));
        self
    }

    /// How many columns it takes.
    pub fn columns(&self) -> usize {
        self.0.iter().map(|(text, _)| columns(text)).sum()
    }

    /// The line, cut to a width where there is one.
    pub fn fitted(&self, width: Option<usize>, output: &Output) -> String {
        let mut left = width.unwrap_or(usize::MAX);
        let mut line = String::new();
        for (text, style) in &self.0 {
            let text = cut(text, left);
            left -= columns(&text);
            line.push_str(&output.styled(*style, text));
        }
        line
    }

    /// The line, cut or filled up with spaces to a width.
    pub fn padded(&self, width: usize, output: &Output) -> String {
        let mut line = self.fitted(Some(width), output);
        line.extend(repeat_n(' ', width.saturating_sub(self.columns())));
        line
    }
}
