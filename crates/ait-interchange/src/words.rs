//! The words that people and programs use for statuses, kinds of work, priorities and truth: one table for all formats.
//!
//! Words are compared without case, spaces, punctuation and emojis, so `In Progress`, `in-progress` and `IN_PROGRESS`
//! are one word.

use ait_domain::{Classification, Classifications, Priority, Status};

/// A status, and whether the issue waits for something that the file does not name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FoundStatus {
    pub status: Status,
    pub is_parked: bool,
}

impl From<Status> for FoundStatus {
    fn from(status: Status) -> Self {
        Self { status, is_parked: false }
    }
}

/// The words for statuses besides those of ait. The second value says that the issue waits for something else.
const STATUSES: [((Status, bool), &str); 6] = [
    (
        (Status::Created, false),
        "accepted approved assigned backlog confirmed defined future icebox ideas inbox intriage needsdesign \
         needstriage new newrequest next nextup notstarted open opened pending planned prioritized proposed queued \
         ready readyfordev readyfordevelopment readytostart readytowork refined reopened requested scheduled selected \
         selectedfordevelopment submitted thisweek today todo toplan triage triaged unassigned unconfirmed \
         underconsideration unresolved unscheduled unstarted untriaged upcoming upnext \
         afazer àfaire asignado assigné nouveau nova novo neu nueva nuevo offen ouvert pendente pendiente porhacer \
         zuerledigen",
    ),
    (
        (Status::InProgress, false),
        "active building coding committed current design dev developing development doing doingnow executing hooked \
         implementing inanalysis indesign indev indevelopment inprocess investigating inwork ongoing processing progress \
         running started underinvestigation underway wip workinprogress working workingonit \
         emandamento enandamento encours encurso enprogreso inarbeit inbearbeitung 进行中",
    ),
    (
        (Status::Completed, false),
        "awaitingapproval awaitingmerge awaitingreview codereview forreview inqa instaging intest intesting \
         inverification needsapproval needsreview onstaging patchavailable peerreview pendingapproval pendingreview \
         propen qa qaready readyformerge readyforqa readyforrelease readyforreview readyfortest readyfortesting \
         readytodeploy readytomerge readytorelease review reviewing staging test testing toreview toverify uat \
         underreview validation verification verify waitingforapproval waitingforreview \
         enrevisión enrevue emrevisão inprüfung",
    ),
    (
        (Status::Created, true),
        "awaiting awaitingfeedback blocked deferred delayed draft feedback frozen hold impeded infoneeded maybe \
         moreinfoneeded needinfo needsinfo needsmoreinfo onhold onice parked paused pinned postponed shelved snoozed \
         someday somedaymaybe stalled stuck suspended waiting waitingforcustomer waitingforfeedback waitingforreply \
         waitingforsupport waitingon \
         blockiert bloqueado bloqué enattente wartend zurückgestellt",
    ),
    (
        (Status::Closed, false),
        "accomplished archived complete delivered deployed done finished fixed implemented live merged released \
         releasedtoprod releasedtoproduction resolved shipped solved verified \
         abgeschlossen cerrada cerrado concluído erledigt fechado fermé fertig finalizada finalizado geschlossen gelöst \
         hecho listo résolu resolvido resuelto terminé 完成 已完成",
    ),
    (
        (Status::Rejected, false),
        "abandoned aborted bydesign cancel canceled cancelled cannotreproduce cantreproduce declined denied discarded \
         dismissed dropped duplicate duplicated invalid nofix nolongerneeded notabug notanissue notneeded notplanned \
         notreproducible obsolete outofscope removed skipped superseded unabletoreproduce willnotdo willnotfix withdrawn \
         wontdo wontfix wontimplement worksforme \
         abgebrochen abgelehnt abgewiesen annulé cancelado rechazado rejeitado rejeté",
    ),
];

/// The words for kinds of work besides those of ait.
const CLASSIFICATIONS: [(Classification, &str); 3] = [
    (
        Classification::Bug,
        "bugfix bugreport crash defect exception hotfix performanceproblem regression securityproblem usabilityproblem \
         vulnerability anomalie bogue erro fehler",
    ),
    (
        Classification::Feature,
        "enhancement epic feat featurerequest initiative newfeature productbacklogitem story userstory \
         fonctionnalité funktion historia neuefunktion récit",
    ),
    (
        Classification::Improvement,
        "change changerequest chore cosmetics docs documentation impediment maintenance question refactor refactoring \
         research servicerequest spike subtask support task techdebt technicaldebt technicaltask tests \
         amélioration aufgabe mejora melhoria soustâche subtarea subtarefa tarea tarefa tâche unteraufgabe verbesserung",
    ),
];

/// The words for an object of a tracker, which say nothing about the kind of work.
const OBJECTS: &str = "card incident issue item testcase ticket todo workitem";

/// The words for priorities, from the first to the last one. Jira has the first and, in older versions, the second of
/// each line.
const PRIORITIES: [(u64, &str); 5] = [
    (
        0,
        "highest blocker asap donow dringend emergency immediate immédiat inmediata showstopper sofort top urgent urgente veryhigh",
    ),
    (1, "high critical h important alta alto élevée haut haute hoch must musthave"),
    (
        2,
        "medium major m default med media médio mid mittel moderate moyen moyenne normal should shouldhave",
    ),
    (3, "low minor l baixa baja bajo bas basse could couldhave faible niedrig"),
    (4, "lowest trivial nicetohave optional verylow wishlist wont wonthave"),
];

/// The words with which people say that a field has no value.
const NO_VALUE_WORDS: &str = "nil none nopriority na nobody notset null unassigned undefined unset";

/// Returns what a table has for a word.
fn found<T: Copy>(table: &[(T, &str)], word: &str) -> Option<T> {
    table.iter().find(|(_, words)| has(words, word)).map(|(meaning, _)| *meaning)
}

/// Returns true if a word is in a list.
pub(super) fn has(words: &str, word: &str) -> bool {
    words.split(' ').any(|one| one == word)
}

/// Normalizes a text: its letters and digits, in lower case. A question mark stays, because it doubts the word.
pub fn squeezed(text: &str) -> String {
    text.chars()
        .filter(|one| one.is_alphanumeric() || *one == '?')
        .flat_map(char::to_lowercase)
        .collect()
}

/// Returns true if a text says that there is no value.
pub(super) fn means_nothing(text: &str) -> bool {
    let is_dash =
        |one: char| matches!(one, '-' | '–' | '—' | '.' | '/' | '_') || one.is_whitespace();
    text.chars().all(is_dash) || has(NO_VALUE_WORDS, &squeezed(text))
}

/// A word that names no kind of work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownKind;

/// Returns the classification of a word in a project that uses some; `Ok(None)` for the name of an object.
///
/// # Errors
///
/// Another word.
pub fn classification_of(
    text: &str,
    used: &Classifications,
) -> Result<Option<Classification>, UnknownKind> {
    let word = squeezed(text);
    if has(OBJECTS, &word) {
        return Ok(None);
    }
    let ours = Classification::from_word(&word).filter(|kind| used.contains(*kind));
    let near = || found(&CLASSIFICATIONS, &word).map(|kind| used.fitting(kind));
    ours.or_else(near).map(Some).ok_or(UnknownKind)
}

/// Returns the classification that the labels give; a bug goes before a feature, and that before others. Prefixes such
/// as `type:` and `kind/` are ignored.
pub(super) fn classification_of_labels(
    labels: &[String],
    used: &Classifications,
) -> Option<Classification> {
    use Classification::{Bug, Feature, Improvement};
    let of_label = |label: &String| {
        let name = label.rsplit([':', '/']).next().unwrap_or(label);
        classification_of(name, used).ok().flatten()
    };
    let found: Vec<_> = labels.iter().filter_map(of_label).collect();
    let first = [Bug, Feature, Improvement].into_iter().chain(used.iter());
    first.into_iter().find(|kind| found.contains(kind))
}

/// Returns the status of a word.
pub fn status_of(text: &str) -> Option<FoundStatus> {
    let word = squeezed(text);
    let ours = Status::OF_WORK.iter().find(|status| squeezed(status.as_str()) == word);
    let ours = ours.map(|status| (*status, false));
    let (status, is_parked) = ours.or_else(|| found(&STATUSES, &word))?;
    Some(FoundStatus { status, is_parked })
}

/// Returns the status that a part of a text names, as in `3. In progress` or `Closed (fixed)`, or what comes before the
/// reason for which an issue waits or is rejected, as in `Waiting for legal`.
pub(super) fn status_in(text: &str) -> Option<FoundStatus> {
    const BEFORE_REASON: [&str; 8] =
        [" by ", " for ", " from ", " in ", " on ", " to ", " until ", " with "];
    let text = text.to_lowercase().replace(" - ", "/").replace(" – ", "/");
    let is_within =
        |one: char| one.is_alphanumeric() || matches!(one, ' ' | '\'' | '’' | '-' | '_' | '?');
    let of_part = text.split(|one| !is_within(one)).find_map(status_of);
    let of_beginning = || {
        let beginnings = BEFORE_REASON.iter().filter_map(|word| Some(text.split_once(word)?.0));
        let waits = |found: &FoundStatus| found.is_parked || found.status == Status::Rejected;
        beginnings.filter_map(status_of).find(waits)
    };
    of_part.or_else(of_beginning)
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
pub fn means_rejected(resolution: &str) -> bool {
    status_of(resolution).is_some_and(|found| found.status == Status::Rejected)
}

/// Returns the priority of a number from 0 to 4, also as P0, Sev1 or 2.0, or of a usual word, also beside a number:
/// `1 - High`.
pub fn priority_of(text: &str) -> Option<Priority> {
    const BEFORE_NUMBER: [&str; 5] = ["priority", "prio", "severity", "sev", "s"];
    let of_number = || {
        let number = text.trim().strip_suffix(".0").map(str::to_owned);
        let word = squeezed(text);
        let behind = || BEFORE_NUMBER.iter().find_map(|before| word.strip_prefix(before));
        number.or_else(|| behind().map(str::to_owned))?.parse().ok()
    };
    let of_word = |text: &str| Priority::try_from(found(&PRIORITIES, &squeezed(text))?).ok();
    let of_part = || {
        let parts = text.split(|character: char| !character.is_alphanumeric());
        parts.filter(|part| part.len() > 1).find_map(of_word)
    };
    text.trim().parse().ok().or_else(of_number).or_else(|| of_word(text)).or_else(of_part)
}

/// Returns the truth value of a word or a digit.
pub(super) fn truth_of(text: &str) -> Option<bool> {
    if matches!(text.trim_matches([' ', '"']), "✓" | "✔" | "✔️" | "✅" | "☑") {
        return Some(true);
    }
    match &*squeezed(text) {
        "true" | "t" | "yes" | "y" | "1" | "x" | "on" => Some(true),
        "false" | "f" | "no" | "n" | "0" | "off" => Some(false),
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
        for (text, status, is_parked) in [
            ("Closed (Fixed)", Closed, false),
            ("01 - Backlog", Created, false),
            ("3. In Progress", InProgress, false),
            ("Waiting for legal", Created, true),
            ("Blocked by ABC-1", Created, true),
            ("Cancelled by user", Rejected, false),
        ] {
            assert_eq!(status_in(text), Some(FoundStatus { status, is_parked }), "{text}");
        }
        for text in ["Closed to new ideas", "Ready for lunch", "Not done", "1", ""] {
            assert_eq!(status_in(text), None, "{text}");
        }
        assert_eq!(status_of_category("Completed"), Some(Closed.into()));
        assert_eq!(status_of_category("indeterminate"), Some(InProgress.into()));
        let usual = Classifications::default();
        assert_eq!(classification_of(" Bug", &usual), Ok(Some(Classification::Bug)));
        assert_eq!(classification_of("User story", &usual), Ok(Some(Classification::Feature)));
        assert_eq!(classification_of("ISSUE", &usual), Ok(None));
        assert_eq!(classification_of("idea", &usual), Err(UnknownKind));
        assert_eq!(classification_of("chore", &usual), Ok(Some(Classification::Improvement)));
        assert_eq!(classification_of("security", &usual), Err(UnknownKind));
        let own = [Classification::Chore, Classification::Bug].into_iter().collect();
        assert_eq!(classification_of("chore", &own), Ok(Some(Classification::Chore)));
        assert_eq!(classification_of("User story", &own), Ok(Some(Classification::Chore)));
        assert_eq!(title_of(" a \r\n b\u{2028}\n"), "a b");
    }

    #[test]
    fn labels_give_the_classification() {
        let of = |labels: &[&str]| {
            let labels: Vec<_> = labels.iter().map(|label| (*label).to_owned()).collect();
            classification_of_labels(&labels, &Classifications::default())
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
            ("Sev1", 1),
            ("Prio 2", 2),
            ("3.0", 3),
            ("Must have", 1),
            ("H", 1),
        ] {
            assert_eq!(priority_of(text).map(Priority::get), Some(number), "{text}");
        }
        for text in ["", "5", "-1", "later", "1.5"] {
            assert_eq!(priority_of(text), None, "{text}");
        }
        assert!(means_nothing("No priority") && means_nothing("-") && !means_nothing("no"));
        assert!(!means_nothing("!!!") && !means_nothing("🔥"));
    }
}
