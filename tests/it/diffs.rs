//! What a branch changes, on the page of its issue and in `ait show --diff`, with the real git.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::hooks::Desk;
use crate::support::get;
use crate::support::http::Server;

impl Desk {
    fn commit_all(&self, path: &Path) {
        self.git_in(path, &["add", "-A"]);
        self.git_in(path, &["commit", "-qm", "work"]);
    }

    fn diff(&self, id: &str) -> Value {
        let shown = self.ait(&["show", id, "--diff", "--json"]).ok();
        serde_json::from_str::<Value>(&shown).unwrap()["diff"].clone()
    }
}

#[test]
fn the_changes_of_a_branch_show_file_by_file() {
    let desk = Desk::new();
    desk.write("old.txt", "one\ntwo\n");
    desk.git(&["add", "old.txt"]);
    desk.git(&["commit", "-qm", "old"]);
    let (id, path) = desk.with_work("new file.txt");
    fs::write(path.join("old.txt"), "one\n2 < 3\n").unwrap();
    desk.commit_all(&path);
    // What the main branch changes meanwhile is none of it.
    desk.commit(&desk.project(), "other.txt").ok();
    let diff = desk.diff(&id);
    let files: Vec<_> = diff["files"].as_array().unwrap().iter().collect();
    let paths: Vec<_> = files.iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["new file.txt", "old.txt"]);
    assert_eq!((&files[1]["added"], &files[1]["removed"]), (&1.into(), &1.into()));
    assert_eq!(files[1]["text"], "@@ -1,2 +1,2 @@\n one\n-two\n+2 < 3\n");
    let shown = desk.ait(&["show", &id, "--diff"]).ok();
    assert!(shown.contains("old.txt +1 -1\n@@ -1,2 +1,2 @@\n one\n-two\n+2 < 3\n"), "{shown}");
    assert!(!desk.ait(&["show", &id]).ok().contains("@@"));

    desk.ait(&["complete", &id, "-a", "dev", "-m", "done"]).ok();
    desk.ait(&["comment", &id, "-a", "critic", "-m", "old.txt:2 is too small"]).ok();
    let server = Server::spawn(desk.command("ait", &desk.project(), &["serve"]), &desk.project());
    let page = |query: &str| get(server.port, &format!("/issues/{id}{query}")).body;
    assert!(page("").contains("?diff=1") && !page("").contains("id=\"issue-diff\""));
    let with_diff = page("?diff=1");
    for expected in ["<ins>+2 &lt; 3\n</ins>", "<del>-two\n</del>", "line 2", "1 comment<"] {
        assert!(with_diff.contains(expected), "no {expected:?} in {with_diff}");
    }
    // The branch also shows beside its agent while that works on the issue.
    desk.ait(&["return", &id, "-m", "again", "-a", "dev", "--force"]).ok();
    desk.ait(&["claim", &id, "-a", "dev"]).ok();
    let agents = get(server.port, "/agents").body;
    assert!(
        agents.contains("title=\"issue-") && agents.contains(">2 commits +2 −1</a>"),
        "{agents}"
    );
    desk.ait(&["complete", &id, "-a", "dev", "-m", "done"]).ok();
    // A merge removes the branch.
    desk.ait(&["merge", &id]).ok();
    assert!(page("?diff=1").contains("There is no branch with changes"));
    assert_eq!(desk.diff(&id), Value::Null);
    assert!(desk.ait(&["show", &id, "--diff"]).ok().contains("There is no branch"));
}

#[test]
fn a_hostile_branch_is_shown_within_limits_and_as_text() {
    let desk = Desk::new();
    let (id, path) = desk.with_work("a");
    let hostile = "</code><script>alert(1)</script>\ndiff --git a/x b/x\n\u{202e}gnp\u{1b}[31m\n";
    fs::write(path.join("a"), hostile).unwrap();
    fs::write(path.join("<b>.txt"), "x").unwrap();
    fs::write(path.join("long"), "y\n".repeat(100_000)).unwrap();
    fs::write(path.join("wide"), "z".repeat(100_000)).unwrap();
    fs::write(path.join("binary"), [0; 1_000]).unwrap();
    fs::write(path.join(".gitattributes"), "* diff=evil\n").unwrap();
    desk.git(&["config", "diff.evil.textconv", "touch ran; cat"]);
    desk.git(&["config", "diff.evil.command", "touch ran"]);
    for number in 0..300 {
        fs::write(path.join(format!("many-{number}")), "m").unwrap();
    }
    desk.commit_all(&path);
    let diff = desk.diff(&id);
    let files = diff["files"].as_array().unwrap();
    assert_eq!((files.len(), diff["left_out"].as_u64()), (200, Some(106)));
    let file = |name: &str| files.iter().find(|file| file["path"] == name).unwrap();
    let text = file("a")["text"].as_str().unwrap();
    assert!(text.contains("+diff --git a/x b/x\n+\u{fffd}gnp\u{fffd}[31m"), "{text}");
    assert_eq!((&file("long")["is_cut"], &file("long")["added"]), (&true.into(), &100_000.into()));
    assert!(diff.to_string().len() < 100_000);
    let shown = desk.ait(&["show", &id, "--diff"]).ok();
    assert!(!shown.contains('\u{1b}') && !shown.contains('\u{202e}') && shown.len() < 200_000);

    let server = Server::spawn(desk.command("ait", &desk.project(), &["serve"]), &desk.project());
    let page = get(server.port, &format!("/issues/{id}?diff=1")).body;
    assert!(page.contains("&lt;script&gt;alert(1)") && !page.contains("<script>alert"));
    assert!(page.contains("&lt;b&gt;.txt") && !page.contains('\u{202e}'));
    assert!(page.contains("106 files more.") && page.len() < 300_000, "{} bytes", page.len());
    assert!(!path.join("ran").exists() && !desk.project().join("ran").exists());
}
