//! A PostgreSQL server for tests, in a temporary directory and on a free port.
//!
//! `AIT_TEST_POSTGRES` names the directory of its programs; the default is the newest version in Debian's directory.
//! Without PostgreSQL the tests are skipped, except where `CI` is set.

use std::fs;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use agent_issue_tracker::store::{PostgresOptions, PostgresStore};

use super::PATIENCE;

/// The user that runs the server if the tests run as root, because PostgreSQL refuses to run as root.
pub const NOBODY: u32 = 65534;

/// A running server, stopped on drop or at the end of this process.
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

/// Returns the URL of a new project on the shared server.
pub fn project() -> Option<String> {
    Some(shared()?.project())
}

/// Opens the store of a project.
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

/// Runs a command as the user of the server if the tests run as root.
pub fn as_ordinary_user(command: &mut Command) -> &mut Command {
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

/// Creates a directory that the user of the server owns.
pub fn own_directory() -> PathBuf {
    let directory = tempfile::tempdir().unwrap().keep();
    give(&directory, 0o700);
    directory
}

/// Gives a file to the user of the server, with this mode.
pub fn give(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    if rustix::process::geteuid().is_root() {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Server {
    /// Starts a server with additional settings, or returns `None` if PostgreSQL is not installed.
    pub fn start(settings: &[&str]) -> Option<Self> {
        let Some(programs) = programs() else {
            assert!(std::env::var_os("CI").is_none(), "CI must not skip the tests of PostgreSQL");
            eprintln!("skipped: PostgreSQL is not installed");
            return None;
        };
        let directory = own_directory();
        let mut initdb = Command::new(programs.join("initdb"));
        initdb.args(["--no-sync", "-U", "ait", "-A", "trust", "-E", "UTF8", "--locale=C", "-D"]);
        let made = as_ordinary_user(initdb.arg(directory.join("data")).current_dir(&directory));
        let made = made.output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let port = free_port();
        let settings = settings.iter().map(|&setting| setting.to_owned()).collect();
        let server = Self { programs, directory, port, keeper: Mutex::new(None), settings };
        server.run();
        Some(server)
    }

    /// Starts the server in its directory.
    pub fn run(&self) {
        // The shell ends when its input ends or the server ends.
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

    /// Copies the server and starts the copy as a streaming standby on its own port.
    pub fn standby(&self) -> Self {
        let (programs, directory) = (self.programs.clone(), own_directory());
        let mut copy = Command::new(programs.join("pg_basebackup"));
        copy.args(["-h", "127.0.0.1", "-U", "ait", "-p", &self.port.to_string()]);
        copy.args(["-R", "-X", "stream", "-c", "fast", "-D"]).arg(directory.join("data"));
        let copied = as_ordinary_user(copy.current_dir(&directory)).output().unwrap();
        assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
        let settings = self.settings.clone();
        let standby =
            Self { programs, directory, port: free_port(), keeper: Mutex::default(), settings };
        standby.run();
        standby
    }

    /// Moves to the port of another server, which must be stopped.
    pub fn take_place_of(&mut self, other: &Self) {
        self.stop("INT");
        self.port = other.port;
        self.run();
    }

    /// Returns true if any process of the server is alive. Processes of a killed server outlive it for a moment.
    fn lives(&self) -> bool {
        let data = self.directory.join("data");
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let is_inside = |path: PathBuf| fs::read_link(path).is_ok_and(|target| target == data);
        processes.into_iter().any(|process| is_inside(process.path().join("cwd")))
    }

    /// Stops the server with a signal, such as `INT` for a fast shutdown, and waits for its end.
    pub fn stop(&self, signal: &str) {
        let Some(mut keeper) = self.keeper.lock().unwrap().take() else { return };
        let mut input = keeper.stdin.take().unwrap();
        let _ = writeln!(input, "{signal}");
        drop(input);
        let _ = keeper.wait();
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_ok() || self.lives() {
            assert!(begun.elapsed() < PATIENCE, "the server does not stop");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    /// Returns the URL of the database for a role.
    pub fn url(&self, role: &str) -> String {
        format!("postgres://{role}@127.0.0.1:{}/postgres", self.port)
    }

    /// Returns a program of PostgreSQL that connects to this server as a role.
    pub fn program(&self, name: &str, role: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command.args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", role]);
        command
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the URL of a new project.
    pub fn project(&self) -> String {
        format!("{}?schema=t_{}", self.url("ait"), uuid::Uuid::new_v4().simple())
    }

    /// Creates a role with only the rights of an agent in an existing project.
    pub async fn worker(&self, project: &str) -> String {
        let schema = project.split_once("schema=").unwrap().1;
        let role = format!("r_{schema}");
        let statements = format!(
            "CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA {schema} TO {role}; \
             GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}; \
             GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {role}"
        );
        self.connect().await.batch_execute(&statements).await.unwrap();
        role
    }

    /// Requires a password for a role. Takes effect when the server reloads its rules.
    pub fn require_password(&self, role: &str) {
        let rules = self.directory.join("data/pg_hba.conf");
        let before = fs::read_to_string(&rules).unwrap();
        let rule = format!("host all {role} 127.0.0.1/32 scram-sha-256\n");
        fs::write(&rules, rule + &before).unwrap();
    }

    /// Connects as the superuser.
    pub async fn connect(&self) -> tokio_postgres::Client {
        self.try_connect().await.unwrap()
    }

    /// Connects as the superuser, if a connection is free.
    pub async fn try_connect(&self) -> Result<tokio_postgres::Client, tokio_postgres::Error> {
        let url = self.url("ait");
        let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await?;
        tokio::spawn(connection);
        Ok(client)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop("INT");
        let _ = fs::remove_dir_all(&self.directory);
    }
}
