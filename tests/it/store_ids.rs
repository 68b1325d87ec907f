//! Store ids: all processes on a machine agree on the id of a store.

use std::fs;
use std::path::Path;

use agent_issue_tracker::store::{SqliteStore, Store, StoreId};

use crate::support::directory;
use crate::support::files::names;
use crate::support::stores::{add, apply, now};

async fn id(path: &Path) -> StoreId {
    SqliteStore::new(path).id().await
}

#[tokio::test]
async fn store_id_depends_only_on_the_path() {
    let directory = directory();
    let path = directory.path().join("issues.json");
    let store = SqliteStore::new(&path);
    let before = store.id().await;
    assert!(names(directory.path()).is_empty());
    apply(&store, add(), now()).await.unwrap();
    store.close().await;
    assert_eq!(id(&path).await, before);
    assert_ne!(id(&directory.path().join("other.json")).await, before);
    let away = directory.path().join("not/there/issues.json");
    assert_eq!(id(&away).await, id(&away).await);
    assert_ne!(id(&away).await, before);
}

#[tokio::test]
async fn symbolic_links_to_a_store_give_the_same_id() {
    let directory = directory();
    fs::create_dir(directory.path().join("real")).unwrap();
    let real = directory.path().join("real/issues.json");
    std::os::unix::fs::symlink("real", directory.path().join("linked")).unwrap();
    std::os::unix::fs::symlink("linked/issues.json", directory.path().join("file.json")).unwrap();
    for path in ["linked/issues.json", "file.json", "linked/../real/issues.json"] {
        assert_eq!(id(&directory.path().join(path)).await, id(&real).await, "{path}");
    }
}
