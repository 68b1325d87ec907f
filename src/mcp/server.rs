//! The MCP server: its identity and capabilities, and how requests reach tools, prompts and resources.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::FutureExt;
use futures::stream::StreamExt;
use rmcp::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
    CustomRequest, CustomResult, ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse,
    GetPromptResult, GetSkillRequestParams, GetSkillResult, Icon, Implementation,
    InitializeRequestParams, InitializeResult, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListSkillsResult, ListToolsResult, PaginatedRequestParams, PromptMessage,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    ResourceContents, ResourceUpdatedNotificationParam, Role, ServerCapabilities, ServerConfig,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{Peer, RequestContext, RoleServer, SubscriptionContext};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use super::call_log::CallLog;
use super::context::LazyContext;
use super::delivery::{Caller, disconnected};
use super::elicitation::Person;
use super::instructions::instructions;
use super::options::{Toolset, Toolsets};
use super::reply::ReplyOptions;
use super::request_context::{self, is_modern, read_only_token};
use super::resources::{self, Diagnostics, Resource};
use super::result::{Failure, damage_warning, outcome_of};
use super::run_call::run_call;
use super::subscriptions::{ChangeFeed, MAX_SUBSCRIPTIONS, Subscriptions};
use super::tool_names::ToolNames;
use super::tools::CallContext;
use super::tools::registry::{ToolRegistry, ToolSelection};
use super::waiting::WaitingClient;
use super::{
    FIXED_TTL_MS, McpOptions, ServerContext, completion, invalid_params, prompts, shown, skills,
};
use crate::metrics::{CallOutcome, Metrics};
use crate::query_language::SavedQueries;
use crate::read_model::ReadModel;
use crate::tracker::{Claimant, ProcessClient, Tracker};

/// How long the server still reads cancellations after the end of the input.
const SHUTDOWN_CANCELLATIONS: Duration = Duration::from_millis(50);

/// The tracker as an MCP server. Clones share everything.
#[derive(Clone)]
pub struct McpServer {
    tracker: Tracker,
    read_model: ReadModel,
    metrics: Metrics,
    options: Arc<McpOptions>,
    tools: ToolRegistry,
    context: LazyContext,
    diagnostics: Arc<Diagnostics>,
    feed: ChangeFeed,
    /// Those of the client over stdio; over HTTP each session has its own.
    subscriptions: Arc<Subscriptions>,
    /// Set once a task notifies the client over stdio.
    notifier: Arc<OnceCell<()>>,
    /// Ends subscriptions, and calls that wait.
    shutdown: CancellationToken,
    /// The client over stdio.
    process: ProcessClient,
}

impl McpServer {
    /// Returns a server with the tools, the prompts and the resources. Calls `context` when a client first needs it.
    pub fn new(
        read_model: ReadModel,
        metrics: Metrics,
        options: McpOptions,
        context: impl FnOnce() -> ServerContext + Send + 'static,
    ) -> Self {
        let tracker = read_model.tracker().clone();
        let context = LazyContext::new(context);
        let diagnostics = Arc::new(Diagnostics::new(tracker.clone(), context.clone()));
        Self {
            feed: ChangeFeed::new(tracker.clone(), Arc::clone(&diagnostics)),
            tools: ToolRegistry::new(&options, Arc::clone(tracker.classifications())),
            options: Arc::new(options),
            context,
            subscriptions: Arc::default(),
            notifier: Arc::default(),
            shutdown: CancellationToken::new(),
            process: ProcessClient::default(),
            tracker,
            read_model,
            metrics,
            diagnostics,
        }
    }

    /// Returns the queries that have names.
    pub(super) fn saved_queries(&self) -> &SavedQueries {
        &self.options.queries
    }

    /// Sets the token whose cancellation ends subscriptions, and calls that wait.
    pub(super) fn with_shutdown(self, shutdown: CancellationToken) -> Self {
        Self { shutdown, ..self }
    }

    /// Counts a call that reached no tool.
    fn count_refused(&self, tool: &str) {
        self.metrics.refused(self.tools.with(Toolsets::ALL).label(tool));
    }

    /// Returns the tools of the client that sent a request.
    fn tools_of(&self, context: &RequestContext<RoleServer>) -> &ToolSelection {
        self.tools.with(request_context::toolsets(context, self.options.toolsets))
    }

    /// Returns who sent a request, as the client of its claims.
    fn claimant(&self, context: &RequestContext<RoleServer>) -> Claimant {
        match (request_context::session(context), request_context::is_http(context)) {
            (Some(session), _) => Claimant::Session(session.client()),
            (None, true) => Claimant::Name,
            (None, false) => Claimant::Process(self.process.clone()),
        }
    }

    /// Records that the client over stdio is gone. Its claims lapse after the grace period.
    pub async fn end_process(&self) {
        let process = Claimant::Process(self.process.clone());
        self.tracker.for_claimant(process).end_process().await;
    }

    /// Returns how to write replies to a request.
    pub(super) fn replies(&self, context: &RequestContext<RoleServer>) -> ReplyOptions {
        let mut replies = ReplyOptions::new(&self.options, self.tool_names().clone());
        let toolsets = request_context::toolsets(context, self.options.toolsets);
        replies.is_planning = toolsets.contains(Toolset::Planning);
        replies.is_bulk = toolsets.contains(Toolset::Bulk);
        if let Some(asked) = request_context::reply_budget(context) {
            replies.max_tokens = replies.max_tokens.min(asked);
        }
        replies
    }

    /// Returns the error for a tool that the client does not have.
    fn no_tool(&self, name: &str, context: &RequestContext<RoleServer>) -> ErrorData {
        let shown = shown(name);
        let names = self.tools_of(context).names();
        let message = match self.tools.with(Toolsets::ALL).toolset(name) {
            Some(toolset) => format!(
                "the tool {shown:?} belongs to the toolset {toolset}, which this client does not have: {}; there are \
                 {names}",
                self.remedy(toolset, context),
                toolset = toolset.as_str()
            ),
            None => format!("no tool {shown:?}: there are {names}"),
        };
        ErrorData::invalid_params(message, None)
    }

    /// Says how a client gets a toolset that it does not have. What is in place already is no remedy.
    fn remedy(&self, toolset: Toolset, context: &RequestContext<RoleServer>) -> String {
        let word = toolset.as_str();
        let is_lead = !request_context::is_http(context) || request_context::is_lead(context);
        if toolset == Toolset::Admin && !is_lead {
            return "over HTTP it needs a token of scope lead".to_owned();
        }
        if self.options.toolsets.contains(toolset) {
            format!("the URL of this client names others: add {word} to its toolsets")
        } else {
            format!("set toolsets = [\"{word}\"] in ait.toml")
        }
    }

    fn read_only_refusal(&self, token: &str, tools: &ToolSelection) -> Failure {
        Failure::read_only(format!(
            "the token {token:?} is read-only, for {} and the pages; nothing was changed. The \
             operator of the tracker can give you a read-write token",
            tools.read_only_names()
        ))
    }

    pub(super) fn tracker(&self) -> &Tracker {
        &self.tracker
    }

    pub(super) fn read_model(&self) -> &ReadModel {
        &self.read_model
    }

    pub(super) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Returns the tools that every client has.
    pub(super) fn tools(&self) -> &ToolSelection {
        self.tools.with(self.options.toolsets)
    }

    pub(super) fn tool_names(&self) -> &ToolNames {
        self.tools.names()
    }

    pub(super) fn feed(&self) -> &ChangeFeed {
        &self.feed
    }

    pub(super) async fn context(&self) -> ServerContext {
        self.context.get().await
    }

    pub(super) fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }

    /// Serves a request other than a tool call until it is cancelled, and counts it.
    async fn serve_request<T>(
        &self,
        method: &'static str,
        context: &RequestContext<RoleServer>,
        work: impl Future<Output = Result<T, ErrorData>>,
    ) -> Result<T, ErrorData> {
        let _in_progress = self.metrics.begin();
        let begun = Instant::now();
        let (outcome, answer) = tokio::select! {
            answer = AssertUnwindSafe(work).catch_unwind() => match answer {
                Ok(Ok(answer)) => (CallOutcome::Ok, Ok(answer)),
                Ok(Err(error)) if error.code == ErrorCode::INTERNAL_ERROR => {
                    (CallOutcome::Failed, Err(error))
                }
                Ok(Err(error)) => (CallOutcome::Refused, Err(error)),
                Err(_) => (CallOutcome::Panicked, Err(ErrorData::internal_error(DEFECT, None))),
            },
            () = cancelled(context) => {
                let error = ErrorData::internal_error("the request was cancelled", None);
                (CallOutcome::Cancelled, Err(error))
            }
        };
        self.metrics.operation(method, outcome, Some(begun.elapsed()));
        answer
    }

    /// Puts the warning of a damaged store before its answer, by `warn`, or before its error.
    async fn with_damage<T>(
        &self,
        answer: Result<T, ErrorData>,
        warn: impl FnOnce(&mut T, String),
    ) -> Result<T, ErrorData> {
        let Some(warning) = damage_warning(&self.tracker).await else { return answer };
        match answer {
            Ok(mut answer) => {
                warn(&mut answer, warning);
                Ok(answer)
            }
            Err(error) if warning.contains(&*error.message) => Err(error),
            Err(error) => {
                Err(ErrorData { message: format!("{warning} {}", error.message).into(), ..error })
            }
        }
    }

    /// Notifies a client over stdio of changes to its subscriptions.
    async fn begin_to_notify(&self, peer: Peer<RoleServer>) {
        let changes = self.feed.follow().await;
        let updates = Arc::clone(&self.subscriptions).updates_in(changes, None);
        let updates = updates.take_until(self.shutdown.clone().cancelled_owned());
        tokio::spawn(async move {
            let mut updates = pin!(updates);
            while let Some(uri) = updates.next().await {
                let updated = ResourceUpdatedNotificationParam::new(uri);
                if peer.notify_resource_updated(updated).await.is_err() {
                    return;
                }
            }
        });
    }
}

/// Returns the name of a request in its `_meta`, if it has one.
fn request_id(context: &RequestContext<RoleServer>) -> Option<String> {
    Some(context.meta.get("request_id")?.as_str()?.to_owned())
}

/// The picture that clients may show beside the name of the server.
fn icon() -> Icon {
    let svg = include_str!("../web/assets/icon.svg")
        .trim_end()
        .replace("{colour}", "#4a5bd4")
        .replace('"', "'");
    let svg = ['%', '#', '<', '>', ' ']
        .iter()
        .fold(svg, |svg, mark| svg.replace(*mark, &format!("%{:02X}", u32::from(*mark))));
    Icon::new(format!("data:image/svg+xml,{svg}"))
        .with_mime_type("image/svg+xml")
        .with_sizes(vec!["any".to_owned()])
}

const NO_BATCHES: &str = "Send one message per request: this server takes no batches.";

/// The error after a panic in a request that changes nothing.
const DEFECT: &str = "this is a defect of the tracker (details are in its log)";

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let identity = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
            .with_title("Agent issue tracker")
            .with_icons(vec![icon()]);
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_completions()
            .enable_skills()
            .build();
        let instructions = instructions(self.tracker.claim_settings().max_attempts);
        ServerConfig::new(capabilities)
            .with_server_info(identity)
            .with_instructions(self.tool_names().in_text(&instructions))
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut result = self.negotiate_initialize(&request)?;
        // The only revision in which a client may send several messages at once.
        if result.protocol_version == ProtocolVersion::V_2025_03_26 {
            let instructions = result.instructions.unwrap_or_default();
            result.instructions = Some(format!("{instructions}\n\n{NO_BATCHES}"));
        }
        Ok(result)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let is_read_only = read_only_token(&context).is_some();
        let tools = self.tools_of(&context).definitions(is_read_only);
        let tools = ListToolsResult::with_all_items(tools);
        if !is_modern(&context) {
            return Ok(tools);
        }
        // The tools depend on the token.
        let scope = if request_context::has_token(&context) {
            CacheScope::Private
        } else {
            CacheScope::Public
        };
        Ok(tools.with_ttl_ms(FIXED_TTL_MS).with_cache_scope(scope))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools.with(Toolsets::ALL).definition(name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tools = self.tools_of(&context);
        let tool = tools.label(&request.name);
        let person = Person::of(&context, request.input_responses);
        let arguments = request.arguments.unwrap_or_default();
        let log = CallLog::begin(tool, &arguments);
        if tools.changes_store(&request.name)
            && let Some(token) = read_only_token(&context)
        {
            self.count_refused(&request.name);
            let refusal = self.read_only_refusal(token, tools);
            return Ok(log.reply(Err(refusal), None, &context).into());
        }
        let call_context = CallContext {
            tracker: self.tracker.for_claimant(self.claimant(&context)),
            read_model: self.read_model.clone(),
            options: Arc::clone(&self.options),
            server: self.context.clone(),
            replies: self.replies(&context),
            is_lead: request_context::is_lead(&context),
            waiting: WaitingClient::of(&context, self.shutdown.clone()),
            request_id: request_id(&context),
            person,
        };
        let Some(call) = tools.call(&request.name, call_context, arguments) else {
            self.count_refused(&request.name);
            log.unknown_tool(&context);
            return Err(self.no_tool(&request.name, &context));
        };
        let _in_progress = self.metrics.begin();
        let mut outcome = run_call(call, &context.ct, Caller::of(&context)).await;
        let asks = outcome.as_mut().ok().and_then(|answer| answer.asks.take());
        self.metrics.operation(tool, outcome_of(&outcome), log.duration());
        let outcome = outcome.map_err(|failure| failure.with_names(self.tool_names()));
        let warning = damage_warning(&self.tracker).await;
        let reply = log.reply(outcome, warning, &context);
        Ok(asks.map_or(reply.into(), Into::into))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if let Some(tool) = invalid_params::called_tool(&request) {
            self.count_refused(tool);
        }
        invalid_params::respond(self.tools(), &request, &context)
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = ListPromptsResult::with_all_items(prompts::list());
        if !is_modern(&context) {
            return Ok(prompts);
        }
        Ok(prompts.with_ttl_ms(FIXED_TTL_MS).with_cache_scope(CacheScope::Public))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let replies = self.replies(&context);
        let prompt = prompts::get(self, &request.name, &arguments, &replies);
        let prompt = self.serve_request("prompts/get", &context, prompt).await;
        let warn = |prompt: &mut GetPromptResult, warning| {
            prompt.messages.insert(0, PromptMessage::new_text(Role::User, warning));
        };
        Ok(self.with_damage(prompt, warn).await?.into())
    }

    async fn list_skills(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListSkillsResult, ErrorData> {
        Ok(skills::list(self.tool_names(), is_modern(&context)))
    }

    async fn get_skill(
        &self,
        request: GetSkillRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetSkillResult, ErrorData> {
        skills::get(&request.uri, self.tool_names(), is_modern(&context))
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = ListResourcesResult::with_all_items(resources::list(&self.options.queries));
        if !is_modern(&context) {
            return Ok(resources);
        }
        Ok(resources.with_ttl_ms(FIXED_TTL_MS).with_cache_scope(CacheScope::Public))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates = ListResourceTemplatesResult::with_all_items(resources::templates());
        if !is_modern(&context) {
            return Ok(templates);
        }
        Ok(templates.with_ttl_ms(FIXED_TTL_MS).with_cache_scope(CacheScope::Public))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let replies = self.replies(&context);
        let reading = async {
            let read = async { resources::read(self, &Resource::at(&uri)?, &replies).await };
            read.await.map_err(|reason| reason.response(&uri))
        };
        let read = self.serve_request("resources/read", &context, reading).await;
        let read = read.map(|read| read.response(uri.clone(), is_modern(&context)));
        let warn = |read: &mut ReadResourceResult, warning| {
            read.contents.insert(0, ResourceContents::text(warning, uri));
        };
        Ok(self.with_damage(read, warn).await?.into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let completing = completion::complete(self, &request);
        self.serve_request("completion/complete", &context, completing).await
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let uri = request.uri;
        let subscribing = async {
            let resource = Resource::at(&uri).map_err(|reason| reason.response(&uri))?;
            if matches!(resource, Resource::Issue(_) | Resource::SavedQuery(_)) {
                let replies = self.replies(&context);
                let read = resources::read(self, &resource, &replies).await;
                read.map_err(|reason| reason.response(&uri))?;
            }
            let added = if let Some(session) = request_context::session(&context) {
                session.subscriptions().add(uri, resource)
            } else {
                // Before the response, so that no change after it is missed.
                self.notifier.get_or_init(|| self.begin_to_notify(context.peer.clone())).await;
                self.subscriptions.add(uri, resource)
            };
            added.map_err(|reason| ErrorData::invalid_params(reason, None))
        };
        self.serve_request("resources/subscribe", &context, subscribing).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        match request_context::session(&context) {
            Some(session) => session.subscriptions().remove(&request.uri),
            None => self.subscriptions.remove(&request.uri),
        }
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let requested = requested.resource_subscriptions.iter().flatten();
        let known = requested.filter(|uri| Resource::at(uri).is_ok()).take(MAX_SUBSCRIPTIONS);
        Some(SubscriptionFilter::builder().resource_subscriptions(known).build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let subscriptions = Arc::new(Subscriptions::default());
        for uri in context.accepted().resource_subscriptions.iter().flatten() {
            if let Ok(resource) = Resource::at(uri) {
                let add = subscriptions.add(uri.clone(), resource);
                add.map_err(|reason| ErrorData::invalid_params(reason, None))?;
            }
        }
        let mut updates = pin!(subscriptions.updates(self.feed.clone()));
        let notifying = async {
            while let Some(uri) = updates.next().await {
                if context.sink().notify_resource_updated(&uri).await.is_err() {
                    return;
                }
            }
        };
        let shutdown = async {
            self.shutdown.cancelled().await;
            // A client may cancel the subscription and then end its input at once.
            tokio::time::sleep(SHUTDOWN_CANCELLATIONS).await;
        };
        tokio::select! {
            () = notifying => {}
            () = context.cancelled() => {}
            () = shutdown => {}
            () = disconnected(Caller::of(context.request_context())) => {}
        }
        Ok(())
    }
}

/// Waits until a request is cancelled or its caller disconnects.
async fn cancelled(context: &RequestContext<RoleServer>) {
    tokio::select! {
        () = context.ct.cancelled() => {}
        () = disconnected(Caller::of(context)) => {}
    }
}
