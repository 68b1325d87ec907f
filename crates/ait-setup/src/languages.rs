//! The languages of the pages that a project adds: `.ait/languages/TAG.toml`.

use std::path::Path;

use super::project_files::{self, FileProblem, LANGUAGE_FILES, TeamFile};
use ait_language::Languages;

const EXTENSION: &str = "toml";

/// The languages of a project's pages, with those that are built in.
#[derive(Clone, Debug, Default)]
pub struct ProjectLanguages {
    pub languages: Languages,
    /// How many tables were read.
    pub count: usize,
    /// What is wrong with them. Such texts are left out, and the others are used.
    pub problems: Vec<FileProblem>,
}

impl ProjectLanguages {
    /// Reads the tables of a project.
    pub fn read(project: &Path) -> Self {
        let (files, problems) = project_files::all(project, LANGUAGE_FILES, EXTENSION);
        let mut all = Self { languages: Languages::default(), count: files.len(), problems };
        for TeamFile { name, path, text } in files {
            let problems = all.languages.add(&name, &text).into_iter();
            let problems = problems.map(|found| FileProblem::new(&path, found.line, found.reason));
            all.problems.extend(problems);
        }
        all
    }
}
