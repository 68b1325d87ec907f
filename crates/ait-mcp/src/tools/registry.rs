//! The registered tools: their definitions for clients, and how a call reaches its tool.

use std::sync::{Arc, OnceLock};

use futures::future::FutureExt;
use rmcp::model::{JsonObject, Tool as Definition, ToolAnnotations};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Call, CallContext, Tool};
use crate::options::{McpOptions, ToolPrefix, Toolset, Toolsets};
use crate::result::Failure;
use crate::texts::Texts;
use crate::tool_names::ToolNames;
use crate::{arguments, schema, texts};
use ait_domain::Classifications;
use ait_domain::IssueRef;
use ait_tracker::StoreError;

/// Lists the tools, in the order of `tools/list`.
macro_rules! tools {
    ($($module:ident::$tool:ident),+ $(,)?) => {
        /// The names of all tools, without the prefix.
        pub const NAMES: &[&str] = &[$(super::$module::$tool::NAME),+];

        fn entries(
            names: &ToolNames,
            toolsets: Toolsets,
            kinds: &Classifications,
            texts: &Texts,
        ) -> impl Iterator<Item = ToolEntry> {
            [$(entry::<super::$module::$tool>),+].into_iter().map(move |entry| entry(names, toolsets, kinds, texts))
        }
    };
}
tools! {
    add_issue::AddIssue,
    list_issues::ListIssues,
    get_next_issue::GetNextIssue,
    return_issue::ReturnIssue,
    complete_issue::CompleteIssue,
    get_next_review_item::GetNextReviewItem,
    close_issue::CloseIssue,
    update_issue::UpdateIssue,
    ask_human::AskHuman,
    add_issues::AddIssues,
    link_issues::LinkIssues,
    query_issues::QueryIssues,
    change_issues::ChangeIssues,
    undo_change::UndoChange,
    find_problems::FindProblems,
    analyze_issue::AnalyzeIssue,
    get_digest::GetDigest,
    get_context::GetContext,
    remember::Remember,
    recall::RecallTool,
    get_remote::GetRemote,
    init_project::InitProject,
    run_doctor::RunDoctor,
    configure_hooks::ConfigureHooks,
    manage_memory::ManageMemory,
    get_config::GetConfig,
}

/// A registered tool.
struct ToolEntry {
    name: &'static str,
    toolset: Toolset,
    is_read_only: bool,
    definition: Definition,
    call: Box<dyn Fn(CallContext, JsonObject) -> Call + Send + Sync>,
}

/// The tools of a server for each set of toolsets. Clones share them.
#[derive(Clone)]
pub(crate) struct ToolRegistry {
    names: ToolNames,
    kinds: Arc<Classifications>,
    texts: Arc<Texts>,
    /// The toolsets that this server has.
    available: Toolsets,
    /// The tools of each set, made when a client first has it.
    sets: Arc<[OnceLock<ToolSelection>; Toolsets::COUNT]>,
}

impl ToolRegistry {
    pub fn new(options: &McpOptions, kinds: Arc<Classifications>) -> Self {
        let names = ToolNames::new(options.tool_prefix.clone(), NAMES);
        let all = Toolsets::ALL;
        let available = if options.syncs.is_empty() { all.without(Toolset::Sync) } else { all };
        Self {
            names,
            kinds,
            texts: Arc::clone(&options.texts),
            available,
            sets: Arc::new([const { OnceLock::new() }; Toolsets::COUNT]),
        }
    }

    /// Returns the names of the tools.
    pub fn names(&self) -> &ToolNames {
        &self.names
    }

    /// Returns the tools of some toolsets.
    pub fn with(&self, toolsets: Toolsets) -> &ToolSelection {
        let toolsets = toolsets.and(self.available);
        self.sets[toolsets.index()]
            .get_or_init(|| ToolSelection::new(&self.names, toolsets, &self.kinds, &self.texts))
    }
}

/// The tools that a client can call, in the order of `tools/list`. Clones share them.
#[derive(Clone)]
pub(crate) struct ToolSelection(Vec<Arc<ToolEntry>>);

impl ToolSelection {
    fn new(names: &ToolNames, toolsets: Toolsets, kinds: &Classifications, texts: &Texts) -> Self {
        let all = entries(names, toolsets, kinds, texts);
        Self(all.filter(|entry| toolsets.contains(entry.toolset)).map(Arc::new).collect())
    }

    /// Keeps only the tools with these names, which have no prefix.
    pub fn retain(&mut self, names: &[String]) {
        self.0.retain(|entry| names.iter().any(|name| name == entry.name));
    }

    /// Returns the definitions that clients get; those of read-only tools alone for a client that may only read.
    pub fn definitions(&self, is_read_only: bool) -> Vec<Definition> {
        let entries = self.0.iter().filter(|entry| entry.is_read_only || !is_read_only);
        entries.map(|entry| entry.definition.clone()).collect()
    }

    /// Returns true if there is a tool with this name, which has no prefix.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|entry| entry.name == name)
    }

    /// Returns the definition of one tool.
    pub fn definition(&self, name: &str) -> Option<&Definition> {
        self.find(name).map(|entry| &entry.definition)
    }

    /// Returns the names of all tools, separated by commas.
    pub fn names(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(|entry| &*entry.definition.name).collect();
        names.join(", ")
    }

    /// Returns the names of the read-only tools, separated by commas.
    pub fn read_only_names(&self) -> String {
        let entries = self.0.iter().filter(|entry| entry.is_read_only);
        let names: Vec<&str> = entries.map(|entry| &*entry.definition.name).collect();
        names.join(", ")
    }

    /// Returns the name of a tool as a label for metrics, without the prefix; the same one for all unknown names.
    pub fn label(&self, name: &str) -> &'static str {
        self.find(name).map_or("unknown", |entry| entry.name)
    }

    /// Returns the toolset of a tool.
    pub fn toolset(&self, name: &str) -> Option<Toolset> {
        self.find(name).map(|entry| entry.toolset)
    }

    /// Returns true if there is a tool with this name that may change the store.
    pub fn changes_store(&self, name: &str) -> bool {
        self.find(name).is_some_and(|entry| !entry.is_read_only)
    }

    /// Calls a tool; `None` if there is no tool with this name.
    pub fn call(&self, name: &str, context: CallContext, arguments: JsonObject) -> Option<Call> {
        self.find(name).map(|entry| (entry.call)(context, arguments))
    }

    fn find(&self, name: &str) -> Option<&ToolEntry> {
        self.0.iter().map(|entry| &**entry).find(|entry| entry.definition.name == name)
    }
}

/// Returns the texts of all tools and of their parameters, with their keys.
pub(crate) fn texts() -> Vec<(String, String)> {
    let names = ToolNames::new(ToolPrefix::default(), NAMES);
    let mut texts = Vec::new();
    let kinds = Classifications::default();
    for ToolEntry { name, definition, .. } in
        entries(&names, Toolsets::ALL, &kinds, &Texts::default())
    {
        texts.push((name.to_owned(), definition.description.unwrap_or_default().into_owned()));
        let parameters = definition.input_schema.get("properties").and_then(Value::as_object);
        for (parameter, schema) in parameters.into_iter().flatten() {
            let text = schema["description"].as_str().unwrap_or_default();
            texts.push((texts::key_of(name, parameter), text.to_owned()));
        }
    }
    texts
}

fn entry<T: Tool>(
    names: &ToolNames,
    toolsets: Toolsets,
    kinds: &Classifications,
    texts: &Texts,
) -> ToolEntry {
    let mut schema = schema::of::<T::Args>(toolsets, kinds);
    texts.describe(T::NAME, &mut schema);
    let schema = Arc::new(schema);
    let description = texts.get(T::NAME).unwrap_or(T::DESCRIPTION);
    // Only what differs from the defaults of the protocol.
    let annotations = match (T::READ_ONLY, T::DESTRUCTIVE) {
        (true, _) => ToolAnnotations::new().read_only(true),
        (false, true) => ToolAnnotations::new(),
        (false, false) => ToolAnnotations::new().destructive(false),
    };
    let full_name = names.full(T::NAME);
    let definition =
        Definition::new(full_name.clone(), names.in_text(description), Arc::clone(&schema))
            .with_title(title(T::NAME))
            .with_annotations(annotations.open_world(T::OPEN_WORLD));
    let call = move |context: CallContext, mut arguments: JsonObject| {
        let schema = Arc::clone(&schema);
        let name = full_name.clone();
        async move {
            let invalid = |reason| Failure::invalid(reason).with_next(T::NAME);
            T::LOOSE.iter().for_each(|loose| arguments::loosen(&mut arguments, loose));
            arguments::check(&name, &schema, &mut arguments).map_err(invalid)?;
            // Parsing into `Args` would lose the kind of the error, and with it the hint.
            let given = arguments.get("issue_id").and_then(Value::as_str);
            let mut references =
                given.into_iter().flat_map(|given| given.split(',').map(str::trim));
            let invalid_reference =
                references.find_map(|given| IssueRef::try_from(given.to_owned()).err());
            if let Some(invalid) = invalid_reference {
                return Err(StoreError::Refused(invalid).into());
            }
            let args = parsed(arguments)
                .map_err(|why| invalid(format!("{why}; correct it and call {name} again")))?;
            let replies = context.replies.clone();
            let tracker = context.tracker.clone();
            let mut success = T::call(context, args).await?;
            if replies.is_bulk {
                success = success.numbered(&tracker).await;
            }
            success.answer(&replies)
        }
        .boxed()
    };
    ToolEntry {
        name: T::NAME,
        toolset: T::TOOLSET,
        is_read_only: T::READ_ONLY,
        definition,
        call: Box::new(call),
    }
}

/// Returns what people see of the name of a tool, such as `Add issue`.
fn title(name: &str) -> String {
    let words = name.replace('_', " ");
    words[..1].to_uppercase() + &words[1..]
}

/// Parses arguments. An error names the entry of a list that it is in.
fn parsed<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, String> {
    serde_path_to_error::deserialize(Value::Object(arguments)).map_err(|error| {
        let path = error.path().to_string();
        if path.contains('[') {
            format!("`{path}`: {}", error.inner())
        } else {
            error.into_inner().to_string()
        }
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::options::ToolPrefix;
    use ait_sync::SyncSettings;

    #[test]
    fn every_tool_has_a_name_of_its_own_that_gets_the_prefix_in_texts() {
        assert_eq!(NAMES.iter().collect::<BTreeSet<_>>().len(), NAMES.len());
        let table = [("kind", "github"), ("project", "acme/shop")];
        let table = table.map(|(key, value)| (key.to_owned(), vec![value.to_owned()])).into();
        let sync = SyncSettings::new("company", &table, |_| None).unwrap();
        let tool_prefix: ToolPrefix = "team_".parse().unwrap();
        let mut options = McpOptions { tool_prefix, syncs: vec![sync], ..McpOptions::default() };
        let registry = ToolRegistry::new(&options, Arc::default());
        let listed = registry.with(Toolsets::ALL).names();
        assert_eq!(registry.names().in_text(&NAMES.join(", ")), listed);
        options.syncs.clear();
        let without = ToolRegistry::new(&options, Arc::default()).with(Toolsets::ALL).names();
        assert_eq!(without, listed.replace("team_get_remote, ", ""));
    }
}
