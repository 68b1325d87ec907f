//! Completion of issue ids, classifications, modes and presets while a person types.

use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo, ErrorData, Reference};

use super::prompts::{self, Hint, Mode};
use super::resources::{ISSUE_TEMPLATE, QUERY_TEMPLATE};
use super::{McpServer, shown};
use ait_domain::{Condition, IssueRef, Order, Query};
use ait_setup::{Preset, Role};
use ait_tracker::hints;

/// Completes an argument of a prompt, or the parameter of a resource template.
///
/// # Errors
///
/// The prompt, template or argument does not exist, or the issues cannot be read.
pub(super) async fn complete(
    server: &McpServer,
    role: Option<&Role>,
    request: &CompleteRequestParams,
) -> Result<CompleteResult, ErrorData> {
    let name = &request.argument.name;
    let typed = request.argument.value.trim();
    let unknown = |known: &str| {
        let name = shown(name);
        ErrorData::invalid_params(format!("no argument {name:?}: there is {known}"), None)
    };
    let hint = match &request.r#ref {
        Reference::Prompt(prompt) => {
            let prompt = prompts::find(server, role, &prompt.name).await?;
            let arguments = prompt.arguments();
            let names: Vec<_> = arguments.iter().map(|(known, _)| *known).collect();
            let argument = arguments.iter().find(|(known, _)| known == name);
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            argument.ok_or_else(|| unknown(&known))?.1
        }
        Reference::Resource(resource) if resource.uri == ISSUE_TEMPLATE => match name.as_str() {
            "id" => Hint::Issue,
            _ => return Err(unknown("id")),
        },
        Reference::Resource(resource) if resource.uri == QUERY_TEMPLATE => match name.as_str() {
            "name" => Hint::SavedQuery,
            _ => return Err(unknown("name")),
        },
        Reference::Resource(resource) => {
            let uri = shown(&resource.uri);
            let message =
                format!("no template {uri:?}: there are {ISSUE_TEMPLATE} and {QUERY_TEMPLATE}");
            return Err(ErrorData::invalid_params(message, None));
        }
        _ => {
            let message = "`ref` must name a prompt or a resource template";
            return Err(ErrorData::invalid_params(message, None));
        }
    };
    let matching = |words: &mut dyn Iterator<Item = &str>| {
        let matching: Vec<_> =
            words.filter(|word| word.starts_with(typed)).map(str::to_owned).collect();
        (Some(matching.len()), matching)
    };
    let (total, values) = match hint {
        Hint::Text => (Some(0), Vec::new()),
        Hint::Classification => matching(&mut server.tracker.classifications().words()),
        Hint::Mode => matching(&mut Mode::words()),
        Hint::Preset => matching(&mut Preset::names()),
        Hint::SavedQuery => matching(&mut server.options.queries.keys().map(String::as_str)),
        Hint::Issue => ids(server, typed).await?,
    };
    let has_more = total.is_none_or(|total| values.len() < total);
    let total = total.and_then(|total| u32::try_from(total).ok());
    let info = CompletionInfo::with_pagination(values, total, has_more);
    info.map(CompleteResult::new).map_err(|error| ErrorData::internal_error(error, None))
}

/// Returns how many issue ids begin with `typed`, if that is known, and those of the issues that changed last.
async fn ids(server: &McpServer, typed: &str) -> Result<(Option<usize>, Vec<String>), ErrorData> {
    const MOST: usize = CompletionInfo::MAX_VALUES;
    let condition = match (typed, IssueRef::begun(typed)) {
        ("", _) => Condition::default(),
        (_, Some(range)) => Condition::Id(range),
        (_, None) => return Ok((Some(0), Vec::new())),
    };
    let order = Order::LatestActivity;
    let query = Query { condition, order, take: MOST, ..Query::default() };
    let found = server.tracker.list_issues(query).await.map_err(|error| {
        ErrorData::internal_error(hints::for_store(&error, &hints::TOOLS), None)
    })?;
    let values = found.issues.iter().map(|issue| issue.id.to_string()).collect();
    Ok((found.is_exact.then_some(found.total), values))
}
