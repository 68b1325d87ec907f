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
use super::reply::{List, Reply, ReplyOptions, WholeIssue};
use super::tools::get_digest::MAX_DIGEST_TOKENS;
use super::{FIXED_TTL_MS, McpServer, shown, skills};
use ait_domain::{IssueRef, Order, Query};
use ait_query::{ParsedQuery, SavedQueries};
use ait_setup::Preset;
use ait_tracker::hints;
use ait_tracker::{Lesson, StoreError};

/// How many issues of a saved query a resource shows at most.
const MAX_FOUND: usize = 50;
/// The longest text of an entry that one shows, in characters.
const MAX_ENTRY_CHARS: usize = 200;

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const MARKDOWN: &str = "text/markdown";

/// How the URIs begin.
const SCHEME: &str = "tracker://";
/// The prefix of the URI of an issue.
const ISSUES: &str = "tracker://issues/";
/// The prefix of the URI of a saved query.
const QUERIES: &str = "tracker://queries/";
/// The URI of any saved query, as a URI template (RFC 6570).
pub(super) const QUERY_TEMPLATE: &str = "tracker://queries/{name}";
/// The URI of any issue, as a URI template (RFC 6570).
pub(super) const ISSUE_TEMPLATE: &str = "tracker://issues/{id}";

/// One resource.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Resource {
    /// The effective settings and their sources.
    Config,
    /// The last report of the doctor.
    Diagnostics,
    /// What matters in the queue now.
    Digest,
    /// The entries of the memory in force.
    Memory,
    /// The decisions in force.
    Decisions,
    /// The presets of `ait init`.
    Presets,
    /// The length of each queue, and its oldest issues.
    Queue,
    /// One whole issue.
    Issue(IssueRef),
    /// What a saved query finds, by its name.
    SavedQuery(String),
    /// A prompt as a skill, by its name.
    Skill(String),
}

/// The resources without parameters: each with its name, which ends its URI, its title, its description and its media
/// type.
static FIXED: [(Resource, &str, &str, &str, &str); 7] = [
    (
        Resource::Queue,
        "queue",
        "Queue",
        "How many issues there are in each status, and the five oldest that wait for review, that wait for \
         a worker (for each classification), and that are claimed.",
        JSON,
    ),
    (
        Resource::Digest,
        "digest",
        "Digest",
        "What matters now: counts, open questions, what waits longest, who holds what, what ended in the last \
         24 hours, and what came back often.",
        JSON,
    ),
    (
        Resource::Memory,
        "memory",
        "Memory",
        "What agents and people keep for later ones: the latest entries in force.",
        JSON,
    ),
    (Resource::Decisions, "decisions", "Decisions", "The latest decisions in force.", JSON),
    (
        Resource::Diagnostics,
        "diagnostics",
        "Diagnostics",
        "The last report of `ait doctor`, at most five minutes old: a verdict, a reason and a fix for \
         each check.",
        JSON,
    ),
    (
        Resource::Config,
        "config",
        "Configuration",
        "The effective settings, each with its source. Secrets are left out.",
        YAML,
    ),
    (
        Resource::Presets,
        "presets",
        "Presets",
        "The presets of `ait init --preset`: prompts and workflow.",
        JSON,
    ),
];

impl Resource {
    /// Parses the URI of a resource.
    ///
    /// # Errors
    ///
    /// The URI names no resource. The error names those that exist.
    pub fn at(uri: &str) -> Result<Self, ReadError> {
        let is_it = |name: &str| uri.strip_prefix(SCHEME) == Some(name);
        if let Some((resource, ..)) = FIXED.iter().find(|(_, name, ..)| is_it(name)) {
            return Ok(resource.clone());
        }
        if let Some(name) = uri.strip_prefix(QUERIES) {
            return Ok(Self::SavedQuery(name.to_owned()));
        }
        if let Some(name) = skills::named(uri) {
            return Ok(Self::Skill(name.to_owned()));
        }
        let id = uri.strip_prefix(ISSUES).ok_or_else(|| ReadError::no_resource(uri))?;
        let id = IssueRef::named(id, IssueRef::MIN_DIGITS)
            .map_err(|bad| ReadError::Absent(hints::for_refusal(&bad, &hints::TOOLS)));
        Ok(Self::Issue(id?))
    }

    /// Returns true if the resource can change while the process runs. Settings are read once, at its start.
    pub fn can_change(&self) -> bool {
        !matches!(self, Self::Config | Self::Presets | Self::Skill(_))
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Issue(id) => write!(f, "{ISSUES}{id}"),
            Self::SavedQuery(name) => write!(f, "{QUERIES}{name}"),
            Self::Skill(name) => f.write_str(&skills::uri(name)),
            fixed => {
                let entry = FIXED.iter().find(|(resource, ..)| resource == fixed);
                let (_, name, ..) = entry.expect("the others have no parameters");
                write!(f, "{SCHEME}{name}")
            }
        }
    }
}

/// Returns the definitions of the resources that have no parameters, and of the saved queries.
pub(super) fn list(queries: &SavedQueries) -> Vec<Listed> {
    let listed = |uri: &str, name: &str, title: &str, description: &str, kind: &str| {
        Listed::new(uri, name).with_title(title).with_description(description).with_mime_type(kind)
    };
    let fixed = FIXED.iter().map(|(resource, name, title, description, kind)| {
        listed(&resource.to_string(), name, title, description, kind)
    });
    let mut all: Vec<_> = fixed.collect();
    all.extend(queries.iter().map(|(name, query)| {
        let description = format!("The issues that this query finds: {}", shown(query));
        listed(&format!("{QUERIES}{name}"), name, name, &description, JSON)
    }));
    all
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
    let query = Template::new(QUERY_TEMPLATE, "query")
        .with_title("Saved query")
        .with_description("The first issues that a query of ait.toml finds, by its name.")
        .with_mime_type(JSON);
    vec![issue, query]
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
    /// No resource has the URI.
    fn no_resource(uri: &str) -> Self {
        let known: Vec<_> = FIXED.iter().map(|(resource, ..)| resource.to_string()).collect();
        let known = known.join(", ");
        let uri = shown(uri);
        Self::Absent(format!(
            "no resource {uri:?}: there are {known}, {ISSUE_TEMPLATE} and {QUERY_TEMPLATE}"
        ))
    }

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
            let text = config::yaml(&server.context.get().await);
            Ok(Read { kind: YAML, ..Read::now(text) })
        }
        Resource::Diagnostics => {
            let (report, ttl_ms) = server.diagnostics.report().await;
            let report = serde_json::to_value(&*report).map_err(defect)?;
            Ok(Read { ttl_ms, ..Read::now(text(&replies, Reply::Report(report))?) })
        }
        Resource::Digest => {
            let digest = server.read_model.digest(None, None).await?;
            let digest = serde_json::to_value(digest).map_err(defect)?;
            Ok(Read::now(replies.report_within(digest, MAX_DIGEST_TOKENS)))
        }
        Resource::SavedQuery(name) => {
            let list = saved_query(server, name).await?;
            Ok(Read::now(text(&replies, Reply::List(list))?))
        }
        Resource::Memory | Resource::Decisions => {
            let query = if *resource == Resource::Decisions { "kind:decision" } else { "" };
            let tracker = &server.tracker;
            let query = ParsedQuery::exact(query, &server.options.queries, tracker.now());
            let found = tracker.recalled(&query.unwrap_or_default(), [MAX_FOUND, 0], false).await?;
            let rows = found.entries.iter().map(|entry| Lesson::of_entry(entry, MAX_ENTRY_CHARS));
            let rows: Vec<_> = rows.map(|lesson| lesson.to_string()).collect();
            let report = json!({ "count": found.total, "entries": rows });
            Ok(Read::now(text(&replies, Reply::Report(report))?))
        }
        Resource::Presets => presets(&replies),
        Resource::Skill(name) => {
            let text = skills::text(server, name).await;
            Ok(Read {
                kind: MARKDOWN,
                ttl_ms: server.prompt_ttl_ms(),
                scope: CacheScope::Public,
                text: text.ok_or_else(|| ReadError::no_resource(&resource.to_string()))?,
            })
        }
        Resource::Queue => {
            let queues = queue::overview(&server.tracker).await?;
            Ok(Read::now(text(&replies, Reply::Report(queues))?))
        }
        Resource::Issue(reference) => {
            let issue = server.tracker.get_issue(reference.clone()).await?;
            let whole = WholeIssue::plain(issue);
            Ok(Read::now(text(&replies, Reply::Issue(whole))?))
        }
    }
}

/// Returns what a saved query finds.
async fn saved_query(server: &McpServer, name: &str) -> Result<List, ReadError> {
    let queries = &server.options.queries;
    let now = server.tracker.now();
    if !queries.contains_key(name) {
        let known: Vec<_> = queries.keys().map(String::as_str).collect();
        let known = match &known[..] {
            [] => "ait.toml has none under [queries]".to_owned(),
            names => format!("there are {}", names.join(", ")),
        };
        return Err(ReadError::Absent(format!("no saved query {:?}: {known}", shown(name))));
    }
    let parsed = ParsedQuery::parse(&format!("@{name}"), queries, now);
    let parsed = parsed.map_err(|error| ReadError::Failed(format!("invalid query: {error}")))?;
    let base = Query { order: Order::Filed, take: MAX_FOUND, ..Query::default() };
    Ok(List::plain(server.tracker.list_issues(parsed.narrow(base)).await?, now))
}

/// Returns the presets as their files describe them.
fn presets(replies: &ReplyOptions) -> Result<Read, ReadError> {
    let presets: Value = Preset::all()
        .map(|Preset { name, description, prompts, workflow, review }| {
            json!({
                "name": name,
                "description": description,
                "command": format!("ait init --preset {name}"),
                "prompts": prompts,
                "settings": { "review": review },
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
