//! Shell completions: the scripts of `clap_complete`, which also complete ids of issues, the names of saved queries,
//! labels, agents and the values of query terms, in bash, zsh and fish.

use clap::{Arg, Command};
use clap_complete::Shell;

use ait_setup::PROGRAM;

/// What a value is completed with: its placeholder in a generated script, until the call that lists the values replaces
/// it, and what the call lists.
type Completed = (&'static str, &'static str);
const IDS: Completed = ("AIT_ISSUE_IDS", "");
const LABELS: Completed = ("AIT_LABELS", " labels");
const AGENTS: Completed = ("AIT_AGENTS", " agents");
const ALL: [Completed; 3] = [IDS, LABELS, AGENTS];
/// The options whose values are agents.
const OF_AGENTS: [&str; 5] = ["agent", "assign", "assignee", "by", "holder"];

/// The functions that list the ids for a word that the user has begun, from the store that the line names.
const BASH: &str = r#"_ait_issue_ids() {
    local at file store=() word="${COMP_LINE:0:COMP_POINT}"
    # bash takes the : of label:ui for a word.
    word="${word##*[[:blank:]\"\']}"
    [[ "${word}" == *"$1" ]] || word="$1"
    local before="${word%"$1"}"
    for ((at = 1; at < COMP_CWORD; at++)); do
        case "${COMP_WORDS[at]}" in
            --file) file="${COMP_WORDS[at+1]}" ;;
            --file=*) file="${COMP_WORDS[at]#--file=}" ;;
            *) continue ;;
        esac
        # bash takes the = of --file=PATH for a word, and keeps quotes.
        [[ "${file}" == "=" ]] && file="${COMP_WORDS[at+2]}"
        file="${file#[\"\']}"
        file="${file%[\"\']}"
        file="${file//\\ / }"
        store=(--file "${file/#\~/$HOME}")
    done
    ait ${store[@]+"${store[@]}"} issue-ids ${2:+--kind "$2"} -- "${word}" 2>/dev/null |
        while read -r at; do echo "${at#"${before}"}"; done
}

"#;
const FISH: &str = r#"function __ait_issue_ids
    set -l store
    set -l words (commandline -opc)
    for at in (seq (count $words))
        switch $words[$at]
            case --file
                set store --file (string replace -r '^~/' $HOME/ -- $words[(math $at + 1)])
            case '--file=*'
                set store $words[$at]
        end
    end
    set -q argv[1] && set argv --kind $argv[1]
    ait $store issue-ids --titles $argv -- (commandline -ct) 2>/dev/null
end

"#;
const ZSH: &str = r#"
(( $+functions[_ait_issue_ids] )) || {
_ait_listed() {
    local -a store line
    local at
    line=("${(@Q)${(z)LBUFFER}}")
    for (( at = 1; at < $#line; at++ )); do
        case $line[at] in
            --file) store=(--file "${line[at+1]/#\~/$HOME}") ;;
            --file=*) store=($line[at]) ;;
        esac
    done
    ait $store issue-ids --titles $@ -- "$PREFIX" 2>/dev/null
}
_ait_issue_ids() {
    local -a issues
    issues=(${(f)"$(_ait_listed)"})
    # A term of a query, such as label:ui.
    [[ $PREFIX == *:* ]] && { compadd -- ${issues%%$'\t'*}; return }
    issues=(${issues/$'\t'/:})
    _describe -t issues issue issues
}
_ait_labels() { compadd -- ${(f)"$(_ait_listed --kind labels)"} }
_ait_agents() { compadd -- ${(f)"$(_ait_listed --kind agents)"} }
}
"#;

/// Returns what the value of an argument is completed with.
fn completed(arg: &Arg) -> Option<Completed> {
    let name = arg.get_value_names().and_then(<[_]>::first)?;
    match name.as_str() {
        "ID" | "QUERY" => Some(IDS),
        "LABEL" => Some(LABELS),
        "NAME" if arg.get_long().is_some_and(|long| OF_AGENTS.contains(&long)) => Some(AGENTS),
        _ => None,
    }
}

/// Returns the call of a script for bash.
fn bash_call(kind: &str) -> String {
    format!(r#"$(_ait_issue_ids "${{cur}}"{kind})"#)
}

/// Returns the call of a script for fish.
fn fish_call(kind: &str) -> String {
    format!("'(__ait_issue_ids{kind})'")
}

/// Generates the script for a shell; `line` is the whole command line definition.
pub(super) fn script(shell: Shell, line: &Command) -> String {
    // The generators would offer hidden commands.
    let commands = line.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    let commands = commands.map(|command| {
        command.mut_args(|arg| match completed(&arg) {
            Some((placeholder, _)) => arg.value_parser([placeholder]),
            None => arg,
        })
    });
    let visible = Command::new(PROGRAM).version(env!("CARGO_PKG_VERSION"));
    let mut line = visible.args(line.get_arguments().cloned()).subcommands(commands);
    let mut script = Vec::new();
    // The generator panics on a closed pipe, so generate into memory.
    clap_complete::generate(shell, &mut line, PROGRAM, &mut script);
    let script = String::from_utf8_lossy(&script);
    match shell {
        Shell::Bash => BASH.to_owned() + &script.lines().map(bash_line).collect::<String>(),
        Shell::Zsh => {
            // The first line tells zsh which command the script completes.
            let (head, rest) = script.split_once('\n').unwrap_or_default();
            let replace = |rest: String, (placeholder, _): &Completed| {
                rest.replace(
                    &format!("({placeholder})"),
                    &format!("_{}", placeholder.to_lowercase()),
                )
            };
            // Two colons would end the options at the first argument.
            let rest = rest.replace("\n'*::", "\n'*:");
            let rest = ALL.iter().fold(rest, replace);
            format!("{head}\n{ZSH}{rest}")
        }
        Shell::Fish => {
            let replace = |script: String, (placeholder, kind): &Completed| {
                script.replace(&format!("\"{placeholder}\\t''\""), &fish_call(kind))
            };
            let mut script = ALL.iter().fold(script.into_owned(), replace);
            let takes_id = |command: &&Command| {
                command.get_positionals().any(|arg| completed(arg) == Some(IDS))
            };
            for command in line.get_subcommands().filter(takes_id) {
                let condition = format!("__fish_ait_using_subcommand {}", command.get_name());
                let ids = fish_call("");
                script.push_str(&format!("complete -c ait -n \"{condition}\" -f -a {ids}\n"));
            }
            FISH.to_owned() + &script
        }
        _ => script.into_owned(),
    }
}

/// Replaces the placeholder in a line of the script for bash.
///
/// The list of what a command takes has the placeholder if an id is among them. There, bash must not offer files, and
/// directly after the command it offers ids only.
fn bash_line(line: &str) -> String {
    let ids = IDS.0;
    let call = bash_call("");
    if !line.contains(ids) || !line.trim_start().starts_with("opts=") {
        let replace = |line: String, (placeholder, kind): &Completed| {
            line.replace(placeholder, &bash_call(kind))
        };
        return ALL.iter().fold(line.to_owned(), replace) + "\n";
    }
    // Once is enough, even if the command takes several ids.
    let options = line.replacen(ids, "${ids}", 1).replace(ids, "");
    format!(
        r#"            compopt +o default +o bashdefault 2>/dev/null
            local ids="{call}"
{options}
            if [[ (${{COMP_CWORD}} -eq 2 || "${{COMP_WORDS[COMP_CWORD]}}" == ":") && -z "${{cur}}" && -n "${{ids}}" ]] ; then opts="${{ids}}" ; fi
"#
    )
}
