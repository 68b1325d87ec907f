//! Compares the read model with a naive reading of every issue.

use std::cmp::Reverse;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::{EventPosition, Events, IndexedIssues, NumberedEvent, State};
use ait_domain::{
    AgentName, AttributeValues, Attributes, Classification, Command, HAND_EDIT, Issue, IssueId,
    Link, LinkKind, Resolution, Status, Timestamp,
};

const AGENTS: [&str; 3] = ["ann", "Bob", "cy"];
const WORDS: [&str; 6] = ["Alpha", "beta", "GÄMMA", "de\"lta", "\\eps\n", "zeta ß İzmir"];
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
fn happen(state: &mut State, log: &mut Vec<NumberedEvent>, happening: Happening, number: usize) {
    let agent = |index: usize| AGENTS[index % AGENTS.len()].try_into().unwrap();
    let comment = |index: usize| WORDS[index % WORDS.len()].try_into().unwrap();
    let issues: Vec<_> = state.issues.issues().collect();
    let named = |index: usize| issues.get(index % issues.len().max(1));
    let id = IssueId::from(uuid::Uuid::from_u128(number as u128 | 0x4000 << 64));
    let command = match happening {
        Happening::Filed(word, other) => filed(id, word, other, agent(word)),
        Happening::Claimed(index) => {
            let agent = agent(index);
            let terms = Default::default();
            Command::GetNextIssue { issue: None, classification: None, agent, terms }
        }
        Happening::Reviewed(index) => {
            let agent = agent(index);
            let terms = Default::default();
            Command::GetNextReviewItem { agent, terms }
        }
        Happening::Returned(index, word)
        | Happening::Completed(index, word)
        | Happening::Closed(index, word) => {
            let Some(issue) = named(index).map(|issue| issue.id.into()) else { return };
            let comment = comment(word);
            let agent = agent(word);
            let required_claim = Default::default();
            let resolution = Resolution::Closed;
            match happening {
                Happening::Returned(..) => {
                    Command::ReturnIssue { issue, comment, agent, required_claim }
                }
                Happening::Completed(..) => {
                    let facts = Default::default();
                    Command::CompleteIssue { issue, comment, agent, required_claim, facts }
                }
                _ => Command::CloseIssue { issue, resolution, comment, agent, required_claim },
            }
        }
        Happening::Lapsed(index) => {
            let claimed: Vec<_> =
                issues.iter().filter(|issue| issue.claim_entry().is_some()).collect();
            let Some(claimed) = claimed.get(index % claimed.len().max(1)) else { return };
            let entry = claimed.claim_entry().unwrap();
            let reason = "unheard".to_owned();
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
        Happening::ReadAnew(is_shorter) => return read_anew(state, log, is_shorter),
    };
    if let Ok(Some(event)) = state.decide(&command, time(number / 3)) {
        let position = EventPosition { number: state.position.number + 1, hash: 0 };
        state.apply(&event, position).unwrap();
        log.push(NumberedEvent { position, event: Arc::new(event) });
    }
}

/// As when another file replaced the store.
fn read_anew(state: &mut State, log: &mut [NumberedEvent], is_shorter: bool) {
    let issues: Vec<_> = state.issues.issues().collect();
    let mut anew = IndexedIssues::default();
    let kept = issues.len() - usize::from(is_shorter && !issues.is_empty());
    for issue in &issues[..kept] {
        anew.push(Arc::clone(issue)).unwrap();
    }
    state.issues = anew;
    if let Some(newest) = log.last_mut() {
        newest.position.hash += 1;
        state.position = newest.position;
    }
}

/// Follows the store as [`ReadModel`] does.
fn follow(index: &mut Projection, state: &State, log: &[NumberedEvent]) {
    let known = index.position.number.saturating_sub(1) as usize;
    let events = log[known..].to_vec();
    match index.news(&Events { events, newest: state.position, oldest: 1 }) {
        News::Nothing => {}
        News::Everything => {
            *index = Projection::of(state.issues.issues());
            index.position = state.position;
        }
        News::Changed(ids, position, _) => {
            index.update(ids.into_iter().filter_map(|id| state.issues.get(id)));
            index.position = position;
        }
    }
    assert_eq!(index.position, state.position);
}

proptest! {
    #[test]
    fn board_and_agents_match_the_issue_histories(
        happenings in prop::collection::vec(happening(), 0..60),
        most in 0..5_usize,
    ) {
        let mut state = State::default();
        let mut log = Vec::new();
        let mut index = Projection::default();
        for (number, happening) in happenings.into_iter().enumerate() {
            happen(&mut state, &mut log, happening, number);
            follow(&mut index, &state, &log);
        }
        let store = state.issues;
        let view = ReadView::of(&index);
        let now = Timestamp::parse("2026-01-01T00:00:00.000Z").unwrap();
        for column in view.board(now, |_| most, |_| true) {
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
            prop_assert_eq!(Some(agent.last.0.at()), actions().map(|entry| entry.timestamp).max());
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
            let estimate = parts().filter_map(|part| part.attributes.estimate).sum();
            let progress = Progress { ended, total: parts().count(), estimate };
            let expected = (progress.total > 0).then_some(progress);
            prop_assert_eq!(view.progress(whole.id), expected);
        }
        // An update gives the same as reading everything anew.
        let anew = Projection::of(store.issues());
        let anew = ReadView::of(&anew);
        let named = |view: &ReadView<'_>| -> Vec<(String, Vec<usize>, usize)> {
            let agents = view.agents().into_iter();
            agents.map(|agent| (view.names().text(agent.name).to_owned(), agent.holds, agent.last.1)).collect()
        };
        prop_assert_eq!(named(&view), named(&anew));
    }
}
