//! The settings of the MCP server.

use std::sync::Arc;

use super::serve_arguments::ServeArguments;
use super::settings::{
    HANDLE_LIFETIME, MAX_REPLY_TOKENS, REPLIES, ROLE, TEXTS, TOOL_PREFIX, TOOLSETS,
};
use super::sources::Chooser;
use crate::mcp::options::{McpOptions, ReplyBudget, ReplyFormat, Toolsets};
use crate::query_handles::HandleLifetime;

/// Collects the settings.
pub(super) fn collect<E>(
    chooser: &mut Chooser<'_, E>,
    flags: &ServeArguments,
) -> Result<McpOptions, E> {
    let budget = ReplyBudget::default();
    let lifetime = HandleLifetime::default();
    let show = |toolsets: &Toolsets| Some(toolsets.to_string());
    let (texts, wrong_texts) = chooser.sources.texts();
    for wrong in wrong_texts {
        (chooser.invalid)(TEXTS, wrong.clone())?;
    }
    let tool_prefix = chooser.choose(&TOOL_PREFIX, flags.tool_prefix.clone())?;
    Ok(McpOptions {
        root: None,
        role: chooser.choose(&ROLE, flags.role.clone())?.map(|role| role.value),
        http_role: None,
        toolsets: chooser.list(&TOOLSETS, flags.toolsets.clone(), show)?,
        tool_prefix: tool_prefix.map(|prefix| prefix.value).unwrap_or_default(),
        format: chooser.choose_or(&REPLIES, flags.replies, ReplyFormat::default())?.value,
        max_reply_tokens: chooser
            .choose_or(&MAX_REPLY_TOKENS, flags.max_reply_tokens, budget)?
            .value,
        queries: Arc::new(chooser.sources.queries()),
        handle_lifetime: chooser.choose_or(&HANDLE_LIFETIME, None, lifetime)?.value,
        syncs: chooser.sources.syncs(),
        texts: Arc::new(texts),
    })
}
