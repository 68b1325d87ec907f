//! What the server can tell of beside the issues.

use std::panic;
use std::sync::{Arc, LazyLock};

use tokio::task::spawn_blocking;

use crate::doctor::Subject;
use crate::setting::SettingRow;

/// What is around the store of a server.
#[derive(Clone)]
pub struct Surroundings {
    /// What is set, without secrets.
    pub settings: Vec<SettingRow>,
    /// What an examination looks at.
    pub subject: Subject,
    /// What calls this program on this store, as a shell reads it.
    pub command: String,
}

/// The same, found out when it is asked for: most clients never do, and all of them wait for a server to
/// begin. Clones share it.
#[derive(Clone)]
pub(super) struct FoundWhenAsked(Arc<LazyLock<Surroundings, Find>>);

type Find = Box<dyn FnOnce() -> Surroundings + Send>;

impl FoundWhenAsked {
    pub fn new(find: impl FnOnce() -> Surroundings + Send + 'static) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(find))))
    }

    /// What was found, which may have to wait for the disk at first.
    pub async fn get(&self) -> Surroundings {
        let asked = Arc::clone(&self.0);
        let found = spawn_blocking(move || Surroundings::clone(&asked)).await;
        found.unwrap_or_else(|error| panic::resume_unwind(error.into_panic()))
    }
}
