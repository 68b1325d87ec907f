//! `get_config`: read the settings.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{CallContext, Tool};
use crate::options::Toolset;
use crate::reply::Reply;
use crate::resources::config;
use crate::result::{Failure, Success};

pub(super) struct GetConfig;

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Format {
    #[default]
    Yaml,
    Json,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Default yaml
    format: Option<Format>,
}

impl Tool for GetConfig {
    const NAME: &'static str = "get_config";
    const DESCRIPTION: &'static str =
        "Answers with the settings of the tracker, each with its source.";
    const READ_ONLY: bool = true;
    const TOOLSET: Toolset = Toolset::Admin;
    type Args = Args;

    async fn call(context: CallContext, args: Args) -> Result<Success, Failure> {
        let server = context.server.get().await;
        let yaml = config::yaml(&server);
        let is_yaml = matches!(args.format.unwrap_or_default(), Format::Yaml);
        // JSON is YAML, too, and a report is cut to the budget.
        Ok(Success::done(if is_yaml && context.replies.fits(&yaml) {
            Reply::Text(yaml)
        } else {
            Reply::Report(config::json(&server))
        }))
    }
}
