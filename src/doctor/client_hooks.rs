//! Checks the hooks of clients: whether those that are installed start this program.

use std::env;

use super::{Check, CheckContext, Finding};
use crate::setup::{self, ClientHookState, HOOKS_CLIENT};

pub(super) fn examine(context: &CheckContext) -> Vec<Finding> {
    vec![finding(context)]
}

fn finding(context: &CheckContext) -> Finding {
    let check = Check::ClientHooks;
    let Ok(program) = env::current_exe() else {
        return Finding::skipped(check, "the path of this program is not known");
    };
    let project = &context.project;
    let command = project.machine.command(&program);
    let install = format!("`ait hooks install --client {HOOKS_CLIENT}`");
    let hooks = match setup::client_hooks(&project.root, &project.machine, &command) {
        Ok(hooks) => hooks,
        Err(error) => {
            let reason = format!("the hooks of {HOOKS_CLIENT} cannot be read: {error}");
            return Finding::warning(check, reason).fix("correct the file");
        }
    };
    if hooks.are_all(ClientHookState::Missing) {
        return Finding::skipped(check, format!("no client has hooks here ({install} does that)"));
    }
    if hooks.are_all(ClientHookState::Installed) {
        return Finding::ok(check, format!("{HOOKS_CLIENT} has them ({})", hooks.file));
    }
    let wrong = hooks.hooks.iter().filter(|hook| hook.state != ClientHookState::Installed);
    let what = wrong.map(|hook| match hook.state {
        ClientHookState::Missing => format!("{} is missing", hook.hook.client_name()),
        _ => format!("{} starts another program", hook.hook.client_name()),
    });
    Finding::warning(check, format!("hooks in {} are not those of this program", hooks.file))
        .about(what)
        .fix(install)
}
