//! The roles of agents: which tools a session has, and what its agent reads first.
//!
//! A role takes tools away, and gives none. Five are built in; a project adds others, or replaces these, with
//! `.ait/roles/NAME.toml`.

use std::path::Path;

use toml_edit::{Document, Item};

use super::project_files::{self, FileProblem, ROLE_FILES, known, path_of, wrong_name};
use super::project_prompts::ProjectPrompts;
use super::prompts::{self, PROMPTS};

const EXTENSION: &str = "toml";
/// The keys of a file.
const KEYS: [&str; 3] = ["tools", "instructions", "prompt"];
/// The maximum length of the instructions, in characters.
const MAX_INSTRUCTIONS: usize = 2_000;

/// A role.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Role {
    pub name: String,
    /// The names of its tools, without a prefix.
    pub tools: Vec<String>,
    /// What its agent reads instead of the instructions of the server.
    pub instructions: Option<String>,
    /// The only prompt that its client is offered.
    pub prompt: Option<String>,
}

/// Why a session with a role is refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RoleError {
    #[error(
        "there is no role {name:?}: {known}, and a project adds others with .ait/roles/NAME.toml"
    )]
    Unknown { name: String, known: String },
    /// Without its file it is unknown what the role takes away.
    #[error("the role {name:?} cannot be used: {problem}")]
    Broken { name: String, problem: FileProblem },
}

/// A role that is built in.
struct BuiltIn {
    name: &'static str,
    /// The prompt whose tools it has.
    prompt: Option<&'static str>,
    instructions: &'static str,
}

/// The tools of the role that has no prompt: those that change nothing.
const READING: [&str; 8] = [
    "list_issues",
    "query_issues",
    "find_problems",
    "analyze_issue",
    "get_digest",
    "get_context",
    "recall",
    "get_remote",
];

const BUILT_IN: [BuiltIn; 5] = [
    BuiltIn {
        name: "lead",
        prompt: Some("team-lead"),
        instructions: "\
You lead the agents that share one issue queue: file what is to be done, look at what waits, and start workers; claim \
nothing yourself. list_issues with take: 0 counts what is ready. If an agent is gone, return_issue puts its issue \
back into its old place. Pass the same `agent` in every call. The first 8 digits of an id are enough. Errors say what \
to do next.",
    },
    BuiltIn { name: "developer", prompt: Some("developer"), instructions: WORKER },
    BuiltIn { name: "bug-fixer", prompt: Some("bug-fixer"), instructions: WORKER },
    BuiltIn {
        name: "reviewer",
        prompt: Some("code-reviewer"),
        instructions: "\
You review what other agents handed in to one issue queue. get_next_review_item claims an issue; never let go of it \
without close_issue or return_issue. Build and test its branch, merge it (`ait merge ID`), close_issue. If something \
must change, return_issue with exactly what. File what you find besides with add_issue. Pass the same `agent` in \
every call. The first 8 digits of an id are enough. Errors say what to do next.",
    },
    BuiltIn {
        name: "observer",
        prompt: None,
        instructions: "\
You observe one issue queue that several coding agents share: created, in_progress, completed, in_review, then closed \
or rejected. You change nothing. The first 8 digits of an id are enough. Errors say what to do next.",
    },
];

const WORKER: &str = "\
You work on issues of one queue that several coding agents share. get_next_issue claims an issue: claim before you \
work, and never let go of a claim without complete_issue, return_issue or close_issue. Work in a git worktree (`ait \
worktree ID`), verify, complete_issue; another agent reviews and merges it. If you cannot finish, return_issue with \
what the next one needs to know. File what you find besides with add_issue. Pass the same `agent` in every call. The \
first 8 digits of an id are enough. Errors say what to do next.";

impl BuiltIn {
    fn role(&self) -> Role {
        let prompt = PROMPTS.iter().find(|(name, _)| Some(*name) == self.prompt);
        Role {
            name: self.name.to_owned(),
            tools: match prompt {
                Some((_, prompt)) => prompts::tools(prompt).map(str::to_owned).collect(),
                None => READING.map(str::to_owned).to_vec(),
            },
            instructions: Some(self.instructions.to_owned()),
            prompt: self.prompt.map(str::to_owned),
        }
    }
}

impl Role {
    /// Finds a role of a project: its file, or else the built-in one. `tools` are the names of all tools.
    ///
    /// # Errors
    ///
    /// There is no such role, or its file is invalid.
    pub fn find(project: Option<&Path>, name: &str, tools: &[&str]) -> Result<Self, RoleError> {
        if wrong_name(name).is_none()
            && let Some(project) = project
        {
            let broken = |problem| RoleError::Broken { name: name.to_owned(), problem };
            if let Some(role) = Self::read(project, name, tools).map_err(broken)? {
                return Ok(role);
            }
        }
        let built_in = BUILT_IN.iter().find(|role| role.name == name);
        built_in.map(BuiltIn::role).ok_or_else(|| {
            let files = project.and_then(|root| files(root).ok()).unwrap_or_default();
            let built_in = BUILT_IN.iter().map(|role| role.name);
            let others = files.iter().map(String::as_str).filter(|file| !is_built_in(file));
            let name = ait_domain::text::shortened(name, 60);
            RoleError::Unknown { known: known(&name, built_in.chain(others)), name }
        })
    }

    /// Reads the file of a role, if it exists.
    fn read(project: &Path, name: &str, tools: &[&str]) -> Result<Option<Self>, FileProblem> {
        let file = format!("{name}.{EXTENSION}");
        let text = project_files::read(project, ROLE_FILES, &file)?;
        text.map(|text| Self::parse(name, &path_of(ROLE_FILES, &file), &text, tools)).transpose()
    }

    fn parse(name: &str, path: &str, text: &str, tools: &[&str]) -> Result<Self, FileProblem> {
        let line_of = |at: usize| 1 + text[..at.min(text.len())].matches('\n').count();
        let line =
            |span: Option<std::ops::Range<usize>>| Some(line_of(span.map_or(0, |s| s.start)));
        let table = Document::parse(text)
            .map_err(|error| FileProblem::new(path, line(error.span()), error.message()))?;
        let mut role =
            Self { name: name.to_owned(), tools: Vec::new(), instructions: None, prompt: None };
        for (key, value) in table.iter().filter_map(|(name, _)| table.get_key_value(name)) {
            let problem = |reason: String| FileProblem::new(path, line(key.span()), reason);
            match key.get() {
                "tools" => {
                    for value in value.as_array().into_iter().flatten() {
                        let at = line(value.span());
                        let tool = value.as_str().unwrap_or_default();
                        if !tools.contains(&tool) {
                            let known = known(tool, tools.iter().copied());
                            let reason = format!("there is no tool {tool:?}: {known}");
                            return Err(FileProblem::new(path, at, reason));
                        }
                        role.tools.push(tool.to_owned());
                    }
                    if role.tools.is_empty() {
                        return Err(problem("tools must be a list with the name of a tool".into()));
                    }
                }
                "instructions" => {
                    let text =
                        text_of(value).filter(|text| text.chars().count() <= MAX_INSTRUCTIONS);
                    role.instructions = Some(text.ok_or_else(|| {
                        problem(format!(
                            "instructions must be a text of 1 to {MAX_INSTRUCTIONS} characters"
                        ))
                    })?);
                }
                "prompt" => {
                    let name = text_of(value).unwrap_or_default();
                    if let Some(reason) = wrong_name(&name) {
                        return Err(problem(format!("prompt is the name of a prompt: {reason}")));
                    }
                    role.prompt = Some(name);
                }
                other => {
                    let known = known(other, KEYS.into_iter());
                    return Err(problem(format!("a role has no {other:?}: {known}")));
                }
            }
        }
        if role.tools.is_empty() {
            return Err(FileProblem::new(
                path,
                None,
                "it names no tools: add tools = [\"list_issues\"]",
            ));
        }
        Ok(role)
    }
}

fn text_of(value: &Item) -> Option<String> {
    value.as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned)
}

fn is_built_in(name: &str) -> bool {
    BUILT_IN.iter().any(|role| role.name == name)
}

fn files(project: &Path) -> Result<Vec<String>, FileProblem> {
    project_files::names(project, ROLE_FILES, EXTENSION)
}

/// Reads all role files of a project. Returns how many are valid, and what is wrong with the others.
pub fn examine(
    project: &Path,
    tools: &[&str],
    prompts: &ProjectPrompts,
) -> (usize, Vec<FileProblem>) {
    let names = match files(project) {
        Ok(names) => names,
        Err(problem) => return (0, vec![problem]),
    };
    let known_prompts = PROMPTS.iter().map(|(name, _)| *name);
    let known_prompts =
        known_prompts.chain(prompts.prompts.iter().map(|prompt| prompt.name.as_str()));
    let wrong = |name: &String| {
        let path = path_of(ROLE_FILES, &format!("{name}.{EXTENSION}"));
        if let Some(reason) = wrong_name(name) {
            return Some(FileProblem::new(&path, None, reason));
        }
        match Role::read(project, name, tools) {
            Ok(role) => {
                let prompt = role?.prompt?;
                let is_known = known_prompts.clone().any(|known| known == prompt);
                let known = known(&prompt, known_prompts.clone());
                let reason = format!("there is no prompt {prompt:?}: {known}");
                (!is_known).then(|| FileProblem::new(&path, None, reason))
            }
            Err(problem) => Some(problem),
        }
    };
    let problems: Vec<_> = names.iter().filter_map(wrong).collect();
    (names.len() - problems.len(), problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOLS: [&str; 2] = ["list_issues", "close_issue"];

    fn parse(text: &str) -> Result<Role, String> {
        Role::parse("r", "r.toml", text, &TOOLS).map_err(|problem| problem.to_string())
    }

    #[test]
    fn a_role_file_is_refused_with_the_line_and_the_nearest_name() {
        let role =
            parse("tools = [\"list_issues\"]\nprompt = \"p\"\ninstructions = \"x\"\n").unwrap();
        assert_eq!(role.tools, ["list_issues"]);
        assert_eq!((role.prompt.as_deref(), role.instructions.as_deref()), (Some("p"), Some("x")));
        for (text, line, words) in [
            (
                "tools = [\n  \"list_issues\",\n  \"close_isue\",\n]",
                ", line 3",
                "did you mean close_issue?",
            ),
            ("tools = [\"list_issues\"]\ntool = 1", ", line 2", "did you mean tools?"),
            ("tools = [\"list_issues\"]\nprompt = \"A b\"", ", line 2", "is no name"),
            ("\ntools = []", ", line 2", "must be a list"),
            ("tools = 3", ", line 1", "must be a list"),
            ("\n\ninstructions = \"\"", ", line 3", "1 to 2000"),
            ("prompt = \"p\"", "r.toml:", "names no tools"),
            ("tools = [\"list_issues\"", ", line 1", "r.toml"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(line) && error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn built_in_roles_have_the_tools_of_their_prompts() {
        let find = |name| Role::find(None, name, &TOOLS);
        let reviewer = find("reviewer").unwrap();
        assert_eq!(reviewer.tools.len(), 5);
        for BuiltIn { name, .. } in BUILT_IN {
            let role = find(name).unwrap();
            assert!(role.tools.len() >= 5 && role.tools.contains(&"list_issues".to_owned()));
        }
        let error = find("reveiwer").unwrap_err().to_string();
        assert!(error.contains("did you mean reviewer?") && error.contains("observer"), "{error}");
    }
}
