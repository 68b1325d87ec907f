//! The keys that end a full-screen view.

use std::io;

use rustix::termios::{self, LocalModes, OptionalActions, SpecialCodeIndex, Termios};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::signal::unix::{Signal, SignalKind, signal};

const ESCAPE: u8 = 0x1b;
const CTRL_C: u8 = 0x03;

/// The keyboard of the terminal on stdin, read key by key and without echo. Dropping it restores the terminal.
pub(super) struct Keyboard {
    stdin: AsyncFd<io::Stdin>,
    // By default, these end the process, which would leave the terminal as it is.
    quit: Signal,
    hangup: Signal,
    before: Termios,
}

impl Keyboard {
    /// Switches the terminal; returns `None` if stdin is no terminal.
    #[expect(deprecated, reason = "its successor is unsafe, and stdin stays open all the time")]
    pub fn open() -> Option<Self> {
        let before = termios::tcgetattr(io::stdin()).ok()?;
        let stdin = AsyncFd::with_interest(io::stdin(), Interest::READABLE).ok()?;
        let quit = signal(SignalKind::quit()).ok()?;
        let hangup = signal(SignalKind::hangup()).ok()?;
        let mut modes = before.clone();
        modes.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON);
        // A read returns the keys that were pressed, if any, and never waits.
        modes.special_codes[SpecialCodeIndex::VMIN] = 0;
        modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        termios::tcsetattr(io::stdin(), OptionalActions::Now, &modes).ok()?;
        Some(Self { stdin, quit, hangup, before })
    }

    /// Waits until the user ends the view: with `q`, with Esc, with Ctrl-C where it sends no signal, or with Ctrl-\.
    pub async fn end(&mut self) {
        tokio::select! {
            () = end_key(&self.stdin) => {}
            _ = self.quit.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        // If the terminal is gone, there is nothing to restore.
        let _gone = termios::tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

async fn end_key(stdin: &AsyncFd<io::Stdin>) {
    loop {
        let Ok(mut ready) = stdin.readable().await else { return };
        // A terminal that is gone stays readable for ever, and gives no keys.
        if ready.ready().is_read_closed() {
            return;
        }
        // Keys pressed from now on make it readable again.
        ready.clear_ready();
        let mut keys = [0; 64];
        while let Ok(count @ 1..) = rustix::io::read(io::stdin(), &mut keys) {
            if is_end(&keys[..count]) {
                return;
            }
        }
    }
}

/// Returns true if one of the keys ends the view. Arrows and other special keys send a sequence that begins with Esc
/// and ends with a byte of its own (ECMA-48, 5.4); Alt sends Esc before its key.
fn is_end(mut keys: &[u8]) -> bool {
    while let [key, rest @ ..] = keys {
        keys = match (key, rest) {
            (b'q' | b'Q' | &CTRL_C, _) | (&ESCAPE, []) => return true,
            (&ESCAPE, [b'[' | b'O', sequence @ ..]) => {
                let last = sequence.iter().position(|byte| matches!(byte, 0x40..=0x7e));
                &sequence[last.map_or(sequence.len(), |last| last + 1)..]
            }
            (&ESCAPE, [_, rest @ ..]) => rest,
            _ => rest,
        };
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn esc_and_q_end_the_view_also_after_other_keys() {
        for keys in
            [&b"q"[..], b"\x1b", b"abQ", b"typed\x1b[A\x1b", b"\x1b[1;5Aq", b"\x1bOPq", b"\x03"]
        {
            assert!(is_end(keys), "{keys:?}");
        }
        for keys in
            [&b""[..], b"typed", b"\x1b[A", b"\x1b[1;5A", b"\x1bOP", b"\x1bq", b"\x1b[", b"\x1bOq"]
        {
            assert!(!is_end(keys), "{keys:?}");
        }
    }
}
