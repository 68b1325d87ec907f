//! The prompts of `agents/`, in the form that each client reads.
//!
//! Each file has a mark: a comment with the version that wrote it and the hash of its text, in a place that no client
//! gives to the model. By it a later version knows whether the user edited the file.

use semver::Version;
use toml_edit::DocumentMut;
use xxhash_rust::xxh3::xxh3_64;

use super::SERVER;

/// What a mark begins with. Without a colon, a parser that reads front matter by lines finds no value in it.
const MARK: &str = "# ait ";
/// Tools of the tracker. A file without a mark is one of our prompts if it names one of them.
const TOOLS: [&str; 4] = ["list_issues", "add_issue", "get_next_issue", "get_next_review_item"];

/// The prompts, by their names.
pub const PROMPTS: [(&str, &str); 4] = [
    ("team-lead", include_str!("../../../agents/team-lead.md")),
    ("developer", include_str!("../../../agents/developer.md")),
    ("bug-fixer", include_str!("../../../agents/bug-fixer.md")),
    ("code-reviewer", include_str!("../../../agents/code-reviewer.md")),
];

/// Returns true if a prompt is one of `agents/`.
pub fn is_built_in(name: &str) -> bool {
    PROMPTS.iter().any(|(known, _)| *known == name)
}

/// The format of an agent file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// That of the files in `agents/`.
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
    /// The file name of an agent.
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

    /// The file without the mark. Only Claude Code gets the list of tools, since it has the names of Claude Code;
    /// without a list, an agent has all tools.
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

/// The file of a prompt as a skill: Markdown below `name` and `description`.
pub fn skill(name: &str, prompt: &str) -> String {
    Form::Cursor.bare(name, prompt)
}

/// The description of a prompt: when to use the agent.
pub fn description(prompt: &str) -> &str {
    value(split(prompt).0, "description")
}

/// The names of the tools of the tracker that a prompt has.
pub fn tools(prompt: &str) -> impl Iterator<Item = &str> {
    let tools = value(split(prompt).0, "tools").split(", ");
    tools.filter_map(|tool| tool.strip_prefix("mcp__")?.strip_prefix(SERVER)?.strip_prefix("__"))
}

/// The text of a prompt without its front matter.
pub fn body(prompt: &str) -> &str {
    split(prompt).1
}

/// The state of an agent file, compared with what this version writes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PromptState {
    /// It has the same text.
    Same,
    /// That version of ait wrote another text, and the user has not edited it.
    Unedited(Version),
    /// The user has edited what this version writes.
    Edited,
    /// It was edited, and does not come from what this version writes.
    Diverged,
    /// It has nothing to do with the tracker.
    Foreign,
}

impl PromptState {
    /// Compares a text with what this version writes, whatever the line ends.
    pub fn of(text: &str, wanted: &str) -> Self {
        let text = text.replace("\r\n", "\n");
        let (mark, bare) = unmarked(&text);
        let (_, wanted) = unmarked(wanted);
        match mark {
            _ if bare == wanted => Self::Same,
            Some((version, written)) if written == hash(&bare) => Self::Unedited(version),
            Some((_, written)) if written == hash(&wanted) => Self::Edited,
            None if !TOOLS.iter().any(|tool| bare.contains(tool)) => Self::Foreign,
            _ => Self::Diverged,
        }
    }

    /// Returns true if the user has not edited it.
    pub fn is_ours(&self) -> bool {
        matches!(self, Self::Same | Self::Unedited(_))
    }

    /// Returns true if a newer version than this one wrote it.
    pub fn is_newer(&self) -> bool {
        let own = Version::parse(env!("CARGO_PKG_VERSION"));
        matches!(self, Self::Unedited(version) if own.is_ok_and(|own| *version > own))
    }
}

/// Splits the mark from a text.
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

/// Splits the front matter from the text below it.
pub(super) fn split(prompt: &str) -> (&str, &str) {
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
    fn every_prompt_file_is_embedded() {
        let agents = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../agents");
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
    fn each_prompt_form_has_the_front_matter_of_its_client() {
        for (name, prompt) in PROMPTS {
            let description = value(split(prompt).0, "description");
            // It needs no quotes in YAML.
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
    fn edited_prompts_differ_from_prompts_of_other_versions() {
        let by = |version: &str, text: &str| {
            let mark = format!("{MARK}{version} {}\n---\n", hash(text));
            text.replacen("---\n", &mark, 2).replacen(&mark, "---\n", 1)
        };
        let old = "---\nname: a\n---\nold\n";
        let new = "---\nname: a\n---\nnew\n";
        let wanted = by("1.1.0", new);
        assert_eq!(wanted.matches(MARK).count(), 1, "{wanted}");
        let unedited = |version| PromptState::Unedited(Version::parse(version).unwrap());
        for (text, expected) in [
            (wanted.clone(), PromptState::Same),
            (new.to_owned(), PromptState::Same),
            (by("0.1.0", new), PromptState::Same),
            (wanted.replace('\n', "\r\n"), PromptState::Same),
            (by("0.1.0", old), unedited("0.1.0")),
            (by("0.1.0", old).replace('\n', "\r\n"), unedited("0.1.0")),
            (wanted.clone() + "sing\n", PromptState::Edited),
            (by("0.1.0", old) + "sing\n", PromptState::Diverged),
            (old.to_owned() + "`add_issue`\n", PromptState::Diverged),
            (old.to_owned(), PromptState::Foreign),
            (String::new(), PromptState::Foreign),
        ] {
            assert_eq!(PromptState::of(&text, &wanted), expected, "{text}");
        }
        assert!(unedited("999.0.0").is_newer() && !unedited("0.1.0").is_newer());
        for (name, prompt) in PROMPTS {
            for form in [Form::Claude, Form::Codex, Form::Gemini] {
                let text = form.text(name, prompt);
                assert_eq!(text.matches(MARK).count(), 1, "{text}");
                assert_eq!(PromptState::of(&form.bare(name, prompt), &text), PromptState::Same);
                let first = text.lines().next();
                assert_eq!(first.is_some_and(|line| line.starts_with(MARK)), form == Form::Codex);
            }
        }
    }
}
