//! That the ledger notices what it is for, shown by answers that no store may give.

use agent_issue_tracker::domain::{Classification, Command, Issue};
use agent_issue_tracker::store::{IssueStore, StoreError};
use serde_json::json;

use super::ledger::{Ledger, issues};
use super::operation::Excuse;
use crate::support::commands::{add, at, claim, give_back, number};

const NONE: Excuse = Excuse { is_hurt: false };
const HURT: Excuse = Excuse { is_hurt: true };

/// A model and what a good store says, which the tests change.
#[derive(Default)]
struct Stage {
    ledger: Ledger,
    state: IssueStore,
    changes: usize,
}

/// What a store appends and answers.
type Given = (Vec<u8>, Vec<Issue>);

impl Stage {
    /// Tells a process what to do, and what a good store makes of it.
    fn begin(&mut self, process: usize, commands: &[Command]) -> Given {
        self.ledger.begun(process, commands, at(0));
        let (mut bytes, mut answers) = (Vec::new(), Vec::new());
        for (place, command) in commands.iter().enumerate() {
            let event = self.state.decide(command, at(0)).unwrap().unwrap();
            answers.push(Issue::clone(&self.state.apply(&event).unwrap()));
            self.changes += 1;
            let end = place + 1 == commands.len();
            let frame = json!({
                "n": self.changes, "issue": event.issue, "agent": event.agent, "at": event.at, "end": end,
            });
            bytes.extend(format!("00000000 00000000 {frame}\n").bytes());
        }
        (bytes, answers)
    }

    /// What becomes of that when nothing goes wrong.
    fn good(&mut self, process: usize, commands: &[Command]) -> Vec<Issue> {
        let (bytes, answers) = self.begin(process, commands);
        self.ledger.appended(process, &bytes).unwrap();
        for (place, answer) in answers.iter().enumerate() {
            let answer = Ok(Some(answer.clone()));
            self.ledger.answered(process, place, answer, NONE).unwrap();
        }
        self.ledger.ended(process);
        answers
    }

    fn with_two() -> Self {
        let mut stage = Self::default();
        stage.good(0, &[add(1, Classification::Bug)]);
        stage.good(0, &[add(2, Classification::Bug)]);
        stage
    }
}

#[test]
fn what_is_right_is_not_noticed() {
    let mut stage = Stage::with_two();
    stage.good(0, &[claim(None), claim(None)]);
    stage.good(1, &[give_back(number(1).into())]);
    stage.good(1, &[claim(None)]);
    let found = issues(&stage.state);
    stage.ledger.is_now(&found).unwrap();
    stage.ledger.survived(&found).unwrap();
}

#[test]
fn a_batch_that_is_decided_on_one_state_is_noticed() {
    let mut stage = Stage::with_two();
    let (bytes, _) = stage.begin(0, &[claim(None), claim(None)]);
    let text = String::from_utf8(bytes).unwrap();
    let same = text.replace(&number(2).to_string(), &number(1).to_string());
    assert_ne!(same, text);
    let wrong = stage.ledger.appended(0, same.as_bytes()).unwrap_err();
    assert!(wrong.contains("had to be"), "{wrong}");
}

#[test]
fn a_claim_that_is_not_the_first_in_the_queue_is_noticed() {
    let mut stage = Stage::with_two();
    let (bytes, _) = stage.begin(0, &[claim(None)]);
    let text = String::from_utf8(bytes).unwrap();
    let second = text.replace(&number(1).to_string(), &number(2).to_string());
    stage.ledger.appended(0, second.as_bytes()).unwrap_err();
}

#[test]
fn a_number_that_is_used_twice_or_left_out_is_noticed() {
    for number in [2, 4] {
        let mut stage = Stage::with_two();
        let (bytes, _) = stage.begin(0, &[claim(None)]);
        let text = String::from_utf8(bytes).unwrap();
        let other = text.replace("\"n\":3", &format!("\"n\":{number}"));
        stage.ledger.appended(0, other.as_bytes()).unwrap_err();
    }
}

#[test]
fn an_issue_that_two_are_told_to_have_is_noticed() {
    let mut stage = Stage::with_two();
    let answers = stage.good(0, &[claim(None)]);
    // Nobody looks at the order here: the answers alone are enough.
    let wrong = stage.ledger.claimed(answers[0].id, 1).unwrap_err();
    assert!(wrong.contains("which 0 had"), "{wrong}");
    stage.good(0, &[give_back(number(1).into())]);
    stage.good(2, &[claim(None)]);
}

#[test]
fn an_answer_with_another_issue_is_noticed() {
    let mut stage = Stage::with_two();
    let (bytes, mut answers) = stage.begin(0, &[claim(None)]);
    stage.ledger.appended(0, &bytes).unwrap();
    answers[0].title = "another".to_owned();
    stage.ledger.answered(0, 0, Ok(answers.pop()), NONE).unwrap_err();
}

#[test]
fn a_refusal_of_what_is_in_the_journal_is_noticed_and_doubt_is_not() {
    let refusals = [
        (StoreError::NotSaved(String::new()), HURT, false),
        (StoreError::Busy(String::new()), NONE, false),
        (StoreError::Uncertain(String::new()), NONE, false),
        (StoreError::Uncertain(String::new()), HURT, true),
    ];
    for (error, excuse, is_right) in refusals {
        let mut stage = Stage::with_two();
        let (bytes, _) = stage.begin(0, &[claim(None)]);
        stage.ledger.appended(0, &bytes).unwrap();
        let checked = stage.ledger.answered(0, 0, Err(error.clone()), excuse);
        assert_eq!(checked.is_ok(), is_right, "{error}: {checked:?}");
    }
}

#[test]
fn an_error_without_a_reason_is_noticed() {
    let damaged = || StoreError::Damaged(String::new());
    let not_saved = || StoreError::NotSaved(String::new());
    for (error, excuse, is_right) in
        [(not_saved(), NONE, false), (not_saved(), HURT, true), (damaged(), HURT, false)]
    {
        let mut stage = Stage::with_two();
        stage.begin(0, &[claim(None)]);
        let checked = stage.ledger.answered(0, 0, Err(error.clone()), excuse);
        assert_eq!(checked.is_ok(), is_right, "{error}: {checked:?}");
    }
}

#[test]
fn a_read_that_lacks_what_was_answered_or_read_before_it_is_noticed() {
    let mut stage = Stage::with_two();
    let old = issues(&stage.state);
    let (bytes, _) = stage.begin(0, &[claim(None)]);
    stage.ledger.appended(0, &bytes).unwrap();
    let new = issues(&stage.state);
    // What is appended and not answered may be seen, but not by one and then not by the next.
    for (found, is_right) in [(&old, true), (&new, true), (&old, false)] {
        stage.ledger.begun(1, &[], at(0));
        let checked = stage.ledger.read(1, Ok(found.clone()), None, NONE);
        assert_eq!(checked.is_ok(), is_right, "{checked:?}");
    }
    stage.ledger.begun(1, &[], at(0));
    stage.ledger.read(1, Ok(vec![old[0].clone()]), Some(&number(1).into()), NONE).unwrap_err();
    stage.ledger.saved(1, Ok(old), NONE).unwrap_err();
    stage.ledger.saved(1, Ok(new), NONE).unwrap();
}

#[test]
fn a_power_cut_that_takes_an_answer_or_half_a_batch_is_noticed() {
    let states = |stage: &mut Stage| {
        let mut states = vec![issues(&stage.state)];
        let (bytes, answers) = stage.begin(0, &[claim(None), claim(None)]);
        stage.ledger.appended(0, &bytes).unwrap();
        let mut half = states[0].clone();
        half[0] = answers[0].clone();
        states.extend([half, issues(&stage.state)]);
        (states, answers)
    };
    for (survivor, is_right) in [(0, true), (1, false), (2, true)] {
        let mut stage = Stage::with_two();
        let (states, _) = states(&mut stage);
        let checked = stage.ledger.survived(&states[survivor]);
        assert_eq!(checked.is_ok(), is_right, "{checked:?}");
    }
    let mut stage = Stage::with_two();
    let (states, answers) = states(&mut stage);
    stage.ledger.answered(0, 0, Ok(Some(answers[0].clone())), NONE).unwrap();
    stage.ledger.answered(0, 1, Ok(Some(answers[1].clone())), NONE).unwrap();
    stage.ledger.survived(&states[0]).unwrap_err();
    stage.ledger.is_now(&states[0]).unwrap_err();
    stage.ledger.is_now(&states[2]).unwrap();
}
