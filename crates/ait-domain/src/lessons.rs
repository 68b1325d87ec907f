//! What the texts of an issue tell those who work on others: the files that they name, and what was learned there.

use std::collections::BTreeSet;

use super::file_names::{MAX_FILES, files_in};
use super::text::shortened;
use super::titles::significant_words;
use super::{ActionKind, Issue, Status, memory};

/// The longest name of a file and the longest title that are compared, in bytes.
const MAX_SUBJECT_BYTES: usize = 300;
/// How many words of an entry are compared.
const MAX_WORDS: usize = 60;
/// The longest lesson, in characters.
const MAX_CHARS: usize = 140;
/// The shortest one that says something, in characters.
const MIN_CHARS: usize = 12;
/// Words with which people say what the next one must know.
const TELLING: &str = "always avoid aware because before beware breaks careful caution caveat decided decision depends except expects \
    fails gotcha however instead keep must needs never note once only otherwise pitfall remember requires since trap unless \
    unlike watch without";
/// What only says how far the work is.
const ROUTINE: &str = "branch committed merged pushed rebased tests";

/// Returns what an issue is about, to be compared with others: the [files] that its texts name, and the words of its
/// title.
pub fn subjects(issue: &Issue, files: &BTreeSet<String>) -> BTreeSet<String> {
    let files = files.iter().map(|file| file_subject(file));
    let words = significant_words(&issue.title);
    let title = (words.len() > 1).then(|| format!("title {}", words.join(" ")));
    files.chain(title).filter(|subject| subject.len() <= MAX_SUBJECT_BYTES).collect()
}

/// Returns what an issue tells others about: its [subjects] once it is closed. An entry of the [memory] tells about
/// files, folders, labels and the words of its text, until another one replaces it.
pub fn told_subjects(issue: &Issue) -> BTreeSet<String> {
    match issue.status {
        Status::Closed => subjects(issue, &files(issue)),
        Status::Kept if !memory::is_replaced(issue) => memory::files(issue)
            .iter()
            .map(|file| file_subject(file))
            .chain(labels(issue))
            .chain(word_subjects(memory::text(issue)))
            .collect(),
        _ => BTreeSet::new(),
    }
}

/// Returns what entries of the memory may tell an issue: the files that it names, with their folders, and its labels.
pub fn wanted_subjects(issue: &Issue, files: &BTreeSet<String>) -> BTreeSet<String> {
    let folders = |file: &String| {
        let ends = file.match_indices('/').map(|(at, _)| at).collect::<Vec<_>>();
        ends.into_iter()
            .chain([file.len()])
            .map(|end| file_subject(&file[..end]))
            .collect::<Vec<_>>()
    };
    files.iter().flat_map(folders).chain(labels(issue)).collect()
}

/// Returns the subjects of entries with some words: the longest of a text, at most 60.
pub fn word_subjects(text: &str) -> impl Iterator<Item = String> {
    let mut words = significant_words(text);
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    words.truncate(MAX_WORDS);
    words.into_iter().map(|word| format!("word {word}"))
}

/// Returns the subject of those who tell something about a file.
pub fn file_subject(file: &str) -> String {
    format!("file {}", file.trim_end_matches('/').to_lowercase())
}

fn labels(issue: &Issue) -> impl Iterator<Item = String> {
    issue.attributes.labels.iter().map(|label| format!("label {label}"))
}

/// Returns the files that the texts of an issue name.
pub fn files(issue: &Issue) -> BTreeSet<String> {
    let texts = issue.searchable_texts();
    texts.flat_map(|text| files_in(&text)).take(MAX_FILES).collect()
}

/// Returns what was learned in a closed issue about one of some files, or about its subject if there are none: the most
/// telling sentence of those who handed it in or reviewed it.
pub fn lesson(issue: &Issue, files: &BTreeSet<String>) -> Option<String> {
    let ends = [ActionKind::Completed, ActionKind::Closed];
    let ends = issue.timeline().into_iter().filter(|entry| ends.contains(&entry.kind()));
    let comments: Vec<_> = ends.filter_map(|entry| entry.comment).collect();
    let mut best: Option<(i32, &str)> = None;
    for sentence in comments.iter().rev().flat_map(|comment| sentences(comment)) {
        let rank = rank(sentence, files);
        if best.is_none_or(|(known, _)| rank > known) {
            best = Some((rank, sentence));
        }
    }
    let (rank, sentence) = best?;
    (rank > 0).then(|| shortened(sentence, MAX_CHARS))
}

/// Returns how much a sentence tells others; nothing worth to be told for 0 and below.
fn rank(sentence: &str, files: &BTreeSet<String>) -> i32 {
    let lower = sentence.to_lowercase();
    let has = |words: &str| {
        super::titles::words(&lower).filter(|word| words.split(' ').any(|one| one == *word)).count()
    };
    let names = files.iter().any(|file| names_file(&lower, file));
    let telling = has(TELLING).min(3) as i32;
    let routine = has(ROUTINE).min(2) as i32;
    4 * i32::from(names) + 2 * telling - 2 * routine
}

/// Returns true if a text in lower case names a file, by its whole name or by the name alone.
fn names_file(lower: &str, file: &str) -> bool {
    let file = file.to_lowercase();
    let name = file.rsplit('/').next().unwrap_or(&file);
    lower.contains(name)
}

/// Returns the sentences of a text that are long enough to say something.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .flat_map(|line| line.split_inclusive(". ").flat_map(|part| part.split_inclusive("; ")))
        .map(|part| part.trim_matches(|one: char| one.is_whitespace() || "-*#>;".contains(one)))
        .filter(|part| part.chars().count() >= MIN_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{CLAIM_ACTION, COMPLETE_ACTION, FILE_ACTION};

    fn issue(handed_in: &str) -> Issue {
        let time = |minute: u32| format!("2026-03-18T10:{minute:02}:00.000Z");
        let entry = |minute, action: &str| serde_json::json!({ "timestamp": time(minute), "agent": "dev-1", "action": action });
        serde_json::from_value(serde_json::json!({
            "id": "3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73", "title": "t", "description": "",
            "classification": "bug", "createdAt": time(0), "modifiedAt": time(2), "status": "closed",
            "history": [
                entry(0, FILE_ACTION), entry(1, CLAIM_ACTION), entry(2, COMPLETE_ACTION),
            ],
            "comments": [{ "timestamp": time(2), "agent": "dev-1", "text": handed_in }],
        }))
        .unwrap()
    }

    #[test]
    fn a_lesson_is_the_most_telling_sentence() {
        let files = BTreeSet::from(["kit/text.py".to_owned()]);
        let of = |text: &str| lesson(&issue(text), &files);
        let text = "Branch issue-3f2a9c1e, tests pass. In kit/text.py slug('') must stay ''. Reviewed twice.";
        assert_eq!(of(text).as_deref(), Some("In kit/text.py slug('') must stay ''."));
        assert_eq!(
            of("- text.py: the cache is filled twice\n- done").unwrap(),
            "text.py: the cache is filled twice"
        );
        assert_eq!(of("Beware: amounts are Decimal.").unwrap(), "Beware: amounts are Decimal.");
        for nothing in ["Done on branch issue-3f2a9c1e, tests pass.", "Fixed.", ""] {
            assert_eq!(of(nothing), None, "{nothing}");
        }
        let long = of(&format!("text.py {}", "x".repeat(1000))).unwrap();
        assert!(long.chars().count() <= MAX_CHARS + 1, "{long}");
    }
}
