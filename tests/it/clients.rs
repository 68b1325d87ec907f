//! The official clients of another language, from their registry: `tests/clients/`.
//!
//! They need Node and `npm ci` in that folder. Where either is missing they are skipped, except in
//! CI, where that is a failure.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the clients, when everything that they need is there.
fn clients() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
    let node = Command::new("node").arg("--version").output();
    let missing = if node.is_err() {
        "node is not installed"
    } else if !folder.join("node_modules").is_dir() {
        "`npm ci` was not run in tests/clients"
    } else {
        return Some(folder);
    };
    assert!(std::env::var_os("CI").is_none(), "CI must run the clients: {missing}");
    eprintln!("skipped: {missing}");
    None
}

fn run(script: &str) {
    let Some(folder) = clients() else { return };
    let mut command = Command::new("node");
    command.arg(folder.join(script)).arg(env!("CARGO_BIN_EXE_ait")).arg(env!("CARGO_PKG_VERSION"));
    for variable in ["ISSUES_FILE", "PORT", "RUST_LOG"] {
        command.env_remove(variable);
    }
    let output = command.output().unwrap();
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{script}: {}\n{out}\n{err}", output.status);
    assert!(out.contains("ok, "), "{script} says nothing of its checks:\n{out}");
}

#[test]
fn the_typescript_sdk_goes_through_the_lifecycle() {
    run("sdk.mjs");
}

#[test]
fn the_inspector_drives_all_seven_tools() {
    run("inspector.mjs");
}
