//! Fixtures for the tests of the MCP interface.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt};
use serde_json::Value;
use tokio::sync::watch;

use super::context::LazyContext;
use super::options::Toolsets;
use super::reply::ReplyOptions;
use super::tool_names::ToolNames;
use super::tools::registry::ToolRegistry;
use super::tools::{Call, CallContext};
use super::waiting::WaitingClient;
use crate::domain::{Classification, Command, Counts, Issue, IssueRef, Page, Query, Timestamp};
use crate::read_model::ReadModel;
use crate::store::clients::Clients;
use crate::store::{Committed, MemoryStore, Store, StoreFuture, Subset};
use crate::tracker::{
    EventPosition, Events, NewIssue, Probe, State, StoreHealth, StoreId, Tracker,
};

/// Returns a tracker over a store in memory that runs `then` after each claim, before the caller gets it. `then` is
/// told whether the claim found an issue.
pub fn tracker(then: impl Fn(bool) + Send + Sync + 'static) -> Tracker {
    let (store, then) = (MemoryStore::default(), Box::new(then));
    Tracker::new(Arc::new(Racing { store, then }))
}

/// Files an issue.
pub async fn file_issue(tracker: &Tracker) -> Arc<Issue> {
    let (title, description) = ("t".try_into().unwrap(), "".try_into().unwrap());
    let agent = "a".try_into().unwrap();
    let issue = NewIssue::new(title, description, Classification::Bug);
    tracker.add_issue(issue, agent).await.unwrap().issue
}

/// Returns the issue that was filed first.
pub async fn only_issue(tracker: &Tracker) -> Arc<Issue> {
    tracker.state().await.unwrap().issues.at(0)
}

/// Returns a call of a tool of the lifecycle.
pub fn call(tracker: &Tracker, tool: &str, arguments: Value, waiting: WaitingClient) -> Call {
    let context = CallContext {
        tracker: tracker.clone(),
        read_model: ReadModel::new(tracker.clone()),
        options: Arc::default(),
        server: LazyContext::new(|| unreachable!("no tool of the lifecycle needs it")),
        replies: ReplyOptions::default(),
        is_lead: false,
        waiting,
    };
    let arguments = serde_json::from_value(arguments).unwrap();
    let tools = ToolRegistry::new(ToolNames::default());
    tools.with(Toolsets::default()).call(tool, context, arguments).unwrap()
}

struct Racing {
    store: MemoryStore,
    then: Box<dyn Fn(bool) + Send + Sync>,
}

impl Store for Racing {
    fn id(&self) -> BoxFuture<'_, StoreId> {
        self.store.id()
    }

    fn commit(&self, commands: Vec<Command>, now: Timestamp) -> StoreFuture<'_, Committed> {
        async move {
            let is_claim = commands.iter().any(|command| {
                matches!(command, Command::GetNextIssue { .. } | Command::GetNextReviewItem { .. })
            });
            let committed = self.store.commit(commands, now).await?;
            if is_claim {
                // Not awaited: if the caller goes during the commit, the store itself gives the claim back.
                (self.then)(committed.outcomes.iter().any(Option::is_some));
            }
            Ok(committed)
        }
        .boxed()
    }

    fn get(&self, reference: IssueRef) -> StoreFuture<'_, Arc<Issue>> {
        self.store.get(reference)
    }

    fn list(&self, query: Query) -> StoreFuture<'_, Page> {
        self.store.list(query)
    }

    fn counts(&self) -> StoreFuture<'_, Counts> {
        self.store.counts()
    }

    fn clients(&self) -> Arc<dyn Clients> {
        self.store.clients()
    }

    fn state(&self) -> StoreFuture<'_, State> {
        self.store.state()
    }

    fn subset(&self, subset: Subset) -> StoreFuture<'_, State> {
        self.store.subset(subset)
    }

    fn events(&self, after: u64, limit: usize) -> StoreFuture<'_, Events> {
        self.store.events(after, limit)
    }

    fn watch(&self) -> watch::Receiver<EventPosition> {
        self.store.watch()
    }

    fn health(&self, probe: Probe) -> BoxFuture<'_, StoreHealth> {
        self.store.health(probe)
    }

    fn close(&self) -> BoxFuture<'_, bool> {
        self.store.close()
    }
}
