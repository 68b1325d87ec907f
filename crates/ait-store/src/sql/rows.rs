//! What stands in the columns of a database about an issue, beside its text.

use std::sync::Arc;

use uuid::Uuid;

use ait_domain::lessons;
use ait_domain::{
    ActionKind, Classification, ClientId, Counts, FieldValue, HistoryEntry, Issue, Label, Lease,
    Status, ValueField,
};

/// What separates several texts in one value. No name contains it.
pub(crate) const SEPARATOR: &str = "\u{1}";
/// The distance between the positions of two issues that were filed one after the other, as a power of two.
pub(crate) const POSITION_BITS: u32 = 20;
/// The number of the first classifications. Theirs are the first slots of all statuses; the others came later.
const FIRST: usize = 3;
/// Where the slots of entries begin, one for each classification. There is room for more classifications before.
const KEPT: usize = 150;
/// How many slots there are. Some numbers have none.
pub(crate) const SLOTS: usize = KEPT + 25;

/// Returns the number of the slot of the issues with a status and a classification.
const fn slot_of(status: Status, kind: Classification) -> usize {
    match (status, kind as usize) {
        (Status::Kept, kind) => KEPT + kind,
        (status, kind) if kind < FIRST => status as usize * FIRST + kind,
        (status, kind) => kind * Status::OF_WORK.len() + status as usize,
    }
}

/// Returns the number of the slot of an issue: its status and its classification.
pub(crate) fn slot(issue: &Issue) -> i16 {
    slot_of(issue.status, issue.classification) as i16
}

/// Returns how many issues of a classification, or of all, are in each status, by the numbers in all slots.
pub(crate) fn counts(slots: &[usize], kind: Option<Classification>) -> Counts {
    let kinds = kind.as_ref().map_or(Classification::ALL, std::slice::from_ref);
    Counts::of(|status| kinds.iter().filter_map(|kind| slots.get(slot_of(status, *kind))).sum())
}

/// Returns how many issues are in each status, by rows with the number of a status and how many have it.
pub(crate) fn counts_of(rows: &[(i64, i64)]) -> Counts {
    let count = |status| rows.iter().find(|row| row.0 == status as i64).map_or(0, |row| row.1);
    Counts::of(|status| usize::try_from(count(status)).unwrap_or_default())
}

/// Returns a random number. It needs to be unlikely to come twice, not unpredictable.
pub(crate) fn random() -> i64 {
    let (high, low) = Uuid::new_v4().as_u64_pair();
    (high ^ low.rotate_left(32)).cast_signed()
}

/// An issue as an event leaves it.
#[derive(Clone, Debug)]
pub(crate) struct IssueAfter {
    pub issue: Arc<Issue>,
    pub lease: Option<Lease>,
}

/// Returns the lease that two columns have.
pub(crate) fn lease(claim: Option<i64>, client: Option<&str>) -> Option<Lease> {
    let claim = usize::try_from(claim?).unwrap_or_default();
    Some(Lease { claim, client: ClientId::new(client?) })
}

/// Returns the two columns of a lease.
pub(crate) fn lease_columns(lease: Option<&Lease>) -> (Option<i64>, Option<String>) {
    let claim = lease.map(|lease| i64::try_from(lease.claim).unwrap_or(i64::MAX));
    (claim, lease.map(|lease| storable(lease.client.as_str())))
}

/// Returns a text that every database can store and compare: without the character NUL.
pub(crate) fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// Returns how the agent that filed an issue stands among its authors. No name begins so.
pub(crate) fn filer_mark(agent: &str) -> String {
    format!("\u{2}{agent}")
}

/// Returns how a [subject](lessons::subjects) stands among the ids in other trackers. No id begins so.
pub(crate) fn subject_mark(subject: &str) -> String {
    storable(&format!("\u{2}{subject}"))
}

/// Returns how a [rank](FieldValue::rank) stands among the agents, in the order of the ranks. No name begins so.
pub(crate) fn value_mark(field: ValueField, rank: i64) -> String {
    let number = i128::from(rank) - i128::from(i64::MIN);
    format!("\u{2}{field} {number:020}")
}

fn value_marks(issue: &Issue) -> impl Iterator<Item = String> {
    ValueField::ALL.iter().filter_map(|field| {
        let rank = FieldValue::of(*field, &issue.attributes).rank()?;
        Some(value_mark(*field, rank))
    })
}

/// What claims, lists and conditions look at. Times are in milliseconds since 1970.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct IssueRow {
    pub status: i16,
    pub kind: i16,
    pub priority: i16,
    pub created: i64,
    pub modified: i64,
    /// The time of the last substantive change.
    pub active: i64,
    /// How often it was returned after a claim, and claimed.
    pub returns: i64,
    pub claims: i64,
    pub assignee: Option<String>,
    pub holder: Option<String>,
    pub filer: Option<String>,
    pub is_parked: bool,
    pub parked_until: Option<i64>,
    /// Whether it waits for an answer to a question.
    pub has_question: bool,
    /// Who worked on or completed it, and with a [mark](filer_mark) who filed it; sorted, like the other lists.
    pub authors: Vec<String>,
    /// Who occurs in the history, and [marks](value_mark) of values.
    pub agents: Vec<String>,
    pub labels: Vec<String>,
}

impl IssueRow {
    /// Collects what an issue has.
    pub fn of(issue: &Issue) -> Self {
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let attributes = &issue.attributes;
        let parked = attributes.parked.as_ref();
        let author = |entry: &HistoryEntry| match ActionKind::of(&entry.action) {
            ActionKind::Claimed | ActionKind::Completed => Some(entry.agent.clone()),
            ActionKind::Filed => Some(filer_mark(&entry.agent)),
            _ => None,
        };
        Self {
            status: issue.status as i16,
            kind: issue.classification as i16,
            priority: attributes.effective_priority().get().into(),
            created: issue.created_at.unix_millis(),
            modified: issue.modified_at.unix_millis(),
            active: issue.active_at().unix_millis(),
            returns: number(issue.returns()),
            claims: number(issue.attempts().claims),
            assignee: attributes.assignee.as_deref().map(storable),
            holder: issue.holder().map(|holder| storable(holder.agent)),
            filer: issue.history.first().map(|entry| storable(&entry.agent)),
            is_parked: parked.is_some(),
            parked_until: parked.and_then(|parked| Some(parked.until?.unix_millis())),
            has_question: issue.waits_for_answer(),
            authors: names(issue.history.iter().filter_map(author)),
            agents: names(
                issue.history.iter().map(|entry| entry.agent.clone()).chain(value_marks(issue)),
            ),
            labels: attributes.labels.iter().map(Label::as_str).map(str::to_owned).collect(),
        }
    }
}

fn names(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut names: Vec<_> = names.map(|name| storable(&name)).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// What searches look at, in lower case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SearchRow {
    pub title: String,
    /// Title, description and comments, each behind a [`SEPARATOR`].
    pub texts: String,
    /// The ids in other trackers, and [marks](subject_mark) of what a closed issue is about.
    pub external: Vec<String>,
}

impl SearchRow {
    /// Collects the texts of an issue.
    pub fn of(issue: &Issue) -> Self {
        let texts: Vec<_> = issue.searchable_texts().collect();
        Self {
            title: storable(&issue.title.to_lowercase()),
            texts: storable(&texts.join(SEPARATOR)),
            external: {
                let ids = issue.searchable_ids().map(|id| storable(&id));
                let subjects = lessons::told_subjects(issue);
                ids.chain(subjects.iter().map(|subject| subject_mark(subject))).collect()
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{SLOTS, slot_of};
    use ait_domain::{Classification, LinkKind, Status};

    /// The numbers are in every database, so they must stay.
    #[test]
    fn words_have_their_numbers() {
        let statuses =
            ["created", "in_progress", "completed", "in_review", "closed", "rejected", "kept"];
        for (number, word) in (0..).zip(statuses) {
            assert_eq!(Status::from_word(word).unwrap() as i16, number);
        }
        let kinds = "bug improvement feature task chore docs test refactor performance security research spike question \
            story epic decision trap fact progress";
        for (number, word) in (0..).zip(kinds.split(' ')) {
            assert_eq!(Classification::from_word(word).unwrap() as i16, number);
        }
        let mut slots: Vec<_> = Status::ALL
            .iter()
            .flat_map(|status| Classification::ALL.iter().map(|kind| slot_of(*status, *kind)))
            .collect();
        assert_eq!(slot_of(Status::Rejected, Classification::Feature), 17);
        slots.sort_unstable();
        let count = slots.len();
        slots.dedup();
        assert_eq!(slots.len(), count);
        assert!(slots.iter().all(|slot| *slot < SLOTS));
        let of_work = Status::OF_WORK.len() * Classification::ALL.len();
        assert_eq!(slots[of_work - 1], of_work - 1, "no other slot moves with a new one");
        for (number, word) in (0..).zip(["parent", "blocked_by", "related", "duplicate_of"]) {
            assert_eq!(LinkKind::from_word(word).unwrap() as i16, number);
        }
    }
}
