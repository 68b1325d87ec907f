//! The pages in other languages.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use agent_issue_tracker::language::Languages;
use reqwest::blocking::{Client as Http, Response};
use toml::Table;

use crate::support::http::{Server, client_builder};
use crate::support::runs::run;
use crate::support::{Client, directory};
use crate::tidy::sources;
use crate::web_actions::serve;

const GERMAN: &str = "name = \"Deutsch\"\n[texts]\n\"Inbox\" = \"Eingang\"\n\"{n} to {n} of {n}\" = \"{} bis {} von {}\"\n";

fn write(directory: &Path, name: &str, table: &str) {
    let languages = directory.join(".ait/languages");
    fs::create_dir_all(&languages).unwrap();
    fs::write(languages.join(name), table).unwrap();
}

struct Reader<'a> {
    server: &'a Server,
    client: Http,
}

impl<'a> Reader<'a> {
    fn new(server: &'a Server) -> Self {
        Self { server, client: client_builder().build().unwrap() }
    }

    fn ask(&self, path: &str, headers: &[(&str, &str)]) -> Response {
        let address = format!("http://localhost:{}{path}", self.server.port);
        let ask = self.client.get(address);
        headers.iter().fold(ask, |ask, (name, value)| ask.header(*name, *value)).send().unwrap()
    }

    fn page(&self, path: &str, headers: &[(&str, &str)]) -> String {
        self.ask(path, headers).text().unwrap()
    }

    /// Returns the language of the list for a request.
    fn language(&self, path: &str, headers: &[(&str, &str)]) -> String {
        let page = self.page(path, headers);
        let from = page.find("<html lang=\"").unwrap() + 12;
        page[from..from + page[from..].find('"').unwrap()].to_owned()
    }
}

#[test]
fn a_reader_gets_the_language_of_the_address_the_choice_the_settings_or_the_browser() {
    let directory = directory();
    write(directory.path(), "de.toml", GERMAN);
    let server = Server::start(directory.path());
    let reader = Reader::new(&server);
    let japanese = ("accept-language", "ja,en;q=0.5");
    let chosen = ("cookie", "ait-lang=de");
    assert_eq!(reader.language("/", &[]), "en");
    assert_eq!(reader.language("/", &[("accept-language", "fr")]), "en");
    assert_eq!(reader.language("/", &[japanese]), "ja");
    assert_eq!(reader.language("/", &[japanese, chosen]), "de");
    assert_eq!(reader.language("/?lang=ja", &[chosen]), "ja");
    assert_eq!(reader.language("/", &[japanese, ("cookie", "ait-lang=xx")]), "ja");
    let asked = reader.ask("/?lang=de", &[japanese]);
    let cookie = asked.headers()["set-cookie"].to_str().unwrap();
    assert!(cookie.starts_with("ait-lang=de; Path=/; Max-Age=31536000"), "{cookie}");
    let depends: Vec<_> = asked.headers().get_all("vary").iter().collect();
    assert!(depends.iter().any(|value| *value == "accept-language, cookie"), "{depends:?}");
    assert!(reader.ask("/?lang=xx", &[]).headers().get("set-cookie").is_none());

    fs::write(directory.path().join("ait.toml"), "lang = \"de\"\n").unwrap();
    let server = Server::start(directory.path());
    let reader = Reader::new(&server);
    assert_eq!(reader.language("/", &[japanese]), "de");
    assert_eq!(reader.language("/", &[("cookie", "ait-lang=en")]), "en");
}

#[test]
fn texts_are_translated_and_words_of_users_are_not() {
    let directory = directory();
    let mut agent = Client::start(directory.path());
    let id = agent.add("Inbox", "bug");
    drop(agent);
    let server = serve(directory.path());
    let reader = Reader::new(&server);
    let japanese = ("accept-language", "ja");
    let list = reader.page("/", &[japanese]);
    assert!(list.contains("受信箱") && list.contains(">Inbox</a>"), "{list}");
    let page = reader.page(&format!("/issues/{id}"), &[japanese]);
    assert!(page.contains("<h1 id=\"issue-title\" dir=\"auto\">Inbox</h1>"), "{page}");
    assert!(reader.page("/new", &[japanese]).contains("課題を登録"));
    let missing = reader.ask("/nowhere", &[japanese]);
    assert_eq!(missing.status(), 404);
    assert!(missing.text().unwrap().contains("ページが見つかりません"));
    // What programs read stays as it is.
    let data = |headers: &[_]| reader.page("/api/issues", headers);
    assert_eq!(data(&[japanese]), data(&[]));
}

#[test]
fn pages_in_two_languages_are_two_versions() {
    let directory = directory();
    let server = Server::start(directory.path());
    let reader = Reader::new(&server);
    let tag = |headers: &[_]| {
        let answer = reader.ask("/", headers);
        answer.headers()["etag"].to_str().unwrap().to_owned()
    };
    let japanese = ("accept-language", "ja");
    let (own, other) = (tag(&[]), tag(&[japanese]));
    assert_ne!(own, other);
    let status = |tag: &str| reader.ask("/", &[japanese, ("if-none-match", tag)]).status();
    assert_eq!(status(&own), 200);
    assert_eq!(status(&other), 304);
}

#[test]
fn a_project_has_its_own_words() {
    let directory = directory();
    let path = directory.path();
    write(path, "en.toml", "[texts]\n\"Inbox\" = \"To do\"\n");
    let server = Server::start(path);
    let page = Reader::new(&server).page("/", &[("accept-language", "en")]);
    assert!(page.contains("To do") && !page.contains("Inbox"), "{page}");

    let table = run(path, &["texts", "--language", "de"]).ok();
    assert!(table.starts_with("name = \"de\"\n\n[texts]\n"), "{table}");
    write(path, "de.toml", &table.replace("\"Inbox\" = \"Inbox\"", "\"Inbox\" = \"Eingang\""));
    let again = run(path, &["texts", "--language", "de"]).ok();
    assert_eq!(again.replace("Eingang", "Inbox"), table);
    assert_eq!(run(path, &["texts", "--language", "../x"]).code, 1);
}

#[test]
fn a_broken_table_stops_no_server() {
    let directory = directory();
    let path = directory.path();
    write(path, "de.toml", &GERMAN.replace("\"Inbox\"", "\"Inbx\""));
    write(path, "fr.toml", "[texts\n");
    write(path, "x!.toml", "[texts]\n");
    let server = Server::start(path);
    for problem in [
        ".ait/languages/de.toml: the pages have no text \"Inbx\": did you mean \"Inbox\"?",
        ".ait/languages/fr.toml, line 1: ",
        ".ait/languages/x!.toml: \"x!\" is no language",
    ] {
        server.log().wait_for(problem);
        let report = run(path, &["doctor"]).out;
        assert!(report.contains(problem), "{report}");
    }
    assert_eq!(Reader::new(&server).language("/", &[("accept-language", "de")]), "de");
    let texts = run(path, &["texts", "--language", "de"]);
    assert_eq!(texts.code, 1);
    assert!(texts.log.contains("Inbox"), "{}", texts.log);
}

/// A key whose words are nowhere in the sources is one of a text that is gone. That all texts have keys is tested in a
/// browser.
#[test]
fn all_keys_are_of_texts_that_there_are() {
    let files = sources("crates").into_iter().filter(|(name, _)| !name.contains("/tests/"));
    let all: String = files.map(|(_, text)| text.to_lowercase()).collect();
    // Long literals go over several lines.
    let mut lines = all.split("\\\n");
    let first = lines.next().unwrap_or_default();
    let all: String = std::iter::once(first).chain(lines.map(str::trim_start)).collect();
    let table: Table = Languages::default().find("ja").unwrap().to_toml().parse().unwrap();
    let months = "jan feb mar apr may jun jul aug sep oct nov dec";
    let mut gone = BTreeSet::new();
    for key in table["texts"].as_table().unwrap().keys() {
        let words = key.split(['{', '}', ',', ':', ';', '.', '(', ')', '“', '”']);
        let words = words.flat_map(|part| part.split(|letter: char| letter.is_ascii_digit()));
        let words = words.map(|part| part.trim().to_lowercase()).filter(|part| part.len() > 3);
        let mut words = words.filter(|part| !months.contains(&**part));
        if words.any(|part| part.split(' ').any(|word| !all.contains(word))) {
            gone.insert(key);
        }
    }
    assert!(gone.is_empty(), "{gone:?}");
}
