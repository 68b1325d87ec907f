//! Runs commands and captures their output.

use std::io::Write;
use std::path::Path;

use super::ait;

/// The exit code and output of a command.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    pub code: i32,
    pub out: String,
    pub log: String,
}

impl Run {
    /// Returns stdout of a command that must succeed.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.code, 0, "{}{}", self.out, self.log);
        self.out
    }

    /// Returns stderr of a command that must fail with exit code 1.
    #[track_caller]
    pub fn refusal(self) -> String {
        assert_eq!(self.code, 1, "{}{}", self.out, self.log);
        self.log
    }

    /// Returns everything in the form of a snapshot.
    pub fn whole(&self) -> String {
        format!("exit {}\n--- stdout\n{}--- stderr\n{}", self.code, self.out, self.log)
    }
}

/// Runs a command in a directory.
pub fn run(directory: &Path, arguments: &[&str]) -> Run {
    run_with(directory, arguments, b"")
}

/// Runs a command in a directory with some input.
pub fn run_with(directory: &Path, arguments: &[&str], input: &[u8]) -> Run {
    let mut child = ait(directory).args(arguments).spawn().unwrap();
    // A command may end without reading its input.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code().unwrap(), out: text(output.stdout), log: text(output.stderr) }
}

/// Compares the output with a snapshot after masking times, paths and hashes.
pub fn assert_snapshot(name: &str, directory: &Path, run: &Run) {
    let mut settings = insta::Settings::clone_current();
    let path = directory.canonicalize().unwrap();
    let path = path.to_str().unwrap().replace('.', r"\.");
    for (pattern, replacement) in [
        (path.as_str(), "[DIR]"),
        (r"\d{4}-\d\d-\d\dT\d\d:?\d\d:?\d\d\.\d{3}Z", "[TIME]"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d", "[LOCAL TIME]"),
        (r"xxh3-128:[0-9a-f]{32}", "xxh3-128:[HASH]"),
        (r"[\d.]+ (B|KiB)\b", "[SIZE]"),
        // The salt of a segment is random, so its length varies.
        (r"from byte \d+", "from byte [N]"),
        (r#""bytes":\d+"#, r#""bytes":[SIZE]"#),
    ] {
        settings.add_filter(pattern, replacement);
    }
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    let name = format!("it__{name}");
    settings.bind(|| insta::assert_snapshot!(name, run.whole()));
}
