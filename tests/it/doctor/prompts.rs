//! Files that `ait init` of another version wrote: doctor reports them, and updates those that were not edited.

use std::fs;
use std::path::PathBuf;

use xxhash_rust::xxh3::xxh3_64;

use super::{Examined, examine_by};
use crate::init::Desk;

const DEVELOPER: &str = ".claude/agents/developer.md";

/// Returns a project that is set up for Claude Code.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.init_now(&["--client", "claude-code"]);
    examine(&desk)
        .only(&[])
        .is("prompts", "ok")
        .says("prompts", &["6 files that `ait init` wrote are of this version"]);
    desk
}

fn examine(desk: &Desk) -> Examined {
    examine_by(&mut desk.command(&desk.project(), &["doctor", "--json"]))
}

fn fix(desk: &Desk) -> Examined {
    examine_by(&mut desk.command(&desk.project(), &["doctor", "--fix", "--json"]))
}

/// Returns a prompt with another text, as another version would have written it.
fn of_version(prompt: &str, version: &str) -> String {
    let is_mark = |line: &&str| line.starts_with("# ait ");
    let bare: String = prompt.split_inclusive('\n').filter(|line| !is_mark(line)).collect();
    let bare = bare.replace("one issue", "an issue");
    let mark = format!("\n# ait {version} {:016x}\n---\n", xxh3_64(bare.as_bytes()));
    bare.replacen("\n---\n", &mark, 1)
}

/// Returns the copies that repairs made.
fn copies(desk: &Desk) -> Vec<PathBuf> {
    let names = desk.tree().into_keys();
    names.filter(|path| path.to_string_lossy().contains(".before-doctor-")).collect()
}

#[test]
fn fix_updates_an_old_prompt_and_keeps_a_copy() {
    let desk = desk();
    let current = desk.read(DEVELOPER);
    let old = of_version(&current, "0.9.0");
    desk.write(DEVELOPER, &old);
    let examined = examine(&desk);
    examined.only(&["prompts"]).says("prompts", &[DEVELOPER, "of another version", "--fix"]);
    assert_eq!(desk.read(DEVELOPER), old);
    fix(&desk).only(&[]).ends_with(0);
    assert_eq!(desk.read(DEVELOPER), current);
    assert_eq!(fs::read_to_string(&copies(&desk)[0]).unwrap(), old);
    // `ait init` updates the prompt, too, without a copy or a note.
    desk.write(DEVELOPER, &old);
    let before = desk.tree().len();
    let shown = desk.init_now(&["--client", "claude-code"]);
    assert!(shown.contains("developer.md (changed)") && !shown.contains("stays"), "{shown}");
    assert_eq!((desk.read(DEVELOPER), desk.tree().len()), (current, before));
    // `ait init --remove` removes an old prompt, too.
    desk.write(DEVELOPER, &old);
    desk.init_now(&["--remove"]);
    assert!(!desk.has(DEVELOPER));
}

#[test]
fn edited_or_newer_prompts_are_never_overwritten() {
    let desk = desk();
    let current = desk.read(DEVELOPER);
    // An edited prompt of this version is intended, so doctor does not report it.
    desk.write(DEVELOPER, &(current.clone() + "Always sing.\n"));
    examine(&desk).only(&[]).is("prompts", "ok");
    let edited = of_version(&current, "0.9.0") + "Always sing.\n";
    desk.write(DEVELOPER, &edited);
    examine(&desk).only(&["prompts"]).says("prompts", &["edited", "ait init --force --dry-run"]);
    fix(&desk).only(&["prompts"]).ends_with(0);
    assert_eq!(desk.read(DEVELOPER), edited);
    // An older version does not overwrite a prompt of a newer one.
    let newer = of_version(&current, "99.0.0");
    desk.write(DEVELOPER, &newer);
    examine(&desk).only(&["prompts"]).says("prompts", &["a newer version", "update this ait"]);
    fix(&desk).only(&["prompts"]);
    let shown = desk.init_now(&["--client", "claude-code"]);
    assert!(shown.contains("of a newer version, and stays"), "{shown}");
    assert_eq!(desk.read(DEVELOPER), newer);
    // Doctor ignores a prompt with the same name that `ait init` did not write.
    desk.write(DEVELOPER, "---\nname: developer\n---\n\nWrite Rust.\n");
    examine(&desk).only(&[]);
    assert!(copies(&desk).is_empty());
}

#[test]
fn fix_updates_old_sections_for_the_same_preset() {
    for preset in ["team", "solo", "review-heavy"] {
        let desk = Desk::new();
        desk.init_now(&["--client", "claude-code", "--client", "codex", "--preset", preset]);
        let current = desk.tree();
        for name in ["CLAUDE.md", "AGENTS.md"] {
            let old = desk.read(name).replace("hands it in", "gives it back");
            assert_ne!(old, desk.read(name));
            desk.write(name, &("# Ours\n\n".to_owned() + &old));
        }
        let ignored = desk.read(".gitignore");
        desk.write(".gitignore", &ignored.replace("*.before-doctor-*\n", ""));
        let examined = examine(&desk);
        examined.only(&["prompts"]).says("prompts", &["3 files", "CLAUDE.md", "AGENTS.md"]);
        examined.says("prompts", &[".gitignore"]);
        fix(&desk).only(&[]).ends_with(0);
        for name in ["CLAUDE.md", "AGENTS.md"] {
            let path = desk.project().join(name);
            let wanted = String::from_utf8(current[&path].clone().unwrap()).unwrap();
            assert_eq!(desk.read(name), format!("# Ours\n\n{wanted}"), "{preset}");
        }
        assert_eq!(copies(&desk).len(), 3);
        // Without the end mark, doctor cannot know which lines belong to the section.
        desk.write("CLAUDE.md", "<!-- ait init: begin -->\n");
        examine(&desk).only(&["prompts"]).says("prompts", &["CLAUDE.md, the lines"]).ends_with(1);
        fix(&desk).only(&["prompts"]);
    }
}
