//! The issue, its lifecycle and its rules, as pure values and functions.
//!
//! This crate does no I/O and no logging, never blocks, and uses neither a clock nor random numbers. A caller sends
//! a [`Command`]; [`decide()`] turns it into an [`Event`] or a [`DomainError`]. An [`Issue`] changes only by
//! applying an event.
//!
//! # The files
//!
//! * `fields.rs`, `issue.rs`, `attributes.rs`, `due.rs`, `estimate.rs`, `touches.rs`, `budget.rs`,
//!   `question.rs`, `external_id.rs`, `unknown_keys.rs`: the issue and its parts, with their JSON form
//! * `id.rs`, `text.rs`, `time.rs`: ids, texts and times: parsed at the edge, valid inside
//! * `classification.rs`, `templates.rs`: the kinds of work, which of them a project uses, and what their
//!   descriptions say
//! * `command.rs`, `issue_change.rs`, `imported_issue.rs`, `check.rs`, `claim.rs`: commands and what they carry; what
//!   work must pass; which claim a command needs
//! * `decide.rs`, `rules.rs`, `links.rs`, `readiness.rs`, `error.rs`, `error_code.rs`: the decision on a command: an
//!   event, or a refusal with its code; which issues are ready
//! * `event.rs`, `patch.rs`, `action.rs`: events, the difference that one makes, and its phrase in the history
//! * `facts.rs`: what `ait` measured of an action, which its entry of the history keeps
//! * `merge.rs`, `undo.rs`: the three-way merge of an issue, and an issue without some of its events
//! * `query.rs`, `condition.rs`: queries, and the one evaluator of what an issue must be like
//! * `timeline.rs`, `lessons.rs`, `file_names.rs`, `thresholds.rs`, `titles.rs`: the timeline of an issue; what it
//!   tells others; the files that a text names; when something is old, stale or too short; titles that say the same
//! * `memory.rs`: entries of the memory: how what a team keeps stands in an issue
//! * `schema.rs`, `string_enum.rs`, `json_compat.rs`: the JSON schemas of values; enums whose values have words; the
//!   repair of JSON

pub mod action;
mod attributes;
mod budget;
mod check;
mod claim;
mod classification;
pub mod command;
pub mod condition;
mod decide;
mod due;
pub mod error;
pub mod error_code;
mod estimate;
pub mod event;
pub mod external_id;
pub mod facts;
pub mod fields;
pub mod file_names;
pub mod id;
pub mod imported_issue;
pub mod issue;
pub mod issue_change;
pub mod json_compat;
pub mod lessons;
pub mod links;
pub mod memory;
pub mod merge;
pub mod patch;
pub mod query;
mod question;
pub mod readiness;
pub mod rules;
pub mod schema;
mod string_enum;
mod templates;
pub mod text;
pub mod thresholds;
pub mod time;
pub mod timeline;
pub mod titles;
mod touches;
pub mod undo;
pub mod unknown_keys;

pub use action::ActionKind;
pub use attributes::{AttributeValues, Attributes, Label, Link, LinkKind, Parked, Priority};
pub use budget::Budget;
pub use check::{Check, Checks};
pub use claim::{
    Claim, ClaimPolicy, ClaimProof, ClaimRequirement, ClaimSettings, ClaimTerms, ClientId, Lease,
    OverlapPolicy, Provider, RequiredClaim, ReviewPolicy, WithClaim,
};
pub use classification::{Classification, Classifications};
pub use command::{Command, CommandTarget, Resolution};
pub use condition::{Condition, Subject};
pub use decide::{IssueQueue, decide};
pub use due::Due;
pub use error::DomainError;
pub use error_code::{ErrorCode, ErrorDetails};
pub use estimate::Estimate;
pub use event::{Before, Event, EventKind, HAND_EDIT};
pub use facts::{Facts, Receipt, Usage, Work};
pub use fields::{FieldValue, FieldValues, ValueField};
pub use id::{IssueId, IssueRef};
pub use imported_issue::ImportedIssue;
pub use issue::{Comment, HistoryEntry, Holder, Issue, Status};
pub use issue_change::IssueChange;
pub use links::IssueGraph;
pub use merge::{Merged, merge};
pub use patch::{Change, Patch, Splice};
pub use query::{Counts, MatchCounts, Order, Page, Query, StatusSet};
pub use question::{DefaultAnswer, Question, QuestionAnswer};
pub use templates::Template;
pub use text::{AgentName, CommentText, Description, Title};
pub use time::Timestamp;
pub use timeline::{Attempts, TimelineEntry};
pub use touches::Touches;
pub use unknown_keys::UnknownKeys;
