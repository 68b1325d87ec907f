//! A file size limit (`ulimit -f`): the server refuses changes and keeps running.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::files::stored_issues;
use crate::support::{BINARY, Client, ait_through, directory, get};

/// The limit in blocks of 512 bytes: 1 MiB.
const LIMIT_BLOCKS: usize = 2048;
const ISSUES: usize = 60;

fn limited(directory: &Path) -> Client {
    let mut command = ait_through("sh", directory);
    let script = format!("ulimit -f {LIMIT_BLOCKS}; exec \"$0\"");
    let mut client = Client::spawn(command.args(["-c", &script, BINARY]));
    client.initialize();
    client
}

#[test]
fn server_survives_the_file_size_limit_and_loses_nothing() {
    let directory = directory();
    let mut client = limited(directory.path());
    let mut filed = Vec::new();
    let mut refused = 0;
    for number in 0..ISSUES {
        let add = json!({
            "title": number.to_string(), "description": "x".repeat(4_000), "classification": "bug",
            "agent": "a",
        });
        let answer = client.call("add_issue", add);
        if answer.is_error {
            refused += 1;
            assert!(answer.text.contains("nothing was changed"), "{}", answer.text);
        } else {
            filed.push(number.to_string());
        }
    }
    // All of them together exceed the size limit of a file.
    assert!(filed.len() > 5, "{refused} of {ISSUES} were refused");
    let listed = client.call("list_issues", json!({ "take": 1 })).ok();
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["count"], filed.len());
    assert!([200, 503].contains(&get(client.port(), "/health").status));
    client.close();
    let titles: Vec<_> =
        stored_issues(directory.path()).iter().map(|issue| issue["title"].clone()).collect();
    assert_eq!(titles, filed);
    // Without the limit, the store accepts changes again.
    let mut client = Client::start(directory.path());
    client.add("last", "bug");
    assert!(client.close().success());
    assert_eq!(stored_issues(directory.path()).len(), filed.len() + 1);
}
