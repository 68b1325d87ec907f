//! Replies to lists and claims: filters, forms, fields and tool names.

use agent_issue_tracker::domain::ValueField;
use serde_json::{Value, json};

use crate::support::http::{Agent, Server, connections};
use crate::support::{Answer, Client, TOOLS, ait, directory, get};

fn client(directory: &std::path::Path, arguments: &[&str]) -> Client {
    let mut client = Client::spawn(ait(directory).args(arguments));
    client.initialize();
    client
}

fn list(client: &mut Client, arguments: Value) -> Value {
    serde_json::from_str(&client.call("list_issues", arguments).ok()).unwrap()
}

fn titles(list: &Value) -> Vec<&str> {
    list["issues"].as_array().unwrap().iter().map(|row| row["title"].as_str().unwrap()).collect()
}

fn as_agent(issue: &Value, agent: &str) -> Value {
    json!({ "issue_id": issue["id"], "comment": "c", "agent": agent })
}

#[test]
fn lists_are_filtered_by_status_agent_and_change() {
    let directory = directory();
    let mut client = client(directory.path(), &[]);
    let [first, _, third] = ["first", "second", "third"].map(|title| client.add(title, "bug"));
    let begun = list(&mut client, json!({ "since": "1h" }));
    let cursor = begun["cursor"].as_u64().unwrap();
    client.call("get_next_issue", json!({ "agent": "dev" })).ok();
    let close =
        json!({ "issue_id": third, "resolution": "closed", "comment": "c", "agent": "lead" });
    client.call("close_issue", close).ok();

    assert_eq!(titles(&list(&mut client, json!({ "status": "open" }))), ["first", "second"]);
    assert_eq!(
        titles(&list(&mut client, json!({ "status": "any", "classification": "any" }))).len(),
        3
    );
    assert_eq!(titles(&list(&mut client, json!({ "agent": "dev" }))), ["first"]);
    assert_eq!(titles(&list(&mut client, json!({ "agent": "test" }))).len(), 3);

    let changed = list(&mut client, json!({ "since": cursor.to_string() }));
    assert_eq!(titles(&changed), ["first", "third"]);
    let later = changed["cursor"].as_u64().unwrap();
    assert_eq!(later, cursor + 2);
    assert_eq!(list(&mut client, json!({ "since": later.to_string() }))["count"], 0);
    let open = json!({ "since": cursor.to_string(), "status": "open" });
    assert_eq!(titles(&list(&mut client, open)), ["first"]);
    assert_eq!(list(&mut client, json!({ "since": "2999-01-01" }))["count"], 0);
    let both = client.call("list_issues", json!({ "issue_id": first, "status": "open" })).refusal();
    assert!(both.contains("leave out status"), "{both}");
}

/// Calls a tool as a client with strict schemas does: with every parameter, and only with listed enum values.
fn call_strictly(client: &mut Client, tool: &str, given: &Value) -> Answer {
    let tools = client.request("tools/list", json!({}));
    let tools = tools["tools"].as_array().unwrap();
    let definition = tools.iter().find(|definition| definition["name"] == tool).unwrap();
    let properties = definition["inputSchema"]["properties"].as_object().unwrap();
    let mut given = given.clone();
    for field in properties.keys().filter(|name| ValueField::from_word(name).is_some()) {
        given.as_object_mut().unwrap().entry(field).or_insert(json!(""));
    }
    let mut names: Vec<_> = given.as_object().unwrap().keys().collect();
    names.sort();
    let mut all: Vec<_> = properties.keys().collect();
    all.sort();
    assert_eq!(names, all, "{tool}");
    for (name, property) in properties {
        let kinds = property["type"].to_string();
        assert!(!given[name].is_string() || kinds.contains("string"), "{tool}: {name} is {kinds}");
        if let Some(words) = property["enum"].as_array() {
            assert!(words.contains(&given[name]), "{tool}: {name}");
        }
    }
    client.call(tool, given.clone())
}

#[test]
fn every_tool_accepts_all_parameters_at_once() {
    for toolset in ["lifecycle", "planning"] {
        let directory = directory();
        let mut client = client(directory.path(), &["--toolsets", toolset]);
        let mut call = |tool: &str, mut given: Value| {
            let has_fields = tool == "list_issues" || tool.starts_with("get_next");
            if toolset == "planning" && has_fields {
                given["fields"] = json!("");
            }
            if toolset == "planning" && tool == "add_issue" {
                given["request_id"] = json!("");
            }
            if toolset == "planning" && tool == "list_issues" {
                given["query"] = json!("");
            }
            if tool.starts_with("get_next") {
                given["wait_seconds"] = json!(0);
            }
            if toolset == "planning" && tool == "return_issue" {
                given["force"] = json!(false);
            }
            call_strictly(&mut client, tool, &given)
        };
        for (title, classification) in [("first", "bug"), ("second", "feature"), ("third", "bug")] {
            call("add_issue", json!({ "title": title, "description": "", "classification": classification, "agent": "lead", "priority": 2 })).ok();
        }
        let filters = |issue: &Value, status: &str, agent: &str, since: &str| json!({ "issue_id": issue, "status": status, "classification": "any", "agent": agent, "since": since, "skip": 0, "take": 50 });
        let none = json!("");
        let listed = call("list_issues", filters(&none, "any", "", "")).issue();
        assert_eq!(titles(&listed), ["first", "second", "third"]);
        assert_eq!(
            titles(&call("list_issues", filters(&none, "open", "lead", "1h")).issue()).len(),
            3
        );
        let second = listed["issues"][1]["id"].clone();
        let whole = call("list_issues", filters(&second, "any", "", "")).issue();
        assert_eq!(
            (&whole["title"], &whole["history"][0]["agent"]),
            (&json!("second"), &json!("lead"))
        );

        let claim = |issue: &Value, classification: &str, mine: bool| json!({ "agent": "dev", "classification": classification, "issue_id": issue, "mine": mine });
        assert_eq!(call("get_next_issue", claim(&none, "any", false)).issue()["title"], "first");
        assert_eq!(call("get_next_issue", claim(&second, "any", false)).issue()["title"], "second");
        let held = call("get_next_issue", claim(&none, "any", true)).issue();
        assert_eq!(titles(&held), ["first", "second"]);
        assert_eq!(
            call("get_next_issue", claim(&none, "feature", true)).issue()["title"],
            "second"
        );
        let first = listed["issues"][0]["id"].clone();
        let about = |issue: &Value, claim: Value| json!({ "issue_id": issue, "comment": "c", "agent": "dev", "claim": claim });
        call("complete_issue", about(&first, json!(1))).ok();
        // Strict clients send every parameter; 0 is a wrong number, and null is none.
        call("return_issue", about(&second, json!(null))).ok();
        assert_eq!(
            call("get_next_review_item", json!({ "agent": "dev" })).issue()["title"],
            "first"
        );
        let close = json!({
            "issue_id": first, "comment": "c", "agent": "dev", "resolution": "closed", "claim": 2,
        });
        call("close_issue", close).ok();
        assert_eq!(call("list_issues", filters(&none, "closed", "", "")).issue()["count"], 1);
    }
}

#[test]
fn a_given_issue_can_be_claimed_and_held_issues_are_shown() {
    let directory = directory();
    let mut client = client(directory.path(), &[]);
    let [first, second] = ["first", "second"].map(|title| client.add(title, "bug"));
    let mine = json!({ "agent": "dev", "mine": true });
    assert_eq!(client.call("get_next_issue", mine.clone()).ok(), "You hold no issue.");
    let claimed =
        client.call("get_next_issue", json!({ "agent": "dev", "issue_id": second })).issue();
    assert_eq!(
        (claimed["title"].as_str(), claimed["status"].as_str()),
        (Some("second"), Some("in_progress"))
    );
    let again =
        client.call("get_next_issue", json!({ "agent": "other", "issue_id": second })).refusal();
    assert!(again.contains("in_progress") && again.contains("get_next_issue"), "{again}");
    let held = client.call("get_next_issue", mine.clone()).issue();
    assert_eq!(held, claimed);
    // `mine` claims no issue.
    assert_eq!(list(&mut client, json!({ "status": "created" }))["count"], 1);
    client
        .call("get_next_issue", json!({ "agent": "dev", "issue_id": first, "mine": false }))
        .issue();
    client.call("complete_issue", as_agent(&claimed, "dev")).ok();
    client.call("get_next_review_item", json!({ "agent": "dev" })).issue();
    let both = serde_json::from_str(&client.call("get_next_issue", mine).ok()).unwrap();
    assert_eq!(titles(&both), ["first", "second"]);
    let wrong = json!({ "agent": "dev", "issue_id": first, "mine": true });
    assert!(client.call("get_next_issue", wrong).refusal().contains("leave out"));
}

#[test]
fn compact_replies_are_lines_and_short_confirmations() {
    let directory = directory();
    std::fs::write(directory.path().join("ait.toml"), "replies = \"compact\"\n").unwrap();
    let mut client = client(directory.path(), &[]);
    let agent = json!({ "title": "Login fails", "description": "D", "classification": "bug", "agent": "lead" });
    let filed = client.call("add_issue", agent).ok();
    let (id, rest) = filed.split_at(8);
    assert_eq!(rest, " filed: Login fails");
    let claim = client.call("get_next_issue", json!({ "agent": "dev" })).issue();
    assert_eq!((&claim["claim"], claim.get("earlier")), (&json!(1), None));
    assert_eq!(claim.get("history"), None);
    let listed = client.call("list_issues", json!({})).ok();
    let row = listed.strip_prefix("1 issue\n").unwrap();
    assert!(
        row.starts_with(&format!("{id} bug in_progress dev ")) && row.ends_with("s Login fails"),
        "{row}"
    );
    let whole = client.call("list_issues", json!({ "issue_id": id })).issue();
    assert_eq!(whole["history"].as_array().unwrap().len(), 2);
}

#[test]
fn long_issues_are_read_in_pages_through_skip() {
    let directory = directory();
    let mut client = client(directory.path(), &["--max-reply-tokens", "1000"]);
    let description: String = (0..3_000).map(|number| format!("word{number} ")).collect();
    let issue =
        json!({ "title": "T", "description": description, "classification": "bug", "agent": "a" });
    client.call("add_issue", issue).ok();
    let claim = client.call("get_next_issue", json!({ "agent": "dev" })).issue();
    let (mut read, mut page) = (String::new(), claim.clone());
    loop {
        read += page["description"].as_str().unwrap_or_default();
        let Some(more) = page["more"].as_str() else { break };
        let skip: u64 = more.rsplit(' ').next().unwrap().parse().unwrap();
        page = client.call("list_issues", json!({ "issue_id": claim["id"], "skip": skip })).issue();
    }
    assert_eq!(read, description);
}

#[test]
fn selected_fields_need_the_toolset_planning() {
    let directory = directory();
    let mut without = client(directory.path(), &[]);
    let id = without.add("first", "bug");
    let refused = without.call("list_issues", json!({ "fields": "id" })).refusal();
    assert!(refused.contains("`fields` is not a parameter"), "{refused}");
    let mut with = client(directory.path(), &["--toolsets", "planning"]);
    let listed = with.call("list_issues", json!({ "fields": "{ id history { action } }" })).ok();
    let row = format!(r#"{{"id":"{id}","history":[{{"action":"Issue filed"}}]}}"#);
    assert_eq!(listed, format!(r#"{{"count":1,"issues":[{row}]}}"#));
    let unknown = with.call("list_issues", json!({ "fields": "titel" })).refusal();
    assert!(unknown.contains("the fields are id, title"), "{unknown}");
    let claim =
        with.call("get_next_issue", json!({ "agent": "dev", "fields": "status,title" })).ok();
    assert_eq!(claim, r#"{"status":"in_progress","title":"first","claim":1}"#);
    let response = get(with.port(), "/api/issues?fields=status");
    let listed: Value = serde_json::from_str(&response.body).unwrap();
    assert_eq!(listed["issues"], json!([{ "status": "in_progress" }]));
    let bad = get(with.port(), "/api/issues?fields=titel");
    assert!(bad.status == 400 && bad.body.contains("the fields are id"), "{}", bad.body);
}

#[test]
fn the_tool_prefix_appears_in_every_tool_name() {
    let directory = directory();
    let mut client = Client::spawn(ait(directory.path()).args(["--tool-prefix", "team_"]));
    let started = client.initialize();
    assert!(started["instructions"].as_str().unwrap().contains("team_complete_issue"));
    let list = client.request("tools/list", json!({}));
    let names = list["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap());
    assert!(
        names.clone().count() == TOOLS.len() && names.clone().all(|name| name.starts_with("team_")),
        "{list}"
    );
    let missing = client.call("team_complete_issue", json!({})).refusal();
    assert!(missing.contains("team_complete_issue takes"), "{missing}");
    let unknown = json!({ "issue_id": "ffffffff", "comment": "c", "agent": "a" });
    assert!(client.call("team_return_issue", unknown).refusal().contains("team_list_issues shows"));
    let gone = client.request("tools/call", json!({ "name": "add_issue", "arguments": {} }));
    assert!(gone["message"].as_str().unwrap().contains("team_add_issue"), "{gone}");
    let prompt = client.request("prompts/get", json!({ "name": "developer" })).to_string();
    assert!(prompt.contains("team_get_next_issue"), "{prompt}");
}

/// The toolsets in a URL narrow a server that has more, and no error names a remedy that is in place.
#[test]
fn the_url_of_a_client_narrows_the_toolsets_of_the_server() {
    let directory = directory();
    let server = Server::start_with(directory.path(), 0, &["--toolsets", "planning,admin"]);
    let tools = |query: &str| {
        let mut agent = Agent::new(server.port);
        agent.query = query.to_owned();
        agent.begin();
        let list = agent.request("tools/list", json!({})).json().to_string();
        let refused = |agent: &mut Agent, tool: &str| {
            let params = json!({ "name": tool, "arguments": {} });
            agent.request("tools/call", params).json().to_string()
        };
        let [digest, doctor] = ["get_digest", "run_doctor"].map(|tool| refused(&mut agent, tool));
        (list, digest, doctor)
    };
    let (list, _, doctor) = tools("");
    assert!(list.contains("get_digest") && !list.contains("run_doctor"), "{list}");
    assert!(
        doctor.contains("needs a token of scope lead") && !doctor.contains("ait.toml"),
        "{doctor}"
    );
    let (list, digest, _) = tools("?toolsets=lifecycle");
    assert!(list.contains("add_issue") && !list.contains("get_digest"), "{list}");
    assert!(!list.contains("\"fields\""), "{list}");
    assert!(
        digest.contains("the URL of this client names others") && !digest.contains("ait.toml"),
        "{digest}"
    );
    let (list, _, _) = tools("?toolsets=");
    assert!(list.contains("get_digest"), "{list}");
}

#[test]
fn all_and_any_statuses_mean_the_same_everywhere() {
    let directory = directory();
    let mut client = client(directory.path(), &["--toolsets", "planning"]);
    let id = client.add("ended", "bug");
    let close = json!({ "issue_id": id, "resolution": "closed", "comment": "c", "agent": "dev" });
    client.call("close_issue", close).ok();
    for word in ["all", "any"] {
        assert_eq!(
            list(&mut client, json!({ "status": word, "classification": word }))["count"],
            1
        );
        assert_eq!(list(&mut client, json!({ "query": format!("status:{word}") }))["count"], 1);
        let listed = get(client.port(), &format!("/api/issues?status={word}")).json();
        assert_eq!(listed["total"], 1, "{listed}");
        assert!(get(client.port(), &format!("/?status={word}")).body.contains("ended"));
        for command in [&["list", "--status", word][..], &["list", &format!("status:{word}")]] {
            let shown = crate::support::runs::run(directory.path(), command);
            assert!(shown.out.contains("ended"), "{shown:?}");
        }
    }
}

#[test]
fn http_clients_choose_toolsets_by_url_and_lower_the_budget() {
    let directory = directory();
    let server = Server::start(directory.path());
    let http = connections();
    let post = |query: &str, budget: &str, method: &str, params: Value| {
        let mut params = params;
        params["_meta"] = crate::support::http::meta();
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let mut request = http
            .post(format!("http://127.0.0.1:{}/mcp{query}", server.port))
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", method);
        if let Some(name) = params["name"].as_str() {
            request = request.header("mcp-name", name);
        }
        if !budget.is_empty() {
            request = request.header("x-ait-max-reply-tokens", budget);
        }
        let response = request.body(body.to_string()).send().unwrap();
        (response.status().as_u16(), response.text().unwrap())
    };
    let (_, plain) = post("", "", "tools/list", json!({}));
    let (_, planning) = post("?toolsets=planning", "", "tools/list", json!({}));
    assert!(!plain.contains("\"fields\"") && planning.contains("\"fields\""), "{planning}");
    let (_, admin) = post("?toolsets=all", "", "tools/list", json!({}));
    assert!(admin.contains("\"fields\"") && !admin.contains("init_project"), "{admin}");
    let (status, unknown) = post("?toolsets=admn", "", "tools/list", json!({}));
    assert!(
        status == 400 && unknown.contains("planning, bulk, analysis, memory, sync, admin and all"),
        "{unknown}"
    );
    let (status, bad) = post("", "10", "tools/list", json!({}));
    assert!(status == 400 && bad.contains("from 1000 to 1000000"), "{bad}");

    let title = "a title of some words ".repeat(20);
    let add = json!({ "name": "add_issue", "arguments": { "title": title, "description": "", "classification": "bug", "agent": "a" } });
    for _ in 0..30 {
        assert_eq!(post("", "", "tools/call", add.clone()).0, 200);
    }
    let list = || json!({ "name": "list_issues", "arguments": {} });
    let (_, whole) = post("", "", "tools/call", list());
    let (_, short) = post("", "1000", "tools/call", list());
    let (_, raised) = post("", "1000000", "tools/call", list());
    assert!(!whole.contains("call again with skip") && raised == whole);
    assert!(short.contains("call again with skip") && short.len() < whole.len() / 2, "{short}");
}
