//! Compares the read model with a naive reading of every issue.

use std::cmp::Reverse;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::domain::{
    AgentName, AttributeValues, Attributes, Classification, Command, Condition, Counts, HAND_EDIT,
    Issue, IssueId, Link, LinkKind, Order, Query, Resolution, Status, StatusSet, Timestamp,
};
use crate::tracker::{EventPosition, IndexedIssues, State};

const AGENTS: [&str; 3] = ["ann", "Bob", "cy"];
const WORDS: [&str; 6] = ["Alpha", "beta", "GÄMMA", "de\"lta", "\\eps\n", "zeta ß İzmir"];
const TEXTS: [&str; 16] = [
    "alpha",
    "ta",
    "gämma",
    "\"l",
    "\\",
    "ß",
    "alpha beta",
    "q",
    "00000000-0000-4000",
    "a",
    "0001",
    "i",
    "i\u{307}z",
    "ab-1",
    "#ab-2",
    "ab",
];

/// A change of the store.
#[derive(Clone, Copy, Debug)]
enum Happening {
    Filed(usize, usize),
    Claimed(usize),
    Reviewed(usize),
    Returned(usize, usize),
    Completed(usize, usize),
    Closed(usize, usize),
    Lapsed(usize),
    Edited(usize, usize),
    Placed(usize, usize),
    Removed(usize),
    /// Replaces all issues by new objects, as after reading the file again; drops the last issue if true.
    ReadAnew(bool),
}

fn happening() -> impl Strategy<Value = Happening> {
    let index = 0..64_usize;
    prop_oneof![
        4 => (index.clone(), index.clone()).prop_map(|(a, b)| Happening::Filed(a, b)),
        2 => index.clone().prop_map(Happening::Claimed),
        1 => index.clone().prop_map(Happening::Reviewed),
        2 => (index.clone(), index.clone()).prop_map(|(a, b)| Happening::Returned(a, b)),
        2 => (index.clone(), index.clone()).prop_map(|(a, b)| Happening::Completed(a, b)),
        1 => (index.clone(), index.clone()).prop_map(|(a, b)| Happening::Closed(a, b)),
        1 => index.clone().prop_map(Happening::Lapsed),
        1 => (index.clone(), index.clone()).prop_map(|(a, b)| Happening::Edited(a, b)),
        1 => (index.clone(), index.clone()).prop_map(|(a, b)| Happening::Placed(a, b)),
        1 => index.prop_map(Happening::Removed),
        1 => any::<bool>().prop_map(Happening::ReadAnew),
    ]
}

fn time(second: usize) -> Timestamp {
    Timestamp::from_unix_millis(1_800_000_000_000 + 1000 * second as i64)
}

/// A new issue with some of the words.
fn filed(id: IssueId, word: usize, other: usize, agent: AgentName) -> Command {
    Command::AddIssue {
        id,
        title: WORDS[word % WORDS.len()].trim().replace('\n', " ").as_str().try_into().unwrap(),
        description: format!("{} {}", WORDS[other % 6], WORDS[word / 2 % 6]).try_into().unwrap(),
        classification: Classification::ALL[other % 3],
        details: Box::default(),
        agent,
    }
}

/// The attributes of a part.
fn part_of(whole: Option<&Arc<Issue>>) -> Attributes {
    let links =
        whole.map(|whole| Link { kind: LinkKind::Parent, to: whole.id }).into_iter().collect();
    AttributeValues { links, ..AttributeValues::default() }.into()
}

/// Applies the change if the rules allow it. Several changes share one time.
fn happen(state: &mut State, happening: Happening, number: usize) {
    let agent = |index: usize| AGENTS[index % AGENTS.len()].try_into().unwrap();
    let comment = |index: usize| WORDS[index % WORDS.len()].try_into().unwrap();
    let issues: Vec<_> = state.issues.issues().collect();
    let named = |index: usize| issues.get(index % issues.len().max(1));
    let id = IssueId::from(uuid::Uuid::from_u128(number as u128 | 0x4000 << 64));
    let command = match happening {
        Happening::Filed(word, other) => filed(id, word, other, agent(word)),
        Happening::Claimed(index) => {
            let (agent, terms) = (agent(index), Default::default());
            Command::GetNextIssue { issue: None, classification: None, agent, terms }
        }
        Happening::Reviewed(index) => {
            let (agent, terms) = (agent(index), Default::default());
            Command::GetNextReviewItem { agent, terms }
        }
        Happening::Returned(index, word)
        | Happening::Completed(index, word)
        | Happening::Closed(index, word) => {
            let Some(issue) = named(index).map(|issue| issue.id.into()) else { return };
            let (comment, agent, required_claim) = (comment(word), agent(word), Default::default());
            let resolution = Resolution::Closed;
            match happening {
                Happening::Returned(..) => {
                    Command::ReturnIssue { issue, comment, agent, required_claim }
                }
                Happening::Completed(..) => {
                    Command::CompleteIssue { issue, comment, agent, required_claim }
                }
                _ => Command::CloseIssue { issue, resolution, comment, agent, required_claim },
            }
        }
        Happening::Lapsed(index) => {
            let claimed: Vec<_> =
                issues.iter().filter(|issue| issue.claim_entry().is_some()).collect();
            let Some(claimed) = claimed.get(index % claimed.len().max(1)) else { return };
            let (entry, reason) = (claimed.claim_entry().unwrap(), "unheard".to_owned());
            Command::LapseClaim { issue: claimed.id, entry, reason, client: None }
        }
        Happening::Edited(index, word) => {
            let Some(issue) = named(index) else { return };
            let title = WORDS[word % WORDS.len()].trim().replace('\n', " ");
            Command::MergeEdit {
                theirs: Issue { title, ..Issue::clone(issue) }.into(),
                base: Some(Arc::clone(issue)),
            }
        }
        Happening::Placed(index, other) => {
            let Some(issue) = named(index) else { return };
            let mut issue = Issue { id, ..Issue::clone(issue) };
            let key = serde_json::value::to_raw_value(&format!("AB-{}", other % 3)).unwrap();
            issue.unknown_keys.insert("key".to_owned(), key);
            issue.attributes = part_of(named(other));
            let issue = issue.into();
            let next = named(other).map(|issue| issue.id);
            Command::InsertIssue { issue, next, agent: HAND_EDIT.to_owned() }
        }
        Happening::Removed(index) => {
            let Some(issue) = named(index).map(|issue| issue.id) else { return };
            let next = named(index + 1).map(|issue| issue.id);
            Command::RemoveIssue { issue, next, agent: "restore".to_owned() }
        }
        Happening::ReadAnew(is_shorter) => return read_anew(state, is_shorter),
    };
    if let Ok(Some(event)) = state.decide(&command, time(number / 3)) {
        let number = state.position.number + 1;
        state.apply(&event, EventPosition { number, hash: 0 }).unwrap();
    }
}

/// As when another file replaced the store.
fn read_anew(state: &mut State, is_shorter: bool) {
    let issues: Vec<_> = state.issues.issues().collect();
    let mut anew = IndexedIssues::default();
    let kept = issues.len() - usize::from(is_shorter && !issues.is_empty());
    for issue in &issues[..kept] {
        anew.push(Issue::clone(issue)).unwrap();
    }
    state.issues = anew;
}

fn query() -> impl Strategy<Value = Query> {
    let statuses = prop_oneof![
        Just(StatusSet::ALL),
        Just(StatusSet::open()),
        (0..Status::ALL.len()).prop_map(|at| StatusSet::from_iter([Status::ALL[at]])),
    ];
    let kind = prop::option::of((0..3_usize).prop_map(|at| Classification::ALL[at]));
    let agent = prop::option::of(
        (0..4_usize).prop_map(|at| AGENTS.get(at).copied().unwrap_or("nobody").to_owned()),
    );
    let texts = prop::collection::vec(0..TEXTS.len(), 0..3);
    let texts = texts.prop_map(|all| all.into_iter().map(|at| TEXTS[at].to_owned()).collect());
    (statuses, kind, agent, texts).prop_map(|(statuses, classification, agent, texts)| {
        let texts: Vec<String> = texts;
        let agent: Option<String> = agent;
        let texts = texts.into_iter().map(Condition::Text);
        let condition = Condition::all(texts.chain(agent.map(Condition::Involves)));
        Query { statuses, classification, condition, ..Query::default() }
    })
}

/// Where ties are broken by the place alone.
const TIMES: Timestamp = Timestamp::MIN;

/// The result of reading every issue.
fn read(store: &IndexedIssues, query: &Query, order: Sorting) -> (Counts, Vec<usize>) {
    let holds = |condition: &Condition, issue: &Issue| match condition {
        Condition::Involves(agent) => {
            issue.history.iter().any(|entry| entry.agent == *agent)
                || issue.attributes.assignee.as_ref() == Some(agent)
        }
        Condition::Text(text) => issue.contains(text),
        other => panic!("no query of this test has {other:?}"),
    };
    let fits = |issue: &Issue| {
        query.classification.is_none_or(|kind| issue.classification == kind)
            && query.condition.conjuncts().iter().all(|condition| holds(condition, issue))
    };
    let fitting: Vec<(usize, Arc<Issue>)> =
        store.issues().enumerate().filter(|(_, issue)| fits(issue)).collect();
    let counts =
        Counts::of(|status| fitting.iter().filter(|(_, issue)| issue.status == status).count());
    let mut found: Vec<_> =
        fitting.into_iter().filter(|(_, issue)| query.statuses.contains(issue.status)).collect();
    let last = |issue: &Issue| issue.history.last().map(|entry| entry.agent.clone());
    found.sort_by_key(|(at, issue)| {
        let issue = &**issue;
        let rest = (issue.modified_at, *at);
        match order.key {
            SortKey::Title => (issue.title.to_lowercase(), 0, None, None, (TIMES, *at)),
            SortKey::Priority => {
                let priority = usize::from(issue.attributes.effective_priority().get());
                (String::new(), priority, None, None, (TIMES, *at))
            }
            SortKey::Filed => (String::new(), 0, None, None, (TIMES, *at)),
            SortKey::Classification => {
                (String::new(), issue.classification as usize, None, None, rest)
            }
            SortKey::Status => (String::new(), issue.status as usize, None, None, rest),
            SortKey::Agent => (String::new(), 0, last(issue), None, rest),
            SortKey::Created => (String::new(), 0, None, Some(issue.created_at), rest),
            SortKey::Activity | SortKey::Relevance => (String::new(), 0, None, None, rest),
        }
    });
    if order.direction == Direction::Descending {
        found.reverse();
    }
    (counts, found.into_iter().map(|(at, _)| at).collect())
}

proptest! {
    #[test]
    fn find_matches_a_naive_search_after_any_changes(
        steps in prop::collection::vec(
            (prop::collection::vec(happening(), 0..12), query(), 0..SortKey::ALL.len(), any::<bool>(), 1..4_usize),
            1..8,
        ),
    ) {
        let (mut state, mut index, mut number) = (State::default(), Projection::default(), 0);
        let mut earlier: Option<Projection> = None;
        for (happenings, query, key, is_descending, page) in steps {
            for happening in happenings {
                number += 1;
                happen(&mut state, happening, number);
            }
            let store = &state.issues;
            let direction = if is_descending { Direction::Descending } else { Direction::Ascending };
            let order = Sorting { key: SortKey::ALL[key], direction };
            // As readers do, each on its own clone; what the last one built is taken over.
            index.follow(store);
            if let Some(earlier) = earlier.take() {
                index.adopt(&earlier, store);
            }
            let projection = index.clone();
            let view = ReadView::new(&projection, store.clone());
            let listing = view.list_with_counts(&query, order, page, 3);
            let (counts, found) = read(store, &query, order);
            prop_assert_eq!(listing.counts, counts);
            prop_assert_eq!(listing.total, found.len());
            prop_assert!(listing.is_exact && listing.has_exact_counts);
            prop_assert_eq!(listing.page, page.min(listing.pages(3)));
            let expected: Vec<_> = found.into_iter().skip(3 * (listing.page - 1)).take(3).collect();
            prop_assert_eq!(&listing.positions, &expected);
            earlier = Some(projection);
        }
    }

    #[test]
    fn board_and_agents_match_the_issue_histories(
        happenings in prop::collection::vec(happening(), 0..60),
        most in 0..5_usize,
    ) {
        let (mut state, mut index) = (State::default(), Projection::default());
        for (number, happening) in happenings.into_iter().enumerate() {
            happen(&mut state, happening, number);
            index.follow(&state.issues);
        }
        let store = state.issues;
        let view = ReadView::of(&mut index, store.clone());
        let now = Timestamp::parse("2026-01-01T00:00:00.000Z").unwrap();
        for column in view.board(now, |_| most, &Query::default()) {
            let mut expected: Vec<_> =
                store.issues().enumerate().filter(|(_, issue)| issue.status == column.status).collect();
            prop_assert_eq!(column.total, expected.len());
            if column.status.has_ended() {
                expected.sort_by_key(|(at, issue)| Reverse((issue.modified_at, *at)));
            } else if column.status.is_claimed() {
                expected.sort_by_key(|(at, issue)| (Reverse(issue.holder().map(|holder| holder.since)), *at));
            }
            if column.status == Status::Created {
                // An issue that waits for its parts comes last.
                expected.sort_by_key(|(_, issue)| store.open_parts(issue.id).next().is_some());
            }
            let expected: Vec<_> = expected.into_iter().take(most).map(|(at, _)| at).collect();
            prop_assert_eq!(column.cards, expected);
        }
        let agents = view.agents();
        for name in AGENTS {
            let actions = || store.issues().flat_map(|issue| issue.history.clone()).filter(|entry| entry.agent == name);
            let agent = agents.iter().find(|agent| view.names().text(agent.name) == name);
            prop_assert_eq!(agent.is_some(), actions().next().is_some());
            let Some(agent) = agent else { continue };
            prop_assert_eq!(Some(agent.last.0.at), actions().map(|entry| entry.timestamp).max());
            let held = store.issues().enumerate().filter(|(_, issue)| issue.holder().is_some_and(|claim| claim.agent == name));
            let mut held: Vec<_> = held.map(|(at, _)| at).collect();
            let mut holds = agent.holds.clone();
            held.sort_unstable();
            holds.sort_unstable();
            prop_assert_eq!(holds, held);
        }
        for whole in store.issues() {
            let parts = || store.issues().filter(|part| part.attributes.parent() == Some(whole.id));
            let ended = parts().filter(|part| part.status.has_ended()).count();
            let progress = Progress { ended, total: parts().count() };
            let expected = (progress.total > 0).then_some(progress);
            prop_assert_eq!(view.attribute_counts().progress(whole.id), expected);
        }
        // An update gives the same as reading everything anew.
        let mut anew = Projection::default();
        let anew = ReadView::of(&mut anew, store);
        let named = |view: &ReadView<'_>| -> Vec<(String, Vec<usize>, usize)> {
            let agents = view.agents().into_iter();
            agents.map(|agent| (view.names().text(agent.name).to_owned(), agent.holds, agent.last.1)).collect()
        };
        prop_assert_eq!(named(&view), named(&anew));
    }
}

fn issue(number: usize, title: &str) -> Issue {
    serde_json::from_value(serde_json::json!({
        "id": format!("{number:08x}-0000-4000-8000-000000000000"), "title": title, "description": "",
        "classification": "bug", "createdAt": time(number), "modifiedAt": time(number),
        "status": Status::ALL[number % 2], "history": [], "comments": [],
    }))
    .unwrap()
}

#[test]
fn large_results_are_paged_up_to_the_limit() {
    let mut store = IndexedIssues::default();
    for number in 0..3 * MAX_FOUND {
        if number < 3 {
            let other =
                Issue { status: Status::Rejected, ..issue(1_000_000 + number, "same here") };
            store.push(Issue { modified_at: time(0), ..other }).unwrap();
        }
        store.push(issue(number, "the same")).unwrap();
    }
    let mut index = Projection::default();
    let view = ReadView::of(&mut index, store);
    let condition = Condition::Text("same".to_owned());
    let mut query = Query { condition, ..Query::default() };
    let order = Sorting::default();
    let listing = view.list_with_counts(&query, order, usize::MAX, 50);
    assert!(!listing.is_exact);
    assert_eq!((listing.total, listing.page), (MAX_FOUND, MAX_FOUND / 50));
    assert_eq!(listing.positions.len(), 50);
    assert_eq!(listing.positions.last(), Some(&(2 * MAX_FOUND + 3)));
    // None of the first matches has this status, but the search still finds all that do.
    query.statuses = StatusSet::from_iter([Status::Rejected]);
    let listing = view.list_with_counts(&query, order, 1, 50);
    assert_eq!((listing.total, listing.is_exact, listing.has_exact_counts), (3, true, false));
    // More issues have this status than the search over all statuses collected.
    query.statuses = StatusSet::from_iter([Status::Created]);
    let listing = view.list_with_counts(&query, order, 1, 50);
    assert_eq!((listing.total, listing.is_exact), (MAX_FOUND, false));
    assert!(listing.positions.iter().all(|position| (position - 3) % 2 == 0));
}

#[test]
fn equally_good_matches_are_in_the_order_of_the_list() {
    let mut store = IndexedIssues::default();
    // The signature of the first one promises both texts.
    for (number, title) in ["abc bcd wxyz", "wxyz"].into_iter().enumerate() {
        store.push(issue(number, title)).unwrap();
    }
    let mut index = Projection::default();
    let view = ReadView::of(&mut index, store);
    let texts = ["abcd", "wxyz"].map(|text| Condition::Text(text.to_owned()));
    let condition = Condition::Any(texts.into());
    let query = Query { condition, order: Order::Relevance, ..Query::default() };
    let listing = view.list_with_counts(&query, Sorting::of(Order::Relevance, false), 1, 50);
    assert_eq!(listing.positions, [1, 0]);
}
