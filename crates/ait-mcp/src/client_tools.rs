//! What a client may call: the tools of its toolsets, narrowed by its role.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{CacheScope, CallToolRequestParams, ErrorData, Tool};
use rmcp::service::{RequestContext, RoleServer};

use super::asking::Capabilities;
use super::options::{McpOptions, Toolset, Toolsets};
use super::request_context::{self, read_only_token};
use super::result::Failure;
use super::shown;
use super::tools::registry::{NAMES, ToolRegistry, ToolSelection};
use super::waiting::ANALYZE_ISSUE;
use ait_setup::Role;

/// The roles that clients have named, each as it was when the first one did.
///
/// A role takes tools away. Without it a client could do more than it was meant to, so a client whose role is unknown
/// or broken is refused, and the server goes on for the others.
pub(super) struct Roles {
    project: Option<PathBuf>,
    known: Mutex<BTreeMap<String, Arc<Role>>>,
    /// The last refusal, which is logged once.
    refused: Mutex<Option<String>>,
}

impl Roles {
    pub fn new(project: Option<PathBuf>) -> Self {
        Self { project, known: Mutex::default(), refused: Mutex::default() }
    }

    /// Returns a role. A file is read when a client first names its role, and again until it is valid.
    ///
    /// # Errors
    ///
    /// There is no such role, or its file is invalid.
    fn find(&self, name: &str) -> Result<Arc<Role>, ErrorData> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(role) = known.get(name) {
            return Ok(Arc::clone(role));
        }
        let role = Role::find(self.project.as_deref(), name, NAMES).map_err(|error| {
            let reason = format!(
                "{error}. Correct it in --role, AIT_ROLE, the URL (/mcp?role=), the token or the file, and connect \
                 again"
            );
            let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
            if refused.replace(reason.clone()).as_ref() != Some(&reason) {
                tracing::warn!("a client is refused: {reason}");
            }
            ErrorData::invalid_params(reason, None)
        })?;
        Ok(Arc::clone(known.entry(name.to_owned()).or_insert_with(|| Arc::new(role))))
    }

    /// Returns the role of the client that sent a request, if it has one: that of its token, or else the one in its
    /// URL, or else that of the server.
    ///
    /// # Errors
    ///
    /// The role is unknown or broken.
    pub fn of(
        &self,
        context: &RequestContext<RoleServer>,
        options: &McpOptions,
    ) -> Result<Option<Arc<Role>>, ErrorData> {
        let by_server =
            if request_context::is_http(context) { &options.http_role } else { &options.role };
        let by_token = request_context::role_of_token(context);
        let name = by_token.or(request_context::role(context)).or(by_server.as_deref());
        name.map(|name| self.find(name)).transpose()
    }
}

/// What the client that sent a request may call.
pub(super) struct ClientTools<'a> {
    registry: &'a ToolRegistry,
    options: &'a McpOptions,
    context: &'a RequestContext<RoleServer>,
    role: Option<Arc<Role>>,
    pub tools: ToolSelection,
}

impl<'a> ClientTools<'a> {
    pub fn new(
        registry: &'a ToolRegistry,
        options: &'a McpOptions,
        context: &'a RequestContext<RoleServer>,
        role: Option<Arc<Role>>,
    ) -> Self {
        let toolsets = toolsets(registry, options, context, role.as_deref());
        let mut tools = registry.with(toolsets).clone();
        if let Some(role) = &role {
            tools.retain(&role.tools);
        }
        Self { registry, options, context, role, tools }
    }

    /// Returns the tools that the client gets, and who may share them: they depend on its token, and the analysis on
    /// whether its model can be asked.
    pub fn definitions(&self) -> (Vec<Tool>, CacheScope) {
        let Self { tools, context, .. } = self;
        let has_analysis = tools.has(ANALYZE_ISSUE);
        let mut definitions = tools.definitions(read_only_token(context).is_some());
        if has_analysis && !Capabilities::of(context).sampling {
            definitions.retain(|tool| !tool.name.ends_with(ANALYZE_ISSUE));
        }
        let is_private = has_analysis || request_context::has_token(context);
        let scope = if is_private { CacheScope::Private } else { CacheScope::Public };
        (definitions, scope)
    }

    /// Returns the name of a tool for the log; the same one for all that the client cannot know.
    pub fn label(&self, name: &str) -> &'static str {
        match &self.role {
            Some(_) => self.registry.with(Toolsets::ALL).label(name),
            None => self.tools.label(name),
        }
    }

    /// Returns the failure of a call that the role or the token of the client does not allow.
    pub fn refusal(&self, request: &CallToolRequestParams) -> Option<Failure> {
        let Self { tools, context, .. } = self;
        let label = self.registry.with(Toolsets::ALL).label(&request.name);
        if let Some(role) = &self.role
            && NAMES.contains(&label)
            && !role.tools.iter().any(|tool| tool == label)
        {
            return Some(Failure::not_allowed(format!(
                "the role {:?} does not have {}; it has {}. Go on with these, and leave the rest to an agent with \
                 another role: a person gives roles with --role, AIT_ROLE, /mcp?role= or a token, for a whole session",
                role.name,
                shown(&request.name),
                tools.names(),
            )));
        }
        let token = read_only_token(context).filter(|_| tools.changes_store(&request.name))?;
        Some(Failure::read_only(format!(
            "the token {token:?} is read-only, for {} and the pages; nothing was changed. The \
             operator of the tracker can give you a read-write token",
            tools.read_only_names()
        )))
    }

    /// Returns the error for a tool that the client does not have.
    pub fn no_tool(&self, name: &str) -> ErrorData {
        let shown = shown(name);
        let names = self.tools.names();
        let message = match self.registry.with(Toolsets::ALL).toolset(name) {
            Some(toolset) => format!(
                "the tool {shown:?} belongs to the toolset {toolset}, which this client does not have: {}; there are \
                 {names}",
                self.remedy(toolset),
                toolset = toolset.as_str()
            ),
            None => format!("no tool {shown:?}: there are {names}"),
        };
        ErrorData::invalid_params(message, None)
    }

    /// Says how a client gets a toolset that it does not have. What is in place already is no remedy.
    fn remedy(&self, toolset: Toolset) -> String {
        let Self { context, options, .. } = self;
        let word = toolset.as_str();
        let is_lead = !request_context::is_http(context) || request_context::is_lead(context);
        if toolset == Toolset::Admin && !is_lead {
            return "over HTTP it needs a token of scope lead".to_owned();
        }
        if options.toolsets.contains(toolset) {
            format!("the URL of this client names others: add {word} to its toolsets")
        } else {
            format!("set toolsets = [\"{word}\"] in ait.toml")
        }
    }
}

/// Returns the toolsets of the client that sent a request: those with a tool of its role, whose parameters it has, too.
pub(super) fn toolsets(
    registry: &ToolRegistry,
    options: &McpOptions,
    context: &RequestContext<RoleServer>,
    role: Option<&Role>,
) -> Toolsets {
    let toolsets = request_context::toolsets(context, options.toolsets);
    let Some(role) = role else { return toolsets };
    let all = registry.with(Toolsets::ALL);
    let names = role.tools.iter().map(|tool| registry.names().full(tool));
    toolsets.and(names.filter_map(|tool| all.toolset(&tool)).map(Toolsets::from).collect())
}
