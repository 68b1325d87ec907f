//! The processes that publish a large `issues.json` for commands that have ended.

#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::support::files::{id, issue_json, wait_for_file, write_issues};
use crate::support::runs::run;
use crate::support::{BINARY, Client, ait_through, directory, skip, until};

/// Returns a store that is too large for a command to publish it, with a log.
fn large() -> tempfile::TempDir {
    let directory = directory();
    let issues = (1..=300).map(|n| {
        let mut issue = issue_json(&id(n), "large", "created");
        issue["description"] = "x".repeat(10_000).into();
        issue
    });
    write_issues(directory.path(), &issues.collect::<Vec<_>>());
    directory
}

fn comment(directory: &Path, text: &str) {
    run(directory, &["comment", &id(1), "-m", text, "-a", "a"]).ok();
}

fn show(directory: &Path) {
    run(directory, &["show", &id(1)]).ok();
}

fn wait_for_comment(directory: &Path, text: &str) {
    wait_for_file(directory, |issues| issues[0]["comments"].to_string().contains(text));
}

/// Returns the ids of the live savers of a store.
fn savers(directory: &Path) -> BTreeSet<u32> {
    let words = [directory.to_str().unwrap(), "--when-quiet"];
    let is_saver = |process: &PathBuf| {
        let line = fs::read(process.join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        words.iter().all(|word| line.contains(word))
    };
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let savers = processes.filter(is_saver);
    savers.filter_map(|path| path.file_name()?.to_str()?.parse().ok()).collect()
}

/// The savers of a store that were seen.
#[derive(Default)]
struct Seen {
    all: BTreeSet<u32>,
    most_at_once: usize,
}

/// Watches the savers of a store. A saver waits for 300 ms before it does anything, so none is missed.
struct Watch {
    directory: PathBuf,
    is_over: Arc<AtomicBool>,
    watching: JoinHandle<Seen>,
}

impl Watch {
    fn start(directory: &Path) -> Self {
        let directory = directory.to_owned();
        let is_over = Arc::new(AtomicBool::new(false));
        let watching = thread::spawn({
            let (directory, is_over) = (directory.clone(), Arc::clone(&is_over));
            move || {
                let mut seen = Seen::default();
                while !is_over.load(Ordering::SeqCst) {
                    let found = savers(&directory);
                    seen.most_at_once = seen.most_at_once.max(found.len());
                    seen.all.extend(found);
                    thread::sleep(Duration::from_millis(10));
                }
                seen
            }
        });
        Self { directory, is_over, watching }
    }

    /// Waits until no saver is left, and returns those that were seen.
    #[track_caller]
    fn end(self) -> Seen {
        until("no saver is left", || savers(&self.directory).is_empty());
        self.is_over.store(true, Ordering::SeqCst);
        self.watching.join().unwrap()
    }
}

#[test]
fn commands_share_one_saver() {
    const CHANGES: usize = 10;
    let directory = large();
    let watch = Watch::start(directory.path());
    for n in 0..CHANGES {
        comment(directory.path(), &format!("comment {n} of many"));
        show(directory.path());
    }
    wait_for_comment(directory.path(), &format!("comment {} of many", CHANGES - 1));
    let seen = watch.end();
    // Two commands that end in one moment may both start one, and the second ends at once.
    assert!((1..=2).contains(&seen.most_at_once), "{} savers at once", seen.most_at_once);
    assert!(seen.all.len() <= CHANGES, "{} savers", seen.all.len());
}

#[test]
fn no_saver_is_started_for_a_file_with_hard_links() {
    let directory = large();
    let watch = Watch::start(directory.path());
    comment(directory.path(), "before the link");
    wait_for_comment(directory.path(), "before the link");
    assert!(!watch.end().all.is_empty(), "savers are not counted");

    let link = directory.path().join("link");
    fs::hard_link(directory.path().join("issues.json"), &link).unwrap();
    let watch = Watch::start(directory.path());
    let commented = run(directory.path(), &["comment", &id(1), "-m", "with the link", "-a", "a"]);
    assert!(commented.log.contains("several hard links"), "{}", commented.log);
    show(directory.path());
    assert_eq!(watch.end().all, BTreeSet::new());
    fs::remove_file(&link).unwrap();
    show(directory.path());
    wait_for_comment(directory.path(), "with the link");
}

#[test]
fn no_saver_is_started_while_a_server_publishes() {
    let directory = large();
    let mut server = Client::start(directory.path());
    let watch = Watch::start(directory.path());
    for n in 0..5 {
        server.add(&format!("added {n}"), "bug");
        show(directory.path());
    }
    comment(directory.path(), "beside the server");
    wait_for_comment(directory.path(), "beside the server");
    assert_eq!(watch.end().all, BTreeSet::new());
    assert!(server.close().success());
}

#[test]
fn savers_on_a_full_disk_start_no_others() {
    let directory = large();
    // The file and a snapshot fit, but no second rendering of the file.
    let script = r#"
        issues=$(cat issues.json; echo .)
        mount -t tmpfs -o size=8m tmpfs "$1"
        cd "$1"
        printf %s "${issues%.}" > issues.json
        for n in 1 2 3; do
            "$2" comment "$3" -m "comment $n" -a a
            "$2" show "$3"
        done
        "$2" save && exit 9
        "$2" doctor"#;
    let mut probe = ait_through("unshare", directory.path());
    if !probe.args(["-rm", "true"]).status().is_ok_and(|ended| ended.success()) {
        skip("mounts are not permitted");
        return;
    }
    let watch = Watch::start(directory.path());
    let mut command = ait_through("unshare", directory.path());
    command.args(["-rm", "sh", "-ec", script, "sh"]).arg(directory.path()).arg(BINARY).arg(id(1));
    let output = command.output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("comment 3"), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(shown.contains("issues.json lacks") || shown.contains("follow shortly"), "{shown}");
    let seen = watch.end();
    assert!((1..=6).contains(&seen.all.len()), "{} savers for 6 commands", seen.all.len());
}
