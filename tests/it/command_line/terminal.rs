//! Commands in a terminal: `script` gives one to the process.

use std::io::Write;
use std::process::{ChildStdin, Command, Stdio};

use super::{Desk, Running, assert_written};
use crate::support::files::{id, issue_json};
use crate::support::{BINARY, Log, wait};

/// A terminal, and the keyboard before it.
struct Terminal {
    child: Running,
    screen: Log,
    keyboard: ChildStdin,
}

impl Terminal {
    /// Runs a command in a terminal of that size; `None` where there is no `script`.
    fn run(desk: &Desk, (columns, rows): (u16, u16), command: &str) -> Option<Self> {
        if Command::new("script").arg("--version").output().is_err() {
            assert!(std::env::var_os("CI").is_none(), "CI must have script(1), of bsdutils");
            eprintln!("skipped: no script(1) here");
            return None;
        }
        let line = format!("stty cols {columns} rows {rows}; exec '{BINARY}' {command}");
        let mut script = Command::new("script");
        script.args(["-qefc", &line, "/dev/null"]).current_dir(desk.path());
        script.envs([("TZ", "UTC"), ("AIT_AGENT", "tester"), ("TERM", "xterm-256color")]);
        for variable in ["ISSUES_FILE", "RUST_LOG", "NO_COLOR", "COLUMNS", "CLICOLOR_FORCE"] {
            script.env_remove(variable);
        }
        script.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = script.spawn().unwrap();
        let screen = Log::of(child.stdout.take().unwrap());
        // At the end of the input, `script` would end the terminal under the process.
        let keyboard = child.stdin.take().unwrap();
        Some(Self { child: Running(child), screen, keyboard })
    }

    /// Everything that a command wrote that ends by itself.
    fn whole(mut self) -> String {
        assert!(wait(&mut self.child.0).success());
        self.screen.whole().replace("\r\n", "\n")
    }

    fn press_ctrl_c(&mut self) {
        self.keyboard.write_all(b"\x03").unwrap();
    }
}

fn desk() -> Desk {
    let desk = Desk::with_one_in_each_status();
    let mut issues = crate::support::files::issues_in_file(desk.path());
    issues.push(issue_json(
        &id(7),
        "日本語のタイトルはとても長いのでここで切れる 🙂 切れる 切れる 切れる",
        "created",
    ));
    issues.extend(
        (8..30).map(|number| {
            issue_json(&id(number), "one of many with a title that goes on", "created")
        }),
    );
    // By an import, so that the log has it.
    std::fs::remove_file(desk.path().join("issues.json")).unwrap();
    let lines: String = issues.iter().map(|issue| issue.to_string() + "\n").collect();
    std::fs::write(desk.path().join("all.jsonl"), lines).unwrap();
    desk.run(&["import", "all.jsonl"]).ends_with(0);
    desk
}

/// How many columns a line takes, without its colours.
fn columns(line: &str) -> usize {
    use unicode_width::UnicodeWidthStr;
    line.replace("\u{1b}[", "\u{1}")
        .split('\u{1}')
        .enumerate()
        .map(
            |(at, part)| {
                if at == 0 { part.width() } else { part.split_once('m').unwrap().1.width() }
            },
        )
        .sum()
}

#[test]
fn what_is_listed_fits_into_40_columns() {
    let desk = desk();
    for command in ["list", "log", "board", "list --status all --sort title"] {
        let Some(terminal) = Terminal::run(&desk, (40, 20), command) else { return };
        let text = terminal.whole();
        for line in text.lines().filter(|line| !line.contains("shows more")) {
            assert!(columns(line) <= 40, "{command}: {line:?}");
        }
        if command == "board" {
            assert!(text.lines().count() < 20, "{text}");
        }
        // What was today has a time.
        let text = match command {
            "log" => {
                text.lines().map(|line| format!("{}[time]{}\n", &line[..4], &line[9..])).collect()
            }
            _ => text,
        };
        assert_written!(format!("narrow_{}", command.replace([' ', '-'], "_")), text);
    }
}

#[test]
fn the_board_stands_side_by_side_where_there_is_room() {
    let desk = desk();
    let Some(terminal) = Terminal::run(&desk, (80, 24), "--color never board") else { return };
    let text = terminal.whole();
    assert!(text.lines().count() < 24, "{text}");
    assert!(text.lines().all(|line| columns(line) <= 80), "{text}");
    assert_written!("board_wide", text);
}

#[test]
fn colours_are_for_terminals_and_can_be_forbidden() {
    let desk = desk();
    let Some(coloured) = Terminal::run(&desk, (80, 24), "list -n 2") else { return };
    assert!(coloured.whole().contains('\u{1b}'));
    let mut plain = Terminal::run(&desk, (80, 24), "list -n 2 --color never").unwrap();
    plain.press_ctrl_c();
    assert!(!plain.screen.whole().contains('\u{1b}'));
}

#[test]
fn a_watched_board_gives_the_terminal_back() {
    let desk = desk();
    let Some(mut terminal) = Terminal::run(&desk, (80, 24), "board --watch") else { return };
    let drawn = terminal.screen.wait_for("closed");
    assert!(drawn.contains("\u{1b}[?1049h") && drawn.contains("\u{1b}[?25l"), "{drawn:?}");
    assert!(drawn.find("\u{1b}[?1049h") < drawn.find("CREATED"), "{drawn:?}");
    desk.run(&["close", &id(3), "-m", "x"]).done();
    terminal.screen.wait_for("2 closed");
    terminal.press_ctrl_c();
    let status = wait(&mut terminal.child.0);
    let text = terminal.screen.whole();
    assert!(status.success(), "{status}: {text:?}");
    assert!(text.ends_with("\u{1b}[?25h\u{1b}[?1049l"), "{text:?}");
}

#[test]
fn following_in_a_terminal_ends_with_ctrl_c() {
    let desk = desk();
    let Some(mut terminal) = Terminal::run(&desk, (80, 24), "log -f -n 1") else { return };
    terminal.screen.wait_for("one of many");
    desk.add("while somebody looks");
    terminal.screen.wait_for("while somebody");
    terminal.press_ctrl_c();
    assert!(wait(&mut terminal.child.0).success());
}

#[test]
fn an_import_tells_reasons_whole_and_no_more_than_a_screenful() {
    let desk = Desk::new();
    let line = |number| issue_json(&id(number), "", "created").to_string() + "\n";
    std::fs::write(desk.path().join("many.jsonl"), (0..25).map(line).collect::<String>()).unwrap();
    let Some(mut terminal) = Terminal::run(&desk, (40, 24), "import many.jsonl") else { return };
    assert!(!wait(&mut terminal.child.0).success());
    let screen = terminal.screen.whole().replace("\r\n", "\n");
    assert_eq!(screen.matches("\n  title is blank: give 1 to 500 characters\n").count(), 20);
    assert!(screen.contains("and 5 more: --json tells all"), "{screen}");
    let rows = screen.lines().filter(|line| line.contains("refused") && line.contains("0000"));
    assert!(rows.clone().count() == 20 && rows.clone().all(|row| columns(row) <= 40), "{screen}");
}
