//! The thread that writes the log.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::thread;

use super::file::LogFile;

/// A message to the writer thread.
#[derive(Debug)]
pub(super) enum LogMessage {
    Line(Vec<u8>),
    /// A line for stderr, even if the log is a file.
    Stderr(Vec<u8>),
    /// Wakes the thread to reopen the file.
    Wake,
    /// Acknowledged when all earlier messages are written.
    End(SyncSender<()>),
}

/// Starts the thread. Without a file it writes to stderr.
pub(super) fn start(
    file: Option<LogFile>,
    reopening: Arc<AtomicBool>,
    incoming: Receiver<LogMessage>,
) {
    let mut writer = LogWriter { file, has_complained: false };
    thread::spawn(move || {
        for message in incoming {
            if reopening.swap(false, Ordering::Acquire) {
                writer.reopen();
            }
            writer.take(message);
        }
    });
}

struct LogWriter {
    file: Option<LogFile>,
    /// True once stderr was told that the file cannot be written.
    has_complained: bool,
}

impl LogWriter {
    fn take(&mut self, message: LogMessage) {
        match (message, &mut self.file) {
            (LogMessage::Line(line), Some(file)) => {
                if let Err(error) = file.write(&line) {
                    self.complain(&error);
                }
            }
            (LogMessage::Line(line), None) | (LogMessage::Stderr(line), _) => to_stderr(&line),
            (LogMessage::Wake, _) => {}
            (LogMessage::End(written), _) => drop(written.send(())),
        }
    }

    fn reopen(&mut self) {
        let Some(file) = &mut self.file else { return };
        self.has_complained = false;
        match file.reopen() {
            Ok(()) => tracing::info!("reopened the log file"),
            Err(error) => {
                let text =
                    format!("cannot reopen the log file, so the old one stays in use: {error}");
                to_stderr(format!("error: {text}\n").as_bytes());
                tracing::error!("{text}");
            }
        }
    }

    /// Reports once on stderr that lines are lost; repeating it could block on an unread stderr.
    fn complain(&mut self, error: &io::Error) {
        if let (Some(file), false) = (&self.file, self.has_complained) {
            self.has_complained = true;
            let path = file.path().display();
            let text = format!(
                "warning: cannot write to the log file {path}: {error}; lines are lost until writing \
                 succeeds again\n"
            );
            to_stderr(text.as_bytes());
        }
    }
}

fn to_stderr(line: &[u8]) {
    // There is nowhere left to report a failure.
    let _ = io::stderr().write_all(line);
}

/// The subscriber's output: queues whole lines, and drops them when the queue is full.
pub(super) struct LineQueue(pub(super) SyncSender<LogMessage>);

impl Write for LineQueue {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let _ = self.0.try_send(LogMessage::Line(line.to_vec()));
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
