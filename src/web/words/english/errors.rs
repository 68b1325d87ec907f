//! On pages that say what went wrong, in English.

use crate::web::words::errors::Errors;

pub(super) const ERRORS: Errors = Errors {
    nothing_here: "Nothing here",
    no_page: "This address leads to no page.",
    no_issue: "There is no such issue",
    unknown_issue: |asked| format!("No issue has an id that begins with “{asked}”."),
    not_an_id: |asked| {
        format!(
            "“{asked}” is not the id of an issue, nor the beginning of one: that takes the first 8 \
             hex digits at least, as in 3f2a9c1e."
        )
    },
    several_issues: "This names several issues",
    ambiguous: |asked, count| {
        format!("The ids of {count} issues begin with “{asked}”: give more digits, or choose.")
    },
    bad_address: "This address asks for something that there is not",
    bad_parameter: |name, given, expected| {
        let asked = format!("“{name}={given}” is not understood here");
        match expected {
            "" => format!("{asked}: this page takes no parameters."),
            expected => format!("{asked}; expected: {expected}."),
        }
    },
    unreadable: "The issues cannot be shown",
    unreadable_advice: "The page will be here again as soon as that is mended.",
    nearest: "Did you mean",
    candidates: "It could be",
    all_issues: "See all issues",
    again: "Try again",
};
