//! The keys that are pressed in a full-screen view.

use std::io::{self, IsTerminal};

use crossterm::event::{Event, EventStream, KeyCode, KeyEvent, KeyModifiers};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use futures::StreamExt;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What happens on the keyboard.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Input {
    Key(KeyCode),
    Pasted(String),
    /// Ctrl-C, Ctrl-\, or the terminal is gone.
    Quit,
}

/// The keyboard of the terminal on stdin, read key by key and without echo. Dropping it restores the terminal.
pub(super) struct Keyboard {
    events: EventStream,
    // By default, it ends the process, which would leave the terminal as it is.
    hangup: Signal,
}

impl Keyboard {
    /// Switches the terminal; returns `None` if stdin is no terminal.
    pub fn open() -> Option<Self> {
        if !io::stdin().is_terminal() {
            return None;
        }
        let hangup = signal(SignalKind::hangup()).ok()?;
        enable_raw_mode().ok()?;
        Some(Self { events: EventStream::new(), hangup })
    }

    /// Waits for the next input. Nothing is lost if the caller stops waiting.
    pub async fn next(&mut self) -> Input {
        loop {
            let event = tokio::select! {
                event = self.events.next() => event,
                _ = self.hangup.recv() => None,
            };
            match event {
                Some(Ok(Event::Key(key))) => return input(key),
                Some(Ok(Event::Paste(text))) => return Input::Pasted(text),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Input::Quit,
            }
        }
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        // If the terminal is gone, there is nothing to restore.
        let _gone = disable_raw_mode();
    }
}

fn input(KeyEvent { code, modifiers, .. }: KeyEvent) -> Input {
    match code {
        // Ctrl-\ is the same byte as Ctrl-4.
        KeyCode::Char('c' | '4') if modifiers == KeyModifiers::CONTROL => Input::Quit,
        KeyCode::Char('h') if modifiers == KeyModifiers::CONTROL => Input::Key(KeyCode::Backspace),
        _ if modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => {
            Input::Key(KeyCode::Null)
        }
        code => Input::Key(code),
    }
}
