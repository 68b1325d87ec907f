//! The settings of the MCP server.

use std::sync::Arc;

use super::serve_arguments::ServeArguments;
use super::settings::{HANDLE_LIFETIME, MAX_REPLY_TOKENS, REPLIES, Setting, TOOL_PREFIX, TOOLSETS};
use super::sources::{Chooser, Source, Sourced};
use super::values;
use crate::mcp::options::{McpOptions, ReplyBudget, ReplyFormat, ToolPrefix, Toolsets};
use crate::query_handles::HandleLifetime;
use crate::query_language::SavedQueries;

/// The effective settings of the MCP server and their sources.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct McpConfig {
    /// The toolsets of every client.
    pub toolsets: Sourced<Vec<Toolsets>>,
    /// What the name of every tool begins with.
    pub tool_prefix: Option<Sourced<ToolPrefix>>,
    /// The form of replies.
    pub replies: Sourced<ReplyFormat>,
    pub max_reply_tokens: Sourced<ReplyBudget>,
    /// For how long query handles are kept.
    pub handle_lifetime: Sourced<HandleLifetime>,
}

impl McpConfig {
    /// Collects the settings.
    pub(super) fn collect<E>(
        chooser: &mut Chooser<'_, E>,
        flags: &ServeArguments,
    ) -> Result<Self, E> {
        Ok(Self {
            toolsets: chooser
                .valid(&TOOLSETS, chooser.sources.list(&TOOLSETS, flags.toolsets.clone()))?,
            tool_prefix: chooser.choose(&TOOL_PREFIX, flags.tool_prefix.clone())?,
            replies: chooser.choose(&REPLIES, flags.replies)?.unwrap_or_default(),
            max_reply_tokens: chooser
                .choose(&MAX_REPLY_TOKENS, flags.max_reply_tokens)?
                .unwrap_or_default(),
            handle_lifetime: chooser.choose(&HANDLE_LIFETIME, None)?.unwrap_or_default(),
        })
    }

    /// Returns the options of the server.
    pub fn options(&self, queries: SavedQueries) -> McpOptions {
        let tool_prefix = self.tool_prefix.as_ref().map(|prefix| prefix.value.clone());
        McpOptions {
            toolsets: self.toolsets.value.iter().copied().collect(),
            tool_prefix: tool_prefix.unwrap_or_default(),
            format: self.replies.value,
            max_reply_tokens: self.max_reply_tokens.value,
            queries: Arc::new(queries),
            handle_lifetime: self.handle_lifetime.value,
        }
    }

    /// Returns the settings for display.
    pub(super) fn rows(&self) -> [(Setting, Option<(String, Source)>); 5] {
        let toolsets: Toolsets = self.toolsets.value.iter().copied().collect();
        [
            (TOOLSETS, values::row(Some(&toolsets), &self.toolsets.source)),
            (TOOL_PREFIX, values::chosen(self.tool_prefix.as_ref())),
            (REPLIES, values::chosen(Some(&self.replies))),
            (MAX_REPLY_TOKENS, values::chosen(Some(&self.max_reply_tokens))),
            (HANDLE_LIFETIME, values::chosen(Some(&self.handle_lifetime))),
        ]
    }
}
