//! `run_doctor`: examine the store and its environment.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{CallContext, Tool};
use crate::options::Toolset;
use crate::result::{Failure, Success};
use ait_doctor::CheckContext;

pub(super) struct RunDoctor;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Make the safe repairs
    fix: Option<bool>,
}

impl Tool for RunDoctor {
    const NAME: &'static str = "run_doctor";
    const DESCRIPTION: &'static str = "Check the store, its disk, processes, clients and settings. Answers with a \
        verdict, a reason and a fix for each check.";
    const TOOLSET: Toolset = Toolset::Admin;
    type Args = Args;

    async fn call(context: CallContext, args: Args) -> Result<Success, Failure> {
        let now = context.tracker.now();
        let check_context = CheckContext { now, ..context.server.get().await.context };
        let fix = args.fix.unwrap_or(false);
        Success::report(ait_doctor::examine_and_fix(&check_context, fix).await)
    }
}
