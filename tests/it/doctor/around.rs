//! The environment of a store: the disk, the lock, the machine, the repository and the settings.

use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

use serde_json::json;

use super::{everything, examine, examine_by, fix, git, healthy};
use crate::support::files::{id, issue_json, store_directory, write_issues};
use crate::support::http::lock_turn;
use crate::support::runs::run;
use crate::support::{Client, ait, directory};

/// Returns a repository with a store and no problems.
fn repository() -> tempfile::TempDir {
    let directory = directory();
    git(directory.path(), &["init", "-q"]);
    fs::write(directory.path().join(".gitignore"), "/.ait/\n").unwrap();
    run(directory.path(), &["add", "one", "-c", "bug", "-a", "a"]).ok();
    // Agents work in git worktrees, which need a commit.
    let unborn = examine(directory.path());
    unborn
        .only(&["git"])
        .says("git", &["no commit yet", "git worktrees", "git commit"])
        .ends_with(0);
    git(directory.path(), &["commit", "-q", "--allow-empty", "-m", "begin"]);
    examine(directory.path()).only(&[]).is("git", "ok").is("other_stores", "ok").ends_with(0);
    directory
}

#[test]
fn held_lock_is_reported_with_its_holder() {
    let directory = healthy();
    let lock = lock_turn(directory.path());
    let begun = std::time::Instant::now();
    let examined = examine(directory.path());
    examined.is("lock", "problem").is("writable", "skipped").ends_with(1);
    assert!(begun.elapsed() < Duration::from_secs(10));
    if cfg!(target_os = "linux") {
        examined.says("lock", &[&format!("process {}", std::process::id())]);
    }
    drop(lock);
    examine(directory.path()).is("lock", "ok");
}

/// A disk is mounted read-only, because permissions do not stop root.
#[cfg(target_os = "linux")]
#[test]
fn read_only_and_nearly_full_disks_are_reported() {
    use crate::support::{BINARY, ait_through};

    let small =
        r#"mount -t tmpfs -o size=8m tmpfs "$1"; cd "$1"; printf '{"issues": []}' > issues.json"#;
    let full = format!(
        "{small}; printf '{{\"issues\": [], \"x\": \"' > issues.json; \
         head -c 3000000 /dev/zero | tr '\\0' x >> issues.json; printf '\"}}' >> issues.json"
    );
    let closed = format!("{small}; mount -o remount,ro \"$1\"");
    for (script, check, verdict, words) in [
        (small, "space", "warning", "only 7."),
        (&full, "space", "problem", "less than 4 times"),
        (&closed, "writable", "problem", "read-only"),
    ] {
        let directory = directory();
        let mut probe = std::process::Command::new("unshare");
        probe.args(["-rm", "mount", "-t", "tmpfs", "tmpfs"]).arg(directory.path());
        if !probe.output().is_ok_and(|output| output.status.success()) {
            crate::support::skip("no file system can be mounted here");
            return;
        }
        let mut command = ait_through("unshare", directory.path());
        let script = format!("{script}\nexec \"$2\" doctor --json");
        command.args(["-rm", "sh", "-ec", &script, "sh"]).arg(directory.path()).arg(BINARY);
        let examined = examine_by(&mut command);
        examined.is(check, verdict).says(check, &[words]);
        assert_eq!(examined.code, i32::from(verdict == "problem"), "{}", examined.report);
    }
}

#[test]
fn pipe_in_place_of_a_file_is_reported_without_blocking() {
    let directory = healthy();
    let pipe = directory.path().join("tokens");
    if !std::process::Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .is_ok_and(|status| status.success())
    {
        crate::support::skip("no mkfifo here");
        return;
    }
    let mut command = ait(directory.path());
    command.args(["doctor", "--json"]).env("AIT_TOKEN_FILE", &pipe);
    let begun = std::time::Instant::now();
    let examined = examine_by(&mut command);
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    examined.only(&["access"]).says("access", &["not a regular file"]).ends_with(1);
    assert!(examined.report["tookMs"].as_u64().unwrap() < 5_000, "{}", examined.report);
    fs::rename(&pipe, directory.path().join("ait.toml")).unwrap();
    let examined = examine(directory.path());
    examined.only(&["settings"]).says("settings", &["ait.toml", "not a regular file"]).ends_with(1);
}

#[test]
fn pinned_port_check_reports_foreign_and_own_processes() {
    let directory = healthy();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    fs::write(directory.path().join("ait.toml"), format!("port = {port}\n")).unwrap();
    let examined = examine_by(ait(directory.path()).args(["doctor", "--json"]).env_remove("PORT"));
    examined.is("ports", "problem").ends_with(1);
    examined.says("ports", &[&format!("port {port}"), "ait.toml, line 1", "is taken by"]);
    drop(listener);
    let examined = examine_by(ait(directory.path()).args(["doctor", "--json"]).env_remove("PORT"));
    examined.is("ports", "ok").says("ports", &["is free"]).ends_with(0);
    let client = Client::start(directory.path());
    let (port, pid) = (client.port(), client.pid());
    let examined = examine(directory.path());
    examined.is("ports", "ok").says("ports", &[&format!("port {port} by process {pid}")]);
    examined.is("processes", "ok").says("processes", &["one other process"]).ends_with(0);
}

#[test]
fn unresponsive_server_process_is_reported() {
    let directory = healthy();
    let client = Client::start(directory.path());
    client.port();
    client.signal("STOP");
    let examined = examine(directory.path());
    examined
        .is("ports", "problem")
        .says("ports", &[&format!("kill {}", client.pid())])
        .ends_with(1);
}

#[test]
fn processes_of_other_versions_and_dead_ones_are_reported() {
    let directory = healthy();
    let registry = store_directory(directory.path()).join("processes");
    fs::create_dir(&registry).unwrap();
    let entry = json!({
        "pid": 4711, "kind": "stdio", "version": "0.1.0", "startedAt": "2026-01-31T09:30:00.000Z",
        "address": null, "isGuarded": false, "port": null, "url": null,
    });
    fs::write(registry.join("4711-x.json"), entry.to_string()).unwrap();
    let lock = File::create(registry.join("4711-x.lock")).unwrap();
    lock.lock().unwrap();
    let before = everything(directory.path());
    let examined = examine(directory.path());
    examined.only(&["processes"]).says("processes", &["4711", "0.1.0", "older"]).ends_with(0);
    lock.unlock().unwrap();
    drop(lock);
    examine(directory.path()).only(&["leftovers"]).says("leftovers", &["4711-x.lock", "--fix"]);
    assert_eq!(everything(directory.path()), before);
    fix(directory.path()).only(&[]).ends_with(0);
    assert!(!registry.join("4711-x.json").exists() && !registry.join("4711-x.lock").exists());
}

#[test]
fn other_stores_in_the_repository_are_reported() {
    let directory = repository();
    let path = directory.path();
    fs::create_dir_all(path.join("web/app")).unwrap();
    write_issues(&path.join("web/app"), &[issue_json(&id(1), "lost", "created")]);
    fs::create_dir_all(path.join("data")).unwrap();
    fs::write(path.join("data/issues.json"), "[]").unwrap();
    let examined = examine(path);
    examined.only(&["other_stores"]).says("other_stores", &["web/app/issues.json", "ait import"]);
    assert!(!examined.finding("other_stores").to_string().contains("data/issues"));
    fs::remove_dir_all(path.join("web")).unwrap();
    // A checked out copy in another worktree is not another store until a process uses it.
    git(path, &["add", "issues.json", ".gitignore"]);
    git(path, &["commit", "-qm", "x"]);
    let elsewhere = crate::support::directory();
    let tree = elsewhere.path().join("tree");
    git(path, &["worktree", "add", "-q", tree.to_str().unwrap()]);
    // The store is tracked now, and no merge driver is registered.
    examine(path).only(&["git"]);
    run(&tree, &["--file", "issues.json", "add", "two", "-c", "bug", "-a", "a"]).ok();
    examine(path)
        .only(&["other_stores", "git"])
        .says("other_stores", &["tree/issues.json"])
        .ends_with(0);
}

/// Agents may take the file for the queue of a project whose store is a database.
#[test]
fn a_file_beside_a_database_is_named_as_unused() {
    let directory = repository();
    let path = directory.path();
    fs::write(path.join("ait.toml"), "store = \"postgres://ann@127.0.0.1:1/issues\"\n").unwrap();
    let status = run(path, &["status"]);
    assert!(
        status.out.contains("127.0.0.1:1") && status.out.contains("ait.toml"),
        "{}",
        status.out
    );
    assert!(
        status.out.contains("not used: ") && status.out.contains("issues.json"),
        "{}",
        status.out
    );
    let examined = examine(path);
    examined.is("other_stores", "warning").says("other_stores", &["issues.json", "ait import"]);
    assert!(!examined.finding("other_stores").to_string().contains("ISSUES_FILE"));
    fs::remove_file(path.join("issues.json")).unwrap();
    examine(path).is("other_stores", "ok");
    assert!(!run(path, &["status"]).out.contains("not used"));
}

#[test]
fn store_files_missing_from_gitignore_are_reported_and_added() {
    let directory = repository();
    let path = directory.path();
    // The directory of the database has its own ignore file, which a user may remove.
    fs::remove_file(store_directory(path).join(".gitignore")).unwrap();
    fs::write(path.join(".gitignore"), "*.tmp\n/issues.json").unwrap();
    let before = everything(path);
    let examined = examine(path);
    examined.only(&["git"]).says("git", &[".ait/issues.json/queue.db", ".gitignore"]).ends_with(0);
    assert_eq!(everything(path), before);
    fix(path).only(&[]).ends_with(0);
    let list = fs::read_to_string(path.join(".gitignore")).unwrap();
    assert_eq!(
        list,
        "*.tmp\n/issues.json\n\n# ait init: begin\n*.before-doctor-*\n/.worktrees/\nissues-backup-*\n\
         /.ait/\n# ait init: end\n"
    );
    // `--fix` adds the missing line to the section and removes no line.
    let short = list.replace("/.ait/\n", "/other\n");
    fs::write(path.join(".gitignore"), &short).unwrap();
    examine(path).says("git", &[".ait/issues.json/queue.db"]);
    fix(path).only(&[]).ends_with(0);
    let list = fs::read_to_string(path.join(".gitignore")).unwrap();
    assert!(list.contains("/other\n") && list.contains("/.ait/\n"), "{list}");
    fs::write(path.join(".gitignore"), list.replace("/.worktrees/\n", "")).unwrap();
    fs::create_dir(path.join(".worktrees")).unwrap();
    examine(path).says("git", &[".worktrees", "'/.worktrees/' >> .gitignore"]);
    fix(path).only(&[]).ends_with(0);
    assert!(fs::read_to_string(path.join(".gitignore")).unwrap().contains("\n/.worktrees/\n"));
    git(path, &["add", "-f", ".ait/issues.json/queue.db"]);
    examine(path).only(&["git"]).says("git", &["git rm -r --cached .ait/issues.json"]);
}

#[test]
fn invalid_settings_are_reported_without_stopping_other_checks() {
    let directory = healthy();
    fs::write(directory.path().join("ait.toml"), "prot = 1\n").unwrap();
    let examined = examine(directory.path());
    examined.only(&["settings"]).says("settings", &["ait.toml, line 1", "prot"]).ends_with(1);
    examined.is("access", "skipped").is("readable", "ok");
    fs::write(directory.path().join("ait.toml"), "port = 0\n").unwrap();
    examine(directory.path()).only(&[]).says("settings", &["ait.toml is valid"]);
}

#[test]
fn access_check_reports_open_access_and_fixes_token_mode() {
    let directory = healthy();
    let path = directory.path();
    let with = |variables: &[(&str, &str)]| {
        let mut command = ait(path);
        command.args(["doctor", "--json"]).envs(variables.iter().copied());
        examine_by(&mut command)
    };
    let open = with(&[("AIT_BIND", "0.0.0.0")]);
    open.is("access", "problem").says("access", &["AIT_BIND", "openssl rand"]).ends_with(1);
    with(&[("AIT_BIND", "0.0.0.0"), ("AIT_TOKEN", "0123456789abcdef")]).is("access", "ok");
    with(&[("AIT_TOKEN", "short")]).is("access", "problem").says("access", &["too short"]);
    with(&[("AIT_TOKEN_FILE", "none")]).is("access", "problem").says("access", &["does not exist"]);
    fs::write(path.join("tokens"), "short\n").unwrap();
    with(&[("AIT_TOKEN_FILE", "tokens")]).is("access", "problem").says("access", &["too short"]);
    fs::write(path.join("tokens"), "0123456789abcdef\n").unwrap();
    fs::set_permissions(path.join("tokens"), fs::Permissions::from_mode(0o644)).unwrap();
    let shared = with(&[("AIT_TOKEN_FILE", "tokens")]);
    shared.only(&["access"]).says("access", &["chmod 600"]).ends_with(0);
    let mut command = ait(path);
    command.args(["doctor", "--fix", "--json"]).env("AIT_TOKEN_FILE", "tokens");
    examine_by(&mut command).only(&[]).ends_with(0);
    let mode = fs::metadata(path.join("tokens")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn leftovers_are_listed_and_only_unneeded_ones_removed() {
    let directory = healthy();
    let path = directory.path();
    let own = store_directory(path);
    let kept = own.join("kept/2026-02-01T120000.000Z-edited-issues.json");
    let unfinished = own.join(".issues.abcdef01.tmp");
    let rendering = own.join("issues.abcdef01.tmp");
    fs::create_dir(own.join("kept")).unwrap();
    for file in [&kept, &unfinished, &rendering] {
        fs::write(file, "").unwrap();
    }
    // A recent temporary file may be in use, so it is not a leftover.
    examine(path).only(&["leftovers"]).says("leftovers", &["edited-issues.json", "1 file"]);
    let old = SystemTime::now() - Duration::from_secs(2 * 3_600);
    for temp in [&unfinished, &rendering] {
        File::options().write(true).open(temp).unwrap().set_modified(old).unwrap();
    }
    let words = [".issues.abcdef01.tmp", "issues.abcdef01.tmp", "3 files"];
    examine(path).says("leftovers", &words);
    fix(path).only(&["leftovers"]).ends_with(0);
    assert!(kept.exists() && !unfinished.exists() && !rendering.exists());
}
