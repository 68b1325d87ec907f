//! What can be saved of damaged files.

use std::fs;

use super::super::inspect::samples::{Sample, add, agent, edit_file, replace_in};
use super::*;
use crate::domain::{ClaimProof, Status};

fn salvaged(sample: &Sample) -> Salvage {
    let before = sample.everything();
    let salvaged = salvage(&sample.path).unwrap();
    assert_eq!(sample.everything(), before, "it has changed something");
    salvaged
}

fn titles(salvage: &Salvage) -> Vec<String> {
    salvage.document.issues.issues().map(|issue| issue.title.clone()).collect()
}

fn lost(salvage: &Salvage) -> String {
    salvage.lost.join("\n")
}

#[track_caller]
fn is_complete(salvage: &Salvage) {
    assert_eq!(titles(salvage), ["one", "two", "three"]);
    let issues: Vec<_> = salvage.document.issues.issues().collect();
    assert_eq!((issues[0].status, issues[0].history.len()), (Status::InProgress, 2));
    assert_eq!((issues[1].status, issues[1].history.len()), (Status::Created, 1));
}

#[test]
fn a_healthy_store_is_salvaged_unchanged() {
    let sample = Sample::new();
    let salvaged = salvaged(&sample);
    is_complete(&salvaged);
    assert_eq!(
        (salvaged.issues_read, salvaged.changes_made, lost(&salvaged)),
        (3, 4, String::new())
    );
    assert!(salvaged.into_backup().damage.is_none());
}

#[test]
fn missing_or_broken_issues_are_salvaged_from_the_log() {
    for broken in ["", "{", "\"issues\": ["] {
        let sample = Sample::new();
        if broken.is_empty() {
            fs::remove_file(&sample.path).unwrap();
        } else {
            replace_in(&sample.path, broken, "<<<<<<< ours");
        }
        let salvaged = salvaged(&sample);
        is_complete(&salvaged);
        assert_eq!(lost(&salvaged), "", "{broken}");
    }
    let sample = Sample::new();
    replace_in(&sample.path, "\"two\",", "\"two\"");
    sample.change_and_die(async |tracker| add(tracker, "four").await);
    let salvaged = salvaged(&sample);
    assert_eq!(titles(&salvaged), ["one", "two", "three", "four"]);
    assert_eq!((salvaged.issues_read, lost(&salvaged)), (2, String::new()));
}

#[test]
fn unmerged_external_edits_are_salvaged() {
    let sample = Sample::new();
    replace_in(&sample.path, "\"two\"", "\"zwei\"");
    assert_eq!(titles(&salvaged(&sample)), ["one", "zwei", "three"]);
    // Also where the rest of the file is broken.
    edit_file(&sample.path, |bytes| bytes.truncate(bytes.len() - 20));
    let salvaged = salvaged(&sample);
    assert_eq!(titles(&salvaged), ["one", "zwei", "three"]);
    assert_eq!(lost(&salvaged), "");
}

#[test]
fn a_file_of_another_store_is_ignored() {
    let (sample, other) = (Sample::new(), Sample::new());
    fs::copy(&other.path, &sample.path).unwrap();
    let salvaged = salvaged(&sample);
    is_complete(&salvaged);
    assert!(lost(&salvaged).contains("3 issues of issues.json"), "{}", lost(&salvaged));
}

#[test]
fn without_a_log_readable_issues_are_salvaged() {
    let (sample, other) = (Sample::new(), Sample::empty());
    fs::copy(&sample.path, &other.path).unwrap();
    let id = salvaged(&sample).document.issues.id_at(1).unwrap();
    replace_in(&other.path, "\"two\",", "\"two\" <<<<");
    let salvaged = salvaged(&other);
    assert_eq!(titles(&salvaged), ["one", "three"]);
    assert!(lost(&salvaged).contains(&format!("issue {id} (two) at line")), "{}", lost(&salvaged));
    assert!(salvaged.into_backup().damage.is_some());
}

#[test]
fn events_before_and_after_damage_are_replayed() {
    let sample = Sample::new();
    let line = sample.line(2);
    sample.edit_segment(|bytes| bytes[line + 30] ^= 1);
    // The part that issues.json has is not lost.
    let with_file = salvaged(&sample);
    is_complete(&with_file);
    let told = lost(&with_file);
    assert!(
        told.contains("change 2 of the log") && told.contains(&format!("at byte {line}")),
        "{told}"
    );
    fs::remove_file(&sample.path).unwrap();
    let without = salvaged(&sample);
    assert_eq!(titles(&without), ["one", "three"]);
    assert_eq!(without.changes_made, 3);
    assert_eq!(without.document.issues.at(0).status, Status::InProgress);
}

#[test]
fn what_the_file_has_beyond_a_cut_log_is_kept() {
    fn cut_at_a_line(sample: &Sample) {
        let line = sample.line(2);
        sample.edit_segment(|bytes| bytes.truncate(line));
    }
    fn damage_the_end(sample: &Sample) {
        sample.edit_segment(|bytes| {
            let last = bytes.len() - 20;
            bytes[last] ^= 1;
        });
    }
    fn remove_the_newest_segment(sample: &Sample) {
        fs::remove_file(sample.segment()).unwrap();
    }
    let damages: [(fn(&Sample), _); 3] = [
        (cut_at_a_line, "changes after 5 of the log"),
        (damage_the_end, "changes after 5 of the log"),
        (remove_the_newest_segment, "changes after 4 of the log"),
    ];
    for (damage, told) in damages {
        for has_mark in [true, false] {
            let sample = Sample::new();
            // The next change begins a new segment.
            sample.edit_segment(|bytes| bytes.extend_from_slice(b"0123"));
            sample.change(async |tracker| {
                add(tracker, "four").await;
                add(tracker, "five").await;
            });
            damage(&sample);
            if !has_mark {
                fs::remove_file(sample.paths().mark()).unwrap();
            }
            let salvaged = salvaged(&sample);
            assert_eq!(titles(&salvaged), ["one", "two", "three", "four", "five"], "{told}");
            assert!(lost(&salvaged).contains(told), "{told}, {has_mark}: {}", lost(&salvaged));
        }
    }
}

#[test]
fn shifted_and_duplicate_events_are_replayed_once() {
    let sample = Sample::new();
    let (second, third) = (sample.line(2), sample.line(3));
    sample.edit_segment(|bytes| {
        let again = bytes[second..third].to_vec();
        bytes.splice(third..third, again.into_iter().chain(*b"xyz"));
    });
    fs::remove_file(&sample.path).unwrap();
    let salvaged = salvaged(&sample);
    is_complete(&salvaged);
    assert!(lost(&salvaged).contains("3 damaged bytes"), "{}", lost(&salvaged));
}

#[test]
fn a_stale_file_does_not_undo_events_after_damage() {
    let sample = Sample::new();
    let stale = fs::read(&sample.path).unwrap();
    sample.change(async |tracker| {
        add(tracker, "four").await;
        let id = tracker.state().await.unwrap().issues.at(0).id;
        tracker
            .complete_issue(id.into(), "done".try_into().unwrap(), agent(), ClaimProof::default())
            .await
            .unwrap();
    });
    fs::write(&sample.path, stale).unwrap();
    let line = sample.line(3);
    sample.edit_segment(|bytes| bytes[line + 30] ^= 1);
    let salvaged = salvaged(&sample);
    assert_eq!(titles(&salvaged), ["one", "two", "three", "four"]);
    let first = salvaged.document.issues.at(0);
    assert_eq!(
        (first.status, first.history.len(), first.comments.len()),
        (Status::Completed, 3, 1)
    );
}

#[test]
fn a_segment_with_a_damaged_header_is_matched_by_hashes() {
    let sample = Sample::new();
    sample.edit_segment(|bytes| bytes[30] ^= 1);
    fs::remove_file(&sample.path).unwrap();
    let salvaged = salvaged(&sample);
    is_complete(&salvaged);
    assert!(lost(&salvaged).contains("no checksum"), "{}", lost(&salvaged));
}

#[test]
fn without_a_snapshot_the_log_and_the_file_are_used() {
    let sample = Sample::new();
    edit_file(&sample.snapshot(0), |bytes| bytes[5] ^= 1);
    sample.change_and_die(async |_| {});
    is_complete(&salvaged(&sample));
    fs::remove_file(&sample.path).unwrap();
    let salvaged = salvaged(&sample);
    is_complete(&salvaged);
    assert!(lost(&salvaged).contains("snapshot-0-"), "{}", lost(&salvaged));
}

#[test]
fn a_log_of_another_store_is_ignored() {
    let (sample, other) = (Sample::new(), Sample::new());
    other.change(async |tracker| add(tracker, "foreign").await);
    fs::copy(other.segment(), sample.segment()).unwrap();
    let salvaged = salvaged(&sample);
    is_complete(&salvaged);
    assert!(lost(&salvaged).contains("another store"), "{}", lost(&salvaged));
}

#[test]
fn a_forged_claim_is_not_replayed() {
    let sample = Sample::new();
    let document = salvaged(&sample).document;
    let found = super::super::inspect::inspect(&sample.path, std::time::Duration::ZERO).unwrap();
    sample.forge_claim(&document.issues.at(0), found.state.unwrap().position);
    let salvaged = salvaged(&sample);
    is_complete(&salvaged);
    assert!(lost(&salvaged).contains("cannot have happened"), "{}", lost(&salvaged));
}

#[test]
fn a_torn_end_of_the_log_is_reported() {
    let sample = Sample::new();
    sample.edit_segment(|bytes| bytes.extend_from_slice(b"0123"));
    let salvaged = salvaged(&sample);
    is_complete(&salvaged);
    assert!(lost(&salvaged).contains("the last 4 bytes"), "{}", lost(&salvaged));
}

#[test]
fn salvage_fails_without_a_store() {
    assert!(salvage(&Sample::empty().path).is_err());
}

/// Every issue is in `issues.json`, the log or both, so one broken byte loses none.
#[test]
fn one_broken_byte_loses_no_issue() {
    let sample = Sample::new();
    let files = [sample.path.clone(), sample.segment(), sample.snapshot(0)];
    for file in files {
        let good = fs::read(&file).unwrap();
        for index in (0..good.len()).step_by(7) {
            let mut bad = good.clone();
            bad[index] ^= 0x10;
            fs::write(&file, &bad).unwrap();
            let salvaged = salvage(&sample.path).unwrap();
            let ids = salvaged.document.issues.len();
            assert!(ids >= 3, "{ids} issues with byte {index} of {} broken", file.display());
        }
        fs::write(&file, good).unwrap();
    }
}
