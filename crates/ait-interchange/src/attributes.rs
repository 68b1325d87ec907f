//! Priority, labels, assignee and links, as other programs write them.

use serde_json::Value as Json;
use serde_json::value::{RawValue, to_raw_value};

use super::value::{Value, name_of};
use super::words::means_nothing;
use ait_domain::{AgentName, IssueId, Label, LinkKind};

/// A link to an issue that a file names by its id in another program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedLink {
    pub kind: LinkKind,
    /// The link as the file has it, for messages.
    pub shown: String,
    /// The name of the other issue in the file.
    pub name: String,
    /// The ids that an import would give to an issue of that name, the most likely one first.
    pub ids: Vec<IssueId>,
}

/// Returns the label of a name. A name that is no label becomes one in lower case, with hyphens for spaces.
pub fn label_of(name: &str) -> Option<Label> {
    name.parse().ok().or_else(|| {
        let words = name.to_lowercase();
        let words: Vec<_> = words.split_whitespace().collect();
        // As in `type: bug`.
        words.join("-").replace(":-", ":").parse().ok()
    })
}

/// Returns the labels of names, ascending and not more than an issue can have.
pub(super) fn labels_of(names: impl Iterator<Item = String>) -> Vec<Label> {
    let mut labels: Vec<Label> = Vec::new();
    for label in names.filter_map(|name| label_of(&name)) {
        if labels.len() < Label::MAX_COUNT && !labels.contains(&label) {
            labels.push(label);
        }
    }
    labels.sort_unstable();
    labels
}

/// Returns the names in a value that are none of the labels of the issue, if there are any.
pub(super) fn without_labels(value: Value<'_>, labels: &[Label]) -> Option<Box<RawValue>> {
    let names = value.names();
    let is_label = |name: &String| label_of(name).is_some_and(|label| labels.contains(&label));
    let rest: Vec<_> = names.iter().filter(|name| !is_label(name)).collect();
    // Also something that is no list of names.
    let has_others = list(value).is_some_and(|list| list.len() != names.len());
    if rest.len() == names.len() || has_others {
        return Some(value.raw());
    }
    if rest.is_empty() { None } else { to_raw_value(&rest).ok() }
}

/// Returns the name of the first assignee, if an agent can have that name. Other programs write `@` before names, and
/// words such as `none` for no assignee; in an export of ait, everything is a name.
pub(super) fn assignee_of(value: Value<'_>, is_ours: bool) -> Option<AgentName> {
    let name = match (list(value), value) {
        (Some(list), _) => list.first().and_then(name_of),
        (None, Value::Cell(text)) if !is_ours && text.trim().starts_with('[') => {
            value.names().into_iter().next()
        }
        _ => value.name(),
    }?;
    let name = if is_ours { &*name } else { name.trim_start_matches('@') };
    let name = Some(name).filter(|name| is_ours || !means_nothing(name))?;
    AgentName::try_from(name).ok()
}

/// Returns true if a value has entries that name no issue, such as links of another kind.
pub(super) fn has_other_links(value: Value<'_>) -> bool {
    list(value).is_some_and(|list| list.iter().any(|entry| names_in(entry).is_empty()))
}

/// Returns true if a value names more than one assignee.
pub(super) fn has_more_assignees(value: Value<'_>) -> bool {
    match value {
        Value::Cell(text) => text.trim().starts_with('[') && value.names().len() > 1,
        Value::Json(_) => list(value).is_some_and(|list| list.len() > 1),
    }
}

fn list(value: Value<'_>) -> Option<Vec<Json>> {
    let Value::Json(json) = value else { return None };
    match serde_json::from_str(json.get()).ok()? {
        Json::Array(list) => Some(list),
        // GraphQL interfaces put lists into pages.
        Json::Object(mut page) => serde_json::from_value(page.remove("nodes")?).ok(),
        _ => None,
    }
}

/// Returns the names of other issues in a value: ids, numbers, addresses, or objects that have one of them.
pub(super) fn names_of_issues(value: Value<'_>) -> Vec<String> {
    let mut names = match value {
        Value::Cell(_) => value.names(),
        Value::Json(json) => {
            let parsed = serde_json::from_str(json.get());
            parsed.map(|json| names_in(&json)).unwrap_or_default()
        }
    };
    names.retain(|name| name != "0" && !means_nothing(name));
    names
}

fn names_in(value: &Json) -> Vec<String> {
    const NAMES: [&str; 6] = ["html_url", "url", "key", "id", "gid", "number"];
    const BLOCKED: &str = "is blocked by";
    match value {
        Json::Array(list) => list.iter().flat_map(names_in).collect(),
        // GitHub and GitLab put lists into pages.
        Json::Object(object) if object.contains_key("nodes") => names_in(&object["nodes"]),
        // A link of Jira. The other direction and the other types mean something else.
        Json::Object(object) if object.contains_key("inwardIssue") => {
            let is_blocked = value.pointer("/type/inward").and_then(Json::as_str) == Some(BLOCKED);
            if is_blocked { names_in(&object["inwardIssue"]) } else { Vec::new() }
        }
        Json::Object(object) if object.contains_key("outwardIssue") => Vec::new(),
        Json::Object(object) => {
            let found = NAMES.iter().find_map(|name| name_of(object.get(*name)?));
            found.into_iter().collect()
        }
        Json::String(text) => Value::Cell(text).names(),
        Json::Number(number) => vec![number.to_string()],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_labels_where_that_is_obvious() {
        for (name, label) in [
            ("ui", Some("ui")),
            ("a:-b", Some("a:-b")),
            ("Good  First Issue", Some("good-first-issue")),
            ("type: Bug", Some("type:bug")),
            ("🐛 bug", None),
            ("c++", None),
            ("", None),
        ] {
            assert_eq!(label_of(name).map(|label| label.to_string()).as_deref(), label, "{name}");
        }
        let many = labels_of((0..30).map(|number| format!("l{number:02}")));
        assert_eq!((many.len(), many[19].as_str()), (20, "l19"));
        let value = Value::Cell("UI, c++; l25, l03");
        let rest = without_labels(value, &[many, vec!["ui".parse().unwrap()]].concat()).unwrap();
        assert_eq!(rest.get(), r#"["c++","l25"]"#);
    }

    #[test]
    fn issues_are_named_in_the_usual_ways() {
        for (json, names) in [
            (r#""SHOP-1, SHOP-2""#, &["SHOP-1", "SHOP-2"][..]),
            ("[7,\"8\"]", &["7", "8"]),
            (r#"{"id":"10001","key":"SHOP-1","fields":{}}"#, &["SHOP-1"]),
            (r##"{"nodes":[{"number":7,"url":"u/7"}],"totalCount":1}"##, &["u/7"]),
            (
                r#"[{"type":{"inward":"is blocked by"},"inwardIssue":{"key":"A-1"}},
                    {"type":{"inward":"is blocked by"},"outwardIssue":{"key":"A-2"}},
                    {"type":{"inward":"relates to"},"inwardIssue":{"key":"A-3"}}]"#,
                &["A-1"],
            ),
            ("true", &[]),
        ] {
            let raw: Box<RawValue> = serde_json::from_str(json).unwrap();
            assert_eq!(names_of_issues(Value::Json(&raw)), names, "{json}");
        }
    }
}
