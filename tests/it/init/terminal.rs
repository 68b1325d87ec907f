//! The questions of `ait init` at a terminal.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use super::Desk;
use crate::support::{BINARY, Log, wait};

/// Runs `ait init` with these arguments in a terminal and answers its questions. Returns the screen and true if the
/// command succeeded, or `None` without `script(1)`.
fn answered(desk: &Desk, arguments: &str, answers: &[(&str, &str)]) -> Option<(String, bool)> {
    if Command::new("script").arg("--version").output().is_err() {
        crate::support::skip("script(1) is not installed");
        return None;
    }
    // Hide the programs of this machine from the detection of clients.
    let path = desk.root.join("bin");
    let line = format!(
        "PATH='{}'; export PATH; exec '{BINARY}' --color never init {arguments}",
        path.display()
    );
    let mut script = Command::new("script");
    script.args(["-qefc", &line, "/dev/null"]).current_dir(desk.project());
    script.env("HOME", desk.root.join("home")).env("XDG_STATE_HOME", desk.root.join("state"));
    for variable in ["ISSUES_FILE", "RUST_LOG", "XDG_CONFIG_HOME", "PORT", "CODEX_HOME"] {
        script.env_remove(variable);
    }
    let mut child = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let screen = Log::of(child.stdout.take().unwrap());
    let mut keyboard = child.stdin.take().unwrap();
    for (question, answer) in answers {
        screen.wait_for(question);
        keyboard.write_all(format!("{answer}\n").as_bytes()).unwrap();
    }
    let succeeded = wait(&mut child).success();
    Some((screen.whole(), succeeded))
}

#[test]
fn nothing_is_written_unless_the_user_says_yes() {
    let desk = Desk::new();
    let before = desk.tree();
    let asked = |answer| {
        answered(&desk, "--client codex", &[("[team] ", ""), ("Write this? [y/N] ", answer)])
    };
    for answer in ["", "n", "maybe"] {
        let Some((screen, succeeded)) = asked(answer) else { return };
        assert!(screen.contains("nothing was written") && !succeeded, "{screen}");
        assert!(desk.tree() == before, "{answer:?}");
    }
    let Some((screen, succeeded)) = asked("y") else { return };
    assert!(succeeded && screen.contains("done: 9 files"), "{screen}");
    assert!(desk.has(".codex/config.toml"));
}

#[test]
fn without_a_detected_client_the_user_chooses() {
    let desk = Desk::new();
    let before = desk.tree();
    let which =
        "Which do you use? Names or numbers, separated by spaces; Enter alone writes nothing: ";
    let Some((screen, succeeded)) = answered(&desk, "", &[(which, "")]) else { return };
    assert!(screen.contains("run `ait init --client NAME`") && !succeeded, "{screen}");
    assert!(desk.tree() == before);
    let answers = [
        (which, "emacs"),
        ("\"emacs\" is none of them", "codex, zed"),
        ("[team] ", "so"),
        ("Write this?", "y"),
    ];
    let Some((screen, succeeded)) = answered(&desk, "", &answers) else { return };
    for row in ["1  claude-code     Claude Code", "7  zed             Zed"] {
        assert!(screen.contains(row), "{screen}");
    }
    assert!(
        succeeded && desk.has(".codex/config.toml") && desk.has(".zed/settings.json"),
        "{screen}"
    );
    assert!(desk.read("AGENTS.md").contains("One role, `developer`"), "solo was chosen");
    assert!(!desk.has(".mcp.json"));
    desk.init_now(&["--remove"]);
    let answers = [
        (which, "9"),
        ("\"9\" is none of them", "claude-"),
        ("\"claude-\" may be claude-code or claude-desktop", "claude 7 OPEN"),
        ("[team] ", ""),
        ("Write this?", "y"),
    ];
    let Some((screen, succeeded)) = answered(&desk, "", &answers) else { return };
    for name in [".mcp.json", ".zed/settings.json", "opencode.json"] {
        assert!(succeeded && desk.has(name), "{name}: {screen}");
    }
    // A client is now detected, so init asks nothing.
    let Some((screen, succeeded)) = answered(&desk, "", &[]) else { return };
    assert!(succeeded && screen.contains("nothing to do"), "{screen}");
}

/// A clone of a repository in which others work, too, could have a queue that its teammates do not see.
#[test]
fn other_authors_and_a_remote_bring_the_note_on_clones() {
    let desk = Desk::new();
    let programs = std::env::var_os("PATH").unwrap();
    let git =
        std::env::split_paths(&programs).map(|path| path.join("git")).find(|git| git.is_file());
    let git = git.unwrap();
    std::os::unix::fs::symlink(&git, desk.root.join("bin/git")).unwrap();
    fs::remove_dir_all(desk.project().join(".git")).unwrap();
    let run = |arguments: &[&str]| {
        let status = Command::new(&git).current_dir(desk.project()).args(arguments).status();
        assert!(status.unwrap().success(), "{arguments:?}");
    };
    let commit = |author: &str| {
        let (name, email) =
            (format!("user.name={author}"), format!("user.email={author}@a.example"));
        run(&["-c", &name, "-c", &email, "commit", "-q", "--allow-empty", "-m", "m"]);
    };
    let assert_noted = |is_noted: bool| {
        let answers = [("[team] ", ""), ("Write this?", "n")];
        let Some((screen, _)) = answered(&desk, "--client codex", &answers) else { return };
        let note = "others commit to this repository, too";
        assert_eq!(screen.contains(note), is_noted, "{screen}");
    };
    run(&["init", "-q"]);
    commit("ann");
    assert_noted(false);
    run(&["remote", "add", "origin", "https://a.example/r.git"]);
    assert_noted(false);
    commit("bo");
    assert_noted(true);
    run(&["remote", "remove", "origin"]);
    assert_noted(false);
}
