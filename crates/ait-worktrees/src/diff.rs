//! Reads what the branch of an issue changes. It is for people, and within limits: a branch can have any size, and
//! anything in it.

use std::collections::HashMap;
use std::path::Path;

use serde::Serialize;

use super::work::Branch;
use ait_domain::Issue;

/// How many files are listed.
const MAX_FILES: usize = 200;
/// How much of the list of files is read, in bytes.
const MAX_LIST: usize = 256 * 1024;
/// How much of the difference is read, in bytes.
const MAX_BYTES: usize = 256 * 1024;
/// How many lines of a file are shown, and how many characters of a line.
const MAX_LINES: usize = 400;
const MAX_CHARS: usize = 500;
/// How the difference of a file begins.
const BEGIN: &str = "diff --git ";

/// What the branch of an issue changes.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Diff {
    pub branch: String,
    /// The first files.
    pub files: Vec<FileDiff>,
    /// How many more files there are.
    pub left_out: usize,
}

/// What a branch changes in a file.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct FileDiff {
    pub path: String,
    /// How many lines it adds; 0 for a binary file.
    pub added: usize,
    /// How many lines it removes.
    pub removed: usize,
    /// The hunks, without control characters and those that turn the direction of text.
    pub text: String,
    /// Whether there is more.
    pub is_cut: bool,
}

/// Reads what the branch of an issue changes, in the repository around a directory. Returns `None` if there is no such
/// branch, or if git does not tell.
pub async fn diff(directory: &Path, issue: &Issue) -> Option<Diff> {
    let branch = Branch::find(directory, issue).await?;
    let start = branch.start().await?;
    let Branch { git, head, name } = branch;
    let read = async |how: &[&str], max| {
        let diff = ["-c", "core.quotepath=off", "diff", "--no-color", "--no-renames"];
        let safe = ["--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/"];
        let arguments = [&diff[..], &safe, how, &[&*start, &*head, "--"]].concat();
        let bytes = git.begin_of_output(&arguments, max).await.ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    let list = read(&["--numstat", "-z"], MAX_LIST).await?;
    let mut files: Vec<FileDiff> = list.split_terminator('\0').filter_map(listed).collect();
    let left_out = files.len().saturating_sub(MAX_FILES);
    files.truncate(MAX_FILES);
    let text = read(&[], MAX_BYTES).await?;
    let is_cut = text.len() >= MAX_BYTES;
    let mut texts: HashMap<&str, &str> = sections(&text).collect();
    let last = sections(&text).last().map(|(header, _)| header);
    for file in &mut files {
        let header = format!("{BEGIN}a/{0} b/{0}", file.path);
        let text = texts.remove(&*header);
        let is_last = is_cut && last == Some(&*header);
        file.is_cut = text.is_none() || is_last;
        file.fill(text.unwrap_or_default());
    }
    Some(Diff { branch: name, files, left_out })
}

/// Returns a file of the list of `git diff --numstat`.
fn listed(line: &str) -> Option<FileDiff> {
    let mut parts = line.splitn(3, '\t');
    let added = parts.next()?.parse().unwrap_or(0);
    let removed = parts.next()?.parse().unwrap_or(0);
    let path = parts.next()?.to_owned();
    Some(FileDiff { path, added, removed, ..FileDiff::default() })
}

/// Returns the difference of each file, with the line that begins it.
fn sections(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let begins = text.match_indices(BEGIN).map(|(at, _)| at);
    let begins: Vec<_> = begins.filter(|at| *at == 0 || text.as_bytes()[at - 1] == b'\n').collect();
    let ends: Vec<_> = begins.iter().skip(1).copied().chain([text.len()]).collect();
    begins.into_iter().zip(ends).map(|(begin, end)| {
        let section = &text[begin..end];
        section.split_once('\n').unwrap_or((section, ""))
    })
}

impl FileDiff {
    /// Takes the hunks of a file over, from the first one on.
    fn fill(&mut self, section: &str) {
        let hunks = section.find("@@ ").map_or(section, |at| &section[at..]);
        let mut lines = hunks.lines();
        for line in lines.by_ref().take(MAX_LINES) {
            let end = line.char_indices().nth(MAX_CHARS).map(|(end, _)| end);
            self.is_cut |= end.is_some();
            let shown = line[..end.unwrap_or(line.len())].chars();
            self.text.extend(shown.map(visible));
            self.text.push('\n');
        }
        self.is_cut |= lines.next().is_some();
    }
}

/// Replaces a character that would show a line as something else than it is.
fn visible(character: char) -> char {
    let turns = matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if turns || (character.is_control() && character != '\t') { '\u{fffd}' } else { character }
}
