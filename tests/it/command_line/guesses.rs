//! What people type before they have read anything: by the habits of other programs, and in words of their own.

use std::fs;
use std::thread;

use agent_issue_tracker::cli::in_our_words;
use agent_issue_tracker::config::Arguments;
use clap::CommandFactory;

use super::{Desk, FILTERS, Run};
use crate::support::ait_through;
use crate::support::files::copy_directory;

/// A line each; those before `## More` are counted.
const GUESSES: &str = include_str!("guesses.txt");
const NAMES: [&str; 4] = ["A", "B", "C", "D"];
/// How many of them are tried at the same time.
const THREADS: usize = 2;

/// Where the guesses are tried.
struct Scene {
    desk: Desk,
    ids: Vec<String>,
}

impl Scene {
    fn new() -> Self {
        let desk = Desk::new();
        let titles = ["Login fails", "Add a dark mode", "Crash at start", "Slow search"];
        let ids = titles.iter().map(|title| desk.add(title)).collect();
        fs::write(desk.path().join("out.jsonl"), "{\"title\":\"imported\"}\n").unwrap();
        Self { desk, ids }
    }

    /// Tries a guess on a copy of the store. Returns what it means, or the error that it gets.
    fn outcome(&self, guess: &str) -> String {
        // A server would run on.
        if let Some(means) =
            self.means(guess).filter(|means| means.split(' ').nth(1) == Some("serve"))
        {
            return format!("= {means}");
        }
        let copy = Desk::new();
        copy_directory(self.desk.path(), copy.path());
        // A shell replaces the ids, and ends the line at a #.
        let script = format!("ait() {{ \"$BINARY\" \"$@\"; }}; {guess}");
        let mut command = ait_through("sh", copy.path());
        command.args(["-c", &script]).env("TZ", "UTC").env("AIT_AGENT", "tester");
        command.env("BINARY", crate::support::BINARY);
        command.envs(NAMES.into_iter().zip(&self.ids));
        let run = Run(command.stdin(std::process::Stdio::null()).output().unwrap());
        let code = run.0.status.code().unwrap();
        let (out, log) = (run.stdout(), run.stderr());
        assert!(!out.is_empty() || !log.is_empty(), "{guess}: nothing is said");
        let error =
            log.lines().find(|line| line.starts_with("error: ") || line.contains(" ERROR "));
        match error {
            Some(error) => format!("! {code} {}", error.trim_start_matches("error: ")),
            None => format!("= {}", self.means(guess).unwrap()),
        }
    }

    /// Returns the command that a guess means.
    fn means(&self, guess: &str) -> Option<String> {
        let named =
            |text: String, (name, id): (&str, &String)| text.replace(&format!("${name}"), id);
        let line = NAMES.into_iter().zip(&self.ids).fold(guess.to_owned(), named);
        let words = shell_words::split(&line).unwrap().into_iter().map(Into::into).collect();
        let words = in_our_words(words, &Arguments::command()).ok()?;
        let words = words.iter().map(|word| word.to_str().unwrap());
        let line = shell_words::join(words);
        let unnamed = |line: String, (name, id): (&str, &String)| line.replace(id, name);
        Some(NAMES.into_iter().zip(&self.ids).fold(line, unnamed))
    }
}

#[test]
fn guesses_do_what_is_meant_or_say_what_to_type() {
    let scene = Scene::new();
    let lines: Vec<_> = GUESSES.lines().collect();
    let each = lines.len().div_ceil(THREADS);
    let outcomes: Vec<_> = thread::scope(|scope| {
        let outcomes = |lines: &[&str]| -> Vec<String> {
            let outcome = |line: &&str| {
                if line.starts_with('#') { String::new() } else { scene.outcome(line) }
            };
            lines.iter().map(outcome).collect()
        };
        let parts: Vec<_> =
            lines.chunks(each).map(|part| scope.spawn(move || outcomes(part))).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    let counted = lines.iter().position(|line| *line == "## More").unwrap();
    let is_right = |outcome: &&String| outcome.starts_with("= ");
    let is_bare = |outcome: &&String| outcome.starts_with("! ") && !outcome.contains("ait ");
    let right = outcomes[..counted].iter().filter(is_right).count();
    let bare: Vec<_> = outcomes[..counted].iter().filter(is_bare).collect();
    assert!(right >= 90, "{right} are right");
    assert!(bare.len() <= 15, "{bare:#?}");
    let shown = lines.iter().zip(&outcomes).map(|(line, outcome)| format!("{line}\n  {outcome}\n"));
    let mut filters = FILTERS.to_vec();
    filters.push((r"\[time\] +ERROR ", ""));
    insta::with_settings!({ filters => filters }, {
        insta::assert_snapshot!("guesses", shown.collect::<String>());
    });
}
