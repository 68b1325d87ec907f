//! The hooks themselves: scripts for any POSIX shell, that of Git for Windows too.

use super::{EARLIER_SUFFIX, Hook};

/// The version of the scripts. Any change of them is another version.
const VERSION: u32 = 1;
/// What a script of ours is known by, behind the line that names the shell.
const MARK: &str = "# ait hooks ";

/// Whose a script is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Owner {
    /// Ours, as we write it, perhaps for another program or in another version.
    Ours,
    /// Ours, edited.
    Edited,
    /// Somebody else's.
    Another,
}

/// The script of a hook that starts the tracker by a command.
pub(super) fn text(hook: Hook, command: &str) -> String {
    let (name, command) = (hook.name(), shell_words::quote(command));
    let (fails, end) = match hook {
        Hook::PrepareCommitMsg => ("exit $?", "exit 0"),
        // The merge has been made, whatever the earlier hook says of it.
        Hook::PostMerge => ("status=$?", "exit \"${status:-0}\""),
    };
    format!(
        "#!/bin/sh\n\
         {MARK}{VERSION}: `ait hooks install` wrote this, and `ait hooks remove` takes it back.\n\
         # A hook that was here before is beside it, and runs first.\n\
         ait={command}\n\
         earlier=\"${{0%/*}}/{name}{EARLIER_SUFFIX}\"\n\
         if [ -x \"$earlier\" ] && [ \"${{AIT_HOOK-}}\" != {name} ]; then\n\
         \tAIT_HOOK={name} \"$earlier\" \"$@\" || {fails}\n\
         fi\n\
         # Nothing that goes wrong here holds git up.\n\
         if command -v \"$ait\" >/dev/null 2>&1; then\n\
         \t\"$ait\" hooks run {name} \"$@\" </dev/null || :\n\
         fi\n\
         {end}\n"
    )
}

/// Tells whose the script in the place of a hook is, by its form.
pub(super) fn owner(hook: Hook, script: &[u8]) -> Owner {
    let marked = std::str::from_utf8(script).ok().and_then(|script| {
        let version = script.lines().nth(1)?.strip_prefix(MARK)?.split(':').next()?;
        Some((script, version.parse::<u32>().ok()?))
    });
    let Some((script, version)) = marked else { return Owner::Another };
    let written = script.lines().find_map(|line| line.strip_prefix("ait=")).and_then(|word| {
        let words = shell_words::split(word).ok()?;
        Some(text(hook, words.first()?))
    });
    let is_as_written = version != VERSION || written.as_deref() == Some(script);
    if is_as_written { Owner::Ours } else { Owner::Edited }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_known_by_its_form() {
        for hook in Hook::ALL {
            for command in ["ait", "/opt/a b/it's/ait", r"C:\Program Files\ait.exe"] {
                let script = text(hook, command);
                assert_eq!(owner(hook, script.as_bytes()), Owner::Ours, "{script}");
                let edited = format!("{script}echo\n");
                assert_eq!(owner(hook, edited.as_bytes()), Owner::Edited);
                let other = script.replace("ait hooks 1", "ait hooks 7");
                assert_eq!(owner(hook, format!("{other}echo\n").as_bytes()), Owner::Ours);
            }
        }
        for other in ["", "#!/bin/sh\n", "#!/bin/sh\n# ait hooks x: y\n", "\u{feff}"] {
            assert_eq!(owner(Hook::PostMerge, other.as_bytes()), Owner::Another);
        }
        assert_eq!(owner(Hook::PostMerge, b"\x7fELF\n\xff"), Owner::Another);
    }
}
