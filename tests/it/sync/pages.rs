//! Listings of many issues, which come in pages.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{github, sync, titled};
use crate::support::directory;
use crate::support::files::stored_issues;

#[test]
fn a_thousand_issues_come_in_at_once() {
    let Some(github) = github() else { return };
    let directory = directory();
    let path = directory.path();
    github.configure(path, "");
    for number in 0..1000 {
        github.file(&format!("Issue {number}"));
    }
    let begun = Instant::now();
    assert_eq!(sync(path, &[]).ok(), "company: 1000 new here\n");
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    assert_eq!(sync(path, &[]).ok(), "company: nothing new\n");
}

/// Pages are counted, so an edit of an issue on the first one moves the first issue of the second one there.
#[test]
fn what_moves_to_a_page_that_was_read_comes_in_too() {
    let Some(github) = github() else { return };
    let directory = directory();
    let path = directory.path();
    github.configure(path, "");
    for number in 1..=120 {
        github.file(&format!("Issue {number}"));
    }
    let edit = json!({"number": 1, "title": "Issue 1, again"});
    // The call after the first page is the one for the second.
    github.control(json!({"before": "GET", "skip": 1, "edit": edit}));
    assert_eq!(sync(path, &[]).ok(), "company: 120 new here, 1 changed here\n");
    titled(path, "Issue 1, again");
    titled(path, "Issue 101");
    assert_eq!(stored_issues(path).len(), 120);
    assert_eq!(sync(path, &[]).ok(), "company: nothing new\n");
}
