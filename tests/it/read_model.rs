//! The read model.

use std::sync::Arc;

use agent_issue_tracker::domain::Classification;
use agent_issue_tracker::read_model::ReadModel;
use agent_issue_tracker::store::SqliteStore;
use agent_issue_tracker::tracker::{NewIssue, Tracker};

use crate::support::directory_in_memory;

#[test]
fn read_model_survives_a_panicking_reader() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let directory = directory_in_memory();
        let store = SqliteStore::new(directory.path().join("issues.json"));
        let tracker = Tracker::new(Arc::new(store));
        let read_model = ReadModel::new(tracker.clone());
        for count in 1..4 {
            let (title, text, agent) = ("t".try_into(), "".try_into(), "a".try_into());
            let issue = NewIssue::new(title.unwrap(), text.unwrap(), Classification::Bug);
            tracker.add_issue(issue, agent.unwrap()).await.unwrap();
            let broken = read_model.clone();
            let broken = tokio::spawn(async move { broken.read(|_| panic!("on purpose")).await });
            assert!(broken.await.unwrap_err().is_panic());
            let seen = read_model.read(|view| view.summaries().len()).await;
            assert_eq!(seen.unwrap(), count);
        }
    });
}
