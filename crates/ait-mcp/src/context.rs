//! What the server knows besides the issues: settings, project and program.

use std::panic;
use std::sync::{Arc, LazyLock};

use tokio::task::spawn_blocking;

use ait_doctor::CheckContext;
use ait_setup::Project;
use ait_setup::setting::{EffectiveSetting, SettingsFile};

/// The context of a server.
#[derive(Clone)]
pub struct ServerContext {
    /// The effective settings, without secrets.
    pub settings: Vec<EffectiveSetting>,
    /// Where those of the project were read.
    pub settings_file: SettingsFile,
    /// What the doctor examines.
    pub context: CheckContext,
    /// What `ait init` sets up.
    pub project: Project,
    /// The command line that starts this program on this store, quoted for a shell.
    pub command: String,
}

/// A context that is found out on first use, because start-up must be fast and most clients never need it.
/// Clones share it.
#[derive(Clone)]
pub(super) struct LazyContext(Arc<LazyLock<ServerContext, Find>>);

type Find = Box<dyn FnOnce() -> ServerContext + Send>;

impl LazyContext {
    pub fn new(find: impl FnOnce() -> ServerContext + Send + 'static) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(find))))
    }

    /// Returns the context. The first call may wait for the disk.
    pub async fn get(&self) -> ServerContext {
        let context = Arc::clone(&self.0);
        blocking(move || ServerContext::clone(&context)).await
    }
}

/// Runs work that may wait for the disk, to its end even if the caller is gone.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let done = spawn_blocking(work).await;
    done.unwrap_or_else(|error| panic::resume_unwind(error.into_panic()))
}
