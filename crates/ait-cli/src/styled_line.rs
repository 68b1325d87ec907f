//! A line of styled parts.

use std::iter::repeat_n;
use std::ops::Range;

use anyhow::Result;
use clap::builder::styling::Style;
use unicode_width::UnicodeWidthChar;

use super::Output;
use super::sanitize::{columns, cut};

/// Adjacent parts. Their texts must already be sanitized.
#[derive(Clone, Debug, Default)]
pub(super) struct Line(Vec<(String, Style)>);

impl Line {
    /// Appends a part, unless it is empty.
    pub fn part(mut self, style: Style, text: impl Into<String>) -> Self {
        let text = text.into();
        if !text.is_empty() {
            self.0.push((text, style));
        }
        self
    }

    /// Appends a part without a style.
    pub fn text(self, text: impl Into<String>) -> Self {
        self.part(Style::new(), text)
    }

    /// Prepends a part without a style.
    pub fn after(mut self, text: impl Into<String>) -> Self {
        self.0.insert(0, (text.into(), Style::new()));
        self
    }

    /// Returns the width in columns.
    pub fn columns(&self) -> usize {
        self.0.iter().map(|(text, _)| columns(text)).sum()
    }

    /// Renders the line, cut to a width if there is one.
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

    /// Writes the line, wrapped at spaces on a terminal; rows after the first are indented.
    ///
    /// A word longer than a row stays whole, so that paths and URLs can be copied.
    pub fn write_wrapped(&self, indent: usize, output: &Output) -> Result<()> {
        let text: String = self.0.iter().map(|(text, _)| text.as_str()).collect();
        for (at, row) in rows(&text, output.width().unwrap_or(usize::MAX), indent).enumerate() {
            let indent = if at == 0 { 0 } else { indent };
            let row = self.part_of(row, output);
            output.line(format_args!("{:indent$}{row}", ""))?;
        }
        Ok(())
    }

    /// Renders a range of the bytes of the text.
    fn part_of(&self, range: Range<usize>, output: &Output) -> String {
        let mut line = String::new();
        let mut begin = 0;
        for (text, style) in &self.0 {
            let from = range.start.max(begin);
            let to = range.end.min(begin + text.len());
            if from < to {
                line.push_str(&output.styled(*style, &text[from - begin..to - begin]));
            }
            begin += text.len();
        }
        line
    }

    /// Renders the line, cut or padded to a width.
    pub fn padded(&self, width: usize, output: &Output) -> String {
        let mut line = self.fitted(Some(width), output);
        line.extend(repeat_n(' ', width.saturating_sub(self.columns())));
        line
    }
}

/// Wraps a sanitized text to rows, which all fit: a word longer than a row is broken.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let indent = text.len() - text.trim_start_matches(' ').len();
    for (at, row) in rows(text, width, indent).enumerate() {
        let indent = if at == 0 { 0 } else { indent };
        let mut line = format!("{:indent$}", "");
        for one in text[row].chars() {
            if columns(&line) + one.width().unwrap_or(0) > width {
                lines.push(std::mem::take(&mut line));
            }
            line.push(one);
        }
        lines.push(line);
    }
    lines
}

/// Breaks a text into rows of whole words. The rows after the first are narrower by their indentation.
fn rows(text: &str, width: usize, indent: usize) -> impl Iterator<Item = Range<usize>> {
    let mut rows = Vec::new();
    let mut row = 0..0;
    let mut at = 0;
    for word in text.split(' ') {
        let end = at + word.len();
        let room = if rows.is_empty() { width } else { width.saturating_sub(indent) };
        if !row.is_empty() && !word.is_empty() && columns(&text[row.start..end]) > room {
            rows.push(row.clone());
            row = at..at;
        }
        if !word.is_empty() {
            row.end = end;
        }
        at = end + 1;
    }
    rows.push(row);
    rows.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_rows_always_fit() {
        assert_eq!(wrapped("  one two three", 9), ["  one two", "  three"]);
        assert_eq!(wrapped("a/long/path", 5), ["a/lon", "g/pat", "h"]);
        assert_eq!(wrapped("日本語", 5), ["日本", "語"]);
        assert_eq!(wrapped("", 5), [""]);
    }

    #[test]
    fn rows_break_at_spaces_and_keep_long_words_whole() {
        let wrapped = |text: &str, width| -> Vec<String> {
            rows(text, width, 2).map(|row| text[row].to_owned()).collect()
        };
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("one two three", 6), ["one", "two", "three"]);
        assert_eq!(wrapped("  x  a/long/path and", 6), ["  x", "a/long/path", "and"]);
        assert_eq!(wrapped("日本 語", 5), ["日本", "語"]);
        assert_eq!(wrapped("", 5), [""]);
    }
}
