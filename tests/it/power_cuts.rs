//! Crashes at every call of a process, and power cuts after every step that reaches the disk: acknowledged changes
//! survive, refused ones leave no trace, and the store works afterwards.
//!
//! Negative controls omit each sync or rewrite that the store owes the disk, and the checker must notice each one.

use std::collections::HashSet;
use std::path::Path;

use agent_issue_tracker::domain::{Issue, IssueId};
use agent_issue_tracker::store::json::format;

use crate::faults::{ALL, Act, Scene};
use crate::support::disk::{Disk, FaultyDuty};
use crate::support::power::{Fate, Step, files_after, write_files};
use crate::support::scene::Process;
use crate::support::stores::all_issues;
use crate::support::{directory_in_memory, factor};

/// Crashes a process at each call of an act. Returns the number of calls.
async fn die_at_each_call(act: Act, neglect: FaultyDuty, cuts_too: bool) -> Result<usize, String> {
    // Power cuts are slow: try every second call, or all calls in long runs.
    let step = if cuts_too && factor() == 1 { 2 } else { 1 };
    for number in (1..).step_by(step) {
        let scene = Scene::new(act, neglect).await;
        let before = scene.answers.moment();
        scene.process.disk.die_at(number);
        let acted = scene.act().await;
        let call = scene.process.disk.trouble.failed();
        scene.process.kill().await;
        if call.is_none() {
            acted.map_err(|error| format!("{act:?} without a crash: {error}"))?;
            scene.end().await;
            return Ok(number - 1);
        }
        let at = |wrong| format!("{act:?}, crash at call {number}, {call:?}: {wrong}");
        scene.check(true).await.map_err(at)?;
        if cuts_too {
            // Changes acknowledged to other processes build on what the dead process wrote.
            scene.answers.cut_between(before, scene.answers.moment(), 1).await.map_err(at)?;
        }
        scene.end().await;
    }
    unreachable!()
}

#[tokio::test]
async fn crash_at_any_call_loses_nothing() {
    for act in ALL {
        let calls = die_at_each_call(act, FaultyDuty::Nothing, false).await.unwrap();
        assert!(calls >= 2, "{act:?}: {calls}");
    }
}

/// Cuts the power after each step of an act and of the changes that follow it.
async fn cut_at_each_step(act: Act, neglect: FaultyDuty) -> Result<usize, String> {
    let scene = Scene::new(act, neglect).await;
    let before = if act == Act::First { 0 } else { scene.answers.moment() };
    scene.act().await.map_err(|error| error.to_string())?;
    let Scene { answers, process, other, .. } = &scene;
    for process in [other, process, other] {
        let done = async {
            answers.file(process).await?;
            answers.claim(process).await?;
            process.publish().await
        };
        done.await.map_err(|error| format!("{act:?}: {error}"))?;
    }
    let cuts = answers.cut_from(before).await.map_err(|wrong| format!("{act:?}: {wrong}"))?;
    published_is_durable(&answers.disk().steps())
        .await
        .map_err(|wrong| format!("{act:?}: {wrong}"))?;
    scene.end().await;
    Ok(cuts)
}

/// Checks that the log still holds every change published in `issues.json` after a power cut at any moment.
async fn published_is_durable(steps: &[Step]) -> Result<(), String> {
    let is_published = |step: &Step| {
        let Step::Named(names) = step else { return false };
        names.iter().any(|((_, name), node)| name == "issues.json" && node.is_some())
    };
    for moment in (1..=steps.len()).filter(|moment| is_published(&steps[moment - 1])) {
        let file = files_after(&steps[..moment], Fate::Kept).remove(Path::new("issues.json"));
        let Some(Some(bytes)) = file else { continue };
        let published = format::parse(bytes).map_err(|error| error.to_string())?;
        let mut tree = files_after(&steps[..moment], Fate::Lost);
        tree.retain(|path, _| path != "issues.json" && !path.ends_with("published"));
        let directory = directory_in_memory();
        write_files(directory.path(), &tree);
        let disk = Disk::new(directory.path(), FaultyDuty::Nothing);
        let process = Process::start(directory.path(), disk);
        let kept = all_issues(&*process.store).await.map_err(|error| error.to_string())?;
        let kept: HashSet<_> = kept.iter().flat_map(|issue| entries(issue)).collect();
        for issue in published.issues.issues() {
            if let Some(missing) = entries(&issue).find(|entry| !kept.contains(entry)) {
                return Err(format!(
                    "{missing:?} is published after step {moment} but not durable"
                ));
            }
        }
    }
    Ok(())
}

/// Returns the history entries that the changes of a test added to an issue.
fn entries(issue: &Issue) -> impl Iterator<Item = (IssueId, String)> {
    let agents = issue.history.iter().map(|entry| (issue.id, entry.agent.clone()));
    agents.filter(|(_, agent)| agent.starts_with("agent"))
}

#[tokio::test]
async fn power_cut_after_any_step_loses_no_acknowledged_change() {
    for act in ALL {
        let cuts = cut_at_each_step(act, FaultyDuty::Nothing).await.unwrap();
        assert!(cuts > 20, "{act:?}: {cuts}");
    }
}

#[tokio::test]
async fn crash_followed_by_a_power_cut_loses_nothing() {
    for act in [Act::BehindFailedSync, Act::BehindTorn] {
        die_at_each_call(act, FaultyDuty::Nothing, true).await.unwrap();
    }
}

#[tokio::test]
async fn checker_detects_each_omitted_sync_and_rewrite() {
    for (neglect, act) in [
        (FaultyDuty::SyncSegment, Act::Change),
        (FaultyDuty::SyncTemp, Act::BehindTorn),
        (FaultyDuty::SyncDirectory, Act::First),
        (FaultyDuty::Rewrite, Act::BehindFailedSync),
    ] {
        let noticed = cut_at_each_step(act, neglect).await.unwrap_err();
        eprintln!("{neglect:?}: {noticed}");
    }
}
