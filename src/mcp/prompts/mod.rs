//! The prompts: what a person picks in a client to put an agent to work.
//!
//! Four are the agents of `agents/`, with what they are to do this time; the others set a project up and look
//! after its store.

mod health;
mod roles;
mod wizard;

use rmcp::model::{
    ErrorData, GetPromptResult, JsonObject, Prompt as Listed, PromptArgument, PromptMessage, Role,
};

use self::roles::ROLES;
use super::{McpServer, shown};
use crate::domain::Classification;
use crate::setup::Preset;

/// The one that sets a project up.
const SETUP_WIZARD: &str = "setup_wizard";
/// The one that looks after a store.
const HEALTH_CHECK: &str = "health_check";

/// What a prompt can be told. All of it may be left out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Argument {
    pub name: &'static str,
    title: &'static str,
    description: &'static str,
    /// What it may be.
    pub hint: Hint,
}

/// What an argument may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hint {
    /// Any text.
    Text,
    /// A classification.
    Classification,
    /// The id of an issue.
    Issue,
    /// The name of a preset.
    Preset,
}

const CLASSIFICATION: Argument = Argument {
    name: "classification",
    title: "Classification",
    description: "Only these issues: bug, improvement or feature",
    hint: Hint::Classification,
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
    description: "The preset to set up, if that is decided: team, solo or review-heavy",
    hint: Hint::Preset,
};

/// A prompt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prompt {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    pub arguments: &'static [Argument],
}

/// All of them, in the order in which they are listed.
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
            title: "Set the project up",
            description: "Use to set a project up for the clients of its agents. Looks at the project, \
                          proposes a preset and the command.",
            arguments: &[PRESET],
        },
        Prompt {
            name: HEALTH_CHECK,
            title: "Check the tracker",
            description: "Use when the tracker behaves oddly. Runs the diagnostics and has them reported, \
                          with what to do.",
            arguments: &[],
        },
    ];
    roles.into_iter().chain(others)
}

/// What clients are told of each prompt.
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

/// The prompt of a name.
///
/// # Errors
///
/// There is none; it says which there are.
pub(super) fn find(name: &str) -> Result<Prompt, ErrorData> {
    all().find(|prompt| prompt.name == name).ok_or_else(|| {
        let names: Vec<_> = all().map(|prompt| prompt.name).collect();
        let names = names.join(", ");
        refused(format!("no prompt {:?}: there are {names}", shown(name)))
    })
}

/// What somebody has told a prompt.
struct Given<'a>(&'a JsonObject);

impl<'a> Given<'a> {
    /// What was given, if the prompt takes it.
    fn new(prompt: &Prompt, given: &'a JsonObject) -> Result<Self, ErrorData> {
        for (name, value) in given {
            let taken: Vec<_> = prompt.arguments.iter().map(|argument| argument.name).collect();
            if !taken.contains(&name.as_str()) {
                let takes = match taken.is_empty() {
                    true => "it takes none".to_owned(),
                    false => format!("it takes {}", taken.join(", ")),
                };
                let (prompt, name) = (prompt.name, shown(name));
                return Err(refused(format!("{prompt} has no argument {name:?}: {takes}")));
            }
            if !value.is_string() {
                return Err(refused(format!("{name} must be a string")));
            }
        }
        Ok(Self(given))
    }

    /// One argument. An empty one is what a form gives that was not filled in.
    fn text(&self, argument: Argument) -> Option<&'a str> {
        let value = self.0.get(argument.name)?.as_str()?.trim();
        (!value.is_empty()).then_some(value)
    }

    fn classification(&self) -> Result<Option<Classification>, ErrorData> {
        let Some(word) = self.text(CLASSIFICATION) else { return Ok(None) };
        let known = Classification::from_word(word).ok_or_else(|| {
            refused(format!(
                "classification must be bug, improvement or feature, not {:?}",
                shown(word)
            ))
        });
        known.map(Some)
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

/// The words of a prompt.
///
/// # Errors
///
/// There is no such prompt, or it cannot be told that; what it would show cannot be read.
pub(super) async fn get(
    server: &McpServer,
    name: &str,
    given: &JsonObject,
) -> Result<GetPromptResult, ErrorData> {
    let prompt = find(name)?;
    let given = Given::new(&prompt, given)?;
    let messages = match name {
        SETUP_WIZARD => vec![said(wizard::text(server, given.preset()?).await?)],
        HEALTH_CHECK => {
            vec![said(health::text(&*server.diagnostics().new_report_of_trouble().await))]
        }
        _ => roles::messages(server, name, &given).await?,
    };
    Ok(GetPromptResult::new(messages).with_description(prompt.description))
}

/// What the person says by it.
fn said(text: String) -> PromptMessage {
    PromptMessage::new_text(Role::User, text)
}

fn refused(reason: String) -> ErrorData {
    ErrorData::invalid_params(reason, None)
}
