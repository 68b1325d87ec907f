//! The issue, its lifecycle and the rules of it: pure values and functions.
//!
//! Nothing here waits, reads a file, asks for the time, draws a random number or logs. A caller's
//! wish is a [`Command`]; [`rules::decide`] turns it into an [`Event`] or a [`DomainError`]; applying
//! an event is the only way in which an [`Issue`] changes.

pub mod command;
pub mod error;
pub mod event;
pub mod extra;
pub mod id;
pub mod importable;
pub mod issue;
pub mod merge;
pub mod patch;
pub mod query;
pub mod rules;
pub mod story;
pub mod text;
pub mod time;

pub use command::{Command, Resolution, Selection};
pub use error::{DomainError, Vocabulary};
pub use event::{Before, Event, EventKind, HAND_EDIT};
pub use extra::Extra;
pub use id::{IssueId, IssueRef};
pub use importable::Importable;
pub use issue::{Classification, Comment, HistoryEntry, Holder, Issue, OLD_CLAIM_MS, Status};
pub use merge::{Merged, merge};
pub use patch::{Change, Patch, Splice};
pub use query::{ContentFilter, Counts, Order, Page, Query, Statuses};
pub use story::Moment;
pub use text::{AgentName, CommentText, Description, Title};
pub use time::Timestamp;
