//! Checks of the files of the store: whether they are readable, valid and consistent.

use std::time::{Duration, SystemTime};

use super::report::quoted;
use super::{Check, CheckContext, Conflict, Finding, Repair, hidden_queue, issue_checks};
use crate::domain::text::counted;
use crate::hints;
use crate::store::json::inspect::{
    self, FileStanding, Inspection, LogCheck, LogFault, OpenError, Repeated,
};

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
/// The time limit for checking old segments of a long log.
const LOG_WITHIN: Duration = Duration::from_millis(2_000);
/// How long `issues.json` may lag behind the log before the doctor warns.
const PUBLISHED_WITHIN: Duration = Duration::from_secs(10);

pub(super) fn examine(context: &CheckContext) -> Vec<Finding> {
    let found = match inspect::inspect(&context.path, LOG_WITHIN) {
        Ok(found) => found,
        Err(error) => {
            let skipped = |check: &Check| {
                Finding::skipped(*check, "the directory of the store cannot be found")
            };
            let others = CHECKS[1..].iter().map(skipped);
            return [unreadable(&error)].into_iter().chain(others).collect();
        }
    };
    let mut findings = vec![
        readable(&found, context),
        valid(&found, context),
        ids(&found.repeated),
        log(&found, context),
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
        Err(OpenError::Format { .. }) => Finding::ok(check, "the files can be read"),
        Err(error) => unreadable(error),
        Ok(_) if found.log.is_none() && found.issues_file.is_none() => Finding::ok(
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
        OpenError::Newer(path) => {
            let file = path.display();
            Finding::problem(check, format!("a newer version of ait wrote {file}"))
                .fix("update this ait")
        }
        OpenError::NoSnapshot { directory, why } => Finding::problem(
            check,
            format!(
                "no snapshot in {} is usable, and the log cannot be replayed without one: {why}",
                directory.display()
            ),
        )
        .fix(start_over()),
        OpenError::Segment { path, why } => {
            Finding::problem(check, format!("{}: {why}", path.display())).fix(start_over())
        }
    }
}

fn permit(path: &std::path::Path) -> String {
    format!("check `ls -ld {}`, and let this user read it", quoted(path))
}

/// Returns the fix for a damaged log.
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
                "{edit}; or, since the log has all changes of the agents, move it away (`mv {file} {file}.broken`) and \
                 rewrite it (`ait save`)"
            ),
            Err(_) => format!("{edit}, or {RESTORE}, or {SALVAGE}"),
        });
    }
    if let Some(links) = found.issues_file.map(|file| file.links).filter(|links| *links > 1) {
        let reason =
            format!("issues.json has {links} hard links, and replacing it would separate them");
        let fix =
            format!("keep only one: `find . -samefile {file}` lists those below this directory");
        return match found.log {
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
    let fix = match repeated.iter().all(|repeated| repeated.are_identical) {
        true => "remove all but one of each",
        false => {
            "give one of them another id, or remove it; `ait doctor --salvage \
             NEW.json` keeps the one with the longer history"
        }
    };
    Finding::problem(check, reason).about(about).fix(fix)
}

/// Checks the log, and whether `issues.json` follows it.
fn log(found: &Inspection, context: &CheckContext) -> Finding {
    let check = Check::Journal;
    let Some(log) = &found.log else {
        return Finding::ok(check, "there is no log yet: issues.json contains everything");
    };
    if !log.faults.is_empty() {
        return faulty(found, log);
    }
    let ok =
        |what: &str| Finding::ok(check, format!("intact, {}{}{what}", numbers(log), torn(log)));
    let told = |finding: Finding| {
        finding.about([format!("the log is intact, {}{}", numbers(log), torn(log))])
    };
    match &found.standing {
        FileStanding::UpToDate | FileStanding::Alone => ok("; issues.json is up to date"),
        FileStanding::Behind(_) | FileStanding::Unwritten if is_new(found) => {
            ok("; issues.json will follow shortly")
        }
        FileStanding::Behind(count) => {
            let reason =
                format!("issues.json lacks the last {}, which the log has", events(*count));
            told(Finding::warning(check, reason))
                .fix("`ait save`, or `ait doctor --fix`")
                .repaired_by(Repair::Settle)
        }
        FileStanding::Missing | FileStanding::Unwritten => {
            told(Finding::warning(check, "issues.json is gone; the log contains everything"))
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
                "; issues.json has another version of {issues}, which contains nothing newer than the log; the next \
                 change rewrites the file"
            ))
        }
        FileStanding::Unreadable(_) | FileStanding::Invalid(_) => ok(""),
        FileStanding::Unknown => {
            Finding::skipped(check, "the log cannot be checked: see `readable`")
        }
        FileStanding::Foreign | FileStanding::Ahead(_) | FileStanding::Differs(..) => {
            told(strange(&found.standing, context))
        }
    }
}

/// Reports an `issues.json` that does not match the log.
fn strange(standing: &FileStanding, context: &CheckContext) -> Finding {
    let (check, file) = (Check::Journal, quoted(&context.path));
    match standing {
        FileStanding::Foreign => Finding::problem(
            check,
            "issues.json has none of the issues of the log, so it is not treated as an edit",
        )
        .fix(format!(
            "move it away (`mv {file} other.json`) and publish issues.json again (`ait save`); `ait import \
             other.json` imports its issues"
        )),
        FileStanding::Ahead(number) => Finding::problem(
            check,
            format!("issues.json contains event {number}, which the log lacks: the log was replaced with an older one"),
        )
        .fix("put the newer .ait directory back; without it, copy issues.json elsewhere and `ait restore` the copy"),
        FileStanding::Differs(issues, count) => {
            let more = count.saturating_sub(issues.len());
            let ids: Vec<_> = issues.iter().map(|id| id.short()).collect();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            Finding::problem(
                check,
                format!("issues.json was published at the last event, but differs from the replayed \
                     log: {}{more}", ids.join(", ")),
            )
            .fix("compare issues.json with `ait show ID`: the log wins; save issues.json again to have it merged")
        }
        _ => Finding::skipped(check, "it was not compared"),
    }
}

/// Reports a log with faults.
fn faulty(found: &Inspection, log: &LogCheck) -> Finding {
    let check = Check::Journal;
    let is_newer = log.faults.iter().any(|fault| matches!(fault, LogFault::Newer(_)));
    let is_forged = log.faults.iter().any(|fault| matches!(fault, LogFault::Event { .. }));
    let is_closed = found.state.is_err() || found.damage.is_some();
    let reason = match &log.faults[..] {
        [only] => only.to_string(),
        faults => format!("the log has {} faults", faults.len()),
    };
    let about = log.faults.iter().filter(|_| log.faults.len() > 1).map(ToString::to_string);
    let about = about.chain([format!("the readable part of the log: {}", numbers(log))]);
    let problem = |reason: String| Finding::problem(check, reason);
    if is_newer {
        return problem(format!("{reason}; the store is read-only"))
            .about(about)
            .fix("update this ait");
    }
    if is_closed {
        let reads =
            if found.state.is_ok() { "the store is read-only" } else { "nothing can be read" };
        return problem(format!("{reason}; {reads}")).about(about).fix(start_over());
    }
    if is_forged {
        return problem(reason).about(about).fix(
            "another program wrote to the log, or ait has a bug: see the issue with `ait show ID` and \
             `ait log`, and correct it with `ait return ID --force -m WHY`",
        );
    }
    // The events after the newest snapshot are intact.
    Finding::warning(check, format!("{reason}; the issues themselves are complete"))
        .about(about)
        .fix("the issues need no repair (`ait backup` saves them); part of the older history in the log is lost")
}

/// Describes the log in numbers.
fn numbers(log: &LogCheck) -> String {
    let segments = counted(log.segments, "segment", "segments");
    let range = match log.events {
        0 => String::new(),
        _ => format!(" ({} to {})", log.first, log.last.number),
    };
    let replayed = match log.replayed_from {
        Some(number) if number >= log.first => format!(", replayed from {}", number + 1),
        _ => String::new(),
    };
    let unexamined = match log.unexamined {
        0 => String::new(),
        count => format!(", excluding the {}", counted(count, "oldest segment", "oldest segments")),
    };
    format!(
        "{}{range}{replayed}, {} bytes in {segments}{unexamined}",
        events(log.events),
        log.bytes
    )
}

fn events(count: u64) -> String {
    counted(usize::try_from(count).unwrap_or(usize::MAX), "event", "events")
}

/// Describes a torn end of the log, which is not a fault.
fn torn(log: &LogCheck) -> String {
    let Some(torn) = &log.torn else { return String::new() };
    format!(
        "; the last {} bytes of {}, from byte {} on, were torn when a process died: their changes were \
         never confirmed, and the next change begins a new segment",
        torn.length_bytes,
        torn.path.display(),
        torn.offset
    )
}

/// Returns true if the log was written so recently that `issues.json` is about to be published.
fn is_new(found: &Inspection) -> bool {
    let age = found.newest_segment.map(|file| SystemTime::now().duration_since(file.modified));
    // A time in the future counts as recent.
    age.is_some_and(|age| age.map_or(true, |age| age < PUBLISHED_WITHIN))
}
