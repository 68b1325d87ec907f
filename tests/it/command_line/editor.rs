//! Issues written in an editor.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::{Desk, Run};
use crate::support::files::stored_issues;

/// Writes an editor that runs a script on the file `$1`.
fn editor(desk: &Desk, script: &str) -> PathBuf {
    let path = desk.path().join("my editor");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn edit(desk: &Desk, script: &str, arguments: &[&str]) -> Run {
    let quoted = format!("'{}' --wait", editor(desk, &format!("shift\n{script}")).display());
    let arguments = [&["add", "-c", "bug", "--edit", "--json"], arguments].concat();
    Run(desk.command(&arguments).env("EDITOR", quoted).output().unwrap())
}

#[test]
fn issue_written_in_the_editor_is_filed() {
    let desk = Desk::new();
    let written =
        "printf 'The title\\n\\nline 1\\n# line 2\\n' | cat - \"$1\" > new && mv new \"$1\"";
    let filed = edit(&desk, written, &[]).done().json();
    assert_eq!(
        (&filed["title"], &filed["description"]),
        (&"The title".into(), &"line 1\n# line 2".into())
    );
    let draft = edit(&desk, "cp \"$1\" seen", &["from the line", "-d", "and more"]).done().json();
    assert_eq!(
        (&draft["title"], &draft["description"]),
        (&"from the line".into(), &"and more".into())
    );
    let seen = fs::read_to_string(desk.path().join("seen")).unwrap();
    assert!(seen.starts_with("from the line\n\nand more\n# ---"), "{seen}");
    // VISUAL takes precedence over EDITOR.
    let mut command = desk.command(&["add", "The title", "-c", "bug", "-e", "-l", "feature"]);
    command.env("EDITOR", "false").env("VISUAL", "true");
    let said = Run(command.output().unwrap()).ends_with(0).stderr();
    // An issue from the editor gets the same advice as others.
    let near = &filed["id"].as_str().unwrap()[..8];
    assert!(said.contains(&format!("nearly the same title: {near};")), "{said}");
    assert!(said.contains("`ait edit "), "{said}");
}

#[test]
fn missing_title_or_failing_editor_files_nothing() {
    let desk = Desk::new();
    assert!(edit(&desk, ":", &[]).failed(1).contains("there is no title"));
    assert!(edit(&desk, "exit 3", &["t"]).failed(1).contains("nothing was filed"));
    for (value, expected) in [("/no/such/editor", "set EDITOR"), ("'", "cannot be parsed")] {
        let mut command = desk.command(&["add", "t", "-c", "bug", "-e"]);
        let text = Run(command.env("EDITOR", value).output().unwrap()).failed(1);
        assert!(text.contains(expected), "{text}");
    }
    assert!(stored_issues(desk.path()).is_empty());
}

#[test]
fn text_that_cannot_be_filed_is_kept_in_a_file() {
    let desk = Desk::new();
    fs::write(desk.path().join("issues.json"), "{").unwrap();
    let temporary = desk.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let script = "echo 'Long work' > \"$1\"";
    let quoted = format!("'{}'", editor(&desk, script).display());
    let mut command = desk.command(&["add", "-c", "bug", "-e"]);
    command.env("EDITOR", quoted).env("TMPDIR", &temporary);
    let text = Run(command.output().unwrap()).failed(1);
    let kept = text.split("kept in ").nth(1).unwrap_or_else(|| panic!("{text}"));
    let kept = kept.split(':').next().unwrap();
    assert!(kept.starts_with(temporary.to_str().unwrap()), "{text}");
    assert_eq!(fs::read_to_string(kept).unwrap(), "Long work\n");
    assert!(text.contains("issues.json"), "{text}");
    fs::write(desk.path().join("issues.json"), "{\"issues\":[]}").unwrap();
    edit(&desk, script, &[]).done();
    let left = fs::read_dir(&temporary).unwrap().count();
    assert_eq!(left, 1, "a filed text must not be kept in a file");
}

/// Edits an issue with an editor that runs a script on the file `$1`.
fn edit_issue(desk: &Desk, script: &str, arguments: &[&str]) -> Run {
    let quoted = format!("'{}'", editor(desk, script).display());
    let arguments = [&["edit"], arguments, &["--edit"]].concat();
    Run(desk.command(&arguments).env("EDITOR", quoted).output().unwrap())
}

#[test]
fn texts_of_an_issue_are_changed_in_the_editor() {
    let desk = Desk::new();
    let issue = desk.add("Login fails");
    desk.run(&["edit", &issue, "-d", "on Safari\n"]).done();
    let edited = edit_issue(&desk, "cp \"$1\" seen; sed -i.bak 's/Safari/iOS/' \"$1\"", &[&issue]);
    assert!(edited.done().stdout().contains("(changed: description)"));
    let seen = fs::read_to_string(desk.path().join("seen")).unwrap();
    assert!(seen.starts_with("Login fails\n\non Safari\n\n# ---"), "{seen}");
    let stored = &stored_issues(desk.path())[0];
    assert_eq!(
        (&stored["title"], &stored["description"]),
        (&"Login fails".into(), &"on iOS".into())
    );
    // If the editor changes nothing, only the other options apply.
    let same = edit_issue(&desk, ":", &[&issue]).failed(1);
    assert!(same.contains("nothing would change") && !same.contains("kept in"), "{same}");
    assert!(
        edit_issue(&desk, ":", &[&issue, "-p", "1"])
            .done()
            .stdout()
            .contains("(changed: priority)")
    );
    let none = edit_issue(&desk, ": > \"$1\"", &[&issue]).failed(1);
    assert!(none.contains("nothing was changed: there is no title"), "{none}");
}

#[test]
fn an_edit_never_overwrites_a_change_made_meanwhile() {
    let desk = Desk::new();
    let issue = desk.add("Login fails");
    let binary = crate::support::BINARY;
    let script = format!("'{binary}' edit {issue} -d 'by another' >&2; echo 'My title' > \"$1\"");
    let text = edit_issue(&desk, &script, &[&issue]).failed(1);
    assert!(text.contains("has changed since version"), "{text}");
    let kept = text.split("kept in ").nth(1).unwrap().split(':').next().unwrap();
    assert_eq!(fs::read_to_string(kept).unwrap(), "My title\n");
    fs::remove_file(kept).unwrap();
    let stored = &stored_issues(desk.path())[0];
    assert_eq!(
        (&stored["title"], &stored["description"]),
        (&"Login fails".into(), &"by another".into())
    );
}
