//! Commands of other programs, and the commands of ait that mean the same.

/// The words that other programs put before a command, or use for it, such as in `gh issue list`.
pub(super) const NOUNS: &str =
    "issue issues task tasks ticket tickets item items bug card cards story stories entry job";

/// What people type, and what means the same. `ID` is the id of an issue and `WORD` any word that is no option; `$1`
/// and `$2` stand for them, and `$0` for the first word. What follows a phrase stays. The first one that fits counts.
///
/// What could mean two things is not here: `unknown_command` says what there is instead.
pub(super) const PHRASES: &[(&str, &str)] = &[
    // Filing
    ("report|raise|open bug WORD", "add $1 --classification bug"),
    ("report|raise|open issue|task|ticket WORD", "add $1"),
    ("create|file|insert|add-subtask", "add"),
    ("add subtask|child|part ID WORD", "add $2 --parent $1"),
    ("add blocker|dependency|dep ID ID", "link $1 blocked-by $2"),
    ("add comment|note to|on ID", "comment $1"),
    ("add comment|note ID", "comment $1"),
    ("add label|tag ID WORD", "edit $1 --label +$2"),
    ("add label|tag|labels|tags WORD to ID", "edit $2 --label +$1"),
    ("q|quick|capture WORD", "add $1"),
    ("subtask|add-child ID WORD", "add $2 --parent $1"),
    ("subtask|child|part add|create|new ID WORD", "add $2 --parent $1"),
    // Reading
    ("status|state ID WORD", "edit $1 --status $2"),
    ("view|get|cat|info|information|display|read|details|inspect|status|state ID", "show $1"),
    ("view|get|cat|info|details|inspect list|issues|all", "list"),
    ("view|get|display|details", "show"),
    ("comments|notes|comment list|view|show|ls ID", "show $1"),
    ("comments|notes ID", "show $1"),
    ("list comments|notes ID", "show $1"),
    ("show comments|history|details ID", "show $1"),
    ("show ID comments|history|details", "show $1"),
    ("list children|parts|subtasks ID", "list --parent $1"),
    ("list duplicates|dupes", "triage --kind duplicate"),
    ("list labels|tags", "labels"),
    ("list waiting|pending|backlog", "waiting"),
    ("list questions", "questions"),
    ("decision|adr add|create|new|record WORD", "remember $1 --kind decision"),
    ("memory|memories add|create|new|save|store WORD", "remember $1"),
    ("decisions|decision|adr|adrs list|ls", "recall kind:decision"),
    ("decisions|decision|adr|adrs", "recall kind:decision"),
    ("memory|memories publish", "memory publish"),
    ("memory --help|-h", "memory --help"),
    ("memory|memories list|ls|show", "recall"),
    ("memory|memories", "recall"),
    ("list agents|workers", "board"),
    ("list in progress", "list --status in_progress"),
    ("list in review", "list --status in_review"),
    ("list assigned to WORD", "list --assignee $1"),
    ("board|boards view|show|list|ls", "board"),
    ("who is working|busy|on", "board"),
    ("kanban|boards|agents|workers|team|who|claims|assignments", "board"),
    ("what next|now", "ready"),
    ("show|view ID --web|-w|--browser", "open $1"),
    ("browse ID", "open $1"),
    ("worktree add|create|new|start ID", "worktree $1"),
    ("all|everything", "list --status all"),
    ("bugs", "list -c bug"),
    ("features", "list -c feature"),
    ("improvements", "list -c improvement"),
    ("newest|recent", "list --sort filed --reverse"),
    ("oldest", "list --sort filed"),
    ("active|wip|doing|working|inprogress|in-progress|in_progress ID", "claim $1"),
    ("closed ID", "close $1"),
    ("rejected ID", "close $1 --reject"),
    ("active|wip|doing|working|inprogress|in-progress|in_progress", "list --status in_progress"),
    ("closed", "list --status closed"),
    ("rejected", "list --status rejected"),
    ("unassigned", "list --assignee none"),
    ("parked|deferred|snoozed", "list --parked"),
    ("available|actionable|unblocked", "ready"),
    ("last|latest", "list --sort filed --reverse --limit 1"),
    ("lists|listall|lsa|dir", "list"),
    ("list --tree", "tree"),
    ("next --list|--show|--dry-run", "ready"),
    ("review|reviews --list|list|ls", "list --status completed"),
    ("count", "list --count"),
    ("children|parts|subtasks ID", "list --parent $1"),
    ("graph|deps|dependencies|dag ID", "tree $1"),
    ("graph|dag", "tree"),
    ("search issues|issue|for WORD", "search $1"),
    ("find|grep|query|lookup", "search"),
    ("duplicates|dupes|find-duplicates", "triage --kind duplicate"),
    ("stale", "list is:stale"),
    ("lint", "triage"),
    ("human|humans|question|questions list|ls|show", "questions"),
    ("human|humans", "questions"),
    ("respond ID", "answer $1"),
    // Claiming
    ("claim|take|grab|pick|pickup|start|begin next", "next"),
    ("work on ID", "claim $1"),
    ("start|take|grab|pick|pickup|begin|work|work-on ID", "claim $1"),
    ("unclaim|unstart|stop|unlock ID", "release $1"),
    // Ending
    ("done|finish|finished|do|mark-done|submit ID", "complete $1"),
    ("approve|accept|lgtm ID", "close $1"),
    ("reject|decline|wontfix|cancel|invalid ID", "close $1 --reject"),
    ("status close|closed", "close"),
    ("status open", "reopen"),
    ("close ID and ID", "close $1 $2"),
    ("close ID as duplicate|dup|dupe", "close-as-duplicate $1"),
    ("close ID as wontfix|invalid|rejected|cancelled|canceled", "close $1 --reject"),
    ("unclose|re-open ID", "reopen $1"),
    // Changing
    ("mark ID as WORD", "edit $1 --status $2"),
    ("mark ID WORD", "edit $1 --status $2"),
    ("update|modify|change|set|mod|alter|set-status", "edit"),
    ("edit status|state ID WORD", "edit $1 --status $2"),
    ("edit priority ID WORD", "edit $1 --priority $2"),
    ("edit title ID WORD", "edit $1 --title $2"),
    ("edit description|body ID WORD", "edit $1 --description $2"),
    ("edit ID title|summary WORD", "edit $1 --title $2"),
    ("edit ID description|body WORD", "edit $1 --description $2"),
    ("edit ID status|state WORD", "edit $1 --status $2"),
    ("edit ID priority WORD", "edit $1 --priority $2"),
    ("move|mv|transition ID WORD", "edit $1 --status $2"),
    ("rename|retitle|title ID WORD", "edit $1 --title $2"),
    ("title|rename edit|set|change ID", "edit $1"),
    ("priority|prio|pri|prioritize set ID WORD", "edit $1 --priority $2"),
    ("priority|prio|pri|prioritize ID WORD", "edit $1 --priority $2"),
    ("assign|assignee|reassign|delegate|give ID to WORD", "edit $1 --assign $2"),
    ("assign|assignee|reassign|delegate|give ID WORD", "edit $1 --assign $2"),
    ("unassign ID", "edit $1 --assign none"),
    ("label|labels|tag|tags add|new|create|set ID WORD", "edit $1 --label +$2"),
    ("label|labels|tag|tags remove|rm|delete|del ID WORD", "edit $1 --label -$2"),
    ("label|labels|tag|tags ID add WORD", "edit $1 --label +$2"),
    ("label|labels|tag|tags ID remove|rm WORD", "edit $1 --label -$2"),
    ("untag|unlabel ID WORD", "edit $1 --label -$2"),
    ("remove|rm|delete label|tag ID WORD", "edit $1 --label -$2"),
    ("remove|rm|delete label|tag|labels|tags WORD from ID", "edit $2 --label -$1"),
    ("label|tag ID WORD", "edit $1 --label +$2"),
    ("comment|comments|note|notes add|new|create|edit|on ID", "comment $1"),
    ("note|annotate|remark|reply|comment-on ID", "comment $1"),
    ("defer|postpone|snooze|hold|pause|suspend|shelve ID", "park $1"),
    ("undefer|unsnooze|unhold|unpause|resume|wake|unshelve ID", "unpark $1"),
    // Links
    ("dep|deps|dependency|depends add|new|create ID ID", "link $1 blocked-by $2"),
    ("dep|deps|dependency|depends remove|rm|delete ID ID", "unlink $1 blocked-by $2"),
    ("dep|deps|dependency tree|list|show|ls|graph", "tree"),
    ("block ID --by|by ID", "link $1 blocked-by $2"),
    ("depend|depends ID on|--on ID", "link $1 blocked-by $2"),
    ("unblock ID from|--from|--by ID", "unlink $1 blocked-by $2"),
    ("link|unlink add|create ID", "$0 $1"),
    (
        "link|unlink ID depends-on|depends_on|depends|needs|requires|after|is-blocked-by|blockedby|waits-for ID",
        "$0 $1 blocked-by $2",
    ),
    ("link|unlink ID blocks|blocking|is-blocking|blocker-of|before ID", "$0 $2 blocked-by $1"),
    ("link|unlink ID ID blocks", "$0 $2 blocked-by $1"),
    ("link|unlink ID parent-of|has-part|has-child|contains ID", "$0 $2 parent $1"),
    ("link|unlink ID child-of|child|part-of|subtask-of|has-parent ID", "$0 $1 parent $2"),
    ("link|unlink ID relates|relates-to|related-to|relates_to ID", "$0 $1 related $2"),
    ("link|unlink ID ID relates|related", "$0 $1 related $2"),
    (
        "link|unlink ID duplicates|duplicate|dup-of|dupe-of|is-duplicate-of ID",
        "$0 $1 duplicate-of $2",
    ),
    ("link|unlink ID ID duplicate|duplicates", "$0 $1 duplicate-of $2"),
    ("duplicate|dup|dupe ID --of|of ID", "link $1 duplicate-of $2"),
    ("relate ID to ID", "link $1 related $2"),
    ("relate|related ID ID", "link $1 related $2"),
    ("parent ID ID", "link $1 parent $2"),
    ("ID WORD ID", "link $1 $2 $3"),
    // What happened
    ("log|history|activity|events|timeline|changelog|journal ID", "log --issue $1"),
    ("op|operation|operations log|list|show", "log"),
    ("op|operation|operations undo|revert", "undo"),
    ("history|activity|events|timeline|changelog|journal|oplog|reflog|logs", "log"),
    ("log today", "log --since today"),
    ("log yesterday", "log --since yesterday"),
    ("tail|follow --follow|-f", "log --follow"),
    ("follow", "log --follow"),
    ("tail", "log -n 10"),
    ("undo last", "undo"),
    ("revert|rollback", "undo"),
    // The program
    ("sample|samples|playground", "demo"),
    ("?|usage", "help"),
    ("commands", "help --all"),
    ("st|where|info|sessions|processes|ps|clients", "status"),
    ("statistics|metrics|burndown|velocity|timesheet|project-status", "stats"),
    ("verify|validate|fsck|diagnose|diagnostics|health|validate-dependencies", "doctor"),
    ("config|settings|preferences get|show|view|--get|--show", "config"),
    ("config|settings|preferences list|ls|--list|-l|--all", "config"),
    ("settings|preferences|prefs|configuration", "config"),
    ("whoami|me", "config agent"),
    ("util completion|completions", "completions"),
    ("completion|autocomplete|autocompletion", "completions"),
    ("manual|manpage", "man"),
    ("version|ver", "--version"),
    ("dump", "export"),
    ("export csv", "export --format csv"),
    ("export json", "export --format json"),
    ("backup now|create|make", "backup"),
    ("backup list|ls|show", "backups"),
    ("load", "import"),
    ("import csv|json|jsonl|beads|bd|jira|linear|backlog WORD", "import $1"),
    ("server|serve|web|ui start|run", "serve"),
    ("start|run server|web|ui|pages", "serve"),
    ("web|ui|webui|browser|dashboard --port|-p", "serve --port"),
    ("server|http", "serve"),
    ("serve --stdio|--mcp|stdio|mcp", "mcp"),
    ("mcp|mcp-server serve|server|start|run|stdio", "mcp"),
    ("mcp-server", "mcp"),
    ("setup|bootstrap", "init"),
    ("init --claude|--claude-code", "init --client claude"),
    ("init --cursor", "init --client cursor"),
    ("init --codex", "init --client codex"),
    ("init --gemini", "init --client gemini"),
    ("init .", "init"),
    ("init team|--team", "init --preset team"),
    ("init solo|--solo", "init --preset solo"),
    ("init WORD", "init --client $1"),
];

/// The longest chain of phrases, such as `task create`, then `create`.
const MAX_STEPS: usize = 5;

/// Replaces the command that the words begin with by that of ait. `is_command` tells the words that are commands.
pub(super) fn replaced(mut words: Vec<String>, is_command: impl Fn(&str) -> bool) -> Vec<String> {
    for _ in 0..MAX_STEPS {
        let next = without_suffix(&words, &is_command)
            .or_else(|| without_noun(&words, &is_command))
            .or_else(|| with_command_first(&words, &is_command))
            .or_else(|| PHRASES.iter().find_map(|(phrase, means)| fitted(&words, phrase, means)));
        match next {
            Some(next) => words = next,
            None => break,
        }
    }
    words
}

/// Returns true if a phrase begins with the word.
pub(super) fn begins_phrase(word: &str) -> bool {
    let heads = PHRASES.iter().filter_map(|(phrase, _)| phrase.split(' ').next());
    heads.flat_map(|head| head.split('|')).any(|head| head == word)
}

/// Leaves out the second half of a command such as `add-task`.
fn without_suffix(words: &[String], is_command: impl Fn(&str) -> bool) -> Option<Vec<String>> {
    let (first, rest) = words.split_first()?;
    let (command, noun) = first.rsplit_once(['-', '_'])?;
    let is_noun = NOUNS.split(' ').any(|one| one == noun);
    let is_theirs = is_noun && !is_command(first) && is_command(command);
    is_theirs.then(|| [&[command.to_owned()], rest].concat())
}

/// Leaves out a word such as `issue` before a command. Without a command, it lists issues, or shows one.
fn without_noun(words: &[String], is_command: impl Fn(&str) -> bool) -> Option<Vec<String>> {
    let (noun, rest) = words.split_first()?;
    if !NOUNS.split(' ').any(|one| one.eq_ignore_ascii_case(noun)) {
        return None;
    }
    let with = |command: &str| [&[command.to_owned()], rest].concat();
    match rest.first().map(|next| next.to_lowercase()) {
        None => Some(with("list")),
        Some(next) if is_command(&next) => Some(rest.to_vec()),
        Some(next) if next.starts_with('-') => Some(with("list")),
        Some(next) if is_id(&next) && rest.get(1).is_none_or(|word| word.starts_with('-')) => {
            Some(with("show"))
        }
        Some(next) if is_id(&next) => Some(rest.to_vec()),
        // A text in quotes is a title.
        Some(next) if next.contains(char::is_whitespace) => {
            Some([&["add".to_owned(), noun.to_lowercase()], rest].concat())
        }
        Some(_) => None,
    }
}

/// Puts a command before the id of an issue, such as in `3f2a9c1e done`. An id alone shows the issue, unless it may be
/// a port.
fn with_command_first(words: &[String], is_command: impl Fn(&str) -> bool) -> Option<Vec<String>> {
    let (id, rest) = words.split_first().filter(|(id, _)| is_id(id))?;
    match rest.first() {
        Some(command) if is_command(&command.to_lowercase()) => {
            Some([&[command.clone(), id.clone()], &rest[1..]].concat())
        }
        Some(other) if !other.starts_with('-') => None,
        _ if id.parse::<u16>().is_ok() => None,
        _ => Some([&["show".to_owned(), id.clone()], rest].concat()),
    }
}

/// Returns the words with a phrase at their beginning replaced, if it fits.
fn fitted(words: &[String], phrase: &str, means: &str) -> Option<Vec<String>> {
    let pattern: Vec<_> = phrase.split(' ').collect();
    let (given, rest) = words.split_at_checked(pattern.len())?;
    let mut found = vec![given.first()?.to_lowercase()];
    for (one, word) in pattern.into_iter().zip(given) {
        let fits = match one {
            "ID" => is_id(word),
            "WORD" => !word.starts_with('-'),
            words => words.split('|').any(|one| one == word.to_lowercase()),
        };
        if !fits {
            return None;
        }
        if matches!(one, "ID" | "WORD") {
            found.push(word.clone());
        }
    }
    let means = means.split(' ').map(|word| match word.split_once('$') {
        Some((sign, number)) => {
            let at: usize = number.parse().expect("the tests check the table");
            format!("{sign}{}", found[at])
        }
        None => word.to_owned(),
    });
    Some(means.chain(rest.iter().cloned()).collect())
}

/// Returns true if a word names an issue: the first digits of its id, or its id in another program, such as 12, #12,
/// ABC-12 or bd-a1b2.
pub(crate) fn is_id(word: &str) -> bool {
    let (name, is_marked) = match word.strip_prefix('#') {
        Some(name) => (name, true),
        None => (word, false),
    };
    let is_number = |text: &str| {
        text.starts_with(|first: char| first.is_ascii_digit())
            && text.chars().all(|one| one.is_ascii_digit() || one == '.')
    };
    let is_key = || {
        name.split_once('-').is_some_and(|(project, number)| {
            project.starts_with(|first: char| first.is_ascii_alphabetic())
                && project.chars().all(char::is_alphanumeric)
                && number.chars().any(|one| one.is_ascii_digit())
                && number.chars().all(|one| one.is_ascii_alphanumeric() || one == '.')
        })
    };
    crate::options::is_issue_ref(name) || is_number(name) || is_key() || is_marked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unknown_command::is_explained;

    #[test]
    fn commands_that_fit_no_phrase_are_explained() {
        // Each of them fits without more words.
        let is_whole = |word: &str| {
            PHRASES.iter().any(|(phrase, _)| {
                let mut words = phrase.split(' ');
                words.next().is_some_and(|head| head.split('|').any(|one| one == word))
                    && words.next().is_none()
            })
        };
        const COMMANDS: &str = "ID undo add edit list show search open comment link unlink log next review worktree config serve \
             mcp init status board questions claim resume close export backup import";
        for head in PHRASES.iter().filter_map(|(phrase, _)| phrase.split(' ').next()) {
            for word in head.split('|') {
                let is_ours = COMMANDS.split(' ').any(|command| command == word);
                assert!(is_ours || is_whole(word) || is_explained(word), "{word}");
            }
        }
    }

    #[test]
    fn phrases_use_what_they_capture() {
        for (phrase, means) in PHRASES {
            let captures = phrase.split(' ').filter(|word| matches!(*word, "ID" | "WORD")).count();
            for number in means.split(' ').filter_map(|word| word.split_once('$')) {
                assert!(number.1.parse::<usize>().unwrap() <= captures, "{phrase}: {means}");
            }
            for number in 1..=captures {
                assert!(means.contains(&format!("${number}")), "{phrase}: {means}");
            }
        }
    }

    #[test]
    fn each_phrase_can_fit() {
        let sample = |phrase: &str| -> Vec<String> {
            let word = |word: &str| match word {
                "ID" => "3f2a9c1e".to_owned(),
                "WORD" => "words".to_owned(),
                words => words.split('|').next().unwrap().to_owned(),
            };
            phrase.split(' ').map(word).collect()
        };
        for (at, (phrase, _)) in PHRASES.iter().enumerate() {
            let words = sample(phrase);
            let first =
                PHRASES.iter().position(|(one, means)| fitted(&words, one, means).is_some());
            assert_eq!(first, Some(at), "{phrase} never fits");
        }
    }
}
