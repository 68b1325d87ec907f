//! Each field of the table through every face, with random values: tools, commands, searches, exports and imports,
//! other programs, edits of `issues.json`, undo, `/api` and pages, on SQLite and PostgreSQL.

mod samples;

use std::fs;
use std::path::Path;

use agent_issue_tracker::domain::ValueField;
use agent_issue_tracker::domain::fields::FIELDS;
use fastrand::Rng;
use serde_json::{Value, json};

use self::samples::{
    Sample, Samples, arguments, body, check, filing, none, samples, sorted, value,
};
use crate::support::files::{issues_in_file, settle, write_issues};
use crate::support::http::Server;
use crate::support::runs::run;
use crate::support::{Client, ait, directory, factor, get, id_in};
use crate::web_actions::{self, Form, WRITER};

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn shown(path: &Path, id: &str) -> Value {
    parsed(&run(path, &["show", id, "--json"]).ok())
}

/// Runs a command with the options of the values.
fn run_with_options(path: &Path, words: &[&str], values: &Samples) -> String {
    let options = values.values().flat_map(|sample| sample.options.iter().map(String::as_str));
    run(path, &words.iter().copied().chain(options).collect::<Vec<_>>()).ok()
}

/// A store with an issue that gets values through each face.
struct Walk<'a> {
    path: &'a Path,
    client: Client,
    others: Vec<String>,
    id: String,
    /// What the issue has.
    values: Samples,
    rng: &'a mut Rng,
}

fn has_argument(_: &str, sample: &Sample) -> bool {
    !sample.arguments.is_empty()
}

fn has_one_value(name: &str, _: &Sample) -> bool {
    ValueField::from_word(name).is_some()
}

impl<'a> Walk<'a> {
    fn begin(path: &'a Path, rng: &'a mut Rng) -> Self {
        let mut client = Client::begin(ait(path).args(["--toolsets", "all"]));
        let others = ["whole", "first", "second"].map(|title| client.add(title, "bug")).to_vec();
        Self { path, client, others, id: String::new(), values: Samples::new(), rng }
    }

    /// Returns new values for the issue, without those that a face does not set.
    fn next(&mut self, is_set: impl Fn(&str, &Sample) -> bool) -> Samples {
        let mut given = samples(&shown(self.path, &self.id), &self.others, self.rng);
        given.retain(|name, sample| is_set(name, sample));
        given
    }

    /// Returns values for a new issue, which is not parked.
    fn unfiled(&mut self) -> Samples {
        let mut given = samples(&Value::Null, &self.others, self.rng);
        given.insert("parked", Sample { term: "-is:parked".to_owned(), ..Sample::default() });
        given
    }

    /// Expects that a face gave the issue values, and that reads and searches agree.
    #[track_caller]
    fn expect(&mut self, face: &str, given: Samples) {
        self.values.extend(given);
        let issue = shown(self.path, &self.id);
        check(face, &self.values, &issue);
        let fields: Vec<_> = FIELDS.iter().map(|(name, _)| *name).collect();
        let read = json!({ "issue_id": self.id, "fields": fields.join(",") });
        check(face, &self.values, &self.client.call("list_issues", read).issue());
        for (name, Sample { term, .. }) in &self.values {
            for (query, count) in [(term.clone(), 1), (format!("-({term})"), 0)] {
                let search = json!({ "query": query, "take": 500, "fields": "id" });
                let found = self.client.call("list_issues", search).issue();
                let found = found["issues"].as_array().unwrap().iter();
                let found = found.filter(|issue| issue["id"] == self.id).count();
                assert_eq!(found, count, "{face}: {name}: {query} in {issue}");
            }
        }
    }

    fn tools(&mut self) {
        // Budgets are for people.
        let mut given = self.unfiled();
        given.remove("budget");
        let all = json!({ "agent": "a", "issues": [filing(&given)] });
        self.client.call("add_issues", all).ok();
        let search = json!({ "query": given["title"].term });
        let found = self.client.call("list_issues", search).issue();
        self.id = found["issues"][0]["id"].as_str().unwrap().to_owned();
        self.expect("add_issues", given);

        let before = self.values.clone();
        let given = self.next(|name, sample| name != "budget" && has_argument(name, sample));
        let mut change = arguments(&given);
        change["issue_id"] = json!(self.id);
        change["agent"] = json!("undoer");
        self.client.call("update_issue", change).ok();
        self.expect("update_issue", given);
        run(self.path, &["undo", "--agent", "undoer"]).ok();
        self.expect("undo", before);

        // The tool for a single issue takes some of the fields.
        let tools = self.client.request("tools/list", json!({}));
        let tools = tools["tools"].as_array().unwrap();
        let tool = tools.iter().find(|tool| tool["name"] == "add_issue").unwrap();
        let taken = &tool["inputSchema"]["properties"];
        let is_taken = |name: &str| taken.get(name).is_some();
        let mut given =
            filing(&self.next(|name, sample| is_taken(name) && has_one_value(name, sample)));
        for name in ["title", "description", "agent"] {
            given[name] = json!("one");
        }
        given["classification"] = json!("bug");
        let filed = self.client.call("add_issue", given.clone()).ok();
        let filed = shown(self.path, &id_in(&filed));
        // As clients do that have to give every parameter.
        let is_removable = |name: &&str| *name != ValueField::Priority.as_str() && is_taken(name);
        let names = ValueField::words().filter(is_removable);
        let mut without = given.clone();
        names.clone().for_each(|name| without[name] = json!(""));
        let without = self.client.call("add_issue", without).ok();
        let without = shown(self.path, &id_in(&without));
        for name in names {
            assert_eq!((&filed[name], &without[name]), (&given[name], &Value::Null), "{name}");
        }
    }

    fn commands(&mut self) {
        let mut given = self.unfiled();
        self.values = given.clone();
        // A new issue has no value to remove, and its title has no option.
        let title = given.remove("title").unwrap().stored.as_str().unwrap().to_owned();
        for sample in given.values_mut() {
            sample.options.retain(|option| !option.ends_with("=none"));
            let options = sample.options.iter();
            sample.options = options.map(|one| one.replace("--label=+", "--label=")).collect();
        }
        // It stands last.
        given.insert("~title", Sample { options: vec!["--".into(), title], ..Sample::default() });
        let filed = run_with_options(self.path, &["add", "-a", "a"], &given);
        let filed = shown(self.path, &id_in(&filed));
        self.id = filed["id"].as_str().unwrap().to_owned();
        self.expect("add", Samples::new());

        let given = self.next(|name, _| name != "parked");
        let none = ValueField::ALL.iter().map(|field| (field.as_str(), none(*field))).collect();
        for given in [given, none] {
            run_with_options(self.path, &["edit", &self.id, "-a", "a"], &given);
            self.expect("edit", given);
        }
        let given = self.next(has_one_value);
        let term = &self.values["title"].term;
        run_with_options(self.path, &["bulk", term, "--yes", "-a", "a"], &given);
        self.expect("bulk", given);
    }

    fn edits(&mut self) {
        let given = self.next(|_, _| true);
        settle(self.path);
        run(self.path, &["list"]).ok();
        let mut issues = issues_in_file(self.path);
        let issue = issues.iter_mut().find(|issue| issue["id"] == self.id).unwrap();
        for (name, sample) in &given {
            issue[*name] = sample.stored.clone();
        }
        issue.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        write_issues(self.path, &issues);
        self.expect("an edit of issues.json", given);
    }

    fn exports(&mut self) {
        let exported = |path: &Path| sorted(parsed(&run(path, &["export"]).ok())["issues"].take());
        for format in ["csv", "json", "jsonl"] {
            let target = directory();
            let file = target.path().join(format!("exported.{format}"));
            let file = file.to_str().unwrap();
            run(self.path, &["export", file]).ok();
            run(target.path(), &["import", file]).ok();
            let all = [exported(target.path()), exported(self.path)];
            let [imported, kept] = all.each_ref().map(|all| all.as_array().unwrap());
            assert_eq!(imported.len(), kept.len(), "{format}");
            for (imported, kept) in imported.iter().zip(kept) {
                assert_eq!(imported, kept, "{format}");
            }
        }
    }

    fn api(&mut self) {
        let server = web_actions::serve_with_tokens(self.path);
        let send = |method: &str, path: &str, body: &Value| {
            web_actions::api::change(server.port, method, path, WRITER, body)
        };
        let given = self.next(has_argument);
        let path = format!("/api/issues/{}", self.id);
        let changed = send("PATCH", &path, &body(&arguments(&given)));
        assert_eq!(changed.status, 200, "{}", changed.body);
        self.expect("PATCH", given);
        check("PATCH", &self.values, &changed.json());
        let given = self.unfiled();
        let filed = send("POST", "/api/issues", &body(&filing(&given)));
        assert_eq!(filed.status, 201, "{}", filed.body);
        check("POST", &given, &filed.json());
    }

    fn pages(&mut self) {
        let server = web_actions::serve(self.path);
        let given = self.next(|name, sample| name == "labels" || has_one_value(name, sample));
        let mut forms =
            [Form::load(server.port, &self.id, "attributes"), web_actions::filing(server.port)];
        for (name, sample) in &given {
            let labels = sample.stored.as_array().into_iter().flatten().filter_map(Value::as_str);
            let typed = match sample.options.first().filter(|_| *name != "labels") {
                Some(option) => option.split_once('=').unwrap().1.replacen("@@", "@", 1),
                None => labels.collect::<Vec<_>>().join(" "),
            };
            forms = forms.map(|form| form.with(name, &typed));
        }
        let [change, filing] = forms;
        change.done();
        self.expect("form", given.clone());
        let filed = filing.with("title", "filed").with("text", "d").done();
        let filed = filed.split('?').next().unwrap();
        check("new form", &given, &get(server.port, &format!("/api{filed}")).json());

        // Filters of the list.
        for (name, Sample { stored, .. }) in given.iter().filter(|(name, _)| **name != "labels") {
            let value = stored.as_str().map_or(stored.to_string(), str::to_owned);
            let value = match ValueField::from_word(name) {
                Some(ValueField::Due) => &value[..10],
                Some(ValueField::Touches | ValueField::Budget) => "any",
                _ => &value,
            };
            let mut query = form_urlencoded::Serializer::new(String::new());
            let query = query.append_pair(name, value).finish();
            for path in ["/", "/api/issues"] {
                let found = get(server.port, &format!("{path}?{query}")).body;
                assert!(found.contains(&self.id), "{path}?{query}");
            }
        }
    }
}

#[test]
fn each_field_goes_through_every_face() {
    for seed in 0..2 * factor() {
        let rng = &mut Rng::with_seed(seed);
        let directory = directory();
        let mut walk = Walk::begin(directory.path(), rng);
        walk.tools();
        walk.commands();
        walk.edits();
        walk.exports();
        walk.api();
        walk.pages();
    }
}

#[cfg(feature = "postgres")]
#[test]
fn each_field_goes_through_every_face_of_a_store_in_postgres() {
    for seed in 0..factor() {
        let Some(url) = crate::support::postgres::project() else { return };
        let rng = &mut Rng::with_seed(seed);
        let directory = directory();
        fs::write(directory.path().join("ait.toml"), format!("store = {url:?}\n")).unwrap();
        let mut walk = Walk::begin(directory.path(), rng);
        walk.tools();
        walk.commands();
        walk.exports();
        walk.api();
        walk.pages();
        assert!(!directory.path().join("issues.json").exists());
    }
}

/// Files of another program, and what changes in them later.
#[test]
fn each_field_follows_the_files_of_other_programs() {
    let rng = &mut Rng::with_seed(0);
    let mut one = |field: &ValueField| {
        let name = format!("dev-{}", rng.u8(..));
        let mut sample = value(*field, name, &mut rng.fork());
        // Programs that have days alone write the beginning of the day.
        if let Some(day) =
            sample.stored.as_str().and_then(|text| text.strip_suffix("T00:00:00.000Z"))
        {
            sample.stored = json!(day);
        }
        (field.as_str(), sample)
    };
    let mut versions = || ValueField::ALL.iter().map(&mut one).collect::<Samples>();
    let directory = directory();
    let path = directory.path();
    let only =
        |path: &Path| parsed(&run(path, &["list", "--json", "--all"]).ok())["issues"][0].take();
    for update in ["", "--update", "--update"] {
        let values = versions();
        let names: Vec<_> = values.keys().copied().collect();
        let cell = |sample: &Sample| {
            format!("\"{}\"", sample.options[0].split_once('=').unwrap().1.replace('"', "\"\""))
        };
        let cells: Vec<_> = values.values().map(cell).collect();
        let csv = format!("key,title,{}\nSHOP-1,t,{}\n", names.join(","), cells.join(","));
        fs::write(path.join("other.csv"), &csv).unwrap();
        let import = ["import", "other.csv", "--map", "key=id", update];
        run(path, &import[..if update.is_empty() { 4 } else { 5 }]).ok();
        check(&csv, &values, &only(path));
    }

    let mut bead = json!({
        "id": "bd-1", "title": "t", "status": "open", "issue_type": "bug", "created_at": "2026-01-31T09:30:00Z",
        "updated_at": "2026-01-31T09:30:00Z",
    });
    let mut values = versions();
    for field in ValueField::ALL {
        let key = match field {
            ValueField::Priority => "priority",
            ValueField::Assignee => "assignee",
            ValueField::Due => "due_at",
            ValueField::Estimate => "estimated_minutes",
            ValueField::Touches | ValueField::Budget => {
                values.remove(field.as_str());
                continue;
            }
        };
        bead[key] = values[field.as_str()].stored.clone();
    }
    let beads = crate::support::directory();
    fs::write(beads.path().join("issues.jsonl"), bead.to_string()).unwrap();
    run(beads.path(), &["import", "issues.jsonl"]).ok();
    check(&bead.to_string(), &values, &only(beads.path()));
}

#[test]
fn overdue_issues_are_found_until_they_end() {
    let directory = directory();
    let path = directory.path();
    run(path, &["add", "late", "-c", "bug", "--due", "2020-02-29", "-a", "a"]).ok();
    run(path, &["add", "soon", "-c", "bug", "--due", "2d", "-a", "a"]).ok();
    run(path, &["add", "whenever", "-c", "bug", "-a", "a"]).ok();
    let titles = |query: &str| {
        let found: Value =
            serde_json::from_str(&run(path, &["list", "--all", query, "--json"]).ok()).unwrap();
        let found = found["issues"].as_array().unwrap();
        let mut titles: Vec<_> =
            found.iter().map(|issue| issue["title"].as_str().unwrap().to_owned()).collect();
        titles.sort_unstable();
        titles
    };
    assert_eq!(titles("is:overdue"), ["late"]);
    assert_eq!(titles("due:<3d"), ["late", "soon"]);
    assert_eq!(titles("due:>1d"), ["soon"]);
    assert_eq!(titles("due:none"), ["whenever"]);
    let shown = run(path, &["list", "is:overdue", "--json"]).ok();
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let late = shown["issues"][0]["id"].as_str().unwrap();
    assert!(run(path, &["show", late]).ok().contains("due: 2020-02-29 (overdue)"));
    run(path, &["close", late, "-m", "done", "-a", "a"]).ok();
    assert!(titles("is:overdue").is_empty());
    let refused = run(path, &["add", "x", "-c", "bug", "--due", "whenever"]);
    assert_eq!(refused.code, 2);
    assert!(refused.log.contains("is no date"), "{}", refused.log);
}

#[test]
fn estimates_of_parts_are_summed() {
    let directory = directory();
    let path = directory.path();
    let whole = run(path, &["add", "whole", "-c", "feature", "--estimate", "8", "-a", "a"]).ok();
    let whole = crate::support::id_in(&whole);
    for estimate in ["0.5", "2.25"] {
        run(path, &["add", "part", "-c", "bug", "--estimate", estimate, "--parent", &whole]).ok();
    }
    let shown = run(path, &["show", &whole]).ok();
    assert!(
        shown.contains("estimate: 8") && shown.contains("estimate of its parts: 2.75"),
        "{shown}"
    );
    let server = Server::start(path);
    let page = get(server.port, "/").body;
    assert!(page.contains("estimate 8, its parts 2.75"), "{page}");
}

/// Tests of the command line and of queries look for its options and its key.
#[test]
fn the_documentation_has_each_field() {
    let attributes = include_str!("../../docs/mcp.md");
    let imports = include_str!("../../docs/import-export.md");
    for name in ValueField::words() {
        for (page, text) in [("mcp.md", attributes), ("import-export.md", imports)] {
            assert!(text.contains(&format!("\n| `{name}` |")), "{name} needs a row in docs/{page}");
        }
    }
}

#[test]
fn the_description_of_the_api_has_each_field() {
    let description = parsed(include_str!("../../crates/ait-web/src/openapi.json"));
    let schemas = &description["components"]["schemas"];
    for (name, _) in FIELDS {
        assert!(schemas["Issue"]["properties"].get(name).is_some(), "Issue: {name}");
    }
    let parameters = description["paths"]["/api/issues"]["get"]["parameters"].as_array().unwrap();
    for name in ValueField::words() {
        for schema in ["NewIssue", "IssueEdit"] {
            assert!(schemas[schema]["properties"].get(name).is_some(), "{schema}: {name}");
        }
        assert!(parameters.iter().any(|parameter| parameter["name"] == name), "{name}");
    }
}
