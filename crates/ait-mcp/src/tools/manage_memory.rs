//! `manage_memory`: the sections of ours in the instructions that agents read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::init_project::InitProject;
use super::{CallContext, Tool, planned};
use crate::context::blocking;
use crate::options::Toolset;
use crate::result::{Failure, Success};
use ait_setup::{
    ChangeReport, FileChange, InstalledSetup, ManagedSection, Project, SectionState, guides,
};

pub(super) struct ManageMemory;

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Action {
    Read,
    Update,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    action: Action,
    /// Default: all
    #[schemars(extend("enum" = guides()))]
    file: Option<String>,
    /// Write the update
    apply: Option<bool>,
}

/// What `read` answers.
#[derive(Serialize)]
struct SectionsReport {
    sections: Vec<ManagedSection>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

/// What `update` answers.
#[derive(Serialize)]
struct UpdateReport {
    changes: Vec<ChangeReport>,
    /// The text that each changed section gets.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    written: bool,
}

impl Tool for ManageMemory {
    const NAME: &'static str = "manage_memory";
    const DESCRIPTION: &'static str = "The section that init_project keeps in instructions for agents: read it, or \
        bring it up to date. Without apply, update answers with the plan alone.";
    const DESTRUCTIVE: bool = true;
    const TOOLSET: Toolset = Toolset::Admin;
    type Args = Args;

    async fn call(context: CallContext, args: Args) -> Result<Success, Failure> {
        let apply = args.apply.unwrap_or(false);
        if apply && args.action == Action::Read {
            return Err(Failure::invalid("`apply` belongs to the action update: leave it out"));
        }
        let project = context.server.get().await.project;
        let query =
            SectionQuery { file: args.file, writer: context.replies.names.full(InitProject::NAME) };
        match args.action {
            Action::Read => Success::report(blocking(move || query.read(&project)).await?),
            Action::Update => {
                let report = blocking(move || query.update(&project, apply)).await?;
                planned::report(report, Self::NAME, &context)
            }
        }
    }
}

/// Which sections to read or update.
struct SectionQuery {
    /// The file; `None` for all.
    file: Option<String>,
    /// The tool that writes the first section of a file.
    writer: String,
}

impl SectionQuery {
    fn read(&self, project: &Project) -> Result<SectionsReport, Failure> {
        let (sections, _) = self.sections(project)?;
        Ok(SectionsReport { notes: self.notes(&sections), sections })
    }

    fn update(&self, project: &Project, apply: bool) -> Result<UpdateReport, Failure> {
        let (sections, changes) = self.sections(project)?;
        let written = apply && !changes.is_empty();
        let text = (!changes.is_empty()).then(|| InstalledSetup::of(project).wanted_section());
        if written {
            planned::write(&changes, project)?;
        }
        let changes = changes.iter().map(ChangeReport::from).collect();
        Ok(UpdateReport { changes, text, notes: self.notes(&sections), written })
    }

    fn sections(
        &self,
        project: &Project,
    ) -> Result<(Vec<ManagedSection>, Vec<FileChange>), Failure> {
        let is_wanted = |guide: &&str| self.file.as_ref().is_none_or(|file| file == guide);
        let wanted = guides().into_iter().filter(is_wanted);
        InstalledSetup::of(project).sections(wanted).map_err(planned::refused)
    }

    fn notes(&self, sections: &[ManagedSection]) -> Vec<String> {
        if sections.iter().any(|section| section.state != SectionState::Absent) {
            return Vec::new();
        }
        let files: Vec<_> = sections.iter().map(|section| section.file.as_str()).collect();
        vec![format!("there is no section in {}: {} writes it", files.join(", "), self.writer)]
    }
}
