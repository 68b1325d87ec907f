//! Editing the texts of an issue in the user's editor.

use std::env;
use std::fs;
use std::io::Write;
use std::process::Command;

use anyhow::{Context, Error, Result, bail, ensure};
use tempfile::TempPath;

/// The title and description of an issue.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct EditedText {
    pub title: String,
    pub description: String,
}

/// The edited draft and its file, which is removed when this value is dropped.
pub(super) struct Edited {
    pub draft: EditedText,
    file: TempPath,
}

/// Everything from this line on is ignored, as in `git commit`.
const SCISSORS: &str = "# ------------------------ >8 ------------------------";
const EXPLANATION: &str = "\
# The first line above is the title, the rest is the description.
# Everything from the line with the scissors on is ignored; an empty title cancels.
";

/// Lets the user edit a draft with `$VISUAL`, else `$EDITOR`, else `vi`.
///
/// # Errors
///
/// The editor cannot be started or fails, or there is no title. `nothing` says what was not done then.
pub(super) fn edited(draft: &EditedText, nothing: &str) -> Result<Edited> {
    let mut file = tempfile::Builder::new().prefix("ait-issue-").suffix(".md").tempfile()?;
    file.write_all(text_of(draft).as_bytes())?;
    let file = file.into_temp_path();
    let editor = ["VISUAL", "EDITOR"].into_iter().find_map(|name| {
        let value = env::var(name).ok().filter(|value| !value.trim().is_empty())?;
        Some((name, value))
    });
    let (name, editor) = editor.unwrap_or(("EDITOR", "vi".to_owned()));
    let words = shell_words::split(&editor)
        .with_context(|| format!("{name} is {editor:?}, which cannot be parsed"))?;
    let Some((program, arguments)) = words.split_first() else {
        bail!("{name} is {editor:?}, which names no program");
    };
    let status = Command::new(program)
        .args(arguments)
        .arg(&file)
        .status()
        .with_context(|| format!("cannot start the editor {program:?}; set EDITOR"))?;
    ensure!(status.success(), "{nothing}: the editor {program:?} failed with {status}");
    let text = fs::read_to_string(&file).context("cannot read the edited file")?;
    let draft = draft_of(&text);
    ensure!(!draft.title.is_empty(), "{nothing}: there is no title");
    Ok(Edited { draft, file })
}

impl Edited {
    /// Keeps the file after an error, because the user typed the text, and adds its path to the error.
    pub fn keep_after(self, error: Error, nothing: &str) -> Error {
        match self.file.keep() {
            Ok(path) => {
                error.context(format!("{nothing}, and your text is kept in {}", path.display()))
            }
            Err(_) => error.context(format!("{nothing}, and your text could not be saved")),
        }
    }
}

impl EditedText {
    /// Returns the draft as it comes back from an editor that changes nothing.
    pub fn unedited(&self) -> Self {
        draft_of(&text_of(self))
    }
}

fn text_of(draft: &EditedText) -> String {
    let EditedText { title, description } = draft;
    format!("{title}\n\n{description}\n{SCISSORS}\n{EXPLANATION}")
}

fn draft_of(text: &str) -> EditedText {
    let lines: Vec<&str> = text.lines().collect();
    // The last one is ours: a description may have such a line, too.
    let end = lines.iter().rposition(|line| *line == SCISSORS).unwrap_or(lines.len());
    let kept = lines[..end].join("\n");
    let kept = kept.trim();
    let (title, description) = kept.split_once('\n').unwrap_or((kept, ""));
    EditedText { title: title.trim().to_owned(), description: description.trim().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn editor_text_is_split_into_title_and_description() {
        let draft = EditedText { title: "T".to_owned(), description: "# A\n\nb".to_owned() };
        assert_eq!(draft_of(&text_of(&draft)), draft);
        assert_eq!(draft_of(&text_of(&EditedText::default())), EditedText::default());
        let with_scissors =
            EditedText { title: "T".to_owned(), description: format!("a\n{SCISSORS}\nb") };
        assert_eq!(with_scissors.unedited(), with_scissors);
        let written = EditedText { title: "T".to_owned(), description: "D".to_owned() };
        assert_eq!(draft_of("\n  T \r\n\r\nD\r\n"), written);
    }
}
