//! Knowledge graphs of memory servers, as they come and go.

use std::fs;

use serde_json::{Value, json};

use super::{counts, entry, everything, keep, sample};
use crate::support::directory;
use crate::support::runs::run;

/// Returns the lines of a graph, sorted, each once.
fn graph_lines(text: &str) -> Vec<Value> {
    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines.dedup();
    lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_graph_of_server_memory_comes_and_goes() {
    let directory = directory();
    let path = directory.path();
    let file = sample("server-memory.jsonl");
    let given = fs::read_to_string(&file).unwrap();
    let plan = run(path, &["import", &file, "--dry-run"]);
    assert_eq!(counts(&plan), "nothing is written: 7 new, 0 same, 0 different, 0 refused");
    run(path, &["import", &file, "-a", "lead"]).ok();
    let entries = everything(path);
    let john = entry(&entries, "John_Smith (person)");
    assert_eq!(
        john["description"],
        "John_Smith (person)\n\n- Speaks fluent Spanish\n- Graduated in 2019\n- Prefers morning meetings\n\n\
         Relations:\n- works_at: Anthropic (vendor)\n- owns: all of it: shop/money.py\n- knows: Ghost"
    );
    assert_eq!((&john["status"], &john["classification"]), (&json!("kept"), &json!("fact")));
    let money = entry(&entries, "shop/money.py (file)");
    assert!(
        john["links"]
            .as_array()
            .unwrap()
            .contains(&json!({ "kind": "related", "to": money["id"] }))
    );
    assert!(run(path, &["recall", "file:shop/money.py"]).ok().contains("because of the audit"));

    let exported = run(path, &["export", "--format", "graph"]).ok();
    assert_eq!(graph_lines(&exported), graph_lines(&given));
    let again = run(path, &["import", &file]);
    assert_eq!(counts(&again), "0 new, 7 same, 0 different, 0 refused", "{again:?}");
    assert_eq!(everything(path), entries);
    // Duplicate relations are one.
    let twice = format!("{given}\n{}\n", given.lines().last().unwrap());
    fs::write(path.join("twice.jsonl"), &twice).unwrap();
    assert_eq!(
        counts(&run(path, &["import", "twice.jsonl"])),
        "0 new, 7 same, 0 different, 0 refused"
    );

    // What people edit is what the next export says.
    let id = money["id"].as_str().unwrap();
    let text = money["description"].as_str().unwrap();
    run(
        path,
        &["edit", id, "-d", &text.replace("- Line one\n", "- Checked by tests\n- Line one\n")],
    )
    .ok();
    let edited = run(path, &["export", "--format", "graph"]).ok();
    assert!(
        edited
            .contains("of the audit\",\"Checked by tests\",\"Line one\\nline two\\n\\n- a list\","),
        "{edited}"
    );
    assert!(edited.contains(
        r#"{"type":"relation","from":"shop/money.py","to":"Décision №1","relationType":"follows"}"#
    ));
    // An entity that holds no longer takes its relations along.
    run(path, &["edit", id, "--due", "2020-01-01"]).ok();
    let without = run(path, &["export", "--format", "graph"]).ok();
    assert!(!without.contains("shop/money.py"), "{without}");
    assert_eq!(without.lines().count(), given.lines().count() - 3);
}

#[test]
fn a_graph_of_memory_bank_mcp_comes_and_goes() {
    let directory = directory();
    let path = directory.path();
    let file = sample("memory-bank-mcp.jsonl");
    let given = fs::read_to_string(&file).unwrap();
    let imported = run(path, &["import", &file, "-a", "lead"]);
    assert_eq!(counts(&imported), "3 new, 0 same, 0 different, 0 refused, 1 skipped");
    let entries = everything(path);
    let tracker = entry(&entries, "Issue Tracker (project)");
    assert_eq!(tracker["createdAt"], "2026-02-09T10:01:00.000Z");
    assert!(run(path, &["recall", "ent_u9a4UKKwUSQp"]).ok().contains("Reviews on Mondays"));
    let exported = run(path, &["export", "--format", "graph-events"]).ok();
    let is_gone = |line: &Value| {
        let text = line.to_string();
        let deleted = given.lines().find(|line| line.contains("entity_delete")).unwrap();
        let deleted: Value = serde_json::from_str(deleted).unwrap();
        text.contains(deleted["entityId"].as_str().unwrap()) || text.contains("snapshot_written")
    };
    let kept: Vec<_> = graph_lines(&given).into_iter().filter(|line| !is_gone(line)).collect();
    assert_eq!(graph_lines(&exported), kept);
    fs::write(path.join("graph.jsonl"), &exported).unwrap();
    assert_eq!(
        counts(&run(path, &["import", "graph.jsonl"])),
        "0 new, 3 same, 0 different, 0 refused"
    );
    // The other server has no attributes and times, and knows the same entities.
    let plain = run(path, &["export", "--format", "graph"]).ok();
    assert_eq!(plain.lines().count(), 5, "{plain}");
    fs::write(path.join("memory.jsonl"), &plain).unwrap();
    let same = run(path, &["import", "memory.jsonl", "--dry-run"]);
    assert!(counts(&same).contains("0 new"), "{same:?}");
}

#[test]
fn entries_of_ait_go_into_a_graph_and_come_back() {
    let directory = directory();
    let path = directory.path();
    run(path, &["add", "An issue", "-d", "x", "-a", "lead"]).ok();
    let first =
        keep(path, &["amounts are Decimal", "--about", "src/money,audit", "--until", "2099-01-01"]);
    let whole = "# Retry thrice\n\n## Context\n\nThe bank is slow.\n\n## Decision\n\nRetry: yes.";
    let second = keep(path, &[whole, "--about", "shop/bank.py", "--about", &first]);
    run(path, &["edit", &second, "--title", "Retry: thrice"]).ok();
    let old = keep(path, &["ids are numbers"]);
    keep(path, &["ids are ULIDs", "--replaces", &old]);
    run(path, &["remember", "the deploy needs VPN", "--kind", "trap", "-a", "ops on call"]).ok();
    run(path, &["remember", "amounts are Decimal", "--kind", "decision", "-a", "dev-9"]).ok();
    for form in ["graph", "graph-events"] {
        let file = format!("{form}.jsonl");
        let exported = run(path, &["export", "--format", form, &file]).ok();
        assert_eq!(exported, format!("5 entries exported to {file}\n"));
        let text = fs::read_to_string(path.join(&file)).unwrap();
        assert!(
            text.contains(&format!("as {first}")) && !text.contains("ids are numbers"),
            "{text}"
        );
        assert_eq!(counts(&run(path, &["import", &file])), "0 new, 5 same, 0 different, 0 refused");
        let other = crate::support::directory();
        let imported =
            run(other.path(), &["import", path.join(&file).to_str().unwrap(), "-a", "lead"]);
        assert_eq!(counts(&imported), "5 new, 0 same, 0 different, 0 refused", "{imported:?}");
        let back = run(other.path(), &["export", "--format", form]).ok();
        let lines = |text: &str| {
            let lines = graph_lines(text);
            let mut lines: Vec<_> =
                lines.iter().map(|line| without_times(line).to_string()).collect();
            lines.sort();
            lines
        };
        assert_eq!(lines(&back), lines(&text));
    }
    let graph = fs::read_to_string(path.join("graph.jsonl")).unwrap();
    let decision = graph.lines().find(|line| line.contains(&first)).unwrap();
    let decision: Value = serde_json::from_str(decision).unwrap();
    assert_eq!(
        (&decision["name"], &decision["entityType"]),
        (&json!("amounts are Decimal"), &json!("decision"))
    );
    assert_eq!(
        decision["observations"].as_array().unwrap()[..4],
        [
            json!("amounts are Decimal"),
            json!("About: src/money"),
            json!("labels: audit"),
            json!("until: 2099-01-01")
        ]
    );
    // What another program observed comes back, too.
    let more = graph.replace("\"labels: audit\"", "\"labels: audit\",\"Confirmed in May\"");
    fs::write(path.join("more.jsonl"), more).unwrap();
    run(path, &["import", "more.jsonl", "--update"]).ok();
    assert!(run(path, &["show", &first]).ok().contains("Confirmed in May"));
}

/// Returns a line of a graph without the times of changes, and the ids that hash them.
fn without_times(line: &Value) -> Value {
    let mut line = line.clone();
    for part in ["entity", "observation", "relation"] {
        if let Some(part) = line[part].as_object_mut() {
            for key in ["updatedAt", "timestamp", "createdAt"] {
                part.remove(key);
            }
            part.retain(|_, value| !value.as_str().is_some_and(|id| id.starts_with("obs_")));
        }
    }
    line["ts"].take();
    line
}

#[test]
fn lines_that_are_no_graph_are_refused() {
    let directory = directory();
    let path = directory.path();
    let entity = r#"{"type":"entity","name":"A","entityType":"t","observations":["o"]}"#;
    let lines = [
        entity,
        "{\"type\":\"entity\",\"name\":\"B\"}",
        "{\"type\":\"wish\",\"name\":\"B\"}",
        "{\"type\":\"relation\",\"from\":\"A\",\"to\":\"B\"}",
        entity,
        "{\"type\":\"entity\",\"name\":\"C\",\"entity",
    ];
    fs::write(path.join("graph.jsonl"), lines.join("\n")).unwrap();
    let imported = run(path, &["import", "graph.jsonl", "-a", "lead"]);
    assert_eq!((imported.code, counts(&imported)), (1, "1 new, 0 same, 0 different, 5 refused"));
    for reason in [
        "entityType is missing, or no text",
        "\"wish\" is neither an entity nor a relation",
        "relationType is missing",
        "another line has this entity",
        "it is not JSON",
    ] {
        assert!(imported.out.contains(reason), "{reason}: {}", imported.out);
    }
    fs::write(
        path.join("new.jsonl"),
        "{\"type\":\"memory_bank_graph\",\"source\":\"memory-bank-mcp\",\"version\":\"2\"}\n",
    )
    .unwrap();
    let newer = run(path, &["import", "new.jsonl"]);
    assert!(newer.code == 1 && newer.out.contains("only version 1"), "{newer:?}");
    fs::write(path.join("issues.jsonl"), "{\"title\":\"x\"}\n").unwrap();
    let refused = run(path, &["import", "issues.jsonl", "--format", "graph"]).refusal();
    assert!(refused.contains("the file is no knowledge graph"), "{refused}");
    let narrowed = run(path, &["export", "--format", "graph", "--status", "open"]);
    assert!(narrowed.code == 2 && narrowed.log.contains("omit --status and -c"), "{narrowed:?}");
}
