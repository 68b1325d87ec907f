//! The texts of the forms with which people change issues.

use crate::web::actions::action::Action;

pub const HEADING: &str = "Change this issue";
pub const YOUR_NAME: &str = "Your name";
pub const ANSWER: &str = "Your answer";
pub const CHOOSE: &str = "Choose an answer";
pub const OWN_WORDS: &str = "Or answer in your own words";
pub const NO_OPTION: &str = "none of these";
pub const COMMENT: &str = "Comment";
pub const PARK_REASON: &str = "Why agents should not claim it now";
pub const RETURN_REASON: &str = "Why, and what the next agent should know";
pub const NO_PRIORITY: &str = "none: counts as 2";
pub const LABELS: &str = "Labels, with spaces between";
pub const CANCEL: &str = "Cancel";
pub const BACK: &str = "Back to the issue";
pub const NOT_DONE: &str = "Nothing was changed";
pub const UNCERTAIN: &str = "Look at the issue first";
pub const SINCE_THEN: &str = "What happened since then";
pub const TYPED: &str = "Check what you typed, and send it again:";
pub const READ_ONLY: &str = "These pages show the queue. People change an issue on its page or on the command line, \
                             agents through MCP.";

pub const READ_ONLY_TOKEN: &str =
    "Your access token is read-only. Ask the operator of this server for one that may write.";
pub const FOREIGN: &str = "This form was not sent from a page of this server. Open the page of the issue, and use the form there.";
pub const NO_FORM: &str = "Only forms of the pages are accepted here: open the page of the issue, and use the form there.";
pub const NO_LONGER_VALID: &str =
    "The form is no longer valid, as after a restart of the server. Nothing else is wrong with it.";
pub const EMPTY: &str = "The text is empty. Write one.";
pub const NO_ANSWER: &str = "There is no answer. Choose one or write one.";
pub const TWO_ANSWERS: &str = "Choose an answer or write one, but not both.";
pub const INVALID_OPTION: &str =
    "The chosen answer is not one of those offered. Choose another one.";
pub const EDITED: &str = "Someone edited issues.json.";
pub const CHANGED: &str =
    "The issue has changed since the page was loaded, perhaps because the form was sent twice.";

/// The line above a form that is folded, and on the button that sends it.
pub fn label(action: Action) -> &'static str {
    match action {
        Action::Answer => "Answer",
        Action::Comment => "Add comment",
        Action::Attributes => "Set priority and labels",
        Action::Park => "Park",
        Action::Unpark => "Unpark",
        Action::Return => "Return to the queue",
    }
}

/// What an action did.
pub fn done(action: Action) -> &'static str {
    match action {
        Action::Answer => "The answer is saved. Agents can claim the issue again.",
        Action::Comment => "The comment is saved.",
        Action::Attributes => "Priority and labels are saved.",
        Action::Park => "The issue is parked: agents cannot claim it.",
        Action::Unpark => "The issue is no longer parked.",
        Action::Return => "The issue is back in the queue.",
    }
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
