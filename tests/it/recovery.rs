//! Journals that are cut, damaged, torn, replaced or made by others: what can be trusted is served, and
//! nothing else is.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agent_issue_tracker::domain::{Classification, Issue, IssueId, Status};
use agent_issue_tracker::store::json::JsonStoreOptions;
use agent_issue_tracker::store::{JsonStore, Store, StoreError};
use serde_json::json;
use tempfile::TempDir;

use crate::support::commands::{add, all, at, claim, complete, number};
use crate::support::disk::{Disk, Neglect};
use crate::support::files::{names, stored_issues};
use crate::support::{Client, directory_in_memory, get};

const NEVER: Duration = Duration::from_secs(3600);
const AT_ONCE: Duration = Duration::ZERO;

fn open_on(directory: &Path, disk: &Arc<Disk>) -> JsonStore {
    let mut options = JsonStoreOptions::default();
    (options.checkpoint_after, options.second_look_after) = (NEVER, AT_ONCE);
    JsonStore::with(directory.join("issues.json"), Arc::clone(disk) as _, options)
}

/// A store whose changes stay in the journal until it is closed.
fn open(directory: &Path) -> JsonStore {
    open_on(directory, &Disk::new(Neglect::Nothing))
}

async fn issues(store: &JsonStore) -> Result<Vec<Issue>, StoreError> {
    let page = store.list(all()).await?;
    Ok(page.issues.iter().map(|issue| Issue::clone(issue)).collect())
}

/// A store with one issue in `issues.json` and four batches in its journal.
struct Small {
    snapshot: Vec<u8>,
    journal: Vec<u8>,
    /// Where the header and each batch end, and the issues as they are then.
    ends: Vec<usize>,
    states: Vec<Vec<Issue>>,
}

impl Small {
    async fn new() -> Self {
        let directory = directory_in_memory();
        let store = open(directory.path());
        store.apply(add(1, Classification::Bug), at(0)).await.unwrap();
        store.close().await;
        let store = open(directory.path());
        let read = |name: &str| fs::read(directory.path().join(name)).unwrap();
        let (mut ends, mut states) = (Vec::new(), Vec::new());
        ends.push(read("issues.json.journal").len());
        states.push(issues(&store).await.unwrap());
        let commands = [
            add(2, Classification::Feature),
            claim(None),
            complete(number(1).into()),
            add(3, Classification::Bug),
        ];
        for (millis, command) in (1..).zip(commands) {
            store.apply(command, at(millis)).await.unwrap();
            ends.push(read("issues.json.journal").len());
            states.push(issues(&store).await.unwrap());
        }
        Self { snapshot: read("issues.json"), journal: read("issues.json.journal"), ends, states }
    }

    /// A directory with this store and another journal.
    fn with(&self, journal: &[u8]) -> TempDir {
        let directory = directory_in_memory();
        fs::write(directory.path().join("issues.json"), &self.snapshot).unwrap();
        fs::write(directory.path().join("issues.json.journal"), journal).unwrap();
        directory
    }

    /// The number of batches that end before a place, and the issues after them.
    fn before(&self, place: usize) -> (usize, &[Issue]) {
        let ended = self.ends.iter().filter(|&&end| end <= place).count();
        let batches = ended.saturating_sub(1);
        (batches, &self.states[batches])
    }

    fn epoch(&self) -> u128 {
        let header = self.header();
        let (_, rest) = header.split_once("\"epoch\":\"").unwrap();
        u128::from_str_radix(&rest[..32], 16).unwrap()
    }

    fn header(&self) -> String {
        String::from_utf8(self.journal[18..self.ends[0] - 1].to_vec()).unwrap()
    }
}

/// What was found in a store, and whether it could be changed.
struct Reopened {
    issues: Vec<Issue>,
    changed: Result<(), StoreError>,
    /// What was cut off the journal.
    torn: Vec<Vec<u8>>,
}

/// Opens a store with another journal, and changes it if possible.
async fn reopened(small: &Small, journal: &[u8]) -> Reopened {
    let directory = small.with(journal);
    let store = open(directory.path());
    let found = issues(&store).await.unwrap();
    let changed = store.apply(add(9, Classification::Bug), at(99)).await.map(|_| ());
    match &changed {
        Ok(()) => {
            let again = issues(&open(directory.path())).await.unwrap();
            assert_eq!(again[..found.len()], found[..]);
            assert_eq!(again.len(), found.len() + 1);
        }
        Err(error) => {
            assert!(matches!(error, StoreError::Damaged(_)), "{error}");
            assert_eq!(error.to_string(), store.check().await.unwrap_err().to_string());
            let kept = fs::read(directory.path().join("issues.json.journal")).unwrap();
            assert_eq!(kept, journal, "what is damaged was written to");
        }
    }
    let torn = names(directory.path()).into_iter().filter(|name| name.contains(".journal.torn-"));
    let torn = torn.map(|name| fs::read(directory.path().join(name)).unwrap()).collect();
    Reopened { issues: found, changed, torn }
}

#[tokio::test]
async fn a_journal_that_is_cut_anywhere_gives_its_whole_batches_and_goes_on() {
    let small = Small::new().await;
    for cut in 0..=small.journal.len() {
        let found = reopened(&small, &small.journal[..cut]).await;
        let (batches, expected) = small.before(cut);
        assert_eq!(found.issues, expected, "cut at {cut}");
        if cut < small.ends[0] {
            let text = found.changed.unwrap_err().to_string();
            assert!(text.contains("damaged at byte 0"), "{text}");
            continue;
        }
        found.changed.unwrap();
        // What was cut off a batch is kept.
        let rest = &small.journal[small.ends[batches]..cut];
        assert_eq!(found.torn.concat(), rest, "cut at {cut}");
    }
}

#[tokio::test]
async fn no_flipped_bit_goes_unnoticed_and_all_but_the_last_batch_are_told_from_a_torn_tail() {
    let small = Small::new().await;
    let last = small.ends[small.ends.len() - 2];
    for place in 0..small.journal.len() {
        // All bits of some bytes, and one bit of every byte.
        let bits = if place % 16 == 0 { 0..8 } else { place % 8..place % 8 + 1 };
        for bit in bits {
            let mut flipped = small.journal.clone();
            flipped[place] ^= 1 << bit;
            let found = reopened(&small, &flipped).await;
            let (batches, expected) = small.before(place);
            assert_eq!(found.issues, expected, "bit {bit} of byte {place}");
            if place >= last {
                found.changed.unwrap();
                assert_eq!(found.torn.concat(), flipped[last..]);
            } else {
                let text = found.changed.unwrap_err().to_string();
                let byte = if place < small.ends[0] { 0 } else { small.ends[batches] };
                assert!(text.contains(&format!("damaged at byte {byte},")), "{text}");
                assert!(found.torn.is_empty());
            }
        }
    }
}

/// Processes that live for one change each, so that none of them has synced anything before it.
#[tokio::test]
async fn damage_is_told_from_a_torn_tail_over_many_short_lived_processes_too() {
    let directory = directory_in_memory();
    let path = directory.path().join("issues.json.journal");
    let mut ends = Vec::new();
    for number in 0..10 {
        let store = open(directory.path());
        store.apply(add(number, Classification::Bug), at(0)).await.unwrap();
        ends.push(fs::read(&path).unwrap().len());
        std::mem::forget(store);
    }
    let journal = fs::read(&path).unwrap();
    for (number, end) in ends[..8].iter().enumerate() {
        let mut damaged = journal.clone();
        damaged[end - 20] ^= 1;
        fs::write(&path, &damaged).unwrap();
        let store = open(directory.path());
        assert_eq!(issues(&store).await.unwrap().len(), number);
        let refused = store.apply(add(11, Classification::Bug), at(1)).await;
        assert!(matches!(refused, Err(StoreError::Damaged(_))), "{refused:?}");
    }
}

/// Somebody edits `issues.json`, and the process that takes it over dies in its checkpoint.
#[tokio::test]
async fn an_edit_that_a_dying_process_was_taking_over_is_seen_by_all() {
    let small = Small::new().await;
    for call in 1..40 {
        let directory = small.with(&small.journal);
        let witness = open(directory.path());
        assert_eq!(issues(&witness).await.unwrap(), *small.states.last().unwrap());
        let edited =
            String::from_utf8(small.snapshot.clone()).unwrap().replace("issue 1", "edited");
        fs::write(directory.path().join("issues.json"), edited).unwrap();
        let disk = Disk::new(Neglect::Nothing);
        let dying = open_on(directory.path(), &disk);
        disk.die_at(call);
        let _ = dying.apply(add(5, Classification::Bug), at(9)).await;
        std::mem::forget(dying);
        for store in [&witness, &open(directory.path())] {
            let found = issues(store).await.unwrap();
            assert_eq!(found[0].title, "edited", "{call} {:?}", disk.failed());
            assert!(found.len() >= 3, "{call} {:?}", disk.failed());
        }
        witness.apply(add(6, Classification::Bug), at(10)).await.unwrap();
        let fresh = issues(&open(directory.path())).await.unwrap();
        assert_eq!(issues(&witness).await.unwrap(), fresh);
    }
}

/// A frame as the format describes it, made without the store's own code.
fn frame_at(epoch: u128, offset: usize, json: &str) -> Vec<u8> {
    let text = format!("{:08x} {json}", json.len());
    let seed = [&epoch.to_be_bytes()[..], &(offset as u64).to_be_bytes()].concat();
    let crc = crc32c::crc32c_append(crc32c::crc32c(&seed), text.as_bytes());
    format!("{crc:08x} {text}\n").into_bytes()
}

/// A process died when a batch of two changes was on its way to the disk: the sector with the first
/// never arrived, that with the second, a claim, did. The next process files an issue whose frame is as
/// long as the hole. Gives what becomes of it.
async fn after_a_hole(disk: &Arc<Disk>) -> Vec<(IssueId, Status)> {
    let small = Small::new().await;
    let end = *small.ends.last().unwrap();
    let journal_after = async |journal: &[u8], disk: &Arc<Disk>| {
        let directory = small.with(journal);
        let store = open_on(directory.path(), disk);
        store.apply(add(5, Classification::Feature), at(1)).await.unwrap();
        let journal = fs::read(directory.path().join("issues.json.journal")).unwrap();
        // A process that is killed makes no last checkpoint.
        std::mem::forget(store);
        (journal, directory)
    };
    let (undisturbed, _directory) = journal_after(&small.journal, disk).await;
    let hole = vec![0; undisturbed.len() - end];
    let claim = r#"{"n":7,"d":0,"event":"claimed","issue":"00000002-0000-4000-8000-000000000000","at":"2026-02-02T02:40:01.000Z","agent":"a","end":true}"#;
    let claim = frame_at(small.epoch(), end + hole.len(), claim);
    let torn = [&small.journal[..], &hole, &claim].concat();
    let (journal, directory) = journal_after(&torn, disk).await;
    assert_eq!(journal[..undisturbed.len()], undisturbed, "the frame does not fill the hole");
    let found = issues(&open(directory.path())).await.unwrap();
    found.iter().map(|issue| (issue.id, issue.status)).collect()
}

#[tokio::test]
async fn what_a_dead_process_left_is_cut_before_anything_is_appended() {
    let good = after_a_hole(&Disk::new(Neglect::Nothing)).await;
    assert_eq!(good[1], (number(2), Status::Created));
    assert_eq!(good.last(), Some(&(number(5), Status::Created)));
    // Otherwise the dead process's claim comes to life behind the new issue.
    let bad = after_a_hole(&Disk::new(Neglect::Truncate)).await;
    assert_eq!(bad[1], (number(2), Status::InProgress));
}

/// A new journal has grown, and where it has grown the disk still shows what the old one held at that
/// place. Gives what can be made of it.
async fn over_an_old_journal(neglect: Neglect) -> Result<usize, StoreError> {
    // Both journals must have headers of the same length, which a digit of an inode may prevent.
    for _ in 0..20 {
        let (directory, disk) = (directory_in_memory(), Disk::new(neglect));
        let path = directory.path().join("issues.json.journal");
        let mut journals = Vec::new();
        for number in 0..6 {
            let store = open_on(directory.path(), &disk);
            store.apply(add(number, Classification::Bug), at(0)).await.unwrap();
            journals.push(fs::read(&path).unwrap());
            store.close().await;
        }
        let new = fs::read(&path).unwrap();
        let begin = |journal: &[u8]| journal.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        if begin(&journals[5]) == new.len() {
            fs::write(&path, [&new[..], &journals[5][new.len()..]].concat()).unwrap();
            let store = open_on(directory.path(), &disk);
            store.apply(add(6, Classification::Bug), at(0)).await?;
            return Ok(store.counts().await?.total());
        }
    }
    panic!("no two journals with headers of one length");
}

#[tokio::test]
async fn bytes_of_an_older_journal_never_pass() {
    assert_eq!(over_an_old_journal(Neglect::Nothing).await.unwrap(), 7);
    let reused = over_an_old_journal(Neglect::Epoch).await;
    assert!(matches!(reused, Err(StoreError::Damaged(_))), "{reused:?}");
}

#[tokio::test]
async fn what_a_newer_version_wrote_is_neither_skipped_nor_written_to() {
    let small = Small::new().await;
    for newer in [
        small.header().replace("\"journal\":1", "\"journal\":2"),
        small.header().replace("{\"journal\":1", "{\"journal\":1,\"compressed\":true"),
    ] {
        let found = reopened(&small, &frame_at(0, 0, &newer)).await;
        assert_eq!(found.issues, small.states[0]);
        let text = found.changed.unwrap_err().to_string();
        assert!(text.contains("newer version") && text.contains("update"), "{text}");
    }
    let end = *small.ends.last().unwrap();
    for frame in [
        r#"{"n":6,"d":0,"event":"lent","issue":"00000001-0000-4000-8000-000000000000","at":"2026-01-31T09:30:00.000Z","agent":"a","end":true}"#,
        r#"{"n":6,"d":0,"event":"claimed","issue":"00000001-0000-4000-8000-000000000000","at":"2026-01-31T09:30:00.000Z","agent":"a","lease":5,"end":true}"#,
    ] {
        let newer = [&small.journal[..], &frame_at(small.epoch(), end, frame)].concat();
        let found = reopened(&small, &newer).await;
        assert_eq!(&found.issues, small.states.last().unwrap());
        let text = found.changed.unwrap_err().to_string();
        assert!(text.contains(&format!("byte {end}")) && text.contains("newer"), "{text}");
    }
}

#[test]
fn damage_leaves_reads_and_tells_everybody() {
    let small = tokio::runtime::Runtime::new().unwrap().block_on(Small::new());
    let mut journal = small.journal.clone();
    journal[small.ends[1] + 20] ^= 1;
    let directory = small.with(&journal);
    let path = directory.path().join("issues.json.journal");
    let mut client = Client::start(directory.path());
    let listed = client.call("list_issues", json!({})).ok();
    assert!(listed.contains(&format!("\"count\":{}", small.states[1].len())), "{listed}");
    let text = client.call("get_next_issue", json!({ "agent": "a" })).refusal();
    let health = get(client.port(), "/health");
    assert_eq!(health.status, 503);
    let page = get(client.port(), "/");
    assert_eq!(page.status, 200);
    for text in [&text, &health.body, &page.body] {
        let byte = format!("byte {}", small.ends[1]);
        for words in ["issues.json.journal", &byte, "only reads", "cut it there"] {
            assert!(text.contains(words), "no {words:?} in {text}");
        }
    }
    assert_eq!(client.close().code(), Some(1));
    assert_eq!(fs::read(&path).unwrap(), journal);
    // The way out that the text names.
    let cut = fs::File::options().write(true).open(&path).unwrap();
    cut.set_len(small.ends[1] as u64).unwrap();
    let mut client = Client::start(directory.path());
    client.add("goes on", "bug");
    assert!(client.close().success());
    assert_eq!(stored_issues(directory.path()).len(), small.states[1].len() + 1);
}
