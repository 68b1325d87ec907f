//! Which port the web side has, when several processes and several projects share a machine.
//!
//! One process serves the page of a store; the others on the same store stand by, and one of them takes
//! the port over when it becomes free. A port that somebody asked for is that one or none. Otherwise it is
//! the first of [`USUAL`] that no other program has and no other project has pinned.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use tokio::net::TcpListener;

use super::pins::{Pins, pinned_by_another};
use crate::config::{DEFAULT_PORT, LAST_PORT};
use crate::neighbour;
use crate::processes::{Entry, Registry};
use crate::store::StoreId;

/// The ports that are taken where nobody asks for one.
pub(super) const USUAL: RangeInclusive<u16> = DEFAULT_PORT..=LAST_PORT;
/// How often a process that stands by tries to take the port over.
pub(super) const STANDBY: Duration = Duration::from_millis(800);
/// How long another server may take to say whose it is.
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);

/// What there is to know for the choice.
#[derive(Clone, Debug)]
pub(super) struct Ports {
    /// The port that was asked for.
    pub wanted: Option<u16>,
    /// Those to choose from where none was.
    pub usual: RangeInclusive<u16>,
    pub address: IpAddr,
    pub store: PathBuf,
    pub store_id: Option<StoreId>,
    pub registry: Registry,
    pub pins: Pins,
}

/// What came of an attempt.
#[derive(Debug)]
pub(super) enum Attempt {
    /// The port is ours. `instead_of` is the usual one with who has it, where that is another.
    Bound { listener: TcpListener, instead_of: Option<String> },
    /// Another process on the same store serves the page already.
    Served { port: u16, by: Option<Entry> },
    /// Somebody else has the port that was asked for, or every usual one.
    Taken { port: u16, why: String },
}

impl Ports {
    /// Tries to get a port.
    ///
    /// # Errors
    ///
    /// The system refuses for another reason than that somebody has the port.
    pub async fn attempt(&self) -> io::Result<Attempt> {
        match self.wanted {
            Some(port) => self.attempt_wanted(port).await,
            None => self.attempt_usual().await,
        }
    }

    async fn attempt_wanted(&self, port: u16) -> io::Result<Attempt> {
        if let Some(project) = self.pinned_elsewhere(port) {
            let why = format!("is pinned by {}", project.display());
            return Ok(Attempt::Taken { port, why });
        }
        if let Some(listener) = self.bind(port).await? {
            return Ok(Attempt::Bound { listener, instead_of: None });
        }
        Ok(match self.sibling(port).await {
            Some(by) => Attempt::Served { port, by },
            None => Attempt::Taken {
                port,
                why: format!("is taken by {}", neighbour::owner(port).await),
            },
        })
    }

    async fn attempt_usual(&self) -> io::Result<Attempt> {
        // Clients were told the port that the page of this store has, whichever is free by now.
        let known = self
            .living()
            .into_iter()
            .find(|entry| entry.port.is_some_and(|port| self.usual.contains(&port)));
        if let Some(entry) = known
            && let Some(port) = entry.port
        {
            return Ok(Attempt::Served { port, by: Some(entry) });
        }
        let mut instead_of = None;
        for port in self.usual.clone() {
            if let Some(project) = self.pinned_elsewhere(port) {
                let why = || format!("port {port} is pinned by {}", project.display());
                instead_of.get_or_insert_with(why);
                continue;
            }
            if let Some(listener) = self.bind(port).await? {
                return Ok(Attempt::Bound { listener, instead_of });
            }
            if let Some(by) = self.sibling(port).await {
                return Ok(Attempt::Served { port, by });
            }
            if instead_of.is_none() {
                instead_of =
                    Some(format!("port {port} is taken by {}", neighbour::owner(port).await));
            }
        }
        let why = format!("is taken, and so are all up to {}", self.usual.end());
        Ok(Attempt::Taken { port: *self.usual.start(), why })
    }

    /// Takes a port if nobody has it, and no other project has pinned it.
    ///
    /// # Errors
    ///
    /// Those of [`attempt`](Self::attempt).
    pub async fn take(&self, port: u16) -> io::Result<Option<TcpListener>> {
        if self.pinned_elsewhere(port).is_some() { Ok(None) } else { self.bind(port).await }
    }

    async fn bind(&self, port: u16) -> io::Result<Option<TcpListener>> {
        match TcpListener::bind(SocketAddr::new(self.address, port)).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(None),
            bound => bound.map(Some),
        }
    }

    /// Tells whether a living process on this store has a port; who, if it is known.
    async fn sibling(&self, port: u16) -> Option<Option<Entry>> {
        if let Some(entry) = self.registered(port) {
            return Some(Some(entry));
        }
        // One that cannot write beside the store, or has only just begun.
        let answer = neighbour::answer(port, PROBE_TIMEOUT).await?;
        let is_ours = answer.store_id.is_some() && answer.store_id == self.store_id;
        is_ours.then(|| self.registered(port))
    }

    /// The living process on this store that serves a port.
    fn registered(&self, port: u16) -> Option<Entry> {
        self.living().into_iter().find(|entry| entry.port == Some(port))
    }

    fn living(&self) -> Vec<Entry> {
        self.registry.living().unwrap_or_default()
    }

    fn pinned_elsewhere(&self, port: u16) -> Option<PathBuf> {
        pinned_by_another(&self.pins, port, &self.store)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::net::{Ipv4Addr, TcpListener as Listener};

    use tempfile::TempDir;

    use super::*;
    use crate::domain::Timestamp;
    use crate::processes::{Kind, Registration};

    /// Three ports in a row that nobody has, and the first of them.
    fn usual() -> (RangeInclusive<u16>, u16) {
        for _ in 0..200 {
            let first = Listener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let ports = first..=first.saturating_add(2);
            if ports.clone().count() == 3 && ports.clone().all(|port| foreign(port).is_some()) {
                return (ports, first);
            }
        }
        panic!("no three ports in a row are free");
    }

    fn foreign(port: u16) -> Option<Listener> {
        Listener::bind((Ipv4Addr::LOCALHOST, port)).ok()
    }

    fn ports(directory: &TempDir, project: &str, usual: &RangeInclusive<u16>) -> Ports {
        let store = directory.path().join(project).join("issues.json");
        fs::create_dir_all(store.parent().unwrap()).unwrap();
        Ports {
            wanted: None,
            usual: usual.clone(),
            address: Ipv4Addr::LOCALHOST.into(),
            store_id: None,
            registry: Registry::beside(&store),
            pins: Pins::in_directory(directory.path().join("pins")),
            store,
        }
    }

    fn serving(ports: &Ports, port: u16) -> Registration {
        let now = Timestamp::parse("2026-01-31T09:30:00.000Z").unwrap();
        let mut registration = ports.registry.register(Entry::new(Kind::Stdio, now)).unwrap();
        registration.serves(port, String::new()).unwrap();
        registration
    }

    #[tokio::test]
    async fn the_first_usual_port_that_no_stranger_has_is_taken_and_siblings_stand_by() {
        let (directory, (usual, first)) = (TempDir::new().unwrap(), usual());
        let stranger = foreign(first).unwrap();
        let one = ports(&directory, "one", &usual);
        let Attempt::Bound { listener, instead_of } = one.attempt().await.unwrap() else {
            panic!()
        };
        assert_eq!(listener.local_addr().unwrap().port(), first + 1);
        assert!(instead_of.unwrap().starts_with(&format!("port {first} is taken by ")));
        let registration = serving(&one, first + 1);
        // Also when the first one has become free: clients know the other.
        drop(stranger);
        let Attempt::Served { port, by } = one.attempt().await.unwrap() else { panic!() };
        assert_eq!((port, by.unwrap().port), (first + 1, Some(first + 1)));
        // Another project is no sibling.
        let other = ports(&directory, "other", &usual);
        let Attempt::Bound { listener: taken, .. } = other.attempt().await.unwrap() else {
            panic!()
        };
        assert_eq!(taken.local_addr().unwrap().port(), first);
        let third = foreign(first + 2).unwrap();
        let Attempt::Taken { port, why } = ports(&directory, "x", &usual).attempt().await.unwrap()
        else {
            panic!()
        };
        assert!(port == first && why.contains(&format!("all up to {}", first + 2)), "{why}");
        drop((registration, listener, third));
        assert!(one.take(first + 1).await.unwrap().is_some());
    }

    #[tokio::test]
    async fn a_port_that_was_asked_for_is_that_one_or_none() {
        let (directory, (usual, first)) = (TempDir::new().unwrap(), usual());
        let wanting = Ports { wanted: Some(first), ..ports(&directory, "one", &usual) };
        let stranger = foreign(first).unwrap();
        let Attempt::Taken { port, why } = wanting.attempt().await.unwrap() else { panic!() };
        assert!(port == first && why.starts_with("is taken by"), "{why}");
        let registration = serving(&wanting, first);
        assert!(matches!(wanting.attempt().await.unwrap(), Attempt::Served { .. }));
        drop((stranger, registration));
        assert!(matches!(wanting.attempt().await.unwrap(), Attempt::Bound { .. }));
    }

    #[tokio::test]
    async fn a_port_that_another_project_pins_is_left_alone_as_long_as_it_does() {
        let (directory, (usual, first)) = (TempDir::new().unwrap(), usual());
        let [one, other] = ["one", "other"].map(|name| ports(&directory, name, &usual));
        let file = one.store.with_file_name("ait.toml");
        fs::write(&file, format!("port = {first}\n")).unwrap();
        one.pins.note(first, &one.store).unwrap();
        let Attempt::Bound { listener, instead_of } = other.attempt().await.unwrap() else {
            panic!()
        };
        assert_eq!(listener.local_addr().unwrap().port(), first + 1);
        assert_eq!(instead_of.unwrap(), format!("port {first} is pinned by {}", file.display()));
        assert!(other.take(first).await.unwrap().is_none());
        let wanting = Ports { wanted: Some(first), ..other.clone() };
        let Attempt::Taken { why, .. } = wanting.attempt().await.unwrap() else { panic!() };
        assert!(why.starts_with("is pinned by"), "{why}");
        assert!(one.take(first).await.unwrap().is_some());
        fs::write(&file, "").unwrap();
        assert!(matches!(wanting.attempt().await.unwrap(), Attempt::Bound { .. }));
    }
}
