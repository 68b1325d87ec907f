//! What a project wants issues to say. It does not know where that is written.

use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::Tracker;
use ait_domain::Template;

/// Reads the templates of a project. It may block.
pub(super) type ReadTemplates = Arc<dyn Fn() -> Vec<Template> + Send + Sync>;

impl Tracker {
    /// Returns a tracker of a project whose templates this reads, in a thread that may block.
    pub fn with_templates(self, read: impl Fn() -> Vec<Template> + Send + Sync + 'static) -> Self {
        Self { read_templates: Some(Arc::new(read)), ..self }
    }

    /// Reads the templates of the project.
    pub async fn templates(&self) -> Vec<Template> {
        let Some(read) = self.read_templates.clone() else { return Vec::new() };
        spawn_blocking(move || read()).await.unwrap_or_default()
    }
}
