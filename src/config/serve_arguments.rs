//! The options of a server on the command line.

use clap::Args;

use super::claims::ClaimFlags;
use super::settings::{
    ALLOW_HOST, ALLOW_ORIGIN, BIND, KEEP_EVENTS, LOG, LOG_FILE, LOG_FORMAT, MAX_REPLY_TOKENS, NAME,
    PORT, PROJECTS, REPLIES, ROLE, TOKEN_FILE, TOOL_PREFIX, TOOLSETS, WEB_ACTIONS,
};
use super::values::{Address, FilePath, KeptEvents, LogFilter, Port, ProjectName, Switch};
use crate::http::{AllowedHost, AllowedOrigin};
use crate::logging::LogFormat;
use crate::mcp::options::{ReplyBudget, ReplyFormat, ToolPrefix, Toolsets};

/// What a server serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Served {
    /// HTTP alone.
    Http,
    /// An agent on stdin and stdout, and HTTP beside it.
    Agent,
    /// What stdin looks like.
    Guessed,
}

/// The options of a server.
#[derive(Clone, PartialEq, Eq, Debug, Default, Args)]
pub struct ServeArguments {
    /// The name of the project.
    #[arg(long = NAME.name, value_name = "NAME", help = NAME.line())]
    pub name: Option<ProjectName>,

    /// The port.
    #[arg(long = PORT.name, value_name = "PORT", help = PORT.line())]
    pub port: Option<Port>,

    /// The address.
    #[arg(long = BIND.name, value_name = "ADDRESS", help = BIND.line())]
    pub bind: Option<Address>,

    /// Additional host names of the server.
    #[arg(long = ALLOW_HOST.name, value_name = "HOST[:PORT]", value_delimiter = ',', help = ALLOW_HOST.line())]
    pub allow_host: Vec<AllowedHost>,

    /// Additional origins of web pages.
    #[arg(long = ALLOW_ORIGIN.name, value_name = "ORIGIN", value_delimiter = ',', help = ALLOW_ORIGIN.line())]
    pub allow_origin: Vec<AllowedOrigin>,

    /// The file with the tokens.
    #[arg(long = TOKEN_FILE.name, value_name = "FILE", help = TOKEN_FILE.line())]
    pub token_file: Option<FilePath>,

    /// Whether people may change issues on the pages.
    #[arg(long = WEB_ACTIONS.name, value_name = "true|false", num_args = 0..=1, require_equals = true, default_missing_value = "true", help = WEB_ACTIONS.line())]
    pub web_actions: Option<Switch>,

    /// Whether a page lists the other projects.
    #[arg(long = PROJECTS.name, value_name = "true|false", num_args = 0..=1, require_equals = true, default_missing_value = "true", help = PROJECTS.line())]
    pub projects: Option<Switch>,

    /// The retention limit of the event log.
    #[arg(long = KEEP_EVENTS.name, value_name = "SIZE|TIME", help = KEEP_EVENTS.line())]
    pub keep_events: Option<KeptEvents>,

    /// The toolsets.
    #[arg(long = TOOLSETS.name, value_name = "NAME", value_delimiter = ',', help = TOOLSETS.line())]
    pub toolsets: Vec<Toolsets>,

    /// The role of the agent.
    #[arg(long = ROLE.name, value_name = "ROLE", help = ROLE.line())]
    pub role: Option<String>,

    /// The prefix of tool names.
    #[arg(long = TOOL_PREFIX.name, value_name = "PREFIX", help = TOOL_PREFIX.line())]
    pub tool_prefix: Option<ToolPrefix>,

    /// The form of replies.
    #[arg(long = REPLIES.name, value_name = "FORM", help = REPLIES.line())]
    pub replies: Option<ReplyFormat>,

    /// The budget of replies.
    #[arg(long = MAX_REPLY_TOKENS.name, value_name = "TOKENS", help = MAX_REPLY_TOKENS.line())]
    pub max_reply_tokens: Option<ReplyBudget>,

    /// The settings of claims.
    #[command(flatten)]
    pub claims: ClaimFlags,

    /// The log filter.
    #[arg(long = LOG.name, value_name = "FILTER", help = LOG.line())]
    pub log: Option<LogFilter>,

    /// The log file.
    #[arg(long = LOG_FILE.name, value_name = "FILE", help = LOG_FILE.line())]
    pub log_file: Option<FilePath>,

    /// The log format.
    #[arg(long = LOG_FORMAT.name, value_name = "FORMAT", help = LOG_FORMAT.line())]
    pub log_format: Option<LogFormat>,
}
