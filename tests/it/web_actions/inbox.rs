//! Rows of the inbox that people put off, and attacks on their form.

use std::path::Path;

use super::{
    Form, READER, WRITER, basic, client, hidden_in, origin, send, serve, serve_with_tokens,
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
    assert_eq!(form(port).with("done", &first).done(), "/inbox?done=put-off");
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
