//! Explains words that are no commands of `ait`, and filters what clap suggests instead.

use clap::Command;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

use strsim::levenshtein;

use super::options::is_issue_ref;

/// Words for which there is no command, or several, and what `ait` has instead.
const ELSEWHERE: &[(&str, &str)] = &[
    ("unclose re-open", "`ait reopen ID` opens an issue again that is closed or rejected"),
    ("raise q quick capture", "`ait add TITLE` files an issue"),
    ("cat", "`ait show ID` shows one issue"),
    (
        "reviews",
        "`ait list --status completed` lists what waits for review, and `ait review` claims it",
    ),
    (
        "dependencies",
        "`ait tree` draws issues with their blockers, and `ait blocked` lists those that wait",
    ),
    ("question", "`ait questions` lists the open questions, and `ait answer ID TEXT` answers one"),
    (
        "delete del rm remove purge destroy trash erase wipe",
        "issues are never deleted; `ait close ID --reject -m REASON` rejects one",
    ),
    ("reject cancel wontfix decline invalid", "`ait close ID --reject -m REASON` rejects an issue"),
    (
        "fix implement solve",
        "`ait claim ID` claims an issue to work on it, and `ait doctor --fix` repairs the store",
    ),
    (
        "run up restart down home",
        "`ait serve` serves the web page until Ctrl-C, and `ait status` lists the processes that use the store",
    ),
    (
        "start take pick pickup grab begin work work-on",
        "`ait next` claims the next issue, and `ait claim ID` claims one of your choice",
    ),
    (
        "assign unassign assignee reassign delegate give",
        "`ait edit ID --assign NAME` says for whom an issue is, or `none` for any agent",
    ),
    (
        "done finish finished do mark-done submit ship",
        "`ait complete ID -m TEXT` hands an issue over to review, and `ait close ID -m TEXT` closes it",
    ),
    (
        "completed",
        "`ait list --status completed` lists what waits for review, and `ait list --status closed` what was accepted",
    ),
    ("approve accept lgtm", "`ait close ID -m TEXT` closes an issue that you reviewed"),
    ("unclaim unstart unlock", "`ait release ID` gives back an issue that you hold"),
    (
        "stop kill quit exit shutdown daemon daemons",
        "Ctrl-C stops an `ait` that runs in a terminal; `ait status` lists the processes that use the store; `ait release ID` \
         gives back an issue",
    ),
    (
        "note notes annotate remark reply respond comment-on",
        "`ait comment ID TEXT` comments on an issue, and `ait answer ID TEXT` answers its question",
    ),
    (
        "comments",
        "`ait show ID` shows an issue with its comments, and `ait comment ID TEXT` adds one",
    ),
    (
        "append prepend",
        "`ait comment ID TEXT` adds a comment; `ait edit ID -t TITLE -d TEXT` changes the texts",
    ),
    (
        "epic epics subtask subtasks child add-child part children parts milestone milestones sprint sprints cycle",
        "`ait add TITLE --parent ID` files a part of an issue, and `ait tree ID` draws an issue with its parts",
    ),
    (
        "expand split decompose parse-prd plan breakdown",
        "agents split issues; `ait add TITLE --parent ID` files a part of one, and `ait link ID blocked-by ID` orders them",
    ),
    (
        "login logout auth token tokens user users",
        "a local store has no logins; --agent NAME says who acts, and `ait serve --token-file FILE` demands tokens",
    ),
    (
        "move mv transition",
        "`ait claim`, `ait return`, `ait complete` and `ait close` change the status of an issue; `ait edit ID` changes the rest",
    ),
    (
        "describe desc rewrite information read inspect state",
        "`ait show ID` shows an issue, and `ait edit ID -d TEXT` changes its description",
    ),
    (
        "replace title rename retitle mark set-state",
        "`ait edit ID -t TITLE -d TEXT` changes an issue",
    ),
    (
        "issue issues task tasks ticket tickets item items bug card cards story",
        "leave that word out: `ait list` lists issues, `ait show ID` shows one, and `ait add TITLE` files one",
    ),
    (
        "todo todos backlog queue inbox pending waiting",
        "`ait ready` lists what you can claim now, `ait blocked` what waits, and `ait add TITLE` files an issue",
    ),
    (
        "mine my",
        "`ait list --holder @me` lists what you hold, and `ait list --assignee @me` what is for you",
    ),
    (
        "label labels tag tags untag unlabel",
        "labels need no setup: `ait edit ID -l LABEL` adds one, -l -LABEL removes it, and `ait list -l LABEL` finds issues",
    ),
    (
        "priority prioritize prioritise prio pri depri pin unpin bump escalate",
        "`ait edit ID -p NUMBER` sets the priority: 0 is first, 4 is last",
    ),
    (
        "block unblock depend depends dep deps dependency add-dependency remove-dependency blocking unlink-all",
        "`ait link ID blocked-by ID` makes the first issue wait for the second one, and `ait tree ID` draws them",
    ),
    (
        "duplicate dup dupe supersede merge-into close-as-duplicate",
        "`ait link ID duplicate-of ID` links an issue to the one that it repeats, and `ait close ID --reject -m TEXT` ends it",
    ),
    (
        "clone copy",
        "`ait show ID` shows what to copy, and `ait add TITLE -d TEXT --from ID` files an issue that is related to it",
    ),
    (
        "relate related parent",
        "`ait link ID related ID` links issues, and `ait link PART parent WHOLE` makes one a part of the other",
    ),
    (
        "defer postpone snooze hold pause suspend shelve schedule remind",
        "`ait park ID --until TIME` keeps an issue from being claimed until then",
    ),
    (
        "resume unhold undefer unsnooze unpause wake unshelve",
        "`ait unpark ID` lets a parked issue be claimed again, and `ait claim ID` claims one",
    ),
    (
        "due overdue deadline calendar",
        "`ait edit ID --due DATE` sets when an issue should have ended, and `ait list is:overdue` lists what is late",
    ),
    (
        "web ui gui page dashboard browse browser webui",
        "`ait serve` serves the web page, and `ait open` opens it in the browser",
    ),
    (
        "prime onboard install quickstart welcome",
        "`ait init` sets up the clients of your agents, with the prompts that tell agents how to work",
    ),
    (
        "deinit uninit uninstall teardown",
        "`ait init --remove` removes what `ait init` wrote, and `ait hooks remove` the hooks",
    ),
    (
        "push pull flush commit fetch stash rebase",
        "nothing needs it, as all processes share the store; `ait save` updates issues.json now, such as before a commit",
    ),
    (
        "bridge jira github gitlab linear remote",
        "`ait import FILE` takes issues over from other trackers",
    ),
    (
        "termui watch top monitor live",
        "`ait board --watch` shows the work in the terminal, as it happens, and `ait tui` also changes it",
    ),
    (
        "report reports summary overview brief standup today yesterday",
        "`ait digest` says what matters now, `ait stats` shows how many issues move, and `ait status` the store",
    ),
    (
        "redo",
        "an undo is a change, too: `ait undo NUMBER` takes it back, and `ait log` shows its number",
    ),
    (
        "diff audit changes op operation operations blame",
        "`ait log` shows what changed, and `ait log --issue ID` what changed in one issue",
    ),
    (
        "minimal long ls-id ids uuids columns",
        "`ait list --fields id,title` prints the fields of your choice, as JSON",
    ),
    (
        "compact gc vacuum prune squash archive cleanup clear compress",
        "nothing needs it: ended issues are out of the lists; the setting keep-events limits the log",
    ),
    (
        "repair recover reset self-test",
        "`ait doctor` says what is wrong, and `ait doctor --fix` repairs what is safe to repair",
    ),
    (
        "api rest graphql",
        "`ait list --json` prints issues for scripts, and `ait serve` has /api and MCP over HTTP",
    ),
    (
        "project projects workspace workspaces repo team",
        "each project has a queue of its own: run `ait` in its directory; `ait status` shows which store that is",
    ),
    (
        "backups",
        "`ait backup` saves all issues to a file, `ait restore FILE` takes them back, and `ls issues-backup-*` lists the files",
    ),
    (
        "transfer",
        "`ait export FILE` writes issues, and `ait import FILE` takes them over in another project",
    ),
    (
        "alias filter filters view-save",
        "queries can have names, in ait.toml: [queries] ui = \"label:ui\", for `ait list @ui`",
    ),
    (
        "select deselect checkout switch use use-tag context focus",
        "each command names its issue, as in `ait show ID`; `ait worktree ID` makes the worktree of one",
    ),
    (
        "branch pr mr develop",
        "`ait worktree ID` makes the worktree and branch of an issue, and `ait merge ID` merges it",
    ),
    (
        "bulk-close bulk-update bulk-edit",
        "`ait bulk QUERY --close -m TEXT` closes all issues that a query finds; `ait help bulk` has more",
    ),
    (
        "swarm orchestrate spawn gate mol molecule agent",
        "`ait init` sets up a team of agents, which the client starts; `ait board` shows who works on what",
    ),
    (
        "template templates",
        "an issue has no template; `ait add --edit` writes its title and description in an editor",
    ),
    (
        "what util docs documentation doc tutorial guide examples example hello about faq",
        "`ait help --all` lists all commands, `ait help COMMAND` explains one, and `ait man` is the manual",
    ),
    (
        "upgrade self-update self",
        "install the new version as you installed this one; `ait --version` prints it",
    ),
    (
        "notify notifications subscribe",
        "the setting on-question runs a command when an agent asks; `ait wait --question` and `ait log -f` wait for what happens",
    ),
    (
        "plugin plugins extension extensions mcp-add",
        "`ait init` connects clients; a script uses --json",
    ),
    (
        "release-notes changelog-gen",
        "`ait list --status closed --fields id,title` lists what was done",
    ),
];

/// How much a word may differ from a command to be taken for a mistyped one.
const MAX_TYPOS: usize = 2;
/// What is said of any other word.
const OTHERWISE: &str = "`ait help --all` lists the commands, `ait add TITLE` files an issue, and `ait search WORD` finds one";

/// Returns true if a list of words has this one.
pub(super) fn has_word(words: &str, word: &str) -> bool {
    words.split(' ').any(|one| one == word)
}

/// Returns true if a word gets a hint.
pub(super) fn is_explained(word: &str) -> bool {
    ELSEWHERE.iter().any(|(words, _)| has_word(words, word))
}

/// The commands that change nothing, which may be suggested for any word.
const HARMLESS: &str = "serve list ls show ready blocked tree search stats board log open status doctor config completions man help";

/// Improves clap's error for an unknown command; `line` is the whole command line definition.
///
/// An unknown word that is a command of other programs gets a hint. For other unknown words, commands are suggested
/// only if they change nothing: a suggestion invites the user to run it.
pub(super) fn explain(mut error: Error, line: &mut Command) -> Error {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    let is_of = |usage: &ContextValue| usage.to_string() == line.render_usage().to_string();
    if error.get(ContextKind::Usage).is_some_and(is_of) {
        let lower = word.to_lowercase();
        let elsewhere = ELSEWHERE.iter().find(|(words, _)| has_word(words, &lower));
        let hint = match elsewhere {
            Some((_, hint)) => Some((*hint).to_owned()),
            None if word.parse::<u16>().is_ok() && word.len() > 3 => Some(format!(
                "the port is --port, as in `ait --port {word}`; if it is the id of an issue, `ait show {word}` shows that \
                 issue"
            )),
            None if is_issue_ref(word) => {
                let id = word.trim_start_matches('#');
                Some(format!("if it is the id of an issue, `ait show {id}` shows that issue"))
            }
            None => None,
        };
        let is_like_one = || match error.get(ContextKind::SuggestedSubcommand) {
            Some(ContextValue::Strings(words)) => words.last().is_some_and(|near| {
                has_word(HARMLESS, near) && levenshtein(near, &lower) <= MAX_TYPOS
            }),
            _ => false,
        };
        if hint.is_some() || !is_like_one() {
            let hint = hint.unwrap_or_else(|| OTHERWISE.to_owned());
            let text = format!("there is no command `{word}`: {hint}");
            return line_error(text, ErrorKind::InvalidSubcommand);
        }
    }
    if let Some(ContextValue::Strings(mut words)) = error.remove(ContextKind::SuggestedSubcommand) {
        let is_harmless = |word: &String| has_word(HARMLESS, word);
        // The most similar one comes last. Without it, the others would mislead.
        if words.last().is_some_and(is_harmless) {
            words.retain(is_harmless);
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(words));
        }
    }
    // There are no values that such a word could be.
    error.remove(ContextKind::Suggested);
    error
}

/// Creates an error that prints the text, without clap's usage.
pub(super) fn line_error(text: String, kind: ErrorKind) -> Error {
    Error::raw(kind, text + "\n")
}
