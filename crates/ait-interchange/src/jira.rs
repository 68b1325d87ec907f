//! Issues of Jira as its REST interface writes them: most values are in an object `fields`, and texts may be documents.

use serde_json::Value as Json;

use super::Values;

/// The name of the number of an issue, as in Jira's CSV files. Its `id` is the key there.
const NUMBER: &str = "issueId";

/// Puts the values of `fields` beside the others, if the object is an issue of Jira. Returns true if it is one.
pub(super) fn flatten(outer: &mut Values) -> bool {
    let Some(fields) = outer.get("fields") else { return false };
    let fields: Values = serde_json::from_str(fields.get()).unwrap_or_default();
    if !outer.contains_key("key") || !fields.contains_key("summary") {
        return false;
    }
    outer.shift_remove("fields");
    let mut flat = Values::new();
    for (name, value) in outer.drain(..) {
        let name = if name == "id" { NUMBER.to_owned() } else { name };
        flat.insert(name, value);
    }
    for (name, value) in fields {
        // A page of comments contains them.
        let comments = serde_json::from_str::<Values>(value.get());
        let comments = comments.ok().filter(|_| name == "comment");
        let value = comments.and_then(|mut page| page.shift_remove("comments")).unwrap_or(value);
        flat.entry(name).or_insert(value);
    }
    *outer = flat;
    true
}

/// Returns the text of a document (Atlassian Document Format), or `None` if the value is something else.
pub(super) fn text_of(document: &Json) -> Option<String> {
    let is_document = document.get("type").and_then(Json::as_str) == Some("doc");
    let mut text = String::new();
    write(document.get("content").filter(|_| is_document)?, &mut text);
    Some(text.trim_end().to_owned())
}

fn write(content: &Json, text: &mut String) {
    for node in content.as_array().into_iter().flatten() {
        let attribute = |name: &str| node.get("attrs")?.get(name)?.as_str();
        match node.get("type").and_then(Json::as_str).unwrap_or_default() {
            "text" => text.push_str(node.get("text").and_then(Json::as_str).unwrap_or_default()),
            "hardBreak" => text.push('\n'),
            "mention" | "emoji" | "status" => text.push_str(attribute("text").unwrap_or_default()),
            "inlineCard" | "blockCard" => text.push_str(attribute("url").unwrap_or_default()),
            kind => {
                if kind == "listItem" {
                    text.push_str("- ");
                }
                write(node.get("content").unwrap_or(&Json::Null), text);
                let is_block = matches!(kind, "paragraph" | "heading" | "codeBlock" | "rule");
                if is_block {
                    text.push('\n');
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_become_keys_of_the_issue() {
        let flattened = |text: &str| {
            let mut values: Values = serde_json::from_str(text).unwrap();
            flatten(&mut values);
            serde_json::to_string(&values).unwrap()
        };
        let issue = r#"{"id":"10001","key":"A-1","fields":{"summary":"S","id":7,"n":1.50,"comment":{"total":0,"comments":[]}}}"#;
        assert_eq!(
            flattened(issue),
            r#"{"issueId":"10001","key":"A-1","summary":"S","id":7,"n":1.50,"comment":[]}"#
        );
        for other in [r#"{"title":"T","fields":{"a":1}}"#, r#"{"key":"A","fields":[]}"#] {
            assert_eq!(flattened(other), other);
        }
    }

    #[test]
    fn documents_are_read_as_their_text() {
        let paragraph =
            |text: &str| json!({"type": "paragraph", "content": [{"type": "text", "text": text}]});
        let document = json!({"type": "doc", "version": 1, "content": [
            paragraph("First."),
            {"type": "bulletList", "content": [
                {"type": "listItem", "content": [paragraph("one")]},
                {"type": "listItem", "content": [paragraph("two")]},
            ]},
            {"type": "paragraph", "content": [
                {"type": "mention", "attrs": {"text": "@ann"}}, {"type": "hardBreak"},
                {"type": "inlineCard", "attrs": {"url": "https://example.org"}},
            ]},
        ]});
        let text = "First.\n- one\n- two\n@ann\nhttps://example.org";
        assert_eq!(text_of(&document).as_deref(), Some(text));
        assert_eq!(text_of(&json!({"type": "doc"})), None);
        assert_eq!(text_of(&json!("text")), None);
    }
}
