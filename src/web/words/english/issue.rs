//! On the page of one issue, in English.

use super::counted;
use crate::domain::Status;
use crate::web::words::issue::Issue;

pub(super) const ISSUE: Issue = Issue {
    page_title: |short_id, title| format!("{title} · {short_id}"),
    breadcrumb: "Breadcrumb",
    held_by: "held by ",
    held_for: |span| format!("for {span}"),
    copy: "Copy",
    copy_id: "Copy the id",
    copied: "The id is copied.",
    description: "Description",
    no_description: "There is no description.",
    story: "What happened",
    no_story: "Nothing has happened yet.",
    did: |status| match status {
        Status::Created => "filed it",
        Status::InProgress => "claimed it for work",
        Status::Completed => "handed it to review",
        Status::InReview => "took it for review",
        Status::Closed => "closed it",
        Status::Rejected => "rejected it",
    },
    did_return: "returned it to the queue",
    did_comment: "commented",
    left_out: |count| {
        let verb = if count == 1 { "is" } else { "are" };
        format!("{} {verb} left out here.", counted(count, "entry", "entries"))
    },
    show_all: |count| format!("Show all {count} entries"),
    cut: |shown, length| format!("The first {shown} of {length} characters."),
    show_whole: "Show everything whole",
    show_less: "Show the usual page",
    facts: "Facts",
    status: "Status",
    classification: "Kind",
    holder: "Held by",
    nobody: "nobody",
    filed: "Filed",
    by: "by ",
    changed: "Last change",
    returns: "Returned",
    comments: "Comments",
    exact: |time| {
        let time = time.to_string();
        let (day, time) = time.split_once('T').unwrap_or((&time, ""));
        format!("{day} {} UTC", time.get(..5).unwrap_or(time))
    },
    times: |count| match count {
        0 => "never".to_owned(),
        count => counted(count, "time", "times"),
    },
    unknown_keys: |count| {
        format!("{} that this version does not know", counted(count, "more key", "more keys"))
    },
    neighbours: "Issues beside this one",
    previous: "Filed before",
    next: "Filed after",
};
