//! One action on many issues, and the undo of what was done.

use std::path::Path;

use serde_json::{Value, json};

use super::{
    Form, OTHER, READER, WRITER, bearer, client, filing, hidden_in, issue, origin, send, serve,
    serve_with_tokens,
};
use crate::support::http::Server;
use crate::support::runs::run;
use crate::support::{Client, Response, ait, directory, get};

const PATH: &str = "/issues/actions";

/// Files so many issues. Returns their ids.
fn filed(directory: &Path, count: usize) -> Vec<String> {
    let mut agent = Client::begin(&mut ait(directory));
    (0..count).map(|number| agent.add(&format!("Issue <{number}>"), "bug")).collect()
}

/// The bar below the list, with all issues of the page selected.
#[track_caller]
fn bar_on(page: &str, port: u16) -> Form {
    let (_, rest) =
        page.split_once("id=\"pick-all\"").unwrap_or_else(|| panic!("no box in {page}"));
    let all = rest.split_once("value=\"").unwrap().1.split('"').next().unwrap().to_owned();
    let fields = hidden_in(page, "action=\"/issues/actions\"");
    Form { port, path: PATH.to_owned(), fields }.with("issue", &all).with("agent", "Ann")
}

#[track_caller]
fn bar(port: u16) -> Form {
    bar_on(&get(port, "/").body, port)
}

/// The form on the page that asks for what an action needs.
#[track_caller]
fn asked(response: &Response, form: &Form) -> Form {
    assert_eq!(response.status, 200, "{}", response.body);
    let fields = hidden_in(&response.body, "action=\"/issues/actions\"");
    Form { fields, ..form.clone() }.with("agent", "Ann")
}

/// The form of the undo on a page.
#[track_caller]
fn undo_on(page: &str, port: u16) -> Form {
    let fields = hidden_in(page, "action=\"/undo\"");
    Form { port, path: "/undo".to_owned(), fields }.with("agent", "Ann")
}

fn priorities(directory: &Path, ids: &[String]) -> Vec<Value> {
    ids.iter().map(|id| issue(directory, id)["priority"].clone()).collect()
}

#[test]
fn people_change_the_selected_issues_together_and_undo_it() {
    let directory = directory();
    let server = serve(directory.path());
    let (path, port) = (directory.path(), server.port);
    let ids = filed(path, 3);
    run(path, &["edit", &ids[0], "-l", "+old", "--agent", "lead"]).ok();
    let set = bar(port).with("action", "attributes").with("priority", "1");
    let set = set.with("labels", "ui, +db -old").with("assignee", "dev");
    let location = set.with("back", "/?status=open&page=1").done();
    assert!(location.starts_with("/?status=open&done=attributes&issues=3&undo="), "{location}");
    for id in &ids {
        let changed = issue(path, id);
        assert_eq!((&changed["priority"], &changed["assignee"]), (&json!(1), &json!("dev")));
        assert_eq!(changed["labels"], json!(["db", "ui"]));
        assert_eq!(changed["history"].as_array().unwrap().last().unwrap()["agent"], "Ann");
    }
    let page = get(port, &location).body;
    assert!(page.contains("3 issues changed.") && page.contains(">Undo<"), "{page}");
    let location = undo_on(&page, port).done();
    assert!(location.starts_with("/?status=open&done=undo&undo="), "{location}");
    assert_eq!(priorities(path, &ids), [Value::Null, Value::Null, Value::Null]);
    assert_eq!(issue(path, &ids[0])["labels"], json!(["old"]));
    // An undo is a change, which is undone in the same way.
    let page = get(port, &location).body;
    assert!(page.contains("The last action is undone.") && page.contains(">Redo<"), "{page}");
    undo_on(&page, port).done();
    assert_eq!(priorities(path, &ids), [1, 1, 1]);
    bar(port).with("action", "attributes").with("priority", "none").with("assignee", "none").done();
    assert_eq!(priorities(path, &ids), [Value::Null, Value::Null, Value::Null]);
    assert_eq!(issue(path, &ids[1])["assignee"], Value::Null);
    assert_eq!(issue(path, &ids[1])["labels"], json!(["db", "ui"]), "an empty field leaves them");
}

#[test]
fn what_is_refused_is_named_and_the_rest_is_done() {
    let directory = directory();
    let server = serve(directory.path());
    let (path, port) = (directory.path(), server.port);
    let ids = filed(path, 3);
    let set = bar(port).with("action", "attributes").with("priority", "0");
    run(path, &["comment", &ids[1], "-m", "meanwhile", "--agent", "dev"]).ok();
    let partly = set.send();
    assert_eq!(partly.status, 200, "{}", partly.body);
    for shown in ["2 issues changed, 1 stays as before", "Issue &lt;1&gt;", "2 issues changed."] {
        assert!(partly.body.contains(shown), "no {shown} in {}", partly.body);
    }
    assert!(!partly.body.contains("Issue &lt;0&gt;"), "{}", partly.body);
    assert_eq!(priorities(path, &ids), [json!(0), Value::Null, json!(0)]);
    // Sent twice, it takes effect once.
    let again = set.send();
    assert_eq!(again.status, 409, "{}", again.body);
    assert_eq!(again.body.matches("href=\"/issues/").count(), 3, "{}", again.body);
    undo_on(&partly.body, port).done();
    assert_eq!(priorities(path, &ids), [Value::Null, Value::Null, Value::Null]);
}

#[test]
fn actions_that_need_a_reason_ask_for_it_first() {
    let directory = directory();
    let server = serve(directory.path());
    let (path, port) = (directory.path(), server.port);
    let ids = filed(path, 2);
    run(path, &["claim", &ids[0], "--agent", "dev"]).ok();
    let statuses = || ids.iter().map(|id| issue(path, id)["status"].clone()).collect::<Vec<_>>();
    for (action, done) in [
        ("comment", "2 issues commented."),
        ("park", "2 issues parked, so agents cannot claim them."),
        ("close", "2 issues ended."),
    ] {
        let before = statuses();
        let form = bar(port).with("action", action);
        let question = form.send();
        assert_eq!(question.body.contains("dev has held this issue"), action == "close");
        assert_eq!(statuses(), before, "{action}");
        let form = asked(&question, &form).with("outcome", "rejected");
        let empty = form.clone().with("text", " ").send();
        assert_eq!(empty.status, 400, "{}", empty.body);
        assert!(empty.body.contains("The text is empty"), "{}", empty.body);
        let page = get(port, &form.with("text", "no <Mac>").done()).body;
        assert!(page.contains(done), "no {done} in {page}");
        // What was said stays.
        assert_eq!(page.contains("action=\"/undo\""), action != "comment", "{action}");
        if action == "park" {
            assert_eq!(issue(path, &ids[1])["parked"]["reason"], "no <Mac>");
            bar(port).with("action", "unpark").done();
            assert_eq!(issue(path, &ids[1])["parked"], Value::Null);
        }
        if action == "close" {
            assert_eq!(statuses(), ["rejected", "rejected"]);
            undo_on(&page, port).done();
            assert_eq!(statuses(), ["created", "created"]);
        }
    }
}

#[test]
fn a_mistake_in_the_bar_changes_nothing() {
    let directory = directory();
    let server = serve(directory.path());
    let (path, port) = (directory.path(), server.port);
    let ids = filed(path, 2);
    let before: Vec<_> = ids.iter().map(|id| issue(path, id)).collect();
    let set = bar(port).with("action", "attributes").with("priority", "1");
    let many: Vec<_> =
        (0..=1_000).map(|n| format!("00000000-0000-4000-8000-{n:012}:1.0.0")).collect();
    for (form, status, problem) in [
        (set.clone().with("priority", ""), 400, "There is nothing to set"),
        (set.clone().with("priority", "7"), 400, "is not a priority"),
        (set.clone().with("labels", "A"), 400, "is not a label"),
        (set.clone().with("agent", " "), 400, "agent is blank"),
        (set.clone().with("issue", ""), 400, "Select 1 to 1000 issues"),
        (set.clone().with("issue", "nonsense"), 400, "Select 1 to 1000 issues"),
        (set.clone().with("issue", &many.join(" ")), 400, "Select 1 to 1000 issues"),
        (
            set.clone().with("issue", &format!("{}:9.9.00000000", ids[0])),
            409,
            "Nothing was changed",
        ),
        (set.clone().with("action", "answer"), 404, "Page not found"),
        (set.clone().with("action", ""), 404, "Page not found"),
    ] {
        let response = form.send();
        assert_eq!(response.status, status, "{problem}: {}", response.body);
        assert!(response.body.contains(problem), "no {problem} in {}", response.body);
    }
    let after: Vec<_> = ids.iter().map(|id| issue(path, id)).collect();
    assert_eq!(after, before);
}

#[test]
fn forged_forms_for_many_issues_and_undos_change_nothing() {
    let directory = directory();
    let server = serve(directory.path());
    let (path, port) = (directory.path(), server.port);
    let ids = filed(path, 2);
    let evil = "http://evil.example";
    let set = bar(port).with("action", "attributes").with("priority", "1");
    let close = bar(port).with("action", "close").with("outcome", "closed").with("text", "x");
    let page = asked(&close.send(), &close).with("outcome", "closed").with("text", "x");
    let one = page.fields.iter().find(|(name, _)| name == "issue").unwrap().1.clone();
    let one = one.split(' ').next().unwrap();
    let on_issue = Form::load(port, &ids[0], "comment");
    let comment = on_issue.fields.iter().find(|(name, _)| name == "token").unwrap().1.clone();
    // A change of another person, and one of this person with its undo.
    run(path, &["edit", &ids[1], "-p", "2", "--agent", "lead"]).ok();
    let location = Form::load(port, &ids[0], "attributes").with("priority", "3").done();
    let (_, sealed) = location.split_once("undo=").unwrap();
    let (number, seal) = sealed.split_once("&seal=").unwrap();
    let undo = undo_on(&get(port, &location).body, port);
    let other: u64 = number.parse::<u64>().unwrap() - 1;
    let before: Vec<_> = ids.iter().map(|id| issue(path, id)).collect();
    for (name, request, status) in [
        ("no origin", set.bare(), 403),
        ("a foreign origin", set.bare().header("origin", evil), 403),
        ("another site", set.request().header("sec-fetch-site", "cross-site"), 403),
        ("no token", set.clone().with("token", "").request(), 403),
        ("the token of an issue", set.clone().with("token", &comment).request(), 403),
        ("confirmed by itself", close.clone().with("confirmed", "true").request(), 403),
        ("other issues than shown", page.clone().with("issue", one).request(), 403),
        ("another action than shown", page.clone().with("action", "park").request(), 403),
        ("an unknown outcome", page.clone().with("outcome", "deleted").request(), 400),
        (
            "sent to an issue",
            Form { path: format!("/issues/{}/actions/attributes", ids[0]), ..set.clone() }
                .request(),
            403,
        ),
        (
            "sent to the undo of an issue",
            Form { path: format!("/issues/{}/actions/undo", ids[0]), ..undo.clone() }.request(),
            404,
        ),
        ("undone without an origin", undo.bare(), 403),
        ("undone from elsewhere", undo.bare().header("origin", evil), 403),
        ("undone with the seal", undo.clone().with("token", seal).request(), 403),
        (
            "undone with the token of the bar",
            Form { path: "/undo".to_owned(), ..set.clone() }.with("change", number).request(),
            403,
        ),
        (
            "the undo of another change",
            undo.clone().with("change", &other.to_string()).request(),
            403,
        ),
        ("the undo of more", undo.clone().with("change", &format!("1-{number}")).request(), 403),
        ("the undo of nobody", undo.clone().with("agent", " ").request(), 400),
    ] {
        let response = send(request);
        assert_eq!(response.status, status, "{name}: {}", response.body);
        assert!(!response.headers.contains_key("set-cookie"), "{name}");
        assert_eq!(response.headers["x-frame-options"], "DENY", "{name}");
    }
    for reading in [PATH, "/undo"] {
        let response = send(client().get(format!("{}{reading}?{}", origin(port), undo.body())));
        assert_eq!((response.status, &response.headers["location"]), (303, &"/".parse().unwrap()));
    }
    // A link from elsewhere offers no undo: neither of a change without a seal nor with that of another one.
    for link in [
        format!("/issues/{}?done=park&undo={other}", ids[0]),
        format!("/issues/{}?done=park&undo={other}&seal={seal}", ids[0]),
        format!("/?done=park&issues=2&undo=1-{number}&seal={seal}"),
    ] {
        let page = get(port, &link);
        assert_eq!(page.status, 200, "{}", page.body);
        assert!(!page.body.contains("action=\"/undo\""), "{link}: {}", page.body);
    }
    let after: Vec<_> = ids.iter().map(|id| issue(path, id)).collect();
    assert_eq!(after, before);
    // Positive control: the same forms as a browser sends them, which lead back to no other site.
    let location = undo.with("back", "//evil.example/x?y").done();
    assert!(location.starts_with("/?done=undo&"), "{location}");
    let location = bar(port).with("action", "attributes").with("priority", "1");
    let location = location.with("back", "http://evil.example").done();
    assert!(location.starts_with("/?done=attributes&"), "{location}");
    assert_eq!(priorities(path, &ids), [1, 1]);
}

#[test]
fn an_undo_says_what_has_changed_since() {
    let directory = directory();
    let server = serve(directory.path());
    let (path, port) = (directory.path(), server.port);
    let ids = filed(path, 1);
    let page =
        get(port, &Form::load(port, &ids[0], "attributes").with("priority", "1").done()).body;
    run(path, &["edit", &ids[0], "-p", "0", "--agent", "lead"]).ok();
    let undone = undo_on(&page, port).send();
    assert_eq!(undone.status, 409, "{}", undone.body);
    assert!(undone.body.contains("changed since"), "{}", undone.body);
    assert_eq!(priorities(path, &ids), [0]);
    // The undo of a filing ends the issue.
    let location = filing(port).with("title", "by mistake").with("text", "x").done();
    let id = location.strip_prefix("/issues/").unwrap().split('?').next().unwrap().to_owned();
    undo_on(&get(port, &location).body, port).done();
    assert_eq!(issue(path, &id)["status"], "rejected");
}

#[test]
fn boxes_and_undos_need_a_token_that_writes() {
    let directory = directory();
    filed(directory.path(), 1);
    let server = serve_with_tokens(directory.path());
    let port = server.port;
    let page = |path: &str, secret: &str| {
        let request = client().get(format!("{}{path}", origin(port)));
        send(request.header("authorization", bearer(secret))).body
    };
    let list = page("/", READER);
    assert!(
        !list.contains("type=\"checkbox\" name=\"issue\"") && !list.contains("method=\"post\"")
    );
    let set = bar_on(&page("/", WRITER), port).with("action", "attributes").with("priority", "1");
    let sent =
        |form: &Form, secret: &str| send(form.request().header("authorization", bearer(secret)));
    assert_eq!(send(set.request()).status, 401);
    assert_eq!(sent(&set, READER).status, 403);
    assert_eq!(sent(&set, OTHER).status, 403, "the form was loaded with another token");
    let done = sent(&set, WRITER);
    assert_eq!(done.status, 303, "{}", done.body);
    let location = done.headers["location"].to_str().unwrap();
    assert!(!page(location, OTHER).contains("action=\"/undo\""), "the seal is for another token");
    let undo = undo_on(&page(location, WRITER), port);
    assert_eq!(sent(&undo, READER).status, 403);
    assert_eq!(sent(&undo, OTHER).status, 403);
    assert_eq!(sent(&undo, WRITER).status, 303);
}

#[test]
fn without_the_setting_the_list_has_no_boxes() {
    let directory = directory();
    filed(directory.path(), 1);
    let server = Server::start(directory.path());
    let page = get(server.port, "/?done=park&issues=1").body;
    assert!(!page.contains("name=\"issue\"") && !page.contains("id=\"done\""), "{page}");
}

#[test]
fn cards_of_the_board_are_selected_and_changed_together() {
    let directory = directory();
    let server = serve(directory.path());
    let ids = filed(directory.path(), 3);
    assert!(!get(server.port, "/agents").body.contains("class=\"pick\""));
    let path = "/board?classification=bug&q=%22Issue%22%0d%0aIssue&rows=agent&x=y";
    let page = get(server.port, path).body;
    assert_eq!(page.matches("draggable=\"true\"").count(), 3, "{page}");
    let chosen = |id: &String| {
        let (_, rest) = page.split_once(&format!("value=\"{id}:")).unwrap();
        format!("{id}:{}", rest.split('"').next().unwrap())
    };
    let fields = hidden_in(&page, "action=\"/issues/actions\"");
    let form = Form { port: server.port, path: PATH.to_owned(), fields };
    let chosen: Vec<_> = ids[1..].iter().map(chosen).collect();
    let form = form.with("agent", "Ann").with("issue", &chosen.join(" "));
    let back = form.with("action", "attributes").with("priority", "1").done();
    let kept = "/board?classification=bug&q=%22Issue%22%0D%0AIssue&rows=agent&done=attributes&issues=2&undo=";
    assert!(back.starts_with(kept), "{back}");
    assert_eq!(priorities(directory.path(), &ids), [json!(null), json!(1), json!(1)]);
    let after = get(server.port, &back).body;
    assert!(after.contains("2 issues changed."), "{after}");
    undo_on(&after, server.port).done();
    assert_eq!(priorities(directory.path(), &ids), [json!(null), json!(null), json!(null)]);
}

#[test]
fn people_claim_what_they_work_on_themselves() {
    let directory = directory();
    let server = serve(directory.path());
    let (path, port) = (directory.path(), server.port);
    let ids = filed(path, 3);
    run(path, &["claim", &ids[2], "--agent", "dev"]).ok();
    let response = bar(port).with("action", "claim").send();
    assert_eq!(response.status, 200, "{}", response.body);
    assert!(response.body.contains("2 issues claimed."), "{}", response.body);
    assert!(response.body.contains("What stays as it was") && response.body.contains("dev"));
    for id in &ids[..2] {
        let claimed = issue(path, id);
        assert_eq!(claimed["status"], "in_progress");
        let last = claimed["history"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(
            (&last["agent"], &last["action"]),
            (&json!("Ann"), &json!("Issue claimed for work"))
        );
    }
    undo_on(&response.body, port).done();
    assert_eq!(issue(path, &ids[0])["status"], "created");
    // The same on the page of an issue. A form that is sent twice claims once.
    let form = Form::load(port, &ids[1], "claim").with("agent", "Ann");
    assert!(form.done().contains("done=claim"));
    assert_eq!(issue(path, &ids[1])["status"], "in_progress");
    assert_eq!(form.send().status, 409);
}
