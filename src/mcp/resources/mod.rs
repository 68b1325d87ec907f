//! The resources: data that clients show to people or attach to a conversation.
//!
//! Each read returns the current state, except that diagnostics are cached for five minutes.

pub(super) mod config;
mod diagnostics;
mod queue;

use std::fmt;

use rmcp::model::{
    CacheScope, ErrorData, ReadResourceResult, Resource as Listed, ResourceContents,
    ResourceTemplate as Template,
};
use serde_json::{Value, json};

pub(super) use self::diagnostics::Diagnostics;
use super::options::ReplyFormat;
use super::reply::{Reply, ReplyOptions, WholeIssue};
use super::{FIXED_TTL_MS, McpServer, shown};
use crate::domain::{DomainError, IssueRef};
use crate::hints;
use crate::setup::Preset;
use crate::tracker::StoreError;

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";

const CONFIG: &str = "tracker://config";
const DIAGNOSTICS: &str = "tracker://diagnostics";
const PRESETS: &str = "tracker://presets";
const QUEUE: &str = "tracker://queue";
/// The prefix of the URI of an issue.
const ISSUES: &str = "tracker://issues/";
/// The URI of any issue, as a URI template (RFC 6570).
pub(super) const ISSUE_TEMPLATE: &str = "tracker://issues/{id}";

/// One resource.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Resource {
    /// The effective settings and their sources.
    Config,
    /// The last report of the doctor.
    Diagnostics,
    /// The presets of `ait init`.
    Presets,
    /// The length of each queue, and its oldest issues.
    Queue,
    /// One whole issue.
    Issue(IssueRef),
}

impl Resource {
    /// Parses the URI of a resource.
    ///
    /// # Errors
    ///
    /// The URI names no resource. The error names those that exist.
    pub fn at(uri: &str) -> Result<Self, ReadError> {
        Ok(match uri {
            CONFIG => Self::Config,
            DIAGNOSTICS => Self::Diagnostics,
            PRESETS => Self::Presets,
            QUEUE => Self::Queue,
            _ => {
                let id = uri.strip_prefix(ISSUES).ok_or_else(|| {
                    ReadError::Absent(format!(
                        "no resource {:?}: there are {CONFIG}, {DIAGNOSTICS}, {PRESETS}, {QUEUE} and \
                         {ISSUE_TEMPLATE}",
                        shown(uri)
                    ))
                })?;
                let id = id.parse().map_err(|bad: DomainError| {
                    ReadError::Absent(hints::for_refusal(&bad, &hints::TOOLS))
                });
                Self::Issue(id?)
            }
        })
    }
}

impl Resource {
    /// Returns true if the resource can change while the process runs. Settings are read once, at its start.
    pub fn can_change(&self) -> bool {
        !matches!(self, Self::Config | Self::Presets)
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config => f.write_str(CONFIG),
            Self::Diagnostics => f.write_str(DIAGNOSTICS),
            Self::Presets => f.write_str(PRESETS),
            Self::Queue => f.write_str(QUEUE),
            Self::Issue(id) => write!(f, "{ISSUES}{id}"),
        }
    }
}

/// Returns the definitions of the fixed resources.
pub(super) fn list() -> Vec<Listed> {
    let listed = |uri: &str, name: &str, title: &str, description: &str, kind: &str| {
        Listed::new(uri, name).with_title(title).with_description(description).with_mime_type(kind)
    };
    vec![
        listed(
            QUEUE,
            "queue",
            "Queue",
            "How many issues there are in each status, and the five oldest that wait for review, that wait for \
             a worker (for each classification), and that are claimed.",
            JSON,
        ),
        listed(
            DIAGNOSTICS,
            "diagnostics",
            "Diagnostics",
            "The last report of `ait doctor`, at most five minutes old: a verdict, a reason and a fix for \
             each check.",
            JSON,
        ),
        listed(
            CONFIG,
            "config",
            "Configuration",
            "The effective settings, each with its source. Secrets are left out.",
            YAML,
        ),
        listed(
            PRESETS,
            "presets",
            "Presets",
            "The presets of `ait init --preset`: prompts and workflow.",
            JSON,
        ),
    ]
}

/// Returns the definitions of the resources that exist for each issue.
pub(super) fn templates() -> Vec<Template> {
    let issue = Template::new(ISSUE_TEMPLATE, "issue")
        .with_title("Issue")
        .with_description(
            "One whole issue with its history and comments, by its id or its first 8 or more hex \
             digits.",
        )
        .with_mime_type(JSON);
    vec![issue]
}

/// Why a read failed.
pub(super) enum ReadError {
    /// The resource does not exist, or the id is ambiguous.
    Absent(String),
    /// The resource cannot be read now.
    Failed(String),
}

impl From<StoreError> for ReadError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Refused(_) => Self::Absent(hints::for_store(&error, &hints::TOOLS)),
            error => Self::Failed(hints::for_store(&error, &hints::TOOLS)),
        }
    }
}

impl ReadError {
    /// Converts the error to the response to a request for `uri`.
    pub fn response(self, uri: &str) -> ErrorData {
        match self {
            Self::Absent(text) => ErrorData::resource_not_found(text, Some(json!({ "uri": uri }))),
            Self::Failed(text) => ErrorData::internal_error(text, None),
        }
    }
}

/// The content of a resource.
pub(super) struct Read {
    text: String,
    kind: &'static str,
    ttl_ms: u64,
    scope: CacheScope,
}

impl Read {
    /// Returns JSON that may change at any time, so clients must not cache it.
    fn now(text: String) -> Self {
        Self { text, kind: JSON, ttl_ms: 0, scope: CacheScope::Private }
    }

    /// Converts the content to the response to a request for `uri`.
    pub fn response(self, uri: String, is_modern: bool) -> ReadResourceResult {
        let Self { ttl_ms, scope, .. } = self;
        let result = ReadResourceResult::new(vec![self.contents(uri)]);
        if is_modern { result.with_ttl_ms(ttl_ms).with_cache_scope(scope) } else { result }
    }

    /// Converts the content to the contents of `uri`.
    pub fn contents(self, uri: String) -> ResourceContents {
        ResourceContents::text(self.text, uri).with_mime_type(self.kind)
    }
}

/// Reads a resource.
pub(super) async fn read(
    server: &McpServer,
    resource: &Resource,
    replies: &ReplyOptions,
) -> Result<Read, ReadError> {
    // The media type of a resource does not depend on the form of replies.
    let replies = ReplyOptions { format: ReplyFormat::Json, ..replies.clone() };

    match resource {
        Resource::Config => {
            let text = config::yaml(&server.context().await.settings);
            Ok(Read { kind: YAML, ..Read::now(text) })
        }
        Resource::Diagnostics => {
            let (report, ttl_ms) = server.diagnostics().report().await;
            let report = serde_json::to_value(&*report).map_err(defect)?;
            Ok(Read { ttl_ms, ..Read::now(text(&replies, Reply::Report(report))?) })
        }
        Resource::Presets => presets(&replies),
        Resource::Queue => {
            let queues = queue::overview(server.tracker()).await?;
            Ok(Read::now(text(&replies, Reply::Report(queues))?))
        }
        Resource::Issue(reference) => {
            let issue = server.tracker().get_issue(reference.clone()).await?;
            let whole = WholeIssue::plain(issue);
            Ok(Read::now(text(&replies, Reply::Issue(whole))?))
        }
    }
}

/// Returns the presets as their files describe them.
fn presets(replies: &ReplyOptions) -> Result<Read, ReadError> {
    let presets: Value = Preset::all()
        .map(|Preset { name, description, prompts, workflow }| {
            json!({
                "name": name,
                "description": description,
                "command": format!("ait init --preset {name}"),
                "prompts": prompts,
                // No preset has settings, and clients may read the key.
                "settings": {},
                "workflow": workflow.trim_end(),
            })
        })
        .collect();
    Ok(Read {
        ttl_ms: FIXED_TTL_MS,
        scope: CacheScope::Public,
        ..Read::now(text(replies, Reply::Report(presets))?)
    })
}

fn text(replies: &ReplyOptions, reply: Reply) -> Result<String, ReadError> {
    replies.write(&reply).map_err(defect)
}

fn defect(error: serde_json::Error) -> ReadError {
    ReadError::Failed(format!("failed to write JSON: {error}"))
}
