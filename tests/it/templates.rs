//! The templates of a project: `.ait/templates/KIND.md`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::runs::run;
use crate::support::{Client, ait, directory, get};
use crate::web_actions::serve;

const BUG: &str =
    "## Steps\n\n<!-- What did you <do>? -->\n\n## Expected\n\nIt works.\n\n## Seen\n";

fn write(directory: &Path, name: &str, text: &str) {
    let templates = directory.join(".ait/templates");
    fs::create_dir_all(&templates).unwrap();
    fs::write(templates.join(name), text).unwrap();
}

fn findings(directory: &Path) -> Value {
    serde_json::from_str(&run(directory, &["triage", "--kind", "thin_description", "--json"]).ok())
        .unwrap()
}

/// Files issues with these descriptions. Returns their short ids.
fn file<const N: usize>(directory: &Path, kind: &str, descriptions: [&str; N]) -> [String; N] {
    descriptions.map(|text| {
        let added = run(directory, &["add", "Login fails", "-c", kind, "-d", text, "--json"]).ok();
        let added: Value = serde_json::from_str(&added).unwrap();
        added["id"].as_str().unwrap()[..8].to_owned()
    })
}

#[test]
fn triage_asks_for_the_sections_that_a_description_lacks() {
    let directory = directory();
    let path = directory.path();
    let filled = "## Steps\n1\n## Expected\n2\n## Seen\n3";
    let partly = "## Steps\n1. Open the page\n\n## expected\nA page.\n";
    let [full, part, raw, thin, whole] = file(path, "bug", [filled, partly, BUG, "short", partly]);
    run(path, &["add", "Part", "-c", "bug", "-d", filled, "--parent", &whole]).ok();
    let [other] = file(path, "task", [partly]);
    let before = findings(path);
    assert_eq!(before["total"], 1, "{before}");
    assert!(before["findings"][0].get("sections").is_none(), "{before}");
    write(path, "bug.md", BUG);
    let report = findings(path);
    assert_eq!((&report["total"], &report["counts"]["thin_description"]), (&json!(3), &json!(3)));
    let found = |id: &str| {
        let findings = report["findings"].as_array().unwrap();
        findings.iter().find(|one| one["issues"][0]["id"].as_str().unwrap().starts_with(id))
    };
    for (id, sections) in [
        (&part, json!(["Seen"])),
        (&raw, json!(["Steps", "Expected", "Seen"])),
        (&thin, json!(["Steps", "Expected", "Seen"])),
    ] {
        assert_eq!(found(id).unwrap()["sections"], sections, "{report}");
    }
    for id in [&full, &whole, &other] {
        assert!(found(id).is_none(), "{id}: {report}");
    }
    let next = format!("`ait edit {part} --edit`, and write the section \"Seen\"");
    assert_eq!(found(&part).unwrap()["next"], next);
    assert!(run(path, &["triage"]).ok().contains(&next));
    let mut agent = Client::begin(ait(path).args(["--toolsets", "analysis"]));
    let report = agent.call("find_problems", json!({ "kinds": ["thin_description"] })).ok();
    assert!(report.contains("update_issue with a description that has the section"), "{report}");
    assert!(
        report.contains("the sections \\\\\\\"Steps\\\\\\\", ")
            || report.contains("the sections \\\"Steps\\\", "),
        "{report}"
    );
    // A change counts at once.
    write(path, "bug.md", "## Steps\n");
    assert_eq!(findings(path)["total"], 2);
}

#[test]
fn new_issues_begin_with_the_template_of_their_kind() {
    let directory = directory();
    let path = directory.path();
    let server = serve(path);
    let form = |query: &str| get(server.port, &format!("/new{query}")).body;
    let plain = form("");
    assert!(
        !plain.contains("Begin with the template")
            && form("?classification=bug").contains(">\n</textarea>")
    );
    write(path, "bug.md", BUG);
    write(path, "feature.md", "## Why\n");
    write(path, "spike.md", "## Not used\n");
    let bug = form("");
    assert!(bug.contains(">\n## Steps\n\n&lt;!-- What did you &lt;do&gt;? --&gt;\n"), "{bug}");
    assert!(bug.contains("<a href=\"/new?classification=feature\">feature</a>"), "{bug}");
    assert!(!bug.contains("classification=spike"), "{bug}");
    let feature = form("?classification=feature");
    assert!(feature.contains(">\n## Why</textarea>"), "{feature}");
    assert!(feature.contains("<option value=\"feature\" selected translate=\"no\">"), "{feature}");
    fs::remove_file(path.join(".ait/templates/bug.md")).unwrap();
    assert!(!form("").contains("Steps"));
}

#[test]
fn the_editor_begins_with_the_template_of_the_kind() {
    let directory = directory();
    let path = directory.path();
    write(path, "bug.md", "## Steps\n\n## Seen\n");
    let add = |arguments: &[&str]| {
        let mut command = ait(path);
        command.args(["add", "T", "-e", "--json"]).args(arguments).env("EDITOR", "true");
        let added: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
        added["description"].clone()
    };
    assert_eq!(add(&["-c", "bug"]), "## Steps\n\n## Seen");
    assert_eq!(add(&["-c", "bug", "-d", "mine"]), "mine");
    assert_eq!(add(&["-c", "feature"]), "");
    let plain = run(path, &["add", "T", "-c", "bug", "--json"]).ok();
    assert!(!plain.contains("Steps"), "{plain}");
}

#[test]
fn doctor_names_templates_that_cannot_be_used() {
    let directory = directory();
    let path = directory.path();
    run(path, &["add", "T", "-d", "A long description of it."]).ok();
    write(path, "bug.md", BUG);
    let doctor = || run(path, &["doctor"]).out;
    assert!(doctor().contains("1 template of .ait/ is valid"), "{}", doctor());
    write(path, "bugs.md", BUG);
    write(path, "feature.md", &"x".repeat(64 * 1024 + 1));
    fs::write(path.join("secret"), BUG).unwrap();
    symlink(path.join("secret"), path.join(".ait/templates/task.md")).unwrap();
    let report = doctor();
    for words in [
        "3 templates of .ait/ are not valid",
        ".ait/templates/bugs.md: no kind of work has this name: did you mean bug?",
        ".ait/templates/feature.md: it cannot be read",
        ".ait/templates/task.md: it is a symbolic link",
    ] {
        assert!(report.contains(words), "{report}");
    }
    for number in 0..50 {
        write(path, &format!("n{number}.md"), "");
    }
    assert!(doctor().contains("more than 50 files"), "{}", doctor());
    // What is not valid is left out.
    assert_eq!(findings(path)["total"], 0);
}

#[test]
fn git_tracks_templates() {
    let directory = directory();
    let path = directory.path();
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(path).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "-q"]);
    run(path, &["add", "T", "-d", "A long description of it."]).ok();
    write(path, "bug.md", BUG);
    run(path, &["init", "--yes", "--client", "zed"]).ok();
    let ignored = fs::read_to_string(path.join(".gitignore")).unwrap();
    assert!(ignored.contains("\n/.ait/*\n!/.ait/templates/\n"), "{ignored}");
    let status = git(&["status", "--short", "-uall"]);
    assert!(
        status.contains(".ait/templates/bug.md") && !status.contains(".ait/issues.json"),
        "{status}"
    );
}
