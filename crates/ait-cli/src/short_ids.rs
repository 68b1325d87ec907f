//! Short ids that are unique within a list.

use ait_domain::IssueId;

/// The ids of the listed issues, ascending.
pub(super) struct ShortIds(Vec<IssueId>);

impl ShortIds {
    /// Collects the ids of a list.
    pub fn of(listed: impl Iterator<Item = IssueId>) -> Self {
        let mut ids: Vec<_> = listed.collect();
        ids.sort_unstable();
        Self(ids)
    }

    /// Returns the start of an id that no other listed issue has: at least 8 hex digits.
    pub fn short(&self, id: IssueId) -> String {
        let text = id.to_string();
        // The ids that share most digits with this one are its neighbours.
        let before = self.0[..self.0.partition_point(|other| *other < id)].last();
        let after = self.0.get(self.0.partition_point(|other| *other <= id));
        let shared = before.into_iter().chain(after).map(|other| shared(&text, &other.to_string()));
        let length = shared.max().map_or(0, |shared| shared + 1);
        text[..length.max(id.short().len())].to_owned()
    }
}

/// Returns the length of the start that two different ids have in common.
fn shared(one: &str, other: &str) -> usize {
    one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count()
}
