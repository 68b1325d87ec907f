//! What becomes of an `issues.json` that somebody edited, or that git replaced, while a journal follows it.
//!
//! A process that has followed the journal so far knows what the store held before, and [merges](super::merge)
//! the two; the next commit writes the outcome. So nothing that was answered is undone, whatever was put in the
//! place of the file. What else the person changed is told as events, by each process that knew the state
//! before. When the outcome is not what the person saved, that is kept beside it as `issues.json.hand-<time>`.
//!
//! A process that has begun later knows of the state before only what the journal tells. It takes the file as
//! it is and makes those changes that it lacks, but leaves the taking over to those who know more, if there are
//! any; see [`Others`](super::Others).

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::fs::{FileSystem, Stamp};
use super::merge::{Upheld, differences, merge};
use super::replica::{continues, follow};
use super::session::{Interrupted, Session, keep_copy, timestamp};
use super::view::{Journal, Snapshot, Standing, View};
use crate::store::IssueStore;
use crate::store::changes::Recent;

/// An edit that no commit has taken over yet.
#[derive(Clone, Debug)]
pub(super) struct Edit {
    /// What the store held before it; `None` when this process does not know that.
    pub before: Option<View>,
    pub upheld: Upheld,
}

/// What this process knows the store to hold up to the end of a journal with these bytes; `None` when it has
/// not followed it so far.
pub(super) fn known(
    fs: &dyn FileSystem,
    before: Option<&View>,
    journal: &Arc<Journal>,
    bytes: &[u8],
) -> io::Result<Option<View>> {
    let Some((own, mut known)) = before.and_then(last_settled) else { return Ok(None) };
    let from = |at: u64| usize::try_from(at).ok().and_then(|at| bytes.get(at..));
    let follows = if own.epoch() == journal.epoch() {
        from(known.end).is_some_and(|behind| follow(&mut known, &own, behind))
    } else {
        let rest = fs.read_at(&own.open.file, known.end)?;
        follow(&mut known, &own, &rest)
            && continues(journal, &own, &known)
            && from(journal.begin).is_some_and(|behind| known.go_on(journal, behind))
    };
    known.journal = Some(Arc::clone(journal));
    Ok(follows.then_some(known))
}

/// The same where the journal was removed too: it is still open here.
pub(super) fn known_of_removed(
    fs: &dyn FileSystem,
    before: Option<&View>,
) -> io::Result<Option<View>> {
    let Some((own, mut known)) = before.and_then(last_settled) else { return Ok(None) };
    let rest = fs.read_at(&own.open.file, known.end)?;
    // What cannot be followed was never answered, or was known before.
    let _ = follow(&mut known, &own, &rest);
    Ok(Some(known))
}

/// The last state without an edit, and its journal.
fn last_settled(view: &View) -> Option<(Arc<Journal>, View)> {
    let settled = match &view.edit {
        Some(edit) => edit.before.as_ref()?,
        None => view,
    };
    let is_damaged = matches!(settled.standing, Standing::Damaged { .. });
    let journal = settled.journal.clone().filter(|_| !is_damaged)?;
    Some((journal, settled.clone()))
}

/// The state that an edited file and what was known before make together. `found` is what the file alone
/// says, `before` what this process has told its readers last, and `journal` how its journal was found.
pub(super) fn merged(found: View, known: View, before: &View, journal: Option<Stamp>) -> View {
    let (issues, upheld) = merge(&found.issues, &known.issues);
    let recent = retold(before, &known, &issues, found.snapshot.map(|snapshot| snapshot.stamp));
    View {
        issues,
        seq: known.seq,
        journal: known.journal.clone().filter(|_| journal.is_some()),
        end: known.end,
        // Is there anything to be written that the file lacks?
        unsaved: if upheld.is_nothing() { 0 } else { known.unsaved.max(1) },
        standing: Standing::Unsettled { edited: true, journal },
        recent: recent.unwrap_or_else(|| found.recent.clone()),
        edit: Some(Arc::new(Edit { before: Some(known), upheld })),
        ..found
    }
}

/// The state that was known before, where `issues.json` is the one that its journal follows, or is that again.
pub(super) fn without(known: View, before: &View, snapshot: Snapshot, base_seq: u64) -> View {
    let recent = retold(before, &known, &known.issues, Some(snapshot.stamp));
    // What was there in between may have had more of the changes.
    let unsaved = known.seq - base_seq;
    let standing = Standing::Settled;
    let mut same = View { snapshot: Some(snapshot), unsaved, standing, ..known };
    match recent {
        Some(recent) => same.recent = recent,
        None => same.recent.interrupt(),
    }
    same
}

/// What has happened up to a state that another process has made of an edit, which its journal begins with;
/// `None` when this one does not know what was there before.
pub(super) fn retold_by_another(
    fs: &dyn FileSystem,
    before: Option<&View>,
    journal: &Journal,
    issues: &IssueStore,
) -> io::Result<Option<Recent>> {
    let Some(before) = before.filter(|_| journal.header.edited) else { return Ok(None) };
    let is_next = |(own, _): &(Arc<Journal>, View)| journal.header.follows == Some(own.epoch());
    if last_settled(before).filter(is_next).is_none() {
        return Ok(None);
    }
    let stamp = journal.header.base_stamp;
    let known = known_of_removed(fs, Some(before))?;
    Ok(known.and_then(|known| retold(before, &known, issues, stamp)))
}

/// What happened up to these issues, the differences told as events of the time of a file; `None` when
/// events cannot tell it.
fn retold(before: &View, known: &View, issues: &IssueStore, file: Option<Stamp>) -> Option<Recent> {
    let told = if before.edit.is_some() { before } else { known };
    let events = differences(&told.issues, issues, timestamp(file?.modified()))?;
    let mut recent = told.recent.clone();
    events.into_iter().for_each(|event| recent.push(event));
    Some(recent)
}

/// Keeps the `issues.json` of an edited state, before something else takes its place.
pub(super) fn keep(session: &Session<'_>, view: &View) -> Result<PathBuf, Interrupted> {
    let (fs, place) = (session.fs(), &session.place);
    let kept = place.by_hand(&timestamp(fs.now()).to_string());
    let found = keep_copy(fs, &place.snapshot, &kept, place)?;
    if found != view.snapshot.map(|snapshot| snapshot.stamp) {
        return Err(Interrupted::Overtaken);
    }
    Ok(kept)
}

/// Says what has become of an edit that was taken over.
pub(super) fn tell(view: &View, edit: &Edit, kept: Option<&PathBuf>) {
    let path = view.place.snapshot.display();
    let Some(kept) = kept.map(|kept| kept.display()) else {
        tracing::info!("{path} was edited by hand: that is taken over");
        return;
    };
    let Upheld { dropped, shortened } = &edit.upheld;
    let of =
        |count: usize| if count == 1 { "1 issue".to_owned() } else { format!("{count} issues") };
    let mut done = Vec::new();
    if !shortened.is_empty() {
        done.push(format!("{} kept the work that the edited file lacked", of(shortened.len())));
    }
    if !dropped.is_empty() {
        done.push(format!("{} that it did not have stayed", of(dropped.len())));
    }
    if done.is_empty() {
        done.push("what agents had done meanwhile was added to it".to_owned());
    }
    let done = done.join(", and ");
    tracing::warn!(
        "{path} was edited by hand while agents worked: {done}; the file as it was found is {kept}"
    );
}
