//! The prompts that a person picks in a client to put an agent to work.
//!
//! Four are the roles of `agents/`; two set up a project and check its store; others are files of the project, which
//! also replace those of the same name.

mod files;
mod health;
mod roles;
mod wizard;

use rmcp::model::{
    ContentBlock, ErrorData, GetPromptResult, JsonObject, Prompt as Listed, PromptArgument,
    PromptMessage, Role,
};

pub(super) use self::files::PromptFiles;
use self::roles::ROLES;
use super::reply::ReplyOptions;
use super::tool_names::ToolNames;
use super::{McpServer, shown};
use ait_domain::string_enum;
use ait_domain::{Classification, Classifications};
use ait_setup::{Preset, ProjectPrompt, Role as AgentRole};

const SETUP_WIZARD: &str = "setup_wizard";
const HEALTH_CHECK: &str = "health_check";

/// An argument of a prompt. All are optional.
#[derive(Clone, Copy, Debug)]
pub(super) struct Argument {
    pub name: &'static str,
    title: &'static str,
    description: &'static str,
    /// What values it takes.
    pub hint: Hint,
}

/// The kind of values an argument takes, for completion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hint {
    Text,
    Classification,
    /// The id of an issue.
    Issue,
    /// When a team lead stops.
    Mode,
    /// The name of a preset.
    Preset,
    /// The name of a saved query.
    SavedQuery,
}

const CLASSIFICATION: Argument = Argument {
    name: "classification",
    title: "Classification",
    description: "Only these issues: bug, improvement or feature",
    hint: Hint::Classification,
};
const MODE: Argument = Argument {
    name: "mode",
    title: "Mode",
    description: "until-empty (the default), or continuous: also wait for new issues",
    hint: Hint::Mode,
};
const ISSUE_ID: Argument = Argument {
    name: "issue_id",
    title: "Issue",
    description: "This issue: its id or the first 8 or more hex digits",
    hint: Hint::Issue,
};
const AGENT: Argument = Argument {
    name: "agent",
    title: "Agent name",
    description: "The name to act under, such as developer-2",
    hint: Hint::Text,
};
const PRESET: Argument = Argument {
    name: "preset",
    title: "Preset",
    description: "The preset, if already chosen: team, solo or review-heavy",
    hint: Hint::Preset,
};

string_enum! {
    /// When a team lead stops.
    pub(super) enum Mode {
        /// When the queue is empty.
        UntilEmpty = "until-empty",
        /// When the person says so.
        Continuous = "continuous",
    }
}

/// One prompt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prompt {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    pub arguments: &'static [Argument],
}

/// Returns all prompts, in the order of `prompts/list`.
fn all() -> impl Iterator<Item = Prompt> {
    let roles = ROLES.map(|role| Prompt {
        name: role.name,
        title: role.title,
        description: role.description(),
        arguments: role.arguments,
    });
    let others = [
        Prompt {
            name: SETUP_WIZARD,
            title: "Set up the project",
            description: "Use to set up a project for its coding agents. Looks at the project, proposes a \
                          preset and the command.",
            arguments: &[PRESET],
        },
        Prompt {
            name: HEALTH_CHECK,
            title: "Check the tracker",
            description: "Use when the tracker behaves oddly. Runs the diagnostics and reports them, with \
                          what to do.",
            arguments: &[],
        },
    ];
    roles.into_iter().chain(others)
}

/// A prompt that clients can have.
pub(super) enum Offered {
    BuiltIn(Prompt),
    /// A file of the project.
    OfProject(ProjectPrompt),
}

impl Offered {
    fn name(&self) -> &str {
        match self {
            Self::BuiltIn(prompt) => prompt.name,
            Self::OfProject(prompt) => &prompt.name,
        }
    }

    /// Returns the names of the arguments, with the kinds of their values.
    pub fn arguments(&self) -> Vec<(&str, Hint)> {
        match self {
            Self::BuiltIn(prompt) => {
                prompt.arguments.iter().map(|argument| (argument.name, argument.hint)).collect()
            }
            Self::OfProject(prompt) => {
                let arguments = prompt.arguments.iter();
                arguments.map(|argument| (argument.name.as_str(), Hint::Text)).collect()
            }
        }
    }

    /// Returns the definition that clients get.
    fn listed(&self) -> Listed {
        let (description, title, arguments): (_, _, Vec<_>) = match self {
            Self::BuiltIn(prompt) => {
                let argument = |argument: &Argument| {
                    PromptArgument::new(argument.name)
                        .with_title(argument.title)
                        .with_description(argument.description)
                        .with_required(false)
                };
                let arguments = prompt.arguments.iter().map(argument).collect();
                (prompt.description, prompt.title.to_owned(), arguments)
            }
            Self::OfProject(prompt) => {
                let arguments = prompt.arguments.iter().map(|argument| {
                    PromptArgument::new(argument.name.as_str())
                        .with_description(argument.description.as_str())
                        .with_required(argument.is_required)
                });
                let words = prompt.name.replace(['-', '_'], " ");
                let title = words[..1].to_uppercase() + &words[1..];
                (&*prompt.description, title, arguments.collect())
            }
        };
        let arguments = (!arguments.is_empty()).then_some(arguments);
        Listed::new(self.name(), Some(description), arguments).with_title(title)
    }
}

/// Returns the prompts that a client with a role is offered, in the order of `prompts/list`.
async fn offered(server: &McpServer, role: Option<&AgentRole>) -> Vec<Offered> {
    let mut files = server.prompt_files.read().await.prompts;
    let mut offered = Vec::new();
    for prompt in all() {
        let replaced = files.iter().position(|file| file.name == prompt.name);
        offered.push(match replaced {
            Some(at) => Offered::OfProject(files.remove(at)),
            None => Offered::BuiltIn(prompt),
        });
    }
    offered.extend(files.into_iter().map(Offered::OfProject));
    if let Some(only) = role.and_then(|role| role.prompt.as_deref()) {
        offered.retain(|prompt| prompt.name() == only);
    }
    offered
}

/// Returns the definitions that a client with a role gets.
pub(super) async fn list(server: &McpServer, role: Option<&AgentRole>) -> Vec<Listed> {
    offered(server, role).await.iter().map(Offered::listed).collect()
}

/// Returns the prompt with a name.
///
/// # Errors
///
/// There is no such prompt. The error names those that exist.
pub(super) async fn find(
    server: &McpServer,
    role: Option<&AgentRole>,
    name: &str,
) -> Result<Offered, ErrorData> {
    let mut offered = offered(server, role).await;
    match offered.iter().position(|prompt| prompt.name() == name) {
        Some(at) => Ok(offered.swap_remove(at)),
        None => {
            let names: Vec<_> = offered.iter().map(Offered::name).collect();
            let names = names.join(", ");
            Err(refused(format!("no prompt {:?}: there are {names}", shown(name))))
        }
    }
}

/// The arguments given to a prompt.
struct Given<'a>(&'a JsonObject);

impl<'a> Given<'a> {
    /// Checks the arguments against those of the prompt.
    fn new(prompt: &Offered, given: &'a JsonObject) -> Result<Self, ErrorData> {
        let names: Vec<_> = prompt.arguments().into_iter().map(|(name, _)| name).collect();
        for (name, value) in given {
            if !names.contains(&name.as_str()) {
                let takes = if names.is_empty() {
                    "it takes none".to_owned()
                } else {
                    format!("it takes {}", names.join(", "))
                };
                let prompt = prompt.name();
                let name = shown(name);
                return Err(refused(format!("{prompt} has no argument {name:?}: {takes}")));
            }
            if !value.is_string() {
                return Err(refused(format!("{name} must be a string")));
            }
        }
        Ok(Self(given))
    }

    /// Returns one argument. An empty one counts as absent: it comes from a blank field of a form.
    fn text(&self, argument: Argument) -> Option<&'a str> {
        self.named(argument.name)
    }

    fn named(&self, name: &str) -> Option<&'a str> {
        let value = self.0.get(name)?.as_str()?.trim();
        (!value.is_empty()).then_some(value)
    }

    fn classification(&self, used: &Classifications) -> Result<Option<Classification>, ErrorData> {
        let Some(word) = self.text(CLASSIFICATION) else { return Ok(None) };
        let known = Classification::from_word(word).filter(|kind| used.contains(*kind));
        let wrong =
            || refused(format!("classification must be one of {used}, not {:?}", shown(word)));
        known.map(Some).ok_or_else(wrong)
    }

    fn mode(&self) -> Result<Mode, ErrorData> {
        let Some(word) = self.text(MODE) else { return Ok(Mode::UntilEmpty) };
        Mode::from_word(word).ok_or_else(|| {
            let words = Mode::words().collect::<Vec<_>>().join(" or ");
            refused(format!("mode must be {words}, not {:?}", shown(word)))
        })
    }

    fn preset(&self) -> Result<Option<Preset>, ErrorData> {
        let Some(name) = self.text(PRESET) else { return Ok(None) };
        let known = Preset::named(name).ok_or_else(|| {
            let names: Vec<_> = Preset::names().collect();
            let names = names.join(", ");
            refused(format!("no preset {:?}: there are {names}", shown(name)))
        });
        known.map(Some)
    }
}

/// Returns the messages of a prompt.
///
/// # Errors
///
/// The prompt or an argument is invalid, or the data that it shows cannot be read.
pub(super) async fn get(
    server: &McpServer,
    role: Option<&AgentRole>,
    name: &str,
    given: &JsonObject,
    replies: &ReplyOptions,
) -> Result<GetPromptResult, ErrorData> {
    let prompt = find(server, role, name).await?;
    let given = Given::new(&prompt, given)?;
    let prompt = match prompt {
        Offered::BuiltIn(prompt) => prompt,
        Offered::OfProject(prompt) => return filled(&prompt, &given, &replies.names),
    };
    let messages = match name {
        SETUP_WIZARD => vec![user_message(wizard::text(server, given.preset()?).await?)],
        HEALTH_CHECK => {
            vec![user_message(health::text(&*server.diagnostics.recheck_problems().await))]
        }
        _ => roles::messages(server, name, &given, replies).await?,
    };
    let messages = messages.into_iter().map(|message| with_tool_names(message, &replies.names));
    Ok(GetPromptResult::new(messages.collect()).with_description(prompt.description))
}

/// Returns a prompt of the project with the given values.
fn filled(
    prompt: &ProjectPrompt,
    given: &Given<'_>,
    names: &ToolNames,
) -> Result<GetPromptResult, ErrorData> {
    let is_missing = |name: &str| given.named(name).is_none();
    let mut required = prompt.arguments.iter().filter(|argument| argument.is_required);
    if let Some(argument) = required.find(|argument| is_missing(&argument.name)) {
        let ProjectPrompt { name, .. } = prompt;
        let reason = format!("{name} needs {}: {}", argument.name, argument.description);
        return Err(refused(reason));
    }
    let message = user_message(prompt.filled(|name| given.named(name)));
    let messages = vec![with_tool_names(message, names)];
    Ok(GetPromptResult::new(messages).with_description(prompt.description.as_str()))
}

/// Returns a message with the full names of the tools in its text. Issues come as resources and stay as they are.
fn with_tool_names(mut message: PromptMessage, names: &ToolNames) -> PromptMessage {
    if let ContentBlock::Text(content) = &mut message.content {
        content.text = names.in_text(&content.text);
    }
    message
}

/// Returns a message from the person.
fn user_message(text: String) -> PromptMessage {
    PromptMessage::new_text(Role::User, text)
}

fn refused(reason: String) -> ErrorData {
    ErrorData::invalid_params(reason, None)
}
