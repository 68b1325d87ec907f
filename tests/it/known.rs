//! What a claim tells of closed issues.

use std::sync::Arc;

use agent_issue_tracker::domain::{
    AgentName, ClaimProof, Classification, CommentText, Description, Facts, Issue, Resolution,
    Title,
};
use agent_issue_tracker::store::{SqliteStore, Store};
use agent_issue_tracker::tracker::{IssueAtVersion, NewIssue, Tracker};
use serde_json::{Value, json};

use crate::support::http::Server;
use crate::support::postgres::{open, project};

use crate::support::runs::run;
use crate::support::{Client, ait, directory, get, id_in};

const FILES: [&str; 5] =
    ["kit/text.py", "kit/money.py", "src/api/routes.ts", "README.md", "db/schema.sql"];
const TRAPS: [&str; 8] = [
    "the empty input must stay empty, callers test for it",
    "amounts are Decimal, never float (audit)",
    "the cache is filled twice unless the lock is taken first",
    "sorting depends on the locale, so pass it",
    "callers keep the first result, do not change its order",
    "a retry after a timeout books twice",
    "the parser rejects a trailing comma on purpose",
    "tests need the clock stopped, otherwise they fail at midnight",
];

fn tokens(text: &str) -> usize {
    tiktoken_rs::o200k_base_singleton().encode_ordinary(text).len()
}

/// Files an issue, and returns its short id.
fn file(client: &mut Client, title: &str, description: &str) -> String {
    let issue = json!({ "title": title, "description": description, "classification": "bug", "agent": "lead" });
    id_in(&client.call("add_issue", issue).ok())[..8].to_owned()
}

/// Works an issue off with a comment.
fn close(client: &mut Client, id: &str, handed_in: &str) {
    client.call("get_next_issue", json!({ "agent": "dev-1", "issue_id": id })).ok();
    let done = json!({ "agent": "dev-1", "issue_id": id, "comment": handed_in });
    client.call("complete_issue", done).ok();
    client.call("get_next_review_item", json!({ "agent": "rev" })).ok();
    let closed =
        json!({ "agent": "rev", "issue_id": id, "comment": "Merged.", "resolution": "closed" });
    client.call("close_issue", closed).ok();
}

fn known(claim: &str) -> Vec<String> {
    let claim: Value = serde_json::from_str(claim).unwrap();
    let known = claim["known"].as_array().cloned().unwrap_or_default();
    known.iter().map(|line| line.as_str().unwrap().to_owned()).collect()
}

/// Forty closed issues named a trap each, eight of them in the file that a new issue is about.
#[test]
fn a_claim_names_the_traps_in_its_files() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    let mut about = Vec::new();
    for (at, trap) in TRAPS.iter().enumerate() {
        for name in FILES {
            let id = file(
                &mut client,
                &format!("Change no. {at} of {}", name.replace('/', " ")),
                "See the log.",
            );
            let handed_in = format!(
                "Done on branch issue-{id}, tests pass. Trap in {name}: {trap}. Nothing else."
            );
            close(&mut client, &id, &handed_in);
            if name == "kit/money.py" {
                about.push(id);
            }
        }
    }
    let new = file(&mut client, "Round halves up", "In `kit/money.py`, round() goes to even.");
    let claim = client.call("get_next_issue", json!({ "agent": "dev-2", "issue_id": new })).ok();
    let lines = known(&claim);
    let named = about.iter().filter(|id| lines.iter().any(|line| line.starts_with(&***id)));
    assert!(named.count() >= 6 && lines.len() <= 8, "{lines:#?}");
    assert!(lines.iter().all(|line| about.contains(&line[..8].to_owned())), "{lines:#?}");
    assert!(
        lines.iter().any(|line| line.contains("amounts are Decimal, never float")),
        "{lines:#?}"
    );
    assert!(lines.iter().all(|line| !line.contains("branch")), "{lines:#?}");
    let cost = tokens(&serde_json::to_string(&json!({ "known": lines })).unwrap());
    assert!(cost <= 300, "{cost} tokens");

    // A person who claims sees them, too, and so does the reviewer.
    let done = json!({ "agent": "dev-2", "issue_id": new, "comment": "Rounds up." });
    client.call("complete_issue", done).ok();
    let review = client.call("get_next_review_item", json!({ "agent": "rev" })).ok();
    assert_eq!(known(&review), lines);
    let returned = json!({ "agent": "rev", "issue_id": new, "comment": "Negative numbers, too." });
    client.call("return_issue", returned).ok();
    let claimed = run(directory.path(), &["next", "-a", "dev-3"]).ok();
    assert!(claimed.contains("What the team knows:") && claimed.contains(&lines[0]), "{claimed}");

    let server = Server::start(directory.path());
    let page = get(server.port, &format!("/issues/{new}")).body;
    let (id, text) = lines[0].split_at(8);
    let text = text.trim().replace('\'', "&#39;");
    assert!(page.contains("What the team knows") && page.contains(id), "{page}");
    assert!(page.contains(&*text), "{text}: {page}");

    // Nothing is near.
    let other = file(&mut client, "Translate the manual", "Into French.");
    let claim = client.call("get_next_issue", json!({ "agent": "dev-2", "issue_id": other })).ok();
    assert!(!claim.contains("\"known\""), "{claim}");
}

#[test]
fn links_and_titles_lead_to_what_is_known() {
    let directory = directory();
    let arguments = ["--toolsets", "planning", "--replies", "compact"];
    let mut client = Client::begin(ait(directory.path()).args(arguments));
    let mut file = |title: &str| {
        let issue =
            json!({ "title": title, "description": "", "classification": "bug", "agent": "lead" });
        client.call("add_issue", issue).ok()[..8].to_owned()
    };
    let ids = [
        "Design the export",
        "Login fails on Safari",
        "Write the exporter",
        "Safari: login fails",
        "Login page",
    ]
    .map(&mut file);
    let [design, login, exporter, again, page] = ids;
    close(&mut client, &design, "Decided: one CSV for each table, because reports join them.");
    close(&mut client, &login, "Never keep the session in localStorage.");
    let link = json!({ "issue_id": exporter, "agent": "lead", "blocked_by": [design] });
    client.call("update_issue", link).ok();
    let mut claim = |id: &str| {
        let claim = client.call("get_next_issue", json!({ "agent": "dev-2", "issue_id": id })).ok();
        client
            .call("return_issue", json!({ "agent": "dev-2", "issue_id": id, "comment": "later" }))
            .ok();
        known(&claim)
    };
    let decided = format!("{design} Decided: one CSV for each table, because reports join them.");
    assert_eq!(claim(&exporter), [decided]);
    assert_eq!(claim(&again), [format!("{login} Never keep the session in localStorage.")]);
    assert!(claim(&page).is_empty());
    let mut analyst = Client::begin(ait(directory.path()).args(["--toolsets", "analysis"]));
    let context = analyst.call("get_context", json!({ "issue_id": again })).ok();
    let context: Value = serde_json::from_str(&context).unwrap();
    let told = format!("{login} Never keep the session in localStorage.");
    assert_eq!(context["contexts"][0]["known"], json!([told]));
}

/// What an issue about a file is told, before another one about it is closed, then, and when that is open again.
async fn tell(store: Arc<dyn Store>) {
    let tracker = Tracker::new(store);
    let agent = || AgentName::try_from("a").unwrap();
    let text = |text: &str| CommentText::try_from(text).unwrap();
    let proof = || ClaimProof { is_person: true, ..ClaimProof::default() };
    let file = async |title: &str, about: &str| {
        let title = Title::try_from(title).unwrap();
        let about = Description::try_from(about).unwrap();
        let new = NewIssue::new(title, about, Classification::Bug);
        tracker.add_issue(new, agent()).await.unwrap().issue
    };
    let first = file("Empty titles", "See Kit/Text.py and kit/other.py.").await;
    let second = file("Long titles", "In `kit/text.py` they are cut.").await;
    let handed_in = text("kit/text.py: keep the empty title empty");
    tracker
        .complete_issue(first.id.into(), handed_in, agent(), proof(), Facts::default())
        .await
        .unwrap();
    assert!(tracker.known(&second).await.is_empty());
    let target = || IssueAtVersion::from(first.id);
    let merged = text("Merged.");
    tracker.close_issue(target(), Resolution::Closed, merged, agent(), proof()).await.unwrap();
    let told = [format!("{} kit/text.py: keep the empty title empty", first.id.short())];
    let lines = async |issue: &Issue| {
        tracker.known(issue).await.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(lines(&second).await, told);
    tracker.reopen_issue(target(), text("Not done."), agent()).await.unwrap();
    assert!(tracker.known(&second).await.is_empty());
}

#[tokio::test]
async fn stores_find_what_is_known() {
    let directory = directory();
    tell(Arc::new(SqliteStore::new(directory.path().join("issues.json")))).await;
    if let Some(project) = project() {
        tell(Arc::new(open(&project))).await;
    }
}
