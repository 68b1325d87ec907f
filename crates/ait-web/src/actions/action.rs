//! What people can do on the pages.

use ait_domain::string_enum;

/// The addresses of the forms that are on no page of an issue.
pub(crate) const INBOX_PATH: &str = "/inbox";
pub(crate) const FILE_PATH: &str = "/new";
pub(crate) const MANY_PATH: &str = "/issues/actions";
pub(crate) const VIEWS_PATH: &str = "/views";
pub(crate) const UNDO_PATH: &str = "/undo";

string_enum! {
    /// An action. Its word is part of the address of its form.
    pub(crate) enum Action {
        /// Answer the open question.
        Answer = "answer",
        /// Add a comment.
        Comment = "comment",
        /// Set the title or the description.
        Texts = "texts",
        /// Set labels, priority, assignee, due date, estimate, kind, parent or blockers.
        Attributes = "attributes",
        /// Keep the issue from being claimed.
        Park = "park",
        /// Let it be claimed again.
        Unpark = "unpark",
        /// Claim it for the person.
        Claim = "claim",
        /// Return it to the queue, which ends its claim.
        Return = "return",
        /// Close or reject it.
        Close = "close",
        /// Open it again after its end.
        Reopen = "reopen",
        /// Choose a side where both sides of a sync changed a field.
        Resolve = "resolve",
        /// File another issue.
        File = "file",
        /// Take the last action back.
        Undo = "undo",
        /// Put a row of the inbox off.
        PutOff = "put-off",
        /// Bring it back.
        BringBack = "bring-back",
        /// Save the filters and the order of the list under a name.
        SaveView = "save-view",
        /// Forget such a view.
        ForgetView = "forget-view",
        /// Link many issues with one.
        Link = "link",
    }
}

impl Action {
    /// The actions on many issues at once.
    pub const OF_MANY: [Self; 8] = [
        Self::Attributes,
        Self::Claim,
        Self::Link,
        Self::Comment,
        Self::Park,
        Self::Unpark,
        Self::Return,
        Self::Close,
    ];

    /// Returns true if the action has a form on the page of an issue.
    pub fn is_on_issue(self) -> bool {
        use Action::{BringBack, File, ForgetView, Link, PutOff, SaveView, Undo};
        !matches!(self, File | Undo | PutOff | BringBack | SaveView | ForgetView | Link)
    }
}
