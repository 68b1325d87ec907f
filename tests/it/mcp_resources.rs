//! Resources and completion.

use std::fs;
use std::time::Instant;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::http::{Server, meta};
use crate::support::{Client, ait, directory, until};

const FIXED: [&str; 7] = [
    "tracker://queue",
    "tracker://digest",
    "tracker://memory",
    "tracker://decisions",
    "tracker://diagnostics",
    "tracker://config",
    "tracker://presets",
];

/// Returns the type and the text of a resource that has exactly one content.
fn read(client: &mut Client, uri: &str) -> (String, String) {
    let result = client.request("resources/read", json!({ "uri": uri }));
    let [contents] = &result["contents"].as_array().unwrap_or_else(|| panic!("{result}"))[..]
    else {
        panic!("{result}");
    };
    assert_eq!(contents["uri"], uri);
    let text = |key: &str| contents[key].as_str().unwrap().to_owned();
    (text("mimeType"), text("text"))
}

fn read_json(client: &mut Client, uri: &str) -> Value {
    let (kind, text) = read(client, uri);
    assert_eq!(kind, "application/json");
    serde_json::from_str(&text).unwrap()
}

/// The roles as skills, with the tool names of this server; a client checks the file by its hash.
#[test]
fn roles_are_skills_whose_files_have_the_listed_hashes() {
    let directory = directory();
    for prefix in ["", "issues_"] {
        let mut client = Client::begin(ait(directory.path()).env("AIT_TOOL_PREFIX", prefix));
        let prompts = client.request("prompts/list", json!({}))["prompts"].clone();
        let listed = client.request("skills/list", json!({}))["skills"].clone();
        let listed = listed.as_array().unwrap();
        assert_eq!(listed.len(), 4, "{listed:?}");
        for skill in listed {
            let uri = skill["uri"].as_str().unwrap();
            let name = skill["frontmatter"]["name"].as_str().unwrap();
            assert_eq!(uri, format!("skill://{name}/SKILL.md"));
            let is_prompt = |prompt: &&Value| prompt["name"] == name;
            let prompt = prompts.as_array().unwrap().iter().find(is_prompt).unwrap();
            let description = &skill["frontmatter"]["description"];
            assert_eq!(description, &prompt["description"]);
            let (kind, text) = read(&mut client, uri);
            let head =
                format!("---\nname: {name}\ndescription: {}\n---\n", description.as_str().unwrap());
            assert!(text.starts_with(&head), "{text}");
            assert!(
                text.contains(&format!("`{prefix}add_issue")) || name == "code-reviewer",
                "{text}"
            );
            let hash: String =
                Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
            let file =
                json!({ "uri": uri, "digest": format!("sha256:{hash}"), "size": text.len() });
            assert_eq!((&*kind, &skill["resources"]), ("text/markdown", &json!([file])));
            assert_eq!(&client.request("skills/get", json!({ "uri": uri }))["skill"], skill);
        }
        let error = client.request("skills/get", json!({ "uri": "skill://x/SKILL.md" }));
        let said = error["message"].as_str().unwrap();
        assert!(error["code"] == -32602 && said.contains("skills/list"), "{error}");
    }
}

#[test]
fn every_listed_resource_can_be_read() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    let listed = client.request("resources/list", json!({}));
    let listed = listed["resources"].as_array().unwrap();
    assert_eq!(
        listed.iter().map(|resource| resource["uri"].as_str().unwrap()).collect::<Vec<_>>(),
        FIXED
    );
    for resource in listed {
        let (kind, text) = read(&mut client, resource["uri"].as_str().unwrap());
        assert_eq!(resource["mimeType"], kind);
        assert!(!text.is_empty() && resource["description"].is_string());
    }
    let templates = client.request("resources/templates/list", json!({}));
    assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], "tracker://issues/{id}");
    assert_eq!(templates["resourceTemplates"][1]["uriTemplate"], "tracker://queries/{name}");
    assert_eq!(templates["resourceTemplates"].as_array().unwrap().len(), 2);
    let tools = client.request("tools/list", json!({}));
    assert_eq!(tools["tools"].as_array().unwrap().len(), 7);
}

#[test]
fn the_queue_shows_issues_in_claim_order() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    let empty = read_json(&mut client, "tracker://queue");
    assert_eq!(empty["waiting"]["bug"], json!({ "count": 0, "head": [] }));
    let bugs: Vec<_> = (0..7).map(|number| client.add(&format!("bug {number}"), "bug")).collect();
    let feature = client.add("feature", "feature");
    client.call("get_next_issue", json!({ "agent": "one", "classification": "feature" })).ok();
    let done = json!({ "issue_id": bugs[3], "comment": "done", "agent": "two" });
    client.call("complete_issue", done).ok();
    let queue = read_json(&mut client, "tracker://queue");
    assert_eq!(queue["counts"]["created"], 6);
    assert_eq!(queue["waiting"]["bug"]["count"], 6);
    let head = queue["waiting"]["bug"]["head"].as_array().unwrap();
    let ids: Vec<_> = head.iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(ids, [&bugs[0], &bugs[1], &bugs[2], &bugs[4], &bugs[5]]);
    assert_eq!(queue["review"]["count"], 1);
    assert_eq!(queue["review"]["head"][0]["id"], bugs[3]);
    let claim = &queue["claimed"]["head"][0];
    assert_eq!((&claim["id"], &claim["agent"]), (&json!(feature), &json!("one")));
    assert!(claim["since"].is_string());
}

#[test]
fn the_settings_are_yaml_with_their_sources_and_without_secrets() {
    let directory = directory();
    fs::write(directory.path().join("ait.toml"), "agent = \"yes\"\n").unwrap();
    let secret = "not-to-be-seen-0123456789abcdef0123456789";
    let mut command = ait(directory.path());
    let mut client = Client::spawn(command.env("AIT_TOKEN", secret).env("PORT", "0"));
    client.initialize();
    let (kind, text) = read(&mut client, "tracker://config");
    assert_eq!(kind, "application/yaml");
    assert!(!text.contains("not-to-be-seen"), "{text}");
    // A value that looks like a YAML boolean or number is still a quoted string.
    let rows: Vec<_> = text.lines().map(str::trim).collect();
    for (name, value, source) in [
        ("agent:", "value: \"yes\"", "ait.toml"),
        ("port:", "value: \"0\"", "PORT"),
        ("file:", "issues.json", ""),
        ("token:", "value:", "AIT_TOKEN"),
    ] {
        let at = rows.iter().position(|row| *row == name).unwrap_or_else(|| panic!("{text}"));
        assert!(rows[at + 1].contains(value) && rows[at + 2].contains(source), "{name} {text}");
    }
    // Those in effect stay, and the reader learns that the file has others now.
    assert!(!text.contains("changed:"), "{text}");
    fs::write(directory.path().join("ait.toml"), "agent = \"no\"\n").unwrap();
    let (_, changed) = read(&mut client, "tracker://config");
    assert!(changed.contains("ait.toml has changed: start this server again"), "{changed}");
    assert!(changed.contains("value: \"yes\""), "{changed}");
}

#[test]
fn the_diagnostics_are_the_cached_report_of_the_doctor() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    client.add("t", "bug");
    let report = read_json(&mut client, "tracker://diagnostics");
    let checks: Vec<_> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["check"].clone())
        .collect();
    let doctor = ait(directory.path()).args(["doctor", "--json"]).output().unwrap();
    let doctor: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    let expected = doctor["findings"].as_array().unwrap();
    assert_eq!(checks, expected.iter().map(|finding| finding["check"].clone()).collect::<Vec<_>>());
    assert!(checks.len() >= 15);
    assert_eq!(report["file"], doctor["file"]);
    // A second request within five minutes gets the cached report.
    fs::write(directory.path().join("issues.json.stray.tmp"), "x").unwrap();
    assert_eq!(read_json(&mut client, "tracker://diagnostics"), report);
}

#[test]
fn an_unreadable_store_is_reported_by_other_resources() {
    let directory = directory();
    fs::write(directory.path().join("issues.json"), "{ no json").unwrap();
    let mut client = Client::start(directory.path());
    for uri in ["tracker://queue", "tracker://issues/3f2a9c1e"] {
        let error = client.request("resources/read", json!({ "uri": uri }));
        assert_eq!(error["code"], -32603, "{error}");
        assert!(error["message"].as_str().unwrap().contains("issues.json"), "{error}");
    }
    // The warning comes first.
    let mut second = |uri: &str| {
        let read = client.request("resources/read", json!({ "uri": uri }));
        read["contents"][1]["text"].as_str().unwrap_or_else(|| panic!("{read}")).to_owned()
    };
    let report: Value = serde_json::from_str(&second("tracker://diagnostics")).unwrap();
    assert_eq!(report["verdict"], "problem");
    assert!(second("tracker://config").contains("issues.json"));
    let message = client.request("prompts/get", json!({ "name": "health_check" }));
    let message = message["messages"][1]["content"]["text"].as_str().unwrap();
    assert!(
        message.contains("problem: readable") || message.contains("problem: valid"),
        "{message}"
    );
}

#[test]
fn an_issue_is_read_by_its_id_or_a_prefix() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    let id = client.add("title", "bug");
    let whole = client.call("list_issues", json!({ "issue_id": id })).issue();
    for name in [&id[..], &id[..8], &id[..13]] {
        assert_eq!(read_json(&mut client, &format!("tracker://issues/{name}")), whole);
    }
}

#[test]
fn unknown_resources_are_refused_naming_the_known_ones() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    for (params, code, message) in [
        (json!({ "uri": "tracker://issues/00000000" }), -32002, "list_issues"),
        (json!({ "uri": "tracker://issues/3f2a" }), -32002, "8 hex digits"),
        (json!({ "uri": "tracker://issues/" }), -32002, "8 hex digits"),
        (json!({ "uri": "tracker://nothing" }), -32002, "tracker://queue"),
        (json!({ "uri": "file:///etc/passwd" }), -32002, "tracker://queue"),
        (json!({ "uri": 5 }), -32602, "{\"uri\": \"tracker://queue\"}"),
        (json!({}), -32602, "{\"uri\": \"tracker://queue\"}"),
    ] {
        let error = client.request("resources/read", params.clone());
        assert_eq!(error["code"], code, "{params}: {error}");
        assert!(error["message"].as_str().unwrap().contains(message), "{params}: {error}");
        let error = client.request("resources/subscribe", params.clone());
        assert_eq!(error["code"], code, "{params}: {error}");
    }
}

#[test]
fn ids_are_completed_from_a_prefix_or_by_latest_change() {
    let directory = directory();
    let issues: Vec<Value> = (0..250)
        .map(|number| {
            json!({
                "id": format!("{:08x}-7d54-4b0a-9e6f-2c8b1d5a4e73", 0xab00_0000_u32 + number),
                "title": "t", "description": "", "classification": "bug", "status": "created",
                "createdAt": "2026-01-31T09:30:00.000Z", "history": [], "comments": [],
                "modifiedAt": format!("2026-01-31T09:{:02}:{:02}.000Z", number / 60, number % 60),
            })
        })
        .collect();
    fs::write(directory.path().join("issues.json"), json!({ "issues": issues }).to_string())
        .unwrap();
    let mut client = Client::start(directory.path());
    let mut complete = |of: Value, name: &str, value: &str| {
        let argument = json!({ "name": name, "value": value });
        let params = json!({ "ref": of, "argument": argument });
        client.request("completion/complete", params)
    };
    let template = || json!({ "type": "ref/resource", "uri": "tracker://issues/{id}" });
    let developer = || json!({ "type": "ref/prompt", "name": "developer" });
    for (value, total, shown, first) in [
        ("", Some(250), 100, "ab0000f9"),
        ("ab", Some(250), 100, "ab0000f9"),
        ("AB00000", Some(16), 16, "ab00000f"),
        ("ab0000f9-7d54-", Some(1), 1, "ab0000f9"),
        ("ac", Some(0), 0, ""),
        ("no id", Some(0), 0, ""),
        ("ab-", Some(0), 0, ""),
    ] {
        for (of, name) in [(template(), "id"), (developer(), "issue_id")] {
            let completion = &complete(of, name, value)["completion"];
            let values = completion["values"].as_array().unwrap();
            assert_eq!((values.len(), &completion["total"]), (shown, &json!(total)), "{value}");
            assert_eq!(completion["hasMore"], total.is_some_and(|total| shown < total), "{value}");
            let begin = values.first().map_or("", |value| value.as_str().unwrap());
            assert!(begin.starts_with(first), "{value}: {begin}");
        }
    }
    let kinds = complete(developer(), "classification", "")["completion"]["values"].clone();
    assert_eq!(kinds, json!(["bug", "improvement", "feature"]));
    let wizard = json!({ "type": "ref/prompt", "name": "setup_wizard" });
    assert_eq!(complete(wizard, "preset", "re")["completion"]["values"], json!(["review-heavy"]));
    let lead = json!({ "type": "ref/prompt", "name": "team-lead" });
    assert_eq!(complete(lead, "mode", "c")["completion"]["values"], json!(["continuous"]));
    let names = complete(developer(), "agent", "d");
    assert_eq!(names["completion"]["values"], json!([]));
    for (of, name, message) in [
        (template(), "status", "there is id"),
        (developer(), "id", "issue_id"),
        (json!({ "type": "ref/prompt", "name": "no-such-prompt" }), "x", "team-lead"),
        (json!({ "type": "ref/resource", "uri": "tracker://queue" }), "id", "{id}"),
        (json!({ "type": "ref/tool", "name": "add_issue" }), "id", "ref/prompt"),
    ] {
        let error = complete(of, name, "");
        assert_eq!(error["code"], -32602, "{error}");
        assert!(error["message"].as_str().unwrap().contains(message), "{message}: {error}");
    }
}

#[test]
fn only_newer_clients_get_cache_lifetimes() {
    let directory = directory();
    let mut older = Client::start(directory.path());
    for method in ["resources/list", "resources/templates/list", "prompts/list"] {
        let result = older.request(method, json!({}));
        assert_eq!((&result["ttlMs"], &result["resultType"]), (&Value::Null, &Value::Null));
    }
    let read = older.request("resources/read", json!({ "uri": "tracker://presets" }));
    assert_eq!(read["ttlMs"], Value::Null, "{read}");
    let mut newer = Client::spawn(&mut ait(directory.path()));
    for method in ["resources/list", "resources/templates/list", "prompts/list"] {
        let result = newer.request(method, json!({ "_meta": meta() }));
        assert_eq!(
            (&result["ttlMs"], &result["cacheScope"]),
            (&json!(3_600_000), &json!("public"))
        );
    }
    for (uri, least, most, scope) in [
        ("tracker://presets", 3_600_000, 3_600_000, "public"),
        ("tracker://queue", 0, 0, "private"),
        ("tracker://diagnostics", 200_000, 300_000, "private"),
    ] {
        let read = newer.request("resources/read", json!({ "uri": uri, "_meta": meta() }));
        let ttl = read["ttlMs"].as_i64().unwrap();
        assert!((least..=most).contains(&ttl) && read["cacheScope"] == scope, "{read}");
    }
    let unknown = json!({ "uri": "tracker://nothing", "_meta": meta() });
    assert_eq!(newer.request("resources/read", unknown)["code"], -32602);
}

#[test]
fn reading_resources_needs_a_read_only_token() {
    let directory = directory();
    let (read_write, read_only) = ("w".repeat(40), "r".repeat(40));
    let tokens = directory.path().join("tokens");
    fs::write(&tokens, format!("lead read-write {read_write}\npage read-only {read_only}\n"))
        .unwrap();
    let Some(tokens) = tokens.to_str() else { panic!("the path is not UTF-8") };
    let mut file = fs::metadata(tokens).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut file, 0o600);
    fs::set_permissions(tokens, file).unwrap();
    let server = Server::start_with(directory.path(), 0, &["--token-file", tokens]);
    let mut agent =
        crate::support::http::Agent::authorized(server.port, &format!("Bearer {read_only}"));
    agent.begin();
    for uri in FIXED {
        let reply = agent.request("resources/read", json!({ "uri": uri }));
        assert!(reply.json()["result"]["contents"][0]["text"].is_string(), "{}", reply.body);
        assert!(!reply.body.contains(&read_only) && !reply.body.contains(&read_write));
    }
    let mut unauthorized = crate::support::http::Agent::new(server.port);
    assert_eq!(unauthorized.request("resources/list", json!({})).status, 401);
}

#[test]
fn reads_are_counted_by_method_and_outcome() {
    let directory = directory();
    let server = Server::start(directory.path());
    let mut agent = crate::support::http::Agent::connect(server.port);
    agent.request("resources/read", json!({ "uri": "tracker://queue" }));
    agent.request("resources/read", json!({ "uri": "tracker://nothing" }));
    agent.request("prompts/get", json!({ "name": "developer" }));
    let start = Instant::now();
    for (method, outcome) in
        [("resources/read", "ok"), ("resources/read", "refused"), ("prompts/get", "ok")]
    {
        let name = format!("ait_operations_total{{tool=\"{method}\",outcome=\"{outcome}\"}} 1");
        until(&name, || crate::support::get(server.port, "/metrics").body.contains(&name));
    }
    assert!(start.elapsed().as_secs() < 60);
}
