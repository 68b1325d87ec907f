//! Every kind of external edit in every status of an issue, with each operation that may notice the edit first.

use std::fs;
use std::path::Path;

use agent_issue_tracker::domain::{Classification, IssueRef, Resolution, Status};
use agent_issue_tracker::store::{Probe, Store, StoreError};
use serde_json::{Value, json};

use crate::support::commands::{
    add, at, claim, close, complete, number, return_issue, review, say,
};
use crate::support::directory_in_memory;
use crate::support::disk::{Disk, FaultyDuty};
use crate::support::files::{issues_in_file, kept, names};
use crate::support::scene::Process;
use crate::support::stores::{WholeState, all_issues, apply, check, ids};

const TIME: &str = "2026-03-01T00:00:00.000Z";

/// What an edit changes in an issue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Edit {
    Title,
    Classification,
    Description,
    UnknownKey,
    Comment,
    Status(Status),
    History,
}

fn edits() -> Vec<Edit> {
    let statuses = Status::OF_WORK.iter().map(|&status| Edit::Status(status));
    let fields = [
        Edit::Title,
        Edit::Classification,
        Edit::Description,
        Edit::UnknownKey,
        Edit::Comment,
        Edit::History,
    ];
    fields.into_iter().chain(statuses).collect()
}

fn to_json(value: impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

fn edit(issue: &mut Value, edit: Edit) {
    match edit {
        Edit::Title => issue["title"] = json!("edited"),
        Edit::Classification => issue["classification"] = json!("improvement"),
        Edit::Description => issue["description"] = json!("edited"),
        Edit::UnknownKey => issue["edited"] = json!({ "a": [1, null] }),
        Edit::Comment => issue["comments"]
            .as_array_mut()
            .unwrap()
            .push(json!({ "timestamp": TIME, "agent": "editor", "text": "edited" })),
        Edit::Status(status) => issue["status"] = to_json(status),
        Edit::History => {
            issue["history"]
                .as_array_mut()
                .unwrap()
                .push(json!({ "timestamp": TIME, "agent": "editor", "action": "edited" }));
            issue["modifiedAt"] = json!(TIME);
        }
    }
}

/// Returns true if an issue has the edit.
fn has(issue: &Value, edit: Edit) -> bool {
    match edit {
        Edit::Title => issue["title"] == "edited",
        Edit::Classification => issue["classification"] == "improvement",
        Edit::Description => issue["description"] == "edited",
        Edit::UnknownKey => issue["edited"] == json!({ "a": [1, null] }),
        Edit::Comment => issue["comments"].to_string().contains("\"editor\""),
        Edit::Status(status) => issue["status"] == to_json(status),
        Edit::History => issue["history"].to_string().contains("\"editor\""),
    }
}

/// Returns a process whose published store has an issue in this status.
async fn store_with(directory: &Path, status: Status) -> Process {
    let process = Process::start(directory, Disk::new(FaultyDuty::Nothing));
    let issue = || IssueRef::from(number(1));
    let mut commands = vec![add(1, Classification::Bug)];
    commands.extend(match status {
        Status::Created => vec![],
        Status::InProgress => vec![claim(None)],
        Status::Completed => vec![claim(None), complete(issue())],
        Status::InReview => vec![claim(None), complete(issue()), review()],
        Status::Closed => vec![close(issue(), Resolution::Closed)],
        Status::Rejected => vec![close(issue(), Resolution::Rejected)],
        Status::Kept => unreachable!("no work is kept"),
    });
    commands.push(add(2, Classification::Bug));
    process.store.commit(commands, at(0)).await.unwrap();
    process.publish().await.unwrap();
    process
}

async fn stored(process: &Process) -> Value {
    to_json(&*process.store.get(number(1).into()).await.unwrap())
}

#[tokio::test]
async fn any_edit_in_any_status_undoes_no_acknowledged_change() {
    for &status in Status::OF_WORK {
        for change in edits() {
            // What an agent does between the read and the save of the editor.
            for meanwhile in 0..3 {
                for way in 0..4 {
                    one_edit(status, change, meanwhile, way).await;
                }
            }
        }
    }
}

/// Changes the issue while the editor has the file open. Returns true if the status of the issue changes.
async fn move_on(process: &Process, status: Status, meanwhile: u8) -> bool {
    match meanwhile {
        0 => false,
        1 => {
            apply(&*process.store, say(number(1).into()), at(10)).await.unwrap();
            false
        }
        _ => {
            let command = match status {
                Status::Created => claim(None),
                // Completing it again would change nothing.
                Status::Completed => return_issue(number(1).into()),
                _ => complete(number(1).into()),
            };
            apply(&*process.store, command, at(10)).await.is_ok_and(|issue| issue.is_some())
        }
    }
}

async fn one_edit(status: Status, change: Edit, meanwhile: u8, way: u8) {
    let context = format!("{change:?} of {status}, {meanwhile} meanwhile, way {way}");
    let directory = directory_in_memory();
    let path = directory.path();
    let process = store_with(path, status).await;
    let mut issues = issues_in_file(path);
    edit(&mut issues[0], change);
    let moved = move_on(&process, status, meanwhile).await;
    let before = stored(&process).await;
    fs::write(path.join("issues.json"), json!({ "issues": issues }).to_string()).unwrap();
    let reader = match way {
        0 => process.clone(),
        1 => {
            apply(&*process.store, add(3, Classification::Bug), at(20)).await.unwrap();
            process.clone()
        }
        2 => {
            process.publish().await.unwrap();
            process.clone()
        }
        _ => process.beside(path),
    };
    let after = stored(&reader).await;
    // No acknowledged change is lost: each entry and each comment is still there, in order.
    for list in ["history", "comments"] {
        let (old, new) = (before[list].as_array().unwrap(), after[list].as_array().unwrap());
        let mut rest = new.iter();
        assert!(
            old.iter().all(|entry| rest.any(|other| other == entry)),
            "{context}: {list}\n{before}\n{after}"
        );
    }
    let is_group = matches!(change, Edit::Status(_) | Edit::History);
    if !is_group {
        assert!(has(&after, change), "{context}: the edit is not merged");
        assert_eq!(after["status"], before["status"], "{context}");
    } else if !moved {
        let is_ended = status.has_ended();
        let is_merged = match change {
            Edit::Status(other) => !is_ended || other == status,
            _ => true,
        };
        assert_eq!(has(&after, change), is_merged, "{context}\n{before}\n{after}");
        assert!(is_merged || !kept(path).is_empty(), "{context}: neither merged nor kept");
    } else {
        assert_eq!(after["status"], before["status"], "{context}");
        if !has(&after, change) && change != Edit::Status(status) {
            assert!(!kept(path).is_empty(), "{context}: neither merged nor kept");
        }
    }
    // The edit is merged only once.
    let position = reader.store.state().await.unwrap().position;
    for again in [&process, &process.beside(path)] {
        assert_eq!(stored(again).await, after, "{context}");
        assert_eq!(again.store.state().await.unwrap().position, position, "{context}");
    }
    // After the next change, the file agrees with the store.
    apply(&*reader.store, add(4, Classification::Bug), at(30)).await.unwrap();
    process.publish().await.unwrap();
    assert_eq!(issues_in_file(path)[0], after, "{context}");
    process.kill().await;
    reader.kill().await;
}

#[tokio::test]
async fn invalid_file_is_kept_and_reported_until_corrected() {
    let foreign = json!({ "issues": [crate::support::files::issue_json(&crate::support::files::id(9), "x", "created")] });
    for bad in ["", "{", "[]", "null", "{\"issues\": 1}", "<<<<<<< HEAD\n{}", &foreign.to_string()]
    {
        let directory = directory_in_memory();
        let path = directory.path();
        let process = store_with(path, Status::Created).await;
        let good = fs::read(path.join("issues.json")).unwrap();
        fs::write(path.join("issues.json"), bad).unwrap();
        // Agents continue.
        assert_eq!(ids(&*process.store).await, [number(1), number(2)]);
        apply(&*process.store, claim(None), at(5)).await.unwrap().unwrap();
        let health = process.store.health(Probe::Known).await;
        let warning = health.warning.unwrap_or_default();
        assert!(warning.contains("issues.json"), "{bad:?}: {warning}");
        check(&*process.store).await.unwrap();
        let refused = process.publish().await.unwrap_err();
        assert!(matches!(refused, StoreError::NotSaved(_)), "{refused}");
        let later = process.beside(path);
        assert_eq!(later.store.counts().await.unwrap().in_status(Status::InProgress), 1);
        later.kill().await;
        assert_eq!(
            fs::read_to_string(path.join("issues.json")).unwrap(),
            bad,
            "the file was overwritten"
        );
        fs::write(path.join("issues.json"), good).unwrap();
        assert_eq!(process.store.health(Probe::Known).await.warning, None);
        process.publish().await.unwrap();
        assert_eq!(issues_in_file(path)[0]["status"], "in_progress");
        assert_eq!(names(path), [".ait", "issues.json"]);
        process.kill().await;
    }
}

#[tokio::test]
async fn removed_file_is_published_again_with_the_next_change() {
    let directory = directory_in_memory();
    let path = directory.path();
    let process = store_with(path, Status::Created).await;
    fs::remove_file(path.join("issues.json")).unwrap();
    assert_eq!(all_issues(&*process.store).await.unwrap().len(), 2);
    apply(&*process.store, claim(None), at(5)).await.unwrap().unwrap();
    process.publish().await.unwrap();
    assert_eq!(issues_in_file(path)[0]["status"], "in_progress");
    let later = process.beside(path);
    assert_eq!(all_issues(&*later.store).await.unwrap().len(), 2);
}
