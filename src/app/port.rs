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
use tokio::task::spawn_blocking;

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
    /// Whether callers need a token.
    pub is_guarded: bool,
    /// Those to choose from where none was.
    pub usual: RangeInclusive<u16>,
    pub address: IpAddr,
    /// The directory of the project's settings.
    pub project: PathBuf,
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
    /// A process on the same store has the port that asks callers for a token, which this one does not.
    Guarded { port: u16, by: Entry },
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
        if let Some(project) = self.pinned_elsewhere(port).await {
            let why = format!("is pinned by {}", project.display());
            return Ok(Attempt::Taken { port, why });
        }
        if let Some(listener) = self.bind(port).await? {
            return Ok(Attempt::Bound { listener, instead_of: None });
        }
        if let Some(by) = self.stricter(port).await {
            return Ok(Attempt::Guarded { port, by });
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
        let living = self.living().await;
        let of_usual = |entry: &Entry| entry.port.is_some_and(|port| self.usual.contains(&port));
        if let Some(entry) = living.into_iter().find(|it| of_usual(it) && self.is_alike(it))
            && let Some(port) = entry.port
        {
            return Ok(Attempt::Served { port, by: Some(entry) });
        }
        let mut instead_of = None;
        for port in self.usual.clone() {
            if let Some(project) = self.pinned_elsewhere(port).await {
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
        if self.pinned_elsewhere(port).await.is_some() { Ok(None) } else { self.bind(port).await }
    }

    async fn bind(&self, port: u16) -> io::Result<Option<TcpListener>> {
        match TcpListener::bind(SocketAddr::new(self.address, port)).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(None),
            bound => bound.map(Some),
        }
    }

    /// Tells whether a living process on this store has a port that would answer as this one; who, if it is
    /// known.
    async fn sibling(&self, port: u16) -> Option<Option<Entry>> {
        if let Some(entry) = self.registered(port).await {
            return self.is_alike(&entry).then_some(Some(entry));
        }
        // One that cannot write beside the store, or has only just begun.
        let answer = neighbour::answer(port, PROBE_TIMEOUT).await;
        match self.registered(port).await {
            Some(entry) => self.is_alike(&entry).then_some(Some(entry)),
            None => {
                let store = answer.and_then(|answer| answer.store_id);
                (store.is_some() && store == self.store_id).then_some(None)
            }
        }
    }

    /// The process on this store that has a port and asks for tokens, where this one would let everybody in.
    async fn stricter(&self, port: u16) -> Option<Entry> {
        let entry = self.registered(port).await?;
        (entry.is_guarded && !self.is_guarded).then_some(entry)
    }

    /// Tells whether a process listens where this one would, and asks for tokens as this one does: only then
    /// may one stand in for the other.
    fn is_alike(&self, entry: &Entry) -> bool {
        (entry.address, entry.is_guarded) == (Some(self.address), self.is_guarded)
    }

    /// The living process on this store that serves a port.
    async fn registered(&self, port: u16) -> Option<Entry> {
        self.living().await.into_iter().find(|entry| entry.port == Some(port))
    }

    async fn living(&self) -> Vec<Entry> {
        let registry = self.registry.clone();
        // Nobody who waits for an answer waits for a disk.
        let living = spawn_blocking(move || registry.living().unwrap_or_default());
        living.await.unwrap_or_default()
    }

    async fn pinned_elsewhere(&self, port: u16) -> Option<PathBuf> {
        let (pins, project) = (self.pins.clone(), self.project.clone());
        spawn_blocking(move || pinned_by_another(&pins, port, &project)).await.ok().flatten()
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
            is_guarded: false,
            usual: usual.clone(),
            address: Ipv4Addr::LOCALHOST.into(),
            store_id: None,
            registry: Registry::beside(&store),
            pins: Pins::in_directory(directory.path().join("pins")),
            project: store.parent().unwrap().to_owned(),
        }
    }

    fn serving(ports: &Ports, port: u16) -> Registration {
        let now = Timestamp::parse("2026-01-31T09:30:00.000Z").unwrap();
        let entry = Entry {
            address: Some(ports.address),
            is_guarded: ports.is_guarded,
            ..Entry::new(Kind::Stdio, now)
        };
        let mut registration = ports.registry.register(entry).unwrap();
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
        let file = one.project.join("ait.toml");
        fs::write(&file, format!("port = {first}\n")).unwrap();
        one.pins.note(first, &one.project).unwrap();
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
        // A clone of the project, whose file says the same, was started later.
        fs::write(other.project.join("ait.toml"), format!("port = {first}\n")).unwrap();
        assert!(other.take(first).await.unwrap().is_some());
        fs::remove_file(other.project.join("ait.toml")).unwrap();
        fs::write(&file, "").unwrap();
        assert!(matches!(wanting.attempt().await.unwrap(), Attempt::Bound { .. }));
    }

    /// Whoever asks for tokens is not followed by one who lets everybody in, and who listens elsewhere is
    /// no stand-in.
    #[tokio::test]
    async fn only_one_that_would_answer_alike_takes_over() {
        let (directory, (usual, first)) = (TempDir::new().unwrap(), usual());
        let open = Ports { wanted: Some(first), ..ports(&directory, "one", &usual) };
        let guarded = Ports { is_guarded: true, ..open.clone() };
        let listener = foreign(first).unwrap();
        let registration = serving(&guarded, first);
        assert!(matches!(open.attempt().await.unwrap(), Attempt::Guarded { .. }));
        assert!(matches!(guarded.attempt().await.unwrap(), Attempt::Served { .. }));
        let elsewhere = Ports { address: Ipv4Addr::UNSPECIFIED.into(), ..guarded.clone() };
        assert!(matches!(elsewhere.attempt().await.unwrap(), Attempt::Taken { .. }));
        let usual_open = Ports { wanted: None, ..open };
        let Attempt::Bound { listener: next, .. } = usual_open.attempt().await.unwrap() else {
            panic!()
        };
        assert_eq!(next.local_addr().unwrap().port(), first + 1);
        drop((listener, registration));
    }
}
