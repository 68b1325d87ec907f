//! Views that people save from the list, links of many issues, and attacks on their forms.

use serde_json::json;

use super::{Form, hidden_in, issue, send, serve};
use crate::support::{Client, directory, get};

/// The form of a list, as a browser sends it with its button.
#[track_caller]
fn form(port: u16, list: &str, action: &str) -> Form {
    let fields = hidden_in(&get(port, list).body, "action=\"/views\"");
    let form = Form { port, path: "/views".to_owned(), fields };
    form.with("agent", "Ann").with("action", action)
}

#[test]
fn a_view_is_saved_from_the_list_and_forgotten() {
    let directory = directory();
    let server = serve(directory.path());
    let port = server.port;
    Client::start(directory.path()).add("t", "bug");
    assert!(!get(port, "/").body.contains("action=\"/views\""), "the whole list is no view");
    let list = "/?status=open&label=ui&page=2";
    let save = form(port, list, "save-view").with("name", "Mine & <b>");
    assert_eq!(save.done(), "/?status=open&label=ui&done=save-view");
    let tab = "<a href=\"/?status=open&amp;label=ui\" title=\"?status=open&amp;label=ui\">Mine &amp; &lt;b&gt;</a>";
    assert!(get(port, "/").body.contains(tab), "{}", get(port, "/").body);
    let other = serve(directory.path());
    assert!(get(other.port, list).body.contains("aria-current=\"true\">Mine &amp;"));
    // The board opens the same views, and saves them.
    let on_board = "<a href=\"/board?status=open&amp;label=ui\"";
    assert!(get(port, "/board?rows=agent").body.contains(on_board));
    let board = "/board?status=open&label=ui";
    assert!(get(port, board).body.contains("aria-current=\"true\">Mine &amp;"));
    let save = form(port, "/board?ready=true&rows=agent", "save-view").with("name", "ready ones");
    assert_eq!(save.done(), "/board?ready=true&rows=agent&done=save-view");
    assert_eq!(form(port, board, "forget-view").done(), "/board?done=forget-view");
    assert!(!get(port, "/").body.contains("Mine &amp;"));
    // Rows and groups belong to the view, and are one without a filter, too.
    let saved = "ready=true&amp;rows=agent";
    for path in ["/", "/board"] {
        let tab = format!("<a href=\"{path}?{saved}\" title=\"?{saved}\">ready ones</a>");
        for page in [path.to_owned(), format!("{path}?rows=label")] {
            assert!(get(port, &page).body.contains(&tab), "{page}: {}", get(port, &page).body);
        }
    }
    let board = "/board?ready=true&rows=agent";
    assert!(get(port, board).body.contains("aria-current=\"true\">ready ones"));
    assert!(!get(port, "/board?ready=true").body.contains("aria-current=\"true\">ready ones"));
    form(port, "/?rows=status", "save-view").with("name", "by status").done();
    assert!(get(port, "/").body.contains("<a href=\"/?rows=status\""));
    assert!(
        get(port, "/board?rows=label").body.contains("<a href=\"/board\" title=\"?rows=status\"")
    );
    assert_eq!(form(port, "/?ready=true&rows=agent", "forget-view").done(), "/?done=forget-view");
    assert!(!get(port, "/").body.contains("ready ones"));
}

#[test]
fn forged_views_are_refused() {
    let directory = directory();
    let server = serve(directory.path());
    let port = server.port;
    Client::start(directory.path()).add("t", "bug");
    let save = form(port, "/?status=open", "save-view").with("name", "mine");
    for (name, form, status) in [
        ("without a token", save.clone().with("token", ""), 403),
        ("without a name", save.clone().with("name", " "), 400),
        ("a long name", save.clone().with("name", &"x".repeat(41)), 400),
        ("a line break", save.clone().with("name", "a\nb"), 400),
        ("another action", save.clone().with("action", "close"), 404),
        ("without a person", save.clone().with("agent", ""), 400),
    ] {
        assert_eq!(form.send().status, status, "{name}");
    }
    let foreign = save.bare().header("origin", "http://evil.example");
    assert_eq!(send(foreign).status, 403);
    assert!(!get(port, "/").body.contains("id=\"saved\""));
    // No address but that of a list is kept.
    save.clone().with("back", "https://evil.example/?status=open&x=javascript:alert(1)").done();
    assert!(get(port, "/").body.contains("<a href=\"/?status=open\""));
    for number in 1..30 {
        save.clone().with("name", &format!("view {number}")).done();
    }
    assert_eq!(save.clone().with("name", "one too many").send().status, 400);
    assert_eq!(save.with("name", "view 7").send().status, 303, "one that is there");
}

#[test]
fn selected_issues_are_linked_with_another_one() {
    let directory = directory();
    let server = serve(directory.path());
    let mut agent = Client::start(directory.path());
    let [one, two, whole] = ["one", "two", "whole"].map(|title| agent.add(title, "bug"));
    let page = get(server.port, "/").body;
    let fields = hidden_in(&page, "action=\"/issues/actions\"");
    let version = |id: &str| {
        let (_, rest) = page.split_once(&format!("value=\"{id}:")).unwrap();
        format!("{id}:{}", rest.split(['"', ' ']).next().unwrap())
    };
    let chosen = format!("{} {}", version(&one), version(&two));
    let bar = Form { port: server.port, path: "/issues/actions".to_owned(), fields };
    let asked = bar.with("issue", &chosen).with("action", "link").with("agent", "Ann").send();
    let fields = hidden_in(&asked.body, "action=\"/issues/actions\"");
    let form = Form { port: server.port, path: "/issues/actions".to_owned(), fields };
    let form = form.with("agent", "Ann").with("link", "parent");
    for (to, kind) in [("", "parent"), ("../x", "parent"), (&*whole, "owner")] {
        assert_eq!(
            form.clone().with("to", to).with("link", kind).send().status,
            400,
            "{to} {kind}"
        );
    }
    let to = form.with("to", &whole[..8]).done();
    assert!(to.starts_with("/?done=link&issues=2&undo="), "{to}");
    for id in [&one, &two] {
        let expected = json!([{ "kind": "parent", "to": whole }]);
        assert_eq!(issue(directory.path(), id)["links"], expected);
    }
}
