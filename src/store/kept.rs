//! An issue in the memory of a process.

use std::fmt;
use std::sync::Arc;

use bytestring::ByteString;

use crate::domain::{Issue, IssueId};

/// An issue, as a value or as it stands in the file that it was read from.
///
/// Of a large store a process looks at few issues. The others stay text, a slice of the file's: that
/// takes a fraction of the time and less memory than values, and they are written as they were read.
#[derive(Clone)]
pub(super) enum Kept {
    /// An issue that changed, or that stood in the file in another form.
    Whole(Arc<Issue>),
    /// An issue in exactly the form in which it is written.
    Written(Written),
}

/// The text of an issue.
#[derive(Clone)]
pub(super) struct Written {
    text: ByteString,
    read: fn(&str) -> Issue,
}

impl Written {
    /// A text that `read` was found to read.
    pub fn new(text: ByteString, read: fn(&str) -> Issue) -> Self {
        Self { text, read }
    }

    /// What was read, to the letter.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl Kept {
    /// The id of the issue.
    pub fn id(&self) -> IssueId {
        match self {
            Self::Whole(issue) => issue.id,
            // It is the first value of the text.
            Self::Written(written) => {
                let id = written.text().split('"').nth(3).and_then(IssueId::parse);
                id.unwrap_or_else(|| self.issue().id)
            }
        }
    }

    /// The issue as a value, made anew each time from a text.
    pub fn issue(&self) -> Arc<Issue> {
        match self {
            Self::Whole(issue) => Arc::clone(issue),
            Self::Written(written) => Arc::new((written.read)(&written.text)),
        }
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.issue().fmt(f)
    }
}
