//! What each rule finds, and what it does not.

use serde_json::{Value, json};

use super::*;
use crate::read_model::Projection;
use ait_domain::Issue;

const HOUR_MS: i64 = 60 * 60 * 1_000;
/// Descriptions of which the first two say nearly the same.
const TEXTS: [&str; 3] = [
    "When a file ends without a line feed, the importer drops its last line. Steps: save the file without a line feed, \
     run the import and look at the count of the rows. Expected one row more than the importer reports here.",
    "When a file ends without a line feed, the importer drops its last line. Steps: save the file without a line feed, \
     run the import and look at the count of the rows. Expected one row more than the importer reports now.",
    "The page of the agents keeps a claim for minutes after its client is gone, because nobody tells the browser of it.",
];

fn now() -> Timestamp {
    Timestamp::parse("2026-03-01T12:00:00.000Z").unwrap()
}

/// So many hours before now.
fn hours_ago(hours: i64) -> Timestamp {
    Timestamp::from_unix_millis(now().unix_millis() - hours * HOUR_MS)
}

fn id(number: usize) -> String {
    format!("{number:08x}-0000-4000-8000-000000000000")
}

/// An issue with nothing wrong, except for what `fields` replaces.
fn issue(number: usize, fields: Value) -> Issue {
    let at = hours_ago(30);
    let mut issue = json!({
        "id": id(number), "title": format!("Sort column {number} of the list by name"),
        "description": format!("{number}{number} rows of {number} are not in the order of the {number}th column."),
        "classification": "bug", "createdAt": at, "modifiedAt": at, "status": "created",
        "history": history(&[(30, "lead", "Issue filed")]), "comments": [],
    });
    issue.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    serde_json::from_value(issue).unwrap()
}

/// A history of entries: so many hours ago, the agent, the action.
fn history(entries: &[(i64, &str, &str)]) -> Value {
    let entry = |(hours, agent, action): &(i64, &str, &str)| json!({"timestamp": hours_ago(*hours), "agent": agent, "action": action});
    entries.iter().map(entry).collect()
}

fn links(kind: &str, to: usize) -> Value {
    json!([{ "kind": kind, "to": id(to) }])
}

fn findings(issues: &[Issue]) -> Findings {
    let projection = Projection::of(issues.iter().cloned().map(Arc::new));
    Findings::of(&ReadView::of(&projection), now())
}

const FILED: (i64, &str, &str) = (1_000, "lead", "Issue filed");
const CLAIMED: &str = "Issue claimed for work";
const RETURNED: &str = "Issue returned to created status";
const COMPLETED: &str = "Issue completed";
const REVIEW: &str = "Issue claimed for review";
const CLOSED: &str = "Issue closed";

/// Issues, and the numbers of the issues in the only finding of a kind; `None` if there is none.
type Case = (FindingKind, Vec<Issue>, Option<Vec<usize>>);

fn of_history(status: &str, entries: &[(i64, &str, &str)]) -> Vec<Issue> {
    let modified = hours_ago(entries.last().unwrap().0);
    let fields = json!({ "status": status, "history": history(entries), "modifiedAt": modified });
    vec![issue(1, fields)]
}

fn waiting_cases() -> Vec<Case> {
    use FindingKind::{OldClaim, ReturnedOften, Stale, WaitsLongForReview};
    let days = |days: i64| 24 * days;
    let often = |times: usize| {
        let tries = [(40, "dev", CLAIMED), (39, "dev", RETURNED)];
        let entries = std::iter::once(FILED).chain(tries.iter().copied().cycle().take(2 * times));
        entries.collect::<Vec<_>>()
    };
    let parked = json!({
        "history": history(&[FILED]), "parked": { "reason": "r", "since": hours_ago(900), "by": "lead" },
    });
    let one = || Some(vec![1]);
    vec![
        (Stale, of_history("created", &[FILED]), one()),
        (Stale, of_history("created", &[(days(14) - 1, "lead", "Issue filed")]), None),
        (Stale, of_history("created", &[FILED, (2, "dev", CLAIMED), (1, "dev", RETURNED)]), one()),
        (Stale, of_history("in_progress", &[FILED, (2, "dev", CLAIMED)]), None),
        (Stale, of_history("in_progress", &[FILED, (days(14), "dev", CLAIMED)]), one()),
        (
            Stale,
            of_history("in_review", &[FILED, (500, "dev", COMPLETED), (2, "rev", REVIEW)]),
            None,
        ),
        (Stale, of_history("completed", &[FILED, (500, "dev", COMPLETED)]), one()),
        (Stale, of_history("created", &[FILED, (1, "dev", "Issue changed: labels")]), one()),
        (Stale, of_history("created", &[FILED, (1, "dev", "Issue changed: title, labels")]), None),
        (Stale, of_history("created", &[FILED, (1, "dev", "Comment added")]), None),
        (Stale, of_history("closed", &[FILED, (days(20), "dev", CLOSED)]), None),
        (Stale, vec![issue(1, parked)], None),
        (OldClaim, of_history("in_progress", &[FILED, (25, "dev", CLAIMED)]), one()),
        (OldClaim, of_history("in_progress", &[FILED, (23, "dev", CLAIMED)]), None),
        (
            OldClaim,
            of_history("created", &[FILED, (25, "dev", CLAIMED), (24, "dev", RETURNED)]),
            None,
        ),
        (ReturnedOften, of_history("created", &often(3)), one()),
        (ReturnedOften, of_history("created", &often(2)), None),
        (
            ReturnedOften,
            of_history(
                "created",
                &[FILED, (3, "a", RETURNED), (2, "a", RETURNED), (1, "a", RETURNED)],
            ),
            None,
        ),
        (WaitsLongForReview, of_history("completed", &[FILED, (25, "dev", COMPLETED)]), one()),
        (WaitsLongForReview, of_history("completed", &[FILED, (23, "dev", COMPLETED)]), None),
        (
            WaitsLongForReview,
            of_history("in_review", &[FILED, (25, "dev", COMPLETED), (1, "r", REVIEW)]),
            None,
        ),
    ]
}

fn text_cases() -> Vec<Case> {
    use FindingKind::{Duplicate, NoAcceptance, PlaceholderTitle, ThinDescription};
    let titled = |title: &str| vec![issue(1, json!({ "title": title }))];
    let described = |text: &str| vec![issue(1, json!({ "description": text }))];
    let asked = |kind: &str, text: &str| {
        vec![issue(1, json!({ "classification": kind, "description": text }))]
    };
    let two = |titles: [&str; 2], texts: [&str; 2], more: [Value; 2]| {
        let mut issues = vec![issue(8, json!({})), issue(9, json!({}))];
        for (at, mut fields) in more.into_iter().enumerate() {
            fields["title"] = titles[at].into();
            fields["description"] = texts[at].into();
            issues.push(issue(at + 1, fields));
        }
        issues
    };
    let none = || [json!({}), json!({})];
    let same = ["Importer drops the last line", "The importer dropped last lines"];
    let near = ["Importer drops the last line", "Importer drops the last line of a file"];
    let [text, similar, other] = TEXTS;
    let parts = |one: usize, other: usize| {
        [json!({ "links": links("parent", one) }), json!({ "links": links("parent", other) })]
    };
    let ended = [json!({ "status": "closed" }), json!({})];
    let linked = [json!({}), json!({ "links": links("related", 1) })];
    let found = || Some(vec![2, 1]);
    vec![
        (PlaceholderTitle, titled("TODO"), Some(vec![1])),
        (PlaceholderTitle, titled("Fix bug #12"), Some(vec![1])),
        (PlaceholderTitle, titled("???"), Some(vec![1])),
        (PlaceholderTitle, titled("Test the importer"), None),
        (PlaceholderTitle, titled("修正"), None),
        (PlaceholderTitle, titled("Login fails"), None),
        (ThinDescription, described(""), Some(vec![1])),
        (ThinDescription, described(" s. above,  12345678901\n"), Some(vec![1])),
        (ThinDescription, described("Crashes on an empty file."), None),
        (
            ThinDescription,
            vec![
                issue(1, json!({ "description": "" })),
                issue(2, json!({ "links": links("parent", 1) })),
            ],
            None,
        ),
        (NoAcceptance, asked("feature", "Show the number of rows below the list."), Some(vec![1])),
        (NoAcceptance, asked("improvement", "Sort by name. Done when\n- [ ] it sorts"), None),
        (NoAcceptance, asked("feature", "The list should say how many rows it has."), None),
        (NoAcceptance, asked("bug", "Show the number of rows below the list."), None),
        (NoAcceptance, asked("feature", "Rows"), None),
        (Duplicate, two(same, ["", text], none()), found()),
        (Duplicate, two(same, [text, similar], none()), found()),
        (Duplicate, two(same, [text, other], none()), None),
        (Duplicate, two(near, [text, similar], none()), found()),
        (Duplicate, two(near, [text, other], none()), None),
        (
            Duplicate,
            two(["Importer drops the last line", "Remove the button"], [text, similar], none()),
            None,
        ),
        (Duplicate, two(["TODO", "todo"], ["", ""], none()), None),
        (Duplicate, two(same, ["", ""], parts(8, 9)), None),
        (Duplicate, two(same, ["", ""], parts(8, 8)), found()),
        (Duplicate, two(near, [text, similar], parts(8, 8)), None),
        (Duplicate, two(same, ["", ""], ended), None),
        (Duplicate, two(same, ["", ""], linked), None),
    ]
}

fn link_cases() -> Vec<Case> {
    use FindingKind::{BlockedByRejected, Orphan, ParentState, SyncConflict};
    let tied = |status: &str, conflicts: Value| {
        let sync = json!({ "company": { "key": "12", "conflicts": conflicts } });
        vec![issue(1, json!({ "status": status, "sync": sync }))]
    };
    let two = |status: &str, other: &str, kind: &str, to: usize| {
        vec![
            issue(1, json!({ "status": status, "links": links(kind, to) })),
            issue(2, json!({ "status": other })),
        ]
    };
    vec![
        (Orphan, two("created", "created", "parent", 7), Some(vec![1])),
        (Orphan, two("created", "created", "related", 7), Some(vec![1])),
        (Orphan, two("created", "closed", "parent", 2), None),
        (Orphan, two("closed", "created", "parent", 7), None),
        (ParentState, two("created", "closed", "parent", 2), Some(vec![2, 1])),
        (ParentState, two("created", "rejected", "parent", 2), Some(vec![2, 1])),
        (ParentState, two("closed", "created", "parent", 2), Some(vec![2])),
        (ParentState, two("closed", "completed", "parent", 2), None),
        (ParentState, two("created", "created", "parent", 2), None),
        (ParentState, two("closed", "closed", "parent", 2), None),
        (ParentState, two("created", "created", "parent", 7), None),
        (BlockedByRejected, two("created", "rejected", "blocked_by", 2), Some(vec![1, 2])),
        (BlockedByRejected, two("created", "closed", "blocked_by", 2), None),
        (BlockedByRejected, two("closed", "rejected", "blocked_by", 2), None),
        (BlockedByRejected, two("created", "rejected", "related", 2), None),
        (SyncConflict, tied("created", json!({ "title": "T" })), Some(vec![1])),
        (SyncConflict, tied("closed", json!({ "title": "T" })), Some(vec![1])),
        (SyncConflict, tied("created", json!({})), None),
    ]
}

fn agent_cases() -> Vec<Case> {
    use FindingKind::{FilingFasterThanClosing, NeverReviewed, Overloaded, SelfReviewed};
    let work = (6, "dev", CLAIMED);
    let by_rev = (1, "rev", CLOSED);
    let done = (5, "dev", COMPLETED);
    let held = |count: usize| {
        let claimed =
            json!({ "status": "in_progress", "history": history(&[FILED, (2, "dev", CLAIMED)]) });
        (1..=count).map(|number| issue(number, claimed.clone())).collect::<Vec<_>>()
    };
    let filed = |open: usize, ended: usize, hours: i64| {
        let numbers = 1..=open + ended;
        let fields = |number| {
            let status = if number > open { "closed" } else { "created" };
            json!({ "createdAt": hours_ago(hours), "status": status })
        };
        numbers.map(|number| issue(number, fields(number))).collect::<Vec<_>>()
    };
    vec![
        (NeverReviewed, of_history("closed", &[FILED, work, (1, "dev", CLOSED)]), Some(vec![1])),
        (NeverReviewed, of_history("closed", &[FILED, work, done, by_rev]), Some(vec![1])),
        (
            NeverReviewed,
            of_history("closed", &[FILED, work, done, (2, "rev", REVIEW), by_rev]),
            None,
        ),
        (NeverReviewed, of_history("closed", &[FILED, work, done, (1, "dev", CLOSED)]), None),
        (NeverReviewed, of_history("closed", &[FILED, by_rev]), None),
        (NeverReviewed, of_history("rejected", &[FILED, work, (1, "dev", "Issue rejected")]), None),
        (SelfReviewed, of_history("in_review", &[FILED, done, (1, "dev", REVIEW)]), Some(vec![1])),
        (SelfReviewed, of_history("in_review", &[FILED, done, (1, "rev", REVIEW)]), None),
        (SelfReviewed, of_history("closed", &[FILED, done, (1, "dev", CLOSED)]), Some(vec![1])),
        (
            SelfReviewed,
            of_history("closed", &[FILED, done, (2, "dev", REVIEW), (1, "dev", CLOSED)]),
            Some(vec![1]),
        ),
        (
            SelfReviewed,
            of_history("closed", &[FILED, done, (2, "rev", REVIEW), (1, "rev", CLOSED)]),
            None,
        ),
        (
            SelfReviewed,
            of_history("closed", &[FILED, done, (2, "rev", REVIEW), (1, "dev", CLOSED)]),
            None,
        ),
        (
            SelfReviewed,
            of_history("closed", &[FILED, (500, "dev", COMPLETED), (200, "dev", CLOSED)]),
            None,
        ),
        (
            SelfReviewed,
            of_history(
                "closed",
                &[FILED, (500, "dev", COMPLETED), (200, "dev", CLOSED), (1, "lead", "Labelled")],
            ),
            None,
        ),
        (SelfReviewed, of_history("closed", &[FILED, (1, "dev", CLOSED)]), None),
        (Overloaded, held(4), Some(vec![1, 2, 3, 4])),
        (Overloaded, held(3), None),
        (FilingFasterThanClosing, filed(20, 0, 30), Some(vec![])),
        (FilingFasterThanClosing, filed(15, 5, 30), Some(vec![])),
        (FilingFasterThanClosing, filed(19, 0, 30), None),
        (FilingFasterThanClosing, filed(14, 15, 30), None),
        (FilingFasterThanClosing, filed(30, 0, 200), None),
    ]
}

#[test]
fn rules_find_what_is_wrong_and_nothing_else() {
    let cases = [waiting_cases(), text_cases(), link_cases(), agent_cases()].concat();
    for (kind, issues, expected) in &cases {
        let findings = findings(issues);
        let found: Vec<_> = findings.iter().filter(|finding| finding.kind == *kind).collect();
        let expected: Vec<Vec<String>> = expected
            .iter()
            .map(|numbers| numbers.iter().map(|number| id(*number)).collect())
            .collect();
        let ids = |finding: &&Finding| {
            finding.issues.iter().map(|issue| issue.id.to_string()).collect::<Vec<_>>()
        };
        let got: Vec<_> = found.iter().map(ids).collect();
        let first = &issues[0];
        assert_eq!(got, expected, "{kind}: {} {} {:?}", first.title, first.status, first.history);
        assert_eq!(findings.count(*kind), found.len());
        assert!(found.iter().all(|finding| !finding.why.is_empty()));
    }
    // Each kind has a hit and a miss. Those of entries have a test with a store, in `tests/it/memory.rs`.
    let of_issues = FindingKind::ALL.iter().filter(|kind| super::rule(**kind).is_some());
    for kind in of_issues {
        for is_hit in [true, false] {
            let is_such = |case: &&Case| case.0 == *kind && case.2.is_some() == is_hit;
            assert!(cases.iter().any(|case| is_such(&case)), "{kind} {is_hit}");
        }
    }
}

#[test]
fn the_worst_findings_are_kept_and_all_are_counted() {
    let stale = |number: usize| {
        let filed = history(&[(400 + number as i64, "lead", "Issue filed")]);
        issue(number, json!({ "history": filed }))
    };
    let issues: Vec<_> = (0..MAX_KEPT + 50).map(stale).collect();
    let findings = findings(&issues);
    let found = findings.iter().filter(|finding| finding.kind == FindingKind::Stale);
    let found: Vec<_> = found.map(|finding| finding.issues[0].id.to_string()).collect();
    assert_eq!((findings.count(FindingKind::Stale), found.len()), (MAX_KEPT + 50, MAX_KEPT));
    assert_eq!(found[0], id(MAX_KEPT + 49));
}

#[test]
fn findings_of_an_unchanged_store_are_kept() {
    let index = Projection::of([Arc::new(issue(1, json!({ "title": "TODO" })))].into_iter());
    let first = ReadView::of(&index).findings(now());
    let view = ReadView::of(&index);
    assert!(std::sync::Arc::ptr_eq(&first, &view.findings(now())));
    assert_eq!(view.recent_findings(now()).total(), 1);
    let later = Timestamp::from_unix_millis(now().unix_millis() + 2 * HOUR_MS);
    assert!(!std::sync::Arc::ptr_eq(&first, &view.findings(later)));
    let mut changed = index.clone();
    changed.update([Arc::new(issue(2, json!({ "title": "TBD" })))].into_iter());
    changed.position.number = 1;
    assert_eq!(ReadView::of(&changed).findings(later).total(), 2);
}

/// Each row of the table in docs/triage.md is that of the rule.
#[test]
fn the_documented_rules_are_those_in_the_code() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/triage.md");
    let docs = std::fs::read_to_string(path).unwrap();
    let rows: Vec<&str> = docs.lines().filter(|line| line.starts_with("| `")).collect();
    let rules: Vec<String> = FindingKind::ALL
        .iter()
        .map(|kind| format!("| `{kind}` | {} |", kind.description()))
        .collect();
    assert_eq!(rows, rules);
}
