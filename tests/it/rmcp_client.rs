//! The rmcp client, which agents embed, in separate processes.

use rmcp::model::{CallToolRequestParams, CallToolResult};
use rmcp::service::{RoleClient, RunningService};
use rmcp::transport::TokioChildProcess;
use rmcp::{RmcpError, ServiceExt};
use serde_json::{Value, json};

use crate::support::{BINARY, TOOLS, directory, id_in};

async fn connect(directory: &std::path::Path) -> Result<RunningService<RoleClient, ()>, RmcpError> {
    let mut command = tokio::process::Command::new(BINARY);
    command.current_dir(directory).env("PORT", "0").env_remove("ISSUES_FILE");
    let transport = TokioChildProcess::new(command)
        .map_err(RmcpError::transport_creation::<TokioChildProcess>)?;
    Ok(().serve(transport).await?)
}

fn text(result: &CallToolResult) -> String {
    result.content[0].as_text().unwrap().text.clone()
}

async fn call(
    client: &RunningService<RoleClient, ()>,
    tool: &'static str,
    arguments: Value,
) -> CallToolResult {
    let arguments = arguments.as_object().unwrap().clone();
    client.call_tool(CallToolRequestParams::new(tool).with_arguments(arguments)).await.unwrap()
}

#[tokio::test]
async fn rmcp_clients_share_the_lifecycle_across_processes() {
    let directory = directory();
    let worker = connect(directory.path()).await.unwrap();
    let reviewer = connect(directory.path()).await.unwrap();
    let server = worker.peer_info().unwrap();
    assert_eq!(server.server_info.as_ref().unwrap().name, "agent-issue-tracker");
    assert_eq!(worker.list_all_tools().await.unwrap().len(), TOOLS.len());

    let issue =
        json!({ "title": "T", "description": "D", "classification": "bug", "agent": "lead" });
    let id = id_in(&text(&call(&worker, "add_issue", issue).await));
    let claimed = call(&worker, "get_next_issue", json!({ "agent": "worker" })).await;
    assert!(text(&claimed).contains(&id));
    let nothing = call(&reviewer, "get_next_issue", json!({ "agent": "reviewer" })).await;
    assert_eq!(nothing.is_error, Some(false));
    let done = json!({ "issue_id": id, "comment": "branch", "agent": "worker" });
    call(&worker, "complete_issue", done).await;
    let review = call(&reviewer, "get_next_review_item", json!({ "agent": "reviewer" })).await;
    assert!(text(&review).contains(&id));
    let close =
        json!({ "issue_id": id, "resolution": "closed", "comment": "merged", "agent": "reviewer" });
    assert_eq!(call(&reviewer, "close_issue", close.clone()).await.is_error, Some(false));
    // Repeating the same call changes nothing; a different comment is refused.
    assert_eq!(call(&worker, "close_issue", close.clone()).await.is_error, Some(false));
    let mut other = close;
    other["comment"] = json!("merged twice");
    assert_eq!(call(&worker, "close_issue", other).await.is_error, Some(true));
    worker.cancel().await.unwrap();
    reviewer.cancel().await.unwrap();
}
