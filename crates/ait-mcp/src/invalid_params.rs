//! Requests with a known method and parameters of the wrong shape, which rmcp cannot parse.

use rmcp::model::{
    CallToolRequestMethod, CompleteRequestMethod, ConstString, CustomRequest, CustomResult,
    ErrorCode, ErrorData, GetPromptRequestMethod, InitializeRequestParams, JsonObject,
    ReadResourceRequestMethod, SubscribeRequestMethod, UnsubscribeRequestMethod,
};
use rmcp::service::{RequestContext, RoleServer};
use serde::Deserialize;
use serde_json::Value;

use super::call_log::CallLog;
use super::request_context::is_modern;
use super::result::Failure;
use super::shown;
use super::tools::registry::ToolSelection;

/// An example of the parameters of each method except `tools/call`.
const EXAMPLES: [(&str, &str); 5] = [
    (ReadResourceRequestMethod::VALUE, r#"{"uri": "tracker://queue"}"#),
    (LEGACY_METHODS[0], r#"{"uri": "tracker://queue"}"#),
    (LEGACY_METHODS[1], r#"{"uri": "tracker://queue"}"#),
    (
        GetPromptRequestMethod::VALUE,
        r#"{"name": "developer", "arguments": {"issue_id": "3f2a9c1e"}}"#,
    ),
    (
        CompleteRequestMethod::VALUE,
        r#"{"ref": {"type": "ref/prompt", "name": "developer"}, "argument": {"name": "issue_id", "value": "3f"}}"#,
    ),
];

/// An example of the parameters of `initialize`.
const INITIALIZE: &str = r#"{"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "my-client", "version": "1.0.0"}}"#;

/// The methods that revision 2026-07-28 removed.
const LEGACY_METHODS: [&str; 2] = [SubscribeRequestMethod::VALUE, UnsubscribeRequestMethod::VALUE];

/// Returns the error of an `initialize` with such parameters.
pub(super) fn of_initialize(params: Option<&Value>) -> ErrorData {
    let params = params.unwrap_or(&Value::Null);
    let missing = ["protocolVersion", "capabilities", "clientInfo"].into_iter();
    let missing: Vec<_> = missing.filter(|name| params.get(name).is_none()).collect();
    let problem = match missing[..] {
        [] => InitializeRequestParams::deserialize(params).err().map(|error| error.to_string()),
        _ => Some(format!("it lacks {}", missing.join(", "))),
    };
    let message = format!(
        "the parameters of initialize must be like {INITIALIZE}: {}",
        problem.unwrap_or_else(|| "a member has another form".to_owned())
    );
    ErrorData::invalid_params(message, None)
}

/// Returns the tool that such a request calls; an empty name if it names none. `None` if it is no call.
pub(super) fn called_tool(request: &CustomRequest) -> Option<&str> {
    let is_call = request.method == CallToolRequestMethod::VALUE;
    let name = || request.params.as_ref()?.get("name")?.as_str();
    is_call.then(|| name().unwrap_or_default())
}

/// Answers such a request with an error. A tool call gets it as the result of the tool, which agents see.
pub(super) fn respond(
    tools: &ToolSelection,
    request: &CustomRequest,
    context: &RequestContext<RoleServer>,
) -> Result<CustomResult, ErrorData> {
    if let Some(tool) = called_tool(request) {
        let params = request.params.as_ref().unwrap_or(&Value::Null);
        return respond_to_call(tools, tool, &params["arguments"], context);
    }
    let is_removed = is_modern(context) && LEGACY_METHODS.contains(&&*request.method);
    let example = EXAMPLES.iter().find(|(method, _)| *method == request.method && !is_removed);
    let Some((_, example)) = example else {
        return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, shown(&request.method), None));
    };
    let message = format!("the parameters of {} must be like {example}", request.method);
    Err(ErrorData::invalid_params(message, None))
}

fn respond_to_call(
    tools: &ToolSelection,
    name: &str,
    arguments: &Value,
    context: &RequestContext<RoleServer>,
) -> Result<CustomResult, ErrorData> {
    let log = CallLog::begin(tools.label(name), &JsonObject::new());
    if tools.definition(name).is_none() {
        log.unknown_tool(context);
        let names = tools.names();
        let message = format!("params must be an object whose `name` is one of {names}");
        return Err(ErrorData::invalid_params(message, None));
    }
    let reason = match arguments {
        Value::Object(_) | Value::Null => {
            "a member of params does not have the form that the protocol defines".to_owned()
        }
        other => {
            let given = shown(&other.to_string());
            format!("`arguments` must be an object with the parameters of {name}, not {given}")
        }
    };
    let mut result = log.reply(Err(Failure::invalid(reason)), None, context);
    if !is_modern(context) {
        result.result_type = None;
    }
    let result = serde_json::to_value(result);
    let result = result.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    Ok(CustomResult::new(result))
}
