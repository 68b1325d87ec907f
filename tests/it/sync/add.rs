//! `ait sync add`: a sync that is added to `ait.toml`.

use std::fs;

use super::{TOKEN, github, sync};
use crate::support::directory;
use crate::support::files::stored_issues;

#[test]
fn a_sync_is_added_once_its_connection_works() {
    let Some(github) = github() else { return };
    let directory = directory();
    let path = directory.path();
    github.file("First");
    let settings = path.join("ait.toml");
    fs::write(&settings, "# Ours.\nname = \"shop\"\n").unwrap();
    let add = |url: &str, more: &[&str]| {
        let wanted = ["add", "company", "--kind", "github", "--project", "acme/shop", "--url", url];
        sync(path, &[&wanted, more].concat())
    };
    let more = ["--pull", "label:agents", "--push", "status,new", "--every", "10m"];
    // Nothing is written before the connection works.
    let refused = add("http://127.0.0.1:1", &more).refusal();
    assert!(refused.contains("the connection does not work; nothing was written"), "{refused}");
    let refused = add("http://example.com", &[]).refusal();
    assert!(refused.contains("an address that begins with https://"), "{refused}");
    assert_eq!(fs::read_to_string(&settings).unwrap(), "# Ours.\nname = \"shop\"\n");
    let added = add(&github.url, &more).ok();
    assert!(
        added.starts_with("added [sync.company] to ait.toml; 1 issue would come in"),
        "{added}"
    );
    assert!(stored_issues(path).is_empty());
    assert_eq!(sync(path, &["company"]).ok(), "company: 1 new here\n");
    let text = fs::read_to_string(&settings).unwrap();
    assert!(text.starts_with("# Ours.\nname = \"shop\"\n") && !text.contains(TOKEN), "{text}");
    assert!(
        text.contains("push = [\"status\", \"new\"]") && text.contains("every = \"10m\""),
        "{text}"
    );
    assert!(add(&github.url, &[]).refusal().contains("has a [sync.company] already"));
    let unasked = sync(path, &["add", "other"]);
    assert!(unasked.code == 2 && unasked.log.contains("nobody can be asked here"), "{unasked:?}");
}
