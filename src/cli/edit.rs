//! Writing an issue in the user's editor.

use std::env;
use std::fs;
use std::io::Write;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempPath;

/// What an issue is to be called and to be about.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Draft {
    pub title: String,
    pub description: String,
}

/// What the user has written, and the file that it is in, which is removed with this value.
pub(super) struct Edited {
    pub draft: Draft,
    pub file: TempPath,
}

/// Everything from this line on is left out, as `git commit` does it.
const SCISSORS: &str = "# ------------------------ >8 ------------------------";
const EXPLANATION: &str = "\
# The first line above is the title, the rest is the description.
# Nothing from the line with the scissors on is kept; without a title nothing is filed.
";

/// Lets the user edit a draft with `$VISUAL`, or else `$EDITOR`, or else `vi`.
///
/// # Errors
///
/// The editor cannot be started, or says that it failed; or there is no title.
pub(super) fn edited(draft: &Draft) -> Result<Edited> {
    let mut file = tempfile::Builder::new().prefix("ait-issue-").suffix(".md").tempfile()?;
    file.write_all(text_of(draft).as_bytes())?;
    let file = file.into_temp_path();
    let editor = ["VISUAL", "EDITOR"].into_iter().find_map(|name| {
        let value = env::var(name).ok().filter(|value| !value.trim().is_empty())?;
        Some((name, value))
    });
    let (name, editor) = editor.unwrap_or(("EDITOR", "vi".to_owned()));
    let words = shell_words::split(&editor)
        .with_context(|| format!("{name} is {editor:?}, which cannot be understood"))?;
    let Some((program, arguments)) = words.split_first() else {
        bail!("{name} is {editor:?}, which names no program");
    };
    let status = Command::new(program)
        .args(arguments)
        .arg(&file)
        .status()
        .with_context(|| format!("the editor {program:?} cannot be started; set EDITOR"))?;
    ensure!(status.success(), "nothing was filed: the editor {program:?} ended with {status}");
    let text = fs::read_to_string(&file).context("what the editor has left cannot be read")?;
    let draft = draft_of(&text);
    ensure!(!draft.title.is_empty(), "nothing was filed: there is no title");
    Ok(Edited { draft, file })
}

fn text_of(draft: &Draft) -> String {
    let Draft { title, description } = draft;
    format!("{title}\n\n{description}\n{SCISSORS}\n{EXPLANATION}")
}

fn draft_of(text: &str) -> Draft {
    let kept = text.lines().take_while(|line| *line != SCISSORS).collect::<Vec<_>>().join("\n");
    let kept = kept.trim();
    let (title, description) = kept.split_once('\n').unwrap_or((kept, ""));
    Draft { title: title.trim().to_owned(), description: description.trim().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_the_title_and_the_rest_up_to_the_scissors_the_description() {
        let draft = Draft { title: "T".to_owned(), description: "# A\n\nb".to_owned() };
        assert_eq!(draft_of(&text_of(&draft)), draft);
        assert_eq!(draft_of(&text_of(&Draft::default())), Draft::default());
        let written = Draft { title: "T".to_owned(), description: "D".to_owned() };
        assert_eq!(draft_of("\n  T \r\n\r\nD\r\n"), written);
    }
}
