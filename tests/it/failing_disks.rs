//! Real disks and directories that fail under a running server: the answers of its tools, the health probe, and the
//! recovery of the store, with every acknowledged change, once the cause is fixed.

#![cfg(target_os = "linux")]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::files::stored_issues;
use crate::support::{Answer, BINARY, Client, ait, ait_through, directory, get, until};

fn add(client: &mut Client, description: &str) -> Answer {
    let arguments = json!({
        "title": "t", "description": description, "classification": "bug", "agent": "a",
    });
    client.call("add_issue", arguments)
}

/// Returns the number of issues, or the error.
fn count(client: &mut Client) -> Result<usize, String> {
    let listed = client.call("list_issues", json!({ "take": 1 }));
    if listed.is_error {
        return Err(listed.text);
    }
    let listed: Value = serde_json::from_str(&listed.text).unwrap();
    Ok(listed["count"].as_u64().unwrap() as usize)
}

/// Returns the reason that the health probe gives for a degraded store.
#[track_caller]
fn degraded_reason(client: &Client) -> String {
    let response = get(client.port(), "/health");
    let report = response.json();
    assert_eq!((response.status, &report["status"]), (503, &json!("degraded")), "{report}");
    report["reason"].as_str().unwrap().to_owned()
}

fn wait_until_healthy(client: &Client) {
    until("the health probe is ok again", || get(client.port(), "/health").status == 200);
}

#[track_caller]
fn assert_words(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "no {word:?} in {text}");
    }
}

/// Starts a server whose store has its own directory and two issues.
fn in_directory(directory: &Path, command: &mut Command) -> (PathBuf, Client) {
    let store = directory.join("store");
    fs::create_dir(&store).unwrap();
    let mut client = Client::spawn(command.env("ISSUES_FILE", store.join("issues.json")));
    client.initialize();
    add(&mut client, "").ok();
    add(&mut client, "").ok();
    (store, client)
}

#[test]
fn store_recovers_after_its_directory_is_moved_and_restored() {
    let directory = directory();
    let (store, mut client) = in_directory(directory.path(), &mut ait(directory.path()));
    let away = directory.path().join("away");
    let expected = ["/store", "does not exist", "create it"];
    for known in [2, 3] {
        fs::rename(&store, &away).unwrap();
        assert_words(&add(&mut client, "").refusal(), &expected);
        assert_words(&count(&mut client).unwrap_err(), &expected);
        assert_words(&degraded_reason(&client), &expected);
        fs::rename(&away, &store).unwrap();
        assert_eq!(count(&mut client), Ok(known));
        add(&mut client, "").ok();
        wait_until_healthy(&client);
        assert_eq!(stored_issues(&store).len(), known + 1);
    }
    // If the directory comes back empty, the process writes what it knows.
    until("the directory is removed", || fs::remove_dir_all(&store).is_ok());
    fs::create_dir_all(&store).unwrap();
    add(&mut client, "").ok();
    assert_eq!(stored_issues(&store).len(), 5);
    assert!(client.close().success());
}

/// Returns a command that runs the binary without root's power to bypass file permissions.
fn ait_without_capabilities(directory: &Path) -> Option<Command> {
    let id = Command::new("id").arg("-u").output().ok()?;
    if id.stdout != b"0\n" {
        return Some(ait(directory));
    }
    let mut probe = Command::new("setpriv");
    if !probe.args(["--bounding-set=-all", "true"]).status().is_ok_and(|status| status.success()) {
        eprintln!("skipped: setpriv(1) cannot drop the capabilities of root here");
        return None;
    }
    let mut command = ait_through("setpriv", directory);
    command.args(["--bounding-set=-all", BINARY]);
    Some(command)
}

#[test]
fn store_recovers_after_permissions_are_restored() {
    let directory = directory();
    let Some(mut command) = ait_without_capabilities(directory.path()) else { return };
    let (store, mut client) = in_directory(directory.path(), &mut command);
    let mut known = 2;
    let unreadable = ["ermission denied", "make it readable", "issues.json"];
    for (name, mode, refused) in [
        // No file in the directory is accessible.
        ("", 0o000, Some(&unreadable)),
        // A change creates no file; publishing does, and so does a new process.
        ("", 0o555, None),
    ] {
        let path = store.join(name);
        let mode_before = fs::metadata(&path).unwrap().permissions();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let answer = add(&mut client, "");
        match refused {
            Some(words) => assert_words(&answer.refusal(), &words[..]),
            None => {
                answer.ok();
                known += 1;
            }
        }
        match count(&mut client) {
            Ok(count) => assert_eq!(count, known),
            Err(text) => assert_words(&text, &unreadable),
        }
        if refused.is_some() {
            until("the probe notices", || get(client.port(), "/health").status == 503);
            assert_words(&degraded_reason(&client), &["ermission denied"]);
        }
        fs::set_permissions(&path, mode_before).unwrap();
        add(&mut client, "").ok();
        known += 1;
        assert_eq!(count(&mut client), Ok(known));
        wait_until_healthy(&client);
    }
    assert!(client.close().success());
    assert_eq!(stored_issues(&store).len(), known);
}

/// Mounts a file system on a sparse image and starts the server there. The image grows by a page at a time, because
/// loop devices of Linux 6.18 report success for a write that was stored only in part. After the server was killed, the
/// script mounts the image again and copies the store out of it.
const DISK_SCRIPT: &str = r#"
    mount -t tmpfs -o size=16m tmpfs "$1/disk"
    cd "$1"
    truncate -s 32m disk/image
    mkfs.ext4 -q -m 0 -b 4096 -O ^has_journal -E lazy_itable_init=0 disk/image
    mount -o "loop,errors=$3" disk/image mounted
    basename "$(findmnt -no SOURCE mounted)" > device
    echo 4 > "/sys/block/$(cat device)/queue/max_sectors_kb"
    test -w "/sys/fs/ext4/$(cat device)/trigger_fs_error"
    command -v nsenter e2fsck >&2
    test -z "$4" || exit 0
    ISSUES_FILE="$1/mounted/issues.json" sh -c 'echo $$ > pid; exec "$0"' "$2" || true
    umount mounted
    test -e disk/repaired || mv disk/image disk/repaired
    mount -o loop,ro disk/repaired mounted
    cp -r mounted/.ait found/
    cp mounted/issues.json found/ || true
    umount mounted
"#;

/// A server whose store is on that file system.
struct OnDisk {
    directory: tempfile::TempDir,
    client: Client,
    pid: String,
}

impl OnDisk {
    /// Starts the server. Returns `None` if this machine cannot mount such a disk.
    fn start(on_errors: &str) -> Option<Self> {
        let directory = directory();
        for name in ["disk", "mounted", "found"] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        let path = directory.path().to_str().unwrap();
        let arguments = |only: &str| {
            ["-m", "sh", "-ec", DISK_SCRIPT, "sh", path, BINARY, on_errors, only].map(str::to_owned)
        };
        let mut probe = Command::new("unshare");
        probe.args(arguments("only")).stdin(Stdio::null());
        if !probe.output().is_ok_and(|output| output.status.success()) {
            eprintln!("skipped: no disk image can be mounted here");
            return None;
        }
        let mut command = ait_through("unshare", directory.path());
        let mut client = Client::spawn(command.args(arguments("")));
        client.initialize();
        let pid = fs::read_to_string(directory.path().join("pid")).unwrap().trim().to_owned();
        Some(Self { directory, client, pid })
    }

    /// Runs a script in the mount namespace of the server and in the directory of the test.
    fn inside(&self, script: &str) {
        let mut command = Command::new("nsenter");
        let script = format!("cd \"$1\"\n{script}");
        command.arg(format!("--target={}", self.pid)).args(["--mount", "sh", "-ec", &script, "sh"]);
        let output = command.arg(self.directory.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Kills the server. Returns the number of issues on the disk.
    fn kill(mut self) -> usize {
        let kill = Command::new("kill").args(["-9", &self.pid]).status().unwrap();
        assert!(kill.success());
        self.client.close();
        if let Ok(to) = std::env::var("AIT_TEST_FOUND") {
            crate::support::files::copy_directory(
                &self.directory.path().join("found"),
                Path::new(&to),
            );
        }
        stored_issues(&self.directory.path().join("found")).len()
    }
}

/// The kernel accepts each write and fails to save it.
#[test]
fn changes_that_a_disk_fails_to_save_are_not_acknowledged() {
    let Some(mut server) = OnDisk::start("continue") else { return };
    let (description, mut acknowledged, mut uncertain) = ("x".repeat(8000), 1, 0);
    add(&mut server.client, &description).ok();
    server.inside("dd if=/dev/zero of=disk/filler bs=65536 2>/dev/null || true");
    let refusal = loop {
        let answer = add(&mut server.client, &description);
        if !answer.is_error {
            acknowledged += 1;
        } else if answer.text.contains("it is not certain") {
            assert_words(&answer.text, &["queue.db"]);
            uncertain += 1;
        } else {
            break answer.text;
        }
        assert!(acknowledged + uncertain < 100, "the disk never fails");
    };
    assert_words(&refusal, &["nothing was changed"]);
    assert!(uncertain > 0, "no sync has failed: {refusal}");
    assert_words(&degraded_reason(&server.client), &["disk failed to save the last change"]);
    let known = count(&mut server.client).unwrap();
    assert!(
        (acknowledged..=acknowledged + uncertain).contains(&known),
        "{acknowledged}, {uncertain}, {known}"
    );
    server.inside("rm disk/filler");
    add(&mut server.client, &description).ok();
    wait_until_healthy(&server.client);
    assert_eq!(count(&mut server.client), Ok(known + 1));
    assert_eq!(server.kill(), known + 1);
}

/// After an error, the kernel remounts the disk read-only while files are open. Later the disk is repaired and mounted.
#[test]
fn store_recovers_after_a_read_only_remount_is_repaired() {
    let Some(mut server) = OnDisk::start("remount-ro") else { return };
    for _ in 0..2 {
        add(&mut server.client, "").ok();
    }
    server.inside(r#"echo 1 > "/sys/fs/ext4/$(cat device)/trigger_fs_error""#);
    let refusal = add(&mut server.client, "").refusal();
    assert_words(&refusal, &["issues.json", "disk I/O error"]);
    assert_eq!(count(&mut server.client), Ok(2));
    until("the probe notices", || get(server.client.port(), "/health").status == 503);
    assert_words(&degraded_reason(&server.client), &["ead-only"]);
    // The old mount lives on as long as one of its files is open.
    server.inside(
        "umount -l mounted
         cp --sparse=always disk/image disk/repaired
         e2fsck -fy disk/repaired >&2 || test $? -le 2
         mount -o loop disk/repaired mounted",
    );
    assert_eq!(count(&mut server.client), Ok(2));
    add(&mut server.client, "").ok();
    wait_until_healthy(&server.client);
    assert_eq!(server.kill(), 3);
}
