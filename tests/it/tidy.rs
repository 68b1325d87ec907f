//! Rules for the code that a program can check.

use std::fs;
use std::path::{Path, PathBuf};

use agent_issue_tracker::domain::fields::FIELDS;

/// The limit for code without the tests in the same file. A file of more than 400 lines should be one idea.
const MAX_FILE_LINES: usize = 600;
const MAX_COMMENT_COLUMNS: usize = 120;

/// Returns every Rust file below a directory, with its path from the root and its text.
pub fn sources(below: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut directories = vec![root.join(below)];
    let mut files = Vec::new();
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                // Skip third-party packages.
                if path.file_name().is_some_and(|name| name != "node_modules" && name != ".venv") {
                    directories.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
                files.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(!files.is_empty(), "nothing below {below}");
    files
}

/// Returns the text before the tests of a file.
fn code_of(text: &str) -> &str {
    text.split("#[cfg(test)]").next().unwrap_or_default()
}

/// Returns the source files of the program.
fn program() -> Vec<(String, String)> {
    ["src", "crates"].into_iter().flat_map(sources).collect()
}

fn all_sources() -> Vec<(String, String)> {
    ["src", "crates", "tests", "benches"].into_iter().flat_map(sources).collect()
}

#[test]
fn statements_stand_alone() {
    for (name, text) in program() {
        let lets = tuple_lets(&text);
        assert!(lets.is_empty(), "{name}: write two statements instead of {lets:#?}");
    }
    assert_eq!(tuple_lets("let (a, b) =\n    (f(x), y);"), ["let (a, b)"]);
    assert!(
        tuple_lets("let (a, b) = (f)(x).pair();\nlet (Some(a), b) = (x, y) else {};").is_empty()
    );
}

#[test]
fn files_stay_short() {
    for (name, text) in all_sources() {
        let lines = code_of(&text).lines().count();
        assert!(lines <= MAX_FILE_LINES, "{name} has {lines} lines: split it");
    }
}

/// Returns the patterns of statements that are two in one: `let (a, b) = (x, y);`.
fn tuple_lets(text: &str) -> Vec<&str> {
    let values = |at: usize| {
        let (pattern, value) = text[at..].split_once(" =")?;
        let value = value.trim_start();
        let mut depth = 0;
        let end = value.find(|letter| {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
            depth == 0
        })?;
        (value[end..].starts_with(");") && !pattern.contains(';')).then_some(pattern)
    };
    text.match_indices("let (").filter_map(|(at, _)| values(at)).collect()
}

/// Returns the lines of a file that are comments.
fn comments(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| line.trim_start().starts_with("//"))
}

#[test]
fn comments_are_wrapped() {
    for (name, text) in all_sources() {
        for comment in comments(&text) {
            assert!(comment.chars().count() <= MAX_COMMENT_COLUMNS, "{name}: {comment}");
        }
    }
}

/// Pronouns that hide who acts. A comment names the agent, user or process instead.
const VAGUE_PRONOUNS: [&str; 5] = ["whoever", "somebody", "nobody", "everybody", "anybody"];

/// Returns the comments of a file that contain a vague pronoun.
fn vague_comments(text: &str) -> Vec<&str> {
    let is_vague = |comment: &&str| {
        let comment = comment.to_lowercase();
        comment
            .split(|letter: char| !letter.is_alphabetic())
            .any(|word| VAGUE_PRONOUNS.contains(&word))
    };
    comments(text).filter(is_vague).collect()
}

#[test]
fn comments_say_who_acts() {
    for (name, text) in all_sources() {
        let vague = vague_comments(&text);
        assert!(vague.is_empty(), "{name}: name who acts in {vague:#?}");
    }
    let text = "let nobody = 1;\n    // Somebody's issue.\n/// A body.";
    assert_eq!(vague_comments(text), ["    // Somebody's issue."]);
}

/// Names that are forbidden in the files below each path, where the dependencies of the crate leave them open.
const FORBIDDEN: [(&str, &[&str]); 10] = [
    ("crates/ait-domain/src/", &["std::fs", "Utc::now", "Uuid::new_v4", "async fn"]),
    ("crates/ait-interchange/src/", &["std::fs", "Utc::now", "Uuid::new_v4", "async fn"]),
    ("crates/ait-store/src/", &["Utc::now"]),
    ("crates/ait-store/src/memory.rs", &["std::fs", "tokio::", "std::io"]),
    ("crates/ait-tracker/src/activity/", &["ait_store::sqlite", "std::fs", "Utc::now"]),
    ("crates/ait-tracker/src/read_model/", &["ait_store::sqlite", "std::fs", "Utc::now"]),
    ("crates/ait-setup/src/edit/", &["std::fs", "std::io", "std::path", "std::env", "crate::"]),
    ("crates/ait-mcp/src/", &["SqliteStore", "std::fs"]),
    ("crates/ait-mcp/src/tools/", &["axum::", "ait_http::"]),
    ("crates/ait-web/src/", &["std::fs"]),
];

/// Returns true for test-only files, which may use more.
fn is_for_tests(name: &str) -> bool {
    name.ends_with("/tests.rs") || name.ends_with("/samples.rs")
}

#[test]
fn crates_know_only_what_is_below_them() {
    for (name, text) in program().into_iter().filter(|(name, _)| !is_for_tests(name)) {
        for (_, words) in FORBIDDEN.iter().filter(|(path, _)| name.starts_with(path)) {
            for word in *words {
                assert!(!code_of(&text).contains(word), "{name} must not know {word}");
            }
        }
    }
}

#[test]
fn files_of_a_store_are_reached_through_one_trait() {
    for (name, text) in sources("crates/ait-store/src/files") {
        if !name.starts_with("crates/ait-store/src/files/fs/") && !is_for_tests(&name) {
            let calls = ["fs::read", "fs::write", "fs::rename", "fs::remove", "fs::metadata"];
            for word in calls.into_iter().chain(["OpenOptions", "File::open", "File::create"]) {
                assert!(!code_of(&text).contains(word), "{name} must not know {word}");
            }
        }
    }
}

#[test]
fn every_module_begins_with_a_doc_comment() {
    for (name, text) in all_sources() {
        assert!(text.starts_with("//! "), "{name} begins without a line of //!");
    }
}

/// What a field has beyond its entry in the table is in few places. Everything else asks the table.
#[test]
fn fields_are_named_in_few_places() {
    for (name, variant, places) in
        [("due", "Due", 13), ("estimate", "Estimate", 9), ("touches", "Touches", 11)]
    {
        let words = [
            format!("\"{name}\""),
            format!("ValueField::{variant}"),
            format!("FieldValue::{variant}"),
        ];
        // The words of other programs, and what people type.
        let is_ours = |file: &str| {
            !file.starts_with("crates/ait-interchange/src")
                && !file.starts_with("crates/ait-cli/src/aliases")
        };
        let mut files: Vec<_> = program()
            .into_iter()
            .filter(|(file, text)| is_ours(file) && words.iter().any(|word| text.contains(word)))
            .map(|(file, _)| file)
            .collect();
        files.sort();
        assert_eq!(files.len(), places, "{name}: {files:#?}");
    }
}

/// How many lines apart the names of a list may be.
const LIST_LINES: usize = 3;
/// How many names of fields make a list.
const LISTED: usize = 3;

/// Returns the names of fields of issues in the lists of a file: names in quotation marks that follow each other, or
/// members of the values of an issue.
fn listed_fields(code: &str) -> Vec<String> {
    let names: Vec<_> = FIELDS.iter().map(|(name, _)| *name).collect();
    let mut lists: Vec<(usize, Vec<&str>)> = Vec::new();
    let lines = code.lines().enumerate();
    for (number, line) in lines.filter(|(_, line)| !line.trim_start().starts_with("//")) {
        let words = line.split('"').skip(1).step_by(2);
        for word in words.filter(|word| names.contains(word)) {
            match lists.last_mut() {
                Some((last, list)) if number - *last <= LIST_LINES => {
                    *last = number;
                    if !list.contains(&word) {
                        list.push(word);
                    }
                }
                _ => lists.push((number, vec![word])),
            }
        }
    }
    lists.retain(|(_, list)| list.len() >= LISTED);
    lists.iter().map(|(last, list)| format!("{}: {}", last + 1, list.join(" "))).collect()
}

/// The author of a new field does not have to look for lists that it belongs to.
#[test]
fn fields_are_listed_in_their_table_alone() {
    // What the compiler checks, or what is not a list of our fields.
    const OTHERS: [(&str, &str); 15] = [
        ("crates/ait-domain/src/fields.rs", "the table"),
        ("crates/ait-domain/src/attributes.rs", "reads each member of a struct"),
        ("crates/ait-domain/src/issue.rs", "reads each member of a struct"),
        ("crates/ait-domain/src/patch.rs", "the members of a struct that every issue has"),
        ("crates/ait-domain/src/merge.rs", "the members of a struct that every issue has"),
        (
            "crates/ait-interchange/src/difference.rs",
            "the members of a struct that every issue has",
        ),
        (
            "crates/ait-interchange/src/partial_issue.rs",
            "what every issue has, and a file may lack",
        ),
        ("crates/ait-cli/src/import_update.rs", "what every issue has, and a file may lack"),
        ("crates/ait-interchange/src/csv.rs", "the columns of older versions, in their order"),
        ("crates/ait-interchange/src/", "names in other programs"),
        ("crates/ait-sync/src/", "the fields that other trackers have, too"),
        ("crates/ait-cli/src/aliases/", "names in other programs"),
        ("crates/ait-mcp/src/reply/issue_pages.rs", "the head of a page of a long issue"),
        ("crates/ait-mcp/src/tools/", "columns of reports"),
        ("crates/ait-store/src/sql/order.rs", "the orders of lists"),
    ];
    let lists = |code: &str| listed_fields(code_of(code));
    let mut without_list: Vec<_> = OTHERS.iter().map(|(place, _)| *place).collect();
    for (name, text) in program() {
        let found = lists(&text);
        let place = OTHERS.iter().find(|(place, _)| name.starts_with(place));
        if let Some((place, _)) = place.filter(|_| !found.is_empty()) {
            without_list.retain(|other| other != place);
        }
        let is_test = name.ends_with("/tests.rs");
        assert!(
            place.is_some() || is_test || found.is_empty(),
            "{name}: use the table for {found:?}"
        );
    }
    assert_eq!(without_list, [""; 0], "these places have no list any more");
    let control =
        "let all = [\n    \"title\",\n    // why\n    \"due\",\n    \"x\",\n    \"estimate\",\n];";
    assert_eq!(lists(control), ["6: title due estimate"]);
    assert_eq!(lists("(\"title\", \"due\")"), [""; 0]);
}
