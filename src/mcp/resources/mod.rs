//! The resources: what there is to read beside the tools, for clients that show it to people or put it
//! before an agent.
//!
//! Each is read anew when it is asked for, except the diagnostics, which are kept for five minutes.

mod diagnostics;
mod queue;

use std::fmt;

use rmcp::model::{
    CacheScope, ErrorData, ReadResourceResult, Resource as Listed, ResourceContents,
    ResourceTemplate as Template,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

pub(super) use self::diagnostics::Diagnostics;
use super::result::{self, Failure};
use super::{FIXED_TTL_MS, McpServer, shown};
use crate::domain::{DomainError, IssueRef};
use crate::setting::SettingRow;
use crate::setup::Preset;
use crate::tracker::StoreError;

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";

const CONFIG: &str = "tracker://config";
const DIAGNOSTICS: &str = "tracker://diagnostics";
const PRESETS: &str = "tracker://presets";
const QUEUE: &str = "tracker://queue";
/// What stands before the id of an issue.
const ISSUES: &str = "tracker://issues/";
/// The same for any issue, as RFC 6570 writes it.
pub(super) const ISSUE_TEMPLATE: &str = "tracker://issues/{id}";

/// Something to read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Resource {
    /// What is set, and by whom.
    Config,
    /// The doctor's last report.
    Diagnostics,
    /// The presets of `ait init`.
    Presets,
    /// How many issues wait, and the first of them.
    Queue,
    /// One whole issue.
    Issue(IssueRef),
}

impl Resource {
    /// The resource that an address names.
    ///
    /// # Errors
    ///
    /// There is none; it says what there is instead.
    pub fn at(uri: &str) -> Result<Self, NotRead> {
        Ok(match uri {
            CONFIG => Self::Config,
            DIAGNOSTICS => Self::Diagnostics,
            PRESETS => Self::Presets,
            QUEUE => Self::Queue,
            _ => {
                let id = uri.strip_prefix(ISSUES).ok_or_else(|| {
                    NotRead::Absent(format!(
                        "no resource {:?}: there are {CONFIG}, {DIAGNOSTICS}, {PRESETS}, {QUEUE} and \
                         {ISSUE_TEMPLATE}",
                        shown(uri)
                    ))
                })?;
                let id = id.parse().map_err(|bad: DomainError| NotRead::Absent(bad.to_string()));
                Self::Issue(id?)
            }
        })
    }
}

impl Resource {
    /// Tells whether it can be another one while the process runs: settings are read at its start.
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

/// What clients are told of the resources that are always there.
pub(super) fn list() -> Vec<Listed> {
    let listed = |uri: &str, name: &str, title: &str, description: &str, kind: &str| {
        Listed::new(uri, name).with_title(title).with_description(description).with_mime_type(kind)
    };
    vec![
        listed(
            QUEUE,
            "queue",
            "Queue",
            "How many issues there are in each status, and the first five of what waits for review, of \
             each classification that waits for a worker, and of what is claimed.",
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
            "The settings as they hold, each with who gave it. Secrets are left out.",
            YAML,
        ),
        listed(
            PRESETS,
            "presets",
            "Presets",
            "What `ait init --preset` can set a project up with: prompts, settings and workflow.",
            JSON,
        ),
    ]
}

/// What clients are told of the resources that are there for each issue.
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

/// Why nothing was read.
pub(super) enum NotRead {
    /// There is no such resource, or it is not clear which.
    Absent(String),
    /// It cannot be read now.
    Failed(String),
}

impl From<StoreError> for NotRead {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Refused(_) => Self::Absent(error.to_string()),
            error => Self::Failed(error.to_string()),
        }
    }
}

impl From<Failure> for NotRead {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure.reason)
    }
}

impl NotRead {
    /// As the answer to a request for an address.
    pub fn answer(self, uri: &str) -> ErrorData {
        match self {
            Self::Absent(text) => ErrorData::resource_not_found(text, Some(json!({ "uri": uri }))),
            Self::Failed(text) => ErrorData::internal_error(text, None),
        }
    }
}

/// What was read.
pub(super) struct Read {
    text: String,
    kind: &'static str,
    ttl_ms: u64,
    scope: CacheScope,
}

impl Read {
    /// What is true at this moment.
    fn now(text: String) -> Self {
        Self { text, kind: JSON, ttl_ms: 0, scope: CacheScope::Private }
    }

    /// As the answer to a request for this address; with what only newer clients know, if they are.
    pub fn answer(self, uri: String, is_modern: bool) -> ReadResourceResult {
        let Self { ttl_ms, scope, .. } = self;
        let result = ReadResourceResult::new(vec![self.contents(uri)]);
        if is_modern { result.with_ttl_ms(ttl_ms).with_cache_scope(scope) } else { result }
    }

    /// As what stands at an address.
    pub fn contents(self, uri: String) -> ResourceContents {
        ResourceContents::text(self.text, uri).with_mime_type(self.kind)
    }
}

/// Reads a resource.
pub(super) async fn read(server: &McpServer, resource: &Resource) -> Result<Read, NotRead> {
    match resource {
        Resource::Config => config(&server.surroundings().await.settings),
        Resource::Diagnostics => {
            let (report, ttl_ms) = server.diagnostics().report().await;
            Ok(Read { ttl_ms, ..Read::now(text(&*report)?) })
        }
        Resource::Presets => presets(),
        Resource::Queue => {
            let state = server.tracker().snapshot().await?;
            Ok(Read::now(text(&queue::look(&state.issues))?))
        }
        Resource::Issue(reference) => {
            let issue = server.tracker().get_issue(reference.clone()).await?;
            Ok(Read::now(text(&*issue)?))
        }
    }
}

/// The settings, each with who gave it.
fn config(settings: &[SettingRow]) -> Result<Read, NotRead> {
    let settings = settings.iter().map(|SettingRow { name, value, source }| {
        ((*name).to_owned(), json!({ "value": value, "source": source }))
    });
    let settings: Map<String, Value> = settings.collect();
    let all = json!({ "version": env!("CARGO_PKG_VERSION"), "settings": settings });
    let text = serde_saphyr::to_string(&all)
        .map_err(|error| NotRead::Failed(format!("the settings are no YAML: {error}")))?;
    Ok(Read { kind: YAML, ..Read::now(text) })
}

/// The presets, in the words of their files.
fn presets() -> Result<Read, NotRead> {
    let presets: Vec<Value> = Preset::all()
        .map(|Preset { name, description, prompts, workflow, settings }| {
            json!({
                "name": name,
                "description": description,
                "command": format!("ait init --preset {name}"),
                "prompts": prompts,
                "settings": settings,
                "workflow": workflow.trim_end(),
            })
        })
        .collect();
    Ok(Read { ttl_ms: FIXED_TTL_MS, scope: CacheScope::Public, ..Read::now(text(&presets)?) })
}

fn text(value: &impl Serialize) -> Result<String, NotRead> {
    Ok(result::json(value)?.text)
}
