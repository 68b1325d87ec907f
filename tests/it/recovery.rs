//! Truncated, damaged, torn, replaced and foreign logs: the store serves only what it can trust.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_issue_tracker::domain::{Classification, Issue};
use agent_issue_tracker::store::{Store, StoreError};

use crate::support::commands::{add, at, claim, number};
use crate::support::directory_in_memory;
use crate::support::disk::{Disk, FaultyDuty};
use crate::support::files::{copy_directory, newest_segment, segments, store_directory};
use crate::support::scene::Process;
use crate::support::stores::{all_issues, apply, check, ids};

type State = Vec<Issue>;

async fn state(store: &dyn Store) -> Result<State, StoreError> {
    Ok(all_issues(store).await?.iter().map(|issue| Issue::clone(issue)).collect())
}

fn start(directory: &Path) -> Process {
    Process::start(directory, Disk::new(directory, FaultyDuty::Nothing))
}

/// Creates a store with one change by each short-lived process, or with all changes by one process. Returns the state
/// and the segment length after each change.
async fn filled(changes: u32, short_lived: bool) -> (tempfile::TempDir, Vec<(usize, State)>) {
    let directory = directory_in_memory();
    let (path, mut states) = (directory.path(), Vec::new());
    let mut process = start(path);
    for n in 0..changes {
        if short_lived {
            process.kill().await;
            process = start(path);
        }
        let command = if n % 3 == 2 { claim(None) } else { add(n, Classification::Bug) };
        apply(&*process.store, command, at(n.into())).await.unwrap();
        let length = fs::read(newest_segment(path)).unwrap().len();
        states.push((length, state(&*process.store).await.unwrap()));
    }
    process.kill().await;
    (directory, states)
}

/// Removes the record of the durable length, which a power cut may lose too.
fn without_mark(directory: &Path) {
    fs::remove_file(store_directory(directory).join("durable")).unwrap();
}

/// The result of opening a store whose segment has other bytes.
enum Found {
    /// The store opens and accepts changes.
    Good(State),
    /// The store refuses changes, and perhaps reads.
    Refused,
}

async fn open_with(directory: &Path, bytes: &[u8]) -> Found {
    let copy = directory_in_memory();
    copy_directory(directory, copy.path());
    let segment = newest_segment(copy.path());
    fs::write(&segment, bytes).unwrap();
    let process = start(copy.path());
    let found = state(&*process.store).await;
    let before = segments(copy.path()).len();
    match apply(&*process.store, add(90, Classification::Bug), at(90)).await {
        Ok(_) => {
            let found = found.unwrap();
            let later = start(copy.path());
            assert_eq!(state(&*later.store).await.unwrap()[..found.len()], found[..]);
            assert_eq!(ids(&*later.store).await.last(), Some(&number(90)));
            later.kill().await;
            process.kill().await;
            Found::Good(found)
        }
        Err(error) => {
            assert!(error.is_damage(), "{error}");
            assert!(check(&*process.store).await.is_err());
            // The refused change wrote nothing.
            assert_eq!(segments(copy.path()).len(), before);
            assert_eq!(fs::read(&segment).unwrap(), bytes);
            process.kill().await;
            Found::Refused
        }
    }
}

#[tokio::test]
async fn truncated_log_yields_its_complete_batches() {
    let (directory, states) = filled(5, false).await;
    without_mark(directory.path());
    let bytes = fs::read(newest_segment(directory.path())).unwrap();
    let header = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for cut in 0..bytes.len() {
        let whole = states.iter().rev().find(|(length, _)| *length <= cut);
        match open_with(directory.path(), &bytes[..cut]).await {
            Found::Good(found) => {
                assert!(cut >= header, "cut at {cut}");
                assert_eq!(
                    found,
                    whole.map_or(Vec::new(), |(_, state)| state.clone()),
                    "cut at {cut}"
                );
            }
            Found::Refused => assert!(cut < header, "cut at {cut} is refused"),
        }
    }
}

/// With the record of the durable length, even the loss of the last batch is detected.
#[tokio::test]
async fn truncation_of_durable_batches_is_detected() {
    let (directory, states) = filled(5, false).await;
    let bytes = fs::read(newest_segment(directory.path())).unwrap();
    for cut in [states[4].0 - 1, states[3].0, states[3].0 - 1, states[0].0] {
        let found = open_with(directory.path(), &bytes[..cut]).await;
        assert!(matches!(found, Found::Refused), "cut at {cut} is not detected");
    }
}

/// Each change of a byte is reported as damage, unless it is in the last batch.
#[tokio::test]
async fn byte_changes_before_the_last_batch_are_damage() {
    for short_lived in [false, true] {
        let (directory, states) = filled(6, short_lived).await;
        without_mark(directory.path());
        let bytes = fs::read(newest_segment(directory.path())).unwrap();
        let last = states[states.len() - 2].0;
        for index in (0..bytes.len()).step_by(if short_lived { 7 } else { 3 }) {
            for kind in 0..3 {
                let mut bad = bytes.clone();
                match kind {
                    0 => bad[index] ^= 1 << (index % 8),
                    1 => drop(bad.remove(index)),
                    _ => bad.insert(index, b'x'),
                }
                match open_with(directory.path(), &bad).await {
                    Found::Refused => {}
                    Found::Good(found) => {
                        let all = found == states[states.len() - 1].1;
                        let but_last = found == states[states.len() - 2].1;
                        assert!(
                            index >= last && (all || but_last),
                            "{kind} at {index}: {}",
                            found.len()
                        );
                    }
                }
            }
        }
    }
}

/// `sed -i` over a whole repository makes lines shorter or longer.
#[tokio::test]
async fn text_replacement_in_log_lines_is_damage() {
    let (directory, _) = filled(8, true).await;
    let text = fs::read_to_string(newest_segment(directory.path())).unwrap();
    for (from, to) in
        [("issue", "ticket"), ("issue", "ish"), ("\"end\":true", "\"end\":false"), ("\n", "\r\n")]
    {
        let found = open_with(directory.path(), text.replace(from, to).as_bytes()).await;
        assert!(matches!(found, Found::Refused), "{from:?} to {to:?}");
        // Replace only the first three occurrences, which are not in the last line.
        let one = text.replacen(from, to, 3);
        let found = open_with(directory.path(), one.as_bytes()).await;
        assert!(matches!(found, Found::Refused), "{from:?} to {to:?} three times");
    }
}

/// A process that has already read the log refuses changes when the log is shorter, and tolerates a longer log.
#[tokio::test]
async fn running_process_detects_log_damage() {
    let (directory, states) = filled(6, false).await;
    let path = directory.path();
    let segment = newest_segment(path);
    let good = fs::read(&segment).unwrap();
    for shorter in [true, false] {
        fs::write(&segment, &good).unwrap();
        let process = start(path);
        assert_eq!(state(&*process.store).await.unwrap(), states[5].1);
        let mut bad = good.clone();
        if shorter {
            bad.remove(states[2].0 - 20);
        } else {
            bad.insert(states[2].0 - 20, b'x');
        }
        fs::write(&segment, &bad).unwrap();
        let refused = apply(&*process.store, add(90, Classification::Bug), at(90)).await;
        if shorter {
            assert!(refused.is_err(), "{refused:?}");
        }
        process.kill().await;
    }
}

#[tokio::test]
async fn log_of_a_newer_version_is_refused() {
    let (directory, _) = filled(4, false).await;
    let text = fs::read_to_string(newest_segment(directory.path())).unwrap();
    let salt: serde_json::Value = {
        let header = text.lines().next().unwrap();
        serde_json::from_str(&header[18..]).unwrap()
    };
    let salt = u32::try_from(salt["salt"].as_u64().unwrap()).unwrap();
    let line = |seed: u32, json: &str| {
        let rest = format!("{:08x} {json}", json.len());
        format!("{:08x} {rest}\n", checksum(seed, rest.as_bytes()))
    };
    for newer in [r#"{"n":5,"h":"0","d":0,"x":1}"#, r#"{"other":[]}"#] {
        let longer = text.clone() + &line(salt, newer);
        assert!(matches!(open_with(directory.path(), longer.as_bytes()).await, Found::Refused));
    }
    let header = text.lines().next().unwrap()[18..].replace("\"format\":1", "\"format\":2");
    let newer = line(0, &header) + &text[text.find('\n').unwrap() + 1..];
    assert!(matches!(open_with(directory.path(), newer.as_bytes()).await, Found::Refused));
}

/// Computes the checksum of a line: the low 32 bits of the seeded XXH3-64.
fn checksum(seed: u32, bytes: &[u8]) -> u32 {
    xxhash_rust::xxh3::xxh3_64_with_seed(bytes, seed.into()) as u32
}

/// The store never accepts bytes of another segment or another log.
#[tokio::test]
async fn lines_of_another_log_are_never_accepted() {
    let (directory, states) = filled(4, false).await;
    let (other, _) = filled(6, false).await;
    without_mark(directory.path());
    let (ours, theirs) = (
        fs::read(newest_segment(directory.path())).unwrap(),
        fs::read(newest_segment(other.path())).unwrap(),
    );
    let behind = theirs.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for from in [behind, 0] {
        let mixed = [&ours[..], &theirs[from..]].concat();
        match open_with(directory.path(), &mixed).await {
            Found::Good(found) => assert_eq!(found, states[3].1),
            Found::Refused => {}
        }
    }
    // Replace the segment with one of another log.
    match open_with(directory.path(), &theirs).await {
        Found::Good(_) => panic!("the segment of another log was accepted"),
        Found::Refused => {}
    }
}

/// Writes a log of three segments with one issue each, and returns their paths.
async fn three_segments(path: &Path) -> Vec<PathBuf> {
    let disk = Disk::new(path, FaultyDuty::Nothing);
    for n in 0..3 {
        // Each process leaves a torn end, so that the next one starts a new segment.
        let process = Process::start(path, disk.beside());
        apply(&*process.store, add(n, Classification::Bug), at(n.into())).await.unwrap();
        process.kill().await;
        let segment = newest_segment(path);
        let torn = [fs::read(&segment).unwrap(), b"0000".to_vec()].concat();
        fs::write(&segment, torn).unwrap();
    }
    let all = segments(path);
    assert_eq!(all.len(), 3);
    all
}

/// A missing segment is reported, and the store does not recreate it.
#[tokio::test]
async fn missing_segment_is_reported() {
    let directory = directory_in_memory();
    let path = directory.path();
    let all = three_segments(path).await;
    let whole = start(path);
    assert_eq!(ids(&*whole.store).await, [number(0), number(1), number(2)]);
    whole.kill().await;
    for (index, missing) in all.iter().enumerate() {
        let bytes = fs::read(missing).unwrap();
        fs::remove_file(missing).unwrap();
        let process = start(path);
        let refused = apply(&*process.store, add(90, Classification::Bug), at(90)).await;
        assert!(refused.is_err(), "without segment {index}: {refused:?}");
        assert!(!missing.exists());
        fs::write(missing, bytes).unwrap();
        // The same process goes on when the segment is back.
        assert_eq!(ids(&*process.store).await, [number(0), number(1), number(2)]);
        process.kill().await;
    }
}

/// A process that runs while the newest segment is removed knows what it had, and saves it again.
#[tokio::test]
async fn running_process_restores_what_a_removed_segment_had() {
    let directory = directory_in_memory();
    let path = directory.path();
    let all = three_segments(path).await;
    let running = start(path);
    assert_eq!(ids(&*running.store).await, [number(0), number(1), number(2)]);
    fs::remove_file(&all[2]).unwrap();
    apply(&*running.store, add(3, Classification::Bug), at(3)).await.unwrap();
    let new = start(path);
    assert_eq!(ids(&*new.store).await, [number(0), number(1), number(2), number(3)]);
    new.kill().await;
    running.kill().await;
}

/// The mark of a log that was removed says nothing about the next log in its place.
#[tokio::test]
async fn mark_of_a_removed_log_is_forgotten() {
    let directory = directory_in_memory();
    let path = directory.path();
    let all = three_segments(path).await;
    fs::remove_dir_all(all[0].parent().unwrap()).unwrap();
    for n in 10..12 {
        let process = start(path);
        apply(&*process.store, add(n, Classification::Bug), at(n.into())).await.unwrap();
        process.kill().await;
    }
}

#[tokio::test]
async fn torn_segment_is_not_appended_to() {
    let directory = directory_in_memory();
    let disk = Disk::new(directory.path(), FaultyDuty::Nothing);
    let process = Process::start(directory.path(), Arc::clone(&disk));
    apply(&*process.store, add(1, Classification::Bug), at(1)).await.unwrap();
    let segment = newest_segment(directory.path());
    let whole = fs::read(&segment).unwrap();
    let torn = [&whole[..], &whole[whole.len() - 50..whole.len() - 9]].concat();
    fs::write(&segment, &torn).unwrap();
    apply(&*process.store, add(2, Classification::Bug), at(2)).await.unwrap();
    assert_eq!(fs::read(&segment).unwrap(), torn);
    assert_eq!(segments(directory.path()).len(), 2);
    assert_eq!(ids(&*process.store).await, [number(1), number(2)]);
}
