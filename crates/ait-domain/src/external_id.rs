//! The ids that imported issues have in the programs that they come from.

use serde_json::Value as Json;

use super::{Issue, UnknownKeys};

/// The names of ids in other programs, in lower case and without separators: ids, then numbers within a project.
pub const ID_NAMES: [&str; 8] = ["id", "issuekey", "key", "gid", "taskid", "bugid", "uuid", "#"];
/// The names of numbers in other programs, in lower case and without separators.
pub const NUMBER_NAMES: [&str; 4] = ["number", "iid", "issueid", "identifier"];
/// The unknown key under which imports keep the columns of a CSV file that ait has no field for.
pub const CSV_KEY: &str = "csv";
/// The unknown key under which imports keep JSON values whose own keys are those of an issue.
pub const JSON_KEY: &str = "json";
/// The unknown key under which imports keep the values of an issue of beads.
pub const BEADS_KEY: &str = "beads";
/// The unknown key under which imports keep what a decision record says besides its text.
pub const RECORD_KEY: &str = "adr";
/// The unknown key of issues and of comments that says what they are at the remotes of syncs.
pub const SYNC_KEY: &str = "sync";
/// The unknown key under which imports keep an entity of a knowledge graph.
pub const GRAPH_KEY: &str = "graph";
const CONTAINERS: [&str; 5] = [CSV_KEY, JSON_KEY, BEADS_KEY, RECORD_KEY, GRAPH_KEY];

impl Issue {
    /// Returns the ids that the issue has elsewhere, such as `ABC-12` or the number `12`, as imports keep them.
    pub fn external_ids(&self) -> Vec<String> {
        self.unknown_keys.iter().flat_map(|(key, value)| ids_in(key, value.get())).collect()
    }
}

/// Returns true if a key has ids or numbers of other programs.
fn is_name_of_id(key: &str) -> bool {
    let name = key.to_lowercase().replace([' ', '_', '-'], "");
    ID_NAMES.iter().chain(&NUMBER_NAMES).any(|known| *known == name)
}

fn ids_in(key: &str, text: &str) -> Vec<String> {
    if CONTAINERS.contains(&key) {
        let inner: UnknownKeys = serde_json::from_str(text).unwrap_or_default();
        return inner.iter().filter_map(|(key, value)| id_of(key, value.get())).collect();
    }
    id_of(key, text).into_iter().collect()
}

fn id_of(key: &str, text: &str) -> Option<String> {
    if !is_name_of_id(key) {
        return None;
    }
    match serde_json::from_str(text).ok()? {
        Json::String(text) => Some(text.trim().to_owned()).filter(|id| !id.is_empty()),
        Json::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn external_ids_are_found_where_imports_keep_them() {
        for (fields, expected) in [
            (r#""number":12,"url":"https://example.org/12""#, &["12"][..]),
            (r#""key":"ABC-12","issueId":"10001""#, &["ABC-12", "10001"]),
            (r#""csv":{"Issue key":"ABC-12","Sprint":"7"}"#, &["ABC-12"]),
            (r#""beads":{"id":"app-9f3","priority":1}"#, &["app-9f3"]),
            (r#""json":{"id":99,"number":"x"},"number":[1],"other":{"id":1}"#, &["99", "x"]),
            (r#""json":7"#, &[]),
        ] {
            let issue = format!(
                r#"{{"id":"3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73","title":"T","description":"","classification":"bug",
                "createdAt":"2026-01-31T09:30:00.000Z","modifiedAt":"2026-01-31T09:31:00.000Z","status":"created",
                "history":[],"comments":[],{fields}}}"#
            );
            let issue: Issue = serde_json::from_str(&issue).unwrap();
            assert_eq!(issue.external_ids(), expected, "{fields}");
        }
    }
}
