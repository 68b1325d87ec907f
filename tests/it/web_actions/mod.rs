//! Changes that people make on the pages and over `/api`, and attacks on them.

pub mod api;
mod attacks;
mod inbox;
mod many;
mod sync;
mod views;

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use reqwest::blocking::{Client as Http, RequestBuilder};
use serde_json::{Value, json};

use crate::support::http::{Server, client_builder};
use crate::support::runs::run;
use crate::support::{Client, Response, ait, directory, get};

const READER: &str = "RRRRRRRRrrrrrrrr";
pub const WRITER: &str = "WWWWWWWWwwwwwwww";
const OTHER: &str = "OOOOOOOOoooooooo";
const LEAD: &str = "LLLLLLLLllllllll";
const FORM: &str = "application/x-www-form-urlencoded";

/// Starts a server with `--web-actions`.
pub fn serve(directory: &Path) -> Server {
    Server::start_with(directory, 0, &["--web-actions"])
}

/// Starts a server with `--web-actions` and tokens of each scope.
pub fn serve_with_tokens(directory: &Path) -> Server {
    let file = directory.join("tokens");
    let tokens = format!(
        "eve read-only {READER}\nadam read-write {WRITER}\ndefault read-write {OTHER}\nada lead {LEAD}\n"
    );
    std::fs::write(&file, tokens).unwrap();
    let mut command = ait(directory);
    command.args(["serve", "--web-actions"]).env("AIT_TOKEN_FILE", file);
    Server::spawn(command, directory)
}

/// Files an issue on which `dev` asks a question. Returns its id.
fn asked(directory: &Path) -> String {
    let mut agent = Client::begin(ait(directory).args(["--toolsets", "planning"]));
    let id = agent.add("Which <b>database</b>?", "bug");
    agent.call("get_next_issue", json!({ "agent": "dev" })).issue();
    let question = json!({ "issue_id": id, "agent": "dev", "question": "Which?", "options": ["SQLite", "<i>[Postgres](https://db.example)"] });
    agent.call("ask_human", question).ok();
    id
}

/// Files an issue that `dev` claims. Returns its id.
fn claimed(directory: &Path) -> String {
    let mut agent = Client::start(directory);
    let id = agent.add("t", "bug");
    agent.call("get_next_issue", json!({ "agent": "dev" })).issue();
    id
}

fn client() -> Http {
    client_builder().redirect(reqwest::redirect::Policy::none()).build().unwrap()
}

fn send(request: RequestBuilder) -> Response {
    let response = request.send().unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    Response { status, headers, body: response.text().unwrap() }
}

fn origin(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

/// Returns the stored issue.
fn issue(directory: &Path, id: &str) -> Value {
    serde_json::from_str(&run(directory, &["show", id, "--json"]).ok()).unwrap()
}

fn unescaped(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    text.replace("&amp;", "&")
}

/// Returns the hidden fields of a form, as a browser would send them.
#[track_caller]
fn hidden(page: &str, action: &str) -> Vec<(String, String)> {
    let target =
        if action == "file" { "action=\"/new\">".into() } else { format!("/actions/{action}\">") };
    hidden_in(page, &target)
}

/// Returns the hidden fields of the form whose tag has this text.
#[track_caller]
fn hidden_in(page: &str, target: &str) -> Vec<(String, String)> {
    let (_, form) = page.split_once(target).unwrap_or_else(|| panic!("no {target} in {page}"));
    let form = form.split("</form>").next().unwrap();
    let inputs = form.split("<input type=\"hidden\" name=\"").skip(1);
    let field = |input: &str| {
        let (name, rest) = input.split_once("\" value=\"").unwrap();
        (name.to_owned(), unescaped(rest.split('"').next().unwrap()))
    };
    inputs.map(field).collect()
}

/// A form on the page of an issue, filled in and sent as a browser does.
#[derive(Clone)]
pub struct Form {
    port: u16,
    path: String,
    fields: Vec<(String, String)>,
}

impl Form {
    /// Loads the page of an issue.
    #[track_caller]
    pub fn load(port: u16, id: &str, action: &str) -> Self {
        Self::on(&get(port, &format!("/issues/{id}")).body, port, id, action)
    }

    /// Finds the form on a page.
    #[track_caller]
    fn on(page: &str, port: u16, id: &str, action: &str) -> Self {
        let path = format!("/issues/{id}/actions/{action}");
        Self { port, path, fields: hidden(page, action) }.with("agent", "Ann")
    }

    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.fields.retain(|(known, _)| known != name);
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    fn body(&self) -> String {
        let mut body = form_urlencoded::Serializer::new(String::new());
        body.extend_pairs(&self.fields).finish()
    }

    /// Returns a request without the headers that a browser adds.
    fn bare(&self) -> RequestBuilder {
        let request = client().post(format!("{}{}", origin(self.port), self.path));
        request.header("content-type", FORM).body(self.body())
    }

    fn request(&self) -> RequestBuilder {
        self.bare().header("origin", origin(self.port)).header("sec-fetch-site", "same-origin")
    }

    fn send(&self) -> Response {
        send(self.request())
    }

    /// Sends the form and returns the target of its redirect.
    #[track_caller]
    pub fn done(&self) -> String {
        let response = self.send();
        assert_eq!(response.status, 303, "{}", response.body);
        response.headers["location"].to_str().unwrap().to_owned()
    }
}

#[test]
fn people_act_on_an_issue_from_its_page() {
    let directory = directory();
    let server = serve(directory.path());
    let id = asked(directory.path());
    let (path, port) = (directory.path(), server.port);
    let last = |issue: &Value, list: &str| issue[list].as_array().unwrap().last().unwrap().clone();

    let form = Form::load(port, &id, "answer").with("option", "2").with("text", "");
    let response = form.send();
    let cookie = response.headers["set-cookie"].to_str().unwrap().to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let location = response.headers["location"].to_str().unwrap();
    assert_eq!(response.status, 303);
    assert!(location.starts_with(&format!("/issues/{id}?done=answer&undo=")), "{location}");
    let answered = issue(path, &id);
    assert_eq!(answered["parked"], Value::Null);
    assert_eq!(last(&answered, "comments")["text"], "<i>[Postgres](https://db.example)");
    assert_eq!(last(&answered, "history")["agent"], "Ann");
    let page = get(port, location).body;
    assert!(page.contains("The answer is saved."), "{page}");
    assert!(!page.contains("id=\"act-answer\""), "the form is still there after the answer");

    Form::load(port, &id, "comment").with("text", "one\r\ntwo").done();
    assert_eq!(last(&issue(path, &id), "comments")["text"], "one\ntwo");
    Form::load(port, &id, "attributes").with("priority", "1").with("labels", "ui, area:db").done();
    let changed = issue(path, &id);
    assert_eq!((&changed["priority"], &changed["labels"]), (&json!(1), &json!(["area:db", "ui"])));
    Form::load(port, &id, "attributes").with("priority", "").with("labels", "ui").done();
    let changed = issue(path, &id);
    assert_eq!((&changed["priority"], &changed["labels"]), (&Value::Null, &json!(["ui"])));
    Form::load(port, &id, "park").with("text", "no Mac").done();
    let parked = issue(path, &id)["parked"].clone();
    assert_eq!((&parked["reason"], &parked["by"]), (&json!("no Mac"), &json!("Ann")));
    Form::load(port, &id, "unpark").done();
    assert_eq!(issue(path, &id)["parked"], Value::Null);

    // The log records the entered name.
    let events: Value = serde_json::from_str(&get(port, "/api/activity?agent=Ann").body).unwrap();
    assert_eq!(events["events"].as_array().unwrap().len(), 6, "{events}");
    // The browser remembers the name in a cookie.
    let pair = cookie.split(';').next().unwrap();
    let page = send(client().get(format!("{}/issues/{id}", origin(port))).header("cookie", pair));
    assert!(page.body.contains("name=\"agent\" value=\"Ann\""), "{}", page.body);
}

#[test]
fn people_edit_the_texts_and_properties_of_an_issue_in_place() {
    let directory = directory();
    let server = serve(directory.path());
    let (id, port) = (claimed(directory.path()), server.port);
    let other = Client::start(directory.path()).add("other", "bug");
    let page = get(port, &format!("/issues/{id}")).body;
    assert!(
        page.contains("<datalist id=\"known-labels\">") && page.contains("list=\"known-names\"")
    );
    let long = "# Steps\n\n1. <b>one</b>\n";
    let texts = Form::load(port, &id, "texts");
    texts.clone().with("title", "Say it").with("text", long).done();
    let form = Form::load(port, &id, "attributes");
    let form = form.with("classification", "feature").with("parent", "").with("estimate", "3");
    form.with("blockers", &other[..8]).with("due", "2030-01-31").done();
    let now = issue(directory.path(), &id);
    assert_eq!((&now["title"], &now["description"]), (&json!("Say it"), &json!(long)));
    assert_eq!((&now["classification"], &now["estimate"]), (&json!("feature"), &json!(3)));
    assert_eq!(now["links"], json!([{ "kind": "blocked_by", "to": other }]));
    // A form that is older keeps what others changed, and what was typed into it.
    let stale = texts.with("title", "t").with("text", "mine").send();
    assert_eq!(stale.status, 409);
    assert!(stale.body.contains("value=\"Say it\"") && stale.body.contains("\nmine</textarea>"));
    let whole = Form::load(port, &id, "attributes").with("blockers", "").with("parent", &other);
    whole.done();
    let now = issue(directory.path(), &id);
    assert_eq!(now["links"], json!([{ "kind": "parent", "to": other }]));
    // An issue that has ended keeps its texts.
    run(directory.path(), &["close", &id, "-m", "done", "-a", "ann", "--force"]).ok();
    assert!(!get(port, &format!("/issues/{id}")).body.contains("/actions/texts"));
}

/// Returns the form that files an issue, with a classification and a name.
pub fn filing(port: u16) -> Form {
    let page = get(port, "/new");
    assert_eq!(page.status, 200, "{}", page.body);
    let fields = hidden(&page.body, "file");
    let form = Form { port, path: "/new".to_owned(), fields };
    form.with("classification", "bug").with("agent", "Ann")
}

#[test]
fn people_file_assign_and_end_issues() {
    let directory = directory();
    let server = serve(directory.path());
    let (path, port) = (directory.path(), server.port);
    assert!(get(port, "/").body.contains("href=\"/new\""));
    let form = filing(port).with("title", "Too <slow>").with("text", "one\r\ntwo");
    let form = form.with("priority", "1").with("labels", "ui perf").with("assignee", "dev");
    let form = form.with("due", "2026-11-21").with("estimate", "2.5");
    let location = form.done();
    let id = location.strip_prefix("/issues/").unwrap().split('?').next().unwrap();
    let filed = issue(path, id);
    assert_eq!(
        (&filed["title"], &filed["description"]),
        (&json!("Too <slow>"), &json!("one\ntwo"))
    );
    assert_eq!((&filed["priority"], &filed["labels"]), (&json!(1), &json!(["perf", "ui"])));
    assert_eq!((&filed["assignee"], &filed["classification"]), (&json!("dev"), &json!("bug")));
    assert_eq!((&filed["due"], &filed["estimate"]), (&json!("2026-11-21"), &json!(2.5)));
    assert_eq!(filed["history"][0]["agent"], "Ann");
    let near =
        filing(port).with("title", "Too <slow>!").with("text", "x").with("agent", "Ann").done();
    let near = get(port, &near).body;
    assert!(
        near.contains("nearly the same title") && near.contains("Too &lt;slow&gt;</a>"),
        "{near}"
    );
    assert!(get(port, &location).body.contains("The issue is filed."));
    // Sending the same form again files nothing; the page returns it with a new token.
    let again = form.send();
    assert_eq!(again.status, 409);
    assert!(again.body.contains("has filed an issue already"), "{}", again.body);
    assert!(again.body.contains("value=\"Too &lt;slow&gt;\""), "{}", again.body);
    let mut other = form.clone();
    other.fields = hidden(&again.body, "file");
    let other = other.with("title", "b").with("classification", "feature").with("agent", "Ann");
    assert_ne!(other.done(), location);

    Form::load(port, id, "attributes").with("assignee", "").with("labels", "ui").done();
    assert_eq!(issue(path, id)["assignee"], Value::Null);
    assert_eq!(issue(path, id)["priority"], 1, "a field that the form lacks stays");

    run(path, &["claim", id, "--agent", "dev"]).ok();
    for (outcome, expected) in [("rejected", "rejected"), ("closed", "closed")] {
        let form = Form::load(port, id, "close").with("outcome", outcome).with("text", "<done>");
        let question = form.send();
        assert_eq!(question.status, 200, "{}", question.body);
        for shown in [
            "dev has held this issue",
            "Agents cannot open an issue again",
            expected,
            "&lt;done&gt;",
        ] {
            assert!(question.body.contains(shown), "no {shown} in {}", question.body);
        }
        assert_eq!(issue(path, id)["status"], "in_progress");
        if outcome == "closed" {
            Form { fields: hidden(&question.body, "close"), ..form }.done();
        }
    }
    let closed = issue(path, id);
    assert_eq!(closed["status"], "closed");
    assert!(closed["comments"][0]["text"].as_str().unwrap().starts_with("<done>"), "{closed}");
    let page = get(port, &format!("/issues/{id}")).body;
    assert!(!page.contains("/actions/close\"") && !page.contains("name=\"assignee\""), "{page}");
    let empty = Form::load(port, id, "reopen").send();
    assert_eq!(empty.status, 400, "{}", empty.body);
    let location = Form::load(port, id, "reopen").with("text", "it is not done").done();
    assert!(get(port, &location).body.contains("The issue is back in the queue."));
    let open = issue(path, id);
    assert_eq!(
        (&open["status"], &open["comments"][1]["agent"]),
        (&json!("created"), &json!("Ann"))
    );
}

#[test]
fn a_question_says_where_it_can_be_answered() {
    let directory = directory();
    let id = asked(directory.path());
    for (actions, expected) in [
        (true, format!("/issues/{id}#issue-question")),
        (false, format!("ait answer {}", &id[..8])),
    ] {
        let setting = format!("web-actions = {actions}\n");
        std::fs::write(directory.path().join("ait.toml"), setting).unwrap();
        let server = Server::start(directory.path());
        let board = get(server.port, "/board").body;
        let page = get(server.port, &format!("/issues/{id}")).body;
        assert!(board.contains(&expected), "{board}");
        assert_eq!(board.contains("in a terminal"), !actions, "{board}");
        assert_eq!(page.contains("in a terminal"), !actions, "{page}");
        assert_eq!(page.contains("id=\"act-answer\""), actions, "{page}");
    }
}

#[test]
fn ending_a_claim_needs_a_confirmation() {
    let directory = directory();
    std::fs::write(directory.path().join("ait.toml"), "web-actions = true\nclaims = \"owned\"\n")
        .unwrap();
    let server = Server::start(directory.path());
    let (id, port) = (claimed(directory.path()), server.port);
    let form = Form::load(port, &id, "return").with("text", "\"stuck\" & <old>");
    let question = form.send();
    assert_eq!(question.status, 200, "{}", question.body);
    assert!(question.body.contains("dev has held this issue"), "{}", question.body);
    assert_eq!(issue(directory.path(), &id)["status"], "in_progress");
    // The token of the first step does not confirm the second.
    let forged = form.with("confirmed", "true").send();
    assert_eq!(forged.status, 403);
    assert_eq!(issue(directory.path(), &id)["status"], "in_progress");
    let mut confirmed = Form::on(&question.body, port, &id, "return");
    confirmed.fields = hidden(&question.body, "return");
    confirmed.done();
    let returned = issue(directory.path(), &id);
    assert_eq!(returned["status"], "created");
    let comment = returned["comments"][0]["text"].as_str().unwrap();
    assert!(
        comment.starts_with("\"stuck\" & <old>") && comment.contains("dev held claim 1"),
        "{comment}"
    );
}

#[test]
fn without_the_setting_every_page_is_read_only() {
    let directory = directory();
    let server = Server::start(directory.path());
    let (id, port) = (asked(directory.path()), server.port);
    let before = issue(directory.path(), &id);
    for path in ["/", "/board", "/issues/ID", "/issues/ID?done=comment"] {
        let page = get(port, &path.replace("ID", &id)).body;
        assert!(!page.contains("method=\"post\"") && !page.contains("/actions/"), "{page}");
        assert!(
            !page.contains("is saved") && page.contains("These pages are read-only."),
            "{page}"
        );
    }
    let answer = format!("/api/issues/{id}/answer");
    for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS] {
        for path in [
            format!("/issues/{id}/actions/comment"),
            answer.clone(),
            "/new".to_owned(),
            "/issues/actions".to_owned(),
            "/undo".to_owned(),
        ] {
            let request = client().request(method.clone(), format!("{}{path}", origin(port)));
            let response = send(request.header("content-type", FORM).body("text=x&agent=a"));
            assert_eq!(
                (response.status, &response.headers["allow"]),
                (405, &"GET, HEAD".parse().unwrap())
            );
        }
    }
    assert_eq!(get(port, &format!("/issues/{id}/actions/comment")).status, 404);
    assert_eq!(get(port, &answer).status, 404);
    assert_eq!(get(port, "/new").status, 404);
    assert_eq!(issue(directory.path(), &id), before);
}

#[test]
fn a_stale_form_shows_the_changes_and_keeps_the_text() {
    let directory = directory();
    let server = serve(directory.path());
    let (id, port) = (claimed(directory.path()), server.port);
    let form =
        Form::load(port, &id, "comment").with("text", "\nfirst <script>").with("agent", "A & B");
    form.done();
    let again = form.send();
    assert_eq!(again.status, 409);
    for shown in ["perhaps because the form was sent twice", "Comment added", "value=\"A &amp; B\""]
    {
        assert!(again.body.contains(shown), "no {shown} in {}", again.body);
    }
    // HTML ignores the first line break after the tag.
    assert!(again.body.contains(">\n\nfirst &lt;script&gt;</textarea>"), "{}", again.body);
    // The form on that page is valid for the current version of the issue.
    let mut fresh = Form::on(&again.body, port, &id, "comment").with("text", "second");
    fresh.done();
    run(directory.path(), &["complete", &id, "-m", "done: <b>all</b>", "--agent", "dev"]).ok();
    fresh = fresh.with("text", "third");
    let stale = fresh.send();
    assert_eq!(stale.status, 409);
    for shown in
        ["Issue completed", "done: &lt;b&gt;all&lt;/b&gt;", "third</textarea>", "completed</span>"]
    {
        assert!(stale.body.contains(shown), "no {shown} in {}", stale.body);
    }
    let comments = issue(directory.path(), &id)["comments"].as_array().unwrap().len();
    assert_eq!(comments, 3);
}

/// Sending a stale form again changes only the fields that the user edited.
#[test]
fn a_stale_form_keeps_newer_attributes_and_questions() {
    let directory = directory();
    let server = serve(directory.path());
    let (id, path, port) = (asked(directory.path()), directory.path(), server.port);
    run(path, &["edit", &id, "--label", "old,ui", "-p", "2", "--agent", "lead"]).ok();
    let form = Form::load(port, &id, "attributes").with("priority", "2").with("assignee", "carol");
    let form = form.with("labels", "ui mine");
    let answer = Form::load(port, &id, "answer").with("option", "1").with("text", "");
    run(path, &["edit", &id, "--label", "+db", "-p", "0", "--agent", "lead"]).ok();
    let stale = form.send();
    assert_eq!(stale.status, 409);
    for shown in
        ["value=\"db ui mine\"", "value=\"carol\"", "<option value=\"0\" selected>0</option>"]
    {
        assert!(stale.body.contains(shown), "no {shown} in {}", stale.body);
    }
    run(path, &["answer", &id, "neither", "--agent", "bob"]).ok();
    let ask = ["ask", &id, "Drop <it>?", "--option", "Yes", "--option", "No", "--agent", "dev"];
    run(path, &ask).ok();
    let stale = answer.send();
    assert_eq!(stale.status, 409);
    assert!(stale.body.contains("Drop &lt;it&gt;?"), "{}", stale.body);
    let options = stale.body.split_once("<fieldset>").unwrap().1;
    assert!(!options.split_once("</fieldset>").unwrap().0.contains("checked"), "{options}");
}

#[test]
fn an_invalid_form_returns_with_its_contents() {
    let directory = directory();
    let server = serve(directory.path());
    let (id, port) = (asked(directory.path()), server.port);
    let before = issue(directory.path(), &id);
    let long = "x".repeat(100_001);
    for (action, fields, problem, kept) in [
        ("comment", [("text", " \n"), ("agent", "Ann")], "The text is empty", "value=\"Ann\""),
        (
            "comment",
            [("text", "kept"), ("agent", " ")],
            "Your name: agent is blank",
            "kept</textarea>",
        ),
        ("comment", [("text", &*long), ("agent", "Ann")], "at most 100000", "xxx</textarea>"),
        ("answer", [("text", ""), ("option", "")], "There is no answer", ""),
        ("answer", [("text", "kept"), ("option", "1")], "but not both", "kept</textarea>"),
        ("answer", [("text", "kept"), ("option", "1")], "but not both", "value=\"1\" checked"),
        ("answer", [("text", ""), ("option", "x")], "not one of those", ""),
        (
            "attributes",
            [("priority", "7"), ("labels", "kept")],
            "is not a priority",
            "value=\"kept\"",
        ),
        ("attributes", [("priority", ""), ("labels", "a B")], "is not a label", "value=\"a B\""),
    ] {
        let form = Form::load(port, &id, action);
        let form = fields.into_iter().fold(form, |form, (name, value)| form.with(name, value));
        let response = form.send();
        assert_eq!(response.status, 400, "{problem}: {}", response.body);
        assert!(response.body.contains("Nothing was changed"), "{}", response.body);
        assert!(response.body.contains(problem), "no {problem} in {}", response.body);
        assert!(response.body.contains(kept), "no {kept} in {}", response.body);
    }
    // These are refused by the rules of the domain.
    for (action, fields, problem) in [
        ("answer", [("text", ""), ("option", "3")], "has no option 3"),
        ("attributes", [("priority", ""), ("labels", "")], "nothing would change"),
    ] {
        let form = Form::load(port, &id, action);
        let form = fields.into_iter().fold(form, |form, (name, value)| form.with(name, value));
        let response = form.send();
        assert_eq!(response.status, 409, "{}", response.body);
        assert!(response.body.contains(problem), "no {problem} in {}", response.body);
    }
    assert_eq!(issue(directory.path(), &id), before);
}

fn bearer(secret: &str) -> String {
    format!("Bearer {secret}")
}

fn basic(secret: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("me:{secret}")))
}
