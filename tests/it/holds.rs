//! Limits of providers: their agents get nothing until a time, and keep what they hold.

use std::process::Command;

use chrono::{DateTime, Local};
use serde_json::{Value, json};

use crate::hooks::{Desk, end};
use crate::support::http::Server;
use crate::support::postgres::project;
use crate::support::runs::Run;
use crate::support::{Client, get, until};

/// A project with agents of two providers, whose claims lapse soon.
struct Project {
    desk: Desk,
    store: Option<String>,
}

impl Project {
    fn new(store: Option<String>) -> Self {
        let desk = Desk::new();
        let settings =
            "claim-grace = \"100ms\"\nproviders = [\"anthropic=dev-* lead\", \"openai=codex\"]\n";
        desk.write("ait.toml", settings);
        Self { desk, store }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.desk.command("ait", &self.desk.project(), arguments);
        if let Some(store) = &self.store {
            command.env("AIT_STORE", store);
        }
        command
    }

    fn ait(&self, arguments: &[&str]) -> Run {
        end(&mut self.command(arguments))
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.ait(&[arguments, &["--json"]].concat()).ok()).unwrap()
    }

    /// Claims the next issue with a client that ends then.
    fn claim_and_end(&self, agent: &str) -> String {
        let mut client = Client::begin(&mut self.command(&[]));
        let issue = client.call("get_next_issue", json!({ "agent": agent })).issue();
        client.close();
        issue["id"].as_str().unwrap().to_owned()
    }

    fn status(&self, id: &str) -> Value {
        self.json(&["show", id])["status"].take()
    }

    /// Lets claims lapse that are due.
    fn next_of_other(&self) -> Value {
        // It fails if nothing is ready.
        let next = self.ait(&["next", "-a", "codex", "--json"]);
        serde_json::from_str::<Value>(&next.out).unwrap()["id"].take()
    }
}

fn exercise(store: Option<String>) {
    let project = Project::new(store);
    for title in ["first", "second"] {
        project.ait(&["add", title, "-c", "bug", "-a", "lead"]).ok();
    }
    let kept = project.claim_and_end("dev-1");
    let lost = project.claim_and_end("codex");
    assert!(
        project
            .ait(&["hold", "--provider", "anthropic", "--until", "1h"])
            .ok()
            .contains("anthropic is held until")
    );
    until("the claim of another provider lapses", || project.next_of_other() == lost.as_str());
    assert_eq!(project.status(&kept), "in_progress");

    // Its agents get nothing, whichever way they ask.
    project.ait(&["return", &lost, "-m", "c", "-a", "codex"]).ok();
    for arguments in
        [&["next", "-a", "dev-2"][..], &["claim", &lost, "-a", "lead"], &["review", "-a", "dev-1"]]
    {
        let refused = project.ait(arguments);
        assert!(
            refused.code != 0 && refused.log.contains("anthropic has reached a limit until"),
            "{refused:?}"
        );
    }
    let mut client = Client::begin(&mut project.command(&[]));
    let refusal = client.call("get_next_issue", json!({ "agent": "dev-3" })).refusal();
    assert!(refusal.contains("keep what they hold"), "{refusal}");

    assert!(project.ait(&["board"]).ok().contains("anthropic is held until"));
    assert_eq!(project.json(&["board"])["holds"][0]["provider"], "anthropic");
    let mut serve = project.command(&["serve"]);
    serve.env("PORT", "0");
    let server = Server::spawn(serve, &project.desk.project());
    let board = || get(server.port, "/board").body;
    assert!(board().contains("anthropic has reached a limit"));

    // A later word counts, and the end ends it.
    project.ait(&["hold", "--provider", "anthropic", "--until", "2h"]).ok();
    assert_eq!(project.json(&["hold"]).as_array().unwrap().len(), 1);
    assert!(
        project
            .ait(&["hold", "--provider", "anthropic", "--end"])
            .ok()
            .contains("no provider is held")
    );
    assert!(!board().contains("has reached a limit"));
    until("the claim lapses once the limit is over", || project.status(&kept) == "created");
    assert_eq!(project.json(&["next", "-a", "dev-2"])["id"], kept.as_str());
}

#[test]
fn agents_of_a_provider_with_a_limit_keep_what_they_hold_and_get_nothing() {
    exercise(None);
}

#[test]
fn postgres_agents_of_a_provider_with_a_limit_keep_what_they_hold_and_get_nothing() {
    let Some(url) = project() else { return };
    exercise(Some(url));
}

#[test]
fn a_client_that_meets_a_limit_reports_it() {
    let project = Project::new(None);
    let id = project.desk.add("t");
    let report = |agent: &str, error: &str, message: &str| {
        let input = json!({ "error": error, "last_assistant_message": message });
        assert_eq!(project.desk.output("subagent-failure", agent, &input), Value::Null);
        project.json(&["hold"])
    };
    project.desk.ait(&["claim", &id, "-a", "dev-1"]).ok();
    assert_eq!(report("dev-1", "overloaded", "resets 3pm"), json!([]));
    assert_eq!(report("stranger", "rate_limit", "resets 3pm"), json!([]));
    let until = |holds: &Value| -> DateTime<Local> {
        assert_eq!(holds[0]["provider"], "anthropic", "{holds}");
        holds[0]["until"].as_str().unwrap().parse().unwrap()
    };
    let unsaid = until(&report("dev-1", "rate_limit", "API Error")) - Local::now();
    assert!((1..=15).contains(&unsaid.num_minutes()), "{unsaid}");
    let said = report("dev-2", "rate_limit", "You've hit your limit · resets 3:30pm (UTC)");
    assert_eq!(until(&said).format("%H:%M:%S").to_string(), "15:30:00");
    // The agent keeps what it holds.
    project.desk.hook("session-end", "dev-1", json!({ "reason": "other" })).ok();
    assert_eq!(project.status(&id), "in_progress");
}

#[test]
fn a_hold_names_a_known_provider_and_a_later_time() {
    let project = Project::new(None);
    for (arguments, problem) in [
        (&["--provider", "other", "--until", "1h"][..], "put providers ="),
        (&["--provider", "openai"], "say until when"),
        (&["--provider", "openai", "--until", "2020-01-01"], "a later time"),
    ] {
        let refused = project.ait(&[&["hold"], arguments].concat());
        assert!(refused.code != 0 && refused.log.contains(problem), "{refused:?}");
    }
    project.desk.write("ait.toml", "providers = [\"openai\"]\n");
    assert!(project.ait(&["list"]).log.contains("is no provider"));
}
