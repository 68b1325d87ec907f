//! The words that people and programs use for statuses, kinds of work, priorities and truth: one table for all formats.
//!
//! Words are compared without case, spaces, punctuation and emojis, so `In Progress`, `in-progress` and `IN_PROGRESS`
//! are one word.

use crate::domain::{Classification, Priority, Status};

/// A status, and whether the issue waits for something that the file does not name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FoundStatus {
    pub status: Status,
    pub is_parked: bool,
}

impl From<Status> for FoundStatus {
    fn from(status: Status) -> Self {
        Self { status, is_parked: false }
    }
}

/// The words for statuses besides those of ait. The second value says that the issue waits for something else.
const STATUSES: [(Status, bool, &str); 6] = [
    (
        Status::Created,
        false,
        "accepted approved assigned backlog confirmed defined icebox inbox needstriage new next nextup \
         notstarted open opened pending planned proposed queued ready readyfordev readyfordevelopment refined \
         reopened requested scheduled selectedfordevelopment submitted todo triage triaged unassigned unconfirmed \
         unstarted untriaged upnext",
    ),
    (
        Status::InProgress,
        false,
        "active building coding committed current developing development doing executing hooked implementing \
         inanalysis indesign indev indevelopment inprocess inwork ongoing processing progress running started \
         underway wip workinprogress working workingonit",
    ),
    (
        Status::Completed,
        false,
        "awaitingreview codereview forreview inqa intest intesting inverification needsreview peerreview \
         pendingreview qa readyforqa readyforreview readyfortest readyfortesting review reviewing test testing \
         toreview toverify uat underreview validation verification verify waitingforreview",
    ),
    (
        Status::Created,
        true,
        "awaitingfeedback blocked deferred draft feedback frozen hold impeded moreinfoneeded needinfo needsinfo \
         needsmoreinfo onhold onice parked paused pinned postponed snoozed someday stalled stuck suspended \
         waiting waitingforcustomer waitingforfeedback waitingforreply waitingforsupport waitingon",
    ),
    (
        Status::Closed,
        false,
        "archived complete delivered deployed done finished fixed implemented live merged released resolved \
         solved verified",
    ),
    (
        Status::Rejected,
        false,
        "abandoned bydesign canceled cancelled cannotreproduce cantreproduce declined denied discarded dismissed \
         dropped duplicate invalid nofix notabug notplanned obsolete outofscope removed superseded willnotfix \
         withdrawn wontdo wontfix worksforme",
    ),
];

/// The words for kinds of work besides those of ait.
const CLASSIFICATIONS: [(Classification, &str); 3] = [
    (Classification::Bug, "bugfix bugreport defect hotfix regression"),
    (
        Classification::Feature,
        "enhancement epic feat featurerequest initiative newfeature productbacklogitem story userstory",
    ),
    (
        Classification::Improvement,
        "change changerequest chore docs documentation impediment maintenance question refactor refactoring \
         research servicerequest spike subtask support task techdebt technicaldebt technicaltask tests",
    ),
];

/// The words for an object of a tracker, which say nothing about the kind of work.
const OBJECTS: &str = "card incident issue item testcase ticket todo workitem";

/// The words for priorities, from the first to the last one. Jira has the first and, in older versions, the second of
/// each line.
const PRIORITIES: [&str; 5] = [
    "highest blocker asap donow emergency immediate top urgent veryhigh",
    "high critical h important",
    "medium major m default med mid moderate normal",
    "low minor l",
    "lowest trivial nicetohave optional verylow wishlist",
];

/// The words for no value.
const NOTHING: &str = "none nopriority na nobody notset unassigned undefined unset";

/// Returns true if a word is in a list.
fn has(words: &str, word: &str) -> bool {
    words.split(' ').any(|one| one == word)
}

/// Normalizes a text: its letters and digits, in lower case. A question mark stays, because it doubts the word.
pub(crate) fn squeezed(text: &str) -> String {
    text.chars()
        .filter(|one| one.is_alphanumeric() || *one == '?')
        .flat_map(char::to_lowercase)
        .collect()
}

/// Returns true if a text says that there is no value.
pub(super) fn means_nothing(text: &str) -> bool {
    let word = squeezed(text);
    word.is_empty() || has(NOTHING, &word)
}

/// Returns the classification of a word; `Ok(None)` for the name of an object, and an error for another word.
pub(crate) fn classification_of(text: &str) -> Result<Option<Classification>, ()> {
    let word = squeezed(text);
    if has(OBJECTS, &word) {
        return Ok(None);
    }
    let usual = || CLASSIFICATIONS.iter().find(|(_, words)| has(words, &word));
    let found = Classification::from_word(&word).or_else(|| usual().map(|(kind, _)| *kind));
    found.map(Some).ok_or(())
}

/// Returns the classification that the labels give; a bug goes before a feature. Prefixes such as `type:` and `kind/`
/// are ignored.
pub(super) fn classification_of_labels(labels: &[String]) -> Option<Classification> {
    use Classification::{Bug, Feature, Improvement};
    let of_label = |label: &String| {
        let name = label.rsplit([':', '/']).next().unwrap_or(label);
        classification_of(name).ok().flatten()
    };
    let found: Vec<_> = labels.iter().filter_map(of_label).collect();
    [Bug, Feature, Improvement].into_iter().find(|kind| found.contains(kind))
}

/// Returns the status of a word.
pub(crate) fn status_of(text: &str) -> Option<FoundStatus> {
    let word = squeezed(text);
    let ours = Status::ALL.iter().find(|status| squeezed(status.as_str()) == word);
    let usual = || STATUSES.iter().find(|(.., words)| has(words, &word));
    let usual = || usual().map(|(status, is_parked, _)| (*status, *is_parked));
    let (status, is_parked) = ours.map(|status| (*status, false)).or_else(usual)?;
    Some(FoundStatus { status, is_parked })
}

/// Returns the status of a category, in which other programs put their statuses.
pub(super) fn status_of_category(text: &str) -> Option<FoundStatus> {
    match &*squeezed(text) {
        "indeterminate" => Some(Status::InProgress.into()),
        // Where it is a category, nothing comes after it.
        "completed" => Some(Status::Closed.into()),
        _ => status_of(text),
    }
}

/// Returns true if a closed issue with this resolution was not done.
pub(crate) fn means_rejected(resolution: &str) -> bool {
    status_of(resolution).is_some_and(|found| found.status == Status::Rejected)
}

/// Returns the priority of a number from 0 to 4, also as P0, or of a usual word, also beside a number: `1 - High`.
pub(crate) fn priority_of(text: &str) -> Option<Priority> {
    let of_word = |text: &str| {
        let word = squeezed(text);
        let number = PRIORITIES.iter().position(|words| has(words, &word))?;
        Priority::try_from(number as u64).ok()
    };
    let of_part = || {
        let parts = text.split(|character: char| !character.is_alphanumeric());
        parts.filter(|part| part.len() > 1).find_map(of_word)
    };
    text.trim().parse().ok().or_else(|| of_word(text)).or_else(of_part)
}

/// Returns the truth value of a word or a digit.
pub(super) fn truth_of(text: &str) -> Option<bool> {
    match &*squeezed(text) {
        "true" | "yes" | "y" | "1" | "x" => Some(true),
        "false" | "no" | "n" | "0" => Some(false),
        _ => None,
    }
}

/// Returns a title on one line, without white space around it.
pub(super) fn title_of(text: &str) -> String {
    let is_break =
        |character: char| character.is_control() || matches!(character, '\u{2028}' | '\u{2029}');
    let lines = text.split(is_break).map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_has_one_meaning() {
        let of_statuses = STATUSES.iter().flat_map(|(.., words)| words.split(' '));
        let mut words: Vec<&str> = of_statuses.collect();
        words.extend(Status::words().filter(|word| !word.contains('_')));
        let count = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), count);
        assert!(words.iter().all(|word| squeezed(word) == *word));
    }

    #[test]
    fn usual_words_are_understood() {
        use Status::{Closed, Completed, Created, InProgress, Rejected};
        for (text, status, is_parked) in [
            ("In Progress", InProgress, false),
            ("INPROGRESS", InProgress, false),
            ("🚧 Doing", InProgress, false),
            ("To-Do", Created, false),
            ("pending", Created, false),
            ("Selected for Development", Created, false),
            ("Blocked", Created, true),
            ("on hold", Created, true),
            ("In testing", Completed, false),
            ("completed", Completed, false),
            ("✅ Done", Closed, false),
            ("Won't fix", Rejected, false),
            ("Cancelled", Rejected, false),
        ] {
            assert_eq!(status_of(text), Some(FoundStatus { status, is_parked }), "{text}");
        }
        assert_eq!(status_of("later"), None);
        assert_eq!(status_of_category("Completed"), Some(Closed.into()));
        assert_eq!(status_of_category("indeterminate"), Some(InProgress.into()));
        assert_eq!(classification_of(" Bug"), Ok(Some(Classification::Bug)));
        assert_eq!(classification_of("User story"), Ok(Some(Classification::Feature)));
        assert_eq!(classification_of("ISSUE"), Ok(None));
        assert_eq!(classification_of("idea"), Err(()));
        assert_eq!(title_of(" a \r\n b\u{2028}\n"), "a b");
    }

    #[test]
    fn labels_give_the_classification() {
        let of = |labels: &[&str]| {
            let labels: Vec<_> = labels.iter().map(|label| (*label).to_owned()).collect();
            classification_of_labels(&labels)
        };
        assert_eq!(of(&["ui", "kind/feature", "🐛 Bug"]), Some(Classification::Bug));
        assert_eq!(of(&["type: enhancement"]), Some(Classification::Feature));
        assert_eq!(of(&["debug", "featured", "issue"]), None);
    }

    #[test]
    fn usual_priorities_are_understood() {
        for (text, number) in [
            ("0", 0),
            ("p1", 1),
            (" P4 ", 4),
            ("Highest", 0),
            ("High", 1),
            ("Medium", 2),
            ("Low", 3),
            ("Lowest", 4),
            ("Critical", 1),
            ("trivial", 4),
            ("1 - Urgent", 0),
            ("🔴 High", 1),
            ("H", 1),
        ] {
            assert_eq!(priority_of(text).map(Priority::get), Some(number), "{text}");
        }
        for text in ["", "5", "-1", "later", "1.5"] {
            assert_eq!(priority_of(text), None, "{text}");
        }
        assert!(means_nothing("No priority") && means_nothing("-") && !means_nothing("no"));
    }
}
