//! The three-way merge of an issue with the one that a remote has: what changes here, and what is to change there.
//!
//! Pure. Where both sides changed a field, the value here stays, and the tie of the issue has the other one.

use std::collections::BTreeSet;

use ait_domain::event::{
    CHANGE_ACTION, CLOSE_ACTION, COMPLETE_ACTION, REJECT_ACTION, REOPEN_ACTION, RETURN_ACTION,
};
use ait_domain::{
    AttributeValues, Comment, FieldValue, HistoryEntry, Issue, Label, Status, Timestamp, ValueField,
};

use crate::convert::Converted;
use crate::link::{self, Base, Link, digest};
use crate::marker;
use crate::remote::{Field, RemoteChange, State};
use crate::settings::{Kind, Push};

/// What the merge has to know of a sync.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    pub kind: Kind,
    /// What is sent. Nothing if the sync only reads.
    pub push: &'a BTreeSet<Push>,
    /// The name of the sync, which changes issues here.
    pub agent: &'a str,
    pub now: Timestamp,
}

/// What a merge leads to.
pub struct Plan {
    /// The issue as it is to be here, without its tie.
    pub issue: Issue,
    /// Its tie. What is to be sent is noted in it.
    pub link: Link,
    /// What is to change there.
    pub change: RemoteChange,
    /// The fields that `change` sets, with the values that are sent.
    sent: Vec<(Field, String)>,
}

impl Rules<'_> {
    /// Returns the value of a field of an issue here, as text.
    pub fn value(&self, issue: &Issue, field: Field) -> String {
        match field {
            Field::Status => self.kind.nearest(State::of(issue.status)).to_string(),
            field => own_value(issue, field),
        }
    }

    /// Returns the fields of the remote that have one value.
    fn with_one_value(&self) -> impl Iterator<Item = Field> + '_ {
        self.kind.fields().iter().copied().filter(|field| *field != Field::Labels)
    }

    /// Returns what of an issue waits to be sent, as far as the store tells.
    pub fn waiting(&self, issue: &Issue) -> Vec<Push> {
        match Link::of(issue, self.agent) {
            Some(link) if !link.key.is_empty() => self.changes(issue, &link),
            link => {
                let begins_here = issue.status.is_open()
                    && issue.external_ids().is_empty()
                    && issue.unknown_keys.get(link::KEY).is_none();
                let is_new = self.push.contains(&Push::New) && (link.is_some() || begins_here);
                is_new.then_some(Push::New).into_iter().collect()
            }
        }
    }

    fn changes(&self, issue: &Issue, link: &Link) -> Vec<Push> {
        let is_changed = |field: &Field| {
            let value = digest(&self.value(issue, *field));
            match (link.conflicts.get(field), link.base.get(field)) {
                (Some(theirs), _) => digest(theirs) == value,
                (None, Some(base)) => base.sent.is_some() || base.here != value,
                (None, None) => false,
            }
        };
        let has_labels = self.kind.fields().contains(&Field::Labels);
        let labels = has_labels && *issue.attributes.labels != link.labels;
        let changed = self.with_one_value().filter(is_changed).map(Push::of);
        let changed = changed.chain(labels.then_some(Push::Labels));
        let changed = changed.chain(self.assigns(issue, link).map(|_| Push::Assignee));
        let comments = !self.unsent(issue, link).is_empty();
        let changed = changed.chain(comments.then_some(Push::Comments));
        changed.filter(|what| self.push.contains(what)).collect()
    }

    /// Returns the comments of an issue that were not sent yet, with their marks.
    pub fn unsent<'i>(&self, issue: &'i Issue, link: &Link) -> Vec<(&'i Comment, String)> {
        if !self.push.contains(&Push::Comments) {
            return Vec::new();
        }
        let own = issue.comments.iter();
        let own = own.filter(|comment| link::remote_id(comment, self.agent).is_none());
        let marked = own.map(|comment| (comment, marker::comment_mark(issue.id, comment)));
        marked.filter(|(_, mark)| !link.sent_comments.contains(mark)).collect()
    }

    /// Returns whether the account is to become an assignee, or to be none any more; `None` if that is as it should be.
    fn assigns(&self, issue: &Issue, link: &Link) -> Option<bool> {
        // The account stays named once the work is finished.
        let is_held =
            issue.status.is_claimed() || link.is_assigned && issue.status != Status::Created;
        (self.push.contains(&Push::Assignee) && is_held != link.is_assigned).then_some(is_held)
    }

    /// Merges what the remote has into an issue.
    pub fn plan(&self, ours: &Issue, theirs: &Converted, link: Link) -> Plan {
        let change = RemoteChange { is_assigned: self.assigns(ours, &link), ..Default::default() };
        let mut plan = Plan { issue: ours.clone(), link, change, sent: Vec::new() };
        let mut taken = Vec::new();
        for field in self.with_one_value() {
            self.merge_value(field, ours, theirs, &mut plan, &mut taken);
        }
        if self.kind.fields().contains(&Field::Labels) {
            self.merge_labels(ours, theirs, &mut plan, &mut taken);
        }
        if !taken.is_empty() {
            let fields: Vec<&str> = taken.iter().map(|field: &Field| field.as_str()).collect();
            let action = format!("{CHANGE_ACTION}{}", fields.join(", "));
            plan.issue.history.push(HistoryEntry::new(self.now, self.agent, action));
        }
        if plan.issue.history.len() > ours.history.len() {
            plan.issue.modified_at = self.now.max(ours.modified_at);
        }
        plan
    }

    fn merge_value(
        &self,
        field: Field,
        ours: &Issue,
        theirs: &Converted,
        plan: &mut Plan,
        taken: &mut Vec<Field>,
    ) {
        let our = self.value(ours, field);
        let their = self.their_value(theirs, field);
        let known = plan.link.base.get(&field).map(|base| base.seen(&their));
        let is_changed_here = known.as_ref().is_none_or(|base| base.here != digest(&our));
        let is_changed_there = known.as_ref().is_none_or(|base| base.there() != digest(&their));
        let states = (field == Field::Status)
            .then(|| Some((State::from_word(&our)?, State::from_word(&their)?)))
            .flatten();
        // What is in progress there waits here until an agent claims it.
        let is_taken_in = known.is_none()
            && matches!(states, Some((State::Open | State::Active, State::Open | State::Active)));
        // What people ended there is no work any more, however far it is here.
        let is_over = states.is_some_and(|(ours, theirs)| theirs.has_ended() && !ours.has_ended());
        plan.link.conflicts.remove(&field);
        if our == their || is_taken_in {
            plan.link.base.insert(field, Base::of(&our, &their));
        } else if is_changed_here && is_changed_there && !is_over {
            plan.link.conflicts.insert(field, their);
        } else if is_changed_there {
            take(field, &their, &mut plan.issue, self.agent, self.now);
            if field != Field::Status {
                taken.push(field);
            }
            let here = self.value(&plan.issue, field);
            plan.link.base.insert(field, Base::of(&here, &their));
        } else if is_changed_here && self.push.contains(&Push::of(field)) {
            if let Some(base) = known {
                let sent = Some(digest(&our));
                plan.link.base.insert(field, Base { sent, ..base });
            }
            plan.send(field, our, ours);
        } else if let Some(base) = known {
            plan.link.base.insert(field, base);
        }
    }

    /// Returns the value of a field at the remote, as text.
    pub fn their_value(&self, theirs: &Converted, field: Field) -> String {
        match field {
            Field::Status => self.kind.nearest(theirs.state).to_string(),
            field => self.value(&theirs.issue, field),
        }
    }

    fn merge_labels(
        &self,
        ours: &Issue,
        theirs: &Converted,
        plan: &mut Plan,
        taken: &mut Vec<Field>,
    ) {
        let there = &theirs.issue.attributes.labels;
        let here = &ours.attributes.labels;
        let base = std::mem::replace(&mut plan.link.remote_labels, there.clone());
        let labels = moved(here, &base, there);
        let sent_before = moved(&plan.link.labels, &base, there);
        if labels != *here && labels.len() <= Label::MAX_COUNT {
            let attributes = AttributeValues::clone(&plan.issue.attributes);
            let labels = labels.clone();
            plan.issue.attributes = AttributeValues { labels, ..attributes }.into();
            plan.issue.set_unknown_namesakes_aside();
            taken.push(Field::Labels);
        }
        plan.link.labels = sent_before;
        if self.push.contains(&Push::Labels) {
            let Plan { link, change, .. } = plan;
            let is_new = |label: &&Label| !link.labels.contains(label) && !there.contains(label);
            let is_gone = |label: &&Label| !labels.contains(label) && there.contains(label);
            change.labels_add = labels.iter().filter(is_new).cloned().collect();
            change.labels_remove = link.labels.iter().filter(is_gone).cloned().collect();
            if change.labels_add.is_empty() && change.labels_remove.is_empty() {
                link.labels = labels;
            }
        }
    }
}

/// Returns the value of a field of an issue here, as text.
pub fn own_value(issue: &Issue, field: Field) -> String {
    match field {
        Field::Title => issue.title.clone(),
        Field::Description => issue.description.clone(),
        Field::Status => issue.status.to_string(),
        Field::Priority => FieldValue::of(ValueField::Priority, &issue.attributes).to_string(),
        Field::Labels => {
            let labels: Vec<&str> = issue.attributes.labels.iter().map(Label::as_str).collect();
            labels.join(", ")
        }
    }
}

/// Gives an issue here the value of the remote.
pub(crate) fn take(field: Field, value: &str, issue: &mut Issue, agent: &str, now: Timestamp) {
    match field {
        Field::Title => value.clone_into(&mut issue.title),
        Field::Description => value.clone_into(&mut issue.description),
        Field::Status => {
            if let Some(state) = State::from_word(value) {
                take_state(state, issue, agent, now);
            }
        }
        Field::Priority => {
            let mut attributes = AttributeValues::clone(&issue.attributes);
            if let Ok(value) = FieldValue::parse(ValueField::Priority, value) {
                value.set(&mut attributes);
            }
            issue.attributes = attributes.into();
        }
        Field::Labels => {}
    }
    issue.set_unknown_namesakes_aside();
}

/// Moves an issue to a state. An issue that an agent holds stays with it until it has ended.
fn take_state(state: State, issue: &mut Issue, agent: &str, now: Timestamp) {
    use Status::{Closed, Completed, Created, InProgress, Rejected};
    let reopens = issue.status.has_ended();
    let steps: &[(Status, &str)] = match (state, issue.status) {
        (State::Closed, _) => &[(Closed, CLOSE_ACTION)],
        (State::Rejected, _) => &[(Rejected, REJECT_ACTION)],
        (State::Resolved, _) if reopens => {
            &[(Created, REOPEN_ACTION), (Completed, COMPLETE_ACTION)]
        }
        (State::Resolved, Created | InProgress) => &[(Completed, COMPLETE_ACTION)],
        (State::Open | State::Active, _) if reopens => &[(Created, REOPEN_ACTION)],
        (State::Open | State::Active, Completed) => &[(Created, RETURN_ACTION)],
        _ => &[],
    };
    for (status, action) in steps {
        issue.status = *status;
        issue.history.push(HistoryEntry::new(now, agent, *action));
    }
    if issue.status.has_ended() {
        let attributes = AttributeValues::clone(&issue.attributes);
        issue.attributes = AttributeValues { parked: None, ..attributes }.into();
    }
}

/// Returns labels with what was added and removed between two others, ascending.
fn moved(labels: &[Label], before: &[Label], after: &[Label]) -> Vec<Label> {
    let set = |labels: &[Label]| labels.iter().cloned().collect::<BTreeSet<_>>();
    let mut moved = set(labels);
    moved.retain(|label| !before.contains(label) || after.contains(label));
    moved.extend(after.iter().filter(|label| !before.contains(label)).cloned());
    moved.into_iter().collect()
}

impl Plan {
    fn send(&mut self, field: Field, value: String, ours: &Issue) {
        match field {
            Field::Title => self.change.title = Some(value.clone()),
            Field::Description => self.change.description = Some(value.clone()),
            Field::Status => self.change.status = Some(State::of(ours.status)),
            Field::Priority => self.change.priority = Some(ours.attributes.priority),
            Field::Labels => {}
        }
        self.sent.push((field, value));
    }

    /// Returns true if there is something to change there.
    pub fn sends(&self) -> bool {
        self.change != RemoteChange::default()
    }

    /// Notes in a tie that the change was made, and what the remote has since.
    pub fn settle(&self, link: &mut Link, theirs: &Converted, rules: &Rules<'_>) {
        for (field, sent) in &self.sent {
            let their = rules.their_value(theirs, *field);
            link.base.insert(*field, Base::of(sent, &their));
        }
        let RemoteChange { labels_add, labels_remove, is_assigned, .. } = &self.change;
        let there = &theirs.issue.attributes.labels;
        let made = labels_add.iter().filter(|label| there.contains(label));
        let set: BTreeSet<Label> = link.remote_labels.iter().chain(made).cloned().collect();
        link.remote_labels =
            set.into_iter().filter(|label| !labels_remove.contains(label)).collect();
        let set: BTreeSet<Label> = link.labels.iter().chain(labels_add).cloned().collect();
        link.labels = set.into_iter().filter(|label| !labels_remove.contains(label)).collect();
        link.is_assigned = is_assigned.unwrap_or(link.is_assigned);
    }
}
