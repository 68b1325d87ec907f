//! Asking people before something happens.

use std::io::{self, IsTerminal, Write};

use anyhow::{Context, Result};

/// Asks a question and returns the line of the answer; empty at the end of the input.
pub(super) fn ask(question: &str) -> Result<String> {
    // stdout may be a file.
    let mut terminal = io::stderr();
    write!(terminal, "{question}")
        .and_then(|()| terminal.flush())
        .context("cannot ask on stderr")?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).context("cannot read the answer")?;
    Ok(answer)
}

/// Asks whether to go on; the empty answer means no.
pub(super) fn is_confirmed(question: &str) -> Result<bool> {
    let answer = ask(&format!("{question} [y/N] "))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Returns true if a person can answer: stdin is a terminal, and no program reads the output.
pub(super) fn can_ask(is_json: bool) -> bool {
    io::stdin().is_terminal() && !is_json
}
