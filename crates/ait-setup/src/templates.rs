//! The templates of a project: `.ait/templates/KIND.md`, each for the descriptions of one kind of work.

use std::path::Path;

use super::project_files::{self, FileProblem, TEMPLATE_FILES, TeamFile, known};
use ait_domain::{Classification, Template};

const EXTENSION: &str = "md";

/// The valid templates of a project, and what is wrong with the others.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProjectTemplates {
    pub templates: Vec<Template>,
    pub problems: Vec<FileProblem>,
}

impl ProjectTemplates {
    /// Reads the templates of a project. A file that is not valid is left out, and the others stay.
    pub fn read(project: &Path) -> Self {
        let (files, problems) = project_files::all(project, TEMPLATE_FILES, EXTENSION);
        let mut all = Self { templates: Vec::new(), problems };
        for TeamFile { name, path, text } in files {
            let Some(kind) = Classification::of_work().find(|kind| kind.as_str() == name) else {
                let known = known(&name, Classification::of_work().map(Classification::as_str));
                let reason = format!("no kind of work has this name: {known}");
                all.problems.push(FileProblem::new(&path, None, reason));
                continue;
            };
            let text = text.trim().to_owned();
            if !text.is_empty() {
                all.templates.push(Template { kind, text });
            }
        }
        all
    }
}
