//! Ids, statuses and agents for issues of other programs.

use uuid::Builder;
use xxhash_rust::xxh3::Xxh3;

use ait_domain::{AgentName, HistoryEntry, IssueId, Status};

/// The agent where a file names none.
pub(super) const AGENT: &str = "import";

/// Derives an id from texts that identify an issue elsewhere. The same texts always give the same id.
///
/// The id is a UUID of version 8 (RFC 9562, section 5.8) from the XXH3-128 of the texts, each followed by a 0 byte.
/// `kind` separates the ids of different programs.
pub(super) fn id(kind: &str, texts: &[&str]) -> IssueId {
    let mut hash = Xxh3::new();
    for text in ["ait import", kind].iter().chain(texts) {
        hash.update(text.as_bytes());
        hash.update(&[0]);
    }
    IssueId::from(Builder::from_custom_bytes(hash.digest128().to_be_bytes()).into_uuid())
}

/// Returns a description with the sections that have a text, each below its heading.
pub(super) fn with_sections<'a>(
    mut description: String,
    sections: impl IntoIterator<Item = (&'a str, Option<String>)>,
) -> String {
    for (heading, text) in sections {
        let Some(text) = text.filter(|text| !text.trim().is_empty()) else { continue };
        if !description.is_empty() {
            description.push_str("\n\n");
        }
        description.push_str(&format!("## {heading}\n\n{text}"));
    }
    description
}

/// Returns the status of an imported issue. A claimed issue without a history has no known holder, so it returns to
/// the queue.
pub(super) fn status(status: Status, history: &[HistoryEntry]) -> Status {
    match status {
        Status::InProgress if history.is_empty() => Status::Created,
        Status::InReview if history.is_empty() => Status::Completed,
        status => status,
    }
}

/// Returns the name of an agent, or that for unknown ones.
pub(super) fn agent(name: Option<&str>) -> String {
    let name = name.map(str::trim).filter(|name| !name.is_empty()).unwrap_or(AGENT);
    name.chars().take(AgentName::MAX_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::id;

    /// These ids must stay the same, because repeated imports recognize issues by them.
    #[test]
    fn derived_ids_are_stable() {
        assert_eq!(id("beads", &["app-a1b2"]).to_string(), "5b8e28f5-09f2-83d3-85b6-050275c6a1d7");
        assert_ne!(id("beads", &["a", "b"]), id("beads", &["ab", ""]));
        assert_ne!(id("beads", &["a"]), id("csv", &["a"]));
    }
}
