//! Starts the user's browser.

use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, io};

/// Programs that open a URL in the default browser, with their arguments, in the order in which they are tried.
const OPENERS: &[&str] = if cfg!(target_os = "macos") {
    &["open"]
} else {
    // The last two are those of Debian and of Windows around a Linux.
    &[
        "xdg-open",
        "gio open",
        "wslview",
        "x-www-browser",
        "rundll32.exe url.dll,FileProtocolHandler",
    ]
};
/// Browsers that need the terminal.
const IN_TERMINAL: [&str; 6] = ["lynx", "links", "links2", "elinks", "w3m", "www-browser"];

/// Opens a URL with the first program of `$BROWSER` that starts, or else in the default browser. Does not wait for a
/// browser with a window.
pub(super) fn open(url: &str) -> io::Result<()> {
    let configured = env::var("BROWSER").unwrap_or_default();
    let commands = configured.split(':').chain(OPENERS.iter().copied());
    let mut words = commands.map(|command| with_url(command, url));
    if words.any(|words| start(&words).is_ok()) {
        Ok(())
    } else {
        Err(io::Error::other("no browser was found: name one in BROWSER"))
    }
}

/// Returns the words of a command with the URL in place of `%s`, or else as the last one.
fn with_url(command: &str, url: &str) -> Vec<String> {
    let mut words: Vec<_> =
        command.split_ascii_whitespace().map(|word| word.replace("%s", url)).collect();
    if !words.is_empty() && !command.contains("%s") {
        words.push(url.to_owned());
    }
    words
}

fn start(words: &[String]) -> io::Result<()> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(io::ErrorKind::NotFound.into());
    };
    let mut command = Command::new(program);
    command.args(arguments);
    let name = Path::new(program).file_name().unwrap_or_default();
    if IN_TERMINAL.iter().any(|browser| name == *browser) {
        return if command.status()?.success() {
            Ok(())
        } else {
            Err(io::Error::other(format!("{program} failed")))
        };
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_get_the_url() {
        let url = "http://localhost:3000";
        for (command, words) in [
            ("firefox", &["firefox", url][..]),
            ("firefox --new-tab %s -x", &["firefox", "--new-tab", url, "-x"]),
            ("open --url=%s", &["open", "--url=http://localhost:3000"]),
            ("", &[]),
        ] {
            assert_eq!(with_url(command, url), words, "{command}");
        }
    }
}
