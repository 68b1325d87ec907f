//! What the program tells of itself: help, completions and the manual.

use std::fs;
use std::process::Command;

use agent_issue_tracker::config::Arguments;
use clap::CommandFactory;

use super::{Desk, Run, assert_written};
use crate::support::files::names;

fn commands() -> Vec<String> {
    let line = Arguments::command();
    line.get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(|command| command.get_name().to_owned())
        .collect()
}

#[test]
fn the_help_of_each_command_is_for_people_and_has_examples() {
    let desk = Desk::new();
    for name in commands() {
        let help = desk.run(&[&name, "--help"]).done().stdout();
        let has_examples = help.contains("Examples:\n  ") || help.contains("Example:\n  ");
        assert!(has_examples || name == "serve", "{name}");
        insta::assert_snapshot!(format!("help_{name}"), help);
    }
    insta::assert_snapshot!("help_short", desk.run(&["-h"]).done().stdout());
    assert!(names(desk.path()).is_empty());
}

#[test]
fn help_fits_into_40_columns_except_for_what_cannot_be_broken() {
    let desk = Desk::new();
    for name in commands() {
        let help = Run(desk.command(&[&name, "--help"]).env("COLUMNS", "40").output().unwrap());
        for line in help.done().stdout().lines() {
            let is_one_word = line.split_whitespace().count() <= 1;
            let is_kept = is_one_word || line.starts_with("Usage: ");
            assert!(line.chars().count() <= 40 || is_kept, "{name}: {line:?}");
        }
    }
}

#[test]
fn each_shell_gets_completions_that_know_every_command() {
    let desk = Desk::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = desk.run(&["completions", shell]).done().stdout();
        for name in commands() {
            assert!(script.contains(&name), "{shell}: {name}");
        }
    }
    assert!(desk.run(&["completions", "csh"]).failed(2).contains("powershell"));
    assert!(names(desk.path()).is_empty());
}

#[test]
fn bash_completes_commands_options_and_words() {
    let desk = Desk::new();
    let script = desk.run(&["completions", "bash"]).done().stdout();
    fs::write(desk.path().join("ait.bash"), script).unwrap();
    let complete = |words: &str, at: usize| {
        let line = format!(
            "source ./ait.bash && complete -p ait >/dev/null && COMP_WORDS=({words}) \
             COMP_CWORD={at} && _ait ait \"${{COMP_WORDS[{at}]}}\" \"${{COMP_WORDS[{at}-1]}}\" && \
             echo \"${{COMPREPLY[@]}}\""
        );
        let mut bash = Command::new("bash");
        bash.args(["--norc", "-c", &line]).current_dir(desk.path());
        let Ok(output) = bash.output() else { return None };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(String::from_utf8(output.stdout).unwrap().trim().to_owned())
    };
    let Some(first) = complete("ait comp", 1) else {
        eprintln!("skipped: no bash here");
        return;
    };
    assert_eq!(first, "complete completions");
    assert_eq!(complete("ait list --sort ''", 3).unwrap(), "changed filed title");
    assert_eq!(complete("ait add -c b", 3).unwrap(), "bug");
    assert_eq!(complete("ait board --w", 2).unwrap(), "--watch");
    assert_eq!(complete("ait close --fi", 2).unwrap(), "--file");
}

#[test]
fn the_manual_has_a_page_for_each_command_and_keeps_the_lines_of_examples() {
    let desk = Desk::new();
    let whole = desk.run(&["man"]).done().stdout();
    assert!(whole.starts_with(".ie") || whole.contains(".TH ait 1"), "{whole}");
    assert!(whole.contains(".SH NOTES\n.nf\n"), "{whole}");
    desk.run(&["man", "--dir", "pages/man1"]).done();
    let mut expected: Vec<_> = commands().iter().map(|name| format!("ait-{name}.1")).collect();
    expected.push("ait.1".to_owned());
    expected.sort();
    let pages = desk.path().join("pages/man1");
    assert_eq!(names(&pages), expected);
    assert_eq!(fs::read_to_string(pages.join("ait.1")).unwrap(), whole);
    let page = desk.run(&["man", "list"]).done().stdout();
    assert_eq!(fs::read_to_string(pages.join("ait-list.1")).unwrap(), page);
    assert_written!("man_next", desk.run(&["man", "next"]).done().stdout());
    assert!(desk.run(&["man", "nothing"]).failed(1).contains("no command \"nothing\""));
    for page in names(&pages) {
        let mut groff = Command::new("groff");
        let groff = groff.args(["-man", "-Tascii", "-ww", "-z", &page]).current_dir(&pages);
        let Ok(output) = groff.output() else {
            eprintln!("skipped: no groff here");
            return;
        };
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{page}");
    }
}
