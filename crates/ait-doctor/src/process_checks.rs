//! Checks of the processes that use the store: their versions, and the ports they serve.

use std::cmp::Ordering;
use std::net::{IpAddr, SocketAddr, TcpListener};

use futures::future::join_all;
use semver::Version;
use tokio::task::spawn_blocking;

use super::{Check, CheckContext, Finding, PROBE_TIMEOUT, Settings};
use ait_http::port_probe::{self, ProbeResponse};
use ait_http::processes::{ProcessEntry, Registry};
use ait_store::StoreId;
use ait_store::sqlite::inspect::paths_of;

pub(super) async fn examine(context: &CheckContext) -> Vec<Finding> {
    let path = context.path.clone();
    let live = spawn_blocking(move || {
        let store = paths_of(&path).map_or(path, |paths| paths.issues);
        Registry::for_store(&store).list_live_readonly()
    });
    let live = match live.await {
        Ok(Ok(live)) => live,
        Ok(Err(error)) => {
            let reason = format!("the process registry cannot be read: {error}");
            let skipped = |check| Finding::skipped(check, reason.clone());
            return [Check::Ports, Check::Processes].map(skipped).into();
        }
        Err(_) => Vec::new(),
    };
    let ports = ports(context, &live).await;
    let processes = processes(&live, env!("CARGO_PKG_VERSION"));
    vec![ports, processes]
}

/// A registered process with a port, and the response of the port probe.
struct Served<'a> {
    entry: &'a ProcessEntry,
    port: u16,
    answer: Option<ProbeResponse>,
}

async fn ports(context: &CheckContext, live: &[ProcessEntry]) -> Finding {
    let id = context.store.id().await;
    let served = live.iter().filter_map(|entry| Some((entry, entry.port?)));
    let served = join_all(served.map(async |(entry, port)| Served {
        entry,
        port,
        answer: if reaches_loopback(entry.address) {
            port_probe::answer(port, PROBE_TIMEOUT).await
        } else {
            None
        },
    }))
    .await;
    if let Some(finding) = silent(&served, id) {
        return finding;
    }
    let wanted = context
        .settings
        .as_ref()
        .ok()
        .and_then(|settings| Some((settings, settings.port.as_ref()?)));
    if let Some((settings, (port, by))) = wanted
        && *port != 0
        && !served.iter().any(|server| server.port == *port)
        && !is_free(settings, *port)
    {
        return taken(*port, by, id).await;
    }
    finding_of(&served, context)
}

/// Reports a port that does not answer for the store, although a live process claims to serve it there.
fn silent(served: &[Served<'_>], id: StoreId) -> Option<Finding> {
    let strange = served.iter().find(|server| {
        let is_ours = server.answer.as_ref().is_some_and(|answer| answer.store_id == Some(id));
        reaches_loopback(server.entry.address) && !server.entry.is_guarded && !is_ours
    })?;
    let pid = strange.entry.pid;
    let port = strange.port;
    let reason = match &strange.answer {
        None => format!("process {pid} serves port {port}, but nothing answers there"),
        Some(_) => format!("process {pid} serves port {port}, but another program answers there"),
    };
    let fix = format!(
        "it is stopped or hung, or runs in another container: check `ps -o pid,stat,cmd -p {pid}`; `kill \
         {pid}` lets another process take over the port"
    );
    Some(Finding::problem(Check::Ports, reason).fix(fix))
}

async fn taken(port: u16, by: &str, id: StoreId) -> Finding {
    let check = Check::Ports;
    let answer = port_probe::answer(port, PROBE_TIMEOUT).await;
    if answer.as_ref().is_some_and(|answer| answer.store_id == Some(id)) {
        return Finding::ok(check, format!("port {port} serves this store"));
    }
    let who = match answer.as_ref().filter(|answer| answer.is_tracker()) {
        Some(_) => "the tracker of another store".to_owned(),
        None => port_probe::describe_owner(port).await,
    };
    Finding::problem(check, format!("port {port}, which {by} sets, is taken by {who}")).fix(
        format!(
            "stop that program, or set another port in {by}; `ait status` shows where agents can connect"
        ),
    )
}

fn finding_of(served: &[Served<'_>], context: &CheckContext) -> Finding {
    let check = Check::Ports;
    let listed =
        served.iter().map(|server| format!("port {} by process {}", server.port, server.entry.pid));
    let listed: Vec<_> = listed.collect();
    if !listed.is_empty() {
        return Finding::ok(check, format!("served: {}", listed.join(", ")));
    }
    match &context.settings {
        Ok(Settings { port: Some((0, _)), .. }) => {
            Finding::ok(check, "no process serves HTTP; any free port will do")
        }
        Ok(Settings { port: Some((port, by)), .. }) => Finding::ok(
            check,
            format!("no process serves HTTP; port {port}, which {by} sets, is free"),
        ),
        Ok(settings) => {
            match settings.default_ports.clone().find(|port| is_free(settings, *port)) {
                Some(port) => {
                    Finding::ok(check, format!("no process serves HTTP; port {port} is free"))
                }
                None => {
                    let first = settings.default_ports.start();
                    let last = settings.default_ports.end();
                    Finding::problem(check, format!("all ports from {first} to {last} are taken"))
                        .fix("stop a program on one of them, or choose another port with --port")
                }
            }
        }
        Err(_) => {
            Finding::skipped(check, "no process serves HTTP, and the settings cannot be read")
        }
    }
}

/// Returns true if a server could listen on a port. Binds it briefly and accepts no connection.
fn is_free(settings: &Settings, port: u16) -> bool {
    TcpListener::bind(SocketAddr::new(settings.address, port)).is_ok()
}

fn reaches_loopback(address: Option<IpAddr>) -> bool {
    address
        .is_none_or(|address| address.is_unspecified() || address == IpAddr::from([127, 0, 0, 1]))
}

fn processes(live: &[ProcessEntry], own: &str) -> Finding {
    let check = Check::Processes;
    let own_version = Version::parse(own).ok();
    let mut about = Vec::new();
    let mut is_older = false;
    for entry in live {
        let other = Version::parse(&entry.version).ok();
        let how = match other.as_ref().zip(own_version.as_ref()).map(|(other, own)| other.cmp(own))
        {
            Some(Ordering::Equal) => continue,
            Some(Ordering::Less) => "older",
            Some(Ordering::Greater) => "newer",
            None => "another version",
        };
        is_older |= how == "newer";
        let pid = entry.pid;
        let kind = entry.kind.as_str();
        let version = &entry.version;
        about.push(format!("process {pid} ({kind}) runs {version}, {how} than this {own}"));
    }
    if about.is_empty() {
        return Finding::ok(
            check,
            match live.len() {
                0 => "no other process uses the store".to_owned(),
                1 => format!("one other process, of this version ({own})"),
                count => format!("{count} other processes, of this version ({own})"),
            },
        );
    }
    let what_to_do = if is_older {
        "update this ait; then restart the others, so that all run the same version"
    } else {
        "restart them, such as by restarting their agents (`ait status` lists them)"
    };
    Finding::warning(check, "not all processes on the store run this version")
        .about(about)
        .fix(what_to_do)
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;
    use ait_domain::Timestamp;
    use ait_http::processes::ProcessKind;

    #[test]
    fn processes_of_other_versions_are_reported_as_older_or_newer() {
        let now = Timestamp::parse("2026-01-31T09:30:00.000Z").unwrap();
        let of = |version: &str| ProcessEntry {
            version: version.to_owned(),
            ..ProcessEntry::new(ProcessKind::Stdio, now)
        };
        for (version, said) in [("0.9.10", "older"), ("1.10.0", "newer"), ("x", "another version")]
        {
            let finding = processes(&[of("1.2.0"), of(version)], "1.2.0");
            assert_eq!((finding.verdict, finding.details.len()), (Verdict::Warning, 1));
            assert!(finding.details[0].contains(said), "{finding:?}");
        }
        assert_eq!(processes(&[of("1.2.0")], "1.2.0").verdict, Verdict::Ok);
    }
}
