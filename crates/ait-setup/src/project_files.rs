//! The files below `.ait/` that a team commits: roles and prompts of its agents, templates of issues, and
//! languages of the pages.
//!
//! Nothing outside `.ait/` is read: symbolic links are refused.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use ait_system::small_file;

/// The directory beside the store.
pub(super) const DIRECTORY: &str = ".ait";
/// The directory of the roles, in it.
pub(super) const ROLE_FILES: &str = "roles";
/// The directory of the prompts, in it.
pub(super) const PROMPT_FILES: &str = "prompts";
/// The directory of the templates, in it.
pub(super) const TEMPLATE_FILES: &str = "templates";
/// The directory of the languages of the pages, in it.
pub(super) const LANGUAGE_FILES: &str = "languages";
/// The directories that git is to track: one of a group brings the others along.
const TRACKED: [&[&str]; 3] = [&[ROLE_FILES, PROMPT_FILES], &[TEMPLATE_FILES], &[LANGUAGE_FILES]];
/// How many files a directory may have.
const MAX_FILES: usize = 50;
/// The maximum size of a file, in bytes.
const MAX_BYTES: u64 = 64 * 1024;
/// That of a language, which has more than a thousand texts.
const MAX_LANGUAGE_BYTES: u64 = 256 * 1024;
/// The maximum length of a name.
const MAX_NAME: usize = 40;

/// Why a file of the team cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct FileProblem {
    /// The path from the project.
    pub path: String,
    /// The line, from 1, if the problem is in one.
    pub line: Option<usize>,
    pub reason: String,
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}, line {line}: {}", self.path, self.reason),
            None => write!(f, "{}: {}", self.path, self.reason),
        }
    }
}

impl FileProblem {
    pub(super) fn new(path: &str, line: Option<usize>, reason: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, reason: reason.into() }
    }
}

/// Returns the directories in `.ait/` that a team commits.
pub fn tracked(project: &Path) -> Vec<&'static str> {
    let has = |name: &&str| project.join(DIRECTORY).join(name).is_dir();
    let groups = TRACKED.iter().filter(|group| group.iter().any(has));
    groups.copied().flatten().copied().collect()
}

/// Returns the path of a file of the team from the project.
pub(super) fn path_of(directory: &str, file: &str) -> String {
    format!("{DIRECTORY}/{directory}/{file}")
}

/// Returns the names of the files in a directory of the team without their extension, sorted.
///
/// # Errors
///
/// The directory is a link or cannot be read, or has more than [`MAX_FILES`] files.
pub(super) fn names(
    project: &Path,
    directory: &str,
    extension: &str,
) -> Result<Vec<String>, FileProblem> {
    let shown = format!("{DIRECTORY}/{directory}");
    let problem = |reason: String| FileProblem::new(&shown, None, reason);
    refuse_links(project, &shown)?;
    let entries = match fs::read_dir(project.join(&shown)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|error| problem(format!("it cannot be read: {error}")))?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| problem(format!("it cannot be read: {error}")))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some(name) = name.strip_suffix(extension).and_then(|name| name.strip_suffix('.')) {
            names.push(name.to_owned());
        }
        if names.len() > MAX_FILES {
            return Err(problem(format!(
                "it has more than {MAX_FILES} files that end with .{extension}, so none is used: remove some"
            )));
        }
    }
    names.sort();
    Ok(names)
}

/// A file of the team.
pub(super) struct TeamFile {
    /// The name without the extension.
    pub name: String,
    /// The path from the project.
    pub path: String,
    pub text: String,
}

/// Reads the files in a directory of the team, sorted by their names. Also returns what is wrong with the others.
pub(super) fn all(
    project: &Path,
    directory: &str,
    extension: &str,
) -> (Vec<TeamFile>, Vec<FileProblem>) {
    let names = match names(project, directory, extension) {
        Ok(names) => names,
        Err(problem) => return (Vec::new(), vec![problem]),
    };
    let mut files = Vec::new();
    let mut problems = Vec::new();
    for name in names {
        let file = format!("{name}.{extension}");
        match read(project, directory, &file) {
            Ok(Some(text)) => files.push(TeamFile { name, path: path_of(directory, &file), text }),
            // It was removed just now.
            Ok(None) => {}
            Err(problem) => problems.push(problem),
        }
    }
    (files, problems)
}

/// Reads a file of the team; `None` if it does not exist.
pub(super) fn read(
    project: &Path,
    directory: &str,
    file: &str,
) -> Result<Option<String>, FileProblem> {
    let shown = path_of(directory, file);
    refuse_links(project, &shown)?;
    let most = if directory == LANGUAGE_FILES { MAX_LANGUAGE_BYTES } else { MAX_BYTES };
    match small_file::read(&project.join(&shown), most) {
        Ok(text) => Ok(Some(text.replace("\r\n", "\n"))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(FileProblem::new(&shown, None, format!("it cannot be read: {error}"))),
    }
}

/// Refuses a path from the project with a symbolic link, which a repository may carry.
fn refuse_links(project: &Path, path: &str) -> Result<(), FileProblem> {
    let below = Path::new(path).ancestors().filter(|part| !part.as_os_str().is_empty());
    match below.filter(|part| project.join(part).is_symlink()).last() {
        Some(link) => Err(FileProblem::new(
            &link.to_string_lossy(),
            None,
            "it is a symbolic link, which is not followed: put the file itself there",
        )),
        None => Ok(()),
    }
}

/// Returns what is wrong with the name of a role or a prompt, if something is.
pub(super) fn wrong_name(name: &str) -> Option<String> {
    let is_allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
    let is_name = (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(is_allowed);
    (!is_name).then(|| {
        let name = ait_domain::text::shortened(name, MAX_NAME);
        format!("{name:?} is no name: use 1 to {MAX_NAME} characters of a-z, 0-9, - and _")
    })
}

/// Returns the end of the message on a name that does not exist: the one that is most like it, and all of them.
pub(super) fn known<'a>(given: &str, names: impl Iterator<Item = &'a str> + Clone) -> String {
    let near = ait_domain::text::nearest(given, names.clone());
    let near = near.map(|near| format!("did you mean {near}? ")).unwrap_or_default();
    format!("{near}There are {}", names.collect::<Vec<_>>().join(", "))
}
