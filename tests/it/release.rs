//! The packages of `contrib/release`: each is installed into a clean root, and runs a session there.

#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;
use serde_json::Value;

use crate::support::scripts::folder;
use crate::support::{BINARY, ait_through, directory, skip};

const MCP_NAME: &str = "io.github.example/agent-issue-tracker";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Returns the target that the packages of this machine name, and the names of its processor for npm and for Debian.
fn target() -> (&'static str, &'static str, &'static str) {
    if cfg!(target_arch = "aarch64") {
        ("aarch64-unknown-linux-musl", "arm64", "arm64")
    } else {
        ("x86_64-unknown-linux-musl", "x64", "amd64")
    }
}

/// Runs a program, which must succeed, and returns what it prints.
fn done(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{log}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// Files an issue with an installed program, and lists it.
fn session(program: &Path) {
    let project = directory();
    let run = |arguments: &[&str]| {
        done(ait_through(program.to_str().unwrap(), project.path()).args(arguments))
    };
    assert_eq!(run(&["--version"]), format!("ait {VERSION}\n"), "{}", program.display());
    done(Command::new("git").args(["init", "--quiet"]).current_dir(project.path()));
    run(&["init", "--yes", "--preset", "solo", "--client", "claude-code"]);
    let client = fs::read_to_string(project.path().join(".mcp.json")).unwrap();
    assert!(client.contains("mcpServers"), "{client}");
    run(&["add", "It is installed"]);
    let listed = run(&["list"]);
    assert!(listed.contains("It is installed"), "{listed}");
}

/// Packs the binary under test, without what only debuggers read.
fn packed(at: &Path) -> PathBuf {
    let (binary, packages) = (at.join("ait"), at.join("packages"));
    fs::copy(BINARY, &binary).unwrap();
    let _unstripped = Command::new("strip").arg(&binary).output();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("contrib/release");
    let given = format!("{}={}", target().0, binary.display());
    let mut command = Command::new(script);
    command.arg(&packages).arg(given).env("npm_config_offline", "true");
    // Where it is installed, `mcpb` is there.
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::env::split_paths(&paths).chain([folder().join("node_modules/.bin")]);
    command.env("PATH", std::env::join_paths(paths).unwrap());
    done(command.env("AIT_MCP_NAME", MCP_NAME));
    packages
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Installs the packages for npm, from the files alone.
fn check_npm(packages: &Path, at: &Path, processor: &str) {
    let root = at.join("npm");
    let mut install = Command::new("npm");
    install.args(["install", "--offline", "--no-audit", "--no-fund", "--prefix"]).arg(&root);
    install.arg(packages.join(format!("agent-issue-tracker-{VERSION}.tgz")));
    done(
        install.arg(packages.join(format!("agent-issue-tracker-linux-{processor}-{VERSION}.tgz"))),
    );
    for name in ["ait", "agent-issue-tracker"] {
        session(&root.join("node_modules/.bin").join(name));
    }
    let launcher = json(&root.join("node_modules/agent-issue-tracker/package.json"));
    assert_eq!(launcher["mcpName"], MCP_NAME);
}

fn check_debian(packages: &Path, at: &Path, architecture: &str) {
    let root = at.join("dpkg");
    for folder in ["updates", "info"] {
        fs::create_dir_all(root.join("var/lib/dpkg").join(folder)).unwrap();
    }
    fs::write(root.join("var/lib/dpkg/status"), "").unwrap();
    let mut install = Command::new("dpkg");
    install.arg(format!("--root={}", root.display())).args(["--log=/dev/null", "--force-not-root"]);
    let package = format!("agent-issue-tracker_{VERSION}_{architecture}.deb");
    done(install.arg("--install").arg(packages.join(package)));
    session(&root.join("usr/bin/ait"));
    for file in ["man/man1/ait.1.gz", "man/man1/ait-list.1.gz", "bash-completion/completions/ait"] {
        assert!(root.join("usr/share").join(file).exists(), "{file}");
    }
}

/// Unpacks the bundle, which `mcpb` has validated before it packed it.
fn check_bundle(packages: &Path, at: &Path, processor: &str) {
    let mcpb = folder().join("node_modules/.bin/mcpb");
    if !mcpb.exists() {
        return skip("`npm ci` was not run in tests/clients");
    }
    let bundle = packages.join(format!("agent-issue-tracker-linux-{processor}-{VERSION}.mcpb"));
    let unpacked = at.join("bundle");
    done(Command::new(mcpb).arg("unpack").arg(bundle).arg(&unpacked));
    session(&unpacked.join("bin/ait"));
}

#[test]
fn each_package_can_be_installed_and_used() {
    for tool in ["git", "npm", "dpkg-deb", "dpkg"] {
        if Command::new(tool).arg("--version").output().is_err() {
            return skip(&format!("{tool} is not installed"));
        }
    }
    let (target, processor, architecture) = target();
    let root = directory();
    let at = root.path();
    let packages = packed(at);
    done(Command::new("sha256sum").args(["--check", "SHA256SUMS"]).current_dir(&packages));
    let sums = fs::read_to_string(packages.join("SHA256SUMS")).unwrap();
    for file in fs::read_dir(&packages).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        assert!(name == "SHA256SUMS" || sums.contains(&format!("  {name}\n")), "{name}: {sums}");
    }

    let folder = format!("ait-{VERSION}-{target}");
    let archive = packages.join(format!("{folder}.tar.gz"));
    done(Command::new("tar").arg("-xzf").arg(archive).current_dir(at));
    session(&at.join(folder).join("ait"));
    check_npm(&packages, at, processor);
    check_debian(&packages, at, architecture);
    check_bundle(&packages, at, processor);

    let server = json(&packages.join("server.json"));
    assert_eq!((&server["name"], &server["version"]), (&MCP_NAME.into(), &VERSION.into()));
    assert_eq!(registry_problems(&server), "");
    let inside = json(&packages.join(format!("ait-{VERSION}.cdx.json")));
    assert_eq!(inside["bomFormat"], "CycloneDX");
    assert_eq!(inside["metadata"]["component"]["version"], VERSION);
    let crates: Vec<_> = inside["components"].as_array().unwrap().iter().collect();
    let has = |name: &str| crates.iter().any(|each| each["name"] == name);
    // The crates of tests are not in the binary.
    assert!(has("tokio") && has("serde_json") && !has("insta") && !has("proptest"), "{crates:?}");
}

/// Returns what the registry of MCP servers would refuse, by its schema of 2025-12-11.
fn registry_problems(server: &Value) -> String {
    let text = |value: &Value, most: usize| {
        value.as_str().is_some_and(|text| (1..=most).contains(&text.chars().count()))
    };
    let name = Regex::new("^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$").unwrap();
    let has_name = |given: &str| name.is_match(given) && (3..=200).contains(&given.len());
    let known = ["registryType", "identifier", "version", "runtimeHint", "transport"];
    let packages = server["packages"].as_array().cloned().unwrap_or_default();
    let is_package = |package: &Value| {
        let members = package.as_object().unwrap();
        members.keys().all(|key| known.contains(&&**key))
            && ["registryType", "identifier", "version"].iter().all(|key| text(&package[key], 255))
            && package["version"] != "latest"
            && package["transport"] == serde_json::json!({ "type": "stdio" })
    };
    let schema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";
    [
        ("$schema", server["$schema"] == schema),
        ("name", server["name"].as_str().is_some_and(has_name)),
        ("title", text(&server["title"], 100)),
        ("description", text(&server["description"], 100)),
        ("version", text(&server["version"], 255) && server["version"] == VERSION),
        ("packages", !packages.is_empty() && packages.iter().all(is_package)),
    ]
    .iter()
    .filter(|(_, is_valid)| !is_valid)
    .map(|(member, _)| *member)
    .collect::<Vec<_>>()
    .join(" ")
}

/// The description for the registry, made by the function of the script alone.
#[test]
fn the_registry_would_take_the_description() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/contrib/release");
    let made = |name: &str| {
        let out = directory();
        let line = format!(
            "set -eu; out=$1; NAME=agent-issue-tracker; VERSION={VERSION}; DESCRIPTION=$2; \
             eval \"$(sed -n '/^registry()/,/^JSON/p' '{script}'; echo '}}')\"; registry"
        );
        let mut bash = Command::new("bash");
        bash.args(["-c", &line, "bash"]).arg(out.path()).arg(env!("CARGO_PKG_DESCRIPTION"));
        done(bash.env("AIT_MCP_NAME", name));
        json(&out.path().join("server.json"))
    };
    assert_eq!(registry_problems(&made(MCP_NAME)), "");
    assert_eq!(registry_problems(&made("agent-issue-tracker")), "name");
    let mut long = made(MCP_NAME);
    long["description"] = "x".repeat(101).into();
    long["packages"][0]["version"] = "latest".into();
    assert_eq!(registry_problems(&long), "description packages");
}

/// Claude Code itself checks the plugin and the marketplace.
#[test]
fn claude_code_takes_the_plugin() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let plugin = json(&root.join("contrib/claude-plugin/.claude-plugin/plugin.json"));
    assert_eq!(plugin["version"], VERSION);
    let claude = "team/node_modules/@anthropic-ai/claude-code-linux-x64/claude";
    let claude = folder().join(claude);
    if !claude.exists() {
        return skip("`npm ci` was not run in tests/clients/team");
    }
    let home = directory();
    let validate = |at: &Path| {
        let mut command = Command::new(&claude);
        command.args(["plugin", "validate"]).arg(at).env("HOME", home.path());
        command.output().unwrap()
    };
    for at in [root.to_owned(), root.join("contrib/claude-plugin")] {
        let output = validate(&at);
        assert!(output.status.success(), "{}: {output:?}", at.display());
    }
    // The control: it refuses a plugin without a name.
    let wrong = home.path().join("wrong");
    fs::create_dir_all(wrong.join(".claude-plugin")).unwrap();
    fs::write(wrong.join(".claude-plugin/plugin.json"), "{}").unwrap();
    assert!(!validate(&wrong).status.success());
}

/// The control: without the package of its platform, the launcher fails and says why.
#[test]
fn the_launcher_says_that_a_platform_has_no_binary() {
    if Command::new("node").arg("--version").output().is_err() {
        return skip("node is not installed");
    }
    let launcher = Path::new(env!("CARGO_MANIFEST_DIR")).join("contrib/npm/ait.js");
    let output = Command::new("node").arg(launcher).arg("--version").output().unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{log}");
    assert!(
        log.contains("no binary for linux-") && log.contains("build ait from its source"),
        "{log}"
    );
}
