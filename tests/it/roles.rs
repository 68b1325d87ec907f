//! Roles: which tools a session has, over both transports, and what happens to one whose role cannot be used.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::http::{Agent, Server, meta};
use crate::support::{Client, TOOLS, ait, directory, health_issue_count, initialize_params};

const REVIEWER: [&str; 5] =
    ["add_issue", "list_issues", "return_issue", "get_next_review_item", "close_issue"];

/// Starts the server of an agent with a role.
fn agent(directory: &Path, role: &str) -> Client {
    Client::begin(ait(directory).args(["--role", role]))
}

fn names(listed: &Value) -> Vec<&str> {
    let tools = listed["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

fn write(directory: &Path, name: &str, text: &str) {
    let roles = directory.join(".ait/roles");
    fs::create_dir_all(&roles).unwrap();
    fs::write(roles.join(name), text).unwrap();
}

/// Returns the error with which a server that an agent starts refuses all requests, and which the agent reads at once.
fn refusal(client: &mut Client) -> String {
    let instructions = client.initialize()["instructions"].as_str().unwrap().to_owned();
    let call = json!({ "name": "list_issues", "arguments": {} });
    for (method, params) in
        [("tools/list", json!({})), ("prompts/list", json!({})), ("tools/call", call)]
    {
        assert_eq!(client.request(method, params)["message"], *instructions, "{method}");
    }
    // It serves others, too.
    health_issue_count(client.port());
    instructions
}

#[test]
fn a_role_narrows_the_tools_and_refuses_the_others() {
    let directory = directory();
    let mut client = agent(directory.path(), "reviewer");
    assert_eq!(names(&client.request("tools/list", json!({}))), REVIEWER);
    let arguments = json!({ "name": "get_next_issue", "arguments": { "agent": "a" } });
    let refused = client.request("tools/call", arguments);
    let details = json!({ "code": "NOT_ALLOWED", "recoverable": false });
    assert_eq!((&refused["isError"], &refused["_meta"]["ait/error"]), (&json!(true), &details));
    let text = refused["content"][0]["text"].as_str().unwrap();
    for words in ["\"reviewer\" does not have get_next_issue", "close_issue", "AIT_ROLE"] {
        assert!(text.contains(words), "{text}");
    }
    // What it has works, and a name that no tool has is refused as ever.
    client.add("t", "bug");
    let error = client.request("tools/call", json!({ "name": "get_nxt", "arguments": {} }));
    assert_eq!(error["code"], -32602, "{error}");
    // The prompt of the role is the only one, and the instructions are its own.
    let prompts = client.request("prompts/list", json!({}));
    assert_eq!(prompts["prompts"].as_array().unwrap().len(), 1);
    assert_eq!(prompts["prompts"][0]["name"], "code-reviewer");
    let told = Client::spawn(ait(directory.path()).env("AIT_ROLE", "reviewer")).initialize();
    let told = told["instructions"].as_str().unwrap();
    assert!(told.starts_with("You review") && !told.contains("complete_issue"), "{told}");
}

#[test]
fn each_role_has_its_tools_of_the_toolsets_that_the_server_has() {
    let directory = directory();
    for (role, alone, all) in [
        ("lead", &["add_issue", "list_issues", "return_issue"][..], 9),
        ("developer", &["get_next_issue", "complete_issue"], 7),
        ("bug-fixer", &["get_next_issue", "complete_issue"], 7),
        ("reviewer", &REVIEWER, 5),
        ("observer", &["list_issues"], 6),
    ] {
        let listed = agent(directory.path(), role).request("tools/list", json!({}));
        let narrow = names(&listed);
        assert!(alone.iter().all(|tool| narrow.contains(tool)), "{role}: {narrow:?}");
        assert!(narrow.len() < TOOLS.len(), "{role}: {narrow:?}");
        let mut client =
            Client::begin(ait(directory.path()).args(["--role", role, "--toolsets", "all"]));
        let listed = client.request("tools/list", json!({}));
        assert_eq!(names(&listed).len(), all, "{role}: {:?}", names(&listed));
        // Tools that change something are none of an observer.
        let is_read_only = |tool: &Value| tool["annotations"]["readOnlyHint"] == true;
        let is_observer = listed["tools"].as_array().unwrap().iter().all(is_read_only);
        assert_eq!(is_observer, role == "observer", "{listed}");
    }
    // A toolset of which a role has no tool adds no parameters, either.
    let narrow = agent(directory.path(), "reviewer").request("tools/list", json!({}));
    let wide = ["--role", "reviewer", "--toolsets", "all", "--tool-prefix", "x_"];
    let mut client = Client::begin(ait(directory.path()).args(wide));
    let wide = client.request("tools/list", json!({})).to_string();
    assert_eq!(wide.replace("x_", ""), narrow.to_string());
    // With a prefix, the role has the same tools.
    let refused = client.call("x_get_next_issue", json!({ "agent": "a" })).refusal();
    assert!(refused.contains("does not have x_get_next_issue; it has x_add_issue"), "{refused}");
}

#[test]
fn over_http_the_role_is_in_the_url_and_the_client_on_stdin_has_its_own() {
    let directory = directory();
    let mut lead = agent(directory.path(), "lead");
    let mut agent = Agent::new(lead.port());
    agent.begin();
    let listed = |agent: &mut Agent, params: Value| {
        let listed = agent.request("tools/list", params).json()["result"].clone();
        names(&listed).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(listed(&mut agent, json!({})), TOOLS);
    assert!(!names(&lead.request("tools/list", json!({}))).contains(&"get_next_issue"));
    agent.query = "?role=reviewer&toolsets=all".to_owned();
    agent.begin();
    assert_eq!(listed(&mut agent, json!({})), REVIEWER);
    assert_eq!(listed(&mut agent, json!({ "_meta": meta() })), REVIEWER);
    let refused = agent.call("complete_issue", json!({})).refusal();
    assert!(refused.contains("\"reviewer\" does not have complete_issue"), "{refused}");
    // A server for HTTP alone has a role for clients that name none.
    let server = Server::start_with(directory.path(), 0, &["--role", "observer"]);
    let mut observer = Agent::connect(server.port);
    assert_eq!(listed(&mut observer, json!({})), ["list_issues"]);
    observer.query = "?role=reviewer".to_owned();
    assert_eq!(listed(&mut observer, json!({})), REVIEWER);
}

#[test]
fn a_token_gives_a_role_that_no_url_changes() {
    let directory = directory();
    let file = directory.path().join("tokens");
    fs::write(
        &file,
        "rita read-write reviewer RRRRRRRRrrrrrrrr\nx read-only wrong XXXXXXXXxxxxxxxx\n",
    )
    .unwrap();
    let mut command = ait(directory.path());
    command.arg("serve").env("AIT_TOKEN_FILE", file);
    let server = Server::spawn(command, directory.path());
    let mut agent = Agent::authorized(server.port, "Bearer RRRRRRRRrrrrrrrr");
    for query in ["", "?role=lead&toolsets=all"] {
        agent.query = query.to_owned();
        agent.begin();
        let listed = agent.request("tools/list", json!({})).json()["result"].clone();
        assert_eq!(names(&listed), REVIEWER);
        let refused = agent.call("get_next_issue", json!({ "agent": "a" })).refusal();
        assert!(refused.contains("\"reviewer\" does not have get_next_issue"), "{refused}");
    }
    let mut other = Agent::authorized(server.port, "Bearer XXXXXXXXxxxxxxxx");
    let refused =
        other.request("tools/list", json!({ "_meta": meta() })).json()["error"]["message"]
            .to_string();
    assert!(refused.contains("no role") && refused.contains("the token"), "{refused}");
}

#[test]
fn a_project_adds_roles_and_replaces_ours() {
    let directory = directory();
    let text = "tools = [\"list_issues\", \"add_issue\"]\ninstructions = \"You file only.\"\n";
    write(directory.path(), "filer.toml", text);
    write(directory.path(), "reviewer.toml", "tools = [\"close_issue\"]\n");
    let mut filer = Client::spawn(ait(directory.path()).args(["--role", "filer"]));
    assert_eq!(filer.initialize()["instructions"], "You file only.");
    assert_eq!(names(&filer.request("tools/list", json!({}))), ["add_issue", "list_issues"]);
    // A role that says nothing of prompts takes none away.
    assert_eq!(filer.request("prompts/list", json!({}))["prompts"].as_array().unwrap().len(), 6);
    // A role stays for as long as the server runs.
    write(directory.path(), "filer.toml", "tools = [\"close_issue\"]\n");
    assert_eq!(names(&filer.request("tools/list", json!({}))), ["add_issue", "list_issues"]);
    let mut reviewer = agent(directory.path(), "reviewer");
    assert_eq!(names(&reviewer.request("tools/list", json!({}))), ["close_issue"]);
}

#[test]
fn a_session_whose_role_cannot_be_used_is_refused_and_the_server_stays() {
    let directory = directory();
    let path = directory.path();
    write(path, "filer.toml", "tools = [\"list_issues\"]\ntol = 1\n");
    write(path, "tester.toml", "tools = [\n  \"lst_issues\",\n]\n");
    std::os::unix::fs::symlink(path.join("elsewhere"), path.join(".ait/roles/linked.toml"))
        .unwrap();
    fs::write(path.join("elsewhere"), "tools = [\"list_issues\"]\n").unwrap();
    let server = Server::start(path);
    for (role, words) in [
        ("reveiwer", &["no role \"reveiwer\"", "did you mean reviewer?", "filer"][..]),
        ("../../elsewhere", &["no role"]),
        ("filer", &[".ait/roles/filer.toml, line 2", "\"tol\"", "tools, instructions, prompt"]),
        ("tester", &[".ait/roles/tester.toml, line 2", "did you mean list_issues?"]),
        ("linked", &[".ait/roles/linked.toml", "symbolic link"]),
    ] {
        let mut client = Client::spawn(ait(path).args(["--role", role]));
        let message = refusal(&mut client);
        assert!(words.iter().all(|words| message.contains(words)), "{message}");
        client.log().wait_for("a client is refused: ");
        // No tool of a client without a role, in no protocol era.
        let mut agent = Agent::new(server.port);
        agent.query = format!("?role={role}");
        let refused = agent.request("initialize", initialize_params()).json();
        assert_eq!(refused["error"]["message"], message);
        for method in ["tools/list", "server/discover", "prompts/list"] {
            let reply = agent.request(method, json!({ "_meta": meta() })).json();
            let error = reply["error"]["message"].as_str().unwrap_or_else(|| panic!("{reply}"));
            assert_eq!(error, message, "{method}");
        }
        let call = json!({ "name": "list_issues", "arguments": {}, "_meta": meta() });
        assert_eq!(agent.request("tools/call", call).json()["error"]["message"], message);
    }
    let mut other = Agent::connect(server.port);
    other.add("still served");
    // The session begins once the file is right.
    write(path, "filer.toml", "tools = [\"list_issues\"]\n");
    other.query = "?role=filer".to_owned();
    other.begin();
    assert_eq!(names(&other.request("tools/list", json!({})).json()["result"]), ["list_issues"]);
}
