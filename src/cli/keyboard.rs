//! The keys that are pressed in a full-screen view.

use std::io;

use rustix::termios::{self, LocalModes, OptionalActions, SpecialCodeIndex, Termios};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::signal::unix::{Signal, SignalKind, signal};

const ESCAPE: u8 = 0x1b;
const CTRL_C: u8 = 0x03;
// What a terminal sends around a pasted text, if a view asks for it.
const PASTE: &[u8] = b"\x1b[200~";
const PASTED: &[u8] = b"\x1b[201~";

/// A key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Key {
    Char(char),
    /// A character of a text that was pasted; a line break is a space.
    Pasted(char),
    Enter,
    Backspace,
    Escape,
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    /// A key without a meaning here.
    Other,
    /// Ctrl-C where it sends no signal, Ctrl-\, or the terminal is gone.
    Quit,
}

impl Key {
    /// Returns what a key means within a pasted text, where it is no command.
    fn pasted(self) -> Self {
        match self {
            Self::Char('\t') | Self::Enter => Self::Pasted(' '),
            Self::Char(one) => Self::Pasted(one),
            _ => Self::Other,
        }
    }

    /// Returns true if the key ends a view that has no other keys.
    fn is_end(self) -> bool {
        matches!(self, Self::Quit | Self::Escape | Self::Char('q' | 'Q'))
    }
}

/// The keyboard of the terminal on stdin, read key by key and without echo. Dropping it restores the terminal.
pub(super) struct Keyboard {
    stdin: AsyncFd<io::Stdin>,
    // By default, these end the process, which would leave the terminal as it is.
    quit: Signal,
    hangup: Signal,
    before: Termios,
    /// What was read and is no key yet.
    pressed: Vec<u8>,
    is_pasting: bool,
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
        Some(Self { stdin, quit, hangup, before, pressed: Vec::new(), is_pasting: false })
    }

    /// Waits until the user ends the view: with `q`, with Esc, with Ctrl-C where it sends no signal, or with Ctrl-\.
    pub async fn end(&mut self) {
        while !self.key().await.is_end() {}
    }

    /// Returns true if more keys were read.
    pub fn has_more(&self) -> bool {
        first(&self.pressed).is_some()
    }

    /// Waits for the next key. No key is lost if the caller stops waiting.
    pub async fn key(&mut self) -> Key {
        loop {
            if let Some((key, bytes)) = first(&self.pressed) {
                let sequence: Vec<u8> = self.pressed.drain(..bytes).collect();
                if [PASTE, PASTED].contains(&&sequence[..]) {
                    self.is_pasting = sequence == PASTE;
                    return Key::Other;
                }
                return if self.is_pasting { key.pasted() } else { key };
            }
            let ready = tokio::select! {
                ready = self.stdin.readable() => ready,
                _ = self.quit.recv() => return Key::Quit,
                _ = self.hangup.recv() => return Key::Quit,
            };
            let Ok(mut ready) = ready else { return Key::Quit };
            // A terminal that is gone stays readable for ever, and gives no keys.
            if ready.ready().is_read_closed() {
                return Key::Quit;
            }
            // Keys pressed from now on make it readable again.
            ready.clear_ready();
            let mut keys = [0; 64];
            while let Ok(count @ 1..) = rustix::io::read(io::stdin(), &mut keys) {
                self.pressed.extend_from_slice(&keys[..count]);
            }
        }
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        // If the terminal is gone, there is nothing to restore.
        let _gone = termios::tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

/// Returns the first key among bytes, and how many of them it has. Arrows and other special keys send a sequence that
/// begins with Esc and ends with a byte of its own (ECMA-48, 5.4); Alt sends Esc before its key.
fn first(bytes: &[u8]) -> Option<(Key, usize)> {
    Some(match bytes {
        [] => return None,
        [ESCAPE] => (Key::Escape, 1),
        [ESCAPE, b'[' | b'O', sequence @ ..] => {
            let last = sequence.iter().position(|byte| matches!(byte, 0x40..=0x7e));
            let length = last.map_or(sequence.len(), |last| last + 1);
            (special(&sequence[..length]), length + 2)
        }
        [ESCAPE, ..] => (Key::Other, 2),
        [b'\r' | b'\n', ..] => (Key::Enter, 1),
        [0x7f | 0x08, ..] => (Key::Backspace, 1),
        [CTRL_C, ..] => (Key::Quit, 1),
        _ => {
            let valid = match str::from_utf8(bytes) {
                Ok(text) => text,
                // The rest of the character follows.
                Err(error) if error.valid_up_to() == 0 && error.error_len().is_none() => {
                    return None;
                }
                Err(error) => str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
            };
            valid.chars().next().map_or((Key::Other, 1), |one| (Key::Char(one), one.len_utf8()))
        }
    })
}

/// Returns the key of a sequence, without its beginning.
fn special(sequence: &[u8]) -> Key {
    match sequence {
        b"A" => Key::Up,
        b"B" => Key::Down,
        b"C" => Key::Right,
        b"D" => Key::Left,
        b"H" | b"1~" | b"7~" => Key::Home,
        b"F" | b"4~" | b"8~" => Key::End,
        b"5~" => Key::PageUp,
        b"6~" => Key::PageDown,
        _ => Key::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(mut bytes: &[u8]) -> Vec<Key> {
        let mut keys = Vec::new();
        while let Some((key, count)) = first(bytes) {
            keys.push(key);
            bytes = &bytes[count..];
        }
        keys
    }

    fn is_end(bytes: &[u8]) -> bool {
        keys(bytes).into_iter().any(Key::is_end)
    }

    #[test]
    fn keys_are_parsed_from_bytes() {
        let expected = [Key::Char('j'), Key::Down, Key::PageUp, Key::Enter, Key::Char('ä')];
        assert_eq!(keys("j\x1b[B\x1b[5~\rä".as_bytes()), expected);
        assert_eq!(keys(b"\x1bOA\x1b[1;5A\x7f\xffx")[..2], [Key::Up, Key::Other]);
        assert_eq!(keys(b"\x7f\xffx"), [Key::Backspace, Key::Other, Key::Char('x')]);
        // The second byte of the character has not come yet.
        assert_eq!(keys(&"aä".as_bytes()[..2]), [Key::Char('a')]);
    }

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
