//! The prompts that a person picks in a client to put an agent to work.
//!
//! Four are the roles of `agents/`; the others set up a project and check its store.

mod health;
mod roles;
mod wizard;

use rmcp::model::{
    ContentBlock, ErrorData, GetPromptResult, JsonObject, Prompt as Listed, PromptArgument,
    PromptMessage, Role,
};

use self::roles::ROLES;
use super::reply::ReplyOptions;
use super::tool_names::ToolNames;
use super::{McpServer, shown};
use crate::domain::{Classification, Classifications};
use crate::setup::Preset;
use ait_domain::string_enum;

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

/// Returns the definitions that clients get.
pub(super) fn list() -> Vec<Listed> {
    let argument = |argument: &Argument| {
        PromptArgument::new(argument.name)
            .with_title(argument.title)
            .with_description(argument.description)
            .with_required(false)
    };
    let listed = |prompt: Prompt| {
        let arguments: Vec<_> = prompt.arguments.iter().map(argument).collect();
        let arguments = (!arguments.is_empty()).then_some(arguments);
        Listed::new(prompt.name, Some(prompt.description), arguments).with_title(prompt.title)
    };
    all().map(listed).collect()
}

/// Returns the prompt with a name.
///
/// # Errors
///
/// There is no such prompt. The error names those that exist.
pub(super) fn find(name: &str) -> Result<Prompt, ErrorData> {
    all().find(|prompt| prompt.name == name).ok_or_else(|| {
        let names: Vec<_> = all().map(|prompt| prompt.name).collect();
        let names = names.join(", ");
        refused(format!("no prompt {:?}: there are {names}", shown(name)))
    })
}

/// The arguments given to a prompt.
struct Given<'a>(&'a JsonObject);

impl<'a> Given<'a> {
    /// Checks the arguments against those of the prompt.
    fn new(prompt: &Prompt, given: &'a JsonObject) -> Result<Self, ErrorData> {
        for (name, value) in given {
            let names: Vec<_> = prompt.arguments.iter().map(|argument| argument.name).collect();
            if !names.contains(&name.as_str()) {
                let takes = if names.is_empty() {
                    "it takes none".to_owned()
                } else {
                    format!("it takes {}", names.join(", "))
                };
                let prompt = prompt.name;
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
        let value = self.0.get(argument.name)?.as_str()?.trim();
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
    name: &str,
    given: &JsonObject,
    replies: &ReplyOptions,
) -> Result<GetPromptResult, ErrorData> {
    let prompt = find(name)?;
    let given = Given::new(&prompt, given)?;
    let messages = match name {
        SETUP_WIZARD => vec![user_message(wizard::text(server, given.preset()?).await?)],
        HEALTH_CHECK => {
            vec![user_message(health::text(&*server.diagnostics().recheck_problems().await))]
        }
        _ => roles::messages(server, name, &given, replies).await?,
    };
    let messages = messages.into_iter().map(|message| with_tool_names(message, &replies.names));
    Ok(GetPromptResult::new(messages.collect()).with_description(prompt.description))
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
