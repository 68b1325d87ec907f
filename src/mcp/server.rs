//! The MCP server itself: who it is, what it teaches, and how a call reaches its tool.

use std::panic::AssertUnwindSafe;
use std::time::Instant;

use futures::future::FutureExt;
use rmcp::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestMethod, CallToolRequestParams, CallToolResponse,
    CompleteRequestMethod, CompleteRequestParams, CompleteResult, ConstString, CustomRequest,
    CustomResult, ErrorCode, ErrorData, Implementation, ListPromptsRequestMethod,
    ListPromptsResult, ListResourceTemplatesRequestMethod, ListResourceTemplatesResult,
    ListResourcesRequestMethod, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProtocolVersion, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};

use serde_json::Value;

use super::http::{is_gone, read_only_token};
use super::result::{Failure, Success, call_tool_result, outcome_of};
use super::tools::{Answer, Toolbox};
use crate::domain::text::shortened;
use crate::metrics::Metrics;
use crate::tracker::Tracker;

/// How long clients may keep the list of tools, which is the same for everybody and changes only
/// with the version of the server.
const TOOLS_TTL_MS: u64 = 3_600_000;

/// How much of a wrong value an error repeats.
const SHOWN_CHARS: usize = 60;

/// What the server tells every agent that connects: the workflow across the tools.
const INSTRUCTIONS: &str = "\
One issue queue shared by several coding agents: claim an issue before you work on it, and never let \
go of a claim without complete_issue, return_issue or close_issue.

Lifecycle: add_issue -> created -get_next_issue-> in_progress -complete_issue-> completed \
-get_next_review_item-> in_review -close_issue-> closed or rejected (both final). return_issue puts \
an open issue back to created, in its old place in the queue.

Working: call get_next_issue (classification narrows it); it answers with the whole issue, which is \
then yours alone. Read its comments: they say what was tried before. Work in a git worktree of your \
own on a branch named by the first 8 digits of the id. Verify, then complete_issue with the branch \
and what you checked. If you cannot finish, return_issue with what the next one needs to know. When \
the history holds three or more `Issue returned to created status`, do not try again: close_issue as \
rejected and say why.

Reviewing: get_next_review_item, read the branch, build and test it; then merge it and close_issue \
as closed, or return_issue with exactly what must change, or close_issue as rejected. File what you \
find beside the point with add_issue.

Leading: list_issues with take: 1 gives queue sizes in `count` and claims nothing. Return claims \
whose worker is gone.

Pass the same `agent` name in every call. An issue may be named by its full id or by its first 8 or \
more hex digits. Errors say what to do next.";

/// The tracker as an MCP server. Clones share the tracker and the meters.
#[derive(Clone)]
pub struct McpServer {
    tracker: Tracker,
    metrics: Metrics,
    toolbox: Toolbox,
}

impl McpServer {
    /// A server with the seven lifecycle tools.
    pub fn new(tracker: Tracker, metrics: Metrics) -> Self {
        Self { tracker, metrics, toolbox: Toolbox::lifecycle() }
    }

    /// Takes note of a call that reached no tool.
    fn refused(&self, tool: &str) {
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
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let identity = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
            .with_title("Agent issue tracker");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(identity)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = ListToolsResult::with_all_items(self.toolbox.tools());
        // Clients of older revisions do not know these fields.
        if context.protocol_version() < Some(ProtocolVersion::V_2026_07_28) {
            return Ok(tools);
        }
        Ok(tools.with_ttl_ms(TOOLS_TTL_MS).with_cache_scope(CacheScope::Public))
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
            let name = shortened(&request.name, SHOWN_CHARS);
            let message = format!("no tool {name:?}: there are {}", self.toolbox.names());
            return Err(ErrorData::invalid_params(message, None));
        };
        let _in_progress = self.metrics.begin();
        let begun = Instant::now();
        let outcome = tokio::select! {
            outcome = answered(answer) => outcome,
            // Dropping the answer withdraws a command that was not decided yet.
            () = cancelled(&context) => Err(Failure::cancelled(
                "the call was cancelled; look with list_issues whether it took effect",
            )),
        };
        let tool = self.toolbox.label(&request.name);
        self.metrics.operation(tool, outcome_of(&outcome), begun.elapsed());
        Ok(call_tool_result(&request.name, outcome).into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method != CallToolRequestMethod::VALUE {
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None));
        }
        // A call whose parameters have another shape than the protocol says.
        let params = request.params.unwrap_or_default();
        let name = params["name"].as_str().unwrap_or_default();
        self.refused(name);
        let Some(tool) = self.toolbox.tool(name) else {
            let names = self.toolbox.names();
            let message = format!("params must be an object whose `name` is one of {names}");
            return Err(ErrorData::invalid_params(message, None));
        };
        let reason = match &params["arguments"] {
            Value::Object(_) | Value::Null => {
                "params holds a member that is not of the form that the protocol gives".to_owned()
            }
            other => {
                let given = shortened(&other.to_string(), SHOWN_CHARS);
                format!("`arguments` must be an object with its parameters, not {given}")
            }
        };
        let mut result = call_tool_result(&tool.name, Err(Failure::refused(reason)));
        if context.protocol_version() < Some(ProtocolVersion::V_2026_07_28) {
            result.result_type = None;
        }
        let result = serde_json::to_value(result);
        let result = result.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        Ok(CustomResult::new(result))
    }

    // What is not offered is refused: the defaults would answer with empty lists.

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourceTemplatesRequestMethod>())
    }

    async fn complete(
        &self,
        _request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }
}

/// Waits until a call is cancelled, or nobody waits for its answer any more.
async fn cancelled(context: &RequestContext<RoleServer>) {
    tokio::select! {
        () = context.ct.cancelled() => {}
        () = is_gone(context) => {}
    }
}

/// Waits for an answer; a panic on the way to it is answered too, since nothing else would be.
async fn answered(answer: Answer) -> Result<Success, Failure> {
    AssertUnwindSafe(answer).catch_unwind().await.unwrap_or_else(|_| {
        Err(Failure::panicked(
            "this is a defect of the tracker (details are in its log); \
             look with list_issues whether anything changed before you try again",
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Outcome;

    #[test]
    fn instructions_begin_with_the_key_sentence_and_keep_within_2000_characters() {
        assert!(INSTRUCTIONS.chars().count() <= 2000, "{}", INSTRUCTIONS.chars().count());
        assert!(INSTRUCTIONS.lines().next().unwrap().contains("claim an issue before you work"));
    }

    #[tokio::test]
    async fn a_panic_in_a_tool_is_answered() {
        let panicking: Answer = async { panic!("on purpose") }.boxed();
        let failure = answered(panicking).await.unwrap_err();
        assert!(failure.reason.contains("defect of the tracker"), "{failure:?}");
        assert_eq!(failure.outcome, Outcome::Panicked);
    }
}
