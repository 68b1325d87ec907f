//! A file system that fails at every single call, once or for a while. Acknowledged changes last, refused changes leave
//! no trace, and the store recovers when the fault ends.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use agent_issue_tracker::store::StoreError;

use crate::support::directory_in_memory;
use crate::support::disk::{Disk, FaultyDuty};
use crate::support::files::{copy_directory, id, issue_json, names, write_issues};
use crate::support::scene::{Answers, Process};
use crate::support::stores::check;
use crate::support::trouble::{Call, EACCES, EFBIG, EIO, ENOSPC, EROFS, Fault};

/// What a process does when its disk fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// The first change of an empty store.
    First,
    /// The first change of a store that has only `issues.json`.
    FirstOverFile,
    /// A change by a process that made changes before.
    Change,
    /// The first change of a process.
    ChangeOfNewProcess,
    /// A claim.
    Claim,
    /// Publishing `issues.json`.
    Publish,
    /// Publishing over an external edit.
    PublishOverEdit,
    /// Reading.
    Read,
}

pub const ALL: [Act; 8] = [
    Act::First,
    Act::FirstOverFile,
    Act::Change,
    Act::ChangeOfNewProcess,
    Act::Claim,
    Act::Publish,
    Act::PublishOverEdit,
    Act::Read,
];

/// A store, and a process that is about to act on it.
pub struct Scene {
    pub directory: tempfile::TempDir,
    pub act: Act,
    pub answers: Arc<Answers>,
    pub process: Process,
    /// Another process, which started earlier.
    pub other: Process,
}

impl Scene {
    pub async fn new(act: Act, faulty_duty: FaultyDuty) -> Self {
        let directory = directory_in_memory();
        let path = directory.path();
        if act == Act::FirstOverFile {
            write_issues(path, &[issue_json(&id(77), "before", "created")]);
        }
        let disk = Disk::new(faulty_duty);
        let answers = Arc::default();
        let other = Process::start(path, Arc::clone(&disk));
        let process = other.beside(path);
        let scene = Self { answers, act, process, other, directory };
        if !matches!(act, Act::First | Act::FirstOverFile) {
            scene.fill().await;
        }
        scene
    }

    async fn fill(&self) {
        let Self { answers, process, other, .. } = self;
        for _ in 0..3 {
            answers.file(other).await.unwrap();
        }
        other.publish().await.unwrap();
        answers.claim(other).await.unwrap();
        if !matches!(self.act, Act::ChangeOfNewProcess) {
            answers.file(process).await.unwrap();
        }
        if self.act == Act::PublishOverEdit {
            let path = self.path().join("issues.json");
            let text = fs::read_to_string(&path).unwrap();
            fs::write(path, text.replacen("issue 1", "issue one", 1)).unwrap();
        }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub async fn act(&self) -> Result<(), StoreError> {
        let Self { answers, process, .. } = self;
        match self.act {
            Act::Publish | Act::PublishOverEdit => process.publish().await,
            Act::Claim => answers.claim(process).await.map(drop),
            Act::Read => agent_issue_tracker::store::Store::counts(&*process.store).await.map(drop),
            _ => answers.file(process).await.map(drop),
        }
    }

    /// Checks the store as every process sees it, and that each process can still file, claim and publish.
    pub async fn check(&self, is_dead: bool) -> Result<(), String> {
        let Self { answers, process, other, .. } = self;
        let later = other.beside(self.path());
        answers
            .check(&*later.store)
            .await
            .map_err(|error| format!("for a new process: {error}"))?;
        let mut all = vec![other, &later];
        if !is_dead {
            all.push(process);
        }
        for process in &all {
            answers.check(&*process.store).await?;
            answers
                .file(process)
                .await
                .map_err(|error| format!("no change is possible: {error}"))?;
            answers
                .claim(process)
                .await
                .map_err(|error| format!("no claim is possible: {error}"))?;
        }
        for process in &all {
            answers.check(&*process.store).await?;
            check(&*process.store).await.map_err(|error| format!("still degraded: {error}"))?;
        }
        other.publish().await.map_err(|error| format!("not published: {error}"))?;
        if names(self.path()) != [".ait", "issues.json"] {
            return Err(format!("unexpected files: {:?}", names(self.path())));
        }
        let text = fs::read_to_string(self.path().join("issues.json")).unwrap();
        match self.act {
            Act::PublishOverEdit if !text.contains("issue one") => {
                Err("the edit is lost".to_owned())
            }
            Act::FirstOverFile if !text.contains("before") => Err("the file is lost".to_owned()),
            _ => Ok(()),
        }
    }

    pub async fn end(&self) {
        self.process.kill().await;
        self.other.kill().await;
    }
}

/// Makes each call of an act fail in turn. Returns the failed calls.
async fn fail_each_call(act: Act, fault: impl Fn(usize) -> Fault) -> Result<Vec<Call>, String> {
    let mut failed = Vec::new();
    for number in 1.. {
        let scene = Scene::new(act, FaultyDuty::Nothing).await;
        let error = error_at(number);
        scene.process.disk.trouble.with(error);
        scene.process.disk.trouble.begin(fault(number));
        let acted = scene.act().await;
        let Some(call) = scene.process.disk.trouble.failed() else {
            acted.map_err(|error| format!("{act:?} without a fault: {error}"))?;
            scene.end().await;
            return Ok(failed);
        };
        scene.process.disk.trouble.end();
        if let Err(problem) = &acted {
            let text = problem.to_string();
            let is_explained =
                ["os error", "could not be", "read-only"].iter().any(|words| text.contains(words));
            if !is_explained || !text.contains(&*scene.path().to_string_lossy()) {
                return Err(format!(
                    "{act:?}, {error} at call {number}, {call:?}: the error was {text:?}"
                ));
            }
        }
        let outcome = acted.map_or_else(|error| error.to_string(), |()| "succeeded".to_owned());
        let checked = scene.check(false).await;
        checked.map_err(|wrong| {
            format!("{act:?}, {error} at call {number}, {call:?} ({outcome}): {wrong}")
        })?;
        failed.push(call);
        scene.end().await;
    }
    unreachable!()
}

/// Returns the error of the disk at a call.
fn error_at(number: usize) -> i32 {
    [ENOSPC, EIO, EACCES, EROFS, EFBIG][number % 5]
}

#[tokio::test]
async fn single_fault_at_any_call_keeps_responses_truthful() {
    for act in ALL {
        let failed = fail_each_call(act, Fault::Once).await.unwrap();
        assert!(failed.len() >= 2, "{act:?}: {failed:?}");
    }
}

#[tokio::test]
async fn lasting_fault_from_any_call_keeps_responses_truthful() {
    for act in ALL {
        fail_each_call(act, Fault::From).await.unwrap();
    }
}

/// Control for all of these tests: a lost change, and a refused one that was made.
#[tokio::test]
async fn checker_detects_lost_and_resurrected_changes() {
    let scene = Scene::new(Act::Change, FaultyDuty::Nothing).await;
    let before = directory_in_memory();
    copy_directory(scene.path(), before.path());
    scene.act().await.unwrap();
    let check = async |directory: &Path| {
        let process = Process::start(directory, Disk::new(FaultyDuty::Nothing));
        scene.answers.check(&*process.store).await
    };
    assert!(check(before.path()).await.unwrap_err().contains("is lost"));
    check(scene.path()).await.unwrap();
    scene.answers.mark_last_change_refused();
    assert!(check(scene.path()).await.unwrap_err().contains("was refused and is stored"));
    scene.end().await;
}

/// After a power cut, a file that has its name must have its content.
#[tokio::test]
async fn published_file_is_synced_before_it_gets_its_name() {
    let scene = Scene::new(Act::Publish, FaultyDuty::Nothing).await;
    let before = scene.process.disk.calls().len();
    scene.act().await.unwrap();
    let calls = scene.process.disk.calls().split_off(before);
    let of =
        |name: &str, suffix: &str| calls.iter().rposition(|call| call.is(name, suffix)).unwrap();
    let exchange = of("exchange", "issues.json");
    let last_write =
        calls[..exchange].iter().rposition(|call| call.is("write_at", ".tmp")).unwrap();
    let is_synced = calls[last_write..exchange].iter().any(|call| call.is("sync", ".tmp"));
    assert!(is_synced && of("sync_directory", "") > exchange, "{calls:#?}");
    scene.end().await;
}
