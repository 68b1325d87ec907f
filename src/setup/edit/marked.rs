//! A section of ours in a text of somebody else, between two lines that mark it.

use super::{EditError, line_end, split_mark};

/// The lines around a section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Marks {
    /// The line before it.
    pub begin: &'static str,
    /// The line behind it.
    pub end: &'static str,
}

/// Those of a section in Markdown.
pub const MARKDOWN: Marks =
    Marks { begin: "<!-- ait init: begin -->", end: "<!-- ait init: end -->" };
/// Those of a section in a file whose comments begin with a number sign.
pub const NUMBER_SIGN: Marks = Marks { begin: "# ait init: begin", end: "# ait init: end" };

/// Where a section stands in a text: from its first mark to the end of its last one.
struct Span {
    start: usize,
    end: usize,
}

impl Marks {
    /// The lines of the section, if there is one.
    ///
    /// # Errors
    ///
    /// One mark stands without the other.
    pub fn section(self, text: &str) -> Result<Option<String>, EditError> {
        let Some(Span { start, end }) = self.find(text)? else { return Ok(None) };
        let inside = &text[start + self.begin.len()..end - self.end.len()];
        Ok(Some(inside.replace("\r\n", "\n").trim_matches('\n').to_owned()))
    }

    /// The text with a section of these lines: where there is one, else at the end.
    ///
    /// # Errors
    ///
    /// Those of [`section`](Self::section).
    pub fn set(self, text: &str, lines: &str) -> Result<String, EditError> {
        let end_of_line = line_end(text);
        let section = format!("{}\n{}\n{}", self.begin, lines.trim_matches('\n'), self.end);
        let section = section.replace('\n', end_of_line);
        if let Some(Span { start, end }) = self.find(text)? {
            return Ok(format!("{}{section}{}", &text[..start], &text[end..]));
        }
        let between = if split_mark(text).1.is_empty() { "" } else { end_of_line };
        Ok(match text.is_empty() || text.ends_with(['\n', '\u{feff}']) {
            true => format!("{text}{between}{section}{end_of_line}"),
            // As a text without an end of its last line stays one, this can be taken back.
            false => format!("{text}{end_of_line}{between}{section}"),
        })
    }

    /// The text without the section.
    ///
    /// # Errors
    ///
    /// Those of [`section`](Self::section).
    pub fn unset(self, text: &str) -> Result<String, EditError> {
        let Some(Span { start, end }) = self.find(text)? else { return Ok(text.to_owned()) };
        let (before, after) = (&text[..start], &text[end..]);
        let behind = after.strip_prefix("\r\n").or_else(|| after.strip_prefix('\n'));
        let shorter = |text: &'_ str| -> usize {
            let text = text.strip_suffix('\n').unwrap_or(text);
            text.strip_suffix('\r').unwrap_or(text).len()
        };
        // The empty line before it came with it, and so did the end of the line before that.
        let is_empty_line = |text: &str| {
            let kept = &text[..shorter(text)];
            kept.len() < text.len() && (kept.is_empty() || kept.ends_with('\n'))
        };
        let mut kept = before;
        if is_empty_line(kept) {
            kept = &kept[..shorter(kept)];
        }
        if behind.is_none() {
            kept = &kept[..shorter(kept)];
        }
        Ok(format!("{kept}{}", behind.unwrap_or(after)))
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
