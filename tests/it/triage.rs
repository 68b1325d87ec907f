//! The next step of each kind of finding, as people read it, consists of commands that exist.

use agent_issue_tracker::config::Arguments;
use agent_issue_tracker::domain::{IssueId, Status};
use agent_issue_tracker::read_model::{Finding, FindingKind, FoundIssue};
use agent_issue_tracker::tracker::triage::{Reader, next_step};
use clap::Parser;

#[test]
fn commands_for_people_are_complete() {
    let issue = |number: u128, status| FoundIssue {
        id: IssueId::from(uuid::Uuid::from_u128(number << 96)),
        title: "t".into(),
        status,
    };
    let one = issue(1, Status::Closed);
    let two = issue(2, Status::Created);
    let findings = FindingKind::ALL.iter().map(|kind| (*kind, vec![one.clone(), two.clone()]));
    let of_one = [FindingKind::ParentState, FindingKind::SelfReviewed];
    let of_one = of_one.into_iter().map(|kind| (kind, vec![two.clone()]));
    let mut count = 0;
    for (kind, issues) in findings.chain(of_one) {
        let agent = Some("dev".to_owned());
        let finding = Finding { kind, issues, agent, why: String::new(), sections: Vec::new() };
        let next = next_step(&finding, Reader::Person);
        for command in next.split('`').skip(1).step_by(2) {
            // The placeholder of a kind of link is none.
            let words = command.split(' ').map(|word| match word {
                "KIND" => "related",
                "OTHER" => "00000002",
                word => word,
            });
            let parsed = Arguments::try_parse_from(words);
            assert!(
                parsed.is_ok(),
                "{command}: {}",
                parsed.err().map(|error| error.to_string()).unwrap_or_default()
            );
            count += 1;
        }
    }
    assert!(count > 20, "{count}");
}
