//! Commands in a terminal, which script(1) provides.

use std::io::Write;
use std::process::{ChildStdin, Command, Stdio};

use serde_json::json;

use super::{Desk, Running, assert_written};
use crate::support::files::{id, issue_json};
use crate::support::{BINARY, Client, Log, until, wait};

/// A terminal with its screen and its keyboard.
struct Terminal {
    child: Running,
    screen: Log,
    keyboard: ChildStdin,
}

impl Terminal {
    /// Runs a command in a terminal of this size. Returns `None` without script(1).
    fn run(desk: &Desk, size: (u16, u16), command: &str) -> Option<Self> {
        Self::run_line(desk, size, &format!("exec '{BINARY}' {command}"))
    }

    /// Runs a shell line in a terminal of this size. Returns `None` without script(1).
    fn run_line(desk: &Desk, (columns, rows): (u16, u16), line: &str) -> Option<Self> {
        if Command::new("script").arg("--version").output().is_err() {
            crate::support::skip("no script(1) here");
            return None;
        }
        let line = format!("stty cols {columns} rows {rows}; {line}");
        let mut script = Command::new("script");
        script.args(["-qefc", &line, "/dev/null"]).current_dir(desk.path());
        script.envs([("TZ", "UTC"), ("AIT_AGENT", "tester"), ("TERM", "xterm-256color")]);
        // Otherwise `script` starts the user's shell, and shells differ in the signals that end them.
        script.env("SHELL", "/bin/sh");
        for variable in ["ISSUES_FILE", "RUST_LOG", "NO_COLOR", "COLUMNS", "CLICOLOR_FORCE"] {
            script.env_remove(variable);
        }
        script.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = script.spawn().unwrap();
        let screen = Log::of(child.stdout.take().unwrap());
        // Stdin stays open: at its end, `script` would close the terminal.
        let keyboard = child.stdin.take().unwrap();
        Some(Self { child: Running(child), screen, keyboard })
    }

    /// Waits for the command to end. Returns its whole output.
    fn whole(mut self) -> String {
        assert!(wait(&mut self.child.0).success());
        self.screen.whole().replace("\r\n", "\n")
    }

    fn press(&mut self, keys: &[u8]) {
        self.keyboard.write_all(keys).unwrap();
    }

    fn press_ctrl_c(&mut self) {
        self.press(b"\x03");
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
    // An import writes the issues to the log.
    std::fs::remove_file(desk.path().join("issues.json")).unwrap();
    let lines: String = issues.iter().map(|issue| issue.to_string() + "\n").collect();
    std::fs::write(desk.path().join("all.jsonl"), lines).unwrap();
    desk.run(&["import", "all.jsonl"]).ends_with(0);
    desk
}

/// Returns the width of a line in columns, without its colours.
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
fn board_marks_unclaimable_issues_at_any_width() {
    let desk = Desk::new();
    let (first, blocked, parked) = (desk.add("first"), desk.add("second"), desk.add("third"));
    desk.run(&["edit", &blocked, "-p", "0", "--blocked-by", &first]).done();
    desk.run(&["park", &parked, "-m", "m"]).done();
    let mut client = Client::begin(desk.command(&[]).env("AIT_CLAIM_GRACE", "10m"));
    client.call("get_next_issue", json!({ "agent": "an agent with a long name" })).ok();
    client.signal("KILL");
    client.wait();
    let (blocked, parked) = (&blocked[..8], &parked[..8]);
    for (width, expected) in [
        (100, [&*format!("{blocked} p0 bug"), "blocked ", "parked ", "gone: an agent"]),
        (76, [&*format!("{blocked} p0 bug"), "blocked ", "parked ", "gone: an"]),
        (
            40,
            [
                &*format!("{blocked} p0 blocked  second"),
                &format!("{parked} parked  third"),
                "",
                "gone: an agent",
            ],
        ),
        (
            30,
            [
                &*format!("{blocked} p0 blocked  second"),
                &format!("{parked} parked  third"),
                "",
                "gone: an",
            ],
        ),
    ] {
        let Some(terminal) = Terminal::run(&desk, (width, 40), "board --color never") else {
            return;
        };
        let board = terminal.whole();
        for expected in expected {
            assert!(board.contains(expected), "{expected:?} is missing at {width}:\n{board}");
        }
    }
}

#[test]
fn listings_fit_into_40_columns() {
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
        // Events of today show their time.
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
fn list_on_narrow_terminals_leaves_room_for_the_title() {
    let desk = desk();
    let heads = [
        (50, "ID STATUS TITLE"),
        (60, "ID STATUS HELD BY TITLE"),
        (80, "ID STATUS HELD BY TITLE"),
        (90, "ID STATUS HELD BY CHANGED TITLE"),
        (100, "ID STATUS KIND HELD BY CHANGED TITLE"),
    ];
    for (width, expected) in heads {
        let Some(terminal) = Terminal::run(&desk, (width, 20), "--color never list") else {
            return;
        };
        let text = terminal.whole();
        let head: Vec<_> = text.lines().next().unwrap().split_whitespace().collect();
        assert_eq!(head.join(" "), expected, "{text}");
    }
}

#[test]
fn board_columns_are_side_by_side_on_wide_terminals() {
    let desk = desk();
    let Some(terminal) = Terminal::run(&desk, (80, 24), "--color never board") else { return };
    let text = terminal.whole();
    assert!(text.lines().count() < 24, "{text}");
    assert!(text.lines().all(|line| columns(line) <= 80), "{text}");
    assert_written!("board_wide", text);
}

#[test]
fn output_is_coloured_on_terminals_unless_disabled() {
    let desk = desk();
    let Some(coloured) = Terminal::run(&desk, (80, 24), "list -n 2") else { return };
    assert!(coloured.whole().contains('\u{1b}'));
    let mut plain = Terminal::run(&desk, (80, 24), "list -n 2 --color never").unwrap();
    plain.press_ctrl_c();
    assert!(!plain.screen.whole().contains('\u{1b}'));
}

#[test]
fn board_watch_restores_the_terminal_on_exit() {
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
fn board_watch_hides_typed_keys_and_ends_on_q_esc_and_signals() {
    let desk = desk();
    // An arrow key begins with Esc.
    let typed = b"typed\x1b[A";
    let mut closed = 1;
    for (keys, signal) in [
        (&b"q"[..], None),
        (b"\x1b", None),
        (b"\x1c", None),
        (b"", Some("TERM")),
        (b"", Some("HUP")),
    ] {
        // Ctrl-\ reaches the shell, too.
        let line = format!(
            "trap : QUIT; sh -c 'echo $$ > pid; exec \"{BINARY}\" board --watch'; \
             echo exit $?; stty -a; echo done"
        );
        let Some(mut terminal) = Terminal::run_line(&desk, (80, 24), &line) else { return };
        terminal.screen.wait_for("rejected");
        terminal.press(typed);
        // Waits for the frame after the keys.
        closed += 1;
        desk.run(&["close", &desk.add("t"), "-m", "m"]).done();
        terminal.screen.wait_for(&format!("{closed} closed"));
        match signal {
            None => terminal.press(keys),
            Some(signal) => {
                let pid = std::fs::read_to_string(desk.path().join("pid")).unwrap();
                let kill = format!("kill -{signal} {pid}");
                assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
            }
        }
        let text = terminal.screen.wait_for("done");
        assert!(!text.contains("typed\u{1b}") && !text.contains("^["), "{text:?}");
        let (_, after) = text.split_once("\u{1b}[?1049l").unwrap();
        assert!(after.starts_with("exit 0\r\n"), "{after:?}");
        assert!(after.contains(" icanon") && after.contains(" echo "), "{after:?}");
    }
}

#[test]
fn board_watch_ends_when_its_terminal_is_gone() {
    let desk = desk();
    // Only the shell gets the hang-up signal.
    let line = format!("setsid '{BINARY}' board --watch & echo $! > pid; sleep 100");
    let Some(mut terminal) = Terminal::run_line(&desk, (80, 24), &line) else { return };
    terminal.screen.wait_for("rejected");
    let pid = std::fs::read_to_string(desk.path().join("pid")).unwrap();
    terminal.child.0.kill().unwrap();
    let is_alive = || {
        let kill = format!("kill -0 {pid}");
        Command::new("sh").args(["-c", &kill]).stderr(Stdio::null()).status().unwrap().success()
    };
    until("the board has ended", || !is_alive());
}

#[test]
fn lines_break_at_words_in_60_columns() {
    let desk = desk();
    for command in ["status", "status --old-after 1s", "doctor", "list", "board"] {
        let Some(mut terminal) = Terminal::run(&desk, (60, 60), command) else { return };
        wait(&mut terminal.child.0);
        let text = terminal.screen.whole().replace("\r\n", "\n");
        assert!(text.lines().count() > 2, "{command}: {text}");
        for line in text.lines().filter(|line| !line.contains("shows more")) {
            let is_one_word = line.split_whitespace().count() == 1;
            assert!(columns(line) <= 60 || is_one_word, "{command}: {line:?}");
        }
    }
}

/// Issues that match only after the question, and changes that the agent makes after it, stay as they are.
#[test]
fn confirmation_applies_only_to_the_issues_shown() {
    let desk = Desk::new();
    let (first, second, done) = (desk.add("slow start"), desk.add("slow stop"), desk.add("slow"));
    desk.run(&["edit", &done, "-p", "1"]).done();
    let priority = |id: &str| desk.run(&["show", id, "--json"]).done().json()["priority"].clone();
    let Some(mut terminal) = Terminal::run(&desk, (80, 24), "bulk slow -p 1 -a rogue") else {
        return;
    };
    terminal.screen.wait_for("Change 2 issues? [y/N] ");
    let late = desk.add("slow again");
    desk.run(&["edit", &done, "-p", "4"]).done();
    terminal.press(b"y\n");
    let said = terminal.whole();
    assert!(said.contains("changed 2 issues"), "{said}");
    assert_eq!([&first, &second].map(|id| priority(id)), [1, 1]);
    assert_eq!((priority(&late), priority(&done)), (json!(null), json!(4)));

    let mut terminal = Terminal::run(&desk, (80, 24), "undo --by rogue --since 1h").unwrap();
    terminal.screen.wait_for("Undo this in 2 issues? [y/N] ");
    desk.run(&["edit", &late, "-p", "0", "-a", "rogue"]).done();
    terminal.press(b"y\n");
    let said = terminal.whole();
    assert!(said.contains("takes that back"), "{said}");
    assert_eq!([&first, &second].map(|id| priority(id)), [json!(null), json!(null)]);
    assert_eq!(priority(&late), 0);
}

#[test]
fn log_follow_ends_on_ctrl_c() {
    let desk = desk();
    let Some(mut terminal) = Terminal::run(&desk, (80, 24), "log -f -n 1") else { return };
    terminal.screen.wait_for("one of many");
    desk.add("while following");
    terminal.screen.wait_for("while following");
    terminal.press_ctrl_c();
    assert!(wait(&mut terminal.child.0).success());
}

#[test]
fn import_prints_full_reasons_for_at_most_20_rows() {
    let desk = Desk::new();
    let line = |number| issue_json(&id(number), "", "created").to_string() + "\n";
    std::fs::write(desk.path().join("many.jsonl"), (0..25).map(line).collect::<String>()).unwrap();
    let Some(mut terminal) = Terminal::run(&desk, (40, 24), "import many.jsonl") else { return };
    assert!(!wait(&mut terminal.child.0).success());
    let screen = terminal.screen.whole().replace("\r\n", "\n");
    assert_eq!(screen.matches("\n  title is blank: give 1 to 500 characters\n").count(), 20);
    assert!(screen.contains("and 5 more: --json shows all"), "{screen}");
    let rows = screen.lines().filter(|line| line.contains("refused") && line.contains("0000"));
    assert!(rows.clone().count() == 20 && rows.clone().all(|row| columns(row) <= 40), "{screen}");
}

impl Terminal {
    /// Presses keys and waits until a later frame of a full-screen view shows a text. Returns the frame.
    #[track_caller]
    fn press_for(&mut self, keys: impl AsRef<[u8]>, text: &str) -> String {
        const END_OF_FRAME: &str = "\u{1b}[?2026l";
        let before = self.screen.text().len();
        self.press(keys.as_ref());
        let frame = || {
            let drawn = self.screen.text().split_off(before);
            drawn
                .rsplit(END_OF_FRAME)
                .nth(1)
                .filter(|frame| frame.contains(text))
                .map(str::to_owned)
        };
        until(&format!("a frame with {text:?}"), || frame().is_some());
        frame().unwrap_or_default()
    }
}

#[test]
fn the_queue_is_shown_and_changed_on_the_whole_terminal() {
    let desk = Desk::new();
    let (asked, other) = (desk.add("Which database"), desk.add("Second issue"));
    desk.run(&["claim", &asked, "--agent", "dev"]).done();
    desk.run(&["ask", &asked, "Which?", "--option", "SQLite", "-a", "dev"]).done();
    let Some(mut terminal) = Terminal::run(&desk, (80, 24), "tui") else { return };
    let state = |id: &str| desk.run(&["show", id, "--json"]).done().json();
    terminal.screen.wait_for("1 to 2 of 2");
    // Another process files an issue, which comes first; the selected one stays selected.
    desk.add("Third issue");
    terminal.screen.wait_for("1 to 3 of 3");
    let frame = terminal.press_for("z", "that key does nothing here");
    assert!(frame.contains("as tester"), "{frame}");
    assert!(frame.contains(&format!("\u{1b}[7m> {}", &asked[..8])), "{frame}");
    terminal.press_for("?", "answer its question");
    terminal.press_for("b", "CREATED");
    terminal.press_for("c", "select an issue in the list first");
    terminal.press_for("\u{1b}", "1 to 3 of 3");
    terminal.press_for("\r", "asked by dev: Which?");
    terminal.press_for("a", &format!("answer {}: ", &asked[..8]));
    terminal.press_for("1\r", &format!("{} is created: Question answered", &asked[..8]));
    assert_eq!(state(&asked)["comments"][1]["text"], "SQLite");
    terminal.press_for("a", "has no open question");

    terminal.press_for("/", "is:open\u{1b}[7m");
    terminal.press_for([0x7f; 7], "list: \u{1b}[0m\u{1b}[7m");
    terminal.press_for("lable:ui\r", "there is no key lable");
    terminal.press_for([0x7f; 8], "list: \u{1b}[0m\u{1b}[7m");
    terminal.press_for("second\r", "1 to 1 of 1");
    terminal.press_for("c", &format!("{} is in progress", &other[..8]));
    terminal.press_for("\r", "held by tester");
    terminal.press_for("m", "comment on ");
    terminal.press_for(" \r", "blank");
    terminal.press_for("\u{1b}", "nothing was changed");
    // Lines of a pasted text are neither keys nor ends of a text.
    let pasted = "\u{1b}[200~x\rbecause\rq\u{1b}[201~";
    terminal.press_for(pasted, "that key does nothing here");
    terminal.press_for("m", "comment on ");
    terminal.press_for(pasted, "x because q\u{1b}[7m");
    terminal.press_for("\u{1b}", "nothing was changed");
    terminal.press_for("x", "because: ");
    terminal.press_for("für immer\r", &format!("{} is closed", &other[..8]));
    let closed = state(&other);
    let said = (&closed["status"], &closed["comments"][0]["text"]);
    assert_eq!(said, (&json!("closed"), &json!("für immer")));
    terminal.press_for("X", "because: ");
    terminal.press_for("no\r", "closed");
    terminal.press_for("\u{1b}", "nothing was changed");
    terminal.press(b"q");
    let text = terminal.whole();
    assert!(text.contains("\u{1b}[?1049h") && text.contains("\u{1b}[?1049l"), "{text:?}");
    assert_eq!(state(&other)["status"], "closed");
}

#[test]
fn a_long_queue_is_read_and_shown_in_pages() {
    let desk = Desk::new();
    let issues = (0..60).map(|number| issue_json(&id(number), &format!("t{number:02}"), "created"));
    let lines: String = issues.map(|issue| issue.to_string() + "\n").collect();
    std::fs::write(desk.path().join("all.jsonl"), lines).unwrap();
    desk.run(&["import", "all.jsonl"]).ends_with(0);
    let Some(mut terminal) = Terminal::run(&desk, (80, 24), "tui sort:title") else { return };
    terminal.screen.wait_for("1 to 21 of 60");
    let frame = terminal.press_for("z", "that key does nothing here");
    assert!(frame.contains("t20") && !frame.contains("t21"), "{frame}");
    terminal.press_for("\u{1b}[6~", "2 to 22 of 60");
    terminal.press_for("G", "40 to 60 of 60");
    terminal.press_for("j", "> 0000003b");
    terminal.press_for("\r", "t59");
    terminal.press_for("\u{1b}[D", "40 to 60 of 60");
    terminal.press_for("g", "1 to 21 of 60");
    terminal.press_for("\t", "ait  is:open");
    terminal.press(b"\x03");
    terminal.whole();
}

#[test]
fn the_queue_cannot_be_shown_without_a_terminal() {
    let desk = Desk::new();
    assert!(desk.run(&["tui"]).failed(1).contains("needs a terminal"));
    assert!(desk.run(&["tui", "lable:ui"]).failed(1).contains("needs a terminal"));
    let Some(terminal) = Terminal::run(&desk, (80, 24), "tui | cat") else { return };
    assert!(terminal.screen.whole().contains("needs a terminal"));
}
