//! The prompts of `agents/`, in the form that each client reads.
//!
//! Each that is written has a mark, a comment with the version that wrote it and the hash of its text, where no
//! client gives it to the model. So a later version knows whether somebody has edited it.

use semver::Version;
use toml_edit::DocumentMut;
use xxhash_rust::xxh3::xxh3_64;

/// What a mark begins with. It has no colon and no space before a number sign, so that whoever reads front
/// matter by lines takes no value from it.
const MARK: &str = "# ait ";
/// The tools by which a prompt of ours without a mark is known.
const TOOLS: [&str; 4] = ["list_issues", "add_issue", "get_next_issue", "get_next_review_item"];

/// The prompts, each by its name.
pub const PROMPTS: [(&str, &str); 4] = [
    ("team-lead", include_str!("../../agents/team-lead.md")),
    ("developer", include_str!("../../agents/developer.md")),
    ("bug-fixer", include_str!("../../agents/bug-fixer.md")),
    ("code-reviewer", include_str!("../../agents/code-reviewer.md")),
];

/// The form of the file of an agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// As the files of `agents/` are.
    Claude,
    /// Markdown below `name` and `description`.
    Cursor,
    /// The same, in a file that ends with `.agent.md`.
    VsCode,
    /// TOML with the text as `developer_instructions`.
    Codex,
    /// Markdown below `name`, `description` and `kind`.
    Gemini,
    /// Markdown below `description` and `mode`; the file has the name.
    Opencode,
}

impl Form {
    /// What the file of an agent is called.
    pub fn file_name(self, name: &str) -> String {
        match self {
            Self::VsCode => format!("{name}.agent.md"),
            Self::Codex => format!("{name}.toml"),
            _ => format!("{name}.md"),
        }
    }

    /// The file of a prompt, with its mark.
    pub fn text(self, name: &str, prompt: &str) -> String {
        let bare = self.bare(name, prompt);
        let mark = format!("{MARK}{} {}\n", env!("CARGO_PKG_VERSION"), hash(&bare));
        match self {
            Self::Codex => format!("{mark}{bare}"),
            _ => bare.replacen("\n---\n", &format!("\n{mark}---\n"), 1),
        }
    }

    /// The same without the mark. Which tools a prompt names holds for Claude Code alone, since others call
    /// theirs otherwise: there it has all that the client gives.
    fn bare(self, name: &str, prompt: &str) -> String {
        let (matter, body) = split(prompt);
        let description = value(matter, "description");
        let below = |keys: &str| format!("---\n{keys}---\n\n{body}");
        match self {
            Self::Claude => prompt.to_owned(),
            Self::Cursor | Self::VsCode => {
                below(&format!("name: {name}\ndescription: {description}\n"))
            }
            Self::Gemini => {
                below(&format!("name: {name}\ndescription: {description}\nkind: local\n"))
            }
            Self::Opencode => below(&format!("description: {description}\nmode: all\n")),
            Self::Codex => {
                let mut document = DocumentMut::new();
                document["name"] = toml_edit::value(name);
                document["description"] = toml_edit::value(description);
                document["developer_instructions"] = toml_edit::value(body);
                document.to_string()
            }
        }
    }
}

/// When to use an agent, as its prompt says.
pub fn description(prompt: &str) -> &str {
    value(split(prompt).0, "description")
}

/// What an agent is told, without what is meant for its client.
pub fn body(prompt: &str) -> &str {
    split(prompt).1
}

/// What became of the file of an agent, seen from what this version writes there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It says the same.
    Same,
    /// That version of ait wrote something else there, and nobody has edited it.
    Unedited(Version),
    /// Somebody has edited what this version writes.
    Edited,
    /// It was edited, or written, and what this version writes was not in it.
    Strange,
    /// It has nothing to do with the tracker.
    Foreign,
}

impl Standing {
    /// That of a text where this version writes `wanted`. How lines end does not count.
    pub fn of(text: &str, wanted: &str) -> Self {
        let text = text.replace("\r\n", "\n");
        let ((mark, bare), (_, wanted)) = (unmarked(&text), unmarked(wanted));
        match mark {
            _ if bare == wanted => Self::Same,
            Some((version, written)) if written == hash(&bare) => Self::Unedited(version),
            Some((_, written)) if written == hash(&wanted) => Self::Edited,
            None if !TOOLS.iter().any(|tool| bare.contains(tool)) => Self::Foreign,
            _ => Self::Strange,
        }
    }

    /// Tells whether everything in it is ours.
    pub fn is_ours(&self) -> bool {
        matches!(self, Self::Same | Self::Unedited(_))
    }

    /// Tells whether a version that is newer than this one wrote it.
    pub fn is_newer(&self) -> bool {
        let own = Version::parse(env!("CARGO_PKG_VERSION"));
        matches!(self, Self::Unedited(version) if own.is_ok_and(|own| *version > own))
    }
}

/// The mark of a text, if it has one, and the text without.
fn unmarked(text: &str) -> (Option<(Version, String)>, String) {
    let mark = |line: &str| {
        let (version, hash) = line.strip_prefix(MARK)?.trim_end().split_once(' ')?;
        Some((Version::parse(version).ok()?, hash.to_owned()))
    };
    let found = text.split_inclusive('\n').find_map(|line| Some((line, mark(line)?)));
    match found {
        Some((line, mark)) => (Some(mark), text.replacen(line, "", 1)),
        None => (None, text.to_owned()),
    }
}

fn hash(text: &str) -> String {
    format!("{:016x}", xxh3_64(text.as_bytes()))
}

/// The lines between the first two rules of a prompt, and the text below them.
fn split(prompt: &str) -> (&str, &str) {
    let matter = prompt.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
    let (matter, body) = matter.unwrap_or(("", prompt));
    (matter, body.trim_start())
}

fn value<'a>(matter: &'a str, key: &str) -> &'a str {
    let mut values = matter.lines().filter_map(|line| line.split_once(": "));
    values.find(|(name, _)| *name == key).map_or("", |(_, value)| value)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_prompt_of_the_project_is_here() {
        let agents = Path::new(env!("CARGO_MANIFEST_DIR")).join("agents");
        let mut there: Vec<String> = fs::read_dir(agents)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let mut here: Vec<String> = PROMPTS.iter().map(|(name, _)| format!("{name}.md")).collect();
        there.sort();
        here.sort();
        assert_eq!(there, here);
    }

    #[test]
    fn the_front_matter_of_each_form_has_what_its_client_needs() {
        for (name, prompt) in PROMPTS {
            let description = value(split(prompt).0, "description");
            // So that it is a text in YAML without quotes.
            assert!(!description.is_empty() && !description.contains(": "), "{name}");
            assert!(!description.contains(" #") && !description.starts_with(['\'', '"', '[', '{']));
            for form in [Form::Cursor, Form::VsCode, Form::Gemini, Form::Opencode] {
                let text = form.text(name, prompt);
                let (matter, body) = split(&text);
                assert_eq!(value(matter, "description"), description);
                assert_eq!(value(matter, "name") == name, form != Form::Opencode, "{form:?}");
                assert_eq!(body, split(prompt).1);
                assert!(!matter.contains("mcp__"), "{matter}");
            }
            let claude = Form::Claude.text(name, prompt);
            assert_eq!(split(&claude).1, split(prompt).1);
            assert_eq!(unmarked(&claude).1, prompt);
            let codex: toml::Table = toml::from_str(&Form::Codex.text(name, prompt)).unwrap();
            assert_eq!(codex["name"].as_str(), Some(name));
            assert_eq!(codex["description"].as_str(), Some(description));
            assert_eq!(codex["developer_instructions"].as_str(), Some(split(prompt).1));
        }
    }

    #[test]
    fn what_was_edited_is_told_from_what_another_version_wrote() {
        let by = |version: &str, text: &str| {
            let mark = format!("{MARK}{version} {}\n---\n", hash(text));
            text.replacen("---\n", &mark, 2).replacen(&mark, "---\n", 1)
        };
        let (old, new) = ("---\nname: a\n---\nold\n", "---\nname: a\n---\nnew\n");
        let wanted = by("1.1.0", new);
        assert_eq!(wanted.matches(MARK).count(), 1, "{wanted}");
        let unedited = |version| Standing::Unedited(Version::parse(version).unwrap());
        for (text, expected) in [
            (wanted.clone(), Standing::Same),
            (new.to_owned(), Standing::Same),
            (by("0.1.0", new), Standing::Same),
            (wanted.replace('\n', "\r\n"), Standing::Same),
            (by("0.1.0", old), unedited("0.1.0")),
            (by("0.1.0", old).replace('\n', "\r\n"), unedited("0.1.0")),
            (wanted.clone() + "sing\n", Standing::Edited),
            (by("0.1.0", old) + "sing\n", Standing::Strange),
            (old.to_owned() + "`add_issue`\n", Standing::Strange),
            (old.to_owned(), Standing::Foreign),
            (String::new(), Standing::Foreign),
        ] {
            assert_eq!(Standing::of(&text, &wanted), expected, "{text}");
        }
        assert!(unedited("999.0.0").is_newer() && !unedited("0.1.0").is_newer());
        for (name, prompt) in PROMPTS {
            for form in [Form::Claude, Form::Codex, Form::Gemini] {
                let text = form.text(name, prompt);
                assert_eq!(text.matches(MARK).count(), 1, "{text}");
                assert_eq!(Standing::of(&form.bare(name, prompt), &text), Standing::Same);
                let first = text.lines().next();
                assert_eq!(first.is_some_and(|it| it.starts_with(MARK)), form == Form::Codex);
            }
        }
    }
}
