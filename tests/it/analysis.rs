//! The toolset `analysis`: problems, digests and contexts, with their commands, pages and resources.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::files::{id, issue_json, write_issues};
use crate::support::runs::run;
use crate::support::{Client, ait, directory, get};

fn analyst(directory: &Path, more: &[&str]) -> Client {
    let toolsets = ["--toolsets", "analysis,planning"];
    Client::begin(ait(directory).args(toolsets.iter().chain(more)))
}

fn report(client: &mut Client, tool: &str, arguments: Value) -> Value {
    let text = client.call(tool, arguments).ok();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn with_description(number: usize, title: &str, description: &str) -> Value {
    let mut issue = issue_json(&id(number), title, "created");
    issue["description"] = json!(description);
    issue
}

/// Two duplicates without descriptions, and an issue with a placeholder title.
fn untidy() -> Vec<Value> {
    vec![
        with_description(0, "Importer drops the last line", ""),
        with_description(1, "The importer dropped last lines", ""),
        with_description(2, "TODO", "Look at the buffer of the reader, which is never empty."),
    ]
}

#[test]
fn tool_command_page_and_json_report_the_same_problems() {
    let directory = directory();
    write_issues(directory.path(), &untidy());
    let mut client = analyst(directory.path(), &[]);
    let kinds = json!(["duplicate", "placeholder_title", "thin_description"]);
    let found = report(&mut client, "find_problems", json!({ "kinds": kinds }));
    let counts = json!({ "placeholder_title": 1, "duplicate": 1, "thin_description": 2 });
    assert_eq!((&found["counts"], &found["total"]), (&counts, &json!(4)), "{found}");
    let duplicate = found["findings"].as_array().unwrap().iter();
    let duplicate = duplicate.clone().find(|finding| finding["kind"] == "duplicate").unwrap();
    assert_eq!(duplicate["issues"][0]["id"], id(1));
    assert_eq!(duplicate["issues"][1]["title"], "Importer drops the last line");
    let next = duplicate["next"].as_str().unwrap();
    assert!(next.contains("link_issues {") && next.contains(&id(0)[..8]), "{next}");

    let page: Value =
        serde_json::from_str(&get(client.port(), "/api/triage?kind=duplicate").body).unwrap();
    let shell = run(directory.path(), &["triage", "--kind", "duplicate", "--json"]).ok();
    let shell: Value = serde_json::from_str(&shell).unwrap();
    assert_eq!(shell, page);
    for key in ["kind", "issues", "why"] {
        assert_eq!(page["findings"][0][key], duplicate[key], "{page}");
    }
    let next = page["findings"][0]["next"].as_str().unwrap();
    assert!(
        next.contains(&format!("`ait link {} duplicate-of {}`", &id(1)[..8], &id(0)[..8])),
        "{next}"
    );
    let text = run(directory.path(), &["triage"]).ok();
    assert!(text.contains("placeholder_title 1") && text.contains("ait edit"), "{text}");
    let refused = run(directory.path(), &["triage", "--kind", "ugly"]);
    assert!(refused.code == 2 && refused.log.contains("thin_description"), "{refused:?}");
    let refused = client.call("find_problems", json!({ "kinds": ["ugly"], "take": 0 })).refusal();
    assert!(refused.contains("thin_description") && refused.contains("from 1 to 200"), "{refused}");
}

#[test]
fn short_report_shows_every_kind_of_problem() {
    let directory = directory();
    let thin =
        (0..30).map(|number| with_description(number, &format!("Column {number} sorts"), ""));
    let mut issues: Vec<Value> = thin.collect();
    issues.push(with_description(
        40,
        "TODO",
        "Look at the buffer of the reader, which is never empty.",
    ));
    write_issues(directory.path(), &issues);
    let mut client = analyst(directory.path(), &["--tool-prefix", "team_"]);
    let kinds = json!(["placeholder_title", "thin_description"]);
    let found = report(&mut client, "team_find_problems", json!({ "kinds": kinds, "take": 4 }));
    let shown: Vec<_> =
        found["findings"].as_array().unwrap().iter().map(|finding| &finding["kind"]).collect();
    assert_eq!(
        shown,
        ["placeholder_title", "thin_description", "thin_description", "thin_description"]
    );
    assert_eq!((&found["total"], &found["more"]), (&json!(31), &json!(27)), "{found}");
    assert!(
        found["findings"][0]["next"].as_str().unwrap().contains("team_update_issue"),
        "{found}"
    );
}

#[test]
fn every_page_shows_the_number_of_problems() {
    let directory = directory();
    write_issues(
        directory.path(),
        &[with_description(2, "TODO", "Look at the buffer of the reader.")],
    );
    let mut client = analyst(directory.path(), &[]);
    let total = |client: &mut Client| {
        let found = report(client, "find_problems", json!({}));
        found["total"].as_u64().unwrap()
    };
    let before = total(&mut client);
    for path in ["/", "/board", "/agents", "/activity", "/stats", "/inbox", "/issues/00000002"] {
        let page = get(client.port(), path);
        let link = page.body.split("href=\"/inbox\"").nth(1).unwrap_or_default();
        let link = link.split("</a>").next().unwrap();
        assert!(link.contains(&format!("<span class=\"count\">{before}</span>")), "{path}: {link}");
    }
    let page = get(client.port(), "/inbox").body;
    assert!(
        page.contains("Titles that say nothing") && page.contains("<code>ait show 00000002</code>"),
        "{page}"
    );
    client.add("TBD", "bug");
    assert!(total(&mut client) > before);
    let refused = get(client.port(), "/inbox?kind=ugly");
    assert!(refused.status == 400 && refused.body.contains("thin_description"), "{}", refused.body);
}

#[test]
fn digest_names_holders_and_fits_into_1500_tokens() {
    let directory = directory();
    let mut client = analyst(directory.path(), &[]);
    let ids: Vec<_> =
        (0..40).map(|n| client.add(&format!("{n} {}", "long title ".repeat(30)), "bug")).collect();
    for n in 0..20 {
        client.call("get_next_issue", json!({ "agent": format!("dev-{}", n % 3) })).ok();
    }
    for id in &ids[..3] {
        client
            .call(
                "close_issue",
                json!({ "issue_id": id, "resolution": "closed", "comment": "c", "agent": "lead" }),
            )
            .ok();
    }
    client
        .call("return_issue", json!({ "issue_id": ids[4], "comment": "c", "agent": "dev-1" }))
        .ok();
    client
        .call(
            "ask_human",
            json!({ "issue_id": ids[5], "question": "Which port?", "agent": "dev-2" }),
        )
        .ok();
    let text = client.call("get_digest", json!({ "agent": "dev-0", "since": "1h" })).ok();
    let tokens = tiktoken_rs::o200k_base_singleton().encode_ordinary(&text).len();
    assert!(tokens <= 1_500, "{tokens} tokens: {text}");
    let digest: Value = serde_json::from_str(&text).unwrap();
    let counts = json!({"created": 22, "in_progress": 15, "completed": 0, "in_review": 0, "closed": 3, "rejected": 0});
    assert_eq!(digest["counts"], counts);
    assert_eq!((&digest["ready"], &digest["parked"]), (&json!(21), &json!(1)));
    let count = |key: &str| digest[key]["count"].as_u64().unwrap();
    assert_eq!((count("held"), count("ended"), count("questions"), count("mine")), (15, 3, 1, 6));
    assert_eq!(digest["questions"]["first"][0]["question"], "Which port?");
    assert_eq!(digest["ended"]["first"][0]["agent"], "lead");
    let refused = client.call("get_digest", json!({ "since": "once" })).refusal();
    assert!(refused.contains("get_digest again"), "{refused}");

    let shown = run(directory.path(), &["digest", "-a", "dev-0"]).ok();
    assert!(
        shown.contains("yours 6") && shown.contains("Which port?") && shown.contains("held 15"),
        "{shown}"
    );
    let shown = run(directory.path(), &["digest", "--json", "-a", "dev-0", "--since", "1h"]).ok();
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!((&shown["counts"], &shown["held"]["count"]), (&counts, &json!(15)));
    let read = client.request("resources/read", json!({ "uri": "tracker://digest" }));
    let read: Value = serde_json::from_str(read["contents"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!((&read["counts"], &read["mine"]), (&counts, &Value::Null));
}

fn git(directory: &Path, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.current_dir(directory).args([
        "-c",
        "user.name=n",
        "-c",
        "user.email=e",
        "-c",
        "commit.gpgsign=false",
    ]);
    assert!(git.args(arguments).output().unwrap().status.success(), "{arguments:?}");
}

#[test]
fn context_includes_linked_issues_attempts_and_git_commits() {
    let directory = directory();
    let root = directory.path();
    let mut client = analyst(root, &[]);
    let [whole, issue, blocker, part, twin] =
        ["whole", "issue", "blocker", "part", "twin"].map(|title| client.add(title, "bug"));
    let mut link = |from: &str, kind: &str, to: &str| {
        let arguments = json!({ "issue_id": from, "kind": kind, "to": [to], "agent": "lead" });
        client.call("link_issues", arguments).ok();
    };
    link(&issue, "parent", &whole);
    link(&part, "parent", &issue);
    link(&twin, "duplicate_of", &issue);
    let claim = json!({ "agent": "dev", "issue_id": issue });
    link(&issue, "blocked_by", &blocker);
    client
        .call(
            "return_issue",
            json!({ "issue_id": issue, "comment": "the fixture is missing", "agent": "dev" }),
        )
        .ok();
    assert!(client.call("get_next_issue", claim).refusal().contains("waits for"));
    git(root, &["init", "-b", "main"]);
    git(root, &["commit", "--allow-empty", "-m", "begin"]);
    git(root, &["checkout", "-b", &format!("issue-{}", &issue[..8])]);
    git(root, &["commit", "--allow-empty", "-m", &format!("Sort\n\nIssue: {} issue", &issue[..8])]);
    git(root, &["checkout", "main"]);

    let found = report(&mut client, "get_context", json!({ "issue_id": &issue[..8] }));
    let context = &found["contexts"][0];
    let row = |id: &str, title: &str| json!([format!("{} created: {title}", &id[..8])]);
    assert_eq!(context["issue"]["title"], "issue", "{found}");
    assert_eq!(
        [&context["parent"], &context["children"], &context["blockedBy"], &context["duplicates"]],
        [
            &row(&whole, "whole"),
            &row(&part, "part"),
            &row(&blocker, "blocker"),
            &row(&twin, "twin")
        ]
    );
    assert_eq!(context["attempts"][0]["said"], "the fixture is missing", "{found}");
    let branch = &context["git"]["branches"][0];
    assert_eq!(branch["name"], format!("issue-{}", &issue[..8]), "{found}");
    assert!(branch["commits"][0].as_str().unwrap().ends_with(" Sort"), "{found}");
    assert_eq!(context["git"]["commits"], branch["commits"]);

    let several = format!("{issue}, {whole},{issue}");
    let found = report(&mut client, "get_context", json!({ "issue_id": several }));
    assert_eq!(found["issues"], json!([row(&issue, "issue")[0], row(&whole, "whole")[0]]));
    assert_eq!(found["contexts"][1]["children"], row(&issue, "issue"));
    for (bad, words) in
        [("3f2a9c1", "list_issues"), ("00000000-0000-4000-8000-000000000000", "no issue")]
    {
        let refused = client.call("get_context", json!({ "issue_id": bad })).refusal();
        assert!(refused.contains(words), "{refused}");
    }
    let many: Vec<String> = (0..21).map(id).collect();
    let refused = client.call("get_context", json!({ "issue_id": many.join(",") })).refusal();
    assert!(refused.contains("1 to 20 issues, not 21"), "{refused}");
}

#[test]
fn contexts_are_truncated_to_the_reply_budget() {
    let directory = directory();
    let issues: Vec<Value> = (0..20)
        .map(|number| {
            let mut issue = with_description(number, &format!("t{number}"), &"word ".repeat(4_000));
            issue["comments"] = json!([{ "timestamp": "2025-10-01T00:00:00.000Z", "agent": "a", "text": "c ".repeat(900) }]);
            issue["history"] = json!([{ "timestamp": "2025-10-01T00:00:00.000Z", "agent": "a", "action": "Issue returned to created status" }]);
            issue
        })
        .collect();
    write_issues(directory.path(), &issues);
    for budget in ["1000", "4000"] {
        let mut client = analyst(directory.path(), &["--max-reply-tokens", budget]);
        for count in [1, 5, 20] {
            let ids: Vec<String> = (0..count).map(id).collect();
            let text = client.call("get_context", json!({ "issue_id": ids.join(",") })).ok();
            let tokens = tiktoken_rs::o200k_base_singleton().encode_ordinary(&text).len();
            assert!(tokens <= budget.parse().unwrap(), "{tokens} of {budget}: {text}");
            let found: Value = serde_json::from_str(&text).unwrap();
            if count == 1 {
                assert!(
                    found["contexts"][0]["issue"]["description"].as_str().unwrap().len() > 400,
                    "{text}"
                );
                assert_eq!(found["contexts"][0]["attempts"][0]["agent"], "a", "{text}");
            } else {
                assert_eq!(found["issues"].as_array().unwrap().len(), count, "{text}");
            }
        }
    }
}
