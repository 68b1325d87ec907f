//! JSON-RPC messages of clients: parsing them, and the errors for invalid ones.

use std::fmt;

use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ConstString, ErrorData, InitializeResultMethod,
    JsonRpcError, JsonRpcMessage, RequestId,
};
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use super::invalid_params;
use ait_domain::json_compat;

/// How many values a message may have. Parsing one costs much more than its bytes, and a tool takes ten at most.
const MAX_VALUES: usize = 10_000;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A message that is not valid.
#[derive(Debug)]
pub(super) struct Invalid {
    /// The response: an error with the id of the request, if that can be read.
    pub response: JsonRpcError,
    /// Whether it has a method and no id. JSON-RPC has no response to notifications.
    pub is_notification: bool,
}

/// Parses a message. Skips a byte order mark, with which some Windows programs begin, and replaces lone surrogates,
/// which would otherwise leave a request without a response; if there are any, returns the repaired text, too.
///
/// # Errors
///
/// The text is not JSON, not a message of JSON-RPC 2.0, has more than [`MAX_VALUES`] values, or is an `initialize`
/// without what that requires.
pub(super) fn parse(text: &[u8]) -> Result<(ClientJsonRpcMessage, Option<Vec<u8>>), Box<Invalid>> {
    if json_compat::count_of_values(text) > MAX_VALUES {
        let reason = format!("a message may have at most {MAX_VALUES} values");
        return Err(Box::new(Invalid::of(text, ErrorData::invalid_request(reason, None))));
    }
    let unmarked = text.strip_prefix(BYTE_ORDER_MARK);
    let repaired = json_compat::without_lone_surrogates(unmarked.unwrap_or(text));
    let repaired = repaired.or_else(|| Some(unmarked?.to_owned()));
    let text = repaired.as_deref().unwrap_or(text);
    match serde_json::from_slice(text) {
        Ok(message) => match malformed_initialize(&message, text) {
            None => Ok((message, repaired)),
            Some(error) => Err(Box::new(Invalid::of(text, error))),
        },
        Err(_) => Err(Box::new(Invalid::of(text, explanation(text)))),
    }
}

/// Returns the error of an `initialize` that rmcp cannot parse. rmcp would miss in it the `_meta` that only newer
/// revisions have; with that, it answers that these revisions have no such method.
fn malformed_initialize(message: &ClientJsonRpcMessage, text: &[u8]) -> Option<ErrorData> {
    let JsonRpcMessage::Request(request) = message else { return None };
    match &request.request {
        ClientRequest::CustomRequest(request)
            if request.method == InitializeResultMethod::VALUE =>
        {
            // rmcp takes it out of the parameters.
            let whole: Value = serde_json::from_slice(text).unwrap_or_default();
            let has_meta = whole["params"].get("_meta").is_some();
            (!has_meta).then(|| invalid_params::of_initialize(request.params.as_ref()))
        }
        _ => None,
    }
}

/// Returns the response to a message that is too long; `beginning` is the part that was read.
pub(super) fn too_long(beginning: &[u8], most: usize) -> JsonRpcError {
    let reason = format!("a message may have at most {most} bytes");
    Invalid::of(beginning, ErrorData::invalid_request(reason, None)).response
}

fn explanation(text: &[u8]) -> ErrorData {
    let value = match serde_json::from_slice::<Value>(text) {
        Ok(value) => value,
        Err(error) => {
            let reason = format!("the message is not valid JSON: {error}");
            return ErrorData::parse_error(reason, None);
        }
    };
    let reason = match &value {
        Value::Array(_) => "batches are not part of MCP any more: send one message per request",
        Value::Object(object) if object.get("jsonrpc") != Some(&Value::from("2.0")) => {
            "a message must have \"jsonrpc\": \"2.0\""
        }
        Value::Object(object) if object.contains_key("method") => {
            "`method` must be a string, `params` an object, and `id`, if any, a string or an integer"
        }
        _ => "a message must be a JSON-RPC 2.0 object with `method`, and with `id` for an answer",
    };
    ErrorData::invalid_request(reason, None)
}

impl Invalid {
    fn of(text: &[u8], error: ErrorData) -> Self {
        let mut envelope = Envelope::default();
        // The id counts even if a syntax error follows.
        let read = serde_json::Deserializer::from_slice(text).deserialize_map(&mut envelope);
        let is_notification = read.is_ok() && envelope.has_method && !envelope.has_id;
        Self { response: JsonRpcError::new(envelope.id, error), is_notification }
    }
}

/// The members of a message that say how to respond. Filled as far as the text can be read, at any depth of nesting.
#[derive(Default)]
struct Envelope {
    id: Option<RequestId>,
    has_id: bool,
    has_method: bool,
}

impl<'de> Visitor<'de> for &mut Envelope {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<String>()? {
            self.has_method |= name == "method";
            if name == "id" {
                self.has_id = true;
                self.id = serde_json::from_value(members.next_value()?).ok();
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_carry_the_id_as_far_as_it_can_be_read() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        let many = format!("[{}1]", "1,".repeat(MAX_VALUES));
        let parse_error = -32700;
        let invalid = -32600;
        for (text, code, id) in [
            (r#"{"jsonrpc":"2.0","id":7,"method":"ping""#.to_owned(), parse_error, "7"),
            (r#"{"id":"a","method" "ping"}"#.to_owned(), parse_error, "\"a\""),
            (r#"{"method" "ping","id":7}"#.to_owned(), parse_error, "null"),
            ("no JSON".to_owned(), parse_error, "null"),
            (
                format!(r#"{{"jsonrpc":"2.0","method":"ping","params":{{"x":{deep}}},"id":7}}"#),
                parse_error,
                "7",
            ),
            (format!(r#"{{"id":7,"params":{{"x":{many}}}}}"#), invalid, "7"),
            (r#"{"jsonrpc":"1.0","method":"ping","id":7}"#.to_owned(), invalid, "7"),
            (r#"{"jsonrpc":"2.0","method":"ping","id":[1]}"#.to_owned(), invalid, "null"),
            (r#"[{"jsonrpc":"2.0","method":"ping","id":7}]"#.to_owned(), invalid, "null"),
        ] {
            let Invalid { response, is_notification } = *parse(text.as_bytes()).unwrap_err();
            assert_eq!(response.error.code.0, code, "{text}");
            assert_eq!(serde_json::to_string(&response.id).unwrap(), id, "{text}");
            assert!(!is_notification, "{text}");
        }
        let text = br#"{"jsonrpc":"1.0","method":"notifications/initialized"}"#;
        assert!(parse(text).unwrap_err().is_notification);
    }
}
