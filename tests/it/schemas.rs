//! The tool definitions that agents get.

use serde_json::json;

use crate::support::{Client, TOOLS, directory};

#[test]
fn the_default_tools_match_their_snapshots_in_order() {
    let directory = directory();
    let list = Client::start(directory.path()).request("tools/list", json!({}));
    let tools = list["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, TOOLS, "a new tool belongs to `TOOLS` in tests/it/support/mod.rs");
    for tool in tools {
        insta::assert_json_snapshot!(format!("tool_{}", tool["name"].as_str().unwrap()), tool);
    }
}

/// Each tool has a row in a table of the documentation.
#[test]
fn every_tool_is_documented() {
    let pages = [
        include_str!("../../docs/mcp.md"),
        include_str!("../../docs/bulk.md"),
        include_str!("../../docs/memory.md"),
    ];
    for name in agent_issue_tracker::mcp::TOOLS {
        // The table of token counts has rows of its own.
        let is_row = |line: &&str| line.starts_with(&format!("| `{name}` | `"));
        let rows = pages.iter().flat_map(|page| page.lines()).filter(is_row).count();
        assert_eq!(rows, 1, "{name} needs a row with its parameters in a table of docs/mcp.md");
    }
    let start = include_str!("../../docs/start.md");
    for name in TOOLS {
        assert!(start.contains(&format!("| `{name}` |")), "{name} needs a row in docs/start.md");
    }
}

#[test]
fn tools_are_described_with_plain_schemas() {
    let directory = directory();
    let list = Client::start(directory.path()).request("tools/list", json!({}));
    for tool in list["tools"].as_array().unwrap() {
        assert!(!tool["description"].as_str().unwrap().is_empty(), "{tool}");
        // Annotations that equal the protocol defaults cost tokens without information.
        let annotations = if tool["name"] == "list_issues" {
            json!({ "readOnlyHint": true, "openWorldHint": false })
        } else {
            json!({ "destructiveHint": false, "openWorldHint": false })
        };
        assert_eq!(tool["annotations"], annotations);
        assert_eq!(tool.get("outputSchema"), None);
        let title = tool["title"].as_str().unwrap();
        assert_eq!(title.to_lowercase().replace(' ', "_"), tool["name"].as_str().unwrap());
        let schema = tool["inputSchema"].as_object().unwrap();
        let keys: Vec<_> = schema.keys().map(String::as_str).collect();
        assert!(
            keys.iter().all(|key| ["type", "properties", "required"].contains(key)),
            "{keys:?}"
        );
        for (name, property) in schema["properties"].as_object().unwrap() {
            // Neither an enum of statuses or classifications nor these names need a description.
            let is_described =
                property["description"].as_str().is_some_and(|text| !text.is_empty());
            let is_clear = ["issue_id", "skip"].contains(&name.as_str());
            assert!(
                is_described || is_clear || property["enum"].is_array(),
                "{}: {name} has no description: give its member of `Args` a doc comment",
                tool["name"]
            );
            let kind = property["type"].as_str();
            assert!(matches!(kind, Some("string" | "integer" | "boolean")), "{property}");
            assert_eq!((property.get("format"), property.get("title")), (None, None));
        }
    }
}
