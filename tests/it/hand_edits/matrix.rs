//! Every kind of edit in every state that a store can be in.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agent_issue_tracker::domain::{Classification, EventKind, HAND_EDIT, Issue, Status};
use agent_issue_tracker::store::json::JsonStoreOptions;
use agent_issue_tracker::store::json::fs::RealFileSystem;
use agent_issue_tracker::store::{Cursor, JsonStore, Store, StoreError};
use serde_json::{Value, json};

use crate::support::commands::{add, all, at, claim, complete, number, say};
use crate::support::directory_in_memory;
use crate::support::files::{id, issue_json, issues_in_file, names};

/// What somebody does to `issues.json`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Edit {
    /// The content stays.
    Nothing,
    /// Another title.
    Title,
    /// Another status, without a word in the history.
    Status,
    /// A comment's words.
    Words,
    /// One more issue, at the end or in the middle.
    Added,
    Inserted,
    /// An issue is taken out, or all of them are.
    Dropped,
    Emptied,
    /// The copy of an earlier day is put back, with another title or not.
    Older,
    OlderAndTitled,
    /// The history goes on, as when another machine's work is pulled.
    WentOn,
    /// The history parts from what the store knows.
    Parted,
}

const EDITS: [Edit; 12] = [
    Edit::Nothing,
    Edit::Title,
    Edit::Status,
    Edit::Words,
    Edit::Added,
    Edit::Inserted,
    Edit::Dropped,
    Edit::Emptied,
    Edit::Older,
    Edit::OlderAndTitled,
    Edit::WentOn,
    Edit::Parted,
];

/// How it gets there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// Some editors, and `cp`.
    InPlace,
    /// Other editors, and git.
    Renamed,
    /// What git does between the two.
    RemovedFirst,
}

const WAYS: [Way; 3] = [Way::InPlace, Way::Renamed, Way::RemovedFirst];

/// Who is there meanwhile, and what is in the journal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Nobody, after an orderly end.
    Alone,
    /// Nobody, after a kill: the latest work is in the journal only.
    Killed,
    /// The process that did the work, which is all in `issues.json`.
    Running,
    /// The same with the latest work in the journal.
    Unsaved,
    /// Two processes; the one that makes the next change has not looked since the other one's work was
    /// written to `issues.json`.
    Second,
    /// The same, and the journal is removed too.
    WithoutJournal,
}

const STATES: [State; 6] = [
    State::Alone,
    State::Killed,
    State::Running,
    State::Unsaved,
    State::Second,
    State::WithoutJournal,
];

fn open(directory: &Path) -> JsonStore {
    let options = JsonStoreOptions {
        checkpoint_after: Duration::from_secs(3600),
        second_look_after: Duration::ZERO,
        ..Default::default()
    };
    JsonStore::with(directory.join("issues.json"), Arc::new(RealFileSystem), options)
}

async fn issues(store: &JsonStore) -> Vec<Issue> {
    let page = store.list(all()).await.unwrap();
    page.issues.iter().map(|issue| Issue::clone(issue)).collect()
}

fn of_text(text: &str) -> Vec<Issue> {
    let mut document: Value = serde_json::from_str(text).unwrap();
    serde_json::from_value(document["issues"].take()).unwrap()
}

/// A store with a past: four issues and the first claimed, of which a copy is kept; then the second claimed,
/// the first completed and a fifth filed.
struct Scene {
    directory: tempfile::TempDir,
    /// The process that did it, if it still runs.
    worker: Option<JsonStore>,
    /// The one that makes the next change, if it runs already.
    next: Option<JsonStore>,
    older: String,
    known: Vec<Issue>,
}

impl Scene {
    async fn new(state: State) -> Self {
        let directory = directory_in_memory();
        let worker = open(directory.path());
        for n in 1..=4 {
            worker.apply(add(n, Classification::Bug), at(i64::from(n))).await.unwrap();
        }
        worker.apply(say(number(4).into()), at(5)).await.unwrap();
        worker.apply(claim(None), at(6)).await.unwrap();
        worker.save().await.unwrap();
        let older = fs::read_to_string(directory.path().join("issues.json")).unwrap();
        let second = open(directory.path());
        if matches!(state, State::Second | State::WithoutJournal) {
            issues(&second).await;
        }
        worker.apply(claim(None), at(7)).await.unwrap();
        worker.apply(complete(number(1).into()), at(8)).await.unwrap();
        worker.apply(add(5, Classification::Bug), at(9)).await.unwrap();
        if !matches!(state, State::Killed | State::Unsaved) {
            worker.save().await.unwrap();
        }
        let known = issues(&worker).await;
        let mut scene = Self { directory, worker: None, next: None, older, known };
        match state {
            State::Alone => drop(worker.close().await),
            State::Killed => std::mem::forget(worker),
            State::Running | State::Unsaved => scene.next = Some(worker),
            State::Second | State::WithoutJournal => {
                (scene.worker, scene.next) = (Some(worker), Some(second));
            }
        }
        scene
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("issues.json")
    }

    /// What `issues.json` is to hold after an edit.
    fn edited(&self, edit: Edit) -> String {
        let now = fs::read_to_string(self.file()).unwrap();
        if edit == Edit::Nothing {
            return now;
        }
        let is_older = matches!(edit, Edit::Older | Edit::OlderAndTitled);
        let mut document: Value =
            serde_json::from_str(if is_older { &self.older } else { &now }).unwrap();
        let issues = document["issues"].as_array_mut().unwrap();
        let entry = |agent: &str, action: &str| json!({ "timestamp": at(50), "agent": agent, "action": action });
        match edit {
            Edit::Nothing | Edit::Older => {}
            Edit::Title | Edit::OlderAndTitled => issues[2]["title"] = json!("by hand"),
            Edit::Status => issues[2]["status"] = json!("rejected"),
            Edit::Words => issues[3]["comments"][0]["text"] = json!("nothing to see"),
            Edit::Added => issues.push(issue_json(&id(77), "by hand", "created")),
            Edit::Inserted => issues.insert(1, issue_json(&id(77), "by hand", "created")),
            Edit::Dropped => drop(issues.remove(2)),
            Edit::Emptied => issues.clear(),
            Edit::WentOn => {
                issues[2]["status"] = json!("in_progress");
                issues[2]["history"]
                    .as_array_mut()
                    .unwrap()
                    .push(entry("z", "Issue claimed for work"));
            }
            Edit::Parted => {
                let history = issues[3]["history"].as_array_mut().unwrap();
                *history = vec![entry("z", "Issue filed"), entry("z", "Issue claimed for work")];
                issues[3]["status"] = json!("in_progress");
            }
        }
        serde_json::to_string_pretty(&document).unwrap() + "\n"
    }

    fn put(&self, text: &str, way: Way) {
        match way {
            Way::InPlace => fs::write(self.file(), text).unwrap(),
            Way::Renamed => {
                let beside = self.directory.path().join("editor's own");
                fs::write(&beside, text).unwrap();
                fs::rename(beside, self.file()).unwrap();
            }
            Way::RemovedFirst => {
                fs::remove_file(self.file()).unwrap();
                fs::write(self.file(), text).unwrap();
            }
        }
    }

    /// The issues that are to come of it, by the rules.
    fn expected(&self, file: &[Issue], state: State) -> Vec<Issue> {
        // Nobody knows more than the file.
        if state == State::Alone {
            return file.to_vec();
        }
        let known: HashMap<_, _> = self.known.iter().map(|issue| (issue.id, issue)).collect();
        let base = of_text(&self.older);
        // After a kill, only what the journal tells.
        let is_known = |issue: &Issue| state != State::Killed || !base.contains(issue);
        let mut expected = file.to_vec();
        for issue in &mut expected {
            let Some(known) = known.get(&issue.id).filter(|known| is_known(known)) else {
                continue;
            };
            let texts = |issue: &Issue| serde_json::to_value(&issue.history).unwrap();
            let (longer, shorter) = (texts(issue), texts(known));
            let goes_on = longer.as_array().unwrap().starts_with(shorter.as_array().unwrap());
            if !goes_on {
                (issue.status, issue.history) = (known.status, known.history.clone());
                issue.modified_at = known.modified_at;
                issue.comments = known.comments.clone();
            }
        }
        for (place, issue) in self.known.iter().enumerate() {
            // Whoever knows the journal alone can make no other issues than those that were filed in it.
            let is_known = state != State::Killed || !base.iter().any(|it| it.id == issue.id);
            if !file.iter().any(|it| it.id == issue.id) && is_known {
                let before = place.checked_sub(1).map(|before| self.known[before].id);
                let behind = expected.iter().position(|it| Some(it.id) == before);
                let place = if state == State::Killed { Some(expected.len()) } else { None };
                let place = place.or(behind.map(|it| it + 1)).unwrap_or(0);
                expected.insert(place, issue.clone());
            }
        }
        expected
    }
}

/// The issues of which events tell that somebody edited them, if events tell all.
async fn told(store: &JsonStore, after: Cursor) -> Option<Vec<Issue>> {
    let changes = store.changes(Some(after)).await.unwrap();
    let edits = changes.events.iter().filter_map(|event| match &event.kind {
        EventKind::Edited { issue } => {
            assert_eq!(event.agent, HAND_EDIT);
            Some(Issue::clone(issue))
        }
        _ => None,
    });
    changes.complete.then(|| edits.collect())
}

fn kept(directory: &Path) -> Vec<String> {
    let kept = names(directory).into_iter().filter(|name| name.contains(".hand-"));
    kept.map(|name| fs::read_to_string(directory.join(name)).unwrap()).collect()
}

async fn check(edit: Edit, way: Way, state: State) {
    let case = format!("{edit:?}, {way:?}, {state:?}");
    let scene = Scene::new(state).await;
    let directory = scene.directory.path();
    let next = scene.next.as_ref();
    let cursor = match next {
        Some(next) => Some(next.changes(None).await.unwrap().cursor),
        None => None,
    };
    let found = fs::read_to_string(scene.file()).unwrap();
    let text = scene.edited(edit);
    let file = of_text(&text);
    scene.put(&text, way);
    if state == State::WithoutJournal {
        fs::remove_file(directory.join("issues.json.journal")).unwrap();
    }
    let fresh = open(directory);
    let next = next.unwrap_or(&fresh);
    let expected = scene.expected(&file, state);
    assert_eq!(issues(next).await, expected, "{case}");
    assert_eq!(fs::read_to_string(scene.file()).unwrap(), text, "{case}: reading wrote");
    if let Some(cursor) = cursor {
        let mut edited = expected.clone();
        edited.retain(|issue| !scene.known.contains(issue));
        assert_eq!(told(next, cursor).await, Some(edited), "{case}");
    }
    // The next change goes to what waited longest, and to nothing that was taken.
    let first = expected.iter().find(|issue| issue.status == Status::Created);
    let claimed = next.apply(claim(None), at(60)).await.unwrap();
    assert_eq!(claimed.as_ref().map(|issue| issue.id), first.map(|issue| issue.id), "{case}");
    let mut after = expected.clone();
    if let Some(claimed) = &claimed {
        let issue = after.iter_mut().find(|issue| issue.id == claimed.id).unwrap();
        *issue = Issue::clone(claimed);
    }
    assert_eq!(issues(next).await, after, "{case}");
    assert_eq!(issues(&open(directory)).await, after, "{case}");
    if let Some(worker) = &scene.worker {
        assert_eq!(issues(worker).await, after, "{case}");
    }
    let is_other = claimed.is_some() && file != expected && text != found;
    let as_found = if is_other { vec![text.clone()] } else { Vec::new() };
    assert_eq!(kept(directory), as_found, "{case}");
    next.save().await.unwrap();
    let written: Vec<Issue> = serde_json::from_value(json!(issues_in_file(directory))).unwrap();
    assert_eq!(written, if claimed.is_some() { after } else { file }, "{case}");
}

#[tokio::test]
async fn whatever_is_edited_in_whichever_state_nothing_that_was_answered_is_undone() {
    let mut cases = 0;
    for edit in EDITS {
        for way in WAYS {
            for state in STATES {
                check(edit, way, state).await;
                cases += 1;
            }
        }
    }
    eprintln!("{cases} edits in states");
    assert_eq!(cases, EDITS.len() * WAYS.len() * STATES.len());
}

/// What cannot be read is left alone until it is mended, and nothing is lost meanwhile.
#[tokio::test]
async fn what_is_no_list_of_issues_is_left_alone_and_told_until_it_is_mended() {
    for state in STATES {
        for (broken, words) in [
            ("", "line 1"),
            ("{\"issues\": [", "line 1"),
            ("{\"issues\": 5}", "line 1"),
            ("<<<<<<< HEAD\n{\"issues\": []}\n=======\n", "merge"),
            ("{\"issues\": [{\"id\": \"x\"}]}", "line 1"),
        ] {
            let case = format!("{broken:?}, {state:?}");
            let scene = Scene::new(state).await;
            let (file, good) = (scene.file(), fs::read(scene.file()).unwrap());
            fs::write(&file, broken).unwrap();
            let fresh = open(scene.directory.path());
            let next = scene.next.as_ref().unwrap_or(&fresh);
            for _ in 0..2 {
                let error = next.apply(claim(None), at(60)).await.unwrap_err();
                assert!(matches!(error, StoreError::Unreadable(_)), "{case}: {error}");
                let text = error.to_string();
                assert!(text.contains("issues.json") && text.contains(words), "{case}: {text}");
                assert_eq!(fs::read_to_string(&file).unwrap(), broken, "{case}");
            }
            fs::write(&file, good).unwrap();
            assert_eq!(issues(next).await, scene.known, "{case}");
            next.apply(claim(None), at(61)).await.unwrap().unwrap();
            assert_eq!(kept(scene.directory.path()), [""; 0], "{case}");
        }
    }
}

/// A file that is gone is no empty queue.
#[tokio::test]
async fn a_file_that_is_removed_is_missed_until_it_is_put_back() {
    for state in STATES {
        let scene = Scene::new(state).await;
        let good = fs::read(scene.file()).unwrap();
        fs::remove_file(scene.file()).unwrap();
        let fresh = open(scene.directory.path());
        let next = scene.next.as_ref().unwrap_or(&fresh);
        let error = next.apply(claim(None), at(60)).await.unwrap_err().to_string();
        assert!(error.contains("is gone") && error.contains("put it back"), "{state:?}: {error}");
        assert!(!scene.file().exists());
        fs::write(scene.file(), good).unwrap();
        assert_eq!(issues(next).await, scene.known, "{state:?}");
        next.apply(claim(None), at(61)).await.unwrap().unwrap();
    }
}
