//! What is made of issues that come without an id of ours, or with half of their story.

use uuid::Builder;
use xxhash_rust::xxh3::Xxh3;

use crate::domain::{HistoryEntry, IssueId, Status};

/// The id of what is known elsewhere by these texts: always the same one, so that it is known again.
///
/// A UUID of version 8 (RFC 9562, section 5.8) from the XXH3-128 of the texts, each with a 0 byte behind
/// it. `kind` keeps those of different programs apart.
pub(super) fn id(kind: &str, texts: &[&str]) -> IssueId {
    let mut hash = Xxh3::new();
    for text in ["ait import", kind].iter().chain(texts) {
        hash.update(text.as_bytes());
        hash.update(&[0]);
    }
    IssueId::from(Builder::from_custom_bytes(hash.digest128().to_be_bytes()).into_uuid())
}

/// The status of an issue that comes with some history: what nobody is known to hold waits for somebody.
pub(super) fn status(status: Status, history: &[HistoryEntry]) -> Status {
    match status {
        Status::InProgress if history.is_empty() => Status::Created,
        Status::InReview if history.is_empty() => Status::Completed,
        status => status,
    }
}

#[cfg(test)]
mod tests {
    use super::id;

    /// Issues that were imported once are known again by these.
    #[test]
    fn derived_ids_never_change() {
        assert_eq!(id("beads", &["app-a1b2"]).to_string(), "5b8e28f5-09f2-83d3-85b6-050275c6a1d7");
        assert_ne!(id("beads", &["a", "b"]), id("beads", &["ab", ""]));
        assert_ne!(id("beads", &["a"]), id("csv", &["a"]));
    }
}
