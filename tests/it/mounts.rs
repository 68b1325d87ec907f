//! Full file systems and bind-mounted files: real ones in a mount namespace, where the machine permits that.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::files::{copy_directory, stored_issues};
use crate::support::{Answer, BINARY, Client, ait_through, directory, get};

/// Starts the binary after a script that mounts file systems in `$1`; `None` where mounts are not permitted.
fn start(directory: &tempfile::TempDir, script: &str) -> Option<Client> {
    start_in(directory, &["-rm"], script)
}

/// Like [`start`], with further options for `unshare`.
fn start_in(directory: &tempfile::TempDir, unshared: &[&str], script: &str) -> Option<Client> {
    let mut probe = Command::new("unshare");
    probe.args(["-rm", "mount", "-t", "tmpfs", "tmpfs"]).arg(directory.path());
    if !probe.output().is_ok_and(|output| output.status.success()) {
        crate::support::skip("mounts are not permitted");
        return None;
    }
    let script = format!("{script}\nexec \"$2\"");
    let mut command = ait_through("unshare", directory.path());
    command.args(unshared).args(["sh", "-ec", &script, "sh"]).arg(directory.path()).arg(BINARY);
    let mut client = Client::spawn(&mut command);
    client.initialize();
    Some(client)
}

fn add(client: &mut Client, description: &str) -> Answer {
    let arguments = json!({
        "title": "t", "description": description, "classification": "bug", "agent": "a",
    });
    client.call("add_issue", arguments)
}

fn count(client: &mut Client) -> usize {
    let listed = client.call("list_issues", json!({ "take": 1 })).ok();
    let listed: Value = serde_json::from_str(&listed).unwrap();
    listed["count"].as_u64().unwrap() as usize
}

#[test]
fn full_disk_refuses_changes_until_space_is_freed() {
    let directory = directory();
    let script = r#"
        mount -t tmpfs -o size=4m tmpfs "$1"
        cd "$1"
        dd if=/dev/zero of=filler bs=1024 count=1000 2>/dev/null"#;
    let Some(mut client) = start(&directory, script) else { return };
    let inside = PathBuf::from(format!("/proc/{}/cwd", client.pid()));
    let description = "x".repeat(8000);
    let mut filed = 0;
    let refusal = loop {
        let answer = add(&mut client, &description);
        if answer.is_error {
            break answer.text;
        }
        filed += 1;
        assert!(filed < 100, "the disk does not fill");
    };
    assert!(
        refusal.contains("disk is full") && refusal.contains("nothing was changed"),
        "{refusal}"
    );
    assert!(filed > 5, "{filed}: {refusal}");
    assert_eq!(count(&mut client), filed);
    // A change may be too large for the free space although a probe file still fits.
    let rest = fs::File::create(inside.join("rest")).unwrap();
    while (&rest).write(&[b'.'; 512]).is_ok() {}
    let health = get(client.port(), "/health");
    assert_eq!(health.status, 503, "{}", health.body);
    assert!(health.body.to_lowercase().contains("space"), "{}", health.body);
    fs::remove_file(inside.join("filler")).unwrap();
    add(&mut client, &description).ok();
    assert_eq!(count(&mut client), filed + 1);
    // Check the disk as another process would read it.
    let copy = crate::support::directory();
    copy_directory(&inside, copy.path());
    assert_eq!(stored_issues(copy.path()).len(), filed + 1);
    client.close();
}

#[test]
fn read_only_file_system_is_degraded_but_can_be_read() {
    let directory = directory();
    let script = r#"
        mount -t tmpfs tmpfs "$1"
        cd "$1"
        printf '{"issues": []}' > issues.json
        mount -o remount,ro "$1""#;
    let Some(mut client) = start(&directory, script) else { return };
    assert_eq!(count(&mut client), 0);
    let health = get(client.port(), "/health");
    assert_eq!(health.status, 503, "{}", health.body);
    let report = health.json();
    assert_eq!((&report["status"], &report["issueCount"]), (&json!("degraded"), &json!(0)));
    let reason = report["reason"].as_str().unwrap();
    assert!(reason.contains("read-only"), "{reason}");
    let refusal = add(&mut client, "").text;
    assert!(refusal.contains("read-only"), "{refusal}");
    let inside = PathBuf::from(format!("/proc/{}/cwd", client.pid()));
    assert_eq!(crate::support::files::names(&inside), ["issues.json"]);
    client.close();
}

#[test]
fn read_only_error_is_printed_once_per_command() {
    let directory = directory();
    let script = r#"
        mount -t tmpfs tmpfs "$1"
        cd "$1"
        "$2" add first -c bug -a a >/dev/null
        mount -o remount,ro "$1"
        for command in "add t -c bug" "next" "save"; do
            echo "== $command" >&2
            "$2" $command -a a >&2 || true
        done
        echo "== end" >&2"#;
    let Some(mut client) = start(&directory, script) else { return };
    let log = client.log().wait_for("== end");
    let mut outputs = log.split("== ").skip(1);
    for command in ["add", "next"] {
        let (_, lines) = outputs.next().unwrap().split_once('\n').unwrap();
        assert_eq!(lines.lines().count(), 1, "{command}: {lines}");
        assert!(lines.contains("read-only"), "{command}: {lines}");
    }
    for _ in 0..3 {
        assert!(add(&mut client, "").refusal().contains("read-only"));
    }
    assert_eq!(count(&mut client), 1);
    client.close();
    let log = client.log().whole();
    let (_, server_log) = log.split_once("== end\n").unwrap();
    // The server logs the error once at the start, once for each call, and once at the end.
    let lines = server_log.lines().filter(|line| line.contains("read-only")).count();
    assert_eq!(lines, 1 + 3 + 1, "{server_log}");
}

#[test]
fn bind_mounted_file_is_refused_by_name() {
    let directory = directory();
    fs::create_dir(directory.path().join("inside")).unwrap();
    for name in ["outside.json", "inside/issues.json"] {
        fs::write(directory.path().join(name), "{\"issues\": []}").unwrap();
    }
    let script = r#"
        mount --bind "$1/outside.json" "$1/inside/issues.json"
        cd "$1/inside""#;
    let Some(mut client) = start(&directory, script) else { return };
    let refusal = add(&mut client, "").refusal();
    for words in ["inside/issues.json", "mount its directory", "nothing was changed"] {
        assert!(refusal.contains(words), "no {words:?} in {refusal}");
    }
    let health = get(client.port(), "/health");
    assert_eq!(health.status, 503, "{}", health.body);
    assert!(health.body.contains("mounted by itself"), "{}", health.body);
    client.close();
    assert_eq!(crate::support::files::names(&directory.path().join("inside")), ["issues.json"]);
}

/// A FUSE file system is not refused by its name: ait tests its locks. (A network file system cannot be mounted
/// without a server.)
#[test]
fn fuse_file_system_is_tested_reported_and_used() {
    if Command::new("bindfs").arg("--version").output().is_err() || !Path::new("/dev/fuse").exists()
    {
        crate::support::skip("bindfs or /dev/fuse is missing");
        return;
    }
    let directory = directory();
    for name in ["outside", "inside"] {
        fs::create_dir(directory.path().join(name)).unwrap();
    }
    let script = r#"
        bindfs --no-allow-other "$1/outside" "$1/inside"
        cd "$1/inside"
        "$2" add one -c bug -a a >/dev/null
        "$2" doctor --json > "$1/report" || true"#;
    // `--kill-child` ends bindfs together with its namespace.
    let unshared = ["-rmpf", "--mount-proc", "--kill-child"];
    let Some(mut client) = start_in(&directory, &unshared, script) else { return };
    add(&mut client, "").ok();
    assert_eq!(count(&mut client), 2);
    assert_eq!(get(client.port(), "/health").status, 200);
    client.close();
    let report: Value =
        serde_json::from_slice(&fs::read(directory.path().join("report")).unwrap()).unwrap();
    let finding = |check: &str| {
        let findings = report["findings"].as_array().unwrap();
        findings.iter().find(|finding| finding["check"] == check).unwrap().clone()
    };
    assert_eq!(finding("file_system")["verdict"], "warning", "{report:#}");
    assert!(finding("file_system").to_string().contains("FUSE"), "{report:#}");
    assert_eq!(finding("lock")["verdict"], "ok", "{report:#}");
    assert_eq!(stored_issues(&directory.path().join("outside")).len(), 2);
}
