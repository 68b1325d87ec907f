//! Options of other programs, and the options of ait that mean the same.

use std::collections::VecDeque;

use clap::Command;

use super::{defined, is_option, split, status_of, takes_next, value};
use crate::options::ME;
use ait_domain::{Classifications, Status};
use ait_interchange::words;

/// Options, the commands where they are known (none: all that have what stands for them), and what stands for them. `$`
/// is the value. A value behind `=` is the only one that counts, and `*` any value.
const OPTIONS: &[(&str, &str, &str)] = &[
    // Text
    ("--title --name --summary --subject --prompt", "add", "$"),
    ("--name --summary --subject", "edit", "--title $"),
    ("--message -m --comment", "add", "--description $"),
    ("--body -b --desc --details --text", "add edit", "--description $"),
    ("--body-file=-", "add edit", "--description -"),
    ("--reason=completed -r=completed --reason=done", "close", ""),
    ("--wontfix --not-planned --rejected", "close", "--reject"),
    (
        "--message --comment --body -b --reason -r --resolution --text -t --note --notes --append-notes --why",
        "",
        "--message $",
    ),
    ("-c", "comment release return complete close reopen park", "--message $"),
    ("-m --message --body -b --text", "answer ask", "$"),
    // Attributes
    (
        "--kind --type -k --issue-type",
        "add edit list search bulk next ready wait",
        "--classification $",
    ),
    ("-t", "list search", "--classification $"),
    ("--bug --bugs", "", "--classification bug"),
    ("--feature --features --enhancement", "", "--classification feature"),
    ("--improvement --improvements --chore --task", "", "--classification improvement"),
    ("--prio --pri --importance --urgency --severity -y", "add edit list", "--priority $"),
    ("--labels --tag --tags --add-label --add-labels --add-tag", "", "--label $"),
    ("--remove-label --remove-labels --unlabel --remove-tag", "edit", "--label -$"),
    ("--remove-assignee=*", "edit", "--assign none"),
    ("--unassign", "edit", "--assign none"),
    ("--no-parent --remove-parent", "edit", "--parent none"),
    ("--type=blocks -t=blocks", "link", ""),
    ("--assignee --add-assignee --owner --assigned-to --assign-to --for", "", "--assign $"),
    ("--assign --assigned --assigned-to --owner", "", "--assignee $"),
    ("--unassigned --no-assignee", "", "--assignee none"),
    (
        "--depends-on --deps --dep --depends --blocker --needs --add-blocked-by",
        "add edit",
        "--blocked-by $",
    ),
    ("--parent-id --subtask-of --part-of", "", "--parent $"),
    // Lists
    ("--status --state -s", "search", "status:$"),
    ("--label --labels --tag -l", "search", "label:$"),
    ("--label-any", "list search bulk", "label:$"),
    ("--assignee", "search", "assignee:$"),
    ("--all -A", "search", ""),
    ("--state", "", "--status $"),
    ("--all -A", "", "--status all"),
    ("--closed", "", "--status closed"),
    ("--open --opened", "", "--status open"),
    ("--rejected", "", "--status rejected"),
    ("--in-progress --wip", "", "--status in_progress"),
    (
        "-L --max --max-count --max-results --per-page -P --lines --take --top --last --tail",
        "",
        "--limit $",
    ),
    ("--order-by --order --sort-by", "", "--sort $"),
    ("--search --query -q --grep -S", "list search", "$"),
    ("--author --creator --created-by --filed-by --reporter", "list search bulk", "filer:$"),
    ("--created-after --created-since", "list search bulk", "created:>=-$"),
    ("--created-before", "list search bulk", "created:<-$"),
    ("--updated-after --changed-after --updated-since --since", "list search bulk", "changed:>=-$"),
    ("--updated-before --changed-before", "list search bulk", "changed:<-$"),
    ("--user --by --author", "log", "--agent $"),
    ("--oneline --graph --stat --decorate", "log", ""),
    ("--columns", "list", "--fields $"),
    ("--rules --ide --agent", "init", "--client $"),
    // Who and which
    ("--as --actor --user", "", "--agent $"),
    ("--name --assignee --holder", "next claim review complete release return close", "--agent $"),
    (
        "--id --issue",
        "show tree claim release return complete close reopen edit comment park unpark ask answer worktree merge",
        "$",
    ),
    ("--for", "park", "--until $"),
    ("-p", "ait serve mcp open", "--port $"),
    // Output
    ("-o --output --out --to", "export backup", "$"),
    ("-i --input --from", "import restore", "$"),
    (
        "--format=json -o=json --output=json -O=json -F=json --output-format=json --output-style=json --raw",
        "",
        "--json",
    ),
    ("--comments --history --full --long --all --verbose", "show", ""),
    (
        "--no-input --no-pager --plain --pretty --no-interactive --non-interactive --no-edit --no-editor",
        "",
        "",
    ),
];

const STATUSES: [&str; 3] = ["-s", "--status", "--state"];
const REASONS: [&str; 3] = ["--reason", "-r", "--resolution"];

/// How many words a line may have after its options were replaced; more are left as they are.
const MAX_WORDS: usize = 1_000;

/// Replaces the options that `command` does not have by those of ait. `words` are those behind the command.
pub(super) fn replaced(words: &[String], command: &Command) -> Vec<String> {
    let mut rest: VecDeque<String> = words.iter().cloned().collect();
    let mut replaced = Vec::new();
    while let Some(word) = rest.pop_front() {
        if word == "--" || replaced.len() > MAX_WORDS {
            replaced.push(word);
            break;
        }
        if !is_option(&word) {
            replaced.push(word);
            continue;
        }
        // As in `ls -la`. It would be a label.
        if command.get_name() == "list" && matches!(&*word, "-la" | "-al") {
            replaced.extend(["--status".to_owned(), "all".to_owned()]);
            continue;
        }
        // As in `git log -5`.
        if word[1..].chars().all(|one| one.is_ascii_digit())
            && defined("--limit", command).is_some()
        {
            replaced.extend(["--limit".to_owned(), word[1..].to_owned()]);
            continue;
        }
        let (option, attached) = split(&word, command);
        let option = option.to_owned();
        let attached = attached.map(str::to_owned);
        if option == "--json" {
            replaced.extend(json(&word, &mut rest, command));
        } else if let Some(arg) = defined(&option, command) {
            match attached {
                // Alone, such a value would look like an option.
                Some(attached) if attached.starts_with('-') => replaced.push(word),
                Some(attached) => {
                    replaced.extend([option, value(arg, &attached)]);
                }
                None => {
                    replaced.push(word);
                    let next = if takes_next(arg) { rest.pop_front() } else { None };
                    replaced.extend(next.map(|next| value(arg, &next)));
                }
            }
        } else {
            let given = attached.as_deref().or(rest.front().map(String::as_str));
            match meaning(&option, given, command) {
                Some((means, takes_value)) => {
                    if takes_value && attached.is_none() {
                        rest.pop_front();
                    }
                    means.into_iter().rev().for_each(|word| rest.push_front(word));
                }
                None => replaced.push(word),
            }
        }
    }
    replaced.extend(rest);
    without_first_of_two_messages(replaced)
}

/// Leaves out a reason that is the first of two messages: the second one says more.
fn without_first_of_two_messages(mut words: Vec<String>) -> Vec<String> {
    let messages: Vec<_> =
        (0..words.len()).filter(|at| words[*at] == "--message" || words[*at] == "-m").collect();
    if let [first, _] = messages[..]
        && words.get(first + 1).is_some_and(|reason| words::means_rejected(reason))
    {
        words.drain(first..first + 2);
    }
    words
}

/// Returns what stands for an option, and whether that has its value.
fn meaning(option: &str, given: Option<&str>, command: &Command) -> Option<(Vec<String>, bool)> {
    if option == "-t" && command.get_name() == "add" {
        let given = given?.to_owned();
        let is_kind =
            matches!(words::classification_of(&given, &Classifications::default()), Ok(Some(_)));
        let kind = is_kind.then(|| "--classification".to_owned());
        return Some((kind.into_iter().chain([given]).collect(), true));
    }
    // `--reason "not planned"`, as gh has it.
    if REASONS.contains(&option) && command.get_name() == "close" && words::means_rejected(given?) {
        let words = ["--reject", "--message", given?];
        return Some((words.map(str::to_owned).to_vec(), true));
    }
    // A new issue has this status anyway. In jira, -s is the summary.
    if STATUSES.contains(&option) && command.get_name() == "add" {
        return match status_of(given?) {
            Some(Status::Created) => Some((Vec::new(), true)),
            None if option == "-s" => Some((vec![given?.to_owned()], true)),
            _ => None,
        };
    }
    let fits = |one: &str| match one.split_once('=') {
        Some((name, value)) => {
            name == option
                && given.is_some_and(|given| value == "*" || words::squeezed(given) == value)
        }
        None => one == option,
    };
    let (options, _, means) = OPTIONS.iter().find(|(options, commands, means)| {
        options.split(' ').any(fits) && is_known(commands, means, command)
    })?;
    let has_value = means.contains('$');
    let names_value = options.split(' ').any(|one| fits(one) && one.contains('='));
    let words = means.split(' ').filter(|word| !word.is_empty());
    let words: Vec<_> = match given {
        _ if !has_value => words.map(str::to_owned).collect(),
        Some(given) => words.map(|word| with_value(word, given)).collect(),
        None => return None,
    };
    Some((words, has_value || names_value))
}

/// Returns a word with the value in the place of `$`. Each label of several is removed by a sign of its own.
fn with_value(word: &str, given: &str) -> String {
    match word {
        "-$" => {
            given.split(',').map(|one| format!("-{}", one.trim())).collect::<Vec<_>>().join(",")
        }
        word if word.ends_with(":$") && given.eq_ignore_ascii_case("me") => word.replace('$', ME),
        word => word.replace('$', given),
    }
}

/// Returns true if a row of the table counts for a command.
fn is_known(commands: &str, means: &str, command: &Command) -> bool {
    let option = means.split(' ').next().unwrap_or_default();
    match commands {
        "" => option.is_empty() || defined(option, command).is_some(),
        commands => commands.split(' ').any(|one| one == command.get_name()),
    }
}

/// Returns the words for `--json`. In gh it has the fields to print.
fn json(word: &str, rest: &mut VecDeque<String>, command: &Command) -> Vec<String> {
    let has_fields = defined("--fields", command).is_some();
    let attached = word.strip_prefix("--json=").map(str::to_owned);
    let is_list = |next: &&String| {
        next.contains(',') && next.split(',').all(|one| one.chars().all(char::is_alphanumeric))
    };
    let fields = match attached {
        Some(fields) => Some(fields),
        None if rest.front().as_ref().is_some_and(is_list) => rest.pop_front(),
        None => None,
    };
    match fields {
        Some(fields) if has_fields && fields != "true" => {
            let fields: Vec<_> = fields.split(',').map(field).collect();
            vec!["--fields".to_owned(), fields.join(",")]
        }
        _ => vec!["--json".to_owned()],
    }
}

/// Returns the field that a field of gh means.
fn field(name: &str) -> &str {
    match name {
        "number" => "id",
        "body" => "description",
        "state" => "status",
        "assignees" => "assignee",
        "updatedAt" => "modifiedAt",
        name => name,
    }
}
