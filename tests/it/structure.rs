//! The structure of the code: who may know whom.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const JSON_STORE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/store/json");

/// The source files below a directory.
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

/// The code of a file without its tests and comments.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    code.lines().filter(is_code).map(|line| format!("{line}\n")).collect()
}

/// The names behind `super::`, which is given as often as a path has it.
fn supers(code: &str) -> impl Iterator<Item = (usize, String)> + '_ {
    code.match_indices("super::").filter_map(|(place, _)| {
        // The beginning of a path only.
        if code[..place].ends_with("super::") {
            return None;
        }
        let mut rest = &code[place..];
        let mut levels = 0;
        while let Some(behind) = rest.strip_prefix("super::") {
            (levels, rest) = (levels + 1, behind);
        }
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        Some((levels, rest[..end].to_owned()))
    })
}

/// Which module of the JSON store uses which, by their imports.
fn uses() -> BTreeMap<String, BTreeSet<String>> {
    let root = Path::new(JSON_STORE);
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in sources(root) {
        let within = path.strip_prefix(root).unwrap().with_extension("");
        let mut parts: Vec<_> =
            within.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        if parts.last().is_some_and(|last| last == "mod") {
            parts.pop();
        }
        // The module itself knows all of its parts.
        let Some(module) = parts.first().cloned() else { continue };
        let up = parts.len();
        let known = uses.entry(module.clone()).or_default();
        known
            .extend(supers(&code(&path)).filter(|(levels, _)| *levels == up).map(|(_, name)| name));
    }
    let modules: BTreeSet<_> = uses.keys().cloned().collect();
    for (module, known) in &mut uses {
        known.retain(|name| name != module && modules.contains(name));
    }
    uses
}

/// The modules on a way that ends where it began.
fn circle(uses: &BTreeMap<String, BTreeSet<String>>) -> Option<Vec<String>> {
    fn walk(
        module: &str,
        way: &mut Vec<String>,
        done: &mut BTreeSet<String>,
        uses: &BTreeMap<String, BTreeSet<String>>,
    ) -> Option<Vec<String>> {
        if let Some(begin) = way.iter().position(|seen| seen == module) {
            return Some(way[begin..].to_vec());
        }
        if !done.insert(module.to_owned()) {
            return None;
        }
        way.push(module.to_owned());
        let known = uses.get(module).into_iter().flatten();
        let found = known.into_iter().find_map(|next| walk(next, way, done, uses));
        way.pop();
        found
    }
    let mut done = BTreeSet::new();
    uses.keys().find_map(|module| walk(module, &mut Vec::new(), &mut done, uses))
}

#[test]
fn json_store_has_no_import_cycle() {
    let uses = uses();
    assert!(uses["commit"].contains("view"), "the imports are not found any more");
    assert_eq!(circle(&uses), None);
    // The control: one import against the direction.
    let mut wrong = uses;
    wrong.get_mut("view").unwrap().insert("commit".to_owned());
    assert!(circle(&wrong).is_some());
}

#[test]
fn json_store_types_are_implemented_in_their_own_file() {
    let mut owners: BTreeMap<String, PathBuf> = BTreeMap::new();
    let files = sources(Path::new(JSON_STORE));
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
    let code = code(&Path::new(JSON_STORE).join("fs/mod.rs"));
    let (_, behind) = code.split_once("pub trait FileSystem").unwrap();
    let (body, _) = behind.split_once("\n}\n").unwrap();
    let calls = body.matches("    fn ").count();
    assert!((10..=15).contains(&calls), "{calls}");
}

#[test]
fn architecture_document_names_existing_files_and_functions() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let named =
        text.split('`').filter(|part| part.starts_with("src/") || part.starts_with("tests/"));
    let named: BTreeSet<_> = named.collect();
    assert!(named.len() > 30, "{named:?}");
    let missing: Vec<_> = named.iter().filter(|path| !root.join(path).exists()).collect();
    assert_eq!(missing, Vec::<&&str>::new());
    let mut code_of_all = String::new();
    sources(&root.join("src")).iter().for_each(|path| code_of_all += &code(path));
    let is_function = |part: &&str| {
        part.contains('_') && part.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'_'))
    };
    let functions: BTreeSet<_> = text.split('`').filter(is_function).collect();
    assert!(functions.len() > 3, "{functions:?}");
    for name in functions {
        assert!(code_of_all.contains(&format!("fn {name}")), "there is no function {name}");
    }
}

/// Hints that name them belong to the interfaces.
#[test]
fn domain_and_stores_name_no_command_flag_or_tool() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let is_named = |line: &str| {
        line.split('"').skip(1).step_by(2).any(|text| {
            // The operations have the names of their tools.
            let names_tool = |tool: &&str| text.contains(*tool) && text != *tool;
            ["`ait ", " --", "AIT_"].iter().any(|name| text.contains(name))
                || crate::support::TOOLS.iter().any(names_tool)
        })
    };
    let control = r#"write!(f, "{id} is taken: call add_issue again")"#;
    assert!(is_named(control) && is_named(r#""replace it with --force""#));
    for path in sources(&root.join("domain")).into_iter().chain(sources(&root.join("store"))) {
        for line in code(&path).lines() {
            assert!(!is_named(line), "{}: {line}", path.display());
        }
    }
}
