//! Shell completions: the scripts of `clap_complete`, which also complete ids of issues, and the names of saved
//! queries, in bash, zsh and fish.

use clap::{Arg, Command};
use clap_complete::Shell;

use crate::setup::PROGRAM;

/// The value names of arguments that name an issue, or a query with a saved one among its words.
const COMPLETED: [&str; 2] = ["ID", "QUERY"];
/// Stands for the ids in a generated script, until the call that lists them replaces it.
const PLACEHOLDER: &str = "AIT_ISSUE_IDS";

/// The functions that list the ids for a word that the user has begun, from the store that the line names.
const BASH_IDS: &str = r#"$(_ait_issue_ids "${cur}")"#;
const BASH: &str = r#"_ait_issue_ids() {
    local at file store=()
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
    ait ${store[@]+"${store[@]}"} issue-ids -- "$1" 2>/dev/null
}

"#;
const FISH_IDS: &str = "'(__ait_issue_ids)'";
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
    ait $store issue-ids --titles -- (commandline -ct) 2>/dev/null
end

"#;
const ZSH: &str = r#"
(( $+functions[_ait_issue_ids] )) ||
_ait_issue_ids() {
    local -a issues store line
    local at
    line=("${(@Q)${(z)LBUFFER}}")
    for (( at = 1; at < $#line; at++ )); do
        case $line[at] in
            --file) store=(--file "${line[at+1]/#\~/$HOME}") ;;
            --file=*) store=($line[at]) ;;
        esac
    done
    issues=(${${(f)"$(ait $store issue-ids --titles -- "$PREFIX" 2>/dev/null)"}/$'\t'/:})
    _describe -t issues issue issues
}
"#;

/// Generates the script for a shell; `line` is the whole command line definition.
pub(super) fn script(shell: Shell, line: &Command) -> String {
    let takes_id = |arg: &Arg| {
        let name = arg.get_value_names().and_then(<[_]>::first);
        name.is_some_and(|name| COMPLETED.contains(&name.as_str()))
    };
    // The generators would offer hidden commands.
    let commands = line.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    let commands = commands.map(|command| {
        command.mut_args(|arg| if takes_id(&arg) { arg.value_parser([PLACEHOLDER]) } else { arg })
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
            let rest = rest.replace(&format!("({PLACEHOLDER})"), "_ait_issue_ids");
            format!("{head}\n{ZSH}{rest}")
        }
        Shell::Fish => {
            let mut script = script.replace(&format!("\"{PLACEHOLDER}\\t''\""), FISH_IDS);
            let commands = line.get_subcommands();
            for command in commands.filter(|command| command.get_positionals().any(takes_id)) {
                let condition = format!("__fish_ait_using_subcommand {}", command.get_name());
                script.push_str(&format!("complete -c ait -n \"{condition}\" -f -a {FISH_IDS}\n"));
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
    if !line.contains(PLACEHOLDER) || !line.trim_start().starts_with("opts=") {
        return line.replace(PLACEHOLDER, BASH_IDS) + "\n";
    }
    // Once is enough, even if the command takes several ids.
    let options = line.replacen(PLACEHOLDER, "${ids}", 1).replace(PLACEHOLDER, "");
    format!(
        r#"            compopt +o default +o bashdefault 2>/dev/null
            local ids="{BASH_IDS}"
{options}
            if [[ ${{COMP_CWORD}} -eq 2 && -z "${{cur}}" && -n "${{ids}}" ]] ; then opts="${{ids}}" ; fi
"#
    )
}
