//! The signals that end a server.

use std::io::{self, IsTerminal};
use std::sync::{Arc, OnceLock};

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Cancels on SIGINT and SIGTERM, and on SIGHUP if the terminal is gone. Any other SIGHUP only reopens the log.
///
/// Returns the place where the name of the signal is noted before that.
///
/// # Errors
///
/// The system refuses to tell this process of signals.
pub(super) fn cancel_on_signal(
    shutdown: CancellationToken,
) -> io::Result<Arc<OnceLock<&'static str>>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let had_terminal = io::stdin().is_terminal();
    let received = Arc::new(OnceLock::new());
    let noted = Arc::clone(&received);
    tokio::spawn(async move {
        let name = loop {
            tokio::select! {
                _ = interrupt.recv() => break "SIGINT",
                _ = terminate.recv() => break "SIGTERM",
                _ = hangup.recv() => {
                    if had_terminal && !io::stdin().is_terminal() {
                        break "SIGHUP";
                    }
                }
            }
        };
        let _ = noted.set(name);
        shutdown.cancel();
    });
    Ok(received)
}
