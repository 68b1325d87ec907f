//! The files of the store: whether they can be read, are valid, and belong together.

use super::report::{counted, quoted};
use super::{Check, Finding, Repair, Subject, histories};
use crate::store::json::look::{self, JournalStanding, Look, Repeated, Unsound};

/// The checks of [`examine`]; all need the files to be read.
pub(super) const CHECKS: [Check; 8] = [
    Check::Readable,
    Check::Valid,
    Check::Ids,
    Check::Journal,
    Check::Histories,
    Check::Claims,
    Check::Returns,
    Check::Clock,
];
const SALVAGE: &str = "`ait doctor --salvage NEW.json` saves what can be read";
const RESTORE: &str = "`ait restore BACKUP --force` goes back to a backup";

pub(super) fn examine(subject: &Subject) -> Vec<Finding> {
    let look = look::look(&subject.path);
    let mut findings =
        vec![readable(&look, subject), valid(&look, subject), ids(&look.repeated), journal(&look)];
    findings.extend(histories::examine(&look, subject.now));
    findings
}

fn readable(look: &Look, subject: &Subject) -> Finding {
    let check = Check::Readable;
    match &look.issues {
        Err(Unsound::NoDirectory(directory)) => {
            Finding::problem(check, format!("the directory {} does not exist", directory.display()))
                .fix(format!("`mkdir -p {}`, or name another file with --file", quoted(directory)))
        }
        Err(unsound @ Unsound::Io { path, .. }) => Finding::problem(check, unsound.to_string())
            .fix(format!("look at `ls -ld {}`, and let this user read it", quoted(path))),
        Err(unsound @ Unsound::Gone(path)) => {
            Finding::problem(check, unsound.to_string()).fix(format!(
                "put it back, such as with `git checkout -- {}`; or {RESTORE}; or {SALVAGE}",
                quoted(path)
            ))
        }
        Err(unsound @ Unsound::Interrupted(_)) => {
            Finding::problem(check, unsound.to_string()).fix(format!("run it again: {RESTORE}"))
        }
        Err(unsound @ Unsound::Moving(_)) => Finding::problem(check, unsound.to_string())
            .fix("find out who writes it, and run `ait doctor` again"),
        Err(Unsound::Format(_)) => Finding::ok(check, "the files can be read"),
        Ok(issues) => match (look.snapshot, look.journal) {
            (None, None) => Finding::ok(
                check,
                format!("there is no {} yet; the first issue makes it", subject.path.display()),
            ),
            _ => Finding::ok(check, counted(issues.len(), "issue", "issues")),
        },
    }
}

fn valid(look: &Look, subject: &Subject) -> Finding {
    let check = Check::Valid;
    match &look.issues {
        Ok(_) if look.snapshot.is_none() => Finding::skipped(check, "there is no issues.json yet"),
        Ok(_) => Finding::ok(check, "issues.json is valid"),
        Err(Unsound::Format(error)) => {
            let file = quoted(&subject.path);
            let finding = Finding::problem(check, format!("issues.json, {error}"));
            finding.fix(format!(
                "mend it there (`${{EDITOR:-vi}} +{} {file}`), or {RESTORE}, or {SALVAGE}",
                error.line
            ))
        }
        Err(_) => Finding::skipped(check, "issues.json cannot be read"),
    }
}

fn ids(repeated: &[Repeated]) -> Finding {
    let check = Check::Ids;
    if repeated.is_empty() {
        return Finding::ok(check, "no two issues share an id");
    }
    let reason = format!(
        "{} more than one issue",
        counted(repeated.len(), "id is that of", "ids are those of")
    );
    let about = repeated.iter().map(|Repeated { id, lines, identical }| {
        let lines: Vec<_> = lines.iter().map(ToString::to_string).collect();
        let how = if *identical { "the same each time" } else { "with different contents" };
        format!("{id} at lines {}, {how}", lines.join(", "))
    });
    let finding = Finding::problem(check, reason).about(about);
    if repeated.iter().all(|it| it.identical) {
        finding
            .fix("`ait doctor --fix` leaves out what is there once more")
            .repaired_by(Repair::RemoveCopies)
    } else {
        finding.fix("give one of them another id, or remove it; `ait doctor --salvage NEW.json` keeps the one with the longer history")
    }
}

fn journal(look: &Look) -> Finding {
    let check = Check::Journal;
    let changes = |count: &usize| counted(*count, "change", "changes");
    match &look.standing {
        JournalStanding::Missing => Finding::ok(check, "there is none: issues.json has everything"),
        JournalStanding::Follows(count) | JournalStanding::Whole(count) => {
            Finding::ok(check, format!("whole, with {} after issues.json", changes(count)))
        }
        JournalStanding::Interrupted => Finding::warning(
            check,
            "a process died while it wrote issues.json; the next change goes on with that",
        )
        .fix("`ait save`, or `ait doctor --fix`")
        .repaired_by(Repair::Settle),
        JournalStanding::FollowsAnother(0) => Finding::ok(
            check,
            "somebody edited issues.json since it was written; the next change takes it over",
        ),
        JournalStanding::FollowsAnother(count) => Finding::warning(
            check,
            format!(
                "it follows another issues.json: somebody edited or replaced that one, and {} of the \
                 journal will be made to what is there now, where they fit",
                changes(count)
            ),
        )
        .fix("look at `ait list`; if it is right, `ait save` or `ait doctor --fix` settles it; else put the right issues.json back first")
        .repaired_by(Repair::Settle),
        JournalStanding::Torn { at, length_bytes } => Finding::warning(
            check,
            format!(
                "its last {length_bytes} bytes, from byte {at} on, were not written whole by a process that \
                 died; nobody was told of them"
            ),
        )
        .fix("the next change cuts them off and keeps them in a file; `ait doctor --fix` does so now")
        .repaired_by(Repair::Settle),
        JournalStanding::Damaged(at) => Finding::problem(
            check,
            format!("damaged at byte {at}: what stood there was saved once; only reads are possible"),
        )
        .fix(format!("{RESTORE}; without one, {SALVAGE}, and `ait restore NEW.json --force` goes on with it")),
        JournalStanding::Newer(at) => Finding::problem(
            check,
            format!("a newer version of ait wrote what begins at byte {at}; only reads are possible"),
        )
        .fix("update this ait"),
        JournalStanding::Misfit(why) => Finding::problem(check, why.clone())
            .fix(format!("{RESTORE}; without one, {SALVAGE}")),
        JournalStanding::Unreadable(why) => Finding::problem(check, format!("it cannot be read: {why}"))
            .fix("let this user read it"),
    }
}
