//! The thread that writes the log.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::thread;

use super::file::LogFile;

/// What goes to the thread that writes.
#[derive(Debug)]
pub(super) enum Message {
    Line(Vec<u8>),
    /// A line that belongs on stderr, wherever the log goes.
    Aside(Vec<u8>),
    /// There is something to do before the next line.
    Wake,
    /// Everything before it was written when this is answered.
    End(SyncSender<()>),
}

/// Starts the thread; without a file it writes to stderr.
pub(super) fn start(
    file: Option<LogFile>,
    reopening: Arc<AtomicBool>,
    incoming: Receiver<Message>,
) {
    let mut writer = Writer { file, has_complained: false };
    thread::spawn(move || {
        for message in incoming {
            if reopening.swap(false, Ordering::Acquire) {
                writer.reopen();
            }
            writer.take(message);
        }
    });
}

struct Writer {
    file: Option<LogFile>,
    /// Whether stderr has been told that the file cannot be written.
    has_complained: bool,
}

impl Writer {
    fn take(&mut self, message: Message) {
        match (message, &mut self.file) {
            (Message::Line(line), Some(file)) => {
                if let Err(error) = file.write(&line) {
                    self.complain(&error);
                }
            }
            (Message::Line(line), None) | (Message::Aside(line), _) => to_stderr(&line),
            (Message::Wake, _) => {}
            (Message::End(written), _) => drop(written.send(())),
        }
    }

    fn reopen(&mut self) {
        let Some(file) = &mut self.file else { return };
        self.has_complained = false;
        match file.reopen() {
            Ok(()) => tracing::info!("reopened the log file"),
            Err(error) => {
                let text = format!("the log goes on in the file that it had: {error}");
                to_stderr(format!("error: {text}\n").as_bytes());
                tracing::error!("{text}");
            }
        }
    }

    /// Says once that lines are lost: whoever does not read stderr must not be made to wait for.
    fn complain(&mut self, error: &io::Error) {
        if let (Some(file), false) = (&self.file, self.has_complained) {
            self.has_complained = true;
            let path = file.path().display();
            let text = format!(
                "warning: cannot write to the log file {path}: {error}; lines are lost until it can be \
                 written again\n"
            );
            to_stderr(text.as_bytes());
        }
    }
}

fn to_stderr(line: &[u8]) {
    // There is nowhere to say that a line cannot be written.
    let _ = io::stderr().write_all(line);
}

/// Takes what is logged, a whole line at a time, and drops it when too many wait.
pub(super) struct Lines(pub(super) SyncSender<Message>);

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let _ = self.0.try_send(Message::Line(line.to_vec()));
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
