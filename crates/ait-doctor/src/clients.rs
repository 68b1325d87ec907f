//! Checks of the configurations of agent clients: whether the configured program exists and has this version, and
//! whether the entry leads to this store.

use std::cmp::Ordering;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use futures::future::join_all;
use hyper::Uri;
use semver::Version;
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::report::quoted;
use super::{Check, CheckContext, Finding, PROBE_TIMEOUT, ProjectContext, Verdict};
use ait_domain::text::counted;
use ait_http::port_probe;
use ait_setup::clients::CODEX;
use ait_setup::{ClientEntry, Consent, Damaged, PRODUCT, Transport, asks, entries, is_program};
use ait_store::sqlite::inspect::paths_of;

/// The limits on the time and the size of a program's `--version` output.
const VERSION_WITHIN: Duration = Duration::from_millis(1_000);
const MAX_VERSION_BYTES: u64 = 4_096;
/// The maximum number of entries to check.
const MAX_ENTRIES: usize = 32;
/// Marks a text with variables that the doctor cannot expand.
const VARIABLE: &str = "${";

/// A defect of an entry.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Defect {
    verdict: Verdict,
    what: String,
    fix: String,
}

impl Defect {
    fn warning(what: String, fix: impl Into<String>) -> Self {
        Self { verdict: Verdict::Warning, what, fix: fix.into() }
    }

    fn problem(what: String, fix: impl Into<String>) -> Self {
        Self { verdict: Verdict::Problem, what, fix: fix.into() }
    }
}

pub(super) async fn examine(context: &CheckContext) -> Vec<Finding> {
    let check = Check::Clients;
    let ProjectContext { root, machine, .. } = context.project.clone();
    let found = spawn_blocking(move || entries(&root, &machine)).await.unwrap_or_default();
    if found.is_empty() {
        return vec![Finding::skipped(
            check,
            "no client is configured here (`ait init` does that)",
        )];
    }
    let defects =
        join_all(found.iter().take(MAX_ENTRIES).map(|entry| examine_entry(context, entry))).await;
    let mut defects = defects.concat();
    defects.extend(found.iter().flatten().filter_map(|entry| not_allowed(context, entry)));
    if found.iter().flatten().any(|entry| entry.client.name == CODEX.name) {
        defects.extend(login_shell(context).await);
    }
    let Some(verdict) = defects.iter().map(|defect| defect.verdict).max() else {
        return vec![Finding::ok(check, summary(context, found.iter().flatten()))];
    };
    let mut fixes: Vec<_> = defects.iter().map(|defect| defect.fix.clone()).collect();
    fixes.dedup();
    let finding = match verdict {
        Verdict::Problem => Finding::problem,
        _ => Finding::warning,
    };
    let finding = match &defects[..] {
        [one] => finding(check, one.what.clone()),
        more => {
            let reason = counted(more.len(), "defect", "defects");
            finding(check, format!("{reason} in client configurations"))
                .about(more.iter().map(|defect| defect.what.clone()))
        }
    };
    vec![finding.fix(fixes.join("; "))]
}

/// Says which clients are configured, which of them may not be allowed yet, and which ask a person before they act.
fn summary<'a>(context: &CheckContext, entries: impl Iterator<Item = &'a ClientEntry>) -> String {
    let ProjectContext { root, machine, .. } = &context.project;
    let file = context.settings.as_ref().ok().and_then(|settings| settings.file.clone());
    let settings = file.unwrap_or_else(|| root.join("ait.toml"));
    let mut names = Vec::new();
    let mut unknown = Vec::new();
    let mut asking = Vec::new();
    for entry in entries {
        names.push(describe(entry));
        if consent(context, entry) == Consent::Unknown {
            unknown.push(entry.client.title);
        }
        if asks(root, machine, &settings, entry.client) {
            asking.push(entry.client.title);
        }
    }
    names.dedup();
    let mut summary = format!("configured for this store: {}", names.join(", "));
    for (clients, what) in
        [(unknown, "not known whether you allowed it"), (asking, "asks you before it acts")]
    {
        if !clients.is_empty() {
            summary += &format!("; {what}: {}", clients.join(", "));
        }
    }
    summary
}

/// Returns whether a person allowed the server of an entry. A server that the user configured needs no more.
fn consent(context: &CheckContext, entry: &ClientEntry) -> Consent {
    let ProjectContext { root, machine, .. } = &context.project;
    if entry.is_written { (entry.client.consent)(root, machine) } else { Consent::Given }
}

/// Reports a client that waits for a person to allow something.
fn not_allowed(context: &CheckContext, entry: &ClientEntry) -> Option<Defect> {
    let Consent::Missing(step) = consent(context, entry) else { return None };
    let what = format!("you have not allowed all that {} needs", describe(entry));
    Some(Defect::warning(what, format!("{}: {step}", entry.client.title)))
}

/// Reports that commands of Codex do not find `ait`: it runs them in a login shell.
async fn login_shell(context: &CheckContext) -> Option<Defect> {
    let ProjectContext { root, machine, .. } = &context.project;
    let mut command = Command::new(machine.program("bash")?);
    command.args(["-lc", "command -v ait"]).current_dir(root).kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let ended = timeout(VERSION_WITHIN, command.status()).await.ok()?.ok()?;
    (!ended.success()).then(|| {
        Defect::warning(
            format!("{} runs commands in a login shell, which does not find ait", CODEX.title),
            "add the directory of ait to the PATH in ~/.profile",
        )
    })
}

/// Returns the client and its file, as the start of a sentence.
fn describe(entry: &ClientEntry) -> String {
    format!("{} ({})", entry.client.title, entry.file)
}

/// Returns the fix for an entry.
fn fix_of(entry: &ClientEntry) -> String {
    if entry.is_written {
        format!("`ait init --client {}` rewrites it", entry.client.name)
    } else {
        format!("correct {:?} in {}, or remove it there", entry.name, entry.file)
    }
}

async fn examine_entry(
    context: &CheckContext,
    entry: &Result<ClientEntry, Damaged>,
) -> Vec<Defect> {
    let entry = match entry {
        Ok(entry) => entry,
        Err(Damaged { client, file, problem }) => {
            let what = format!("{} reads {file}: {problem}", client.title);
            return vec![Defect::problem(what, format!("correct {file}"))];
        }
    };
    match &entry.way {
        Err(flaw) => {
            vec![Defect::problem(
                format!("{}, {:?}: {flaw}", describe(entry), entry.name),
                fix_of(entry),
            )]
        }
        Ok(Transport::Http(url)) => check_url(context, entry, url).await.into_iter().collect(),
        Ok(Transport::Stdio { program, arguments, directory, store, store_by }) => {
            let root = &context.project.root;
            let directory = root.join(directory.as_deref().unwrap_or_default());
            let is_known = |text: &str| !text.contains(VARIABLE);
            if !is_known(program) || !is_known(&directory.to_string_lossy()) {
                return Vec::new();
            }
            if !is_program(program) {
                return foreign(entry, program, arguments).into_iter().collect();
            }
            let mut defects = program_of(context, entry, program, &directory).await;
            let store = store.as_ref().map(|store| directory.join(store));
            if store.as_ref().is_none_or(|store| is_known(&store.to_string_lossy())) {
                defects.extend(store_of(
                    context,
                    entry,
                    store.as_deref().map(|path| (path, *store_by)),
                ));
            }
            defects
        }
    }
}

/// Reports another program under the tracker's name, unless its arguments lead to the tracker.
fn foreign(entry: &ClientEntry, program: &str, arguments: &[String]) -> Option<Defect> {
    let leads = |argument: &String| is_program(argument) || argument.contains(PRODUCT);
    if arguments.iter().any(leads) {
        return None;
    }
    let what = format!(
        "{} starts {program} under the name {:?}, where the prompts expect ait",
        describe(entry),
        entry.name
    );
    let fix = if entry.is_written {
        format!("rename it; then `ait init --client {}` adds the entry of ait", entry.client.name)
    } else {
        fix_of(entry)
    };
    Some(Defect::warning(what, fix))
}

/// Checks that a program exists and has this version.
async fn program_of(
    context: &CheckContext,
    entry: &ClientEntry,
    program: &str,
    directory: &Path,
) -> Vec<Defect> {
    let Some(found) = context.project.machine.program_from(program, directory) else {
        return vec![missing(entry, program, directory)];
    };
    // Anyone who can commit may have put a program into the repository, so the doctor does not run it.
    let real = |path: &Path| path.canonicalize().ok();
    if real(&found)
        .is_none_or(|path| real(&context.project.root).is_some_and(|root| path.starts_with(root)))
    {
        return Vec::new();
    }
    let starts = format!("{} starts {}", describe(entry), found.display());
    let version = match version(&found, directory).await {
        Ok(version) => version,
        Err(why) => return vec![Defect::problem(format!("{starts}, which {why}"), fix_of(entry))],
    };
    let own = env!("CARGO_PKG_VERSION");
    match Version::parse(own).map(|own| version.cmp(&own)) {
        Ok(Ordering::Less) => vec![Defect::warning(
            format!("{starts} {version}, older than this {own}"),
            format!("update {}; or {}", quoted(&found), fix_of(entry)),
        )],
        Ok(Ordering::Greater) => vec![Defect::warning(
            format!("{starts} {version}, newer than this {own}"),
            "update this ait",
        )],
        _ => Vec::new(),
    }
}

fn missing(entry: &ClientEntry, program: &str, directory: &Path) -> Defect {
    let starts = format!("{} starts {program}", describe(entry));
    if !program.contains(['/', '\\']) {
        let fix = format!(
            "install it with `cargo install --path .` in its sources; or {}",
            fix_of(entry)
        );
        return Defect::problem(format!("{starts}, which is not on the PATH"), fix);
    }
    let path = directory.join(program);
    match fs::metadata(&path) {
        Ok(file) if file.is_file() => Defect::problem(
            format!("{starts}, which this user may not execute"),
            format!("`chmod +x {}`; or {}", quoted(&path), fix_of(entry)),
        ),
        Ok(_) => Defect::problem(format!("{starts}, which is not a file"), fix_of(entry)),
        Err(_) => Defect::problem(format!("{starts}, which does not exist"), fix_of(entry)),
    }
}

/// Returns the version that a program reports. The program is killed if it takes too long.
async fn version(program: &Path, directory: &Path) -> Result<Version, String> {
    let mut command = Command::new(program);
    command.arg("--version").current_dir(directory).kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| format!("cannot be started: {error}"))?;
    let mut said = Vec::new();
    if let Some(out) = child.stdout.take() {
        let mut out = out.take(MAX_VERSION_BYTES);
        if timeout(VERSION_WITHIN, out.read_to_end(&mut said)).await.is_err() {
            return Err(format!("does not say its version within {} s", VERSION_WITHIN.as_secs()));
        }
    }
    let said = String::from_utf8_lossy(&said);
    let mut words = said.lines().next().unwrap_or_default().split_whitespace();
    let version = words.next_back().and_then(|word| Version::parse(word).ok());
    version.ok_or_else(|| "does not say its version".to_owned())
}

/// Checks that the store of an entry is this one.
fn store_of(
    context: &CheckContext,
    entry: &ClientEntry,
    named: Option<(&Path, &str)>,
) -> Option<Defect> {
    let CheckContext { path, project, .. } = context;
    let real = |path: &Path| paths_of(path).map_or_else(|_| path.to_owned(), |paths| paths.issues);
    let (leads, found): (_, PathBuf) = match (named, &project.found) {
        (Some((named, by)), _) => (format!("sets, by {by}, the store"), named.to_owned()),
        (None, _) if !entry.is_in_project => {
            let what = format!(
                "{} names no store and starts ait outside the project, so which store it uses is unknown",
                describe(entry)
            );
            return Some(Defect::warning(what, fix_of(entry)));
        }
        (None, Some(found)) => ("names no store and finds".to_owned(), found.clone()),
        (None, None) => return None,
    };
    if real(&found) == real(path) {
        return None;
    }
    let what = format!("{} {leads} {}, not {}", describe(entry), found.display(), path.display());
    let variable = named.map(|(_, by)| by).filter(|by| !by.starts_with('-'));
    let fix = if let Some(variable) = variable {
        format!(
            "if that is not intended, remove {variable} from {:?} in {}",
            entry.name, entry.file
        )
    } else if entry.is_written {
        let is_found = project.found.as_ref().is_some_and(|found| real(found) == real(path));
        let named = if is_found { String::new() } else { format!(" --file {}", quoted(path)) };
        // If all projects share one configuration, an entry for another project needs `--force`.
        let force = if entry.is_in_project { "" } else { " --force" };
        let client = entry.client.name;
        format!("if that is not intended, `ait{named} init --client {client}{force}` leads it here")
    } else {
        fix_of(entry)
    };
    Some(Defect::warning(what, fix))
}

/// Checks that this store answers at an address.
async fn check_url(context: &CheckContext, entry: &ClientEntry, url: &str) -> Option<Defect> {
    if url.contains(VARIABLE) {
        return None;
    }
    let asks = format!("{} connects to {url}", describe(entry));
    let uri: Option<Uri> = url.parse().ok().filter(|uri: &Uri| uri.scheme().is_some());
    let Some((uri, host)) = uri.as_ref().and_then(|uri| Some((uri, uri.host()?))) else {
        return Some(Defect::problem(format!("{asks}, which is not a valid URL"), fix_of(entry)));
    };
    if !matches!(host, "localhost" | "[::1]") && !host.starts_with("127.") {
        let what = format!("{asks}, which is on another machine and was not probed");
        return Some(Defect::warning(what, format!("if that is not intended: {}", fix_of(entry))));
    }
    if uri.path() != "/mcp" {
        return Some(Defect::problem(format!("{asks}; ait answers at /mcp"), fix_of(entry)));
    }
    let is_https = uri.scheme_str() == Some("https");
    let port = uri.port_u16().unwrap_or(if is_https { 443 } else { 80 });
    let pinned = context.settings.as_ref().ok().and_then(|settings| settings.port.as_ref());
    let pinned = pinned.filter(|(port, _)| *port != 0);
    if let Some((wanted, by)) = pinned.filter(|(wanted, _)| *wanted != port) {
        let what = format!("{asks}, but {by} has port {wanted}");
        let fix = format!("`ait init --client {} --http` makes them agree", entry.client.name);
        return Some(Defect::warning(what, fix));
    }
    if is_https {
        return Some(Defect::warning(
            format!("{asks}; ait itself serves plain http"),
            fix_of(entry),
        ));
    }
    let Some(answer) = port_probe::answer(port, PROBE_TIMEOUT).await else {
        let pin = if pinned.is_some() { "" } else { "; `ait init --http` pins its port" };
        let fix = format!("`ait serve --port {port}`, and keep it running{pin}");
        return Some(Defect::warning(format!("{asks}, where nothing answers"), fix));
    };
    let who = match answer.store_id {
        Some(id) if id == context.store.id().await => return None,
        // A token-protected tracker does not reveal its store to a probe without a token.
        None if answer.is_tracker() => return None,
        Some(_) => {
            let store = answer.store.as_ref().map_or(String::new(), |store| format!(" ({store})"));
            format!("the tracker of another store{store}")
        }
        None => port_probe::describe_listener(port, Some(&answer)).await.unwrap_or_default(),
    };
    let fix = "`ait init --http` picks a port that is free; or stop the program on this one";
    Some(Defect::problem(format!("{asks}, where {who} answers"), fix))
}
