//! Invalid files: the store never starts empty, never overwrites them, and every interface reports the error.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::support::files::{
    STORE_FILES, id, issue_json, names, stored_issues, wait_for_file, write_issues,
};
use crate::support::{Client, ait, directory, get, until};

/// Invalid contents, and what the error about each must contain.
fn broken_contents() -> Vec<(&'static str, String, &'static [&'static str])> {
    let issue = issue_json(&id(1), "t", "created");
    let with = |key: &str, value: Value| {
        let mut changed = issue.clone();
        changed[key] = value;
        serde_json::to_string_pretty(&json!({ "issues": [changed] })).unwrap()
    };
    let mut without_title = issue.clone();
    without_title.as_object_mut().unwrap().remove("title");
    let pretty = serde_json::to_string_pretty(&json!({ "issues": [issue.clone()] })).unwrap();
    let upper = issue_json(&id(1).to_uppercase(), "u", "created");
    vec![
        ("empty", String::new(), &["line 1", "the file is empty"]),
        ("not JSON", "hello".to_owned(), &["line 1"]),
        ("cut off", pretty[..pretty.len() / 2].to_owned(), &["line "]),
        ("trailing", format!("{pretty}\n}}"), &["line 22", "trailing characters"]),
        ("a list", "[]".to_owned(), &["line 1", "an object with the key \"issues\""]),
        ("no issues", "{}".to_owned(), &["missing field `issues`"]),
        ("issues that are no array", r#"{"issues": {}}"#.to_owned(), &["an array of issues"]),
        ("null", "null".to_owned(), &["line 1"]),
        (
            "an unknown status",
            with("status", "open".into()),
            &["line 10", "unknown variant `open`", "in_review"],
        ),
        ("an unknown classification", with("classification", "wish".into()), &["line 7", "wish"]),
        ("a wrong type", with("title", 5.into()), &["line 5", "expected a string"]),
        ("an invalid time", with("createdAt", "soon".into()), &["line 8", "soon", "Z"]),
        ("an invalid id", with("id", "17".into()), &["line 4", "a UUID"]),
        (
            "a missing key",
            json!({ "issues": [without_title] }).to_string(),
            &["missing field `title`"],
        ),
        (
            "a duplicate id",
            serde_json::to_string_pretty(&json!({ "issues": [issue, upper] })).unwrap(),
            &["line 3", "00000001-0000-4000-8000-000000000000", "earlier"],
        ),
        (
            "an unfinished merge",
            pretty.replace("    {", "<<<<<<< HEAD\n    {"),
            &["line 3", "unfinished git merge"],
        ),
    ]
}

fn serve(directory: &Path) -> Output {
    ait(directory).arg("serve").output().unwrap()
}

#[test]
fn invalid_file_is_reported_everywhere_and_never_overwritten() {
    for (name, content, expected) in broken_contents() {
        let directory = directory();
        let file = directory.path().join("issues.json");
        fs::write(&file, &content).unwrap();
        let mut client = Client::start(directory.path());
        let mut texts = vec![];
        for (tool, arguments) in [
            (
                "add_issue",
                json!({ "title": "t", "description": "", "classification": "bug", "agent": "a" }),
            ),
            ("list_issues", json!({})),
            ("list_issues", json!({ "issue_id": id(1) })),
            ("get_next_issue", json!({ "agent": "a" })),
            ("return_issue", json!({ "issue_id": id(1), "comment": "c", "agent": "a" })),
            ("complete_issue", json!({ "issue_id": id(1), "comment": "c", "agent": "a" })),
            ("get_next_review_item", json!({ "agent": "a" })),
            (
                "close_issue",
                json!({ "issue_id": id(1), "resolution": "closed", "comment": "c", "agent": "a" }),
            ),
        ] {
            texts.push(client.call(tool, arguments).refusal());
        }
        let health = get(client.port(), "/health");
        assert_eq!(health.status, 503, "{name}");
        assert!(health.body.contains("\"status\":\"degraded\""), "{}", health.body);
        let page = get(client.port(), "/");
        assert_eq!(page.status, 503, "{name}");
        // Code is marked up there.
        let page = page.body.replace("<code>", "`").replace("</code>", "`").replace("&quot;", "\"");
        texts.extend([health.body.replace("\\\"", "\""), page]);
        for text in &texts {
            for words in expected.iter().copied().chain(["issues.json", "correct it there"]) {
                assert!(text.contains(words), "{name}: no {words:?} in {text}");
            }
        }
        assert_eq!(client.close().code(), Some(1), "{name}");
        let refused = serve(directory.path());
        assert_eq!(refused.status.code(), Some(1), "{name}");
        let log = String::from_utf8(refused.stderr).unwrap();
        assert!(log.contains(expected[0]) && log.contains("issues.json"), "{name}: {log}");
        assert!(refused.stdout.is_empty());
        assert_eq!(fs::read_to_string(&file).unwrap(), content, "{name}");
    }
}

#[test]
fn server_resumes_after_an_invalid_file_is_corrected() {
    let directory = directory();
    fs::write(directory.path().join("issues.json"), "{").unwrap();
    let mut client = Client::start(directory.path());
    client.call("list_issues", json!({})).refusal();
    write_issues(directory.path(), &[issue_json(&id(1), "corrected", "created")]);
    assert_eq!(
        client.call("get_next_issue", json!({ "agent": "a" })).issue()["title"],
        "corrected"
    );
    assert_eq!(get(client.port(), "/health").status, 200);
    assert!(client.close().success());
}

/// The log has every change, so agents continue, and the health probe reports the file.
#[test]
fn file_that_becomes_invalid_is_reported_and_not_overwritten() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    client.add("t", "bug");
    wait_for_file(directory.path(), |issues| issues.len() == 1);
    fs::write(directory.path().join("issues.json"), "oops").unwrap();
    assert_eq!(client.call("get_next_issue", json!({ "agent": "a" })).issue()["title"], "t");
    assert!(client.call("list_issues", json!({})).ok().contains("\"count\":1"));
    let health = get(client.port(), "/health").body;
    assert!(health.contains("line 1") && health.contains("issues.json"), "{health}");
    client.close();
    assert_eq!(fs::read_to_string(directory.path().join("issues.json")).unwrap(), "oops");
    assert_eq!(stored_issues(directory.path())[0]["status"], "in_progress");
}

#[test]
fn unknown_keys_survive_every_change() {
    let directory = directory();
    let mut issue = issue_json(&id(1), "t", "created");
    issue["priority"] = json!({ "level": 1, "why": ["x", null] });
    issue["history"][0]["tool"] = json!("cli");
    let document =
        json!({ "version": 7, "serial": "SERIAL", "issues": [issue], "meta": { "owner": "team" } });
    let text = document.to_string().replace("\"SERIAL\"", "12345678901234567890123");
    fs::write(directory.path().join("issues.json"), text).unwrap();
    let mut client = Client::start(directory.path());
    assert_eq!(
        client.call("get_next_issue", json!({ "agent": "a" })).issue()["priority"]["level"],
        1
    );
    client.add("other", "bug");
    wait_for_file(directory.path(), |issues| issues.len() == 2);
    let bytes = fs::read(directory.path().join("issues.json")).unwrap();
    let kept: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!((&kept["version"], &kept["meta"]), (&json!(7), &json!({ "owner": "team" })));
    assert_eq!(kept["issues"][0]["priority"], json!({ "level": 1, "why": ["x", null] }));
    assert_eq!(kept["issues"][0]["history"][0]["tool"], "cli");
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.contains("12345678901234567890123"), "a number has changed: {text}");
}

#[test]
fn loading_a_file_does_not_enforce_input_limits() {
    let directory = directory();
    let mut issue = issue_json(&id(1), &format!("{}\nsecond line", "x".repeat(900)), "created");
    issue["history"][0]["agent"] = json!("");
    fs::write(
        directory.path().join("issues.json"),
        // Some editors write a byte order mark.
        format!("\u{feff}{}", json!({ "issues": [issue] })),
    )
    .unwrap();
    let mut client = Client::start(directory.path());
    client.call("get_next_issue", json!({ "agent": "a" })).issue();
    assert_eq!(stored_issues(directory.path())[0]["title"], issue["title"]);
}

#[test]
fn missing_directory_is_reported_until_it_is_created() {
    let directory = directory();
    let missing = directory.path().join("not/there");
    let mut client = Client::spawn(ait(directory.path()).args(["--file", "not/there/issues.json"]));
    client.initialize();
    for tool in ["list_issues", "get_next_issue"] {
        let arguments = if tool == "list_issues" { json!({}) } else { json!({ "agent": "a" }) };
        let text = client.call(tool, arguments).refusal();
        assert!(text.contains(missing.to_str().unwrap()) && text.contains("create it"), "{text}");
    }
    assert_eq!(get(client.port(), "/health").status, 503);
    assert!(names(directory.path()).is_empty());
    std::os::unix::fs::symlink("not/there/issues.json", directory.path().join("link.json"))
        .unwrap();
    let mut linked = Client::spawn(ait(directory.path()).args(["--file", "link.json"]));
    linked.initialize();
    let text = linked.call("list_issues", json!({})).refusal();
    assert!(text.contains(missing.to_str().unwrap()), "{text}");
    fs::remove_file(directory.path().join("link.json")).unwrap();
    fs::create_dir_all(&missing).unwrap();
    client.add("t", "bug");
    assert_eq!(stored_issues(&missing).len(), 1);
    assert!(client.close().success());
}

#[test]
fn a_store_that_is_a_directory_is_refused() {
    let directory = directory();
    fs::create_dir(directory.path().join("issues.json")).unwrap();
    let mut client = Client::start(directory.path());
    let text = client.call("list_issues", json!({})).refusal();
    assert!(text.contains("not a regular file"), "{text}");
    assert_eq!(client.close().code(), Some(1));
}

#[test]
fn deleted_file_does_not_empty_the_store() {
    let directory = directory();
    let file = directory.path().join("issues.json");
    let mut client = Client::start(directory.path());
    client.add("t", "bug");
    wait_for_file(directory.path(), |issues| issues.len() == 1);
    fs::remove_file(&file).unwrap();
    assert!(client.call("list_issues", json!({})).ok().contains("\"count\":1"));
    client.add("u", "bug");
    wait_for_file(directory.path(), |issues| issues.len() == 2);
    assert!(client.close().success());
    fs::remove_file(&file).unwrap();
    assert_eq!(stored_issues(directory.path()).len(), 2);
}

#[test]
fn claim_response_keeps_unusual_values_of_unknown_keys() {
    let deep = format!("{}{}", "[".repeat(120), "]".repeat(120));
    for (number, odd) in
        ["1e400", "12345678901234567890123", r#""\ud83d""#, &deep].into_iter().enumerate()
    {
        let directory = directory();
        let mut issue = issue_json(&id(number), "t", "created");
        issue["odd"] = json!("ODD");
        let text = json!({ "issues": [issue] })
            .to_string()
            .replace("\"ODD\"", &format!("{{ \"a b\" : {odd} }}"));
        fs::write(directory.path().join("issues.json"), text).unwrap();
        let mut client = Client::start(directory.path());
        let answer = client.call("get_next_issue", json!({ "agent": "a" })).ok();
        assert!(answer.contains(&format!("\"odd\":{{\"a b\":{odd}}}")), "{answer}");
        assert!(client.close().success());
    }
}

#[test]
fn original_tracker_file_loads_and_keeps_untouched_bytes() {
    let original = include_str!("../fixtures/original_tracker.json");
    let directory = directory();
    fs::write(directory.path().join("issues.json"), original).unwrap();
    let mut client = Client::start(directory.path());
    assert!(client.call("list_issues", json!({})).ok().starts_with("{\"count\":3,"));
    let taken = client.call("get_next_issue", json!({ "agent": "a" })).issue();
    assert_eq!(taken["id"], "5f0c1a52-93f7-4b5e-8d0b-1f6f6a2c9b17");
    // JavaScript wrote half of a surrogate pair here.
    assert_eq!(taken["description"], "It shows \u{fffd}");
    let read = || fs::read_to_string(directory.path().join("issues.json")).unwrap();
    until("the claim is published", || read() != original);
    let written = read();
    let untouched = original.split_once("    {\n      \"id\": \"c9e2").unwrap().1;
    assert!(written.contains(untouched.trim_end_matches(['\n', '}', ']', ' '])), "{written}");
}

#[test]
fn publishing_preserves_symbolic_links_and_file_mode() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let directory = directory();
    let (real, linked) = (directory.path().join("real"), directory.path().join("linked"));
    fs::create_dir(&real).unwrap();
    fs::create_dir(&linked).unwrap();
    symlink("../real/issues.json", linked.join("issues.json")).unwrap();
    fs::write(real.join("issues.json"), r#"{"issues": []}"#).unwrap();
    fs::set_permissions(real.join("issues.json"), fs::Permissions::from_mode(0o640)).unwrap();
    let mut client = Client::start(&linked);
    client.add("through the link", "bug");
    wait_for_file(&real, |issues| issues.len() == 1);
    client.close();
    assert_eq!(names(&real), STORE_FILES);
    assert!(fs::symlink_metadata(linked.join("issues.json")).unwrap().is_symlink());
    let mode = fs::metadata(real.join("issues.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

/// A repository can carry symbolic links, but none that leads a store out of it.
mod links {
    use std::collections::BTreeMap;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;
    use crate::support::runs::run;

    /// The names below `.ait/issues.json`, with a slash behind those of directories.
    const NAMES: [&str; 12] = [
        "",
        ".gitignore",
        "clients/",
        "kept/",
        "processes/",
        "publish.lock",
        "published",
        "published.lock",
        "queue.db",
        "queue.db-shm",
        "queue.db-wal",
        "turn.lock",
    ];

    /// Returns the content of every file below a directory, and an empty one for each directory.
    fn everything(directory: &Path) -> BTreeMap<String, Vec<u8>> {
        let mut found = BTreeMap::new();
        for name in names(directory) {
            let path = directory.join(&name);
            if path.is_dir() {
                let below = everything(&path);
                found
                    .extend(below.into_iter().map(|(file, text)| (format!("{name}/{file}"), text)));
                found.insert(name, Vec::new());
            } else {
                found.insert(name, fs::read(path).unwrap());
            }
        }
        found
    }

    /// Uses a store in every way that creates or removes files. Each call may be refused.
    fn use_store(project: &Path) {
        run(project, &["add", "a title", "--json"]);
        run(project, &["next", "--agent", "dev", "--ttl", "1h"]);
        run(project, &["save"]);
        run(project, &["status"]);
        let edited = fs::read_to_string(project.join("issues.json")).unwrap_or_default();
        if edited.contains("a title") {
            fs::write(project.join("issues.json"), edited.replace("a title", "b")).unwrap();
        }
        run(project, &["doctor", "--fix"]);
        run(project, &["backup", "saved.json"]);
        run(project, &["add", "another title"]);
        run(project, &["restore", "saved.json", "--force"]);
        let mut client = Client::start(project);
        client.call(
            "add_issue",
            json!({ "title": "t", "description": "d", "classification": "bug" }),
        );
        client.call("get_next_issue", json!({ "agent": "a" }));
        client.close();
    }

    #[test]
    fn nothing_is_written_through_a_link_that_a_repository_carries() {
        // Without a link, each of these files and directories comes to be: the names are right.
        let healthy = directory();
        use_store(healthy.path());
        let made = everything(&healthy.path().join(".ait/issues.json"));
        for name in [".gitignore", "clients", "kept", "queue.db", "published", "turn.lock"] {
            assert!(made.contains_key(name), "{name}: {:?}", made.keys());
        }
        for name in NAMES {
            for exists in [true, false] {
                let (root, is_directory) = (directory(), name.is_empty() || name.ends_with('/'));
                let (project, outside) = (root.path().join("project"), root.path().join("outside"));
                fs::create_dir(&outside).unwrap();
                fs::write(outside.join("file"), "x".repeat(2_000)).unwrap();
                let target = match (is_directory, exists) {
                    (true, true) => "",
                    (false, true) => "file",
                    (_, false) => "new",
                };
                let link = project.join(format!(".ait/issues.json/{name}").trim_end_matches('/'));
                fs::create_dir_all(link.parent().unwrap()).unwrap();
                symlink(outside.join(target), &link).unwrap();
                let before = everything(&outside);
                use_store(&project);
                assert!(everything(&outside) == before, "{name} as a link, {exists}");
            }
        }
    }

    #[test]
    fn link_in_place_of_the_directory_is_named() {
        let root = directory();
        let (project, outside) = (root.path().join("project"), root.path().join("outside"));
        fs::create_dir_all(&outside).unwrap();
        fs::create_dir_all(&project).unwrap();
        symlink(&outside, project.join(".ait")).unwrap();
        for arguments in [&["add", "t"][..], &["list"], &["status"], &["next", "--agent", "a"]] {
            let refusal = run(&project, arguments).refusal();
            assert!(
                refusal.contains(".ait is a symbolic link, which is not followed"),
                "{refusal}"
            );
        }
        let checked = run(&project, &["doctor"]);
        assert!(checked.code == 1 && checked.out.contains("rm "), "{}", checked.out);
        assert!(names(&outside).is_empty());
    }

    #[test]
    fn issues_json_as_a_link_creates_no_file() {
        let root = directory();
        let project = root.path().join("project");
        fs::create_dir(&project).unwrap();
        symlink("../new", project.join("issues.json")).unwrap();
        let refusal = run(&project, &["add", "t"]).refusal();
        assert!(refusal.contains("which does not exist"), "{refusal}");
        use_store(&project);
        assert!(!root.path().join("new").exists());
    }
}
