//! The languages of the pages that a project adds: `.ait/languages/TAG.toml`.

use std::path::Path;

use super::project_files::{self, FileProblem, LANGUAGE_FILES, path_of};
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
        let mut all = Self::default();
        let files = project_files::names(project, LANGUAGE_FILES, EXTENSION);
        let files = files.unwrap_or_else(|problem| {
            all.problems.push(problem);
            Vec::new()
        });
        for tag in files {
            let file = format!("{tag}.{EXTENSION}");
            match project_files::read(project, LANGUAGE_FILES, &file) {
                Ok(Some(table)) => {
                    let path = path_of(LANGUAGE_FILES, &file);
                    let problems = all.languages.add(&tag, &table).into_iter();
                    all.problems.extend(
                        problems.map(|found| FileProblem::new(&path, found.line, found.reason)),
                    );
                    all.count += 1;
                }
                Ok(None) => {}
                Err(problem) => all.problems.push(problem),
            }
        }
        all
    }
}
