//! Why a project cannot be set up. Each says what to do; nothing was written then.

use std::path::PathBuf;

use super::edit::EditError;

/// Why a project cannot be set up.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SetupError {
    /// No client is in use.
    #[error("no client was found here: name those that you use with --client ({known})")]
    NoClient {
        /// Those that there are.
        known: String,
    },
    /// A client keeps its servers in a place of the user's that is not known.
    #[error("where {client} keeps its servers is not known here: leave it out with --client")]
    NoPlace {
        /// The client.
        client: &'static str,
    },
    /// A file cannot be read.
    #[error(
        "{path} cannot be read ({cause}): make it readable, or name other clients with --client; nothing was written"
    )]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        cause: String,
    },
    /// A file has something else in it than expected.
    #[error(
        "{path}, {problem}: mend it, or leave its client out with --client; nothing was written"
    )]
    Unusable {
        /// The file.
        path: String,
        /// Where, and what.
        problem: EditError,
    },
    /// There is a server of the same name.
    #[error(
        "{path} has a server called {name:?} that is another one: rename that, leave {client} out with \
         --client, or replace it with --force; nothing was written"
    )]
    Foreign {
        /// The file.
        path: String,
        /// The name.
        name: &'static str,
        /// Whose file it is.
        client: &'static str,
    },
    /// A server of the same name is that of another project.
    #[error(
        "{path} has a server called {name:?} for {store}: {client} has one place for all projects; replace \
         it with --force, or leave {client} out with --client; nothing was written"
    )]
    OtherProject {
        /// The file.
        path: String,
        /// The name.
        name: &'static str,
        /// The store of the other project.
        store: String,
        /// Whose file it is.
        client: &'static str,
    },
    /// A link leads out of the project.
    #[error(
        "{path} leads to {}, outside of the project: edit that by hand, or have it edited with --force; \
         nothing was written", target.display()
    )]
    Outside {
        /// The file.
        path: String,
        /// Where it leads.
        target: PathBuf,
    },
    /// A link leads nowhere.
    #[error("{path} is a link that leads nowhere: mend or remove it; nothing was written")]
    Dangling {
        /// The file.
        path: String,
    },
}
