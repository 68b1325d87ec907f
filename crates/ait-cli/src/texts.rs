//! `ait texts`: shows the texts that agents read, and those of the pages.

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::styling::Style;
use serde::Serialize;

use super::options::{Format, WrongUsage};
use super::output::{FAINT, STRONG};
use super::table::{Cell, Column, rows};
use super::{ExitStatus, Output, sanitize};

/// The arguments of `ait texts`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "A text comes from a variable such as AIT_TEXT_ADD_ISSUE_TITLE, or else from the table [texts] in\n\
    ait.toml beside the store, or else is built in:\n\n  \
    [texts]\n  \
    add_issue = \"File an issue. Write it in Japanese.\"\n  \
    add_issue-title = \"What is wrong, in at most 60 characters\"\n\n\
    Servers read them when they start. The web pages have texts of their own, in a file for each language:\n\
    .ait/languages/de.toml has them in German, en.toml replaces English ones.\n\n\
    Examples:\n  \
    ait texts\n  \
    ait texts instructions\n  \
    ait texts --export > texts.toml\n  \
    ait texts --language de > .ait/languages/de.toml"
)]
pub struct Arguments {
    /// The text to show whole [default: the first line of all]
    key: Option<String>,
    /// Print all as the table [texts] of an ait.toml
    #[arg(long, conflicts_with = "json")]
    export: bool,
    /// Print the texts of the web pages in this language, as a file for .ait/languages/
    #[arg(long, value_name = "TAG", conflicts_with_all = ["key", "export", "json"])]
    pub language: Option<String>,
    #[command(flatten)]
    format: Format,
}

/// A text in effect.
#[derive(Clone, Debug, Serialize)]
pub struct Row<'a> {
    pub key: &'a str,
    pub source: &'a str,
    pub tokens: usize,
    pub text: &'a str,
}

/// Prints the table of a language.
///
/// # Errors
///
/// Stdout cannot be written.
pub fn show_language(table: &str, output: &Output) -> Result<ExitStatus> {
    output.line(table.trim_end())?;
    output.flush()?;
    Ok(ExitStatus::Done)
}

/// Shows texts.
///
/// # Errors
///
/// There is no text with this key, or stdout cannot be written.
pub fn run(arguments: &Arguments, texts: &[Row<'_>], output: &Output) -> Result<ExitStatus> {
    let is_asked =
        |row: &&Row<'_>| arguments.key.as_ref().is_none_or(|key| row.key.eq_ignore_ascii_case(key));
    let texts: Vec<_> = texts.iter().filter(is_asked).collect();
    if texts.is_empty() {
        bail!(WrongUsage("there is no such text: `ait texts` shows them all"));
    }
    if arguments.format.json {
        output.json(&texts)?;
    } else if arguments.export {
        output.line("[texts]")?;
        for Row { key, text, .. } in texts.into_iter().filter(|row| !row.text.is_empty()) {
            // Strings of JSON are strings of TOML, too.
            output.line(format_args!("{key} = {}", serde_json::to_string(text)?))?;
        }
    } else if arguments.key.is_some() {
        for Row { source, tokens, text, .. } in texts {
            for line in sanitize::lines(text) {
                output.line(line)?;
            }
            output.line(
                output.styled(FAINT, format!("{tokens} tokens; {}", sanitize::line(source))),
            )?;
        }
    } else {
        let column = |name, at_most| Column { name, from_width: 0, at_most };
        let columns = [
            column("KEY", 32),
            column("TOKENS", 6),
            column("FROM", 24),
            column("TEXT", usize::MAX),
        ];
        let cells = texts.iter().map(|Row { key, source, tokens, text }| {
            [
                Cell::new(*key, STRONG),
                Cell::new(tokens.to_string(), Style::new()),
                Cell::new(sanitize::line(source), FAINT),
                Cell::new(sanitize::line(text.lines().next().unwrap_or_default()), Style::new()),
            ]
        });
        for line in rows(output, columns, &cells.collect::<Vec<_>>()) {
            output.line(line)?;
        }
    }
    output.flush()?;
    Ok(ExitStatus::Done)
}
