//! What a request carries besides its message: its transport, session, token and options.

use axum::http::HeaderName;
use axum::http::request::Parts;
use rmcp::model::{Extensions, ProtocolVersion};
use rmcp::service::{RequestContext, RoleServer};

use super::options::{ReplyBudget, Toolset, Toolsets};
use super::sessions::McpSession;
use ait_http::{Principal, Scope};

/// The header with the budget of replies.
pub(super) const MAX_REPLY_TOKENS: HeaderName = HeaderName::from_static("x-ait-max-reply-tokens");

/// Returns true if a request is of revision 2026-07-28 or later.
pub(super) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version() >= Some(ProtocolVersion::V_2026_07_28)
}

/// Returns an extension of the HTTP request that carried a message; `None` over stdio.
pub(super) fn extension<T: Send + Sync + 'static>(
    context: &RequestContext<RoleServer>,
) -> Option<&T> {
    context.extensions.get::<Parts>()?.extensions.get()
}

/// What an HTTP request asks for besides its message.
#[derive(Clone, Debug, Default)]
pub(super) struct RequestOptions {
    /// The name of the role in its URL, if it names one.
    role: Option<String>,
    /// The toolsets in its URL, if it names any.
    toolsets: Option<Toolsets>,
    /// The budget in its header.
    reply_budget: Option<ReplyBudget>,
}

impl RequestOptions {
    /// Reads the options of a request.
    ///
    /// # Errors
    ///
    /// A toolset does not exist, or the budget is out of range. The error lists what is valid.
    pub fn of(parts: &Parts) -> Result<Self, String> {
        let query = form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes());
        let role = query.clone().find(|(name, role)| name == "role" && !role.is_empty());
        let role = role.map(|(_, role)| role.into_owned());
        let named = query.filter(|(name, names)| name == "toolsets" && !names.is_empty());
        let named: Vec<Toolsets> =
            named.map(|(_, names)| names.parse()).collect::<Result<_, _>>()?;
        let toolsets = (!named.is_empty()).then(|| named.into_iter().collect());
        let header = parts.headers.get(MAX_REPLY_TOKENS);
        let budget = header.map(|value| String::from_utf8_lossy(value.as_bytes()).parse());
        let reply_budget =
            budget.transpose().map_err(|error: String| format!("{MAX_REPLY_TOKENS}: {error}"))?;
        Ok(Self { role, toolsets, reply_budget })
    }
}

/// Returns the toolsets of the client that sent a request: those in its URL, or else those of the server. Over HTTP,
/// the toolset `admin`, which writes files of the project, needs a token of scope `lead`.
pub(super) fn toolsets(context: &RequestContext<RoleServer>, server: Toolsets) -> Toolsets {
    let Some(asked) = extension::<RequestOptions>(context) else { return server };
    let toolsets = asked.toolsets.unwrap_or(server);
    if is_lead(context) { toolsets } else { toolsets.without(Toolset::Admin) }
}

/// Returns the name of the role in the URL of a request.
pub(super) fn role(context: &RequestContext<RoleServer>) -> Option<&str> {
    extension::<RequestOptions>(context)?.role.as_deref()
}

/// Returns the role of the token of a request.
pub(super) fn role_of_token(context: &RequestContext<RoleServer>) -> Option<&str> {
    extension::<Principal>(context)?.role()
}

/// Returns true if a request came with a token of scope `lead`.
pub(super) fn is_lead(context: &RequestContext<RoleServer>) -> bool {
    extension::<Principal>(context).is_some_and(|principal| principal.scope() == Scope::Lead)
}

/// Returns the session of a request; `None` over stdio and for clients without sessions.
pub(super) fn session(context: &RequestContext<RoleServer>) -> Option<&McpSession> {
    extension(context)
}

/// Returns true if a request came over HTTP.
pub(super) fn is_http(context: &RequestContext<RoleServer>) -> bool {
    is_over_http(&context.extensions)
}

/// Returns true if a message with these extensions came over HTTP.
pub(super) fn is_over_http(extensions: &Extensions) -> bool {
    extensions.get::<Parts>().is_some()
}

/// Returns the reply budget in the header of a request.
pub(super) fn reply_budget(context: &RequestContext<RoleServer>) -> Option<ReplyBudget> {
    extension::<RequestOptions>(context)?.reply_budget
}

/// Returns true if a request came with a token.
pub(super) fn has_token(context: &RequestContext<RoleServer>) -> bool {
    extension::<Principal>(context).is_some()
}

/// Returns the name of the token that a request came with, if that token is read-only.
pub(super) fn read_only_token(context: &RequestContext<RoleServer>) -> Option<&str> {
    let principal = extension::<Principal>(context)?;
    (principal.scope() == Scope::ReadOnly).then(|| principal.name())
}

/// Returns the name of a request in its `_meta`, if it has one.
pub(super) fn request_id(context: &RequestContext<RoleServer>) -> Option<String> {
    Some(context.meta.get("request_id")?.as_str()?.to_owned())
}
