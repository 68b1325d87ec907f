//! Commands that change issues: attributes, texts, comments, links, and claims of a chosen issue.

use serde_json::{Value, json};

use super::Desk;
use crate::support::files::stored_issues;

/// Returns an issue as `ait show` prints it for scripts.
#[track_caller]
fn shown(desk: &Desk, id: &str) -> Value {
    desk.run(&["show", id, "--json"]).done().json()
}

#[test]
fn new_issues_get_the_given_attributes_and_links() {
    let desk = Desk::new();
    let (epic, first, second) = (desk.add("epic"), desk.add("first"), desk.add("second"));
    let blockers = format!("{},{}", &first[..8], second);
    let mut arguments = vec!["add", "whole", "-p", "1", "-l", "ui,login", "-l", "web"];
    arguments.extend(["--assign", "dev-1", "--parent", &epic[..4], "--blocked-by", &blockers]);
    arguments.extend(["--from", &first, "--json"]);
    let mut issue = desk.run(&arguments).done().json();
    assert_eq!(issue.as_object_mut().unwrap().remove("change"), Some(json!("4")));
    assert_eq!(issue["priority"], 1);
    assert_eq!(issue["labels"], json!(["login", "ui", "web"]));
    assert_eq!(issue["assignee"], "dev-1");
    let expected = json!([
        {"kind": "parent", "to": epic},
        {"kind": "blocked_by", "to": first},
        {"kind": "blocked_by", "to": second},
        {"kind": "related", "to": first},
    ]);
    assert_eq!(issue["links"], expected);
    assert_eq!(stored_issues(desk.path())[3], issue);
    let plain = desk.run(&["add", "plain", "--json"]).done().json();
    for key in ["priority", "labels", "assignee", "links", "parked"] {
        assert!(plain.get(key).is_none(), "{plain}");
    }
}

#[test]
fn invalid_attributes_are_refused_and_nothing_is_filed() {
    let desk = Desk::new();
    for (arguments, code, expected) in [
        (["-p", "5"], 2, "\"5\" is not a priority: give a number from 0 (first) to 4 (last)"),
        (["-l", "a!"], 2, "\"a!\" is not a label"),
        (["--parent", "zzz"], 2, "no id"),
        (["--blocked-by", "3f2a9c1e"], 1, "there is no issue 3f2a9c1e"),
    ] {
        let text = desk.run(&[&["add", "t"][..], &arguments].concat()).failed(code);
        assert!(text.contains(expected), "{text}");
    }
    assert!(stored_issues(desk.path()).is_empty());
}

#[test]
fn an_ended_issue_can_have_a_follow_up() {
    let desk = Desk::new();
    let ended = desk.add("Login fails");
    desk.run(&["close", &ended, "-m", "fixed"]).done();
    let next = desk.run(&["add", "Login still fails", "--from", &ended[..8], "--json"]).done();
    assert_eq!(next.json()["links"], json!([{"kind": "related", "to": ended}]));
}

#[test]
fn edit_changes_what_its_options_name() {
    let desk = Desk::new();
    let (issue, epic, blocker) = (desk.add("t"), desk.add("epic"), desk.add("blocker"));
    let edit = |arguments: &[&str]| desk.run(&[&["edit", &issue], arguments].concat());
    let printed =
        edit(&["--title", "Title", "-d", "D", "-c", "feature", "-p", "0"]).done().stdout();
    let changed = "changed: title, description, classification, priority";
    assert_eq!(printed, format!("{} created: Title ({changed})\n", &issue[..8]));
    edit(&["-l", "+ui", "-l", "old,web", "--assign", "dev-1"]).done();
    edit(&["-l", "-old", "-l", "+new,-web", "--parent", &epic, "--blocked-by", &blocker]).done();
    let stored = shown(&desk, &issue);
    assert_eq!((&stored["title"], &stored["description"]), (&json!("Title"), &json!("D")));
    assert_eq!((&stored["classification"], &stored["priority"]), (&json!("feature"), &json!(0)));
    assert_eq!((&stored["labels"], &stored["assignee"]), (&json!(["new", "ui"]), &json!("dev-1")));
    assert_eq!(stored["links"].as_array().unwrap().len(), 2);
    assert_eq!(stored["status"], "created");
    let none = ["-p", "none", "--assign", "none", "--parent", "none", "--blocked-by", "none"];
    edit(&none).done();
    let stored = shown(&desk, &issue);
    for key in ["priority", "assignee", "links"] {
        assert!(stored.get(key).is_none(), "{stored}");
    }
    desk.run_with_input(&["edit", &issue, "--description", "-"], "from stdin\n").done();
    assert_eq!(shown(&desk, &issue)["description"], "from stdin");
}

#[test]
fn edits_without_effect_are_refused() {
    let desk = Desk::new();
    let issue = desk.add("t");
    assert!(desk.run(&["edit", &issue]).failed(2).contains("say what to change, such as --title"));
    let same = desk.run(&["edit", &issue, "--title", "t"]).failed(1);
    assert_eq!(same, format!("error: nothing would change in issue {}\n", &issue[..8]));
    // Programs get the whole id.
    let same = desk.run(&["edit", &issue, "--title", "t", "--json"]).ends_with(1).json();
    assert_eq!(same["error"], format!("nothing would change in issue {issue}"));
    let mixed = format!("none,{issue}");
    assert!(desk.run(&["edit", &issue, "--blocked-by", &mixed]).failed(2).contains("not both"));
    desk.run(&["close", &issue, "-m", "m"]).done();
    assert!(desk.run(&["edit", &issue, "--title", "u"]).failed(1).contains("which is final"));
    // Ended issues still accept labels and comments.
    desk.run(&["edit", &issue, "-l", "done"]).done();
    desk.run(&["comment", &issue, "-m", "seen again"]).done();
}

#[test]
fn comment_is_added_in_any_status_and_changes_nothing_else() {
    let desk = Desk::new();
    let issue = desk.add("t");
    desk.run(&["next", "--agent", "dev-1"]).done();
    let printed = desk.run(&["comment", &issue[..8], "-m", "also on iOS"]).done().stdout();
    assert_eq!(printed, format!("{} in progress: t (commented)\n", &issue[..8]));
    let stored = desk.run_with_input(&["comment", &issue, "-m", "-", "--json"], "a log\n").json();
    assert_eq!(stored["status"], "in_progress");
    assert_eq!(
        (&stored["comments"][0]["text"], &stored["comments"][1]["text"]),
        (&json!("also on iOS"), &json!("a log"))
    );
    assert_eq!(stored["comments"][0]["agent"], "tester");
    assert!(desk.run(&["comment", &issue]).failed(2).contains("give it with -m 'TEXT'"));
}

#[test]
fn ask_reports_that_the_claim_has_ended() {
    let desk = Desk::new();
    let issue = desk.add("t");
    desk.run(&["claim", &issue]).done();
    let printed = desk.run(&["ask", &issue, "Which database?"]).done().stdout();
    let what = "asked; the claim has ended, and the issue is parked until `ait answer`";
    assert_eq!(printed, format!("{} created: t ({what})\n", &issue[..8]));
    let shown = desk.run(&["show", &issue, "--json"]).done().json();
    assert_eq!((&shown["status"], &shown["claim"]), (&json!("created"), &json!(null)));
}

#[test]
fn labels_that_name_a_classification_get_a_hint() {
    let desk = Desk::new();
    let filed = desk.run(&["add", "t", "-l", "ui,bug", "--json"]).ends_with(0);
    let id = filed.json()["id"].as_str().unwrap()[..8].to_owned();
    let advice = "the label bug is not the kind of work, which is improvement:";
    assert_eq!(filed.stderr(), format!("{advice} `ait edit {id} -c bug` changes that\n"));
    desk.run(&["add", "t", "-c", "bug", "-l", "bug"]).done();
    desk.run(&["add", "t", "-l", "ui"]).done();
    assert_eq!(desk.run(&["list", "-l", "bug"]).done().stdout().lines().count(), 3);
    let none = desk.run(&["list", "-l", "feature"]).ends_with(0).stderr();
    assert!(none.contains("the kind of work is -c: ait list -c bug"), "{none}");
}

#[test]
fn one_issue_is_claimed_and_released_by_its_holder() {
    let desk = Desk::new();
    let (_, issue) = (desk.add("oldest"), desk.add("chosen"));
    let short = &issue[..8];
    assert!(desk.run(&["claim", short]).done().stdout().contains("held by tester"));
    let again = desk.run(&["claim", short, "--agent", "dev-1"]).failed(1);
    let expected =
        format!("issue {short} is in_progress, not created; tester holds it: claim another");
    assert!(again.contains(&expected), "{again}");
    let other = desk.run(&["release", short, "--agent", "dev-1"]).failed(1);
    let expected = format!(
        "{short} is held by tester, not by you (dev-1): `ait return {short} --force -m WHY`"
    );
    assert!(other.contains(&expected), "{other}");
    let printed = desk.run(&["release", short, "-m", "no time"]).done().stdout();
    assert_eq!(printed, format!("{short} created: chosen\n"));
    let stored = shown(&desk, &issue);
    assert_eq!(stored["comments"][0]["text"], "no time");
    let free = desk.run(&["release", short]).failed(1);
    assert!(free.contains(&format!("{short} is not claimed: it is created")), "{free}");
    assert_eq!(desk.run(&["claim", &issue, "--json"]).done().json()["status"], "in_progress");
}

#[test]
fn refused_claim_names_the_blocker() {
    let desk = Desk::new();
    let (blocker, issue) = (desk.add("blocker"), desk.add("t"));
    desk.run(&["link", &issue, "blocked-by", &blocker]).done();
    let refused = desk.run(&["claim", &issue]).failed(1);
    assert!(refused.contains(&format!("it waits for {}", &blocker[..8])), "{refused}");
    desk.run(&["close", &blocker, "-m", "m"]).done();
    desk.run(&["claim", &issue]).done();
}

#[test]
fn links_are_made_and_removed() {
    let desk = Desk::new();
    let ids: Vec<_> = ["a", "b", "c"].iter().map(|title| desk.add(title)).collect();
    let short = &ids[0][..8];
    let printed = desk.run(&["link", short, "blocked-by", &ids[1], &ids[2][..8]]).done().stdout();
    assert_eq!(printed, format!("{short} created: a (changed: links)\n"));
    desk.run(&["link", short, "duplicate_of", &ids[1]]).done();
    let linked = |kind: &str, to: usize| json!({"kind": kind, "to": ids[to]});
    let expected = [linked("blocked_by", 1), linked("blocked_by", 2), linked("duplicate_of", 1)];
    assert_eq!(shown(&desk, short)["links"], json!(expected));
    let again = desk.run(&["link", short, "blocked-by", &ids[1]]).failed(1);
    assert!(again.contains(&format!("{short} is linked so already")), "{again}");
    let cycle = desk.run(&["link", &ids[1], "blocked-by", short]).failed(1);
    assert!(cycle.contains("that would be a cycle"), "{cycle}");
    let parents = desk.run(&["link", short, "parent", &ids[1], &ids[2]]).failed(2);
    assert!(parents.contains("at most one parent"), "{parents}");
    desk.run(&["unlink", short, "blocked-by", &ids[1], &ids[2]]).done();
    assert_eq!(shown(&desk, short)["links"], json!([linked("duplicate_of", 1)]));
    let none = desk.run(&["unlink", short, "blocked-by", &ids[1]]).failed(1);
    assert!(none.contains(&format!("{short} has no such link")), "{none}");
    desk.run(&["link", &ids[1], "blocks", short]).done();
    assert!(desk.run(&["link", short]).failed(2).contains("ait link ID blocked-by ID"));
}

#[test]
fn parked_issues_are_not_claimed_before_their_time() {
    let desk = Desk::new();
    let issue = desk.add("t");
    let printed = desk.run(&["park", &issue, "-m", "waits for the designs"]).done().stdout();
    assert_eq!(printed, format!("{} created: t (changed: parked)\n", &issue[..8]));
    desk.run(&["next"]).ends_with(1);
    let refused = desk.run(&["claim", &issue]).failed(1);
    assert!(refused.contains("it is parked: waits for the designs"), "{refused}");
    desk.run(&["unpark", &issue]).done();
    let none = desk.run(&["unpark", &issue]).failed(1);
    assert!(none.contains(&format!("{} is not parked", &issue[..8])), "{none}");
    let past = desk.run(&["park", &issue, "-m", "m", "--until", "2020-01-01"]).failed(2);
    assert!(past.contains("name a later one"), "{past}");
    let parked = desk.run(&["park", &issue, "-m", "m", "--until", "2h", "--json"]).done().json();
    let time = |value: &Value| -> chrono::DateTime<chrono::Utc> {
        value.as_str().unwrap().parse().unwrap()
    };
    let (since, until) = (time(&parked["parked"]["since"]), time(&parked["parked"]["until"]));
    assert!(((119 * 60)..=(121 * 60)).contains(&(until - since).num_seconds()), "{parked}");
    let dated = desk.run(&["park", &issue, "-m", "m", "--until", "2999-01-02", "--json"]).done();
    assert_eq!(dated.json()["parked"]["until"], "2999-01-02T00:00:00.000Z");
    assert!(desk.run(&["park", &issue]).failed(2).contains("say why, with -m 'TEXT'"));
}

#[test]
fn confirmation_names_the_holder_across_other_changes() {
    let desk = Desk::new();
    let issue = desk.add("t");
    desk.run(&["next", "--agent", "dev-1"]).done();
    desk.run(&["edit", &issue, "-p", "0"]).done();
    let printed = desk.run(&["return", &issue, "-m", "m"]).done().stdout();
    assert_eq!(printed, format!("{} created: t (it was held by dev-1)\n", &issue[..8]));
}

#[test]
fn one_command_changes_several_issues_or_none() {
    let desk = Desk::new();
    let ids = [desk.add("one"), desk.add("two"), desk.add("three")];
    desk.run(&["close", &ids[0], "00000000", "all fixed"]).failed(1);
    assert_eq!(shown(&desk, &ids[0])["status"], "created");
    let closed = desk.run(&["close", &ids[0], &ids[1], "all fixed"]).done().stdout();
    assert_eq!(closed.lines().count(), 2, "{closed}");
    for id in &ids[..2] {
        let issue = shown(&desk, id);
        assert_eq!(
            (&issue["status"], &issue["comments"][0]["text"]),
            (&json!("closed"), &json!("all fixed"))
        );
    }
    desk.run(&["edit", &ids[1], &ids[2], "-l", "Good First Issue"]).done();
    assert_eq!(shown(&desk, &ids[2])["labels"], json!(["good-first-issue"]));
    assert_eq!(desk.run(&["list", "--status", "all", "--count"]).done().stdout(), "3\n");
}

#[test]
fn asking_says_that_a_claim_has_ended_only_if_there_was_one() {
    let desk = Desk::new();
    let ask = |id: &str| desk.run(&["ask", id, "Which", "database?"]).done().stdout();
    assert!(!ask(&desk.add("new")).contains("claim"));
    let held = desk.add("held");
    desk.run(&["claim", &held]).done();
    assert!(ask(&held).contains("the claim has ended"));
}

#[test]
fn an_ended_issue_opens_no_editor() {
    let desk = Desk::new();
    let issue = desk.add("t");
    desk.run(&["close", &issue]).done();
    let mut command = desk.command(&["edit", &issue, "--edit"]);
    let run = super::Run(command.env("VISUAL", "touch opened").output().unwrap());
    assert!(run.failed(1).contains("which is final"));
    assert!(!desk.path().join("opened").exists());
}

#[test]
fn titles_may_begin_with_a_dash_and_have_no_quotes() {
    let desk = Desk::new();
    let add = |arguments: &[&str]| {
        let line = [&["add"], arguments, &["--json"]].concat();
        desk.run(&line).done().json()["title"].as_str().unwrap().to_owned()
    };
    assert_eq!(add(&["-v prints nothing", "-c", "bug"]), "-v prints nothing");
    assert_eq!(add(&["Fix", "the", "login", "-p", "high"]), "Fix the login");
    assert_eq!(add(&["bug", "Login fails"]), "Login fails");
    assert_eq!(add(&["Call", "due:2026-11-21", "-c", "bug"]), "Call");
    for arguments in
        [&["add", "Login fails", "On Safari"][..], &["add", "."], &["add", "x", "project:web"]]
    {
        desk.run(arguments).failed(2);
    }
}

#[test]
fn parking_until_a_day_needs_no_other_reason() {
    let desk = Desk::new();
    let issue = desk.add("t");
    desk.run(&["park", &issue]).failed(2);
    desk.run(&["park", &issue, "--until", "tomorrow"]).done();
    let parked = &shown(&desk, &issue)["parked"];
    assert!(parked["reason"].as_str().unwrap().starts_with("Parked until 20"), "{parked}");
}

#[test]
fn the_last_change_is_undone_without_a_question() {
    let desk = Desk::new();
    let issue = desk.add("t");
    desk.run(&["edit", &issue, "-p", "1"]).done();
    desk.run(&["undo"]).ends_with(0);
    assert_eq!(shown(&desk, &issue)["priority"], json!(null));
}
