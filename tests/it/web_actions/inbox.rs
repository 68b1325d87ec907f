//! Rows of the inbox that people put off, and attacks on their form.

use std::path::Path;

use super::{
    Form, READER, WRITER, asked, basic, client, hidden_in, issue, origin, send, serve,
    serve_with_tokens,
};
use crate::support::runs::run;
use crate::support::{Client, directory, get};

/// The form of the inbox, as a browser sends it with one of its buttons.
#[track_caller]
fn form(port: u16) -> Form {
    let fields = hidden_in(&get(port, "/inbox").body, "action=\"/inbox\"");
    Form { port, path: "/inbox".to_owned(), fields }.with("agent", "Ann")
}

/// Files two issues whose titles say nothing. Returns the names of their rows.
fn filed(directory: &Path) -> [String; 2] {
    let mut agent = Client::start(directory);
    ["TODO", "TBD"].map(|title| format!("placeholder_title:{}", agent.add(title, "bug")))
}

/// Returns how many rows about such titles the inbox shows, and how many are put off.
fn rows(port: u16) -> (usize, usize) {
    let body = get(port, "/inbox?kind=placeholder_title").body;
    let (shown, put_off) = body.split_once("id=\"put-off\"").unwrap_or((&body, ""));
    let count = |part: &str| part.matches("<div class=\"attention-what\"").count();
    (count(shown), count(put_off))
}

#[test]
fn a_row_is_put_off_until_its_issue_changes_or_for_a_day() {
    let directory = directory();
    let server = serve(directory.path());
    let port = server.port;
    let [first, second] = filed(directory.path());
    assert_eq!(rows(port), (2, 0));
    let done = form(port).with("done", &first).done();
    assert!(done.starts_with("/inbox?done=put-off&row="), "{done}");
    // The notice takes it back, and no address names anything but a row.
    let takes_back = |address: &str| get(port, address).body.contains("class=\"undo\"");
    assert!(takes_back(&done) && !takes_back("/inbox?done=put-off&row=%22%3E"));
    form(port).with("snooze", &second).done();
    assert_eq!(rows(port), (0, 2));
    assert!(!get(port, "/").body.contains("?kind=placeholder_title"), "the number says the same");
    // Another process reads it, and a restart keeps it.
    let other = serve(directory.path());
    assert_eq!(rows(other.port), (0, 2));
    let id = |row: &str| row.split(':').nth(1).unwrap().to_owned();
    for row in [&first, &second] {
        run(directory.path(), &["edit", &id(row), "-p", "1", "-a", "ann"]).ok();
    }
    assert_eq!(rows(port), (1, 1), "a change brings back what was done, and not what is snoozed");
    assert_eq!(form(port).with("show", &second).done(), "/inbox?done=bring-back");
    assert_eq!(rows(port), (2, 0));
    run(directory.path(), &["save"]).ok();
    let file = std::fs::read_to_string(directory.path().join("issues.json")).unwrap();
    assert!(file.contains("\"putOff\""), "{file}");
}

#[test]
fn forged_forms_put_nothing_off() {
    let directory = directory();
    let server = serve_with_tokens(directory.path());
    let port = server.port;
    let [row, _] = filed(directory.path());
    let page = |secret: &str| {
        let url = format!("{}/inbox", origin(port));
        send(client().get(url).header("authorization", basic(secret))).body
    };
    assert!(!page(READER).contains("action=\"/inbox\""));
    let fields = hidden_in(&page(WRITER), "action=\"/inbox\"");
    let form = Form { port, path: "/inbox".to_owned(), fields };
    let form = form.with("agent", "Ann").with("done", &row);
    let written = |form: &Form| form.request().header("authorization", basic(WRITER));
    for (name, request, status) in [
        ("without a token", written(&form.clone().with("token", "")), 403),
        ("with another access token", form.request().header("authorization", basic(READER)), 403),
        ("without an access token", form.request(), 401),
        (
            "from elsewhere",
            form.bare()
                .header("origin", "http://evil.example")
                .header("authorization", basic(WRITER)),
            403,
        ),
        ("without a name", written(&form.clone().with("agent", "")), 400),
        ("no row", written(&form.clone().with("done", "")), 400),
        ("a long name", written(&form.clone().with("done", &"x".repeat(10_000))), 400),
        ("no id", written(&form.clone().with("done", "stale:../../x")), 400),
    ] {
        let response = send(request);
        assert_eq!(response.status, status, "{name}: {}", response.body);
    }
    assert!(!page(WRITER).contains("id=\"put-off\""));
    // Positive control: the same form as a browser sends it.
    assert_eq!(send(written(&form)).status, 303);
    assert!(page(WRITER).contains("id=\"put-off\""));
}

/// Returns what the button of the first option of a question sends, as a page has it.
fn first_option(page: &str) -> String {
    let after = page.split_once("name=\"answer\" value=\"").expect("a button").1;
    after.split_once('"').unwrap().0.to_owned()
}

#[test]
fn a_question_is_answered_by_its_option_where_it_stands() {
    let directory = directory();
    let id = asked(directory.path());
    let server = serve(directory.path());
    let port = server.port;
    for page in ["/board", "/", "/inbox", "/inbox?kind=question"] {
        let body = get(port, page).body;
        let answer = first_option(&body);
        assert!(answer.starts_with(&id) && answer.ends_with(":1"), "{answer}");
        let fields = hidden_in(&body, "action=\"/inbox\"");
        let form = Form { port, path: "/inbox".to_owned(), fields }.with("agent", "Ann");
        let form = form.with("answer", &answer);
        let done = form.clone().done();
        let place = page.split('?').next().unwrap();
        assert!(done.starts_with(&format!("{place}?done=answer&undo=")), "{done}");
        assert!(issue(directory.path(), &id)["parked"].is_null());
        // Twice, or after another question, it answers nothing.
        assert_eq!(send(form.request()).status, 409);
        let other = format!("Another than that of {page}?");
        run(directory.path(), &["ask", &id, &other, "--option", "Yes", "-a", "dev"]).ok();
        assert_eq!(send(form.request()).status, 409);
        assert!(!issue(directory.path(), &id)["parked"].is_null());
    }
}

#[test]
fn forged_answers_change_nothing() {
    let directory = directory();
    let id = asked(directory.path());
    let server = serve_with_tokens(directory.path());
    let port = server.port;
    let page = |secret: &str| {
        let url = format!("{}/board", origin(port));
        send(client().get(url).header("authorization", basic(secret))).body
    };
    assert!(!page(READER).contains("name=\"answer\""));
    let body = page(WRITER);
    let answer = first_option(&body);
    let (question, _) = answer.rsplit_once(':').unwrap();
    let fields = hidden_in(&body, "action=\"/inbox\"");
    let form = Form { port, path: "/inbox".to_owned(), fields }.with("agent", "Ann");
    let form = form.with("answer", &answer);
    let written = |form: &Form| form.request().header("authorization", basic(WRITER));
    let with = |answer: &str| written(&form.clone().with("answer", answer));
    for (name, request, status) in [
        ("without a token", written(&form.clone().with("token", "")), 403),
        ("with another access token", form.request().header("authorization", basic(READER)), 403),
        ("without an access token", form.request(), 401),
        (
            "from elsewhere",
            form.bare()
                .header("origin", "http://evil.example")
                .header("authorization", basic(WRITER)),
            403,
        ),
        ("without a name", written(&form.clone().with("agent", "")), 400),
        ("no option", with(&format!("{question}:")), 400),
        ("an option that there is not", with(&format!("{question}:99")), 409),
        ("a text as the option", with(&format!("{question}:1:2")), 400),
        ("another question", with(&format!("{id}:{}:1", "0".repeat(16))), 409),
        ("the issue alone", with(&id), 409),
        ("no issue", with("../../x:y:1"), 404),
        ("an unknown issue", with(&format!("{}:x:1", "f".repeat(8))), 404),
        ("a long text", with(&"x".repeat(10_000)), 404),
    ] {
        let response = send(request);
        assert_eq!(response.status, status, "{name}: {}", response.body);
        assert!(!issue(directory.path(), &id)["parked"].is_null(), "{name}");
    }
    // A page elsewhere is no way back.
    let away = written(&form.clone().with("back", "https://evil.example/"));
    let response = send(away);
    assert_eq!(response.status, 303);
    let place = response.headers["location"].to_str().unwrap();
    assert!(place.starts_with("/?done=answer"), "{place}");
}
