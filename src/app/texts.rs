//! The texts that agents read: those of `ait.toml`, and over them those of the environment; and the languages of the
//! pages.

use std::env;

use anyhow::{Result, bail};

use crate::cli::{self, Output, TextRow, TextsArguments};
use crate::config::Config;
use crate::language::Languages;
use crate::mcp::texts::Texts;
use crate::setup::ProjectLanguages;

/// Returns the texts for clients. What is wrong with a variable is logged, and its text stays as it was.
pub(super) fn texts(config: &Config) -> Texts {
    let mut texts = Texts::clone(&config.mcp.texts);
    for problem in texts.replace_by(|name| env::var_os(name)) {
        tracing::warn!("{problem}");
    }
    texts
}

/// Returns the languages of the pages, and the one for readers who have not chosen. What is wrong is logged.
pub(super) fn languages(config: &Config) -> (Languages, Option<String>) {
    let ProjectLanguages { languages, problems, .. } = ProjectLanguages::read(&config.project());
    for problem in problems {
        tracing::warn!("{problem}");
    }
    let chosen = config.lang.as_ref().map(|lang| lang.value.clone());
    if let Some(tag) = chosen.as_deref().filter(|tag| languages.find(tag).is_none()) {
        let known: Vec<_> = languages.all().map(|language| &*language.tag).collect();
        let known = known.join(", ");
        tracing::warn!("lang: there is no language {tag:?} of the pages; there are {known}");
    }
    (languages, chosen)
}

/// Shows the texts.
///
/// # Errors
///
/// There is no text with this key, a variable or a table of a language has an invalid text, or stdout cannot be
/// written.
pub fn show_texts(
    command: &TextsArguments,
    config: &Config,
    output: &Output,
) -> Result<cli::ExitStatus> {
    if let Some(tag) = &command.language {
        let ProjectLanguages { languages, problems, .. } =
            ProjectLanguages::read(&config.project());
        if let [problem, ..] = &*problems {
            bail!("{problem}");
        }
        let Some(language) = languages.find_or_begin(tag) else {
            bail!("{tag:?} is no language: give a tag such as de or pt-BR");
        };
        return cli::show_language(&language.to_toml(), output);
    }
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
