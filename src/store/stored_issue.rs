//! An issue as a store holds it in memory: parsed, or as raw JSON.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::domain::{Issue, IssueId};

/// A process-wide unique revision of an issue or of a whole state. Only clones share it. It means nothing in another
/// process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Revision(pub(super) u64);

impl Revision {
    pub(super) fn new() -> Self {
        Self(Self::many(1).start)
    }

    /// Returns a range of new revisions.
    pub(super) fn many(count: usize) -> Range<u64> {
        /// The next revision. Revision 0 is the state without issues.
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let count = count as u64;
        let first = NEXT.fetch_add(count, Ordering::Relaxed);
        first..first + count
    }
}

/// An issue, parsed or as the JSON text that was read from a file.
///
/// A process uses few issues of a large store. The others stay slices of the file's text. That takes a fraction of
/// the time and less memory than parsing them, and writing them copies the text.
#[derive(Clone)]
pub(super) enum StoredIssue {
    /// A parsed issue: it changed, or the file held it in another form.
    Parsed(Arc<Issue>),
    /// An issue as text, in exactly the form in which it is written.
    Raw(RawIssue),
}

/// The JSON text of an issue.
#[derive(Clone)]
pub(super) struct RawIssue {
    file: Arc<String>,
    range: Range<usize>,
    read: fn(&str) -> Issue,
}

impl RawIssue {
    /// Wraps a range of the text of a file. The caller has checked that `read` parses it.
    pub fn new(file: Arc<String>, range: Range<usize>, read: fn(&str) -> Issue) -> Self {
        Self { file, range, read }
    }

    /// Returns the text exactly as it was read.
    pub fn text(&self) -> &str {
        &self.file[self.range.clone()]
    }
}

impl StoredIssue {
    /// Returns the id of the issue.
    pub fn id(&self) -> IssueId {
        match self {
            Self::Parsed(issue) => issue.id,
            // The id is the first value in the text.
            Self::Raw(written) => {
                let id = written.text().split('"').nth(3).and_then(IssueId::parse);
                id.unwrap_or_else(|| self.issue().id)
            }
        }
    }

    /// Returns the parsed issue. A text is parsed again on each call.
    pub fn issue(&self) -> Arc<Issue> {
        match self {
            Self::Parsed(issue) => Arc::clone(issue),
            Self::Raw(written) => Arc::new((written.read)(written.text())),
        }
    }
}

impl fmt::Debug for StoredIssue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.issue().fmt(f)
    }
}
