//! The texts that agents read: those of `ait.toml`, and over them those of the environment.

use std::env;

use anyhow::{Result, bail};

use crate::cli::{self, Output, TextRow, TextsArguments};
use crate::config::Config;
use crate::mcp::texts::Texts;

/// Returns the texts for clients. What is wrong with a variable is logged, and its text stays as it was.
pub(super) fn texts(config: &Config) -> Texts {
    let mut texts = Texts::clone(&config.mcp.texts);
    for problem in texts.replace_by(|name| env::var_os(name)) {
        tracing::warn!("{problem}");
    }
    texts
}

/// Shows the texts.
///
/// # Errors
///
/// There is no text with this key, a variable has an invalid text, or stdout cannot be written.
pub fn show_texts(
    command: &TextsArguments,
    config: &Config,
    output: &Output,
) -> Result<cli::ExitStatus> {
    let mut texts = Texts::clone(&config.mcp.texts);
    if let [problem, ..] = &*texts.replace_by(|name| env::var_os(name)) {
        bail!("{problem}");
    }
    let rows: Vec<_> = texts
        .all()
        .map(|text| TextRow {
            key: text.key,
            source: text.source.unwrap_or("built in"),
            tokens: text.tokens,
            text: text.text,
        })
        .collect();
    cli::show_texts(command, &rows, output)
}
