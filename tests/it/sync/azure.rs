//! `ait sync` with an Azure DevOps on this machine.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use super::{Fake, command, id, sync, titled};
use crate::support::directory;
use crate::support::files::stored_issues;
use crate::support::runs::run;

const TABLE: &str = "kind = \"azure\"\nproject = \"Shop\"\npull = \"state:open tag:agents\"\n";
const PUSH: &str = "push = [\"status\", \"comments\", \"title\", \"description\", \"priority\", \"labels\", \"assignee\", \"new\"]\n";

fn field(azure: &Fake, number: usize, name: &str) -> Value {
    azure.issue(number)["fields"][name].clone()
}

/// Returns the texts of all comments.
fn texts(azure: &Fake) -> Vec<String> {
    let state = azure.state();
    let comments = state["comments"].as_array().unwrap().iter();
    comments.map(|comment| comment["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn work_items_come_in_work_happens_here_and_goes_back() {
    let Some(azure) = Fake::start("azure.mjs", &[], TABLE) else { return };
    let directory = directory();
    let path = directory.path();
    azure.configure(path, PUSH);
    azure.control(json!({"clockMinutes": -10, "issue": {
        "System.Title": "First", "System.Tags": "agents; To Do", "Microsoft.VSTS.Common.Priority": 1,
        "System.Description": "<div>It <b>fails</b></div><div>daily</div>",
    }}));
    azure.control(
        json!({"issue": {"type": "Bug", "System.Title": "Second", "System.Tags": "agents", "System.AssignedTo": "maria"}}),
    );
    azure.control(json!({"issue": {"System.Title": "Of people"}}));
    for text in ["<p>one</p>", "two", "three"] {
        azure.control(json!({"comment": {"id": 1, "body": text}}));
    }
    run(path, &["add", "Began here", "-d", "Some **text**"]).ok();
    let report = sync(path, &[]).ok();
    assert_eq!(report, "company: 2 new here, 1 filed there, 3 comments received\n");
    assert_eq!(titled(path, "Second")["classification"], "bug");
    let first = titled(path, "First");
    assert_eq!(first["description"], "It **fails**\n\ndaily");
    assert_eq!((&first["priority"], &first["labels"]), (&json!(1), &json!(["agents", "to-do"])));
    assert_eq!(first["comments"][2]["text"], "three");
    let filed = field(&azure, 4, "System.Description");
    let filed = filed.as_str().unwrap();
    assert!(filed.starts_with("<p>Some <strong>text</strong></p>\n<p>(ait:"), "{filed}");
    assert_eq!(sync(path, &[]).ok(), "company: nothing new\n");

    run(path, &["claim", "#1", "-a", "dev-1"]).ok();
    assert_eq!(sync(path, &[]).ok(), "company: 1 changed there\n");
    assert_eq!(field(&azure, 1, "System.State"), "Doing");
    assert_eq!(field(&azure, 1, "System.AssignedTo")["uniqueName"], "bot@example.com");
    // A person stays the only assignee.
    run(path, &["claim", "#2", "-a", "dev-2"]).ok();
    sync(path, &[]).ok();
    run(path, &["return", "#2", "-a", "dev-2", "-m", "Yours"]).ok();
    sync(path, &[]).ok();
    assert_eq!(field(&azure, 2, "System.AssignedTo")["displayName"], "maria");
    // An edit comes between the read and the change, which tests the revision.
    run(path, &["complete", "#1", "-a", "dev-1", "-m", "Fixed <it> & tested"]).ok();
    run(path, &["edit", "#1", "--add-label", "done"]).ok();
    azure.control(
        json!({"before": "PATCH", "edit": {"id": 1, "fields": {"System.Title": "First, again"}}}),
    );
    let report = sync(path, &[]).ok();
    assert_eq!(report, "company: 1 changed here, 1 changed there, 1 comments sent\n");
    titled(path, "First, again");
    assert_eq!(field(&azure, 1, "System.Tags"), "agents; To Do; done");
    // What was not changed here is as it was there.
    assert_eq!(
        field(&azure, 1, "System.Description"),
        "<div>It <b>fails</b></div><div>daily</div>"
    );
    let said = texts(&azure);
    assert!(said[4].contains("<strong>dev-1</strong>: Fixed &lt;it&gt; &amp; tested"), "{said:?}");
    // A state of the project's own is known by its category, and tasks have none for what waits for review.
    assert_eq!(field(&azure, 1, "System.State"), "Doing");
    azure.control(json!({"edit": {"id": 2, "fields": {"System.State": "Agreed"}}}));
    sync(path, &[]).ok();
    assert_eq!(titled(path, "Second")["status"], "created");
    azure.control(json!({"edit": {"id": 2, "fields": {"System.State": "Closed"}}}));
    run(path, &["close", "#1", "--reject", "-m", "Not needed"]).ok();
    let report = sync(path, &[]).ok();
    assert_eq!(report, "company: 1 changed here, 1 changed there, 1 comments sent\n");
    assert_eq!(field(&azure, 1, "System.State"), "Dropped");
    assert_eq!(titled(path, "Second")["status"], "closed");
    assert_eq!(sync(path, &[]).ok(), "company: nothing new\n");
    assert_eq!((stored_issues(path).len(), texts(&azure).len()), (3, 6));
}

#[test]
fn a_lost_answer_files_nothing_twice_and_errors_are_in_the_words_of_azure() {
    let Some(azure) = Fake::start("azure.mjs", &[], TABLE) else { return };
    let directory = directory();
    let path = directory.path();
    azure.configure(path, PUSH);
    run(path, &["add", "Began here"]).ok();
    // A query is a POST, too.
    azure.control(json!({"fault": "cut", "method": "POST"}));
    assert!(sync(path, &["--push"]).refusal().contains("127.0.0.1 cannot be reached"));
    sync(path, &[]).ok();
    assert_eq!(sync(path, &[]).ok(), "company: nothing new\n");
    assert_eq!(azure.state()["issues"].as_array().unwrap().len(), 1);
    run(path, &["edit", &id(&titled(path, "Began here")), "--title", &"x".repeat(300)]).ok();
    let refused = sync(path, &[]);
    assert!(refused.out.contains("Azure DevOps: TF401320"), "{}", refused.out);
    azure.control(json!({"fault": "page"}));
    let page = sync(path, &[]).refusal();
    assert!(page.contains("Authentication failed (HTTP 203): check AZURE_DEVOPS_TOKEN"), "{page}");
    let wrong = command(path, &[]).env("AZURE_DEVOPS_TOKEN", "WRONG-SECRET").output().unwrap();
    let wrong = String::from_utf8(wrong.stderr).unwrap();
    assert!(wrong.contains("Authentication failed") && !wrong.contains("WRONG-SECRET"), "{wrong}");
}

/// Runs the sync with an `az` that is this script, and without a token.
fn sync_with_az(path: &Path, script: &str) -> std::process::Output {
    let programs = path.join("bin");
    fs::create_dir_all(&programs).unwrap();
    let az = programs.join("az");
    fs::write(&az, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&az, fs::Permissions::from_mode(0o755)).unwrap();
    let programs = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut command = command(path, &[]);
    command.env("PATH", programs).env_remove("AZURE_DEVOPS_TOKEN").output().unwrap()
}

#[test]
fn without_a_token_az_is_asked_for_one() {
    let Some(azure) = Fake::start("azure.mjs", &[], TABLE) else { return };
    let directory = directory();
    let path = directory.path();
    azure.configure(path, "");
    azure.control(json!({"issue": {"System.Title": "First", "System.Tags": "agents"}}));
    // A token of `az` is a JWT, which is no password.
    let script = "echo \"$*\" >>asked; echo eyJ.good.key";
    let synced = sync_with_az(path, script);
    assert!(synced.status.success(), "{synced:?}");
    titled(path, "First");
    assert!(azure.calls().iter().all(|call| !call.contains("eyJ")), "{:?}", azure.calls());
    let asked = fs::read_to_string(path.join("asked")).unwrap();
    assert_eq!(asked.lines().count(), 1, "{asked}");
    assert!(asked.contains("--resource 499b84ac-1321-427f-aa17-267ca6975798"), "{asked}");
    let refused = sync_with_az(path, "echo \"ERROR: Please run 'az login'\" >&2; exit 1");
    let refused = String::from_utf8(refused.stderr).unwrap();
    assert!(
        refused.contains("failed: ERROR: Please run 'az login': run `az login`, or"),
        "{refused}"
    );
    // Only Microsoft's service gets such a token.
    let elsewhere = TABLE.to_owned() + "url = \"https://azure.example.com\"\n";
    fs::write(path.join("ait.toml"), format!("[sync.company]\n{elsewhere}")).unwrap();
    let refused = sync_with_az(path, script);
    let refused = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.contains("AZURE_DEVOPS_TOKEN is not set"), "{refused}");
    assert_eq!(fs::read_to_string(path.join("asked")).unwrap(), asked);
}
