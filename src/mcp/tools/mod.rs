//! The tools: one file for each, with its arguments and a thin handler.

mod add_issue;
mod close_issue;
mod complete_issue;
mod get_next_issue;
mod get_next_review_item;
mod handover;
mod list_issues;
mod return_issue;

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::result::{Failure, Success};
use super::{arguments, schema};
use crate::tracker::Tracker;

/// What a call of a tool gives, in time.
pub(super) type Answer = BoxFuture<'static, Result<Success, Failure>>;

/// One operation of the tracker as agents see it.
pub(super) trait Operation: 'static {
    /// Its name.
    const NAME: &'static str;
    /// Its name for people.
    const TITLE: &'static str;
    /// What it does, when to call it, what it answers.
    const DESCRIPTION: &'static str;
    /// Whether it changes nothing.
    const READ_ONLY: bool = false;

    /// What it takes.
    type Arguments: DeserializeOwned + JsonSchema + Send;

    /// Does it.
    fn call(
        tracker: Tracker,
        arguments: Self::Arguments,
    ) -> impl Future<Output = Result<Success, Failure>> + Send;
}

/// A tool that can be listed and called.
#[derive(Clone)]
struct Registered {
    name: &'static str,
    tool: Tool,
    call: Arc<dyn Fn(Tracker, JsonObject) -> Answer + Send + Sync>,
}

/// The tools of a server, in the order in which they are listed.
#[derive(Clone)]
pub(super) struct Toolbox(Vec<Registered>);

impl Toolbox {
    /// The seven tools of the lifecycle.
    pub fn lifecycle() -> Self {
        Self(vec![
            register::<add_issue::AddIssue>(),
            register::<list_issues::ListIssues>(),
            register::<get_next_issue::GetNextIssue>(),
            register::<return_issue::ReturnIssue>(),
            register::<complete_issue::CompleteIssue>(),
            register::<get_next_review_item::GetNextReviewItem>(),
            register::<close_issue::CloseIssue>(),
        ])
    }

    /// What clients are told of each tool.
    pub fn tools(&self) -> Vec<Tool> {
        self.0.iter().map(|registered| registered.tool.clone()).collect()
    }

    /// The names of the tools, in one line.
    pub fn names(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(|registered| registered.name).collect();
        names.join(", ")
    }

    /// What clients are told of one tool; `None` when there is none of that name.
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.find(name).map(|registered| &registered.tool)
    }

    /// The name of a tool for the meters: a fixed one when there is none of that name.
    pub fn label(&self, name: &str) -> &'static str {
        self.find(name).map_or("unknown", |registered| registered.name)
    }

    /// Tells whether there is a tool of that name that may change something.
    pub fn changes(&self, name: &str) -> bool {
        self.find(name).is_some_and(|registered| !registered.only_reads())
    }

    /// The names of the tools that change nothing, in one line.
    pub fn reading_names(&self) -> String {
        let reading = self.0.iter().filter(|registered| registered.only_reads());
        let names: Vec<&str> = reading.map(|registered| registered.name).collect();
        names.join(", ")
    }

    /// Calls a tool; `None` when there is none of that name.
    pub fn call(&self, name: &str, tracker: Tracker, arguments: JsonObject) -> Option<Answer> {
        self.find(name).map(|registered| (registered.call)(tracker, arguments))
    }

    fn find(&self, name: &str) -> Option<&Registered> {
        self.0.iter().find(|registered| registered.name == name)
    }
}

impl Registered {
    /// Tells what clients are told, too.
    fn only_reads(&self) -> bool {
        let annotations = self.tool.annotations.as_ref();
        annotations.and_then(|annotations| annotations.read_only_hint) == Some(true)
    }
}

fn register<O: Operation>() -> Registered {
    let schema = Arc::new(schema::of::<O::Arguments>());
    let annotations = ToolAnnotations::new()
        .read_only(O::READ_ONLY)
        .destructive(false)
        .idempotent(O::READ_ONLY)
        .open_world(false);
    let tool = Tool::new(O::NAME, O::DESCRIPTION, Arc::clone(&schema))
        .with_title(O::TITLE)
        .with_annotations(annotations);
    let call = move |tracker, mut arguments: JsonObject| {
        let schema = Arc::clone(&schema);
        async move {
            arguments::check(O::NAME, &schema, &mut arguments).map_err(Failure::refused)?;
            let parsed = serde_json::from_value(Value::Object(arguments));
            let wrong =
                |error| Failure::refused(format!("{error}; correct it and call {} again", O::NAME));
            O::call(tracker, parsed.map_err(wrong)?).await
        }
        .boxed()
    };
    Registered { name: O::NAME, tool, call: Arc::new(call) }
}
