//! Generated texts: help, completions and the manual.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use agent_issue_tracker::config::Arguments;
use clap::{Arg, CommandFactory};

use super::{Desk, Run, assert_written};
use crate::support::documents::expect_in_file;
use crate::support::files::{issue_json, names};
use crate::support::{BINARY, ait_through, skip, wait};

fn commands() -> Vec<String> {
    let line = Arguments::command();
    line.get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(|command| command.get_name().to_owned())
        .collect()
}

#[test]
fn help_of_each_command_has_examples() {
    let desk = Desk::new();
    for name in commands() {
        let help = desk.run(&[&name, "--help"]).done().stdout();
        let has_examples = help.contains("Examples:\n  ") || help.contains("Example:\n  ");
        assert!(has_examples || ["serve", "mcp"].contains(&&*name), "{name}");
        insta::assert_snapshot!(format!("help_{name}"), help);
    }
    let short = desk.run(&["-h"]).done().stdout();
    assert!(short.lines().count() <= 24, "it does not fit on a screen");
    for asked in ["help", "--help", "?"] {
        assert_eq!(desk.run(&[asked]).done().stdout(), short, "{asked}");
    }
    insta::assert_snapshot!("help_short", short);
    insta::assert_snapshot!("help_all", desk.run(&["help", "--all"]).done().stdout());
    assert!(names(desk.path()).is_empty());
}

#[test]
fn help_fits_into_40_columns_except_for_unbreakable_words() {
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
fn completions_of_each_shell_contain_every_command() {
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

/// Returns the completions of bash for a word of a command line, or `None` without bash.
fn complete_in_bash(desk: &Desk, words: &str, at: usize) -> Option<String> {
    let script = desk.run(&["completions", "bash"]).done().stdout();
    fs::write(desk.path().join("ait.bash"), script).unwrap();
    // The script calls `ait`.
    let line = format!(
        "ait() {{ '{BINARY}' \"$@\"; }}; source ./ait.bash && complete -p ait >/dev/null && \
         COMP_WORDS=({words}) COMP_CWORD={at} && \
         _ait ait \"${{COMP_WORDS[{at}]}}\" \"${{COMP_WORDS[{at}-1]}}\" && echo \"${{COMPREPLY[@]}}\""
    );
    let mut bash = ait_through("bash", desk.path());
    bash.args(["--norc", "-c", &line]);
    let Ok(output) = bash.output() else { return None };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

#[test]
fn bash_completes_ids_of_issues() {
    let desk = Desk::with(&[
        issue_json("3f2a9c1e-0000-4000-8000-000000000001", "one", "created"),
        issue_json("3f2a9c1e-7000-4000-8000-000000000002", "two words", "created"),
        issue_json("8d1f02aa-0000-4000-8000-000000000003", "three", "closed"),
    ]);
    let Some(first) = complete_in_bash(&desk, "ait show ''", 2) else {
        skip("bash");
        return;
    };
    let complete = |words: &str, at| complete_in_bash(&desk, words, at).unwrap();
    let sorted = |words: String| {
        let mut words: Vec<_> = words.split(' ').map(str::to_owned).collect();
        words.sort();
        words.join(" ")
    };
    let open = "3f2a9c1e-0 3f2a9c1e-7";
    assert_eq!(sorted(first), open);
    for command in ["return", "complete", "close", "claim", "edit", "link", "tree"] {
        assert_eq!(sorted(complete(&format!("ait {command} 3f"), 2)), open);
    }
    assert_eq!(complete("ait show 8d", 2), "8d1f02aa");
    assert_eq!(complete("ait link 3f2a9c1e-0 b", 3), "blocked-by");
    assert_eq!(complete("ait link 3f2a9c1e-0 blocked-by 8d", 4), "8d1f02aa");
    assert_eq!(complete("ait add t --parent 8d", 4), "8d1f02aa");
    assert_eq!(complete("ait edit 8d1f02aa --blocked-by 8d", 4), "8d1f02aa");
    assert_eq!(sorted(complete("ait log --issue ''", 3)), open);
    assert_eq!(complete("ait close 3f2a9c1e-0 --mess", 3), "--message");
    assert_eq!(complete("ait show xyz", 2), "");
    desk.run(&["--file", "my other.json", "add", "elsewhere"]).done();
    let elsewhere = desk.run(&["--file", "my other.json", "issue-ids"]).done().stdout();
    for (words, at) in [
        // bash keeps the quotes of typed words.
        ("ait --file \"'my other.json'\" show ''", 4),
        ("ait --file 'my\\ other.json' show ''", 4),
        ("ait --file = '\"my other.json\"' show ''", 5),
        ("ait '--file=my other.json' show ''", 3),
        ("ait show --file 'my other.json' ''", 4),
    ] {
        let offered = complete(words, at);
        assert!(
            offered.contains(elsewhere.trim()) && !offered.contains("3f2a"),
            "{words}: {offered}"
        );
    }
    assert!(!complete("ait --file nothing.json show ''", 4).contains("3f2a"));
    assert_eq!(complete("ait issue", 1), "");
}

#[test]
fn names_of_saved_queries_are_completed() {
    let desk = Desk::new();
    let queries = "[queries]\ntriage = \"is:open returns:>1\"\nmine = \"holder:dev-1\"\n";
    fs::write(desk.path().join("ait.toml"), queries).unwrap();
    let listed = |begun: &str| desk.run(&["issue-ids", "--titles", "--", begun]).done().stdout();
    assert_eq!(listed("@tr"), "@triage\tis:open returns:>1\n");
    assert_eq!(listed("@").lines().count(), 2);
    assert_eq!(listed("@x"), "");
    for command in ["list", "search", "bulk"] {
        let Some(offered) = complete_in_bash(&desk, &format!("ait {command} @m"), 2) else {
            return skip("bash");
        };
        assert_eq!(offered, "@mine");
    }
}

/// Returns a queue with labels and agents, one of which has a name that a shell would run.
fn labelled() -> Desk {
    let desk = Desk::new();
    desk.run(&["add", "one", "-l", "ui,area:db", "--assign", "dev-1", "-a", "Ann Lee"]).done();
    desk.run(&["add", "two", "-l", "urgent", "-a", "$(touch made)"]).done();
    desk.run(&["add", "three", "-a", "ann"]).done();
    desk
}

#[test]
fn labels_and_agents_are_completed() {
    let desk = labelled();
    let listed = |kind: &str, begun: &str| {
        let run = desk.run(&["issue-ids", "--titles", "--kind", kind, "--", begun]);
        run.done().stdout().lines().map(str::to_owned).collect::<Vec<_>>().join(" ")
    };
    for (begun, offered) in [
        ("", "area:db ui urgent"),
        ("u", "ui urgent"),
        ("+u", "+ui +urgent"),
        ("-a", "-area:db"),
        ("ui,-ur", "ui,-urgent"),
        ("x", ""),
    ] {
        assert_eq!(listed("labels", begun), offered, "{begun}");
    }
    assert_eq!((listed("agents", ""), listed("agents", "d")), ("ann dev-1".into(), "dev-1".into()));
    for (words, at, offered) in [
        ("ait list -l u", 3, "ui urgent"),
        ("ait add t --label area", 4, "area:db"),
        ("ait list --assignee d", 3, "dev-1"),
        ("ait list --agent ''", 3, "ann dev-1"),
        ("ait log -a a", 3, "ann"),
        ("ait init --preset t", 3, "team"),
        ("ait --file /nowhere/x.json list -l u", 5, ""),
    ] {
        let Some(given) = complete_in_bash(&desk, words, at) else { return skip("bash") };
        assert_eq!(given, offered, "{words}");
    }
    assert!(!desk.path().join("made").exists());
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        let script = desk.run(&["completions", shell]).done().stdout();
        assert!(!script.contains("AIT_LABELS") && !script.contains("AIT_AGENTS"), "{shell}");
    }
}

#[test]
fn values_of_query_terms_are_completed() {
    let desk = labelled();
    let ids = desk.run(&["issue-ids"]).done().stdout();
    let id = ids.lines().next().unwrap();
    for (begun, offered) in [
        ("label:u", "label:ui label:urgent"),
        ("-label:area", "-label:area:db"),
        ("label:ui,ur", "label:ui,urgent"),
        ("assignee:", "assignee:ann assignee:dev-1"),
        ("author:a", "author:ann"),
        ("is:r", "is:ready"),
        ("type:b", "type:bug"),
        ("status:in", "status:in_progress status:in_review"),
        (&format!("parent:{}", &id[..6]), &format!("parent:{id}")),
        ("created:", ""),
        ("nothing:u", ""),
    ] {
        let run = desk.run(&["issue-ids", "--", begun]);
        assert_eq!(run.done().stdout().lines().collect::<Vec<_>>().join(" "), offered, "{begun}");
    }
}

/// Types lines in a shell at a terminal, each with a tab at its end, and returns what the shell makes of them.
///
/// `None` means that the shell or `script(1)` is not installed.
fn typed_in(shell: &str, rc: &str, lines: &[&str], desk: &Desk) -> Option<Vec<String>> {
    let (program, _) = shell.split_once(' ')?;
    if [program, "script"].iter().any(|one| Command::new(one).arg("--version").output().is_err()) {
        skip(shell);
        return None;
    }
    let script = desk.run(&["completions", program]).done().stdout();
    fs::write(desk.path().join("_ait"), script).unwrap();
    fs::write(desk.path().join("rc"), format!("ait() {{ '{BINARY}' \"$@\"; }}\n{rc}")).unwrap();
    let mut terminal = ait_through("script", desk.path());
    terminal.args(["-qec", shell, "/dev/null"]).env("TERM", "xterm");
    let mut terminal = terminal.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let typed: String = lines.iter().map(|line| format!("{line}\t\x14")).collect();
    let mut keyboard = terminal.stdin.take().unwrap();
    keyboard.write_all(format!(". ./rc\n{typed}exit\n").as_bytes()).unwrap();
    assert!(wait(&mut terminal).success());
    let made = fs::read_to_string(desk.path().join("made")).unwrap();
    Some(made.lines().map(|line| line.trim_end().to_owned()).collect())
}

/// Ctrl-T writes the line to a file and empties it.
const ZSH: (&str, &str) = (
    "zsh -f -i",
    "fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D
     write() { print -r -- \"$BUFFER\" >> made; BUFFER= }; zle -N write; bindkey '^T' write",
);
const BASH: (&str, &str) = (
    "bash --norc -i",
    ". ./_ait; write() { echo \"$READLINE_LINE\" >> made; READLINE_LINE=; }
     bind -x '\"\\C-t\": write'",
);

#[test]
fn shells_at_a_terminal_complete_ids_labels_agents_and_query_terms() {
    let lines = [
        ("ait list --label ur", "ait list --label urgent"),
        ("ait add t -l are", "ait add t -l area:db"),
        ("ait list --assignee d", "ait list --assignee dev-1"),
        ("ait list label:ur", "ait list label:urgent"),
        ("ait list is:open label:area:d", "ait list is:open label:area:db"),
        ("ait search assignee:d", "ait search assignee:dev-1"),
        ("ait list type:b", "ait list type:bug"),
        ("ait show 3f2a9c1e-7", "ait show 3f2a9c1e-7"),
        // Long enough that the random id of the other issue does not begin so, too.
        ("ait show 8d1f02", "ait show 8d1f02aa"),
        ("ait show 8d1f02aa --js", "ait show 8d1f02aa --json"),
    ];
    for (shell, rc) in [ZSH, BASH] {
        let desk = Desk::with(&[
            issue_json("3f2a9c1e-7000-4000-8000-000000000002", "a title: with words", "created"),
            issue_json("8d1f02aa-0000-4000-8000-000000000003", "three", "created"),
        ]);
        desk.run(&["add", "one", "-l", "ui,area:db,urgent", "--assign", "dev-1"]).done();
        let typed = lines.map(|(typed, _)| typed);
        let Some(made) = typed_in(shell, rc, &typed, &desk) else { continue };
        assert_eq!(made, lines.map(|(_, made)| made), "{shell}");
    }
}

#[test]
fn fish_completes_labels_agents_and_query_terms() {
    let desk = labelled();
    let script = desk.run(&["completions", "fish"]).done().stdout();
    let complete = |words: &str| {
        let line = format!(
            "function ait; '{BINARY}' $argv; end; source ./ait.fish; complete -C '{words}'"
        );
        fs::write(desk.path().join("ait.fish"), &script).unwrap();
        let output = ait_through("fish", desk.path()).args(["--no-config", "-c", &line]).output();
        let text = String::from_utf8(output.ok()?.stdout).unwrap();
        let offered = text.lines().map(|line| line.split('\t').next().unwrap());
        Some(offered.collect::<Vec<_>>().join(" "))
    };
    for (words, offered) in [
        ("ait list --label u", "ui urgent"),
        ("ait list -l ar", "area:db"),
        ("ait edit 3f -l +u", "+ui +urgent"),
        ("ait list --assignee ", "ann dev-1"),
        ("ait list is:open label:u", "label:ui label:urgent"),
        ("ait search assignee:d", "assignee:dev-1"),
    ] {
        let Some(given) = complete(words) else { return skip("fish") };
        assert_eq!(given, offered, "{words}");
    }
}

#[test]
fn scripts_for_zsh_and_fish_list_ids_with_titles() {
    let desk = Desk::new();
    let issue = desk.add("a title: with words");
    let listed = desk.run(&["issue-ids", "--titles", "--", ""]).done().stdout();
    assert_eq!(listed, format!("{}\ta title: with words\n", &issue[..8]));
    let zsh = desk.run(&["completions", "zsh"]).done().stdout();
    assert!(zsh.starts_with("#compdef ait\n"), "{zsh}");
    assert_eq!(zsh.matches(":_ait_issue_ids'").count(), 48, "{zsh}");
    let fish = desk.run(&["completions", "fish"]).done().stdout();
    for command in
        ["show", "claim", "comment", "park", "tree", "return", "complete", "close", "log"]
    {
        let is_of = |line: &&str| line.contains(&format!("using_subcommand {command}\""));
        let calls = fish.lines().filter(is_of).filter(|line| line.contains("(__ait_issue_ids)"));
        assert_eq!(calls.count(), 1, "{command}: {fish}");
    }
    for call in
        ["function __ait_issue_ids", "ait $store issue-ids --titles $argv -- (commandline -ct)"]
    {
        assert_eq!(fish.matches(call).count(), 1, "{fish}");
    }
    assert_eq!(zsh.matches("ait $store issue-ids --titles").count(), 1, "{zsh}");
    for script in [zsh, fish] {
        assert!(!script.contains("AIT_ISSUE_IDS"), "{script}");
    }
}

#[test]
fn bash_completes_commands_options_and_values() {
    let desk = Desk::new();
    let complete = |words: &str, at| complete_in_bash(&desk, words, at);
    let Some(first) = complete("ait comp", 1) else {
        skip("bash");
        return;
    };
    assert_eq!(first, "complete completions");
    assert_eq!(complete("ait list --sort ''", 3).unwrap(), "changed filed priority title");
    assert_eq!(complete("ait add -c b", 3).unwrap(), "bug");
    assert_eq!(complete("ait board --w", 2).unwrap(), "--watch");
    assert_eq!(complete("ait close --fi", 2).unwrap(), "--file");
}

#[test]
fn manual_has_a_valid_page_for_each_command() {
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
    assert!(desk.run(&["man", "nothing"]).failed(1).contains("no such command: "));
    for page in names(&pages) {
        let mut groff = Command::new("groff");
        let groff = groff.args(["-man", "-Tascii", "-ww", "-z", &page]).current_dir(&pages);
        let Ok(output) = groff.output() else {
            skip("groff");
            return;
        };
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{page}");
    }
}

/// Returns the rows that describe a command, or the commands below it, in `docs/cli.md`.
fn rows(parents: &str, command: &clap::Command) -> String {
    let name = format!("{parents} {}", command.get_name());
    let below = command.get_subcommands().filter(|below| !below.is_hide_set());
    let below: String = below.map(|below| rows(&name, below)).collect();
    if command.is_subcommand_required_set() {
        return below;
    }
    let value = |argument: &Arg| {
        if argument.is_required_set() {
            format!(" {}", argument.get_value_names().unwrap_or_default()[0])
        } else {
            format!(" [{}]", argument.get_value_names().unwrap_or_default()[0])
        }
    };
    let values: String = command.get_positionals().map(value).collect();
    let aliases: String =
        command.get_visible_aliases().map(|alias| format!(", `{parents} {alias}`")).collect();
    let option = |argument: &Arg| {
        let long = argument.get_long()?;
        let is_listed = long != "json" && !argument.is_global_set() && !argument.is_hide_set();
        let short = argument.get_short().map(|short| format!("`-{short}`/"));
        is_listed.then(|| format!("{}`--{long}`", short.unwrap_or_default()))
    };
    let options: Vec<_> = command.get_arguments().filter_map(option).collect();
    let options = match name.as_str() {
        "ait serve" | "ait mcp" => {
            "the [settings](configuration.md) of a server, as for `ait`".to_owned()
        }
        _ => options.join(", "),
    };
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    format!("| `{name}`{values}{aliases} | {about} | {options} |\n{below}")
}

#[test]
fn documentation_lists_every_command_with_its_options() {
    let line = Arguments::command();
    let listed = line.get_subcommands().filter(|command| !command.is_hide_set());
    let table: String = listed.map(|command| rows("ait", command)).collect();
    let begin = "| command | what it does | options |\n|---|---|---|\n";
    expect_in_file("docs/cli.md", begin, "\n\n", table.trim_end());
}
