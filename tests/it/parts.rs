//! Parts of an issue, and their whole.

use serde_json::{Value, json};

use crate::support::runs::run;
use crate::support::{Client, ait, directory};

/// Parts of a whole that is blocked or parked wait with it, and the whole with its parts.
#[test]
fn parts_wait_with_their_whole() {
    let directory = directory();
    let path = directory.path();
    std::fs::write(path.join("ait.toml"), "replies = \"compact\"\n").unwrap();
    let mut client = Client::begin(ait(path).args(["--toolsets", "planning"]));
    let add = |arguments: &[&str]| {
        let filed: Value =
            serde_json::from_str(&run(path, &[&["add", "--json"], arguments].concat()).ok())
                .unwrap();
        filed["id"].as_str().unwrap().to_owned()
    };
    let first = add(&["Phase 1"]);
    let second = add(&["Phase 2", "--blocked-by", &first]);
    let part = add(&["Part of phase 2", "--parent", &second]);
    let inner = add(&["Part of the part", "--parent", &part]);
    let later = add(&["Later"]);
    let parked = add(&["Part of later", "--parent", &later]);
    run(path, &["park", &later, "-m", "after the release"]).ok();
    let ready = || run(path, &["ready"]).out;
    let is_ready = |titles: &[&str]| {
        let shown = ready();
        assert_eq!(
            shown.lines().filter(|line| line.contains("created")).count(),
            titles.len(),
            "{shown}"
        );
        assert!(titles.iter().all(|title| shown.contains(title)), "{shown}");
    };
    is_ready(&["Phase 1"]);
    let found = client.call("list_issues", json!({ "query": "is:ready" })).ok();
    assert!(found.starts_with("1 issue\n"), "{found}");
    let claimed = client.call("get_next_issue", json!({ "agent": "dev" })).issue();
    assert_eq!(claimed["title"], "Phase 1");
    for (id, why) in [(&inner, "blocked"), (&parked, "parked")] {
        let named =
            client.call("get_next_issue", json!({ "agent": "dev", "issue_id": id })).refusal();
        assert!(named.contains("it is a part of") && named.contains(why), "{named}");
    }
    // The wholes are shown as what they are.
    let listed = client.call("list_issues", json!({})).ok();
    assert!(listed.contains("Phase 2 [blocked, parts]"), "{listed}");
    assert!(listed.contains("Later [parts, parked]"), "{listed}");
    let list = run(path, &["list"]).out;
    assert!(list.contains("parts,parked"), "{list}");
    let blocked = run(path, &["blocked"]).out;
    assert!(blocked.contains("waits for") && blocked.contains("Part of later"), "{blocked}");
    let digest = client.call("get_digest", json!({})).issue();
    assert_eq!((&digest["ready"], &digest["blocked"]), (&json!(0), &json!(5)), "{digest}");
    let held = digest["held"]["first"][0].as_str().unwrap();
    assert!(held.starts_with(&format!("{} in_progress dev ", &first[..8])), "{held}");
    assert!(held.ends_with(" Phase 1"), "{held}");
    run(path, &["close", &first, "-m", "c"]).ok();
    is_ready(&["Part of the part"]);
    run(path, &["unpark", &later]).ok();
    is_ready(&["Part of the part", "Part of later"]);
    // A whole that its own part blocks does not hold that part back, and no link makes a part wait for itself.
    run(path, &["link", &later, "blocked-by", &parked]).ok();
    is_ready(&["Part of the part", "Part of later"]);
    let blocker = add(&["Blocker"]);
    run(path, &["link", &blocker, "blocked-by", &parked]).ok();
    let refused = run(path, &["link", &later, "blocked-by", &blocker]);
    assert!(refused.code == 1 && refused.log.contains("waits for"), "{refused:?}");
    let claimed =
        client.call("get_next_issue", json!({ "agent": "dev", "issue_id": inner })).issue();
    let line = format!("parent {} created: Part of phase 2", &part[..8]);
    assert_eq!((&claimed["claim"], &claimed["links"]), (&json!(1), &json!([line])), "{claimed}");
}
