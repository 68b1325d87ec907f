//! External edits while processes work: an editor saves `issues.json` at each call of a process.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use agent_issue_tracker::store::Store;
use fastrand::Rng;
use serde_json::{Value, json};

use crate::faults::{Act, Scene};
use crate::support::disk::FaultyDuty;
use crate::support::factor;
use crate::support::files::{id, issue_json, kept, names};
use crate::support::scene::{Answers, Process, Visit};
use crate::support::stores::all_issues;

/// How an editor saves a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Save {
    InPlace,
    Rename,
}

/// What an edit changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Edit {
    Title,
    Comment,
    NewIssue,
    /// Omits an issue, which the store does not merge.
    Drop,
}

const EDITS: [Edit; 4] = [Edit::Title, Edit::Comment, Edit::NewIssue, Edit::Drop];

fn edited(text: &str, edit: Edit) -> String {
    let mut document: Value = serde_json::from_str(text).unwrap();
    let issues = document["issues"].as_array_mut().unwrap();
    match edit {
        Edit::Title => issues[1]["title"] = json!("edited"),
        Edit::Comment => issues[0]["comments"].as_array_mut().unwrap().push(json!({
            "timestamp": "2026-01-31T09:30:00.000Z", "agent": "editor", "text": "edited",
        })),
        Edit::NewIssue => issues.insert(1, issue_json(&id(0xabc), "edited", "created")),
        Edit::Drop => drop(issues.remove(2)),
    }
    serde_json::to_string_pretty(&document).unwrap()
}

fn save(directory: &Path, text: &str, how: Save) {
    let file = directory.join("issues.json");
    match how {
        Save::InPlace => fs::write(file, text).unwrap(),
        Save::Rename => {
            let temp = directory.join("saved by an editor");
            fs::write(&temp, text).unwrap();
            fs::rename(temp, file).unwrap();
        }
    }
}

/// Fails if an edit is lost.
async fn check_edit(store: &dyn Store, directory: &Path, edit: Edit) -> Result<(), String> {
    let issues = all_issues(store).await.map_err(|error| error.to_string())?;
    let is_there = issues.iter().any(|issue| match edit {
        Edit::Title | Edit::NewIssue => issue.title == "edited",
        Edit::Comment => issue.comments.iter().any(|comment| comment.agent == "editor"),
        Edit::Drop => true,
    });
    let is_kept =
        || kept(directory).iter().any(|path| fs::read_to_string(path).unwrap().contains("edited"));
    if is_there || is_kept() { Ok(()) } else { Err(format!("the edit is lost: {edit:?}")) }
}

/// Saves an edit at each call of an act in turn. Returns the number of calls.
async fn edit_at_each_call(
    act: Act,
    how: Save,
    is_stale: bool,
    faulty_duty: FaultyDuty,
) -> Result<usize, String> {
    for number in 1.. {
        let scene = Scene::new(act, faulty_duty).await;
        let (edit, path) = (EDITS[number % EDITS.len()], scene.path().to_owned());
        let early = fs::read_to_string(path.join("issues.json")).unwrap();
        let read = move || {
            let now = fs::read_to_string(path.join("issues.json"));
            let text = if is_stale { early } else { now.unwrap_or(early) };
            save(&path, &edited(&text, edit), how);
        };
        if is_stale {
            scene.answers.claim(&scene.other).await.unwrap();
        }
        scene.process.disk.at_call(number, read);
        let before = scene.process.disk.calls().len();
        let acted = scene.act().await;
        scene.process.disk.unhook();
        let at = |wrong| {
            format!("{act:?}, {how:?}, stale: {is_stale}, {edit:?} at call {number}: {wrong}")
        };
        acted.map_err(|error| at(error.to_string()))?;
        if scene.process.disk.calls().len() - before < number {
            scene.end().await;
            return Ok(number - 1);
        }
        scene.check(false).await.map_err(at)?;
        for process in [&scene.other, &scene.process] {
            check_edit(&*process.store, scene.path(), edit).await.map_err(at)?;
        }
        scene.end().await;
    }
    unreachable!()
}

#[tokio::test]
async fn external_edit_at_any_call_is_merged_without_loss() {
    for act in [Act::Publish, Act::Change, Act::Claim] {
        for how in [Save::InPlace, Save::Rename] {
            for is_stale in [false, true] {
                let calls =
                    edit_at_each_call(act, how, is_stale, FaultyDuty::Nothing).await.unwrap();
                assert!(calls > 8, "{act:?}: {calls}");
            }
        }
    }
}

/// An editor writes in place, and pauses between truncating the file and writing it.
#[tokio::test]
async fn slow_in_place_save_is_not_lost() {
    for pause in 1..6 {
        for number in 1.. {
            let scene = Scene::new(Act::Publish, FaultyDuty::Nothing).await;
            let path = scene.path().join("issues.json");
            let (mut calls, mut open, mut text) = (0, None, String::new());
            scene.process.disk.hook(move |_| {
                calls += 1;
                if calls == number {
                    text = edited(&fs::read_to_string(&path).unwrap(), Edit::Title);
                    open = Some(fs::File::create(&path).unwrap());
                } else if calls == number + pause
                    && let Some(mut file) = open.take()
                {
                    file.write_all(text.as_bytes()).unwrap();
                }
            });
            let before = scene.process.disk.calls().len();
            // During the pause the file is invalid, so the act may fail.
            let _ = scene.act().await;
            // More calls, until the editor has written the file.
            for _ in 0..pause {
                let _ = scene.process.store.counts().await;
            }
            let is_over = scene.process.disk.calls().len() - before < number;
            scene.process.disk.unhook();
            let at = |wrong| format!("opened at call {number}, written {pause} later: {wrong}");
            scene.check(false).await.map_err(at).unwrap();
            if is_over {
                break;
            }
            check_edit(&*scene.other.store, scene.path(), Edit::Title).await.map_err(at).unwrap();
            scene.end().await;
            if number > 80 {
                break;
            }
        }
    }
}

#[tokio::test]
async fn checker_detects_a_lost_external_edit() {
    let noticed = edit_at_each_call(Act::Publish, Save::Rename, false, FaultyDuty::Exchange).await;
    assert!(noticed.unwrap_err().contains("the edit is lost"));
}

/// A process replaces the edited file by a file without the edit. Meanwhile another process has merged the edit and is
/// about to record that.
#[tokio::test]
async fn edit_merged_by_another_process_while_publishing_is_kept() {
    let scene = Scene::new(Act::Publish, FaultyDuty::Nothing).await;
    scene.other.disk.hook(|call| {
        if call.is("rename", "published") {
            thread::sleep(Duration::from_millis(250));
        }
    });
    let (path, other) = (scene.path().to_owned(), scene.other.clone());
    let (visit, mut edit) = (Arc::new(Mutex::new(None)), Some((path, other)));
    let begun = Arc::clone(&visit);
    scene.process.disk.hook(move |call| {
        if call.is("exchange", "issues.json")
            && let Some((path, other)) = edit.take()
        {
            let text = fs::read_to_string(path.join("issues.json")).unwrap();
            save(&path, &edited(&text, Edit::Title), Save::Rename);
            let reading = Visit::now(move || async move { drop(other.store.counts().await) });
            *begun.lock().unwrap() = Some(reading);
        }
    });
    scene.act().await.unwrap();
    let visit = visit.lock().unwrap().take().unwrap();
    visit.join();
    check_title(&scene, false).await.unwrap();
}

/// A process dies while it publishes. The file that it rendered is found after the store has merged a later edit.
#[tokio::test]
async fn file_rendered_before_a_crash_reverts_no_edit() {
    for number in 1.. {
        let scene = Scene::new(Act::Publish, FaultyDuty::Nothing).await;
        scene.process.disk.die_at(number);
        let acted = scene.act().await;
        let is_dead = scene.process.disk.trouble.is_dead();
        scene.process.kill().await;
        if !is_dead {
            acted.unwrap();
            break;
        }
        let path = scene.path();
        let text = fs::read_to_string(path.join("issues.json")).unwrap();
        save(path, &edited(&text, Edit::Title), Save::Rename);
        scene.other.store.counts().await.unwrap();
        let checked = check_title(&scene, true).await;
        checked.unwrap_or_else(|wrong| panic!("death at call {number}: {wrong}"));
    }
}

/// Fails if the edit of a title is lost, or if a later publish reverts it.
async fn check_title(scene: &Scene, is_dead: bool) -> Result<(), String> {
    scene.check(is_dead).await?;
    for _ in 0..2 {
        let issues = all_issues(&*scene.other.store).await.map_err(|error| error.to_string())?;
        if !issues.iter().any(|issue| issue.title == "edited") {
            return Err("the edit was reverted".to_owned());
        }
        scene.answers.file(&scene.other).await.map_err(|error| error.to_string())?;
        scene.other.publish().await.map_err(|error| error.to_string())?;
    }
    scene.end().await;
    Ok(())
}

/// A process dies at any call while it publishes over an edit that was saved just before the exchange.
#[tokio::test]
async fn edit_saved_while_publishing_survives_a_crash() {
    for number in 1.. {
        let scene = Scene::new(Act::Publish, FaultyDuty::Nothing).await;
        let path = scene.path().to_owned();
        let mut is_saved = false;
        // Between the last check of the file and its exchange.
        scene.process.disk.hook(move |call| {
            if call.is("exchange", "issues.json") && !std::mem::replace(&mut is_saved, true) {
                let text = fs::read_to_string(path.join("issues.json")).unwrap();
                save(&path, &edited(&text, Edit::Title), Save::Rename);
            }
        });
        scene.process.disk.die_at(number);
        let acted = scene.act().await;
        let is_dead = scene.process.disk.trouble.is_dead();
        scene.process.kill().await;
        scene.check(true).await.unwrap_or_else(|wrong| panic!("death at call {number}: {wrong}"));
        let text = fs::read_to_string(scene.path().join("issues.json")).unwrap();
        let was_saved = scene.process.disk.count_of("exchange", "issues.json") > 0;
        assert_eq!(text.contains("edited"), was_saved, "death at call {number}");
        scene.end().await;
        if !is_dead {
            acted.unwrap();
            return;
        }
    }
}

/// An editor reads, waits and saves repeatedly, while two processes change issues.
#[tokio::test]
async fn stale_editor_saves_undo_no_changes() {
    for seed in 0..8 * factor() {
        let mut rng = Rng::with_seed(seed);
        let scene = Scene::new(Act::Change, FaultyDuty::Nothing).await;
        let Scene { answers, process, other, .. } = &scene;
        let path = scene.path();
        let mut read = fs::read_to_string(path.join("issues.json")).unwrap();
        let mut edits: Vec<String> = Vec::new();
        for round in 0..60 {
            let one = if rng.bool() { process } else { other };
            match rng.u8(0..8) {
                0 => read = fs::read_to_string(path.join("issues.json")).unwrap(),
                1 => {
                    let mut document: Value = serde_json::from_str(&read).unwrap();
                    let text = format!("edit {round}");
                    let issue = rng.usize(0..document["issues"].as_array().unwrap().len());
                    document["issues"][issue]["comments"].as_array_mut().unwrap().push(json!({
                        "timestamp": format!("2026-02-01T00:00:{round:02}.000Z"),
                        "agent": "editor", "text": text,
                    }));
                    edits.push(text);
                    let how = if rng.bool() { Save::InPlace } else { Save::Rename };
                    read = serde_json::to_string_pretty(&document).unwrap();
                    save(path, &read, how);
                    // If no process reads the file before the next edit, that edit replaces this one.
                    if rng.bool() {
                        one.store.counts().await.unwrap();
                    }
                }
                2 => one.publish().await.unwrap(),
                _ => work(answers, one, &mut rng).await,
            }
        }
        for process in [process, other] {
            answers
                .check(&*process.store)
                .await
                .unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
        }
        scene.check(false).await.unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
        let comments: Vec<_> = all_issues(&*other.store).await.unwrap();
        let is_there = |text: &String| {
            comments.iter().flat_map(|issue| &issue.comments).any(|comment| comment.text == *text)
        };
        let lost: Vec<_> = edits.iter().filter(|text| !is_there(text)).collect();
        // An edit may be lost if no process read it before the editor saved the next one. The last edit must be there.
        assert!(edits.last().is_none_or(|last| !lost.contains(&last)), "seed {seed}: {lost:?}");
        assert_eq!(names(path), [".ait", "issues.json"], "seed {seed}");
        scene.end().await;
    }
}

/// Carries out a random operation of an agent.
async fn work(answers: &Arc<Answers>, process: &Process, rng: &mut Rng) {
    let issues = all_issues(&*process.store).await.unwrap();
    match rng.u8(0..5) {
        0 => drop(answers.file(process).await.unwrap()),
        1 | 2 => drop(answers.claim(process).await.unwrap()),
        kind => {
            // The store refuses it if the issue has ended.
            let issue = issues[rng.usize(0..issues.len())].id;
            drop(answers.change_issue(process, issue, kind).await);
        }
    }
}

/// While processes work, git replaces the committed file by its old contents.
#[tokio::test]
async fn checkout_undoes_no_changes_and_reads_do_not_overwrite_it() {
    let scene = Scene::new(Act::Change, FaultyDuty::Nothing).await;
    let Scene { answers, process, other, .. } = &scene;
    let file = scene.path().join("issues.json");
    let committed = fs::read_to_string(&file).unwrap();
    for round in 0..6 {
        for _ in 0..2 {
            answers.file(process).await.unwrap();
            answers.claim(other).await.unwrap();
        }
        if round % 2 == 0 {
            process.publish().await.unwrap();
        }
        let stashed = fs::read_to_string(&file).unwrap();
        save(scene.path(), &committed, Save::Rename);
        for process in [process, other, &other.beside(scene.path())] {
            answers.check(&*process.store).await.unwrap();
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), committed, "a read changed the file");
        if round % 3 == 0 {
            answers.claim(other).await.unwrap();
        }
        if fs::read_to_string(&file).unwrap() == committed {
            save(scene.path(), &stashed, Save::Rename);
        }
        for process in [other, process] {
            answers.check(&*process.store).await.unwrap();
        }
    }
    scene.check(false).await.unwrap();
}

/// An edit in place with the same length, directly after a publish.
#[tokio::test]
async fn same_length_edit_within_one_clock_tick_is_detected() {
    let scene = Scene::new(Act::Change, FaultyDuty::Nothing).await;
    let file = scene.path().join("issues.json");
    for round in 0..50 {
        scene.answers.file(&scene.process).await.unwrap();
        scene.process.publish().await.unwrap();
        let text = fs::read_to_string(&file).unwrap();
        let title = format!("title {round:02}");
        let at = text.find("\"title\": \"").unwrap() + 10;
        let end = at + text[at..].find('"').unwrap();
        let padded = format!("{title:<width$}", width = end - at);
        let changed = format!("{}{}{}", &text[..at], &padded[..end - at], &text[end..]);
        fs::write(&file, changed).unwrap();
        let issues = all_issues(&*scene.process.store).await.unwrap();
        assert_eq!(issues[0].title.trim(), padded[..end - at].trim(), "round {round}");
    }
}
