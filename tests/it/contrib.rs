//! The examples in `contrib`: they name existing flags and files, and they work as far as a test can check without a
//! service manager and containers.

#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use crate::support::{
    BINARY, Log, ait, ait_through, directory, health_issue_count, scripts, signal, wait,
};

const FILES: [&str; 6] = [
    "README.md",
    "action/action.yml",
    "systemd/ait.service",
    "container/Containerfile",
    "container/compose.yaml",
    "logrotate/ait",
];

fn path_of(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("contrib").join(file)
}

fn text_of(file: &str) -> String {
    fs::read_to_string(path_of(file)).unwrap()
}

/// Splits a text into words that may be names of flags or variables.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && !"-_".contains(c))
}

fn is_variable(word: &str) -> bool {
    word.starts_with("AIT_") || ["ISSUES_FILE", "PORT"].contains(&word)
}

/// Returns the flags that a line passes to the program: those after its name.
fn flags(line: &str) -> impl Iterator<Item = &str> {
    let mut line = words(line).skip_while(|word| !["ait", "ENTRYPOINT", "CMD"].contains(word));
    line.next();
    line.filter(|word| word.starts_with("--"))
}

/// Returns the variables and flags of `ait` that a text names.
fn names(text: &str) -> BTreeSet<&str> {
    let variables = words(text).filter(|word| is_variable(word));
    // The flags of `podman`, `useradd` and `cargo` do not count.
    let ours = text.lines().map(str::trim_start).filter(|line| {
        ["ait ", "ExecStart=", "#ExecStart=", "CMD", "ENTRYPOINT"]
            .iter()
            .any(|start| line.starts_with(start))
    });
    let spans = text.split('`').skip(1).step_by(2).filter(|span| span.contains("ait "));
    let spans = spans.filter(|span| !span.contains('\n'));
    variables.chain(ours.flat_map(flags)).chain(spans.flat_map(flags)).collect()
}

#[test]
fn examples_name_only_existing_flags_and_variables() {
    let help = ["--help", "serve --help"].map(|line| {
        let output = ait(&std::env::temp_dir()).args(line.split(' ')).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    });
    let known: BTreeSet<_> = help.iter().flat_map(|help| words(help)).collect();
    for file in FILES {
        let text = text_of(file);
        for name in names(&text) {
            assert!(known.contains(name), "{file}: {name} does not exist");
        }
    }
}

#[test]
fn name_scanner_finds_flags_and_variables() {
    let text = "a `sudo -u x ait --file x list`, and\n`ait serve --port 1`; `podman --not-ours ait`\n\
                podman run --not-ours \\\n    ait serve --bind x\n\
                ExecStart=/bin/ait serve --log-file x\n#Environment=AIT_X=%d\nENV PORT=3 AIT_Y=\n\
                CMD [\"serve\", \"--agent\"]\n";
    let expected =
        ["--agent", "--bind", "--file", "--log-file", "--port", "AIT_X", "AIT_Y", "PORT"];
    assert_eq!(names(text).into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn the_action_for_github_files_an_issue() {
    scripts::run(scripts::node(), "action.mjs", &[]);
}

#[test]
fn systemd_unit_is_valid() {
    let analyze = |arguments: &[&str], unit: &Path| {
        Command::new("systemd-analyze").args(arguments).arg(unit).output()
    };
    let directory = directory();
    let unit = directory.path().join("ait.service");
    let text = text_of("systemd/ait.service");
    let installed = "/usr/local/bin/ait";
    assert!(text.contains(installed));
    // The lines that are commented out must be valid, too.
    let text = text.replace(installed, BINARY).replace("\n#Environment", "\nEnvironment");
    let text = text.replace("\n#LoadCredential", "\nLoadCredential");
    fs::write(&unit, &text).unwrap();
    let Ok(verified) = analyze(&["verify", "--man=no"], &unit) else {
        crate::support::skip("no systemd-analyze(1) here");
        return;
    };
    let said = String::from_utf8_lossy(&verified.stderr);
    assert!(verified.status.success() && !said.contains("ait.service"), "{said}");
    let safe = analyze(&["security", "--offline=yes", "--threshold=20"], &unit).unwrap();
    assert!(safe.status.success(), "{}", String::from_utf8_lossy(&safe.stdout));

    fs::write(&unit, text.replace("ProtectSystem=strict", "ProtectSystem=wrong")).unwrap();
    let verified = analyze(&["verify", "--man=no"], &unit).unwrap();
    let said = String::from_utf8_lossy(&verified.stderr);
    assert!(said.contains("ait.service"), "the invalid value was not noticed: {said}");
}

/// The compose file, the image and the README agree on names, files and the password.
#[cfg(feature = "postgres")]
#[test]
fn compose_file_agrees_with_the_image_and_the_readme() {
    let text = text_of("container/compose.yaml");
    let value = |key: &str| {
        let found = text.lines().find_map(|line| line.trim_start().strip_prefix(key));
        found.unwrap_or_else(|| panic!("{key} is missing")).trim().to_owned()
    };
    let store = value("AIT_STORE:");
    agent_issue_tracker::store::PostgresOptions::parse(&store).unwrap();
    let (user, database) = (value("POSTGRES_USER:"), value("POSTGRES_DB:"));
    assert!(text.contains("\n  postgres:\n") && text.contains("\nvolumes:\n  postgres:\n"));
    assert!(store.starts_with(&format!("postgres://{user}@postgres/{database}?")), "{store}");
    let (_, passfile) = store.split_once("passfile=").unwrap();
    assert!(text.contains(&format!("- ./pgpass:{passfile}:ro")), "{passfile}");
    let image = text_of("container/Containerfile");
    let (_, tokens) = image.split_once("AIT_TOKEN_FILE=").unwrap();
    let tokens = tokens.split_whitespace().next().unwrap();
    assert!(text.contains(&format!("- ./token:{tokens}:ro")), "{tokens}");
    let line = format!("postgres:5432:{database}:{user}:%s");
    let readme = text_of("README.md");
    assert!(readme.contains(&line), "{line}");
    let user = image.lines().find_map(|line| line.strip_prefix("USER ")).unwrap();
    let (owner, _) = user.split_once(':').unwrap();
    for file in ["token", "pgpass"] {
        assert!(readme.contains(&format!("chown {owner} {file}")), "{file}");
    }
}

#[test]
fn containerfile_copies_existing_files_and_runs_unprivileged() {
    let text = text_of("container/Containerfile");
    let (build, image) = text.split_once("\nFROM scratch\n").unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let copied = build.lines().filter_map(|line| line.strip_prefix("COPY "));
    let copied: Vec<_> =
        copied.flat_map(|files| files.rsplit_once(' ').unwrap().0.split(' ')).collect();
    let kept = text_of("container/Containerfile.dockerignore");
    let kept: Vec<_> = kept.lines().filter_map(|line| line.strip_prefix('!')).collect();
    assert_eq!(copied, kept);
    for file in &copied {
        assert!(root.join(file).exists(), "{file}");
    }
    // The members of the workspace, and what the program includes.
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let (_, members) = manifest.split_once("members = [").unwrap();
    let members = members.split(']').next().unwrap().split('"').skip(1).step_by(2);
    let examples = ["issues.json.example", "agents", "presets"];
    for needed in members.map(|member| member.trim_end_matches("/*")).chain(examples) {
        assert!(copied.contains(&needed), "{needed} is missing");
    }
    let user = image.lines().find_map(|line| line.strip_prefix("USER ")).unwrap();
    assert!(user.split(':').all(|id| id.parse::<u32>().is_ok_and(|id| id > 0)), "{user}");
    let arguments = image
        .lines()
        .filter_map(|line| line.strip_prefix("ENTRYPOINT ").or_else(|| line.strip_prefix("CMD ")));
    let arguments: Vec<_> =
        arguments.flat_map(|list| serde_json::from_str::<Vec<String>>(list).unwrap()).collect();
    assert_eq!(arguments, ["/ait", "serve"]);
}

/// A process in its own root directory. Killed on drop.
struct Isolated(Child);

impl Drop for Isolated {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Tests the binary that `AIT_STATIC_BINARY` names; `.ci/run` builds it.
#[test]
fn static_binary_serves_in_an_empty_root_directory() {
    let Some(binary) = std::env::var_os("AIT_STATIC_BINARY") else {
        eprintln!("skipped: AIT_STATIC_BINARY names no binary");
        return;
    };
    let root = directory();
    fs::copy(binary, root.path().join("ait")).unwrap();
    fs::create_dir(root.path().join("data")).unwrap();
    fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let start = |arguments: &[&str]| {
        let mut command = ait_through("unshare", root.path());
        command.args(["--map-root-user", "--root"]).arg(root.path()).arg("/ait").args(arguments);
        command.env("ISSUES_FILE", "/data/issues.json").env("AIT_AGENT", "a");
        command
    };
    let mut probe = Command::new("unshare");
    if !probe.args(["--map-root-user", "true"]).output().is_ok_and(|output| output.status.success())
    {
        eprintln!("skipped: unshare(1) cannot change the root directory here");
        return;
    }
    let mut server = Isolated(start(&["serve"]).spawn().unwrap());
    let log = Log::of(server.0.stderr.take().unwrap());
    let text = log.wait_for("pages: http://localhost:");
    let port = text.rsplit(':').next().unwrap().split_whitespace().next().unwrap();
    let port = port.parse().unwrap();
    let added = start(&["add", "t", "-c", "bug"]).output().unwrap();
    assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    assert_eq!(health_issue_count(port), 1);
    assert_eq!(crate::support::get(port, "/").status, 200);
    signal(&server.0, "TERM");
    assert!(wait(&mut server.0).success(), "{}", log.whole());
}
