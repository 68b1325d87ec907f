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
    CustomRequest, CustomResult, DiscoverResult, ErrorCode, ErrorData, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, GetSkillRequestParams, GetSkillResult,
    InitializeRequestParams, InitializeResult, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListSkillsResult, ListToolsResult, PaginatedRequestParams, PromptMessage,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    ResourceContents, ResourceUpdatedNotificationParam, Role, ServerConfig, SubscribeRequestParams,
    SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, RoleServer, SubscriptionContext};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use super::asking::{Asking, Capabilities};
use super::call_log::CallLog;
use super::client_tools::{self, ClientTools, Roles};
use super::context::LazyContext;
use super::delivery::{Caller, disconnected};
use super::instructions::instructions;
use super::options::{Toolset, Toolsets};
use super::prompts::PromptFiles;
use super::reply::ReplyOptions;
use super::request_context::{self, is_modern};
use super::resources::{self, Diagnostics, Resource};
use super::result::{damage_warning, outcome_of};
use super::run_call::run_call;
use super::subscriptions::{ChangeFeed, MAX_SUBSCRIPTIONS, Subscriptions};
use super::tools::CallContext;
use super::tools::registry::{ToolRegistry, ToolSelection};
use super::waiting::WaitingClient;
use super::{
    FIXED_TTL_MS, McpOptions, ServerContext, completion, identity, invalid_params, prompts, skills,
};
use ait_http::metrics::{CallOutcome, Metrics};
use ait_tracker::read_model::ReadModel;
use ait_tracker::{Claimant, ProcessClient, Tracker};

/// How long the server still reads cancellations after the end of the input.
const SHUTDOWN_CANCELLATIONS: Duration = Duration::from_millis(50);

/// The tracker as an MCP server. Clones share everything.
#[derive(Clone)]
pub struct McpServer {
    pub(super) tracker: Tracker,
    pub(super) read_model: ReadModel,
    pub(super) metrics: Metrics,
    pub(super) options: Arc<McpOptions>,
    pub(super) tools: ToolRegistry,
    roles: Arc<Roles>,
    pub(super) prompt_files: Arc<PromptFiles>,
    pub(super) context: LazyContext,
    pub(super) diagnostics: Arc<Diagnostics>,
    pub(super) feed: ChangeFeed,
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
            roles: Arc::new(Roles::new(options.root.clone())),
            prompt_files: Arc::new(PromptFiles::new(options.root.clone())),
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

    /// Sets the token whose cancellation ends subscriptions, and calls that wait.
    pub(super) fn with_shutdown(self, shutdown: CancellationToken) -> Self {
        Self { shutdown, ..self }
    }

    /// Counts a call that reached no tool.
    fn count_refused(&self, tool: &str) {
        self.metrics.refused(self.tools.with(Toolsets::ALL).label(tool));
    }

    /// Returns what the client that sent a request may call.
    ///
    /// # Errors
    ///
    /// The role of the client is unknown or broken.
    fn tools_of<'a>(
        &'a self,
        context: &'a RequestContext<RoleServer>,
    ) -> Result<ClientTools<'a>, ErrorData> {
        let role = self.roles.of(context, &self.options)?;
        Ok(ClientTools::new(&self.tools, &self.options, context, role))
    }

    /// Returns what a client learns of the server, with the instructions of its role.
    fn info_for(&self, context: &RequestContext<RoleServer>) -> Result<ServerConfig, ErrorData> {
        let role = self.roles.of(context, &self.options)?;
        let instructions = role.and_then(|role| role.instructions.clone());
        let mut info = self.get_info();
        if let Some(instructions) = instructions {
            info.instructions = Some(self.tools.names().in_text(&instructions));
        }
        Ok(info)
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
        let mut replies = ReplyOptions::new(&self.options, self.tools.names().clone());
        let role = self.roles.of(context, &self.options).unwrap_or_default();
        let toolsets = client_tools::toolsets(&self.tools, &self.options, context, role.as_deref());
        replies.is_planning = toolsets.contains(Toolset::Planning);
        replies.is_bulk = toolsets.contains(Toolset::Bulk);
        if let Some(asked) = request_context::reply_budget(context) {
            replies.max_tokens = replies.max_tokens.min(asked);
        }
        replies
    }

    /// Returns the tools that every client has.
    pub(super) fn tools(&self) -> &ToolSelection {
        self.tools.with(self.options.toolsets)
    }

    /// Returns how long clients may cache prompts and skills.
    pub(super) fn prompt_ttl_ms(&self) -> u64 {
        if self.prompt_files.exist() { 0 } else { FIXED_TTL_MS }
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

const NO_BATCHES: &str = "Send one message per request: this server takes no batches.";

/// The error after a panic in a request that changes nothing.
const DEFECT: &str = "this is a defect of the tracker (details are in its log)";

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let attempts = self.tracker.claim_settings().max_attempts;
        let instructions = instructions(&self.options.texts, attempts);
        let instructions = self.tools.names().in_text(&instructions);
        identity::config(instructions, self.prompt_files.exist())
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut result = self.negotiate_initialize(&request)?;
        result.instructions = match self.info_for(&context) {
            Ok(info) => info.instructions,
            // Over stdio an error would end the process, which others use, too. All other requests are refused.
            Err(refused) if !request_context::is_http(&context) => Some(refused.message.into()),
            Err(refused) => return Err(refused),
        };
        // The only revision in which a client may send several messages at once.
        if result.protocol_version == ProtocolVersion::V_2025_03_26 {
            let instructions = result.instructions.unwrap_or_default();
            result.instructions = Some(format!("{instructions}\n\n{NO_BATCHES}"));
        }
        Ok(result)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        // Over HTTP, changes come on the stream of the session.
        if !request_context::is_over_http(&context.extensions) {
            self.prompt_files.tell(context.peer, self.shutdown.clone());
        }
    }

    async fn discover(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(versions, self.info_for(&context)?))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let (tools, scope) = self.tools_of(&context)?.definitions();
        let tools = ListToolsResult::with_all_items(tools);
        if !is_modern(&context) {
            return Ok(tools);
        }
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
        let client = self.tools_of(&context)?;
        let refusal = client.refusal(&request);
        let tools = &client.tools;
        let tool = client.label(&request.name);
        let asking = Asking::of(&context, request.input_responses);
        let arguments = request.arguments.unwrap_or_default();
        let log = CallLog::begin(tool, &arguments);
        if let Some(refusal) = refusal {
            self.count_refused(&request.name);
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
            request_id: request_context::request_id(&context),
            capabilities: Capabilities::of(&context),
            asking,
        };
        let Some(call) = tools.call(&request.name, call_context, arguments) else {
            self.count_refused(&request.name);
            log.unknown_tool(&context);
            return Err(client.no_tool(&request.name));
        };
        let _in_progress = self.metrics.begin();
        let mut outcome = run_call(call, &context.ct, Caller::of(&context)).await;
        let asks = outcome.as_mut().ok().and_then(|answer| answer.asks.take());
        self.metrics.operation(tool, outcome_of(&outcome), log.duration());
        let outcome = outcome.map_err(|failure| failure.with_names(self.tools.names()));
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
        let role = self.roles.of(&context, &self.options)?;
        let prompts = prompts::list(self, role.as_deref()).await;
        let prompts = ListPromptsResult::with_all_items(prompts);
        if !is_modern(&context) {
            return Ok(prompts);
        }
        Ok(prompts.with_ttl_ms(self.prompt_ttl_ms()).with_cache_scope(CacheScope::Public))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let replies = self.replies(&context);
        let role = self.roles.of(&context, &self.options)?;
        let prompt = prompts::get(self, role.as_deref(), &request.name, &arguments, &replies);
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
        Ok(skills::list(self, is_modern(&context)).await)
    }

    async fn get_skill(
        &self,
        request: GetSkillRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetSkillResult, ErrorData> {
        skills::get(self, &request.uri, is_modern(&context)).await
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
        let role = self.roles.of(&context, &self.options)?;
        let completing = completion::complete(self, role.as_deref(), &request);
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
            if matches!(resource, Resource::Issue(_) | Resource::SavedQuery(_) | Resource::Skill(_))
            {
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
        let changes = requested.prompts_list_changed;
        let requested = requested.resource_subscriptions.iter().flatten();
        let known = requested.filter(|uri| Resource::at(uri).is_ok()).take(MAX_SUBSCRIPTIONS);
        let mut accepted = SubscriptionFilter::builder().resource_subscriptions(known).build();
        accepted.prompts_list_changed = changes.filter(|asked| *asked && self.prompt_files.watch());
        Some(accepted)
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
        let telling = async {
            let mut changes = pin!(self.prompt_files.changes());
            while changes.next().await.is_some() {
                // Fails if the client has not asked for them.
                let _ = context.sink().notify_prompt_list_changed().await;
            }
            std::future::pending::<()>().await;
        };
        let shutdown = async {
            self.shutdown.cancelled().await;
            // A client may cancel the subscription and then end its input at once.
            tokio::time::sleep(SHUTDOWN_CANCELLATIONS).await;
        };
        tokio::select! {
            () = notifying => {}
            () = telling => {}
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
