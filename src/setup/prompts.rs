//! The prompts of `agents/`, in the form that each client reads.

use toml_edit::DocumentMut;

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

    /// The file of a prompt. Which tools it names holds for Claude Code alone, since others call theirs
    /// otherwise: there it has all that the client gives.
    pub fn text(self, name: &str, prompt: &str) -> String {
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
            assert_eq!(Form::Claude.text(name, prompt), prompt);
            let codex: toml::Table = toml::from_str(&Form::Codex.text(name, prompt)).unwrap();
            assert_eq!(codex["name"].as_str(), Some(name));
            assert_eq!(codex["description"].as_str(), Some(description));
            assert_eq!(codex["developer_instructions"].as_str(), Some(split(prompt).1));
        }
    }
}
