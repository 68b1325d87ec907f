//! `ait sync add`: asks for a sync, tries its connection, and writes it to `ait.toml`.

use std::collections::BTreeMap;
use std::env;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use serde_json::{Value, json};

use super::confirmation::{ask, can_ask};
use super::options::{Format, WrongUsage};
use super::progress::with_progress;
use super::{CommandContext, ExitStatus};
use ait_domain::text::counted;
use ait_query::is_saved_name;
use ait_sync::remote::Listing;
use ait_sync::{Kind, Push, SyncSettings};

/// The arguments of `ait sync add`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Asks for what is not given, reads the first issues to see whether the connection works, and only then\n\
    writes the table [sync.NAME] to ait.toml. The token is in GITHUB_TOKEN, AZURE_DEVOPS_TOKEN or BACKLOG_API_KEY, or in\n\
    the file that --token-file names; it is written nowhere. For azure, `az login` is enough.\n\n\
    Examples:\n  \
    ait sync add\n  \
    ait sync add company --kind github --project acme/shop --pull 'state:open label:agents'"
)]
pub struct Arguments {
    /// What to call it
    name: Option<String>,
    /// The kind of the remote: azure, backlog or github
    #[arg(long)]
    kind: Option<Kind>,
    /// The project there, such as acme/shop
    #[arg(long)]
    project: Option<String>,
    /// The address of the remote; github needs none
    #[arg(long)]
    url: Option<String>,
    /// What comes in, in the words of the remote [default: all open issues]
    #[arg(long, value_name = "QUERY")]
    pull: Option<String>,
    /// What goes back [default: status,comments]
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    push: Vec<Push>,
    /// A file with the token, which only its owner may read
    #[arg(long, value_name = "FILE")]
    token_file: Option<String>,
    /// How often `ait serve` runs it by itself, such as 5m
    #[arg(long, value_name = "TIME")]
    every: Option<String>,
    #[command(flatten)]
    format: Format,
}

impl Arguments {
    /// Returns what is given, or asks for it.
    fn asked(&self, given: Option<&str>, question: &str) -> Result<String> {
        match given {
            Some(given) => Ok(given.to_owned()),
            None if can_ask(self.format.json) => Ok(ask(question)?.trim().to_owned()),
            None => bail!(WrongUsage(
                "nobody can be asked here: give a NAME, --kind, --project and, but for github, --url"
            )),
        }
    }

    /// Returns the keys of the table with their values.
    ///
    /// # Errors
    ///
    /// Something is missing, and there is no person to ask.
    fn table(&self) -> Result<Vec<(&'static str, Value)>> {
        let asked = |given: Option<&str>, question: &str| self.asked(given, question);
        let kinds = Kind::words().collect::<Vec<_>>().join(", ");
        let kind = asked(self.kind.map(Kind::as_str), &format!("Kind ({kinds}): "))?;
        let project = asked(self.project.as_deref(), "Project there, such as acme/shop: ")?;
        let mut table = vec![("kind", json!(kind)), ("project", json!(project))];
        let needs_url = Kind::from_word(&kind).is_some_and(|kind| kind != Kind::GitHub);
        if needs_url || self.url.is_some() {
            let url = asked(self.url.as_deref(), "Address, such as https://example.backlog.com: ")?;
            table.push(("url", json!(url)));
        }
        table.extend(self.pull.as_ref().map(|pull| ("pull", json!(pull))));
        if !self.push.is_empty() {
            let words: Vec<_> = self.push.iter().map(|push| push.as_str()).collect();
            table.push(("push", json!(words)));
        }
        table.extend(self.token_file.as_ref().map(|file| ("token-file", json!(file))));
        table.extend(self.every.as_ref().map(|every| ("every", json!(every))));
        Ok(table)
    }
}

pub(super) async fn run(arguments: &Arguments, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let name = arguments.asked(arguments.name.as_deref(), "Name of the sync, such as company: ")?;
    if !is_saved_name(&name) {
        bail!(
            "{name:?} is no name for a sync: use a letter and then at most 39 of a-z, 0-9, - and _"
        );
    }
    if context.syncs.settings.iter().any(|sync| sync.name == name) {
        bail!("ait.toml has a [sync.{name}] already: choose another name, or edit that");
    }
    let table = arguments.table()?;
    let texts = |value: &Value| match value {
        Value::Array(items) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        value => vec![value.as_str().unwrap_or_default().to_owned()],
    };
    let values: BTreeMap<_, _> =
        table.iter().map(|(key, value)| ((*key).to_owned(), texts(value))).collect();
    let duration = |text: &str| humantime::parse_duration(text).ok();
    let settings = SyncSettings::new(&name, &values, duration).map_err(|why| anyhow!(why))?;
    let environment = |name: &str| env::var(name).ok();
    let project = context.syncs.project;
    let remote = ait_sync::connect(&settings, &environment, project)
        .map_err(|why| anyhow!("{why}. Nothing was written"))?;
    let read = with_progress("reading the first issues", remote.list(Listing::default())).await;
    let page = read.context("the connection does not work; nothing was written")?;
    let plan = ait_setup::plan_sync(&project.join("ait.toml"), &name, &table)?;
    ait_setup::apply(&plan.changes, project).complete(plan.changes.len())?;
    let count = page.issues.iter().filter(|issue| issue.is_wanted).count();
    let more = if page.next.is_some() { " and more" } else { "" };
    let found = counted(count, "issue", "issues");
    if arguments.format.json {
        context
            .output
            .json(&json!({ "name": name, "issues": count, "more": page.next.is_some() }))?;
    } else {
        context.output.line(format_args!(
            "added [sync.{name}] to ait.toml; {found}{more} would come in: `ait sync {name} --dry-run` shows what would \
             be done"
        ))?;
    }
    Ok(ExitStatus::Done)
}
