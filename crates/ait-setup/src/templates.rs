//! The templates of a project: `.ait/templates/KIND.md`, each for the descriptions of one kind of work.

use std::path::Path;

use super::project_files::{self, FileProblem, TEMPLATE_FILES, known, path_of};
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
        let mut all = Self::default();
        let files = project_files::names(project, TEMPLATE_FILES, EXTENSION);
        let files = files.unwrap_or_else(|problem| {
            all.problems.push(problem);
            Vec::new()
        });
        for name in files {
            match template(project, &name) {
                Ok(template) => all.templates.extend(template),
                Err(problem) => all.problems.push(problem),
            }
        }
        all
    }
}

/// Reads the template of a kind; `None` if it is empty, or was removed just now.
fn template(project: &Path, name: &str) -> Result<Option<Template>, FileProblem> {
    let file = format!("{name}.{EXTENSION}");
    let Some(kind) = Classification::of_work().find(|kind| kind.as_str() == name) else {
        let known = known(name, Classification::of_work().map(Classification::as_str));
        let reason = format!("no kind of work has this name: {known}");
        return Err(FileProblem::new(&path_of(TEMPLATE_FILES, &file), None, reason));
    };
    let Some(text) = project_files::read(project, TEMPLATE_FILES, &file)? else { return Ok(None) };
    let text = text.trim().to_owned();
    Ok((!text.is_empty()).then_some(Template { kind, text }))
}
