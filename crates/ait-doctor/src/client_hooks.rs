//! Checks the hooks of clients: whether those that are installed start this program.

use std::env;

use super::{Check, CheckContext, Finding};
use ait_setup::{ClientHookState, ClientHooks, HookClient, SetupError};

pub(super) fn examine(context: &CheckContext) -> Vec<Finding> {
    let check = Check::ClientHooks;
    let Ok(program) = env::current_exe() else {
        return vec![Finding::skipped(check, "the path of this program is not known")];
    };
    let project = &context.project;
    let command = project.machine.command(&program);
    let clients = ait_setup::clients_with_hooks(&project.root, &project.machine, &command);
    let findings: Vec<_> = clients.map(finding).collect();
    if findings.is_empty() {
        let install = install(HookClient::CLAUDE_CODE);
        let reason = format!("no client has hooks here ({install} does that)");
        return vec![Finding::skipped(check, reason)];
    }
    findings
}

fn install(client: HookClient) -> String {
    format!("`ait hooks install --client {}`", client.name)
}

fn finding(hooks: Result<ClientHooks, (HookClient, SetupError)>) -> Finding {
    let check = Check::ClientHooks;
    let hooks = match hooks {
        Ok(hooks) => hooks,
        Err((client, error)) => {
            let reason = format!("the hooks of {} cannot be read: {error}", client.name);
            return Finding::warning(check, reason).fix("correct the file");
        }
    };
    if hooks.are_all(ClientHookState::Installed) {
        return Finding::ok(check, format!("{} has them ({})", hooks.client.name, hooks.file));
    }
    let what = hooks.names_not(ClientHookState::Installed).map(|(name, state)| match state {
        ClientHookState::Missing => format!("{name} is missing"),
        _ => format!("{name} starts another program"),
    });
    Finding::warning(check, format!("hooks in {} are not those of this program", hooks.file))
        .about(what)
        .fix(install(hooks.client))
}
