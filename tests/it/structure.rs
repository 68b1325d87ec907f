//! The structure of the code: which module may use which.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/crates/ait-store/src/files");

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

/// Returns the code of a file without its tests and comments.
fn code(path: &Path) -> String {
    without_tests(&fs::read_to_string(path).unwrap())
}

/// Returns code without comments and without test-only items. Such an item ends with a `;` on its first line, or with a
/// closing brace of the same indentation.
fn without_tests(text: &str) -> String {
    let mut kept = String::new();
    let mut lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    while let Some(line) = lines.next() {
        let Some(indent) = line.strip_suffix("#[cfg(test)]") else {
            kept += &format!("{line}\n");
            continue;
        };
        let is_attribute = |line: &&str| line.trim_start().starts_with("#[");
        let first = lines.by_ref().find(|line| !is_attribute(line)).unwrap_or_default();
        if !first.ends_with(';') {
            lines.by_ref().find(|line| *line == format!("{indent}}}"));
        }
    }
    kept
}

/// The path of a module, such as `store::files::view`.
type Module = Vec<String>;

/// Returns the module of each source file except `lib.rs`, `main.rs` and test-only files.
fn modules(root: &Path) -> BTreeMap<Module, PathBuf> {
    let module = |path: PathBuf| {
        let within = path.strip_prefix(root).unwrap().with_extension("");
        let mut parts: Module =
            within.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        parts.pop_if(|last| last == "mod");
        (parts, path)
    };
    let excluded = ["lib", "main", "tests", "testing", "samples"];
    let is_known = |module: &Module| module.last().is_some_and(|last| !excluded.contains(&&**last));
    sources(root).into_iter().map(module).filter(|(module, _)| is_known(module)).collect()
}

/// Adds the paths with which `code` begins, such as `super::{a, b::c}`, and returns the code after them.
fn read_paths<'a>(code: &'a str, before: &[String], paths: &mut Vec<Module>) -> &'a str {
    let code = code.trim_start();
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let (part, rest) = code.split_at(code.find(|letter| !is_part(letter)).unwrap_or(code.len()));
    let path = [before, &[part.to_owned()]].concat();
    match rest.strip_prefix("::") {
        Some(group) if group.starts_with('{') => {
            let mut rest = &group[1..];
            while !rest.trim_start().starts_with('}') && !rest.is_empty() {
                rest = read_paths(rest, &path, paths);
                // Only the end of a name or group is left, such as `as other` or a comma.
                rest = rest[rest.find([',', '}']).unwrap_or(rest.len())..].trim_start_matches(',');
            }
            rest.trim_start().strip_prefix('}').unwrap_or_default()
        }
        Some(rest) if rest.starts_with(is_part) => read_paths(rest, &path, paths),
        _ => {
            paths.push(path);
            rest
        }
    }
}

/// Returns the paths in code that begin with `crate`, `super` or `self`.
fn paths(code: &str) -> Vec<Module> {
    let mut paths = Vec::new();
    for begin in ["crate::", "super::", "self::"] {
        for (index, _) in code.match_indices(begin) {
            if !code[..index].ends_with(|letter: char| letter.is_alphanumeric() || letter == ':') {
                read_paths(&code[index..], &[], &mut paths);
            }
        }
    }
    paths
}

/// Returns the modules that each module uses. A module uses its submodules; imports from ancestors do not count.
fn uses(below: &str) -> BTreeMap<Module, BTreeSet<Module>> {
    let modules = modules(&Path::new(env!("CARGO_MANIFEST_DIR")).join(below));
    let known_by = |module: &Module, path: &Path| {
        let code = code(path);
        let mut known = BTreeSet::new();
        for used in paths(&code) {
            let supers = used.iter().take_while(|part| *part == "super").count();
            let base = match &*used[0] {
                "crate" => &[],
                _ => &module[..module.len() - supers],
            };
            let mut used = [base, &used[supers.max(1)..]].concat();
            while !used.is_empty() && !modules.contains_key(&used) {
                used.pop();
            }
            if !module.starts_with(&used) {
                known.insert(used);
            }
        }
        let part = |name: &str| [module, &[name.to_owned()][..]].concat();
        let declared = code.lines().filter_map(|line| {
            let line = line.strip_suffix(';')?;
            Some(part(line.rsplit_once("mod ").filter(|(before, _)| !before.contains('"'))?.1))
        });
        known.extend(declared.filter(|part| modules.contains_key(part)));
        known
    };
    modules.iter().map(|(module, path)| (module.clone(), known_by(module, path))).collect()
}

/// Returns the modules of an import cycle.
fn cycle(uses: &BTreeMap<Module, BTreeSet<Module>>) -> Option<Vec<Module>> {
    fn walk<'a>(
        module: &'a Module,
        path: &mut Vec<&'a Module>,
        done: &mut BTreeSet<&'a Module>,
        uses: &'a BTreeMap<Module, BTreeSet<Module>>,
    ) -> Option<Vec<Module>> {
        if let Some(begin) = path.iter().position(|seen| *seen == module) {
            return Some(path[begin..].iter().map(|module| (*module).clone()).collect());
        }
        if !done.insert(module) {
            return None;
        }
        path.push(module);
        let known = uses.get(module).into_iter().flatten();
        let found = known.into_iter().find_map(|next| walk(next, path, done, uses));
        path.pop();
        found
    }
    let mut done = BTreeSet::new();
    uses.keys().find_map(|module| walk(module, &mut Vec::new(), &mut done, uses))
}

#[test]
fn code_after_test_items_is_kept() {
    let code = "mod a;\n#[cfg(test)]\nmod tests;\nuse super::b;\n    #[cfg(test)]\n    fn of() {\n        if c {\n\
                \x20       }\n    }\n    fn d() {}\n#[cfg(test)]\nmod tests {\n    fn e() {}\n}\n";
    assert_eq!(without_tests(code), "mod a;\nuse super::b;\n    fn d() {}\n");
}

#[test]
fn modules_form_no_import_cycle() {
    let module = |path: &str| path.split("::").map(str::to_owned).collect::<Module>();
    let uses = uses("src");
    // The parser finds imports of each form.
    for (user, used) in [
        ("mcp::http::endpoint", "mcp::delivery"),
        ("mcp::server", "mcp::tools::registry"),
        ("mcp::tools", "mcp::tools::add_issue"),
    ] {
        assert!(uses[&module(user)].contains(&module(used)), "{user} uses {used}");
    }
    assert_eq!(cycle(&uses), None);
    for below in [
        "ait-domain",
        "ait-interchange",
        "ait-query",
        "ait-setup",
        "ait-store",
        "ait-sync",
        "ait-tracker",
    ] {
        let uses = self::uses(&format!("crates/{below}/src"));
        assert_eq!(cycle(&uses), None, "{below}");
    }
    let writer = &self::uses("crates/ait-store/src")[&module("sqlite::writer")];
    assert!(writer.contains(&module("sqlite::database")));
    // Negative control: add one import against the direction.
    let mut wrong = uses;
    wrong.get_mut(&module("mcp::result")).unwrap().insert(module("mcp::delivery"));
    assert!(cycle(&wrong).is_some());
}

/// Returns the layers at the beginning of `ARCHITECTURE.md`, from the top, each with its modules.
fn layers() -> Vec<Vec<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let block = text.split("```").nth(1).unwrap();
    let layer = |line: &str| line.split(" · ").map(|name| name.trim().to_owned()).collect();
    block.trim().lines().map(layer).collect()
}

/// Returns the imports that lead to the same layer or a higher one.
fn uses_against_layers(
    uses: &BTreeMap<Module, BTreeSet<Module>>,
    layers: &[Vec<String>],
) -> Vec<String> {
    let layer_of = |module: &Module| layers.iter().position(|layer| layer.contains(&module[0]));
    let pairs = uses.iter().flat_map(|(user, used)| used.iter().map(move |used| (user, used)));
    pairs
        .filter(|(user, used)| !used.is_empty() && user[0] != used[0])
        .filter(|(user, used)| layer_of(user) >= layer_of(used))
        .map(|(user, used)| format!("{} uses {}", user.join("::"), used.join("::")))
        .collect()
}

#[test]
fn modules_use_only_those_in_lower_layers() {
    let (uses, layers) = (uses("src"), layers());
    let mut named: Vec<_> = layers.iter().flatten().cloned().collect();
    named.sort();
    let all: BTreeSet<_> = uses.keys().map(|module| module[0].clone()).collect();
    assert_eq!(named, all.into_iter().collect::<Vec<_>>());
    assert_eq!(uses_against_layers(&uses, &layers), Vec::<String>::new());
    // Negative control: reverse the layers.
    let reversed: Vec<_> = layers.iter().rev().cloned().collect();
    assert!(uses_against_layers(&uses, &reversed).len() > 100);
}

#[test]
fn only_a_few_modules_use_the_files_of_a_store() {
    let modules = modules(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let users = modules.iter().filter(|(_, path)| code(path).contains("store::files"));
    let users: BTreeSet<_> = users.map(|(user, _)| &*user[0]).collect();
    assert_eq!(users, BTreeSet::from(["app", "doctor", "processes"]));
}

#[test]
fn types_of_the_files_of_a_store_are_implemented_in_their_own_file() {
    let mut owners: BTreeMap<String, PathBuf> = BTreeMap::new();
    let files = sources(Path::new(FILES));
    let named = |line: &str, keyword: &str| -> Option<String> {
        let line = line.strip_prefix("pub ").or(line.strip_prefix("pub(super) ")).unwrap_or(line);
        let rest = line.strip_prefix(keyword)?;
        let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(rest.len());
        Some(rest[..end].to_owned())
    };
    for path in &files {
        for line in code(path).lines() {
            for keyword in ["struct ", "enum "] {
                owners.extend(named(line, keyword).map(|name| (name, path.clone())));
            }
        }
    }
    for path in &files {
        for line in code(path).lines().filter(|line| line.starts_with("impl ")) {
            let Some(name) = named(line, "impl ") else { continue };
            if let Some(owner) = owners.get(&name) {
                assert_eq!(owner, path, "{line}");
            }
        }
    }
}

#[test]
fn file_system_trait_has_at_most_fifteen_methods() {
    let code = code(&Path::new(FILES).join("fs/mod.rs"));
    let (_, after) = code.split_once("pub trait FileSystem").unwrap();
    let (body, _) = after.split_once("\n}\n").unwrap();
    let calls = body.matches("    fn ").count();
    assert!((10..=15).contains(&calls), "{calls}");
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
        "src/mcp/mod.rs",
        "src/web/mod.rs",
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
