//! The MCP server itself: who it is, what it teaches, and how a call reaches its tool.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::FutureExt;
use rmcp::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
    CustomRequest, CustomResult, ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse,
    Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities, ServerConfig, SubscribeRequestParams,
    SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use tokio_util::sync::CancellationToken;

use super::delivery::{Caller, awaited, gone};
use super::http::read_only_token;
use super::instructions::INSTRUCTIONS;
use super::news::{self, MAX_WATCHED, Newsroom, Watched};
use super::resources::{self, Diagnostics, Resource};
use super::result::{Failure, call_tool_result, outcome_of};
use super::surroundings::FoundWhenAsked;
use super::tools::Toolbox;
use super::{FIXED_TTL_MS, Surroundings, completion, misshapen, prompts, shown};
use crate::metrics::{Metrics, Outcome};
use crate::tracker::Tracker;

/// How long what a client said last may take to be heard.
const LAST_WORDS: Duration = Duration::from_millis(50);

/// The tracker as an MCP server. Clones share everything, also what their client watches.
#[derive(Clone)]
pub struct McpServer {
    tracker: Tracker,
    metrics: Metrics,
    toolbox: Toolbox,
    surroundings: FoundWhenAsked,
    diagnostics: Arc<Diagnostics>,
    newsroom: Newsroom,
    watched: Arc<Watched>,
    /// Ends what only waits for news.
    ending: CancellationToken,
}

impl McpServer {
    /// A server with the seven lifecycle tools, the prompts and the resources. What is around it is found out
    /// when somebody asks for it.
    pub fn new(
        tracker: Tracker,
        metrics: Metrics,
        surroundings: impl FnOnce() -> Surroundings + Send + 'static,
    ) -> Self {
        let surroundings = FoundWhenAsked::new(surroundings);
        let diagnostics = Diagnostics::new(tracker.clone(), surroundings.clone());
        let diagnostics = Arc::new(diagnostics);
        Self {
            newsroom: Newsroom::new(tracker.clone(), Arc::clone(&diagnostics)),
            toolbox: Toolbox::lifecycle(),
            surroundings,
            watched: Arc::default(),
            ending: CancellationToken::new(),
            tracker,
            metrics,
            diagnostics,
        }
    }

    /// The same for another client.
    pub(super) fn for_client(&self) -> Self {
        Self { watched: Arc::default(), ..self.clone() }
    }

    /// The same, of which everything that only waits for news ends with `ending`.
    pub(super) fn until(self, ending: CancellationToken) -> Self {
        Self { ending, ..self }
    }

    /// Takes note of a call that reached no tool.
    pub(super) fn refused(&self, tool: &str) {
        self.metrics.refused(self.toolbox.label(tool));
    }

    /// Why a tool that changes something cannot be called with a token to read with.
    fn why_not_with(&self, token: &str) -> String {
        format!(
            "the token {token:?} is read-only: it is good for {} and the pages; nothing was changed, \
             and whoever runs the tracker can give you a read-write token",
            self.toolbox.reading_names()
        )
    }

    pub(super) fn tracker(&self) -> &Tracker {
        &self.tracker
    }

    pub(super) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    pub(super) fn toolbox(&self) -> &Toolbox {
        &self.toolbox
    }

    pub(super) async fn surroundings(&self) -> Surroundings {
        self.surroundings.get().await
    }

    pub(super) fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }

    /// Does what was asked for beside the tools, as long as somebody waits for it, and counts it.
    async fn served<T>(
        &self,
        method: &'static str,
        context: &RequestContext<RoleServer>,
        work: impl Future<Output = Result<T, ErrorData>>,
    ) -> Result<T, ErrorData> {
        let _in_progress = self.metrics.begin();
        let begun = Instant::now();
        let (outcome, answer) = tokio::select! {
            answer = AssertUnwindSafe(work).catch_unwind() => match answer {
                Ok(Ok(answer)) => (Outcome::Ok, Ok(answer)),
                Ok(Err(error)) if error.code == ErrorCode::INTERNAL_ERROR => {
                    (Outcome::Failed, Err(error))
                }
                Ok(Err(error)) => (Outcome::Refused, Err(error)),
                Err(_) => (Outcome::Panicked, Err(ErrorData::internal_error(DEFECT, None))),
            },
            () = cancelled(context) => {
                let error = ErrorData::internal_error("the request was cancelled", None);
                (Outcome::Cancelled, Err(error))
            }
        };
        self.metrics.operation(method, outcome, begun.elapsed());
        answer
    }
}

/// What is said of a panic; nothing has changed by it.
const DEFECT: &str = "this is a defect of the tracker (details are in its log)";

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let identity = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
            .with_title("Agent issue tracker");
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_completions()
            .build();
        ServerConfig::new(capabilities).with_server_info(identity).with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = ListToolsResult::with_all_items(self.toolbox.tools());
        if !is_modern(&context) {
            return Ok(tools);
        }
        Ok(tools.with_ttl_ms(FIXED_TTL_MS).with_cache_scope(CacheScope::Public))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.toolbox.tool(name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if self.toolbox.changes(&request.name)
            && let Some(token) = read_only_token(&context)
        {
            self.refused(&request.name);
            let failure = Failure::refused(self.why_not_with(token));
            return Ok(call_tool_result(&request.name, Err(failure)).into());
        }
        let arguments = request.arguments.unwrap_or_default();
        let Some(answer) = self.toolbox.call(&request.name, self.tracker.clone(), arguments) else {
            self.refused(&request.name);
            let name = shown(&request.name);
            let message = format!("no tool {name:?}: there are {}", self.toolbox.names());
            return Err(ErrorData::invalid_params(message, None));
        };
        let _in_progress = self.metrics.begin();
        let begun = Instant::now();
        let outcome = awaited(answer, &context.ct, Caller::of(&context)).await;
        let tool = self.toolbox.label(&request.name);
        self.metrics.operation(tool, outcome_of(&outcome), begun.elapsed());
        Ok(call_tool_result(&request.name, outcome).into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        misshapen::answer(self, &request, is_modern(&context))
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
        let prompt = prompts::get(self, &request.name, &arguments);
        Ok(self.served("prompts/get", &context, prompt).await?.into())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = ListResourcesResult::with_all_items(resources::list());
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
        let reading = async {
            let read = async { resources::read(self, &Resource::at(&uri)?).await };
            read.await.map_err(|reason| reason.answer(&uri))
        };
        let read = self.served("resources/read", &context, reading).await?;
        Ok(read.answer(uri, is_modern(&context)).into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let completing = completion::complete(self, &request);
        self.served("completion/complete", &context, completing).await
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let uri = request.uri;
        let subscribing = async {
            let resource = Resource::at(&uri).map_err(|reason| reason.answer(&uri))?;
            if let Resource::Issue(_) = resource {
                let read = resources::read(self, &resource).await;
                read.map_err(|reason| reason.answer(&uri))?;
            }
            let watching = self.watched.add(uri, resource, &context, &self.newsroom).await;
            watching.map_err(|reason| ErrorData::invalid_params(reason, None))
        };
        self.served("resources/subscribe", &context, subscribing).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.watched.remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let requested = requested.resource_subscriptions.iter().flatten();
        let known = requested.filter(|uri| Resource::at(uri).is_ok()).take(MAX_WATCHED);
        Some(SubscriptionFilter::builder().resource_subscriptions(known).build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let ended = async {
            tokio::select! {
                // A client may end its input right behind its word that it has heard enough.
                () = self.ending.cancelled() => tokio::time::sleep(LAST_WORDS).await,
                () = gone(Caller::of(context.request_context())) => {}
            }
        };
        news::listen(&context, &self.newsroom, ended).await;
        Ok(())
    }
}

/// Tells whether a client knows what came with revision 2026-07-28.
fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version() >= Some(ProtocolVersion::V_2026_07_28)
}

/// Waits until a call is cancelled, or nobody waits for its answer any more.
async fn cancelled(context: &RequestContext<RoleServer>) {
    tokio::select! {
        () = context.ct.cancelled() => {}
        () = gone(Caller::of(context)) => {}
    }
}
