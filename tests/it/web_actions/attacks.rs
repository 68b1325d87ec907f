//! Forged and malformed forms.

use std::thread;

use reqwest::Method;
use reqwest::blocking::RequestBuilder;
use serde_json::json;

use super::{
    FORM, Form, OTHER, READER, WRITER, asked, basic, bearer, claimed, client, filing, issue,
    origin, send, serve, serve_with_tokens,
};
use crate::support::http::{Raw, Server};
use crate::support::runs::run;
use crate::support::{Client, directory, get};

/// The setting changes nothing for other methods and paths.
#[test]
fn with_the_setting_only_forms_are_accepted() {
    let directory = directory();
    let server = serve(directory.path());
    let (id, port) = (claimed(directory.path()), server.port);
    let form = Form::load(port, &id, "comment").with("text", "x");
    let before = issue(directory.path(), &id);
    for path in ["/", "/board", "/issues/ID", "/api/issues", "/api/issues/ID", "/nothing"] {
        for method in [Method::POST, Method::PUT, Method::DELETE] {
            let url = format!("{}{}", origin(port), path.replace("ID", &id));
            // Programs file there, with a token.
            let status = if (path, &method) == ("/api/issues", &Method::POST) { 403 } else { 405 };
            let response = send(client().request(method, url).header("origin", origin(port)));
            assert_eq!(response.status, status, "{path}");
        }
    }
    let url = format!("{}{}", origin(port), form.path);
    for method in [Method::PUT, Method::PATCH, Method::DELETE] {
        let response = send(client().request(method, &url).body(form.body()));
        assert_eq!(response.status, 405);
    }
    // A GET request changes nothing, even with headers that override the method.
    for name in ["x-http-method-override", "x-http-method", "x-method-override"] {
        let read = client().get(format!("{url}?{}&_method=POST", form.body())).header(name, "POST");
        let response = send(read.header("origin", origin(port)).header("content-type", FORM));
        let location = response.headers["location"].to_str().unwrap();
        assert_eq!((response.status, location), (303, &*format!("/issues/{id}")));
        // The request is a comment without text; the override has no effect.
        let empty = form.clone().with("text", "").request().header(name, "DELETE");
        assert_eq!(send(empty).status, 400);
    }
    assert_eq!(issue(directory.path(), &id), before);
    assert_eq!(get(port, "/issues/%2F%2Fevil.example/actions/comment").status, 404);
}

#[test]
fn forged_forms_change_nothing() {
    let directory = directory();
    let server = serve(directory.path());
    let (id, port) = (claimed(directory.path()), server.port);
    let other = Client::start(directory.path()).add("other", "bug");
    let form = Form::load(port, &id, "comment").with("text", "forged");
    let before = issue(directory.path(), &id);
    let own = origin(port);
    let token =
        |form: &Form| form.fields.iter().find(|(name, _)| name == "token").unwrap().1.clone();
    let mut cases: Vec<(&str, RequestBuilder, u16)> = vec![
        ("no origin", form.bare(), 403),
        ("no origin, typed", form.bare().header("sec-fetch-site", "none"), 403),
        ("no origin, own site", form.bare().header("sec-fetch-site", "same-origin"), 403),
        ("a foreign origin", form.bare().header("origin", "http://evil.example"), 403),
        ("another port", form.bare().header("origin", "http://127.0.0.1:1"), 403),
        ("another name", form.bare().header("origin", format!("http://localhost:{port}")), 403),
        ("an extension", form.bare().header("origin", own.replace("http:", "tauri:")), 403),
        ("no name of an origin", form.bare().header("origin", "null"), 403),
        ("two origins", form.request().header("origin", "http://evil.example"), 403),
        ("the own origin twice", form.request().header("origin", own.clone()), 403),
    ];
    for site in ["cross-site", "same-site", "none", ""] {
        let request = form.bare().header("origin", own.clone()).header("sec-fetch-site", site);
        cases.push((site, request, 403));
    }
    for name in ["evil.example", "localhost.evil.example"] {
        let request = form.bare().header("host", format!("{name}:{port}"));
        cases.push((name, request.header("origin", format!("http://{name}:{port}")), 403));
    }
    for kind in ["text/plain", "multipart/form-data; boundary=x", "application/json", ""] {
        let request = client().post(format!("{own}{}", form.path)).header("origin", own.clone());
        cases.push((kind, request.header("content-type", kind).body(form.body()), 415));
    }
    let park_token = token(&Form::load(port, &id, "park"));
    let other_token = token(&Form::load(port, &other, "comment"));
    for (name, token) in
        [("no token", ""), ("of another action", &park_token), ("of another issue", &other_token)]
    {
        cases.push((name, form.clone().with("token", token).request(), 403));
    }
    let misdirected = Form { path: format!("/issues/{other}/actions/comment"), ..form.clone() };
    cases.push(("sent to another issue", misdirected.request(), 403));
    let misdirected = Form { path: format!("/issues/{id}/actions/park"), ..form.clone() };
    cases.push(("sent to another action", misdirected.request(), 403));
    let misdirected = Form { path: format!("/issues/{id}/actions/erase"), ..form.clone() };
    cases.push(("an unknown action", misdirected.request(), 404));
    let misdirected = Form { path: format!("/issues/{id}/actions/file"), ..form.clone() };
    cases.push(("sent to an action on no issue", misdirected.request(), 404));
    let misdirected = Form { path: "/new".to_owned(), ..form.clone() }.with("id", &id);
    cases.push(("sent to the page that files", misdirected.request(), 403));
    let version = form.clone().with("version", "9.9.00000000");
    cases.push(("another version than that of the token", version.request(), 403));
    for (name, request, status) in cases {
        let response = send(request);
        assert_eq!(response.status, status, "{name}: {}", response.body);
        assert!(!response.headers.contains_key("set-cookie"), "{name}");
        assert_eq!(response.headers["x-frame-options"], "DENY", "{name}");
        let policy = response.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("frame-ancestors 'none'") && policy.contains("form-action 'self'"));
    }
    assert_eq!(issue(directory.path(), &id), before);
    // Positive control: the same form as a browser sends it.
    form.done();
    assert_eq!(issue(directory.path(), &id)["comments"][0]["text"], "forged");
}

/// Values that no page offers change neither the texts nor the properties of an issue.
#[test]
fn forged_texts_and_properties_change_nothing() {
    let directory = directory();
    let server = serve(directory.path());
    let (id, port) = (claimed(directory.path()), server.port);
    let texts = Form::load(port, &id, "texts");
    let properties = Form::load(port, &id, "attributes");
    let before = run(directory.path(), &["list", "--json"]).ok();
    for (name, form, status) in [
        ("no title", texts.clone().with("title", " "), 400),
        ("a long title", texts.clone().with("title", &"x".repeat(501)), 400),
        ("a long description", texts.clone().with("text", &"x".repeat(100_001)), 400),
        ("nothing changed", texts.clone().with("title", "t"), 409),
        ("the token of another form", properties.clone().with("token", ""), 403),
        ("an unknown kind", properties.clone().with("classification", "x"), 400),
        ("a kind that is not used", properties.clone().with("classification", "epic"), 409),
        ("the kind of an entry", properties.clone().with("classification", "decision"), 400),
        ("two parents", properties.clone().with("parent", "00000001 00000002"), 400),
        ("an unknown parent", properties.clone().with("parent", "00000001"), 409),
        ("its own parent", properties.clone().with("parent", &id), 409),
        ("blocked by itself", properties.clone().with("blockers", &id), 409),
        ("no reference", properties.clone().with("blockers", "../x"), 400),
    ] {
        let response = form.send();
        assert_eq!(response.status, status, "{name}: {}", response.body);
    }
    let foreign = texts.clone().with("title", "x").bare().header("origin", "http://evil.example");
    assert_eq!(send(foreign).status, 403);
    assert_eq!(run(directory.path(), &["list", "--json"]).ok(), before);
    // Positive control: the same forms as a browser sends them.
    texts.with("title", "Better").done();
    assert_eq!(issue(directory.path(), &id)["title"], "Better");
}

/// Outcomes that no page offers, or the token of the first step, neither end nor file an issue.
#[test]
fn forged_close_and_file_forms_change_nothing() {
    let directory = directory();
    let server = serve(directory.path());
    let (id, port) = (claimed(directory.path()), server.port);
    let before = run(directory.path(), &["list", "--status", "all", "--json"]).ok();
    let close = Form::load(port, &id, "close").with("text", "x").with("outcome", "closed");
    let file = filing(port).with("title", "forged");
    let other_id = file.clone().with("id", "00000000-0000-4000-8000-000000000001");
    for (name, request, status) in [
        ("confirmed by itself", close.clone().with("confirmed", "true").request(), 403),
        ("an unknown outcome", close.clone().with("outcome", "deleted").request(), 400),
        ("without a reason", close.clone().with("text", " ").request(), 400),
        ("ended from elsewhere", close.bare().header("origin", "http://evil.example"), 403),
        ("filed from elsewhere", file.bare().header("origin", "http://evil.example"), 403),
        ("filed without an origin", file.bare(), 403),
        ("filed without a token", file.clone().with("token", "").request(), 403),
        ("filed with another id", other_id.request(), 403),
        ("filed with the id of an issue", file.clone().with("id", &id).request(), 403),
        ("filed without a title", file.clone().with("title", " ").request(), 400),
        ("filed as an unknown kind", file.clone().with("classification", "epic").request(), 400),
        ("filed with invalid labels", file.clone().with("labels", "A b").request(), 400),
        (
            "filed for an invalid name",
            file.clone().with("assignee", &"x".repeat(201)).request(),
            400,
        ),
    ] {
        let response = send(request);
        assert_eq!(response.status, status, "{name}: {}", response.body);
        assert_eq!(response.headers["x-frame-options"], "DENY", "{name}");
    }
    assert_eq!(run(directory.path(), &["list", "--status", "all", "--json"]).ok(), before);
    // Positive control: the same forms as a browser sends them.
    assert_eq!(close.send().status, 200, "the page asks for confirmation");
    file.done();
    assert_ne!(run(directory.path(), &["list", "--status", "all", "--json"]).ok(), before);
}

#[test]
fn concurrent_copies_of_a_filing_form_file_one_issue() {
    let directory = directory();
    let server = serve(directory.path());
    let form = filing(server.port).with("title", "once");
    let mut statuses: Vec<u16> = thread::scope(|scope| {
        let sent: Vec<_> = (0..8).map(|_| scope.spawn(|| form.send().status)).collect();
        sent.into_iter().map(|sent| sent.join().unwrap()).collect()
    });
    statuses.sort_unstable();
    assert_eq!(statuses, [303, 409, 409, 409, 409, 409, 409, 409]);
    assert_eq!(run(directory.path(), &["list", "--json"]).ok().matches("once").count(), 1);
}

#[test]
fn concurrent_copies_of_a_form_make_one_change() {
    let directory = directory();
    let server = serve(directory.path());
    let (id, port) = (asked(directory.path()), server.port);
    let form = Form::load(port, &id, "answer").with("text", "SQLite").with("option", "");
    let before = issue(directory.path(), &id)["history"].as_array().unwrap().len();
    let mut statuses: Vec<u16> = thread::scope(|scope| {
        let sent: Vec<_> = (0..8).map(|_| scope.spawn(|| form.send().status)).collect();
        sent.into_iter().map(|sent| sent.join().unwrap()).collect()
    });
    statuses.sort_unstable();
    assert_eq!(statuses, [303, 409, 409, 409, 409, 409, 409, 409]);
    let after = issue(directory.path(), &id)["history"].as_array().unwrap().len();
    assert_eq!(after, before + 1);
}

#[test]
fn a_form_of_an_earlier_process_must_be_sent_again() {
    let directory = directory();
    std::fs::write(directory.path().join("ait.toml"), "web-actions = true\n").unwrap();
    let mut server = Server::start(directory.path());
    let (id, port) = (claimed(directory.path()), server.port);
    let form = Form::load(port, &id, "comment").with("text", "typed");
    server.kill_and_start_again();
    let refused = form.send();
    assert_eq!(refused.status, 403);
    assert!(refused.body.contains("no longer valid") && refused.body.contains("typed</textarea>"));
    assert_eq!(issue(directory.path(), &id)["comments"], json!([]));
    Form::on(&refused.body, port, &id, "comment").with("text", "typed").done();
    assert_eq!(issue(directory.path(), &id)["comments"][0]["text"], "typed");
}

#[test]
fn forms_need_a_read_write_token() {
    let directory = directory();
    let server = serve_with_tokens(directory.path());
    let (id, port) = (asked(directory.path()), server.port);
    let url = format!("{}/issues/{id}", origin(port));
    let page = |secret: &str| {
        let page = send(client().get(&url).header("authorization", basic(secret)));
        assert_eq!(page.status, 200);
        assert!(!page.body.contains(secret), "the page contains the token");
        page.body
    };
    assert!(!page(READER).contains("method=\"post\""));
    let new = |secret: &str| {
        send(client().get(format!("{}/new", origin(port))).header("authorization", basic(secret)))
    };
    assert_eq!((new(READER).status, new(WRITER).status), (403, 200));
    let writers = page(WRITER);
    assert!(writers.contains("name=\"agent\" value=\"adam\""), "{writers}");
    assert!(
        page(OTHER).contains("name=\"agent\" value=\"\""),
        "the token name `default` is no agent name"
    );
    let form = Form::on(&writers, port, &id, "comment").with("text", "x");
    let before = issue(directory.path(), &id);
    for (authorization, status) in [
        (None, 401),
        (Some(basic("XXXXXXXXxxxxxxxx")), 401),
        (Some(basic(READER)), 403),
        (Some(bearer(READER)), 403),
        // The form was loaded with another token.
        (Some(basic(OTHER)), 403),
    ] {
        let request = form.request();
        let request = match &authorization {
            Some(authorization) => request.header("authorization", authorization),
            None => request,
        };
        assert_eq!(send(request).status, status, "{authorization:?}");
    }
    // A page of another origin can make a browser send the token, but it has no valid form.
    let foreign = form.bare().header("authorization", basic(WRITER));
    assert_eq!(send(foreign.header("origin", "http://evil.example")).status, 403);
    assert_eq!(issue(directory.path(), &id), before);
    let sent = send(form.request().header("authorization", basic(WRITER)));
    assert_eq!(sent.status, 303);
    let location = sent.headers["location"].to_str().unwrap();
    assert!(!location.contains(WRITER) && location.ends_with("?done=comment"), "{location}");
    assert_eq!(issue(directory.path(), &id)["comments"].as_array().unwrap().len(), 2);
}

#[test]
fn bodies_of_forms_are_bounded() {
    let directory = directory();
    let server = serve(directory.path());
    let (id, port) = (claimed(directory.path()), server.port);
    let before = issue(directory.path(), &id);
    let form = Form::load(port, &id, "comment").with("text", &"x".repeat(1 << 20));
    assert_eq!(form.send().status, 413);
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: {}\r\nContent-Type: {FORM}\r\n",
        form.path,
        origin(port)
    );
    // A chunked body without a length, larger than the limit.
    let mut chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
    for chunk in form.body().as_bytes().chunks(1 << 18) {
        chunked.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        chunked.extend_from_slice(chunk);
        chunked.extend_from_slice(b"\r\n");
    }
    chunked.extend_from_slice(b"0\r\n\r\n");
    let announced = format!("{head}Content-Length: 99999999999\r\n\r\nx");
    for bytes in [chunked, announced.into_bytes()] {
        let answer = Raw::connect(port).send(bytes).rest();
        assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    }
    assert_eq!(issue(directory.path(), &id), before);
}

#[test]
fn texts_in_forms_are_escaped() {
    let directory = directory();
    let server = serve(directory.path());
    let (id, port) = (asked(directory.path()), server.port);
    let evil = "\"></textarea><script>alert(1)</script>'&";
    let page = get(port, &format!("/issues/{id}")).body;
    assert!(
        page.contains("&lt;i&gt;[Postgres](https://db.example)") && !page.contains("<i>"),
        "{page}"
    );
    for action in ["comment", "answer", "attributes"] {
        let mut form = Form::load(port, &id, action);
        for name in ["agent", "text", "labels", "priority", "option"] {
            form = form.with(name, evil);
        }
        let refused = match action {
            // Only the token of this form is invalid.
            "comment" => form.with("token", evil).send(),
            _ => form.send(),
        };
        assert!(refused.status >= 400, "{action}");
        assert!(!refused.body.contains("<script>alert"), "{action}: {}", refused.body);
        assert!(refused.body.contains("&lt;script&gt;alert"), "{action}: {}", refused.body);
    }
    Form::load(port, &id, "comment").with("text", evil).with("agent", evil).done();
    let cookie = "ait-name=Ij48L3RleHRhcmVhPjxzY3JpcHQ-";
    let page = send(client().get(format!("{}/issues/{id}", origin(port))).header("cookie", cookie));
    assert!(!page.body.contains("<script>"), "{}", page.body);
    assert!(
        page.body.contains("value=\"&quot;&gt;&lt;/textarea&gt;&lt;script&gt;\""),
        "{}",
        page.body
    );
}
