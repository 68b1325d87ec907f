//! The example that an empty project offers.

use std::fs;
use std::net::TcpStream;
use std::path::Path;

use reqwest::blocking::{Client, Response};
use reqwest::redirect::Policy;
use serde_json::Value;

use crate::support::http::Server;
use crate::support::{ait, directory, get, http};

const LINK: &str = "href=\"/example\"";
const PAGES: [&str; 5] = ["/", "/board", "/agents", "/activity", "/stats"];

/// Starts a server whose temporary files are in `temporary`.
fn serve(project: &Path, temporary: &Path, arguments: &[&str]) -> Server {
    let mut command = ait(project);
    command.env("TMPDIR", temporary).arg("serve").args(arguments).env("PORT", "0");
    Server::spawn(command, project)
}

/// Asks for the example. Follows no redirect.
fn ask(server: &Server, headers: &[(&str, &str)]) -> Response {
    let client = Client::builder().redirect(Policy::none()).build().unwrap();
    let request = client.get(format!("http://127.0.0.1:{}/example", server.port));
    let request =
        headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    request.send().unwrap()
}

fn files(directory: &Path) -> usize {
    fs::read_dir(directory).unwrap().count()
}

#[test]
fn an_empty_project_leads_to_a_filled_one_that_ends_with_the_server() {
    let [project, temporary] = [directory(), directory()];
    let mut server = serve(project.path(), temporary.path(), &[]);
    for page in PAGES {
        let body = get(server.port, page).body;
        assert!(body.contains(LINK) && !body.contains("id=\"example\""), "{page}: {body}");
    }
    // What loads pages of its own accord starts nothing.
    for header in [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("sec-purpose", "prefetch"),
    ] {
        assert_eq!(ask(&server, &[header]).status(), 403, "{header:?}");
    }
    assert_eq!(files(temporary.path()), 0);

    let found = ask(&server, &[("sec-fetch-site", "same-origin")]);
    assert_eq!(found.status(), 303);
    let url = found.headers()["location"].to_str().unwrap().to_owned();
    let port = url.strip_prefix("http://127.0.0.1:").and_then(|rest| rest.strip_suffix('/'));
    let port: u16 = port.unwrap_or_else(|| panic!("{url}")).parse().unwrap();
    assert_eq!(ask(&server, &[]).headers()["location"], *url, "there is one example");
    assert_eq!(files(temporary.path()), 1);

    let page = get(port, "/");
    assert!(page.status == 200 && page.body.contains("id=\"example\""), "{}", page.body);
    assert!(page.body.contains("made up") && !page.body.contains(LINK), "{}", page.body);
    let issues: Value = serde_json::from_str(&get(port, "/api/issues?status=all").body).unwrap();
    assert_eq!(issues["total"], 384, "{issues}");
    // It follows the rules of the other pages, and is for readers alone.
    assert_eq!(http(reqwest::Method::POST, port, "/").status, 405);
    assert_eq!(get(port, "/mcp").status, 404);
    let foreign = Client::new().get(&*url).header("host", "evil.example").send().unwrap();
    assert_eq!(foreign.status(), 403);
    assert_eq!(foreign.headers()["x-frame-options"], "DENY");
    // The project has nothing of it.
    assert!(get(server.port, "/api/issues?status=all").body.contains("\"total\":0"));

    server.signal("TERM");
    assert!(server.wait().success());
    assert_eq!(files(temporary.path()), 0, "the store of the example stays behind");
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}

#[test]
fn readers_of_a_guarded_or_distant_server_get_a_command() {
    for arguments in [&["--allow-host", "tracker.example"][..], &["--bind", "0.0.0.0"]] {
        let [project, temporary] = [directory(), directory()];
        let mut arguments = arguments.to_vec();
        let mut headers = Vec::new();
        if arguments[0] == "--bind" {
            fs::write(project.path().join("token"), "SSSSSSSSssssssss").unwrap();
            arguments.extend(["--token-file", "token"]);
            headers.push(("authorization", "Bearer SSSSSSSSssssssss"));
        }
        let server = serve(project.path(), temporary.path(), &arguments);
        assert_eq!(ask(&server, &headers).status(), 404, "{arguments:?}");
        let client = Client::new().get(format!("http://127.0.0.1:{}/", server.port));
        let client =
            headers.iter().fold(client, |client, (name, value)| client.header(*name, *value));
        let body = client.send().unwrap().text().unwrap();
        assert!(!body.contains(LINK) && body.contains("Look at an example:"), "{body}");
        assert!(body.contains("ait --file demo.json demo --large"), "{body}");
    }
}

#[test]
fn an_example_that_cannot_be_made_says_why() {
    let [project, temporary] = [directory(), directory()];
    let server = serve(project.path(), &temporary.path().join("missing"), &[]);
    let answer = ask(&server, &[]);
    assert_eq!(answer.status(), 503);
    let body = answer.text().unwrap();
    assert!(body.contains("The example cannot be shown") && body.contains("missing"), "{body}");
}
