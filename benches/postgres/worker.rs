//! The worker processes on one project: this program, started again.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use agent_issue_tracker::domain::AgentName;
use agent_issue_tracker::store::Store;
use benches::fixture;

use crate::plain::Steps;
use crate::project;
use crate::server::open;

/// The environment variable that turns this program into a worker and names the project.
const VARIABLE: &str = "AIT_BENCH_POSTGRES";

/// The number of unmeasured claims of a worker before it is ready.
pub const WARM_UP: usize = 5;

/// A worker process, ended on drop.
pub struct Worker {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Worker {
    /// Starts a process that makes `claims` claims after a signal, or watches the project if `claims` is 0. Without a
    /// project in the URL, it claims in plain SQL.
    pub fn start(url: &str, claims: usize) -> Self {
        let program = std::env::current_exe().expect("this program");
        let mut command = Command::new(program);
        command.arg(claims.to_string()).env(VARIABLE, url);
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a process");
        let output = BufReader::new(process.stdout.take().expect("a pipe"));
        let input = process.stdin.take();
        Self { process, input, output }
    }

    pub fn go(&mut self) {
        let input = self.input.as_mut().expect("a worker that listens");
        input.write_all(b"go\n").expect("a worker that listens");
    }

    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a worker that answers");
        line.trim_end().to_owned()
    }

    pub fn expect(&mut self, word: &str) {
        assert_eq!(self.line(), word, "a worker failed");
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The worker ends when its input ends.
        self.input = None;
        let _ = self.process.wait();
    }
}

/// Runs as a worker. Returns false if this process is not one.
pub fn run() -> bool {
    let Ok(url) = std::env::var(VARIABLE) else { return false };
    let claims = std::env::args().nth(1).and_then(|claims| claims.parse().ok()).expect("a number");
    let runtime = fixture::runtime();
    if !url.contains("schema=") {
        runtime.block_on(claim_plainly(&url, claims));
        return true;
    }
    runtime.block_on(async {
        let store = open(&url);
        store.counts().await.expect("a project");
        let mut newest = store.watch();
        let agent = AgentName::try_from(format!("agent {}", std::process::id())).expect("a name");
        if claims == 0 {
            newest.changed().await.expect("a store");
        }
        for _ in 0..WARM_UP.min(claims) {
            // A connection plans each statement on first use.
            project::claim(&store, &agent).await;
        }
        say("ready");
        if claims == 0 {
            std::thread::spawn(end_with_input);
        } else {
            wait();
        }
        for _ in 0..claims {
            project::claim(&store, &agent).await;
        }
        if claims > 0 {
            say("done");
            wait();
        }
        while claims == 0 && newest.changed().await.is_ok() {
            let number = newest.borrow_and_update().number;
            say(&number.to_string());
        }
    });
    true
}

async fn claim_plainly(url: &str, claims: usize) {
    let steps = Steps::new(url).await;
    for _ in 0..WARM_UP {
        steps.claim().await;
    }
    say("ready");
    wait();
    for _ in 0..claims {
        steps.claim().await;
    }
    say("done");
    wait();
}

fn wait() {
    io::stdin().read_line(&mut String::new()).expect("a word from the parent");
}

fn end_with_input() {
    io::copy(&mut io::stdin().lock(), &mut io::sink()).expect("the end of the input");
    std::process::exit(0);
}

fn say(text: &str) {
    let mut output = io::stdout().lock();
    writeln!(output, "{text}").and_then(|()| output.flush()).expect("a parent that listens");
}
