//! A relay in front of a PostgreSQL server whose connections can go silent without closing.

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::postgres::Server;

/// A running relay, stopped with the runtime.
pub struct Relay {
    port: u16,
    silence: watch::Sender<()>,
}

impl Relay {
    /// Starts a relay in front of a server.
    pub async fn start(server: &Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (port, target) = (listener.local_addr().unwrap().port(), server.port());
        let silence = watch::Sender::new(());
        let source = silence.clone();
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let mut silenced = source.subscribe();
                tokio::spawn(async move {
                    let mut server = TcpStream::connect(("127.0.0.1", target)).await.unwrap();
                    tokio::select! {
                        _ = copy_bidirectional(&mut client, &mut server) => {}
                        _ = silenced.changed() => std::future::pending().await,
                    }
                });
            }
        });
        Self { port, silence }
    }

    /// Stops forwarding on all current connections, but keeps them open.
    pub fn silence(&self) {
        self.silence.send_replace(());
    }

    /// Returns the URL of a project through the relay.
    pub fn url(&self, server: &Server, project: &str) -> String {
        project.replace(&format!(":{}/", server.port()), &format!(":{}/", self.port))
    }
}
