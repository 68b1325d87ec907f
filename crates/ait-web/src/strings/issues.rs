//! The texts of the list and of the page of an issue.

use super::{counted, duration};

pub mod list {
    pub const OPEN: &str = "Open";
    pub const PREVIOUS: &str = "Previous";
    pub const NEXT: &str = "Next";
    pub const FILE_FIRST: &str = "File the first issue, in a terminal in your project:";
    pub const FILE_COMMAND: &str = "ait add 'TITLE'";
    pub const CONNECT_COMMAND: &str = "ait init";
    pub const EXAMPLE: &str = "Look at an example";
    pub const EXAMPLE_COMMAND: &str =
        "ait --file demo.json demo --large && ait --file demo.json serve";

    /// `total` is a lower bound unless `is_exact`.
    pub fn caption(total: usize, is_exact: bool) -> String {
        let issues = super::counted(total, "issue", "issues");
        if is_exact { issues } else { format!("more than {issues}") }
    }

    pub fn comments(count: usize) -> String {
        super::counted(count, "comment", "comments")
    }

    /// Which rows of the list the page shows. `total` is a lower bound unless `is_exact`.
    pub fn range(first: usize, last: usize, total: usize, is_exact: bool) -> String {
        format!("{first} to {last} of {}{total}", if is_exact { "" } else { "more than " })
    }
}

/// The texts of the inbox, and of its beginning above the list.
pub mod attention {
    use ait_system::span::humanize_duration as duration;
    use ait_tracker::read_model::FindingKind;

    pub const TITLE: &str = "Inbox";

    /// The name of a kind of finding.
    pub fn finding(kind: FindingKind) -> &'static str {
        match kind {
            FindingKind::Stale => "Stale",
            FindingKind::OldClaim => "Old claims",
            FindingKind::Stuck => "Stuck claims",
            FindingKind::ReturnedOften => "Returned often",
            FindingKind::WaitsLongForReview => "Wait long for a review",
            FindingKind::PlaceholderTitle => "Titles that say nothing",
            FindingKind::Duplicate => "Duplicates",
            FindingKind::ThinDescription => "Thin descriptions",
            FindingKind::NoAcceptance => "Nobody says when they are done",
            FindingKind::Orphan => "Links to nothing",
            FindingKind::ParentState => "Parents that do not fit their parts",
            FindingKind::BlockedByRejected => "Blocked by what was rejected",
            FindingKind::SyncConflict => "Changed here and at the remote",
            FindingKind::SelfReviewed => "Reviewed by their authors",
            FindingKind::NeverReviewed => "Never reviewed",
            FindingKind::Overloaded => "Agents that hold many issues",
            FindingKind::FilingFasterThanClosing => "More is filed than ends",
            FindingKind::Contradiction => "Decisions about the same file",
            FindingKind::UnusedEntry => "Entries that no work needs",
        }
    }

    /// A command for the answer: with the number of an option, or with a text.
    pub fn answer(short_id: &str, options: usize) -> String {
        match options {
            0 => format!("`ait answer {short_id} 'TEXT'`"),
            _ => format!("`ait answer {short_id} --option 1`, of {options}"),
        }
    }

    /// Whose client is gone, and in how many milliseconds the claim lapses, if it does.
    pub fn gone(agent: &str, lapses_in_ms: Option<u64>) -> String {
        match lapses_in_ms {
            Some(ms) => format!("{agent} is gone; its claim lapses in {}", duration(ms)),
            None => format!("{agent} is gone, and its claim does not lapse by itself"),
        }
    }

    pub fn waiting(agents: &str, more: usize) -> String {
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("no issue is ready for the agents that wait for work: {agents}{more}")
    }
}

pub mod issue {
    use ait_domain::{Receipt, Status};

    pub const HANDED_IN: &str = "Handed in: ";
    pub const USED: &str = "Used: ";
    pub const USED_BY_PARTS: &str = "Used by its parts: ";
    pub const REMOTE: &str = "This issue in the tracker that it is tied to";
    pub const SHOW_DIFF: &str = "Show the changes";
    pub const NO_BRANCH: &str = "There is no branch with changes: it is merged, or gone.";
    pub const DIFF_CUT: &str = "There is more: git shows all of it.";
    pub const HELD_BY: &str = "held by ";
    pub const COPIED_OTHER: &str = "Copied.";
    pub const PARKED: &str = "Parked";
    pub const BY: &str = "by ";

    /// What an agent did that left the issue in this status.
    pub fn action(status: Status) -> &'static str {
        match status {
            Status::Created => "filed it",
            Status::InProgress => "claimed it for work",
            Status::Completed => "completed it",
            Status::InReview => "claimed it for review",
            Status::Closed => "closed it",
            Status::Rejected => "rejected it",
            Status::Kept => "kept it",
        }
    }

    /// How long after the entry before something happened.
    pub fn later(span_ms: u64) -> String {
        format!("{} later", super::duration(span_ms))
    }

    /// How long an issue had been held when its claim ended.
    pub fn held(span_ms: u64) -> String {
        format!("held for {}", super::duration(span_ms))
    }

    pub fn hidden_entries(count: usize) -> String {
        let verb = if count == 1 { "is" } else { "are" };
        format!("{} {verb} hidden.", super::counted(count, "entry", "entries"))
    }

    pub fn line(number: u32) -> String {
        format!("line {number}")
    }

    /// How a check ended on what was handed in.
    pub fn receipt(receipt: &Receipt) -> String {
        let ended = if receipt.has_passed() { "passed" } else { "failed" };
        format!("{} {ended} in {}", receipt.command, super::duration(receipt.ms))
    }

    /// That the branch has another last commit than the one that was handed in.
    pub fn newer(head: &str) -> String {
        format!("The branch has changed since: it is at {head} now.")
    }

    pub const UNTIL: &str = "until";

    pub fn unknown_keys(count: usize) -> String {
        super::counted(count, "unknown key", "unknown keys")
    }
}

pub mod questions {
    use crate::strings::format::exact_time;
    use ait_domain::Timestamp;

    pub const QUESTION: &str = "Question to people";
    pub const OTHER: &str = "Other…";

    pub fn default(at: Timestamp) -> String {
        format!("default, from {} on: ", exact_time(at))
    }
}

pub mod claims {
    pub fn client_gone(lapses_in_ms: Option<u64>) -> String {
        match lapses_in_ms {
            Some(ms) => format!("agent gone, claim lapses in {}", super::duration(ms)),
            None => "agent gone".to_owned(),
        }
    }

    pub fn silent(span_ms: u64) -> String {
        format!("silent {}", super::duration(span_ms))
    }
}

/// What a change did to an issue.
pub mod changes {
    pub const TITLE: &str = "Title";
    pub const DESCRIPTION: &str = "Description";
}

/// The drawing of what blocks what.
pub mod graph {
    pub const HEADING: &str = "What blocks what";

    pub fn description(count: usize) -> String {
        format!(
            "{count} issues. Arrows lead from each blocker to what it blocks, from left to right. The list below says \
             the same."
        )
    }

    pub fn hidden(count: usize, is_exact: bool) -> String {
        let issues = super::counted(count, "further issue", "further issues");
        let verb = if count == 1 { "is" } else { "are" };
        format!("{}{issues} {verb} not drawn.", if is_exact { "" } else { "At least " })
    }
}

/// The issues that an issue is linked with.
pub mod relations {
    use ait_domain::LinkKind;
    use ait_tracker::read_model::Relation;

    pub const LINKS: &str = "Links";

    pub fn heading(relation: Relation) -> &'static str {
        match relation {
            Relation::Parent => "Part of",
            Relation::Parts => "Parts",
            Relation::BlockedBy => "Blocked by",
            Relation::Blocks => "Blocks",
            Relation::Related => "Related",
            Relation::DuplicateOf => "Duplicate of",
            Relation::Duplicates => "Duplicates",
        }
    }

    /// What an issue is to the one that its link leads to.
    pub fn kind(kind: LinkKind) -> &'static str {
        match kind {
            LinkKind::Parent => "part of",
            LinkKind::BlockedBy => "blocked by",
            LinkKind::Related => "related to",
            LinkKind::DuplicateOf => "duplicate of",
        }
    }

    /// How far the parts of an issue are.
    pub fn ended(ended: usize, total: usize) -> String {
        format!("{ended} of {} done", super::counted(total, "part", "parts"))
    }

    pub fn more(count: usize) -> String {
        format!("and {count} more")
    }
}

/// The texts of the forms with which people change issues.
pub mod actions {
    use super::super::counted;
    use crate::actions::action::Action;

    pub const YOUR_NAME: &str = "Your name";
    pub const TITLE: &str = "Title";
    pub const DESCRIPTION: &str = "Description, in Markdown";
    pub const BEGIN_WITH_TEMPLATE: &str = "Begin with the template of the kind:";
    pub const OUTCOME: &str = "Outcome";
    /// Values of the field, and their names.
    pub const OUTCOMES: [(&str, &str); 2] =
        [("closed", "closed: it is done"), ("rejected", "rejected: it will not be done")];
    pub const LABELS: &str = "Labels";
    pub const NO_PRIORITY: &str = "none (2)";
    /// The summary of the fields that few issues have.
    pub const RARE: &str = "Estimate, files and budget";
    pub const KEEP: &str = "Keep here";
    pub const TAKE: &str = "Take theirs";
    pub const NOT_DONE: &str = "Nothing was changed";
    pub const NOT_UNDONE: &str = "Not everything was undone";
    pub const ENDS_FOR_AGENTS: &str =
        "Agents cannot open an issue again that is closed or rejected. A person can, on its page.";
    pub const NO_LONGER_VALID_UNDO: &str = "The form is no longer valid, as after a restart of the server. `ait log` shows the numbers of changes, and `ait undo NUMBER` undoes them.";

    pub const READ_ONLY_TOKEN: &str =
        "Your access token is read-only. Ask the operator of this server for one that may write.";
    pub const NO_LONGER_VALID: &str = "The form is no longer valid, as after a restart of the server. Nothing else is wrong with it.";

    /// The line above a form that is folded, and on the button that sends it.
    pub fn label(action: Action) -> &'static str {
        match action {
            Action::Answer => "Answer",
            Action::Comment => "Add comment",
            Action::Texts => "Edit title and description",
            Action::Attributes => "Save properties",
            Action::Park => "Park",
            Action::Unpark => "Unpark",
            Action::Claim => "Claim for me",
            Action::Return => "Return to the queue",
            Action::Close => "Close or reject",
            Action::Reopen => "Open again",
            Action::Resolve => "Choose a side",
            Action::File => "File an issue",
            Action::Undo => "Undo",
            Action::PutOff => "Put off",
            Action::BringBack => "Show again",
            Action::SaveView => "Save this view",
            Action::ForgetView => "Forget this view",
            Action::Link => "Link",
        }
    }

    /// On the button of an action on many issues. Those with dots ask for more first.
    pub fn button(action: Action) -> &'static str {
        match action {
            Action::Attributes => "Set",
            Action::Comment => "Comment…",
            Action::Link => "Link…",
            Action::Park => "Park…",
            Action::Return => "Return…",
            Action::Close => "Close…",
            action => label(action),
        }
    }

    /// What an action did.
    pub fn done(action: Action) -> &'static str {
        match action {
            Action::Answer => "The answer is saved. Agents can claim the issue again.",
            Action::Comment => "The comment is saved.",
            Action::Texts => "Title and description are saved.",
            Action::Attributes => "The properties are saved.",
            Action::Park => "The issue is parked: agents cannot claim it.",
            Action::Unpark => "The issue is no longer parked.",
            Action::Claim => "The issue is yours until you hand it in or return it.",
            Action::Return => "The issue is back in the queue.",
            Action::Close => "The issue has ended.",
            Action::Reopen => "The issue is back in the queue.",
            Action::Resolve => {
                "The conflict has ended. What stays here goes there with the next sync."
            }
            Action::File => "The issue is filed.",
            Action::Undo => "The last action is undone.",
            Action::PutOff => "The row is put off. It stands at the end of the inbox.",
            Action::BringBack => "The row is in the inbox again.",
            Action::SaveView => "The view is saved for all who look at this project.",
            Action::ForgetView => "The view is forgotten.",
            Action::Link => "The link is saved.",
        }
    }

    /// What an action did to many issues.
    pub fn done_to_many(action: Action, count: usize) -> String {
        let what = match action {
            Action::Attributes => "changed",
            Action::Comment => "commented",
            Action::Link => "linked",
            Action::Park => "parked, so agents cannot claim them",
            Action::Unpark => "no longer parked",
            Action::Claim => "claimed",
            Action::Return => "back in the queue",
            Action::Close => "ended",
            action => return done(action).to_owned(),
        };
        format!("{} {what}.", issues(count))
    }

    /// On the button that undoes an action.
    pub fn undo(action: Action) -> &'static str {
        if action == Action::Undo { "Redo" } else { "Undo" }
    }

    pub fn undone(count: usize) -> String {
        format!("Undone in {}.", issues(count))
    }

    pub fn issues(count: usize) -> String {
        counted(count, "issue", "issues")
    }

    /// The heading of the page that asks for what an action on many issues needs.
    pub fn ask(action: Action, count: usize) -> String {
        format!("{}: {}", label(action), issues(count))
    }

    /// The heading after an action that some issues refused.
    pub fn partly_done(changed: usize, refused: usize) -> String {
        if changed == 0 {
            return NOT_DONE.to_owned();
        }
        let stay = if refused == 1 { "1 stays".to_owned() } else { format!("{refused} stay") };
        format!("{} changed, {stay} as before", issues(changed))
    }

    /// What happens when a person confirms the return of a claimed issue.
    pub fn end_claim(agent: &str, held_for: &str) -> String {
        format!(
            "{agent} has held this issue {held_for}. The claim ends at once, and another agent may claim the issue."
        )
    }

    pub fn confirm(action: Action, title: &str) -> String {
        format!("{}: {title}?", label(action))
    }
}

/// The errors of changes over `/api`.
pub mod write_api {

    /// Says what is wrong with a body; `path` is the member that the error is about.
    pub fn invalid_body(path: &str, error: &str, nearest: Option<&str>) -> String {
        let member = if [".", "?"].contains(&path) { String::new() } else { format!("`{path}`: ") };
        let hint = nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
        format!("the body is invalid: {member}{error}{hint}")
    }
}
