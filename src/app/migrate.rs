//! `ait migrate`: moves everything from one store to another, and compares them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};

use super::{configured, open_database, publish_in_background};
use crate::cli::{self, MigrateArguments, Output, with_progress};
use crate::config::{Config, StoreUrl};
use crate::processes::Registry;
use crate::store::JsonStore;
use crate::store::json::JsonStoreOptions;
use crate::store::json::fs::RealFileSystem;
use crate::store::transfer::{Transfer, TransferTarget, compare};

/// A store as the command line names it.
enum StoreName {
    File(PathBuf),
    Database(StoreUrl),
}

/// Moves everything from one store to another, empty one.
///
/// # Errors
///
/// Nothing was moved, or the stores differ afterwards; the message says which.
pub async fn migrate(
    command: &MigrateArguments,
    config: &Config,
    working_directory: &Path,
) -> Result<cli::ExitStatus> {
    let name = |text: &str| StoreName::of(text, working_directory);
    let (from, to) = (name(&command.from), name(&command.to));
    let (source, target) = (from.open(config)?, to.open(config)?);
    if source.id().await == target.id().await {
        bail!("nothing was moved: --from and --to name the same store");
    }
    let unmoved = "nothing was moved";
    from.refuse_if_in_use().context(unmoved)?;
    to.refuse_if_in_use().context(unmoved)?;
    let moving = async {
        let transfer = Transfer::of(&*source).await?;
        target.take_over(&transfer).await
    };
    with_progress("moving", moving).await.context(unmoved)?;
    // Both are opened again, so that nothing is compared that is only in memory.
    let (source, target) = (from.open(config)?, to.open(config)?);
    let compared = with_progress("comparing", compare(&*source, &*target)).await;
    source.close().await;
    let is_published = target.close().await;
    if let (StoreName::File(path), false) = (&to, is_published) {
        publish_in_background(path);
    }
    let compared = compared.with_context(|| {
        let to = to.shown();
        format!("everything was moved to {to}, but do not use it, because it could not be verified")
    })?;
    cli::report_migration(command, (&from.shown(), &to.shown()), &compared, &mut Output::stdout())
}

impl StoreName {
    /// Reads the name of a store. Only URLs contain `://`.
    fn of(text: &str, working_directory: &Path) -> Self {
        match text.contains("://") {
            true => Self::Database(StoreUrl(text.to_owned())),
            false => Self::File(working_directory.join(text)),
        }
    }

    /// Opens the store. Reads nothing yet.
    fn open(&self, config: &Config) -> Result<Arc<dyn TransferTarget>> {
        match self {
            Self::Database(url) => open_database(url, config).map_err(|why| anyhow!(why)),
            Self::File(path) => {
                let options = configured(config, JsonStoreOptions::for_many_changes());
                Ok(Arc::new(JsonStore::with(path, Arc::new(RealFileSystem), options)))
            }
        }
    }

    /// Refuses a file that a live process uses. Of the processes that use a database, only the changes are noticed.
    fn refuse_if_in_use(&self) -> Result<()> {
        let Self::File(path) = self else { return Ok(()) };
        let files = JsonStore::new(path).maintenance().files();
        let path = files.first().unwrap_or(path);
        let live = Registry::for_store(path).list_live_readonly().unwrap_or_default();
        let Some(process) = live.first() else { return Ok(()) };
        bail!(
            "process {pid} ({kind}) uses {path}: stop it, and all others that `ait --file {path} status` shows",
            pid = process.pid,
            kind = process.kind.as_str(),
            path = path.display()
        )
    }

    /// Returns the name without a password.
    fn shown(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Database(url) => url.to_string(),
        }
    }
}
