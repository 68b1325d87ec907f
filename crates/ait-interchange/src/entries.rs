//! Entries of the memory, as imports find them in the files of other programs.

use super::{Content, ImportDraft, NamedLink, ReadOptions, Remarks, defaults};
use ait_domain::event::KEEP_ACTION;
use ait_domain::{
    AttributeValues, Classification, DomainError, HistoryEntry, Issue, IssueId, Status, Timestamp,
    UnknownKeys, memory,
};

/// What the files of other programs do not state of an entry.
const UNSTATED: [&str; 4] = ["modifiedAt", "history", "comments", super::fields::EXTRA];
const UNSTATED_WITHOUT_TIME: [&str; 5] =
    ["createdAt", "modifiedAt", "history", "comments", super::fields::EXTRA];

/// An entry in a file.
pub(super) struct FoundEntry {
    pub id: IssueId,
    pub title: String,
    pub description: String,
    pub created_at: Option<Timestamp>,
    /// Who kept it, if the file says so.
    pub agent: Option<String>,
    pub attributes: AttributeValues,
    pub links: Vec<NamedLink>,
    pub unknown_keys: UnknownKeys,
    pub remarks: Remarks,
}

impl FoundEntry {
    pub fn new(id: IssueId, title: String, description: String) -> Self {
        Self {
            id,
            title,
            description,
            created_at: None,
            agent: None,
            attributes: AttributeValues::default(),
            links: Vec::new(),
            unknown_keys: UnknownKeys::default(),
            remarks: Remarks::default(),
        }
    }

    /// Returns an entry with a text.
    ///
    /// # Errors
    ///
    /// The text is empty or too long.
    pub fn with_text(id: IssueId, text: &str) -> Result<Self, DomainError> {
        let (title, description) = memory::texts(text, &[])?;
        Ok(Self::new(id, title.into_string(), description.into_string()))
    }

    /// Returns the entry as an import takes it, or why it is refused.
    pub fn content(self, kind: Classification, options: &ReadOptions) -> Content {
        let created_at = self.created_at.unwrap_or(options.now);
        let agent = defaults::agent(self.agent.as_deref());
        let issue = Issue {
            id: self.id,
            title: self.title,
            description: self.description,
            classification: kind,
            created_at,
            modified_at: created_at,
            status: Status::Kept,
            history: vec![HistoryEntry::new(created_at, agent, KEEP_ACTION)],
            comments: Vec::new(),
            attributes: self.attributes.into(),
            unknown_keys: self.unknown_keys,
        };
        let title = issue.title.clone();
        let unstated =
            if self.created_at.is_some() { &UNSTATED[..] } else { &UNSTATED_WITHOUT_TIME };
        match issue.try_into() {
            Ok(issue) => Content::Issue(ImportDraft {
                unstated: unstated.to_vec(),
                filed: self.created_at.map(|time| (time, 0)),
                remarks: self.remarks,
                named_links: self.links,
                ..ImportDraft::of_ait(issue)
            }),
            Err(refusal) => Content::Refused {
                id: Some(self.id.to_string()),
                title: Some(title),
                reason: refusal.to_string(),
                blamed: None,
            },
        }
    }
}
