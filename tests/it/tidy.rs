//! Rules for the code that a program can check.

use std::fs;
use std::path::{Path, PathBuf};

use agent_issue_tracker::domain::fields::FIELDS;

/// The limit for code without the tests in the same file. A file of more than 400 lines should be one idea.
const MAX_FILE_LINES: usize = 600;
const MAX_COMMENT_COLUMNS: usize = 120;
/// The width to which rustfmt formats.
const MAX_CODE_COLUMNS: usize = 100;

/// Returns every Rust file below a directory, with its path from the root and its text.
fn sources(below: &str) -> Vec<(String, String)> {
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

/// Returns the arms of matches on a bool, for which `if` is there.
fn bool_arms(text: &str) -> Vec<&str> {
    let is_bool = |line: &&str| {
        let pattern = line.split("=>").next().unwrap_or_default();
        line.contains("=>") && matches!(pattern.split(' ').next(), Some("true" | "false"))
    };
    text.lines().map(str::trim_start).filter(is_bool).collect()
}

/// Returns the closures that have a name although only the next line uses it, as the argument of a method, and has room
/// for them.
fn needless_names(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, pair) in lines.windows(2).enumerate() {
        let closure = pair[0].trim_start().strip_prefix("let ").and_then(|code| {
            let (name, closure) = code.strip_suffix(';')?.split_once(" = ")?;
            (closure.starts_with('|') && !closure.ends_with('{')).then_some((name, closure))
        });
        let Some((name, closure)) = closure else { continue };
        let argument = format!("({name})");
        let Some((method, _)) = pair[1].split_once(&argument) else { continue };
        let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
        let is_method = method.trim_end_matches(is_word).ends_with('.');
        let indent = pair[0].len() - pair[0].trim_start().len();
        let block = lines[at + 1..]
            .iter()
            .take_while(|line| line.is_empty() || line.len() - line.trim_start().len() >= indent);
        let uses = block
            .flat_map(|line| line.split(|letter| !is_word(letter)))
            .filter(|word| *word == name);
        let has_room = pair[1].len() - name.len() + closure.len() <= MAX_CODE_COLUMNS;
        if is_method && has_room && uses.count() == 1 {
            found.push(pair[0]);
        }
    }
    found
}

#[test]
fn statements_stand_alone_and_names_help() {
    for (name, text) in program() {
        let lets = tuple_lets(&text);
        assert!(lets.is_empty(), "{name}: write two statements instead of {lets:#?}");
        let arms = bool_arms(&text);
        assert!(arms.is_empty(), "{name}: write `if` instead of {arms:#?}");
        let names = needless_names(&text);
        assert!(names.is_empty(), "{name}: write where they are used: {names:#?}");
    }
    assert_eq!(tuple_lets("let (a, b) =\n    (f(x), y);"), ["let (a, b)"]);
    assert!(
        tuple_lets("let (a, b) = (f)(x).pair();\nlet (Some(a), b) = (x, y) else {};").is_empty()
    );
    assert_eq!(bool_arms("    true if x => 1,\n    Some(true) => 2,"), ["true if x => 1,"]);
    let once = "{\n    let is = |one| one > 1;\n    all.any(is)\n}\nfn is() {}";
    assert_eq!(needless_names(once), ["    let is = |one| one > 1;"]);
    assert!(needless_names(&once.replace("any(is)", "any(is) && is(2)")).is_empty());
    assert!(needless_names(&once.replace("all.any(is)", "any(is)")).is_empty());
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

/// Names that are forbidden in modules that only read.
const READERS: [&str; 5] = ["ait_store::sqlite", "axum::", "maud::", "std::fs", "Utc::now"];

/// Names that are forbidden in the files below each path. `structure.rs` checks the layers of modules.
const FORBIDDEN: [(&str, &[&str]); 21] = [
    (
        "crates/ait-domain/src/",
        &["std::fs", "tokio::", "tracing::", "Utc::now", "Uuid::new_v4", "async fn"],
    ),
    (
        "crates/ait-interchange/src/",
        &["std::fs", "tokio::", "tracing::", "Utc::now", "Uuid::new_v4", "async fn"],
    ),
    ("crates/ait-store/src/", &["axum::", "rmcp::", "Utc::now"]),
    ("crates/ait-store/src/memory.rs", &["std::fs", "tokio::", "std::io"]),
    ("crates/ait-tracker/src/lib.rs", &["SqliteStore"]),
    ("crates/ait-tracker/src/activity/", &READERS),
    ("crates/ait-tracker/src/read_model/", &READERS),
    ("src/mcp/", &["SqliteStore", "maud::", "std::fs"]),
    ("src/mcp/tools/", &["axum::", "crate::http"]),
    ("src/mcp/server.rs", &["axum::", "crate::http"]),
    ("src/http/", &["rmcp::", "maud::", "std::fs"]),
    ("src/metrics.rs", &["crate::store", "axum::"]),
    ("src/web/", &["crate::store", "SqliteStore", "rmcp::", "std::fs", "crate::domain::rules"]),
    ("src/cli/", &["crate::store", "crate::http", "SqliteStore", "crate::domain::rules"]),
    ("src/doctor/", &["SqliteStore", "axum::", "rmcp::", "maud::", "anyhow", "Utc::now"]),
    (
        "src/config/",
        &[
            "crate::store",
            "crate::tracker",
            "crate::mcp",
            "crate::web",
            "TcpListener",
            "TcpStream",
            "tokio::",
        ],
    ),
    (
        "crates/ait-setup/src/",
        &["crate::http", "axum::", "rmcp::", "maud::", "tokio::", "tracing::"],
    ),
    ("src/hooks/", &["crate::store", "crate::http", "SqliteStore", "axum::", "rmcp::", "maud::"]),
    ("crates/ait-setup/src/edit/", &["std::fs", "std::io", "std::path", "std::env", "crate::"]),
    ("src/", &NOWHERE),
    ("crates/", &NOWHERE),
];

/// Names that are forbidden everywhere.
const NOWHERE: [&str; 5] =
    ["println!", "eprintln!", "std::process::exit", "todo!(", "unimplemented!("];

/// Exceptions: names that a module may use although they are forbidden there.
const ALLOWED: [(&str, &str); 1] = [("src/config/", "crate::mcp::options")];

/// Returns true for test-only files, which may use more.
fn is_for_tests(name: &str) -> bool {
    name.ends_with("/tests.rs") || name.ends_with("/samples.rs")
}

#[test]
fn modules_use_only_allowed_dependencies() {
    for (name, text) in program().into_iter().filter(|(name, _)| !is_for_tests(name)) {
        let allowed = ALLOWED.iter().filter(|(path, _)| name.starts_with(path));
        let code =
            allowed.fold(code_of(&text).to_owned(), |code, (_, word)| code.replace(word, ""));
        for (path, words) in FORBIDDEN {
            for word in words.iter().filter(|_| name.starts_with(path)) {
                assert!(!code.contains(word), "{name} must not know {word}");
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
fn unsafe_code_is_forbidden() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let forbidden = ["unsafe", "_code = \"forbid\""].concat(); // not in this file
    assert!(fs::read_to_string(manifest).unwrap().contains(&forbidden));
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
        [("due", "Due", 14), ("estimate", "Estimate", 10), ("touches", "Touches", 12)]
    {
        let words = [
            format!("\"{name}\""),
            format!("ValueField::{variant}"),
            format!("FieldValue::{variant}"),
        ];
        // The words of other programs, and what people type.
        let is_ours = |file: &str| {
            !file.starts_with("crates/ait-interchange/src") && !file.starts_with("src/cli/aliases")
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
        ("src/cli/import_update.rs", "what every issue has, and a file may lack"),
        ("crates/ait-interchange/src/csv.rs", "the columns of older versions, in their order"),
        ("crates/ait-interchange/src/", "names in other programs"),
        ("crates/ait-sync/src/", "the fields that other trackers have, too"),
        ("src/cli/aliases/", "names in other programs"),
        ("src/mcp/reply/issue_pages.rs", "the head of a page of a long issue"),
        ("src/mcp/tools/", "columns of reports"),
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
