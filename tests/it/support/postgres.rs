//! A PostgreSQL server of the tests, in a temporary directory and on a free port.
//!
//! `AIT_TEST_POSTGRES` names the directory of its programs. Without it, the newest one in Debian's place is used. Without
//! any server the tests say so and pass, except where `CI` is set.

use std::fs;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use agent_issue_tracker::store::{PostgresOptions, PostgresStore};

use super::PATIENCE;

/// The user that runs the server if the tests run as root, which PostgreSQL refuses.
pub const NOBODY: u32 = 65534;

/// A server that ends with this value, or with this process.
pub struct Server {
    programs: PathBuf,
    directory: PathBuf,
    port: u16,
    /// The shell that stops the server when its input ends.
    keeper: Mutex<Option<Child>>,
    settings: Vec<String>,
}

/// Returns the server that the tests of this process share.
pub fn shared() -> Option<Arc<Server>> {
    static SHARED: OnceLock<Option<Arc<Server>>> = OnceLock::new();
    SHARED.get_or_init(|| Server::start(&[]).map(Arc::new)).clone()
}

/// Returns a URL of a new project on the server that the tests share.
pub fn project() -> Option<String> {
    Some(shared()?.project())
}

/// Opens a project.
pub fn open(url: &str) -> PostgresStore {
    PostgresStore::new(PostgresOptions::parse(url).unwrap())
}

fn programs() -> Option<PathBuf> {
    if let Some(given) = std::env::var_os("AIT_TEST_POSTGRES") {
        return Some(given.into());
    }
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let found = versions.flatten().map(|entry| entry.path().join("bin"));
    found.filter(|path| path.join("postgres").exists()).max()
}

/// Lets the user of the server run a command, if this one is root.
pub fn as_ordinary_user(command: &mut Command) -> &mut Command {
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

impl Server {
    /// Starts a server with more settings, or returns `None` if there is none on this machine.
    pub fn start(settings: &[&str]) -> Option<Self> {
        let Some(programs) = programs() else {
            assert!(std::env::var_os("CI").is_none(), "there is no PostgreSQL to test with");
            eprintln!("skipped: there is no PostgreSQL on this machine");
            return None;
        };
        let directory = tempfile::tempdir().unwrap().keep();
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).unwrap();
        if rustix::process::geteuid().is_root() {
            chown(&directory, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let mut initdb = Command::new(programs.join("initdb"));
        initdb.args(["--no-sync", "-U", "ait", "-A", "trust", "-E", "UTF8", "--locale=C", "-D"]);
        let made = as_ordinary_user(initdb.arg(directory.join("data")).current_dir(&directory));
        let made = made.output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let settings = settings.iter().map(|&setting| setting.to_owned()).collect();
        let server = Self { programs, directory, port, keeper: Mutex::new(None), settings };
        server.run();
        Some(server)
    }

    /// Starts the server in its directory.
    pub fn run(&self) {
        // The shell outlives neither its input nor the server.
        const SCRIPT: &str = r#"home=$1; shift; "$@" >>"$home/log" 2>&1 & pid=$!; read -r how; \
            kill "-${how:-INT}" $pid; wait $pid; [ -n "$how" ] || rm -rf "$home""#;
        let mut keeper = Command::new("sh");
        keeper.args(["-c", SCRIPT, "sh"]).arg(&self.directory);
        keeper.arg(self.programs.join("postgres")).arg("-D").arg(self.directory.join("data"));
        keeper.args(["-k", "", "-h", "127.0.0.1", "-p", &self.port.to_string()]);
        for setting in ["max_connections=200", "shared_buffers=64MB", "deadlock_timeout=200ms"] {
            keeper.args(["-c", setting]);
        }
        for setting in &self.settings {
            keeper.args(["-c", setting]);
        }
        as_ordinary_user(keeper.current_dir("/"));
        let keeper = keeper.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        *self.keeper.lock().unwrap() = Some(keeper);
        self.wait_until_ready();
    }

    fn wait_until_ready(&self) {
        let begun = Instant::now();
        let mut probe = Command::new(self.programs.join("pg_isready"));
        probe.args(["-q", "-h", "127.0.0.1", "-p", &self.port.to_string()]);
        while !probe.status().unwrap().success() {
            let log = fs::read_to_string(self.directory.join("log")).unwrap_or_default();
            assert!(begun.elapsed() < PATIENCE, "the server does not start: {log}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    /// Ends the server with a signal, `INT` for a fast shutdown, and waits for it.
    pub fn stop(&self, signal: &str) {
        let Some(mut keeper) = self.keeper.lock().unwrap().take() else { return };
        let mut input = keeper.stdin.take().unwrap();
        let _ = writeln!(input, "{signal}");
        drop(input);
        let _ = keeper.wait();
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
            assert!(begun.elapsed() < PATIENCE, "the server does not stop");
        }
    }

    /// Returns the URL of the database as a role.
    pub fn url(&self, role: &str) -> String {
        format!("postgres://{role}@127.0.0.1:{}/postgres", self.port)
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the URL of a new project.
    pub fn project(&self) -> String {
        format!("{}?schema=t_{}", self.url("ait"), uuid::Uuid::new_v4().simple())
    }

    /// Lets a role in with its password only. Counts when the server reads its rules again.
    pub fn require_password(&self, role: &str) {
        let rules = self.directory.join("data/pg_hba.conf");
        let before = fs::read_to_string(&rules).unwrap();
        let rule = format!("host all {role} 127.0.0.1/32 scram-sha-256\n");
        fs::write(&rules, rule + &before).unwrap();
    }

    /// Connects as the superuser.
    pub async fn connect(&self) -> tokio_postgres::Client {
        let url = self.url("ait");
        let (client, connection) =
            tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop("INT");
        let _ = fs::remove_dir_all(&self.directory);
    }
}
