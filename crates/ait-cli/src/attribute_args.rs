//! Parsers of the attributes that users type, and the options for those of a new issue.

use anyhow::Result;
use chrono::Local;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use super::options::{GivenKind, WrongUsage, classification, issue_ref, with_command_hints};
use ait_domain::{FieldValue, IssueChange, IssueRef, Label, LinkKind, Priority, ValueField};
use ait_interchange::attributes::label_of;
use ait_query::time_arg;
use ait_tracker::Tracker;

/// The word that removes a value.
const NONE: &str = "none";

/// The kind of work and the attributes that an issue is to get.
#[derive(Clone, Debug, Args)]
pub(super) struct ChangedAttributes {
    /// The new kind of work
    #[arg(short, long, value_name = "KIND", value_parser = classification(), ignore_case = true)]
    classification: Option<GivenKind>,

    #[command(flatten)]
    values: ValueArgs<true>,

    /// A label to add (+ui) or to remove (-ui), or several separated by commas
    #[arg(
        short,
        long = "label",
        value_name = "LABEL",
        value_delimiter = ',',
        allow_hyphen_values = true,
        value_parser = label_change
    )]
    labels: Vec<LabelChange>,

    /// The issue of which this one is a part; `none` removes it
    #[arg(long, value_name = "ID", value_parser = or_none(issue_ref))]
    parent: Option<OrNone<IssueRef>>,

    /// All issues that must end first, separated by commas; `none` removes them
    #[arg(long, value_name = "ID", value_delimiter = ',', value_parser = or_none(issue_ref))]
    blocked_by: Option<Vec<OrNone<IssueRef>>>,
}

impl ChangedAttributes {
    /// Returns the change that the options describe.
    pub fn change(&self, tracker: &Tracker) -> Result<IssueChange> {
        let mut change = IssueChange {
            classification: self.classification.map(|kind| kind.used_by(tracker)),
            values: self.values.0.clone(),
            parent: self.parent.clone().map(|OrNone(parent)| parent),
            ..IssueChange::default()
        };
        for label in &self.labels {
            match label.clone() {
                LabelChange::Add(label) => change.labels_add.push(label),
                LabelChange::Remove(label) => change.labels_remove.push(label),
            }
        }
        if let Some(blockers) = &self.blocked_by {
            let ids: Vec<_> = blockers.iter().filter_map(|OrNone(id)| id.clone()).collect();
            if !ids.is_empty() && ids.len() < blockers.len() {
                return Err(WrongUsage("--blocked-by takes ids or none, not both").into());
            }
            change.blocked_by = Some(ids);
        }
        Ok(change)
    }
}

/// The attributes of a new issue.
#[derive(Clone, Debug, Args)]
pub(super) struct NewAttributes {
    #[command(flatten)]
    values: ValueArgs<false>,

    /// A label, or several separated by commas
    #[arg(
        short,
        long = "label",
        value_name = "LABEL",
        value_delimiter = ',',
        value_parser = label
    )]
    labels: Vec<Label>,

    /// The issue of which the new one is a part
    #[arg(long, value_name = "ID", value_parser = issue_ref)]
    parent: Option<IssueRef>,

    /// The issue that must end first, or several separated by commas
    #[arg(long, value_name = "ID", value_delimiter = ',', value_parser = issue_ref)]
    blocked_by: Vec<IssueRef>,

    /// The issue from which the new one follows; the two are linked as related
    #[arg(long, value_name = "ID", value_parser = issue_ref)]
    from: Option<IssueRef>,
}

impl NewAttributes {
    /// Returns the change that gives an issue these attributes.
    pub fn change(&self) -> IssueChange {
        let blockers = self.blocked_by.iter().map(|id| (LinkKind::BlockedBy, id.clone()));
        let related = self.from.iter().map(|id| (LinkKind::Related, id.clone()));
        IssueChange {
            values: self.values.0.clone(),
            labels_add: self.labels.clone(),
            parent: self.parent.clone().map(Some),
            links_add: blockers.chain(related).collect(),
            ..IssueChange::default()
        }
    }
}

/// The fields with one value, as options. Those of a change can also remove the value.
#[derive(Clone, Debug)]
struct ValueArgs<const IS_CHANGE: bool>(Vec<FieldValue>);

impl<const IS_CHANGE: bool> Args for ValueArgs<IS_CHANGE> {
    fn augment_args(command: Command) -> Command {
        command.args(ValueField::ALL.iter().map(|field| option::<IS_CHANGE>(*field)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const IS_CHANGE: bool> FromArgMatches for ValueArgs<IS_CHANGE> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |field: &ValueField| matches.get_one::<FieldValue>(field.as_str()).cloned();
        Ok(Self(ValueField::ALL.iter().filter_map(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn option<const IS_CHANGE: bool>(field: ValueField) -> Arg {
    let end = if IS_CHANGE { "; `none` removes it" } else { "" };
    let parse = move |text: &str| match text {
        NONE if IS_CHANGE => Ok(FieldValue::none(field)),
        text => field_value(field, text),
    };
    let option = Arg::new(field.as_str())
        .value_name(field.value_name())
        .help(format!("{}{end}", field.meaning()))
        .value_parser(parse);
    match field {
        ValueField::Priority => option.short('p').long(field.as_str()),
        ValueField::Assignee => option.long("assign"),
        field => option.long(field.as_str()),
    }
}

fn field_value(field: ValueField, text: &str) -> Result<FieldValue, String> {
    with_command_hints(time_arg::field_value(field, text, &Local))
}

/// A value, or none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct OrNone<T>(pub Option<T>);

/// Lets a parser accept `none`, too.
pub(super) fn or_none<T>(
    parse: impl Fn(&str) -> Result<T, String> + Clone,
) -> impl Fn(&str) -> Result<OrNone<T>, String> + Clone {
    move |text| match text {
        NONE => Ok(OrNone(None)),
        text => parse(text).map(|value| OrNone(Some(value))),
    }
}

/// A change of the labels of an issue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum LabelChange {
    Add(Label),
    Remove(Label),
}

/// Parses `+ui`, `ui` and `-ui`.
pub(super) fn label_change(text: &str) -> Result<LabelChange, String> {
    match text.strip_prefix('-') {
        None if text == NONE => {
            Err("to remove a label, name it, as in -l -ui; +none adds a label of that name"
                .to_owned())
        }
        Some(removed) => label(removed).map(LabelChange::Remove),
        None => label(text.strip_prefix('+').unwrap_or(text)).map(LabelChange::Add),
    }
}

pub(super) fn priority(text: &str) -> Result<Priority, String> {
    with_command_hints(text.parse())
}

pub(super) fn label(text: &str) -> Result<Label, String> {
    // Names of other trackers become labels as in an import.
    let text = text.trim();
    label_of(text).map_or_else(|| with_command_hints(text.parse()), Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_added_or_removed_by_their_sign() {
        let ui: Label = "ui".parse().unwrap();
        for (text, expected) in [
            ("ui", Some(LabelChange::Add(ui.clone()))),
            ("+ui", Some(LabelChange::Add(ui.clone()))),
            ("-ui", Some(LabelChange::Remove(ui))),
            ("--ui", None),
            ("none", None),
            ("+", None),
        ] {
            assert_eq!(label_change(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn none_removes_a_value() {
        let parse = or_none(priority);
        assert_eq!(parse("none"), Ok(OrNone(None)));
        assert_eq!(parse("p1"), Ok(OrNone("1".parse().ok())));
        assert!(parse("nobody").unwrap_err().contains("0 (first) to 4 (last)"));
    }
}
