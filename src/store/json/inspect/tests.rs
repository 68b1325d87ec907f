//! What an inspection of the files finds.

use std::fs::{self, File};

use super::samples::{Sample, add, agent, edit_file, replace_in};
use super::*;
use crate::domain::{ClaimProof, Resolution};
use crate::store::json::fs::ABANDONED_AFTER;
use crate::store::json::log::segment::{self, ordinals, path_of};
use crate::store::json::log::{frame, record};
use crate::store::json::snapshot;
use crate::store::{EventPosition, State};
use crate::tracker::ClaimKind;

fn examine(sample: &Sample) -> Inspection {
    let before = sample.everything();
    let found = inspect(&sample.path, Duration::from_secs(10)).unwrap();
    assert_eq!(sample.everything(), before, "it has changed something");
    found
}

fn faults(sample: &Sample) -> Vec<LogFault> {
    examine(sample).log.unwrap().faults
}

fn state(sample: &Sample) -> State {
    examine(sample).state.unwrap()
}

/// Creates a store with three segments.
fn of_segments() -> Sample {
    let sample = Sample::new();
    for title in ["four", "five"] {
        // The next change begins a new segment.
        sample.edit_segment(|bytes| bytes.extend_from_slice(b"0123"));
        sample.change(async |tracker| add(tracker, title).await);
    }
    assert_eq!(ordinals(&RealFileSystem, &sample.paths().log).unwrap(), [1, 2, 3]);
    sample
}

#[test]
fn a_healthy_store_is_reported_with_its_counts() {
    let sample = Sample::new();
    let found = examine(&sample);
    assert_eq!((found.standing, found.damage), (FileStanding::UpToDate, None));
    let log = found.log.unwrap();
    assert_eq!((log.faults.as_slice(), log.torn), (&[][..], None));
    assert_eq!((log.events, log.first, log.last.number), (4, 1, 4));
    assert_eq!(log.bytes, fs::metadata(sample.segment()).unwrap().len());
    assert_eq!((log.segments, log.unexamined, log.replayed_from), (1, 0, Some(0)));
    assert_eq!(found.state.unwrap().issues.len(), 3);
}

#[test]
fn several_segments_are_read_as_one_log() {
    let sample = of_segments();
    let log = examine(&sample).log.unwrap();
    assert_eq!((log.faults.as_slice(), log.segments), (&[][..], 3));
    assert_eq!((log.events, log.first, log.last.number), (6, 1, 6));
}

#[test]
fn a_missing_store_is_reported_as_empty() {
    let sample = Sample::empty();
    let found = examine(&sample);
    assert!(found.log.is_none() && found.state.unwrap().issues.is_empty());
    assert_eq!(found.standing, FileStanding::Unwritten);
    let missing = inspect(&sample.path.join("x/issues.json"), Duration::ZERO);
    assert!(matches!(missing, Err(OpenError::MissingDirectory(_))));
}

#[test]
fn an_invalid_file_is_reported_with_its_line() {
    let sample = Sample::new();
    replace_in(&sample.path, "\"bug\"", "bug");
    let found = examine(&sample);
    let FileStanding::Invalid(error) = found.standing else { panic!("{:?}", found.standing) };
    assert_eq!(error.line, 7);
    // The log has every issue.
    assert_eq!(found.state.unwrap().issues.len(), 3);
}

#[test]
fn duplicate_ids_are_reported() {
    let sample = Sample::new();
    let ids: Vec<_> = state(&sample).issues.issues().map(|issue| issue.id).collect();
    replace_in(&sample.path, &ids[1].to_string(), &ids[0].to_string());
    let repeated = examine(&sample).repeated;
    assert_eq!((repeated.len(), repeated[0].id, repeated[0].are_identical), (1, ids[0], false));
}

#[test]
fn a_changed_byte_is_reported_with_its_offset() {
    let sample = Sample::new();
    let (line, path) = (sample.line(2), sample.segment());
    sample.edit_segment(|bytes| bytes[line + 30] ^= 1);
    let found = examine(&sample);
    let offset = line as u64;
    assert_eq!(found.damage, Some(Damage::Bytes { path: path.clone(), offset }));
    assert_eq!(found.log.unwrap().faults, [LogFault::Bytes { path, offset }]);
}

#[test]
fn a_torn_end_of_the_log_is_no_fault() {
    let sample = Sample::new();
    let (path, offset) = (sample.segment(), fs::metadata(sample.segment()).unwrap().len());
    sample.edit_segment(|bytes| bytes.extend_from_slice(b"0123"));
    let found = examine(&sample);
    assert_eq!((found.damage, found.standing), (None, FileStanding::UpToDate));
    let log = found.log.unwrap();
    assert_eq!(log.torn, Some(TornEnd { path, offset, length_bytes: 4 }));
    assert_eq!(log.faults, []);
}

#[test]
fn damage_in_an_old_segment_is_reported() {
    let sample = of_segments();
    let path = path_of(&sample.paths().log, 1);
    edit_file(&path, |bytes| *bytes = bytes[..bytes.len() - 50].to_vec());
    assert!(matches!(&faults(&sample)[0], LogFault::Bytes { path: told, .. } if *told == path));
}

#[test]
fn a_missing_newest_segment_is_reported() {
    let sample = of_segments();
    let path = path_of(&sample.paths().log, 3);
    fs::remove_file(&path).unwrap();
    let found = examine(&sample);
    assert_eq!(found.damage, Some(Damage::Missing { path: path.clone() }));
    let reason = "the file is missing".to_owned();
    assert_eq!(found.log.unwrap().faults, [LogFault::Io { path, reason }]);
}

#[test]
fn a_missing_segment_is_reported() {
    let sample = of_segments();
    fs::remove_file(path_of(&sample.paths().log, 2)).unwrap();
    let found = examine(&sample);
    assert!(matches!(found.state, Err(OpenError::Segment { .. })));
    let gap = LogFault::Gap(path_of(&sample.paths().log, 3));
    assert!(found.log.unwrap().faults.contains(&gap));
}

#[test]
fn a_damaged_segment_header_is_reported() {
    let sample = Sample::new();
    sample.edit_segment(|bytes| bytes[30] ^= 1);
    assert!(faults(&sample).contains(&LogFault::Header(sample.segment())));
}

#[test]
fn a_segment_of_another_store_is_reported() {
    let (sample, other) = (of_segments(), of_segments());
    let path = path_of(&sample.paths().log, 3);
    fs::copy(path_of(&other.paths().log, 3), &path).unwrap();
    let faults = faults(&sample);
    let is_told = |fault: &LogFault| matches!(fault, LogFault::OtherStore { path: told, .. } if *told == path);
    assert!(faults.iter().any(is_told), "{faults:?}");
}

#[test]
fn a_log_of_another_store_is_rejected() {
    let (sample, other) = (Sample::new(), Sample::new());
    fs::copy(other.segment(), sample.segment()).unwrap();
    let found = examine(&sample);
    assert!(matches!(found.state, Err(OpenError::NoSnapshot { .. })));
    let faults = found.log.unwrap().faults;
    assert!(faults[0].to_string().contains("another store"), "{faults:?}");
}

#[test]
fn a_newer_log_format_is_reported() {
    let sample = Sample::new();
    let mut header = segment::header(
        "x".to_owned(),
        EventPosition::default(),
        None,
        crate::store::json::support::now(),
    );
    header.format = record::FORMAT + 1;
    let mut bytes = Vec::new();
    frame::write(0, &header.write(), &mut bytes);
    fs::write(sample.segment(), bytes).unwrap();
    assert!(faults(&sample).contains(&LogFault::Newer(sample.segment())));
}

#[test]
fn a_forged_claim_is_reported() {
    let sample = Sample::new();
    let state = state(&sample);
    let issue = state.issues.at(0);
    sample.forge_claim(&issue, state.position);
    let [LogFault::Event { number: 5, contradiction, .. }] = faults(&sample)[..] else { panic!() };
    let expected = Contradiction::Status { issue: issue.id, status: issue.status };
    assert_eq!(contradiction, expected);
}

#[test]
fn an_event_with_a_wrong_before_state_is_reported() {
    let sample = Sample::new();
    let state = state(&sample);
    let mut issue = (*state.issues.at(1)).clone();
    let comment = "no".to_owned();
    issue.status = crate::domain::Status::Completed;
    let event = crate::domain::Event {
        issue: issue.id,
        at: issue.modified_at,
        agent: "thief".to_owned(),
        kind: crate::domain::EventKind::Closed { comment },
        before: Some(crate::domain::Before::of(&issue)),
        lease: None,
    };
    sample.forge(&event, state.position);
    let [LogFault::Event { contradiction, .. }] = faults(&sample)[..] else { panic!() };
    assert_eq!(contradiction, Contradiction::Before(issue.id));
}

#[test]
fn ordinary_operations_cause_no_faults() {
    let sample = Sample::new();
    let early = state(&sample).document();
    let text = || "said".try_into().unwrap();
    sample.change(async |tracker| {
        let id = tracker.state().await.unwrap().issues.at(0).id;
        tracker.comment_issue(id.into(), text(), agent()).await.unwrap();
        tracker.complete_issue(id.into(), text(), agent(), ClaimProof::default()).await.unwrap();
        let claimed = tracker.claim_next(ClaimKind::Review, agent()).await.unwrap().unwrap();
        tracker.lapse_claim(&claimed.issue, "gone").await.unwrap();
        tracker.return_issue(id.into(), text(), agent(), ClaimProof::default()).await.unwrap();
        tracker
            .close_issue(id.into(), Resolution::Rejected, text(), agent(), ClaimProof::default())
            .await
            .unwrap();
        tracker.comment_issue(id.into(), text(), agent()).await.unwrap();
        add(tracker, "four").await;
    });
    let late = state(&sample).document();
    replace_in(&sample.path, "\"two\"", "\"zwei\"");
    replace_in(&sample.path, "\n  ]\n}", "\n  ],\n  \"other\": 1\n}");
    replace_in(&sample.path, "\"created\"", "\"completed\"");
    sample.change(async |tracker| add(tracker, "five").await);
    assert_eq!(state(&sample).issues.at(1).title, "zwei");
    let ids = |state: &State| -> Vec<_> { state.issues.issues().map(|issue| issue.id).collect() };
    for document in [early, late] {
        let wanted = ids(&State::of(document.clone()));
        sample.restore(document);
        let found = examine(&sample);
        assert_eq!((found.standing, found.damage), (FileStanding::UpToDate, None));
        assert_eq!(found.log.unwrap().faults, []);
        assert_eq!(ids(&found.state.unwrap()), wanted);
        let salvaged = crate::store::json::salvage::salvage(&sample.path).unwrap();
        assert_eq!((ids(&State::of(salvaged.document)), salvaged.lost), (wanted, Vec::new()));
    }
}

#[test]
fn a_snapshot_that_differs_from_the_log_is_reported() {
    let sample = Sample::new();
    let (mut state, store) = (state(&sample), examine(&sample).log.unwrap().store);
    let paths = sample.paths();
    snapshot::write(&RealFileSystem, &paths, &state, &store).unwrap();
    assert_eq!(faults(&sample), []);
    let id = state.issues.id_at(1).unwrap();
    state.issues.remove(id).unwrap();
    snapshot::write(&RealFileSystem, &paths, &state, &store).unwrap();
    let path = paths.snapshot(4, &store);
    assert_eq!(faults(&sample), [LogFault::SnapshotDiffers { path, issues: vec![id], count: 1 }]);
}

#[test]
fn a_snapshot_not_confirmed_by_the_log_is_reported() {
    let sample = Sample::new();
    let (mut state, store) = (state(&sample), examine(&sample).log.unwrap().store);
    state.position.hash ^= 1;
    snapshot::write(&RealFileSystem, &sample.paths(), &state, &store).unwrap();
    state.position.number = 9;
    snapshot::write(&RealFileSystem, &sample.paths(), &state, &store).unwrap();
    let told: Vec<_> = faults(&sample).iter().map(ToString::to_string).collect();
    assert!(
        told[0].contains("does not confirm") && told[1].contains("ends at event 4"),
        "{told:?}"
    );
    // The older snapshot still opens the store.
    assert!(examine(&sample).state.is_ok());
}

#[test]
fn a_damaged_snapshot_is_reported() {
    let sample = Sample::new();
    let path = sample.snapshot(0);
    edit_file(&path, |bytes| bytes[5] ^= 1);
    let found = examine(&sample);
    assert!(found.state.is_err());
    assert!(matches!(&found.log.unwrap().faults[0], LogFault::Snapshot { .. }));
}

#[test]
fn an_outdated_file_is_no_damage() {
    let sample = Sample::new();
    sample.change_and_die(async |tracker| add(tracker, "four").await);
    let found = examine(&sample);
    assert_eq!((found.standing, found.damage), (FileStanding::Behind(1), None));
    assert_eq!(found.log.unwrap().faults, []);
    assert_eq!(found.state.unwrap().issues.len(), 4);
}

#[test]
fn external_edits_and_replaced_files_are_distinguished() {
    let sample = Sample::new();
    let bytes = fs::read(&sample.path).unwrap();
    replace_in(&sample.path, "\"two\"", "\"zwei\"");
    assert_eq!(examine(&sample).standing, FileStanding::Edited(1));
    fs::remove_file(&sample.path).unwrap();
    assert_eq!(examine(&sample).standing, FileStanding::Missing);
    fs::write(&sample.path, "{\"issues\": []}").unwrap();
    assert_eq!(examine(&sample).standing, FileStanding::Older(3));
    let other = Sample::new();
    fs::copy(&other.path, &sample.path).unwrap();
    assert_eq!(examine(&sample).standing, FileStanding::Foreign);
    fs::write(&sample.path, bytes).unwrap();
    assert_eq!(examine(&sample).standing, FileStanding::UpToDate);
}

#[test]
fn a_published_file_that_contradicts_the_log_is_reported() {
    let sample = Sample::new();
    replace_in(&sample.path, "\"two\"", "\"zwei\"");
    let hash = xxhash_rust::xxh3::xxh3_128(&fs::read(&sample.path).unwrap());
    let paths = sample.paths();
    let fingerprint = RealFileSystem.fingerprint(&sample.path).unwrap().unwrap();
    let mut position = state(&sample).position;
    PublishedNote::new(position, fingerprint, hash).write(&RealFileSystem, &paths).unwrap();
    let id = state(&sample).issues.id_at(1).unwrap();
    assert_eq!(examine(&sample).standing, FileStanding::Differs(vec![id], 1));
    position.number = 9;
    PublishedNote::new(position, fingerprint, hash).write(&RealFileSystem, &paths).unwrap();
    assert_eq!(examine(&sample).standing, FileStanding::Ahead(9));
}

#[test]
fn only_old_temporary_files_count_as_leftovers() {
    let sample = Sample::new();
    let paths = sample.paths();
    let beside = sample.directory.path();
    let stale = [
        beside.join(".b.json.01234567.ait-backup.tmp"),
        paths.directory.join(".snapshot-3.tmp"),
        paths.log.join(".0000000002.01234567.tmp"),
    ];
    let unmerged = paths.exchange_file(7);
    for path in stale.iter().chain([&unmerged, &beside.join(".mine.tmp")]) {
        fs::write(path, "").unwrap();
    }
    assert_eq!(leftovers(&paths), Leftovers::default());
    for path in stale.iter().chain([&unmerged, &beside.join(".mine.tmp")]) {
        let old = SystemTime::now() - 2 * ABANDONED_AFTER;
        File::options().write(true).open(path).unwrap().set_modified(old).unwrap();
    }
    let found = leftovers(&paths);
    assert_eq!((found.stale.as_slice(), found.unmerged), (&stale[..], vec![unmerged]));
    fs::create_dir_all(&paths.kept).unwrap();
    fs::write(paths.kept.join("x"), "").unwrap();
    assert_eq!(leftovers(&paths).kept, [paths.kept.join("x")]);
}
