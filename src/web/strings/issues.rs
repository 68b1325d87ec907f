//! The texts of the list and of the page of an issue.

use super::{counted, duration, format};

pub mod list {
    pub const OPEN: &str = "Open";
    pub const FILTERS: &str = "Search and filters";
    pub const MORE_FILTERS: &str = "Filters";
    pub const SAVED: &str = "Saved queries";
    pub const SEARCH: &str = "Search";
    pub const SEARCH_HINT: &str = "words, or terms such as label:ui";
    pub const ANY_KIND: &str = "any kind";
    pub const LAST_ACTIVITY: &str = "Last activity";
    pub const CREATED: &str = "Created";
    pub const NO_ACTIVITY: &str = "none";
    pub const CHOSEN: &str = "Chosen filters";
    pub const PARTS_OF: &str = "parts of ";
    pub const DROP: &str = "remove";
    pub const PAGING: &str = "Pages of the list";
    pub const PREVIOUS: &str = "Previous";
    pub const NEXT: &str = "Next";
    pub const EMPTY: &str = "No issues yet";
    pub const FILE_FIRST: &str = "File the first issue, in a terminal in your project:";
    pub const FILE_COMMAND: &str = "ait add 'TITLE'";
    pub const CONNECT: &str =
        "Or connect your coding agents, so that they file issues and work on them:";
    pub const CONNECT_COMMAND: &str = "ait init";
    pub const APPEARS: &str = "New issues appear here at once.";
    pub const NO_MATCH: &str = "No matching issues";
    pub const NO_MATCH_ADVICE: &str = "An issue must match every word and every filter.";
    pub const NEAREST: &str = "The issues with the most of the words:";

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

    pub fn too_many(limit: usize) -> String {
        format!("{limit} or more issues match. Add a word or a filter to narrow the list.")
    }
}

/// The texts of what needs attention, above the list.
pub mod attention {
    use crate::span::humanize_duration as duration;

    pub const HEADING: &str = "Needs attention";
    pub const CALM: &str = "Nothing needs attention: no open questions, no agents that are gone, nothing that waits for long.";
    pub const KINDS: &str = "What needs attention, by kind";
    pub const NO_TITLE: &str = "The queue";
    pub const COPY: &str = "Copy the command";
    pub const COPIED: &str = "Command copied.";
    pub const DAMAGE_NEXT: &str = "`ait doctor` says what to do";
    pub const NOTHING_READY_NEXT: &str =
        "`ait list --blocked`, `ait list --parked`; then unblock, unpark or file something";

    /// What a kind is called on a row, and when one and when several are counted.
    pub type Words = [&'static str; 3];
    pub const QUESTION: Words = ["Question", "question", "questions"];
    pub const AGENT_GONE: Words =
        ["Agent gone", "claim of an agent that is gone", "claims of agents that are gone"];
    pub const OLD_CLAIM: Words = ["Old claim", "old claim", "old claims"];
    pub const RETURNED_OFTEN: Words = ["Returned often", "returned often", "returned often"];
    pub const WAITS_FOR_REVIEW: Words = ["Waits for review", "waits for review", "wait for review"];
    pub const PARKED: Words = ["Parked", "parked without an end", "parked without an end"];
    /// Kinds that concern the whole queue, so they are not counted.
    pub const DAMAGE: Words = ["Damaged", "the store is damaged", ""];
    pub const NOTHING_READY: Words = ["Nothing ready", "nothing is ready", ""];
    pub const FILING: Words = ["Filed too fast", "more filed than ended", ""];

    /// How many there are of a kind.
    pub fn counted([_, one, many]: Words, count: usize) -> String {
        match (many, count) {
            ("", _) => one.to_owned(),
            (_, 1) => format!("1 {one}"),
            _ => format!("{count} {many}"),
        }
    }

    pub fn asked(agent: &str, question: &str) -> String {
        format!("{agent} asks: {question}")
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

    pub fn give_back(short_id: &str) -> String {
        format!("`ait return {short_id} --force -m WHY`")
    }

    pub fn waiting(agents: &str, more: usize) -> String {
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("no issue is ready for the agents that wait for work: {agents}{more}")
    }

    pub fn parked(agent: &str, reason: &str) -> String {
        format!("parked by {agent}: {reason}")
    }

    pub fn unpark(short_id: &str) -> String {
        format!("`ait unpark {short_id}`")
    }

    /// How many are folded.
    pub fn more(count: usize) -> String {
        format!("{count} more")
    }

    pub const NOTIFY: &str = "Notify me of what needs attention";
    pub const NOTIFY_NO_MORE: &str = "Do not notify me any more";
    /// What a notification of the desktop says.
    pub const NOTE: &str = "{count} need attention";
}

pub mod issue {
    use crate::domain::{Status, Timestamp};

    pub const BREADCRUMB: &str = "Breadcrumb";
    pub const HELD_BY: &str = "held by ";
    pub const COPY: &str = "Copy";
    pub const COPY_ID: &str = "Copy id";
    pub const COPIED: &str = "Id copied.";
    pub const COPIED_OTHER: &str = "Copied.";
    pub const COPY_BRANCH: &str = "Copy branch";
    pub const COPY_COMMAND: &str = "Copy command";
    pub const COPY_MARKDOWN: &str = "Copy Markdown";
    pub const KNOWN: &str = "What the team knows";
    pub const MENTIONED: &str = "Mentioned in";
    pub const SEARCH_MENTIONS: &str = "Search for texts that name this issue";
    pub const DESCRIPTION: &str = "Description";
    pub const NO_DESCRIPTION: &str = "No description.";
    pub const TIMELINE: &str = "Timeline";
    pub const EMPTY_TIMELINE: &str = "Nothing has happened yet.";
    pub const DID_RETURN: &str = "returned it to the queue";
    pub const DID_COMMENT: &str = "commented";
    pub const DID_CHANGE: &str = "changed";
    pub const DID_ASK: &str = "asked a question";
    pub const DID_ASK_OPEN: &str = "asked ";
    pub const OPEN_QUESTION: &str = "the open question";
    pub const DID_ANSWER: &str = "answered the question";
    pub const SHOW_FULL: &str = "Show all texts in full";
    pub const SHOW_LESS: &str = "Show less";
    pub const DETAILS: &str = "Details";
    pub const PARKED: &str = "Parked";
    pub const FILED: &str = "Filed";
    pub const BY: &str = "by ";
    pub const CHANGED: &str = "Last change";
    pub const COMMENTS: &str = "Comments";
    pub const NEIGHBOURS: &str = "Adjacent issues";
    pub const PREVIOUS: &str = "Previous issue";
    pub const NEXT: &str = "Next issue";

    /// The branch that git hooks and agents expect.
    pub fn branch(short_id: &str) -> String {
        format!("issue-{short_id}")
    }

    pub fn command(short_id: &str) -> String {
        format!("ait show {short_id}")
    }

    pub fn page_title(short_id: &str, title: &str) -> String {
        format!("{title} · {short_id}")
    }

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

    pub fn show_all(count: usize) -> String {
        format!("Show all {count} entries")
    }

    pub fn cut(shown: usize, length: usize) -> String {
        format!("Showing the first {shown} of {length} characters.")
    }

    /// A point in time, to the minute.
    pub fn exact(time: Timestamp) -> String {
        super::format::exact_time(time)
    }

    /// What a link to an issue in a text shows on hover.
    pub fn mention(title: &str, status: &str) -> String {
        format!("{title} ({status})")
    }

    pub fn until(time: Timestamp) -> String {
        format!("until {}", exact(time))
    }

    pub fn unknown_keys(count: usize) -> String {
        super::counted(count, "unknown key", "unknown keys")
    }
}

pub mod questions {
    use crate::domain::Timestamp;
    use crate::web::strings::format::exact_time;

    pub const HEADING: &str = "Questions to people";
    pub const QUESTION: &str = "Question to people";
    pub const ASKED_BY: &str = "asked by ";
    pub const ANSWER: &str = "Answer it";
    pub const ANSWER_WITH: &str = "answer in a terminal: ";

    pub fn command(short_id: &str) -> String {
        format!("ait answer {short_id} 'TEXT'")
    }

    pub fn default(at: Timestamp) -> String {
        format!("default, from {} on: ", exact_time(at))
    }

    pub fn more(count: usize) -> String {
        format!("{count} more: `ait questions` lists them all")
    }
}

pub mod claims {
    pub fn client_gone(lapses_in_ms: Option<u64>) -> String {
        match lapses_in_ms {
            Some(ms) => format!("agent gone, claim lapses in {}", super::duration(ms)),
            None => "agent gone".to_owned(),
        }
    }
}

/// What a change did to an issue.
pub mod changes {
    pub const TITLE: &str = "Title";
    pub const DESCRIPTION: &str = "Description";
    pub const REMOVED: &str = "none";
    pub const CHANGED: &str = "changed";
}

/// The drawing of what blocks what.
pub mod graph {
    pub const HEADING: &str = "What blocks what";
    pub const DRAWING: &str = "Drawing of what blocks what";
    pub const AS_TEXT: &str = "Show as text";
    pub const BLOCKS: &str = "blocks";

    pub fn description(count: usize) -> String {
        format!(
            "{count} issues. Arrows lead from each blocker to what it blocks, from left to right. The list below says \
             the same."
        )
    }

    /// What a box stands for. Begins with the text in the box.
    pub fn name(short_id: &str, title: &str, status: &str) -> String {
        format!("{short_id} {title} ({status})")
    }

    pub fn hidden(count: usize, is_exact: bool) -> String {
        let issues = super::counted(count, "further issue", "further issues");
        let verb = if count == 1 { "is" } else { "are" };
        format!("{}{issues} {verb} not drawn.", if is_exact { "" } else { "At least " })
    }
}

/// The issues that an issue is linked with.
pub mod relations {
    use crate::domain::LinkKind;
    use crate::read_model::Relation;

    pub const LINKS: &str = "Links";
    pub const UNKNOWN: &str = "not in this store";

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

    pub fn done(ended: usize, total: usize) -> String {
        format!("{ended} of {total} done")
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
    pub const TITLE: &str = "Title";
    pub const DESCRIPTION: &str = "Description, in Markdown";
    pub const OUTCOME: &str = "Outcome";
    /// Values of the field, and their names.
    pub const OUTCOMES: [(&str, &str); 2] =
        [("closed", "closed: it is done"), ("rejected", "rejected: it will not be done")];
    pub const CLOSE_REASON: &str = "Why";
    pub const REOPEN_REASON: &str = "Why, and what is left to do";
    pub const FINAL: &str =
        "Agents cannot open an issue again that is closed or rejected. A person can, on its page.";
    pub const NEW: &str = "New issue";
    pub const CANCEL: &str = "Cancel";
    pub const BACK: &str = "Back to the issue";
    pub const NOT_DONE: &str = "Nothing was changed";
    pub const UNCERTAIN: &str = "Look at the issue first";
    pub const SINCE_THEN: &str = "What happened since then";
    pub const TYPED: &str = "Check what you typed, and send it again:";
    pub const READ_ONLY: &str = "These pages show the queue. People file issues here and change each on its page, or on the command line, \
                                 agents through MCP.";

    pub const READ_ONLY_TOKEN: &str =
        "Your access token is read-only. Ask the operator of this server for one that may write.";
    pub const FOREIGN: &str = "This form was not sent from a page of this server. Open the page of the issue, and use the form there.";
    pub const NO_FORM: &str = "Only forms of the pages are accepted here: open the page of the issue, and use the form there.";
    pub const NO_LONGER_VALID: &str = "The form is no longer valid, as after a restart of the server. Nothing else is wrong with it.";
    pub const EMPTY: &str = "The text is empty. Write one.";
    pub const NO_ANSWER: &str = "There is no answer. Choose one or write one.";
    pub const TWO_ANSWERS: &str = "Choose an answer or write one, but not both.";
    pub const INVALID_OPTION: &str =
        "The chosen answer is not one of those offered. Choose another one.";
    pub const NO_OUTCOME: &str = "There is no outcome. Choose one.";
    pub const NO_KIND: &str = "There is no kind. Choose one.";
    pub const NOT_HERE: &str = "An issue is filed on a page of its own.";
    pub const FILED_ALREADY: &str =
        "This form has filed an issue already. Send it again only if you want to file another one.";
    pub const EDITED: &str = "Someone edited issues.json.";
    pub const CHANGED: &str =
        "The issue has changed since the page was loaded, perhaps because the form was sent twice.";

    /// The line above a form that is folded, and on the button that sends it.
    pub fn label(action: Action) -> &'static str {
        match action {
            Action::Answer => "Answer",
            Action::Comment => "Add comment",
            Action::Attributes => "Set labels, priority, assignee, due date or estimate",
            Action::Park => "Park",
            Action::Unpark => "Unpark",
            Action::Return => "Return to the queue",
            Action::Close => "Close or reject",
            Action::Reopen => "Open again",
            Action::File => "File an issue",
        }
    }

    /// Before the title of another issue.
    pub const NEAR: &str =
        "An open issue has nearly the same title; close one of the two if they mean the same:";

    /// What an action did.
    pub fn done(action: Action) -> &'static str {
        match action {
            Action::Answer => "The answer is saved. Agents can claim the issue again.",
            Action::Comment => "The comment is saved.",
            Action::Attributes => "Labels, priority, assignee, due date and estimate are saved.",
            Action::Park => "The issue is parked: agents cannot claim it.",
            Action::Unpark => "The issue is no longer parked.",
            Action::Return => "The issue is back in the queue.",
            Action::Close => "The issue has ended.",
            Action::Reopen => "The issue is back in the queue.",
            Action::File => "The issue is filed.",
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
}

/// The errors of changes over `/api`.
pub mod write_api {
    pub const NO_TOKEN: &str = "a change needs `Authorization: Bearer TOKEN` with a read-write token: start the server with \
                                --token-file, and send one of its tokens";
    pub const READ_ONLY_TOKEN: &str =
        "this token is read-only: ask the operator of the server for one that may write";
    pub const FOREIGN: &str =
        "pages of other origins may not change issues: send the request from a program";
    pub const NO_JSON: &str = "the body must be JSON: send Content-Type: application/json";
    pub const NO_OBJECT: &str = "the body must be a JSON object";
    pub const NOT_TAKEN: &str = "this address does not take that method: GET /api lists what this server takes, and it takes \
                                 changes only if it was started with --web-actions";

    /// Says what is wrong with a body; `path` is the member that the error is about.
    pub fn invalid_body(path: &str, error: &str, nearest: Option<&str>) -> String {
        let member = if [".", "?"].contains(&path) { String::new() } else { format!("`{path}`: ") };
        let hint = nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
        format!("the body is invalid: {member}{error}{hint}")
    }
}
