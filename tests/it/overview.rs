//! Looks at all issues at once, whatever becomes of them.

use std::sync::Arc;

use agent_issue_tracker::domain::Classification;
use agent_issue_tracker::overview::Overview;
use agent_issue_tracker::store::MemoryStore;
use agent_issue_tracker::tracker::Tracker;

#[test]
fn a_look_that_panics_leaves_the_next_one_with_all_that_is_there() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let tracker = Tracker::new(Arc::new(MemoryStore::default()));
        let overview = Overview::new(tracker.clone());
        for count in 1..4 {
            let (title, text, agent) = ("t".try_into(), "".try_into(), "a".try_into());
            let filed = tracker.add_issue(
                title.unwrap(),
                text.unwrap(),
                Classification::Bug,
                agent.unwrap(),
            );
            filed.await.unwrap();
            let broken = overview.clone();
            let broken = tokio::spawn(async move { broken.look(|_| panic!("on purpose")).await });
            assert!(broken.await.unwrap_err().is_panic());
            let seen = overview.look(|survey| survey.digests().len()).await;
            assert_eq!(seen.unwrap(), count);
        }
    });
}
