//! Learns of the changes of other processes: by `LISTEN`, and by looking now and then.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Duration;

use futures::future::{FusedFuture, FutureExt};
use tokio::sync::watch;
use tokio_postgres::AsyncMessage;

use super::connection;
use super::database::Database;
use super::error::Failure;
use super::numbering::{self, NUMBERED_AT_ONCE};
use super::options::{Listen, PostgresOptions};
use super::sql;
use crate::EventPosition;

/// How often to look for new events if no database tells of them.
const POLL_EVERY: Duration = Duration::from_secs(1);
/// How often to look while one tells of them: what it tells can be lost.
const POLL_TOLD_EVERY: Duration = Duration::from_secs(5);
/// How often watchers of this process are told at most of the events of others.
const TELL_AT_MOST_EVERY: Duration = Duration::from_millis(100);
/// How long looking may take.
const LOOK_WITHIN: Duration = Duration::from_secs(10);
/// How long to wait before another connection for `LISTEN`.
const CONNECT_AGAIN_AFTER: Duration = Duration::from_secs(2);

/// Keeps the newest position of a store up to date, as long as the store exists.
pub(super) fn spawn(database: &Arc<Database>) {
    let tell = watch::Sender::new(EventPosition::default());
    let mut told = tell.subscribe();
    let is_listening = Arc::new(AtomicBool::new(false));
    if !matches!(database.options.listen, Listen::Off) {
        let is_listening = Arc::clone(&is_listening);
        tokio::spawn(listen(Arc::downgrade(database), tell.clone(), is_listening));
    }
    let database = Arc::downgrade(database);
    tokio::spawn(async move {
        // Without a listener it never tells.
        let _tell = tell;
        let mut is_told = false;
        while let Some(database) = database.upgrade() {
            let position = *told.borrow_and_update();
            if is_told && is_plausible(&database, position) {
                database.publish(position);
            } else if let Err(failure) = look(&database).await {
                tracing::debug!("new events cannot be looked for: {failure:?}");
            }
            drop(database);
            if is_told {
                // Limits the rate: of notifications in between, the last one counts.
                tokio::time::sleep(TELL_AT_MOST_EVERY).await;
            }
            let is_listening = is_listening.load(Ordering::Relaxed);
            let rest = if is_listening { POLL_TOLD_EVERY } else { POLL_EVERY };
            is_told = tokio::time::timeout(rest, told.changed()).await.is_ok();
        }
    });
}

/// Returns true if a position that a notification tells may be published without a look: another server may be ahead of
/// this one, and any role of the database may notify.
fn is_plausible(database: &Database, position: EventPosition) -> bool {
    let ahead = position.number.saturating_sub(database.newest.borrow().number);
    matches!(database.options.listen, Listen::Here) && ahead <= NUMBERED_AT_ONCE.cast_unsigned()
}

async fn look(database: &Database) -> Result<(), Failure> {
    let connections = database.ready().await?;
    database.within(LOOK_WITHIN, numbering::number(database)).await?;
    connections.close_idle();
    Ok(())
}

/// Listens on a connection of its own, and on another one when that ends.
async fn listen(
    database: Weak<Database>,
    tell: watch::Sender<EventPosition>,
    is_listening: Arc<AtomicBool>,
) {
    while let Some(found) = database.upgrade() {
        let options = Arc::clone(&found.options);
        let channel = sql::channel(found.schema());
        // The connection does not keep the store alive.
        drop(found);
        let listened = listen_once(&options, &channel, &tell, &is_listening).await;
        is_listening.store(false, Ordering::Relaxed);
        if let Err(failure) = listened {
            tracing::debug!("the database tells of no changes for now: {failure:?}");
        }
        tokio::time::sleep(CONNECT_AGAIN_AFTER).await;
    }
}

async fn listen_once(
    options: &PostgresOptions,
    channel: &str,
    tell: &watch::Sender<EventPosition>,
    is_listening: &AtomicBool,
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
                && let Poll::Ready(done) = begun.as_mut().poll(cx)
            {
                match done {
                    Ok(()) => is_listening.store(true, Ordering::Relaxed),
                    Err(error) => return Poll::Ready(Some(Err(error))),
                }
            }
            connection.poll_message(cx)
        });
        let message = tokio::time::timeout(POLL_EVERY, message).await;
        if tell.is_closed() {
            return Ok(());
        }
        match message {
            Ok(Some(Ok(AsyncMessage::Notification(told)))) => {
                if let Some(position) = told_position(told.payload()) {
                    tell.send_replace(position);
                }
            }
            Ok(Some(Ok(_))) | Err(_) => {}
            Ok(Some(Err(error))) => return Err(error.into()),
            Ok(None) => return Ok(()),
        }
    }
}

/// Reads the number and the nonce of the newest event, as the statement that numbers events tells them.
fn told_position(payload: &str) -> Option<EventPosition> {
    let (number, nonce) = payload.split_once(' ')?;
    let number: u64 = number.parse().ok()?;
    let nonce: i64 = nonce.parse().ok()?;
    Some(EventPosition { number, hash: nonce.cast_unsigned() })
}
