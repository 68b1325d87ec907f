//! Settings: the command line over the environment over `ait.toml` over defaults, and what is said of them.

use std::fs;

use agent_issue_tracker::config::settings;
use serde_json::Value;

use crate::support::files::{names, stored_issues};
use crate::support::runs::{Run, run};
use crate::support::{Client, ait, directory};

/// Value and source of a setting, as `ait config` tells them.
fn told(run: &Run, name: &str) -> (Value, String) {
    let rows: Value = serde_json::from_str(&run.out).unwrap();
    let row = rows.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap();
    (row["value"].clone(), row["source"].as_str().unwrap().to_owned())
}

#[test]
fn config_tells_each_value_and_who_gave_it() {
    let directory = directory();
    fs::write(directory.path().join("ait.toml"), "# the team's\nagent = \"team\"\nport = 4000\n")
        .unwrap();
    let of = |name: &str| told(&run(directory.path(), &["config", "--json"]), name);
    assert_eq!(of("agent"), ("team".into(), "ait.toml, line 2".to_owned()));
    // The tests set it.
    assert_eq!(of("port"), ("0".into(), "PORT".to_owned()));
    assert_eq!(of("allow-origin"), (Value::Null, "default: none but its own".to_owned()));
    let flag = run(directory.path(), &["--port", "5000", "config", "--json"]);
    assert_eq!(told(&flag, "port"), ("5000".into(), "--port".to_owned()));
    let output =
        ait(directory.path()).args(["config", "--json"]).env_remove("PORT").output().unwrap();
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains(r#""value":"4000","source":"ait.toml, line 3""#)
    );
    let plain = run(directory.path(), &["config"]).ok();
    assert!(plain.starts_with("SETTING ") && plain.contains("team"), "{plain}");
    assert_eq!(names(directory.path()), ["ait.toml"]);
}

#[test]
fn the_settings_of_a_project_hold_for_its_commands() {
    let directory = directory();
    fs::write(directory.path().join("ait.toml"), "agent = \"team\"\n").unwrap();
    run(directory.path(), &["add", "t", "-c", "bug"]).ok();
    let named = ait(directory.path()).args(["next"]).env("AIT_AGENT", "me").output().unwrap();
    assert!(named.status.success());
    let history = stored_issues(directory.path())[0]["history"].clone();
    assert_eq!([&history[0]["agent"], &history[1]["agent"]], ["team", "me"]);
}

#[test]
fn a_file_that_cannot_be_understood_stops_everything_with_its_line() {
    let directory = directory();
    fs::write(directory.path().join("ait.toml"), "agent = \"team\"\nprot = 4000\n").unwrap();
    for (arguments, code) in [(&["list"][..], 2), (&["config"], 2), (&["serve"], 1), (&[], 1)] {
        let refused = run(directory.path(), arguments);
        assert_eq!(refused.code, code, "{arguments:?}");
        assert!(
            refused.log.contains("ait.toml, line 2: there is no setting \"prot\""),
            "{}",
            refused.log
        );
        assert!(refused.out.is_empty());
    }
    fs::write(directory.path().join("ait.toml"), "").unwrap();
    assert!(Client::start(directory.path()).close().success());
}

#[test]
fn the_readme_has_the_table_of_all_settings() {
    let readme = include_str!("../../README.md");
    assert!(readme.contains(&settings::table()), "put this into README.md:\n{}", settings::table());
}

#[test]
fn other_machines_are_let_in_with_a_token_only() {
    const SECRET: &str = "a secret of the team";
    let directory = directory();
    let path = directory.path();
    for arguments in [&["serve", "--bind", "0.0.0.0"][..], &["--bind", "::"]] {
        let refused = run(path, arguments).refusal();
        assert!(refused.contains("--bind: ") && refused.contains("--token-file FILE"), "{refused}");
    }
    fs::write(path.join("token"), "0123456789abcde\n").unwrap();
    let short = run(path, &["serve", "--token-file", "token"]).refusal();
    assert!(short.contains("token: line 1: the secret is too short"), "{short}");
    let missing = run(path, &["serve", "--token-file", "nowhere"]).refusal();
    assert!(missing.contains("nowhere does not exist: make it"), "{missing}");
    // An agent needs none, and is served; nobody else is.
    let mut alone = Client::spawn(ait(path).args(["--token-file", "nowhere"]));
    alone.initialize();
    alone.log().wait_for("no pages from this process: ");
    alone.add("t", "bug");
    assert!(alone.close().success());
    fs::create_dir(path.join("below")).unwrap();
    // What ait.toml names lies beside it, wherever the program is started.
    fs::write(path.join("ait.toml"), "bind = \"0.0.0.0\"\ntoken-file = \"token\"\n").unwrap();
    fs::write(path.join("token"), SECRET.replace(' ', "-")).unwrap();
    let mut command = ait(&path.join("below"));
    command.env("ISSUES_FILE", path.join("issues.json"));
    let mut client = Client::spawn(&mut command);
    let port = client.port();
    assert_eq!(crate::support::get(port, "/").status, 401);
    assert_eq!(crate::support::get(port, "/health").status, 200);
    assert!(client.close().success());
    let output = ait(path).args(["config"]).env("AIT_TOKEN", SECRET).output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains("(set)") && !told.contains("secret"), "{told}");
}

#[test]
fn the_log_of_a_project_is_set_in_its_file() {
    let directory = directory();
    let path = directory.path();
    fs::write(path.join("ait.toml"), "log-file = \"ait.log\"\nlog-format = \"json\"\n").unwrap();
    assert!(Client::start(path).close().success());
    let log = fs::read_to_string(path.join("ait.log")).unwrap();
    assert!(log.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{log}");
    assert!(log.contains("\"message\":\"store: "), "{log}");
    for (line, expected) in [
        ("log = \"a=b=c\"", "is no filter of a log"),
        ("log-format = \"xml\"", "is no format of a log: give text or json"),
        ("bind = \"tracker\"", "\"tracker\" is not an IP address"),
    ] {
        fs::write(path.join("ait.toml"), line).unwrap();
        let refused = run(path, &["serve"]).refusal();
        assert!(refused.contains("ait.toml, line 1: ") && refused.contains(expected), "{refused}");
    }
}

#[test]
fn what_is_done_on_a_network_is_set_for_all_who_use_the_store() {
    let directory = directory();
    let of = || told(&run(directory.path(), &["config", "--json"]), "network-file-system");
    assert_eq!(of(), ("refuse".into(), "default: refuse".to_owned()));
    fs::write(directory.path().join("ait.toml"), "network-file-system = \"allow\"\n").unwrap();
    assert_eq!(of(), ("allow".into(), "ait.toml, line 1".to_owned()));
    let mut command = ait(directory.path());
    command.args(["list"]).env("AIT_NETWORK_FILE_SYSTEM", "yes");
    let refused = command.output().unwrap();
    let log = String::from_utf8(refused.stderr).unwrap();
    let words = "AIT_NETWORK_FILE_SYSTEM: \"yes\" is neither refuse nor allow";
    assert!(!refused.status.success() && log.contains(words), "{log}");
}

/// A pipe that nobody writes to would hang the program, and a device without an end would fill the memory.
#[cfg(unix)]
#[test]
fn settings_in_what_is_no_file_are_refused_at_once() {
    use std::time::{Duration, Instant};

    for device in [None, Some("/dev/zero")] {
        let directory = directory();
        let path = directory.path().join("ait.toml");
        match device {
            Some(device) => std::os::unix::fs::symlink(device, &path).unwrap(),
            None => {
                let made = std::process::Command::new("mkfifo").arg(&path).status();
                assert!(made.unwrap().success());
            }
        }
        for (arguments, code) in
            [(&["list"][..], 2), (&["config"], 2), (&["serve"], 1), (&[], 1), (&["doctor"], 1)]
        {
            let begun = Instant::now();
            let refused = run(directory.path(), arguments);
            assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
            assert_eq!(refused.code, code, "{arguments:?}: {}{}", refused.out, refused.log);
            let told = format!("{}{}", refused.out, refused.log);
            for words in ["ait.toml", "not a regular file"] {
                assert!(told.contains(words), "{arguments:?}: no {words:?} in {told}");
            }
        }
    }
}
