//! The sockets that listen on a port.

use std::future::pending;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::net::{TcpListener, TcpStream};

/// How many ports that the system picks are tried until one is free on both loopback addresses.
const MAX_PICKS: usize = 16;

/// The sockets of a server on one port: that of its address and, if that is a loopback address, that of the other one,
/// because `localhost` stands for 127.0.0.1 on some machines and for `::1` on others.
#[derive(Debug)]
pub struct Listeners {
    first: TcpListener,
    /// `None` also on machines without the other IP version.
    other: Option<TcpListener>,
}

impl Listeners {
    /// Binds an address. The system picks the port if that is 0.
    ///
    /// # Errors
    ///
    /// The port is in use, on the other loopback address too, or cannot be bound.
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        let mut picks = 0;
        loop {
            let first = TcpListener::bind(address).await?;
            let port = first.local_addr()?.port();
            let other: IpAddr = match address.ip() {
                IpAddr::V4(Ipv4Addr::LOCALHOST) => Ipv6Addr::LOCALHOST.into(),
                IpAddr::V6(Ipv6Addr::LOCALHOST) => Ipv4Addr::LOCALHOST.into(),
                _ => return Ok(first.into()),
            };
            picks += 1;
            match TcpListener::bind((other, port)).await {
                Ok(other) => return Ok(Self { first, other: Some(other) }),
                Err(error) if error.kind() != io::ErrorKind::AddrInUse => return Ok(first.into()),
                Err(_) if address.port() == 0 && picks < MAX_PICKS => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub fn port(&self) -> io::Result<u16> {
        Ok(self.first.local_addr()?.port())
    }

    pub(super) async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let other = async {
            match &self.other {
                Some(other) => other.accept().await,
                None => pending().await,
            }
        };
        tokio::select! {
            accepted = self.first.accept() => accepted,
            accepted = other => accepted,
        }
    }
}

impl From<TcpListener> for Listeners {
    fn from(first: TcpListener) -> Self {
        Self { first, other: None }
    }
}
