//! `ait migrate`: moves everything from one store to another, and compares them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, fs};

use anyhow::{Context, Result, anyhow, bail};

use super::{configured, open_database};
use crate::cli::{self, MigrateArguments, Output, with_progress};
use crate::config::{Config, FILE_NAME, StoreUrl};
use crate::processes::Registry;
use crate::setup::{self, HostEnv};
use crate::small_file;
use crate::store::files::StoreOptions;
use crate::store::files::fs::RealFileSystem;
use crate::store::sqlite::inspect::paths_of;
use crate::store::transfer::{Transfer, TransferTarget, compare};
use crate::store::{SqliteStore, Store};

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
    let from = name(&command.from);
    let to = name(&command.to);
    let source = from.open(config)?;
    let target = to.open(config)?;
    if source.id().await == target.id().await {
        bail!("nothing was moved: --from and --to name the same store");
    }
    let unmoved = "nothing was moved";
    from.refuse_if_in_use().context(unmoved)?;
    to.refuse_if_in_use().context(unmoved)?;
    if let StoreName::File(path) = &to {
        put_moved_aside(path).context(unmoved)?;
    }
    let target = to.open(config)?;
    let moving = async {
        let transfer = Transfer::of(&*source).await?;
        target.take_over(&transfer).await
    };
    with_progress("moving", moving).await.context(unmoved)?;
    // Both are opened again, so that nothing is compared that is only in memory.
    let source = from.open(config)?;
    let target = to.open(config)?;
    let compared = with_progress("comparing", compare(&*source, &*target)).await;
    target.close().await;
    if let StoreName::File(path) = &to {
        let options = configured(config, StoreOptions::for_many_changes());
        let store = SqliteStore::with(path, Arc::new(RealFileSystem), options);
        if let Err(error) = store.maintenance().publish().await {
            tracing::warn!("issues.json is not written: {}", error.reason());
        }
        store.close().await;
    }
    let compared = compared.with_context(|| {
        let to = to.shown();
        format!("everything was moved to {to}, but do not use it, because it could not be verified")
    })?;
    let output = &Output::stdout();
    let ended = cli::report_migration(command, (&from.shown(), &to.shown()), &compared, output)?;
    let (next, is_used) = use_target(command, config, &from, &to)?;
    if is_used {
        source.say_moved(&to.shown()).await?;
    }
    source.close().await;
    command.say_next(&next, output)?;
    Ok(ended)
}

/// Lets the project use the target, if it uses the source and the user agrees. Returns what comes next, and whether the
/// project uses the target now.
fn use_target(
    command: &MigrateArguments,
    config: &Config,
    from: &StoreName,
    to: &StoreName,
) -> Result<(String, bool)> {
    let project = config.project();
    let shown = to.shown();
    let settings = project.join(FILE_NAME);
    let project = project.display();
    if !from.is_store_of(config) {
        let store = config.store();
        return Ok((format!("{project} uses another store, {store}, and goes on to do so"), false));
    }
    let is_of_project = match to {
        StoreName::File(path) => is_same_file(path, &config.location.path),
        StoreName::Database(_) => true,
    };
    if !is_of_project {
        let rest = match config.database {
            Some(_) => format!(", and remove `store` from {}", settings.display()),
            None => String::new(),
        };
        return Ok((format!("set ISSUES_FILE={shown} where agents start{rest}"), false));
    }
    if !command.is_agreed(&project.to_string(), &shown)? {
        let settings = settings.display();
        let next = match to {
            StoreName::Database(_) => {
                format!("to use it, write store = \"{shown}\" into {settings}")
            }
            StoreName::File(_) => format!("to use it, remove `store` from {settings}"),
        };
        return Ok((next, false));
    }
    let env = HostEnv::new(|name| env::var_os(name), env::home_dir());
    let database = matches!(to, StoreName::Database(_)).then_some(shown.as_str());
    let plan = setup::plan_store(&settings, &env, database)?;
    setup::apply(&plan.changes, &config.project()).complete(plan.changes.len())?;
    Ok((format!("{project} uses {shown} from now on: start the agents again"), true))
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| paths_of(path).map(|paths| paths.issues).ok();
    one == other || (real(one).is_some() && real(one) == real(other))
}

/// Returns why files are not used whose queue was moved elsewhere; `None` if it was not.
pub(super) fn refuse_moved(path: &Path) -> Option<String> {
    let note = paths_of(path).ok()?.moved();
    let to = small_file::read(&note, small_file::MAX_BYTES).ok()?;
    Some(format!(
        "the queue of {} was moved to {}: use that, with `ait --store`; to use these files again, remove {}",
        path.display(),
        to.trim(),
        note.display()
    ))
}

/// Puts the files aside whose queue was moved elsewhere, so that it can be moved back.
fn put_moved_aside(path: &Path) -> Result<()> {
    let paths = paths_of(path)?;
    if !paths.moved().exists() {
        return Ok(());
    }
    let name = paths.issues.file_name().unwrap_or_default().to_string_lossy();
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let aside = paths.directory.with_file_name(format!("{name}.moved-{time}"));
    fs::rename(&paths.directory, &aside)?;
    if paths.issues.exists() {
        fs::rename(&paths.issues, aside.join(&*name))?;
    }
    tracing::info!("the files from before are in {}", aside.display());
    Ok(())
}

impl StoreName {
    /// Reads the name of a store. Only URLs contain `://`.
    fn of(text: &str, working_directory: &Path) -> Self {
        if text.contains("://") {
            Self::Database(StoreUrl(text.to_owned()))
        } else {
            Self::File(working_directory.join(text))
        }
    }

    /// Opens the store. Reads nothing yet.
    fn open(&self, config: &Config) -> Result<Arc<dyn TransferTarget>> {
        match self {
            Self::Database(url) => open_database(url, config).map_err(|why| anyhow!(why)),
            Self::File(path) => {
                let options = configured(config, StoreOptions::for_many_changes());
                Ok(Arc::new(SqliteStore::with(path, Arc::new(RealFileSystem), options)))
            }
        }
    }

    /// Refuses a file that a live process uses. Of the processes that use a database, only the changes are noticed.
    fn refuse_if_in_use(&self) -> Result<()> {
        let Self::File(path) = self else { return Ok(()) };
        let files = SqliteStore::new(path).maintenance().files();
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

    /// Returns true if a project uses this store.
    fn is_store_of(&self, config: &Config) -> bool {
        match (self, &config.database) {
            (Self::File(path), None) => is_same_file(path, &config.location.path),
            (Self::Database(url), Some(used)) => url.to_string() == used.value.to_string(),
            _ => false,
        }
    }

    /// Returns the name without a password.
    fn shown(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Database(url) => url.to_string(),
        }
    }
}
