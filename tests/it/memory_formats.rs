//! The memory in the files of other programs: decision records, memory banks, graphs, and `AGENTS.md`.

mod graphs;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::directory;
use crate::support::runs::{Run, run};

const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/memory");

fn sample(name: &str) -> String {
    format!("{SAMPLES}/{name}")
}

/// Returns all issues and entries.
#[track_caller]
fn everything(directory: &Path) -> Vec<Value> {
    let document: Value = serde_json::from_str(&run(directory, &["export"]).ok()).unwrap();
    document["issues"].as_array().unwrap().clone()
}

/// Returns the counts of an import.
#[track_caller]
fn counts(imported: &Run) -> &str {
    imported.out.lines().last().unwrap_or_else(|| panic!("{imported:?}"))
}

/// Returns the entry with a title.
#[track_caller]
fn entry<'a>(entries: &'a [Value], title: &str) -> &'a Value {
    let found = entries.iter().find(|entry| entry["title"] == title);
    found.unwrap_or_else(|| panic!("{title}: {entries:#?}"))
}

fn keep(directory: &Path, arguments: &[&str]) -> String {
    let kept =
        run(directory, &[&["remember", "-a", "dev-1", "--kind", "decision"], arguments].concat())
            .ok();
    kept.lines().next().unwrap()["Kept ".len()..].trim_end_matches('.').to_owned()
}

/// Returns the files of a folder with their texts.
fn texts(folder: &Path) -> Vec<(String, String)> {
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut texts: Vec<_> = files
        .map(|file| {
            let name = file.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(&file).unwrap())
        })
        .collect();
    texts.sort();
    texts
}

#[test]
fn decision_records_become_decisions_once() {
    let directory = directory();
    let path = directory.path();
    let plan = run(path, &["import", &sample("adr"), "--dry-run"]);
    assert_eq!(
        counts(&plan),
        "nothing is written: 9 new, 0 same, 0 different, 0 refused, 4 skipped"
    );
    for reason in [
        "a template is no decision",
        "nobody has decided it yet",
        "it is no decision record",
        "none itself",
    ] {
        assert!(plan.out.contains(reason), "{reason}: {}", plan.out);
    }
    assert_eq!(run(path, &["recall", "--all", "--json"]).out, "{\"found\":[]}\n");
    assert_eq!(plan.code, 0);
    run(path, &["import", &sample("adr"), "-a", "lead"]).ok();

    let entries = everything(path);
    assert!(
        entries
            .iter()
            .all(|entry| entry["status"] == "kept" && entry["classification"] == "decision")
    );
    let mongo = entry(&entries, "Keep orders in MongoDB");
    let postgres = entry(&entries, "Keep orders in PostgreSQL");
    assert_eq!(mongo["createdAt"], "2023-11-20T00:00:00.000Z");
    assert_eq!(mongo["links"], json!([{ "kind": "duplicate_of", "to": postgres["id"] }]));
    assert!(
        mongo["description"]
            .as_str()
            .unwrap()
            .starts_with("# 1. Keep orders in MongoDB\n\nDate: 2023-11-20")
    );
    let floats = entry(&entries, "Amounts are floats");
    let decimal = entry(&entries, "Amounts are Decimal");
    assert_eq!(floats["links"][0]["to"], decimal["id"]);
    assert_eq!(floats["history"][0]["agent"], "Jan Oduya, Li, Wei");
    assert_eq!(postgres["history"][0]["agent"], "Jan Oduya, Maria Kessler");
    assert!(!postgres["description"].as_str().unwrap().contains("informed"));
    let log = entry(&entries, "One log for all services");
    assert_eq!(
        (&log["createdAt"], &log["history"][0]["agent"]),
        (&json!("2024-07-09T00:00:00.000Z"), &json!("Jan Oduya"))
    );

    let in_force = run(path, &["recall", "kind:decision", "-n", "50"]).ok();
    for title in ["Use Markdown", "Sign in with a link", "PostgreSQL", "Decimal", "One log"] {
        assert!(in_force.contains(title), "{title}: {in_force}");
    }
    for title in [
        "1. Keep orders in MongoDB Date",
        "Render invoices",
        "are floats",
        "Feature flags",
        "drones",
    ] {
        assert!(!in_force.contains(title), "{title}: {in_force}");
    }
    // By its file, and by its number.
    assert!(
        run(path, &["recall", "file:shop/reports.py"]).ok().contains("Keep orders in PostgreSQL")
    );
    assert!(run(path, &["show", "adr-5"]).ok().contains("Keep orders in PostgreSQL"));

    let records = fs::read_dir(sample("adr"))
        .unwrap()
        .map(|file| file.unwrap().path().to_str().unwrap().to_owned());
    let mut records: Vec<_> = records.collect();
    records.sort();
    let records: Vec<&str> = records.iter().map(String::as_str).collect();
    for source in
        [&[&*sample("adr")][..], &records, &[&*sample("adr/0005-keep-orders-in-postgresql.md")]]
    {
        let again = run(path, &[&["import"], source].concat());
        assert!(again.code == 0 && counts(&again).starts_with("0 new"), "{source:?}: {again:?}");
    }
    assert_eq!(everything(path), entries);
    assert!(run(path, &["doctor"]).ok().contains("0 problems"));
}

#[test]
fn decisions_come_back_from_their_records() {
    let directory = directory();
    let path = directory.path();
    run(path, &["import", &sample("adr"), "-a", "lead"]).ok();
    run(path, &["add", "Slow totals", "-d", "x", "-a", "lead"]).ok();
    let issue =
        everything(path).iter().find(|one| one["status"] == "created").unwrap()["id"].clone();
    let issue = issue.as_str().unwrap();
    let short = keep(
        path,
        &["ids are UUIDs: \"v7\" # not v4", "--about", "src/ids.rs,storage", "--about", issue],
    );
    let whole = "# Retry thrice\n\n## Context\n\nThe bank is slow.\n\n## Decision\n\nRetry thrice.\n\n## Consequences\n\nSlow errors.";
    keep(path, &[whole, "--about", "shop/bank.py"]);
    keep(path, &["Ask first\n\nthen pay, because refunds cost 2 EUR", "--until", "2099-01-01"]);
    let last = keep(path, &["ids are ULIDs", "--replaces", &short]);
    keep(path, &["retries wait a second", "--replaces", "adr-2"]);
    let titled = keep(path, &["a note without a heading\n\n* one\n* two"]);
    run(path, &["edit", &titled, "--title", "Another title: [odd]"]).ok();
    let ended = keep(path, &["mails go through one relay"]);
    run(path, &["edit", &ended, "--due", "2020-01-01"]).ok();
    run(path, &["comment", &ended, "it is gone"]).ok();
    keep(path, &["amounts are integers", "--replaces", "adr-6"]);

    let exported = run(path, &["export", "--format", "decisions", "docs/adr"]);
    assert!(exported.log.contains("this format does not have: comments"), "{}", exported.log);
    assert_eq!(exported.ok(), "17 decisions exported to docs/adr\n");
    let folder = path.join("docs/adr");
    let files = texts(&folder);
    let text = |name: &str| {
        let found = files.iter().find(|(file, _)| file.starts_with(name));
        found.map(|(_, text)| text.as_str()).unwrap_or_else(|| panic!("{name}: {files:#?}"))
    };
    let first = text("0010-ids-are-uuids-v7-not-v4.md");
    let about = "# ids are UUIDs: \"v7\" # not v4\n\n## Context and Problem Statement\n\nAbout: src/ids.rs\n\n\
        ## Decision Outcome\n\nids are UUIDs: \"v7\" # not v4\n";
    assert!(
        first.ends_with(&format!(
            "\ndecision-makers: dev-1\nlabels: [storage]\nrelated: [{issue}]\n---\n\n{about}"
        )),
        "{first}"
    );
    assert!(
        text("0010-ids-are-uuids-v7-not-v4.md")
            .contains("\nstatus: superseded by [0013](0013-ids-are-ulids.md)\n")
    );
    assert!(
        text("0011-retry-thrice.md")
            .contains(&format!("\n---\n\n{whole}\n\nAbout: shop/bank.py\n"))
    );
    assert!(text("0002-sign-in").starts_with(
        "---\nstatus: superseded by [0014](0014-retries-wait-a-second.md)\n---\n\n# 2. Sign in"
    ));
    // What was imported and is as it was has the text of its file.
    for name in [
        "0000-use-markdown-architectural-decision-records.md",
        "0001-keep-orders-in-mongodb.md",
        "0003-render-invoices-in-the-browser.md",
        "0004-amounts-are-floats.md",
        "0009-no-date.md",
        "ADR-008-one-log-for-all-services.md",
    ] {
        assert_eq!(
            text(name),
            fs::read_to_string(sample(&format!("adr/{name}"))).unwrap(),
            "{name}"
        );
    }
    assert!(text("0006-amounts-are-decimal.md").starts_with(
        "---\nstatus: superseded by [0017](0017-amounts-are-integers.md)\ndate: 2024-04-02\ndecision-makers: Li Wei\n---\n\n#"
    ));

    // Into the same store, and into another one.
    let same = run(path, &["import", "docs/adr"]);
    assert_eq!(counts(&same), "0 new, 17 same, 0 different, 0 refused", "{same:?}");
    let other = crate::support::directory();
    let imported = run(other.path(), &["import", folder.to_str().unwrap()]);
    assert!(
        imported.log.contains("links that were not made") && imported.log.contains(issue),
        "{imported:?}"
    );
    assert_eq!(counts(&imported), "17 new, 0 same, 0 different, 0 refused");
    let said = |entry: &Value| {
        let links = entry["links"].as_array().cloned().unwrap_or_default();
        let links: Vec<_> = links.into_iter().filter(|link| link["to"] != issue).collect();
        // A word such as `implemented` is lost once another decision replaces it.
        let mut entry = entry.clone();
        if let Some(record) = entry["adr"].as_object_mut() {
            record.remove("status");
        }
        if entry["adr"]["file"] == "0009-no-date.md" {
            entry["createdAt"].take();
        }
        let keys = ["title", "description", "classification", "createdAt", "labels", "due", "adr"];
        let agent = &entry["history"][0]["agent"];
        json!([entry["id"], keys.map(|key| &entry[key]), links, agent])
    };
    let sorted = |path: &Path| {
        let entries = everything(path);
        let kept = entries.iter().filter(|entry| entry["status"] == "kept");
        let mut said: Vec<_> = kept.map(|entry| said(entry).to_string()).collect();
        said.sort();
        said
    };
    assert_eq!(sorted(other.path()), sorted(path));
    let again = run(other.path(), &["export", "--format", "decisions", "records"]).ok();
    assert_eq!(again, "17 decisions exported to records\n");
    let without = |files: Vec<(String, String)>| -> Vec<_> {
        files
            .into_iter()
            .map(|(name, text)| (name, text.replace(&format!("related: [{issue}]\n"), "")))
            .collect()
    };
    assert_eq!(texts(&other.path().join("records")), without(files.clone()));

    // A folder keeps its files and numbers.
    keep(path, &["a newer one"]);
    let more = run(path, &["export", "--format", "decisions", "docs/adr"]).ok();
    assert_eq!(more, "1 decision exported to docs/adr, 17 are there already\n");
    assert!(folder.join("0018-a-newer-one.md").exists());
    keep(path, &["ids are numbers", "--replaces", &last]);
    let refused = run(path, &["export", "--format", "decisions", "docs/adr"]).refusal();
    assert!(
        refused.contains("0013-ids-are-ulids.md exists already") && refused.contains("--force"),
        "{refused}"
    );
    assert!(!folder.join("0019-ids-are-numbers.md").exists());
    run(path, &["export", "--format", "decisions", "docs/adr", "--force"]).ok();
    let replaced = fs::read_to_string(folder.join("0013-ids-are-ulids.md")).unwrap();
    assert!(replaced.contains("superseded by [0019](0019-ids-are-numbers.md)"), "{replaced}");
}

#[test]
fn what_is_no_decision_record_is_refused_with_the_way_out() {
    let directory = directory();
    let path = directory.path();
    // Pages with a context are not yet records.
    let notes = "# Design\n\n## Context\n\nTabs are wide.\n\n## Decisions\n\nSee the records.\n";
    fs::write(path.join("notes.md"), notes).unwrap();
    fs::write(path.join("a.json"), "[]").unwrap();
    let refused = run(path, &["import", "notes.md"]).refusal();
    assert!(
        refused.contains(
            "a decision record with a title, a status and the sections Context and Decision"
        ),
        "{refused}"
    );
    let several = run(path, &["import", "notes.md", "a.json"]);
    assert!(several.code == 2 && several.log.contains("one by one"), "{several:?}");
    for (arguments, reason) in [
        (&["export", "--format", "decisions"][..], "name it, as in docs/adr"),
        (&["export", "--format", "decisions", "d", "-c", "bug"], "omit --status and -c"),
    ] {
        let refused = run(path, arguments);
        assert!(refused.code == 2 && refused.log.contains(reason), "{refused:?}");
    }
    let file = run(path, &["export", "--format", "decisions", "a.json"]).refusal();
    assert!(file.contains("a.json is a file"), "{file}");
    // A decision about templates is none.
    let record = "# 4. Templates of mails\n\n| Field | Value |\n|---|---|\n| Status | Accepted |\n\n## Context\n\nx\n";
    fs::write(path.join("0004-mail-templates.md"), record).unwrap();
    fs::write(path.join("0000-template.md"), record).unwrap();
    let both = run(path, &["import", "0004-mail-templates.md", "0000-template.md", "--dry-run"]);
    assert_eq!(
        counts(&both),
        "nothing is written: 1 new, 0 same, 0 different, 0 refused, 1 skipped"
    );
    // A status of another word counts as in force, unless the user says what it means.
    let record =
        "# 3. Use tabs\n\n## Status\n\nParked by Ann\n\n## Context\n\nx\n\n## Decision\n\nTabs.\n";
    fs::write(path.join("0003-use-tabs.md"), record).unwrap();
    let guessed = run(path, &["import", "0003-use-tabs.md", "--dry-run"]);
    assert!(guessed.log.contains("status \"Parked by Ann\" is read as in force"), "{guessed:?}");
    let mapped = ["import", "0003-use-tabs.md", "--map-value", "status:Parked by Ann=rejected"];
    assert_eq!(run(path, &mapped).log, "");
    assert!(!run(path, &["recall", "tabs"]).out.contains("tabs"));
}

/// Returns a line for each entry: its kind, its day and the beginning of its text.
fn summary(entries: &[Value]) -> String {
    let line = |entry: &Value| {
        let description = entry["description"].as_str().unwrap();
        let text =
            if description.is_empty() { entry["title"].as_str().unwrap() } else { description };
        let at = entry["createdAt"].as_str().unwrap();
        let at = if at.starts_with("2025") { &at[..19] } else { "now" };
        format!("{} {at} {}\n", entry["classification"].as_str().unwrap(), text.replace('\n', "⏎"))
    };
    entries.iter().map(line).collect()
}

#[test]
fn a_memory_bank_becomes_entries_without_its_template() {
    let directory = directory();
    let path = directory.path();
    let plan = run(path, &["import", &sample("memory-bank"), "--dry-run"]);
    assert!(everything(path).is_empty());
    assert!(plan.out.contains("none of the files of a memory bank"), "{}", plan.out);
    let imported = run(path, &["import", &sample("memory-bank"), "-a", "lead"]);
    assert_eq!(format!("nothing is written: {}", counts(&imported)), counts(&plan));
    insta::assert_snapshot!("memory_bank", summary(&everything(path)));
    let before = everything(path);
    let again = run(path, &["import", &sample("memory-bank")]);
    assert!(again.code == 0 && counts(&again).starts_with("0 new"), "{again:?}");
    assert_eq!(everything(path), before);
    assert!(
        run(path, &["recall", "file:src/core/schemas.py", "kind:fact"]).ok().contains("Pydantic")
    );

    // A file alone, and only templates.
    let log = run(path, &["import", &sample("memory-bank/decisionLog.md")]);
    assert!(log.code == 0 && counts(&log).starts_with("0 new"), "{log:?}");
    let bank = path.join("memory-bank");
    fs::create_dir(&bank).unwrap();
    for (name, text) in TEMPLATES {
        fs::write(bank.join(name), text).unwrap();
    }
    let nothing = run(path, &["import", "memory-bank", "--dry-run"]);
    assert_eq!(
        counts(&nothing),
        "nothing is written: 0 new, 0 same, 0 different, 0 refused, 6 skipped"
    );
    assert!(nothing.out.contains("it says nothing beyond its template"), "{nothing:?}");
}

/// The templates of several programs, as a new memory bank has them.
const TEMPLATES: [(&str, &str); 6] = [
    (
        "product-context.md",
        "# Project Overview\n\n## Description\n[Project description]\n\n## Objectives\n- [Objective 1]\n- [Objective 2]\n\n## Technologies\n- [Technology 1]\n",
    ),
    (
        "active-context.md",
        "# Current Context\n\n## Ongoing Tasks\n- [Task 1]\n- [Task 2]\n\n## Known Issues\n- [Issue 1]\n\n## Next Steps\n- [Next step 1]\n",
    ),
    (
        "progress.md",
        "# Project Progress\n\n## Completed Milestones\n- [Milestone 1] - [Date]\n\n## Pending Milestones\n- [Milestone 3] - [Expected date]\n\n## Update History\n- [Date] - [Update]\n",
    ),
    (
        "decision-log.md",
        "# Decision Log\n\n## Decision 1\n- **Date:** [Date]\n- **Context:** [Context]\n- **Decision:** [Decision]\n- **Alternatives Considered:** [Alternatives]\n- **Consequences:** [Consequences]\n\n## Decision 2\n- **Date:** [Date]\n- **Context:** [Context]\n",
    ),
    (
        "system-patterns.md",
        "# System Patterns\n\n## Architecture Patterns\n[Architecture patterns description]\n\n## Code Patterns\n[Code patterns description]\n",
    ),
    (
        "decisionLog.md",
        "# Decision Log\n\nThis file records architectural and implementation decisions using a list format.\nYYYY-MM-DD HH:MM:SS - Log of updates made.\n\n*\n\n## Decision\n\n*\n\n## Rationale \n\n*\n\n## Implementation Details\n\n*\n",
    ),
];

#[test]
fn decisions_in_force_are_published_by_hand() {
    let directory = directory();
    let path = directory.path();
    let guide = path.join("AGENTS.md");
    let init = |arguments: &[&str]| run(path, &[&["init", "--yes"], arguments].concat()).ok();
    let nothing = run(path, &["memory", "publish"]);
    assert!(nothing.log.contains("no decision is in force") && !guide.exists(), "{nothing:?}");
    fs::write(&guide, "# Rules\n\nBe kind.\n").unwrap();
    let old = keep(path, &["amounts are floats <!-- for now"]);
    let second =
        keep(path, &["one writer at a time, because indexes like order", "--about", "src/store"]);
    run(path, &["remember", "a trap", "--kind", "trap", "-a", "x"]).ok();
    assert_eq!(run(path, &["memory", "publish"]).ok(), "2 decisions published in AGENTS.md\n");
    let text = fs::read_to_string(&guide).unwrap();
    let expected = format!(
        "# Rules\n\nBe kind.\n\n<!-- ait memory: begin -->\n## Decisions\n\nIn force, the newest first. `ait show ID` shows one \
         whole, `ait recall kind:decision` all.\n\n- `{second}` one writer at a time, because indexes like order\n\
         - `{old}` amounts are floats &lt;!-- for now\n<!-- ait memory: end -->\n"
    );
    assert_eq!(text, expected);
    assert_eq!(run(path, &["memory", "publish"]).ok(), "AGENTS.md has the 2 decisions already\n");

    // `ait init` has a section of its own, and leaves this one alone.
    init(&["--client", "codex"]);
    let both = fs::read_to_string(&guide).unwrap();
    assert!(both.starts_with(&text) && both.contains("<!-- ait init: begin -->"), "{both}");
    assert!(run(path, &["doctor"]).out.contains("0 problems"));
    let third = keep(path, &["amounts are Decimal", "--replaces", &old]);
    run(path, &["memory", "publish"]).ok();
    let current = fs::read_to_string(&guide).unwrap();
    assert!(
        current.contains(&format!("- `{third}` amounts are Decimal\n"))
            && !current.contains("floats"),
        "{current}"
    );
    assert!(init(&["--client", "codex"]).contains("nothing to do"));
    init(&["--remove"]);
    assert_eq!(fs::read_to_string(&guide).unwrap(), "# Rules\n\nBe kind.\n");

    // It stays small.
    for number in 0..30 {
        keep(path, &[&format!("decision {number} {}", "with a long reason ".repeat(12))]);
    }
    let published = run(path, &["memory", "publish", "--json"]).ok();
    let published: Value = serde_json::from_str(&published).unwrap();
    let text = fs::read_to_string(&guide).unwrap();
    assert!(
        published["decisions"].as_u64().unwrap() >= 12 && text.chars().count() < 2_400,
        "{published}"
    );
    assert!(text.contains("older ones are not here"), "{text}");
    run(path, &["memory", "publish", "docs.md"]).ok();
    assert_eq!(
        run(path, &["memory", "publish", "docs.md", "--remove"]).ok(),
        "the section was taken out of docs.md\n"
    );
    assert!(!path.join("docs.md").exists());
    run(path, &["memory", "publish", "--remove"]).ok();
    assert_eq!(fs::read_to_string(&guide).unwrap(), "# Rules\n\nBe kind.\n");
    fs::write(&guide, "<!-- ait memory: begin -->\n").unwrap();
    let refused = run(path, &["memory", "publish"]).refusal();
    assert!(
        refused.contains("expected once each") && refused.contains("correct these lines"),
        "{refused}"
    );

    // The word alone still finds entries, and adds some.
    assert!(run(path, &["memory", "trap"]).ok().contains("a trap"));
    assert!(run(path, &["memory", "add", "a note", "-a", "x"]).ok().starts_with("Kept "));
}
