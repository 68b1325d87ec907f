//! Requests of a method that is known, whose parameters have another shape than the protocol says.

use rmcp::model::{
    CallToolRequestMethod, CompleteRequestMethod, ConstString, CustomRequest, CustomResult,
    ErrorCode, ErrorData, GetPromptRequestMethod, ReadResourceRequestMethod,
    SubscribeRequestMethod, UnsubscribeRequestMethod,
};
use serde_json::Value;

use super::result::{Failure, call_tool_result};
use super::{McpServer, shown};

/// What each method takes, beside the calls of tools.
const SHAPES: [(&str, &str); 5] = [
    (ReadResourceRequestMethod::VALUE, r#"{"uri": "tracker://queue"}"#),
    (GONE[0], r#"{"uri": "tracker://queue"}"#),
    (GONE[1], r#"{"uri": "tracker://queue"}"#),
    (
        GetPromptRequestMethod::VALUE,
        r#"{"name": "developer", "arguments": {"issue_id": "3f2a9c1e"}}"#,
    ),
    (
        CompleteRequestMethod::VALUE,
        r#"{"ref": {"type": "ref/prompt", "name": "developer"}, "argument": {"name": "issue_id", "value": "3f"}}"#,
    ),
];

/// What there is up to revision 2025-11-25 only.
const GONE: [&str; 2] = [SubscribeRequestMethod::VALUE, UnsubscribeRequestMethod::VALUE];

/// Says what is wrong; a call of a tool gets that as the result of the tool, which agents see.
pub(super) fn answer(
    server: &McpServer,
    request: &CustomRequest,
    is_modern: bool,
) -> Result<CustomResult, ErrorData> {
    if request.method == CallToolRequestMethod::VALUE {
        return call(server, request.params.as_ref().unwrap_or(&Value::Null), is_modern);
    }
    let is_gone = is_modern && GONE.contains(&&*request.method);
    let shape = SHAPES.iter().find(|(method, _)| *method == request.method && !is_gone);
    let Some((_, shape)) = shape else {
        return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method.clone(), None));
    };
    let message = format!("the parameters of {} must be like {shape}", request.method);
    Err(ErrorData::invalid_params(message, None))
}

fn call(server: &McpServer, params: &Value, is_modern: bool) -> Result<CustomResult, ErrorData> {
    let name = params["name"].as_str().unwrap_or_default();
    server.refused(name);
    let Some(tool) = server.toolbox().tool(name) else {
        let names = server.toolbox().names();
        let message = format!("params must be an object whose `name` is one of {names}");
        return Err(ErrorData::invalid_params(message, None));
    };
    let reason = match &params["arguments"] {
        Value::Object(_) | Value::Null => {
            "params holds a member that is not of the form that the protocol gives".to_owned()
        }
        other => {
            let given = shown(&other.to_string());
            format!("`arguments` must be an object with its parameters, not {given}")
        }
    };
    let mut result = call_tool_result(&tool.name, Err(Failure::refused(reason)));
    if !is_modern {
        result.result_type = None;
    }
    let result = serde_json::to_value(result);
    let result = result.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    Ok(CustomResult::new(result))
}
