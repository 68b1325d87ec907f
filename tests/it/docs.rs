//! The documentation: its examples run, its data parses, its links resolve, and it repeats no sentence.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use agent_issue_tracker::config::Arguments;
use clap::Parser;
use clap::error::ErrorKind;
use regex::{Captures, Regex};

use crate::support::runs::Run;
use crate::support::{BINARY, ait_through, directory, skip};

/// The pages outside `docs/`, relative to the root of the repository.
const OTHERS: [&str; 8] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "llms.txt",
    "contrib/README.md",
    "benches/README.md",
];

/// A page.
struct Page {
    /// The path relative to the root of the repository.
    name: String,
    text: String,
}

/// A fenced code block.
struct Block<'a> {
    /// The page and the line, for messages.
    place: String,
    info: &'a str,
    lines: Vec<&'a str>,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn page(name: &str) -> Page {
    Page { name: name.to_owned(), text: fs::read_to_string(root().join(name)).unwrap() }
}

/// The pages of `docs/`.
fn topics() -> Vec<Page> {
    let files = fs::read_dir(root().join("docs")).unwrap();
    let names = files.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.ends_with(".md")).collect();
    names.sort();
    names.iter().map(|name| page(&format!("docs/{name}"))).collect()
}

/// The pages for users, whose examples can be run.
fn guides() -> Vec<Page> {
    std::iter::once(page("README.md")).chain(topics()).collect()
}

fn pages() -> Vec<Page> {
    OTHERS.map(page).into_iter().chain(topics()).collect()
}

impl Page {
    fn blocks(&self) -> Vec<Block<'_>> {
        let mut blocks = Vec::new();
        let mut open: Option<(usize, Block<'_>)> = None;
        for (number, line) in (1..).zip(self.text.lines()) {
            let indent = line.len() - line.trim_start().len();
            match (&mut open, line.trim_start().strip_prefix("```")) {
                (None, Some(info)) => {
                    let place = format!("{}:{number}", self.name);
                    open = Some((indent, Block { place, info, lines: Vec::new() }));
                }
                (Some(_), Some(_)) => blocks.extend(open.take().map(|(_, block)| block)),
                (Some((indent, block)), None) => {
                    block.lines.push(line.get(*indent..).unwrap_or(""));
                }
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{}: a block has no end", self.name);
        blocks
    }

    /// The lines outside of blocks.
    fn prose(&self) -> impl Iterator<Item = &str> {
        let mut is_code = false;
        self.text.lines().filter(move |line| {
            let is_fence = line.trim_start().starts_with("```");
            is_code ^= is_fence;
            !is_code && !is_fence
        })
    }

    /// The anchors that links can name.
    fn anchors(&self) -> BTreeSet<String> {
        let headings = self.prose().filter(|line| line.starts_with('#'));
        headings.map(|line| anchor(line.trim_start_matches('#').trim())).collect()
    }
}

impl Block<'_> {
    fn has_commands(&self) -> bool {
        self.lines.iter().any(|line| line.starts_with("ait "))
    }
}

/// The anchor that GitHub gives a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Creates the project that the examples assume.
fn project() -> tempfile::TempDir {
    let directory = directory();
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let issue = |id: &str, title: &str, status: &str| {
        format!(
            r#"{{"id":"{id}-7d54-4b0a-9e6f-2c8b1d5a4e73","title":"{title}","description":"","classification":"bug",
            "createdAt":"2025-01-31T09:30:00.000Z","modifiedAt":"2025-01-31T09:30:00.000Z","status":"{status}",
            "history":[],"comments":[]}}"#
        )
    };
    let issues = [
        issue("3f2a9c1e", "Login fails on Safari", "created"),
        issue("8d1f02aa", "Fixture is missing", "created"),
        issue("c0ffee00", "Typo in the README", "completed"),
    ];
    write("issues.json", &format!(r#"{{"issues":[{}]}}"#, issues.join(",")));
    write("backlog.csv", "title,type\nReject empty input,bug\n");
    write(
        ".beads/issues.jsonl",
        r#"{"id":"app-1","title":"From beads","status":"open","issue_type":"task"}"#,
    );
    git(&["init", "-q"], directory.path());
    directory
}

/// Runs git. Returns true if it is installed and succeeds.
fn git(arguments: &[&str], directory: &Path) -> bool {
    let output = Command::new("git").args(arguments).current_dir(directory).output();
    output.is_ok_and(|output| output.status.success())
}

/// Returns a directory in which the binary under test is called `ait`.
fn program() -> tempfile::TempDir {
    let directory = directory();
    std::os::unix::fs::symlink(BINARY, directory.path().join("ait")).unwrap();
    directory
}

/// Runs a line of an example.
fn shell(line: &str, project: &Path, program: &Path) -> Run {
    let mut path = vec![program.to_owned()];
    path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let mut command = ait_through("sh", project);
    command.args(["-c", line]).env("PATH", std::env::join_paths(path).unwrap());
    // The user of the examples.
    command.env("AIT_AGENT", "you").env("HOME", program).stdin(Stdio::null());
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code().unwrap(), out: text(output.stdout), log: text(output.stderr) }
}

#[test]
fn documented_examples_run() {
    let program = program();
    let mut count = 0;
    for page in guides() {
        for block in page.blocks().iter().filter(|block| block.info == "sh" && block.has_commands())
        {
            let project = project();
            if block.lines[0].starts_with("ait hooks") && !git(&["status"], project.path()) {
                eprintln!("skipped: no git(1) here");
                continue;
            }
            for line in &block.lines {
                let run = shell(line, project.path(), program.path());
                assert_eq!(run.code, 0, "{}: {line}\n{}", block.place, run.whole());
                count += 1;
            }
        }
    }
    assert!(count >= 40, "{count} lines were found");
    // Control: a command that fails is noticed.
    assert_eq!(shell("ait show 00000000", project().path(), program.path()).code, 1);
}

/// Returns the calls of `ait` in a shell line, without the other commands of the line.
fn calls(line: &str) -> Vec<Vec<String>> {
    let words = shell_words::split(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    let ends = ["|", "&&", "||", ">", ">>", ";"];
    let commands = words.split(|word| ends.contains(&word.as_str()) || word == "2>&1");
    let called = commands.filter_map(|words| {
        let at = words.iter().position(|word| word == "ait")?;
        Some(words[at..].to_vec())
    });
    called.collect()
}

/// Returns the error of a wrong command line. Arguments may be missing, because prose abbreviates.
fn wrong(call: &[String]) -> Option<String> {
    let error = Arguments::try_parse_from(call).err()?;
    let is_wrong = matches!(
        error.kind(),
        ErrorKind::UnknownArgument
            | ErrorKind::InvalidSubcommand
            | ErrorKind::InvalidValue
            | ErrorKind::ValueValidation
            | ErrorKind::ArgumentConflict
            | ErrorKind::TooManyValues
    );
    is_wrong.then(|| error.to_string())
}

#[test]
fn documented_commands_and_flags_exist() {
    let mut count = 0;
    let mut check = |place: &str, line: &str| {
        for call in calls(line) {
            if let Some(error) = wrong(&call) {
                panic!("{place}: {line}\n{error}");
            }
            count += 1;
        }
    };
    for page in guides() {
        for block in page.blocks() {
            match block.info {
                "sh" | "sh no-run" => {
                    block.lines.iter().for_each(|line| check(&block.place, line));
                }
                "console" => {
                    let given = block.lines.iter().filter_map(|line| line.strip_prefix("$ "));
                    given.for_each(|line| check(&block.place, line));
                }
                "" | "json" | "toml" | "nginx" | "sql" => {}
                other => panic!("{}: unknown kind of block {other:?}", block.place),
            }
        }
        let prose: Vec<_> = page.prose().collect();
        let prose = prose.join("\n");
        let spans = prose.split('`').skip(1).step_by(2).filter(|span| span.starts_with("ait "));
        spans.for_each(|span| check(&page.name, span));
    }
    assert!(count >= 100, "{count} calls were found");
    for line in ["ait add --nothing", "ait nothing", "x | ait list --status nothing"] {
        assert!(calls(line).iter().any(|call| wrong(call).is_some()), "{line}");
    }
}

/// Masks the ids, times and durations that differ from run to run.
fn masked(text: &str, ids: &HashMap<String, String>) -> String {
    let id =
        Regex::new(r"\b([0-9a-f]{8})(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b([0-9a-f]{8})\b").unwrap();
    let named = |found: &Captures<'_>| {
        let short = found.get(1).or_else(|| found.get(2)).unwrap().as_str();
        ids.get(short).cloned().unwrap_or_else(|| short.to_owned())
    };
    let text = id.replace_all(text, named);
    let time = Regex::new(r"\d{4}-\d\d-\d\d \d\d:\d\d").unwrap();
    let text = time.replace_all(&text, "TIME");
    let span = Regex::new(r"\b\d+ (s|min|h|d)\b").unwrap();
    let text = span.replace_all(&text, "SPAN");
    // The width of a column depends on its contents.
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

fn short_ids(text: &str) -> Vec<String> {
    let id = Regex::new(r"\b[0-9a-f]{8}\b").unwrap();
    id.find_iter(text).map(|found| found.as_str().to_owned()).collect()
}

#[test]
fn session_of_the_start_page_matches_actual_output() {
    let start = page("docs/start.md");
    let blocks = start.blocks();
    let block = blocks.iter().find(|block| block.info == "console").unwrap();
    let text = format!("\n{}", block.lines.join("\n"));
    let (project, program) = (directory(), program());
    // The ids of the page by those of this run, and the reverse.
    let mut shown = HashMap::new();
    let mut real: BTreeMap<String, String> = BTreeMap::new();
    for step in text.split("\n$ ").skip(1) {
        let (line, expected) = step.split_once('\n').unwrap();
        let line = real.iter().fold(line.to_owned(), |line, (page, run)| line.replace(page, run));
        let run = shell(&line, project.path(), program.path()).ok();
        for (page, run) in short_ids(expected).into_iter().zip(short_ids(&run)) {
            shown.entry(run.clone()).or_insert_with(|| page.clone());
            real.entry(page).or_insert(run);
        }
        assert_eq!(masked(&run, &shown), masked(expected, &HashMap::new()), "{line}");
    }
    assert_eq!(real.len(), 3, "{real:?}");
    for command in ["ait add ", "ait next ", "ait complete ", "ait review ", "ait close "] {
        assert!(text.contains(&format!("\n$ {command}")), "{command}");
    }
}

#[test]
fn json_and_toml_blocks_parse() {
    let mut count = 0;
    for page in pages() {
        for block in page.blocks() {
            let text = block.lines.join("\n");
            match block.info {
                "json" => {
                    let parsed = serde_json::from_str::<serde_json::Value>(&text);
                    parsed.unwrap_or_else(|error| panic!("{}: {error}", block.place));
                }
                "toml" => {
                    let parsed = toml::from_str::<toml::Table>(&text);
                    parsed.unwrap_or_else(|error| panic!("{}: {error}", block.place));
                }
                _ => continue,
            }
            count += 1;
        }
    }
    assert!(count >= 8, "{count} blocks were found");
}

/// Returns the broken links of a page, and the number of all its links.
fn broken(page: &Page) -> (Vec<String>, usize) {
    let link = Regex::new(r"\]\(([^)\s]+)\)").unwrap();
    let prose: Vec<_> = page.prose().collect();
    let prose = prose.join("\n");
    let targets: Vec<_> = link.captures_iter(&prose).map(|found| found[1].to_owned()).collect();
    let is_broken = |target: &&String| {
        if target.contains("://") {
            return false;
        }
        let (file, section) = target.split_once('#').unwrap_or((target, ""));
        let here = root().join(&page.name);
        let path = match file {
            "" => here,
            file => here.parent().unwrap().join(file),
        };
        !path.exists() || !section.is_empty() && !sections(&path).contains(section)
    };
    (targets.iter().filter(is_broken).cloned().collect(), targets.len())
}

fn sections(path: &PathBuf) -> BTreeSet<String> {
    let name = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
    Page { name, text: fs::read_to_string(path).unwrap() }.anchors()
}

#[test]
fn links_and_anchors_resolve() {
    let mut count = 0;
    for page in pages() {
        let (broken, links) = broken(&page);
        assert_eq!(broken, Vec::<String>::new(), "{}", page.name);
        count += links;
    }
    assert!(count >= 40, "{count} links were found");
    let text =
        "[a](cli.md) [b](nowhere.md) [c](cli.md#nowhere) [d](#top)\n# Top\n[e](cli.md#git-hooks)";
    let control = Page { name: "docs/control.md".to_owned(), text: text.to_owned() };
    assert_eq!(broken(&control).0, ["nowhere.md", "cli.md#nowhere", "#top"]);
}

#[test]
fn readme_is_short_and_the_index_links_to_every_page() {
    let lines = page("README.md").text.lines().count();
    assert!(lines <= 120, "{lines}");
    let index = page("docs/README.md");
    for page in topics() {
        let name = page.name.strip_prefix("docs/").unwrap();
        assert!(name == "README.md" || index.text.contains(&format!("]({name})")), "{name}");
        // The line after the heading names the readers of the page.
        let first = page.text.lines().nth(2).unwrap_or_default();
        assert!(first.starts_with("For "), "{}: {first}", page.name);
    }
}

/// Returns a drawing without what differs from run to run.
fn undated(drawing: &str) -> String {
    let varying = Regex::new(r"\b[0-9a-f]{8}\b|\b\d+ s\b").unwrap();
    varying.replace_all(drawing, "_").into_owned()
}

#[test]
fn the_animation_shows_what_commands_print() {
    let output =
        match Command::new("node").arg(root().join("contrib/demo.mjs")).arg(BINARY).output() {
            Ok(output) => output,
            Err(_) => return skip("node is not installed"),
        };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let drawn = undated(&String::from_utf8(output.stdout).unwrap());
    let shown = undated(&fs::read_to_string(root().join("docs/session.svg")).unwrap());
    assert_eq!(drawn, shown, "draw it again: node contrib/demo.mjs BINARY > docs/session.svg");
    assert!(shown.contains("_ closed: Login fails on Safari"), "{shown}");
}

/// Returns the sentences of a page that are long enough to be repeated only by mistake.
fn sentences(page: &Page) -> Vec<String> {
    let prose: Vec<_> = page.prose().filter(|line| !line.starts_with('|')).collect();
    let paragraphs = prose.join("\n");
    let paragraphs =
        paragraphs.split("\n\n").map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
    let sentences = paragraphs.flat_map(|text| {
        text.split(". ")
            .map(|sentence| sentence.trim_end_matches('.').to_lowercase())
            .collect::<Vec<_>>()
    });
    sentences.filter(|sentence| sentence.chars().count() >= 40).collect()
}

/// Returns the sentences that occur a second time.
fn repeated<'a>(pages: impl IntoIterator<Item = &'a Page>) -> Vec<String> {
    let mut said = BTreeSet::new();
    pages
        .into_iter()
        .flat_map(sentences)
        .filter(|sentence| !said.insert(sentence.clone()))
        .collect()
}

#[test]
fn no_sentence_is_repeated() {
    // The results of benchmarks are tables with the same remarks.
    let pages = pages().into_iter().filter(|page| page.name != "benches/README.md");
    let pages: Vec<_> = pages.collect();
    assert_eq!(repeated(&pages), Vec::<String>::new());
    let name = "control".to_owned();
    let text = "This is a sentence that is said once, and again.\nThis is a sentence that is\nsaid once, and again. End.";
    assert_eq!(repeated([&Page { name, text: text.to_owned() }]).len(), 1);
}
