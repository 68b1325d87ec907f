//! Fixtures for the tests of the MCP interface.

use std::sync::Arc;

use serde_json::Value;

use super::asking::Capabilities;
use super::context::LazyContext;
use super::options::{McpOptions, Toolsets};
use super::reply::ReplyOptions;
use super::tools::registry::ToolRegistry;
use super::tools::{Call, CallContext};
use super::waiting::WaitingClient;
use ait_domain::{Classification, Issue, Order, Query};
use ait_store::testing::TestStore;
use ait_tracker::read_model::ReadModel;
use ait_tracker::{NewIssue, Tracker};

/// Returns a tracker over a store in memory that runs `then` after each claim, before the caller gets it. `then` is
/// told whether the claim found an issue.
pub fn tracker(then: impl Fn(bool) + Send + Sync + 'static) -> Tracker {
    Tracker::new(Arc::new(TestStore::new(then)))
}

pub async fn file_issue(tracker: &Tracker) -> Arc<Issue> {
    let title = "t".try_into().unwrap();
    let description = "".try_into().unwrap();
    let agent = "a".try_into().unwrap();
    let issue = NewIssue::new(title, description, Classification::Bug);
    tracker.add_issue(issue, agent).await.unwrap().issue
}

/// Returns the issue that was filed first.
pub async fn only_issue(tracker: &Tracker) -> Arc<Issue> {
    let first = Query { order: Order::Filed, take: 1, ..Query::default() };
    tracker.list_issues(first).await.unwrap().issues.swap_remove(0)
}

/// Returns a call of a tool of the lifecycle.
pub fn call(tracker: &Tracker, tool: &str, arguments: Value, waiting: WaitingClient) -> Call {
    call_with(Toolsets::default(), tracker, tool, arguments, waiting)
}

/// Returns a call of a tool of some toolsets.
pub fn call_with(
    toolsets: Toolsets,
    tracker: &Tracker,
    tool: &str,
    arguments: Value,
    waiting: WaitingClient,
) -> Call {
    let options = McpOptions { toolsets, ..McpOptions::default() };
    let tools = ToolRegistry::new(&options, Arc::default());
    let context = CallContext {
        tracker: tracker.clone(),
        read_model: ReadModel::new(tracker.clone()),
        replies: ReplyOptions::new(&options, tools.names().clone()),
        options: Arc::new(options),
        server: LazyContext::new(|| unreachable!("no tool in these tests needs it")),
        is_lead: false,
        waiting,
        request_id: None,
        capabilities: Capabilities::default(),
        asking: None,
    };
    let arguments = serde_json::from_value(arguments).unwrap();
    tools.with(toolsets).call(tool, context, arguments).unwrap()
}
