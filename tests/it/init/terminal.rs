//! The question, as a person at a terminal answers it.

use std::io::Write;
use std::process::{Command, Stdio};

use super::Desk;
use crate::support::{BINARY, Log, wait};

/// What is on the screen when the question was answered, and how that ended; `None` where there is no
/// `script`.
fn answered(desk: &Desk, answer: &str) -> Option<(String, bool)> {
    if Command::new("script").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "CI must have script(1), of bsdutils");
        eprintln!("skipped: no script(1) here");
        return None;
    }
    let line = format!("exec '{BINARY}' --color never init --client codex");
    let mut script = Command::new("script");
    script.args(["-qefc", &line, "/dev/null"]).current_dir(desk.project());
    script.env("HOME", desk.root.join("home")).env("XDG_STATE_HOME", desk.root.join("state"));
    for variable in ["ISSUES_FILE", "RUST_LOG", "XDG_CONFIG_HOME", "PORT"] {
        script.env_remove(variable);
    }
    let mut child = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let screen = Log::of(child.stdout.take().unwrap());
    screen.wait_for("Write this? [y/N] ");
    let mut keyboard = child.stdin.take().unwrap();
    keyboard.write_all(format!("{answer}\n").as_bytes()).unwrap();
    let is_done = wait(&mut child).success();
    Some((screen.whole(), is_done))
}

#[test]
fn nothing_is_written_unless_somebody_says_yes() {
    let desk = Desk::new();
    let before = desk.tree();
    for answer in ["", "n", "maybe"] {
        let Some((screen, is_done)) = answered(&desk, answer) else { return };
        assert!(screen.contains("nothing was written") && !is_done, "{screen}");
        assert!(desk.tree() == before, "{answer:?}");
    }
    let Some((screen, is_done)) = answered(&desk, "y") else { return };
    assert!(is_done && screen.contains("done: 7 files"), "{screen}");
    assert!(desk.has(".codex/config.toml"));
}
