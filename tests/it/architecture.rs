//! The documents about the code name what exists, and each layer says only what belongs to it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the source files below a directory.
fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// Returns the code of a file before its tests, without comments.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default().lines();
    code.filter(|line| !line.trim_start().starts_with("//"))
        .map(|line| format!("{line}\n"))
        .collect()
}

/// Returns the path that `ARCHITECTURE.md` names: `ait-domain/rules.rs` is in the folder of that crate.
fn path_of(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    match name.split_once('/') {
        Some((member, file)) if name.starts_with("ait-") => {
            root.join("crates").join(member).join("src").join(file)
        }
        None if name.starts_with("ait-") => root.join("crates").join(name),
        _ => root.join(name),
    }
}

/// Returns the documentation at the beginning of a source.
fn beginning(path: &str) -> String {
    let text = fs::read_to_string(path_of(path)).unwrap();
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(|line| format!("{}\n", line.trim_start())).collect()
}

#[test]
fn architecture_document_names_existing_files_and_functions() {
    const FOLDERS: [&str; 3] = ["src/", "ait-", "tests/"];
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut text = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    assert!(text.lines().count() <= 200);
    // The ways through the code are told there.
    let (_, ways) = text.split_once("| way | told at the beginning of |").unwrap();
    let (ways, _) = ways.split_once("\n\n").unwrap();
    let ways: Vec<_> = ways.lines().filter_map(|row| row.split('`').rev().nth(1)).collect();
    assert!(ways.len() > 3, "{ways:?}");
    let told: String = ways.into_iter().map(beginning).collect();
    text += &told;
    let named =
        text.split('`').filter(|part| FOLDERS.iter().any(|folder| part.starts_with(folder)));
    let named: BTreeSet<_> = named.collect();
    assert!(named.len() > 30, "{named:?}");
    let missing: Vec<_> = named.iter().filter(|path| !path_of(path).exists()).collect();
    assert_eq!(missing, Vec::<&&str>::new());
    let mut all_code = String::new();
    for folder in ["src", "crates"] {
        sources(&root.join(folder)).iter().for_each(|path| all_code += &code(path));
    }
    let is_function = |part: &&str| {
        part.contains('_') && part.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'_'))
    };
    let functions: BTreeSet<_> = text.split('`').filter(is_function).collect();
    assert!(functions.len() > 3, "{functions:?}");
    for name in functions {
        assert!(all_code.contains(&format!("fn {name}")), "no function is called {name}");
    }
}

/// The documentation of a large module says for each of its files and directories what it is for.
#[test]
fn lists_of_files_have_no_gaps() {
    let modules = [
        "ait-domain/lib.rs",
        "ait-store/lib.rs",
        "ait-store/files/mod.rs",
        "ait-store/sqlite/mod.rs",
        "ait-tracker/lib.rs",
        "ait-mcp/lib.rs",
        "ait-web/lib.rs",
    ];
    for module in modules {
        let text = beginning(module);
        let (_, list) = text.split_once("# The files\n").unwrap();
        let named: Vec<_> = list.split('`').collect();
        for entry in fs::read_dir(path_of(module).parent().unwrap()).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            // A module in `name.rs` may have submodules in `name/`.
            let is_part = path.is_dir() && path.with_extension("rs").exists();
            if !is_part && !["lib.rs", "mod.rs", "tests.rs", "testing.rs"].contains(&name) {
                let name = if path.is_dir() { format!("{name}/") } else { name.to_owned() };
                let is_named = named.iter().any(|named| named.starts_with(&name));
                assert!(is_named, "the list in {module} lacks {name}");
            }
        }
    }
}

#[test]
fn storage_page_names_existing_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("docs/storage.md")).unwrap();
    let (_, tests) = text.split_once("### Tests").unwrap();
    let (tests, _) = tests.split_once("\n## ").unwrap();
    let rows = tests.lines().filter_map(|line| line.strip_prefix("| `"));
    let named: Vec<&str> = rows.flat_map(|row| row.split('|').next().unwrap().split("`")).collect();
    let named: Vec<&str> =
        named.into_iter().filter(|part| part.contains(char::is_alphabetic)).collect();
    assert!(named.len() > 20, "{named:?}");
    for name in named {
        let path = root.join("tests/it").join(name);
        assert!(path.is_dir() || path.with_extension("rs").exists(), "{name}");
    }
}

/// Hints with the names of commands, flags and tools belong to the interfaces.
#[test]
fn domain_and_stores_name_no_command_flag_or_tool() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_named = |line: &str| {
        line.split('"').skip(1).step_by(2).any(|text| {
            // Operations have the same names as their tools.
            let names_tool = |tool: &&str| text.contains(*tool) && text != *tool;
            ["`ait ", " --", "AIT_"].iter().any(|name| text.contains(name))
                || crate::support::TOOLS.iter().any(names_tool)
        })
    };
    let control = r#"write!(f, "{id} is taken: call add_issue again")"#;
    assert!(is_named(control) && is_named(r#""replace it with --force""#));
    let folders =
        ["crates/ait-domain/src", "crates/ait-store/src"].map(|folder| sources(&root.join(folder)));
    for path in folders.into_iter().flatten() {
        for line in code(&path).lines() {
            assert!(!is_named(line), "{}: {line}", path.display());
        }
    }
}
