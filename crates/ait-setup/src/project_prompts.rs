//! The prompts of a project: `.ait/prompts/*.md`.
//!
//! A file is Markdown below front matter with `description`, and perhaps `name` and `arguments`. In its text,
//! `{{argument}}` stands for a value. A file that is not valid is left out, and the others stay.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::project_files::{self, FileProblem, PROMPT_FILES, TeamFile, known, wrong_name};
use super::prompts::{PROMPTS, split};

const EXTENSION: &str = "md";
/// The keys of the front matter.
const KEYS: [&str; 3] = ["name", "description", "arguments"];
const MAX_ARGUMENTS: usize = 20;
/// The maximum length of a description, in characters.
const MAX_DESCRIPTION: usize = 500;

/// The valid prompts of a project, and what is wrong with the others.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProjectPrompts {
    pub prompts: Vec<ProjectPrompt>,
    pub problems: Vec<FileProblem>,
}

/// A prompt of a project.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProjectPrompt {
    pub name: String,
    pub description: String,
    pub arguments: Vec<ProjectArgument>,
    /// The text below the front matter.
    text: String,
}

/// An argument of a prompt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProjectArgument {
    pub name: String,
    pub description: String,
    pub is_required: bool,
}

impl ProjectPrompts {
    /// Reads the prompts of a project.
    pub fn read(project: &Path) -> Self {
        let (files, problems) = project_files::all(project, PROMPT_FILES, EXTENSION);
        let mut all = Self { problems, ..Self::default() };
        for TeamFile { name, path, text } in files {
            all.add(&name, &path, &text);
        }
        all
    }

    fn add(&mut self, stem: &str, path: &str, text: &str) {
        match ProjectPrompt::parse(stem, path, text) {
            Ok(prompt) if self.prompts.iter().any(|known| known.name == prompt.name) => {
                let reason = format!("another file has the prompt {:?}", prompt.name);
                self.problems.push(FileProblem::new(path, None, reason));
            }
            Ok(prompt) => self.prompts.push(prompt),
            Err(problem) => self.problems.push(problem),
        }
    }
}

/// Returns the prompts that clients get as agents, by their names: those of `agents/`, and those of a project without
/// arguments, which also replace the former.
pub fn agents(project: &Path) -> Vec<(String, String)> {
    let mut files = ProjectPrompts::read(project).prompts;
    let replaced = |files: &mut Vec<ProjectPrompt>, name| {
        let at = files.iter().position(|file| file.name == name)?;
        Some(files.remove(at))
    };
    let mut agents = Vec::new();
    for (name, prompt) in PROMPTS {
        let file = replaced(&mut files, name).and_then(|file| file.agent(Some(prompt)));
        agents.push((name.to_owned(), file.unwrap_or_else(|| prompt.to_owned())));
    }
    agents
        .extend(files.into_iter().filter_map(|file| Some((file.name.clone(), file.agent(None)?))));
    agents
}

/// Returns the directory of the prompts of a project, if it exists and is no link.
fn directory(project: &Path) -> Option<PathBuf> {
    let own = project.join(project_files::DIRECTORY);
    let prompts = own.join(PROMPT_FILES);
    (!own.is_symlink() && !prompts.is_symlink() && prompts.is_dir()).then_some(prompts)
}

/// Returns true if a project has the directory of prompts, and it is no link.
pub fn has_directory(project: &Path) -> bool {
    directory(project).is_some()
}

/// The names, sizes and times of files.
pub type FileState = Vec<(PathBuf, u64, Option<SystemTime>)>;

/// Returns what differs after a change of the files of a project.
pub fn state(project: &Path) -> FileState {
    let entries = directory(project).and_then(|directory| fs::read_dir(directory).ok());
    let entries = entries.into_iter().flatten().flatten();
    let mut state: Vec<_> = entries
        .map(|entry| {
            let metadata = entry.metadata().ok();
            let time = metadata.as_ref().and_then(|metadata| metadata.modified().ok());
            (entry.path(), metadata.map_or(0, |metadata| metadata.len()), time)
        })
        .collect();
    state.sort();
    state
}

impl ProjectPrompt {
    fn parse(stem: &str, path: &str, text: &str) -> Result<Self, FileProblem> {
        let problem = |line: usize, reason: String| FileProblem::new(path, Some(line), reason);
        let lines: Vec<&str> = text.lines().collect();
        let end = lines.iter().skip(1).position(|line| line.trim_end() == "---");
        let (Some(&"---"), Some(end)) = (lines.first(), end) else {
            let reason =
                "it must begin with front matter: a line ---, description: ..., and a line ---";
            return Err(problem(1, reason.to_owned()));
        };
        let mut prompt = Self {
            name: stem.to_owned(),
            description: String::new(),
            arguments: Vec::new(),
            text: lines[end + 2..].join("\n").trim_start().to_owned(),
        };
        let mut is_in_arguments = false;
        for (line, number) in lines[1..=end].iter().zip(2..) {
            let problem = |reason: String| problem(number, reason);
            if line.trim().is_empty() {
                continue;
            }
            let is_indented = line.starts_with([' ', '\t']);
            let Some((key, value)) = key_and_value(line) else {
                return Err(problem(format!("{:?} is not `key: value`", line.trim())));
            };
            if is_indented && is_in_arguments {
                let argument = ProjectArgument::parse(key, value).map_err(problem)?;
                if prompt.arguments.iter().any(|known| known.name == argument.name) {
                    return Err(problem(format!("there are two arguments {:?}", argument.name)));
                }
                if prompt.arguments.len() == MAX_ARGUMENTS {
                    return Err(problem(format!("a prompt has at most {MAX_ARGUMENTS} arguments")));
                }
                prompt.arguments.push(argument);
                continue;
            }
            is_in_arguments = key == "arguments";
            match key {
                _ if is_indented => return Err(problem("only arguments are indented".to_owned())),
                "name" => prompt.name = value.to_owned(),
                "description" if value.is_empty() || value.chars().count() > MAX_DESCRIPTION => {
                    let reason = format!("description must have 1 to {MAX_DESCRIPTION} characters");
                    return Err(problem(reason));
                }
                "description" if needs_quotes(value) => {
                    let reason = "description must be plain: leave out `: `, ` #` and marks at its beginning";
                    return Err(problem(reason.to_owned()));
                }
                "description" => prompt.description = value.to_owned(),
                "arguments" if value.is_empty() => {}
                "arguments" => {
                    let reason =
                        "put each argument into a line below, such as `  version: The version`";
                    return Err(problem(reason.to_owned()));
                }
                other => {
                    let known = known(other, KEYS.into_iter());
                    return Err(problem(format!("a prompt has no {other:?}: {known}")));
                }
            }
        }
        if let Some(reason) = wrong_name(&prompt.name) {
            return Err(FileProblem::new(path, None, reason));
        }
        if prompt.description.is_empty() {
            return Err(problem(
                1,
                "the front matter has no description: say when to use it".into(),
            ));
        }
        prompt.refuse_undefined(path, &lines[end + 2..], end + 3)?;
        Ok(prompt)
    }

    /// Refuses a variable that is no argument. `first` is the number of the first line of the text.
    fn refuse_undefined(
        &self,
        path: &str,
        lines: &[&str],
        first: usize,
    ) -> Result<(), FileProblem> {
        for (line, number) in lines.iter().zip(first..) {
            for variable in variables(line) {
                let Variable { name, is_literal, .. } = variable;
                let arguments = self.arguments.iter().map(|argument| argument.name.as_str());
                if is_literal || arguments.clone().any(|known| known == name) {
                    continue;
                }
                let known = match self.arguments.len() {
                    0 => "the prompt has no arguments".to_owned(),
                    _ => known(name, arguments),
                };
                let reason = format!(
                    "{{{{{name}}}}} is no argument: {known}; write \\{{{{{name}}}}} for the text itself"
                );
                return Err(FileProblem::new(path, Some(number), reason));
            }
        }
        Ok(())
    }

    /// Returns the text with the values of its arguments. An argument without a value is left out.
    pub fn filled<'a>(&self, value: impl Fn(&str) -> Option<&'a str>) -> String {
        let mut filled = String::with_capacity(self.text.len());
        let mut end = 0;
        for Variable { name, place, is_literal } in variables(&self.text) {
            filled += &self.text[end..place.start];
            if is_literal {
                // Without the backslash.
                filled += &self.text[place.start + 1..place.end];
            } else {
                filled += value(name).unwrap_or_default();
            }
            end = place.end;
        }
        filled + &self.text[end..]
    }

    /// Returns the prompt as a skill: Markdown below `name` and `description`. A prompt with arguments is none, because
    /// no values come with a skill.
    pub fn skill(&self) -> Option<String> {
        self.with_front_matter("")
    }

    /// Returns the prompt as a file of `agents/`, with the tools of the one that it replaces.
    pub(super) fn agent(&self, replaced: Option<&str>) -> Option<String> {
        let matter = replaced.map_or("", |prompt| split(prompt).0).lines();
        let own = |line: &&str| !line.starts_with("name: ") && !line.starts_with("description: ");
        self.with_front_matter(
            &matter.filter(own).map(|line| format!("{line}\n")).collect::<String>(),
        )
    }

    fn with_front_matter(&self, others: &str) -> Option<String> {
        let Self { name, description, arguments, .. } = self;
        arguments.is_empty().then(|| {
            let text = self.filled(|_| None);
            format!("---\nname: {name}\ndescription: {description}\n{others}---\n\n{text}\n")
        })
    }
}

impl ProjectArgument {
    /// Parses a line of the arguments, whose name ends with `?` if a value may be left out.
    fn parse(name: &str, description: &str) -> Result<Self, String> {
        let optional = name.strip_suffix('?');
        let name = optional.unwrap_or(name);
        if name.is_empty() || !name.chars().all(is_of_name) {
            return Err(format!(
                "{name:?} is no argument: use letters, digits, - and _, as in `  version: The version`, with `?` \
                 behind the name if it may be left out"
            ));
        }
        Ok(Self {
            name: name.to_owned(),
            description: description.to_owned(),
            is_required: optional.is_none(),
        })
    }
}

fn is_of_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '-' || character == '_'
}

/// Splits a line of front matter. Quotes around a value are not part of it.
fn key_and_value(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let value = value.trim();
    let quoted = |mark: char| value.strip_prefix(mark)?.strip_suffix(mark);
    Some((key.trim(), quoted('"').or_else(|| quoted('\'')).unwrap_or(value)))
}

/// Returns true if a value of YAML needs quotes, which not all clients read.
fn needs_quotes(value: &str) -> bool {
    const MARKS: &str = "'\"[]{}&*!|>%@`#,?-:";
    value.contains(": ")
        || value.contains(" #")
        || value.ends_with(':')
        || value.starts_with(|mark| MARKS.contains(mark))
}

/// A variable in a text.
struct Variable<'a> {
    name: &'a str,
    place: Range<usize>,
    /// Whether a backslash before it says that it is no variable.
    is_literal: bool,
}

/// Finds `{{name}}` in a text. Other text in braces, such as `${{ github.ref }}`, is no variable.
fn variables(text: &str) -> impl Iterator<Item = Variable<'_>> {
    text.match_indices("{{").filter_map(|(start, mark)| {
        let after = &text[start + mark.len()..];
        let (name, _) = after.split_once("}}")?;
        let end = start + mark.len() + name.len() + mark.len();
        let is_on_one_line = !name.contains('\n');
        let name = name.trim();
        let is_literal = text[..start].ends_with('\\');
        let place = start - usize::from(is_literal)..end;
        let is_name = is_on_one_line && !name.is_empty() && name.chars().all(is_of_name);
        is_name.then_some(Variable { name, place, is_literal })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<ProjectPrompt, String> {
        ProjectPrompt::parse("stem", "p.md", text).map_err(|problem| problem.to_string())
    }

    #[test]
    fn values_take_the_place_of_variables_once() {
        let text = "---\nname: n\ndescription: \"When now\"\narguments:\n  one: First\n  two?: \n---\n\n\
                    {{one}} {{ two }}{{one}} \\{{one}} ${{ a.b }} {{#if}} {{\n";
        let prompt = parse(text).unwrap();
        assert_eq!((&*prompt.name, &*prompt.description), ("n", "When now"));
        let required: Vec<_> =
            prompt.arguments.iter().map(|argument| argument.is_required).collect();
        assert_eq!(required, [true, false]);
        let filled = prompt.filled(|name| (name == "one").then_some("{{two}}"));
        assert_eq!(filled, "{{two}} {{two}} {{one}} ${{ a.b }} {{#if}} {{");
        assert_eq!(prompt.skill(), None);
        let skill = parse("---\ndescription: d\n---\nText\n").unwrap().skill().unwrap();
        assert_eq!(skill, "---\nname: stem\ndescription: d\n---\n\nText\n");
    }

    #[test]
    fn an_invalid_prompt_is_refused_with_its_line() {
        for (text, line, words) in [
            ("# Text\n", 1, "front matter"),
            ("---\ndescription: d\n", 1, "front matter"),
            ("---\ndescripton: d\n---\n", 2, "did you mean description?"),
            ("---\ndescription:\n---\n", 2, "1 to 500"),
            ("---\ndescription: \"a: b\"\n---\n", 2, "must be plain"),
            ("---\nname: n\n---\n", 1, "no description"),
            ("---\ndescription: d\nargument\n---\n", 3, "key: value"),
            ("---\ndescription: d\n  a: b\n---\n", 3, "only arguments"),
            ("---\ndescription: d\narguments: a\n---\n", 3, "line below"),
            ("---\ndescription: d\narguments:\n  a b: c\n---\n", 4, "is no argument"),
            ("---\ndescription: d\narguments:\n  a: c\n  a?: c\n---\n", 5, "two arguments"),
            ("---\ndescription: d\n---\n\n{{x}}\n", 5, "has no arguments"),
            (
                "---\ndescription: d\narguments:\n  version: v\n---\na\n{{ verson }}\n",
                7,
                "did you mean version?",
            ),
        ] {
            let error = parse(text).unwrap_err();
            let place = format!("p.md, line {line}: ");
            assert!(error.starts_with(&place) && error.contains(words), "{text}: {error}");
        }
        assert!(parse("---\nname: N n\ndescription: d\n---\n").unwrap_err().contains("is no name"));
    }
}
