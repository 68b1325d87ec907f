//! Learns of the changes of other processes: by `LISTEN`, and by looking once a second.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Duration;

use futures::future::{FusedFuture, FutureExt};
use tokio::sync::Notify;
use tokio_postgres::AsyncMessage;

use super::connection;
use super::database::Database;
use super::error::Failure;
use super::numbering;
use super::options::{Listen, PostgresOptions};
use super::sql;

/// How often to look for new events without being told.
const POLL_EVERY: Duration = Duration::from_secs(1);
/// How often to look for new events at most when others tell of them.
const LOOK_AT_MOST_EVERY: Duration = Duration::from_millis(100);
/// How long looking may take.
const LOOK_WITHIN: Duration = Duration::from_secs(10);
/// How long to wait before another connection for `LISTEN`.
const CONNECT_AGAIN_AFTER: Duration = Duration::from_secs(2);

/// Keeps the newest position of a store up to date, as long as the store exists.
pub(super) fn spawn(database: &Arc<Database>) {
    let told = Arc::new(Notify::new());
    if !matches!(database.options.listen, Listen::Off) {
        tokio::spawn(listen(Arc::downgrade(database), Arc::downgrade(&told)));
    }
    let database = Arc::downgrade(database);
    tokio::spawn(async move {
        let mut is_told = false;
        while let Some(database) = database.upgrade() {
            // Who tells of events has numbered them.
            let looking = async {
                if is_told {
                    numbering::publish_newest(&database).await
                } else {
                    numbering::number(&database).await.map(drop)
                }
            };
            let ready_and_looking = async {
                database.ready().await?;
                database.within(LOOK_WITHIN, looking).await
            };
            if let Err(failure) = ready_and_looking.await {
                tracing::debug!("new events cannot be looked for: {failure:?}");
            }
            drop(database);
            if is_told {
                // Limits the rate of checks: notifications in between become one check.
                tokio::time::sleep(LOOK_AT_MOST_EVERY).await;
            }
            is_told = tokio::time::timeout(POLL_EVERY, told.notified()).await.is_ok();
        }
    });
}

/// Listens on a connection of its own, and on another one when that ends.
async fn listen(database: Weak<Database>, told: Weak<Notify>) {
    while let Some(found) = database.upgrade() {
        let (options, channel) = (Arc::clone(&found.options), sql::channel(found.schema()));
        // The connection does not keep the store alive.
        drop(found);
        if let Err(failure) = listen_once(&options, &channel, &told).await {
            tracing::debug!("the database tells of no changes for now: {failure:?}");
        }
        tokio::time::sleep(CONNECT_AGAIN_AFTER).await;
    }
}

async fn listen_once(
    options: &PostgresOptions,
    channel: &str,
    told: &Weak<Notify>,
) -> Result<(), Failure> {
    let options = match &options.listen {
        Listen::At(other) => other,
        Listen::Here | Listen::Off => options,
    };
    let (client, mut connection) = connection::open(options).await?;
    let statement = format!("LISTEN {channel}");
    let mut begun = pin!(client.batch_execute(&statement).fuse());
    loop {
        let message = poll_fn(|cx| {
            if !begun.is_terminated()
                && let Poll::Ready(Err(error)) = begun.as_mut().poll(cx)
            {
                return Poll::Ready(Some(Err(error)));
            }
            connection.poll_message(cx)
        });
        let message = tokio::time::timeout(POLL_EVERY, message).await;
        let Some(told) = told.upgrade() else { return Ok(()) };
        match message {
            Ok(Some(Ok(AsyncMessage::Notification(_)))) => told.notify_one(),
            Ok(Some(Ok(_))) | Err(_) => {}
            Ok(Some(Err(error))) => return Err(error.into()),
            Ok(None) => return Ok(()),
        }
    }
}
