//! Work on files in the background: a process publishes `issues.json`, merges external edits, recreates a removed log,
//! and reports missing write permission.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::files::{STORE_FILES, issues_in_file, names, stored_issues, wait_for_file};
use crate::support::{BINARY, Client, ait_through, directory, get, until};

#[test]
fn file_is_published_during_and_after_continuous_changes() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    let mut seen = 0;
    let mut filed = 0;
    // Add issues without a pause until the file was published three times.
    for _ in 0..3 {
        loop {
            filed += 1;
            client.add(&format!("{filed}"), "bug");
            assert!(filed < 1_000_000, "the file was not published");
            if directory.path().join("issues.json").exists() {
                let now = issues_in_file(directory.path()).len();
                if now > seen {
                    seen = now;
                    break;
                }
            }
        }
    }
    wait_for_file(directory.path(), |issues| issues.len() == filed);
    assert_eq!(names(directory.path()), STORE_FILES);
}

#[test]
fn database_keeps_unpublished_changes_after_a_kill() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    client.add("first", "bug");
    wait_for_file(directory.path(), |issues| issues.len() == 1);
    let id = client.add("second", "bug");
    client.signal("KILL");
    client.wait();
    assert_eq!(stored_issues(directory.path())[1]["id"], id);
    // A reader only publishes what the dead process left.
    let mut reader = Client::start(directory.path());
    reader.call("list_issues", json!({ "issue_id": id })).issue();
    wait_for_file(directory.path(), |issues| issues.len() == 2);
    assert!(reader.close().success());
}

#[test]
fn removal_under_running_processes_loses_nothing() {
    let directory = directory();
    let (mut one, mut other) = (Client::start(directory.path()), Client::start(directory.path()));
    one.add("first", "bug");
    wait_for_file(directory.path(), |issues| issues.len() == 1);
    // Only the log has this issue.
    one.add("second", "bug");
    // The removal may fail halfway, because the processes recreate the log at once.
    drop(fs::remove_dir_all(directory.path().join(".ait")));
    assert!(one.call("list_issues", json!({})).ok().contains("\"count\":2"));
    one.add("third", "bug");
    one.add("fourth", "bug");
    assert!(other.call("list_issues", json!({})).ok().contains("\"count\":4"));
    other.add("fifth", "bug");
    assert!(one.call("list_issues", json!({})).ok().contains("\"count\":5"));
    assert!(one.close().success() && other.close().success());
    assert_eq!(issues_in_file(directory.path()).len(), 5);
}

#[test]
fn external_edits_and_changes_are_merged_in_the_file() {
    let directory = directory();
    let (mut one, mut other) = (Client::start(directory.path()), Client::start(directory.path()));
    let kept = one.add("kept", "bug");
    let removed = one.add("removed", "bug");
    wait_for_file(directory.path(), |issues| issues.len() == 2);
    for round in 0..5 {
        let file = directory.path().join("issues.json");
        let mut document: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        let issues = document["issues"].as_array_mut().unwrap();
        issues.retain(|issue| issue["id"] != removed);
        issues[0]["title"] = json!(format!("edited {round}"));
        // The file does not have this change yet, or a process is just publishing it.
        one.add(&format!("beside {round}"), "feature");
        fs::write(&file, document.to_string()).unwrap();
        // If a process publishes during this write, the store still finds the edit afterwards.
        until("the edit is adopted", || {
            let seen = other.call("list_issues", json!({ "issue_id": kept })).issue();
            seen["title"] == format!("edited {round}")
        });
        other.add(&format!("after {round}"), "feature");
        let titled =
            |issues: &[Value], title: String| issues.iter().any(|issue| issue["title"] == title);
        let all = wait_for_file(directory.path(), |all| titled(all, format!("after {round}")));
        assert!(titled(&all, format!("beside {round}")));
        assert_eq!(all[0]["title"], format!("edited {round}"));
        // An edit that omits an issue does not remove it.
        assert!(all.iter().any(|issue| issue["id"] == removed));
    }
    assert!(one.close().success() && other.close().success());
}

#[test]
fn failed_publish_is_degraded_until_it_succeeds() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    client.add("first", "bug");
    wait_for_file(directory.path(), |issues| issues.len() == 1);
    let (file, other) = (directory.path().join("issues.json"), directory.path().join("other"));
    fs::hard_link(&file, &other).unwrap();
    client.add("second", "bug");
    let health = || get(client.port(), "/health");
    until("the health probe reports it", || health().body.contains("several hard links"));
    assert!(health().body.contains("degraded"));
    assert_eq!(issues_in_file(directory.path()).len(), 1);
    fs::remove_file(&other).unwrap();
    wait_for_file(directory.path(), |issues| issues.len() == 2);
    until("the health probe reports no error", || !health().body.contains("hard links"));
    assert!(client.close().success());
}

/// Returns a command for a user without write permission, or `None` if root does not run the test.
#[cfg(target_os = "linux")]
fn ait_as_other_user(directory: &Path) -> Option<Command> {
    let id = Command::new("id").arg("-u").output().ok()?;
    if id.stdout != b"0\n" {
        return None;
    }
    // Other users may have no access to the directory of the binary.
    let binary = directory.join("ait");
    fs::copy(BINARY, &binary).unwrap();
    let mut command = ait_through("setpriv", directory);
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(binary);
    Some(command)
}

#[cfg(target_os = "linux")]
#[test]
fn user_without_write_permission_can_still_read() {
    use std::os::unix::fs::PermissionsExt;

    let directory = directory();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let mut owner = Client::start(directory.path());
    let id = owner.add("t", "bug");
    let Some(mut command) = ait_as_other_user(directory.path()) else {
        crate::support::skip("only root can run a command as another user");
        return;
    };
    let mut reader = Client::spawn(&mut command);
    reader.initialize();
    assert_eq!(reader.call("list_issues", json!({ "issue_id": id })).issue()["title"], "t");
    let text = reader.call("get_next_issue", json!({ "agent": "a" })).refusal();
    assert!(text.contains("read-only") && text.contains("right to write"), "{text}");
    let health = get(reader.port(), "/health");
    assert_eq!(health.status, 503, "{}", health.body);
    assert!(health.body.contains("read-only"), "{}", health.body);
    // Reading follows the owner's changes.
    owner.add("u", "bug");
    assert!(reader.call("list_issues", json!({})).ok().contains("\"count\":2"));
    assert!(owner.close().success());
}
