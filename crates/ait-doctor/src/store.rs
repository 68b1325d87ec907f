//! Checks of the files of the store: whether they are readable, valid and consistent.

use std::time::{Duration, SystemTime};

use super::report::quoted;
use super::{Check, CheckContext, Conflict, Finding, Repair, hidden_queue, issue_checks};
use ait_domain::text::counted;
use ait_store::StoreError;
use ait_store::sqlite::inspect::{
    self, DatabaseCheck, FileStanding, InspectError, Inspection, OpenError, Repeated,
};
use ait_tracker::hints;

/// The checks of [`examine`]; all of them read the files.
pub(super) const CHECKS: [Check; 10] = [
    Check::Readable,
    Check::Valid,
    Check::Ids,
    Check::Journal,
    Check::Histories,
    Check::Claims,
    Check::Returns,
    Check::Links,
    Check::Queue,
    Check::Clock,
];
const SALVAGE: &str = "`ait doctor --salvage NEW.json` saves what can be read";
const RESTORE: &str = "`ait restore BACKUP --force` goes back to a backup";
/// How long `issues.json` may lag behind the database before the doctor warns.
const PUBLISHED_WITHIN: Duration = Duration::from_secs(10);

pub(super) fn examine(context: &CheckContext) -> Vec<Finding> {
    let found = match inspect::inspect(&context.path) {
        Ok(found) => found,
        Err(error) => {
            let others = CHECKS[1..].iter().map(|check| {
                Finding::skipped(*check, "the directory of the store cannot be found")
            });
            return [unreadable(&error)].into_iter().chain(others).collect();
        }
    };
    let mut findings = vec![
        readable(&found, context),
        valid(&found, context),
        ids(&found.repeated),
        database(&found, context),
    ];
    findings.extend(issue_checks::examine(&found, &*context.store.clients(), context.now));
    findings
}

fn readable(found: &Inspection, context: &CheckContext) -> Finding {
    let check = Check::Readable;
    let project = &context.project;
    if let Some(why) = hidden_queue(&context.path, project.is_named, &project.working_directory) {
        return Finding::problem(check, why);
    }
    if let FileStanding::Unreadable(reason) = &found.standing {
        let file = found.paths.issues.display();
        let finding = Finding::problem(check, format!("{file} cannot be read: {reason}"));
        return finding.fix(permit(&found.paths.issues));
    }
    match &found.state {
        Err(InspectError::File(OpenError::Format { .. })) => {
            Finding::ok(check, "the files can be read")
        }
        Err(InspectError::File(error)) => unreadable(error),
        Err(InspectError::Database(error)) => unreadable_database(error),
        Ok(_) if found.database.is_none() && found.issues_file.is_none() => Finding::ok(
            check,
            format!("there is no {} yet; the first issue creates it", found.paths.issues.display()),
        ),
        Ok(state) => Finding::ok(check, counted(state.issues.len(), "issue", "issues")),
    }
}

fn unreadable(error: &OpenError) -> Finding {
    let check = Check::Readable;
    match error {
        OpenError::MissingDirectory(directory) => {
            Finding::problem(check, format!("the directory {} does not exist", directory.display()))
                .fix(format!("`mkdir -p {}`, or name another file with --file", quoted(directory)))
        }
        OpenError::Link(path) => Finding::problem(
            check,
            format!("{} is a symbolic link, which is not followed", path.display()),
        )
        .fix(format!("`rm {}`", quoted(path))),
        OpenError::Io { path, source } => {
            Finding::problem(check, format!("{} cannot be read: {source}", path.display()))
                .fix(permit(path))
        }
        OpenError::Format { path, source } => {
            Finding::problem(check, format!("{}, {source}", path.display())).fix("correct it there")
        }
    }
}

fn unreadable_database(error: &StoreError) -> Finding {
    let problem = Finding::problem(Check::Readable, error.to_string());
    match error {
        StoreError::Newer(_) => problem.fix("update this ait"),
        StoreError::Earlier(what) => problem.fix(hints::for_earlier(what)),
        StoreError::Damaged(_) | StoreError::Corrupt(_) => problem.fix(start_over()),
        _ => problem.fix("try again; `ait status` shows the processes that use the store"),
    }
}

fn permit(path: &std::path::Path) -> String {
    format!("check `ls -ld {}`, and let this user read it", quoted(path))
}

/// Returns the fix for a damaged database.
fn start_over() -> String {
    format!("{RESTORE}; without one, {SALVAGE}, and `ait restore NEW.json --force` restores them")
}

fn valid(found: &Inspection, context: &CheckContext) -> Finding {
    let check = Check::Valid;
    let file = quoted(&context.path);
    if let FileStanding::Invalid(error) = &found.standing {
        let finding = Finding::problem(check, format!("issues.json, {error}"));
        let edit = format!("correct it there (`${{EDITOR:-vi}} +{} {file}`)", error.line);
        if Conflict::find(&found.paths.issues).is_some() {
            return finding.fix(hints::GIT_CONFLICT).repaired_by(Repair::Resolve);
        }
        if error.is_git_conflict() {
            return finding.fix(format!("{edit}, with the issues of both sides"));
        }
        return finding.fix(match &found.state {
            Ok(_) => format!(
                "{edit}; or, since the database has all changes of the agents, move it away (`mv {file} {file}.broken`) and \
                 rewrite it (`ait save`)"
            ),
            Err(_) => format!("{edit}, or {RESTORE}, or {SALVAGE}"),
        });
    }
    if let Some(links) = found.issues_file.map(|file| file.links()).filter(|links| *links > 1) {
        let reason =
            format!("issues.json has {links} hard links, and replacing it would separate them");
        let fix =
            format!("keep only one: `find . -samefile {file}` lists those below this directory");
        return match found.database {
            Some(_) => Finding::warning(check, format!("{reason}: it is not updated")),
            None => Finding::problem(check, format!("{reason}: every change is refused")),
        }
        .fix(fix);
    }
    match &found.standing {
        FileStanding::Unwritten => Finding::skipped(check, "there is no issues.json yet"),
        FileStanding::Missing => Finding::skipped(check, "there is no issues.json: see `journal`"),
        FileStanding::Unreadable(_) => Finding::skipped(check, "issues.json cannot be read"),
        _ => Finding::ok(check, "issues.json is valid"),
    }
}

fn ids(repeated: &[Repeated]) -> Finding {
    let check = Check::Ids;
    if repeated.is_empty() {
        return Finding::ok(check, "no two issues share an id");
    }
    let reason = format!(
        "{} more than one issue",
        counted(repeated.len(), "id belongs to", "ids belong to")
    );
    let about = repeated.iter().map(|Repeated { id, lines, are_identical }| {
        let lines: Vec<_> = lines.iter().map(ToString::to_string).collect();
        let how = if *are_identical { "identical each time" } else { "with different contents" };
        format!("{id} at lines {}, {how}", lines.join(", "))
    });
    let fix = if repeated.iter().all(|repeated| repeated.are_identical) {
        "remove all but one of each"
    } else {
        "give one of them another id, or remove it; `ait doctor --salvage \
             NEW.json` keeps the one with the longer history"
    };
    Finding::problem(check, reason).about(about).fix(fix)
}

/// Checks the database, and whether `issues.json` follows it.
fn database(found: &Inspection, context: &CheckContext) -> Finding {
    let check = Check::Journal;
    let Some(database) = &found.database else {
        return match &found.state {
            Err(InspectError::Database(_)) => {
                Finding::skipped(check, "the database cannot be checked: see `readable`")
            }
            _ => Finding::ok(check, "there is no database yet: issues.json contains everything"),
        };
    };
    if !database.faults.is_empty() {
        return faulty(database);
    }
    let ok = |what: &str| Finding::ok(check, format!("intact, {}{what}", numbers(database)));
    let told = |finding: Finding| {
        finding.about([format!("the database is intact, {}", numbers(database))])
    };
    match &found.standing {
        FileStanding::UpToDate | FileStanding::Alone => ok("; issues.json is up to date"),
        FileStanding::Behind(_) | FileStanding::Unwritten if is_new(found) => {
            ok("; issues.json will follow shortly")
        }
        FileStanding::Behind(count) => {
            let reason =
                format!("issues.json lacks the last {}, which the database has", events(*count));
            told(Finding::warning(check, reason))
                .fix("`ait save`, or `ait doctor --fix`")
                .repaired_by(Repair::Settle)
        }
        FileStanding::Missing | FileStanding::Unwritten => {
            told(Finding::warning(check, "issues.json is gone; the database contains everything"))
                .fix("`ait save`, or `ait doctor --fix`, rewrites it")
                .repaired_by(Repair::Settle)
        }
        FileStanding::Edited(count) => {
            let issues = counted(*count, "issue", "issues");
            ok(&format!(
                "; issues.json contains edits of {issues}; the next process that uses the store merges them"
            ))
        }
        FileStanding::Older(count) => {
            let issues = counted(*count, "issue", "issues");
            ok(&format!(
                "; issues.json has another version of {issues}, which contains nothing newer than the database; the next \
                 change rewrites the file"
            ))
        }
        FileStanding::Unreadable(_) | FileStanding::Invalid(_) => ok(""),
        FileStanding::Unknown => {
            Finding::skipped(check, "the database cannot be checked: see `readable`")
        }
        FileStanding::Foreign | FileStanding::Ahead(_) | FileStanding::Differs(..) => {
            told(strange(&found.standing, context))
        }
    }
}

/// Reports an `issues.json` that does not match the database.
fn strange(standing: &FileStanding, context: &CheckContext) -> Finding {
    let check = Check::Journal;
    let file = quoted(&context.path);
    match standing {
        FileStanding::Foreign => Finding::problem(
            check,
            "issues.json has none of the issues of the database, so it is not treated as an edit",
        )
        .fix(format!(
            "move it away (`mv {file} other.json`) and publish issues.json again (`ait save`); `ait import \
             other.json` imports its issues"
        )),
        FileStanding::Ahead(number) => Finding::problem(
            check,
            format!("issues.json contains event {number}, which the database lacks: it was replaced with an older one"),
        )
        .fix("put the newer .ait directory back; without it, copy issues.json elsewhere and `ait restore` the copy"),
        FileStanding::Differs(issues, count) => {
            let more = count.saturating_sub(issues.len());
            let ids: Vec<_> = issues.iter().map(|id| id.short()).collect();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            Finding::problem(
                check,
                format!("issues.json was published at the last event, but differs from the \
                     database: {}{more}", ids.join(", ")),
            )
            .fix("compare issues.json with `ait show ID`: the database wins; save issues.json again to have it merged")
        }
        _ => Finding::skipped(check, "it was not compared"),
    }
}

/// Reports a database with faults.
fn faulty(database: &DatabaseCheck) -> Finding {
    let check = Check::Journal;
    let reason = match &database.faults[..] {
        [only] => only.clone(),
        faults => format!("the database has {} faults", faults.len()),
    };
    let about = database.faults.iter().filter(|_| database.faults.len() > 1).cloned();
    let about = about.chain([format!("what can be read of the database: {}", numbers(database))]);
    if database.is_newer {
        let problem = Finding::problem(check, format!("{reason}; the store is read-only"));
        return problem.about(about).fix("update this ait");
    }
    Finding::problem(check, reason).about(about).fix(start_over())
}

/// Describes the database in numbers.
fn numbers(database: &DatabaseCheck) -> String {
    let range = match database.events {
        0 => String::new(),
        _ => format!(" ({} to {})", database.first, database.last),
    };
    format!("{}{range}, {} bytes", events(database.events), database.bytes)
}

fn events(count: u64) -> String {
    counted(usize::try_from(count).unwrap_or(usize::MAX), "event", "events")
}

/// Returns true if the database was written so recently that `issues.json` is about to be published.
fn is_new(found: &Inspection) -> bool {
    let modified = found.database.as_ref().and_then(|database| database.modified);
    let age = modified.map(|modified| SystemTime::now().duration_since(modified));
    // A time in the future counts as recent.
    age.is_some_and(|age| age.map_or(true, |age| age < PUBLISHED_WITHIN))
}
