//! A pgbouncer in front of a PostgreSQL server. It moves a connection to another client after each transaction. Without
//! pgbouncer the tests are skipped, except where `CI` is set.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::postgres::{NOBODY, Server, as_ordinary_user};
use super::{until, wait};

/// The path on Debian, which is not in the PATH of ordinary users.
const PROGRAM: &str = "/usr/sbin/pgbouncer";
/// The number of server connections that all clients share.
const CONNECTIONS: usize = 4;

/// A running pooler, stopped on drop.
pub struct Pooler {
    child: Child,
    port: u16,
    _directory: tempfile::TempDir,
}

impl Pooler {
    /// Starts a pooler in front of a server, or returns `None` if pgbouncer is not installed.
    pub fn start(server: &Server) -> Option<Self> {
        if !Path::new(PROGRAM).exists() {
            super::skip("pgbouncer is not installed");
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let settings = format!(
            "[databases]\npostgres = host=127.0.0.1 port={} user=ait\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\n\
             default_pool_size = {CONNECTIONS}\n",
            server.port()
        );
        let file = directory.path().join("pgbouncer.ini");
        fs::write(&file, settings).unwrap();
        if rustix::process::geteuid().is_root() {
            chown(directory.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let mut command = Command::new(PROGRAM);
        command.arg("-q").arg(&file).stdin(Stdio::null()).stdout(Stdio::null());
        let child = as_ordinary_user(command.stderr(Stdio::null())).spawn().unwrap();
        let pooler = Self { child, port, _directory: directory };
        until("pgbouncer listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        Some(pooler)
    }

    /// Returns the URL of a new project behind the pooler.
    pub fn project(&self) -> String {
        let schema = uuid::Uuid::new_v4().simple();
        format!("postgres://ait@127.0.0.1:{}/postgres?listen=off&schema=t_{schema}", self.port)
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        super::signal(&self.child, "INT");
        wait(&mut self.child);
    }
}
