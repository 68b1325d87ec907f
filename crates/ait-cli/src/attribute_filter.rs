//! The options that narrow a list by attributes and links.

use std::ops::RangeInclusive;

use clap::Args;

use super::attribute_args::{OrNone, label, or_none, priority};
use super::options::{agent_name, issue_ref};
use ait_domain::{
    AgentName, Classification, Condition, IssueId, IssueRef, Label, Priority, Timestamp,
};

/// The attributes that issues must have.
#[derive(Clone, Debug, Default, PartialEq, Args)]
pub(super) struct AttributeFilter {
    /// Only this priority, or a range such as 0-1; issues without one count as 2
    #[arg(short, long, value_name = "RANGE", value_parser = priorities)]
    priority: Option<RangeInclusive<Priority>>,

    /// Only issues with all of these labels, separated by commas
    #[arg(
        short,
        long = "label",
        value_name = "LABEL",
        value_delimiter = ',',
        value_parser = label
    )]
    labels: Vec<Label>,

    /// Only issues that are for this agent; `none` for those that are for any agent
    #[arg(long, value_name = "NAME", value_parser = or_none(agent_name))]
    assignee: Option<OrNone<AgentName>>,

    /// Only the parts of this issue
    #[arg(long, value_name = "ID", value_parser = issue_ref)]
    parent: Option<IssueRef>,

    /// Only issues that can be claimed for work now, by any agent or by their assignee
    #[arg(long)]
    ready: bool,

    /// Only issues that wait for an open issue
    #[arg(long, conflicts_with = "ready")]
    blocked: bool,

    /// Only parked issues
    #[arg(long, conflicts_with = "ready")]
    parked: bool,
}

/// Parses `0`, `0-1` and `p0-p1`.
fn priorities(text: &str) -> Result<RangeInclusive<Priority>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let first = priority(first)?;
    let last = priority(last)?;
    if last < first {
        return Err(format!("the range is empty: use {last}-{first}"));
    }
    Ok(first..=last)
}

impl AttributeFilter {
    /// Returns true if a label is the name of a kind of work.
    pub fn names_kind(&self) -> bool {
        self.labels.iter().any(|label| Classification::work_from_word(label.as_str()).is_some())
    }

    /// Returns the condition on an issue. `parent` is the issue that the filter names.
    pub fn condition(&self, parent: Option<IssueId>, now: Timestamp) -> Condition {
        let labels = self.labels.iter().map(|label| Condition::Label(Some(label.clone())));
        let assignee = self.assignee.as_ref().map(|OrNone(name)| {
            Condition::Assignee(name.as_ref().map(|name| name.as_str().to_owned()))
        });
        let flags = [
            (self.ready, Condition::Ready(now)),
            (self.blocked, Condition::Blocked),
            (self.parked, Condition::Parked(now)),
        ];
        let flags = flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, condition)| condition);
        let priority = self.priority.clone().map(Condition::Priority);
        let parent = parent.map(|id| Condition::Parent(id..=id));
        Condition::all(
            priority.into_iter().chain(labels).chain(assignee).chain(parent).chain(flags),
        )
    }

    /// Returns the reference to the parent.
    pub fn parent(&self) -> Option<&IssueRef> {
        self.parent.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_are_one_number_or_a_range() {
        let range = |first: &str, last: &str| Ok(first.parse().unwrap()..=last.parse().unwrap());
        for (text, first, last) in [("0", "0", "0"), ("0-1", "0", "1"), ("p1-p3", "1", "3")] {
            assert_eq!(priorities(text), range(first, last), "{text}");
        }
        for text in ["", "-", "0-", "5", "high", "1-9"] {
            assert!(priorities(text).unwrap_err().contains("0 (first) to 4 (last)"), "{text}");
        }
        assert!(priorities("3-1").unwrap_err().contains("use 1-3"));
    }
}
