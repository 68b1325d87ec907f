//! Stores in a database: where the URL comes from, how it is shown, and that an invalid URL selects no other store.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::files::names;
use crate::support::runs::{Run, run};
use crate::support::{Client, ait, directory, has_no_store_files};

/// A URL without a server.
const URL: &str = "postgres://ann:hunter2@127.0.0.1:1/issues?schema=team";
/// The same URL as ait shows it.
const SHOWN: &str = "postgres://ann@127.0.0.1:1/issues?schema=team";

/// Runs a command with environment variables.
fn run_in(directory: &Path, environment: &[(&str, &str)], arguments: &[&str]) -> Run {
    let mut command = ait(directory);
    let output = command.envs(environment.iter().copied()).args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code().unwrap(), out: text(output.stdout), log: text(output.stderr) }
}

/// Returns the configured database URL and its source, if the store is a database.
fn database(run: Run) -> Option<(String, String)> {
    let rows: Value = serde_json::from_str(&run.ok()).unwrap();
    let row = rows.as_array().unwrap().iter().find(|row| row["name"] == "store").unwrap();
    Some((row["value"].as_str()?.to_owned(), row["source"].as_str()?.to_owned()))
}

#[test]
fn store_flag_overrides_the_environment_and_settings() {
    let directory = directory();
    let path = directory.path();
    fs::write(path.join("ait.toml"), format!("store = {:?}\n", URL.replace("ann", "file")))
        .unwrap();
    let variable = [("AIT_STORE", &*URL.replace("ann", "variable"))];
    let file = [("ISSUES_FILE", "other.json")];
    let both = [variable[0], file[0]];
    let flag = ["--store", URL, "config", "--json"];
    let named_file = ["--file", "issues.json", "config", "--json"];
    let config = ["config", "--json"];
    let shown = |user: &str, source: &str| Some((SHOWN.replace("ann", user), source.to_owned()));
    assert_eq!(database(run_in(path, &both, &flag)), shown("ann", "--store"));
    assert_eq!(database(run_in(path, &both, &config)), shown("variable", "AIT_STORE"));
    assert_eq!(database(run_in(path, &[], &config)), shown("file", "ait.toml, line 1"));
    assert_eq!(database(run_in(path, &variable, &named_file)), None);
    assert_eq!(database(run_in(path, &file, &config)), None);
    let conflict = run(path, &["--file", "issues.json", "--store", URL, "list"]);
    assert_eq!(conflict.code, 2, "{conflict:?}");
}

#[test]
fn an_unreachable_database_selects_no_other_store() {
    let directory = directory();
    let path = directory.path();
    fs::write(path.join("ait.toml"), format!("store = {URL:?}\n")).unwrap();
    for arguments in [&["list"][..], &["add", "t", "-c", "bug"], &["next"], &["status"]] {
        let refused = run(path, arguments);
        assert_eq!(refused.code, 1, "{arguments:?} {refused:?}");
        assert!(!refused.whole().contains("hunter2"), "{refused:?}");
    }
    let mut client = Client::start(path);
    let refused = client.call(
        "add_issue",
        json!({ "title": "t", "description": "d", "classification": "bug", "agent": "a" }),
    );
    let refusal = refused.refusal();
    assert!(!refusal.contains("hunter2"), "{refusal}");
    client.close();
    assert!(!client.log().whole().contains("hunter2"));
    assert!(!path.join("issues.json").exists());
}

#[test]
fn invalid_settings_select_no_other_store() {
    let directory = directory();
    let path = directory.path();
    fs::write(path.join("ait.toml"), format!("store = {URL:?}\nprot = 4000\n")).unwrap();
    let mut client = Client::start(path);
    let refused = client.call(
        "add_issue",
        json!({ "title": "t", "description": "d", "classification": "bug", "agent": "a" }),
    );
    let refusal = refused.refusal();
    assert!(refusal.contains("there is no setting \"prot\""), "{refusal}");
    client.close();
    assert!(!path.join("issues.json").exists());
}

#[test]
fn a_url_without_a_database_is_refused() {
    let directory = directory();
    for url in ["mysql://db/issues", "issues.json", "postgres://"] {
        let refused = run(directory.path(), &["--store", url, "list"]).refusal();
        assert!(refused.contains(url), "{refused}");
    }
    assert!(has_no_store_files(directory.path()));
}

#[test]
fn init_writes_the_database_without_its_password() {
    let directory = directory();
    let path = directory.path();
    let arguments = ["--store", URL, "init", "--client", "claude-code", "--yes"];
    let done = run(path, &arguments);
    assert!(!done.whole().contains("hunter2"), "{done:?}");
    done.ok();
    let settings = fs::read_to_string(path.join("ait.toml")).unwrap();
    assert!(settings.contains(&format!("store = \"{SHOWN}\"")), "{settings}");
    // Client entries need not name the database.
    let client = fs::read_to_string(path.join(".mcp.json")).unwrap();
    assert!(!client.contains("postgres"), "{client}");
}

#[test]
fn init_with_a_store_alone_writes_nothing_else() {
    let directory = directory();
    let path = directory.path();
    fs::create_dir(path.join(".cursor")).unwrap();
    run(path, &["--store", URL, "init", "--yes"]).ok();
    let settings = fs::read_to_string(path.join("ait.toml")).unwrap();
    assert_eq!(settings, format!("store = \"{SHOWN}\"  # by ait init\n"));
    assert_eq!(names(path), [".cursor", "ait.toml"]);
}
