//! Chooses the HTTP port of a process among the processes and projects of one machine.
//!
//! One process serves the web UI of a store. The others on the same store stand by, and one of them takes over the port
//! when it becomes free. If the user chose a port, only that port is used. Otherwise it is the first of [`USUAL`] that
//! is free and not pinned by another project.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use tokio::task::spawn_blocking;

use super::port_reservations::{PortReservations, pinned_by_another};
use crate::config::{DEFAULT_PORT, LAST_PORT};
use crate::http::Listeners;
use crate::port_probe;
use crate::processes::{ProcessEntry, ProcessKind, Registry};
use crate::store::StoreId;

/// The ports to choose from if the user chose none.
pub(super) const USUAL: RangeInclusive<u16> = DEFAULT_PORT..=LAST_PORT;
/// How often a standby process tries to take over the port.
pub(super) const STANDBY: Duration = Duration::from_millis(800);
/// How long another server may take to respond to a probe.
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);

/// The inputs of the choice.
#[derive(Clone, Debug)]
pub(super) struct Ports {
    /// The port that the user chose.
    pub wanted: Option<u16>,
    /// Whether HTTP clients need a token.
    pub is_guarded: bool,
    /// Whether to leave HTTP to a process that serves nothing else (`ait serve`), on whatever port.
    pub defers: bool,
    /// The ports to choose from if the user chose none.
    pub default_ports: RangeInclusive<u16>,
    pub address: IpAddr,
    /// The directory with the project's settings.
    pub project: PathBuf,
    pub store_id: Option<StoreId>,
    pub registry: Registry,
    pub pins: PortReservations,
}

/// The result of an attempt.
#[derive(Debug)]
pub(super) enum BindOutcome {
    /// This process has the port. `instead_of` says which process has an earlier port, if one has.
    Bound { listener: Listeners, instead_of: Option<String> },
    /// Another process on the same store already serves the web UI.
    Served { port: u16, by: Option<ProcessEntry> },
    /// Another program has the chosen port, or all of the usual ones.
    Taken { port: u16, why: String },
    /// An `ait serve` on the same store serves HTTP in another way: another address, or tokens.
    Deferred { port: u16, by: ProcessEntry },
    /// A process on the same store has the port and requires a token, but this process does not.
    Guarded { port: u16, by: Option<ProcessEntry> },
}

/// The process on the same store that has a port.
struct Owner {
    /// Its entry; `None` if it is not registered.
    entry: Option<ProcessEntry>,
    /// How this process may follow it.
    access: Access,
}

/// How a process listens, compared with this one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    /// On the same address, with or without tokens just as this one. Only then may one replace the other.
    Alike,
    /// It requires tokens, which this process does not.
    Stricter,
    /// In another way.
    Other,
}

impl Ports {
    /// Tries to bind a port.
    ///
    /// # Errors
    ///
    /// Binding fails for another reason than a port in use.
    pub async fn bind_port(&self) -> io::Result<BindOutcome> {
        if self.defers
            && let Some((port, by)) = self.dedicated().await
        {
            return Ok(match self.access(&by) {
                Access::Alike => BindOutcome::Served { port, by: Some(by) },
                Access::Stricter => BindOutcome::Guarded { port, by: Some(by) },
                Access::Other => BindOutcome::Deferred { port, by },
            });
        }
        match self.wanted {
            Some(port) => self.bind_wanted(port).await,
            None => self.bind_default().await,
        }
    }

    async fn bind_wanted(&self, port: u16) -> io::Result<BindOutcome> {
        if let Some(project) = self.pinned_elsewhere(port).await {
            let why = format!("is pinned by {}", project.display());
            return Ok(BindOutcome::Taken { port, why });
        }
        if let Some(listener) = self.bind(port).await? {
            return Ok(BindOutcome::Bound { listener, instead_of: None });
        }
        Ok(match self.owner(port).await {
            Some(Owner { entry: by, access: Access::Alike }) => BindOutcome::Served { port, by },
            Some(Owner { entry: by, access: Access::Stricter }) => {
                BindOutcome::Guarded { port, by }
            }
            _ => BindOutcome::Taken {
                port,
                why: format!("is taken by {}", port_probe::describe_owner(port).await),
            },
        })
    }

    async fn bind_default(&self) -> io::Result<BindOutcome> {
        // Clients know the port that already serves this store, even if an earlier one is free by now.
        let live = self.list_live().await;
        let is_default = |entry: &ProcessEntry| {
            entry.port.is_some_and(|port| self.default_ports.contains(&port))
        };
        if let Some(entry) =
            live.into_iter().find(|entry| is_default(entry) && self.access(entry) == Access::Alike)
            && let Some(port) = entry.port
        {
            return Ok(BindOutcome::Served { port, by: Some(entry) });
        }
        let mut instead_of = None;
        for port in self.default_ports.clone() {
            if let Some(project) = self.pinned_elsewhere(port).await {
                let why = || format!("port {port} is pinned by {}", project.display());
                instead_of.get_or_insert_with(why);
                continue;
            }
            if let Some(listener) = self.bind(port).await? {
                return Ok(BindOutcome::Bound { listener, instead_of });
            }
            if let Some(Owner { entry: by, access: Access::Alike }) = self.owner(port).await {
                return Ok(BindOutcome::Served { port, by });
            }
            if instead_of.is_none() {
                instead_of = Some(format!(
                    "port {port} is taken by {}",
                    port_probe::describe_owner(port).await
                ));
            }
        }
        let why = format!("is taken, and so are all ports up to {}", self.default_ports.end());
        Ok(BindOutcome::Taken { port: *self.default_ports.start(), why })
    }

    /// Binds a port if it is free and not pinned by another project.
    pub async fn take(&self, port: u16) -> io::Result<Option<Listeners>> {
        if self.pinned_elsewhere(port).await.is_some() { Ok(None) } else { self.bind(port).await }
    }

    async fn bind(&self, port: u16) -> io::Result<Option<Listeners>> {
        match Listeners::bind(SocketAddr::new(self.address, port)).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(None),
            bound => bound.map(Some),
        }
    }

    /// Returns the live process on this store that has the port.
    async fn owner(&self, port: u16) -> Option<Owner> {
        let known = |entry: ProcessEntry| Owner { access: self.access(&entry), entry: Some(entry) };
        if let Some(entry) = self.registered(port).await {
            return Some(known(entry));
        }
        // The process may be unable to write beside the store, or just starting.
        let answer = port_probe::answer(port, PROBE_TIMEOUT).await;
        if let Some(entry) = self.registered(port).await {
            return Some(known(entry));
        }
        let store = answer.and_then(|answer| answer.store_id);
        if store.is_none() || store != self.store_id {
            return None;
        }
        let is_stricter = !self.is_guarded && port_probe::needs_token(port, PROBE_TIMEOUT).await;
        let access = if is_stricter { Access::Stricter } else { Access::Alike };
        Some(Owner { entry: None, access })
    }

    fn access(&self, entry: &ProcessEntry) -> Access {
        if (entry.address, entry.is_guarded) == (Some(self.address), self.is_guarded) {
            Access::Alike
        } else if entry.is_guarded && !self.is_guarded {
            Access::Stricter
        } else {
            Access::Other
        }
    }

    /// Returns the live process on this store that serves a port.
    async fn registered(&self, port: u16) -> Option<ProcessEntry> {
        self.list_live().await.into_iter().find(|entry| entry.port == Some(port))
    }

    /// Returns the live process on this store that serves HTTP alone, with its port.
    async fn dedicated(&self) -> Option<(u16, ProcessEntry)> {
        let mut serving =
            self.list_live().await.into_iter().filter(|entry| entry.kind == ProcessKind::Serve);
        serving.find_map(|entry| Some((entry.port?, entry)))
    }

    async fn list_live(&self) -> Vec<ProcessEntry> {
        let registry = self.registry.clone();
        // The disk may hang, so read on a blocking thread.
        let live = spawn_blocking(move || registry.list_live().unwrap_or_default());
        live.await.unwrap_or_default()
    }

    async fn pinned_elsewhere(&self, port: u16) -> Option<PathBuf> {
        let pins = self.pins.clone();
        let project = self.project.clone();
        spawn_blocking(move || pinned_by_another(&pins, port, &project)).await.ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::net::{Ipv4Addr, Ipv6Addr, TcpListener as Listener};

    use tempfile::TempDir;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::domain::Timestamp;
    use crate::processes::Registration;

    /// Returns three free consecutive ports, and the first of them.
    fn default_ports() -> (RangeInclusive<u16>, u16) {
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

    fn ports(directory: &TempDir, project: &str, default_ports: &RangeInclusive<u16>) -> Ports {
        let store = directory.path().join(project).join("issues.json");
        fs::create_dir_all(store.parent().unwrap()).unwrap();
        Ports {
            wanted: None,
            is_guarded: false,
            defers: false,
            default_ports: default_ports.clone(),
            address: Ipv4Addr::LOCALHOST.into(),
            store_id: None,
            registry: Registry::for_store(&store),
            pins: PortReservations::in_directory(directory.path().join("pins")),
            project: store.parent().unwrap().to_owned(),
        }
    }

    fn serving(ports: &Ports, port: u16) -> Registration {
        serving_as(ports, ProcessKind::Stdio, port)
    }

    fn serving_as(ports: &Ports, kind: ProcessKind, port: u16) -> Registration {
        let now = Timestamp::parse("2026-01-31T09:30:00.000Z").unwrap();
        let entry = ProcessEntry {
            address: Some(ports.address),
            is_guarded: ports.is_guarded,
            ..ProcessEntry::new(kind, now)
        };
        let mut registration = ports.registry.register(entry).unwrap();
        registration.serves(port, String::new()).unwrap();
        registration
    }

    #[tokio::test]
    async fn first_free_port_is_bound_and_same_store_processes_stand_by() {
        let directory = TempDir::new().unwrap();
        let (default_ports, first) = default_ports();
        let stranger = foreign(first).unwrap();
        let one = ports(&directory, "one", &default_ports);
        let BindOutcome::Bound { listener, instead_of } = one.bind_port().await.unwrap() else {
            panic!()
        };
        assert_eq!(listener.port().unwrap(), first + 1);
        assert!(instead_of.unwrap().starts_with(&format!("port {first} is taken by ")));
        let registration = serving(&one, first + 1);
        // Even with the first port free again: clients know the other one.
        drop(stranger);
        let BindOutcome::Served { port, by } = one.bind_port().await.unwrap() else { panic!() };
        assert_eq!((port, by.unwrap().port), (first + 1, Some(first + 1)));
        // A process of another project does not count.
        let other = ports(&directory, "other", &default_ports);
        let BindOutcome::Bound { listener: taken, .. } = other.bind_port().await.unwrap() else {
            panic!()
        };
        assert_eq!(taken.port().unwrap(), first);
        let third = foreign(first + 2).unwrap();
        let BindOutcome::Taken { port, why } =
            ports(&directory, "x", &default_ports).bind_port().await.unwrap()
        else {
            panic!()
        };
        assert!(port == first && why.contains(&format!("all ports up to {}", first + 2)), "{why}");
        drop((registration, listener, third));
        assert!(one.take(first + 1).await.unwrap().is_some());
    }

    #[tokio::test]
    async fn a_port_whose_other_loopback_address_is_taken_is_not_free() {
        let directory = TempDir::new().unwrap();
        let (default_ports, first) = default_ports();
        // Where there is no IPv6, `localhost` means 127.0.0.1 alone.
        let Ok(stranger) = Listener::bind((Ipv6Addr::LOCALHOST, first)) else { return };
        let one = ports(&directory, "one", &default_ports);
        let wanting = Ports { wanted: Some(first), ..one.clone() };
        let outcome = wanting.bind_port().await.unwrap();
        assert!(matches!(outcome, BindOutcome::Taken { .. }), "{outcome:?}");
        let BindOutcome::Bound { listener, instead_of } = one.bind_port().await.unwrap() else {
            panic!()
        };
        assert_eq!(listener.port().unwrap(), first + 1);
        assert!(instead_of.unwrap().starts_with(&format!("port {first} is taken by ")));
        drop(stranger);
        assert!(Listener::bind((Ipv6Addr::LOCALHOST, first + 1)).is_err());
    }

    #[tokio::test]
    async fn a_requested_port_has_no_fallback() {
        let directory = TempDir::new().unwrap();
        let (default_ports, first) = default_ports();
        let wanting = Ports { wanted: Some(first), ..ports(&directory, "one", &default_ports) };
        let stranger = foreign(first).unwrap();
        let BindOutcome::Taken { port, why } = wanting.bind_port().await.unwrap() else { panic!() };
        assert!(port == first && why.starts_with("is taken by"), "{why}");
        let registration = serving(&wanting, first);
        assert!(matches!(wanting.bind_port().await.unwrap(), BindOutcome::Served { .. }));
        drop((stranger, registration));
        assert!(matches!(wanting.bind_port().await.unwrap(), BindOutcome::Bound { .. }));
    }

    #[tokio::test]
    async fn a_port_pinned_by_another_project_is_skipped() {
        let directory = TempDir::new().unwrap();
        let (default_ports, first) = default_ports();
        let [one, other] = ["one", "other"].map(|name| ports(&directory, name, &default_ports));
        let file = one.project.join("ait.toml");
        fs::write(&file, format!("port = {first}\n")).unwrap();
        one.pins.reserve(first, &one.project).unwrap();
        let BindOutcome::Bound { listener, instead_of } = other.bind_port().await.unwrap() else {
            panic!()
        };
        assert_eq!(listener.port().unwrap(), first + 1);
        assert_eq!(instead_of.unwrap(), format!("port {first} is pinned by {}", file.display()));
        assert!(other.take(first).await.unwrap().is_none());
        let wanting = Ports { wanted: Some(first), ..other.clone() };
        let BindOutcome::Taken { why, .. } = wanting.bind_port().await.unwrap() else { panic!() };
        assert!(why.starts_with("is pinned by"), "{why}");
        assert!(one.take(first).await.unwrap().is_some());
        // A clone of the project, with the same file, starts later.
        fs::write(other.project.join("ait.toml"), format!("port = {first}\n")).unwrap();
        assert!(other.take(first).await.unwrap().is_some());
        fs::remove_file(other.project.join("ait.toml")).unwrap();
        fs::write(&file, "").unwrap();
        assert!(matches!(wanting.bind_port().await.unwrap(), BindOutcome::Bound { .. }));
    }

    /// A process without tokens never takes over a token-protected port, and a process on another address never
    /// replaces one.
    #[tokio::test]
    async fn only_processes_with_the_same_access_and_address_take_over() {
        let directory = TempDir::new().unwrap();
        let (default_ports, first) = default_ports();
        let open = Ports { wanted: Some(first), ..ports(&directory, "one", &default_ports) };
        let guarded = Ports { is_guarded: true, ..open.clone() };
        let listener = foreign(first).unwrap();
        let registration = serving(&guarded, first);
        assert!(matches!(open.bind_port().await.unwrap(), BindOutcome::Guarded { .. }));
        assert!(matches!(guarded.bind_port().await.unwrap(), BindOutcome::Served { .. }));
        let elsewhere = Ports { address: Ipv4Addr::UNSPECIFIED.into(), ..guarded.clone() };
        assert!(matches!(elsewhere.bind_port().await.unwrap(), BindOutcome::Taken { .. }));
        let usual_open = Ports { wanted: None, ..open };
        let BindOutcome::Bound { listener: next, .. } = usual_open.bind_port().await.unwrap()
        else {
            panic!()
        };
        assert_eq!(next.port().unwrap(), first + 1);
        drop((listener, registration));
    }

    /// Also where a process would leave HTTP to the other one, and take over after it.
    #[tokio::test]
    async fn process_without_tokens_never_follows_a_server_with_tokens() {
        let directory = TempDir::new().unwrap();
        let (default_ports, first) = default_ports();
        let open = Ports { defers: true, ..ports(&directory, "one", &default_ports) };
        let guarded = Ports { is_guarded: true, defers: false, ..open.clone() };
        let _listener = foreign(first).unwrap();
        let _registration = serving_as(&guarded, ProcessKind::Serve, first);
        for wanted in [None, Some(first)] {
            let outcome = Ports { wanted, ..open.clone() }.bind_port().await.unwrap();
            assert!(matches!(outcome, BindOutcome::Guarded { .. }), "{outcome:?}");
        }
    }

    /// Its files beside the store may have been removed, or it cannot write there.
    #[tokio::test]
    async fn a_server_with_tokens_is_recognized_without_its_entry() {
        let directory = TempDir::new().unwrap();
        let (default_ports, first) = default_ports();
        let id: StoreId = "0".repeat(32).parse().unwrap();
        let named = Ports { store_id: Some(id), ..ports(&directory, "one", &default_ports) };
        let open = Ports { wanted: Some(first), ..named.clone() };
        let server = tokio::net::TcpListener::bind(("127.0.0.1", first)).await.unwrap();
        let health = format!("HTTP/1.1 200 OK\r\n\r\n{{\"storeId\":\"{id}\"}}");
        let answers = tokio::spawn(async move {
            loop {
                let (mut stream, _) = server.accept().await.unwrap();
                let mut request = [0; 512];
                let length = stream.read(&mut request).await.unwrap();
                let is_health = request[..length].starts_with(b"GET /health ");
                let answer =
                    if is_health { health.as_str() } else { "HTTP/1.1 401 Unauthorized\r\n\r\n" };
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        let outcome = open.bind_port().await.unwrap();
        assert!(matches!(outcome, BindOutcome::Guarded { by: None, .. }), "{outcome:?}");
        let guarded = Ports { is_guarded: true, ..open };
        let outcome = guarded.bind_port().await.unwrap();
        assert!(matches!(outcome, BindOutcome::Served { by: None, .. }), "{outcome:?}");
        let outcome = named.bind_port().await.unwrap();
        assert!(matches!(outcome, BindOutcome::Bound { .. }), "{outcome:?}");
        answers.abort();
    }
}
