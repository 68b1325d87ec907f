//! Settings: the command line overrides the environment, `ait.toml` and the defaults; errors and `ait config`.

use std::fmt::Write as _;
use std::fs;

use agent_issue_tracker::config::settings;
use agent_issue_tracker::config::sources::{QUERIES, SYNC};
use agent_issue_tracker::sync::{Kind, Push};
use serde_json::{Value, json};

use crate::support::documents::expect_in_file;
use crate::support::files::{names, stored_issues};
use crate::support::http::Server;
use crate::support::runs::{Run, run};
use crate::support::{Client, ait, directory, scripts};

/// Returns the value and the source of a setting that `ait config` printed.
fn setting_in(run: &Run, name: &str) -> (Value, String) {
    let rows: Value = serde_json::from_str(&run.out).unwrap();
    let row = rows.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap();
    (row["value"].clone(), row["source"].as_str().unwrap().to_owned())
}

#[test]
fn config_shows_each_value_and_its_source() {
    let directory = directory();
    fs::write(directory.path().join("ait.toml"), "# the team's\nagent = \"team\"\nport = 4000\n")
        .unwrap();
    let setting = |name: &str| setting_in(&run(directory.path(), &["config", "--json"]), name);
    assert_eq!(setting("agent"), ("team".into(), "ait.toml, line 2".to_owned()));
    // The test helper sets PORT.
    assert_eq!(setting("port"), ("0".into(), "PORT".to_owned()));
    assert_eq!(setting("allow-origin"), (Value::Null, "default: only its own".to_owned()));
    let flag = run(directory.path(), &["--port", "5000", "config", "--json"]);
    assert_eq!(setting_in(&flag, "port"), ("5000".into(), "--port".to_owned()));
    let output =
        ait(directory.path()).args(["config", "--json"]).env_remove("PORT").output().unwrap();
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains(r#""value":"4000","source":"ait.toml, line 3""#)
    );
    let plain = run(directory.path(), &["config"]).ok();
    assert!(plain.starts_with("SETTING ") && plain.contains("team"), "{plain}");
    let one = run(directory.path(), &["config", "agent"]).ok();
    assert_eq!((one.lines().count(), one.contains("team")), (2, true), "{one}");
    let unknown = run(directory.path(), &["config", "agnet"]);
    assert_eq!((unknown.code, unknown.log.contains("`ait config` shows them all")), (2, true));
    assert_eq!(names(directory.path()), ["ait.toml"]);
}

/// A server reads its settings when it starts. A person who changes them learns that it has to start again.
#[test]
fn a_server_says_that_its_settings_have_changed() {
    let directory = directory();
    let server = Server::start(directory.path());
    fs::write(directory.path().join("ait.toml"), "web-actions = true\n").unwrap();
    server.log().wait_for("ait.toml has changed: start this server again");
}

#[test]
fn project_settings_apply_to_its_commands() {
    let directory = directory();
    fs::write(directory.path().join("ait.toml"), "agent = \"team\"\n").unwrap();
    run(directory.path(), &["add", "t", "-c", "bug"]).ok();
    let named = ait(directory.path()).args(["next"]).env("AIT_AGENT", "me").output().unwrap();
    assert!(named.status.success());
    let history = stored_issues(directory.path())[0]["history"].clone();
    assert_eq!([&history[0]["agent"], &history[1]["agent"]], ["team", "me"]);
}

#[test]
fn invalid_settings_file_stops_every_command_with_its_line() {
    let directory = directory();
    fs::write(directory.path().join("ait.toml"), "agent = \"team\"\nprot = 4000\n").unwrap();
    for (arguments, code) in [(&["list"][..], 2), (&["config"], 2), (&["serve"], 1)] {
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
fn every_setting_is_shown_with_its_source() {
    let directory = directory();
    let shown = run(directory.path(), &["config", "--json"]).ok();
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let shown = shown.as_array().unwrap();
    let mut names: Vec<_> = shown.iter().map(|row| row["name"].as_str().unwrap()).collect();
    let mut all: Vec<_> = settings::SETTINGS.iter().map(|setting| setting.name).collect();
    names.sort_unstable();
    all.sort_unstable();
    assert_eq!(names, all);
}

/// Returns the rows of the Markdown table of all settings in docs/configuration.md.
fn table() -> String {
    let mut text = String::new();
    for setting in settings::SETTINGS {
        let settings::Setting { name, variable, places, default, help, .. } = setting;
        let shown = |is_there: bool, text: String| if is_there { text } else { "-".to_owned() };
        let has_flag =
            matches!(places, settings::SettingScope::All | settings::SettingScope::FlagOnly);
        let flag = shown(has_flag, format!("`--{name}`"));
        let key = shown(setting.is_in_file(), format!("`{name}`"));
        let _ = writeln!(text, "| {flag} | `{variable}` | {key} | {default} | {help} |");
    }
    text
}

#[test]
fn documentation_contains_the_settings_table() {
    let begin = "| flag | environment | `ait.toml` | default | |\n|---|---|---|---|---|\n";
    expect_in_file("docs/configuration.md", begin, "\n\n", table().trim_end());
}

/// Returns the JSON Schema of `ait.toml`, for editors.
fn schema() -> Value {
    // What `ait.toml` takes as the value of each setting.
    let text = json!({ "type": ["string", "number", "boolean"] });
    let list = json!({ "type": "array", "items": { "type": "string" } });
    let known = settings::SETTINGS.into_iter().filter(|setting| setting.is_in_file());
    let property = |setting: settings::Setting| {
        let schema = json!({ "description": setting.line(), "anyOf": [text, list] });
        (setting.name.to_owned(), schema)
    };
    let mut properties: serde_json::Map<_, _> = known.map(property).collect();
    let queries = json!({
        "description": "Saved queries by name",
        "type": "object",
        "propertyNames": { "pattern": "^[a-z][a-z0-9_-]{0,39}$" },
        "additionalProperties": { "type": "string" },
    });
    properties.insert(QUERIES.to_owned(), queries);
    let texts = json!({
        "description": "Texts that agents read, by key; `ait texts` lists them",
        "type": "object",
        "additionalProperties": { "type": "string" },
    });
    properties.insert(settings::TEXTS.to_owned(), texts);
    let words = |words: Vec<&str>| json!({ "enum": words });
    let sync = json!({
        "type": "object",
        "properties": {
            "kind": words(Kind::words().collect()),
            "project": { "type": "string" },
            "url": { "type": "string" },
            "pull": { "type": "string" },
            "push": { "type": "array", "items": words(Push::words().collect()) },
            "token-file": { "type": "string" },
            "key-in-url": { "type": "boolean" },
            "every": { "type": "string" },
        },
        "required": ["kind"],
        "additionalProperties": false,
    });
    let syncs = json!({
        "description": "Syncs with remote trackers by name",
        "type": "object",
        "propertyNames": { "pattern": "^[a-z][a-z0-9_-]{0,39}$" },
        "additionalProperties": sync,
    });
    properties.insert(SYNC.to_owned(), syncs);
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "ait.toml",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    })
}

#[test]
fn the_schema_for_editors_has_all_settings() {
    let expected = format!("{}\n", serde_json::to_string_pretty(&schema()).unwrap());
    expect_in_file("docs/ait.schema.json", "", "", &expected);
}

/// A validator takes what `ait` takes, and refuses what `ait` refuses.
#[test]
fn a_validator_agrees_with_the_schema_for_editors() {
    scripts::run(scripts::node(), "settings.mjs", &[]);
}

#[test]
fn remote_access_requires_a_token() {
    const SECRET: &str = "a secret of the team";
    let directory = directory();
    let path = directory.path();
    let refused = run(path, &["serve", "--bind", "0.0.0.0"]).refusal();
    assert!(refused.contains("--bind: ") && refused.contains("--token-file FILE"), "{refused}");
    fs::write(path.join("token"), "0123456789abcde\n").unwrap();
    let short = run(path, &["serve", "--token-file", "token"]).refusal();
    assert!(short.contains("token: line 1: the secret is too short"), "{short}");
    let missing = run(path, &["serve", "--token-file", "nowhere"]).refusal();
    assert!(missing.contains("nowhere does not exist: create it"), "{missing}");
    // A stdio agent needs no token and is served; HTTP is off.
    for flags in [["--token-file", "nowhere"], ["--bind", "::"]] {
        let mut alone = Client::spawn(ait(path).args(flags));
        alone.initialize();
        alone.log().wait_for("web UI unavailable: ");
        alone.add("t", "bug");
        assert!(alone.close().success());
        assert!(!alone.log().whole().contains("pages: "), "{}", alone.log().text());
    }
    fs::create_dir(path.join("below")).unwrap();
    // A relative path in ait.toml is relative to that file, not to the working directory.
    fs::write(path.join("ait.toml"), "bind = \"0.0.0.0\"\ntoken-file = \"token\"\n").unwrap();
    fs::write(path.join("token"), SECRET.replace(' ', "-")).unwrap();
    let mut command = ait(&path.join("below"));
    command.env("ISSUES_FILE", path.join("issues.json"));
    let mut client = Client::spawn(&mut command);
    let port = client.port();
    assert_eq!(crate::support::get(port, "/").status, 401);
    for health in ["/health", "/health/"] {
        assert_eq!(crate::support::get(port, health).status, 200);
    }
    assert!(client.close().success());
    let output = ait(path).args(["config"]).env("AIT_TOKEN", SECRET).output().unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    assert!(output.contains("(set)") && !output.contains("secret"), "{output}");
}

#[test]
fn log_settings_are_read_from_the_project_file() {
    let directory = directory();
    let path = directory.path();
    fs::write(path.join("ait.toml"), "log-file = \"ait.log\"\nlog-format = \"json\"\n").unwrap();
    assert!(Client::start(path).close().success());
    let log = fs::read_to_string(path.join("ait.log")).unwrap();
    assert!(log.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{log}");
    assert!(log.contains("\"message\":\"store: "), "{log}");
    for (line, expected) in [
        ("log = \"a=b=c\"", "is not a log filter"),
        ("log-format = \"xml\"", "is neither text nor json"),
        ("bind = \"tracker\"", "\"tracker\" is not an IP address"),
    ] {
        fs::write(path.join("ait.toml"), line).unwrap();
        let refused = run(path, &["serve"]).refusal();
        assert!(refused.contains("ait.toml, line 1: ") && refused.contains(expected), "{refused}");
    }
}

#[test]
fn network_file_system_setting_is_read_and_validated() {
    let directory = directory();
    let setting =
        || setting_in(&run(directory.path(), &["config", "--json"]), "network-file-system");
    assert_eq!(setting(), ("refuse".into(), "default: refuse".to_owned()));
    fs::write(directory.path().join("ait.toml"), "network-file-system = \"allow\"\n").unwrap();
    assert_eq!(setting(), ("allow".into(), "ait.toml, line 1".to_owned()));
    let mut command = ait(directory.path());
    command.args(["list"]).env("AIT_NETWORK_FILE_SYSTEM", "yes");
    let refused = command.output().unwrap();
    let log = String::from_utf8(refused.stderr).unwrap();
    let words = "AIT_NETWORK_FILE_SYSTEM: \"yes\" is neither refuse nor allow";
    assert!(!refused.status.success() && log.contains(words), "{log}");
}

/// A named pipe without a writer would block the program, and an endless device would fill the memory.
#[test]
fn a_settings_file_that_is_not_regular_is_refused() {
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
            let output = format!("{}{}", refused.out, refused.log);
            for words in ["ait.toml", "not a regular file"] {
                assert!(output.contains(words), "{arguments:?}: no {words:?} in {output}");
            }
        }
    }
}

#[test]
fn invalid_settings_do_not_end_the_server_of_an_agent() {
    // Contents of ait.toml, flags, a variable, the exit code, whether HTTP is served, and a part of the error.
    for (file, flags, variable, code, has_http, words) in [
        ("", "--port abc", "PORT=0", 2, true, "'--port <PORT>'"),
        ("", "--log-format=xml", "PORT=0", 2, true, "xml"),
        ("log-format = \"xml\"", "", "PORT=0", 1, true, "ait.toml, line 1: "),
        ("", "", "AIT_KEEP_EVENTS=much", 1, true, "AIT_KEEP_EVENTS: "),
        // The invalid setting restricts access or might do so, so HTTP is not served.
        ("prot = 1", "", "PORT=0", 1, false, "there is no setting \"prot\""),
        ("port = [", "", "PORT=0", 1, false, "ait.toml, line 1: "),
        ("bind = \"tracker\"", "", "PORT=0", 1, false, "is not an IP address"),
        ("", "", "AIT_BIND=tracker", 1, false, "AIT_BIND: "),
        ("", "--tokens file", "PORT=0", 2, false, "'--tokens'"),
    ] {
        let directory = directory();
        fs::write(directory.path().join("ait.toml"), file).unwrap();
        let (variable, value) = variable.split_once('=').unwrap();
        let mut client = Client::spawn(
            ait(directory.path()).args(flags.split_whitespace()).env(variable, value),
        );
        client.initialize();
        client.add("t", "bug");
        let log = client.log().wait_for(if has_http { "pages: " } else { "web UI unavailable: " });
        assert_eq!(log.contains("pages: "), has_http, "{log}");
        assert_eq!(client.close().code(), Some(code), "{log}");
        let log = client.log().whole();
        let errors: Vec<_> = log.lines().filter(|line| line.contains("ERROR")).collect();
        assert_eq!(errors.len(), 1, "{log}");
        assert!(
            errors[0].contains("ERROR ignored: ")
                && errors[0].contains(words)
                && errors[0].contains("served with the defaults"),
            "{log}"
        );
        assert_eq!(log.contains("was ignored may restrict who may use it"), !has_http, "{log}");
        assert_eq!(stored_issues(directory.path()).len(), 1);
    }
}

#[test]
fn stdio_uses_the_default_port_if_the_port_is_invalid() {
    let directory = directory();
    let mut client = Client::spawn(ait(directory.path()).env("PORT", "abc"));
    client.initialize();
    client.add("t", "bug");
    assert!(client.log().wait_for("is not a port").contains("PORT: \"abc\""));
    assert_eq!(client.close().code(), Some(1));
}
