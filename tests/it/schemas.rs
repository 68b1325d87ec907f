//! What agents are told of the tools, exactly, and what it costs them.

use serde_json::{Value, json};

use crate::support::{Client, TOOLS, ait, directory};

/// The most bytes of the whole answer to `tools/list`, which every agent reads in every session.
const MAX_BYTES: usize = 4_800;

#[test]
fn the_seven_tools_in_their_order_each_as_its_snapshot_says() {
    let directory = directory();
    let list = Client::start(directory.path()).request("tools/list", json!({}));
    let tools = list["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, TOOLS);
    for tool in tools {
        insta::assert_json_snapshot!(format!("tool_{}", tool["name"].as_str().unwrap()), tool);
    }
}

#[test]
fn every_tool_and_every_parameter_is_described_and_the_schemas_are_plain() {
    let directory = directory();
    let list = Client::start(directory.path()).request("tools/list", json!({}));
    for tool in list["tools"].as_array().unwrap() {
        for key in ["title", "description"] {
            assert!(!tool[key].as_str().unwrap().is_empty(), "{tool}");
        }
        let read_only = tool["name"] == "list_issues";
        let annotations = json!({ "readOnlyHint": read_only, "destructiveHint": false, "idempotentHint": read_only, "openWorldHint": false });
        assert_eq!(tool["annotations"], annotations);
        assert_eq!(tool.get("outputSchema"), None);
        let schema = tool["inputSchema"].as_object().unwrap();
        let keys: Vec<_> = schema.keys().map(String::as_str).collect();
        assert!(keys.iter().all(|key| ["type", "additionalProperties", "properties", "required"].contains(key)), "{keys:?}");
        for (name, property) in schema["properties"].as_object().unwrap() {
            assert!(!property["description"].as_str().unwrap().is_empty(), "{name}");
            assert!(matches!(property["type"].as_str(), Some("string" | "integer")), "{property}");
            assert_eq!((property.get("format"), property.get("title")), (None, None));
        }
    }
}

#[test]
fn the_list_is_small_in_both_eras() {
    let directory = directory();
    let meta = json!({ "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    } });
    let with_initialize = Client::start(directory.path()).request("tools/list", json!({}));
    let stateless = Client::spawn(&mut ait(directory.path())).request("tools/list", meta);
    for list in [with_initialize, stateless] {
        let bytes = Value::to_string(&list).len();
        assert!(bytes <= MAX_BYTES, "{bytes} bytes");
    }
}
