//! A section of ours in a text of the user, between two lines that mark it.

use super::{EditError, line_end, split_mark};

/// The lines around a section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SectionMarkers {
    /// The line before it.
    pub begin: &'static str,
    /// The line behind it.
    pub end: &'static str,
}

/// The marks in Markdown.
pub const MARKDOWN: SectionMarkers =
    SectionMarkers { begin: "<!-- ait init: begin -->", end: "<!-- ait init: end -->" };
/// The marks of the decisions of the memory, in Markdown.
pub const MEMORY: SectionMarkers =
    SectionMarkers { begin: "<!-- ait memory: begin -->", end: "<!-- ait memory: end -->" };
/// The marks in a file whose comments begin with `#`.
pub const NUMBER_SIGN: SectionMarkers =
    SectionMarkers { begin: "# ait init: begin", end: "# ait init: end" };

/// The bytes of a section, with its marks.
struct Span {
    start: usize,
    end: usize,
}

impl SectionMarkers {
    /// The lines of the section, if there is one.
    ///
    /// # Errors
    ///
    /// The marks are not there once each, in their order.
    pub fn section(self, text: &str) -> Result<Option<String>, EditError> {
        let Some(Span { start, end }) = self.find(text)? else { return Ok(None) };
        let inside = &text[start + self.begin.len()..end - self.end.len()];
        Ok(Some(inside.replace("\r\n", "\n").trim_matches('\n').to_owned()))
    }

    /// The text with a section of these lines: in the place of the present one, else at the end.
    pub fn set(self, text: &str, lines: &str) -> Result<String, EditError> {
        let line_end = line_end(text);
        let section = format!("{}\n{}\n{}", self.begin, lines.trim_matches('\n'), self.end);
        let section = section.replace('\n', line_end);
        if let Some(Span { start, end }) = self.find(text)? {
            return Ok(format!("{}{section}{}", &text[..start], &text[end..]));
        }
        let blank_line = match split_mark(text).1 {
            "" => String::new(),
            body if body.ends_with('\n') => line_end.to_owned(),
            _ => line_end.repeat(2),
        };
        Ok(format!("{text}{blank_line}{section}{line_end}"))
    }

    /// The text without the section, and without the blank line before it.
    pub fn unset(self, text: &str) -> Result<String, EditError> {
        let Some(Span { start, end }) = self.find(text)? else { return Ok(text.to_owned()) };
        let line_end = line_end(text);
        let before = &text[..start];
        let after = &text[end..];
        let is_blank = |line: &str| line.is_empty() || line.ends_with('\n');
        let before = before.strip_suffix(line_end).filter(|rest| is_blank(rest)).unwrap_or(before);
        Ok(format!("{before}{}", after.strip_prefix(line_end).unwrap_or(after)))
    }

    fn find(self, text: &str) -> Result<Option<Span>, EditError> {
        let lines = |mark: &str| -> Vec<usize> {
            let mut at = 0;
            let mut found = Vec::new();
            for line in text.split_inclusive('\n') {
                let bare = split_mark(line).1;
                if bare.trim_end() == mark {
                    found.push(at + line.len() - bare.len());
                }
                at += line.len();
            }
            found
        };
        match (&lines(self.begin)[..], &lines(self.end)[..]) {
            ([], []) => Ok(None),
            ([start], [end]) if start < end => {
                Ok(Some(Span { start: *start, end: end + self.end.len() }))
            }
            _ => Err(EditError::Shape(format!(
                "the lines {:?} and {:?} are expected once each, in this order",
                self.begin, self.end
            ))),
        }
    }
}
