//! The start of an agent's server in spite of invalid flags. Its agent has no other tracker.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{CommandFactory, Parser};

use super::settings::FILE;
use super::{Arguments, Problem, Served};

/// The arguments of a server without those that are invalid.
#[derive(Debug)]
pub struct TolerantArguments {
    /// The valid arguments.
    pub arguments: Arguments,
    /// What is wrong with the others.
    pub problems: Vec<Problem>,
}

/// Parses the arguments of the process.
///
/// # Errors
///
/// Help or the version was asked for, or the arguments are invalid and cannot be left out: they name a command, or the
/// store.
pub fn parse(line: &[OsString]) -> Result<TolerantArguments, Error> {
    let mut line = line.to_vec();
    let mut problems = Vec::new();
    let mut first = None;
    loop {
        let error = match Arguments::try_parse_from(&line) {
            Ok(arguments) if problems.is_empty() || is_for_agent(&arguments) => {
                return Ok(TolerantArguments { arguments, problems });
            }
            Ok(_) => break,
            Err(error) => error,
        };
        let Some(problem) = leave_out(&error, &mut line) else {
            first.get_or_insert(error);
            break;
        };
        first.get_or_insert(error);
        problems.push(problem);
    }
    Err(first.expect("the loop ends with an error"))
}

/// Returns true if the arguments may start the server of an agent.
fn is_for_agent(arguments: &Arguments) -> bool {
    matches!(arguments.served(), Some(Served::Agent | Served::Guessed))
}

/// Leaves out the flag that an error is about, with its value; `None` if it must not be left out.
fn leave_out(error: &Error, line: &mut Vec<OsString>) -> Option<Problem> {
    let is_about_flag = matches!(
        error.kind(),
        ErrorKind::UnknownArgument
            | ErrorKind::InvalidValue
            | ErrorKind::ValueValidation
            | ErrorKind::ArgumentConflict
    );
    let Some(ContextValue::String(about)) =
        error.get(ContextKind::InvalidArg).filter(|_| is_about_flag)
    else {
        return None;
    };
    // Such as "--port <PORT>".
    let flag = about.split([' ', '=']).next()?.to_owned();
    let name = flag.strip_prefix("--").filter(|name| *name != FILE.name)?.to_owned();
    let position = line.iter().position(|argument| {
        let argument = argument.to_string_lossy();
        argument == flag.as_str() || argument.starts_with(&format!("{flag}="))
    })?;
    let has_value = line[position] == flag.as_str();
    line.remove(position);
    if has_value
        && let Some(next) = line.get(position).and_then(|value| value.to_str())
        && !next.starts_with('-')
        && Arguments::command().find_subcommand(next).is_none()
    {
        line.remove(position);
    }
    let text = error.to_string();
    let reason = text.lines().next().unwrap_or_default();
    let mut reason = reason.strip_prefix("error: ").unwrap_or(reason).to_owned();
    if let Some(ContextValue::String(similar)) = error.get(ContextKind::SuggestedArg) {
        reason.push_str(&format!(" (did you mean {similar}?)"));
    }
    Some(Problem { setting: name, reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<TolerantArguments, Error> {
        let line: Vec<_> = line.split(' ').map(OsString::from).collect();
        parse(&line)
    }

    #[test]
    fn invalid_flags_of_a_server_are_left_out() {
        for (line, names) in [
            ("ait --port 1", &[][..]),
            ("ait --port abc --file q.json", &["port"]),
            ("ait --port=abc --file q.json", &["port"]),
            ("ait --prot 1 --file q.json --bind nowhere", &["prot", "bind"]),
            ("ait --tokens --file q.json", &["tokens"]),
            ("ait mcp --prot 1 --file q.json", &["prot"]),
            ("ait --log-format xml --port 5 --port 6 --file q.json", &["log-format", "port"]),
        ] {
            let TolerantArguments { arguments, problems } = parsed(line).unwrap();
            let settings: Vec<_> = problems.iter().map(|problem| &*problem.setting).collect();
            assert_eq!(settings, names, "{line}");
            assert_eq!(arguments.file.is_some(), !names.is_empty(), "{line}");
        }
    }

    #[test]
    fn commands_and_the_store_cannot_be_left_out() {
        for line in [
            "ait lst",
            "ait serve --port abc",
            "ait --prot 1 list",
            "ait --prot list",
            "ait list --prot",
            "ait --file",
            "ait --help",
            "ait --version",
        ] {
            assert!(parsed(line).is_err(), "{line}");
        }
    }
}
