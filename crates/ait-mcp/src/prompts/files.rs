//! The prompts of the project's files, and when they change.

use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use futures::stream::{self, Stream, StreamExt};
use rmcp::service::{Peer, RoleServer};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::context::blocking;
use ait_setup::project_prompts::{self, FileState};
use ait_setup::{FileProblem, ProjectPrompts};

/// How often the files are looked at while a client is told of changes.
const CHECK_EVERY: Duration = Duration::from_millis(500);

/// The files with the prompts of a project. Each request reads them.
pub(crate) struct PromptFiles {
    project: Option<PathBuf>,
    /// What was wrong with them at the last read, which is logged once.
    problems: Mutex<Vec<FileProblem>>,
    /// Counts the changes. Set once a client is told of them.
    changed: OnceLock<watch::Sender<u64>>,
}

impl PromptFiles {
    pub fn new(project: Option<PathBuf>) -> Self {
        Self { project, problems: Mutex::default(), changed: OnceLock::new() }
    }

    /// Returns true if the project has a directory for them. Otherwise nothing tells clients of changes.
    pub fn exist(&self) -> bool {
        self.project.as_deref().is_some_and(project_prompts::has_directory)
    }

    /// Reads the prompts, and logs what is newly wrong with some.
    pub async fn read(self: &Arc<Self>) -> ProjectPrompts {
        if !self.exist() {
            return ProjectPrompts::default();
        }
        let this = Arc::clone(self);
        blocking(move || this.read_now()).await
    }

    fn read_now(&self) -> ProjectPrompts {
        let Some(project) = &self.project else { return ProjectPrompts::default() };
        let read = ProjectPrompts::read(project);
        let mut known = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        for problem in read.problems.iter().filter(|problem| !known.contains(problem)) {
            tracing::warn!("a prompt is left out: {problem}");
        }
        known.clone_from(&read.problems);
        read
    }

    /// Begins to look for changes, so that those that wait for them miss none. Returns false without a directory.
    pub fn watch(self: &Arc<Self>) -> bool {
        drop(self.changes());
        self.changed.get().is_some()
    }

    /// Returns an item for each change from now on; none without a directory.
    pub fn changes(self: &Arc<Self>) -> impl Stream<Item = ()> + Send + use<> {
        let project = self.project.clone().filter(|_| self.exist());
        let changes = project.map(|project| {
            let changed = self.changed.get_or_init(|| {
                let known = project_prompts::state(&project);
                tokio::spawn(Arc::clone(self).follow(project, known));
                watch::Sender::new(0)
            });
            stream::unfold(changed.subscribe(), async |mut changes| {
                changes.changed().await.ok()?;
                Some(((), changes))
            })
        });
        stream::iter(changes).flatten()
    }

    /// Tells a client over stdio of changes.
    pub fn tell(self: &Arc<Self>, client: Peer<RoleServer>, shutdown: CancellationToken) {
        let changes = self.changes().take_until(shutdown.cancelled_owned());
        tokio::spawn(async move {
            let mut changes = pin!(changes);
            while changes.next().await.is_some() {
                if client.notify_prompt_list_changed().await.is_err() {
                    return;
                }
            }
        });
    }

    /// Looks for changes until the process ends, and logs what is wrong, also if no client asks.
    async fn follow(self: Arc<Self>, project: PathBuf, mut known: FileState) {
        self.read().await;
        loop {
            tokio::time::sleep(CHECK_EVERY).await;
            let directory = project.clone();
            let now = blocking(move || project_prompts::state(&directory)).await;
            if now != known {
                known = now;
                self.read().await;
                if let Some(changed) = self.changed.get() {
                    changed.send_modify(|count| *count += 1);
                }
            }
        }
    }
}
